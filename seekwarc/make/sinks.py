"""What conversions read and write: the content of a file, and sinks with the interface of a `Writer`.

A `Writer` also writes .warc.gz and .warc, but compresses in jobs that can be rolled back. A conversion needs
neither: writing records straight through takes a third less time, and makes a .warc.gz of small records 2 %
smaller.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from seekwarc.compiling import override
from seekwarc.errors import FormatError
from seekwarc.format.warc import RECORD_END, RecordHeader, parse_record_header
from seekwarc.format.words import counted
from seekwarc.frames.deflate import DEFAULT_GZIP_LEVEL, MAX_GZIP_LEVEL
from seekwarc.frames.dictionary import MAX_DICTIONARY_SIZE, Dictionary
from seekwarc.frames.encoder import OrderedWork
from seekwarc.frames.pieces import Compression, Piece, pieces_from
from seekwarc.jobs.parts import PartSource
from seekwarc.make.arc import RecordSink, warc_content
from seekwarc.options import check_range
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.record import Record
from seekwarc.read.sequential import StreamedRecords
from seekwarc.scale.split import Split
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source import RangeSource
from seekwarc.system import threads_for
from seekwarc.write.assembly import RecordAssembly
from seekwarc.write.block_reader import BlockSource, ReadableStream
from seekwarc.write.file_layout import Entries, ExistingFile
from seekwarc.write.forms import Form, form_of
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import FileObjectOutput, Output
from seekwarc.write.writer import Writer

__all__ = [
    "CopyPart",
    "OutputFile",
    "PartFile",
    "PartSink",
    "PartsWriter",
    "StreamSink",
    "content_of",
    "copy_records",
    "form_with",
]

STEP: Final = 256 << 10
GZIP_WINDOW: Final = 31


class Writable(Protocol):
    """What an `Output` has."""

    def write(self, data: bytes) -> None:
        """Append all of `data`."""


class _Unchanged:
    def compress(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def form_with(compression: Compression, options: WriteOptions) -> Form:
    """Return how a file of that compression stores records."""
    given = options.dictionary
    return form_of(compression, options, Dictionary(given) if isinstance(given, bytes) else given)


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
        if records.leading:
            raise FormatError(
                f"{records.leading[:16]!r} comes before the first record, which no .warc.zst can have; "
                "`seekwarc recover` writes the records without it",
                source=record.source,
                offset=0,
            )
        if on_record is not None:
            on_record(record)
        sink.write_raw(record.header, record.block.open(), trailer=trailer)
        count += 1
    return count


class PartFile(NamedTuple):
    """Records in a file of their own, which is a part of a larger one."""

    path: str
    records: int
    entries: Entries | None = None
    """Of the frames that the table at the end of the larger file lists."""
    covered: bool = False
    """Whether the table of the only record lists all frames."""

    def pour(self, assembly: RecordAssembly) -> None:
        """Append it to a file of the same form."""
        assert self.entries is not None
        with open(self.path, "rb") as stored:
            assembly.add_part(stored, self.entries, self.records, covered=self.covered)


class PartSink:
    """Writes the records of a part of a file, without the dictionary and the table at its ends."""

    def __init__(self, path: str, form: Form, threads: int, *, is_first: bool) -> None:
        self._path = path
        self._file = open(path, "xb")  # noqa: SIM115 - closed by `close`
        self._work = OrderedWork(threads)
        # The first record of a file may be in other frames than all others.
        before = None if is_first else ExistingFile(form.tables, None)
        self._assembly = RecordAssembly(form, self._work, FileObjectOutput(self._file), before)

    def write_raw(
        self,
        header: RecordHeader,
        block: ReadableStream,
        *,
        trailer: bytes | Callable[[], bytes] = RECORD_END,
    ) -> None:
        """See `Writer.write_raw`."""
        self._assembly.add(header, BlockSource(block, header.content_length), trailer)

    def finish(self) -> PartFile:
        """Finish the part."""
        self._assembly.flush()
        layout = self._assembly.layout
        return PartFile(self._path, self._assembly.added, layout.entries, covered=layout.covered)

    def close(self) -> None:
        """Stop the threads."""
        self._work.close()
        self._file.close()


@dataclass(frozen=True, slots=True)
class CopyPart:
    """What is shared by work that copies parts of a file into spools; see `tools.parts.PartWork`."""

    compression: Compression
    """Of the new file."""
    options: WriteOptions
    limits: ReadLimits
    processes: int
    source_dictionary: Dictionary | None = None

    @contextmanager
    def records(
        self, source: RangeSource, part: Split, tap: Callable[[bytes], object] | None = None
    ) -> Iterator[StreamedRecords]:
        """Open the records of a part of a source."""
        stored, options = Fetcher(PartSource(source, part)), ReadOptions.of(**self.limits)
        with closing(ArchiveFile(stored, options, dictionary=self.source_dictionary)) as file:
            file.silence("shared")
            window, compression = file.begin()
            yield StreamedRecords(file, window, part.start, compression, tap)

    def sink(self, spool: str, part: Split) -> PartSink:
        """Return what writes the part into a spool."""
        threads = max(1, threads_for(self.options.threads) // self.processes)
        return PartSink(spool, form_with(self.compression, self.options), threads, is_first=not part.start)


class PartsWriter(Writer):
    """A writer of one file, which also takes parts of it."""

    @property
    def options(self) -> WriteOptions:
        """The options, also those of the parts."""
        return self._options

    def add_part(self, part: PartFile) -> None:
        """Append what a `PartSink` with the same options has written."""
        with self._lock:
            part.pour(self._files.current.assembly)


class OutputFile(io.RawIOBase):
    """An output as a file for packages that write to one: it cannot seek, and does not end with it."""

    def __init__(self, output: Writable) -> None:
        super().__init__()
        self._output = output
        self.size = 0

    @override
    def writable(self) -> bool:
        return True

    @override
    def tell(self) -> int:
        return self.size

    @override
    def write(self, data: Any) -> int:
        self._output.write(bytes(data))
        self.size += len(data)
        return len(data)


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
