"""Summaries of a file and of a record."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc import SeekTable
from seekwarc.check.describe import describe_file, describe_record, frame_picture, typical_read
from tests.support import strategies
from tests.support.chunks import made
from tests.support.foreign import Foreign, text
from tests.support.writing import noise


def made_file() -> Foreign:
    made = Foreign()
    for number in range(70):
        made.record(text(100 + number, seed=number))
    return made.record(noise(300_000), cuts=100_000, table=True).record(b"end").file_table()


@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_records_of_a_file_are_counted(form) -> None:
    made = made_file()
    data = made.bytes() if form == "bytes" else getattr(made, form)().bytes()
    with seekwarc.open(data) as archive:
        summary = describe_file(archive, largest=3)
    assert summary.compression == {"bytes": "zst", "gzip": "gz", "plain": "none"}[form]
    assert summary.size == len(data)
    assert summary.records == 72
    assert summary.content_size == len(made.plain().bytes())
    assert summary.types == {"resource": 72}
    assert [size for size, _, _ in summary.largest] == [300_000, 169, 168]
    assert sum(summary.table_status.values()) == 72


def test_table_status_of_records_is_counted() -> None:
    with seekwarc.open(made_file().bytes()) as archive:
        summary = describe_file(archive)
    assert summary.table_status["single"] == 71
    assert summary.table_status["file"] + summary.table_status["record"] == 1


def test_a_dictionary_is_named() -> None:
    made = Foreign().dictionary(compressed=True).record(text(500))
    with seekwarc.open(made.bytes()) as archive:
        assert describe_file(archive).dictionary == 0x1234_5678


def test_large_blocks_are_not_decompressed() -> None:
    made = Foreign().record(text(3_000_000), cuts=200_000, table=True).file_table()
    with seekwarc.open(made.bytes()) as archive:
        describe_file(archive)
        assert archive.stats.bytes_decoded <= 400_000


def test_a_record_is_described_without_reading_it() -> None:
    made = Foreign().record(b"x").record(text(3_000_000), cuts=200_000, table=True).file_table()
    put = made.records[1]
    with seekwarc.open(made.bytes()) as archive:
        record = archive.record_at(put.offset, put.length)
        about, plan = describe_record(record), typical_read(record)
        assert archive.stats.bytes_decoded <= 200_000
    assert (about["offset"], about["length"], about["block_size"]) == (put.offset, put.length, 3_000_000)
    assert about["payload_size"] == 3_000_000
    assert about["table_status"] == "record"
    assert about["table_problem"] is None
    assert record.body.frames is not None
    assert len(record.body.frames) == 16
    assert plan.frames in (1, 2)


@pytest.mark.parametrize("length", [0, 1, 5000])
@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_small_records_are_described_too(length, form) -> None:
    made = (
        Foreign().record(text(length)) if form == "bytes" else getattr(Foreign().record(text(length)), form)()
    )
    with seekwarc.open(made.bytes()) as archive:
        about = describe_record(archive.record_at(0))
    assert (about["block_size"], about["length"]) == (length, len(made.bytes()))


def table(*frames: tuple[int, int]) -> SeekTable:
    return SeekTable(array("Q", [stored for stored, _ in frames]), array("Q", [size for _, size in frames]))


def test_the_picture_is_darker_where_less_was_saved() -> None:
    frames = table((100, 100), (70, 100), (40, 100), (5, 100))
    assert frame_picture(frames, 4) == "█▓▒░"
    assert frame_picture(frames, 8) == "██▓▓▒▒░░"


def test_the_picture_shows_content_and_not_frames() -> None:
    assert frame_picture(table((100, 100), (3, 300)), 8) == "██░░░░░░"


def test_a_column_of_many_frames_shows_their_mean() -> None:
    assert frame_picture(table((100, 100), (0, 0), (20, 100)), 1) == "▒"


def test_the_picture_is_never_wider_than_the_content() -> None:
    assert frame_picture(table((9, 3)), 100) == "███"


def test_an_empty_record_has_no_picture() -> None:
    assert frame_picture(table(), 10) == ""
    assert frame_picture(table((8, 0)), 10) == ""


@given(strategies.seek_tables(), st.integers(-5, 60))
def test_any_table_has_a_picture(drawn, width) -> None:
    picture = frame_picture(drawn, width)
    assert len(picture) == max(min(width, drawn.content_size), 0)
    assert set(picture) <= set("█▓▒░")


def chunked_film(count: int) -> bytes:
    """Return a file whose second record has a body of `count` chunks."""
    return made(b"1\r\nx\r\n" * count + b"0\r\n\r\n", cuts=1 << 20, table=True).bytes()


def test_chunks_of_a_large_body_are_not_read() -> None:
    with seekwarc.open(chunked_film(4_000_000)) as archive:
        record = list(archive)[1]
        before = archive.stats.bytes_decoded
        about = describe_record(record)
        assert about["payload_size"] is None
        assert typical_read(record).frames == 1
        assert archive.stats.bytes_decoded - before <= 3 << 20, "of 24 MB"


def test_a_small_chunked_body_has_a_size() -> None:
    with seekwarc.open(chunked_film(5000)) as archive:
        assert describe_record(list(archive)[1])["payload_size"] == 5000
