"""Responses given as body, status and header fields; blocks of every kind; references between records."""

from __future__ import annotations

import http.client
import io
import threading
from pathlib import Path
from typing import Any

import httpx
import multidict
import pytest
import requests
import starlette.datastructures
import urllib3
import yarl

import seekwarc

URI = "http://example.org/"
HTML = {"Content-Type": "text/html"}


def written(path: Path, *args: Any, **options: Any) -> Any:
    with seekwarc.open(path, "w", frame_size=65536) as out:
        out.write_response(*args, **options)
    with seekwarc.open(path) as archive:
        record = next(iter(archive))
        assert all(check.verdict.is_good for check in record.check_digests())
        return record.block.read(), record.payload.read()


@pytest.mark.parametrize(
    "body", [b"<p>", bytearray(b"<p>"), io.BytesIO(b"<p>"), [b"<", b"p>"], iter([b"<p>"])]
)
def test_a_response_is_made_of_a_body_and_a_status(body: Any, tmp_path: Path) -> None:
    block, payload = written(tmp_path / "a.warc.zst", URI, body, status=200, http_headers=HTML)
    assert payload == b"<p>"
    assert block.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
    assert (b"Content-Length: 3\r\n" in block) == isinstance(body, bytes | bytearray)


def test_length_is_that_of_the_body(tmp_path: Path) -> None:
    body = io.BytesIO(b"x" * 200_000)
    block, payload = written(tmp_path / "a.warc.zst", URI, body, status=404, length=100_000)
    assert block.startswith(b"HTTP/1.1 404 Not Found\r\nContent-Length: 100000\r\n\r\n")
    assert payload == b"x" * 100_000


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"status": 200, "headers": HTML}, TypeError, "Content-Type belongs in http_headers"),
        ({"status": 200, "http_headers": {"Age": 1}}, TypeError, "http_headers must hold names and values"),
        ({"status": 200, "http_headers": "Age: 1"}, TypeError, "http_headers must be a mapping, or pairs"),
        ({"headers": {"X-Number": 1}}, TypeError, "headers must hold names and values that are str"),
        ({"http_headers": HTML}, TypeError, "need status"),
        ({"status": "200"}, TypeError, "status must be an int, not str"),
        ({"status": 20}, ValueError, "not within 100 to 999"),
        ({"status": 200, "http_headers": {"a b": "c"}}, ValueError, "is not a valid name of an HTTP field"),
        ({"status": 200, "http_headers": {"a": "b\r\nSet-Cookie: c"}}, ValueError, "control character"),
        ({"status": 200, "reason": "OK\r\n"}, ValueError, "control character"),
    ],
)
def test_an_invalid_message_is_refused(options: Any, error: Any, message: str, tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        with pytest.raises(error, match=message):
            out.write_response(URI, b"x", **options)
        out.write_response(URI, b"x", status=200, headers={"WARC-X": "1"})


@pytest.mark.parametrize("status", [None, 200])
def test_headers_are_fields_of_the_record_with_and_without_status(status: int | None, tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        made = out.write_response(
            URI, b"HTTP/1.1 200 OK\r\n\r\n", status=status, headers={"X-Crawl-Job": "7"}
        )
    assert made.header["X-Crawl-Job"] == "7"


RAW = [(b"Set-Cookie", b"a=1"), (b"set-cookie", b"b=\xff"), (b"X-Name", b"J\xc3\xb6rg")]
LINES = b"Set-Cookie: a=1\r\nset-cookie: b=\xff\r\nX-Name: J\xc3\xb6rg\r\n"


def their_headers() -> dict[str, Any]:
    decoded = [(name.decode(), value.decode("utf-8", "surrogateescape")) for name, value in RAW]
    return {
        "pairs of bytes": RAW,
        "a tuple of them, as aiohttp has it": tuple(RAW),
        "http.client": http.client.parse_headers(io.BytesIO(LINES + b"\r\n")),
        "httpx": httpx.Headers(RAW),
        "starlette": starlette.datastructures.Headers(raw=RAW),
        "multidict": multidict.CIMultiDict(decoded),
        "urllib3": urllib3.HTTPHeaderDict(decoded),
    }


@pytest.mark.parametrize("library", their_headers())
def test_header_objects_are_taken_as_they_are(library: str, tmp_path: Path) -> None:
    headers = their_headers()[library]
    block, _ = written(tmp_path / "a.warc.zst", URI, b"x", status=200, http_headers=headers)
    got = block.removeprefix(b"HTTP/1.1 200 OK\r\n").removesuffix(b"Content-Length: 1\r\n\r\nx")
    assert sorted(got.lower().splitlines()) == sorted(LINES.lower().splitlines())
    if library not in ("starlette", "urllib3"):
        assert got == LINES


def test_headers_of_requests_are_taken_too(tmp_path: Path) -> None:
    headers = requests.structures.CaseInsensitiveDict({"Content-Type": "text/html", "Age": "1"})
    block, _ = written(tmp_path / "a.warc.zst", URI, b"x", status=200, http_headers=headers)
    assert b"\r\nContent-Type: text/html\r\nAge: 1\r\n" in block


@pytest.mark.parametrize("kind", [httpx.URL, yarl.URL, str])
def test_a_url_object_is_a_uri(kind: Any) -> None:
    with seekwarc.Writer(io.BytesIO()) as out:
        url = kind("https://example.org/a?b=1")
        for made in (
            out.write_response(url, b"x", status=200),
            out.write_request(url, b"GET / HTTP/1.1\r\n\r\n"),
            out.write_resource(url, b"x", "text/plain"),
            out.write_metadata({"via": "x"}, target_uri=url),
            out.write("resource", target_uri=url),
        ):
            assert made.target_uri == "https://example.org/a?b=1"


class Endless:
    def __init__(self) -> None:
        self.read_so_far = 0

    def read(self, size: int) -> Any:
        self.read_so_far += 1
        assert self.read_so_far < 3
        return "text"


@pytest.mark.parametrize(
    "make", ["text", lambda: io.StringIO("text"), lambda: iter(["text"]), Endless, lambda: 5]
)
def test_a_block_of_a_wrong_type_is_refused_at_once(make: Any, tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        for options in ({}, {"status": 200}):
            block = make() if callable(make) else make
            with pytest.raises(
                TypeError, match="block must be bytes, a binary file or an iterable of bytes, not"
            ):
                out.write_response(URI, block, **options)
        out.write_response(URI, b"good", status=200)
    with seekwarc.open(tmp_path / "a.warc.zst") as archive:
        assert [record.payload.read() for record in archive] == [b"good"]


def test_written_records_can_be_referred_to(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        response = out.write_response(URI, b"x", status=200)
        request = out.write_request(URI, b"GET / HTTP/1.1\r\n\r\n", concurrent_to=response)
        both = out.write_metadata({"a": "1"}, concurrent_to=[response, request.id], refers_to=response)
        with pytest.raises(TypeError, match="concurrent_to must be what write_"):
            out.write_request(URI, b"", concurrent_to=[5])  # type: ignore[list-item]
    assert request.concurrent_to == (response.id,)
    assert both.concurrent_to == (response.id, request.id)
    assert both.refers_to_id == response.id
    assert repr(response) == f"<Written response in {tmp_path / 'a.warc.zst'} (at 0): {URI}>"
    length: int = len(response.id + response.type + response.target_uri)
    assert length > 40


def test_threads_share_a_writer(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for turn in range(40):
            block: Any = bytes([number]) * (100 if turn % 8 else 100_000)
            out.write_resource(
                f"urn:x:{number}:{turn}", io.BytesIO(block) if turn % 3 else block, "text/plain"
            )

    with seekwarc.open(tmp_path / "a.warc.zst", "w", frame_size=65536, max_file_size=1 << 20) as out:
        threads = [threading.Thread(target=write, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = {}
    for path in tmp_path.iterdir():
        with seekwarc.open(path) as archive:
            found.update({r.target_uri: r.block.read() for r in archive if r.type == "resource"})
    assert len(found) == 200
    for uri, block in found.items():
        number, turn = map(int, uri.split(":")[2:])
        assert block == bytes([number]) * (100 if turn % 8 else 100_000)


def test_a_block_that_writes_records_is_refused(tmp_path: Path) -> None:
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:

        def block() -> Any:
            out.write_resource("urn:x:2", b"inner", "text/plain")
            yield b"never"

        with pytest.raises(seekwarc.SeekWarcError, match="must not write records"):
            out.write_resource("urn:x:1", block(), "text/plain")
        out.write_resource("urn:x:3", b"good", "text/plain")
