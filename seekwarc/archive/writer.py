"""Writing .warc.zst files whose large records can be read by range.

Source: spec-notes/seekable-records.md, sections 2 to 4.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import BinaryIO, Final, Self

from seekwarc.archive.assembly import RecordAssembly, Written
from seekwarc.archive.block import BlockDigests, BlockSource, DigestAlgorithm, ReadableStream
from seekwarc.archive.layout import TableMode
from seekwarc.archive.output import Output, open_output
from seekwarc.errors import FormatError
from seekwarc.format.http import is_http_block, parse_http_head
from seekwarc.format.warc import (
    RECORD_END,
    RecordHeader,
    build_record_header,
    format_fields,
    parse_record_header,
)
from seekwarc.format.zstd import Buffer
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import (
    DEFAULT_LEVEL,
    MAX_FRAME_SIZE,
    MAX_LEVEL,
    MIN_FRAME_SIZE,
    MIN_LEVEL,
    FrameEncoder,
    OrderedWork,
)

__all__ = ["Writer", "Written"]

DEFAULT_FRAME_SIZE: Final = 1 << 20

Headers = Mapping[str, str] | Iterable[tuple[str, str]]


class Writer:
    """Writes a .warc.zst file.

    To a path, the file appears under its name only when `close` succeeds; leaving a `with` block by an
    exception leaves nothing. Into a file object, which may be a pipe, it is written as it comes.

    Args:
        target: A path or a binary file object.
        level: Compression level, -7 to 22.
        frame_size: Most content bytes of a frame, 64 KiB to 8 MiB. Larger frames compress better, smaller
            ones cost less to read a little from.
        threads: Threads that compress; the number of cores, four at most, unless given. The file is the
            same whatever the number.
        dictionary: Dictionary for all frames; it is stored at the head of the file.
        compress_dictionary: Whether it is stored compressed.
        tables: "large" gives large records a seek table, and the file one at its end; "every" gives one to
            each record (the profile of iipc/warc-specifications#118); "none" writes none.
        digest: Algorithm of the digests that are added, or None to add none.

    Raises:
        ValueError: An argument out of its range.
        SourceError: The target cannot be written to.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO | Output,
        *,
        level: int = DEFAULT_LEVEL,
        frame_size: int = DEFAULT_FRAME_SIZE,
        threads: int | None = None,
        dictionary: Dictionary | bytes | None = None,
        compress_dictionary: bool = True,
        tables: TableMode = "large",
        digest: DigestAlgorithm | None = "sha1",
    ) -> None:
        _check_range("level", level, MIN_LEVEL, MAX_LEVEL)
        _check_range("frame_size", frame_size, MIN_FRAME_SIZE, MAX_FRAME_SIZE)
        if threads is not None:
            _check_range("threads", threads, 1, 1024)
        if tables not in ("large", "every", "none"):
            raise ValueError(f'tables is {tables!r}, not "large", "every" or "none"')
        if digest not in ("sha1", "sha256", None):
            raise ValueError(f'digest is {digest!r}, not "sha1", "sha256" or None')
        if isinstance(dictionary, bytes):
            dictionary = Dictionary(dictionary)
        self._frame_size = frame_size
        self._digest: DigestAlgorithm | None = digest
        self._output = open_output(target)
        self._closed = False
        self.name = self._output.name
        self._assembly = RecordAssembly(
            self._output,
            FrameEncoder(level, dictionary),
            OrderedWork(threads or min(os.cpu_count() or 1, 4)),
            frame_size=frame_size,
            tables=tables,
        )
        if dictionary is not None:
            try:
                self._assembly.add_extension(dictionary.frame(compress=compress_dictionary))
            except BaseException:
                self.abort()
                raise

    def __repr__(self) -> str:
        return f"<Writer to {self.name}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.abort()

    # What a user writes.

    def write(
        self,
        type: str,  # noqa: A002
        *,
        target_uri: str | None = None,
        block: Buffer | ReadableStream = b"",
        content_type: str | None = None,
        date: datetime | str | None = None,
        record_id: str | None = None,
        length: int | None = None,
        headers: Headers = (),
    ) -> Written:
        """Write a record, with the fields added that every record must have.

        WARC-Record-ID, WARC-Date, Content-Length, WARC-Block-Digest and, for an HTTP response,
        WARC-Payload-Digest (of its body, chunked coding undone) are added unless `headers` has them. A
        stream is read once and never kept: where its length or digest must stand in front of it, its
        *compressed* frames are put aside in a temporary file.

        Args:
            type: WARC-Type (clause 6): "response", "resource", "request", ...
            target_uri: WARC-Target-URI.
            block: The block's bytes, or a binary stream of them.
            content_type: Content-Type of the block.
            date: WARC-Date; an aware datetime, or the field's text. The current second unless given.
            record_id: WARC-Record-ID, with or without angle brackets; a random `urn:uuid:` unless given.
            length: Bytes to take from a stream; all that it has unless given.
            headers: Further fields, in order. They win over what would be added.

        Raises:
            ValueError: A field that cannot stand in a header.
            FormatError: The stream is shorter than `length`. The file then goes on as if the record had not
                been begun.
            SourceError: The file cannot be written.
        """
        self._check_open()
        fields = _Fields(headers)
        fields.add("WARC-Type", type)
        fields.add("WARC-Record-ID", _bracketed(record_id or f"urn:uuid:{uuid.uuid4()}"))
        fields.add("WARC-Date", _date(date))
        fields.add("WARC-Target-URI", target_uri)
        fields.add("Content-Type", content_type)
        stated = fields.get("Content-Length")
        if stated is not None and stated.isascii() and stated.isdigit():
            length = int(stated)
        # Whatever cannot stand in a header is refused before gigabytes have been read for it.
        format_fields(fields)
        if length is not None and length < 0:
            raise ValueError(f"length is {length}")
        source = BlockSource(block, length)
        # All of the block where it is at hand already, or small.
        whole = _as_bytes(block, length)
        beginning = source.peek(self._frame_size + 1) if whole is None else whole
        http = parse_http_head(beginning) if is_http_block(fields.get("Content-Type")) else None
        digests = BlockDigests(self._digest, http) if self._digest is not None else None
        if whole is not None or len(beginning) <= self._frame_size:
            if digests is not None:
                digests.add(beginning)
                fields.add_digests(digests)
            fields.add("Content-Length", str(len(beginning)))
            return self._assembly.add(build_record_header(fields), source, RECORD_END)
        if digests is None and length is not None:
            fields.add("Content-Length", str(length))
            return self._assembly.add(build_record_header(fields), source, RECORD_END)

        def complete(block_length: int) -> RecordHeader:
            if digests is not None:
                fields.add_digests(digests)
            fields.add("Content-Length", str(block_length))
            return build_record_header(fields)

        def observe(data: bytes) -> None:
            if digests is not None:
                digests.add(data)

        return self._assembly.add_spooled(source, http, observe, complete, length)

    def write_warcinfo(
        self, fields: Headers, *, filename: str | None = None, headers: Headers = ()
    ) -> Written:
        """Write a warcinfo record (clause 6.2), which describes the records behind it.

        Args:
            fields: Contents of the block, such as {"software": ..., "format": ...}.
            filename: WARC-Filename; the base name of the path written to unless given.
            headers: Further fields of the record header.
        """
        if filename is None and self._output.spool_directory is not None:
            filename = os.path.basename(self.name)
        more = _Fields(headers)
        more.add("WARC-Filename", filename or None)
        pairs = fields.items() if isinstance(fields, Mapping) else fields
        return self.write(
            "warcinfo",
            block=format_fields(pairs),
            content_type="application/warc-fields",
            headers=more,
        )

    def write_raw(
        self,
        header: bytes | RecordHeader,
        block: Buffer | ReadableStream,
        *,
        trailer: bytes | Callable[[], bytes] = RECORD_END,
    ) -> Written:
        """Write a record byte for byte, as a converter does. Nothing is added or checked.

        Args:
            header: The record header, from the version line to the blank line.
            block: As many bytes as its Content-Length says, or a binary stream that begins with them.
            trailer: What follows the block. A function is called once the block has been read.

        Raises:
            FormatError: The header cannot be parsed, or the stream is shorter than it says. The file then
                goes on as if the record had not been begun.
            SourceError: The file cannot be written.
        """
        self._check_open()
        parsed = header if isinstance(header, RecordHeader) else parse_record_header(header)
        return self._assembly.add(parsed, BlockSource(block, parsed.content_length), trailer)

    def flush(self) -> None:
        """Wait until every record so far is compressed and handed to the target."""
        self._assembly.flush()

    def close(self) -> None:
        """Finish the file: write the table at its end, sync it, give it its name. Twice does no harm.

        Raises:
            FormatError: No record was written; a WARC file holds at least one.
            SourceError: The file cannot be written.
        """
        if self._closed:
            return
        try:
            self._assembly.end_file()
        except BaseException:
            self.abort()
            raise
        self._closed = True
        self._assembly.close()
        self._output.commit()

    def abort(self) -> None:
        """Give up: leave nothing under the final name. Twice, or after `close`, does no harm."""
        if not self._closed:
            self._closed = True
            self._assembly.close()
            self._output.discard()

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError(f"{self.name}: the writer is closed")


