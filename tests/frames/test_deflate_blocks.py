"""The blocks of a deflate stream are found where they are, and each can be entered."""

from __future__ import annotations

import random
import zlib
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.frames import deflate_blocks
from seekwarc.frames.deflate_blocks import Block, _end_of_codes, blocks_from
from seekwarc.frames.points import entered
from tests.support.inflating import inflate
from tests.support.rounds import rounds

randoms = st.integers(0, 1 << 32).map(random.Random)
FLUSHES = (zlib.Z_PARTIAL_FLUSH, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH, zlib.Z_BLOCK)
STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED)


def content_of(rnd: random.Random, size: int) -> bytes:
    kinds = (
        lambda: bytes(rnd.choices(b"abcdefgh ", k=size)),
        lambda: rnd.randbytes(size),
        lambda: b"all the same " * (size // 13),
    )
    return rnd.choice(kinds)()


def deflated(rnd: random.Random, content: bytes) -> bytes:
    level, memory, strategy = rnd.randrange(10), rnd.randint(1, 9), rnd.choice(STRATEGIES)
    codec = zlib.compressobj(level, zlib.DEFLATED, -15, memory, strategy)
    return put_together(rnd, content, codec, FLUSHES)


def put_together(rnd: random.Random, content: bytes, codec, flushes) -> bytes:
    out, position = b"", 0
    while position < len(content):
        size = rnd.randint(1, 3000)
        out += codec.compress(content[position : position + size])
        position += size
        if rnd.random() < 0.3:
            out += codec.flush(rnd.choice(flushes))
    return out + codec.flush()


def scanned(data: bytes, bit: int = 0, *, exact: bool = False) -> tuple[bytes, list[tuple[int, int]], int]:
    """Return content, blocks and end; the window of each is the content before it."""
    content, blocks = b"", []
    for event in blocks_from(lambda start, stop: data[start:stop], bit, b"", exact=exact):
        if isinstance(event, Block):
            assert event.window == content[-32768:]
            blocks.append((event.bit, len(content)))
        else:
            content += event
    end, _ = blocks.pop()
    assert end % 8 == 0
    return content, blocks, end // 8


def check(rnd: random.Random, stream: bytes, content: bytes) -> None:
    before = rnd.randbytes(rnd.randrange(4))
    data = before + stream + rnd.randbytes(8)
    expected: list[tuple[int, int]] = []
    inflate(data, 8 * len(before), on_block=lambda bit, size, _: expected.append((bit, size)))
    end = len(before) + len(stream)
    assert scanned(data, 8 * len(before), exact=True) == (content, expected, end)


@settings(max_examples=rounds(40))
@given(randoms, st.sampled_from([0, 1, 30, 2000, 9000]))
def test_blocks_of_zlib_are_found(rnd, size):
    content = content_of(rnd, size)
    check(rnd, deflated(rnd, content), content)


@settings(max_examples=rounds(15))
@given(randoms, st.sampled_from([1, 2000, 9000]))
def test_blocks_of_isal_are_found(rnd, size):
    isal = pytest.importorskip("isal.isal_zlib")
    content = content_of(rnd, size)
    codec = isal.compressobj(rnd.randrange(4), isal.DEFLATED, -15)
    check(rnd, put_together(rnd, content, codec, (isal.Z_SYNC_FLUSH, isal.Z_FULL_FLUSH)), content)


def test_places_that_look_like_blocks_can_be_entered():
    rnd = random.Random(1)
    for _ in range(60):
        content = content_of(rnd, 20_000)
        data = deflated(rnd, content)
        found, blocks, end = scanned(data + rnd.randbytes(600))
        assert (found, end) == (content, len(data))
        for bit, size in blocks:
            inflater = zlib.decompressobj(-15, zdict=content[:size][-32768:])
            assert inflater.decompress(entered(data[bit // 8 :], bit % 8)) == content[size:]


def test_most_ends_are_found_without_decoding_twice(monkeypatch):
    ends = []
    exact = deflate_blocks._end_of_codes
    monkeypatch.setattr(deflate_blocks, "_end_of_codes", lambda *it: ends.append(it) or exact(*it))
    rnd = random.Random(3)
    words = [rnd.randbytes(5).hex().encode() for _ in range(5000)]
    content = b" ".join(rnd.choices(words, k=100_000))
    _, blocks, _ = scanned(zlib.compress(content, 6, -15))
    assert len(blocks) > 10
    assert len(ends) <= 1


def test_nothing_is_found_in_what_is_no_stream():
    with pytest.raises(ChecksumError):
        scanned(b"\7" * 40)
    with pytest.raises(ChecksumError, match="stored block"):
        scanned(b"\1\5\0\0\0hello")


@settings(max_examples=rounds(40))
@given(randoms, st.booleans())
def test_damage_is_an_error_or_other_content(rnd, exact):
    content = content_of(rnd, 4000)
    data = bytearray(deflated(rnd, content))
    data[rnd.randrange(len(data))] ^= 1 << rnd.randrange(8)
    with suppress(FormatError):
        assert scanned(bytes(data) + bytes(8), exact=exact)[2] <= len(data) + 8


def test_a_decompressor_that_takes_more_than_the_block_has_is_an_error():
    data = zlib.compress(b"some text, and some text", wbits=-15) + bytes(9)
    with pytest.raises(ChecksumError, match="before its last byte"):
        _end_of_codes(lambda start, stop: data[start:stop], Block(0, ()), len(data))


@settings(max_examples=rounds(40))
@given(randoms)
def test_a_stream_that_is_cut_off_is_an_error(rnd):
    data = deflated(rnd, content_of(rnd, 4000))
    with pytest.raises((TruncatedError, ChecksumError)):
        scanned(data[: rnd.randrange(len(data))])
