"""Headers of Blosc2 chunks and frames, as blosc2 writes them, and such that contradict themselves."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError, TruncatedError, UnsupportedError
from seekwarc.format.blosc2 import FRAME_HEAD_SIZE, ChunkHeader, FrameHeader, describe_blosc2

CHUNK = bytes.fromhex("05018504801a060000400000ef210000000000000001050000000000000000000000")[:32]
"""Header of a chunk of 100,000 int32, in 25 blocks, as python-blosc2 4.14 wrote it."""
FRAME = bytes.fromhex(
    "9ea862326672616d6500d2000000a5cf000000000000da37a412005502d30000000000061a80d3000000000000d92ad20000"
    "0004d2000007d0d200009c40d10000d10001c2d8060000000000010500000000000000000093cd0011de0001"
)[:FRAME_HEAD_SIZE]
"""Header of a frame of the same numbers, in chunks of 40,000 bytes."""
SIZE = 0x21EF


def changed(offset: int, value: bytes, data: bytes = CHUNK) -> bytes:
    return data[:offset] + value + data[offset + len(value) :]


def test_a_chunk_is_described() -> None:
    header = ChunkHeader.parse(CHUNK, SIZE)
    assert (header.typesize, header.nbytes, header.blocksize, header.cbytes) == (4, 400_000, 16_384, SIZE)
    assert (header.blocks, header.size, header.codec, header.filters) == (25, 32, 4, (1,))
    assert not header.is_copied
    assert not header.special
    assert describe_blosc2(CHUNK, SIZE) == (
        "Blosc2 chunk of 400000 bytes: items of 4, blocks of 16384, zstd, shuffle"
    )


def test_a_frame_is_described() -> None:
    header = FrameHeader.parse(FRAME, 0xDA37)
    assert (header.size, header.frame_size, header.nbytes) == (0xA5, 0xDA37, 400_000)
    assert describe_blosc2(FRAME, 0xDA37) == (
        "Blosc2 frame of 400000 bytes: items of 4, blocks of 2000, zstd, shuffle, chunks of 40000"
    )


def test_an_empty_frame_may_be_as_short_as_its_header() -> None:
    least = FRAME
    for place, size, value in (
        (11, 4, FRAME_HEAD_SIZE),  # the header's size
        (16, 8, FRAME_HEAD_SIZE),  # the frame's
        (30, 8, 0),  # content
        (39, 8, 0),  # the same, compressed
        (48, 4, 1),  # items
        (53, 4, 0),  # blocks
        (58, 4, 0),  # chunks
    ):
        least = changed(place, value.to_bytes(size, "big"), least)
    assert describe_blosc2(least, FRAME_HEAD_SIZE) == (
        "Blosc2 frame of 0 bytes: items of 1, blocks of any size, zstd, shuffle, chunks of 0"
    )


def test_a_short_header_has_its_filters_in_the_flags() -> None:
    data = struct.pack("<BBBBiii", 2, 1, 0x01 | 0x20, 8, 1_000, 500, 600)
    header = ChunkHeader.parse(data, 600)
    assert (header.size, header.filters, header.codec, header.blocks) == (16, (1,), 1, 2)
    # Without the extension too much looks like one.
    assert describe_blosc2(data, 600) is None


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (CHUNK[:15], TruncatedError, "header of 16 bytes or more"),
        (CHUNK[:31], TruncatedError, "header has 32 bytes"),
        (changed(0, b"\0"), FormatError, "not a Blosc2 chunk"),
        (changed(3, b"\0"), FormatError, "not a Blosc2 chunk"),
        (changed(4, b"\xff" * 4), FormatError, "not a Blosc2 chunk"),
        (changed(8, b"\0" * 4), FormatError, "blocks of 0"),
        (changed(8, b"\xff" * 4), FormatError, "blocks of -1"),
        (changed(8, struct.pack("<i", 400_001)), FormatError, "blocks of 400001"),
        (changed(8, b"\x01\0\0\0"), FormatError, "needs 1600032 bytes"),
        (changed(12, b"\x1f\0\0\0"), FormatError, "says that it has 31"),
        (changed(12, b"\xff\xff\xff\x7f"), TruncatedError, "8687 are there"),
        (changed(2, b"\x87"), FormatError, "needs 400032 bytes"),
        (changed(2, b"\x45"), FormatError, "codec that does not exist"),
        (changed(2, b"\xe5"), UnsupportedError, "codec is named by the frame"),
        (changed(30, b"\1"), UnsupportedError, "newer kind"),
        (changed(31, b"\x08"), UnsupportedError, "lazy"),
        (changed(31, b"\x70"), FormatError, "not a Blosc2 chunk"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_chunk_that_contradicts_itself_is_refused(
    data: bytes, error: type[FormatError], message: str
) -> None:
    with pytest.raises(error, match=message):
        ChunkHeader.parse(data, SIZE)
    assert describe_blosc2(data, SIZE) is None


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (FRAME[:86], TruncatedError),
        (changed(5, b"x", FRAME), FormatError),
        (changed(12, b"\0\0\0\1", FRAME), FormatError),
        (changed(17, b"\x70", FRAME), FormatError),
        (changed(17, b"\xff", FRAME), FormatError),
        (changed(30, b"\xff", FRAME), FormatError),
        (changed(49, b"\0\0\0\0", FRAME), FormatError),
        (changed(53, b"\xff", FRAME), FormatError),
    ],
    ids=["cut", "magic", "header size", "frame size", "huge", "size", "typesize", "blocksize"],
)
def test_a_frame_that_contradicts_itself_is_refused(data: bytes, error: type[FormatError]) -> None:
    with pytest.raises(error):
        FrameHeader.parse(data, 0xDA37)
    assert describe_blosc2(data, 0xDA37) is None


@given(st.binary(max_size=100), st.integers(0, 1 << 40))
def test_any_bytes_are_described_or_not(data: bytes, size: int) -> None:
    described = describe_blosc2(data, size)
    assert described is None or described.startswith("Blosc2 ")


def test_only_a_chunk_of_the_whole_payload_counts() -> None:
    assert describe_blosc2(CHUNK, SIZE + 1) is None
    assert describe_blosc2(b"", 0) is None
