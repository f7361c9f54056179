"""What requests sends and receives is recorded byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from tests.compat.recorders import RecorderTests
from tests.support.wire import WHOLE, WireServer, blocks

requests: Any = pytest.importorskip("requests")

from seekwarc.compat.requests import RecordingAdapter  # noqa: E402


class Client:
    def __init__(self, session: Any) -> None:
        self.session = session
        self.head = session.head

    def get(self, url: str) -> bytes:
        response = self.session.get(url)
        response.raise_for_status()
        return response.content

    def post(self, url: str, pieces: list[bytes]) -> bytes:
        return self.session.post(url, data=iter(pieces)).content

    def begin(self, url: str) -> None:
        with self.session.get(url, stream=True) as response:
            next(response.iter_content(1000))

    def sizes(self, url: str) -> Iterator[int]:
        with self.session.get(url, stream=True) as response:
            yield from map(len, response.iter_content(1 << 20))


@contextmanager
def client_of(
    path: Path, *, trusted: str | None = None, proxy: str | None = None, **options: Any
) -> Iterator[Client]:
    with seekwarc.open(path, "w", **options) as out, requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, RecordingAdapter(out))
        # Certificates and proxies that the environment names come before these, otherwise.
        session.trust_env = False
        session.verify = trusted or True
        session.proxies = {"http": proxy, "https": proxy} if proxy is not None else {}
        yield Client(session)


class TestRequests(RecorderTests):
    # http.client takes 103 Early Hints for the response.
    names = tuple(name for name in WHOLE if name != "/hints")
    broken = requests.exceptions.ChunkedEncodingError
    client = staticmethod(client_of)

    def test_threads_may_share_an_adapter(self, server: WireServer, path: Path) -> None:
        with self.client(path) as client, ThreadPoolExecutor(8) as pool:
            list(pool.map(client.get, [server.url + "/gzip"] * 8))
        assert len(blocks(path, "response")) == len(blocks(path, "request")) == 8
