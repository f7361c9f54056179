"""`warcio.archiveiterator` for .warc.zst, .warc.gz and .warc; ARC files go through warcio itself."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

import warcio.archiveiterator
from warcio.utils import BUFF_SIZE

from seekwarc.compat.warcio.errors import LoadError, TruncatedLoadError, as_load_error
from seekwarc.compat.warcio.recordloader import ParseOptions, SeekableRecord
from seekwarc.compat.warcio.sources import ForwardFile
from seekwarc.errors import FormatError, UnsupportedError
from seekwarc.format.warc import MAX_BLANK_BYTES, RECORD_MAGIC, is_record_magic
from seekwarc.format.zstd import FRAME_MAGIC, is_skippable
from seekwarc.read.plain import PlainBody
from seekwarc.read.reader import Reader
from seekwarc.read.resync import SHARED, only_shares
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable, RangeSource
from seekwarc.storage.streams import PipeSource

if TYPE_CHECKING:
    from seekwarc.read.record import Record
    from seekwarc.read.sequential import StreamedRecords
from seekwarc.storage.source_file import SourceFile

__all__ = ["ARCIterator", "ArchiveIterator", "WARCIterator"]

GZIP_MAGIC: Final = b"\x1f\x8b"
GZIP_MEMBER: Final = 31
"""Window bits that select a gzip member."""
ZSTD_MAGIC: Final = FRAME_MAGIC.to_bytes(4, "little")
HEAD_SIZE: Final = 64 << 10
"""Bytes within which a gzip member must begin to give content."""


class ArchiveIterator(warcio.archiveiterator.ArchiveIterator):  # type: ignore[misc]  # warcio has no types
    """Iterates the records of a WARC or ARC file; arguments and attributes are those of warcio.

    Unlike warcio's own, it reads .warc.zst too; knows offset and length of a record before that is read;
    steps over what is not read; and raises damage as a `LoadError`, which is an `ArchiveLoadFailed`, where
    warcio prints a line or ends quietly. Records stay readable after the iteration has passed them, unless
    the file is a pipe.

    Args:
        fileobj: A binary file object, from its current position on; or what `seekwarc.open` takes, such as a
            path or a URL.
        no_record_parse: Do not take HTTP heads from the payloads.
        verify_http: Raise for a block that does not begin as an HTTP message does.
        arc2warc: Give the records of an ARC file the headers of WARC.
        ensure_http_headers: Make up an HTTP head for a record that has none.
        block_size: Bytes that are read of an ARC file at a time.
        check_digests: Check digests of what is read, and of the rest when the iteration goes on: True to tell
            by `record.digest_checker`, "log" also on standard error, "raise" by `ArchiveLoadFailed`.

    Raises:
        SourceError: The path or URL cannot be opened.

    Example:
        >>> from seekwarc.compat.warcio import ArchiveIterator
        >>> with open("crawl.warc.zst", "rb") as file:
        ...     archive = ArchiveIterator(file)
        ...     for record in archive:
        ...         if record.rec_type == "response":
        ...             uri = record.rec_headers.get_header("WARC-Target-URI")
        ...             print(uri, len(record.content_stream().read()), archive.get_record_offset() > 0)
        http://example.org/ 23000 True
        http://example.org/film.mp4 3145728 True
    """

    check_digests: bool | str
    err_count: int
    known_format: str | None
    offset: int
    record: Any

    def __init__(  # noqa: PLR0917 - as warcio has it
        self,
        fileobj: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
        no_record_parse: bool = False,  # noqa: FBT001, FBT002
        verify_http: bool = False,  # noqa: FBT001, FBT002
        arc2warc: bool = False,  # noqa: FBT001, FBT002
        ensure_http_headers: bool = False,  # noqa: FBT001, FBT002
        block_size: int = BUFF_SIZE,
        check_digests: bool | str = False,  # noqa: FBT001, FBT002
    ) -> None:
        self._current: Record | None = None
        self._source, file = _opened(fileobj)
        super().__init__(
            file, no_record_parse, verify_http, arc2warc, ensure_http_headers, block_size, check_digests
        )
        self._base = self.offset if self._source.is_pipe else 0
        self._parse_options = ParseOptions(
            no_record_parse=no_record_parse,
            verify_http=verify_http,
            ensure_http_headers=ensure_http_headers,
            check_digests=check_digests,
        )
        self._archive: Reader | None = None
        self._stream: StreamedRecords | None = None
        self._at_end = False

    def close(self) -> None:
        """End the iteration, and close what was opened by path or URL. Idempotent."""
        # warcio closes itself at the end of an ARC file.
        if not self.the_iter.gi_running:
            self.the_iter.close()
        self._end()
        if self._archive is not None:
            self._archive.close()

    def _end(self) -> None:
        self._current = None
        super().close()

    def read_to_end(self, record: object = None) -> None:
        """Check digests of what is left of the record, if they are to be checked; pass the record in a pipe.

        Raises:
            ArchiveLoadFailed: A digest is wrong, and `check_digests` is "raise"; or the record is damaged.
        """
        if self._current is None:
            super().read_to_end(record)
        elif not self._at_end:
            self.record.finish()
            if self._stream is not None:
                try:
                    self._stream.finish()
                except FormatError as error:
                    raise as_load_error(error) from error
            self._at_end = True

    @property
    def member_info(self) -> tuple[int, int] | None:
        """Offset and length of the record, once it was read to its end."""
        if self._current is None:
            return self._their_info
        return (self.get_record_offset(), self.get_record_length()) if self._at_end else None

    @member_info.setter
    def member_info(self, info: tuple[int, int] | None) -> None:
        self._their_info = info

    def get_record_offset(self) -> int:
        """Return the stored offset of the record, without reading it."""
        if self._current is None:
            return int(super().get_record_offset())
        return self._base + self._current.offset

    def get_record_length(self) -> int:
        """Return the stored length of the record. In a pipe, that passes it."""
        if self._current is None:
            return int(super().get_record_length())
        if self._stream is not None:
            self.read_to_end()
        if not self._is_plain:
            return self._current.length
        # warcio counts the line breaks after a record only where they are compressed with it.
        return len(self._current.header.raw) + self._current.content_length

    def _iterate_records(self) -> Iterator[Any]:
        if self.known_format == "arc":
            yield from super()._iterate_records()
            return
        records: Iterator[Record] | None = None
        before: Record | None = None
        while True:
            try:
                records = records if records is not None else self._open_records()
                record = next(records, None)
            except FormatError as error:
                if before is None and self._is_foreign():
                    break
                raise as_load_error(error) from error
            if before is not None:
                self._look_back(before)
            if record is None:
                self._end()
                return
            if record.skip:
                raise LoadError(SHARED, source=record.source, offset=self._base + record.offset)
            self.known_format = "warc"
            self._current, self._at_end = record, False
            self.offset = self._base + record.offset
            self.record = SeekableRecord(record, self._parse_options)
            yield self.record
            if self.check_digests or self._stream is not None:
                self.read_to_end()
            before = record
        if isinstance(self.fh, ForwardFile):
            self.fh.rewind()
        else:
            self.fh.seek(self.offset)
        yield from super()._iterate_records()

    def _open_records(self) -> Iterator[Record]:
        archive = self._archive = Reader(self._source)
        if self._source.is_pipe:
            self._stream = archive.in_order(tolerant=True)
            records = iter(self._stream)
        else:
            records = archive.between(self.offset) if self.offset else iter(archive)
        if archive.is_arc:
            raise UnsupportedError("warcio reads ARC files", source=archive.name)
        return records

    def _look_back(self, record: Record) -> None:
        """Count what was wrong with a record, which is known when it is passed."""
        problem = record.problem
        if problem is None or only_shares(problem):
            return
        if record.is_cut_off:
            raise TruncatedLoadError(problem, source=record.source, offset=record.offset)
        self.err_count += 1

    def _is_foreign(self) -> bool:
        """Tell whether the file is not a WARC file: warcio reads ARC, and says what is wrong with others."""
        head = self._head()
        if head[:2] == GZIP_MAGIC:
            inflater = zlib.decompressobj(GZIP_MEMBER)
            try:
                head = inflater.decompress(head, MAX_BLANK_BYTES + len(RECORD_MAGIC))
            except zlib.error:
                return False
            if not head:
                return False
        elif _is_zstd(head) or (
            self.offset and not self._source.is_pipe and _is_zstd(self._source.read(0, 4))
        ):
            return False
        return not is_record_magic(head.lstrip(b"\r\n"))

    def _head(self) -> bytes:
        if isinstance(self.fh, ForwardFile):
            return self.fh.head
        return self._source.read(self.offset, self.offset + HEAD_SIZE)

    @property
    def _is_plain(self) -> bool:
        if isinstance(self.fh, ForwardFile):
            return self.fh.head[:1] in b"Ww\r\n"
        return self._current is not None and isinstance(self._current.body, PlainBody)


def _is_zstd(head: bytes) -> bool:
    return head[:4] == ZSTD_MAGIC or (len(head) >= 4 and is_skippable(int.from_bytes(head[:4], "little")))


def _opened(target: Any) -> tuple[RangeSource, Any]:  # noqa: ANN401 - see `ArchiveIterator`
    """Return the source that we read, and the file that warcio reads if it is not a WARC file."""
    if isinstance(target, str | os.PathLike | bytes | RangeSource):
        source = open_source(target)
        file = SourceFile(source)
        return (source, io.BufferedReader(file)) if file.seekable() else _forward(file, owned=True)
    # To find the end of a gzip file is to decompress all of it.
    if isinstance(target, gzip.GzipFile) or not hasattr(target, "seekable") or not target.seekable():
        return _forward(target)
    position = target.tell()
    source = open_source(target)
    target.seek(position)
    return source, target


def _forward(file: Any, *, owned: bool = False) -> tuple[RangeSource, ForwardFile]:  # noqa: ANN401
    forward = ForwardFile(file)
    return PipeSource(cast("BinaryIO", forward), owned=owned), forward


class WARCIterator(ArchiveIterator):
    """An `ArchiveIterator` that refuses ARC files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as warcio has it
        super().__init__(*args, **kwargs)
        self.known_format = "warc"


class ARCIterator(ArchiveIterator):
    """An `ArchiveIterator` that refuses WARC files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as warcio has it
        super().__init__(*args, **kwargs)
        self.known_format = "arc"
