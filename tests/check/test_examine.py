"""Reading files that may be damaged as records and damage, in order and without gaps."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from seekwarc import tools
from seekwarc.check.examine import Damage, Intact, examine
from seekwarc.errors import LimitError
from seekwarc.read import search
from seekwarc.read.record import Record
from seekwarc.storage.plan import REMOTE
from tests.support.damage import FORMS, crawl, flipped, opened
from tests.support.foreign import Foreign
from tests.support.sources import NONSENSE, Endless, RecordingSource
from tests.support.writing import noise


def stretches(data: bytes, form: str, **options: object) -> list[Intact | Damage]:
    def look(record: Record, *_: object) -> None:
        assert len(record.block.read()) == record.content_length

    file = opened(data)
    try:
        return list(examine(file, form, look, **options))
    finally:
        file.close()


@pytest.mark.parametrize("form", FORMS)
def test_a_sound_file_yields_its_records(form) -> None:
    made = crawl(form)
    found = stretches(made.bytes(), form)
    assert all(isinstance(it, Intact) for it in found)
    assert [it.record.offset for it in found] == [put.offset for put in made.records]
    assert [it.end for it in found][:-1] == [put.offset for put in made.records[1:]]
    assert [it.trailer for it in found] == [b"\r\n\r\n"] * 6


@pytest.mark.parametrize("form", FORMS)
def test_examination_can_begin_in_the_middle(form) -> None:
    made = crawl(form)
    found = stretches(made.bytes(), form, begin=made.records[3].offset)
    assert [it.record.offset for it in found] == [put.offset for put in made.records[3:]]


@pytest.mark.parametrize("form", ["zst", "gz"])
@pytest.mark.parametrize("number", range(6))
def test_damage_covers_the_damaged_record(form, number) -> None:
    made = crawl(form, tables=False)
    put = made.records[number]
    found = stretches(flipped(made.bytes(), put.offset + put.length // 2), form)
    assert [type(it) for it in found] == [Damage if at == number else Intact for at in range(6)]
    damage = found[number]
    assert (damage.offset, damage.end, damage.size) == (put.offset, put.stop, put.length)
    assert damage.error.message
    assert damage.header is None or damage.header.raw == put.header


def test_a_readable_header_of_a_damaged_record_is_given() -> None:
    made = crawl("zst")
    put = made.records[4]
    found = stretches(flipped(made.bytes(), put.stop - 200), "zst")
    assert found[4].header.raw == put.header


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(10))
def test_ranges_are_in_order_and_do_not_overlap(form, seed) -> None:
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
def test_a_file_of_damage_comes_to_an_end(form) -> None:
    found = stretches({"zst": b"\x28\xb5\x2f\xfd", "gz": b"\x1f\x8b\x08", "none": b"WARC/"}[form] * 500, form)
    assert [type(it) for it in found] == [Damage]
    assert found[0].offset == 0


def test_a_format_error_of_the_callback_is_damage() -> None:
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


def test_other_errors_of_the_callback_are_raised() -> None:
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


@pytest.mark.parametrize("nonsense", NONSENSE[::2])
@pytest.mark.parametrize("form", FORMS)
def test_verify_reports_that_endless_nonsense_of_a_server_was_not_read(form, nonsense, monkeypatch) -> None:
    monkeypatch.setattr(search, "MAX_AFAR", 2 << 20)
    source = Endless(crawl(form).bytes(), nonsense)
    problems: list[tools.Problem] = []
    found = tools.verify(source, on_problem=problems.append)
    assert (found.records, found.is_sound) == (6, False)
    assert problems[-1].severity == "limit"
    assert f"bytes up to {source.size} were not read" in problems[-1].message
    assert found.lost <= 2 << 20
    assert source.bytes_sent < 40 << 20
    assert source.requests < 1000


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("form", FORMS)
def test_recover_saves_what_comes_before_endless_nonsense(
    form, nonsense, monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(search, "MAX_AFAR", 2 << 20)
    source = Endless(crawl(form).bytes(), b"nonsense")
    done = tools.recover(source, tmp_path / "saved.warc.zst")
    assert done.records == 6
    assert done.losses[-1].end == source.size
    assert "not searched; download it" in done.losses[-1].reason
    assert source.bytes_sent < 40 << 20
    assert tools.verify(tmp_path / "saved.warc.zst").records == 6


def test_recover_does_not_search_endless_nonsense_for_the_first_record(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(search, "MAX_AFAR", 2 << 20)
    source = Endless(b"", b"nonsense")
    with pytest.raises(LimitError, match="not searched; download it"):
        tools.recover(source, tmp_path / "saved.warc.zst")
    assert source.bytes_sent < 40 << 20
    assert [*tmp_path.iterdir()] == []


def test_a_table_that_takes_too_much_to_compare_does_not_end_the_search(monkeypatch) -> None:
    made = Foreign()
    for number in range(400):
        made.record(noise(20_000, seed=number))
    data = bytearray(made.file_table().bytes())
    data[made.records[200].offset + 5000] ^= 0x55
    source = RecordingSource(bytes(data))
    source.policy = REMOTE
    # Enough for one search, and not for the headers of all frames.
    monkeypatch.setattr(search, "MAX_AFAR", 4 << 20)
    found = tools.verify(source)
    assert (found.records, found.codes["damage"], found.codes["limit"]) == (399, 1, 0)
