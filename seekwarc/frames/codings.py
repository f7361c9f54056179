"""HTTP content codings of an archived payload undone, as one forward stream.

Source: RFC 9110, section 8.4.1 (gzip, deflate), RFC 7932 (br) and RFC 8878 (zstd). Each coding is undone
by a generator from bytes to bytes, so that codings chain and none holds more than one step of output.
"""

from __future__ import annotations

import io
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError, TruncatedError, UnsupportedError
from seekwarc.format import zstd
from seekwarc.format.words import quoted
from seekwarc.frames.codec import LIBRARY, PLAIN, CodecError
from seekwarc.frames.decoder import MAX_WINDOW_SIZE

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["KNOWN_CODINGS", "MAX_CODINGS", "DecodedFile"]

MAX_CODINGS: Final = 8
"""How many codings may lie over each other: each takes memory, and more than two are not meant seriously."""
MAX_INPUT: Final = 16 << 10
"""Bytes that are read, or given to a decoder, at a time."""
PEEK: Final = 4 << 10
MAX_OUTPUT: Final = 128 << 10
"""Bytes that a decoder is asked for at a time; brotli gives up to twice as many."""
MAX_DOUBT: Final = 64 << 10
"""Bytes after which a body that has not failed is believed to be of its coding, output or not."""
MAX_AHEAD: Final = 64 << 20
"""Bytes that come out of a decoder and lead to none for the reader: a coding may hide a bomb in another, such
as gigabytes of skippable zstd frames."""
RAW_DEFLATE_DOUBT: Final = 256
"""Bytes of raw deflate that must decode before it is believed: nothing marks its beginning."""

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = zstd.FRAME_MAGIC.to_bytes(4, "little")
_EMPTY_BLOCK: Final = (b"\0\0\0", b"\2\0\0")
"""Headers of blocks without content that are not the last: a raw one, and one byte repeated never."""
_EMPTY_BLOCKS = re.compile(rb"(?>(?:\x00\x00\x00|\x02\x00\x00.)+)", re.DOTALL)


class _Body:
    """The bytes of a file, or of a coding that has been undone: taken forward, with a look ahead.

    What goes wrong in getting them is raised where it is reached, not by looking, and then every time.
    """

    def __init__(self, pieces: Iterator[bytes], max_window_size: int) -> None:
        self._pieces = pieces
        self._data, self._index = b"", 0
        self.failure: Exception | None = None
        self.max_window_size = max_window_size
        """Limit of the window of one zstd coding: all that lie over each other share `MAX_WINDOW_SIZE`."""

    def _pull(self) -> bool:
        try:
            piece = next(self._pieces, b"") if self.failure is None else b""
        except Exception as error:  # noqa: BLE001 - `take` raises it, whatever it is
            self.failure, piece = error, b""
        self._data, self._index = self._data[self._index :] + piece, 0
        return bool(piece)

    def peek(self, size: int, ahead: int = 0) -> bytes:
        """Return the `size` bytes that lie `ahead`, fewer only where the body ends."""
        while len(self._data) - self._index < ahead + size and self._pull():
            pass
        return self._data[self._index + ahead : self._index + ahead + size]

    def take(self, size: int) -> bytes:
        if self._index == len(self._data) and not self._pull() and self.failure is not None:
            raise self.failure
        data = self._data[self._index : self._index + size]
        self._index += len(data)
        return data

    def need(self, size: int, coding: str) -> bytes:
        if not (data := self.take(size)):
            raise TruncatedError(f"the payload ends before its {coding} coding does")
        return data

    def give_back(self, count: int) -> None:
        self._index -= count

    def rest(self) -> Iterator[bytes]:
        return iter(partial(self.take, MAX_INPUT), b"")

    def begins_with(self, magic: bytes) -> bool:
        head = self.peek(len(magic))  # a body that ends within its magic number is cut
        return bool(head) and magic.startswith(head)

    def suits(self, decode: Callable[[bytes], bytes], error: type[Exception], *, doubt: int = 1) -> bool:
        """Tell whether a decoder gives output for what comes next, and does not fail within `doubt` bytes."""
        given = False
        for ahead in range(MAX_DOUBT):
            if not (byte := self.peek(1, ahead)):
                return ahead > 0
            try:  # byte by byte, for the answer must not depend on the pieces that the body comes in
                given = bool(decode(byte)) or given
            except error:
                return False
            if given and ahead + 1 >= doubt:
                break
        return True


def _damaged(coding: str, error: Exception) -> FormatError:
    return FormatError(f"the {coding} coding of the payload is damaged: {str(error).rpartition(': ')[2]}")


def _from_gzip(body: _Body) -> Iterator[bytes]:
    if not body.begins_with(_GZIP_MAGIC):
        yield from body.rest()
    while body.begins_with(_GZIP_MAGIC):
        yield from _inflate(body, "gzip", 16 + zlib.MAX_WBITS)


