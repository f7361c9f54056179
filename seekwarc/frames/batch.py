"""Many small frames decoded in one call, before they are asked for.

Goal: most files are mostly small records of one frame each. To decode these one by one costs as much in calls
as in decoding, and leaves all but one processor idle: a second thread would fight for the interpreter's lock
after each frame.

Plan: a thread measures frames by their headers until 256 KiB of content or 1,024 frames are together, and
decodes them with one call of the codec, during which it holds no lock. `Prefetcher` bounds how many batches
wait.

Worst case: a frame in the middle that cannot be decoded. The batch is given up, and the caller goes on frame
by frame, which finds the damage where it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

import zstandard

from seekwarc.errors import FormatError
from seekwarc.format.zstd import measure_frame
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.prefetch import Prefetcher
from seekwarc.frames.scan import Window, frame_start_at

__all__ = ["SMALL_FRAME", "FrameBatch", "prefetched_batches"]

SMALL_FRAME: Final = 64 << 10
"""Larger frames, stored or decoded, are left to others: they may be part of a record nobody wants to read."""
MAX_FRAMES: Final = 1024
MAX_CONTENT: Final = 256 << 10
"""What one call decodes, and is copied from right after, should fit into a processor's cache."""


class FrameBatch(NamedTuple):
    """Consecutive small frames and what they hold."""

    ends: list[int]
    """Offset after each frame."""
    contents: list[bytes]
    size: int
    """Content bytes in all."""
    followed: bool
    """Whether another frame with content, that is not tiny, stands after the last."""


def prefetched_batches(
    window: Window, offset: int, decoder: FrameDecoder, *, min_content: int = 0
) -> Prefetcher[FrameBatch]:
    """Decode the small frames from `offset` on in a thread of its own; see `Prefetcher`.

    It ends before the first frame that is not small, or tiny, does not state its size, or cannot be decoded.

    Args:
        window: What the stored bytes are read through, by this alone.
        offset: Where the first of them begins.
        decoder: Knows the dictionary.
        min_content: Frames with no more content than this are left to others.
    """
    return Prefetcher(_batches(window, offset, decoder, min_content), lambda batch: batch.size)


def _batches(window: Window, offset: int, decoder: FrameDecoder, min_content: int) -> Iterator[FrameBatch]:
    dictionary = decoder.dictionary
    codec = zstandard.ZstdDecompressor(dict_data=dictionary.codec if dictionary else None)
    while True:
        data, begin = window.get(offset, offset + SMALL_FRAME)
        places, sizes = array("Q"), array("Q")
        ends: list[int] = []
        index, size = begin, 0
        while len(ends) < MAX_FRAMES and size < MAX_CONTENT:
            frame = measure_frame(data, index)
            if frame is None or not min_content < frame[1] <= SMALL_FRAME or frame[0] - index > SMALL_FRAME:
                break
            end = frame[0]
            places.extend((index, end - index))
            sizes.append(frame[1])
            size += frame[1]
            ends.append(offset - begin + end)
            index = end
        if not ends:
            return
        try:
            found = codec.multi_decompress_to_buffer(
                zstandard.BufferWithSegments(data, places.tobytes()),
                decompressed_sizes=sizes.tobytes(),
                threads=1,
            )
        except zstandard.ZstdError:
            return
        offset = ends[-1]
        contents = [found[number].tobytes() for number in range(len(ends))]
        yield FrameBatch(ends, contents, size, _has_content(window, offset, min_content))


def _has_content(window: Window, offset: int, min_content: int) -> bool:
    try:
        start = frame_start_at(window, offset)
    except FormatError:
        return False
    if start is None or start[1] is None:
        return False
    size = start[1].content_size
    return size is None or size > min_content
