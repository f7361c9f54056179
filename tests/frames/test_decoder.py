"""Single frames: decoded, verified, refused; and the cache of decoded frames."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import ChecksumError, FormatError, LimitError
from seekwarc.format.zstd import MAX_BLOCK_SIZE, parse_frame_header, raw_frames
from seekwarc.frames.decoder import FrameDecoder, content_checksum
from seekwarc.frames.dictionary import Dictionary
from tests.support.foreign import cut, some_dictionary, text, zstd_frame
from tests.support.writing import noise

CONTENT = text(100_000, seed=41)


def decoder(dictionary: bytes | None = None, **options: int) -> FrameDecoder:
    return FrameDecoder(lambda: Dictionary(dictionary) if dictionary else None, **options)


def decode_into(frame: bytes, size: int, *, whole: bool = True, by: FrameDecoder | None = None) -> bytes:
    out = bytearray(size)
    (by or decoder()).decode_into(frame, parse_frame_header(frame), memoryview(out), whole=whole)
    return bytes(out)


@pytest.mark.parametrize("content", [b"", b"x", CONTENT, noise(200_000), bytes(300_000)])
@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("content_size", [True, False])
def test_a_frame_is_decoded_either_way(content: bytes, checksum: bool, content_size: bool) -> None:
    frame = zstd_frame(content, checksum=checksum, content_size=content_size)
    header = parse_frame_header(frame)
    assert decode_into(frame, len(content)) == content
    if content_size:
        assert decoder().decode(memoryview(frame), header) == content
    decode = decoder().incremental(header)
    assert b"".join(map(decode, cut(frame, 1000))) == content


@given(st.integers(0, 3000))
def test_a_frame_is_decoded_up_to_where_it_is_wanted(size: int) -> None:
    frame = zstd_frame(CONTENT[:3000])
    assert decode_into(frame, size, whole=False) == CONTENT[:size]


@pytest.mark.parametrize("content_size", [True, False])
@pytest.mark.parametrize("content", [CONTENT, noise(5000)])
def test_a_wrong_checksum_is_noticed_by_all_ways(content: bytes, content_size: bool) -> None:
    frame = bytearray(zstd_frame(content, content_size=content_size))
    frame[-1] ^= 1
    header = parse_frame_header(frame)
    with pytest.raises(ChecksumError, match="damaged"):
        decode_into(bytes(frame), len(content))
    with pytest.raises(ChecksumError, match="damaged"):
        _ = [decoder().incremental(header)(bytes(frame))]
    if content_size:
        with pytest.raises(ChecksumError, match="damaged"):
            decoder().decode(frame, header)
    # What is stopped in front of the end cannot know.
    assert decode_into(bytes(frame), 100, whole=False) == content[:100]


def checked(frame: bytes) -> bool:
    try:
        decoder().check(
            memoryview(frame), parse_frame_header(frame), lambda size: memoryview(bytearray(size))
        )
    except FormatError:
        return False
    return True


def is_decoded(frame: bytes) -> bool:
    try:
        decode_into(frame, parse_frame_header(frame).content_size or 0)
    except FormatError:
        return False
    return True


def raw(content: bytes) -> bytes:
    return raw_frames([content], [content_checksum(content)])[0]


@pytest.mark.parametrize("content", [CONTENT, bytes(3000), noise(1), noise(300), noise(300_000)])
def test_a_frame_is_checked_with_and_without_its_content(content: bytes) -> None:
    assert checked(raw(content))
    assert checked(zstd_frame(content))


@given(st.integers(0, 60), st.integers(1, 255), st.booleans(), st.integers(0, 3))
def test_a_damaged_frame_of_raw_blocks_is_judged_as_the_codec_judges(place, change, from_end, cut) -> None:
    # The first block, and so its header and those before and after it, ends in the middle of the frame.
    frame = bytearray(raw(noise(20, seed=7))) if place % 2 else bytearray(raw(noise(MAX_BLOCK_SIZE + 20)))
    middle = MAX_BLOCK_SIZE if len(frame) > MAX_BLOCK_SIZE and from_end else 0
    frame[min(middle + place, len(frame) - 1)] ^= change
    damaged = bytes(frame[: len(frame) - cut])
    try:
        header = parse_frame_header(damaged)
    except FormatError:
        return
    if header.has_checksum and header.content_size is not None and header.content_size < 1 << 20:
        assert checked(damaged) == is_decoded(damaged)


@pytest.mark.parametrize("content_size", [True, False])
def test_another_size_than_the_frame_has_is_noticed(content_size: bool) -> None:
    frame = zstd_frame(CONTENT, content_size=content_size)
    with pytest.raises(ChecksumError, match="100000 bytes, not 100001"):
        decode_into(frame, len(CONTENT) + 1)
    if not content_size:
        # Where the frame states its size, that was compared with the table before.
        with pytest.raises(ChecksumError, match="more than 99999"):
            decode_into(frame, len(CONTENT) - 1)


def test_a_frame_that_lies_about_its_size_is_noticed() -> None:
    frame = bytearray(zstd_frame(noise(300)))
    assert frame[4] == 0x64  # two bytes of content size follow
    frame[5] -= 1
    header = parse_frame_header(frame)
    assert header.content_size == 299
    with pytest.raises(ChecksumError):
        decoder().decode(frame, header)
    with pytest.raises(ChecksumError):
        decode_into(bytes(frame), 299)


def test_a_cut_frame_is_damage() -> None:
    frame = zstd_frame(CONTENT)
    header = parse_frame_header(frame)
    for length in (header.size, len(frame) // 2, len(frame) - 1):
        with pytest.raises(ChecksumError):
            decoder().decode(frame[:length], header)
        with pytest.raises(ChecksumError):
            decode_into(frame[: min(length, len(frame) // 2)], len(CONTENT))


# Windows.


@pytest.mark.parametrize("window_log", [24, 27])
def test_a_window_beyond_the_limit_is_refused_with_the_way_out(window_log: int) -> None:
    frame = zstd_frame(CONTENT, content_size=False, window_log=window_log)
    header = parse_frame_header(frame)
    limited = decoder(max_window_size=8 << 20)
    way_out = rf"window of {1 << window_log} bytes.* raise max_window_size \(--max-window\)"
    with pytest.raises(LimitError, match=way_out):
        limited.incremental(header)
    with pytest.raises(LimitError, match=way_out):
        decode_into(frame, len(CONTENT), by=limited)
    allowed = decoder(max_window_size=1 << window_log)
    assert allowed.incremental(header)(frame) == CONTENT
    assert decode_into(frame, len(CONTENT), by=allowed) == CONTENT


# Dictionaries.


def test_the_dictionary_is_loaded_once_and_only_for_frames_that_need_it() -> None:
    loads = []

    def load() -> Dictionary:
        loads.append(1)
        return Dictionary(some_dictionary().as_bytes())

    lazy = FrameDecoder(load)
    plain, needing = zstd_frame(CONTENT), zstd_frame(CONTENT, dictionary=some_dictionary())
    assert lazy.decode(plain, parse_frame_header(plain)) == CONTENT
    assert not loads
    for _ in range(3):
        assert lazy.decode(needing, parse_frame_header(needing)) == CONTENT
        assert decode_into(needing, len(CONTENT), by=lazy) == CONTENT
        assert lazy.incremental(parse_frame_header(needing))(needing) == CONTENT
        assert lazy.decode(plain, parse_frame_header(plain)) == CONTENT
    assert len(loads) == 1


@pytest.mark.parametrize("content_size", [True, False])
def test_a_dictionary_that_is_not_named_is_tried(content_size: bool) -> None:
    content = text(600, seed=42)
    frame = zstd_frame(
        content, dictionary=some_dictionary(), name_dictionary=False, content_size=content_size
    )
    header = parse_frame_header(frame)
    dictionary = some_dictionary().as_bytes()
    if content_size:
        assert decoder(dictionary).decode(frame, header) == content
    assert decode_into(frame, len(content), by=decoder(dictionary)) == content
    assert decoder(dictionary).incremental(header)(frame) == content
    with pytest.raises(ChecksumError):
        decode_into(frame, len(content))


def test_a_dictionary_that_is_not_there_is_named() -> None:
    frame = zstd_frame(CONTENT, dictionary=some_dictionary())
    header = parse_frame_header(frame)
    other = bytearray(some_dictionary().as_bytes())
    other[4:8] = (77).to_bytes(4, "little")
    for data, found in ((None, "no dictionary"), (bytes(other), "dictionary 77")):
        for decode in (
            lambda by: by.decode(frame, header),
            lambda by: decode_into(frame, len(CONTENT), by=by),
            lambda by: by.incremental(header),
        ):
            with pytest.raises(FormatError, match=f"needs dictionary 305419896, but the file has {found}"):
                decode(decoder(data))


def test_threads_share_a_decoder() -> None:
    shared = decoder(some_dictionary().as_bytes())
    frames = []
    for number in range(40):
        content = text(5000, seed=number)
        dictionary = some_dictionary() if number % 2 else None
        frames.append((zstd_frame(content, dictionary=dictionary), content))

    def check(number: int) -> bool:
        frame, content = frames[number % 40]
        return (
            shared.decode(frame, parse_frame_header(frame)) == content == decode_into(frame, 5000, by=shared)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(check, range(400)))


def test_content_checksum_is_what_frames_end_with() -> None:
    for content in (b"", b"x", CONTENT):
        assert content_checksum(content).to_bytes(4, "little") == zstd_frame(content)[-4:]
        assert content_checksum(memoryview(content)) == xxhash.xxh64_intdigest(content) & 0xFFFF_FFFF
