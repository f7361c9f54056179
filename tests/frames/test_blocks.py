"""Ranges of a frame in blocks that are stored as they are: what a decoder of all of it delivers."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from seekwarc import Dictionary
from seekwarc.errors import FormatError
from seekwarc.format.zstd import parse_frame_header, raw_block_headers
from seekwarc.frames.blocks import FrameBlocks
from seekwarc.frames.context import FrameContext
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.scan import MAX_BLOCKS, scan_blocks
from seekwarc.storage.fetch import Fetcher
from tests.support.foreign import some_dictionary, text, zstd_frame
from tests.support.rounds import rounds
from tests.support.sources import RecordingSource
from tests.support.writing import noise

FRONT = b"front"
RAW, RLE, COMPRESSED = range(3)
CAN_BE_READ = (RAW, RLE)


@dataclass
class Block:
    """A block as an independent walk and an independent decoder find it."""

    kind: int
    start: int
    stop: int


def step(frame: bytes, place: int) -> tuple[int, int]:
    """Return the kind of the block at a place, and where it ends."""
    header = int.from_bytes(frame[place : place + 3], "little")
    kind = header >> 1 & 3
    return kind, place + 3 + (1 if kind == RLE else header >> 3)


def decoded(frame: bytes, dictionary: zstandard.ZstdCompressionDict | None = None) -> list[Block]:
    """Decode block by block, from the beginning, with the frame as it is."""
    decoder = zstandard.ZstdDecompressor(dict_data=dictionary).decompressobj()
    place = zstandard.frame_header_size(frame)
    decoder.decompress(frame[:place])
    blocks, position, is_last = [], 0, False
    while not is_last:
        is_last = bool(frame[place] & 1)
        kind, end = step(frame, place)
        size = len(decoder.decompress(frame[place:end]))
        blocks.append(Block(kind, position, position + size))
        place, position = end, position + size
    return blocks


def blocks_of(
    frame: bytes, dictionary: zstandard.ZstdCompressionDict | None = None
) -> tuple[FrameBlocks, RecordingSource]:
    source = RecordingSource(FRONT + frame + b"and what follows")
    fetcher = Fetcher(source)
    known = None
    if dictionary is not None:
        known = Dictionary(dictionary.as_bytes())
    context = FrameContext(fetcher, FrameDecoder(lambda: known), cache_size=0, threads=1)
    header = parse_frame_header(frame)
    headers, end = scan_blocks(fetcher, len(FRONT), header)
    assert end == len(FRONT) + len(frame)
    source.forget()
    return FrameBlocks(context, len(FRONT), header, headers), source


def read(blocks: FrameBlocks, start: int, stop: int) -> bytes | None:
    found = blocks.find(start, stop)
    if found is None:
        return None
    out = bytearray(stop - start)
    found.read_into(start, memoryview(out))
    assert found.read(start, stop) == out
    return bytes(out)


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[bytes, bytes, dict]:
    """Draw content that compresses here and there, its frame, and what it was made with."""
    rng = random.Random(draw(st.integers(0, 1 << 32)))
    dictionary = some_dictionary() if draw(st.integers(0, 3)) == 0 else None
    options = zstandard.ZstdCompressionParameters.from_level(
        draw(st.sampled_from([1, 1, 3, 3, 19])),
        window_log=draw(st.sampled_from([10, 11, 12, 17])),
        write_checksum=draw(st.booleans()),
        write_content_size=draw(st.booleans()),
    )
    compressor = zstandard.ZstdCompressor(compression_params=options, dict_data=dictionary)
    made, content = compressor.compressobj(), []
    frame = []
    for _ in range(draw(st.integers(1, 8))):
        size = rng.choice([1, 50, 700, 3000, 9000])
        before = b"".join(content[-2:])
        content.append(
            rng.choice(
                [noise(size, rng.getrandbits(30)), text(size), bytes(size), before[-size:] or b"begin"]
            )
        )
        frame.append(made.compress(content[-1]))
        if rng.random() < 0.4:
            frame.append(made.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    frame.append(made.flush())
    return b"".join(content), b"".join(frame), {"dictionary": dictionary}


@settings(max_examples=rounds(15))
@given(mixtures(), st.randoms(use_true_random=False))
def test_ranges_are_those_of_a_decoder_from_the_start(mixture, rng) -> None:
    content, frame, options = mixture
    truth = decoded(frame, **options)
    assert truth[-1].stop == len(content)
    blocks, _ = blocks_of(frame, **options)
    for _ in range(12):
        start, stop = sorted(rng.sample(range(len(content) + 1), 2)) if len(content) > 1 else (0, 1)
        stop = min(stop, start + rng.choice([1, 300, 1 << 20]))
        inside = [it for it in truth if it.start < stop and it.stop > start]
        found = read(blocks, start, stop)
        assert (found is not None) == all(it.kind in CAN_BE_READ for it in inside)
        assert found in (None, content[start:stop])
    assert blocks.find(0, len(content) + 1) is None


def by_hand(blocks: list[tuple[int, int, bytes]], window: int = 0x38, *, stated: int | None = None) -> bytes:
    """Make a frame of blocks (kind, size, data), with or without a content size."""
    made = b"\x28\xb5\x2f\xfd" + (bytes([0, window]) if stated is None else b"\xc0" + bytes([window]))
    made += b"" if stated is None else struct.pack("<Q", stated)
    for number, (kind, size, data) in enumerate(blocks):
        made += (size << 3 | kind << 1 | (number == len(blocks) - 1)).to_bytes(3, "little") + data
    return made


@settings(max_examples=rounds(20))
@given(st.lists(st.tuples(st.sampled_from([RAW, RLE]), st.integers(0, 2000)), min_size=1, max_size=12))
def test_blocks_of_any_size_are_read_as_they_are(sizes) -> None:
    drawn = [(kind, size, noise(size if kind == RAW else 1, size)) for kind, size in sizes]
    content = b"".join(data * (size if kind == RLE else 1) for kind, size, data in drawn)
    blocks, source = blocks_of(by_hand(drawn))
    for start in range(0, len(content), 1701):
        for stop in {min(start + 1, len(content)), min(start + 900, len(content)), len(content)}:
            assert read(blocks, start, stop) == content[start:stop]
    assert all(stop - start <= sum(size + 4 for _, size, _ in drawn) for start, stop in source.requests)


def test_a_range_costs_one_short_read() -> None:
    content = noise(2 << 20)
    blocks, source = blocks_of(zstd_frame(content))
    found = blocks.find(300_000, 365_536)
    assert found is not None
    assert found.read(300_000, 365_536) == content[300_000:365_536]
    assert len(source.requests) == 1
    assert source.bytes_asked <= 65_536 + 3
    plan = found.plan(300_000, 365_536)
    assert plan.ranges == tuple(source.requests)
    assert (plan.bytes_decoded, plan.is_verified) == (0, False)


def test_of_the_content_before_only_compressed_blocks_are_read() -> None:
    content = text(20_000) + noise(2 << 20) + text(20_000, seed=2) + noise(1 << 20)
    blocks, source = blocks_of(zstd_frame(content))
    assert read(blocks, len(content) - 1000, len(content)) == content[-1000:]
    assert source.bytes_asked < 400_000
    asked = len(source.requests)
    assert read(blocks, 1 << 20, (1 << 20) + 10) == content[1 << 20 : (1 << 20) + 10]
    assert len(source.requests) == asked + 2


def test_a_long_range_takes_few_reads_and_no_more_bytes() -> None:
    content = noise(3 << 20)
    blocks, source = blocks_of(zstd_frame(content))
    assert read(blocks, 10, len(content)) == content[10:]
    # It is read twice here.
    assert len(source.requests) == 2


def prefix(frame: bytes) -> bytes:
    """Return what a streaming decoder delivers of a frame until it says that something is wrong."""
    decoder, out = zstandard.ZstdDecompressor().decompressobj(), b""
    try:
        for place in range(0, len(frame), 16):
            out += decoder.decompress(frame[place : place + 16])
            if decoder.eof:
                break
    except zstandard.ZstdError:
        pass
    return out


@settings(max_examples=rounds(40))
@given(st.randoms(use_true_random=False))
def test_damage_never_displaces_a_range(rng) -> None:
    pieces = [noise(3000, 1), text(4000), noise(2000, 2), bytes(5000), noise(2500, 3)]
    rng.shuffle(pieces)
    made = zstandard.ZstdCompressor(level=3, write_checksum=rng.random() < 0.5).compressobj()
    frame = bytearray()
    for piece in pieces:
        frame += made.compress(piece) + made.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    frame += made.flush()
    # Nearly all of it is content: damage is wanted where the frame says how that is stored, too.
    places = [zstandard.frame_header_size(bytes(frame))]
    while not frame[places[-1]] & 1:
        places.append(step(frame, places[-1])[1])
    for _ in range(rng.choice([1, 1, 3])):
        place = rng.choice([rng.randrange(len(frame)), rng.choice(places) + rng.randrange(12)])
        frame[min(place, len(frame) - 1)] ^= 1 << rng.randrange(8)
    truth = prefix(bytes(frame))
    try:
        source = Fetcher(RecordingSource(bytes(frame)))
        header = parse_frame_header(frame)
        if header.window_size == 0:
            return
        headers, _ = scan_blocks(source, 0, header)
    except FormatError:
        return
    context = FrameContext(source, FrameDecoder(lambda: None), cache_size=0, threads=1)
    blocks = FrameBlocks(context, 0, header, headers)
    for _ in range(10):
        start = rng.randrange(18_000)
        found = read(blocks, start, start + rng.choice([1, 50, 3000]))
        # Beyond the place where a decoder stops, what is stored comes as it is.
        expected = truth[start : start + len(found or b"")]
        assert found is None or found[: len(expected)] == expected


@pytest.mark.parametrize("fault", ["reserved", "too large"])
def test_impossible_blocks_are_refused(fault: str) -> None:
    frame = bytearray(by_hand([(RAW, 1000, noise(1000)), (RAW, 1000, noise(1000))]))
    place = 6 + 1003
    frame[place : place + 3] = ((1000 << 3 | 6) if fault == "reserved" else (200_000 << 3)).to_bytes(
        3, "little"
    )
    with pytest.raises(FormatError, match="block header"):
        blocks_of(bytes(frame))


def test_a_block_beyond_the_maximum_of_its_frame_is_left_to_the_decoder() -> None:
    # A window of 1 KiB.
    frame = by_hand([(RAW, 1000, noise(1000)), (RAW, 2000, noise(2000)), (RAW, 10, noise(10))], window=0)
    blocks, _ = blocks_of(frame)
    assert read(blocks, 10, 20) == noise(1000)[10:20]
    assert read(blocks, 1500, 1600) is None
    assert read(blocks, 3005, 3010) is None


@pytest.mark.parametrize("size", [1, 100_000, 131_072, 131_073, 1_000_000])
def test_sizes_tell_that_all_blocks_are_raw(size: int) -> None:
    frame = zstd_frame(noise(size))
    header = parse_frame_header(frame)
    headers, _ = scan_blocks(Fetcher(RecordingSource(frame)), 0, header)
    exact = range(len(frame), len(frame) + 1)
    assert raw_block_headers(header, size, exact, headers[0]) == headers
    assert raw_block_headers(header, size, range(len(frame) + 1), headers[0]) == headers
    for other in (range(len(frame)), range(len(frame) + 3, len(frame) + 4)):
        assert not raw_block_headers(header, size, other, headers[0])
    assert not raw_block_headers(header, size + 1, exact, headers[0])
    assert not raw_block_headers(header, size, exact, headers[0] ^ 2)
    assert not raw_block_headers(header, 1 << 60, range(len(frame) + 1), headers[0])


@pytest.mark.slow
def test_headers_of_very_many_blocks_are_not_kept() -> None:
    # Blocks of one byte.
    frame = by_hand([])[:6] + b"\x08\0\0x" * (MAX_BLOCKS + 200_000) + b"\x09\0\0x"
    headers, end = scan_blocks(Fetcher(RecordingSource(frame)), 0, parse_frame_header(frame))
    assert end == len(frame)
    assert MAX_BLOCKS < len(headers) < MAX_BLOCKS + 100_000
