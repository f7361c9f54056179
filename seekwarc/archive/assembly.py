"""How records become frames: small ones in batches, large ones as they are read.

Source: spec-notes/seekable-records.md, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from seekwarc.archive.block import BlockSource
from seekwarc.archive.layout import FileLayout, Spool, TableMode
from seekwarc.archive.output import Output
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.http import HttpHead, is_http_block
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.frames.encoder import (
    MAX_FRAME_SIZE,
    SMALL_FRAME_SIZE,
    EncodedFrame,
    FrameEncoder,
    OrderedWork,
)

__all__ = ["RecordAssembly", "Written"]

MOST_TABLE_ENTRIES: Final = 1 << 20
"""Frames are made larger rather than that a record of known length gets a longer table."""
MERGED_LEAD: Final = 4 << 10
"""Bytes of the block that share the header's frame where that must hold some: little to decode."""
HEAD_ENTRIES: Final = 4
"""Entries that the header, the HTTP head and a shorter first and last chunk may take."""
BATCH_SIZE: Final = 256 << 10
"""Content of small records that is handed to a thread in one go."""

Trailer = bytes | Callable[[], bytes]


class Written:
    """A record that was handed to a `Writer`.

    Attributes:
        header: The record header as it was written.
    """

    __slots__ = ("_length", "_offset", "_settle", "header")

    def __init__(self, settle: Callable[[], None]) -> None:
        self.header: RecordHeader
        self._settle = settle
        self._offset = -1
        self._length = -1

    def place(self, offset: int, length: int) -> None:
        """Say where the record was put."""
        self._offset = offset
        self._length = length

    @property
    def id(self) -> str | None:
        """WARC-Record-ID without its angle brackets."""
        return self.header.uri("WARC-Record-ID")

    @property
    def offset(self) -> int:
        """Offset of the record in the file, as CDX has it. Waits until the record is compressed."""
        self._wait()
        return self._offset

    @property
    def length(self) -> int:
        """Stored bytes up to the next record, as CDX has it. Waits until the record is compressed."""
        self._wait()
        return self._length

    def _wait(self) -> None:
        if self._length < 0:
            try:
                self._settle()
            except SeekWarcError as error:
                raise SeekWarcError(f"the record was not written: {error}") from error


@dataclass(frozen=True, slots=True)
class _SmallRecord:
    contents: tuple[bytes, ...]
    """What each of its frames holds."""
    regular: bool
    """Whether it ends as records should."""
    written: Written


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a large record is cut into frames."""

    frame: int
    """Content of a frame of the block."""
    small: int
    """Content of such a frame where it does not compress."""
    lead: bytes
    """Beginning of the block: its HTTP head, or what goes into the header's frame."""
    first: int
    """Content of the first frame behind the lead."""


