"""The two codecs: one reads what the other makes, both refuse the same, and one of them is chosen."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tracemalloc
from array import array
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.zstd import parse_frame_header, raw_frames
from seekwarc.frames import zstandard_codec
from seekwarc.frames.codec import LIBRARY
from seekwarc.frames.decoder import FrameDecoder, content_checksum
from seekwarc.frames.dictionary import Dictionary
from seekwarc.system import has_global_lock
from tests.support.foreign import cut, some_dictionary, text, zstd_frame
from tests.support.writing import noise

stdlib_codec = pytest.importorskip("seekwarc.frames.stdlib_codec", exc_type=ImportError)
CODECS = (zstandard_codec, stdlib_codec)
DICTIONARY = some_dictionary().as_bytes()
RECORDS = [f"WARC/1.1\r\nWARC-Type: response\r\nNumber: {n * 977}\r\n\r\n".encode() * 3 for n in range(300)]
CONTENTS = [b"", b"x", bytes(300_000), noise(5000), noise(200_000), text(700, seed=1), text(70_000, seed=2)]

each_codec = pytest.mark.parametrize("codec", CODECS, ids=["zstandard", "stdlib"])
both_ways = pytest.mark.parametrize(("one", "other"), [CODECS, CODECS[::-1]], ids=["zstandard", "stdlib"])


def many(codec: ModuleType, frames: list[bytes], sizes: list[int], dictionary: bytes = b"") -> list[bytes]:
    places, start = array("Q"), 0
    for frame in frames:
        places.extend((start, len(frame)))
        start += len(frame)
    decompressor = codec.codec(dictionary).decompressor()
    return [*map(bytes, codec.decompress_many(decompressor, b"".join(frames), places, array("Q", sizes)))]


@both_ways
@pytest.mark.parametrize("dictionary", [b"", DICTIONARY])
@pytest.mark.parametrize("level", [-7, 1, 3, 19])
def test_frames_of_one_are_read_by_the_other(one, other, dictionary, level) -> None:
    compressor = one.codec(dictionary).compressor(level)
    frames = [*one.compress_many(compressor, CONTENTS)]
    assert frames == [*map(compressor.compress, CONTENTS)]
    decompressor = other.codec(dictionary).decompressor()
    for frame, content in zip(frames, CONTENTS, strict=True):
        header = parse_frame_header(frame)
        assert (header.content_size, header.has_checksum) == (len(content), True)
        assert bool(header.dictionary_id) == bool(dictionary)
        assert frame[-4:] == content_checksum(content).to_bytes(4, "little")
        assert decompressor.decompress(frame) == content
        decompress = other.stream(decompressor)
        assert b"".join(map(decompress, cut(frame, 999))) == content
        out = bytearray(len(content))
        assert other.decompress_into(decompressor, frame, memoryview(out), beyond=True) == len(content)
        assert out == content
    assert many(other, frames, [*map(len, CONTENTS)], dictionary) == CONTENTS


def test_frames_are_nearly_as_small() -> None:
    for content in CONTENTS:
        sizes = [len(codec.codec(b"").compressor(3).compress(content)) for codec in CODECS]
        assert max(sizes) <= 1.01 * min(sizes) + 8


@both_ways
def test_a_dictionary_of_one_helps_the_other(one, other) -> None:
    dictionary = one.train(RECORDS, 2048, 3)
    frames = [*other.compress_many(other.codec(dictionary).compressor(3), RECORDS)]
    assert parse_frame_header(frames[0]).dictionary_id == int.from_bytes(dictionary[4:8], "little") > 0
    without = other.compress_many(other.codec(b"").compressor(3), RECORDS)
    assert sum(map(len, frames)) < 0.7 * sum(map(len, without))
    assert many(one, frames, [*map(len, RECORDS)], dictionary) == RECORDS


@each_codec
def test_what_nothing_can_be_trained_on_is_an_error(codec) -> None:
    for samples in ([], [b""], [b"x"], [b"the same"] * 3):
        with pytest.raises(codec.CodecError):
            codec.train(samples, 1024, 3)


@each_codec
def test_a_damaged_dictionary_is_noticed(codec) -> None:
    with pytest.raises(codec.CodecError):
        codec.codec(DICTIONARY[:8] + b"\xff" * 100).decompressor()


def frame_of(kind: str, content: bytes) -> bytes:
    if kind == "raw":
        return raw_frames([content], [content_checksum(content)])[0]
    if kind == "small window":
        return zstd_frame(content, window_log=10)
    return zstd_frame(content, level=19 if kind == "high level" else 1, checksum=kind != "no checksum")


KINDS = st.sampled_from(["level 1", "high level", "raw", "no checksum", "small window"])


@given(
    st.lists(st.tuples(KINDS, st.integers(1, 3000), st.integers(0, 5)), min_size=1, max_size=20), st.data()
)
def test_many_frames_are_decoded_as_each_alone(kinds, data) -> None:
    # python-zstandard itself fails where all are empty; such frames are never given to it.
    contents = [b"." + text(size, seed=seed) if seed else bytes(size) for _, size, seed in kinds]
    frames = [frame_of(kind, content) for (kind, _, _), content in zip(kinds, contents, strict=True)]
    sizes = [*map(len, contents)]
    assert many(zstandard_codec, frames, sizes) == many(stdlib_codec, frames, sizes) == contents
    damaged = data.draw(st.integers(0, len(frames) - 1))
    frame = bytearray(frames[damaged])
    place = data.draw(st.integers(parse_frame_header(frame).size, len(frame) - 1))
    frame[place] ^= 1 << data.draw(st.integers(0, 7))
    frames[damaged] = bytes(frame)
    results = []
    for codec in CODECS:
        try:
            results.append(many(codec, frames, sizes))
        except codec.CodecError:
            results.append([])
    assert results[0] == results[1]


def test_a_frame_that_holds_less_than_it_states_is_damaged() -> None:
    sound = zstd_frame(bytes(2), level=1)
    begin = parse_frame_header(sound).size
    for place, bit in itertools.product(range(begin, len(sound)), range(8)):
        damaged = bytearray(sound)
        damaged[place] ^= 1 << bit
        # As an empty block that is compressed, it would be filled up with what joins it to others.
        for frames in ([bytes(damaged)], [sound, bytes(damaged)], [bytes(damaged), sound]):
            for codec in CODECS:
                with pytest.raises(codec.CodecError):
                    many(codec, frames, [2] * len(frames))


@each_codec
def test_a_frame_that_holds_more_than_it_states_takes_no_memory_for_it(codec) -> None:
    # A window of 128 KiB, a size of 256 bytes, and a gigabyte of zeros.
    bomb = b"\x28\xb5\x2f\xfd\x40\x38\x00\x00" + b"\x02\x00\x10\x00" * 8000 + b"\x01\x00\x00"
    assert parse_frame_header(bomb).content_size == 256
    tracemalloc.start()
    try:
        with pytest.raises(codec.CodecError):
            codec.codec(b"").decompressor().decompress(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@each_codec
def test_a_frame_that_does_not_state_its_size_is_no_whole_frame(codec) -> None:
    with pytest.raises(codec.CodecError):
        codec.codec(b"").decompressor().decompress(zstd_frame(b"content", content_size=False))


@each_codec
def test_nothing_follows_the_end_of_a_stream(codec) -> None:
    decompress = codec.stream(codec.codec(b"").decompressor())
    assert decompress(zstd_frame(b"content")) == b"content"
    with pytest.raises(codec.CodecError):
        decompress(b"more")


def test_frames_with_a_dictionary_are_no_batches_where_each_costs_the_lock() -> None:
    assert FrameDecoder(lambda: None).gains_by_batches
    with_dictionary = FrameDecoder(lambda: Dictionary(DICTIONARY))
    assert with_dictionary.gains_by_batches == (LIBRARY is zstandard_codec or not has_global_lock())


def chosen(code: str = "", **environment: str) -> str:
    script = f"{code}\nfrom seekwarc.frames.codec import LIBRARY; print(LIBRARY.__name__)"
    env = {name: value for name, value in os.environ.items() if name != "SEEKWARC_CODEC"} | environment
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, check=False, env=env, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[-1]


def test_the_codec_is_chosen() -> None:
    locked = "import sys; sys._is_gil_enabled = lambda: True"
    assert chosen(locked) == "seekwarc.frames.zstandard_codec"
    assert chosen(f"{locked}; sys.modules['zstandard'] = None") == "seekwarc.frames.stdlib_codec"
    assert chosen("import sys; sys._is_gil_enabled = lambda: False") == "seekwarc.frames.stdlib_codec"
    assert chosen(SEEKWARC_CODEC="stdlib") == "seekwarc.frames.stdlib_codec"
    assert "must be 'zstandard' or 'stdlib'" in chosen(SEEKWARC_CODEC="zlib")
