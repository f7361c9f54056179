"""Ending while clients are still there."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable

import pytest
import uvicorn

from seekwarc.serve import server as server_module
from seekwarc.serve.server import Server
from tests.serve.conftest import running
from tests.support.processes import PATIENT


def test_stopping_ends_answers_in_progress(caplog) -> None:
    came = threading.Event()
    ended: list[str] = []

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await receive()
        came.set()
        ended.append((await receive())["type"])

    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(app, listener)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(server.serve([listener]),))
    thread.start()
    with socket.create_connection(listener.getsockname()) as client, caplog.at_level(logging.DEBUG):
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert came.wait(PATIENT)
        server.should_exit = True
        thread.join()
    assert ended == ["http.disconnect"]
    assert [record for record in caplog.records if record.exc_info] == []
    loop.close()
    listener.close()


def test_a_signal_waits_until_the_event_loop_is_made(monkeypatch) -> None:
    class StoppedError(Exception):
        pass

    def stop(*_) -> None:
        raise StoppedError

    make = uvicorn.Config.get_loop_factory

    def make_late(config: uvicorn.Config) -> Callable[[], asyncio.AbstractEventLoop]:
        def late() -> asyncio.AbstractEventLoop:
            signal.raise_signal(signal.SIGTERM)
            made.append(make(config)())
            return made[0]

        return late

    made: list[asyncio.AbstractEventLoop] = []
    previous = signal.signal(signal.SIGTERM, stop)
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            monkeypatch.setattr(uvicorn.Config, "get_loop_factory", make_late)
            with pytest.raises(StoppedError):
                Server(_hello, listener).run()
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert [loop.is_closed() for loop in made] == [True]


def test_uvicorn_logs_nothing_about_a_broken_answer(caplog) -> None:
    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})

    with running(app) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer.endswith(b"\r\n\r\nx"), "the connection ends before the body does"
    assert caplog.messages == []


async def _hello(scope, receive, send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]})
    await send({"type": "http.response.body", "body": b"x"})


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT"]
)
@pytest.mark.slow
def test_idle_connections_and_unfinished_heads_are_closed(monkeypatch, sent: bytes) -> None:
    monkeypatch.setattr(server_module, "IDLE", 1)
    with running(_hello) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(sent)
        client.settimeout(PATIENT)
        while client.recv(4096):
            pass


def test_a_head_that_trickles_in_is_closed_too(monkeypatch) -> None:
    monkeypatch.setattr(server_module, "IDLE", 1)
    with running(_hello) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):
            for _ in range(300):
                client.sendall(b"X-A: b\r\n")
                time.sleep(0.2)


def test_a_paused_answer_is_not_closed(monkeypatch) -> None:
    monkeypatch.setattr(server_module, "IDLE", 0.5)

    async def paused(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.sleep(3)
        await send({"type": "http.response.body", "body": b"y"})

    with running(paused) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        client.settimeout(PATIENT)
        assert b"".join(iter(lambda: client.recv(4096), b"")).endswith(b"xy")


@pytest.mark.slow
def test_a_connection_that_is_used_stays_open(monkeypatch) -> None:
    monkeypatch.setattr(server_module, "IDLE", 5)
    with running(_hello) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        for _ in range(70):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(4096)
            time.sleep(0.1)
