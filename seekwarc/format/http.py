"""The HTTP head of a record block: start line, header fields, and where the payload starts.

Source: RFC 9112 (message syntax), WARC 1.1 clauses 6.3.2 and 6.5.2 (what a block holds). Crawlers store
what servers sent, and make up heads for HTTP/2 and HTTP/3. So bare LF, a missing version or reason, and
header lines without a colon are all accepted.
"""

from __future__ import annotations

import re
from typing import Final

from seekwarc.compiling import Buffer
from seekwarc.errors import FormatError
from seekwarc.format.header_fields import (
    TOKEN,
    FieldMapping,
    find_header_end,
    parse_fields,
    whole_number,
)
from seekwarc.format.values import MediaType

__all__ = ["MAX_HTTP_HEAD_SIZE", "TYPES_WITHOUT_HTTP", "HttpHead", "is_http_block", "parse_http_head"]

TYPES_WITHOUT_HTTP: Final = frozenset({"warcinfo", "resource", "metadata", "conversion", "continuation"})
"""Types of records whose block is not an HTTP message, whatever Content-Type says."""
MAX_HTTP_HEAD_SIZE: Final = 64 << 10
"""Limit of the search for the end of an HTTP head; a block with a longer one is treated as opaque."""

MAX_STATUS_LINE: Final = 128
"""Bytes that suffice to tell whether a status line begins, including the blanks in it."""

_LINE_BREAKS = (b"\r", b"\n")
_LEADING_BLANK_LINES = re.compile(rb"(?:\r?\n){0,4}")
# A crawler that got no status from its browser writes 0.
_STATUS_LINE = re.compile(rb"(?:HTTP(?:/\d(?:\.[\dxX])?)?|ICY)[ \t]+(\d{3}(?!\d)|0(?!\S))([^\r\n]*)")
_REQUEST_LINE = re.compile(rf"({TOKEN})[ \t]+([^\s][^\r\n]*)".encode())
_HTTP_VERSION = r"(?<![ \t])[ \t]++HTTP/\d(?:\.\d)?[ \t]*$"
_CODING = re.compile(rb"\n(?i:transfer|content)-(?i:encoding)")
_HTTP_TYPES = ("application/http", "message/http")
_USUAL = "application/http;"
_INFORMATIONAL = range(100, 200)
_SWITCHING_PROTOCOLS = 101


