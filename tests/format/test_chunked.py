"""Chunked coding is taken off however the body is cut, and what is no chunked body is given up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.chunked import ChunkedBody

SIZE_LINES = st.sampled_from(["%x\r\n", "%X\r\n", "%x\n", "%04x \r\n", "%x;name=value\r\n", "%x ; a\r\n"])


def chunked(parts: list[tuple[bytes, str]]) -> bytes:
    body = b"".join((line % len(part)).encode() + part + b"\r\n" for part, line in parts if part)
    return body + b"0\r\nTrailer: x\r\n\r\n"


def decode(body: bytes, step: int) -> tuple[bytes, ChunkedBody]:
    decoder = ChunkedBody()
    pieces = [body[i : i + step] for i in range(0, len(body), step)]
    return b"".join(bytes(part) for piece in pieces for part in decoder.feed(piece)), decoder


@given(st.lists(st.tuples(st.binary(max_size=300), SIZE_LINES), max_size=8), st.integers(1, 700))
def test_the_data_comes_back_however_the_body_is_cut(parts: list[tuple[bytes, str]], step: int) -> None:
    content, decoder = decode(chunked(parts), step)
    assert content == b"".join(part for part, _ in parts)
    assert decoder.valid
    assert decoder.complete


@pytest.mark.parametrize("step", [1, 3, 10_000])
def test_a_body_that_ends_early_gives_what_there_is(step: int) -> None:
    content, decoder = decode(b"5\r\nhello\r\nff\r\nonly this", step)
    assert content == b"helloonly this"
    assert decoder.valid
    assert not decoder.complete


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize(
    "body",
    [
        b"<!doctype html>\n<p>not chunked",
        b"\r\n5\r\nhello\r\n0\r\n\r\n",
        b"5\r\nhelloX\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n",
        b"0x5\r\nhello\r\n",
        b"5 5\r\nhello\r\n",
        b"f" * 16 + b"\r\n",
        b"5" * 10_000,
        "\u0665\r\nhello".encode(),
    ],
)
def test_what_is_no_chunked_body_is_given_up(body: bytes, step: int) -> None:
    _, decoder = decode(body, step)
    assert not decoder.valid
    assert decoder.feed(b"5\r\nhello\r\n") == []


@given(st.binary(max_size=200), st.integers(1, 50))
def test_random_bytes_are_neither_an_error_nor_more_than_they_were(body: bytes, step: int) -> None:
    assert len(decode(body, step)[0]) <= len(body)


def test_an_endless_line_is_not_kept() -> None:
    decoder = ChunkedBody()
    for _ in range(100):
        decoder.feed(b"1" * 100_000)
    assert not decoder.valid
