"""Zstandard frames by `compression.zstd` of Python 3.14, or backports.zstd; see `codec.py`.

Goal: what python-zstandard does, wherever it has no wheel.

Plan: a decompressor decodes one frame only, and making one can take longer than decoding a frame of 4 KiB.
Small frames with checksums and without dictionary are therefore joined: their blocks become those of one
frame. After those of each, blocks whose content is dropped set again what a frame begins with: the offsets
that sequences repeat (RFC 8878, section 3.1.1.5). Each content is compared with its checksum.

Worst case: a forged frame that needs what lies before it, or breaks what its own header says. Alone it cannot
be decoded; joined it may, to a content that has its checksum.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import xxhash

from seekwarc.compiling import Buffer
from seekwarc.errors import FormatError
from seekwarc.format.zstd import (
    BLOCK_HEADER_SIZE,
    FRAME_MAGIC_BYTES,
    RLE_BLOCK,
    parse_frame_header,
    walk_blocks,
)
from seekwarc.system import has_global_lock

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = [
    "BATCHES_WITH_DICTIONARY",
    "NAME",
    "CodecError",
    "codec",
    "compress_many",
    "decompress_into",
    "decompress_many",
    "stream",
    "train",
]

NAME: Final = f"{zstd.__name__}, libzstd {zstd.zstd_version}"
# Those are decoded one by one, and after each a thread waits for the lock.
BATCHES_WITH_DICTIONARY: Final = not has_global_lock()
CodecError = zstd.ZstdError
# The caller has compared the window with its limit, which need not be a power of two, as this must.
_MAX_LOG = zstd.DecompressionParameter.window_log_max
_OPTIONS: Final[dict[int, int]] = {_MAX_LOG: _MAX_LOG.bounds()[1]}

JOINED: Final = 64 << 10
"""Content bytes after which no more frames are joined: more do not fit into a processor's cache."""
WORTH_JOINING: Final = 16 << 10
"""The same of a single frame."""
CHECKSUM_SIZE: Final = 4


def _block(literals: bytes, length_code: int, offset_code: int, bits: int) -> bytes:
    """Return a compressed block of literals and one match of 3 bytes; its tables are of one symbol each."""
    content = bytes([len(literals) << 3, *literals, 1, 0x54, length_code, offset_code, 0, bits])
    return (len(content) << 3 | 4).to_bytes(3, "little") + content


# Matches at the distances 8, 4 and 1, which are those that a frame begins with.
_AS_AT_BEGINNING: Final = _block(bytes(8), 8, 3, 0b1011) + _block(b"", 0, 2, 0b111) + _block(b"", 0, 2, 0b100)
_DROPPED: Final = 8 + 3 * 3
# A frame that states a window of 128 KiB, but neither size nor checksum; and an empty last block.
_HEAD, _END = FRAME_MAGIC_BYTES + b"\x00\x38", b"\x01\0\0"


class _Decompressor:
    def __init__(self, dictionary: zstd.ZstdDict | None) -> None:
        self.has_dictionary = dictionary is not None
        self.begin = partial(zstd.ZstdDecompressor, dictionary, _OPTIONS)
        if dictionary is not None:
            self.begin()  # Whether its tables are damaged is seen here.

    def decompress(self, frame: Buffer) -> bytes:
        size = parse_frame_header(frame).content_size
        if size is None:
            raise CodecError("the frame does not state its size")
        decompressor = self.begin()
        content = decompressor.decompress(frame, size)
        if not decompressor.eof:
            raise CodecError("the frame is cut off, or holds more than it states")
        return content


class _Compressor:
    def __init__(self, dictionary: zstd.ZstdDict | None, level: int) -> None:
        parameter = zstd.CompressionParameter
        options: dict[int, int] = {parameter.compression_level: level, parameter.checksum_flag: 1}
        # Digested for this level once, not again for each frame.
        digested = dictionary.as_digested_dict if dictionary is not None else None
        made = zstd.ZstdCompressor(options=options, zstd_dict=digested)
        self.compress = partial(made.compress, mode=made.FLUSH_FRAME)


