"""An HTTP server for one object that answers range requests well, or badly in one chosen way.

It keeps a log of what it was asked and when, so that tests can count requests and round trips.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

EPOCH = 1_750_000_000


@dataclass(frozen=True)
class Content:
    """An object as it is at some time."""

    data: bytes
    etag: str | None = '"first"'
    modified: int | None = EPOCH

    @property
    def size(self) -> int:
        """Bytes of it."""
        return len(self.data)

    def cut(self, start: int, stop: int) -> bytes | memoryview:
        """Return a range of it."""
        return memoryview(self.data)[start:stop]


@dataclass
class Asked:
    """One request, and what became of it. Times are in seconds of a steady clock.

    It has ended when the body begins to be sent.
    """

    number: int
    method: str
    target: str
    headers: dict[str, str]
    began: float
    ended: float = 0.0
    status: int = 0
    sent: int = 0
    """Bytes of the body."""

    @property
    def range(self) -> str | None:
        """The Range header."""
        return self.headers.get("range")


@dataclass(frozen=True)
class Answer:
    """What is sent; a `Fault` makes another one of it."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | memoryview = b""
    cut: int | None = None
    """Bytes of the body after which the connection is dropped."""
    wait: float = 0.0
    """Seconds until the answer begins, beside the server's latency."""

    def but(self, **headers: str | None) -> Answer:
        """Return the answer with some headers changed, or left out where they are None."""
        changes = {name.replace("_", "-").title(): value for name, value in headers.items()}
        kept = {**self.headers, **changes}
        return replace(self, headers={name: value for name, value in kept.items() if value is not None})


Fault = Callable[[Asked, Answer], Answer]


def well(_: Asked, answer: Answer) -> Answer:
    """Change nothing."""
    return answer


def first(count: int, fault: Fault) -> Fault:
    """Let a fault befall the first requests only."""
    return lambda asked, answer: fault(asked, answer) if asked.number < count else answer


def after(count: int, fault: Fault) -> Fault:
    """Let a fault befall all but the first requests."""
    return lambda asked, answer: fault(asked, answer) if asked.number >= count else answer


def status(code: int, **headers: str) -> Fault:
    """Answer with a status and a short text."""
    return lambda _, __: Answer(code, {"Content-Type": "text/plain"}, b"no").but(**headers)


def dropped(count: int) -> Fault:
    """Drop the connection after some bytes of the body."""
    return lambda _, answer: replace(answer, cut=count)


def headed(**headers: str | None) -> Fault:
    """Send other headers, or none of some."""
    return lambda _, answer: answer.but(**headers)


def delayed(seconds: float) -> Fault:
    """Answer late."""
    return lambda _, answer: replace(answer, wait=seconds)


class RangeServer:
    """Serves one object at any path, until the `with` block ends.

    Args:
        data: The object.
        latency: Seconds that each request waits for its answer.
        fault: Changes each answer.

    Attributes:
        content: The object, which may be replaced at any time.
        asked: All requests, in the order in which they came.
        honours_if_match: Whether If-Match is looked at.
        takes_suffixes: Whether `bytes=-n` is understood.
    """

    def __init__(self, data: bytes, *, latency: float = 0.0, fault: Fault = well) -> None:
        self.content = Content(data)
        self.latency = latency
        self.fault = fault
        self.honours_if_match = True
        self.takes_suffixes = True
        self.answers_head = False
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def root(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        """Where the object is."""
        return f"{self.root}/crawl.warc.zst"

    def forget(self) -> None:
        """Empty the log."""
        with self._lock:
            self.asked.clear()

    def note(self, handler: BaseHTTPRequestHandler) -> Asked:
        """Log a request."""
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self._lock:
            one = Asked(len(self.asked), handler.command, handler.path, headers, time.monotonic())
            self.asked.append(one)
        return one

    def answer(self, asked: Asked) -> Answer:
        """Tell what is sent for a request."""
        return self.fault(asked, self.well_answered(asked, self.content_of(asked.target)))

    def content_of(self, _: str) -> Content | None:
        """Tell what is at a path."""
        return self.content

    def well_answered(self, asked: Asked, content: Content | None) -> Answer:
        """Tell what is sent for a request of an object."""
        if content is None:
            return Answer(404, {"Content-Type": "text/plain"}, b"nothing is here")
        size = content.size
        headers = {"Accept-Ranges": "bytes", "Content-Type": "application/warc"}
        if content.etag is not None:
            headers["Etag"] = content.etag
        if content.modified is not None:
            headers["Last-Modified"] = formatdate(content.modified, usegmt=True)
        condition = asked.headers.get("if-match")
        if self.honours_if_match and condition not in (None, "*", content.etag):
            return Answer(412, headers)
        match = re.fullmatch(r"bytes=([0-9]*)-([0-9]*)", asked.range or "")
        if match is None or match.groups() == ("", ""):
            return Answer(200, headers, content.cut(0, size))
        if not match[1]:
            if not self.takes_suffixes:
                return Answer(400, headers, b"no suffixes")
            start, stop = max(size - int(match[2]), 0), size
        else:
            start = int(match[1])
            stop = min(int(match[2]) + 1, size) if match[2] else size
        if start >= size:
            return Answer(416, {**headers, "Content-Range": f"bytes */{size}"})
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
        return Answer(206, headers, content.cut(start, stop))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that go away are what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: RangeServer

    def do_GET(self) -> None:
        asked = self.owner.note(self)
        answer = self.owner.answer(asked)
        time.sleep(self.owner.latency + answer.wait)
        asked.status = answer.status
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if "Content-Length" not in answer.headers:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        # Taken down first: the client may ask again before this thread goes on.
        asked.sent = len(answer.body[: answer.cut])
        asked.ended = time.monotonic()
        self.wfile.write(answer.body[: answer.cut])
        if answer.cut is not None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_HEAD(self) -> None:
        asked = self.owner.note(self)
        if not self.owner.answers_head:
            self.send_error(405)
            return
        asked.status = 200
        self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(self.owner.content.data)))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def round_trips(asked: Iterable[Asked]) -> int:
    """Count how often somebody waited for an answer and only then asked again.

    Requests that overlap in time are one round trip.
    """
    count, end = 0, float("-inf")
    for one in sorted(asked, key=lambda one: one.began):
        if one.began >= end:
            count += 1
            end = one.ended
        else:
            end = min(end, one.ended)
    return count
