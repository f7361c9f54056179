"""The spans of a record that is one large Zstandard frame: made for a sidecar, and read by range.

Goal: ranges of a film in one frame are verified, and found afar without a request for each block.

Plan: a span is a run of raw and RLE blocks, which is read as it is stored, or of others, to which the frame
is decoded from its beginning. When they are made, all blocks are decoded one after another, so that the
position of each is known.

Worst case: blocks of a few bytes, of both kinds in turn. A span has a sixteenth of the wanted content at
least, and a short run of stored blocks is made part of a span that has to be decoded.

Source: RFC 8878, section 3.1.1.2; spec-notes/sidecar.md, section 2.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

import xxhash

from seekwarc.compiling import override
from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.format.sidecar import MAX_SPAN, MAX_SPANS, SidecarRecord, Span
from seekwarc.format.zstd import (
    BLOCK_HEADER_SIZE,
    COMPRESSED_BLOCK,
    MAX_BLOCK_SIZE,
    RLE_BLOCK,
    FrameHeader,
    parse_frame_header,
)
from seekwarc.frames.blocks import frame_beginning
from seekwarc.frames.points import SpanRun
from seekwarc.frames.run import ReadPlan
from seekwarc.frames.scan import CHECKSUM_SIZE

if TYPE_CHECKING:
    from seekwarc.compiling import Buffer
    from seekwarc.format.seektable import FrameEntry
    from seekwarc.format.sidecar import SpanTable
    from seekwarc.frames.context import FrameContext
    from seekwarc.frames.run import Target
    from seekwarc.frames.scan import Window

__all__ = ["BlockSpanRun", "InOrder", "frame_spans"]

SHARE: Final = 16


class InOrder(Protocol):
    """The content of a record, decoded from its beginning."""

    @property
    def is_in_frames(self) -> bool:
        """Whether the record is in Zstandard frames."""

    def is_at(self, position: int) -> bool:
        """Tell whether content from a position on comes next."""

    def decoded(self, start: int, stop: int) -> bytes:
        """Return [start, stop); cheap if it goes forward."""


class BlockSpanRun(SpanRun):
    """The spans of a record in one frame, as content that can be read by range.

    Without stored bytes, as they are given here, a span is decoded in order.
    """

    def __init__(self, context: FrameContext, offset: int, spans: SpanTable, in_order: InOrder) -> None:
        super().__init__(context, offset, spans, in_order.decoded)
        self._in_order = in_order

    def _is_stored(self, number: int) -> bool:
        return not self._entries.entry(number)[1]

    @override
    def _content_of(self, frame: FrameEntry, stored: Buffer, size: int) -> bytes:
        if self._entries.entry(frame.number)[0]:
            raise ChecksumError("the span begins within a byte, which no block of a frame does")
        if stored:
            is_last = frame.number + 1 == len(self.table)
            return _stored_content(stored, size, is_whole=size == frame.content_size, is_last=is_last)
        return self._in_order.decoded(frame.content_start, frame.content_start + size)

    @override
    def _check_begin(self, data: bytes, size: int) -> None:
        if parse_frame_header(data).size != size:
            raise FormatError("it lists spans that do not begin after the header of this record's frame")

    @override
    def _check_end(self, data: bytes) -> None:
        pass  # A frame does not end with its size.

    @override
    def _stored_of(self, frame: FrameEntry) -> Buffer:
        # So reading on from where the frame was decoded to reads all of it once.
        is_next = not self._is_stored(frame.number) or self._in_order.is_at(frame.content_start)
        return b"" if is_next else super()._stored_of(frame)

    @override
    def _contents(self, first: FrameEntry, second: FrameEntry) -> tuple[bytes, bytes]:
        return self._content(first), self._content(second)

    @override
    def _decode_all(self, runs: list[range], target: Target) -> None:
        numbers = [number for run in runs for number in run]
        # To decode one, all of the frame before it is.
        count = max((place + 1 for place, it in enumerate(numbers) if not self._is_stored(it)), default=0)
        for number in numbers[:count]:
            self._decode(self.table[number], b"", target)
        super()._decode_all([range(number, number + 1) for number in numbers[count:]], target)

    @override
    def _prefetch(self, wanted: range) -> None:
        stop = next((number for number in wanted if not self._is_stored(number)), wanted.stop)
        super()._prefetch(range(wanted.start, stop))

    @override
    def plan(self, start: int, stop: int) -> ReadPlan:
        plan = super().plan(start, stop)
        numbers = self.table.locate(start, stop)
        if all(map(self._is_stored, numbers)):
            return plan
        last = self.table[numbers[-1]]
        return plan._replace(
            ranges=((self.offset, self.offset + last.stored_stop),), bytes_decoded=last.content_stop
        )


def _stored_content(stored: Buffer, size: int, *, is_whole: bool, is_last: bool) -> bytes:
    """Return the first `size` bytes of content of raw and RLE blocks; if it is all, they end the span."""
    pieces: list[Buffer] = []
    position, is_over = 0, False
    data = memoryview(stored)
    while size or (is_whole and position < len(data) and not is_over):
        if is_over:
            raise ChecksumError("the frame ends inside the span")
        begin = position + BLOCK_HEADER_SIZE
        header = int.from_bytes(data[position:begin], "little")
        kind, length = header >> 1 & 3, header >> 3
        if begin > len(data) or kind > RLE_BLOCK or length > MAX_BLOCK_SIZE:
            raise ChecksumError("the span is not of raw blocks")
        is_over = bool(header & 1)
        if length and not size:
            raise ChecksumError("the span does not end where its content does")
        position = begin + (1 if kind == RLE_BLOCK else length)
        piece = data[begin : min(position, begin + size)]
        pieces.append(bytes(piece) * min(length, size) if kind == RLE_BLOCK else piece)
        size -= len(pieces[-1])
    if is_whole and (is_over, len(data) - position) not in (
        ((True, 0), (True, CHECKSUM_SIZE)) if is_last else ((False, 0),)
    ):
        raise ChecksumError(
            "the span does not end with the frame"
            if is_last
            else "the span does not end where the next one begins"
        )
    return b"".join(pieces)


def frame_spans(
    window: Window,
    offset: int,
    frame: FrameHeader,
    size: int,
    *,
    spacing: int,
    decode: Callable[[bytes], bytes],
) -> SidecarRecord:
    """Return the spans of the record of `size` bytes that is the frame at `offset`.

    Args:
        window: A window on the file.
        offset: Offset of the frame.
        frame: Its header.
        size: Bytes of the decompressed record.
        spacing: Content of a span, unless blocks of another kind follow.
        decode: Takes a frame of that kind in pieces, and returns what each decodes to.

    Raises:
        ChecksumError: The frame is damaged.
        TruncatedError: The file ends in the frame.
        FormatError: The frame is not the record alone, or less than half of it is in raw and RLE blocks.
    """
    spacing = min(max(spacing, size // MAX_SPANS), MAX_SPAN - MAX_BLOCK_SIZE)
    spans: list[Span] = []
    end = begin = offset + frame.size
    content = begin_content = stored = 0
    is_stored = True
    whole, hasher = xxhash.xxh64(), xxhash.xxh64()
    for stop, is_raw, piece in _blocks(window, begin, frame, decode):
        grown = content - begin_content
        if piece and (grown >= spacing or (is_raw != is_stored and grown >= spacing // SHARE)):
            spans.append(_span(begin, begin_content, hasher, is_stored=is_stored))
            begin, begin_content, is_stored, hasher = end, content, True, xxhash.xxh64()
        is_stored = is_stored and is_raw
        hasher.update(piece)
        whole.update(piece)
        content += len(piece)
        stored += len(piece) * is_raw
        end = stop
    if content > begin_content:
        spans.append(_span(begin, begin_content, hasher, is_stored=is_stored))
    if frame.has_checksum:
        stated = int.from_bytes(_taken(window, end, CHECKSUM_SIZE), "little")
        if stated != whole.intdigest() & 0xFFFFFFFF:
            raise ChecksumError("this frame is damaged (its checksum is not that of its content)")
        end += CHECKSUM_SIZE
    if content != size:
        raise FormatError(f"the frame holds {content} bytes, the record {size}: it has no frame of its own")
    if 2 * stored < size:
        raise FormatError(
            "this record's frame is compressed for the most part, so that it cannot be entered: "
            "`seekwarc convert` cuts it into frames"
        )
    return SidecarRecord(offset, end - offset, content, spans)


def _blocks(
    window: Window, place: int, frame: FrameHeader, decode: Callable[[bytes], bytes]
) -> Iterator[tuple[int, bool, bytes]]:
    """Yield of each block where it ends, whether it is stored as it is, and its content."""
    decode(frame_beginning(frame))
    is_last = False
    while not is_last:
        header = int.from_bytes(_taken(window, place, BLOCK_HEADER_SIZE), "little")
        is_last, kind, length = bool(header & 1), header >> 1 & 3, header >> 3
        if kind > COMPRESSED_BLOCK or length > frame.block_size:
            raise FormatError("a block header of this Zstandard frame is damaged")
        data = _taken(window, place + BLOCK_HEADER_SIZE, 1 if kind == RLE_BLOCK else length)
        place += BLOCK_HEADER_SIZE + len(data)
        # Never the last one: a decoder would begin with another frame.
        header &= ~1
        yield place, kind != COMPRESSED_BLOCK, decode(header.to_bytes(BLOCK_HEADER_SIZE, "little") + data)


def _span(begin: int, content: int, hasher: xxhash.xxh64, *, is_stored: bool) -> Span:
    return Span(begin, 0, content, hasher.intdigest(), b"" if is_stored else None)


def _taken(window: Window, start: int, size: int) -> bytes:
    data = window.take(start, size)
    if len(data) < size:
        raise TruncatedError("the file ends inside this frame")
    return data
