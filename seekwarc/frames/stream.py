"""The content of a file as one forward stream, whatever it is compressed with.

This is the tolerant way down, for what cannot be reached by range: .warc.gz, pipes, frames that do not
state their size, several records in one frame. Memory is bounded by the pieces, never by a frame's or a
record's size.

A *unit* is what a file is compressed by: a Zstandard frame, a gzip member; of a plain file, any byte.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple

from seekwarc.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from seekwarc.format.seektable import SeekTable, largest_table_behind
from seekwarc.format.warc import MAX_HEADER_SIZE, find_header_end
from seekwarc.format.zstd import (
    MAX_FRAME_HEADER_SIZE,
    SEEK_TABLE_MAGIC,
    FrameHeader,
    is_skippable,
    measure_frame,
    walk_blocks,
)
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.scan import Window, frame_start_at

__all__ = [
    "WHOLE_FRAME",
    "Compression",
    "ContentStream",
    "Extension",
    "Mark",
    "Piece",
    "detect",
    "extension_at",
    "pieces_from",
    "whole_frame",
]

Compression = Literal["zst", "gz", "none"]

WHOLE_FRAME: Final = 1 << 20
"""Frames of at most this size, stored and decoded, are decoded in one call."""
GZIP_STEP: Final = 32 << 10
GZIP_PIECE: Final = 256 << 10
PLAIN_PIECE: Final = 256 << 10
MOST_BLANK_BYTES: Final = 64
"""How many CR and LF bytes may stand between two records before it is called damage."""


class Piece(NamedTuple):
    """Some decompressed bytes of one unit."""

    data: bytes
    unit: int
    """Offset of the unit in the stored file."""
    first: bool
    """Whether the piece begins its unit."""
    end: int | None
    """Offset behind the unit where the piece ends it, else None."""


class Extension(NamedTuple):
    """A frame without content: skippable, or empty."""

    end: int
    """Offset behind it."""
    anchor: int | None
    """Where the first frame starts that it lists, if it is a seek table."""


def detect(head: bytes, name: str, offset: int = 0) -> Compression:
    """Tell what a file, or a record in it, is compressed with, from its first bytes.

    Raises:
        UnsupportedError: Neither WARC nor a compression that WARC files come in.
    """
    if head[:2] == b"\x1f\x8b":
        return "gz"
    if head[:5] == b"WARC/":
        return "none"
    magic = int.from_bytes(head[:4], "little")
    if head[:4] == b"\x28\xb5\x2f\xfd" or (len(head) >= 4 and is_skippable(magic)):
        return "zst"
    raise UnsupportedError(
        f"not a WARC file: it begins with {head[:8]!r}, not with WARC/, a gzip member or a Zstandard frame"
        if head
        else "the file is empty; a WARC file holds at least one record",
        source=name,
        offset=offset,
    )


def pieces_from(
    window: Window, offset: int, compression: Compression, decoder: FrameDecoder
) -> Iterator[Piece | Extension]:
    """Yield the content of the units from `offset` to the end of the file.

    Raises:
        FormatError: When a damaged or cut unit is reached.
    """
    if compression == "gz":
        return _gzip_pieces(window, offset)
    if compression == "none":
        return _plain_pieces(window, offset)
    return _zstd_pieces(window, offset, decoder)


def _plain_pieces(window: Window, offset: int) -> Iterator[Piece]:
    while data := window.at_hand(offset, PLAIN_PIECE):
        yield Piece(data, offset, True, offset + len(data))
        offset += len(data)


def _gzip_pieces(window: Window, offset: int) -> Iterator[Piece]:
    name = window.source.name
    data = window.at_hand(offset, GZIP_STEP)
    while data:
        unit = offset
        if data[:2] != b"\x1f\x8b"[: len(data)]:
            if not data.strip(b"\0"):
                offset += len(data)
                data = window.at_hand(offset, GZIP_STEP)
                continue
            raise FormatError(
                f"a gzip member should start here, but these bytes do: {data[:8]!r}",
                source=name,
                offset=offset,
            )
        inflater = zlib.decompressobj(31)
        first = True
        while not inflater.eof:
            if not data:
                raise TruncatedError("the file ends inside this gzip member", source=name, offset=unit)
            try:
                out = inflater.decompress(data, GZIP_PIECE)
            except zlib.error as error:
                text = f"this gzip member is damaged ({error})"
                raise ChecksumError(text, source=name, offset=unit) from error
            rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            offset += len(data) - len(rest)
            if out or inflater.eof:
                yield Piece(out, unit, first, offset if inflater.eof else None)
                first = False
            # An inflater that held back output needs no new input to go on.
            data = rest or window.at_hand(offset, GZIP_STEP)


def _zstd_pieces(window: Window, offset: int, decoder: FrameDecoder) -> Iterator[Piece | Extension]:
    while (start := frame_start_at(window, offset)) is not None:
        _, header, size = start
        if header is None:
            yield extension_at(window, offset, size)
            offset += size
            continue
        try:
            frame = whole_frame(window, offset, header)
            if frame:
                end = offset + len(frame)
                yield Piece(decoder.decode(frame, header), offset, True, end)
                offset = end
                continue
            decode = decoder.incremental(header)
        except FormatError as error:
            raise error.located(window.source.name, offset) from None
        unit = offset
        position = offset + size
        data = window.take(offset, size)
        first, done = True, False
        while not done:
            blocks, done = _next_blocks(window, position, unit, checksum=header.has_checksum)
            position += len(blocks)
            try:
                out = decode(data + blocks)
            except FormatError as error:
                raise error.located(window.source.name, unit) from None
            data = b""
            if out:
                yield Piece(out, unit, first, position if done else None)
                first = False
            elif done:
                # The end of a frame, or the whole of an empty one.
                yield Extension(position, None) if first else Piece(b"", unit, False, position)
        offset = position


def extension_at(window: Window, offset: int, size: int) -> Extension:
    """Describe the skippable frame of `size` bytes at `offset`.

    Raises:
        TruncatedError: The file does not hold all of it.
    """
    anchor = None
    magic = int.from_bytes(window.take(offset, 4), "little")
    # A table that lists more than there can be in front of it is not worth reading.
    if magic == SEEK_TABLE_MAGIC and size <= largest_table_behind(offset):
        try:
            anchor = SeekTable.parse(window.take(offset, size)).anchor(offset)
        except FormatError:
            anchor = None  # An extension frame like any other.
    if not window.take(offset + size - 1, 1):
        raise TruncatedError(
            f"the file ends inside a skippable frame of {size} bytes",
            source=window.source.name,
            offset=offset,
        )
    return Extension(offset + size, anchor)


def whole_frame(window: Window, offset: int, header: FrameHeader) -> bytes:
    """Return a small frame if it takes no more room than its content should need, else nothing."""
    if header.content_size is None or header.content_size > WHOLE_FRAME:
        return b""
    expected = MAX_FRAME_HEADER_SIZE + 4 + header.content_size * 257 // 256 + 64
    data, index = window.get(offset, offset + expected)
    measured = measure_frame(data, index)
    return data[index : measured[0]] if measured else b""


def _next_blocks(window: Window, position: int, unit: int, *, checksum: bool) -> tuple[bytes, bool]:
    """Return the next block of a frame, with the frame's checksum behind the last one."""
    header = window.take(position, 3)
    try:
        # Only one header is shown to the walker, so it stops behind one block: at most 128 KiB come out.
        size, done = walk_blocks(header, 0) if len(header) == 3 else (4, False)
    except FormatError as error:
        raise error.located(window.source.name, unit) from None
    size += 4 * (done and checksum)
    block = window.take(position, size)
    if len(block) < size:
        raise TruncatedError("the file ends inside this frame", source=window.source.name, offset=unit)
    return block, done


