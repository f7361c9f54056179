"""Content from within a deflate stream: the spans of a sidecar, read by range as frames are.

Goal: begin at any bit of a stream, with unmodified zlib or isal, which can only begin with a byte.

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

__all__ = ["MAX_HEADER", "SpanRun", "entered", "inflated", "member_header_size"]

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


MIN_HEADER: Final = 10
MAX_HEADER: Final = 64 << 10
EXTRA, NAME, COMMENT, HEADER_CRC = 4, 8, 16, 2
"""Flags of a member's header (RFC 1952, section 2.3.1)."""
TRAILER_SIZE: Final = 8
SIZE_BYTES: Final = 4

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


def member_header_size(data: bytes) -> int:
    """Return the size of the header of the gzip member that `data` begins with (RFC 1952, section 2.3)."""
    flags, at = data[3:4], MIN_HEADER
    if flags and flags[0] & EXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for text in (NAME, COMMENT):
        if flags and flags[0] & text:
            at = data.find(0, at) + 1 or MAX_HEADER
    at += 2 * bool(flags and flags[0] & HEADER_CRC)
    if not data.startswith(b"\x1f\x8b\x08") or at >= len(data):
        raise FormatError("no gzip member begins here, or its header is too long")
    return at


def _whole_span(stored: Buffer, bit: int, window: bytes, frame: FrameEntry, end: bytes | None) -> bytes:
    """Return all content of a span, which is that of all its stored bytes: `end` comes after the last block.

    None if the next span follows, in which case no block of this one is the last.
    """
    codec, size = gzip_codec(), frame.content_size
    inflater = codec.raw(window)
    try:
        content = inflater.decompress(entered(stored, bit), size + 1)
    except codec.errors as error:
        raise ChecksumError(f"the span is damaged ({error})") from error
    if len(content) != size:
        held = len(content) if len(content) < size else f"more than {size}"
        raise ChecksumError(f"the span holds {held} bytes, not {size}")
    if end is None and (inflater.eof or inflater.unconsumed_tail):
        raise ChecksumError("the span does not end where the next one begins")
    if end is not None and not (
        inflater.eof and len(inflater.unused_data) == TRAILER_SIZE and inflater.unused_data.endswith(end)
    ):
        raise ChecksumError("the span is not followed by the checksum and size of its gzip member")
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
        window = self._windows(place.start, place.stop) if place else b""
        if size < frame.content_size:
            return inflated(stored, bit, window, size)
        end = None
        if frame.number + 1 == len(self.table):
            end = (self.table.content_size & 0xFFFFFFFF).to_bytes(SIZE_BYTES, "little")
        return _whole_span(stored, bit, window, frame, end)

    def check_ends(self, known_end: int | None) -> None:
        """Compare where the spans begin and end with the member, as far as that is known or buffered.

        Raises:
            FormatError: They are not all of the member, or go on after it.
        """
        source, spans = self._context.source, self._entries
        first, end = spans.first, spans.end
        is_near = not source.policy.is_far
        spans.check_sizes()
        if known_end is not None and end > known_end:
            raise FormatError(
                f"it lists {end - self.offset} stored bytes for this record, which has "
                f"{known_end - self.offset} at most"
            )
        if first - self.offset > MAX_HEADER:
            raise FormatError("it lists spans that begin after the header of this record's member or frame")
        if is_near or source.has(self.offset, first + 1):
            self._check_begin(source.read(self.offset, first + 1), first - self.offset)
        # A distant member of known length is not worth a request: spans within it are its own.
        if is_near or known_end is None or source.has(end - TRAILER_SIZE, end):
            self._check_end(source.read(end - TRAILER_SIZE, end))

    def _check_begin(self, data: bytes, size: int) -> None:
        if member_header_size(data) != size:
            raise FormatError("it lists spans that do not begin after the header of this record's member")

    def _check_end(self, data: bytes) -> None:
        stated = int.from_bytes(data[-SIZE_BYTES:], "little")
        if stated != self.table.content_size & 0xFFFFFFFF:
            raise FormatError("the bytes that it lists for this record do not end with the size of a member")

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
