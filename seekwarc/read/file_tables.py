"""The tables at the end of a file, and the chain of them that plain concatenation leaves.

Goal: find the frames of any record without an index, with one read at the end of the file.

Plan: the table that ends with the file states how many bytes its frames take, and so where they begin.
If that is not the beginning of the file, another file's table may end there: `cat a.warc.zst b.warc.zst`
leaves a chain of tables, which is walked backward.

Worst case: a chain of very many tiny tables, or one that claims gigabytes. `MAX_LINKS` and a budget of bytes
end the walk; records that no table lists are scanned.

Source: spec-notes/warc-zstd-seekable, annex A.1 (file table), A.4 (joining) and A.5.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from seekwarc.errors import FormatError
from seekwarc.format.seektable import MAX_TABLE_SIZE, SeekTable, table_frame_size
from seekwarc.storage.fetch import TAIL
from seekwarc.storage.source import RangeSource

__all__ = ["MAX_LINKS", "ClaimedFrames", "FileTable", "FileTables", "own_table_tail", "read_table_before"]

LITTLE_DATA: Final = 1 << 20
STORED_PER_TABLE_BYTE: Final = (128 << 10) // 12
"""Stored bytes for each byte of the table, in a record that does not compress."""
TABLE_OVERHEAD: Final = 17
NEXT_TAIL: Final = 4 << 10
OWN_TAIL: Final = 32 << 10
MAX_LINKS: Final = 1000
"""How far the chain is followed; what lies before is found by scanning."""


class ClaimedFrames(NamedTuple):
    """The frames of one record, as a seek table of the file claims."""

    offset: int
    """Offset of the first one in the file."""
    table: SeekTable
    """Lists them; of a table of the whole file, the part that does."""
    is_own: bool
    """The table lists nothing else."""

    @property
    def claimed_end(self) -> int:
        """Offset after the last one."""
        return self.offset + self.table.stored_size


class FileTable(NamedTuple):
    """A table of a file, or of one of the files that it was put together of: what it lists is a claim."""

    start: int
    """Offset of the first frame that it lists."""
    stop: int
    """Offset of the table itself: the last frame that it lists ends there."""
    table: SeekTable


def own_table_tail(length: int) -> int:
    """Return how many bytes to read at the end of a record of `length` stored bytes to have its table."""
    # If little data has a long table, it compressed very well, and the table is a large share of it.
    share = length // STORED_PER_TABLE_BYTE if length > LITTLE_DATA else length // 3
    return min(max(OWN_TAIL, share + TABLE_OVERHEAD), length)


def read_table_before(
    source: RangeSource, end: int, *, floor: int, tail: int, limit: int = MAX_TABLE_SIZE
) -> tuple[SeekTable, int] | None:
    """Read the seek table that ends at `end`; None if no table ends there, or one above the limit.

    No byte of the table, nor of the frames it lists, lies before `floor`. At first `tail` bytes are read; a
    larger table takes a second read. One that breaks the format is a `FormatError`.
    """
    begin = max(end - min(tail, limit), floor)
    data = source.read(begin, end)
    if len(data) < end - begin:
        return None
    size = table_frame_size(data, bytes_before=end - floor)
    if size is None or size > limit:
        return None
    offset = end - size
    if size > len(data):
        data = source.read(offset, begin) + data
    return SeekTable.parse(memoryview(data)[len(data) - size :]), offset


class FileTables:
    """All file tables of one file, walked backward from its end."""

    def __init__(
        self, source: RangeSource, *, limit: int = MAX_TABLE_SIZE, max_links: int = MAX_LINKS
    ) -> None:
        self._links: list[FileTable] = []
        end = source.size or 0
        tail = TAIL
        while end and limit and len(self._links) < max_links:
            try:
                found = read_table_before(source, end, floor=0, tail=tail, limit=limit)
                if found is None:
                    break
                table, offset = found
                start = table.anchor(offset)
            except FormatError:
                # A table is a hint: an unusable one is ignored.
                break
            if start == offset:
                break
            self._links.append(FileTable(start, offset, table))
            limit -= end - offset
            end = start
            tail = NEXT_TAIL

        self._links.reverse()

    @property
    def links(self) -> Sequence[FileTable]:
        """The tables, in file order. Each begins where the one before it ends."""
        return self._links

    def all_frames(self) -> array[int] | None:
        """Return the offsets of all frames with content, None if the tables do not list the whole file."""
        if not self._links or self._links[0].start:
            return None
        found = array("Q")
        for start, _, table in self._links:
            position = start
            for stored, content in zip(table.stored_sizes, table.content_sizes, strict=True):
                if content:
                    found.append(position)
                position += stored
        return found

    def over(self, offset: int) -> FileTable | None:
        """Return the table that lists what is at `offset`."""
        index = bisect_right(self._links, offset, key=lambda link: link.start) - 1
        return self._links[index] if index >= 0 and offset < self._links[index].stop else None

    def frame_offsets(self, offset: int) -> Iterator[int]:
        """Yield the offsets of frames with content that the table over `offset` lists after it."""
        link = self.over(offset)
        if link is None:
            return
        table = link.table
        first = bisect_right(range(len(table)), offset - link.start, key=lambda n: table[n].stored_start)
        for number in range(first, len(table)):
            entry = table[number]
            if entry.content_size:
                yield link.start + entry.stored_start

    def find(self, offset: int, size: int) -> ClaimedFrames | None:
        """Return the frames of the record at `offset` that holds `size` content bytes, if listed."""
        link = self.over(offset)
        part = link.table.part(offset - link.start, size) if link is not None else None
        if link is None or part is None:
            return None
        return ClaimedFrames(offset, part, is_own=len(part) == len(link.table))
