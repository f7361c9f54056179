"""Chunked coding is taken off however the body is cut, and what is no chunked body is given up."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seekwarc.format.chunked import (
    MAX_CHUNK_LINE,
    MAX_TRAILER,
    ChunkedBody,
    parse_chunk_line,
    skip_chunks,
    take_chunks,
)
from tests.support.chunks import ODD, bodies, decode, size_line, taken_apart, well_formed
from tests.support.rounds import rounds
from tests.support.work import at_most_calls, watchdog


def steps(body: bytes, step: int) -> list[int]:
    return list(range(step, len(body), step))


def assert_is_as_expected(body: bytes, cuts: list[int]) -> None:
    expected = taken_apart(body)
    data, decoder = decode(body, cuts)
    assert data == expected.data
    assert decoder.complete is expected.complete
    assert decoder.rest == expected.rest


@given(well_formed(), st.lists(st.integers(0, 2000), max_size=20))
def test_the_data_come_back_however_the_body_is_cut(made: tuple[bytes, bytes], cuts: list[int]) -> None:
    body, content = made
    data, decoder = decode(body, cuts)
    assert data == content
    assert decoder.complete


@pytest.mark.slow
@settings(max_examples=rounds(400))
@given(bodies(), st.lists(st.integers(0, 5000), max_size=20))
def test_any_body_in_any_pieces_gives_what_a_naive_decoder_finds(body: bytes, cuts: list[int]) -> None:
    assert_is_as_expected(body, cuts)


@pytest.mark.parametrize("body", ODD, ids=lambda body: repr(body[:20]))
def test_bodies_at_the_edges(body: bytes) -> None:
    for step in (1, 2, 3, 7, 4095, 4096, 4097, 100_000):
        if step > 1 or len(body) <= 5000:
            assert_is_as_expected(body, steps(body, step))


def test_a_body_cut_off_anywhere_gives_what_there_is() -> None:
    body = b"5;x\r\nhello\r\n0a \n0123456789\n0\r\nTrailer: x\r\n\r\n"
    for stop in range(len(body) + 1):
        assert_is_as_expected(body[:stop], [])
        assert_is_as_expected(body[:stop], steps(body[:stop], 1))


@pytest.mark.parametrize(
    ("body", "expected", "broken"),
    [
        (b"5\r\nhello\r\nff\r\nonly this", b"helloonly this", False),
        (b"5\r\nhelloX\r\n5\r\nagain\r\n0\r\n\r\n", b"hello", True),
        (b"bed time stories\r\n5\r\nhello\r\n0\r\n\r\n", b"", True),
    ],
    ids=["cut off", "damaged", "not chunked"],
)
@pytest.mark.parametrize("step", [1, 3, 10_000])
def test_a_body_without_its_end_gives_what_comes_before(
    step: int, body: bytes, expected: bytes, broken: bool
) -> None:
    data, decoder = decode(body, steps(body, step))
    assert data == expected
    assert not decoder.complete
    assert decoder.broken == broken
    assert not broken or decoder.feed(b"5\r\nagain\r\n") == []


def test_what_follows_the_last_chunk_is_no_part_of_the_body() -> None:
    decoder = ChunkedBody()
    assert b"".join(decoder.feed(b"1\r\na\r\n0\r\n")) == b"a"
    assert decoder.complete
    assert decoder.feed(b"Expires: never\r\n\r\n5\r\nhello\r\n") == []
    assert decoder.rest == b"Expires: never\r\n\r\n5\r\nhello\r\n"
    for _ in range(3):
        assert decoder.feed(bytes(MAX_TRAILER)) == []
    assert len(decoder.rest) == MAX_TRAILER + 1, "no more is kept"


def test_data_are_not_copied() -> None:
    piece = bytearray(b"5\r\nhello\r\n")
    (found,) = ChunkedBody().feed(piece)
    piece[3:8] = b"HELLO"
    assert bytes(found) == b"HELLO"


def test_an_endless_line_is_not_kept() -> None:
    for start in (b"", b"1\r\na\r\n"):
        decoder = ChunkedBody()
        size = sum(map(len, decoder.feed(start)))
        for _ in range(3):
            size += sum(map(len, decoder.feed(b"1" * 100_000)))
            assert decoder.broken
            assert len(decoder.rest) <= MAX_TRAILER + 1
        assert size == len(start) // 6


@pytest.mark.parametrize("line", [b"0" * 4000, b" " * 4000, b"1;" + b"x" * 4000, b"0" * 2000 + b" " * 2000])
def test_long_lines_byte_by_byte_are_fast(line: bytes) -> None:
    decoder = ChunkedBody()
    with watchdog():
        for start in range(len(line)):
            assert decoder.feed(line[start : start + 1]) == []


# The line before a chunk.


@pytest.mark.slow
@settings(max_examples=rounds(300))
@given(bodies(), st.integers(0, 10), st.booleans())
def test_the_line_before_a_chunk(body: bytes, position: int, first: bool) -> None:
    position = min(position, len(body))
    found = parse_chunk_line(body, position, first=first)
    assert found == parse_chunk_line(memoryview(body), position, first=first)
    alone = parse_chunk_line(body[position : position + MAX_CHUNK_LINE], 0, first=first)
    assert found == ((alone[0], alone[1] + position) if alone else None)
    if first:
        assert found == size_line(body, position)
    if found is not None:
        size, end = found
        line = body[position:end]
        assert size >= 0
        assert position < end <= position + MAX_CHUNK_LINE
        assert line.endswith(b"\n")
        assert line.count(b"\n") == (1 if first else 2)
        assert re.search(rb"[0-9A-Fa-f]", line)


@pytest.mark.parametrize(
    ("line", "first", "expected"),
    [
        (b"5\r\n", True, (5, 3)),
        (b"5\r\n", False, None),
        (b"\r\n5\r\n", False, (5, 5)),
        (b"\r\n5\r\n", True, None),
        (b"\n5\n", False, (5, 3)),
        (b"\r5\r\n", False, None),
        (b"0\r\n", True, (0, 3)),
        (b"00000000000000000000001f\r\n", True, (31, 26)),
        (b"fffffffffffffff\r\n", True, (2**60 - 1, 17)),
        (b"1000000000000000\r\n", True, None),
        (b"5\r\r\n", True, None),
        (b"5", True, None),
        (b"", True, None),
    ],
)
def test_lines(line: bytes, first: bool, expected: tuple[int, int] | None) -> None:
    assert parse_chunk_line(line, 0, first=first) == expected
    found = parse_chunk_line(b"xyz" + line + b"rest", 3, first=first)
    assert found == ((expected[0], expected[1] + 3) if expected else None)


# Passing chunks.


@st.composite
def many_small(draw: st.DrawFn) -> bytes:
    """Draw bodies with runs of chunks that are small enough to be passed together, and some that are not."""
    sizes = []
    for _ in range(draw(st.integers(1, 6))):
        low, high = draw(st.sampled_from([(1, 1), (1, 15), (16, 255), (1, 255), (1, 400)]))
        chance = random.Random(draw(st.integers(0, 99)))
        sizes += [chance.randint(low, high) for _ in range(draw(st.integers(0, 150)))]
    line = draw(st.sampled_from(["{:x}\r\n", "{:X}\r\n", "{:x}\n", "{:02x}\r\n", "{:x};a\r\n"]))
    data = random.Random(len(sizes)).choices(b"x1\r\n", k=sum(sizes))
    body, at = b"", 0
    for size in sizes:
        body += line.format(size).encode() + bytes(data[at : at + size]) + b"\r\n"
        at += size
    cut = draw(st.integers(0, 3))
    return (body + b"0\r\n\r\n")[: -cut or None] if cut else body + b"0\r\n\r\n"


@settings(max_examples=rounds(200))
@given(st.one_of(many_small(), bodies()), st.integers(0, 20_000), st.integers(0, 5000))
def test_skipped_runs_equal_single_chunks(body: bytes, most: int, short: int) -> None:
    line = parse_chunk_line(body, 0, first=True)
    if line is None or not line[0]:
        return
    data = body[: len(body) - min(short, len(body) // 2)]
    end = line[0] + line[1]
    passed, last, stop = skip_chunks(data, end, most)
    # Naively, one by one.
    expected, position, size = 0, end, 0
    content = b""
    while (line := parse_chunk_line(data, position, first=False)) and line[0]:
        if sum(line) > len(data) or expected + line[0] > most:
            break
        size = line[0]
        content += data[line[1] : sum(line)]
        expected, position = expected + size, sum(line)
    assert (passed, stop) == (expected, position)
    assert last in (0, size)
    assert take_chunks(data, end, most) == (content, size, position)


@pytest.mark.parametrize("size", [1, 3, 15])
def test_tiny_chunks_of_one_size_are_taken_together(size: int) -> None:
    chunk = b"%x\r\n%b\r\n" % (size, bytes(range(size)))
    body = bytearray(chunk * 20_000 + b"0\r\n\r\n")
    decoder = ChunkedBody()
    with at_most_calls(1000):
        data = b"".join(decoder.feed(body))
    assert data == bytes(range(size)) * 20_000
    assert decoder.complete


def test_chunks_that_match_no_run_cost_no_retry() -> None:
    chunk = b"\r\n1\r\nx" * 31 + b"\r\n100\r\n" + b"y" * 256
    # Two more calls for each chunk if both expressions were tried again after each.
    with at_most_calls(500 * 32 * 5):
        assert skip_chunks(chunk * 500, 0, 1 << 40)[0] == 500 * (31 + 256)
