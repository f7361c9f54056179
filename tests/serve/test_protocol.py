"""Heads of requests have a limit, and answers a policy, whichever parser reads the requests."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import time

import pytest

from seekwarc.serve import server as server_module
from seekwarc.serve.app import application
from seekwarc.serve.protocol import MAX_HEAD
from seekwarc.serve.replay import ReplayPorts, replay_application
from tests.serve.conftest import running
from tests.support.processes import PATIENT

HOST = b"Host: replay.localhost:8091\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST
POST = b"POST /raw/2026id_/http://example.org/ HTTP/1.1\r\n" + HOST
LONG = b"x" * (MAX_HEAD + 5000)
UPGRADE = b"Connection: Upgrade\r\nUpgrade: "
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
BAD: dict[str, bytes] = {
    "long address": b"GET /" + LONG + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "long address without an end": b"GET /" + LONG,
    "long query": b"GET /?" + LONG + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "long method": LONG + b" / HTTP/1.1\r\n" + HOST + b"\r\n",
    "long field": GET + b"X: " + LONG + b"\r\n\r\n",
    "long name of a field": GET + LONG + b": x\r\n\r\n",
    "many fields": GET + b"X: y\r\n" * (MAX_HEAD // 5) + b"\r\n",
    "many cookies": GET + b"Cookie: " + b"; ".join([b"a=" + b"b" * 3900] * 180) + b"\r\n\r\n",
    "long host": b"GET / HTTP/1.1\r\nHost: " + LONG + b"\r\n\r\n",
    "TLS": bytes.fromhex("16030100f8010000f40303") + bytes(range(240)),
    "TLS with line ends": b"\x16\x03\x01\r\n\r\n",
    "zeros": bytes(100) + b"\r\n\r\n",
    "words": b"what is this?\r\n\r\n",
    "HTTP/0.9": b"GET /\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/3": b"GET / HTTP/3.0\r\n" + HOST + b"\r\n",
    "no number of a version": b"GET / HTTP/\r\n" + HOST + b"\r\n",
    "HTTP/1.0 without a host": b"GET / HTTP/1.0\r\n\r\n",
    "HTTP/1.0": b"GET /nothing HTTP/1.0\r\n" + HOST + b"\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": GET + HOST + b"\r\n",
    "empty host": b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "host that is none": b"GET / HTTP/1.1\r\nHost: [::\r\n\r\n",
    "other host": b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "no path": b"GET http://replay.localhost HTTP/1.1\r\n" + HOST + b"\r\n",
    "path that is none": b"GET nothing HTTP/1.1\r\n" + HOST + b"\r\n",
    "path with bytes": b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    "unknown path": b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n",
    "raw without a date": b"GET /raw/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "raw of a script": b"GET /raw/id_/http://e.org/ HTTP/1.1\r\nSec-Fetch-Dest: script\r\n" + HOST + b"\r\n",
    "replayed page without the worker": b"GET /web/2026/http://e.org/ HTTP/1.1\r\n" + HOST + b"\r\n",
    "script of the page": b"GET /replay-start.js HTTP/1.1\r\n" + HOST + b"\r\n",
    "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "TRACE": b"TRACE / HTTP/1.1\r\n" + HOST + b"\r\n",
    "OPTIONS": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "OPTIONS of a path": b"OPTIONS / HTTP/1.1\r\n" + HOST + b"\r\n",
    "DELETE": b"DELETE /sw.js HTTP/1.1\r\n" + HOST + b"\r\n",
    "unknown method": b"BREW / HTTP/1.1\r\n" + HOST + b"\r\n",
    "method in small letters": b"get / HTTP/1.1\r\n" + HOST + b"\r\n",
    "HEAD": b"HEAD /nothing HTTP/1.1\r\n" + HOST + b"\r\n",
    "no name of a field": GET + b": x\r\n\r\n",
    "no colon": GET + b"x\r\n\r\n",
    "blank before a colon": GET + b"X : y\r\n\r\n",
    "folded field": GET + b" x\r\n\r\n",
    "control character in a field": GET + b"X: a\x00b\x01\r\n\r\n",
    "line ends of one character": b"GET /nothing HTTP/1.1\nHost: replay.localhost\n\n",
    "length that is no number": POST + b"Content-Length: x\r\n\r\n",
    "negative length": POST + b"Content-Length: -1\r\n\r\n",
    "endless length": POST + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n",
    "two lengths": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length of chunks": POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunk that is none": POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "chunk without an end": POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    "chunk of a long size": POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 40 + b"\r\n",
    "chunk with a long remark": POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + 5 * LONG,
    "long trailer": POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + 5 * LONG,
    "unknown coding": POST + b"Transfer-Encoding: x\r\n\r\n",
    "expectation": POST + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\na",
    "unknown expectation": GET + b"Expect: x\r\n\r\n",
    "WebSocket": GET + UPGRADE + b"websocket\r\n" + KEY + b"\r\n",
    "WebSocket without a key": GET + UPGRADE + b"websocket\r\n\r\n",
    "WebSocket of a path": b"GET /x HTTP/1.1\r\n" + HOST + UPGRADE + b"websocket\r\n" + KEY + b"\r\n",
    "HTTP/2 without TLS": GET + UPGRADE + b"h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
    "TLS by an upgrade": b"OPTIONS * HTTP/1.1\r\n" + HOST + UPGRADE + b"TLS/1.0\r\n\r\n",
    "nonsense after an upgrade": GET + UPGRADE + b"h2c\r\n\r\n" + b"nonsense\r\n\r\n",
    "nonsense after a request": b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n" + b"nonsense\r\n\r\n",
    "long head after a request": b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\nGET /" + LONG + b" HTTP/1.1\r\n",
    "body of a GET": b"GET /nothing HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nGET /",
}
"""Requests that are bad, or whose answers are made of nothing that is archived."""


async def _hello(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
    await send({"type": "http.response.body", "body": b"x"})


@pytest.fixture(autouse=True, params=["httptools", "h11"])
def parser(request, monkeypatch) -> None:
    if request.param == "h11":
        monkeypatch.setattr(server_module, "_http_protocol", lambda: "h11")


def heads(port: int, request: bytes) -> list[bytes]:
    """Return the heads of the answers to what is sent, in small letters."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.sendall(request)
        while not re.search(rb"HTTP/1\.1 [2-5](?s:.*)\r\n\r\n", answer):
            data = client.recv(1 << 16)
            assert data, "the connection was closed without an answer"
            answer += data
        client.shutdown(socket.SHUT_WR)
        answer += b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 ")
    # No body of them begins like an answer.
    return [it.partition(b"\r\n\r\n")[0].lower() for it in re.split(rb"(?=HTTP/1\.1 [0-9]{3} )", answer)[1:]]


