"""Tables at the end of a file, and the chain that `cat` leaves."""

from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path

import pytest

import seekwarc
from seekwarc.check.verifying import Verifier
from seekwarc.errors import FormatError
from seekwarc.format.seektable import table_frame_size
from seekwarc.read.file_tables import FileTables, own_table_tail, read_table_before
from tests.support.foreign import Foreign, text
from tests.support.sources import RecordingSource


def part(number: int) -> Foreign:
    return Foreign().record(b"%d" % number).record(text(3000, seed=number), cuts=500).file_table()


def found(tables: FileTables, made: Foreign, number: int):
    put = made.records[number]
    return tables.find(put.offset, len(put.header) + len(put.block) + 4)


def test_a_record_is_found_in_the_table_of_the_file() -> None:
    made = part(1)
    tables = FileTables(RecordingSource(made.bytes()))
    claimed = found(tables, made, 1)
    assert claimed.claimed_end == made.records[1].stop
    assert len(claimed.table) == len(made.entries) - 2
    assert not claimed.is_own
    assert len(found(tables, made, 0).table) == 1


def test_a_table_of_one_record_only_is_its_own() -> None:
    made = Foreign().record(text(3000), cuts=500).file_table()
    assert found(FileTables(RecordingSource(made.bytes())), made, 0).is_own


def test_what_the_table_does_not_list_is_not_found() -> None:
    made = part(1)
    tables = FileTables(RecordingSource(made.bytes()))
    put = made.records[1]
    size = len(put.header) + len(put.block) + 4
    assert tables.find(put.offset + 1, size) is None
    assert tables.find(put.offset, size + 1) is None
    assert tables.find(len(made.bytes()) + 5, size) is None


def test_files_after_one_another_are_a_chain() -> None:
    made = part(1).append(part(2)).append(part(3))
    tables = FileTables(RecordingSource(made.bytes()))
    for number, put in enumerate(made.records):
        assert found(tables, made, number).table.stored_size == put.length


def test_a_part_without_a_table_ends_the_chain() -> None:
    made = part(1).append(Foreign().record(text(3000), cuts=500)).append(part(3))
    tables = FileTables(RecordingSource(made.bytes()))
    assert [found(tables, made, number) is not None for number in range(5)] == [
        False,
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("data", [b"", b"x" * 5, b"x" * 5000, part(1).bytes()[:-1], part(1).bytes() + b"x"])
def test_without_a_table_nothing_is_found(data) -> None:
    made = part(1)
    assert found(FileTables(RecordingSource(data)), made, 1) is None


@pytest.mark.parametrize(
    "options",
    [{"count": 10**6}, {"count": 1}, {"descriptor": 0xFC}, {"frame_magic": 0x184D2A50}, {"frame_size": 3}],
)
def test_a_broken_table_is_as_good_as_none(options) -> None:
    made = Foreign().record(b"1").record(text(3000), cuts=500).file_table(**options)
    assert found(FileTables(RecordingSource(made.bytes())), made, 1) is None


def test_a_claim_of_many_entries_costs_one_small_read() -> None:
    made = Foreign().record(text(200_000), cuts=50_000).file_table(count=(1 << 32) - 1)
    source = RecordingSource(made.bytes())
    FileTables(source)
    assert source.bytes_asked <= 64 << 10


def test_a_long_table_takes_a_second_read() -> None:
    made = Foreign().record(text(60_000), cuts=10).file_table()
    source = RecordingSource(made.bytes())
    tables = FileTables(source)
    assert found(tables, made, 0).is_own
    assert len(source.requests) == 2


def test_a_table_is_read_before_any_offset() -> None:
    made = part(1)
    end = len(made.bytes())
    source = RecordingSource(made.bytes() + b"more")
    table, offset = read_table_before(source, end, floor=0, tail=100)
    assert table.stored_size == offset == made.records[1].stop
    assert read_table_before(source, end + 4, floor=0, tail=100) is None
    assert read_table_before(source, end, floor=end - 5, tail=100) is None
    assert read_table_before(source, end + 100, floor=0, tail=100) is None


def test_a_table_that_breaks_the_format_is_an_error() -> None:
    made = Foreign().record(text(3000), cuts=500).file_table(frame_magic=0x184D2A50)
    with pytest.raises(FormatError):
        read_table_before(RecordingSource(made.bytes()), len(made.bytes()), floor=0, tail=5000)


@pytest.mark.parametrize("length", [1, 100, 64 << 10, 1 << 20, 1 << 30, 1 << 40])
def test_what_is_read_at_the_end_of_a_record_holds_most_tables(length: int) -> None:
    tail = own_table_tail(length)
    assert tail <= length
    # Frames of 128 KiB that do not compress.
    assert tail >= min(length, (length >> 17) * 12 + 17)
    assert tail <= max(64 << 10, length // 3 + 17)


# Limits.


def sparse_table(folder: Path, size: int) -> Path:
    """Make a file of a record and a table of some size, that the file system stores as a hole."""
    path = folder / "sparse.warc.zst"
    count = (size - 17) // 8
    with open(path, "wb") as file:
        file.write(Foreign().record(text(3000), cuts=500).bytes())
        # There must be room for as many frames.
        file.write(struct.pack("<II", 0x184D2A50, count * 8))
        file.seek(count * 8, os.SEEK_CUR)
        file.write(struct.pack("<II", 0x184D2A5E, count * 8 + 9))
        file.seek(count * 8, os.SEEK_CUR)
        file.write(struct.pack("<IBI", count, 0, 0x8F92EAB1))
    return path


@pytest.mark.parametrize("reading", ["iterate", "open", "verify"])
def test_a_huge_table_takes_no_memory(tmp_path: Path, reading: str) -> None:
    path = sparse_table(tmp_path, 160 << 20)
    tracemalloc.start()
    try:
        if reading == "verify":
            assert {problem.code for problem in Verifier(path)} == {"table-form"}
        with seekwarc.open(path) as archive:
            record = archive.record_at(0) if reading == "open" else next(iter(archive))
            assert len(record.block.read()) == 3000
            assert record.length > 3000
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


def test_tables_above_the_limit_are_scanned_past_and_the_limit_can_be_raised() -> None:
    made = Foreign().record(text(30_000), cuts=100).file_table()
    data = made.bytes()
    size = made.entries[-1][0]
    for limit, status in ((size, "record"), (size - 1, "none"), (0, "none")):
        with seekwarc.open(data, max_table_size=limit) as archive:
            record = archive.record_at(0)
            assert record.seek_table_status == status
            assert record.block.read() == made.records[0].block


def test_the_limit_is_for_all_tables_of_a_file_together() -> None:
    made = Foreign()
    for number in range(5):
        made.append(Foreign().record(text(3000, seed=number), cuts=100).file_table())
    size = made.entries[-1][0]
    whole = FileTables(RecordingSource(made.bytes()))
    some = FileTables(RecordingSource(made.bytes()), limit=2 * size)
    offsets = [put.offset for put in made.records]
    assert [len([*whole.frame_offsets(it)]) > 0 for it in offsets] == [True] * 5
    assert [len([*some.frame_offsets(it)]) > 0 for it in offsets] == [False] * 3 + [True] * 2


def test_more_entries_than_the_format_allows_are_refused() -> None:
    footer = struct.pack("<IBI", 0x0800_0001, 0, 0x8F92EAB1)
    assert table_frame_size(footer) is None
    assert table_frame_size(struct.pack("<IBI", 0x0800_0000, 0, 0x8F92EAB1)) is not None
