"""Sorted lines of text in a stored file, found by binary search.

Goal: find the first line of a key in a file of any size, local or remote, with few reads.

The file is divided into blocks of 64 KiB. The search halves a range of blocks, not of bytes: it reads the
first line that begins in the middle block, which may end in the next one. The block that must have the wanted
line is then searched in memory, and read line by line from a place shortly before that line.

A first search reads about log2(size / 64 KiB) blocks. All searches begin with the same middles, and the first
lines of blocks are remembered, so later ones read one or two blocks. Lines that are not in order are reported
where the search meets them, because its result would be wrong.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple, Protocol, TypeAlias

from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError, SourceError
from seekwarc.format.cdxj import MAX_LINE_SIZE, line_head
from seekwarc.format.words import counted
from seekwarc.storage.source import RangeSource

__all__ = [
    "IndexLine",
    "SortedLines",
    "StoredLine",
    "StoredLines",
    "StoredRow",
    "in_order",
]

BLOCK: Final = 64 << 10
MAX_BLOCKS: Final = 16
"""Blocks that are kept in memory."""
MAX_READ: Final = 1 << 20
"""Largest read, in bytes, when many lines are read one after the other."""
MAX_REMEMBERED: Final = 4 << 20
"""Bytes of first lines of blocks that are remembered; those of the first search are the most useful."""
FEW_LINES: Final = 512
"""Bytes of a few lines, which are read one by one rather than searched."""


class StoredLine(NamedTuple):
    """A line and where it is stored."""

    data: bytes
    """The line, without its line break."""
    source: str
    """Name of the file that has the line."""
    offset: int
    """Where the line begins in the file; in a compressed block, where the block begins."""

    @property
    def head(self) -> bytes:
        """Key and date, by which lines are sorted; `FormatError` if one of them is missing."""
        head = line_head(self.data)
        if head is None:
            raise self.error(f"not a line of an index (key, date, values): {self.data[:60]!r}")
        return head

    def error(self, message: str) -> FormatError:
        """Return an error with the place of the line."""
        return FormatError(message, source=self.source, offset=self.offset)


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row of a Parquet file as a line. Only key and date are read before `data` is asked for."""

    head: bytes
    source: str
    offset: int
    """Where the row group begins in the file."""
    _read: Callable[[], bytes]

    @property
    def data(self) -> bytes:
        """The line, without its line break."""
        return self._read()

    def error(self, message: str) -> FormatError:
        """Return an error with the place of the line."""
        return FormatError(message, source=self.source, offset=self.offset)


IndexLine: TypeAlias = StoredLine | StoredRow


class SortedLines(Protocol):
    """Lines sorted by their bytes; a line looked at that is malformed or not in order is a `FormatError`."""

    def ascending(self, wanted: bytes) -> Iterator[IndexLine]:
        """Yield the lines that sort at or after `wanted`, in order."""

    def descending(self, wanted: bytes) -> Iterator[IndexLine]:
        """Yield the lines that sort before `wanted`, in reverse order."""

    def between(self, start: bytes, stop: bytes) -> Iterator[IndexLine]:
        """Yield the lines that sort at or after `start` and before `stop`, in order."""
        return takewhile(lambda line: line.head < stop, self.ascending(start))


