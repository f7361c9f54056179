"""HTTP/1.1 exchanges as they pass over a connection, byte for byte: what httpx, requests and aiohttp record.

Goal: request and response become records exactly as they were sent and received, whatever the client makes of
them: with the spelling of their fields, chunked, compressed.

Plan: a `Conversation` is shown all bytes of a connection. It finds where each message ends by the framing of
RFC 9112, 6.3, and knows nothing of clients or of I/O. Messages wait in temporary files, since a program may
read a response slowly, and make other requests meanwhile. Records are written when a response has ended.

Worst case: a message whose framing is wrong. It then lasts until its connection ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import Final

from seekwarc.aio.writer import AsyncWriter
from seekwarc.format.chunked import MAX_CHUNK_LINE
from seekwarc.format.http import MAX_HTTP_HEAD_SIZE, HttpHead, parse_http_head
from seekwarc.write.record_types import CommonFields
from seekwarc.write.writer import Writer

__all__ = ["Conversation", "Exchange", "Recorder", "keep_in_thread"]

MAX_IN_MEMORY: Final = 256 << 10
"""Bytes of a message that are in memory; a longer one is in a temporary file."""
BODILESS: Final = frozenset({204, 304})
UPGRADED: Final = 101


class _Message:
    """A request or response: what has passed of it, and whether it has ended."""

    def __init__(self, method: str | None = None) -> None:
        self.file = SpooledTemporaryFile(MAX_IN_MEMORY)  # noqa: SIM115 - closed when it was written to the archive
        self.size = 0
        self.head: HttpHead | None = None
        self.has_ended = False
        self._method = method
        """Method of the request that this answers; None for a request."""
        self._head_bytes: bytearray | None = bytearray()
        """The beginning, until the head has ended."""
        self._left: int | None = None
        """Bytes of the body, or of a chunk, still to come; None if its end is that of the connection."""
        self._line: bytearray | None = None
        """The beginning of a line between chunks; None if the body is not chunked."""
        self._in_trailer = False

    def feed(self, data: bytes) -> None:
        self.file.write(data)
        self.size += len(data)
        if self._head_bytes is not None:
            self._head_bytes += data
            self.head = parse_http_head(self._head_bytes)
            if self.head is None and len(self._head_bytes) <= MAX_HTTP_HEAD_SIZE:
                return
            data, self._head_bytes = bytes(self._head_bytes), None
            if self.head is not None:
                data = data[self.head.size :]
                self._begin_body(self.head)
        if self._line is not None:
            self._feed_chunks(data)
        elif self._left is not None:
            self._left -= len(data)
            self.has_ended = self._left <= 0

    def _begin_body(self, head: HttpHead) -> None:
        is_answer = self._method is not None
        if is_answer and (self._method in ("HEAD", "CONNECT") or head.status in BODILESS):
            self._left = 0
        elif head.status == UPGRADED:
            self._left = None
        elif head.chunked:
            self._left, self._line = 0, bytearray()
        elif "Content-Length" in head:
            self._left = head.content_length
        else:
            self._left = None if is_answer else 0

    def _feed_chunks(self, data: bytes) -> None:
        position = 0
        while position < len(data) and self._line is not None and not self.has_ended:
            if self._left:
                passed = min(self._left, len(data) - position)
                self._left -= passed
                position += passed
                continue
            end = data.find(b"\n", position) + 1 or len(data)
            self._line += data[position:end]
            position = end
            if self._line.endswith(b"\n"):
                line, self._line = bytes(self._line).strip(), bytearray()
                self._end_line(line)
            elif len(self._line) > MAX_CHUNK_LINE:
                self._line = self._left = None

    def _end_line(self, line: bytes) -> None:
        if self._in_trailer:
            self.has_ended = not line
            return
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            self._line = self._left = None
            return
        self._in_trailer = not size
        # A line break follows the data of a chunk.
        self._left = size + 2 if size else 0

    def end(self) -> None:
        """Note that the other side has ended the connection, which ends some messages."""
        self.has_ended = self.has_ended or (self.head is not None and self._left is None)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response."""

    uri: str
    request: _Message
    response: _Message
    date: datetime
    ip_address: str | None
    truncated: str
    """Why a message that has not ended is cut off, as WARC-Truncated."""

    def write_to(self, out: Writer) -> None:
        """Write a record of the response and one of the request; what was cut off is marked so."""
        head = self.response.head
        with self.request.file as sent, self.response.file as received:
            # Interim responses (100 Continue, 103 Early Hints) are not part of the response.
            begin = head.start if head is not None else 0
            received.seek(begin)
            fields = self._fields(self.response, self.response.size - begin)
            written = out.write_response(self.uri, received, **fields)
            sent.seek(0)
            fields = self._fields(self.request, self.request.size)
            fields["concurrent_to"] = written
            out.write_request(self.uri, sent, **fields)

    def _fields(self, message: _Message, length: int) -> CommonFields:
        fields: CommonFields = {"date": self.date, "length": length}
        if self.ip_address is not None:
            fields["ip_address"] = self.ip_address
        if not message.has_ended:
            fields["truncated"] = self.truncated
        return fields


