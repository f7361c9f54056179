"""Reading files that may be damaged as records and damage, in order and without gaps."""

from __future__ import annotations

import random

import pytest

from seekwarc.check.examine import Damage, Intact, examine
from seekwarc.read.record import Record
from tests.support.damage import FORMS, crawl, flipped, opened


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
