"""The frames of a record in a .warc.zst file: found by its own seek table, the file's, or a scan.

Goal: any range of a huge record with two or three short reads, and never another byte than a reader without
tables would deliver.

Plan: a table is a hint by the author of the file. Iteration, which decides what records there are, scans the
frames' headers wherever that is cheap, and only compares the tables with what it found. To go to one record,
a table is trusted as far as can be told without looking at every frame: it must begin at the record and hold
as many bytes, its last frame and those without content must be where it says, and the header read through it
must be the one that was read without. Each frame is checked against its entry when it is decoded.

Worst case: a table made with intent, whose wrong sizes cancel out, can make a short read deliver an intact
frame of another place in the same record. Comparing all frames shows it: `strict=True`, iteration, and an
index that names the table (annex B.2) do.

Source: spec-notes/warc-zstd-seekable, section 6.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.compiling import mypyc_attr, override
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.seektable import SeekTable, SidecarReference, TableChoice, TableReference, TableTrust
from seekwarc.format.warc import MAX_BLANK_BYTES, RECORD_END
from seekwarc.format.zstd import (
    BLOCK_HEADER_SIZE,
    COMPRESSED_BLOCK,
    MAX_FRAME_HEADER_SIZE,
    FrameHeader,
    measure_frame,
    parse_frame_header,
    raw_block_headers,
)
from seekwarc.frames.pieces import EmptyFrame, end_of_empty_frames, skippable_frame_at, whole_frame
from seekwarc.frames.run import FrameRun, ReadPlan
from seekwarc.frames.scan import Window, frame_at, frame_start_at, scan_blocks
from seekwarc.frames.verify import MAX_FRAME_CONTENT
from seekwarc.read.body import RecordBody, TableStatus, WholeBody, record_size
from seekwarc.read.file_tables import TABLE_OVERHEAD, ClaimedFrames, own_table_tail, read_table_before
from seekwarc.read.known_frames import (
    NOT_THESE,
    KnownFrames,
    compared,
    frames_named,
    scanned,
    table_after,
)
from seekwarc.read.options import SidecarOptions
from seekwarc.read.record import Record
from seekwarc.read.sequential import StreamBody

if TYPE_CHECKING:
    from seekwarc.format.warc import RecordHeader
    from seekwarc.read.archive_file import ArchiveFile

__all__ = [
    "MAX_BLANK_FRAME",
    "FrameBody",
    "ZstdBody",
    "empty_frame_at",
    "empty_frames_at",
    "table_choice",
    "whole_empty_frames_at",
]

MAX_EMPTY_FRAMES: Final = 16
"""A table that lists more frames without content in a record is not worth checking."""
PEEK: Final = 32
"""What is read to see one frame header, block header, or both."""
MAX_BLANK_FRAME: Final = 64
"""A frame with no more content than this may hold line breaks alone: no record is that small."""


@mypyc_attr(allow_interpreted_subclasses=True)
class FrameBody(WholeBody):
    """A record that is one small frame."""

    __slots__ = ()
    table_status = TableStatus.SINGLE
    _frames_decoded = 1

    @property
    @override
    def frames(self) -> SeekTable:
        return SeekTable(array("Q", [self.end - self.offset]), array("Q", [self._size]))

    @override
    def stored_end(self) -> int:
        return _stored_end(self.file, self.offset, self.end)

    def _decode(self) -> bytes:
        return FrameRun(self.file.frames, self.offset, self.frames).read(0, self._size)


class _Found(NamedTuple):
    way: FrameRun | RecordBody
    status: TableStatus
    problem: str | None
    frames: KnownFrames | ClaimedFrames | None
    """The record's frames, even where these are too large to be reached by range; None if they do not
    tell where the record ends."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ZstdBody(RecordBody):
    """A record of several frames, or of a large one. How these are reached is found when first needed."""

    __slots__ = ("_choice", "_found", "_head", "_length")

    def __init__(
        self,
        file: ArchiveFile,
        offset: int,
        header: RecordHeader,
        *,
        table: TableChoice,
        length: int | None = None,
        head: bytes = b"",
    ) -> None:
        super().__init__(file, offset, header)
        self._length = length
        self._head = head
        self._choice: TableChoice = table
        self._found: _Found | None = None

    def __getstate__(self) -> dict[str, object]:
        kept = ("file", "offset", "header", "skip", "_length", "_choice")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        # These bytes can be read again, and would make the pickle of a record long.
        self._head = b""
        self._found = None
        self.begins = False

    def _find(self) -> _Found:
        found = self._found
        if found is None:
            with self.file.lock:
                # Another thread may have found it meanwhile.
                found = self._found
                if found is None:
                    found = self._found = self._searched(record_size(self.header))
        return found

    @property
    @override
    def table_status(self) -> TableStatus:
        return self._find().status

    @property
    @override
    def table_problem(self) -> str | None:
        return self._find().problem

    @property
    @override
    def problem(self) -> str | None:
        way = self._found.way if self._found is not None else None
        return way.problem if isinstance(way, RecordBody) else None

    @property
    def frames(self) -> SeekTable | None:
        """See `RecordBody.frames`; they are only claimed unless `known_frames` has them."""
        found = self._find()
        if found.status is TableStatus.SIDECAR and isinstance(found.way, RecordBody):
            return found.way.frames
        frames = found.frames
        return frames.table if frames is not None else None

    @property
    def known_frames(self) -> KnownFrames | None:
        """The record's frames; None if they are only claimed, or do not tell where the record ends."""
        frames = self._find().frames
        return frames if isinstance(frames, KnownFrames) else None

    @property
    def data_end(self) -> int | None:
        """Offset after the last frame with content; None if only decompressing tells."""
        frames = self._find().frames
        if isinstance(frames, ClaimedFrames):
            return frames.claimed_end
        return frames.end if frames is not None else None

    @override
    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        found = self._found or self._find()
        if self.begins:
            self._begin(found)
        return found.way.read(start, stop, verify=verify)

    def _begin(self, found: _Found) -> None:
        self.begins = False
        if isinstance(found.way, StreamBody):
            found.way.begins = True

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        found = self._find()
        if self.begins:
            self._begin(found)
        found.way.read_into(start, out, verify=verify)

    @override
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        found = self._find()
        if self.begins:
            self._begin(found)
        return found.way.read_some(start, stop, least)

    def hides_records(self) -> bool:
        """See `RecordBody.hides_records`."""
        way = self._find().way
        return isinstance(way, RecordBody) and way.hides_records()

    @override
    def plan(self, start: int, stop: int) -> ReadPlan:
        return self._find().way.plan(start, stop)

    @override
    def stored_end(self) -> int:
        data_end = self.data_end
        if data_end is None:
            return self._stream().stored_end()
        return _stored_end(self.file, self.offset, data_end)

    def ends_at_its_table(self) -> bool:
        """Tell whether the record's own seek table lists its frames, and the last one ends as it says."""
        found = self._find()
        if not isinstance(found.frames, ClaimedFrames) or not found.frames.is_own:
            return False
        table = found.frames.table
        last = table[table.locate(table.content_size - 1, table.content_size)[0]]
        frame = frame_at(Window(self.file.source, first_read=PEEK), self.offset + last.stored_start)
        return frame is not None and frame.size == last.stored_size

    def _searched(self, size: int) -> _Found:
        problem = None
        large = self._large_frame(size)
        if large is not None and large.content_size == size:
            # Whatever a table says, there is one frame.
            return self._in_blocks(large, size, None)
        for find in self._ways():
            try:
                frames = find(size)
                if frames is not None:
                    return self._checked(frames, problem)
            except FormatError as error:
                problem = problem or error.message
        return self._in_blocks(large, size, problem) if large is not None else self._scan(size, problem)

    def _large_frame(self, size: int) -> FrameHeader | None:
        """Return the header of the record's first frame, if that may hold all of a large record."""
        if size <= MAX_FRAME_CONTENT:
            return None
        # What was read to find the record has it.
        head = self._head or self.file.source.read(self.offset, self.offset + MAX_FRAME_HEADER_SIZE)
        frame = parse_frame_header(head)
        return frame if frame.content_size in (None, size) else None

    def _in_blocks(self, frame: FrameHeader, size: int, problem: str | None) -> _Found:
        """Find the blocks of a record that is one large frame."""
        file, stream, known = self.file, self._stream(), None
        options = file.options
        is_named = isinstance(options, SidecarOptions) and options.names_sidecar
        if isinstance(self._choice, SidecarReference):
            is_named = True
            stream.choice = self._choice
        is_far = file.source.policy.is_far
        headers = array("I")
        if is_far and (self._length or frame.content_size):
            # A request for each block would take longer than reading all of them.
            # The first one is at hand, and tells a film from text.
            place = self.offset + frame.size
            first = file.source.read(place, place + BLOCK_HEADER_SIZE)
            least, most = self._length or 0, self._length or (file.source.size or 0) - self.offset
            headers = raw_block_headers(frame, size, range(least, most + 1), int.from_bytes(first, "little"))
        # Where blocks are known, to look for a sidecar would cost more than a range does.
        is_listed = (is_named or not headers) and stream.table_status is TableStatus.SIDECAR
        if not is_far and (file.strict or not is_listed or self._length is None):
            # Without a known length, they tell where the record ends.
            try:
                headers, end = scan_blocks(file.source, self.offset, frame)
                if frame.content_size:
                    sizes = array("Q", [end - self.offset]), array("Q", [size])
                    known = KnownFrames(self.offset, SeekTable(*sizes))
            except TruncatedError:
                # What comes before the cut can still be read.
                if file.strict:
                    raise
        stored = sum(header >> 3 for header in headers if header >> 1 & 3 != COMPRESSED_BLOCK)
        if not (file.strict or is_listed) and 2 * stored >= size:
            # Most records are not such a film, and need not load what reads one.
            from seekwarc.frames.blocks import FrameBlocks

            stream.blocks = FrameBlocks(file.frames, self.offset, frame, headers, is_claimed=is_far)
        return _Found(stream, stream.table_status, problem, known)

    def _ways(self) -> tuple[Callable[[int], KnownFrames | ClaimedFrames | None], ...]:
        choice = self._choice
        if isinstance(choice, TableReference):
            return (lambda size: frames_named(self.file, self.offset, size, choice),)
        return (self._own_table, self._file_table) if self._choice is TableTrust.CLAIMED else ()

    def _checked(self, frames: KnownFrames | ClaimedFrames, problem: str | None) -> _Found:
        is_own = isinstance(frames, KnownFrames) or frames.is_own
        self._check_ends(frames.table, is_own=is_own)
        found = self._run(frames, TableStatus.RECORD if is_own else TableStatus.FILE, problem)
        # The header was read without the table. Reading it again the other way puts the first frame to all
        # the tests of any other, and costs nothing where that is still in the cache.
        raw = self.header.raw
        if found.way.read_some(0, len(raw), len(raw)) != raw:
            raise FormatError(NOT_THESE)
        return found

    def _run(self, frames: KnownFrames | ClaimedFrames, status: TableStatus, problem: str | None) -> _Found:
        table = frames.table
        if max(table.content_sizes, default=0) > MAX_FRAME_CONTENT:
            return _Found(self._stream(), TableStatus.STREAM, problem, frames)
        return _Found(FrameRun(self.file.frames, self.offset, table, self._head), status, problem, frames)

    def _stream(self) -> StreamBody:
        stream = StreamBody(self.file, self.offset, self.header, "zst")
        stream.known_end = self.offset + self._length if self._length is not None else None
        return stream

    def _own_table(self, size: int) -> ClaimedFrames | None:
        """Read the table at the end of the record (spec-notes, sections 6.1 and 6.2)."""
        if self._length is None:
            return None
        # The bytes read of a short record need not be read again.
        missing = max(self._length - len(self._head), TABLE_OVERHEAD)
        found = read_table_before(
            self.file.source,
            self.offset + self._length,
            floor=self.offset,
            tail=min(own_table_tail(self._length), missing),
            limit=self.file.max_table_size,
        )
        if found is None:
            return None
        table, offset = found
        begin = table.anchor(offset)
        if begin < self.offset:
            return None  # It lists other records too: a file table.
        if begin > self.offset:
            raise FormatError("the seek table's frames begin after the record's first one")
        if table.content_size != size:
            raise FormatError(f"the seek table lists {table.content_size} bytes, the record has {size}")
        return ClaimedFrames(begin, table, is_own=True)

    def _file_table(self, size: int) -> ClaimedFrames | None:
        return self.file.tables.find(self.offset, size)

    def _check_ends(self, table: SeekTable, *, is_own: bool) -> None:
        """See that the record's last frame, and those without content, are where a table says.

        All others are looked at when they are used. A frame that is called empty never would be, and
        everything after it would be taken for what it is not. Where a record's own table begins, its last
        frame ends: that one takes no look of its own.
        """
        empty = table.content_sizes.count(0)
        if empty > MAX_EMPTY_FRAMES:
            raise FormatError(f"the seek table lists {empty} frames of the record without content")
        window = Window(self.file.source, first_read=PEEK)
        if empty:
            for number, content_size in enumerate(table.content_sizes):
                if content_size:
                    continue
                entry = table[number]
                frame = frame_at(window, self.offset + entry.stored_start)
                if frame is None or (frame.size, frame.content_size) != (entry.stored_size, 0):
                    raise FormatError(NOT_THESE)
        if empty or not is_own:
            last = table[table.locate(table.content_size - 1, table.content_size)[0]]
            start = frame_start_at(window, self.offset + last.stored_start)
            if start is None or start[1] is None or start[1].content_size != last.content_size:
                raise FormatError(NOT_THESE)

    def _scan(self, size: int, problem: str | None) -> _Found:
        """Step over the record's frames by their headers, and use a table if one lists just these."""
        found = scanned(self.file, self.offset, size)
        if found is None:
            return _Found(self._stream(), TableStatus.STREAM, problem, None)
        frames, status = found.frames, TableStatus.NONE
        if len(frames.table) == 1:
            return self._run(frames, TableStatus.SINGLE, problem)
        try:
            after = table_after(self.file, frames)
            claimed = after[0] if after is not None else None
            if claimed is None and self._choice is TableTrust.SCANNED and not self.file.source.policy.is_far:
                claimed = self._file_table(size)
            if claimed is not None:
                frames = compared(claimed, found)
                status = TableStatus.RECORD if claimed.is_own else TableStatus.FILE
        except FormatError as error:
            problem = problem or error.message
        if problem is not None and status is TableStatus.NONE:
            status = TableStatus.UNUSABLE
        return self._run(frames, status, problem)


