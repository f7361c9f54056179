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
  when a record fails, and before each one, in case it was itself interrupted.

Source: spec-notes/warc-zstd-seekable, section 2.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO, Final

from seekwarc.compiling import Buffer
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.digest import WrittenAlgorithm
from seekwarc.format.http import HttpHead, is_http_block
from seekwarc.format.seektable import built_table_size
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.frames.encoder import MAX_FRAME_SIZE, EncodedFrame, OrderedWork
from seekwarc.write.block_reader import BlockSource, Trailer
from seekwarc.write.file_layout import Entries, ExistingFile, TableMode
from seekwarc.write.forms import Form
from seekwarc.write.header import LateHeader
from seekwarc.write.output import Output
from seekwarc.write.spool import (
    BlockShape,
    SegmentLimits,
    SpooledBlock,
    block_shape,
    trailer_bytes,
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


def stored_bound(content_size: int) -> int:
    """Return the maximum compressed size of a small record of that many bytes."""
    return content_size + content_size // 128 + RECORD_OVERHEAD


class _SmallRecord:
    """A record that waits to be compressed.

    Attributes:
        step: Number of the step that puts it into the file.
        contents: The content of each of its frames.
        regular: Whether it ends in two line breaks.
        accepted: Maximum size of what was added so far, this record included.
    """

    __slots__ = ("accepted", "contents", "regular", "step", "written")

    def __init__(
        self, step: int, contents: tuple[bytes, ...], written: Written, accepted: int, *, regular: bool
    ) -> None:
        self.step = step
        self.contents = contents
        self.written = written
        self.accepted = accepted
        self.regular = regular


class RecordAssembly:
    """Turns records into frames in order, in parallel, with bounded memory.

    A record is in the file once the method that adds it has returned, whatever happens afterwards; if the
    method raises, it is not.
    """

    def __init__(
        self,
        form: Form,
        work: OrderedWork,
        output: Output,
        existing: ExistingFile | None = None,
    ) -> None:
        self._output = output
        self._form = form
        self._work = work
        self.encoder = form.encoder
        self.layout = form.layout(output, existing)
        self._entry_size = ENTRY_SIZES[form.tables]
        self._batch: list[_SmallRecord] = []
        self._batch_size = 0
        # Those of a file that is continued count as one.
        self.records = self._before = 0 if existing is None else 1
        self._is_bare = existing is None
        self._steps = itertools.count(1)
        self._accepted = self._delivered = 0
        """Maximum size of the records that were added, and of those that are in the output."""
        self.last: Written | None = None
        """The last record that is in the output."""
        self._before_segment: tuple[int, Written | None] = 0, None
        """How many records there were before the last segment, and the last of them."""
        self._first_job = work.submitted
        self._begun: int | None = None
        """Number of jobs submitted before the current large record; None between records."""
        self.is_closed = False

    def head_size(self, warcinfo: bytes) -> int:
        """Return the compressed size of a file that holds a warcinfo record and nothing else."""
        # In a .warc.gz this is what a member takes beside its content.
        has_end = self._form.tables == "every" or self._form.compression == "gz"
        own_table = OWN_TABLE + self._entry_size if has_end else 0
        table = built_table_size(2) if self._form.tables == "large" else 0
        return self.stored_size(warcinfo) + own_table + table

    @property
    def size_bound(self) -> int:
        """Maximum size of the file if it ended now. After `flush` only its final table is still estimated."""
        return self.layout.size_bound + self._accepted - self._delivered

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
        trailer: Trailer = RECORD_END,
        completion: LateHeader | None = None,
    ) -> Written:
        """Add a record; `completion`, for `layout.can_rewrite`, makes the final header of a large one."""
        length = header.content_length
        if length > self._form.frame_size or len(header.raw) + length + len(RECORD_END) > MAX_FRAME_SIZE:
            return self._all_or_nothing(header, partial(self._add_large, source, trailer, completion))
        return self._all_or_nothing(header, partial(self._add_small, source, trailer))

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
        `on_data` is called with the block, piece by piece; in another thread, but never twice at once.
        """
        # Earlier records go into the file first: if this block fails, only its own jobs are waiting.
        self.flush()
        shape = self._shape(source, http, length)
        block = SpooledBlock(
            self._output,
            shape,
            self.encoder,
            limits=limits,
            entry_size=self._entry_size,
            algorithm=algorithm,
        )
        try:
            self._begun = self._work.submitted
            for content, end in self._chunks(source, shape, RECORD_END, on_data):
                part = memoryview(content)[: len(content) - len(end or b"")]
                self._work.submit(
                    partial(self.encoder.encode_chunk, content, shape.small), partial(block.add, part)
                )
            self._work.drain()
            block.finish()
        except BaseException:
            # The record is only in the spool, so there is nothing to undo in the file.
            self._work.rollback(self._begun or 0)
            block.close()
            raise
        finally:
            self._begun = None
        return block

    def add_spooled(self, header: RecordHeader, block: SpooledBlock, number: int = 0) -> Written:
        """Add a record whose block is in a spool, or one segment of it."""
        self.flush()
        self._before_segment = self.records, self.last
        heads = block.shape.heads(header) if number == 0 else (header.raw,)

        def emit(written: Written) -> None:
            self.layout.begin_record()
            self.layout.add(*map(self.encoder.encode, heads))
            block.pour(self.layout, block.segments[number])
            self._end_record(written, self._accepted, large=True)

        return self._all_or_nothing(
            header, lambda written: self.layout.once(next(self._steps), partial(emit, written))
        )

    def add_part(self, stored: BinaryIO, entries: Entries, records: int, *, covered: bool) -> None:
        """Add records that another assembly has written, whose layout has these entries."""
        self.flush()
        self.layout.once(next(self._steps), lambda: self.layout.add_part(stored, entries, covered=covered))
        self.records += records

    def flush(self) -> None:
        """Wait until every record so far is compressed and in the output."""
        self._check()
        self._submit_batch()
        self._work.drain()
        self._output.flush()
        if not self.records and self.last is not None:
            # Ctrl-C came when the first record was added, before it was counted.
            self.records = 1

    def rollback(self) -> None:
        """Undo the record that is not complete; bring all others into the output."""
        if self._begun is not None:
            self._work.rollback(self._begun)
        if self._begun is not None or self.layout.needs_rollback:
            self._submit_batch()
            self._work.drain()
            self.layout.rollback()
            self._accepted = self._delivered
            self._begun = None

    def keep_what_fits(self) -> None:
        """Undo everything that cannot be brought into the output; nothing can be added after that."""
        try:
            self.rollback()
            self.flush()
        except (SeekWarcError, OSError):
            self._work.rollback()
            self._batch = []
            self.layout.rollback()

    def end_file(self) -> None:
        """Write the end of the file: its seek table, if it gets one."""
        self.flush()
        if not self.has_records:
            raise FormatError("no record was written, so no file was made", source=self._output.name)
        self.layout.once(sys.maxsize, self.layout.end_file)
        if self.records == 1 and self.last is not None and self.last.offset == self._output.begin:
            # The file's table lists only this record's frames, so it is part of the record.
            self.last.place(self._output.begin, self.layout.offset - self._output.begin)

    @property
    def is_bare(self) -> bool:
        """Whether there are only warcinfo records in the file."""
        return self._is_bare and (self.last is None or self.last.type == "warcinfo")

    @property
    def has_records(self) -> bool:
        """Whether there is a record in the file; call `flush` first."""
        return self.records > 0 or self.last is not None

    def is_empty(self) -> bool:
        """Tell whether there is no record in the file, and none that waits to be in it."""
        if not self.records:
            self.flush()
        return not self.records

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
        self.rollback()

    def _all_or_nothing(self, header: RecordHeader, add: Callable[[Written], None]) -> Written:
        if not self.records:
            # A large record that is the first one has another form.
            self.flush()
        self._check()
        written = Written(header, self._output.name, self.flush)
        try:
            add(written)
            self.records += 1
            if self._is_bare and header.get("WARC-Type") != "warcinfo":
                self._is_bare = False
        except BaseException:
            # If this fails, adding the next record tries again and raises.
            with contextlib.suppress(SeekWarcError, OSError):
                self.rollback()
            raise
        return written

    def _end_record(self, written: Written, accepted: int, *, large: bool, regular: bool = True) -> None:
        written.place(*self.layout.end_record(large=large, regular=regular))
        self.last = written
        self._delivered = accepted

    # Small records.

    def _add_small(self, source: BlockSource, trailer: Trailer, written: Written) -> None:
        head = written.header.raw
        block = source.read(written.header.content_length)
        end = trailer_bytes(trailer)
        # Failures here belong to earlier records. This record is added by the `append` below, or not at
        # all.
        if self._batch_size >= BATCH_SIZE:
            self._submit_batch()
        if self._form.tables == "every" and block:
            contents: tuple[bytes, ...] = (head, block + end)
        else:
            contents = (head + block + end,)
        size = len(head) + len(block)
        self._batch_size += size
        self._accepted += stored_bound(size)
        step = next(self._steps)
        record = _SmallRecord(step, contents, written, self._accepted, regular=end == RECORD_END)
        self._batch.append(record)

    def submit(self) -> None:
        """Hand every record so far to the threads; what is submitted to them next follows in the file."""
        self._check()
        self._submit_batch()

    def _submit_batch(self) -> None:
        batch = tuple(self._batch)
        if not batch:
            return

        def encode() -> list[list[EncodedFrame]]:
            frames = iter(self.encoder.encode_each([it for record in batch for it in record.contents]))
            return [[next(frames) for _ in record.contents] for record in batch]

        def deliver(encoded: list[list[EncodedFrame]]) -> None:
            for record, frames in zip(batch, encoded, strict=True):
                self.layout.once(record.step, partial(self._place, record, frames))

        self._work.submit(encode, deliver)
        # If this is interrupted, the batch is submitted again; but no step is done twice.
        self._batch, self._batch_size = [], 0

    def _place(self, record: _SmallRecord, frames: list[EncodedFrame]) -> None:
        self.layout.begin_record()
        self.layout.add(*frames)
        self._end_record(record.written, record.accepted, large=False, regular=record.regular)

    # Large records.

    @property
    def merges_first_header(self) -> bool:
        """Whether the next record's header must share its frame with the beginning of the block.

        The first record of a file that ends in a table must: a reader of the profile of proposal 118 would
        otherwise take that table for the first record's.
        """
        return self._form.tables == "large" and not self.records

    def _shape(self, source: BlockSource, http: HttpHead | None, length: int | None) -> BlockShape:
        size = self._form.frame_size
        return block_shape(source, http, length, frame_size=size, merged=self.merges_first_header)

    def _chunks(
        self,
        source: BlockSource,
        shape: BlockShape,
        trailer: Trailer,
        on_data: Callable[[Buffer], None] | None,
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield the chunks of a block after its lead, the last with the trailer, and with it apart.

        Before the last is yielded, `on_data` was called with the whole block.
        """
        aside = self._work.aside()
        if on_data is not None:
            aside.call(on_data, shape.lead)
        for content, end in with_trailer(source.chunks(shape.first, shape.frame), trailer):
            if on_data is not None:
                aside.call(on_data, memoryview(content)[: len(content) - len(end or b"")])
            if end is not None:
                aside.finish()
            yield content, end
        aside.finish()

    def _add_large(
        self, source: BlockSource, trailer: Trailer, completion: LateHeader | None, written: Written
    ) -> None:
        self._submit_batch()
        header = written.header
        # Waiting records count with the size that they may have, entries in tables included.
        self._accepted += stored_bound((header.content_length + len(header.raw)) * 33 // 32)
        self._begun = self._work.submitted
        self._mark_step(self.layout.begin_record)
        http = source.http_head() if is_http_block(header.get("Content-Type")) else None
        shape = self._shape(source, http, header.content_length)
        first, *others = shape.heads(header)
        before = self.encoder.store(first) if completion is not None else self.encoder.encode(first)
        self._submit_frames(lambda: [before, *map(self.encoder.encode, others)])
        regular = True
        on_data = completion.add if completion is not None else None
        for content, end in self._chunks(source, shape, trailer, on_data):
            if end is not None:
                regular = end == RECORD_END
                if completion is not None:
                    # Before the last frame: a record whose header is not final is never a whole one.
                    written.header = completion.finish()
                    after = self.encoder.store(shape.heads(written.header)[0])
                    self._mark_step(partial(self.layout.rewrite_first, before, after))
            self._submit_frames(partial(self.encoder.encode_chunk, content, shape.small))
        self._mark_step(partial(self._end_record, written, self._accepted, large=True, regular=regular))
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
        self.records, self.last = self._before_segment
        self._is_bare = True
