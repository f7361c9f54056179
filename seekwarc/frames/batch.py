"""Small frames of a .warc.zst file, many decoded by one call; see `BatchesAhead`."""

from __future__ import annotations

from array import array
from functools import partial

from seekwarc.errors import FormatError
from seekwarc.format.zstd import measure_frame
from seekwarc.frames.ahead import (
    MAX_BATCH_CONTENT,
    MAX_BATCH_FRAMES,
    SMALL_FRAME,
    BatchesAhead,
    DecodedBatch,
    batches_from,
)
from seekwarc.frames.codec import CodecError
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.scan import Window, frame_start_at

__all__ = ["frames_ahead"]


def frames_ahead(
    window: Window, offset: int, decoder: FrameDecoder, threads: int, *, min_content: int = 0
) -> BatchesAhead:
    """Decode the small frames from `offset` on, in threads of their own.

    It ends before the first frame that is not small, has no more content than `min_content`, does not state
    its size, or cannot be decoded. Nothing else may read through the window meanwhile.
    """
    return BatchesAhead(batches_from(partial(_next_batch, window, decoder, min_content), offset), threads)


def _next_batch(window: Window, decoder: FrameDecoder, min_content: int, offset: int) -> DecodedBatch | None:
    data, begin = window.get(offset, offset + SMALL_FRAME)
    places, sizes = array("Q"), array("Q")
    ends: list[int] = []
    index, size, shift = begin, 0, offset - begin
    while len(ends) < MAX_BATCH_FRAMES and size < MAX_BATCH_CONTENT:
        frame = measure_frame(data, index)
        if frame is None or not min_content < frame[1] <= SMALL_FRAME or frame[0] - index > SMALL_FRAME:
            break
        end, content_size = frame
        places.append(index)
        places.append(end - index)
        sizes.append(content_size)
        size += content_size
        ends.append(shift + end)
        index = end
    if not ends:
        return None
    followed = _has_content(window, ends[-1], min_content)
    return DecodedBatch(ends, size, partial(_decoded, decoder, data, places, sizes), followed=followed)


def _decoded(decoder: FrameDecoder, data: bytes, places: array[int], sizes: array[int]) -> list[bytes]:
    try:
        return decoder.decode_many(data, places, sizes)
    except CodecError:
        return []


def _has_content(window: Window, offset: int, min_content: int) -> bool:
    try:
        start = frame_start_at(window, offset)
    except FormatError:
        return False
    if start is None or start[1] is None:
        return False
    size = start[1].content_size
    return size is None or size > min_content
