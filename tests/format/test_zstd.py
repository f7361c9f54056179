"""Frame headers compared with libzstd's own reading of them, and walks over real frames."""

from __future__ import annotations

import struct

import pytest
import xxhash
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from seekwarc.errors import FormatError, LimitError, TruncatedError
from seekwarc.format.zstd import (
    MAX_SKIPPABLE_DATA,
    is_skippable,
    measure_frame,
    parse_frame_header,
    parse_skippable_header,
    raw_frames,
    skippable_frame,
    walk_blocks,
)
from tests.support.foreign import skippable, some_dictionary, text, zstd_frame
from tests.support.writing import noise

MAGIC = b"\x28\xb5\x2f\xfd"
UNKNOWN = zstandard.CONTENTSIZE_UNKNOWN
CONTENTS = {
    "empty": b"",
    "one byte": b"x",
    "255": text(255),
    "256": text(256),
    "257": text(257),
    "65791": text(65_791),
    "65792": text(65_792),
    "run-length block": bytes(100_000),
    "raw blocks": noise(300_000),
    "many blocks": text(700_000),
    "mixed": text(200_000) + noise(200_000) + bytes(400_000),
}


def matches_libzstd(frame: bytes) -> bool:
    """Tell whether our reading of a frame header is libzstd's, errors included."""
    try:
        theirs = zstandard.get_frame_parameters(frame)
    except zstandard.ZstdError:
        theirs = None
    try:
        ours = parse_frame_header(frame)
    except FormatError:
        return theirs is None
    if theirs is None:
        # libzstd refuses the largest windows here, and so does the decoder of seekwarc later.
        return ours.window_size > 1 << 31
    return (
        (ours.content_size if ours.content_size is not None else UNKNOWN) == theirs.content_size
        and ours.window_size == theirs.window_size
        and ours.dictionary_id == theirs.dict_id
        and ours.has_checksum == theirs.has_checksum
        and ours.size == zstandard.frame_header_size(frame)
    )


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("content_size", [True, False])
@pytest.mark.parametrize("checksum", [True, False])
def test_headers_are_read_as_libzstd_reads_them(content: bytes, content_size: bool, checksum: bool) -> None:
    for window_log in (10, 17, 21, 27, None):
        for dictionary in (None, some_dictionary()):
            frame = zstd_frame(
                content,
                content_size=content_size,
                checksum=checksum,
                window_log=window_log,
                dictionary=dictionary,
            )
            assert matches_libzstd(frame)
            header = parse_frame_header(b"??" + frame, 2)
            assert header == parse_frame_header(memoryview(frame))
            assert header.content_size == (len(content) if content_size else None)
            assert header.dictionary_id == (0x1234_5678 if dictionary else 0)


@given(st.integers(0, 255), st.binary(min_size=20, max_size=20))
@example(0xE3, b"\xff" * 20)
@example(0x60, b"\0" * 20)
def test_any_header_is_read_as_libzstd_reads_it(descriptor: int, rest: bytes) -> None:
    assert matches_libzstd(MAGIC + bytes([descriptor]) + rest)


@pytest.mark.parametrize("descriptor", [*range(0, 256, 4), 0xE3, 0xC1, 0x22])
def test_a_header_cut_short_is_truncated(descriptor: int) -> None:
    whole = MAGIC + bytes([descriptor]) + bytes(20)
    if descriptor & 8:
        with pytest.raises(FormatError, match="reserved bit"):
            parse_frame_header(whole)
        return
    size = parse_frame_header(whole).size
    assert parse_frame_header(whole[:size]).size == size
    for cut in range(size):
        with pytest.raises(TruncatedError):
            parse_frame_header(whole[:cut])


@pytest.mark.parametrize("data", [b"\x27\xb5\x2f\xfd\0\0\0", skippable(0x184D2A50, b"abc"), bytes(20)])
def test_what_is_not_a_frame_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="no Zstandard frame"):
        parse_frame_header(data)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("content_size", [True, False])
