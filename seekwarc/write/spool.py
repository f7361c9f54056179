"""Large blocks that wait, compressed, until the header that comes before them is known.

A record header states the block's length and digests, and precedes the block; but a stream shows its
length and its digest only at its end. Where the length is known, the header can be completed in its place
(see `recorder`). Otherwise the stream cannot be read twice, nor be kept in memory. So it is compressed as it
is read, into the very frames that the file will get, and these wait in a temporary file, in memory up to
8 MiB. Once the block has ended, its header is written and the frames are copied after it: what is written
twice is the compressed data, and nothing is compressed again.

Where files have a maximum size, the same pass cuts the block into segments (WARC 1.1, clause 7). A segment
ends with two line breaks, which belong in its last frame; so one frame is always held back until the next one
shows that it is not the last of its segment.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from seekwarc.closing import Closing
from seekwarc.errors import TargetError
from seekwarc.format.digest import Hasher, WrittenAlgorithm
from seekwarc.format.http import HttpHead
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.frames.encoder import MAX_FRAME_SIZE, SMALL_FRAME_SIZE, EncodedFrame, RecordEncoder
from seekwarc.options import shown
from seekwarc.write.block_reader import BlockSource, Trailer
from seekwarc.write.file_layout import Entry, FileLayout
from seekwarc.write.output import Output

__all__ = [
    "MERGED_LEAD",
    "BlockShape",
    "Segment",
    "SegmentLimits",
    "SpooledBlock",
    "block_shape",
    "trailer_bytes",
    "with_trailer",
]

MAX_TABLE_ENTRIES: Final = 1 << 20
"""Maximum entries of a record's seek table; a record of known length gets larger frames instead."""
MERGED_LEAD: Final = 4 << 10
"""Bytes of the block in the header's frame, if it must hold some: few, so that the header is quick to
decode."""
HEAD_ENTRIES: Final = 4
"""Maximum entries for the header, the HTTP head, and a shorter first and last chunk."""
SPOOL_IN_MEMORY: Final = 8 << 20
COPY_SIZE: Final = 1 << 20
TRAILER_MARGIN: Final = 64
"""Bytes that a frame may grow by when the line breaks after a segment are added to it."""


@dataclass(frozen=True, slots=True)
class BlockShape:
    """How a large block is cut into frames."""

    frame: int
    """Content of a frame of the block."""
    small: int
    """Content of a frame if it does not compress."""
    lead: bytes
    """Beginning of the block: its HTTP head, or the part in the header's frame."""
    first: int
    """Content of the first frame after the lead."""
    merged: bool
    """Whether the lead shares a frame with the record header."""

    def heads(self, header: RecordHeader) -> tuple[bytes, ...]:
        """Return the contents of the frames before the block's first chunk."""
        if self.merged:
            return (header.raw + self.lead,)
        return (header.raw, self.lead) if self.lead else (header.raw,)