def values(head: bytes, name: bytes) -> list[bytes]:
    return re.findall(rb"\r\n" + name + rb": ([^\r]*)", head)


def _answered(client: socket.socket, request: bytes) -> None:
    client.sendall(request)
    answer = b""
    while not answer.endswith(b"\r\n\r\nx"):
        data = client.recv(4096)
        assert data, "the connection was closed"
        answer += data


@pytest.mark.parametrize("port", ["main", "frame"])
def test_every_answer_has_a_policy(library, port) -> None:
    ports = ReplayPorts(8090, 8091)
    hosts = ["replay.localhost"]
    main = application(library, hosts=hosts, replay=ports)
    with running(main if port == "main" else replay_application(library, b"", ports)) as server:
        for name, request in BAD.items():
            for head in heads(server.port, request):
                (policy,) = values(head, b"content-security-policy") or [b""]
                assert policy.startswith(b"default-src 'none'"), (name, head)
                if b"sandbox" not in policy:
                    assert head.startswith(b"http/1.1 200 "), (name, head)
                assert values(head, b"x-content-type-options") == [b"nosniff"], (name, head)


@pytest.mark.parametrize("begin", [b"GET /", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\n"])
@pytest.mark.parametrize("earlier", [0, 1])
def test_a_head_without_end_is_refused(begin: bytes, earlier: int) -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    with running(_hello) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.settimeout(PATIENT)
        for _ in range(earlier):
            _answered(client, request)
        piece = b"X-A: b\r\n" * 1000 if begin.endswith(b"\n") else b"a" * 8000
        client.sendall(begin)
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 10 << 20:
                client.sendall(piece)
                sent += len(piece)
                time.sleep(0.001)
        assert sent < 5 << 20, "bytes in the buffers of both systems count too"


def test_many_requests_are_no_long_head() -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 5000 + b"\r\n\r\n"
    with running(_hello) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        for _ in range(40):
            _answered(client, request)


def test_answers_keep_their_own_policy_and_bodies_are_never_changed() -> None:
    like = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n"

    async def app(scope, receive, send) -> None:
        own = [(b"content-security-policy", b"img-src 'self'")] if scope["path"] == "/own" else []
        length = (b"content-length", b"%d" % (2 * len(like)))
        await send({"type": "http.response.start", "status": 200, "headers": [length, *own]})
        await send({"type": "http.response.body", "body": like, "more_body": True})
        await send({"type": "http.response.body", "body": like})

    with running(app) as server, socket.create_connection(("127.0.0.1", server.port), 20) as client:
        for path in (b"/", b"/own", b"/", b"/own"):
            client.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"\r\n\r\n" + like + like):
                data = client.recv(4096)
                assert data, "the connection was closed"
                answer += data
            expected = b"img-src 'self'" if path == b"/own" else b"default-src 'none'; sandbox"
            assert values(answer.removesuffix(like + like), b"content-security-policy") == [expected]


async def _fails(scope, receive, send) -> None:
    if scope["path"] == "/raises":
        raise RuntimeError("this is logged")
    if scope["path"] == "/exits":
        raise asyncio.CancelledError
    if scope["path"] == "/value":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x", b"a\nb")]})


@pytest.mark.parametrize("path", [b"/raises", b"/exits", b"/nothing"])
def test_an_application_that_fails_is_answered_with_a_policy(path) -> None:
    with running(_fails) as server:
        (head,) = heads(server.port, b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    assert head.startswith(b"http/1.1 500 ")
    assert values(head, b"content-security-policy") == [b"default-src 'none'; sandbox"]


def test_fields_that_cannot_be_sent_are_no_answer() -> None:
    with running(_fails) as server, socket.create_connection(("127.0.0.1", server.port), 20) as client:
        client.sendall(b"GET /value HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(4096) == b""


@pytest.mark.parametrize("bad", [b"nonsense\r\n\r\n", b"GET /" + 5 * LONG])
def test_an_answer_in_progress_ends_without_another_in_it(bad) -> None:
    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9999")]})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    with running(app) as server, socket.create_connection(("127.0.0.1", server.port), 20) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        answer = client.recv(4096)
        while not answer.endswith(b"\r\n\r\nx"):
            answer += client.recv(4096)
        with contextlib.suppress(ConnectionError):
            client.sendall(bad)
            assert client.recv(4096) == b""


@pytest.mark.parametrize(
    ("host", "clears"),
    [
        ("replay.localhost:8091", True),
        ("Replay.LOCALHOST", True),
        ("pages.example:443", True),
        ("127.0.0.1:8091", False),
        ("localhost", False),
        ("[::1]:8091", False),
        ("evil.example", False),
    ],
)
def test_only_cookies_of_archived_pages_are_cleared(host, clears) -> None:
    cookies = b"Cookie: " + b"; ".join([b"a=" + b"b" * 3900] * 60)
    with running(_hello, replayed=("replay.localhost", "pages.example")) as server:
        for fields in (cookies, b"A: b\r\n" + cookies, b"Cookie: a=\x00\r\n", b"Cookie\r\n"):
            request = b"GET / HTTP/1.1\r\nHost: " + host.encode() + b"\r\n" + fields + b"\r\n\r\n"
            (head,) = heads(server.port, request)
            assert head.startswith((b"http/1.1 431 ", b"http/1.1 400 "))
            assert values(head, b"clear-site-data") == [b'"cookies"'] * clears


def test_the_answer_to_a_head_of_a_megabyte_is_not_lost() -> None:
    with running(_hello) as server:
        request = b"GET / HTTP/1.1\r\nHost: x\r\nCookie: " + b"a" * 900_000 + b"\r\n\r\n"
        (head,) = heads(server.port, request)
    assert head.startswith(b"http/1.1 431 ")
    assert values(head, b"connection") == [b"close"]


def test_pieces_of_an_answer_are_sent_at_once_on_the_first_connection_too() -> None:
    set_for: list[int] = []

    async def app(scope, receive, send) -> None:
        (connection,) = server.connections
        own = connection.transport.get_extra_info("socket")
        set_for.append(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        await _hello(scope, receive, send)

    listener = socket.create_server(("127.0.0.1", 0))
    # It waits to be accepted while the server starts.
    with socket.create_connection(listener.getsockname(), 20) as client, running(app, listener) as server:
        _answered(client, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert set_for == [1]


class _Kept(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self, own: socket.socket) -> None:
        super().__init__({"socket": own})
        self.pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.pieces.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def close(self) -> None:
        self.pieces.append(b"closed")


@pytest.mark.parametrize(
    ("request_line", "is_late", "pieces"),
    [
        (b"GET / HTTP/1.1", False, [b"head+x"]),
        (b"GET / HTTP/1.0", False, [b"head+x", b"closed"]),
        (b"GET / HTTP/1.1", True, [b"head+", b"x"]),
        (b"HEAD / HTTP/1.1", False, [b"head+"]),
        (b"HEAD / HTTP/1.0", False, [b"head+", b"closed"]),
    ],
)
def test_the_head_of_an_answer_leaves_with_its_body_if_that_is_there(request_line, is_late, pieces) -> None:
    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
        for _ in range(3 if is_late else 0):
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b"x"})

    async def answer(found: _Kept) -> None:
        server = server_module.Server(app)
        server.config.load()
        make = server.config.http_protocol_class
        protocol = make(config=server.config, server_state=server.server_state, app_state={})
        protocol.connection_made(found)
        protocol.data_received(request_line + b"\r\nHost: x\r\n\r\n")
        await asyncio.gather(*server.server_state.tasks)
        await asyncio.sleep(0)

    with socket.socket() as own:
        found = _Kept(own)
        asyncio.run(answer(found))
    assert [re.sub(rb"(?s)HTTP.*\r\n\r\n", b"head+", it) for it in found.pieces] == pieces