def test_walking_the_blocks_leads_to_the_end_of_the_frame(
    content: bytes, checksum: bool, content_size: bool
) -> None:
    frame = zstd_frame(content, checksum=checksum, content_size=content_size)
    header = parse_frame_header(frame)
    end, done = walk_blocks(b"..." + frame + b"after", 3 + header.size)
    assert done
    assert end + 4 * checksum == 3 + len(frame)
    measured = measure_frame(frame + bytes(20), 0)
    assert measured == ((len(frame), len(content)) if content_size else None)


def test_walking_goes_on_with_more_data_where_the_first_ended() -> None:
    frame = zstd_frame(CONTENTS["mixed"])
    first = parse_frame_header(frame).size
    for step in (3, 100, 5000, 131_075, 200_000):
        position, done, available = first, False, first
        while not done:
            available = max(available + step, position + 3)
            position, done = walk_blocks(frame[:available], position)
        assert position == len(frame) - 4


def test_a_frame_that_is_cut_is_not_measured() -> None:
    frame = zstd_frame(text(5000))
    for cut in range(len(frame)):
        assert measure_frame(frame[:cut], 0) is None


@pytest.mark.parametrize("header", [0b111, 0b110, (131_073 << 3) | 0b100, (131_073 << 3) | 0b1])
def test_damaged_block_headers_are_refused(header: int) -> None:
    with pytest.raises(FormatError, match="block header"):
        walk_blocks(header.to_bytes(3, "little") + bytes(100), 0)
    frame = MAGIC + b"\x20\x05" + header.to_bytes(3, "little") + bytes(100)
    assert measure_frame(frame, 0) is None


@pytest.mark.parametrize("size", [0, 1, 70_000])
def test_skippable_frames(size: int) -> None:
    for magic in range(0x184D2A50, 0x184D2A60):
        frame = skippable_frame(magic, bytes(size))
        assert frame == skippable(magic, bytes(size))
        assert parse_skippable_header(b"." + frame, 1) == (magic, size)
        assert is_skippable(magic)
    assert not is_skippable(0x184D2A4F)
    assert not is_skippable(0x184D2A60)
    assert not is_skippable(0xFD2FB528)


def test_damaged_skippable_headers() -> None:
    frame = skippable(0x184D2A50, b"abc")
    for cut in range(8):
        with pytest.raises(TruncatedError):
            parse_skippable_header(frame[:cut])
    with pytest.raises(FormatError, match="no skippable frame"):
        parse_skippable_header(zstd_frame(b"abc"))
    assert parse_skippable_header(struct.pack("<II", 0x184D2A50, 2**32 - 1))[1] == 2**32 - 1


def test_a_skippable_frame_cannot_hold_4_gib() -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return MAX_SKIPPABLE_DATA + 1

    with pytest.raises(LimitError, match="4294967295"):
        skippable_frame(0x184D2A50, Huge())


@pytest.mark.parametrize("dictionary_id", [0, 1, 2_000_000_000])
@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_791, 65_792, 128 << 10, (128 << 10) + 1, 300_000])
def test_a_raw_frame_is_what_the_codec_makes_of_noise(size: int, dictionary_id: int) -> None:
    content = noise(size)
    checksum = xxhash.xxh64_intdigest(content) & 0xFFFF_FFFF
    (frame,) = raw_frames([content], [checksum], dictionary_id)
    if not dictionary_id:
        assert frame == zstandard.ZstdCompressor(write_checksum=True).compress(content)
    fields = zstandard.get_frame_parameters(frame)
    assert (fields.content_size, fields.dict_id, fields.has_checksum) == (size, dictionary_id, True)
    assert len(raw_frames([bytes(size)], [0], dictionary_id)[0]) == len(frame)


def test_a_raw_frame_that_was_changed_is_damaged() -> None:
    frame = raw_frames([b"a header"], [0])[0]
    with pytest.raises(zstandard.ZstdError):
        zstandard.ZstdDecompressor().decompress(frame)
