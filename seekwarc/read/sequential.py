"""Records of a file that is decompressed in order: .warc.gz, pipes, and whatever cannot be seeked in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from seekwarc.compiling import mypyc_attr, override
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.seektable import TableTrust
from seekwarc.format.words import counted
from seekwarc.frames.pieces import end_of_empty_frames
from seekwarc.frames.run import ReadPlan
from seekwarc.frames.scan import CHEAP_READ
from seekwarc.read.body import CUT_OFF, RecordBody, TableStatus, record_size
from seekwarc.read.record import Record
from seekwarc.read.resync import (
    NEAR_END,
    NEARBY,
    SHARED,
    beyond_frame,
    check_trailer,
    checked_end,
    is_followed,
    note_deviation,
    pass_surplus,
    too_large,
)

if TYPE_CHECKING:
    from seekwarc.format.seektable import SeekTable, TableChoice
    from seekwarc.format.warc import RecordHeader
    from seekwarc.frames.blocks import BlockRange, FrameBlocks
    from seekwarc.frames.pieces import Compression
    from seekwarc.frames.points import SpanRun
    from seekwarc.frames.scan import Window
    from seekwarc.frames.stream import ContentStream, Head
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["StreamBody", "StreamedRecords", "streamed_to_end"]

SHORT_READ: Final = 64 << 10
"""What is held in memory until a later position is read."""


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamBody(RecordBody):
    """A record that can only be decompressed from its beginning.

    Reads that go forward go on where the last one ended; a read that goes back begins again.

    Args:
        live: The stream that an iteration reads the file with, and the position in it at which the record
            begins; used as long as it has not passed.
        limit: Offset that no more than what is wanted is read beyond.
    """

    __slots__ = (
        "_base",
        "_compression",
        "_is_compared",
        "_is_passed",
        "_limit",
        "_lock",
        "_problem",
        "_runs",
        "_stream",
        "blocks",
        "choice",
        "known_end",
        "last_frame",
    )

    def __init__(
        self,
        file: ArchiveFile,
        offset: int,
        header: RecordHeader,
        compression: Compression,
        *,
        skip: int = 0,
        live: tuple[ContentStream, int] | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(file, offset, header)
        self.skip = skip
        self._compression: Compression = compression
        self._limit = limit
        self._stream: ContentStream | None = live[0] if live else None
        self._base = live[1] if live else 0
        self._lock = threading.Lock()
        self._is_passed = live is not None
        self._is_compared = compression == "none"
        self._problem: str | None = None
        self._runs: tuple[SpanRun | None] | None = None
        self.blocks: FrameBlocks | None = None
        self.choice: TableChoice = TableTrust.CLAIMED
        """Which sidecar to believe."""
        self.known_end: int | None = None
        """Offset that the record ends at or before, as an index or a scan says."""
        self.last_frame: int | None = None
        """The frame or member that the record ends in, where that goes on with another record."""

    def __getstate__(self) -> dict[str, object]:
        kept = "file offset header skip last_frame choice known_end _compression _limit"
        return {name: getattr(self, name) for name in kept.split()}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        # A copy opens the sidecar itself, and reads the record from its beginning, in a stream of its own.
        self._stream = self.blocks = self._runs = self._problem = None
        self._base = 0
        self.begins = False
        self._lock = threading.Lock()
        self._is_passed = False
        self._is_compared = self._compression == "none"

    @property
    @override
    def table_status(self) -> TableStatus:
        if self.blocks is not None:
            return TableStatus.BLOCKS
        return TableStatus.STREAM if self._spans() is None else TableStatus.SIDECAR

    @property
    @override
    def frames(self) -> SeekTable | None:
        spans = self._spans()
        return spans.table if spans is not None else None

    @property
    @override
    def problem(self) -> str | None:
        return self._problem

    @override
    def check_end(self, stop: int) -> None:
        if self._is_compared:
            return
        end = len(self.header.raw) + self.header.content_length
        if stop < end - NEAR_END:
            return
        stream = self._stream
        # As of nearly every small record, which was decompressed with its header.
        if stream is not None and stream.has_record_to(self._base + end):
            self._is_compared = True
        else:
            with self._lock:
                found = checked_end(self, self._open(), self._base + end, is_passed=self._is_passed)
            self._problem, self._is_compared = found

    def leave(self, table: TableChoice) -> None:
        """Note that no one else will read on in this stream, and which sidecar to believe."""
        self._is_passed = False
        self.choice = table

    def end_at(self, end: int) -> None:
        """Note where the record ends, as was found by reading on: no sidecar lists more of it."""
        self.known_end, self._runs = end, None

    def _spans(self) -> SpanRun | None:
        """Return the record as spans of a sidecar; None if no sidecar lists it."""
        if self._runs is None:
            is_one = self._compression != "none" and not self.skip
            size = record_size(self.header)
            spans = partial(self.file.spans, self.offset, size, self.choice, in_order=self)
            self._runs = (spans(known_end=self.known_end) if is_one else None,)
        return self._runs[0]

    def _way(self, start: int, stop: int, *, verify: bool = True) -> SpanRun | BlockRange | None:
        """Return the spans or blocks if they are the way to a range, and None if the stream is."""
        stream = self._stream
        begins, self.begins = self.begins, False
        is_next = (
            begins or 0 <= start - (stream.position - self._base if stream is not None else 0) <= SHORT_READ
        )
        if self.blocks is not None:
            # What is read in order is decompressed, so that at its end the frame's checksum is compared.
            found = None if verify and is_next else self.blocks.find(start, stop)
            if found is None or found.is_there():
                return found
            # Its blocks are others than the record's size says.
            self.blocks = None
        # In order it costs no more than by a sidecar, and what comes is what the archive holds.
        return None if is_next and (begins or stream is not None) else self._spans()

    @property
    def is_in_frames(self) -> bool:
        """Whether the record is in Zstandard frames, which a seek table may claim to list."""
        return self._compression == "zst"

    @override
    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        spans = self._way(start, stop, verify=verify)
        if spans is not None:
            return spans.read(start, stop, verify=verify)
        if stop - start <= SHORT_READ:
            # Should the file end before: what there is can still be read, even from a pipe.
            return self._look(start, stop, stop - start, verify=verify)
        return self.read_long(start, stop, verify=verify)

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        filled = 0
        while filled < len(out):
            with out[filled:] as rest:
                filled += self.read_up_to_cut(start + filled, rest, verify=verify)

    @override
    def read_up_to_cut(self, start: int, out: memoryview, *, verify: bool = True) -> int:
        spans = self._way(start, start + len(out), verify=verify)
        if spans is not None:
            spans.read_into(start, out, verify=verify)
            return len(out)
        return self._fill(start, out, by_sidecar=True, verify=verify)

    def is_at(self, position: int) -> bool:
        """See `InOrder`."""
        return self._stream is not None and self._stream.position == self._base + position

    def decoded(self, start: int, stop: int) -> bytes:
        """See `InOrder`."""
        out = bytearray(stop - start)
        if self._fill(start, memoryview(out)) < len(out):
            raise self.cut()
        return bytes(out)

    def _fill(self, start: int, out: memoryview, *, by_sidecar: bool = False, verify: bool = False) -> int:
        with self._lock:
            found = self._open().read_at(self._base + start, out)
        if found is None and by_sidecar and start > SHORT_READ and (spans := self._spans()) is not None:
            # Another thread has read on in the stream.
            spans.read_into(start, out)
            return len(out)
        with self._lock:
            filled = self._open(again=True).read_at(self._base + start, out) if found is None else found
            filled = filled or 0
            if filled < len(out) and (not filled or self.hides_records()):
                # Why there is no more: the stream raises its damage, if that is not just the file's end.
                self._open().read_at(self._base + start + filled, out)
                raise self.cut()
        if verify:
            self.check_end(start + filled)
        return filled

    def hides_records(self) -> bool:
        """See `RecordBody.hides_records`."""
        stream = self._stream
        if stream is None:
            return False
        damage = max(self.offset, stream.frame_end)
        return stream.head_after(self._base) is not None or is_followed(self.file, damage, self._compression)

    @override
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        spans = self._way(start, min(start + least, stop), verify=False)
        return self._look(start, stop, least) if spans is None else spans.read_some(start, stop, least)

    def _look(self, start: int, stop: int, least: int, *, verify: bool = True) -> bytes:
        least = min(least, stop - start)
        wanted = min(stop - start, max(least, CHEAP_READ))
        with self._lock:
            data = self._open().peek_at(self._base + start, wanted, least)
        if data is None and start > SHORT_READ and (spans := self._spans()) is not None:
            return spans.read_some(start, stop, least)
        with self._lock:
            if data is None:
                data = self._open(again=True).peek_at(self._base + start, wanted, least)
        if data is None or len(data) < least:
            raise self.cut()
        if verify:
            self.check_end(start + len(data))
        return data

    def _open(self, *, again: bool = False) -> ContentStream:
        if self._stream is None or again:
            file = self.file
            self._stream = file.stream(file.window(self._limit), self.offset, self._compression)
            self._base = self.skip
        return self._stream

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `RecordBody.plan`: at the most, all from the record's beginning on."""
        if stop <= start:
            return ReadPlan((), 0, 0)
        spans = self._spans() if self.blocks is None else self.blocks.find(start, stop)
        if spans is not None:
            return spans.plan(start, stop)
        end = self.file.source.size or self.offset
        return ReadPlan(((self.offset, end),), self.skip + stop, 0)

    def stored_end(self) -> int:
        """See `RecordBody.stored_end`. If the record shares its frame or member, all of that counts."""
        file = self.file
        if file.source.is_pipe:
            return self.offset
        if self.last_frame is None and not self.skip:
            record = streamed_to_end(file, self.offset, self._compression)
            return self.offset + (record.length if record is not None else 0)
        return file.frame_end(self.last_frame or self.offset, self._compression)


