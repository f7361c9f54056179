"""What conversions read and write: the content of a file, and sinks with the interface of a `Writer`.

A `Writer` writes .warc.gz and .warc, too, but compresses in jobs that can be rolled back. A conversion needs
neither: writing records straight through takes a third less time, and makes a .warc.gz of small records 2 %
smaller.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Final

from seekwarc.errors import FormatError
from seekwarc.format.warc import RECORD_END, RecordHeader, parse_record_header
from seekwarc.format.words import counted
from seekwarc.frames.deflate import DEFAULT_GZIP_LEVEL, MAX_GZIP_LEVEL
from seekwarc.frames.dictionary import MAX_DICTIONARY_SIZE, Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.frames.pieces import Compression, Piece, pieces_from
from seekwarc.options import check_range
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadOptions
from seekwarc.read.record import Record
from seekwarc.read.sequential import StreamedRecords
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source import RangeSource
from seekwarc.tools.arc import RecordSink, warc_content
from seekwarc.write.assembly import RecordAssembly
from seekwarc.write.block_reader import BlockSource, ReadableStream
from seekwarc.write.file_layout import ExistingFile
from seekwarc.write.forms import Form, form_of
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import Output

__all__ = ["PartSink", "StreamSink", "content_of", "copy_records", "zst_form"]

STEP: Final = 256 << 10
GZIP_WINDOW: Final = 31


class _Unchanged:
    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def zst_form(options: WriteOptions) -> Form:
    """Return how a .warc.zst stores records."""
    given = options.dictionary
    return form_of("zst", options, Dictionary(given) if isinstance(given, bytes) else given)


def content_of(
    source: RangeSource, start: int = 0, *, max_dictionary_size: int = MAX_DICTIONARY_SIZE
) -> Iterator[bytes]:
    """Yield everything that a file decompresses to, from some frame or member on; an ARC file as WARC."""
    file = ArchiveFile(Fetcher(source), ReadOptions(max_dictionary_size=max_dictionary_size))
    window, compression = file.begin()
    if file.grammar.is_arc:
        yield from warc_content(StreamedRecords(file, window, start, compression))
        return
    pieces = pieces_from(window, start, compression, file.decoder, threads=file.frames.threads)
    with closing(pieces):
        for piece in pieces:
            if isinstance(piece, Piece):
                yield piece.data


def copy_records(
    records: StreamedRecords, sink: RecordSink, on_record: Callable[[Record], object] | None = None
) -> int:
    """Write records byte for byte; return how many there were."""

    def trailer() -> bytes:
        records.finish()
        return records.trailer

    count = 0
    for record in records:
        if on_record is not None:
            on_record(record)
        sink.write_raw(record.header, record.block.open(), trailer=trailer)
        count += 1
    return count


class PartSink:
    """Writes the records of a part of a .warc.zst, without the dictionary and the table at its ends."""

    def __init__(self, output: Output, options: WriteOptions, threads: int, *, is_first: bool) -> None:
        self._work = OrderedWork(threads)
        # The first record of a file may be in other frames than all others.
        before = None if is_first else ExistingFile(options.tables or "large", None)
        self._assembly = RecordAssembly(zst_form(options), self._work, output, before)

    def write_raw(
        self,
        header: RecordHeader,
        block: ReadableStream,
        *,
        trailer: bytes | Callable[[], bytes] = RECORD_END,
    ) -> None:
        """See `Writer.write_raw`."""
        self._assembly.add(header, BlockSource(block, header.content_length), trailer)

    def frames(self) -> Sequence[array[int]]:
        """Finish the part; return what the table of the file lists: sizes and checksums of all frames."""
        self._assembly.flush()
        return self._assembly.layout.entries

    def close(self) -> None:
        """Stop the threads."""
        self._work.close()


class StreamSink:
    """Writes a .warc, or a .warc.gz with a gzip member for each record (WARC 1.1, annex D)."""

    def __init__(self, output: Output, compression: Compression, level: int | None = None) -> None:
        self._output = output
        self._is_plain = compression == "none"
        self._level = DEFAULT_GZIP_LEVEL if level is None else level
        check_range("level", self._level, 0, MAX_GZIP_LEVEL)
        self._has_records = False
        self._closed = False

    def write_raw(
        self,
        header: bytes | RecordHeader,
        block: ReadableStream,
        *,
        trailer: bytes | Callable[[], bytes] = RECORD_END,
    ) -> None:
        """See `Writer.write_raw`."""
        parsed = header if isinstance(header, RecordHeader) else parse_record_header(header)
        encoder = _Unchanged() if self._is_plain else zlib.compressobj(self._level, wbits=GZIP_WINDOW)
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
        self._has_records = True

    def close(self) -> None:
        """See `Writer.close`."""
        if self._closed:
            return
        if not self._has_records:
            self.abort()
            raise FormatError("no record was written, so no file was made", source=self._output.name)
        self._closed = True
        self._output.commit()

    def abort(self) -> None:
        """See `Writer.abort`."""
        if not self._closed:
            self._closed = True
            self._output.abort()
