"""Small members of a .warc.gz file, many inflated by one call; see `BatchesAhead`.

Goal: to know exactly where each member begins without inflating them one by one.

Plan: every member begins with the same three bytes, so whatever is between two places that have these is
taken for a member. Decoding a whole stretch shows whether that was right: before it is given
to the codec, four bytes are changed at each such place, those that hold a time if it is a header.
Headers are as valid as before. But a place within a member's deflated data or checksum is damaged by it, in a
way that the author of the file cannot know, so that the member's CRC-32 is wrong.

Worst case: three such bytes by chance, about once in 16 MiB, or with intent. The stretch is given up, and the
caller goes on member by member.

Source: RFC 1952, section 2.3.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Final

from seekwarc.frames.ahead import (
    MAX_BATCH_CONTENT,
    MAX_BATCH_FRAMES,
    SMALL_FRAME,
    BatchesAhead,
    DecodedBatch,
    Small,
    alone_then_ahead,
    batches_from,
)
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.scan import Window

__all__ = ["members_ahead", "small_members"]

MAGIC: Final = b"\x1f\x8b\x08"
"""ID1, ID2 and the only CM there is."""
FLAGS: Final = 3
"""Index of FLG. Members with flags have a longer header, which no checksum covers: others read them."""
TIME: Final = slice(4, 8)
"""Where MTIME is."""
MIN_MEMBER: Final = 18
SIZE_BYTES: Final = 4
"""Bytes of ISIZE, the last ones of a member."""
MARK: Final = os.urandom(TIME.stop - TIME.start)


def small_members(
    window: Window,
    offset: int,
    one_by_one: Callable[[int], Iterator[Small]],
    threads: int,
    count: Callable[[int], object] | None = None,
) -> Generator[Small, None, None]:
    """Yield members: `alone_then_ahead`, the latter with more threads than one and a codec that can."""
    ahead = None
    if threads > 1 and gzip_codec().reader is not None:
        ahead = partial(members_ahead, window, threads=threads)
    return alone_then_ahead(offset, one_by_one, ahead, count)


def members_ahead(window: Window, offset: int, threads: int) -> BatchesAhead:
    """Inflate the small members from `offset` on, in threads of their own.

    It ends before the first member that is not small, is empty, has flags, or is damaged; and before a few
    that look like such a one. Nothing else may read through the window until it is closed.
    """
    return BatchesAhead(batches_from(partial(_next_batch, window), offset), threads)


def _next_batch(window: Window, offset: int) -> DecodedBatch | None:
    data, begin = window.get(offset, offset + SMALL_FRAME)
    shift = offset - begin
    is_last = shift + len(data) == window.source.size
    places: list[int] = []
    sizes: list[int] = []
    ends: list[int] = []
    index, size = begin, 0
    while len(ends) < MAX_BATCH_FRAMES and size < MAX_BATCH_CONTENT and data.startswith(MAGIC, index):
        end = data.find(MAGIC, index + MIN_MEMBER, index + SMALL_FRAME + len(MAGIC))
        if end < 0 and is_last:
            end = len(data)
        if not MIN_MEMBER <= end - index <= SMALL_FRAME or data[index + FLAGS]:
            break
        content_size = int.from_bytes(data[end - SIZE_BYTES : end], "little")
        # A size of 0 may be the zeros that some writers put after a member.
        if not 0 < content_size <= SMALL_FRAME:
            break
        places.append(index - begin)
        sizes.append(content_size)
        size += content_size
        ends.append(shift + end)
        index = end
    if not ends:
        return None
    decode = partial(_inflated, data[begin:index], places, sizes)
    return DecodedBatch(ends, size, decode, followed=index < len(data) or not is_last)


def _inflated(stored: bytes, places: list[int], sizes: list[int]) -> list[bytes]:
    marked = bytearray(stored)
    for place in places:
        marked[place + TIME.start : place + TIME.stop] = MARK
    content = gzip_codec().inflate_members(marked, sum(sizes))
    contents: list[bytes] = []
    begin = 0
    for size in sizes if content else ():
        contents.append(content[begin : begin + size])
        begin += size
    return contents
