"""Exchanges are found in the bytes of a connection, however these are cut into pieces."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.compat.exchanges import Conversation, Exchange
from tests.support.wire import ANSWERS, HINTS

GET = b"GET /a?b=1 HTTP/1.1\r\nHost: example.org\r\n\r\n"
PUT = b"PUT /a HTTP/1.1\r\nHost: example.org\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted({0, len(data), *(it % (len(data) + 1) for it in cuts)})
    for begin, end in pairwise(places):
        yield data[begin:end]


def records(*exchanges: Exchange | None) -> list[tuple[str, bytes, str | None]]:
    """Return type, block and WARC-Truncated of the records of exchanges."""
    file = io.BytesIO()
    with seekwarc.open(file, "w") as out:
        out.write_warcinfo({"software": "test"})
        for it in exchanges:
            assert it is not None
            it.write_to(out)
    with seekwarc.open(file.getvalue()) as archive:
        found = [(it.type, it.block.read(), it.header.get("WARC-Truncated")) for it in archive]
    return found[1:]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([GET, PUT]),
            st.sampled_from(
                [OK, *(ANSWERS[it] for it in ("/chunked", "/gzip", "/none", "/moved", "/hints"))]
            ),
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.integers(0, 500), max_size=12),
)
def test_messages_end_where_they_end_in_any_pieces(pairs: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    conversation = Conversation("http", "192.0.2.1")
    found = []
    for request, response in pairs:
        assert [it for it in map(conversation.sent, pieces(request, cuts)) if it] == []
        found += [it for it in map(conversation.received, pieces(response, cuts)) if it]
    assert conversation.closed() is None
    assert records(*found) == [
        it
        for request, response in pairs
        for it in (("response", response.removeprefix(HINTS), None), ("request", request, None))
    ]


@pytest.mark.parametrize(
    ("scheme", "request_line", "uri"),
    [
        ("https", b"GET /a?b=1 HTTP/1.1\r\nHost: example.org:8443", "https://example.org:8443/a?b=1"),
        ("http", b"GET http://example.org/a HTTP/1.1\r\nHost: other", "http://example.org/a"),
        (
            "http",
            b"GET /?u=http://other/ HTTP/1.1\r\nhost: example.org",
            "http://example.org/?u=http://other/",
        ),
        ("http", b"OPTIONS * HTTP/1.1\r\nHost: example.org", "http://example.org"),
        ("http", b"GET /a HTTP/1.0", "http://named/a"),
    ],
)
def test_the_uri_is_that_of_the_request(scheme: str, request_line: bytes, uri: str) -> None:
    conversation = Conversation(scheme, None, "named")
    assert conversation.sent(request_line + b"\r\n\r\n") is None
    exchange = conversation.received(OK)
    assert exchange is not None
    assert exchange.uri == uri
    assert len(records(exchange)) == 2


class ReadTimeoutError(Exception):
    """As some client has it."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (None, "unspecified"),
        (TimeoutError(), "time"),
        (ReadTimeoutError(), "time"),
        (ConnectionResetError(), "disconnect"),
    ],
)
def test_a_response_that_is_cut_off_says_why(error: Exception | None, reason: str) -> None:
    conversation = Conversation("http", None)
    conversation.sent(GET)
    assert conversation.received(OK[:-1]) is None
    response, request = records(conversation.closed(error))
    assert response == ("response", OK[:-1], reason)
    assert request == ("request", GET, None)


def test_the_end_of_the_connection_ends_a_response_without_length_and_cuts_off_others() -> None:
    for response, expected in ((b"HTTP/1.0 200 OK\r\n\r\nsome", None), (OK[:-1], "disconnect")):
        conversation = Conversation("http", None)
        conversation.sent(GET)
        assert conversation.received(response) is None
        assert records(conversation.received(b""))[0] == ("response", response, expected)


@pytest.mark.parametrize("chunks", [b"no size\r\n", b"5\r\nhello\r\nzz\r\n", b"1;" + b"x" * 5000])
def test_wrong_chunks_last_until_the_connection_ends(chunks: bytes) -> None:
    conversation = Conversation("http", None)
    conversation.sent(GET)
    response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
    assert conversation.received(response) is None
    assert conversation.received(b"0\r\n\r\n") is None
    assert records(conversation.received(b""))[0] == ("response", response + b"0\r\n\r\n", None)


def test_a_response_may_end_before_its_request() -> None:
    conversation = Conversation("http", None)
    conversation.sent(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nfirst")
    assert conversation.received(OK) is None
    response, request = records(conversation.sent(b"last"))
    assert response == ("response", OK, None)
    assert request[1].endswith(b"firstlast")
    conversation.sent(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nfirst")
    conversation.received(OK)
    response, request = records(conversation.closed())
    assert (response[2], request[2]) == (None, "unspecified")


def test_what_is_no_exchange_is_left_out() -> None:
    conversation = Conversation("http", None)
    assert conversation.received(b"HTTP/1.1 408 Request Timeout\r\n\r\n") is None
    conversation.sent(GET)
    assert conversation.received(b"HTTP/1.1 200") is None
    assert conversation.closed(ConnectionResetError()) is None
    conversation.sent(b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n")
    assert not conversation.has_tunnel
    assert conversation.received(b"HTTP/1.1 200 Connection established\r\n\r\n") is None
    assert conversation.has_tunnel
    conversation.sent(GET)
    assert records(conversation.received(OK))[0][1] == OK


def test_a_head_is_read_of_bounded_length() -> None:
    conversation = Conversation("http", None)
    conversation.sent(GET)
    for _ in range(10):
        assert conversation.received(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000) is None
    assert conversation.closed() is None
