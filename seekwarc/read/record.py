"""One record of an open archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol, cast

from seekwarc.compiling import mypyc_attr
from seekwarc.errors import LimitError, SeekWarcError
from seekwarc.format.header_fields import parse_fields
from seekwarc.format.http import (
    MAX_HTTP_HEAD_SIZE,
    TYPES_WITHOUT_HTTP,
    HttpHead,
    is_http_block,
    parse_http_head,
)
from seekwarc.format.warc import RecordHeader
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.read.body import CUT_OFF
from seekwarc.read.extent import Extent

if TYPE_CHECKING:
    from seekwarc.read.body import RecordBody, TableStatus
    from seekwarc.read.digests import DigestCheck

__all__ = ["Record", "Relations"]


@mypyc_attr(native_class=False)
class Relations(Protocol):
    """Knows how records of several files are related."""

    def concurrent(self, record: Record) -> tuple[Record, ...]:
        """Return the other records of the same capture event."""

    def refers_to(self, record: Record) -> Record | None:
        """Return the record that a record is about."""

    def referring_to(self, record: Record) -> tuple[Record, ...]:
        """Return the records that are about a record."""


MAX_FIELDS: Final = 50
"""Fields that a notebook shows of a record."""
MAX_FIELDS_BLOCK: Final = 16 << 20
"""Largest block that is taken apart into fields."""

_FOUND_BY_READING: Final = {"_http": "unknown", "_payload": None}


@mypyc_attr(allow_interpreted_subclasses=True)
class Record(DefinedFields):
    """A record: header, block, payload.

    Made by a `Reader`, and usable in any order and from any thread as long as that reader is open. A pickle
    of it, or a deep copy, has a reader of its own, which opens the file again when it is first read.

    Attributes:
        header: The record header, exactly as it is in the file.
        body: The stored form of the record: where its bytes lie, and how they are reached.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     record = next(archive.records(uri="http://example.org/film.mp4"))
        ...     print(record.type, record.date.datetime.year, record.http.status, record.payload.size)
        ...     print(record.payload.pread(2_000_000, 4).hex())
        response 2026 200 3145728
        7f009972
    """

    __slots__ = ("_http", "_length", "_payload", "_problem", "body")

    def __init__(self, body: RecordBody, *, length: int | None = None) -> None:
        self.header = body.header
        self.body = body
        self._length = length
        self._http: HttpHead | Literal["unknown"] | None = "unknown"
        self._payload: Extent | None = None
        self._problem: str | None = None

    def __repr__(self) -> str:
        return f"<Record {self.type} at {self.offset}: {self.target_uri or self.id}>"

    def _repr_html_(self) -> str:
        from seekwarc.format.markup import html_table

        rows = [*self.header.items()]
        note = self.problem or ""
        try:
            head = self.http
        except SeekWarcError as error:
            head, note = None, str(error)
        if head is not None:
            line = head.raw.partition(b"\n")[0].decode("latin-1")
            rows += [("HTTP", line.strip()), *head.items()]
        return html_table(f"{self.type} at {self.offset} of {self.source}", [], rows[:MAX_FIELDS], note=note)

    def __getstate__(self) -> dict[str, object]:
        # Findings of earlier reads hold on to the open file.
        return {
            "header": self.header,
            "body": self.body,
            "_length": self._length,
            "_problem": self._problem,
        }

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in {**_FOUND_BY_READING, **state}.items():
            setattr(self, name, value)

    @property
    def source(self) -> str:
        """Name of the file that the record is in."""
        return self.body.file.name

    @property
    def offset(self) -> int:
        """Offset in the stored file of the record's first frame (gzip member, byte): CDX `offset`."""
        return self.body.offset

    @property
    def skip(self) -> int:
        """Content bytes of other records before this one in the same frame or gzip member.

        0 in every conforming file.
        """
        return self.body.skip

    @property
    def headers(self) -> RecordHeader:
        """The same as `header`, under the name that FastWARC has for it."""
        return self.header

    @property
    def length(self) -> int:
        """Stored bytes up to the next record, a seek table included: the `length` of CDX and CDXJ.

        A table of the whole file, after its last record, is not counted.
        """
        if self._length is None:
            self._length = self.body.stored_end() - self.body.offset
        return self._length

    @property
    def has_length(self) -> bool:
        """Whether `length` is known without reading on."""
        return self._length is not None

    def note_length(self, length: int) -> None:
        """Keep the stored length, learnt by reading on."""
        self._length = length

    @property
    def problem(self) -> str | None:
        """What is wrong with how the record is written, though it can be read; None if nothing is known.

        Such as a Content-Length that is not that of the block, or the end of the file inside the block. For a
        small record it is known at once, for a large one when iteration has passed it.
        """
        return self._problem or self.header.problem or self.body.problem

    @property
    def is_cut_off(self) -> bool:
        """Whether the file is known to end inside the record: `read` returns what is there of it."""
        return self._problem is not None and self._problem.startswith(CUT_OFF)

    def note_problem(self, problem: str, content_length: int | None = None) -> None:
        """Keep what was found wrong with the record.

        Args:
            problem: What it is.
            content_length: Length of the block, where Content-Length states another.
        """
        self._problem = problem
        if content_length is not None:
            self.header = self.body.header = self.header.with_length(content_length)
            self._payload = None

    @property
    def seek_table_status(self) -> TableStatus:
        """Whether a seek table was found and used."""
        return self.body.table_status

    @property
    def whole(self) -> Extent:
        """The whole record: header, block and, of WARC, the two line breaks after it."""
        return Extent(self.body, 0, self.size)

    @property
    def size(self) -> int:
        """Length in bytes of the whole record, decompressed."""
        return self.header.record_size

    @property
    def uri(self) -> str | None:
        """Another name of `target_uri`, as entries of indexes have it."""
        return self.target_uri

    @property
    def url(self) -> str | None:
        """Another name of `target_uri`, as other packages have it."""
        return self.target_uri

    @property
    def status(self) -> int | None:
        """The HTTP status of a response; None for other records."""
        return self.http.status if self.http is not None else None

    @property
    def block(self) -> Extent:
        """The block: all that Content-Length counts."""
        start = len(self.header.raw)
        return Extent(self.body, start, start + self.content_length, fields=self.header)

    @property
    def warc_fields(self) -> tuple[tuple[str, str], ...] | None:
        """(name, value) of each field in an application/warc-fields block; None if it is not such a block.

        Raises:
            LimitError: The block has more than 16 MiB.
        """
        content_type = self.content_type or ""
        if content_type.partition(";")[0].strip().lower() != "application/warc-fields":
            return None
        if not self._is_understood(self.type):
            return None
        if self.content_length > MAX_FIELDS_BLOCK:
            text = f"a block of {self.content_length} bytes is too large to be taken apart into fields"
            raise LimitError(text, source=self.source, offset=self.offset)
        return tuple(parse_fields(self.block.read()))

    @property
    def http(self) -> HttpHead | None:
        """Start line and header fields of the HTTP message in the block; None if it holds none.

        Responses, requests and revisits hold one; the payload of other types is their block, whatever that
        is. The block of a revisit whose profile is not known is not looked into (clause 6.7.1).
        """
        # Not compared with "unknown": a head would be asked whether it is equal.
        if isinstance(self._http, str):
            self._http = self._read_http_head() if is_http_block(self.content_type) else None
        return self._http

    def _read_http_head(self) -> HttpHead | None:
        start = len(self.header.raw)
        end = start + self.content_length
        kind = self.type
        if start == end or kind in TYPES_WITHOUT_HTTP or not self._is_understood(kind):
            return None
        limit = min(end, start + MAX_HTTP_HEAD_SIZE)
        # The first frame has most heads; all that may be one is read only where it has not.
        some = self.body.read_some(start, limit)
        head = parse_http_head(some, whole=start + len(some) == end)
        if head is None and start + len(some) < limit:
            some = self.body.read_some(start, limit, limit - start)
            head = parse_http_head(some, whole=limit == end)
        if head is not None and kind in ("response", "revisit", "request"):
            # A page that was stored without its head may well begin as a request does.
            is_response = head.status is not None
            return head if is_response == (kind != "request") else None
        return head

    def _is_understood(self, kind: str | None) -> bool:
        """Tell whether the block may be interpreted: not that of a revisit of some other profile."""
        if kind != "revisit":
            return True
        from seekwarc.format.profiles import is_identical_payload, is_server_not_modified

        return is_identical_payload(self.profile) or is_server_not_modified(self.profile)

    @property
    def concurrent(self) -> tuple[Record, ...]:
        """The other records of the same capture event: see `Collection.concurrent`."""
        return self._relations.concurrent(self)

    @property
    def refers_to(self) -> Record | None:
        """The record that this metadata, revisit or conversion is about: see `Collection.refers_to`."""
        return self._relations.refers_to(self)

    @property
    def referring_to(self) -> tuple[Record, ...]:
        """The records that are about this one: see `Collection.referring_to`."""
        return self._relations.referring_to(self)

    @property
    def _relations(self) -> Relations:
        relations = cast("Relations | None", self.body.file.relations)
        if relations is None:
            raise SeekWarcError(
                "how records are related takes an index; open the files as a Collection", source=self.source
            )
        return relations

    def check_digests(self) -> tuple[DigestCheck, ...]:
        """Check the digests that the header states, reading the block once.

        Raises:
            FormatError: The block cannot be read.
        """
        from seekwarc.read.digests import check_digests

        return check_digests(self, self.http, self.block)

    @property
    def payload(self) -> Extent:
        """The payload: the entity-body of an HTTP message, without chunked coding; else the block (clause 4).

        What the block holds after the HTTP head is taken, whatever Content-Length the head names. By the
        standard warcinfo and metadata records have none; for convenience theirs is the block too. A revisit
        holds no payload of its own as a rule: `Collection.open_record` finds the original's.
        """
        if self._payload is None:
            head = self.http
            start = len(self.header.raw)
            stop = start + self.content_length
            if head is None:
                self._payload = Extent(self.body, start, stop, fields=self.header)
            elif not head.is_coded:
                self._payload = Extent(self.body, start + head.size, stop, fields=head)
            else:
                begin, truncated = start + head.size, self.truncated is not None
                if head.chunked:
                    from seekwarc.read.chunked_payload import ChunkedExtent

                    stated = self.header.get("WARC-Payload-Digest")
                    self._payload = ChunkedExtent(
                        self.body, begin, stop, head.codings, truncated=truncated, fields=head, stated=stated
                    )
                else:
                    self._payload = Extent(
                        self.body, begin, stop, head.codings, truncated=truncated, fields=head
                    )
        return self._payload
