"""Records of one large frame, made by hand: RLE blocks make them large at no cost."""

from __future__ import annotations

import random
import struct
from typing import NamedTuple

import zstandard

from seekwarc.format.zstd import parse_frame_header
from seekwarc.frames.block_spans import frame_spans
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.scan import Window
from seekwarc.storage.local import BytesSource
from tests.support.foreign import CRLF2, checksum, warc_header
from tests.support.sidecars import sidecar_of

BLOCK = 128 << 10
SPACING = 64 << 10
RAW, RLE, COMPRESSED = range(3)


def block(kind: int, size: int, data: bytes) -> bytes:
    return (size << 3 | kind << 1).to_bytes(3, "little") + data


class FrameMaker:
    """Puts blocks into a frame."""

    def __init__(self) -> None:
        self.content = bytearray()
        self._blocks: list[bytes] = []
        self._compressor = zstandard.ZstdCompressor(
            compression_params=zstandard.ZstdCompressionParameters.from_level(1, window_log=17)
        )

    def raw(self, data: bytes) -> None:
        for start in range(0, len(data), BLOCK):
            piece = data[start : start + BLOCK]
            self._blocks.append(block(RAW, len(piece), piece))
        self.content += data

    def rle(self, letter: bytes, count: int) -> None:
        self._blocks.append(block(RLE, count, letter))
        self.content += letter * count

    def compressed(self, data: bytes) -> None:
        """Add a block that a compressor made of the beginning of a frame, as a flush does."""
        frame = self._compressor.compress(data)
        header = parse_frame_header(frame)
        place = header.size
        number = int.from_bytes(frame[place : place + 3], "little")
        assert number & 1
        assert number >> 1 & 3 == COMPRESSED
        self._blocks.append(block(COMPRESSED, number >> 3, frame[place + 3 : place + 3 + (number >> 3)]))
        self.content += data

    def build(self, *, content_size: bool = False, damage: bool = False) -> bytes:
        *blocks, last = self._blocks
        header = b"\x28\xb5\x2f\xfd" + bytes([0xC4 if content_size else 0x04, 0x38])
        header += struct.pack("<Q", len(self.content)) * content_size
        end = bytes((last[0] | 1,)) + last[1:]
        return header + b"".join([*blocks, end]) + struct.pack("<I", checksum(self.content) ^ damage)


class Film(NamedTuple):
    """A record of one large frame, between two small ones."""

    data: bytes
    offset: int
    length: int
    content: bytes
    compressed: list[tuple[int, int]]
    """Content that is in compressed blocks."""

    def sidecar(self, spacing: int = SPACING) -> bytes:
        frame = parse_frame_header(self.data[self.offset : self.offset + 20])
        source = BytesSource(self.data)
        decode = FrameDecoder(lambda: None).incremental(frame)
        made = frame_spans(
            Window(source), self.offset, frame, len(self.content), spacing=spacing, decode=decode
        )
        return sidecar_of(self.data, [made])


def film(seed: int, runs: int = 6, noise: int = 1, *, content_size: bool = False) -> Film:
    """Make a film: raw blocks of noise, here and there a compressed one, and long runs of one byte."""
    rnd = random.Random(seed)
    sizes = [(rnd.randint(noise, noise + 150_000), rnd.randint(50, 2000)) for _ in range(runs)]
    count = 33 << 3
    size = sum(map(sum, sizes)) + count * BLOCK
    made, compressed = FrameMaker(), []
    made.raw(warc_header(size, 1))
    for number, (size, text) in enumerate(sizes):
        made.raw(rnd.randbytes(size))
        if number == runs // 2:
            for letter in range(count):
                made.rle(bytes((letter % 256,)), BLOCK)
        begin = len(made.content)
        made.compressed((b"what compresses, number %d. " % number * 100)[:text])
        compressed.append((begin, len(made.content)))
    made.raw(CRLF2)
    small = zstandard.ZstdCompressor().compress(warc_header(5) + b"small" + CRLF2)
    frame = made.build(content_size=content_size)
    return Film(small + frame + small, len(small), len(frame), bytes(made.content), compressed)
