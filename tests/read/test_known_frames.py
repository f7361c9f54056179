"""Frames that are known, frames that are claimed, and the way from the one to the other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.seektable import TableReference
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.known_frames import KnownFrames, compared, frames_named, scanned, table_after
from seekwarc.read.options import ReadOptions
from seekwarc.storage.fetch import Fetcher
from tests.support.foreign import Change, Entry, Foreign, Put, text
from tests.support.sources import RecordingSource


def file_of(made: Foreign, data: bytes | None = None, *, strict: bool = False) -> ArchiveFile:
    source = RecordingSource(made.bytes() if data is None else data)
    return ArchiveFile(Fetcher(source), ReadOptions(threads=1, strict=strict))


def size_of(put: Put) -> int:
    return len(put.header) + len(put.block) + 4


def large(change: Change | None = None) -> Foreign:
    made = Foreign().record(text(500))
    return made.record(text(9000, seed=3), cuts=1000, table={"change": change}).record(text(700))


def found_in(made: Foreign) -> KnownFrames:
    put = made.records[1]
    found = scanned(file_of(made), put.offset, size_of(put))
    assert found is not None
    return found.frames


def test_scanned_frames_end_where_the_record_does() -> None:
    made = large()
    known = found_in(made)
    assert known.table.content_size == size_of(made.records[1])
    # The table comes after them.
    assert made.bytes()[known.end : known.end + 4] == b"\x5e\x2a\x4d\x18"


def test_frames_that_hold_more_than_the_record_do_not_tell_where_it_ends() -> None:
    made = large()
    assert scanned(file_of(made), made.records[1].offset, size_of(made.records[1]) - 1) is None


@pytest.mark.parametrize("is_between_frames", [False, True])
def test_frames_of_a_record_that_is_cut_off_do_not_tell_where_it_ends(is_between_frames: bool) -> None:
    made = large()
    put = made.records[1]
    sizes = found_in(made).table.stored_sizes
    cut = made.bytes()[: put.offset + sum(sizes[:4]) + (0 if is_between_frames else 3)]
    assert scanned(file_of(made, cut), put.offset, size_of(put)) is None
    with pytest.raises(TruncatedError, match="the file ends inside"):
        scanned(file_of(made, cut, strict=True), put.offset, size_of(put))


def moved_on(entries: list[Entry]) -> list[Entry]:
    made = list(entries)
    made[1], made[2] = (made[1][0] + 5, *made[1][1:]), (made[2][0] - 5, *made[2][1:])
    return made


def other_content(entries: list[Entry]) -> list[Entry]:
    made = list(entries)
    made[1], made[2] = (made[1][0], made[1][1] + 5, made[1][2]), (made[2][0], made[2][1] - 5, made[2][2])
    return made


def other_checksum(entries: list[Entry]) -> list[Entry]:
    return [*entries[:-1], (*entries[-1][:2], entries[-1][2] ^ 1)]


def without_the_first(entries: list[Entry]) -> list[Entry]:
    return entries[1:]


def test_claimed_frames_are_known_if_they_are_those_that_are_there() -> None:
    made = large()
    file, put = file_of(made), made.records[1]
    found = scanned(file, put.offset, size_of(put))
    after = table_after(file, found.frames)
    known = compared(after[0], found)
    assert known.table.checksums is not None
    assert known.table.stored_sizes == found.frames.table.stored_sizes


@pytest.mark.parametrize("change", [moved_on, other_content, other_checksum, without_the_first])
def test_claimed_frames_that_are_not_there_never_become_known(change: Callable) -> None:
    made = large(change)
    file, put = file_of(made), made.records[1]
    found = scanned(file, put.offset, size_of(put))
    after = table_after(file, found.frames)
    assert after is not None
    with pytest.raises(FormatError, match="does not list the frames that are there"):
        compared(after[0], found)


def test_a_table_of_more_frames_is_not_the_one_after_the_record() -> None:
    made = Foreign().record(b"one").record(text(9000), cuts=1000).file_table()
    file, put = file_of(made), made.records[1]
    assert table_after(file, scanned(file, put.offset, size_of(put)).frames) is None


def reference_to(made: Foreign) -> TableReference:
    known = found_in(made)
    size = 17 + 12 * len(known.table)
    stored = made.bytes()[known.end : known.end + size]
    return TableReference(known.end, size, hashlib.sha256(stored).hexdigest())


def test_a_table_that_an_index_names_is_known_without_a_scan() -> None:
    made = large()
    put = made.records[1]
    source = RecordingSource(made.bytes())
    file = ArchiveFile(Fetcher(source), ReadOptions(threads=1))
    known = frames_named(file, put.offset, size_of(put), reference_to(made))
    assert known.end == found_in(made).end
    assert len(source.requests) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "0" * 64}, "out of date"),
        ({"size": 1 << 40}, "max_table_size"),
    ],
)
def test_another_table_than_the_named_one_is_refused(changes: dict, message: str) -> None:
    made = large()
    put = made.records[1]
    with pytest.raises(FormatError, match=message):
        frames_named(file_of(made), put.offset, size_of(put), reference_to(made)._replace(**changes))


def test_a_named_table_is_that_of_one_record_only() -> None:
    made = large()
    first = made.records[0]
    with pytest.raises(FormatError, match="another record"):
        frames_named(file_of(made), first.offset, size_of(first), reference_to(made))
