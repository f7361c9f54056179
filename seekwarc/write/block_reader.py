"""The block of a record that is being written: bytes, or a stream read once."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from typing import Final, cast

from seekwarc.compiling import Buffer
from seekwarc.errors import FormatError
from seekwarc.format.http import MAX_HTTP_HEAD_SIZE, HttpHead, parse_http_head
from seekwarc.format.words import counted
from seekwarc.storage.streams import ReadableStream, read_some

__all__ = ["Block", "BlockSource", "ReadableStream", "SizedStream", "Trailer", "as_stream", "length_of"]


MAX_DOUBTFUL: Final = 64 << 10
"""No large record is this small."""
FILES: Final = (io.BufferedReader, io.BufferedRandom, io.FileIO)
"""What `open` returns."""
READ: Final[Callable[[ReadableStream, int], Buffer]] = read_some
"""By this name, since a compiled call of `read_some` itself refuses all but `bytes`, in words of its own."""

Block = Buffer | ReadableStream | Iterable[Buffer] | AsyncIterable[Buffer]
"""A block: its bytes, a binary file, or an iterable of its pieces in order; for `AsyncWriter` also an
asynchronous one."""
Trailer = bytes | Callable[[], bytes]
"""What follows a block, or a function that returns it once the block was read."""


class _PiecesStream:
    """Pieces of a block as a stream; they are copied only as they are read."""

    def __init__(self, pieces: Iterable[Buffer]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")

    def read(self, size: int) -> bytes:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            if not isinstance(piece, Buffer):
                raise _wrong(f"an iterable of {type(piece).__name__}")
            self._left = memoryview(piece).cast("B")
        data, self._left = bytes(self._left[:size]), self._left[size:]
        return data


def as_stream(block: Block) -> Buffer | ReadableStream:
    """Return a block as bytes or as a stream."""
    if isinstance(block, Buffer):
        return block
    if isinstance(block, str | io.TextIOBase):
        raise _wrong("str" if isinstance(block, str) else "a text file")
    if isinstance(block, AsyncIterable):
        raise TypeError("block is an asynchronous iterable, which only a seekwarc.AsyncWriter takes")
    if callable(getattr(block, "read", None)):
        return block  # type: ignore[return-value]
    if isinstance(block, Iterable):
        return _PiecesStream(block)
    raise _wrong(type(block).__name__)


def length_of(block: Block) -> int | None:
    """Return how many bytes should be left of a large file on disk or in memory; None for any other block.

    A file of any type but Python's own may read something else than is stored, such as what it decompresses,
    and so may a buffer around it. Files in /proc and /sys state a size of 0 or one page, whatever they hold.
    """
    size = 0
    if isinstance(block, SizedStream):
        return block.size
    if type(block) is io.BytesIO:
        size = block.getbuffer().nbytes
    elif type(block) in FILES and type(getattr(block, "raw", block)) is io.FileIO:
        facts = os.fstat(cast("io.FileIO", block).fileno())
        size = facts.st_size if stat.S_ISREG(facts.st_mode) else 0
    if size <= MAX_DOUBTFUL:
        return None
    left = size - cast("io.FileIO", block).tell()
    return left if left > MAX_DOUBTFUL else None


def _wrong(found: str) -> TypeError:
    return TypeError(f"block must be bytes, a binary file or an iterable of bytes, not {found}")


class SizedStream:
    """A stream that should hold a number of bytes, but may turn out to hold more or fewer."""

    def __init__(self, block: Block, size: int | None) -> None:
        stream = as_stream(block)
        self.size = size
        self.read = stream.read if hasattr(stream, "read") else _PiecesStream((stream,)).read


class BlockSource:
    """Reads a block from its beginning to its end; `peek` looks ahead.

    The stream must have `length` bytes if that is known, and should have `expected`. With `keeps`, an
    exception that it raises (`interruption`) ends the block, as does its early end. `head` is the HTTP head
    that it begins with, if that is known.
    """

    def __init__(
        self,
        block: Buffer | ReadableStream,
        length: int | None,
        *,
        keeps: bool = False,
        head: HttpHead | None = None,
    ) -> None:
        self.head = head
        self.whole: memoryview | None = None
        self._stream: ReadableStream | None = None
        """None until a part of a block in memory is read: most of these are small, and read at once."""
        if isinstance(block, Buffer):
            self.whole = memoryview(block).cast("B")
            length = len(self.whole) if length is None else length
        else:
            self._stream = block
        self.expected = length_of(block) if length is None else length
        self.length = length
        self.keeps = keeps
        self.interruption: BaseException | None = None
        self._read = 0
        self._returned = b""

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes; fewer only at the end of the block."""
        if self.whole is not None and not self._read and size == len(self.whole):
            self._read = size
            return bytes(self.whole)
        data, self._returned = self._returned[:size], self._returned[size:]
        if len(data) == size:
            return data
        pieces: list[Buffer] = [data]
        wanted = size - len(data)
        if self.length is not None:
            wanted = min(wanted, self.length - self._read)
        while wanted and (piece := self._piece(wanted)):
            if not isinstance(piece, Buffer):
                raise _wrong(f"a file that returns {type(piece).__name__}")
            pieces.append(piece)
            wanted -= len(piece)
            self._read += len(piece)
        if self.length is not None and wanted and self._read < self.length and self.interruption is None:
            read = counted(self._read, "byte")
            short = FormatError(f"the block ended after {read}, its Content-Length is {self.length}")
            if not self.keeps:
                raise short
            self.interruption = short
        return b"".join(pieces) if len(pieces) != 2 or data else bytes(pieces[1])

    def _piece(self, size: int) -> Buffer:
        if self.interruption is not None:
            return b""
        if self._stream is None:
            self._stream = _PiecesStream((self.whole[self._read :] if self.whole is not None else b"",))
        try:
            return READ(self._stream, size)
        except BaseException as error:
            if not self.keeps:
                raise
            self.interruption = error
            return b""

    @property
    def truncated(self) -> str | None:
        """Value of WARC-Truncated for what was read; None if the block was complete."""
        if self.interruption is None:
            return None
        return "disconnect" if isinstance(self.interruption, Exception) else "unspecified"

    def peek(self, size: int) -> bytes:
        """Return the next `size` bytes, which `read` returns again; fewer only at the end of the block."""
        data = self.read(size)
        self._returned = data + self._returned
        return data

    def http_head(self) -> HttpHead | None:
        """Return the HTTP head that the block begins with, or None; `read` will return it again."""
        beginning = self.peek(MAX_HTTP_HEAD_SIZE + 1)
        return parse_http_head(beginning, whole=len(beginning) <= MAX_HTTP_HEAD_SIZE)

    def chunks(self, first: int, size: int) -> Iterator[tuple[bytes, bool]]:
        """Yield (chunk, whether it is the last): `first` bytes, then `size` bytes at a time."""
        chunk = self.read(first)
        while chunk:
            following = self.read(size)
            yield chunk, not following
            chunk = following
