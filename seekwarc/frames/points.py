"""Content from within a deflate stream: the spans of a sidecar, read by range as frames are.

Goal: begin at any bit of a stream, with zlib or isal as they are, which can only begin with a byte.

Plan: empty blocks that end just before the wanted bit are put before the data. An empty block with fixed
codes takes 10 bits, so one to three of them end at an even bit. For an odd one, an empty block with dynamic
codes, which takes 95 bits, comes first. Shifting the data instead would break stored blocks, which begin on
a byte.

Worst case: a sidecar that lies. The stored bytes, the window and the checksum of a span come from different
places; what does not decode to just as many bytes with that checksum is an error.

Source: RFC 1951, section 3.2; spec-notes/sidecar.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import xxhash

from seekwarc.compiling import override
from seekwarc.errors import ChecksumError, FormatError
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.run import FrameRun

if TYPE_CHECKING:
    from seekwarc.compiling import Buffer
    from seekwarc.format.seektable import FrameEntry
    from seekwarc.format.sidecar import SpanTable
    from seekwarc.frames.context import FrameContext

__all__ = ["SpanRun", "entered", "inflated"]

_Bits = tuple[int, int]
"""Bits as a number, the first one lowest, and how many."""

FIXED: Final[_Bits] = 0b10, 10
"""BFINAL 0, BTYPE 01, end of block."""
DYNAMIC: Final[_Bits] = 0x1F5BF820000000000881E004, 95
"""BFINAL 0, BTYPE 10, HLIT 257, HDIST 1, HCLEN 19; code lengths 1 of symbol 18, 2 of 0 and 1; of these
symbols 18 (138 zeros), 18 (118 zeros), 1 and 0; end of block."""


def _prefix(bit: int) -> bytes:
    value = length = 0
    odd = bit % 2
    for part, size in [DYNAMIC] * odd + [FIXED] * ((bit - 7 * odd) % 8 // 2):
        value |= part << length
        length += size
    return value.to_bytes((length + 7) // 8, "little")


PREFIXES: Final = tuple(_prefix(bit) for bit in range(8))
"""Empty blocks that end before each bit of a byte, the last."""


def entered(stored: Buffer, bit: int) -> bytes:
    """Return a deflate stream that begins on a byte, of one that begins with some bit of its first byte."""
    if not bit:
        return bytes(stored)
    prefix = PREFIXES[bit]
    shared = prefix[-1] | stored[0] >> bit << bit
    return b"".join((prefix[:-1], bytes((shared,)), memoryview(stored)[1:]))


def inflated(stored: Buffer, bit: int, window: bytes, size: int) -> bytes:
    """Return the first `size` bytes of content of a span that begins with some bit of its first byte."""
    codec = gzip_codec()
    try:
        content = codec.raw(window).decompress(entered(stored, bit), size)
    except codec.errors as error:
        raise ChecksumError(f"the span is damaged ({error})") from error
    if len(content) != size:
        raise ChecksumError(f"the span holds {len(content)} bytes, not {size}")
    return content


class SpanRun(FrameRun):
    """The spans of a record in one gzip member, as content that can be read by range.

    Args:
        windows: Returns some of the windows of the sidecar.
    """

    def __init__(
        self, context: FrameContext, offset: int, spans: SpanTable, windows: Callable[[int, int], bytes]
    ) -> None:
        super().__init__(context, offset, spans)
        self._entries = spans
        self._windows = windows

    def _content_of(self, frame: FrameEntry, stored: Buffer, size: int) -> bytes:
        bit, place = self._entries.entry(frame.number)
        return inflated(stored, bit, self._windows(place.start, place.stop) if place else b"", size)

    @override
    def _whole(self, frame: FrameEntry, stored: Buffer) -> bytes:
        try:
            content = self._content_of(frame, stored, frame.content_size)
            if xxhash.xxh64_intdigest(content) != frame.checksum:
                raise ChecksumError(
                    "the content's checksum is not the one in the sidecar; make that again, or open with "
                    "sidecar=False"
                )
        except FormatError as error:
            raise self._named(error, frame) from error
        self._context.count(decoded=len(content))
        return content

    @override
    def _decode_into(self, frame: FrameEntry, stored: Buffer, out: memoryview, *, verify: bool) -> None:
        if verify:
            out[:] = self._whole(frame, stored)
            return
        try:
            out[:] = self._content_of(frame, stored, len(out))
        except FormatError as error:
            raise self._named(error, frame) from error
        self._context.count(decoded=len(out))