def _from_deflate(body: _Body) -> Iterator[bytes]:
    head = body.peek(2)
    # Deflate means the zlib format, but many servers send it without the two bytes of its header.
    raw = len(head) < 2 or head[0] & 15 != zlib.DEFLATED or int.from_bytes(head, "big") % 31 != 0
    wbits = -zlib.MAX_WBITS if raw else zlib.MAX_WBITS
    trial = zlib.decompressobj(wbits)
    suits = body.suits(trial.decompress, zlib.error, doubt=RAW_DEFLATE_DOUBT if raw else 1)
    # JSON read as raw deflate gives a few bytes before it fails, and often comes to an end at once.
    yield from _inflate(body, "deflate", wbits) if suits and not (raw and trial.unused_data) else body.rest()


def _inflate(body: _Body, coding: str, wbits: int) -> Iterator[bytes]:
    decoder = zlib.decompressobj(wbits)
    output = b""
    while not decoder.eof:
        # Stopped by the limit, it may have more to give even where it has taken all its input.
        stopped = len(output) == MAX_OUTPUT
        data = decoder.unconsumed_tail if stopped else body.need(MAX_INPUT, coding)
        before = decoder.copy()
        try:
            output = decoder.decompress(data, MAX_OUTPUT)
        except zlib.error as error:
            # It keeps what it had decoded by then to itself: go there again, in the smallest steps.
            with suppress(zlib.error):
                for index in range(len(data)):
                    yield before.decompress(data[index : index + 1])
            raise _damaged(coding, error) from error
        yield output
    body.give_back(len(decoder.unused_data))


def _from_zstd(body: _Body) -> Iterator[bytes]:
    if not _is_zstd(body):
        yield from body.rest()
    decompressor = PLAIN.decompressor(max_window_size=body.max_window_size)
    while _is_zstd(body):
        if body.begins_with(_ZSTD_MAGIC):
            yield from _zstd_frame(body, LIBRARY.stream(decompressor))
        else:
            size = zstd.parse_skippable_header(body.peek(zstd.SKIPPABLE_HEADER_SIZE))[1]
            yield from _zstd_part(body, zstd.SKIPPABLE_HEADER_SIZE + size, lambda _: b"")


def _is_zstd(body: _Body) -> bool:
    return body.begins_with(_ZSTD_MAGIC) or zstd.is_skippable(int.from_bytes(body.peek(4), "little"))


def _zstd_frame(body: _Body, decode: Callable[[bytes], bytes]) -> Iterator[bytes]:
    header = zstd.parse_frame_header(body.peek(zstd.MAX_FRAME_HEADER_SIZE))
    if header.window_size > body.max_window_size:
        raise LimitError(f"a zstd window of {header.window_size} bytes: the limit is {body.max_window_size}")
    yield from _zstd_part(body, header.size, decode)
    last = False
    while not last:
        # Block by block, for the codec gives all that its input holds. Without a whole header the size is 0.
        head = body.peek(3)
        size, last = zstd.walk_blocks(head, 0)
        if head in _EMPTY_BLOCK and (run := _EMPTY_BLOCKS.match(body.peek(MAX_INPUT))):
            # A body may have millions of them.
            size = run.end()
        yield from _zstd_part(body, size or 3, decode)
    yield from _zstd_part(body, 4 * header.has_checksum, decode)


def _zstd_part(body: _Body, size: int, decode: Callable[[bytes], bytes]) -> Iterator[bytes]:
    while size:
        data = body.need(min(size, MAX_INPUT), "zstd")
        size -= len(data)
        try:
            yield decode(data)
        except CodecError as error:
            raise _damaged("zstd", error) from error


def _from_brotli(body: _Body) -> Iterator[bytes]:
    try:
        brotli = import_module("brotli")
        _ = brotli.Decompressor.can_accept_more_data  # came with 1.2, as the limit of output did
    except (ImportError, AttributeError) as error:
        raise UnsupportedError("the content coding 'br' needs: pip install 'seekwarc[brotli]'") from error
    return _unbrotli(body, brotli.Decompressor, brotli.error)


def _unbrotli(body: _Body, new: Callable[[], Any], failure: type[Exception]) -> Iterator[bytes]:
    if not body.suits(partial(new().process, output_buffer_limit=1), failure):
        yield from body.rest()
        return
    # A decoder that fails keeps what it had decoded by then to itself, and it also fails where bytes follow
    # the end. It cannot be copied, so a second one follows and reads that input again.
    decoder, second = new(), new()
    while not decoder.is_finished():
        data = body.need(MAX_INPUT, "br")
        given = 0
        try:
            for output in _brotli_outputs(decoder.process, data):
                given += len(output)
                yield output
            deque(_brotli_outputs(second.process, data), maxlen=0)
        except failure as error:
            with suppress(failure):
                for byte in (data[index : index + 1] for index in range(len(data))):
                    for output in _brotli_outputs(second.process, byte):
                        yield output[given:]
                        given = max(given - len(output), 0)
                    if second.is_finished():
                        return
            raise _damaged("br", error) from error


