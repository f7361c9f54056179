"""Summaries of a file and of a record."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc import SeekTable
from seekwarc.check.describe import describe_file, describe_record, frame_picture, info, typical_read
from seekwarc.errors import FormatError, FormatWarning
from tests.support import strategies
from tests.support.arc import arc_record, first_record
from tests.support.chunks import made
from tests.support.foreign import Foreign, gzip_member, text, warc_header
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


def stored_by_type(data: bytes) -> dict[str | None, int]:
    groups = info(data, by="type").groups
    assert groups is not None
    return {it.name: it.stored_size for it in groups.most()[0]}


def test_each_stored_byte_of_an_arc_file_is_counted_once() -> None:
    records = [first_record(), arc_record(b"http://example.org/", text(900)), arc_record(b"dns:a", noise(50))]
    plain = b"".join(records)
    assert sum(stored_by_type(plain).values()) == len(plain)
    apart = b"".join(map(gzip_member, records))
    assert sum(stored_by_type(apart).values()) == len(apart)
    with pytest.warns(FormatWarning, match="share one frame or gzip member"):
        together = stored_by_type(gzip_member(plain))
    assert sum(together.values()) == len(gzip_member(plain))


def test_what_belongs_to_no_record_is_in_no_group() -> None:
    made = Foreign().dictionary(compressed=True).record(text(5000))
    made.record(text(300_000), cuts=50_000, table=True)
    inside = sum(it.length for it in made.records)
    assert stored_by_type(made.file_table().bytes()) == {"resource": inside}


@pytest.mark.filterwarnings("ignore::seekwarc.errors.FormatWarning")
def test_damage_counts_no_stored_byte_twice() -> None:
    plain = b"".join(warc_header(3000, it) + noise(3000) + b"\r\n\r\n" for it in range(8))
    member = gzip_member(plain)
    for at in range(40, len(member), 977):
        flipped = bytearray(member + gzip_member(plain[: len(plain) // 8]))
        flipped[at] ^= 0x55
        try:
            found = stored_by_type(bytes(flipped))
        except FormatError:
            continue
        assert 0 <= sum(found.values()) <= len(flipped)


def test_records_that_are_not_wanted_have_their_share_of_a_frame() -> None:
    kinds = ("resource", "metadata")
    records = [warc_header(9000, it, kind=kinds[it % 2]) + text(9000, it) + b"\r\n\r\n" for it in range(6)]
    data = gzip_member(b"".join(records))
    with pytest.warns(FormatWarning):
        groups = info(data, by="type", type="metadata").groups
    assert groups is not None
    (group,) = groups.most()[0]
    assert (group.name, group.records) == ("metadata", 3)
    assert abs(group.stored_size - len(data) / 2) < 0.01 * len(data)


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