class RecordAssembly:
    """Turns records into frames in order, in parallel, with bounded memory.

    Args:
        output: Where the file is written.
        encoder: Makes frames.
        work: Threads to make them in.
        frame_size: Most content bytes of a frame of a block.
        tables: Which seek tables to write.
    """

    def __init__(
        self,
        output: Output,
        encoder: FrameEncoder,
        work: OrderedWork,
        *,
        frame_size: int,
        tables: TableMode,
    ) -> None:
        self._output = output
        self._encoder = encoder
        self._work = work
        self._frame_size = frame_size
        self._tables: TableMode = tables
        self._layout = FileLayout(output, tables)
        self._batch: list[_SmallRecord] = []
        self._batch_size = 0
        self._records = 0
        self._last: Written | None = None
        self._broken = False
        self._closed = False

    def add_extension(self, frame: bytes) -> None:
        """Append a skippable frame."""
        self._guarded(lambda: self._layout.add_skippable(frame))

    def add(self, header: RecordHeader, source: BlockSource, trailer: Trailer) -> Written:
        """Add a record whose header is complete."""
        self._check()
        written = Written(self.flush)
        written.header = header
        length = header.content_length
        if length > self._frame_size or len(header.raw) + length + len(RECORD_END) > MAX_FRAME_SIZE:
            self._add_large(header, source, trailer, written)
        else:
            block = source.read(length)
            self._add_small(header, block, trailer() if callable(trailer) else trailer, written)
        self._records += 1
        return written

    def add_spooled(
        self,
        source: BlockSource,
        http: HttpHead | None,
        observe: Callable[[bytes], None],
        complete: Callable[[int], RecordHeader],
        length: int | None,
    ) -> Written:
        """Add a large record whose header can be completed only when its block has gone by.

        Args:
            source: The block.
            http: The HTTP head that it begins with.
            observe: Shown the block piece by piece.
            complete: Makes the header, given the length of the block.
            length: That length, where it is known all the same.
        """
        self._check()
        self._submit_batch()
        written = Written(self.flush)
        spool = Spool(self._output)
        try:
            shape = self._shape(source, http, length)
            observe(shape.lead)
            size = len(shape.lead)

            def observed() -> Iterator[tuple[bytes, bool]]:
                nonlocal size
                for chunk, last in source.chunks(shape.first, shape.frame):
                    observe(chunk)
                    size += len(chunk)
                    yield chunk, last

            for content in _with_trailer(observed(), lambda: RECORD_END):
                self._submit_chunk(content, shape, spool.add)
            self._guarded(self._work.drain)
            written.header = complete(size)

            def emit() -> None:
                offset = self._layout.begin_record()
                for content in self._head_contents(written.header, shape, http):
                    self._layout.add(self._encoder.encode(content))
                spool.pour(self._layout)
                written.place(offset, self._layout.end_record(large=True))

            self._guarded(emit)
        except BaseException:
            # Nothing of the record is in the file yet, only in the spool.
            if not self._broken:
                self._guarded(self._work.drain)
            raise
        finally:
            spool.close()
        self._records += 1
        return written

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
        if not self._records:
            raise FormatError("no record was written, so no file was made", source=self._output.name)
        self.flush()
        self._guarded(self._layout.end_file)
        if self._records == 1 and self._last is not None and self._last.offset == self._output.begin:
            # The file table lists the one record's frames and nothing else: it is that record's own.
            self._last.place(self._output.begin, self._layout.offset - self._output.begin)

    def close(self) -> None:
        """Stop the threads; what was not written by now never will be."""
        self._closed = True
        self._work.close()

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
        if self._batch_size >= BATCH_SIZE:
            self._submit_batch()

    def _submit_batch(self) -> None:
        batch, self._batch, self._batch_size = self._batch, [], 0
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

        self._guarded(lambda: self._work.submit(encode, deliver))

    # Large records.

    def _shape(self, source: BlockSource, http: HttpHead | None, length: int | None) -> _Shape:
        frame, small = self._frame_size, min(SMALL_FRAME_SIZE, self._frame_size)
        while (
            length is not None
            and small < MAX_FRAME_SIZE
            and -(-length // frame) * -(-frame // small) > MOST_TABLE_ENTRIES - HEAD_ENTRIES
        ):
            small = min(small * 2, MAX_FRAME_SIZE)
            frame = max(frame, small)
        lead_size = first = 0
        if http is not None:
            lead_size = http.size
        elif self._merged:
            lead_size = MERGED_LEAD
            first = frame - lead_size
        return _Shape(frame, small, source.read(lead_size), first or frame)

    @property
    def _merged(self) -> bool:
        """Whether the record header shares its frame with the beginning of the block.

        So it must be at the head of a file that will end in a file table: a reader of the profile of
        proposal 118 would otherwise take that table for the first record's.
        """
        return self._tables == "large" and not self._records

    def _head_contents(self, header: RecordHeader, shape: _Shape, http: HttpHead | None) -> tuple[bytes, ...]:
        if self._merged:
            return (header.raw + shape.lead,)
        return (header.raw, shape.lead) if http is not None else (header.raw,)

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

        self._guarded(lambda: self._work.mark(begin))
        try:
            http = source.http_head() if is_http_block(header.get("Content-Type")) else None
            shape = self._shape(source, http, header.content_length)
            heads = self._head_contents(header, shape, http)
            self._submit(lambda: [self._encoder.encode(content) for content in heads], layout.add)
            for content in _with_trailer(source.chunks(shape.first, shape.frame), end_of_block):
                self._submit_chunk(content, shape, layout.add)
        except BaseException:
            if not self._broken:
                self._take_back()
            raise
        self._guarded(lambda: self._work.mark(end))

    def _submit_chunk(self, content: bytes, shape: _Shape, deliver: Callable[[EncodedFrame], None]) -> None:
        self._submit(lambda: self._encoder.encode_chunk(content, shape.small), deliver)

    def _submit(
        self, encode: Callable[[], list[EncodedFrame]], deliver: Callable[[EncodedFrame], None]
    ) -> None:
        def deliver_all(frames: list[EncodedFrame]) -> None:
            for frame in frames:
                deliver(frame)

        self._guarded(lambda: self._work.submit(encode, deliver_all))

    def _take_back(self) -> None:
        """Leave the file as it was before the current record."""
        self._guarded(self._work.drain)
        if not self._layout.abandon_record():
            self._broken = True


def _with_trailer(chunks: Iterator[tuple[bytes, bool]], trailer: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield the chunks of a block, the last with what follows the block."""
    for chunk, last in chunks:
        if not last:
            yield chunk
            continue
        content = chunk + trailer()
        if len(content) > MAX_FRAME_SIZE:
            yield content[: len(content) // 2]
            content = content[len(content) // 2 :]
        yield content
