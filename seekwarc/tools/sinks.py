"""Writers of the compressions that a converted file may have, alike in what they take."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final, Protocol

from seekwarc.errors import FormatError
from seekwarc.format.warc import RECORD_END, RecordHeader, parse_record_header
from seekwarc.format.words import counted
from seekwarc.write.block_reader import ReadableStream
from seekwarc.write.output import Output

__all__ = ["RecordSink", "StreamSink", "gzip_sink", "plain_sink"]

STEP: Final = 256 << 10
GZIP_LEVEL: Final = 6
MAX_GZIP_LEVEL: Final = 9
GZIP_WINDOW: Final = 31


class RecordSink(Protocol):
    """What takes records byte for byte; `seekwarc.Writer` is one."""

    def write_raw(
        self,
        header: bytes | RecordHeader,
        block: ReadableStream,
        *,
        trailer: bytes | Callable[[], bytes] = RECORD_END,
    ) -> object:
        """Add a record."""

    def close(self) -> None:
        """Finish the file."""

    def abort(self) -> None:
        """Give up: leave nothing under the final name."""


class _Encoder(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class _Unchanged:
    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class StreamSink:
    """A file of records that are each encoded on their own, piece by piece, without a way to seek.

    Args:
        output: Where the file goes.
        new_encoder: Makes the encoder of one record.
    """

    def __init__(self, output: Output, new_encoder: Callable[[], _Encoder]) -> None:
        self._output = output
        self._new_encoder = new_encoder
        self._records = 0
        self._closed = False

    def write_raw(
        self,
        header: bytes | RecordHeader,
        block: ReadableStream,
        *,
        trailer: bytes | Callable[[], bytes] = RECORD_END,
    ) -> None:
        """See `RecordSink.write_raw`."""
        parsed = header if isinstance(header, RecordHeader) else parse_record_header(header)
        encoder = self._new_encoder()
        write = self._output.write
        write(encoder.compress(parsed.raw))
        missing = parsed.content_length
        while missing and (data := block.read(min(missing, STEP))):
            write(encoder.compress(data))
            missing -= len(data)
        if missing:
            raise FormatError(f"the block ended {counted(missing, 'byte')} before its Content-Length")
        write(encoder.compress(trailer() if callable(trailer) else trailer))
        write(encoder.flush())
        self._records += 1

    def close(self) -> None:
        """See `RecordSink.close`."""
        if self._closed:
            return
        if not self._records:
            self.abort()
            raise FormatError("no record was written, so no file was made", source=self._output.name)
        self._closed = True
        self._output.commit()

    def abort(self) -> None:
        """See `RecordSink.abort`."""
        if not self._closed:
            self._closed = True
            self._output.abort()


def plain_sink(output: Output) -> StreamSink:
    """Make a .warc file."""
    return StreamSink(output, _Unchanged)


def gzip_sink(output: Output, *, level: int = GZIP_LEVEL) -> StreamSink:
    """Make a .warc.gz file, one gzip member a record (WARC 1.1, annex D).

    Raises:
        ValueError: A level outside 0 to 9.
    """
    if not 0 <= level <= MAX_GZIP_LEVEL:
        raise ValueError(f"level is {level}, not within 0 to {MAX_GZIP_LEVEL} for gzip")
    return StreamSink(output, lambda: zlib.compressobj(level, zlib.DEFLATED, GZIP_WINDOW))