def table_choice(record: Record) -> TableChoice:
    """Return how to find the frames of a record that was iterated over, when it is opened again.

    Returns:
        The record's table, where that was compared with the frames; `TableTrust.SCANNED` where no table is to
        be trusted; `TableTrust.CLAIMED` where no table is asked for, as with a record that is one small
        frame, or where the iteration itself followed what the file claims.
    """
    body = record.body
    if not isinstance(body, ZstdBody):
        is_streamed = isinstance(body, StreamBody) and body.is_in_frames
        return TableTrust.SCANNED if is_streamed else TableTrust.CLAIMED
    frames = body.known_frames
    if frames is None:
        return TableTrust.SCANNED if body.frames is None else TableTrust.CLAIMED
    if body.table_status is not TableStatus.RECORD:
        return TableTrust.SCANNED
    import hashlib

    with contextlib.suppress(FormatError):
        after = table_after(body.file, frames)
        # Read a second time, it may be another one.
        if after is not None and after[0].table == frames.table:
            return TableReference(frames.end, len(after[1]), hashlib.sha256(after[1]).hexdigest())
    return TableTrust.SCANNED


def _stored_end(file: ArchiveFile, offset: int, data_end: int) -> int:
    return end_of_empty_frames(data_end, whole_empty_frames_at(file, file.window(), data_end), offset)


