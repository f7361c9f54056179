"""What each recorder of an HTTP client must do; its own file of tests says how that client is used."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, Protocol

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

MAX_MEMORY = 20 << 20


class Client(Protocol):
    """A client of one library, which follows redirects."""

    def get(self, url: str) -> bytes:
        """Return the body of a response, without its content coding."""

    def head(self, url: str) -> object: ...

    def post(self, url: str, pieces: list[bytes]) -> bytes:
        """Send pieces of a body whose length is not stated."""

    def begin(self, url: str) -> None:
        """Read the first bytes of a body, and close the response."""

    def sizes(self, url: str) -> Iterator[int]:
        """Yield the sizes of the pieces of a body as it is read."""


class RecorderTests:
    """The tests; a subclass has a client."""

    names: ClassVar[tuple[str, ...]] = tuple(WHOLE)
    """Of what the server has: what the client can read."""
    broken: ClassVar[type[Exception]]
    """What it raises if a body breaks off."""
    client: ClassVar[Callable[..., AbstractContextManager[Client]]]
    """Called with the path of an archive; `trusted`, a certificate; `proxy`, a URL; options of the writer."""

    @pytest.fixture
    def server(self) -> Iterator[WireServer]:
        with wire_server() as server:
            yield server

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "a.warc.zst"

    def test_messages_are_recorded_as_they_passed(self, server: WireServer, path: Path) -> None:
        with self.client(path) as client:
            for name in self.names:
                client.get(server.url + name)
            client.head(server.url + "/head")
            assert client.post(server.url + "/plain", [b"some ", b"pieces"]) == b"hello"
            assert client.get(server.url + "/gzip").startswith(b"<p>compressed")
            assert client.get(server.url + "/moved") == b"hello"
        names = [*self.names, "/head", "/plain", "/gzip", "/moved", "/plain"]
        assert_recorded(path, server, names)
        assert server.connections == 2, "connections are kept, but for that which HTTP/1.0 closed"

    def test_a_payload_that_came_before_becomes_a_revisit(self, server: WireServer, path: Path) -> None:
        with self.client(path, dedup=seekwarc.Duplicates()) as client:
            for _ in range(2):
                client.get(server.url + "/chunks")
        with seekwarc.open(path) as archive:
            assert [it.type for it in archive] == ["response", "request", "revisit", "request"]

    def test_responses_that_break_off_are_kept_and_marked(self, server: WireServer, path: Path) -> None:
        with self.client(path) as client:
            for name in ("/short", "/short-chunk"):
                with pytest.raises(self.broken):
                    client.get(server.url + name)
            client.begin(server.url + "/big")
        reasons = [("short", "disconnect"), ("short-chunk", "disconnect"), ("big", "unspecified")]
        assert truncated(path) == reasons
        ends = [block for _, block in blocks(path, "response")]
        assert ends[0].endswith(b"only this")
        assert ends[1].endswith(b"20\r\nhalf")

    def test_a_large_body_is_streamed_in_bounded_memory(self, server: WireServer, path: Path) -> None:
        with self.client(path, threads=1) as client:
            client.get(server.url + "/plain")
            tracemalloc.start()
            sizes = client.sizes(server.url + "/big")
            size = next(sizes)
            # While it is read slowly, other requests are recorded.
            client.get(server.url + "/plain")
            size += sum(sizes)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert size == BIG_COUNT * len(BIG)
        assert peak < MAX_MEMORY
        with seekwarc.open(path) as archive:
            big = next(archive.records(uri="*/big", type="response"))
            assert big.payload.size == size
            assert big.payload.pread(5 * len(BIG) + 7, 100) == BIG[7:107]
            assert big.seek_table_status is not None

    @pytest.mark.needs("openssl")
    def test_https_is_recorded_as_it_was_before_encryption(self, path: Path) -> None:
        secure, trusted = certified(path.parent)
        with wire_server(secure) as server, self.client(path, trusted=trusted) as client:
            for name in ("/chunked", "/plain"):
                client.get(server.url + name)
        assert server.connections == 1
        assert_recorded(path, server, ["/chunked", "/plain"])

    @pytest.mark.needs("openssl")
    def test_the_address_of_a_proxy_is_not_that_of_the_server(self, path: Path) -> None:
        secure, trusted = certified(path.parent)
        with (
            wire_server(secure, proxy=True) as server,
            self.client(path, trusted=trusted, proxy=server.url) as client,
        ):
            for url in ("http://example.org/plain", "https://127.0.0.1/plain"):
                assert client.get(url) == b"hello"
        assert_recorded_through_a_proxy(path)
