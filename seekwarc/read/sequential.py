"""Records of a file that is decompressed in order: .warc.gz, pipes, and whatever cannot be seeked in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, cast

from seekwarc.compiling import mypyc_attr, override
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.words import counted
from seekwarc.frames.pieces import end_of_empty_frames
from seekwarc.read.body import CUT_OFF
from seekwarc.read.record import Record
from seekwarc.read.resync import (
    LEAD,
    NEARBY,
    SHARED,
    beyond_frame,
    check_trailer,
    is_followed,
    note_deviation,
    note_surplus,
    pass_surplus,
    too_large,
)
from seekwarc.read.stream_body import InOrderBody

if TYPE_CHECKING:
    from seekwarc.frames.pieces import Compression, EmptyFrame
    from seekwarc.frames.scan import Window
    from seekwarc.frames.stream import ContentStream, Head, Mark
    from seekwarc.read.archive_file import ArchiveFile

DOUBTFUL: Final = "records seem to begin in the block, so Content-Length may be too large"

__all__ = ["StreamBody", "StreamedRecords", "streamed_to_end"]


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamBody(InOrderBody):
    """The bytes of one of `StreamedRecords`, whose stored end is found as theirs are."""

    __slots__ = ()

    @override
    def stored_end(self) -> int:
        # If the record shares its frame or member, all of that counts.
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
        self._block_end = self._stream.position
        self._has_lead = False
        self._begun = False
        self._is_over = False
        self.next_offset = offset
        """Offset of the frame in which the next record begins; the end of the last frame after the last."""
        self.at_frame = True
        """Whether the next record begins its frame, as it should."""
        self.has_jumped = False
        """Whether it ended with a record that was not decompressed."""
        self.leading = b""
        """Bytes before the first record."""
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
        kind, problem = "shared", SHARED if self._is_shared(mark) else None
        if problem is None and (mark.skip or self._has_lead):
            kind, problem = "lead", LEAD
        if problem is not None:
            file.deviates(kind, problem, mark.offset)
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
        if problem is not None:
            self._record.note_problem(problem)
        self._begin = mark.position
        self._block_end = mark.position + len(raw) + header.content_length
        if self._tolerant and self._compression != "none":
            self._check_small_frame(self._record)
        return self._record

    def _pass_blank_lines(self) -> None:
        self.leading = blank = self._stream.read_blank_lines()
        self._has_lead = _has_lead(blank)
        # To all but strict readers a few line breaks are not worth a word.
        if blank and self._file.strict:
            problem = f"{blank[:16]!r} precedes the first record"
            raise FormatError(problem, source=self._file.name, offset=self.next_offset)

    def _is_shared(self, mark: Mark) -> bool:
        """Return whether the frame of the next record also has bytes of the record before."""
        return bool(mark.skip) and mark.position - mark.skip < self._block_end

    def _check_small_frame(self, record: Record) -> None:
        """Compare the record's length with its frame, where that has been decoded whole.

        Such a frame is followed by one that the record goes on in, or by another record: then the record ends
        with the frame, unless that other one is part of its block.
        """
        stop = self._stream.whole_frame_stop()
        if stop is None or stop < self._block_start:
            return  # A frame that ends in the header says nothing about the block.
        try:
            is_shared, is_longer = beyond_frame(self._file, self._stream, self._block_end, stop)
        except FormatError:
            return  # Later damage does not concern this record.
        if is_shared:
            note_deviation(record, "shared", SHARED)
        elif is_longer:
            before = max(stop - len(self._gap), self._block_start)
            self._shorten(record, stop, self._stream.look(before, stop - before))
        elif stop > self._block_end:
            note_surplus(record, self._stream.look(self._block_end, stop - self._block_end))

    @property
    def _block_start(self) -> int:
        record = self._record
        return self._begin + (len(record.header.raw) if record is not None else 0)

    def _shorten(self, record: Record, stop: int, before: bytes) -> None:
        length = stop - self._block_start - (len(self._gap) if before.endswith(self._gap) else 0)
        length = max(length, 0)
        note_deviation(record, "length", too_large(record.content_length, length), length)
        self._block_end = self._block_start + length

    def jump(self) -> bool:
        """Pass the current record without decompressing it, if a sidecar tells where it ends.

        The next record must be read by others then: this stream is left to the record that was passed.
        """
        record = self._record
        if record is None or not self._tolerant:
            return False
        end = cast("StreamBody", record.body).listed_end()
        if end is None:
            return False
        record.note_length(end - record.offset)
        cast("StreamBody", record.body).end_at(end)
        record.body.leave()
        self._record, self.next_offset, self.at_frame, self.has_jumped = None, end, True, True
        return True

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
            self._has_lead = _has_lead(self.trailer)
            mark = stream.mark()
            # Before anything is looked at that comes later.
            end, empty_frames = stream.passed
            if self._tolerant and mark is not None:
                follows = stream.begins_record()
                if self._is_unfit(record, follows=follows):
                    return
                if not follows:
                    before, mark = mark, pass_surplus(record, self._stream, self._block_end)
                    if mark != before:
                        end, empty_frames = (mark.offset, ()) if mark is not None else stream.passed
        except FormatError:
            if not stream.frame_is_open:
                # The next record is damaged; this one is not.
                record.note_length(max(stream.frame_end - record.offset, 0))
            raise
        check_trailer(file, record.offset, self.trailer)
        self._note_end(record, mark, end, empty_frames)

    def _note_end(
        self, record: Record, mark: Mark | None, end: int, empty_frames: tuple[EmptyFrame, ...]
    ) -> None:
        """Note where the record ends: at `mark`, or before the frames that end at `end`."""
        self.at_frame = mark is None or not mark.skip
        self.next_offset = mark.offset if mark else end
        if mark is not None and self._is_shared(mark):
            # Where the frame ends that the record shares is known when that is reached, or asked for.
            cast("StreamBody", record.body).last_frame = mark.offset
            record.note_problem(SHARED)
            return
        if self._compression == "none" or not self.at_frame:
            end = self.next_offset
        else:
            end = end_of_empty_frames(end, empty_frames, record.offset)
            if mark is not None:
                end = min(end, mark.offset)  # Bytes already examined may be in later frames.
        record.note_length(end - record.offset)
        cast("StreamBody", record.body).end_at(end)

    def _is_unfit(self, record: Record, *, follows: bool) -> bool:
        """Go back if the record does not end as it should, and return whether that could be done."""
        # A record that seems to begin in its block, and ends better, is not part of it.
        is_doubtful = self.trailer not in self._file.grammar.gaps and self._head_within() is not None
        if follows and not is_doubtful:
            return False
        if self._go_back(record):
            return True
        if follows:
            note_deviation(record, "length", DOUBTFUL)
        return False

    def _end_cut(self, record: Record, error: TruncatedError) -> bool:
        """End with a record that the end of the file cuts off; True where reading may go on or end here."""
        if self._go_back(record):
            return True
        stream = self._stream
        if stream.position >= self._block_end and not stream.frame_is_open:
            return False  # The record is whole: what comes after it is cut off.
        damage = max(record.offset, stream.frame_end)
        if self._head_within() is not None or (
            self._compression != "none" and is_followed(self._file, damage, self._compression)
        ):
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
        # Bytes to be read again. Where that is the rest of the file, in frames as small as can be, it costs
        # more than its bytes, and no sound writer does that often.
        reached = self._stream.position
        again = min(self._block_end, reached) - head.position
        if not file.may_mend(max(again, NEARBY) if reached < self._block_end else again):
            return False
        self._shorten(record, head.position, head.before)
        self._stream = file.stream(file.window(), head.offset, self._compression)
        self._begun, self._block_end = False, 0
        self.next_offset, self.at_frame = head.offset, True
        self.trailer = head.before if head.before == self._gap else b""
        record.note_length(head.offset - record.offset)
        return True


def _has_lead(blank: bytes) -> bool:
    return bool(blank.strip(b"\r\n"))
