"""Looking for records behind damage."""

from __future__ import annotations

import random

import pytest

from seekwarc.check.examine import Intact, examine
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.search import RecordSearch
from seekwarc.storage.fetch import Fetcher
from tests.support.damage import FORMS, crawl, flipped, opened
from tests.support.foreign import Foreign, warc_header
from tests.support.sources import RecordingSource
from tests.support.writing import noise


@pytest.mark.parametrize("form", FORMS)
def test_the_next_record_is_found_from_anywhere(form) -> None:
    made = crawl(form)
    data = made.bytes()
    offsets = [put.offset for put in made.records]
    file = opened(data)
    rng = random.Random(form)
    for place in [rng.randrange(len(data)) for _ in range(40)] + offsets:
        expected = min((offset for offset in offsets if offset > place), default=len(data))
        assert RecordSearch(file, form).next_after(place, None) == expected, place
    file.close()


def test_a_beginning_across_two_reads_is_found(monkeypatch) -> None:
    monkeypatch.setattr("seekwarc.read.search.SEARCH_STEP", 1000)
    for form in FORMS:
        for gap in range(1000 - 40, 1000 + 5):
            made = Foreign().record(b"the only one")
            made = {"zst": lambda it: it, "gz": Foreign.gzip, "none": Foreign.plain}[form](made)
            file = opened(bytes(gap) + made.bytes())
            assert RecordSearch(file, form).next_after(0, None) == gap, (form, gap)
            file.close()


def test_what_only_looks_like_a_record_is_passed() -> None:
    real = Foreign().record(b"real")
    for form, looks in (
        ("zst", b"\x28\xb5\x2f\xfd" + noise(40)),
        ("gz", b"\x1f\x8b\x08" + noise(40)),
        ("none", b"WARC/1.1\r\nno header\r\n\r\n"),
        ("none", b"WARC/99\r\n"),
        ("zst", Foreign().frame(b"a frame without a record").bytes()),
        ("gz", Foreign().record(b"", header=b"no record at all").gzip().bytes()),
    ):
        data = {"zst": real, "gz": real.gzip(), "none": real.plain()}[form].bytes()
        file = opened(b"?" + looks + data)
        assert RecordSearch(file, form).next_after(0, None) == 1 + len(looks), (form, looks)
        file.close()


def test_a_record_whose_header_takes_several_frames_is_found() -> None:
    made = Foreign().record(b"x", cuts=20)
    file = opened(b"???" + made.bytes())
    assert RecordSearch(file, "zst").next_after(0, None) == 3
    file.close()


def test_a_long_search_reads_the_file_once() -> None:
    data = b"\x28\xb5\x2f\xfd" + bytes(5 << 20) + Foreign().record(b"x").bytes()
    source = RecordingSource(data)
    file = ArchiveFile(Fetcher(source))
    assert RecordSearch(file, "zst").next_after(0, None) == (5 << 20) + 4
    assert source.bytes_asked < 3 * len(data)
    file.close()


def test_frames_lead_past_what_they_hold() -> None:
    """A record that holds an archive in frames that cannot be compressed."""
    inner = b"".join(
        Foreign().record(noise(900, seed=n), header=warc_header(900, n)).bytes() for n in range(99)
    )
    made = Foreign().record(inner, cuts=30_000).record(b"next")
    put = made.records[0]
    file = opened(made.bytes())
    for damage in (None, put.offset):
        assert RecordSearch(file, "zst").next_after(put.offset, damage) == put.stop
    file.close()


def test_a_false_length_that_leads_into_later_damage_does_not_hide_what_it_passes() -> None:
    made = Foreign().record(b"one").record(b"liar", header=warc_header(100_000))
    made.record(b"between").record(noise(5000)).record(b"last")
    damage = made.records[3].offset
    file = opened(flipped(made.bytes(), made.records[3].stop - 5))
    search = RecordSearch(file, "zst")
    liar = made.records[1].offset
    assert search.next_after(liar, damage, header=search.header_at(liar)) == made.records[2].offset
    file.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["zst", "gz"])
def test_false_lengths_among_records_cost_no_more_than_their_bytes(form) -> None:
    made = Foreign()
    for number in range(300):
        made.record(b"true").record(b"liar", header=warc_header(10**9 + number))
    data = (made.gzip() if form == "gz" else made).bytes()
    source = RecordingSource(data)
    file = ArchiveFile(Fetcher(source))
    found = list(examine(file, form, lambda *_: None))
    assert [isinstance(it, Intact) for it in found] == [True, False] * 300
    assert [it.header.content_length for it in found[1::2]] == list(range(10**9, 10**9 + 300))
    file.close()