class HttpHead(FieldMapping):
    """Start line and header fields of an HTTP message, a mapping of these fields; see `FieldMapping`.

        record.http["Content-Type"], "set-cookie" in record.http, record.http.get_all("Set-Cookie")

    Attributes:
        raw: All bytes of the head, blank line included.
        status: Status code of a response, None for a request.
        start: Offset of the head in the block: more than 0 after interim responses (1xx).

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     head = next(archive.records(type="response")).http
        >>> head.status, head["content-type"], "Set-Cookie" in head
        (200, 'text/html', False)
    """

    __slots__ = ("_fields", "start", "status")

    def __init__(self, raw: bytes, status: int | None, start: int = 0) -> None:
        self.raw = raw  # One call less, for each response.
        self.status = status
        self.start = start
        self._fields: tuple[tuple[str, str], ...] | None = None

    def __repr__(self) -> str:
        return f"HttpHead(raw={self.raw!r}, status={self.status!r}, start={self.start!r})"

    def __reduce__(self) -> tuple[type[HttpHead], tuple[bytes, int | None, int]]:
        return HttpHead, (self.raw, self.status, self.start)

    @property
    def size(self) -> int:
        """Offset of the body in the block."""
        return self.start + len(self.raw)

    @property
    def start_line(self) -> str:
        """Status line or request line, without its line break."""
        return self.raw.split(b"\n", 1)[0].rstrip(b"\r").decode("latin-1")

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Header fields as (name, value), in order."""
        if self._fields is None:
            self._fields = tuple(parse_fields(self.raw.partition(b"\n")[2]))
        return self._fields

    @property
    def _pairs(self) -> tuple[tuple[str, str], ...]:
        return self.headers

    @property
    def reason(self) -> str | None:
        """Reason phrase of a response, often empty; None for a request."""
        match = _STATUS_LINE.match(self.raw)
        return match[2].decode("latin-1").strip() if match else None

    @property
    def method(self) -> str | None:
        """Method of a request, None for a response."""
        match = _REQUEST_LINE.match(self.raw) if self.status is None else None
        return match[1].decode("ascii") if match else None

    @property
    def target(self) -> str | None:
        """Request target, such as a path; None for a response."""
        match = _REQUEST_LINE.match(self.raw) if self.status is None else None
        return re.sub(_HTTP_VERSION, "", match[2].decode("latin-1")) if match else None

    @property
    def content_length(self) -> int | None:
        """Content-Length of the message, None if that is not a number. The stored body may differ."""
        return whole_number(self.get("Content-Length") or "")

    @property
    def media_type(self) -> MediaType | None:
        """Content-Type, parsed; None if it is missing or not a media type."""
        value = self.get("Content-Type")
        try:
            return MediaType.parse(value) if value is not None else None
        except FormatError:
            return None

    @property
    def charset(self) -> str | None:
        """The character set that Content-Type names, in lower case; Python may have no such codec."""
        media_type = self.media_type
        charset = media_type.get("charset") if media_type is not None else None
        return charset.strip().lower() or None if charset is not None else None

    @property
    def chunked(self) -> bool:
        """Whether the head says that the body is in chunked transfer coding."""
        return self.is_coded and self._codings("Transfer-Encoding")[-1:] == ("chunked",)

    @property
    def codings(self) -> tuple[str, ...]:
        """Codings of the body in the order in which they were applied, chunked left out."""
        if not self.is_coded:
            return ()
        transfer = self._codings("Transfer-Encoding")
        return self._codings("Content-Encoding") + tuple(name for name in transfer if name != "chunked")

    @property
    def is_coded(self) -> bool:
        """Whether the head has any field that names codings of the body."""
        return _CODING.search(self.raw) is not None

    def _codings(self, name: str) -> tuple[str, ...]:
        named = [coding.strip().lower() for coding in ",".join(self.get_all(name)).split(",")]
        return tuple(coding for coding in named if coding not in ("", "identity"))


def is_http_block(content_type: str | None) -> bool:
    """Return whether a record's Content-Type says that its block is an HTTP message."""
    if content_type is None:
        return False
    return content_type.startswith(_USUAL) or content_type.split(";", 1)[0].strip().lower() in _HTTP_TYPES


def parse_http_head(block: Buffer, *, whole: bool = False) -> HttpHead | None:
    """Parse the HTTP head at the start of a block; after interim responses, that of the final response.

    `MAX_HTTP_HEAD_SIZE` bytes are enough to decide: the result is None if no head ends within them. In a
    `whole` block, a head without a blank line ends where the block ends.
    """
    data = bytes(block[:MAX_HTTP_HEAD_SIZE])
    whole = whole and len(data) == len(block)
    blank = _LEADING_BLANK_LINES.match(data) if data.startswith(_LINE_BREAKS) else None
    start = blank.end() if blank is not None else 0
    head = _head_at(data, start, whole=whole)
    while head is not None and head.status in _INFORMATIONAL and head.status != _SWITCHING_PROTOCOLS:
        # 100 Continue and its like are followed by the response proper.
        if _STATUS_LINE.match(data, head.size):
            head = _head_at(data, head.size, whole=whole)
        elif not whole and len(data) - head.size < MAX_STATUS_LINE and len(data) < MAX_HTTP_HEAD_SIZE:
            return None  # The rest of the block may hold it.
        else:
            break
    return head


def _head_at(data: bytes, start: int, *, whole: bool) -> HttpHead | None:
    status = _STATUS_LINE.match(data, start)
    if not status and not _REQUEST_LINE.match(data, start):
        return None
    end = find_header_end(data, start)
    if end < 0:
        if not whole:
            return None
        end = len(data)
    return HttpHead(data[start:end], int(status[1]) if status else None, start)
