"""How records become frames: small ones in batches, large ones as they are read.

Frames are compressed in threads and delivered, in the caller's thread, in the order of the records. What
makes that hard is that anything may fail in between: a stream that is being read, a full disk, Ctrl-C between
any two lines, also within a delivery for an earlier record. Three rules keep the file right:

- What changes the file is a numbered step (`FileLayout.once`). A step takes effect as a whole: what an
  interrupted one left is undone before the next. A step that was done is never done twice, so it does no harm
  that an interrupted delivery is delivered again.
- A small record is accepted by one list append. Whatever is raised before it is of this record, and leaves
  nothing; what is raised by compressing it later does not concern the caller who added it.
- A large record is many steps. Where it began is known (`_begun`, and the layout's record offset), so
  `rollback` drops its jobs, delivers all earlier ones, and cuts the output back to its beginning. It runs
  when a record fails, and once more before the next one if it was itself interrupted.

Source: spec-notes/warc-zstd-seekable, section 2.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.buffer import Buffer
from seekwarc.format.digest import WrittenAlgorithm
from seekwarc.format.http import HttpHead, is_http_block
from seekwarc.format.seektable import built_table_size
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.frames.encoder import MAX_FRAME_SIZE, EncodedFrame, OrderedWork
from seekwarc.write.block_reader import BlockSource
from seekwarc.write.file_layout import ExistingFile, TableMode
from seekwarc.write.forms import Form
from seekwarc.write.header import HeaderCompletion
from seekwarc.write.output import Output
from seekwarc.write.spool import (
    BlockShape,
    SegmentLimits,
    SpooledBlock,
    block_shape,
    with_trailer,
)
from seekwarc.write.written import Written

__all__ = ["ENTRY_SIZES", "OWN_TABLE", "RecordAssembly", "stored_bound"]

BATCH_SIZE: Final = 256 << 10
"""Content of small records that a thread compresses in one job."""
ENTRY_SIZES: Final[dict[TableMode, int]] = {"large": 24, "every": 12, "none": 0}
"""Bytes that a frame takes in its record's table and in the file's together."""
OWN_TABLE: Final = 64
"""Upper bound of what a record's own table takes beside its entries, its entry in the file's table
included."""
RECORD_OVERHEAD: Final = 512
"""Upper bound of what a record takes beside its content: frame headers, tables and their entries."""

Trailer = bytes | Callable[[], bytes]


def stored_bound(content_size: int) -> int:
    """Return the maximum compressed size of a small record of that many bytes."""
    return content_size + content_size // 128 + RECORD_OVERHEAD


@dataclass(frozen=True, slots=True)
class _SmallRecord:
    step: int
    """Number of the step that puts it into the file."""
    contents: tuple[bytes, ...]
    """The content of each of its frames."""
    regular: bool
    """Whether it ends in two line breaks."""
    written: Written
    accepted: tuple[int, int]
    """Content bytes and records added so far, this one included."""


class RecordAssembly:
    """Turns records into frames in order, in parallel, with bounded memory.

    A record is in the file once the method that adds it has returned, whatever happens afterwards; if the
    method raises, it is not.

    Attributes:
        layout: Puts frames into the file. Copied frames go to it directly, after a `submit`.
        encoder: Makes the frames.
        records: Records so far; those of a file that is continued count as one.
        is_bare: Whether there are only warcinfo records in the file.
        is_closed: Whether it takes no more records.
    """

    def __init__(
        self,
        output: Output,
        form: Form,
        work: OrderedWork,
        *,
        existing: ExistingFile | None = None,
    ) -> None:
        self._output = output
        self.encoder = form.encoder
        self._work = work
        self._frame_size = form.frame_size
        self._tables: TableMode = form.tables
        self._has_ends = form.tables == "every" or form.compression == "gz"
        self.layout = form.layout(output, existing)
        self._entry_size = ENTRY_SIZES[form.tables]
        self._batch: list[_SmallRecord] = []
        self._batch_size = 0
        self.records = self._before = 0 if existing is None else 1
        self.is_bare = existing is None
        self._steps = itertools.count(1)
        self._accepted = self._delivered = (0, 0)
        """(content bytes, records) that were added, and that are in the output."""
        self._last: Written | None = None
        self._first_job = work.submitted
        self._begun: int | None = None
        """Number of jobs submitted before the current large record; None between records."""
        self._needs_rollback = False
        self.is_closed = False

    def head_size(self, warcinfo: bytes) -> int:
        """Return the compressed size of a file that holds a warcinfo record and nothing else."""
        # In a .warc.gz this is what a member takes beside its content.
        own_table = OWN_TABLE + self._entry_size if self._has_ends else 0
        table = built_table_size(2) if self._tables == "large" else 0
        return self.stored_size(warcinfo) + own_table + table

    @property
    def size_bound(self) -> int:
        """Maximum size of the file if it ended now. After `flush` only its final table is still estimated."""
        size, records = (a - d for a, d in zip(self._accepted, self._delivered, strict=True))
        waiting = stored_bound(size) + RECORD_OVERHEAD * records
        return self.layout.size_bound + (waiting if records else 0)

    def stored_size(self, content: bytes) -> int:
        """Return the compressed size of content in a frame of its own, entries in tables included."""
        return len(self.encoder.encode(content).data) + self._entry_size if content else 0

    def add_extension(self, frame: bytes) -> None:
        """Append a skippable frame."""
        self.layout.once(next(self._steps), lambda: self.layout.add_skippable(frame))

    def add(
        self,
        header: RecordHeader,
        source: BlockSource,
        trailer: Trailer,
        completion: HeaderCompletion | None = None,
    ) -> Written:
        """Add a record.

        `completion` makes the final header of a large record, as long as `header`; it needs
        `layout.can_rewrite`.
        """
        written = Written(header, self._output.name, self.flush)
        length = header.content_length
        is_large = length > self._frame_size or len(header.raw) + length + len(RECORD_END) > MAX_FRAME_SIZE

        def place() -> None:
            if is_large:
                self._add_large(header, source, trailer, written, completion)
            else:
                block = source.read(length)
                self._add_small(header, block, trailer() if callable(trailer) else trailer, written)
            self._count(header)

        self._all_or_nothing(place)
        return written

    def spool(
        self,
        source: BlockSource,
        http: HttpHead | None,
        on_data: Callable[[Buffer], None],
        length: int | None,
        *,
        limits: SegmentLimits | None = None,
        algorithm: WrittenAlgorithm | None = None,
    ) -> SpooledBlock:
        """Compress a large block whose header can be completed only after it was read.

        Nothing of it is in the file until `add_spooled`. The caller closes the returned block.

        Args:
            source: The block.
            http: The HTTP head that it begins with, if it does.
            on_data: Called with the block, piece by piece; in another thread, but never twice at once.
            length: Its length, or None if it is not known.
            limits: Maximum sizes of segments; one record takes all of it unless given.
            algorithm: Algorithm of the digests of the segments.
        """
        # Earlier records go into the file first: if this block fails, only its own jobs are waiting.
        self.flush()
        shape = block_shape(
            source, http, length, frame_size=self._frame_size, merged=self.merges_first_header
        )
        block = SpooledBlock(
            self._output,
            shape,
            self.encoder,
            limits=limits,
            entry_size=self._entry_size,
            algorithm=algorithm,
        )
        try:
            self._needs_rollback, self._begun = True, self._work.submitted
            aside = self._work.aside()
            aside.call(on_data, shape.lead)
            chunks = source.chunks(shape.first, shape.frame)
            for content, trailing in with_trailer(chunks, lambda: RECORD_END):
                part = memoryview(content)[: len(content) - trailing]
                aside.call(on_data, part)
                self._work.submit(
                    partial(self.encoder.encode_chunk, content, shape.small), partial(block.add, part)
                )
            self._work.drain()
            aside.finish()
            block.finish()
            self._begun, self._needs_rollback = None, False
        except BaseException:
            # The record is only in the spool, so there is nothing to undo in the file.
            self._work.rollback(self._begun or 0)
            block.close()
            self._begun, self._needs_rollback = None, False
            raise
        return block

    def add_spooled(self, header: RecordHeader, block: SpooledBlock, number: int = 0) -> Written:
        """Add a record whose block is in a spool, or one segment of it."""
        self.flush()
        written = Written(header, self._output.name, self.flush)
        segment = block.segments[number]
        heads = _head_contents(header, block.shape) if number == 0 else (header.raw,)

        def emit() -> None:
            offset = self.layout.begin_record()
            self.layout.add(*map(self.encoder.encode, heads))
            block.pour(self.layout, segment)
            written.place(offset, self.layout.end_record(large=True))
            self._last = written

        def place() -> None:
            self.layout.once(next(self._steps), emit)
            self._count(header)

        self._all_or_nothing(place)
        return written

    def _count(self, header: RecordHeader) -> None:
        self.records += 1
        if self.is_bare and header.get("WARC-Type") != "warcinfo":
            self.is_bare = False

    def flush(self) -> None:
        """Wait until every record so far is compressed and in the output."""
        self._check()
        self._needs_rollback = True
        self._submit_batch()
        self._work.drain()
        self._output.flush()
        self._needs_rollback = False

    def rollback(self) -> None:
        """Undo the record that is not complete; bring all others into the output.

        Raises:
            TargetError: The file cannot be written.
            SeekWarcError: The output cannot be cut back, as a pipe.
        """
        if self._begun is not None:
            self._work.rollback(self._begun)
        if self._begun is not None or self.layout.needs_rollback:
            self._submit_batch()
            self._work.drain()
            self.layout.rollback()
            self._accepted = self._delivered
        if self._last is not None and self._last.type != "warcinfo":
            self.is_bare = False
        self._begun, self._needs_rollback = None, False

    def keep_what_fits(self) -> None:
        """Undo everything that cannot be brought into the output; nothing can be added after that.

        Raises:
            SeekWarcError: The output cannot be rolled back.
        """
        try:
            self.rollback()
            self.flush()
        except (SeekWarcError, OSError):
            self._work.rollback()
            self._batch = []
            self.layout.rollback()

    def end_file(self) -> None:
        """Write the end of the file: its seek table, if it gets one.

        Raises:
            FormatError: It has no record.
        """
        self.flush()
        if not self.has_records:
            raise FormatError("no record was written, so no file was made", source=self._output.name)
        self.layout.once(sys.maxsize, self.layout.end_file)
        if self.records == 1 and self._last is not None and self._last.offset == self._output.begin:
            # The file's table lists only this record's frames, so it is part of the record.
            self._last.place(self._output.begin, self.layout.offset - self._output.begin)

    @property
    def has_records(self) -> bool:
        """Whether there is a record in the file; call `flush` first."""
        return self.records > 0 or self._last is not None

    @property
    def added(self) -> int:
        """How many records were added."""
        return self.records - self._before

    def abort(self) -> None:
        """Take no more records, and drop the jobs that are waiting: other files share the threads."""
        self._work.rollback(self._first_job)
        self.close()

    def close(self) -> None:
        """Take no more records."""
        self.is_closed = True

    def _check(self) -> None:
        if self.is_closed:
            raise SeekWarcError("the writer is closed", source=self._output.name)
        if self._needs_rollback:
            self.rollback()

    def _all_or_nothing(self, add: Callable[[], None]) -> None:
        """Add a record completely, or leave everything as it was."""
        self._check()
        self._needs_rollback = True
        try:
            add()
        except BaseException:
            # If this fails, adding the next record tries again and raises.
            with contextlib.suppress(SeekWarcError, OSError):
                self.rollback()
            raise
        self._needs_rollback = False

    # Small records.

    def _add_small(self, header: RecordHeader, block: bytes, trailer: bytes, written: Written) -> None:
        # What fails here belongs to earlier records. This record is added by the `append` below, or not at
        # all.
        if self._batch_size >= BATCH_SIZE:
            self._submit_batch()
        if self._tables != "every":
            contents: tuple[bytes, ...] = (header.raw + block + trailer,)
        elif block:
            contents = (header.raw, block + trailer)
        else:
            contents = (header.raw + trailer,)
        size = len(header.raw) + len(block)
        self._batch_size += size
        self._accepted = self._accepted[0] + size, self._accepted[1] + 1
        step = next(self._steps)
        self._batch.append(_SmallRecord(step, contents, trailer == RECORD_END, written, self._accepted))

    def submit(self) -> None:
        """Hand every record so far to the threads; what is submitted to them next follows in the file."""
        self._check()
        self._submit_batch()

    def _submit_batch(self) -> None:
        batch = tuple(self._batch)
        if not batch:
            return

        def encode() -> list[list[EncodedFrame]]:
            return [[self.encoder.encode(c) for c in record.contents] for record in batch]

        def deliver(encoded: list[list[EncodedFrame]]) -> None:
            for record, frames in zip(batch, encoded, strict=True):
                self.layout.once(record.step, partial(self._place, record, frames))

        self._work.submit(encode, deliver)
        # If this is interrupted, the batch is submitted again; but no step is done twice.
        self._batch, self._batch_size = [], 0

    def _place(self, record: _SmallRecord, frames: list[EncodedFrame]) -> None:
        offset = self.layout.begin_record()
        self.layout.add(*frames)
        record.written.place(offset, self.layout.end_record(large=False, regular=record.regular))
        self._last = record.written
        self._delivered = record.accepted

    # Large records.

    @property
    def merges_first_header(self) -> bool:
        """Whether the next record's header must share its frame with the beginning of the block.

        The first record of a file that ends in a table must: a reader of the profile of proposal 118 would
        otherwise take that table for the first record's.
        """
        return self._tables == "large" and not self.records

    def _add_large(
        self,
        header: RecordHeader,
        source: BlockSource,
        trailer: Trailer,
        written: Written,
        completion: HeaderCompletion | None,
    ) -> None:
        self._submit_batch()
        layout = self.layout
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
            self._delivered = accepted

        # What waits counts with the size that it may have, entries in tables included.
        weight = (header.content_length + len(header.raw)) * 33 // 32
        self._accepted = accepted = self._accepted[0] + weight, self._accepted[1] + 1
        self._begun = self._work.submitted
        self._mark_step(begin)
        http = source.http_head() if is_http_block(header.get("Content-Type")) else None
        shape = block_shape(
            source, http, header.content_length, frame_size=self._frame_size, merged=self.merges_first_header
        )
        first, *others = _head_contents(header, shape)
        before = self.encoder.store(first) if completion is not None else self.encoder.encode(first)
        self._submit_frames(lambda: [before, *map(self.encoder.encode, others)])
        aside = self._work.aside()
        if completion is not None:
            aside.call(completion.add, shape.lead)
        for content, trailing in with_trailer(source.chunks(shape.first, shape.frame), end_of_block):
            if completion is not None:
                aside.call(completion.add, memoryview(content)[: len(content) - trailing])
                if trailing:
                    aside.finish()
                    # Before the last frame: a record whose header is not final is never a whole one.
                    written.header = completion.finish()
                    after = self.encoder.store(_head_contents(written.header, shape)[0])
                    self._mark_step(partial(layout.rewrite_first, before, after))
            self._submit_frames(partial(self.encoder.encode_chunk, content, shape.small))
        self._mark_step(end)
        self._begun = None

    def _submit_frames(self, encode: Callable[[], list[EncodedFrame]]) -> None:
        number = next(self._steps)
        self._work.submit(encode, lambda frames: self.layout.once(number, partial(self.layout.add, *frames)))

    def _mark_step(self, step: Callable[[], None]) -> None:
        number = next(self._steps)
        self._work.mark(lambda: self.layout.once(number, step))

    def rollback_segment(self) -> None:
        """Undo the only record that is not a warcinfo record, which `add_spooled` added."""
        self.rollback()
        self.layout.rollback_record()
        self.records -= 1
        self.is_bare = True


def _head_contents(header: RecordHeader, shape: BlockShape) -> tuple[bytes, ...]:
    """Return the contents of the frames before a block's first chunk."""
    if shape.merged:
        return (header.raw + shape.lead,)
    return (header.raw, shape.lead) if shape.lead else (header.raw,)
