"""Seek tables: what is written is what the standard says, what is read is what is written, or refused."""

from __future__ import annotations

import struct
import tracemalloc
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc import SeekTable
from seekwarc.errors import FormatError, LimitError, TruncatedError
from seekwarc.format.seektable import (
    FOOTER_SIZE,
    MAX_ENTRIES,
    PIECE,
    SidecarReference,
    built_table_size,
    parse_table_choice,
    table_frame_size,
)
from tests.support import foreign
from tests.support.strategies import seek_tables

ENTRIES = [(100, 1000, 7), (8, 0, 0xFFFF_FFFF), (0xFFFF_FFFF, 0xFFFF_FFFF, 0), (20, 1, 5)]


def make(entries: list[tuple[int, int, int]], *, checksums: bool = True) -> SeekTable:
    stored, contents, sums = (array("I", column) for column in zip(*entries, strict=True))
    return SeekTable(stored, contents, sums if checksums else None)


# Bytes.


@pytest.mark.parametrize("checksums", [True, False])
def test_a_table_is_built_as_the_standard_says(checksums: bool) -> None:
    made = make(ENTRIES, checksums=checksums)
    assert made.build() == foreign.seek_table(ENTRIES, checksums=checksums)
    assert SeekTable.parse(foreign.seek_table(ENTRIES, checksums=checksums)) == made


@given(seek_tables())
def test_parse_undoes_build(table: SeekTable) -> None:
    frame = table.build()
    assert SeekTable.parse(frame) == table
    assert SeekTable.parse(memoryview(bytearray(frame))) == table
    assert table_frame_size(frame) == len(frame)
    assert table_frame_size(frame[-FOOTER_SIZE:]) == len(frame)


@given(seek_tables(), st.integers(1, 3))
def test_unused_bits_are_ignored(table: SeekTable, bits: int) -> None:
    frame = bytearray(table.build())
    frame[-5] |= bits
    assert SeekTable.parse(frame) == table


@given(seek_tables(), st.integers(2, 6))
def test_reserved_bits_make_a_table_unusable(table: SeekTable, bit: int) -> None:
    frame = bytearray(table.build())
    frame[-5] |= 1 << bit
    with pytest.raises(FormatError):
        SeekTable.parse(frame)
    assert table_frame_size(frame) is None


@given(seek_tables(), st.data())
def test_a_table_cut_anywhere_is_refused(table: SeekTable, data: st.DataObject) -> None:
    frame = table.build()
    cut = data.draw(st.integers(0, len(frame) - 1))
    with pytest.raises(TruncatedError):
        SeekTable.parse(frame[:cut])


