"""What requests sends and receives is recorded byte for byte."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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

requests: Any = pytest.importorskip("requests")

from seekwarc.compat.requests import RecordingAdapter  # noqa: E402


@pytest.fixture
def server() -> Iterator[WireServer]:
    with wire_server() as server:
        yield server


# http.client takes 103 Early Hints for the response.
NAMES = [name for name in WHOLE if name != "/hints"]


def session_to(out: seekwarc.Writer) -> Any:
    session = requests.Session()
    session.mount("http://", RecordingAdapter(out))
    return session


def test_messages_are_recorded_as_they_passed(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out, session_to(out) as session:
        for name in NAMES:
            assert session.get(server.url + name).status_code in (200, 204)
        session.head(server.url + "/head")
        session.post(server.url + "/plain", data=iter([b"some ", b"pieces"]))
        assert session.get(server.url + "/gzip").text.startswith("<p>compressed")
        assert session.get(server.url + "/moved").text == "hello"
    assert_recorded(path, server, [*NAMES, "/head", "/plain", "/gzip", "/moved", "/plain"])
    assert server.connections == 2, "connections are kept, but for that which HTTP/1.0 closed"


def test_a_payload_that_came_before_becomes_a_revisit(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", dedup=seekwarc.Duplicates()) as out, session_to(out) as session:
        for _ in range(2):
            session.get(server.url + "/chunks")
    with seekwarc.open(path) as archive:
        assert [it.type for it in archive] == ["response", "request", "revisit", "request"]


def test_responses_that_break_off_are_kept_and_marked(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out, session_to(out) as session:
        for name in ("/short", "/short-chunk"):
            with pytest.raises(requests.exceptions.ChunkedEncodingError):
                session.get(server.url + name)
        with session.get(server.url + "/big", stream=True) as response:
            next(response.iter_content(1000))
    assert truncated(path) == [
        ("short", "disconnect"),
        ("short-chunk", "disconnect"),
        ("big", "unspecified"),
    ]
    assert blocks(path, "response")[0][1].endswith(b"only this")


def test_threads_may_share_an_adapter(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w") as out, session_to(out) as session:
        threads = [threading.Thread(target=session.get, args=(server.url + "/gzip",)) for _ in range(8)]
        for it in threads:
            it.start()
        for it in threads:
            it.join()
    assert len(blocks(path, "response")) == len(blocks(path, "request")) == 8


def test_a_large_body_is_streamed_in_bounded_memory(server: WireServer, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.open(path, "w", threads=1) as out, session_to(out) as session:
        session.get(server.url + "/plain")
        tracemalloc.start()
        with session.get(server.url + "/big", stream=True) as response:
            pieces = response.iter_content(1 << 20)
            size = len(next(pieces))
            session.get(server.url + "/plain")
            size += sum(map(len, pieces))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert size == BIG_COUNT * len(BIG)
    assert peak < 20 << 20
    with seekwarc.open(path) as archive:
        assert next(archive.records(uri="*/big", type="response")).payload.size == size


@pytest.mark.needs("openssl")
def test_https_is_recorded_as_it_was_before_encryption(tmp_path: Path) -> None:
    secure, trusted = certified(tmp_path)
    path = tmp_path / "a.warc.zst"
    with wire_server(secure) as server, seekwarc.open(path, "w") as out, requests.Session() as session:
        session.mount("https://", RecordingAdapter(out))
        for name in ("/chunked", "/plain"):
            session.get(server.url + name, verify=trusted)
    assert server.connections == 1
    assert_recorded(path, server, ["/chunked", "/plain"])


@pytest.mark.needs("openssl")
def test_the_address_of_a_proxy_is_not_that_of_the_server(tmp_path: Path) -> None:
    secure, trusted = certified(tmp_path)
    path = tmp_path / "a.warc.zst"
    with (
        wire_server(secure, proxy=True) as server,
        seekwarc.open(path, "w") as out,
        session_to(out) as session,
    ):
        session.mount("https://", RecordingAdapter(out))
        proxies = {"http": server.url, "https": server.url}
        for url in ("http://example.org/plain", "https://127.0.0.1/plain"):
            assert session.get(url, proxies=proxies, verify=trusted).text == "hello"
    assert_recorded_through_a_proxy(path)