class Conversation:
    """The traffic of a connection, as a series of exchanges. Each method returns the one that it ended.

    `ip_address` is that of the server, None behind a proxy; `host` its name, for requests without a Host.
    """

    def __init__(self, scheme: str, ip_address: str | None, host: str = "") -> None:
        self._scheme = scheme
        self._ip_address = ip_address
        self._host = host
        self._request: _Message | None = None
        self._response: _Message | None = None
        self._date = datetime.now(UTC)
        self.has_tunnel = False
        """Whether a proxy was asked to connect to the server."""

    def sent(self, data: bytes) -> Exchange | None:
        """Take note of bytes of a request."""
        if self._request is None:
            self._request, self._date = _Message(), datetime.now(UTC)
        self._request.feed(data)
        return self._ended() if self._has_ended else None

    def received(self, data: bytes) -> Exchange | None:
        """Take note of bytes of a response; none if the server has ended the connection."""
        request = self._request
        if request is None or request.head is None:
            return None
        if self._response is None:
            self._response = _Message(request.head.method or "")
        if not data:
            self._response.end()
            return self._ended("disconnect")
        self._response.feed(data)
        return self._ended() if self._has_ended else None

    def closed(self, error: BaseException | None = None) -> Exchange | None:
        """Take note that the connection was closed, or by which error it ended."""
        if error is None:
            return self._ended("unspecified")
        return self._ended("time" if isinstance(error, TimeoutError) or _is_timeout(error) else "disconnect")

    @property
    def _has_ended(self) -> bool:
        request, response = self._request, self._response
        return request is not None and response is not None and request.has_ended and response.has_ended

    def _ended(self, truncated: str = "unspecified") -> Exchange | None:
        request, response = self._request, self._response
        self._request = self._response = None
        if request is None:
            return None
        head = request.head
        is_tunnel = head is not None and head.method == "CONNECT"
        self.has_tunnel = self.has_tunnel or is_tunnel
        if response is None or response.head is None or head is None or is_tunnel:
            request.file.close()
            if response is not None:
                response.file.close()
            return None
        uri = target = head.target or ""
        ip_address = None
        # A proxy is sent the whole URI, and its address is not that of the server.
        if "://" not in target.partition("?")[0]:
            path = target if target.startswith("/") else ""
            uri = f"{self._scheme}://{head.get('Host') or self._host}{path}"
            ip_address = self._ip_address
        return Exchange(uri, request, response, self._date, ip_address, truncated)


def _is_timeout(error: BaseException) -> bool:
    # Each client has its own: httpcore.ReadTimeout, aiohttp.SocketTimeoutError.
    return "Timeout" in type(error).__name__


Recorder = Writer | AsyncWriter
"""What clients for asyncio write to."""


async def keep_in_thread(
    exchange: Exchange, out: Recorder, run: Callable[[Callable[[Writer], None], Writer], Awaitable[None]]
) -> None:
    """Write an exchange without blocking the event loop; `run` calls a function in a thread."""
    if isinstance(out, AsyncWriter):
        await out.run(exchange.write_to)
    else:
        await run(exchange.write_to, out)
