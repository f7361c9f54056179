"""A small crawl that has one of everything, and ways to ask for it."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

import seekwarc
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from seekwarc.serve.server import Server
from tests.serve.asgi import Client
from tests.support.processes import wait_until
from tests.support.writing import chunked, response

FILM = random.Random(7).randbytes(3_000_000)
PAGE = b"<!doctype html><title>p</title><script>window.ours = 1</script>" + b"<p>The same every day.\n" * 900
DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg"><script>window.ours = 1</script></svg>'
THINGS = json.dumps({"things": list(range(50))}).encode()
LOG = b"".join(b"%06d GET /a/b/c 200\n" % number for number in range(200_000))


@dataclass
class Crawl:
    """The files, and where the records are in them by the last part of their URI."""

    paths: list[Path] = field(default_factory=list)
    offsets: dict[str, int] = field(default_factory=dict)


@pytest.fixture(scope="session")
def crawl(tmp_path_factory) -> Crawl:
    """Two files: one with one of everything, one of a series with segments and revisits."""
    folder = tmp_path_factory.mktemp("crawl")
    made = Crawl([folder / "one.warc.zst"])
    blocks = {
        "page.html": response(PAGE, 'text/html; charset="utf-8"', "Set-Cookie: a=b", "X-Frame-Options: DENY"),
        "coded.html": response(gzip.compress(PAGE), "text/html", "Content-Encoding: gzip"),
        "not-coded.html": response(PAGE, "text/html", "Content-Encoding: gzip"),
        "film.mp4": response(FILM, "video/mp4"),
        "chunked.log": response(chunked(LOG, 5000), "text/plain", "Transfer-Encoding: chunked"),
        "drawing.svg": response(DRAWING, "image/svg+xml"),
        "things.json": response(THINGS, "application/json"),
        "untyped.png": response(b"\x89PNG\r\n\x1a\n", None),
        "empty.txt": response(b"", "text/plain"),
    }
    with seekwarc.open(made.paths[0], "w", frame_size=64 << 10, threads=1) as out:
        out.write_warcinfo({"software": "test"})
        for number, (name, block) in enumerate(blocks.items()):
            date = f"2026-11-16T12:00:{number:02}Z"
            written = out.write_response(f"http://example.org/{name}", block, date=date)
            made.offsets[name] = written.offset
    series = {"dedup": seekwarc.Duplicates(), "max_file_size": 900_000, "threads": 1, "frame_size": 64 << 10}
    with seekwarc.open(folder / "daily.warc.zst", "w", **series) as out:
        block = response(PAGE, "text/html")
        for day in (16, 17):
            out.write_response("http://example.org/daily", block, date=f"2026-11-{day}T06:00:00Z")
        out.write_response(
            "http://example.org/big.mp4", response(FILM, "video/mp4"), date="2026-11-18T00:00:00Z"
        )
    made.paths += sorted(folder.glob("daily-*.warc.zst"))
    return made


@pytest.fixture
def library(crawl) -> Iterator[Library]:
    """The crawl, scanned."""
    with Library(crawl.paths) as made:
        made.read()
        yield made


@pytest.fixture(scope="session")
def portal():
    """A thread with an event loop."""
    with start_blocking_portal() as made:
        yield made


@pytest.fixture
def client(library, portal) -> Client:
    """What a browser on this computer would be."""
    return Client(application(library), portal)


@pytest.fixture
def found(client):
    """Return the ID of the one record that a search finds."""

    def find(**query: object) -> str:
        rows = client.get("/api/records", **query).json["records"]
        assert len(rows) == 1, rows
        return rows[0]["id"]

    return find


@dataclass
class Running:
    """A server in a thread of this process, at a real port."""

    port: int
    loop: asyncio.AbstractEventLoop
    connections: set[Any]

    @property
    def tasks(self) -> int:
        return len(asyncio.all_tasks(self.loop))


@contextmanager
def running(app, listener: socket.socket | None = None, **options: object) -> Iterator[Running]:
    """Run an application at a port of its own."""
    listener = listener or socket.create_server(("127.0.0.1", 0), backlog=512)
    server = Server(app, listener, **options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(server.serve([listener]),))
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield Running(listener.getsockname()[1], loop, server.server_state.connections)
    finally:
        server.should_exit = True
        thread.join()
        loop.close()
        listener.close()


@pytest.fixture
def server(library) -> Iterator[Running]:
    """The crawl, served at a port."""
    with running(application(library)) as made:
        yield made


def record_of(block: bytes, uri: str = "http://example.org/x", **fields: str) -> seekwarc.Record:
    """Return a record, alone in an archive in memory."""
    file = io.BytesIO()
    with seekwarc.open(file, "w") as out:
        out.write_response(uri, block, date="2026-11-16T12:00:00Z", **fields)
    return next(iter(seekwarc.open(file.getvalue())))
