"""Reading a whole file, damaged or not, as a sequence of intact records and ranges of damage.

The file is decompressed as a stream, from the beginning or from the last damage on, and each record is passed
to the caller, who reads as much of it as wanted; the rest is read here. When something is wrong, the stream
is given up, `RecordSearch` finds the next place where a record begins, and a new stream starts there. The
range between is damage. It is always reported with its end, so the caller can account for every byte. If no
record is found in much of a remote file, the rest is not read, and is reported with a `LimitError`.

Worst case: a header may claim a Content-Length that reaches beyond the end of the file, and many headers may.
Reading each one's block to the end would take quadratic time. So the first pass that reaches the end
remembers how much content there is after each frame (`_Reach`), and later ones see without reading that a
record is cut off.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Final

from seekwarc.compiling import mypyc_attr
from seekwarc.errors import FormatError, LimitError, TruncatedError
from seekwarc.format.warc import RecordHeader
from seekwarc.format.words import counted
from seekwarc.frames.audit import FrameAudit
from seekwarc.frames.pieces import Compression, EmptyFrame, Piece, pieces_from
from seekwarc.frames.prefetch import Prefetcher
from seekwarc.frames.scan import Window
from seekwarc.frames.stream import ContentStream
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.digests import right_digests
from seekwarc.read.record import Record
from seekwarc.read.search import RecordSearch
from seekwarc.read.sequential import StreamedRecords

__all__ = ["Damage", "Intact", "Known", "Tally", "examine"]

CONTENT_ALONE: Final = 256 << 10
"""Content bytes that are decompressed before a thread is started to prefetch more."""
PIECES_ALONE: Final = 64
"""Frames or members, however small, that are read before a thread is started."""


@dataclass(frozen=True, slots=True)
class Intact:
    """A record that could be read from its beginning to its end."""

    record: Record
    """The record; usable as long as the file is open."""
    end: int
    """Offset at which the next record, or whatever follows, begins."""
    trailer: bytes
    """The line breaks after its block."""


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class Damage:
    """A range of the file from which no record could be read."""

    offset: int
    end: int
    error: FormatError
    header: RecordHeader | None
    """Header of the record that it begins with, if that could be read."""

    @property
    def size(self) -> int:
        """Length of the range in bytes."""
        return self.end - self.offset


class Tally:
    """Counts records that are seen at once to be right, which nearly all are; see `right_digests`.

    Attributes:
        may_count: Tells whether the next record may be one of them.
    """

    def __init__(self, may_count: Callable[[], bool]) -> None:
        self.may_count = may_count
        self.records = 0
        self.digests = 0


def examine(
    file: ArchiveFile,
    compression: Compression,
    on_record: Callable[[Record, Callable[[], None]], object],
    audit: Callable[[Window], FrameAudit] | None = None,
    *,
    begin: int = 0,
    known: Known | None = None,
    tally: Tally | None = None,
) -> Iterator[Intact | Damage]:
    """Yield the intact records and the damage of a file, in order. Its size must be known.

    `on_record` is called with each record before its block is read, and with a function that reads the rest
    of the record. Both that function and reading raise if the record is damaged. `known` is what an earlier
    call found out about the file, if that was not read to its end. Records that a `tally` counts are neither
    passed to `on_record` nor yielded.
    """
    size = file.source.size or 0
    known = known if known is not None else Known(file, compression)
    search = known.search
    offset = begin
    while offset < size:
        beginning = search.header_at(offset) if known.reach.is_known(offset) else None
        if beginning is not None and (cut := known.reach.cut(file.name, offset, 0, beginning)) is not None:
            offset = yield from _passed(search, size, Damage(offset, offset, cut, beginning), None)
            continue
        window = Window(file.source, aligned=True)
        watching = audit(window) if audit is not None and compression == "zst" else None
        pieces = pieces_from(
            window,
            offset,
            compression,
            file.decoder,
            watching.observe if watching is not None else None,
            threads=file.frames.threads,
        )
        ahead = _ahead(watching.watch(pieces) if watching is not None else pieces)
        reached: Iterator[Piece | EmptyFrame] = ahead
        if not known.reach.is_known(offset):
            known.reach = _Reach(None)
            reached = known.reach.measured(reached)
        stream = ContentStream(reached, plain=compression == "none", grammar=file.grammar)
        walk = _Walk(StreamedRecords(file, window, offset, compression, stream=stream), stream)
        try:
            is_warc = not file.grammar.is_arc
            yield from walk.intact(on_record, known.reach, file.name, tally if is_warc else None)
        except FormatError as error:
            broken = walk.record
            start = broken.offset if broken is not None else walk.end
            header = broken.header if broken is not None else None
            damage = Damage(start, start, error, header)
            # Between records, a wrong size may have skipped records, so all of the range is searched.
            offset = yield from _passed(search, size, damage, error.offset, header, between=broken is None)
        else:
            return
        finally:
            ahead.close()
            pieces.close()


def _passed(
    search: RecordSearch,
    size: int,
    damage: Damage,
    place: int | None,
    header: RecordHeader | None = None,
    *,
    between: bool = False,
) -> Generator[Damage, None, int]:
    """Yield the damage with its end, and what is not searched after it; return where the next record begins.

    The other arguments are those of `RecordSearch.next_after`.
    """
    start = damage.offset
    try:
        end = search.next_after(start, place, header=header, between=between)
    except LimitError as limit:
        reached = min(limit.offset or size, size)
        yield replace(damage, end=reached)
        if reached < size:
            yield Damage(reached, size, limit, None)
        return size
    yield replace(damage, end=end)
    return end


class Known:
    """What was found out about a file while it was examined: where records begin, and what can be reached."""

    def __init__(self, file: ArchiveFile, compression: Compression) -> None:
        self.search = RecordSearch(file, compression)
        self.reach = _Reach(file.source.size or 0 if compression == "none" else None)


class _Walk:
    def __init__(self, records: StreamedRecords, stream: ContentStream) -> None:
        self._records = records
        self._stream = stream
        self.record: Record | None = None
        """The current record; None between records."""
        self.end = 0
        """Offset at which the last record ended."""
        self._following: FormatError | None = None
        """Damage that begins after the record."""

    def intact(
        self,
        on_record: Callable[[Record, Callable[[], None]], object],
        reach: _Reach,
        name: str,
        tally: Tally | None,
    ) -> Iterator[Intact]:
        """Yield intact records. Damage is raised: that of `record`, or at `end` if that is None."""
        self.end = self._records.next_offset
        while True:
            if tally is not None:
                self._pass_right(tally)
            record = self._records.step()
            if record is None:
                break
            self.record = record
            if (cut := reach.cut(name, record.offset, record.skip, record.header)) is not None:
                raise cut
            on_record(record, self._finish)
            self._finish()
            # If damage follows, the line breaks may be part of it, so they are not reported.
            trailer = self._records.trailer if self._following is None else record.body.file.grammar.end
            yield Intact(record, self.end, trailer)
            self.record = None
            if self._following is not None:
                raise self._following

    def _pass_right(self, tally: Tally) -> None:
        stream = self._stream
        while tally.may_count():
            content = stream.whole_frame()
            digests = right_digests(content) if content is not None else -1
            following = stream.pass_frame() if digests >= 0 else -1
            if following < 0:
                return
            tally.records += 1
            tally.digests += digests
            self.end = following

    def _finish(self) -> None:
        """Read the rest of the record. Damage that begins after it is kept for later."""
        try:
            self._records.finish()
        except FormatError as error:
            if self.record is None or not self.record.has_length or self._stream.frame_is_open:
                raise
            self._following = error
        self.end = self._records.next_offset if self._following is None else self._stream.frame_end


class _Reach:
    """How much content follows each frame or member: a record that claims more need not be read."""

    def __init__(self, plain_size: int | None) -> None:
        self._plain_size = plain_size
        self._offsets = array("Q")
        self._positions = array("Q")
        self._size = 0
        self._at_end = False

    def measured(self, pieces: Iterator[Piece | EmptyFrame]) -> Iterator[Piece | EmptyFrame]:
        for piece in pieces:
            if isinstance(piece, Piece):
                if piece.first:
                    self._offsets.append(piece.offset)
                    self._positions.append(self._size)
                self._size += len(piece.data)
            yield piece
        self._at_end = True

    def is_known(self, offset: int) -> bool:
        return self._left(offset) is not None

    def _left(self, offset: int) -> int | None:
        if self._plain_size is not None:
            return self._plain_size - offset
        number = bisect_left(self._offsets, offset)
        if not self._at_end or number == len(self._offsets) or self._offsets[number] != offset:
            return None
        return self._size - self._positions[number]

    def cut(self, name: str, offset: int, skip: int, header: RecordHeader) -> TruncatedError | None:
        left = self._left(offset)
        missing = len(header.raw) + header.content_length - (left - skip) if left is not None else 0
        if missing <= 0:
            return None
        return TruncatedError(
            f"the file ends inside this record: {missing} of {counted(header.content_length, 'byte')} of "
            "its block are missing",
            source=name,
            offset=offset,
        )


def _ahead(pieces: Iterator[Piece | EmptyFrame]) -> Generator[Piece | EmptyFrame, None, None]:
    """Yield pieces, prefetched by a thread after the first few: for a small file a thread costs too much."""
    content = 0
    for count, piece in enumerate(pieces, 1):
        yield piece
        content += _weight(piece)
        if content >= CONTENT_ALONE or count == PIECES_ALONE:
            break
    else:
        return
    with closing(Prefetcher(pieces, _weight)) as others:
        yield from others


def _weight(piece: Piece | EmptyFrame) -> int:
    return len(piece.data) if isinstance(piece, Piece) else 0
