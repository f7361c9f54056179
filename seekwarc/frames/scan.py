"""Finding frames by their headers, without decompressing them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.zstd import (
    FRAME_MAGIC,
    FRAME_MAGIC_BYTES,
    MAX_FRAME_HEADER_SIZE,
    SKIPPABLE_HEADER_SIZE,
    FrameHeader,
    is_skippable,
    parse_frame_header,
    parse_skippable_header,
    walk_blocks,
)
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source import RangeSource

__all__ = ["Frame", "ScannedFrame", "Window", "frame_at", "frame_start_at", "frames_from", "scan_frames"]

FIRST_READ: Final = 16 << 10
LARGEST_READ: Final = 1 << 20
CHECKSUM_SIZE: Final = 4
BLOCK_HEADER_SIZE: Final = 3
PEEK: Final = 32
"""Holds the end of a frame, the header of the next one and its first block's."""
MAX_PEEK: Final = 64 << 10


class Frame(NamedTuple):
    """One frame in a file."""

    offset: int
    size: int
    """Bytes in the file, from the magic number to the frame's end."""
    magic: int
    header: FrameHeader | None
    """Header of a Zstandard frame, None for a skippable frame."""

    @property
    def end(self) -> int:
        """Offset behind the frame."""
        return self.offset + self.size

    @property
    def content_size(self) -> int | None:
        """Bytes that the frame says it decompresses to; 0 for skippable frames, None if it is silent."""
        return self.header.content_size if self.header else 0


class Window:
    """The part of a source that was read last, kept so that small steps forward cost no read.

    Reads grow from 16 KiB to 1 MiB while access goes on from where the last read ended, and shrink again
    after a jump: stepping over the blocks of a video should not read the video.

    Args:
        source: What is read.
        first_read: Bytes of the first read, and of each after a jump, unless more are wanted.
        limit: Offset that no read goes beyond for later steps, such as the end of the record that is wanted.
    """

    def __init__(
        self, source: RangeSource, *, first_read: int = FIRST_READ, limit: int | None = None
    ) -> None:
        self.source = source
        self._size = source.size
        self._data = b""
        self._start = 0
        self._first_read = first_read
        self._next_read = first_read
        self.limit = limit

    @property
    def end(self) -> int:
        """Offset behind the last byte at hand."""
        return self._start + len(self._data)

    def leads_to(self, start: int, stop: int) -> bool:
        """Tell whether [start, stop) begins in what is at hand, or where that ends, and is no long read."""
        return bool(self._data) and self._start <= start <= self.end and stop - start <= LARGEST_READ

    def get(self, start: int, stop: int) -> tuple[bytes, int]:
        """Return bytes that include [start, stop), and the index among them at which `start` lies.

        What lies beyond the end of the source is missing from the answer.
        """
        if self._size is not None and stop > self._size:
            stop = max(self._size, start)
        index = start - self._start
        if index >= 0 and stop <= self._start + len(self._data):
            return self._data, index
        kept = self._data[index:] if 0 <= index <= len(self._data) else b""
        position = start + len(kept)
        # A pipe is never jumped in: what is thrown away must be read all the same.
        near = 0 <= index <= len(self._data) + FIRST_READ
        self._next_read = min(self._next_read * 2, LARGEST_READ) if near else self._first_read
        wanted = max(stop, self._within(position, position + self._next_read))
        self._data = kept + self.source.read(position, wanted)
        self._start = start
        return self._data, 0

    def _within(self, position: int, stop: int) -> int:
        # The limit may be wrong, as an index may be: what lies beyond it is read like anything else.
        return stop if self.limit is None or position >= self.limit else min(stop, self.limit)

    def reach(self, start: int, stop: int) -> tuple[bytes, int]:
        """Return bytes from `start` on as `get` does, but none that are beyond the limit and not at hand."""
        return self.get(start, self._within(start, stop))

    def take(self, start: int, size: int) -> bytes:
        """Return [start, start + size), fewer bytes only where the source ends."""
        data, index = self.get(start, start + size)
        return data[index : index + size]

    def at_hand(self, start: int, limit: int) -> bytes:
        """Return what is at hand from `start` on: 1 to `limit` bytes, none at the source's end."""
        data, index = self.get(start, start + 1)
        return data[index : index + limit]


def frame_start_at(window: Window, offset: int) -> tuple[int, FrameHeader | None, int] | None:
    """Read the header of the frame at `offset`, of whichever kind.

    Returns:
        (magic, header, size): header and size are None and the whole frame's size for a skippable frame;
        the parsed header and its own size for a Zstandard frame. None at the end of the source.

    Raises:
        TruncatedError: The source ends inside the header.
        FormatError: No frame starts here.
    """
    data, index = window.get(offset, offset + MAX_FRAME_HEADER_SIZE)
    if index == len(data):
        return None
    magic = int.from_bytes(data[index : index + 4], "little")
    try:
        if magic == FRAME_MAGIC:
            header = parse_frame_header(data, index)
            return magic, header, header.size
        if is_skippable(magic):
            return magic, None, SKIPPABLE_HEADER_SIZE + parse_skippable_header(data, index)[1]
    except FormatError as error:
        raise error.located(window.source.name, offset) from None
    if len(data) - index < 4:
        raise TruncatedError("the file ends inside a frame header", source=window.source.name, offset=offset)
    raise FormatError(
        f"a frame should start here, but these bytes do: {data[index : index + 8]!r}",
        source=window.source.name,
        offset=offset,
    )


