"""Ranges of a large frame that lie in blocks whose content is stored as it is.

Goal: a film in one frame of a gigabyte is read by range, although nothing but its beginning can be entered.
What does not compress is stored in raw blocks: a header of three bytes, then the content itself.

Plan: the headers of the blocks, each of which says where the next one is, are all that is read at first. Raw
and RLE blocks state their content's size, compressed ones do not. But neither the lengths of literals and
matches nor the tables that these are coded with depend on what came before in raw blocks. So compressed
blocks are decoded with RLE blocks in place of the raw ones, to see how much comes out. Positions are thus
exact, those of a decoder that begins at the frame's start, and only compressed blocks are read to find them.

Worst case: a range in a compressed block, or after one that is damaged. It is not found here, and the caller
decodes from the frame's start. The frame's checksum is not compared.

Source: RFC 8878, sections 3.1.1.2 and 3.1.1.3.
"""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.errors import FormatError
from seekwarc.format.zstd import (
    BLOCK_HEADER_SIZE,
    COMPRESSED_BLOCK,
    FRAME_MAGIC_BYTES,
    RLE_BLOCK,
    FrameHeader,
)
from seekwarc.frames.run import ReadPlan

if TYPE_CHECKING:
    from seekwarc.compiling import Buffer
    from seekwarc.frames.context import FrameContext

__all__ = ["BlockRange", "FrameBlocks", "frame_beginning"]

SHORT_READ: Final = 1 << 20
"""Stored bytes that are read at once."""


class _Part(NamedTuple):
    """Content of a frame, as much as `size`, that is stored as it is, or as one byte for all of it."""

    start: int
    stop: int
    size: int


