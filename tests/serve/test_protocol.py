"""Heads of requests have a limit, whichever parser reads them."""

from __future__ import annotations

import contextlib
import socket
import time

import pytest

from seekwarc.serve import server as server_module
from tests.serve.conftest import running


async def _hello(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
    await send({"type": "http.response.body", "body": b"x"})


@pytest.fixture(autouse=True, params=["httptools", "h11"])
def parser(request, monkeypatch) -> None:
    if request.param == "h11":
        monkeypatch.setattr(server_module, "_http_protocol", lambda: "h11")


def _answered(client: socket.socket, request: bytes) -> None:
    client.sendall(request)
    answer = b""
    while not answer.endswith(b"\r\n\r\nx"):
        data = client.recv(4096)
        assert data, "the connection was closed"
        answer += data


@pytest.mark.parametrize("begin", [b"GET /", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\n"])
@pytest.mark.parametrize("earlier", [0, 1])
def test_a_head_without_end_is_refused(begin: bytes, earlier: int) -> None:
    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    with running(_hello) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.settimeout(10)
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