WRONG = {
    "magic of the frame": {"frame_magic": 0x184D2A5D},
    "magic of the footer": {"footer_magic": 0x8F92EAB0},
    "count too large": {"count": 5},
    "count too small": {"count": 3},
    "largest count": {"count": 2**32 - 1},
    "count that wraps in 32 bits": {"count": 4 + 2**30},
    "frame size too small": {"frame_size": 4 * 12 + 8},
    "frame size 0": {"frame_size": 0},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_table_that_breaks_the_format_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(FormatError):
        SeekTable.parse(foreign.seek_table(ENTRIES, **wrong))


def test_a_frame_that_says_it_is_longer_is_truncated() -> None:
    with pytest.raises(TruncatedError):
        SeekTable.parse(foreign.seek_table(ENTRIES, frame_size=4 * 12 + 10))


def test_content_without_stored_bytes_is_refused() -> None:
    for checksums in (True, False):
        with pytest.raises(FormatError, match="without stored bytes"):
            SeekTable.parse(foreign.seek_table([(10, 5, 0), (0, 1, 0)], checksums=checksums))
        SeekTable.parse(foreign.seek_table([(10, 5, 0), (0, 0, 0)], checksums=checksums))


@pytest.mark.parametrize("size", [2**32, 2**40])
def test_sizes_that_need_more_than_32_bits_cannot_be_written(size: int) -> None:
    for stored, contents in (([size], [1]), ([1], [size])):
        with pytest.raises(LimitError):
            SeekTable(array("Q", stored), array("Q", contents)).build()


def test_more_entries_than_readers_accept_cannot_be_written() -> None:
    class Many(array):
        def __len__(self) -> int:
            return MAX_ENTRIES + 1

    with pytest.raises(LimitError, match="entries"):
        SeekTable(Many("I"), Many("I")).build()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("checksums", [False, True])
@pytest.mark.parametrize("count", [PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
def test_a_large_table_is_built_of_pieces(count: int, checksums: bool) -> None:
    entries = [(number + 9, number, number ^ 77) for number in range(count)]
    built = make(entries, checksums=checksums).build()
    words = [word for entry in entries for word in entry[: 2 + checksums]]
    assert built[8:-FOOTER_SIZE] == struct.pack(f"<{len(words)}I", *words)
    assert SeekTable.parse(built) == make(entries, checksums=checksums)


def test_building_a_large_table_takes_little_memory() -> None:
    column = array("I", range(1, 1_000_001))
    table = SeekTable(column, column, column)
    tracemalloc.start()
    try:
        size = sum(map(len, table.pieces()))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert size == built_table_size(1_000_000)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="per frame"):
        SeekTable(array("I", [1, 2]), array("I", [1]))
    with pytest.raises(ValueError, match="per frame"):
        SeekTable(array("I", [1]), array("I", [1]), array("I"))


@given(seek_tables(), st.integers(-3, 3))
def test_the_count_is_bounded_by_the_bytes_before(table: SeekTable, slack: int) -> None:
    frame = table.build()
    # Each of the frames that it lists takes eight bytes at least.
    least = len(frame) + 8 * len(table)
    found = table_frame_size(frame[-FOOTER_SIZE:], bytes_before=least + slack)
    assert found == (len(frame) if slack >= 0 else None)


def test_a_footer_cut_short_is_no_table() -> None:
    frame = foreign.seek_table(ENTRIES)
    assert table_frame_size(frame[-8:]) is None
    assert table_frame_size(b"") is None


# Places.


@given(seek_tables())
def test_entries_follow_each_other(table: SeekTable) -> None:
    stored = content = 0
    for number in range(len(table)):
        entry = table[number]
        assert (entry.number, entry.stored_start, entry.content_start) == (number, stored, content)
        assert (entry.stored_size, entry.content_size) == (
            table.stored_sizes[number],
            table.content_sizes[number],
        )
        assert entry.checksum == (table.checksums[number] if table.checksums is not None else None)
        stored += entry.stored_size
        content += entry.content_size
        assert entry.content_stop == content
    assert (table.stored_size, table.content_size) == (stored, content)


small_tables = seek_tables(most=12, largest=30)


@given(small_tables, st.integers(0, 300), st.integers(0, 300))
def test_locate_finds_the_frames_that_a_search_from_the_first_finds(
    table: SeekTable, start: int, stop: int
) -> None:
    entries = [table[number] for number in range(len(table))]
    wanted = [
        entry.number for entry in entries if max(entry.content_start, start) < min(entry.content_stop, stop)
    ]
    found = table.locate(start, stop)
    if wanted:
        # Frames without content may lie between, never at either end.
        assert (found[0], found[-1]) == (wanted[0], wanted[-1])
    else:
        assert not [number for number in found if table.content_sizes[number]]


@given(small_tables, st.integers(0, 100), st.integers(1, 100))
def test_part_is_the_run_that_a_search_from_the_first_finds(
    table: SeekTable, stored_start: int, size: int
) -> None:
    entries = [table[number] for number in range(len(table))]
    expected = None
    starts = [entry.number for entry in entries if entry.stored_start == stored_start]
    if starts:
        content = 0
        for stop in range(starts[0], len(entries)):
            content += entries[stop].content_size
            if content == size:
                expected = slice(starts[0], stop + 1)
                break
    unused = SeekTable(table.stored_sizes, table.content_sizes, table.checksums)
    found = table.part(stored_start, size)
    assert unused.part(stored_start, size) == found
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert found.stored_sizes == table.stored_sizes[expected]
        assert found.content_sizes == table.content_sizes[expected]
        assert found.checksums == (table.checksums[expected] if table.checksums is not None else None)


@given(seek_tables(), st.integers(0, 2**40))
def test_anchor_is_where_the_first_frame_starts(table: SeekTable, front: int) -> None:
    assert table.anchor(front + table.stored_size) == front
    if table.stored_size:
        with pytest.raises(FormatError, match="file has before it"):
            table.anchor(table.stored_size - 1)


def test_sums_beyond_32_bits_are_kept() -> None:
    largest = 2**32 - 1
    frame = struct.pack("<II", 0x184D2A5E, 3 * 8 + 9) + struct.pack("<6I", *[largest] * 6)
    frame += struct.pack("<IBI", 3, 0, 0x8F92EAB1)
    table = SeekTable.parse(frame)
    assert table.stored_size == table.content_size == 3 * largest
    assert list(table.locate(2 * largest, 2 * largest + 1)) == [2]


def test_tables_are_values() -> None:
    assert make(ENTRIES) == make(ENTRIES)
    assert make(ENTRIES) != make(ENTRIES, checksums=False)
    assert make(ENTRIES) != make(ENTRIES[1:])
    assert "4 frames" in repr(make(ENTRIES))


def test_a_sidecar_is_named_by_size_and_digest() -> None:
    reference = SidecarReference(670, "ab" * 32)
    assert parse_table_choice(str(reference)) == reference
    # Where it is is not what it is.
    assert str(reference._replace(place="/elsewhere")) == str(reference)
    for text in ("sidecar", "sidecar 1", f"sidecar -1 sha256:{'ab' * 32}", f"sidecar 1 sha256:{'AB' * 32}"):
        with pytest.raises(FormatError):
            parse_table_choice(text)
