"""One record of an open archive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

from seekwarc.archive.content import Content
from seekwarc.archive.payload import Extent
from seekwarc.format.http import MAX_HTTP_HEAD_SIZE, HttpHead, is_http_block, parse_http_head
from seekwarc.format.warc import RECORD_END, RecordHeader

if TYPE_CHECKING:
    from seekwarc.archive.file import ArchiveFile
    from seekwarc.format.seektable import SeekTable

__all__ = ["Layout", "Place", "Record", "TableStatus"]


class TableStatus(StrEnum):
    """How a record's frames became known."""

    RECORD = "record"
    """From the record's own seek table."""
    FILE = "file"
    """From the table at the end of the file."""
    NONE = "none"
    """No table was found; the frames' headers were scanned."""
    UNUSABLE = "unusable"
    """A table is there but cannot be believed; the frames' headers were scanned."""
    SINGLE = "single"
    """The record is one frame, which needs no table."""
    STORED = "stored"
    """The file is not compressed, so that any byte can be read as it is."""
    STREAM = "stream"
    """The record is not in frames that can be reached by range; it is read from its beginning."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a record's content lies in the stored file."""

    content: Content
    table_status: TableStatus
    table_problem: str | None = None
    """Why a table that is there was not used."""
    frames: SeekTable | None = None
    """The record's frames; None where they cannot be reached by range."""
    data_end: int | None = None
    """Offset behind the record's last frame, where it is known without decompressing."""


class Place(Protocol):
    """Where one record lies in its file, and how it is reached from there."""

    @property
    def file(self) -> ArchiveFile:
        """The file."""

    @property
    def offset(self) -> int:
        """Offset in the stored file of the frame, member or byte that the record begins in."""

    @property
    def skip(self) -> int:
        """Content bytes in front of the record in that frame or member."""

    def layout(self, header: RecordHeader) -> Layout:
        """Find where the content lies."""

    def length(self, header: RecordHeader, layout: Layout) -> int:
        """Find how many stored bytes the record takes."""


class Record:
    """A record: header, block, payload.

    Made by a `Reader`, and usable in any order and from any thread as long as that reader is open.

    Attributes:
        header: The record header, exactly as it stands in the file.
    """

    __slots__ = ("_http", "_layout", "_length", "_place", "header")

    def __init__(self, header: RecordHeader, place: Place, *, length: int | None = None) -> None:
        self.header = header
        self._place = place
        self._length = length
        self._layout: Layout | None = None
        self._http: HttpHead | Literal["unknown"] | None = "unknown"

    def __repr__(self) -> str:
        return f"<Record {self.type} at {self.offset}: {self.target_uri or self.id}>"

    @property
    def offset(self) -> int:
        """Offset in the stored file of the record's first frame (gzip member, byte): CDX `offset`."""
        return self._place.offset

    @property
    def skip(self) -> int:
        """Content bytes of other records in front of this one in the same frame or gzip member.

        0 in every conforming file.
        """
        return self._place.skip

    @property
    def headers(self) -> RecordHeader:
        """The record header."""
        return self.header

    @property
    def type(self) -> str | None:
        """WARC-Type in lower case: types are not case-sensitive (clause 5.5)."""
        value = self.header.get("WARC-Type")
        return value.lower() if value else None

    @property
    def id(self) -> str | None:
        """WARC-Record-ID without its angle brackets (clause 5.2)."""
        return self.header.uri("WARC-Record-ID")

    @property
    def target_uri(self) -> str | None:
        """WARC-Target-URI, without the angle brackets of WARC 1.0 (clause 5.12)."""
        return self.header.uri("WARC-Target-URI")

    @property
    def date(self) -> str | None:
        """WARC-Date as it is written (clause 5.4)."""
        return self.header.get("WARC-Date")

    @property
    def content_type(self) -> str | None:
        """Content-Type of the block (clause 5.6)."""
        return self.header.get("Content-Type")

    @property
    def content_length(self) -> int:
        """Length of the block in bytes (clause 5.3)."""
        return self.header.content_length

    @property
    def length(self) -> int:
        """Stored bytes up to the next record, a seek table included: the `length` of CDX and CDXJ.

        A table that covers the whole file, and stands behind its last record, is not counted.
        """
        if self._length is None:
            self._length = self._place.length(self.header, self.layout)
        return self._length

    @property
    def has_length(self) -> bool:
        """Whether `length` is known without reading on."""
        return self._length is not None

    def note_length(self, length: int) -> None:
        """Keep the stored length, learnt by reading on."""
        self._length = length

    @property
    def layout(self) -> Layout:
        """Where the content lies. Found when first needed, from a seek table or by scanning."""
        if self._layout is None:
            with self._place.file.lock:
                if self._layout is None:
                    self._layout = self._place.layout(self.header)
        return self._layout

    @property
    def seek_table_status(self) -> TableStatus:
        """Whether a seek table was found and used."""
        return self.layout.table_status

    @property
    def whole(self) -> Extent:
        """The whole record: header, block and the two line breaks behind it."""
        return Extent(self.layout.content, 0, self.size)

    @property
    def size(self) -> int:
        """Length in bytes of the whole record, decompressed."""
        return len(self.header.raw) + self.content_length + len(RECORD_END)

    @property
    def block(self) -> Extent:
        """The block: all that Content-Length counts."""
        start = len(self.header.raw)
        return Extent(self.layout.content, start, start + self.content_length)

    @property
    def http(self) -> HttpHead | None:
        """Start line and header fields of the HTTP message in the block; None where it holds none."""
        if self._http == "unknown":
            self._http = self._read_http_head() if is_http_block(self.content_type) else None
        return self._http

    def _read_http_head(self) -> HttpHead | None:
        start = len(self.header.raw)
        limit = start + min(self.content_length, MAX_HTTP_HEAD_SIZE)
        if start == limit:
            return None
        content = self.layout.content
        cheap = min(content.cheap_stop(start), limit)
        head = parse_http_head(content.peek(start, cheap))
        if head is None and cheap < limit:
            head = parse_http_head(content.peek(start, limit))
        return head

    @property
    def payload(self) -> Extent:
        """The payload: the block without its HTTP head, or the block where it has none (clause 4)."""
        head = self.http
        start = len(self.header.raw)
        stop = start + self.content_length
        return Extent(self.layout.content, start + (head.size if head else 0), stop)