class _Codec:
    def __init__(self, dictionary: bytes) -> None:
        self._dictionary = zstd.ZstdDict(dictionary) if dictionary else None

    def decompressor(self, *, max_window_size: int = 0) -> _Decompressor:  # noqa: ARG002 - see _OPTIONS
        return _Decompressor(self._dictionary)

    def compressor(self, level: int) -> _Compressor:
        return _Compressor(self._dictionary, level)


codec = _Codec


def decompress_into(decompressor: _Decompressor, frame: Buffer, out: memoryview, *, beyond: bool) -> int:
    context = decompressor.begin()
    content = context.decompress(frame, len(out))
    out[: len(content)] = content
    return len(content) + (len(context.decompress(b"", 1)) if beyond and not context.eof else 0)


def decompress_many(
    decompressor: _Decompressor, data: bytes, places: array[int], sizes: array[int]
) -> list[bytes]:
    view, found, first = memoryview(data), list[bytes](), 0
    frames = [view[start : start + size] for start, size in zip(places[::2], places[1::2], strict=True)]
    while first < len(sizes):
        last, size = first + 1, sizes[first]
        while last < len(sizes) and size < JOINED and sizes[last] < WORTH_JOINING:
            size += sizes[last]
            last += 1
        contents = [] if decompressor.has_dictionary else _joined(frames[first:last], sizes[first:last])
        found += contents or map(decompressor.decompress, frames[first:last])
        first = last
    return found


def _joined(frames: Sequence[memoryview], sizes: Sequence[int]) -> list[bytes]:
    """Decode frames as one; return nothing where they cannot be."""
    size = sum(sizes) + _DROPPED * len(sizes)
    context = zstd.ZstdDecompressor()
    try:
        content = context.decompress(b"".join((_HEAD, *map(_blocks_of, frames), _END)), size)
    except (CodecError, FormatError):
        return []
    contents, start = [], 0
    for frame, length in zip(frames, sizes, strict=True):
        contents.append(content[start : start + length])
        start += length + _DROPPED
        checksum = xxhash.xxh64_intdigest(contents[-1]) & 0xFFFF_FFFF
        if checksum.to_bytes(CHECKSUM_SIZE, "little") != frame[-CHECKSUM_SIZE:]:
            return []
    # A damaged frame may hold less than it states, and what follows it in this one may look like the rest.
    return contents if context.eof and len(content) == size else []


def _blocks_of(frame: memoryview) -> bytes:
    """Return the blocks of a frame, none of which says that it is the last, and what sets offsets again."""
    header = parse_frame_header(frame)
    blocks = array("I")
    stop, done = walk_blocks(frame, header.size, blocks)
    if not (done and header.has_checksum) or header.dictionary_id or stop + CHECKSUM_SIZE != len(frame):
        raise FormatError("the frame cannot be joined to others")
    last = blocks[-1]
    begin = stop - (1 if last >> 1 & 3 == RLE_BLOCK else last >> 3)
    header_of_last = (last - 1).to_bytes(BLOCK_HEADER_SIZE, "little")
    before = frame[header.size : begin - BLOCK_HEADER_SIZE]
    return b"".join((before, header_of_last, frame[begin:stop], _AS_AT_BEGINNING))


def stream(decompressor: _Decompressor) -> Callable[[bytes], bytes]:
    context = decompressor.begin()

    def decompress(piece: bytes) -> bytes:
        try:
            return context.decompress(piece)
        except EOFError as error:
            raise CodecError("the frame has ended") from error

    return decompress


def compress_many(compressor: _Compressor, contents: Sequence[Buffer]) -> Iterable[bytes]:
    return map(compressor.compress, contents)


def train(samples: Sequence[bytes], size: int, level: int) -> bytes:  # noqa: ARG001
    """Train for the default level: others differ in their statistics alone."""
    try:
        return zstd.train_dict(samples, size).dict_content
    except ValueError as error:
        raise CodecError(str(error)) from error
