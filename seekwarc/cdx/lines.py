"""Sorted lines of text in a stored file, found by binary search.

Of a large file only a few blocks are read: about log2(size / 64 KiB) for the first search, one or two for the
next ones, because what the first looks at is remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Protocol

from seekwarc.errors import FormatError, LimitError, SourceError
from seekwarc.format.cdxj import MAX_LINE_SIZE, line_head
from seekwarc.format.words import counted
from seekwarc.storage.source import RangeSource

__all__ = ["SortedLines", "StoredLine", "StoredLines", "in_order"]

BLOCK: Final = 64 << 10
MAX_BLOCKS: Final = 16
"""Blocks that are kept."""
MAX_READ: Final = 1 << 20
"""Bytes of one read, where many lines are taken one after the other."""
MAX_REMEMBERED: Final = 4 << 20
"""Bytes of keys that are kept for further searches: the first ones, which all searches begin with."""
LITTLE: Final = 512
"""Bytes of a few lines: it is not worth the while to search in them."""
NEWLINE: Final = 0x0A

_LINE = re.compile(rb"[^\n]*+\n|[^\n]++\Z")


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line and where it is stored."""

    data: bytes
    """The line, without its line break."""
    source: str
    """Name of the file."""
    offset: int
    """Where the line begins there; of a compressed block, where the block begins."""

    @property
    def head(self) -> bytes:
        """Key and date, which lines are sorted by.

        Raises:
            FormatError: The line has not got both.
        """
        head = line_head(self.data)
        if head is None:
            raise self.error(f"not a line of an index (key, date, values): {self.data[:60]!r}")
        return head

    def error(self, message: str) -> FormatError:
        """Return an error that names the place of the line."""
        return FormatError(message, source=self.source, offset=self.offset)


class SortedLines(Protocol):
    """Lines that are sorted by their bytes, wherever they are stored."""

    def ascending(self, wanted: bytes) -> Iterator[StoredLine]:
        """Yield the lines that do not sort in front of `wanted`, in order."""

    def descending(self, wanted: bytes) -> Iterator[StoredLine]:
        """Yield the lines that sort in front of `wanted`, the last of them first."""


