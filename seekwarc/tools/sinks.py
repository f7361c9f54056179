"""Writers of .warc.gz and .warc for conversions, with the interface of a `Writer`.

A `Writer` writes these files too, but compresses in jobs that can be rolled back. A conversion needs neither:
writing records straight through takes a third less time, and makes a .warc.gz of small records 2 % smaller.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final, Protocol

from seekwarc.errors import FormatError
from seekwarc.format.warc import RECORD_END, RecordHeader, parse_record_header
from seekwarc.format.words import counted
from seekwarc.frames.deflate import DEFAULT_GZIP_LEVEL, MAX_GZIP_LEVEL
from seekwarc.write.block_reader import ReadableStream
from seekwarc.write.output import Output

__all__ = ["RecordSink", "StreamSink", "gzip_sink", "plain_sink"]

STEP: Final = 256 << 10
GZIP_WINDOW: Final = 31


class RecordSink(Protocol):
    """Writes records byte for byte; `seekwarc.Writer` is one."""

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
        """Leave nothing under the final name."""


class _Encoder(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class _Unchanged:
    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class StreamSink:
    """Writes a file of records, each with an encoder of its own, piece by piece."""

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
    """Return the writer of a .warc."""
    return StreamSink(output, _Unchanged)


def gzip_sink(output: Output, *, level: int = DEFAULT_GZIP_LEVEL) -> StreamSink:
    """Return the writer of a .warc.gz, with a gzip member for each record (WARC 1.1, annex D).

    Raises:
        ValueError: The level is not within 0 to 9.
    """
    if not 0 <= level <= MAX_GZIP_LEVEL:
        raise ValueError(f"level is {level}, not within 0 to {MAX_GZIP_LEVEL} for gzip")
    return StreamSink(output, lambda: zlib.compressobj(level, zlib.DEFLATED, GZIP_WINDOW))
