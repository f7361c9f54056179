"""Zstandard frames by python-zstandard; `codec.py` says what each function does."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import zstandard

from seekwarc.compiling import Buffer

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

NAME: Final = f"zstandard {zstandard.__version__}"
BATCHES_WITH_DICTIONARY: Final = True
COMPRESSES_MANY: Final = "multi_compress_to_buffer" in zstandard.backend_features
CodecError = zstandard.ZstdError
SEGMENT: Final = 800
"""Bytes in a row that a dictionary takes of a sample."""
GRAM: Final = 8
"""Bytes whose repetition is counted."""


class _Codec:
    def __init__(self, dictionary: bytes) -> None:
        self._data = dictionary
        # A partial, not a method: the first read of a file takes a call less.
        self.decompressor = partial(zstandard.ZstdDecompressor, dict_data=self._dictionary())

    def _dictionary(self) -> zstandard.ZstdCompressionDict | None:
        if not self._data:
            return None
        return zstandard.ZstdCompressionDict(self._data, dict_type=zstandard.DICT_TYPE_FULLDICT)

    def compressor(self, level: int) -> zstandard.ZstdCompressor:
        dictionary = self._dictionary()
        if dictionary is not None:
            # Digested for this level once, not again for each frame.
            dictionary.precompute_compress(level=level)
        return zstandard.ZstdCompressor(level=level, dict_data=dictionary, write_checksum=True)


codec = _Codec


def decompress_into(
    decompressor: zstandard.ZstdDecompressor, frame: Buffer, out: memoryview, *, beyond: bool
) -> int:
    filled = 0
    with decompressor.stream_reader(frame) as reader:
        while filled < len(out):
            count = reader.readinto(out[filled:])
            if not count:
                return filled
            filled += count
        return filled + reader.readinto(bytearray(1)) if beyond else filled


def decompress_many(
    decompressor: zstandard.ZstdDecompressor, data: bytes, places: array[int], sizes: array[int]
) -> list[bytes]:
    # By one call, which does not hold the interpreter's lock.
    segments = zstandard.BufferWithSegments(data, places.tobytes())
    # Any: the codec's types do not say that what it returns are buffers.
    found: Any = decompressor.multi_decompress_to_buffer(
        segments, decompressed_sizes=sizes.tobytes(), threads=1
    )
    return [found[number].tobytes() for number in range(len(sizes))]


def stream(decompressor: zstandard.ZstdDecompressor) -> Callable[[bytes], bytes]:
    return decompressor.decompressobj().decompress


def compress_many(compressor: zstandard.ZstdCompressor, contents: Sequence[Buffer]) -> Iterable[bytes]:
    if not COMPRESSES_MANY:
        return map(compressor.compress, contents)
    # One call for all: after each, this thread would wait for the interpreter's lock.
    frames = compressor.multi_compress_to_buffer([*contents])
    return [frames[number].tobytes() for number in range(len(frames))]


def train(samples: Sequence[bytes], size: int, level: int) -> bytes:
    # Trying out lengths of segments takes ten times as long, for files that are at most 1 % smaller. Of two
    # lengths that do equally well, the codec would take the one that a thread has tried first.
    segment = min(SEGMENT, size // 4)
    trained = zstandard.train_dictionary(size, [*samples], dict_id=1, level=level, k=segment, d=GRAM)
    return trained.as_bytes()