class _Fields:
    """The fields of a header that is being put together; those given by the caller win."""

    def __init__(self, given: Headers) -> None:
        self._given = list(given.items() if isinstance(given, Mapping) else given)
        self._names = {name.lower() for name, _ in self._given}
        self._added: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[tuple[str, str]]:
        yield from self._added
        yield from self._given

    def add(self, name: str, value: str | None) -> None:
        """Add a field unless it was given, or has no value."""
        if value is not None and name.lower() not in self._names:
            self._added.append((name, value))

    def get(self, name: str) -> str | None:
        """Return the first value of a field."""
        return next((value for key, value in self if key.lower() == name.lower()), None)

    def add_digests(self, digests: BlockDigests) -> None:
        """Add the digests of a block that has gone by."""
        self.add("WARC-Block-Digest", digests.block)
        self.add("WARC-Payload-Digest", digests.payload)


def _as_bytes(block: Buffer | ReadableStream, length: int | None) -> memoryview | None:
    """Return a block that is bytes as such, None for a stream.

    Raises:
        FormatError: It has fewer bytes than it should.
    """
    if not isinstance(block, bytes | bytearray | memoryview):
        return None
    view = memoryview(block).cast("B")
    if length is not None and length > len(view):
        raise FormatError(f"the block ended after {len(view)} bytes, its Content-Length is {length}")
    return view[:length]


def _check_range(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, not within {low} to {high}")


def _date(date: datetime | str | None) -> str:
    """Write a date as WARC-Date has it: UTC, to the second or to the microsecond (clause 5.4)."""
    if isinstance(date, str):
        return date
    if date is None:
        date = datetime.now(UTC).replace(microsecond=0)
    if date.tzinfo is None:
        raise ValueError("a date without a time zone cannot become WARC-Date; give it tzinfo=UTC")
    return date.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _bracketed(uri: str) -> str:
    return uri if uri.startswith("<") else f"<{uri}>"
