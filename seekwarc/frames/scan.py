"""Frames found by their headers, without decompressing them.

Goal: know every frame of a record from the file itself, so that no table has to be trusted where a walk is
cheap: 10 ms or so for a gigabyte in frames of 128 KiB.

Plan: a frame is measured by stepping from block header to block header, each of which states its block's
size. `Window` reads ahead where steps are short and stops doing so after a jump. `scan_run` is the fast way
for the frames of one record of a local file: a read takes the checksum of one frame and the first block
header of the next together, and a frame of one block that begins as the one before it did is not parsed
again.

Worst case: a million frames of a few bytes. They are measured in a window of up to 1 MiB, without a read or
an object for each. A frame whose blocks lead past the end of the file is reported as cut.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

from seekwarc.errors import FormatError, SourceError, TruncatedError
from seekwarc.format.zstd import (
    BLOCK_HEADER_SIZE,
    FRAME_MAGIC,
    MAX_BLOCK_SIZE,
    MAX_FRAME_HEADER_SIZE,
    SKIPPABLE_HEADER_SIZE,
    FrameHeader,
    frame_facts,
    has_no_content,
    is_skippable,
    parse_frame_header,
    parse_skippable_header,
    walk_blocks,
)
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source import RangeSource

__all__ = [
    "CHEAP_READ",
    "MAX_BLOCKS",
    "UNSEEN",
    "Frame",
    "ScannedRun",
    "Window",
    "cut_frame",
    "frame_at",
    "frame_start_at",
    "frames_from",
    "scan_blocks",
    "scan_run",
]

CHEAP_READ: Final = 4 << 10
"""A read of this length costs about what one of a single byte does."""

FIRST_READ: Final = 16 << 10
MAX_READ: Final = 1 << 20
CHECKSUM_SIZE: Final = 4
DESCRIPTOR: Final = 4
"""Index of Frame_Header_Descriptor in a frame (RFC 8878, section 3.1.1.1.1)."""
LAST_BLOCK: Final = 1
"""Bit of a block header's first byte (RFC 8878, section 3.1.1.2.1)."""
FRAME_BEGINNING: Final = MAX_FRAME_HEADER_SIZE + BLOCK_HEADER_SIZE
PEEK: Final = 32
"""Holds the end of a frame, the header of the next one and its first block's."""
UNSEEN: Final = -1
"""In the place of a checksum that a frame does not have, or that was not looked at."""
MAX_PEEK: Final = 64 << 10
FULL_BLOCK_HEADER: Final = MAX_BLOCK_SIZE << 3
FULL_BLOCK: Final = FULL_BLOCK_HEADER.to_bytes(BLOCK_HEADER_SIZE, "little")
MAX_BLOCKS: Final = 1 << 20
"""Blocks of a frame of which a list is kept: 128 GiB of raw ones."""


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
        """Offset after the frame."""
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
        first_read: Bytes of the first read, and of each after a jump, unless more are wanted.
        limit: Offset that no read goes beyond for later steps, such as the end of the record that is wanted.
        aligned: Have `at_hand` end at a multiple of its limit, so that what is found of damage does not
            depend on where reading began.
    """

    def __init__(
        self,
        source: RangeSource,
        *,
        first_read: int = FIRST_READ,
        limit: int | None = None,
        aligned: bool = False,
    ) -> None:
        self.source = source
        self._size = source.size
        self._data = b""
        self._start = 0
        self._first_read = first_read
        self._next_read = first_read
        self.limit = limit
        self._aligned = aligned

    @property
    def end(self) -> int:
        """Offset after the last byte in memory."""
        return self._start + len(self._data)

    def leads_to(self, start: int, stop: int) -> bool:
        """Tell whether [start, stop) begins in or right after the bytes in memory, and is not a long read."""
        return bool(self._data) and self._start <= start <= self.end and stop - start <= MAX_READ

    def get(self, start: int, stop: int) -> tuple[bytes, int]:
        """Return bytes that include [start, stop), fewer at the end, and the index of `start` in them."""
        if self._size is not None and stop > self._size:
            stop = max(self._size, start)
        index = start - self._start
        if index >= 0 and stop <= self._start + len(self._data):
            return self._data, index
        kept = self._data[index:] if 0 <= index <= len(self._data) else b""
        position = start + len(kept)
        # A pipe is never jumped in: what is thrown away must be read all the same.
        near = 0 <= index <= len(self._data) + FIRST_READ
        self._next_read = min(self._next_read * 2, MAX_READ) if near else self._first_read
        wanted = max(stop, self._within(position, position + self._next_read))
        self._data = kept + self.source.read(position, wanted)
        self._start = start
        return self._data, 0

    def _within(self, position: int, stop: int) -> int:
        # The limit may be wrong, as an index may be: what lies beyond it is read like anything else.
        return stop if self.limit is None or position >= self.limit else min(stop, self.limit)

    def reach(self, start: int, stop: int) -> tuple[bytes, int]:
        """Return bytes from `start` on as `get` does, but read none beyond the limit."""
        return self.get(start, self._within(start, stop))

    def take(self, start: int, size: int) -> bytes:
        """Return [start, start + size), fewer bytes only where the source ends."""
        data, index = self.get(start, start + size)
        return data[index : index + size]

    def at_hand(self, start: int, limit: int) -> bytes:
        """Return 1 to `limit` bytes from `start` on, read only if none are in memory; none at the end."""
        if self._aligned:
            return self.take(start, limit - start % limit)
        data, index = self.get(start, start + 1)
        return data[index : index + limit]


def frame_start_at(window: Window, offset: int) -> tuple[int, FrameHeader | None, int] | None:
    """Return magic, header and its size; (magic, None, frame size) of a skippable frame; None at the end."""
    data, index = window.get(offset, offset + MAX_FRAME_HEADER_SIZE)
    if index == len(data):
        return None
    magic = int.from_bytes(data[index : index + 4], "little")
    try:
        if magic == FRAME_MAGIC:
            header = parse_frame_header(data, index)
            if header.content_size == 0:
                blocks = window.take(offset + header.size, BLOCK_HEADER_SIZE)
                if len(blocks) == BLOCK_HEADER_SIZE and not has_no_content(blocks):
                    raise FormatError("the frame states that it has no content, and has some")
            return magic, header, header.size
        if is_skippable(magic):
            return magic, None, SKIPPABLE_HEADER_SIZE + parse_skippable_header(data, index)[1]
    except FormatError as error:
        raise error.located(window.source.name, offset) from None
    if len(data) - index < 4:
        raise TruncatedError("the file ends inside a frame header", source=window.source.name, offset=offset)
    raise FormatError(
        f"no frame starts here: found {data[index : index + 8]!r}",
        source=window.source.name,
        offset=offset,
    )


def frame_at(window: Window, offset: int) -> Frame | None:
    """Measure the frame at `offset` by stepping over its block headers; None at the end of the source."""
    start = frame_start_at(window, offset)
    if start is None:
        return None
    magic, header, size = start
    source = window.source
    if header is None:
        if source.size is not None and offset + size > source.size:
            raise cut_frame(source, offset, size)
        return Frame(offset, size, magic, None)
    position = offset + size
    done = False
    while not done:
        data, index = window.get(position, position + 3)
        if len(data) - index < 3:
            raise cut_frame(source, offset)
        try:
            index_after, done = walk_blocks(data, index)
        except FormatError as error:
            raise error.located(source.name, offset) from None
        position += index_after - index
    end = position + CHECKSUM_SIZE * header.has_checksum
    # The blocks were stepped over by their stated sizes: see that the last of them is really there.
    data, index = window.get(end - 1, end)
    if index == len(data):
        raise cut_frame(source, offset)
    return Frame(offset, end - offset, magic, header)


def cut_frame(source: RangeSource, offset: int, skippable: int | None = None) -> TruncatedError:
    """Return the error that the file ends inside a frame; of a skippable one the size is known."""
    which = "this frame" if skippable is None else f"a skippable frame of {skippable} bytes"
    return TruncatedError(f"the file ends inside {which}", source=source.name, offset=offset)


def frames_from(window: Window, offset: int) -> Iterator[Frame]:
    """Yield all frames from `offset` to the end of the source, measured but not decompressed."""
    while (frame := frame_at(window, offset)) is not None:
        yield frame
        offset = frame.end


class ScannedRun:
    """Consecutive frames, and what they say of themselves.

    Checksums are `UNSEEN` where a frame has none, or that was not looked at; `descriptors` are those of the
    other frames; `is_at_end` says that nothing follows in the file.
    """

    __slots__ = ("checksums", "content_size", "content_sizes", "descriptors", "is_at_end", "stored_sizes")

    def __init__(self) -> None:
        self.stored_sizes = array("Q")
        self.content_sizes = array("Q")
        self.checksums = array("q")
        self.content_size = 0
        self.descriptors: set[int] = set()
        self.is_at_end = False

    def add(self, stored_size: int, content_size: int, checksum: int = UNSEEN) -> None:
        """Add a frame."""
        self.stored_sizes.append(stored_size)
        self.content_sizes.append(content_size)
        self.checksums.append(checksum)
        self.content_size += content_size


def scan_run(source: Fetcher, offset: int, size: int) -> ScannedRun:
    """Step over frames from `offset` on, until they hold `size` bytes of content or more.

    It ends earlier at the end of the file, and before a frame that does not state what it holds. If the
    source answers at once, this is a read of some bytes for each block that lies apart from the one before
    it.
    """
    if source.policy.is_far:
        return _scan_far(source, offset, size)
    peeks = _Peeks(source, offset)
    try:
        return _scan_near(source, peeks, offset, size)
    finally:
        peeks.count()


def scan_blocks(source: Fetcher, frame: int, header: FrameHeader) -> tuple[array[int], int]:
    """Return the block headers of the frame at an offset, no more than about `MAX_BLOCKS`, and its end."""
    headers = array("I")
    peeks = _Peeks(source, frame)
    try:
        end = peeks.blocks_end(frame + header.size, headers) + CHECKSUM_SIZE * header.has_checksum
    except FormatError as error:
        raise error.located(source.name, frame) from None
    finally:
        peeks.count()
    if end > (source.size or 0):
        raise cut_frame(source, frame)
    return headers, end


def _scan_far(source: Fetcher, offset: int, size: int) -> ScannedRun:
    run = ScannedRun()
    for frame in frames_from(Window(source), offset):
        if frame.content_size is None:
            return run
        run.add(frame.size, frame.content_size)
        if run.content_size >= size:
            return run
    run.is_at_end = True
    return run


def _scan_near(source: Fetcher, peeks: _Peeks, offset: int, size: int) -> ScannedRun:
    # Very many frames go through here: no calls, objects or reads that can be avoided.
    run = ScannedRun()
    file_size = source.size or 0
    content_size = 0
    has_checksum = False
    # How a frame of one block begins, up to that block, and what it takes without its checksum. Frames of
    # content that does not compress all begin alike.
    beginning, known_size = None, 0
    data, index = peeks.at(offset, FRAME_BEGINNING)
    while run.content_size < size:
        if beginning is not None and data.startswith(beginning, index):
            end = offset + known_size
        elif (facts := frame_facts(data, index)) is not None:
            header_size, content_size, has_checksum = facts
            run.descriptors.add(data[index + DESCRIPTOR])
            try:
                end = peeks.blocks_end(offset + header_size)
            except FormatError as error:
                raise error.located(source.name, offset) from None
            is_one_block = data[index + header_size] & LAST_BLOCK
            beginning = data[index : index + header_size + BLOCK_HEADER_SIZE] if is_one_block else None
            known_size = end - offset
        else:
            # Rare cases take the careful way: frames of other kinds, or that do not state what they hold,
            # damage, and the end of the file.
            other = frame_at(Window(source, first_read=PEEK), offset)
            run.is_at_end = other is None
            if other is None or other.content_size is None:
                break
            run.add(other.size, other.content_size)
            offset = other.end
            data, index = peeks.at(offset, FRAME_BEGINNING)
            continue
        # The checksum, and how the next frame begins, by one read.
        data, index = peeks.at(end, CHECKSUM_SIZE + FRAME_BEGINNING)
        checksum = UNSEEN
        if has_checksum:
            checksum = int.from_bytes(data[index : index + CHECKSUM_SIZE], "little")
            index += CHECKSUM_SIZE
            end += CHECKSUM_SIZE
        if end > file_size:
            raise cut_frame(source, offset)
        run.add(end - offset, content_size, checksum)
        offset = end
    return run


class _Peeks:
    """A `Window` for very many small reads, each some way further on than the one before it."""

    __slots__ = ("_base", "_data", "_fetched", "_keeps", "_read", "_reads", "_source", "_step")

    def __init__(self, source: Fetcher, offset: int) -> None:
        self._read, self._keeps = source.small_reads()
        self._source = source
        self._data = b""
        self._base = offset
        self._step = PEEK
        self._reads = self._fetched = 0

    def at(self, position: int, size: int) -> tuple[bytes, int]:
        """Return bytes that include `size` from `position` on, fewer at the end, and where these begin."""
        index = position - self._base
        if index <= len(self._data) - size:
            return self._data, index
        # Small frames and blocks lie close together: of these more are read at a time.
        near = index <= len(self._data) + PEEK
        self._step = min(self._step * 2, MAX_PEEK) if near else PEEK
        return self._look(position, self._step), 0

    def _look(self, position: int, size: int) -> bytes:
        try:
            self._data = data = self._read(size, position)
        except OSError as error:
            if self._keeps is None:
                raise  # Not the system's words on a file, but the source's own.
            raise SourceError(
                f"cannot be read: {error}", source=self._source.name, offset=position
            ) from error
        self._reads += 1
        self._fetched += len(data)
        self._base = position
        return data

    def blocks_end(self, position: int, headers: array[int] | None = None) -> int:
        """Return the offset after the last block of the frame whose first block is at `position`."""
        done = False
        while not done:
            data, index = self.at(position, BLOCK_HEADER_SIZE)
            if headers is not None:
                # Data that do not compress are in very many blocks, each of the same size and read alone.
                while data.startswith(FULL_BLOCK, index):
                    headers.append(FULL_BLOCK_HEADER)
                    position += BLOCK_HEADER_SIZE + MAX_BLOCK_SIZE
                    data, index = self._look(position, PEEK), 0
                if len(headers) > MAX_BLOCKS:
                    headers = None
            if len(data) - index < BLOCK_HEADER_SIZE:
                raise TruncatedError("the file ends inside this frame")
            after, done = walk_blocks(data, index, headers)
            position += after - index
        return position

    def count(self) -> None:
        self._source.count(self._fetched, self._reads)
