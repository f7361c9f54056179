"""Going through files that may be damaged: records and damage, in order, with nothing left out between."""

from __future__ import annotations

import random

import pytest

from seekwarc.archive.file import ArchiveFile
from seekwarc.archive.record import Record
from seekwarc.storage.source import Stats
from seekwarc.tools.examine import Damage, Intact, examine, next_record
from tests.support.foreign import Foreign, noise, text, warc_header
from tests.support.sources import RecordingSource

FRAME = 64 << 10
FORMS = ("zst", "gz", "none")


def crawl(form: str, *, tables: bool = True) -> Foreign:
    made = Foreign().record(b"one").record(text(150_000), cuts=FRAME, table=tables).record(b"")
    made.record(noise(3000)).record(text(400_000, seed=1), cuts=FRAME, table=tables).record(b"last")
    if form == "zst":
        return made.file_table() if tables else made
    return made.gzip() if form == "gz" else made.plain()


def opened(data: bytes) -> ArchiveFile:
    return ArchiveFile(RecordingSource(data), Stats())


def stretches(data: bytes, form: str, **options: object) -> list[Intact | Damage]:
    def look(record: Record, *_: object) -> None:
        assert len(record.block.read()) == record.content_length

    file = opened(data)
    try:
        return list(examine(file, form, look, **options))
    finally:
        file.close()


def flipped(data: bytes, *places: int) -> bytes:
    out = bytearray(data)
    for place in places:
        out[place] ^= 0x10
    return bytes(out)


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_file_is_its_records(form) -> None:
    made = crawl(form)
    found = stretches(made.bytes(), form)
    assert all(isinstance(it, Intact) for it in found)
    assert [it.record.offset for it in found] == [put.offset for put in made.records]
    assert [it.end for it in found][:-1] == [put.offset for put in made.records[1:]]
    assert [it.trailer for it in found] == [b"\r\n\r\n"] * 6
    assert all(it.at_unit for it in found)


@pytest.mark.parametrize("form", FORMS)
def test_it_can_begin_in_the_middle(form) -> None:
    made = crawl(form)
    found = stretches(made.bytes(), form, begin=made.records[3].offset)
    assert [it.record.offset for it in found] == [put.offset for put in made.records[3:]]


@pytest.mark.parametrize("form", ["zst", "gz"])
@pytest.mark.parametrize("number", range(6))
def test_damage_is_the_record_that_has_it(form, number) -> None:
    made = crawl(form, tables=False)
    put = made.records[number]
    found = stretches(flipped(made.bytes(), put.offset + put.length // 2), form)
    assert [type(it) for it in found] == [Damage if at == number else Intact for at in range(6)]
    damage = found[number]
    assert (damage.offset, damage.end, damage.size) == (put.offset, put.stop, put.length)
    assert damage.error.message
    assert damage.header is None or damage.header.raw == put.header


def test_the_header_of_a_damaged_record_is_told_where_it_can_be_read() -> None:
    made = crawl("zst")
    put = made.records[4]
    found = stretches(flipped(made.bytes(), put.stop - 200), "zst")
    assert found[4].header.raw == put.header


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(10))
def test_stretches_are_in_order_and_do_not_overlap(form, seed) -> None:
    made = crawl(form)
    rng = random.Random(seed)
    places = [rng.randrange(len(made.bytes())) for _ in range(rng.choice([1, 2, 8, 40]))]
    data = flipped(made.bytes(), *places)
    position = 0
    for it in stretches(data, form):
        begin = it.offset if isinstance(it, Damage) else it.record.offset
        assert begin >= position
        assert it.end > begin
        position = it.end
    assert position <= len(data)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_but_damage_ends(form) -> None:
    found = stretches({"zst": b"\x28\xb5\x2f\xfd", "gz": b"\x1f\x8b\x08", "none": b"WARC/"}[form] * 500, form)
    assert [type(it) for it in found] == [Damage]
    assert found[0].offset == 0


def test_what_looking_raises_of_damage_is_damage() -> None:
    made = crawl("zst", tables=False)
    seen = []

    def look(record: Record, *_: object) -> None:
        seen.append(record.offset)
        record.block.read()

    file = opened(flipped(made.bytes(), made.records[1].stop - 50))
    found = list(examine(file, "zst", look))
    assert isinstance(found[1], Damage)
    assert seen == [put.offset for put in made.records], "each record once"
    file.close()


def test_what_looking_raises_otherwise_comes_out() -> None:
    def look(record: Record, *_: object) -> None:
        raise ZeroDivisionError

    file = opened(crawl("zst").bytes())
    with pytest.raises(ZeroDivisionError):
        list(examine(file, "zst", look))
    file.close()


def test_records_stay_usable_while_the_file_is_open() -> None:
    made = crawl("zst")
    file = opened(made.bytes())
    found = list(examine(file, "zst", lambda *_: None))
    for it, put in zip(reversed(found), reversed(made.records), strict=True):
        assert it.record.block.read() == put.block
    file.close()


# The next record.


@pytest.mark.parametrize("form", FORMS)
def test_the_next_record_is_found_from_anywhere(form) -> None:
    made = crawl(form)
    data = made.bytes()
    offsets = [put.offset for put in made.records]
    file = opened(data)
    rng = random.Random(form)
    for place in [rng.randrange(len(data)) for _ in range(40)] + offsets:
        expected = min((offset for offset in offsets if offset > place), default=len(data))
        assert next_record(file, form, place, None) == expected, place
    file.close()


def test_a_beginning_across_two_reads_is_found(monkeypatch) -> None:
    monkeypatch.setattr("seekwarc.tools.examine.SEARCH_STEP", 1000)
    for form in FORMS:
        for gap in range(1000 - 40, 1000 + 5):
            made = Foreign().record(b"the only one")
            made = {"zst": lambda it: it, "gz": Foreign.gzip, "none": Foreign.plain}[form](made)
            file = opened(bytes(gap) + made.bytes())
            assert next_record(file, form, 0, None) == gap, (form, gap)
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
        assert next_record(file, form, 0, None) == 1 + len(looks), (form, looks)
        file.close()


def test_a_record_whose_header_takes_several_frames_is_found() -> None:
    made = Foreign().record(b"x", cuts=20)
    file = opened(b"???" + made.bytes())
    assert next_record(file, "zst", 0, None) == 3
    file.close()


def test_a_long_search_reads_the_file_once() -> None:
    data = b"\x28\xb5\x2f\xfd" + bytes(5 << 20) + Foreign().record(b"x").bytes()
    source = RecordingSource(data)
    file = ArchiveFile(source, Stats())
    assert next_record(file, "zst", 0, None) == (5 << 20) + 4
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
        assert next_record(file, "zst", put.offset, damage) == put.stop
    file.close()
