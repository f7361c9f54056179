"""Both decompressors of gzip members do the same."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.frames.inflate import GzipCodec, gzip_codec
from tests.support.foreign import Foreign, gzip_member, text
from tests.support.writing import noise

CODECS = ["module:isal", "zlib"]


def codec(name: str) -> GzipCodec:
    with pytest.MonkeyPatch.context() as patch:
        if name == "zlib":
            patch.setitem(sys.modules, "isal.isal_zlib", None)
        gzip_codec.cache_clear()
        return gzip_codec()


@pytest.fixture(params=[pytest.param(CODECS[0], marks=pytest.mark.needs(CODECS[0])), CODECS[1]])
def chosen(request: pytest.FixtureRequest) -> Iterator[GzipCodec]:
    """The codec that is used."""
    found = codec(request.param)
    assert (zlib.error in found.errors) == (request.param == "zlib")
    yield found
    gzip_codec.cache_clear()


def inflated(data: bytes, step: int, most: int, use: GzipCodec) -> tuple[bytes, bytes]:
    """Return what a member holds, and what stands behind it."""
    inflater, out, waiting = use.inflater(), b"", b""
    position = 0
    while not inflater.eof:
        if not waiting:
            waiting = data[position : position + step]
            position += len(waiting)
        made = inflater.decompress(waiting, most)
        assert len(made) <= most
        out += made
        waiting = inflater.unconsumed_tail
        assert made or waiting or inflater.eof or position < len(data)
    return out, inflater.unused_data + data[position:]


@given(st.binary(max_size=4000), st.binary(max_size=40), st.integers(1, 500), st.integers(1, 500))
@pytest.mark.parametrize("name", [pytest.param(CODECS[0], marks=pytest.mark.needs(CODECS[0])), CODECS[1]])
def test_members_are_decompressed_in_any_steps(
    name: str, content: bytes, behind: bytes, step: int, most: int
) -> None:
    assert inflated(gzip_member(content) + behind, step, most, codec(name)) == (content, behind)


@pytest.mark.parametrize("place", [-1, -3, -5, -8, 40, 2])
def test_damage_is_an_error(chosen: GzipCodec, place: int) -> None:
    data = bytearray(gzip_member(text(3000)))
    data[place] ^= 0x55
    with pytest.raises(chosen.errors):
        inflated(bytes(data), 512, 100_000, chosen)


def test_files_are_read_with_it(chosen: GzipCodec) -> None:
    made = Foreign().record(text(300_000)).record(noise(100_000)).record(b"").gzip()
    with seekwarc.open(made.bytes()) as archive:
        assert [record.block.read() for record in archive] == [put.block for put in made.records]
        assert [record.length for record in archive] == [put.length for put in made.records]