def _brotli_outputs(process: Callable[..., bytes], data: bytes) -> Iterator[bytes]:
    # Until nothing comes: it holds output back at times, whatever the limit and `can_accept_more_data` say.
    while output := process(data, output_buffer_limit=MAX_OUTPUT):
        yield output
        data = b""


_DECODERS: Final = {
    "gzip": _from_gzip,
    "x-gzip": _from_gzip,
    "deflate": _from_deflate,
    "br": _from_brotli,
    "zstd": _from_zstd,
}
_NOT_SUPPORTED: Final = frozenset(
    {
        "aes128gcm",
        "bzip2",
        "compress",
        "dcb",
        "dcz",
        "exi",
        "lzma",
        "pack200-gzip",
        "sdch",
        "x-bzip2",
        "x-compress",
        "xz",
    }
)
"""Codings that are in use. Servers send other words as well, such as UTF-8 or none: those are not codings."""
KNOWN_CODINGS: Final = frozenset({*_DECODERS, "identity"})
"""Names of the content codings that are understood, in lower case."""


class _Budget:
    """How much may come out of each decoder."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.given = 0
        """Bytes that were given to the reader of the file."""

    def check(self, count: int) -> None:
        """Refuse to go on if a decoder that gave `count` bytes has more."""
        if count >= self.limit:
            raise LimitError(f"the content codings of the payload give more than {self.limit} bytes")
        if count >= self.given + MAX_AHEAD:
            raise LimitError(
                f"{count} bytes come out of one content coding of the payload, and {self.given} of all: "
                f"the limit is {MAX_AHEAD} more"
            )


def _checked(pieces: Iterator[bytes], body: _Body, budget: _Budget, *, truncated: bool) -> Iterator[bytes]:
    count = 0
    try:
        for piece in filter(None, pieces):
            budget.check(count)
            count += len(piece)
            yield piece
    except TruncatedError:
        if body.failure is None and not truncated:
            raise
    # To the end in any case: errors of inner layers, a checksum maybe, must be reported here.
    deque(body.rest(), maxlen=0)


class DecodedFile(io.RawIOBase):
    """A payload with its content codings undone: a raw, read-only binary file that goes forward only.

    A payload that does not begin as its coding does is passed on unchanged, for crawlers decode bodies and
    keep the header; what follows the end of a coding is ignored. An error is raised after all that could be
    decoded before it, and then every time; an early end is not an error if the payload is known to be
    `truncated`. A decoder that has more than `limit` bytes is an error after these; so is one within another
    that has many more than were read. `file` is closed with this one, and stays open if this one cannot be
    made.
    """

    mode = "rb"

    def __init__(
        self, file: io.RawIOBase, codings: Sequence[str], *, limit: int, truncated: bool = False
    ) -> None:
        super().__init__()
        self.name = str(getattr(file, "name", ""))
        self._file: io.RawIOBase | None = None
        names = [name for coding in codings if (name := coding.strip().lower()) not in ("", "identity")]
        if len(names) > MAX_CODINGS:
            raise LimitError(f"the payload has {len(names)} content codings, the limit is {MAX_CODINGS}")
        window = MAX_WINDOW_SIZE // max(names.count("zstd"), 1)
        self._budget = budget = _Budget(limit)
        body = _Body(iter(partial(file.read, MAX_INPUT), b""), window)
        for name in reversed(names):
            if name in _NOT_SUPPORTED:
                raise UnsupportedError(f"the content coding {quoted(name)} is not supported")
            if name in _DECODERS:
                pieces = _checked(_DECODERS[name](body), body, budget, truncated=truncated)
                body = _Body(pieces, window)
        self._body, self._file = body, file

    @override
    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1) -> bytes:
        """Read up to `size` bytes by one read, as `io.BufferedReader` does."""
        return self.read(size if size >= 0 else MAX_INPUT) or b""

    def peek(self, size: int = 0) -> bytes:
        """Return `size` of the next bytes, or some, without passing them; fewer at the end."""
        self._check_open()
        return self._body.peek(size if size > 0 else PEEK)

    def write(self, _: object) -> NoReturn:
        """Raise `io.UnsupportedOperation`."""
        raise io.UnsupportedOperation("not writable: a record cannot be changed")

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill `buffer` with what comes next, often not to its end; 0 at the end of the payload."""
        self._check_open()
        with memoryview(buffer).cast("B") as view:
            data = self._body.take(len(view))
            view[: len(data)] = data
        self._budget.given += len(data)
        return len(data)

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def close(self) -> None:
        """Close it, and the file that it reads."""
        super().close()
        if self._file is not None:
            self._file.close()
