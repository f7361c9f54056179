"""What httpx sends and receives is recorded byte for byte."""

from __future__ import annotations

import asyncio
import ssl
import tracemalloc
from collections.abc import Iterator
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

httpx = pytest.importorskip("httpx")

from seekwarc.compat.httpx import AsyncRecordingTransport, RecordingTransport  # noqa: E402


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as server:
        yield server


def test_messages_are_recorded_as_they_passed(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out, httpx.Client(transport=RecordingTransport(out)) as client:
        for name in WHOLE:
            assert client.get(server.url + name).status_code in (200, 204)
        client.head(server.url + "/head")
        client.post(server.url + "/plain", content=iter([b"some ", b"pieces"]))
        assert client.get(server.url + "/gzip").text.startswith("<p>compressed")
    assert_recorded(path, server, [*WHOLE, "/head", "/plain", "/gzip"])
    assert server.connections == 2, "connections are kept, but for that which HTTP/1.0 closed"


def test_messages_are_recorded_as_they_passed_async(server: WireServer, tmp_path: Path) -> None:
    async def run(path: Path) -> None:
        async with (
            seekwarc.AsyncWriter(path) as out,
            httpx.AsyncClient(transport=AsyncRecordingTransport(out), follow_redirects=True) as client,
        ):
            for name in (*WHOLE, "/moved"):
                assert (await client.get(server.url + name)).status_code in (200, 204)
            await client.post(server.url + "/plain", content=b"a body")

    asyncio.run(run(tmp_path / "a.warc.zst"))
    assert_recorded(tmp_path / "a.warc.zst", server, [*WHOLE, "/moved", "/plain", "/plain"])


def test_a_writer_serves_the_asynchronous_client_too(server: WireServer, tmp_path: Path) -> None:
    async def run(out: seekwarc.Writer) -> None:
        async with httpx.AsyncClient(transport=AsyncRecordingTransport(out)) as client:
            await asyncio.gather(*(client.get(server.url + "/chunked") for _ in range(10)))

    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        asyncio.run(run(out))
    assert len(blocks(tmp_path / "a.warc.zst", "response")) == 10


def test_redirects_are_responses_of_their_own(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    transport = RecordingTransport
    with (
        seekwarc.open(path, "w") as out,
        httpx.Client(transport=transport(out), follow_redirects=True) as client,
    ):
        assert client.get(server.url + "/moved").text == "hello"
    assert_recorded(path, server, ["/moved", "/plain"])


def test_a_payload_that_came_before_becomes_a_revisit(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with (
        seekwarc.open(path, "w", dedup=seekwarc.Duplicates()) as out,
        httpx.Client(transport=RecordingTransport(out)) as client,
    ):
        for _ in range(2):
            client.get(server.url + "/chunks")
    with seekwarc.open(path) as archive:
        assert [it.type for it in archive] == ["response", "request", "revisit", "request"]


def test_responses_that_break_off_are_kept_and_marked(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out, httpx.Client(transport=RecordingTransport(out)) as client:
        for name in ("/short", "/short-chunk"):
            with pytest.raises(httpx.RemoteProtocolError):
                client.get(server.url + name)
        with client.stream("GET", server.url + "/big") as response:
            next(response.iter_raw())
    assert truncated(path) == [
        ("short", "disconnect"),
        ("short-chunk", "disconnect"),
        ("big", "unspecified"),
    ]
    assert blocks(path, "response")[0][1].endswith(b"only this")
    assert blocks(path, "response")[1][1].endswith(b"20\r\nhalf")


def test_a_response_that_breaks_off_is_kept_async(server: WireServer, tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            seekwarc.AsyncWriter(tmp_path / "a.warc.zst") as out,
            httpx.AsyncClient(transport=AsyncRecordingTransport(out)) as client,
        ):
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(server.url + "/short")
            await client.get(server.url + "/plain")

    asyncio.run(run())
    assert truncated(tmp_path / "a.warc.zst") == [("short", "disconnect"), ("plain", None)]


def test_a_large_body_is_streamed_in_bounded_memory(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with (
        seekwarc.open(path, "w", threads=1) as out,
        httpx.Client(transport=RecordingTransport(out), timeout=60) as client,
    ):
        client.get(server.url + "/plain")
        tracemalloc.start()
        with client.stream("GET", server.url + "/big") as response:
            # While it is read slowly, other requests are recorded.
            pieces = response.iter_raw(1 << 20)
            size = len(next(pieces))
            client.get(server.url + "/plain")
            size += sum(map(len, pieces))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert size == BIG_COUNT * len(BIG)
    assert peak < 20 << 20
    with seekwarc.open(path) as archive:
        big = next(archive.records(uri="*/big", type="response"))
        assert big.payload.size == size
        assert big.payload.pread(5 * len(BIG) + 7, 100) == BIG[7:107]
        assert big.seek_table_status is not None


@pytest.mark.needs("openssl")
def test_https_is_recorded_as_it_was_before_encryption(tmp_path: Path) -> None:
    secure, trusted = certified(tmp_path)
    path, context = tmp_path / "a.warc.zst", ssl.create_default_context(cafile=trusted)

    async def fetch_async(out: seekwarc.Writer, url: str) -> None:
        transport = AsyncRecordingTransport(out, verify=context)
        async with httpx.AsyncClient(transport=transport) as client:
            await client.get(url + "/plain")

    with wire_server(secure) as server, seekwarc.open(path, "w") as out:
        with httpx.Client(transport=RecordingTransport(out, verify=context)) as client:
            client.get(server.url + "/chunked")
        asyncio.run(fetch_async(out, server.url))
    assert_recorded(path, server, ["/chunked", "/plain"])


@pytest.mark.needs("openssl")
def test_the_address_of_a_proxy_is_not_that_of_the_server(tmp_path: Path) -> None:
    secure, trusted = certified(tmp_path)
    path, context = tmp_path / "a.warc.zst", ssl.create_default_context(cafile=trusted)
    with wire_server(secure, proxy=True) as server, seekwarc.open(path, "w") as out:
        transport = RecordingTransport(out, verify=context, proxy=httpx.Proxy(server.url))
        with httpx.Client(transport=transport) as client:
            for url in ("http://example.org/plain", "https://127.0.0.1/plain"):
                assert client.get(url).text == "hello"
    assert_recorded_through_a_proxy(path)
