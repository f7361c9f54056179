"""Ending while clients are still there."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time

from seekwarc.serve.server import Server
from tests.serve.conftest import running


def test_answers_that_stand_are_ended_as_if_the_client_had_hung_up(caplog) -> None:
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
        assert came.wait(10)
        started = time.monotonic()
        server.should_exit = True
        thread.join()
    assert time.monotonic() - started < 2
    assert ended == ["http.disconnect"]
    assert [record for record in caplog.records if record.exc_info] == []
    loop.close()
    listener.close()


def test_of_an_answer_that_breaks_off_uvicorn_says_nothing_more(caplog) -> None:
    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})

    with running(app) as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer.endswith(b"\r\n\r\nx"), "the connection ends before the body does"
    assert caplog.messages == []