class Mark(NamedTuple):
    """Where in the stored file a content byte comes from."""

    position: int
    """Content bytes in front of it since the stream began."""
    unit: int
    """Offset of the unit that holds it."""
    skip: int
    """Content bytes of that unit in front of it: 0 where the unit begins with it."""


class ContentStream:
    """Content read forward, with an eye on where in the stored file it comes from.

    Args:
        pieces: From `pieces_from`.
        plain: The file is not compressed, so that every byte is a unit.
        tap: Shown every content byte once, as it comes out of the decompressor.
    """

    def __init__(
        self,
        pieces: Iterator[Piece | Extension],
        *,
        plain: bool,
        tap: Callable[[bytes], object] | None = None,
    ) -> None:
        self._pieces = pieces
        self._plain = plain
        self._tap = tap
        self._data = b""
        self._index = 0
        self._units: deque[tuple[int, int]] = deque()
        self._produced = 0
        self._lock = threading.Lock()
        self.unit_end = 0
        """Offset behind the last unit that was decoded to its end."""
        self._extensions: list[Extension] = []
        self.passed: tuple[int, tuple[Extension, ...]] = (0, ())
        """The end of the unit in front of the current one, and the extensions between the two."""

    @property
    def position(self) -> int:
        """Content bytes delivered so far."""
        return self._produced - len(self._data) + self._index

    def _pull(self) -> bool:
        """Add the next piece to what is at hand; False at the end of the file."""
        for piece in self._pieces:
            if isinstance(piece, Extension):
                self._extensions.append(piece)
                continue
            if piece.first:
                self._pass_unit()
                self._units.append((self._produced, piece.unit))
            if piece.end is not None:
                self.unit_end = piece.end
            if piece.data:
                if self._tap is not None:
                    self._tap(piece.data)
                self._data = self._data[self._index :] + piece.data
                self._index = 0
                self._produced += len(piece.data)
                return True
        if self._extensions or self.unit_end > self.passed[0]:
            self._pass_unit()
        return False

    def _pass_unit(self) -> None:
        self.passed = (self.unit_end, tuple(self._extensions))
        self._extensions.clear()

    def _at_hand(self) -> int:
        return len(self._data) - self._index

    def mark(self) -> Mark | None:
        """Tell where the next content byte comes from; None at the end of the file."""
        while not self._at_hand():
            if not self._pull():
                return None
        position = self.position
        while len(self._units) > 1 and self._units[1][0] <= position:
            self._units.popleft()
        begin, unit = self._units[0]
        skip = position - begin
        return Mark(position, unit + skip, 0) if self._plain else Mark(position, unit, skip)

    def read_header(self) -> bytes:
        """Read a record header, blank line included.

        Returns:
            The header, or all that there is where the file ends inside it.

        Raises:
            FormatError: No blank line within `MAX_HEADER_SIZE`, or no record starts here.
        """
        searched = self._index
        while (end := find_header_end(self._data, searched)) < 0:
            head = self._data[self._index : self._index + 5]
            if head != b"WARC/"[: len(head)] or self._at_hand() > MAX_HEADER_SIZE:
                raise FormatError(f"no record header with an end starts here, but these bytes do: {head!r}")
            searched = max(self._at_hand() - 3, 0)
            if not self._pull():
                end = len(self._data)
                break
        header = self._data[self._index : end]
        self._index = end
        return header

    def read_blank_lines(self) -> bytes:
        """Read the CR and LF bytes that stand here: what separates two records."""
        found = bytearray()
        while (self._at_hand() or self._pull()) and len(found) <= MOST_BLANK_BYTES:
            byte = self._data[self._index]
            if byte not in b"\r\n":
                break
            found.append(byte)
            self._index += 1
        return bytes(found)

    def read_at(self, position: int, out: memoryview) -> int | None:
        """Fill `out` with the content from `position` on, less only at the end of the file.

        Returns:
            How many bytes came, or None where `position` has gone by.
        """
        with self._lock:
            if not self._skip_to(position):
                return None
            filled = 0
            while filled < len(out):
                count = min(self._at_hand(), len(out) - filled)
                chunk = memoryview(self._data)[self._index : self._index + count]
                out[filled : filled + count] = chunk
                self._index += count
                filled += count
                if filled < len(out) and not self._pull():
                    break
            return filled

    def peek_at(self, position: int, size: int) -> bytes | None:
        """Return `size` bytes from `position` on without passing them, fewer at the end of the file.

        Returns:
            None where `position` has gone by.
        """
        with self._lock:
            if not self._skip_to(position):
                return None
            while self._at_hand() < size and self._pull():
                pass
            return self._data[self._index : self._index + size]

    def skip_to(self, position: int) -> int:
        """Pass over what lies in front of `position`.

        Returns:
            The position reached, which is less than asked for only where the file ends first.
        """
        with self._lock:
            self._skip_to(position)
            return self.position

    def _skip_to(self, position: int) -> bool:
        while (ahead := position - self.position) > 0:
            self._index += min(self._at_hand(), ahead)
            if self.position < position and not self._pull():
                break
        return ahead >= 0
