"""What aiohttp sends and receives is recorded byte for byte."""

from __future__ import annotations

import asyncio
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

import seekwarc
from tests.support.wire import (
    BIG,
    BIG_COUNT,
    WHOLE,
    WireServer,
    assert_recorded,
    assert_recorded_through_a_proxy,
    blocks,
    certified,
    truncated,
    wire_server,
)

aiohttp = pytest.importorskip("aiohttp")

from seekwarc.compat.aiohttp import RecordingConnector  # noqa: E402

Work = Callable[["aiohttp.ClientSession"], Awaitable[None]]


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as server:
        yield server


def record(path: Path, work: Work, **options: object) -> None:
    async def run() -> None:
        async with (
            seekwarc.AsyncWriter(path, **options) as out,
            aiohttp.ClientSession(connector=RecordingConnector(out)) as session,
        ):
            await work(session)

    asyncio.run(run())


async def get(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as response:
        return await response.read()


def test_messages_are_recorded_as_they_passed(server: WireServer, tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"some "
        yield b"pieces"

    async def work(session: aiohttp.ClientSession) -> None:
        for name in WHOLE:
            await get(session, server.url + name)
        await session.head(server.url + "/head")
        async with session.post(server.url + "/plain", data=pieces()) as response:
            assert await response.read() == b"hello"
        assert (await get(session, server.url + "/gzip")).startswith(b"<p>compressed")
        assert await get(session, server.url + "/moved") == b"hello"

    record(tmp_path / "a.warc.zst", work)
    names = [*WHOLE, "/head", "/plain", "/gzip", "/moved", "/plain"]
    assert_recorded(tmp_path / "a.warc.zst", server, names)
    assert server.connections == 2, "connections are kept, but for that which HTTP/1.0 closed"


def test_a_payload_that_came_before_becomes_a_revisit(server: WireServer, tmp_path: Path) -> None:
    async def work(session: aiohttp.ClientSession) -> None:
        for _ in range(2):
            await get(session, server.url + "/chunks")

    record(tmp_path / "a.warc.zst", work, dedup=seekwarc.Duplicates())
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert [it.type for it in archive] == ["response", "request", "revisit", "request"]


def test_responses_that_break_off_are_kept_and_marked(server: WireServer, tmp_path: Path) -> None:
    async def work(session: aiohttp.ClientSession) -> None:
        for name in ("/short", "/short-chunk"):
            with pytest.raises(aiohttp.ClientPayloadError):
                await get(session, server.url + name)
        async with session.get(server.url + "/big") as response:
            await response.content.read(1000)

    path = tmp_path / "a.warc.zst"
    record(path, work)
    assert truncated(path) == [
        ("short", "disconnect"),
        ("short-chunk", "disconnect"),
        ("big", "unspecified"),
    ]
    assert blocks(path, "response")[0][1].endswith(b"only this")


def test_a_plain_writer_serves_many_requests_at_a_time(server: WireServer, tmp_path: Path) -> None:
    async def run(out: seekwarc.Writer) -> None:
        async with aiohttp.ClientSession(connector=RecordingConnector(out)) as session:
            await asyncio.gather(*(get(session, server.url + "/gzip") for _ in range(10)))

    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out:
        asyncio.run(run(out))
    assert len(blocks(path, "response")) == len(blocks(path, "request")) == 10


def test_closing_the_session_raises_what_went_wrong_in_writing(server: WireServer, tmp_path: Path) -> None:
    async def run(out: seekwarc.Writer) -> None:
        async with aiohttp.ClientSession(connector=RecordingConnector(out)) as session:
            await get(session, server.url + "/plain")
            out.close()
            await get(session, server.url + "/plain")

    out = seekwarc.open(tmp_path / "a.warc.zst", "w")
    with pytest.raises((seekwarc.SeekWarcError, ValueError), match="closed"):
        asyncio.run(run(out))


def test_a_large_body_is_streamed_in_bounded_memory(server: WireServer, tmp_path: Path) -> None:
    size = peak = 0

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal size, peak
        await get(session, server.url + "/plain")
        tracemalloc.start()
        async with session.get(server.url + "/big") as response:
            async for piece in response.content.iter_chunked(1 << 20):
                size += len(piece)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    record(tmp_path / "a.warc.zst", work, threads=1)
    assert size == BIG_COUNT * len(BIG)
    assert peak < 20 << 20
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert next(archive.records(uri="*/big", type="response")).payload.size == size


@pytest.mark.needs("openssl")
def test_https_is_recorded_as_it_was_before_encryption(tmp_path: Path) -> None:
    secure, trusted = certified(tmp_path)
    path, context = tmp_path / "a.warc.zst", ssl.create_default_context(cafile=trusted)

    async def run(url: str) -> None:
        async with (
            seekwarc.AsyncWriter(path) as out,
            aiohttp.ClientSession(connector=RecordingConnector(out, ssl=context)) as session,
        ):
            for name in ("/chunked", "/plain"):
                await get(session, url + name)

    with wire_server(secure) as server:
        asyncio.run(run(server.url))
    assert_recorded(path, server, ["/chunked", "/plain"])


@pytest.mark.needs("openssl")
def test_the_address_of_a_proxy_is_not_that_of_the_server(tmp_path: Path) -> None:
    secure, trusted = certified(tmp_path)
    path, context = tmp_path / "a.warc.zst", ssl.create_default_context(cafile=trusted)

    async def run(proxy: str) -> None:
        async with (
            seekwarc.AsyncWriter(path) as out,
            aiohttp.ClientSession(connector=RecordingConnector(out, ssl=context)) as session,
        ):
            for url in ("http://example.org/plain", "https://127.0.0.1/plain"):
                async with session.get(url, proxy=proxy) as response:
                    assert await response.read() == b"hello"

    with wire_server(secure, proxy=True) as server:
        asyncio.run(run(server.url))
    assert_recorded_through_a_proxy(path)
