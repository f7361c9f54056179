"""Heads are parsed as warcio parses them, whatever they are."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException

from seekwarc.compat.warcio.heads import parse_head

WARC_TYPES = ["WARC/1.1", "WARC/1.0"]
PIECES = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK", b"GET / HTTP/1.1", b"WARC/1.0", b"warc/1.1 more"),
        *(b"A: 1", b"a :2", b"B", b": c", b"C: d: e", b"X:  y  ", b"L: \xe9", b"\xc3\xa9: \xc3\xa9"),
        *(b"", b" folded", b"\tfolded: too", b"   ", b"\x0b"),
    ]
)
ENDS = st.sampled_from([b"\r\n", b"\n", b"\r\r\n"])
HEADS = st.lists(st.tuples(PIECES, ENDS).map(b"".join), min_size=1, max_size=12).map(b"".join)


@given(HEADS, st.booleans())
@example(b"HTTP/1.1 200 OK\r\n folded at once\r\nA: 1\r\n\r\nbody", False)
@example(b"WARC/1.0", True)
@example(b"\r\nA: 1\r\n\r\n", False)
def test_heads_are_those_of_warcio(data: bytes, verify: bool) -> None:
    stream = io.BytesIO(data)
    protocols = WARC_TYPES if verify else []
    expected = None
    with suppress(StatusAndHeadersParserException):
        expected = StatusAndHeadersParser(protocols, verify).parse(stream)
    if expected is None:
        with pytest.raises(StatusAndHeadersParserException, match="Expected Status Line starting with"):
            parse_head(data, is_all=True, protocols=protocols, verify=verify)
        return
    found = parse_head(data, is_all=True, protocols=protocols, verify=verify)
    assert found is not None
    names = ("protocol", "statusline", "headers", "total_len", "headers_buff")
    assert [getattr(found.headers, it) for it in names] == [getattr(expected, it) for it in names]
    assert found.size == stream.tell()


def test_a_head_without_its_end_is_asked_for_again() -> None:
    assert parse_head(b"HTTP/1.1 200 OK\r\nA: 1\r\n", is_all=False) is None


def test_an_unknown_version_is_split_at_the_blank() -> None:
    found = parse_head(b"WARC/2.0\r\nA: 1\r\n\r\n", is_all=True, protocols=WARC_TYPES)
    assert found is not None
    assert (found.headers.protocol, found.headers.statusline) == ("WARC/2.0", "")
