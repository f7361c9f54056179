"""Parts of gzip members, put together, are what gzip makes and reads."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.frames.deflate import (
    GZIP_HEADER,
    DeflateEncoder,
    PlainEncoder,
    combined_crc,
    gzip_trailer,
)
from tests.support.writing import noise


@given(first=st.binary(max_size=200), second=st.binary(max_size=200))
def test_the_crc_of_two_pieces_follows_from_their_own(first: bytes, second: bytes) -> None:
    combined = combined_crc(zlib.crc32(first), zlib.crc32(second), len(second))
    assert combined == zlib.crc32(first + second)


@pytest.mark.parametrize("size", [1 << 16, (1 << 20) + 1])
def test_the_crc_of_long_pieces_is_right_too(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    assert combined_crc(zlib.crc32(data), zlib.crc32(data), len(data)) == zlib.crc32(data + data)


@given(pieces=st.lists(st.binary(max_size=3000), max_size=5), level=st.integers(0, 9))
def test_parts_make_a_gzip_member(pieces: list[bytes], level: int) -> None:
    encoder = DeflateEncoder(level)
    parts = [part for piece in pieces for part in encoder.encode_chunk(piece, 10)]
    content = b"".join(pieces)
    data = b"".join(part.data for part in parts)
    assert gzip.decompress(GZIP_HEADER + data + gzip_trailer(zlib.crc32(content), len(content))) == content
    assert [part.checksum for part in parts] == [zlib.crc32(piece) for piece in pieces]


def test_plain_content_stays_as_it_is() -> None:
    assert PlainEncoder().encode(memoryview(b"content")).data == b"content"


def test_a_stored_part_is_as_long_for_any_content() -> None:
    encoder = DeflateEncoder(6)
    for size in (1, 0xFFFF, 0x10000, 200_000):
        parts = [encoder.store(content) for content in (bytes(size), noise(size))]
        assert len(parts[0].data) == len(parts[1].data)
        for part, content in zip(parts, (bytes(size), noise(size)), strict=True):
            member = GZIP_HEADER + part.data + gzip_trailer(part.checksum, size)
            assert gzip.decompress(member) == content


@given(
    pieces=st.lists(st.binary(max_size=300) | st.sampled_from([b"ab" * 900, noise(70_000)]), max_size=5),
    level=st.integers(0, 9),
)
def test_a_part_is_the_same_whatever_was_made_before(pieces: list[bytes], level: int) -> None:
    encoder = DeflateEncoder(level)
    parts = [encoder.encode(piece).data for piece in pieces]
    assert parts == [DeflateEncoder(level).encode(piece).data for piece in pieces]