class StoredLines(SortedLines):
    """The sorted lines of one uncompressed file. Safe to use from several threads.

    Args:
        source: The file.
        kind: Of the lines, which says what they are sorted by.
    """

    def __init__(self, source: RangeSource, kind: type[StoredLine] = StoredLine) -> None:
        if source.size is None:
            raise SourceError("a pipe cannot be searched; store it in a file first", source=source.name)
        self.name = source.name
        self._source = source
        self._kind = kind
        self._size: int = source.size
        self._block = lru_cache(MAX_BLOCKS)(self._read_block)
        self._known: dict[int, StoredLine | None] = {}
        self._blocks = -(-source.size // BLOCK)
        # Heads of first lines that searches have met, each with its block: they are not compared again.
        self._met: list[tuple[bytes, int]] = []
        self._room = MAX_REMEMBERED
        # What was searched for last, its block, and where the search ended.
        self._latest: tuple[bytes, int, int] = (b"", -1, 0)

    @override
    def ascending(self, wanted: bytes) -> Iterator[StoredLine]:
        return self._from(wanted, None)

    @override
    def between(self, start: bytes, stop: bytes) -> Iterator[StoredLine]:
        return self._from(start, stop)

    def _from(self, wanted: bytes, stop: bytes | None) -> Iterator[StoredLine]:
        before = b""
        for line in self._forward(self._nearby(self._block_before(wanted), wanted)):
            head = line.head
            if before or head >= wanted:
                if head < before:
                    raise _unsorted(line)
                if stop is not None and head >= stop:
                    return
                before = head
                yield line

    @override
    def descending(self, wanted: bytes) -> Iterator[StoredLine]:
        stop = self._position(wanted)
        after: StoredLine | None = None
        for number in range(stop // BLOCK, -2, -1):
            start = self._start(number)
            for line in self._backward(start, stop):
                if after is not None and line.head > after.head:
                    raise _unsorted(after)
                after = line
                yield line
            stop = min(start, stop)

    def _position(self, wanted: bytes) -> int:
        """Return where the first line begins that sorts at or after `wanted`."""
        line = next(self.ascending(wanted), None)
        return line.offset if line is not None else self._size

    def _nearby(self, number: int, wanted: bytes) -> int:
        """Search a block; return where a line begins shortly before the first that sorts after `wanted`."""
        base = max(number, 0) * BLOCK
        data = self._block(base // BLOCK) if self._size else b""
        low, high = self._start(number) - base, len(data)
        earlier, block, place = self._latest
        if block == number and earlier <= wanted:
            # A look-up searches for several keys, which are near each other as a rule.
            low = place
            begin = data.find(b"\n", low + FEW_LINES, high) + 1
            if begin and data[begin : begin + len(wanted)] >= wanted:
                high = begin
        while high - low > FEW_LINES:
            middle = (low + high) // 2
            begin = data.find(b"\n", middle, high) + 1
            # A line that is cut off by the end of the block may be too short to compare.
            if begin and data[begin : begin + len(wanted)] < wanted and begin + len(wanted) <= len(data):
                low = begin
            else:
                high = middle
        while data[low : low + len(wanted)] < wanted and low + len(wanted) <= len(data):
            begin = data.find(b"\n", low) + 1
            if not begin:
                break
            low = begin
        self._latest = wanted, number, low
        return base + low

    def _block_before(self, wanted: bytes) -> int:
        """Return the last block whose first line sorts before `wanted`, or -1."""
        met = self._met
        place = bisect_left(met, (wanted, -1))
        lowest, low = met[place - 1] if place else (b"", -1)
        highest, high = met[place] if place < len(met) else (None, self._blocks)
        while high - low > 1:
            middle = (low + high) // 2
            line = self._first_line(middle)
            if line is None:
                high = self._blocks = min(middle, self._blocks)
                continue
            head = line.head
            if head < lowest or (highest is not None and head > highest):
                raise _unsorted(line)
            if middle in self._known:
                insort(met, (head, middle))
            if head < wanted:
                low, lowest = middle, head
            else:
                high, highest = middle, head
        return low

    def _start(self, number: int) -> int:
        """Return where the first line of a block begins. Block -1 is the line at the start of the file."""
        if number < 0:
            return 0
        line = self._first_line(number)
        return line.offset if line is not None else self._size

    def _first_line(self, number: int) -> StoredLine | None:
        """Return the first line that begins after the first byte of a block, cut off after its head."""
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
        for later in range(number, number + MAX_LINE_SIZE // BLOCK + 1):
            data = self._block(later)
            index = data.find(b"\n")
            if index >= 0:
                start = later * BLOCK + index + 1
                return self._line_begin(start) if start < self._size else None
            if (later + 1) * BLOCK >= self._size:
                return None
        raise self._too_long(begin)

    def _line_begin(self, offset: int) -> StoredLine:
        """Return the line at `offset`, cut off after its head if the head is known to be complete."""
        number, skip = divmod(offset, BLOCK)
        data = self._block(number)[skip:]
        while True:
            head = line_head(data)
            if (head is not None and len(head) < len(data)) or b"\n" in data:
                return self._kind(head if head is not None else data.partition(b"\n")[0], self.name, offset)
            number += 1
            if number * BLOCK >= self._size:
                return self._kind(data, self.name, offset)
            if len(data) > MAX_LINE_SIZE:
                raise self._too_long(offset)
            data += self._block(number)

    def _forward(self, offset: int, stop: int | None = None) -> Iterator[StoredLine]:
        """Yield the lines of [offset, stop), both at the beginning of a line; reads get larger and larger."""
        stop = self._size if stop is None else stop
        number, index = divmod(offset, BLOCK)
        rest = self._block(number) if offset < stop else b""
        position = offset + len(rest) - index
        step = BLOCK
        while True:
            at_end = position >= self._size
            while offset < stop:
                end = rest.find(b"\n", index) + 1
                if not end and not at_end:
                    break
                end = end or len(rest)
                if line := rest[index:end].rstrip(b"\r\n"):
                    yield self._kind(line, self.name, offset)
                offset += end - index
                index = end
            if at_end or offset >= stop:
                return
            rest, index = rest[index:], 0
            if len(rest) > MAX_LINE_SIZE:
                raise self._too_long(offset)
            # The next block is cached, for another search may need it; longer reads are not.
            near = step == BLOCK and position % BLOCK == 0
            more = self._block(position // BLOCK) if near else self._read(position, position + step)
            rest += more
            position += len(more)
            step = min(step * 2, MAX_READ)

    def _backward(self, start: int, stop: int) -> Iterator[StoredLine]:
        """Yield the lines of [start, stop), all of which begin in one block, from the last on."""
        first = start // BLOCK
        blocks = [self._block(number) for number in range(first, -(-stop // BLOCK))]
        data = b"".join(blocks)[start - first * BLOCK : stop - first * BLOCK]
        end = len(data)
        # Most callers want few: no line is made before it is asked for.
        while end:
            begin = data.rfind(b"\n", 0, end - 1) + 1
            if line := data[begin:end].rstrip(b"\r\n"):
                yield self._kind(line, self.name, start + begin)
            end = begin

    def _read_block(self, number: int) -> bytes:
        return self._read(number * BLOCK, (number + 1) * BLOCK)

    def _read(self, start: int, stop: int) -> bytes:
        stop = min(stop, self._size)
        data = self._source.read(start, stop)
        if len(data) < stop - start:
            end = start + len(data)
            raise SourceError(
                f"the file ends at {end}, but has {counted(self._size, 'byte')}", source=self.name
            )
        return data

    def _too_long(self, offset: int) -> LimitError:
        return LimitError(
            f"a line of more than {MAX_LINE_SIZE} bytes: this is not a sorted index",
            source=self.name,
            offset=offset,
        )


def in_order(lines: Iterator[StoredLine]) -> Iterator[StoredLine]:
    """Yield the same lines, and check that they are sorted."""
    before = b""
    for line in lines:
        head = line.head
        if head < before:
            raise _unsorted(line)
        before = head
        yield line


def _unsorted(line: StoredLine) -> FormatError:
    return line.error(
        f"the index is not sorted: {line_head(line.data[:200])!r} is out of order; "
        "sort it by its bytes (LC_ALL=C sort)"
    )
