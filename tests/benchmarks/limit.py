"""The limit: what a read costs at least, whatever the library.

One read of the file, and for each frame that the range touches one call of libzstd, which also makes and
compares the XXH64 that ends the frame. Where each frame begins is known beforehand, nothing is kept, and
nothing but the codec looks whether the bytes are right.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path

import zstandard

import seekwarc

__all__ = ["bare_reader", "place_of_large"]


def place_of_large(path: Path) -> tuple[int, int]:
    """Return offset and length of the large record, as an index would have them."""
    with seekwarc.open(path) as archive:
        record = next(record for record in archive if record.type == "response")
        return record.offset, record.length


def bare_reader(
    stack: ExitStack, path: Path, *, verify: bool = True, reopen: bool = False
) -> Callable[[int, int], bytes]:
    """Return what reads a range of the large record's payload with nothing around the calls that must be.

    Args:
        stack: Closes the file.
        path: A .warc.zst by our writer.
        verify: Decode whole frames, so that the codec compares their checksums. Without it decoding stops
            where the range ends.
        reopen: Open and close the file for each read.
    """
    with seekwarc.open(path) as archive:
        record = archive.record_at(*place_of_large(path))
        table = record.body.frames
        shift = len(record.header.raw) + record.http.size
        ends = list(accumulate(table.content_sizes, initial=-shift))
        places = list(accumulate(table.stored_sizes, initial=record.offset))
    codec = zstandard.ZstdDecompressor()
    descriptor = os.open(path, os.O_RDONLY)
    stack.callback(os.close, descriptor)

    def stored(file: int, start: int, length: int) -> tuple[range, bytes]:
        frames = range(bisect_right(ends, start) - 1, bisect_left(ends, start + length))
        begin = places[frames.start]
        return frames, os.pread(file, places[frames.stop] - begin, begin)

    def read(start: int, length: int, file: int = descriptor) -> bytes:
        frames, data = stored(file, start, length)
        skip = start - ends[frames.start]
        if len(frames) == 1:
            return codec.decompress(data)[skip : skip + length]
        base = places[frames.start]
        view = memoryview(data)
        parts = [
            codec.decompress(view[places[number] - base : places[number + 1] - base]) for number in frames
        ]
        return b"".join(parts)[skip : skip + length]

    def read_unverified(start: int, length: int) -> bytes:
        frames, data = stored(descriptor, start, length)
        begin = start - ends[frames.start]
        with codec.stream_reader(data, read_across_frames=True) as reader:
            return reader.read(begin + length)[begin:]

    def read_reopened(start: int, length: int) -> bytes:
        file = os.open(path, os.O_RDONLY)
        try:
            return read(start, length, file)
        finally:
            os.close(file)

    return read_reopened if reopen else read if verify else read_unverified
