"""Records of a file without compression, found by their lengths alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from seekwarc.compiling import mypyc_attr, override
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.warc import (
    LEADS,
    MAX_BLANK_BYTES,
    MAX_HEADER_SIZE,
    MAX_LEAD,
    RECORD_MAGIC,
    blank_size,
)
from seekwarc.frames.run import ReadPlan
from seekwarc.frames.scan import CHEAP_READ, Window
from seekwarc.read.archive_file import MAGIC_SIZE
from seekwarc.read.body import CUT_OFF, RecordBody, TableStatus
from seekwarc.read.later import LaterRecords
from seekwarc.read.record import Record
from seekwarc.read.resync import (
    LEAD,
    NEARBY,
    NEARBY_BEFORE,
    check_trailer,
    next_record,
    note_deviation,
    swallowed_record,
    too_large,
    too_small,
)

if TYPE_CHECKING:
    from seekwarc.format.warc import RecordHeader
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["PlainBody", "plain_record_at", "plain_records"]

HEADER_READ: Final = 4 << 10
BLANK_STEP: Final = 64


@mypyc_attr(allow_interpreted_subclasses=True)
class PlainBody(RecordBody):
    """A record of a file that is not compressed."""

    __slots__ = ("_lock", "_window")
    table_status = TableStatus.UNCOMPRESSED

    def __init__(
        self, file: ArchiveFile, offset: int, header: RecordHeader, window: Window | None = None
    ) -> None:
        super().__init__(file, offset, header)
        # Chunks are read in small steps, which must not be a request each.
        self._window = window or Window(file.source)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[PlainBody], tuple[ArchiveFile, int, RecordHeader]]:
        return PlainBody, (self.file, self.offset, self.header)

    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        """See `RecordBody.read`; there is nothing to verify."""
        source, first, last = self.file.source, self.offset + start, self.offset + stop
        if last - first > source.policy.max_request:
            return self.read_long(start, stop, verify=verify)
        with self._lock:
            near = self._window.leads_to(first, last)
            data = self._window.take(first, last - first) if near else b""
        if not near:
            data = source.read(first, last)
        if len(data) < last - first:
            raise self.cut()
        return data

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        step = self.file.source.policy.max_request
        for begin in range(0, len(out), step):
            with out[begin : begin + step] as part:
                part[:] = self.read(start + begin, start + begin + len(part), verify=verify)

    @override
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        least = min(least, stop - start)
        with self._lock:
            data = self._window.take(self.offset + start, min(stop - start, max(least, CHEAP_READ)))
        if len(data) < least:
            raise self.cut()
        return data

    @override
    def plan(self, start: int, stop: int) -> ReadPlan:
        if stop <= start:
            return ReadPlan((), 0, 0)
        return ReadPlan(((self.offset + start, self.offset + stop),), 0, 0)

    def stored_end(self) -> int:
        """See `RecordBody.stored_end`: the line breaks after the record are part of it, however many."""
        end = self.offset + len(self.header.raw) + self.header.content_length
        return _blank_end(self.file.window(), end)


def _blank_end(window: Window, end: int) -> int:
    start = end
    while some := window.take(end, min(BLANK_STEP, start + MAX_BLANK_BYTES - end)):
        blank = len(some) - len(some.lstrip(b"\r\n"))
        end += blank
        if blank < len(some):
            if some[blank : blank + 1] in LEADS:
                end += blank_size(window.take(end, MAX_LEAD + len(RECORD_MAGIC)))
            break
    return end


def plain_record_at(
    file: ArchiveFile, window: Window, offset: int, *, own: bool = False, length: int | None = None
) -> Record:
    """Return the record at `offset`.

    With `own` the window is for this record alone, which reads on through it, and has the end that iterating
    would give it. `length` is that up to the next record, where known.
    """
    size = HEADER_READ
    grammar = file.grammar
    while True:
        data, index = window.reach(offset, offset + size)
        end = grammar.header_end(data, index)
        if end < 0:
            # It may lead beyond the limit, which only an index states.
            data, index = window.get(offset, offset + size)
            end = grammar.header_end(data, index)
        if end >= 0:
            header = file.parse_header(data[index:end], offset)
            record = Record(PlainBody(file, offset, header, window if own else None))
            if own:
                _look_at_end(file, window, record, length)
            return record
        found = data[index : index + MAGIC_SIZE]
        is_cut = len(data) - index < size
        if is_cut and found and grammar.may_begin(found):
            raise TruncatedError("the file ends inside this record header", source=file.name, offset=offset)
        if not grammar.may_begin(found) or is_cut or size > MAX_HEADER_SIZE:
            raise FormatError(
                f"no complete record header starts here: found {data[index : index + 16]!r}",
                source=file.name,
                offset=offset,
            )
        size *= 4


def plain_records(file: ArchiveFile, window: Window, offset: int = 0) -> Iterator[Record]:
    """Yield all records from `offset` on; blocks are stepped over, not read."""
    size = file.source.size or 0
    later = LaterRecords(file)
    has_lead = False
    if not offset and not file.strict:
        offset = _blank_end(window, 0)
        has_lead = _has_lead(window, 0, offset)
    while offset < size:
        record = plain_record_at(file, window, offset)
        if has_lead:
            note_deviation(record, "lead", LEAD)
        begin = offset + len(record.header.raw)
        end = begin + record.content_length
        within = _see_through(record, later) if end > size else None
        if within is not None:
            following = within
        elif end > size:
            following = size
            missing = f"{end - size} of {record.content_length} bytes of its block are missing"
            note_deviation(record, "cut", f"{CUT_OFF}: {missing}")
        else:
            following = _following(file, window, record, begin, end)
        record.note_length(following - offset)
        yield record
        offset, has_lead = following, _has_lead(window, end, following)


def _has_lead(window: Window, end: int, following: int) -> bool:
    """Return whether there are other bytes than line breaks before a record, after the one before it."""
    return following > end and window.take(following - 1, 1) not in (b"\r", b"\n")


def _see_through(record: Record, later: LaterRecords) -> int | None:
    """Return where the next record begins, inside a block that should go beyond the file; None if cut off."""
    begin = record.offset + len(record.header.raw)
    following = later.first_after(begin)
    if following is not None:
        found = _size_before(record.body.file, begin, following)
        note_deviation(record, "length", too_large(record.content_length, found), found)
        record.note_length(following - record.offset)
    return following


def _size_before(file: ArchiveFile, begin: int, following: int) -> int:
    """Return the size of the block at `begin` after which a record begins."""
    end = max(begin, following - MAX_LEAD - len(file.grammar.gaps[0]))
    gap = file.grammar.last_gap.search(file.source.read(end, following))
    return end + gap.start() - begin if gap is not None else 0


def _look_at_end(file: ArchiveFile, window: Window, record: Record, length: int | None) -> None:
    """Give a record by its offset the end that iterating would, unless that took another request."""
    begin = record.offset + len(record.header.raw)
    end = begin + record.content_length
    size = file.source.size or 0
    if end > size:
        _see_through(record, LaterRecords(file))
        return
    if not file.strict:
        stop = end if length is None else record.offset + length
        takes_request = file.source.policy.is_far and window.end < min(end + MAX_BLANK_BYTES, size)
        if end <= stop and (takes_request or (length is not None and not _has_surplus(window, end, stop))):
            return
    record.note_length(_following(file, window, record, begin, end) - record.offset)


def _has_surplus(window: Window, end: int, stop: int) -> bool:
    return stop - end > MAX_BLANK_BYTES or bool(window.take(end, stop - end).strip(b"\r\n"))


def _following(file: ArchiveFile, window: Window, record: Record, begin: int, end: int) -> int:
    """Return where the next record begins, and tell what is wrong with the end of this one."""
    size = file.source.size or 0
    following = _blank_end(window, end)
    trailer = window.take(end, following - end) if file.strict else file.grammar.end
    if following < size and not file.grammar.begins_at(partial(window.take, following)):
        following = _real_end(file, record, begin, end)
    check_trailer(file, record.offset, trailer)
    return following


def _real_end(file: ArchiveFile, record: Record, begin: int, end: int) -> int:
    """Return where the next record begins, after a block that no record follows; its end without one near."""
    window = Window(file.source)
    following = _blank_end(window, end)
    if not file.may_mend(2 * NEARBY_BEFORE):
        return following
    swallowed, is_doubtful = swallowed_record(file.grammar, window, begin, end)
    if swallowed is not None:
        found = _size_before(file, begin, swallowed)
        note_deviation(record, "length", too_large(record.content_length, found), found)
        return swallowed
    if is_doubtful:
        return following
    stream = file.stream(window, end, "none")
    position = next_record(stream, 0)
    if position is None:
        rest = (file.source.size or 0) - end
        # After a blank line other bytes are not the record's.
        if rest <= NEARBY and not window.take(end, MAX_BLANK_BYTES).startswith(file.grammar.gaps):
            problem = too_small(record.content_length, rest, "the end of the file")
            note_deviation(record, "length", problem)
        return following
    note_deviation(record, "length", too_small(record.content_length, position))
    return end + position
