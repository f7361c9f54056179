"""HTTP heads as crawlers store them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.http import MAX_HTTP_HEAD_SIZE, is_http_block, parse_http_head

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\n"


@given(st.binary(max_size=200))
def test_the_payload_starts_behind_the_head(payload: bytes) -> None:
    head = parse_http_head(HEAD + payload)
    assert head is not None
    assert head.raw == HEAD
    assert head.size == len(HEAD)


def test_a_response() -> None:
    head = parse_http_head(memoryview(HEAD))
    assert head is not None
    assert head.status == 200
    assert head.start_line == "HTTP/1.1 200 OK"
    assert head.headers == (("Content-Type", "text/html"), ("Set-Cookie", "a"), ("set-cookie", "b"))
    assert head.get("content-TYPE") == "text/html"
    assert head.get("set-cookie") == "a"
    assert head.get("ETag") is None
    assert head.get("ETag", "none") == "none"
    assert not head.chunked


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"HTTP/1.0 404 Not Found", 404),
        (b"HTTP/1.1 204", 204),
        (b"HTTP/1.1 204 ", 204),
        (b"HTTP/2 200", 200),
        (b"HTTP/1.1\t301\tMoved", 301),
        (b"HTTP/1.1  999 No reason \xff", 999),
    ],
)
def test_status_lines(line: bytes, status: int) -> None:
    head = parse_http_head(line + b"\r\nA: b\r\n\r\nbody")
    assert head is not None
    assert head.status == status
    assert head.start_line == line.decode("latin-1")


@pytest.mark.parametrize("line", [b"GET / HTTP/1.1", b"POST http://example.org/a?b HTTP/1.0", b"GET /"])
def test_requests_have_no_status(line: bytes) -> None:
    head = parse_http_head(line + b"\r\nHost: example.org\r\n\r\nbody")
    assert head is not None
    assert head.status is None
    assert head.get("host") == "example.org"


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_line_breaks_of_either_kind(newline: bytes) -> None:
    raw = HEAD.replace(b"\r\n", newline)
    head = parse_http_head(raw + b"\r\nbody")
    assert head is not None
    assert head.raw == raw
    assert head.start_line == "HTTP/1.1 200 OK"
    assert head.get("Content-Type") == "text/html"


def test_a_head_without_fields() -> None:
    head = parse_http_head(b"HTTP/1.1 200 OK\r\n\r\nbody")
    assert head is not None
    assert head.size == 19
    assert head.headers == ()


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"<html>\n\n</html>",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"\x16\x03\x01\n\n",
        b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_blocks_without_a_head(block: bytes) -> None:
    assert parse_http_head(block) is None


def test_the_search_for_the_end_of_a_head_is_given_up() -> None:
    line = b"HTTP/1.1 200 OK\r\nX: "
    fits = line + b"y" * (MAX_HTTP_HEAD_SIZE - len(line) - 4) + b"\r\n\r\n"
    head = parse_http_head(fits + b"body")
    assert head is not None
    assert head.size == MAX_HTTP_HEAD_SIZE
    assert parse_http_head(line + b"y" * (MAX_HTTP_HEAD_SIZE - len(line) - 3) + b"\r\n\r\n") is None


@pytest.mark.parametrize(
    ("fields", "chunked"),
    [
        (b"Transfer-Encoding: chunked", True),
        (b"transfer-encoding: gzip, Chunked ", True),
        (b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked", True),
        (b"Transfer-Encoding: identity", False),
        (b"X-Transfer-Encoding: chunked", False),
    ],
)
def test_chunked(fields: bytes, chunked: bool) -> None:
    head = parse_http_head(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n\r\n")
    assert head is not None
    assert head.chunked is chunked


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/http;msgtype=response", True),
        ("application/http; msgtype=request", True),
        ("Application/HTTP", True),
        (" message/http ", True),
        ("application/httpx", False),
        ("text/html", False),
        ("", False),
        (None, False),
    ],
)
def test_blocks_that_are_http_say_so(content_type: str | None, expected: bool) -> None:
    assert is_http_block(content_type) is expected