def empty_frame_at(window: Window, offset: int) -> EmptyFrame | None:
    """Return the frame without content at `offset`; None if something else is there."""
    # A million empty frames may follow each other: most are measured at one look.
    data, index = window.get(offset, offset + MAX_FRAME_HEADER_SIZE)
    measured = measure_frame(data, index)
    if measured is not None:
        return None if measured[1] else EmptyFrame(offset + measured[0] - index, None)
    start = frame_start_at(window, offset)
    if start is None:
        return None
    _, header, size = start
    if header is None:
        return skippable_frame_at(window, offset, size)
    return EmptyFrame(offset + _frame_size(window, offset), None) if header.content_size == 0 else None


def whole_empty_frames_at(file: ArchiveFile, window: Window, offset: int) -> Iterator[EmptyFrame]:
    """Yield what `empty_frames_at` does, as far as it is whole."""
    # Damage belongs to what comes next: it is reported when that is reached.
    with contextlib.suppress(FormatError):
        yield from empty_frames_at(file, window, offset)


def empty_frames_at(file: ArchiveFile, window: Window, offset: int) -> Iterator[EmptyFrame]:
    """Yield the frames from `offset` on without content or, unless read strictly, of line breaks alone."""
    blank = len(RECORD_END)
    while True:
        empty = empty_frame_at(window, offset)
        if empty is None:
            found = _blank_frame(file, window, offset)
            blank += found[1] if found is not None else 0
            if found is None or blank > MAX_BLANK_BYTES:
                return
            empty = EmptyFrame(found[0], None)
        yield empty
        offset = empty.end


def _blank_frame(file: ArchiveFile, window: Window, offset: int) -> tuple[int, int] | None:
    start = frame_start_at(window, offset) if not file.strict else None
    if start is None or start[1] is None or (start[1].content_size or MAX_BLANK_FRAME + 1) > MAX_BLANK_FRAME:
        return None
    frame = whole_frame(window, offset, start[1])
    content = file.decoder.decode(frame, start[1]) if frame else b""
    return (offset + len(frame), len(content)) if content and not content.strip(b"\r\n") else None


def _frame_size(window: Window, offset: int) -> int:
    frame = frame_at(window, offset)
    return frame.size if frame else 0
