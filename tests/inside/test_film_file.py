"""The file that libav reads from: its steps, its budget, its silence."""

from __future__ import annotations

import io

import pytest

from seekwarc.errors import ChecksumError, LimitError, SourceError
from seekwarc.inside.film_file import FIRST_STEP, MAX_STEP, FilmFile
from tests.support.cutting import Watched

SIZE = 8 << 20


def data_of(size: int = SIZE) -> bytes:
    return bytes(range(256)) * (size // 256)


def read_all(file: FilmFile, count: int) -> bytes:
    pieces = []
    while count and (piece := file.read(min(count, 32768))):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def test_steps_grow_while_reading_goes_on() -> None:
    inner = Watched(data_of())
    file = FilmFile(inner)
    assert read_all(file, SIZE) == data_of()
    sizes = [stop - start for start, stop in inner.reads]
    assert sizes[:3] == [FIRST_STEP, 4 * FIRST_STEP, MAX_STEP]
    assert max(sizes) == MAX_STEP


def test_a_jump_begins_with_a_small_step() -> None:
    inner = Watched(data_of())
    file = FilmFile(inner)
    read_all(file, 1 << 20)
    inner.reads.clear()
    file.seek(5 << 20)
    file.read(10)
    assert inner.reads == [(5 << 20, (5 << 20) + FIRST_STEP)]


def test_what_is_expected_is_read_at_once() -> None:
    inner = Watched(data_of())
    file = FilmFile(inner)
    file.expect([(1000, 2_000_000), (2_100_000, 3_000_000)])
    file.seek(1000)
    assert read_all(file, 2_999_000) == data_of()[1000:3_000_000]
    assert inner.reads == [(1000, 3_000_000)]


def test_two_places_are_kept_at_once() -> None:
    inner = Watched(data_of())
    file = FilmFile(inner)
    for at in range(0, 100_000, 1000):
        for start in (0, 4 << 20):
            file.seek(start + at)
            assert file.read(1000) == data_of()[at : at + 1000]
    assert len(inner.reads) == 2


def test_what_is_before_damage_is_read() -> None:
    file = FilmFile(Watched(data_of(), damaged=(300_001, 400_000)))
    assert read_all(file, SIZE) == data_of()[:300_001]
    with pytest.raises(ChecksumError):
        file.check()


def test_damage_that_did_not_matter_is_forgotten() -> None:
    file = FilmFile(Watched(data_of(), damaged=(300_001, 400_000)))
    read_all(file, SIZE)
    file.forget()
    file.check()
    file.seek(400_000)
    assert read_all(file, 1000) == data_of()[400_000:401_000]


@pytest.mark.parametrize("error", [SourceError("gone"), MemoryError(), OSError("x")])
def test_other_errors_end_everything(error) -> None:
    file = FilmFile(Watched(data_of(), damaged=(0, 10), error=error))
    assert file.read(10) == b""
    file.forget()
    file.seek(1000)
    assert file.read(10) == b""
    with pytest.raises(type(error)):
        file.check()


def test_going_in_circles_ends() -> None:
    file = FilmFile(io.BytesIO(bytes(1000)))
    for _ in range(1_000_000):
        file.seek(0)
        if not file.read(1):
            break
    with pytest.raises(LimitError, match="in circles"):
        file.check()


def test_after_the_end_there_is_nothing() -> None:
    file = FilmFile(io.BytesIO(b"abc"))
    assert file.seek(-1, io.SEEK_END) == 2
    assert (file.read(5), file.read(5), file.tell()) == (b"c", b"", 3)
    assert file.seek(100) == 100
    assert file.read(5) == b""
    file.check()
