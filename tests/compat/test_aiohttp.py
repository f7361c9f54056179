"""What aiohttp sends and receives is recorded byte for byte."""

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

aiohttp = pytest.importorskip("aiohttp")

from seekwarc.compat.aiohttp import RecordingConnector  # noqa: E402


class Client:
    """A session, used from outside its loop."""

    def __init__(self, session: aiohttp.ClientSession, runner: asyncio.Runner, proxy: str | None) -> None:
        self.session, self.run, self.proxy = session, runner.run, proxy

    async def _request(self, method: str, url: str, **options: Any) -> bytes:
        async with self.session.request(method, url, proxy=self.proxy, **options) as response:
            response.raise_for_status()
            return await response.read()

    def get(self, url: str) -> bytes:
        return self.run(self._request("GET", url))

    def head(self, url: str) -> bytes:
        return self.run(self._request("HEAD", url))

    def post(self, url: str, pieces: list[bytes]) -> bytes:
        async def data() -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece

        return self.run(self._request("POST", url, data=data()))

    def begin(self, url: str) -> None:
        next(sizes := self.sizes(url))
        sizes.close()

    def sizes(self, url: str) -> Iterator[int]:
        async def begin() -> aiohttp.ClientResponse:
            return await self.session.get(url)

        response = self.run(begin())
        try:
            while piece := self.run(response.content.read(1 << 20)):
                yield len(piece)
        finally:
            response.close()


@contextmanager
def client_of(
    path: Path, *, trusted: str | None = None, proxy: str | None = None, **options: Any
) -> Iterator[Client]:
    with asyncio.Runner() as runner:

        async def session_to(out: seekwarc.AsyncWriter) -> aiohttp.ClientSession:
            context = ssl.create_default_context(cafile=trusted) if trusted is not None else True
            return aiohttp.ClientSession(connector=RecordingConnector(out, ssl=context))

        out = runner.run(seekwarc.AsyncWriter(path, **options).__aenter__())
        session = runner.run(session_to(out))
        try:
            yield Client(session, runner, proxy)
        finally:
            runner.run(session.close())
            runner.run(out.__aexit__(None, None, None))


async def get(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as response:
        return await response.read()


class TestAiohttp(RecorderTests):
    broken = aiohttp.ClientPayloadError
    client = staticmethod(client_of)

    def test_a_plain_writer_serves_many_requests_at_a_time(self, server: WireServer, path: Path) -> None:
        async def run(out: seekwarc.Writer) -> None:
            async with aiohttp.ClientSession(connector=RecordingConnector(out)) as session:
                await asyncio.gather(*(get(session, server.url + "/gzip") for _ in range(10)))

        with seekwarc.open(path, "w") as out:
            asyncio.run(run(out))
        assert len(blocks(path, "response")) == len(blocks(path, "request")) == 10

    def test_closing_the_session_raises_what_went_wrong_in_writing(
        self, server: WireServer, path: Path
    ) -> None:
        async def run(out: seekwarc.Writer) -> None:
            async with aiohttp.ClientSession(connector=RecordingConnector(out)) as session:
                await get(session, server.url + "/plain")
                out.close()
                await get(session, server.url + "/plain")

        out = seekwarc.open(path, "w")
        with pytest.raises((seekwarc.SeekWarcError, ValueError), match="closed"):
            asyncio.run(run(out))
