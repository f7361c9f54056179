"""HTTP/1.1 of uvicorn, by httptools or by h11: with a limit on heads, and with a policy on every answer.

Archived scripts reach every answer of their origin. One that is a document without a policy is a way out: in
its name they connect to any host. Applications add policies to what they answer, but the layer of HTTP
also answers by itself. So the policy is added where the bytes of an answer leave, to each head that has none.
A head waits there for the first bytes of its body: two system calls would take as long as all the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
import re
import socket
from collections.abc import Collection, Iterable
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from seekwarc.compiling import override
from seekwarc.serve.headers import OTHER_POLICY

__all__ = ["MAX_HEAD", "GuardedHttp", "LimitedH11"]

MAX_HEAD: Final = 64 << 10
"""Maximum size of a request head, and of what is neither head nor body: sizes of chunks, trailers."""
MAX_DISCARDED: Final = 1 << 20
"""Bytes that are read of a request after it was refused. Closed at once, a connection loses the answer."""
ADDED: Final = {
    b"content-security-policy": OTHER_POLICY.encode(),
    b"x-content-type-options": b"nosniff",
}
"""Fields of an answer without a policy."""

_HOST = re.compile(rb"\r\nhost:[ \t]*([^\r\n]*?)(?::[0-9]*)?[ \t]*\r\n", re.IGNORECASE)


class _Answers:
    """The transport of a connection, which looks at the head of each answer."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.begun = False
        """Whether the head of an answer was sent. Its body follows, which may look like a head."""
        self._ended = False
        self._head = b""
        """A head that waits for its body, which is written in the same turn of the event loop as a rule."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send bytes of an answer, of which the head is one piece."""
        # The client is gone, or expects nothing more; an application need not know.
        if not data or self._ended or self._transport.is_closing():
            return
        if not self.begun:
            head, end, body = bytes(data).partition(b"\r\n\r\n")
            if not end or not head.startswith(b"HTTP/1."):
                # Unknown to this class: better no answer than one without a policy.
                self._transport.abort()
                return
            self.begun = head[9:12] >= b"200"
            data = _with_policy(head) + end + body
            if self.begun and not body:
                self._head = data
                asyncio.get_running_loop().call_soon(self.flush)
                return
        if self._head:
            self._transport.writelines((self._head, data))
            self._head = b""
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Send a head that waits for its body."""
        if self._head and not self._transport.is_closing():
            self._transport.write(self._head)
        self._head = b""

    def close(self) -> None:
        """Close the connection once all of the answer was sent."""
        self.flush()
        self._transport.close()

    def writelines(self, pieces: Iterable[bytes]) -> None:
        """Send bytes of an answer."""
        self.write(b"".join(pieces))

    def write_eof(self) -> None:
        """End the answer. The rest of an answer in progress is dropped."""
        self.flush()
        self._ended = True
        self._transport.write_eof()


def _with_policy(head: bytes) -> bytes:
    fields = head.lower()
    if b"\r\ncontent-security-policy:" in fields:
        return head
    missing = (b"\r\n%s: %s" % it for it in ADDED.items() if b"\r\n%s:" % it[0] not in fields)
    return head + b"".join(missing)


class GuardedHttp(asyncio.Protocol):
    """What the protocols of both parsers have in common.

    `replayed` are names of hosts whose cookies are set by archived pages alone. Such a page can make the
    heads of all later requests too long, so the answer to one clears them.
    """

    def __init__(self, *args: Any, replayed: Collection[str] = (), **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self._replayed = replayed
        self.unfinished = b""
        """Bytes that came since the last that belong to a complete head or to a body."""
        self._discarded: int | None = None
        """Bytes that came since a request was refused."""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # An answer may be several writes. The second would wait until the client acknowledges the first,
        # which it delays by 40 ms. asyncio sets this only on sockets that state their protocol.
        with contextlib.suppress(OSError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = _Answers(cast("asyncio.Transport", transport))
        super().connection_made(cast("asyncio.Transport", self.answers))

    @override
    def data_received(self, data: bytes) -> None:
        if self._discarded is None:
            self.unfinished += data
            super().data_received(data)
            if len(self.unfinished) > MAX_HEAD:
                self.refuse(431, "The request head is too long.")
        else:
            self._discarded += len(data)
            if self._discarded > MAX_DISCARDED:
                self.answers.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that cannot be read: both protocols of uvicorn call this."""
        self.refuse(400, msg)

    def refuse(self, status: int, message: str) -> None:
        """Answer a request that cannot be read, and end the connection."""
        if self._discarded is not None:
            return
        self._discarded = 0
        if self.answers.begun:
            # The client would take it for a part of the answer in progress.
            self.answers.close()
            return
        fields = ["content-type: text/plain; charset=utf-8", "connection: close"]
        host = _HOST.search(self.unfinished)
        if host is not None and host[1].decode("latin-1").lower() in self._replayed:
            fields.append('clear-site-data: "cookies"')
            message += " The cookies of archived pages, which may be why, were deleted: load this page again."
        lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}", *fields]
        lines += [f"content-length: {len(message)}", "", message]
        self.answers.write("\r\n".join(lines).encode("ascii"))
        self.answers.write_eof()


class LimitedH11(GuardedHttp, H11Protocol):
    """The protocol of one connection, by h11, which is pure Python."""

    @override
    def handle_events(self) -> None:
        super().handle_events()
        waits = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        self.unfinished = self.conn.trailing_data[0] if waits else b""

    @override
    def on_response_complete(self) -> None:
        self.answers.begun = False
        super().on_response_complete()