def streamed_to_end(file: ArchiveFile, offset: int, compression: Compression) -> Record | None:
    """Return the record at `offset` after decompressing all of it; None at the end of the file."""
    records = StreamedRecords(file, file.window(), offset, compression, tolerant=True)
    record = records.step()
    records.finish()
    return record


class StreamedRecords:
    """All records from some offset on, in order. Each is yielded before its block is decompressed.

    A gzip member counts as a frame here.

    Args:
        tap: Shown all content in order, before it is parsed.
        stream: The content from `offset` on, where the caller has its own way to decompress it.
        tolerant: Go on after a record whose Content-Length is wrong, and end with one that the end of the
            file cuts off, as warcio and FastWARC do; see `resync`. Tools that must not lose a byte do not.
    """

    def __init__(
        self,
        file: ArchiveFile,
        window: Window,
        offset: int,
        compression: Compression,
        tap: Callable[[bytes], object] | None = None,
        *,
        stream: ContentStream | None = None,
        tolerant: bool = False,
    ) -> None:
        self._file = file
        self._compression: Compression = compression
        self._stream = stream if stream is not None else file.stream(window, offset, compression, tap)
        self._limit = window.limit
        self._gap = file.grammar.gaps[0]
        self._tolerant = tolerant
        self._record: Record | None = None
        self._begin = 0
        self._block_end = 0
        self._begun = False
        self._is_over = False
        self.next_offset = offset
        """Offset of the frame in which the next record begins; the end of the last frame after the last."""
        self.at_frame = True
        """Whether the next record begins its frame, as it should."""
        self.trailer = b""
        """The line breaks after the record that was finished last: CRLF CRLF unless its writer erred."""

    def __iter__(self) -> Iterator[Record]:
        while (record := self.step()) is not None:
            yield record
        if not self.next_offset:
            raise self._file.without_records()

    def step(self) -> Record | None:
        """Pass the rest of the current record and return the next one, None at the end of the file."""
        self.finish()
        file, stream = self._file, self._stream
        if self._is_over:
            return None
        if not self._begun:
            self._begun = True
            self._pass_blank_lines()
        mark = stream.mark()
        if mark is None:
            return None
        if mark.skip:
            file.deviates("shared", SHARED, mark.offset)
        try:
            raw = stream.read_header()
        except FormatError as error:
            raise error.located(file.name, mark.offset) from None
        if file.grammar.header_end(raw, max(len(raw) - 4, 0)) < 0:
            raise TruncatedError(
                "the file ends inside this record's header", source=file.name, offset=mark.offset
            )
        header = file.parse_header(raw, mark.offset)
        body = StreamBody(
            file,
            mark.offset,
            header,
            self._compression,
            skip=mark.skip,
            live=(stream, mark.position),
            limit=self._limit,
        )
        self._record = Record(body)
        if mark.skip:
            self._record.note_problem(SHARED)
        self._begin = mark.position
        self._block_end = mark.position + len(raw) + header.content_length
        if self._tolerant and self._compression != "none":
            self._check_small_frame(self._record)
        return self._record

    def _pass_blank_lines(self) -> None:
        blank = self._stream.read_blank_lines()
        # To all but strict readers a few line breaks are not worth a word.
        if blank and self._file.strict:
            problem = f"{blank[:16]!r} stands before the first record"
            raise FormatError(problem, source=self._file.name, offset=self.next_offset)

    def _check_small_frame(self, record: Record) -> None:
        """Compare the record's length with its frame, where that has been decoded whole.

        Such a frame is followed by one that the record goes on in, or by another record: then the record ends
        with the frame, unless that other one is part of its block.
        """
        stop = self._stream.whole_frame_stop()
        if stop is None:
            return
        try:
            is_shared, is_longer = beyond_frame(self._file, self._stream, self._block_end, stop)
        except FormatError:
            return  # Later damage does not concern this record.
        if is_shared:
            note_deviation(record, "shared", SHARED)
        elif is_longer:
            before = max(stop - len(self._gap), self._block_start)
            self._shorten(record, stop, self._stream.look(before, stop - before))

    @property
    def _block_start(self) -> int:
        record = self._record
        return self._begin + (len(record.header.raw) if record is not None else 0)

    def _shorten(self, record: Record, stop: int, before: bytes) -> None:
        length = stop - self._block_start - (len(self._gap) if before.endswith(self._gap) else 0)
        length = max(length, 0)
        note_deviation(record, "length", too_large(record.content_length, length), length)
        self._block_end = self._block_start + length

    def finish(self) -> None:
        """Pass the rest of the current record and the line breaks after it."""
        record = self._record
        if record is None:
            return
        try:
            self._finish(record)
        except TruncatedError as error:
            if not self._tolerant or not self._end_cut(record, error):
                raise
        finally:
            self._record = None

    def _finish(self, record: Record) -> None:
        file, stream = self._file, self._stream
        reached = stream.skip_to(self._block_end)
        if reached < self._block_end:
            raise TruncatedError(
                f"the file ends inside this record: {self._block_end - reached} of "
                f"{counted(record.content_length, 'byte')} of its block are missing",
                source=file.name,
                offset=record.offset,
            )
        try:
            self.trailer = stream.read_blank_lines()
            mark = stream.mark()
            if self._tolerant and mark is not None and not stream.begins_record():
                if self._go_back(record):
                    return
                mark = pass_surplus(record, self._stream, self._block_end)
        except FormatError:
            if not stream.frame_is_open:
                # What follows is damaged; this record is not.
                record.note_length(max(stream.frame_end - record.offset, 0))
            raise
        check_trailer(file, record.offset, self.trailer)
        self.at_frame = mark is None or not mark.skip
        end, empty_frames = stream.passed
        self.next_offset = mark.offset if mark else end
        if mark is not None and mark.skip and mark.position - mark.skip < self._block_end:
            # Where the frame ends that the record shares is known when that is reached, or asked for.
            cast("StreamBody", record.body).last_frame = mark.offset
            record.note_problem(SHARED)
            return
        if self._compression == "none" or not self.at_frame:
            end = self.next_offset
        else:
            end = end_of_empty_frames(end, empty_frames, record.offset)
        record.note_length(end - record.offset)
        cast("StreamBody", record.body).end_at(end)

    def _end_cut(self, record: Record, error: TruncatedError) -> bool:
        """End with a record that the end of the file cuts off; True where reading may go on or end here."""
        if self._go_back(record):
            return True
        stream = self._stream
        if stream.position >= self._block_end and not stream.frame_is_open:
            return False  # The record is whole: what comes after it is cut off.
        if self._head_within() is not None:
            return False  # To end here would be to leave out the records after this one.
        note_deviation(record, "cut", f"{CUT_OFF}: {error.message}")
        self._is_over = self.at_frame = True
        self.next_offset = self._file.source.size or record.offset
        record.note_length(self.next_offset - record.offset)
        return True

    def _head_within(self) -> Head | None:
        head = self._stream.head_after(self._begin)
        return head if head is not None and head.position < self._block_end else None

    def _go_back(self, record: Record) -> bool:
        """Go on with the frame in the middle of the record's block that begins as a record does."""
        file = self._file
        head = self._head_within()
        if head is None or file.source.is_pipe:
            return False
        # What will be read again. Where that is the rest of the file, in frames as small as can be, it costs
        # more than its bytes, and no sound writer does that often.
        reached = self._stream.position
        again = min(self._block_end, reached) - head.position
        if not file.may_mend(max(again, NEARBY) if reached < self._block_end else again):
            return False
        self._shorten(record, head.position, head.before)
        self._stream = file.stream(file.window(), head.offset, self._compression)
        self.next_offset, self.at_frame = head.offset, True
        self.trailer = head.before if head.before == self._gap else b""
        record.note_length(head.offset - record.offset)
        return True
