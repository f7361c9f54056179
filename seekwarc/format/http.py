"""The HTTP head of a record block: start line, header fields, and where the payload starts.

Source: RFC 9112 (message syntax), WARC 1.1 clauses 6.3.2 and 6.5.2 (what a block holds). Crawlers store
what servers sent, so bare LF, missing reasons and header lines without a colon are all taken as they come.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from seekwarc.format.warc import find_header_end, parse_fields
from seekwarc.format.zstd import Buffer

__all__ = ["MAX_HTTP_HEAD_SIZE", "HttpHead", "is_http_block", "parse_http_head"]

MAX_HTTP_HEAD_SIZE: Final = 64 << 10
"""Where the search for the end of an HTTP head is given up: the block is then treated as opaque."""

_STATUS_LINE = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?!\d)")
_REQUEST_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]+\S[^\r\n]*")


@dataclass(frozen=True)
class HttpHead:
    """Start line and header fields of an HTTP message.

    Attributes:
        raw: All bytes of the head, blank line included; the payload starts behind them.
        status: Status code of a response, None for a request.
    """

    raw: bytes
    status: int | None

    @property
    def size(self) -> int:
        """Offset of the payload in the block."""
        return len(self.raw)

    @cached_property
    def start_line(self) -> str:
        """Status line or request line, without its line break."""
        return self.raw.split(b"\n", 1)[0].rstrip(b"\r").decode("latin-1")

    @cached_property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Header fields as (name, value), in order."""
        return tuple(parse_fields(self.raw.split(b"\n", 1)[1]))

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of a header field; names are not case-sensitive."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), default)

    @property
    def chunked(self) -> bool:
        """Whether the message was sent in chunked transfer coding."""
        codings = ",".join(v for n, v in self.headers if n.lower() == "transfer-encoding")
        return codings.lower().rstrip().endswith("chunked")


def is_http_block(content_type: str | None) -> bool:
    """Tell whether a record's Content-Type says that its block is an HTTP message."""
    return content_type is not None and content_type.split(";", 1)[0].strip().lower() in (
        "application/http",
        "message/http",
    )


def parse_http_head(block: Buffer) -> HttpHead | None:
    """Parse the HTTP head at the start of a block.

    Args:
        block: The block or its beginning; `MAX_HTTP_HEAD_SIZE` bytes are enough to decide.

    Returns:
        None where no HTTP head ends within those bytes.
    """
    start = bytes(block[:MAX_HTTP_HEAD_SIZE])
    status = _STATUS_LINE.match(start)
    if not status and not _REQUEST_LINE.match(start):
        return None
    end = find_header_end(start)
    if end < 0:
        return None
    return HttpHead(start[:end], int(status[1]) if status else None)