def block_shape(
    source: BlockSource, http: HttpHead | None, length: int | None, *, frame_size: int, merged: bool
) -> BlockShape:
    """Choose how a block is cut into frames, and read its lead."""
    frame, small = frame_size, min(SMALL_FRAME_SIZE, frame_size)
    while (
        length is not None
        and small < MAX_FRAME_SIZE
        and -(-length // frame) * -(-frame // small) > MAX_TABLE_ENTRIES - HEAD_ENTRIES
    ):
        small = min(small * 2, MAX_FRAME_SIZE)
        frame = max(frame, small)
    lead_size = first = 0
    if http is not None:
        lead_size = http.size
    elif merged:
        lead_size = MERGED_LEAD
        first = frame - lead_size
    return BlockShape(frame, small, source.read(lead_size), first or frame, merged)


def trailer_bytes(trailer: Trailer) -> bytes:
    """Return the bytes after a block that was read.

    Raises:
        TypeError: The caller's function returned something else.
    """
    if not callable(trailer):
        return trailer
    end: object = trailer()
    if not isinstance(end, bytes):
        raise TypeError(f"the trailer function must return bytes, not {shown(end)}")
    return end


def with_trailer(
    chunks: Iterator[tuple[bytes, bool]], trailer: Trailer
) -> Iterator[tuple[bytes, bytes | None]]:
    """Yield (chunk, None) for the chunks of a block; for the last, (chunk with the trailer, trailer)."""
    for chunk, last in chunks:
        if not last:
            yield chunk, None
            continue
        end = trailer_bytes(trailer)
        content = chunk + end
        if len(content) > MAX_FRAME_SIZE:
            yield content[: len(content) // 2], None
            content = content[len(content) // 2 :]
        yield content, end


class SegmentLimits(NamedTuple):
    """Compressed size that the frames of a segment's block may have, their entries in tables included."""

    first: int
    following: int


@dataclass(slots=True)
class Segment:
    """The part of a block that goes into one record, as frames of the spool."""

    start: int
    """Offset of its frames in the spool."""
    block: Hasher | None
    """Digest of its part of the block, or None."""
    length: int = 0
    """Bytes of the block in it."""
    stored_size: int = 0
    frames: list[Entry] = field(default_factory=list)


class SpooledBlock(Closing):
    """A block as compressed frames in a temporary file."""

    def __init__(
        self,
        output: Output,
        shape: BlockShape,
        encoder: RecordEncoder,
        *,
        limits: SegmentLimits | None = None,
        entry_size: int = 0,
        algorithm: WrittenAlgorithm | None = None,
    ) -> None:
        self.shape = shape
        self._entry_size = entry_size
        self._name = output.name
        self._encoder = encoder
        self._limits = limits
        self._algorithm = algorithm
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115
            SPOOL_IN_MEMORY, dir=output.spool_directory
        )
        self._pending: tuple[EncodedFrame, memoryview] | None = None
        self.segments: list[Segment] = []
        self._begin_segment(0)
        self._count(memoryview(shape.lead))

    def close(self) -> None:
        """Remove the temporary file. Idempotent."""
        with contextlib.suppress(OSError):
            self._file.close()

    @property
    def length(self) -> int:
        """Bytes of the block, the lead included."""
        return sum(segment.length for segment in self.segments)

    @property
    def size_bound(self) -> int:
        """Compressed size of the frames in a file, their entries in tables included."""
        return sum(it.stored_size + self._entry_size * len(it.frames) for it in self.segments)

    def add(self, part: memoryview, frames: Sequence[EncodedFrame]) -> None:
        """Add frames to the spool."""
        start = 0
        for frame in frames:
            # The frame that was held back is added, and this one held: a segment's last gets the line breaks.
            if self._pending is not None:
                before, before_part = self._pending
                if self._would_overflow(before, frame):
                    self._store_last(before_part)
                    self._begin_segment(self.segments[-1].start + self.segments[-1].stored_size)
                else:
                    self._store(before_part, before)
            self._pending = frame, part[start : start + frame.content_size]
            start += frame.content_size

    def finish(self) -> None:
        """End the block."""
        if self._pending is not None:
            frame, part = self._pending
            self._store(part, frame)
            self._pending = None

    def pour(self, layout: FileLayout, segment: Segment) -> None:
        """Append the frames of a segment to a file, in order."""
        self._file.seek(segment.start)
        left = segment.stored_size
        while left and (data := self._file.read(min(COPY_SIZE, left))):
            layout.pour(data)
            left -= len(data)
        layout.note(segment.frames)

    def _would_overflow(self, *frames: EncodedFrame) -> bool:
        if self._limits is None:
            return False
        segment = self.segments[-1]
        limit = self._limits.following if len(self.segments) > 1 else self._limits.first
        used = segment.stored_size + sum(len(frame.data) for frame in frames) + TRAILER_MARGIN
        # One more entry: the last frame may have to be cut in two to make room for the line breaks.
        return used + self._entry_size * (len(segment.frames) + len(frames) + 1) > limit

    def _store_last(self, part: memoryview) -> None:
        if len(part) + len(RECORD_END) > MAX_FRAME_SIZE:
            half = len(part) // 2
            self._store(part[:half], self._encoder.encode_smallest(part[:half]))
            part = part[half:]
        self._store(part, self._encoder.encode_smallest(bytes(part) + RECORD_END))

    def _begin_segment(self, start: int) -> None:
        digest = hashlib.new(self._algorithm) if self._algorithm is not None else None
        self.segments.append(Segment(start, digest))

    def _count(self, part: memoryview) -> None:
        segment = self.segments[-1]
        segment.length += len(part)
        if segment.block is not None:
            segment.block.update(part)

    def _store(self, part: memoryview, frame: EncodedFrame) -> None:
        segment = self.segments[-1]
        try:
            self._file.write(frame.data)
            segment.frames.append((len(frame.data), frame.content_size, frame.checksum))
            segment.stored_size += len(frame.data)
        except OSError as error:
            raise TargetError(
                f"temporary file cannot be written: {error.strerror or error}", source=self._name
            ) from error
        self._count(part)