class StoredLines:
    """The sorted lines of one uncompressed file; see `SortedLines`. May be used from any thread.

    Args:
        source: The file. Its size must be known.

    Raises:
        SourceError: It is a pipe.
    """

    def __init__(self, source: RangeSource) -> None:
        if source.size is None:
            raise SourceError("a pipe cannot be searched; store it in a file first", source=source.name)
        self.name = source.name
        self._source = source
        self._size: int = source.size
        self._block = lru_cache(MAX_BLOCKS)(self._read_block)
        self._known: dict[int, StoredLine | None] = {}
        self._room = MAX_REMEMBERED

    def ascending(self, wanted: bytes) -> Iterator[StoredLine]:
        """See `SortedLines.ascending`.

        Raises:
            FormatError: A line is malformed, or the lines are not sorted, as far as they are looked at.
        """
        return in_order(self._forward(self._position(wanted)))

    def descending(self, wanted: bytes) -> Iterator[StoredLine]:
        """See `SortedLines.descending`.

        Raises:
            FormatError: A line is malformed, or the lines are not sorted, as far as they are looked at.
        """
        stop = self._position(wanted)
        behind: StoredLine | None = None
        for number in range(stop // BLOCK, -2, -1):
            start = self._start(number)
            for line in reversed([*self._forward(start, stop)]):
                if behind is not None and line.head > behind.head:
                    raise _unsorted(behind)
                behind = line
                yield line
            stop = min(start, stop)

    def _position(self, wanted: bytes) -> int:
        """Return where the first line begins that does not sort in front of `wanted`."""
        for line in self._forward(self._nearby(self._block_before(wanted), wanted)):
            if line.head >= wanted:
                return line.offset
        return self._size

    def _nearby(self, number: int, wanted: bytes) -> int:
        """Return where a line begins that is little in front of the first one of a block behind `wanted`."""
        low = self._start(number)
        base = max(number, 0) * BLOCK
        data = self._block(base // BLOCK) if self._size else b""
        high = base + len(data)
        while high - low > LITTLE:
            middle = (low + high) // 2
            begin = data.find(b"\n", middle - base, high - base) + 1
            head = line_head(data, begin) if begin else None
            # A head that reaches to the end may be cut off there.
            if head is not None and begin + len(head) < len(data) and head < wanted:
                low = base + begin
            else:
                high = middle
        return low

    def _block_before(self, wanted: bytes) -> int:
        """Return the last block whose first line sorts in front of `wanted`; -1 where none does."""
        low, high = -1, -(-self._size // BLOCK)
        lowest, highest = b"", None
        while high - low > 1:
            middle = (low + high) // 2
            line = self._first_line(middle)
            if line is None:
                high = middle
                continue
            head = line.head
            if head < lowest or (highest is not None and head > highest):
                raise _unsorted(line)
            if head < wanted:
                low, lowest = middle, head
            else:
                high, highest = middle, head
        return low

    def _start(self, number: int) -> int:
        """Return where the lines of a block begin; what is in front of those of the first one is block -1."""
        if number < 0:
            return 0
        line = self._first_line(number)
        return line.offset if line is not None else self._size

    def _first_line(self, number: int) -> StoredLine | None:
        """Return the beginning of the first line that begins behind the first byte of a block.

        Returns:
            None where none does, up to the end of the file.
        """
        if number not in self._known:
            line = self._find_first_line(number)
            size = len(line.data) if line is not None else 0
            if size > self._room:
                return line
            self._room -= size
            self._known[number] = line
        return self._known[number]

    def _find_first_line(self, number: int) -> StoredLine | None:
        begin = number * BLOCK
        for behind in range(number, number + MAX_LINE_SIZE // BLOCK + 1):
            data = self._block(behind)
            index = data.find(b"\n")
            if index >= 0:
                start = behind * BLOCK + index + 1
                return self._line_begin(start) if start < self._size else None
            if (behind + 1) * BLOCK >= self._size:
                return None
        raise self._too_long(begin)

    def _line_begin(self, offset: int) -> StoredLine:
        """Return the line at `offset`, cut off behind key and date where that is known to be all of them."""
        number, skip = divmod(offset, BLOCK)
        data = self._block(number)[skip:]
        while True:
            head = line_head(data)
            if (head is not None and len(head) < len(data)) or b"\n" in data:
                return StoredLine(head if head is not None else data.partition(b"\n")[0], self.name, offset)
            number += 1
            if number * BLOCK >= self._size:
                return StoredLine(data, self.name, offset)
            if len(data) > MAX_LINE_SIZE:
                raise self._too_long(offset)
            data += self._block(number)

    def _forward(self, offset: int, stop: int | None = None) -> Iterator[StoredLine]:
        """Yield the lines of [offset, stop), both at the beginning of a line; the reads grow."""
        stop = self._size if stop is None else stop
        number, skip = divmod(offset, BLOCK)
        rest = self._block(number)[skip:] if offset < stop else b""
        position = offset + len(rest)
        step = BLOCK
        while offset < stop:
            at_end = position >= self._size
            begin = offset
            for match in _LINE.finditer(rest):
                if match[0][-1] != NEWLINE and not at_end:
                    break
                if offset >= stop:
                    return
                if line := match[0].rstrip(b"\r\n"):
                    yield StoredLine(line, self.name, offset)
                offset += len(match[0])
            rest = rest[offset - begin :]
            if at_end:
                return
            if len(rest) > MAX_LINE_SIZE:
                raise self._too_long(offset)
            # The next block may be looked at again.
            near = step == BLOCK and position % BLOCK == 0
            more = self._block(position // BLOCK) if near else self._read(position, position + step)
            rest += more
            position += len(more)
            step = min(step * 2, MAX_READ)

    def _read_block(self, number: int) -> bytes:
        return self._read(number * BLOCK, (number + 1) * BLOCK)

    def _read(self, start: int, stop: int) -> bytes:
        stop = min(stop, self._size)
        data = self._source.read(start, stop)
        if len(data) < stop - start:
            end = start + len(data)
            raise SourceError(
                f"ends at {end}, and should have {counted(self._size, 'byte')}", source=self.name
            )
        return data

    def _too_long(self, offset: int) -> LimitError:
        return LimitError(
            f"a line of more than {MAX_LINE_SIZE} bytes: this is no sorted index",
            source=self.name,
            offset=offset,
        )


def in_order(lines: Iterator[StoredLine]) -> Iterator[StoredLine]:
    """Pass on lines as long as none sorts in front of the one before.

    Raises:
        FormatError: One does, or is malformed.
    """
    before = b""
    for line in lines:
        head = line.head
        if head < before:
            raise _unsorted(line)
        before = head
        yield line


def _unsorted(line: StoredLine) -> FormatError:
    return line.error(
        f"the index is not sorted: {line_head(line.data[:200])!r} does not belong here; "
        "sort it by its bytes (LC_ALL=C sort)"
    )
