"""Iterating on after damage: all other records come, and each damage is told once with its place."""

from __future__ import annotations

import random
import warnings

import pytest

import seekwarc
from seekwarc import FormatError
from seekwarc.read import search
from tests.support.foreign import Foreign
from tests.support.sources import NONSENSE, Endless, Pipe
from tests.support.writing import noise

COUNT = 12


def crawl(form: str) -> Foreign:
    made = Foreign()
    for number in range(COUNT):
        made.record(noise(800, seed=number), cuts=300 if number % 3 == 1 else ())
    return made if form == "bytes" else getattr(made, form)()


def read(data: bytes, **options: object) -> tuple[list[int], int]:
    """Return the offsets of the records whose block can be read, and how many cannot."""
    good, bad = [], 0
    with warnings.catch_warnings(), seekwarc.open(data, **options) as archive:
        warnings.simplefilter("ignore")
        for record in archive:
            try:
                record.block.read()
            except FormatError:
                bad += 1
            else:
                good.append(record.offset)
    return good, bad


@pytest.mark.parametrize("form", ["bytes", "gzip"])
@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_record_costs_no_other(form: str, seed: int) -> None:
    made = crawl(form)
    rng = random.Random(seed)
    broken = sorted(rng.sample(range(1, COUNT), 3))
    data = bytearray(made.bytes())
    for number in broken:
        put = made.records[number]
        data[put.offset + put.length // 2] ^= 0x55
    errors: list[FormatError] = []
    good, _ = read(bytes(data), on_error=errors.append)
    sound = [put.offset for number, put in enumerate(made.records) if number not in broken]
    assert set(sound) <= set(good)
    assert 1 <= len(errors) <= len(broken)
    assert all(error.source is not None and error.offset is not None for error in errors)
    assert read(bytes(data), on_error="skip")[0] == good
    with seekwarc.open(bytes(data)) as archive, pytest.raises(FormatError):
        for record in archive:
            record.block.read()


@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_garbage_between_records_is_passed(form: str) -> None:
    made = crawl(form)
    cut = made.records[5].offset
    data = made.bytes()[:cut] + b"garbage " * 40 + made.bytes()[cut:]
    errors: list[FormatError] = []
    good, bad = read(data, on_error=errors.append)
    assert (len(good), bad) == (COUNT, 0)
    assert [error.offset for error in errors] == [cut]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_sound_file_is_read_alike(on_error: str) -> None:
    for form in ("bytes", "gzip", "plain"):
        made = crawl(form)
        assert read(made.bytes(), on_error=on_error) == ([put.offset for put in made.records], 0)


def test_what_the_function_raises_ends_the_iteration() -> None:
    data = crawl("bytes").bytes() + b"garbage"

    def stop(error: FormatError) -> None:
        raise RuntimeError(str(error))

    with seekwarc.open(data, on_error=stop) as archive, pytest.raises(RuntimeError, match="garbage"):
        list(archive)


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="on_error is 'ignore'"):
        seekwarc.open(b"", on_error="ignore")


# Parts of a file.


@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_a_part_has_the_records_that_begin_in_it(form: str) -> None:
    made = crawl(form)
    offsets = [put.offset for put in made.records]
    with seekwarc.open(made.bytes()) as archive:
        for first, last in [(0, COUNT), (0, 1), (3, 7), (4, 5), (5, 5), (COUNT - 1, COUNT)]:
            stop = offsets[last] if last < COUNT else None
            found = list(archive.between(offsets[first], stop))
            assert [record.offset for record in found] == offsets[first:last]
            assert [record.block.read() for record in found] == [it.block for it in made.records[first:last]]


@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_a_part_that_begins_inside_a_record_is_an_error(form: str) -> None:
    made = crawl(form)
    start = made.records[2].offset + 5
    with seekwarc.open(made.bytes()) as archive, pytest.raises(FormatError):
        list(archive.between(start, None))
    errors: list[FormatError] = []
    with seekwarc.open(made.bytes(), on_error=errors.append) as archive:
        assert [it.offset for it in archive.between(start)] == [it.offset for it in made.records[3:]]
    assert [error.offset for error in errors] == [start]


def test_damage_after_a_part_is_not_told() -> None:
    made = crawl("bytes")
    data = bytearray(made.bytes())
    data[made.records[6].offset + 30] ^= 0x55
    with seekwarc.open(bytes(data)) as archive:
        assert len(list(archive.between(0, made.records[6].offset))) == 6
        with pytest.raises(FormatError):
            list(archive.between(0, made.records[7].offset))


@pytest.mark.parametrize(("start", "stop"), [(-1, None), (5, 4)])
def test_a_part_that_is_no_range_is_refused(start: int, stop: int | None) -> None:
    with seekwarc.open(crawl("bytes").bytes()) as archive, pytest.raises(seekwarc.RangeError):
        archive.between(start, stop)


def test_a_pipe_has_no_parts() -> None:
    with seekwarc.open(Pipe(crawl("bytes").bytes())) as archive, pytest.raises(seekwarc.SourceError):
        archive.between(0, 5)


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("form", ["plain", "gzip", "bytes"])
def test_endless_nonsense_of_a_server_is_given_up(form, nonsense, monkeypatch) -> None:
    monkeypatch.setattr(search, "MAX_AFAR", 2 << 20)
    data = crawl(form)
    source = Endless(data if isinstance(data, bytes) else data.bytes(), nonsense)
    told: list[FormatError] = []
    with warnings.catch_warnings(), seekwarc.open(source, on_error=told.append) as archive:
        warnings.simplefilter("ignore")
        assert sum(1 for _ in archive) >= COUNT
    assert "not searched; download it" in str(told[-1])
    assert source.bytes_sent < 100 << 20
    assert source.requests < 1000
