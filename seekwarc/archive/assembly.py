"""How records become frames: small ones in batches, large ones as they are read.

Source: spec-notes/seekable-records.md, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from seekwarc.archive.block import BlockSource
from seekwarc.archive.layout import ExistingFile, FileLayout, TableMode
from seekwarc.archive.output import Output
from seekwarc.archive.spool import (
    BlockShape,
    SegmentLimits,
    SpooledBlock,
    block_shape,
    with_trailer,
)
from seekwarc.archive.written import Written
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.digest import WrittenAlgorithm
from seekwarc.format.http import HttpHead, is_http_block
from seekwarc.format.seektable import built_table_size
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.frames.encoder import MAX_FRAME_SIZE, EncodedFrame, FrameEncoder, OrderedWork

__all__ = ["ENTRY_SIZES", "OWN_TABLE", "RecordAssembly", "stored_bound"]

BATCH_SIZE: Final = 256 << 10
"""Content of small records that is handed to a thread in one go."""
ENTRY_SIZES: Final[dict[TableMode, int]] = {"large": 24, "every": 12, "none": 0}
"""What a frame takes in its record's table and in the file's."""
OWN_TABLE: Final = 64
"""More than a record's own table takes beside its entries, its place in the file's table included."""
RECORD_OVERHEAD: Final = 512
"""More than a record takes beside its content: frame headers, tables and their entries."""

Trailer = bytes | Callable[[], bytes]


def stored_bound(content_size: int) -> int:
    """Return what a small record of that many bytes takes at the most."""
    return content_size + content_size // 128 + RECORD_OVERHEAD


@dataclass(frozen=True, slots=True)
class _SmallRecord:
    contents: tuple[bytes, ...]
    """What each of its frames holds."""
    regular: bool
    """Whether it ends as records should."""
    written: Written


class RecordAssembly:
    """Turns records into frames in order, in parallel, with bounded memory.

    Args:
        output: Where the file is written.
        encoder: Makes frames.
        work: Threads to make them in.
        frame_size: Most content bytes of a frame of a block.
        tables: Which seek tables to write.
        existing: What the file holds already.
    """

    def __init__(
        self,
        output: Output,
        encoder: FrameEncoder,
        work: OrderedWork,
        *,
        frame_size: int,
        tables: TableMode,
        existing: ExistingFile | None = None,
    ) -> None:
        self._output = output
        self._encoder = encoder
        self._work = work
        self._frame_size = frame_size
        self._tables: TableMode = tables
        self._layout = FileLayout(output, tables, existing)
        self._entry_size = ENTRY_SIZES[tables]
        self._batch: list[_SmallRecord] = []
        self._batch_size = 0
        self.records = 0 if existing is None else 1
        """Records so far; one stands for all that were there before."""
        self.is_bare = existing is None
        """Whether nothing but warcinfo records stands in the file."""
        self._waiting_size = 0
        self._waiting_records = 0
        self._last: Written | None = None
        self._broken = False
        self._closed = False

    def head_size(self, warcinfo: bytes, dictionary_frame: bytes | None) -> int:
        """Return what a file takes that holds a dictionary and a warcinfo record and nothing else."""
        own_table = OWN_TABLE + self._entry_size if self._tables == "every" else 0
        table = built_table_size(2) if self._tables == "large" else 0
        return len(dictionary_frame or b"") + self.stored_size(warcinfo) + own_table + table

    @property
    def most_size(self) -> int:
        """What the file has at the most if it ends now; exact but for the table at its end after `flush`."""
        waiting = stored_bound(self._waiting_size) + RECORD_OVERHEAD * self._waiting_records
        return self._layout.most_size + (waiting if self._waiting_records else 0)

    def stored_size(self, content: bytes) -> int:
        """Return what a frame of its own takes for some content, its entries in tables included."""
        return len(self._encoder.encode(content).data) + self._entry_size if content else 0

    def add_extension(self, frame: bytes) -> None:
        """Append a skippable frame."""
        self._guarded(lambda: self._layout.add_skippable(frame))

    def add(self, header: RecordHeader, source: BlockSource, trailer: Trailer) -> Written:
        """Add a record whose header is complete."""
        self._check()
        written = Written(header, self._output.name, self.flush)
        length = header.content_length
        if length > self._frame_size or len(header.raw) + length + len(RECORD_END) > MAX_FRAME_SIZE:
            self._add_large(header, source, trailer, written)
        else:
            block = source.read(length)
            self._add_small(header, block, trailer() if callable(trailer) else trailer, written)
        self._count(header)
        return written

    def spool(
        self,
        source: BlockSource,
        http: HttpHead | None,
        observe: Callable[[bytes], None],
        length: int | None,
        *,
        limits: SegmentLimits | None = None,
        algorithm: WrittenAlgorithm | None = None,
    ) -> SpooledBlock:
        """Compress a large block whose header can be completed only when it has gone by.

        Nothing of it is in the file until `add_spooled`. The caller closes what is returned.

        Args:
            source: The block.
            http: The HTTP head that it begins with.
            observe: Shown the block piece by piece.
            length: Its length, where it is known.
            limits: How much of it a segment may hold; one record takes all of it unless given.
            algorithm: Of the digests of the segments.
        """
        # What waits of other records goes into the file first: should this block fail, its own is dropped.
        self.flush()
        shape = block_shape(source, http, length, frame_size=self._frame_size, merged=self._merged)
        block = SpooledBlock(
            self._output,
            shape,
            self._encoder,
            limits=limits,
            entry_size=self._entry_size,
            algorithm=algorithm,
        )
        try:
            observe(shape.lead)

            def observed() -> Iterator[tuple[bytes, bool]]:
                for chunk, last in source.chunks(shape.first, shape.frame):
                    observe(chunk)
                    yield chunk, last

            for content, trailing in with_trailer(observed(), lambda: RECORD_END):
                self._submit_chunk(content, trailing, shape, block.add)
            self._work.drain()
            block.finish()
        except BaseException:
            # Nothing of the record is in the file yet, only in the spool.
            self._work.drop()
            block.__exit__()
            raise
        return block

    def add_spooled(self, header: RecordHeader, block: SpooledBlock, number: int = 0) -> Written:
        """Add a record whose block was put aside, or one segment of it.

        Args:
            header: Its header.
            block: The block.
            number: Which of its segments, from 0.
        """
        self.flush()
        written = Written(header, self._output.name, self.flush)
        segment = block.segments[number]
        heads = _head_contents(header, block.shape) if number == 0 else (header.raw,)

        def emit() -> None:
            offset = self._layout.begin_record()
            for content in heads:
                self._layout.add(self._encoder.encode(content))
            block.pour(self._layout, segment)
            written.place(offset, self._layout.end_record(large=True))
            self._last = written

        self._guarded(emit)
        self._count(header)
        return written

    def _count(self, header: RecordHeader) -> None:
        self.records += 1
        if self.is_bare and header.get("WARC-Type") != "warcinfo":
            self.is_bare = False

    def flush(self) -> None:
        """Wait until everything so far is compressed and in the output."""
        self._check()
        self._submit_batch()
        self._guarded(self._work.drain)

    def end_file(self) -> None:
        """Write what stands at the end of the file.

        Raises:
            FormatError: There is no record in it.
        """
        if not self.records:
            raise FormatError("no record was written, so no file was made", source=self._output.name)
        self.flush()
        self._guarded(self._layout.end_file)
        if self.records == 1 and self._last is not None and self._last.offset == self._output.begin:
            # The file table lists the one record's frames and nothing else: it is that record's own.
            self._last.place(self._output.begin, self._layout.offset - self._output.begin)

    def close(self) -> None:
        """Take no more records; what was not written by now never will be."""
        self._closed = True

    def _check(self) -> None:
        if self._closed:
            raise SeekWarcError(f"{self._output.name}: the writer is closed")
        if self._broken:
            raise SeekWarcError(f"{self._output.name}: writing failed before; the file cannot go on")

    def _guarded(self, step: Callable[[], None]) -> None:
        """Do a step after whose failure nobody knows what is in the output."""
        try:
            step()
        except BaseException:
            self._broken = True
            raise

    # Small records.

    def _add_small(self, header: RecordHeader, block: bytes, trailer: bytes, written: Written) -> None:
        if self._tables != "every":
            contents: tuple[bytes, ...] = (header.raw + block + trailer,)
        elif block:
            contents = (header.raw, block + trailer)
        else:
            contents = (header.raw + trailer,)
        self._batch.append(_SmallRecord(contents, trailer == RECORD_END, written))
        self._batch_size += len(header.raw) + len(block)
        self._waiting_size += len(header.raw) + len(block)
        self._waiting_records += 1
        if self._batch_size >= BATCH_SIZE:
            self._submit_batch()

    def _submit_batch(self) -> None:
        batch, size = self._batch, self._batch_size
        self._batch, self._batch_size = [], 0
        if not batch:
            return

        def encode() -> list[list[EncodedFrame]]:
            return [[self._encoder.encode(c) for c in record.contents] for record in batch]

        def deliver(encoded: list[list[EncodedFrame]]) -> None:
            for record, frames in zip(batch, encoded, strict=True):
                offset = self._layout.begin_record()
                for frame in frames:
                    self._layout.add(frame)
                length = self._layout.end_record(large=False, regular=record.regular)
                record.written.place(offset, length)
                self._last = record.written
            self._waiting_size -= size
            self._waiting_records -= len(batch)

        self._guarded(lambda: self._work.submit(encode, deliver))

    # Large records.

    @property
    def _merged(self) -> bool:
        """Whether the record header shares its frame with the beginning of the block.

        So it must be at the head of a file that will end in a file table: a reader of the profile of
        proposal 118 would otherwise take that table for the first record's.
        """
        return self._tables == "large" and not self.records

    def _add_large(
        self, header: RecordHeader, source: BlockSource, trailer: Trailer, written: Written
    ) -> None:
        self._submit_batch()
        layout = self._layout
        begun, ended = -1, RECORD_END

        def begin() -> None:
            nonlocal begun
            begun = layout.begin_record()

        def end_of_block() -> bytes:
            nonlocal ended
            ended = trailer() if callable(trailer) else trailer
            return ended

        def end() -> None:
            written.place(begun, layout.end_record(large=True, regular=ended == RECORD_END))
            self._last = written
            self._waiting_size -= weight
            self._waiting_records -= 1

        def add(frame: EncodedFrame, _: memoryview) -> None:
            layout.add(frame)

        # What waits is counted at what it may take, entries in tables included.
        weight = (header.content_length + len(header.raw)) * 33 // 32
        self._waiting_size += weight
        self._waiting_records += 1

        self._guarded(lambda: self._work.mark(begin))
        try:
            http = source.http_head() if is_http_block(header.get("Content-Type")) else None
            shape = block_shape(
                source, http, header.content_length, frame_size=self._frame_size, merged=self._merged
            )
            heads = _head_contents(header, shape)
            self._submit(lambda: [self._encoder.encode(content) for content in heads], layout.add)
            for content, trailing in with_trailer(source.chunks(shape.first, shape.frame), end_of_block):
                self._guarded(partial(self._submit_chunk, content, trailing, shape, add))
        except BaseException:
            self._waiting_size -= weight
            self._waiting_records -= 1
            if not self._broken:
                self._take_back()
            raise
        self._guarded(lambda: self._work.mark(end))

    def _submit_chunk(
        self,
        content: bytes,
        trailing: int,
        shape: BlockShape,
        deliver: Callable[[EncodedFrame, memoryview], None],
    ) -> None:
        """Have a chunk made into frames; each is delivered with what it holds of the block."""
        part = memoryview(content)[: len(content) - trailing]

        def deliver_all(frames: list[EncodedFrame]) -> None:
            start = 0
            for frame in frames:
                deliver(frame, part[start : start + frame.content_size])
                start += frame.content_size

        self._work.submit(lambda: self._encoder.encode_chunk(content, shape.small), deliver_all)

    def _submit(
        self, encode: Callable[[], list[EncodedFrame]], deliver: Callable[[EncodedFrame], None]
    ) -> None:
        def deliver_all(frames: list[EncodedFrame]) -> None:
            for frame in frames:
                deliver(frame)

        self._guarded(lambda: self._work.submit(encode, deliver_all))

    def take_back(self) -> None:
        """Take the only record that is no warcinfo out of the file again, added by `add_spooled`."""
        self.records -= 1
        self.is_bare = True
        self._take_back()

    def _take_back(self) -> None:
        """Leave the file as it was before the current record."""
        self._guarded(self._work.drain)
        if not self._layout.abandon_record():
            self._broken = True


def _head_contents(header: RecordHeader, shape: BlockShape) -> tuple[bytes, ...]:
    """Return what the frames in front of a block's first chunk hold."""
    if shape.merged:
        return (header.raw + shape.lead,)
    return (header.raw, shape.lead) if shape.lead else (header.raw,)