class FrameBlocks:
    """The blocks of one frame.

    Args:
        offset: Offset of the frame.
        headers: Block headers, all or only the first of them.
        is_claimed: Whether these were not read, but follow from the frame's size. Then some are compared with
            the file before each read.
    """

    def __init__(
        self,
        context: FrameContext,
        offset: int,
        frame: FrameHeader,
        headers: array[int],
        *,
        is_claimed: bool = False,
    ) -> None:
        self.context = context
        self.offset = offset
        self.headers = headers
        self.is_claimed = is_claimed
        # Where the content of each block is stored, and where it begins in that of the frame, as far as
        # known; one more, for the block after the last known one.
        self.stored = array("Q", [offset + frame.size + BLOCK_HEADER_SIZE])
        self._content = array("Q", [0])
        self._frame = frame
        self._decode: Callable[[bytes], bytes] | None = None
        self._replaced = 0
        self._lock = threading.Lock()

    def find(self, start: int, stop: int) -> BlockRange | None:
        """Return what holds content [start, stop); None if it is empty, or not all of it in such blocks."""
        with self._lock:
            try:
                self._learn(stop)
            except FormatError:
                # Decoding from the frame's start shows what is wrong.
                self.headers = self.headers[: len(self.stored) - 1]
        content = self._content
        if start >= stop or stop > content[-1]:
            return None
        first = number = bisect_right(content, start) - 1
        parts = []
        while start < stop:
            header, place = self.headers[number], self.stored[number]
            begin = start - content[number]
            number += 1
            size = min(content[number], stop) - start
            if header >> 1 & 3 == COMPRESSED_BLOCK:
                return None
            if header >> 1 & 3 == RLE_BLOCK:
                parts.append(_Part(place, place + 1, size))
            else:
                parts.append(_Part(place + begin, place + begin + size, size))
            start += size
        return BlockRange(self, range(first, number), parts)

    def _learn(self, stop: int) -> None:
        """Find out where blocks begin, as far as there is content before `stop`."""
        stored, content, headers = self.stored, self._content, self.headers
        place, begin, most = stored[-1], content[-1], self._frame.block_size
        for number in range(len(stored) - 1, len(headers)):
            if begin >= stop:
                return
            header = headers[number]
            size = stored_size = header >> 3
            if size > most:
                raise FormatError("a block of the frame is larger than its window")
            if header >> 1 & 3 == COMPRESSED_BLOCK:
                size = self._decoded_size(place, header)
            else:
                self._replaced += size
                if header >> 1 & 3 == RLE_BLOCK:
                    stored_size = 1
            place += stored_size + BLOCK_HEADER_SIZE
            begin += size
            stored.append(place)
            content.append(begin)

    def _decoded_size(self, place: int, header: int) -> int:
        frame = self._frame
        if self._decode is None:
            self._decode = self.context.decoder.incremental(frame)
            self._decode(frame_beginning(frame))
        # Nothing refers to what lies further back than the window.
        for _ in range(-(-min(self._replaced, frame.window_size) // frame.block_size)):
            self._decode((frame.block_size << 3 | RLE_BLOCK << 1).to_bytes(BLOCK_HEADER_SIZE + 1, "little"))
        self._replaced = 0
        data = self.context.source.read(place, place + (header >> 3))
        if len(data) < header >> 3:
            raise self.context.cut(self.offset)
        # Never the last one: there may be more to come.
        return len(self._decode((header & ~1).to_bytes(BLOCK_HEADER_SIZE, "little") + data))


class BlockRange:
    """A range of the content of a frame, all of it in raw and RLE blocks; read as `FrameRun` is."""

    __slots__ = ("_blocks", "_numbers", "_parts")

    def __init__(self, blocks: FrameBlocks, numbers: range, parts: list[_Part]) -> None:
        self._blocks = blocks
        self._numbers = numbers
        self._parts = parts

    def is_there(self) -> bool:
        """Tell whether headers that were not read are those of the file: two in or beside the range."""
        blocks = self._blocks
        if not blocks.is_claimed:
            return True
        source = blocks.context.source
        source.prefetch(self.plan(0, 0).ranges)
        for number in self._probes():
            place = blocks.stored[number]
            found = source.read(place - BLOCK_HEADER_SIZE, place)
            if int.from_bytes(found, "little") != blocks.headers[number]:
                return False
        return True

    def _probes(self) -> range:
        numbers, stored = self._numbers, self._blocks.stored
        number = numbers[0]
        # Where a frame's first block is, is known.
        if number and len(numbers) == 2:
            begin, end = self._parts[0].start, self._parts[-1].stop
            if begin - stored[number] < stored[number + 2] - end:
                return numbers
        number = numbers[1 if len(numbers) > 1 else 0]
        return range(number, min(number + 2, len(self._blocks.headers)) if number else 1)

    def plan(self, start: int, stop: int) -> ReadPlan:  # noqa: ARG002
        """See `FrameRun.plan`."""
        begin, end = self._parts[0].start, self._parts[-1].stop
        if self._blocks.is_claimed:
            probes = [self._blocks.stored[number] for number in self._probes()]
            begin, end = min(begin, probes[0] - BLOCK_HEADER_SIZE), max(end, probes[-1])
        return ReadPlan(((begin, end),), 0, 0)

    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:  # noqa: ARG002
        """See `FrameRun.read`; it is not verified."""
        return b"".join(self._pieces())

    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:  # noqa: ARG002
        """Return all of the range."""
        return b"".join(self._pieces())

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:  # noqa: ARG002
        """See `FrameRun.read_into`; it is not verified."""
        filled = 0
        for piece in self._pieces():
            out[filled : filled + len(piece)] = piece
            filled += len(piece)

    def _pieces(self) -> Iterator[Buffer]:
        source, parts = self._blocks.context.source, self._parts
        begin, end = parts[0].start, parts[-1].stop
        if end - begin <= SHORT_READ:
            yield from self._cut_out(parts, begin, end, source.read(begin, end))
            return
        rest = iter(parts)
        wanted = ((part.start, part.stop) for part in parts)
        for (begin, end, count), data in source.fetch(wanted, gap=max(source.policy.gap, BLOCK_HEADER_SIZE)):
            yield from self._cut_out(islice(rest, count), begin, end, data)

    def _cut_out(self, parts: Iterable[_Part], begin: int, end: int, data: Buffer) -> Iterator[Buffer]:
        if len(data) < end - begin:
            raise self._blocks.context.cut(self._blocks.offset)
        for start, stop, size in parts:
            piece = data if stop - start == len(data) else memoryview(data)[start - begin : stop - begin]
            yield piece if stop - start == size else bytes(piece) * size


def frame_beginning(frame: FrameHeader) -> bytes:
    """Return the header of a frame that may hold any content, and states neither size nor checksum."""
    exponent = frame.window_size.bit_length() - 1
    eighth = 1 << exponent - 3
    window = (exponent - 10 << 3) + -(-(frame.window_size - (1 << exponent)) // eighth)
    identity = frame.dictionary_id.to_bytes(4, "little") if frame.dictionary_id else b""
    return FRAME_MAGIC_BYTES + bytes([3 if identity else 0, window]) + identity
