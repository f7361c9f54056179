"""Names by which the server may be asked, and requests that have none."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from seekwarc.serve import server as server_module
from seekwarc.serve.app import application
from seekwarc.serve.replay import ReplayPorts, replay_application
from tests.serve.conftest import running


def status(port: int, request: bytes) -> int:
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(request)
        return int(client.recv(4096).split(b" ", 2)[1])


@pytest.mark.parametrize("parser", ["httptools", "h11"])
def test_http_1_0_needs_no_host_but_on_the_port_of_the_frame(library, monkeypatch, parser) -> None:
    monkeypatch.setattr(server_module, "_http_protocol", lambda: parser)
    frame = replay_application(library, b"the worker", ReplayPorts(8090, 8091))
    with running(application(library)) as main, running(frame) as other:
        for version, host, expected in (
            (b"1.0", b"", (200, 400)),
            (b"1.0", b"Host: 127.0.0.1\r\n", (200, 400)),
            (b"1.0", b"Host: replay.localhost\r\n", (400, 200)),
            (b"1.0", b"Host: evil.example\r\n", (400, 400)),
            (b"1.0", b"Host:\r\n", (400, 400)),
            (b"1.1", b"", (400, 400)),
            (b"1.1", b"Host: [::1]:8090\r\n", (200, 400)),
            (b"1.1", b"Host: evil.example\r\n", (400, 400)),
        ):
            request = b"GET / HTTP/%s\r\n%s\r\n" % (version, host)
            assert (status(main.port, request), status(other.port, request)) == expected, request


def test_a_name_that_was_let_in_lets_in_no_other(library) -> None:
    with running(application(library)) as server:
        for host, expected in (
            (b"localhost", 200),
            (b"localhost", 200),
            (b"localhost.evil", 400),
            (b"", 400),
        ):
            assert status(server.port, b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host) == expected
            assert status(server.port, b"GET / HTTP/1.1\r\n\r\n") == 400


def test_servers_that_ask_for_the_start_are_answered(library) -> None:
    """Those that have `lifespan` on, such as hypercorn, start no application that does not answer."""
    asked, answered = ["lifespan.startup", "lifespan.shutdown"], []

    async def receive() -> dict[str, Any]:
        return {"type": asked.pop(0)}

    async def send(message: dict[str, Any]) -> None:
        answered.append(message["type"])

    asyncio.run(application(library)({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send))
    assert answered == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
