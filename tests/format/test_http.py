"""HTTP heads as crawlers store them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seekwarc.format.http import MAX_HTTP_HEAD_SIZE, HttpHead, is_http_block, parse_http_head
from tests.support.work import watchdog

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\n"


def head_of(block: bytes, *, whole: bool = False) -> HttpHead:
    head = parse_http_head(block, whole=whole)
    assert head is not None
    assert block[head.start : head.size] == head.raw
    return head


def with_fields(*lines: bytes) -> HttpHead:
    return head_of(b"\r\n".join([b"HTTP/1.1 200 OK", *lines, b"", b""]))


@given(st.binary(max_size=200))
def test_the_body_starts_after_the_head(body: bytes) -> None:
    for block in (HEAD + body, memoryview(HEAD + body), bytearray(HEAD + body)):
        head = parse_http_head(block)
        assert head is not None
        assert head.raw == HEAD
        assert head.start == 0
        assert head.size == len(HEAD)


def test_a_response() -> None:
    head = head_of(HEAD)
    assert head.status == 200
    assert head.reason == "OK"
    assert head.method is None
    assert head.target is None
    assert head.start_line == "HTTP/1.1 200 OK"
    assert head.headers == (("Content-Type", "text/html"), ("Set-Cookie", "a"), ("set-cookie", "b"))
    assert list(head.items()) == list(head.headers)
    assert head.get("content-TYPE") == "text/html"
    assert head.get("set-cookie") == "a"
    assert head.get_all("SET-COOKIE") == ("a", "b")
    assert head.get("ETag") is None
    assert head.get("ETag", "none") == "none"
    assert head.get_all("ETag") == ()
    assert not head.chunked
    assert head.codings == ()
    assert head.content_length is None


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        (b"HTTP/1.0 404 Not Found", 404, "Not Found"),
        (b"HTTP/1.1 204", 204, ""),
        (b"HTTP/1.1 204 ", 204, ""),
        (b"HTTP/1.1 204  \t", 204, ""),
        (b"HTTP/1.1\t301\tMoved", 301, "Moved"),
        (b"HTTP/1.1  999 No reason \xff", 999, "No reason \xff"),
        (b"HTTP/1.1 200OK", 200, "OK"),
        # Browsers write these of HTTP/2 and HTTP/3.
        (b"HTTP/2 200", 200, ""),
        (b"HTTP/2.0 200 OK", 200, "OK"),
        (b"HTTP/3 304 ", 304, ""),
        # Shoutcast, servers that leave the version out, and example B.6 of WARC 1.1.
        (b"ICY 200 OK", 200, "OK"),
        (b"HTTP 200 OK", 200, "OK"),
        (b"HTTP/1.x 304 Not Modified", 304, "Not Modified"),
    ],
)
def test_status_lines(line: bytes, status: int, reason: str) -> None:
    head = head_of(line + b"\r\nA: b\r\n\r\nbody")
    assert head.status == status
    assert head.reason == reason
    assert head.start_line == line.decode("latin-1")
    assert (head.method, head.target) == (None, None)
    assert head.headers == (("A", "b"),)


@pytest.mark.parametrize(
    ("line", "method", "target"),
    [
        (b"GET / HTTP/1.1", "GET", "/"),
        (b"POST http://example.org/a?b HTTP/1.0", "POST", "http://example.org/a?b"),
        (b"GET /", "GET", "/"),
        (b"OPTIONS * HTTP/1.1", "OPTIONS", "*"),
        (b"CONNECT example.org:443 HTTP/1.1", "CONNECT", "example.org:443"),
        (b"GET /a b HTTP/1.1", "GET", "/a b"),
        (b"GET\t/\tHTTP/1.1 ", "GET", "/"),
        (b"GET / HTTP/2", "GET", "/"),
        (b"GET /HTTP/1.1 HTTP/1.1", "GET", "/HTTP/1.1"),
        (b"M-SEARCH /\xe9 HTTP/1.1", "M-SEARCH", "/\xe9"),
    ],
)
def test_request_lines(line: bytes, method: str, target: str) -> None:
    head = head_of(line + b"\r\nHost: example.org\r\n\r\nbody")
    assert head.status is None
    assert head.reason is None
    assert (head.method, head.target) == (method, target)
    assert head.get("host") == "example.org"


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_line_breaks_of_either_kind(newline: bytes) -> None:
    raw = HEAD.replace(b"\r\n", newline)
    head = head_of(raw + b"\r\nbody")
    assert head.raw == raw
    assert head.start_line == "HTTP/1.1 200 OK"
    assert head.get("Content-Type") == "text/html"


def test_line_breaks_of_both_kinds() -> None:
    head = head_of(b"HTTP/1.1 200 OK\nA: b\r\nC: d\n\r\nbody")
    assert head.headers == (("A", "b"), ("C", "d"))
    assert head.size == 29


@pytest.mark.parametrize("line", [b"HTTP/1.1 0 No Content", b"HTTP/1.1 0", b"HTTP/1.0 \t0 "])
def test_a_status_of_0_is_that_of_a_crawler_that_got_none(line: bytes) -> None:
    head = head_of(line + b"\r\nA: b\r\n\r\nbody")
    assert (head.status, head.get("A"), head.method) == (0, "b", None)
    assert head.reason in {"No Content", ""}
    assert head.size == len(line) + 10


def test_lines_of_a_head_may_end_with_two_returns() -> None:
    head = head_of(b"HTTP/1.0 302 \r\r\nLocation: a\r\r\nServer: b\r\r\n\r\r\nbody\r\n\r\n")
    assert head.headers == (("Location", "a"), ("Server", "b"))
    assert (head.status, head.reason, head.raw[-7:]) == (302, "", b"b\r\r\n\r\r\n")


def test_a_head_without_fields() -> None:
    head = head_of(b"HTTP/1.1 200 OK\r\n\r\nbody")
    assert head.size == 19
    assert head.headers == ()


def test_fields_that_break_the_rules() -> None:
    head = with_fields(
        b"no colon",
        b"folded\r\n : name",
        b": no name",
        b"A:",
        b"B : c",
        b"C: d\r\n folded",
        b"D: \xe9\xff",
        b"E: \0",
    )
    assert head.headers == (
        ("", "no name"),
        ("A", ""),
        ("B", "c"),
        ("C", "d folded"),
        ("D", "\udce9\udcff"),
        ("E", "\0"),
    )


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"<html>\n\n</html>",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 20\r\n\r\n",
        b"HTTP/1.1 00\r\n\r\n",
        b"HTTP/1.1 0x\r\n\r\n",
        b"http/1.1 200 OK\r\n\r\n",
        b"\x16\x03\x01\n\n",
        b"\n" * 100 + b"HTTP/1.1 200 OK\r\n\r\n",
        b" HTTP/1.1 200 OK\r\n\r\n",
        b"GET\r\n\r\n",
    ],
)
def test_blocks_without_a_head(block: bytes) -> None:
    assert parse_http_head(block) is None


@pytest.mark.parametrize("block", [b"", b"\r\n", b"<html>", b"\x00\x01", b"HTTP/1.1 abc"])
def test_whole_blocks_without_a_head(block: bytes) -> None:
    assert parse_http_head(block, whole=True) is None


@pytest.mark.parametrize("blank", [b"\r\n", b"\n", b"\r\n\r\n", b"\n\r\n\n"])
def test_leading_blank_lines_are_skipped(blank: bytes) -> None:
    head = head_of(blank + HEAD + b"body")
    assert head.start == len(blank)
    assert head.raw == HEAD
    assert head.size == len(blank) + len(HEAD)
    assert head.start_line == "HTTP/1.1 200 OK"


def test_a_head_that_ends_with_the_block() -> None:
    block = b"HTTP/1.1 304 Not Modified\r\nETag: a\r\nX: y"
    for cut in (block, block + b"\r\n"):
        assert parse_http_head(cut) is None
        head = head_of(cut, whole=True)
        assert head.status == 304
        assert head.headers == (("ETag", "a"), ("X", "y"))
        assert head.size == len(cut)
    head = head_of(b"HTTP/1.1 204 No Content", whole=True)
    assert (head.status, head.reason, head.headers) == (204, "No Content", ())
    head = head_of(b"GET /path", whole=True)
    assert (head.method, head.target, head.headers) == ("GET", "/path", ())


# Interim responses.

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"


@pytest.mark.parametrize("interim", [CONTINUE, HINTS, CONTINUE + HINTS, CONTINUE * 5, b"\r\n" + CONTINUE])
def test_interim_responses_are_skipped(interim: bytes) -> None:
    head = head_of(interim + HEAD + b"body")
    assert head.status == 200
    assert head.start == len(interim)
    assert head.raw == HEAD
    assert head.size == len(interim) + len(HEAD)
    assert head.get("Link") is None


def test_an_interim_response_with_nothing_after_it() -> None:
    for rest in (b"", b"body", b"GET / HTTP/1.1\r\n\r\n"):
        head = head_of(CONTINUE + rest, whole=True)
        assert head.status == 100
        assert head.size == len(CONTINUE)


def test_the_final_response_may_end_with_the_block() -> None:
    head = head_of(CONTINUE + b"HTTP/1.1 200 OK\r\nA: b", whole=True)
    assert (head.status, head.headers) == (200, (("A", "b"),))


def test_what_follows_a_switch_of_protocols_is_no_http() -> None:
    block = b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + HEAD
    assert head_of(block).status == 101
    assert head_of(block).size == len(block) - len(HEAD)


def test_a_final_response_is_followed_by_its_body() -> None:
    assert head_of(HEAD + CONTINUE).raw == HEAD


heads = st.lists(
    st.sampled_from(
        [
            HEAD,
            CONTINUE,
            HINTS,
            b"\r\n",
            b"\n\n",
            b"HTTP/1.1 204\r\n",
            b"HTTP/1.1",
            b" 200",
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"body",
            b"\0",
        ]
    ),
    max_size=5,
).map(b"".join)


@given(heads)
@example(CONTINUE + HEAD)
@example(CONTINUE + b"body")
def test_a_beginning_gives_the_same_head_or_none(block: bytes) -> None:
    # A reader looks at a few bytes first: what it finds in them must not depend on where they end.
    expected = parse_http_head(block, whole=True)
    for stop in range(len(block)):
        assert parse_http_head(block[:stop]) in (None, expected), stop


@given(
    st.one_of(heads, st.binary(max_size=100), st.binary(max_size=80).map(b"HTTP/1.1 200 OK\r\n".__add__)),
    st.booleans(),
)
def test_any_block_has_a_head_or_none(block: bytes, whole: bool) -> None:
    head = parse_http_head(block, whole=whole)
    if head is None:
        return
    assert block[head.start : head.size] == head.raw
    assert (head.status is None) == (head.reason is None)
    assert (head.status is None) == (head.method is not None) == (head.target is not None)
    assert head.start_line in block.decode("latin-1")
    assert all(isinstance(name, str) and isinstance(value, str) for name, value in head.headers)
    assert head.content_length is None or head.content_length >= 0
    assert isinstance(head.chunked, bool)
    assert "chunked" not in head.codings


# Limits.


def test_the_search_for_the_end_of_a_head_has_a_limit() -> None:
    line = b"HTTP/1.1 200 OK\r\nX: "
    fits = line + b"y" * (MAX_HTTP_HEAD_SIZE - len(line) - 4) + b"\r\n\r\n"
    assert head_of(fits + b"body").size == MAX_HTTP_HEAD_SIZE
    too_long = line + b"y" * (MAX_HTTP_HEAD_SIZE - len(line) - 3) + b"\r\n\r\n"
    assert parse_http_head(too_long) is None
    assert parse_http_head(too_long, whole=True) is None


def test_a_head_must_end_within_a_partial_block() -> None:
    block = b"HTTP/1.1 200 OK\r\nX: " + b"y" * MAX_HTTP_HEAD_SIZE
    assert parse_http_head(block, whole=True) is None
    fits = block[:MAX_HTTP_HEAD_SIZE]
    assert head_of(fits, whole=True).size == MAX_HTTP_HEAD_SIZE


@pytest.mark.parametrize(
    "block",
    [
        b"HTTP/1.1 200 OK\r\nX: a" + b" " * 65_000 + b"b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a" + b"\r\n \t" * 16_000 + b"b\r\n\r\n",
        b"HTTP/1.1 200" + b" " * 65_000 + b"OK\r\n\r\n",
        b"GET /" + b" " * 65_000 + b"b\r\n\r\n",
        b"GET" + b" " * 65_000 + b"/\r\n\r\n",
        b"\r\n" * 32_000,
        CONTINUE * 2_400,
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 10_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"Transfer-Encoding: ,,,,\r\n" * 2_500 + b"\r\n",
    ],
    ids=["blanks", "folds", "reason", "target", "method", "lines", "interim", "fields", "codings"],
)
def test_the_largest_head_is_parsed_fast(block: bytes) -> None:
    # So often that quadratic time would be minutes.
    with watchdog():
        for _ in range(30):
            head = parse_http_head(block, whole=True)
            if head is not None:
                _ = (head.headers, head.reason, head.method, head.target, head.chunked, head.codings)


# What heads say of the body.


@pytest.mark.parametrize(
    ("lines", "chunked", "codings"),
    [
        ([b"Transfer-Encoding: chunked"], True, ()),
        ([b"transfer-encoding: gzip, Chunked "], True, ("gzip",)),
        ([b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked"], True, ("gzip",)),
        ([b"Transfer-Encoding: chunked, identity"], True, ()),
        ([b"Transfer-Encoding: chunked", b"Transfer-Encoding: "], True, ()),
        ([b"Transfer-Encoding: identity"], False, ()),
        ([b"Transfer-Encoding: x-chunked"], False, ("x-chunked",)),
        ([b"Transfer-Encoding: chunked, gzip"], False, ("gzip",)),
        ([b"X-Transfer-Encoding: chunked"], False, ()),
        ([b"Content-Encoding: chunked"], False, ("chunked",)),
        ([b"Content-Encoding: GZip"], False, ("gzip",)),
        ([b"Content-Encoding: deflate,br", b"Content-Encoding: zstd"], False, ("deflate", "br", "zstd")),
        ([b"Content-Encoding: br", b"Transfer-Encoding: gzip, chunked"], True, ("br", "gzip")),
        ([b"Transfer-Encoding: chunked", b"Content-Encoding: br"], True, ("br",)),
        ([b"Content-Encoding: identity"], False, ()),
        ([b"Content-Encoding: ,gzip, ,"], False, ("gzip",)),
        ([b"Content-Encoding:"], False, ()),
        ([], False, ()),
    ],
)
def test_codings(lines: list[bytes], chunked: bool, codings: tuple[str, ...]) -> None:
    head = with_fields(*lines)
    assert head.chunked is chunked
    assert head.codings == codings


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([b"Content-Length: 0"], 0),
        ([b"content-length:  0012\t"], 12),
        ([b"Content-Length: 5", b"Content-Length: 6"], 5),
        ([b"Content-Length: " + b"9" * 18], 10**18 - 1),
        ([b"Content-Length: " + b"9" * 19], None),
        ([b"Content-Length: 5, 5"], None),
        ([b"Content-Length: -5"], None),
        ([b"Content-Length: +5"], None),
        ([b"Content-Length: 5.0"], None),
        ([b"Content-Length: 0x5"], None),
        ([b"Content-Length: \xd9\xa5"], None),
        ([b"Content-Length:"], None),
        ([b"X-Content-Length: 5"], None),
        ([], None),
    ],
)
def test_content_length(lines: list[bytes], expected: int | None) -> None:
    assert with_fields(*lines).content_length == expected


# Which blocks are looked at.


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/http;msgtype=response", True),
        ("application/http; msgtype=request", True),
        ("Application/HTTP", True),
        (" message/http ", True),
        ("application/http ; version=1.1", True),
        ("application/httpx", False),
        ("application/https", False),
        ("text/html", False),
        ("text/html; application/http", False),
        ("", False),
        (None, False),
    ],
)
def test_blocks_that_are_http_say_so(content_type: str | None, expected: bool) -> None:
    assert is_http_block(content_type) is expected


# As a mapping.


MANY = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a\r\nset-cookie: b\r\n\r\n"


def test_fields_are_found_whatever_the_case_of_their_names() -> None:
    head = parse_http_head(MANY)
    assert head["content-type"] == head["Content-Type"] == "text/html"
    assert "content-type" in head
    assert "Content-Length" not in head
    assert ("Content-Type", "text/html") not in head
    with pytest.raises(KeyError, match="Content-Length"):
        head["Content-Length"]


def test_a_head_is_a_mapping_that_keeps_repeated_fields() -> None:
    head = parse_http_head(MANY)
    assert isinstance(head, Mapping)
    assert list(head) == list(head.keys()) == ["Content-Type", "Set-Cookie", "set-cookie"]
    assert list(head.items()) == [("Content-Type", "text/html"), ("Set-Cookie", "a"), ("set-cookie", "b")]
    assert list(head.values()) == ["text/html", "a", "b"]
    assert len(head) == len(head.items()) == 3
    assert head.get("SET-COOKIE") == "a"
    assert head.get_all("SET-COOKIE") == ("a", "b")
    assert dict(head)["Content-Type"] == "text/html"
    assert head.get("none", "other") == "other"


def test_a_head_without_fields_is_a_head() -> None:
    head = parse_http_head(b"HTTP/1.0 200 OK\r\n\r\n")
    assert head
    assert (len(head), list(head.items())) == (0, [])


@pytest.mark.parametrize(
    ("value", "charset"),
    [
        (b"text/html; charset=UTF-8", "utf-8"),
        (b'text/html; level=1; Charset="ISO-8859-1"', "iso-8859-1"),
        (b"text/html", None),
        (b"text/html; charset=", None),
        (b"nonsense", None),
        (b'text/html; charset=""', None),
    ],
)
def test_the_charset_is_that_of_the_content_type(value: bytes, charset: str | None) -> None:
    head = parse_http_head(b"HTTP/1.1 200 OK\r\nContent-Type: " + value + b"\r\n\r\n")
    assert head.charset == charset
    assert parse_http_head(b"HTTP/1.1 200 OK\r\n\r\n").charset is None


@given(heads)
def test_a_mapping_has_what_its_fields_have(drawn) -> None:
    head = parse_http_head(drawn)
    if head is not None:
        for name, value in head.items():
            if name:
                assert name in head
                assert value in head.get_all(name)
