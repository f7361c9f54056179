"""What httpx sends and receives is recorded byte for byte, by its clients of both kinds."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from tests.compat.recorders import RecorderTests
from tests.support.wire import WireServer, blocks

httpx = pytest.importorskip("httpx")

from seekwarc.compat.httpx import AsyncRecordingTransport, RecordingTransport  # noqa: E402


def options_of(trusted: str | None, proxy: str | None) -> dict[str, Any]:
    """Return the options of a transport."""
    options: dict[str, Any] = {"proxy": httpx.Proxy(proxy)} if proxy is not None else {}
    return options | ({"verify": ssl.create_default_context(cafile=trusted)} if trusted is not None else {})


class Client:
    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.head = client.head

    def get(self, url: str) -> bytes:
        return self.client.get(url).raise_for_status().content

    def post(self, url: str, pieces: list[bytes]) -> bytes:
        return self.client.post(url, content=iter(pieces)).content

    def begin(self, url: str) -> None:
        with self.client.stream("GET", url) as response:
            next(response.iter_raw())

    def sizes(self, url: str) -> Iterator[int]:
        with self.client.stream("GET", url) as response:
            yield from map(len, response.iter_raw(1 << 20))


@contextmanager
def client_of(
    path: Path, *, trusted: str | None = None, proxy: str | None = None, **options: Any
) -> Iterator[Client]:
    with seekwarc.open(path, "w", **options) as out:
        transport = RecordingTransport(out, **options_of(trusted, proxy))
        with httpx.Client(transport=transport, follow_redirects=True, timeout=60) as client:
            yield Client(client)


class TestHttpx(RecorderTests):
    broken = httpx.RemoteProtocolError
    client = staticmethod(client_of)


class AsyncClient:
    """An asynchronous client, used from outside its loop."""

    def __init__(self, client: httpx.AsyncClient, runner: asyncio.Runner) -> None:
        self.client, self.run = client, runner.run

    async def _request(self, method: str, url: str, **options: Any) -> bytes:
        return (await self.client.request(method, url, **options)).raise_for_status().content

    def get(self, url: str) -> bytes:
        return self.run(self._request("GET", url))

    def head(self, url: str) -> bytes:
        return self.run(self._request("HEAD", url))

    def post(self, url: str, pieces: list[bytes]) -> bytes:
        async def content() -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece

        return self.run(self._request("POST", url, content=content()))

    def begin(self, url: str) -> None:
        next(sizes := self.sizes(url))
        sizes.close()

    def sizes(self, url: str) -> Iterator[int]:
        stream = self.client.stream("GET", url)
        response = self.run(stream.__aenter__())
        pieces = response.aiter_raw(1 << 20)
        try:
            while piece := self.run(anext(pieces, b"")):
                yield len(piece)
        finally:
            self.run(stream.__aexit__(None, None, None))


@contextmanager
def async_client_of(
    path: Path, *, trusted: str | None = None, proxy: str | None = None, **options: Any
) -> Iterator[AsyncClient]:
    with asyncio.Runner() as runner:
        out = runner.run(seekwarc.AsyncWriter(path, **options).__aenter__())
        transport = AsyncRecordingTransport(out, **options_of(trusted, proxy))
        client = httpx.AsyncClient(transport=transport, follow_redirects=True, timeout=60)
        try:
            yield AsyncClient(client, runner)
        finally:
            runner.run(client.aclose())
            runner.run(out.__aexit__(None, None, None))


class TestHttpxAsync(RecorderTests):
    broken = httpx.RemoteProtocolError
    client = staticmethod(async_client_of)

    def test_a_writer_serves_many_requests_at_a_time(self, server: WireServer, path: Path) -> None:
        async def run(out: seekwarc.Writer) -> None:
            async with httpx.AsyncClient(transport=AsyncRecordingTransport(out)) as client:
                await asyncio.gather(*(client.get(server.url + "/chunked") for _ in range(10)))

        with seekwarc.open(path, "w") as out:
            asyncio.run(run(out))
        assert len(blocks(path, "response")) == 10