def frame_at(window: Window, offset: int) -> Frame | None:
    """Measure the frame at `offset` by stepping over its block headers.

    Returns:
        None at the end of the source.

    Raises:
        TruncatedError: The source ends inside the frame.
        FormatError: No frame starts here, or its block headers are damaged.
    """
    start = frame_start_at(window, offset)
    if start is None:
        return None
    magic, header, size = start
    source = window.source
    if header is None:
        if source.size is not None and offset + size > source.size:
            raise TruncatedError(
                f"the file ends inside a skippable frame of {size} bytes",
                source=source.name,
                offset=offset,
            )
        return Frame(offset, size, magic, None)
    position = offset + size
    done = False
    while not done:
        data, index = window.get(position, position + 3)
        if len(data) - index < 3:
            raise _cut(source, offset)
        try:
            index_after, done = walk_blocks(data, index)
        except FormatError as error:
            raise error.located(source.name, offset) from None
        position += index_after - index
    end = position + CHECKSUM_SIZE * header.has_checksum
    # The blocks were stepped over by their stated sizes: see that the last of them is really there.
    data, index = window.get(end - 1, end)
    if index == len(data):
        raise _cut(source, offset)
    return Frame(offset, end - offset, magic, header)


def _cut(source: RangeSource, offset: int) -> TruncatedError:
    return TruncatedError("the file ends inside this frame", source=source.name, offset=offset)


def frames_from(window: Window, offset: int) -> Iterator[Frame]:
    """Yield all frames from `offset` to the end of the source, measured but not decompressed.

    Raises:
        TruncatedError, FormatError: As `frame_at`, when the damaged frame is reached.
    """
    while (frame := frame_at(window, offset)) is not None:
        yield frame
        offset = frame.end


class ScannedFrame(NamedTuple):
    """What a frame says of itself."""

    size: int
    """Bytes in the file."""
    content_size: int | None
    """As `Frame.content_size`."""
    checksum: int | None
    """Its Content_Checksum; None where it has none, or that was not looked at."""


def scan_frames(source: Fetcher, offset: int) -> Iterator[ScannedFrame]:
    """Yield the frames from `offset` on as `frames_from` does, quicker.

    Where the source answers at once, this is a read of some bytes for each block that lies apart from the one
    before it: a few microseconds for 128 KiB of content.

    Raises:
        TruncatedError, FormatError: As `frame_at`, when the damaged frame is reached.
    """
    if source.is_far:
        for frame in frames_from(Window(source), offset):
            yield ScannedFrame(frame.size, frame.content_size, None)
        return
    peeks = _Peeks(source, offset)
    while True:
        data, index = peeks.at(offset, MAX_FRAME_HEADER_SIZE)
        if data[index : index + 4] == FRAME_MAGIC_BYTES and len(data) - index >= MAX_FRAME_HEADER_SIZE:
            try:
                header = parse_frame_header(data, index)
                end = peeks.blocks_end(offset + header.size)
            except FormatError as error:
                raise error.located(source.name, offset) from None
            checksum = None
            if header.has_checksum:
                data, index = peeks.at(end, CHECKSUM_SIZE)
                checksum = int.from_bytes(data[index : index + CHECKSUM_SIZE], "little")
                end += CHECKSUM_SIZE
            if source.size is not None and end > source.size:
                raise _cut(source, offset)
            yield ScannedFrame(end - offset, header.content_size, checksum)
            offset = end
        else:
            # Frames of other kinds, and the end of the file, are seldom: they take the careful way.
            other = frame_at(Window(source, first_read=PEEK), offset)
            if other is None:
                return
            yield ScannedFrame(other.size, other.content_size, None)
            offset = other.end


class _Peeks:
    """A `Window` for very many small reads, each some way further on than the one before it."""

    __slots__ = ("_base", "_data", "_read", "_step")

    def __init__(self, source: Fetcher, offset: int) -> None:
        self._read = source.small_reads()
        self._data = b""
        self._base = offset
        self._step = PEEK

    def at(self, position: int, size: int) -> tuple[bytes, int]:
        """Return bytes that include `size` from `position` on, fewer at the end, and where these begin."""
        index = position - self._base
        if index <= len(self._data) - size:
            return self._data, index
        # Small frames and blocks lie close together: of these more are read at a time.
        near = index <= len(self._data) + PEEK
        self._step = min(self._step * 2, MAX_PEEK) if near else PEEK
        self._data = self._read(position, position + self._step)
        self._base = position
        return self._data, 0

    def blocks_end(self, position: int) -> int:
        """Return the offset after the last block of the frame whose first block is at `position`."""
        done = False
        while not done:
            data, index = self.at(position, BLOCK_HEADER_SIZE)
            if len(data) - index < BLOCK_HEADER_SIZE:
                raise TruncatedError("the file ends inside this frame")
            after, done = walk_blocks(data, index)
            position += after - index
        return position
