"""Small members of a .warc.gz file, many inflated by one call; see `BatchesAhead`.

Goal: to know exactly where each member begins without inflating them one by one.

Plan: every member begins with the same three bytes, so whatever is between two places that have these is
taken for a member. What the codec makes of a whole stretch tells whether that was right: before it is given
the stretch, four bytes are changed at each such place, those that hold a time if it is a header.
Headers are as valid as before. But a place within a member's deflated data or checksum is damaged by it, in a
way that the author of the file cannot know, so that the member's CRC-32 is wrong.

Worst case: three such bytes by chance, about once in 16 MiB, or with intent. The stretch is given up, and the
caller goes on member by member.

Source: RFC 1952, section 2.3.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Final

from seekwarc.frames.ahead import (
    MAX_BATCH_CONTENT,
    MAX_BATCH_UNITS,
    SMALL_UNIT,
    BatchesAhead,
    UnitBatch,
    batches_from,
)
from seekwarc.frames.inflate import GzipCodec, gzip_codec
from seekwarc.frames.scan import Window

__all__ = ["members_ahead"]

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


class _Members:
    """Consecutive small members as they are stored."""

    __slots__ = ("_codec", "_places", "_sizes", "_stored")

    def __init__(self, codec: GzipCodec, stored: bytes, places: list[int], sizes: list[int]) -> None:
        self._codec = codec
        self._stored = stored
        self._places = places
        self._sizes = sizes

    def decode(self) -> list[memoryview]:
        stored = bytearray(self._stored)
        # What waits to be taken holds no stored bytes.
        self._stored = b""
        for place in self._places:
            stored[place + TIME.start : place + TIME.stop] = MARK
        content = memoryview(self._codec.inflate_members(stored, sum(self._sizes)))
        contents: list[memoryview] = []
        begin = 0
        for size in self._sizes if content else ():
            contents.append(content[begin : begin + size])
            begin += size
        return contents


def members_ahead(window: Window, offset: int, threads: int) -> BatchesAhead:
    """Inflate the small members from `offset` on, in threads of their own.

    It ends before the first member that is not small, is empty, has flags, or is damaged; and before a few
    that look like such a one.

    Args:
        window: What the stored bytes are read through, by this alone until it is closed.
        offset: Where the first of them begins.
        threads: How many inflate.
    """
    return BatchesAhead(batches_from(partial(_next_batch, window), offset), threads)


def _next_batch(window: Window, offset: int) -> UnitBatch | None:
    data, begin = window.get(offset, offset + SMALL_UNIT)
    shift = offset - begin
    is_last = shift + len(data) == window.source.size
    places: list[int] = []
    sizes: list[int] = []
    ends: list[int] = []
    index, size = begin, 0
    while len(ends) < MAX_BATCH_UNITS and size < MAX_BATCH_CONTENT and data.startswith(MAGIC, index):
        end = data.find(MAGIC, index + MIN_MEMBER, index + SMALL_UNIT + len(MAGIC))
        if end < 0 and is_last:
            end = len(data)
        if not MIN_MEMBER <= end - index <= SMALL_UNIT or data[index + FLAGS]:
            break
        content_size = int.from_bytes(data[end - SIZE_BYTES : end], "little")
        # A size of 0 may be the zeros that some writers put after a member.
        if not 0 < content_size <= SMALL_UNIT:
            break
        places.append(index - begin)
        sizes.append(content_size)
        size += content_size
        ends.append(shift + end)
        index = end
    if not ends:
        return None
    members = _Members(gzip_codec(), data[begin:index], places, sizes)
    return UnitBatch(ends, size, members.decode, followed=index < len(data) or not is_last)
