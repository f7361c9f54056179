"""Records that are stored as several: segments joined, revisits with the payload they refer to.

Source: WARC 1.1, clauses 6.7 and 7.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.compiling import Buffer, mypyc_attr, override
from seekwarc.errors import HoleError, SegmentError
from seekwarc.format.warc import RECORD_END, RecordHeader, edit_header
from seekwarc.format.words import counted
from seekwarc.frames.run import ReadPlan
from seekwarc.read.body import RecordBody, TableStatus
from seekwarc.read.digests import check_payload_digest
from seekwarc.read.record import Record

if TYPE_CHECKING:
    from seekwarc.format.http import HttpHead
    from seekwarc.read.digests import DigestCheck
    from seekwarc.read.extent import Extent

__all__ = ["JoinedRecord", "ResolvedRevisit", "Run", "SegmentsBody", "join_segments"]

FIRST_CONTINUATION: Final = 2
MAX_NAMED: Final = 8
"""Missing segments that a message names."""
MAX_COMPARED: Final = 16
"""Other parts that a read of bytes is compared with: as many as may be, thousands of parts can overlap."""
STEP: Final = 1 << 20
"""Bytes that are compared at a time where all are."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ResolvedRevisit(Record):
    """A revisit with the payload of the record that it refers to.

    Header and block are the revisit's own. So is the HTTP head, where it has one.

    Attributes:
        original: The record that has the payload.

    Example:
        >>> with seekwarc.Collection(["crawl.warc.zst"]) as crawl:
        ...     again = crawl.open_record("urn:x:4")
        ...     print(again.type, again.original.id, again.payload.size)
        revisit urn:x:1 23000
    """

    __slots__ = ("original",)

    def __init__(self, revisit: Record, original: Record) -> None:
        super().__init__(revisit.body)
        if (problem := revisit.problem) is not None:
            self.note_problem(problem)
        self.original = original

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "original": self.original}

    @property
    def problem(self) -> str | None:
        """See `Record.problem`; that of the original where nothing is wrong with the revisit."""
        return super().problem or self.original.problem

    @property
    def http(self) -> HttpHead | None:
        """See `Record.http`; the original's where the revisit holds none."""
        own = super().http
        return own if own is not None else self.original.http

    @property
    def payload(self) -> Extent:
        """The original's payload."""
        return self.original.payload

    def check_digests(self) -> tuple[DigestCheck, ...]:
        """See `Record.check_digests`; the payload's is checked against the original's payload."""
        original = self.original
        payload = check_payload_digest(self, original, original.http, original.block)
        own = [check for check in super().check_digests() if check.field != "WARC-Payload-Digest"]
        return (*own, payload) if payload is not None else tuple(own)


@mypyc_attr(allow_interpreted_subclasses=True)
class JoinedRecord(Record):
    """A logical record: the blocks of its segments, one after the other (clause 7).

    Its header is that of the first segment, with the Content-Length of the whole and the WARC-Truncated of
    the last segment.

    Attributes:
        segments: The records that it is stored as, in order.

    Example:
        >>> with seekwarc.Collection(["large-00000.warc.zst", "large-00001.warc.zst"]) as crawl:
        ...     film = crawl.open_record("urn:x:5")
        ...     print(len(film.segments), film.payload.size, len(film.payload.pread(1_500_000, 1_000_000)))
        2 6291456 1000000
    """

    __slots__ = ("segments",)

    def __init__(self, header: RecordHeader, segments: tuple[Record, ...]) -> None:
        ends = accumulate((it.content_length for it in segments), initial=len(header.raw))
        runs = [
            Run(start, stop, it.body, len(it.header.raw))
            for it, (start, stop) in zip(segments, pairwise(ends), strict=True)
            if start < stop
        ]
        super().__init__(SegmentsBody(header, segments[0], runs))
        self.segments = segments

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "segments": self.segments}

    @property
    def problem(self) -> str | None:
        """See `Record.problem`: that of the first segment that has one."""
        return super().problem or next((found for it in self.segments if (found := it.problem)), None)


class Run(NamedTuple):
    """Bytes [start, stop) of a logical record, which are in another body."""

    start: int
    stop: int
    body: RecordBody
    begin: int
    """Where `start` is in that body."""
    again: tuple[Run, ...] = ()
    """Runs in these bytes that other bodies also hold, and that must be equal."""

    def read(self, start: int, stop: int, *, verify: bool) -> bytes:
        """Return bytes [start, stop) of the logical record."""
        shift = self.begin - self.start
        return self.body.read(start + shift, stop + shift, verify=verify)


@mypyc_attr(allow_interpreted_subclasses=True)
class SegmentsBody(RecordBody):
    """The bytes of a logical record: its header, a block that is in other bodies, two line breaks.

    Args:
        header: The header, with the length of the whole block.
        first: The record that is named in messages.
        runs: What is known of header and block, in order; the rest of the block is holes.
    """

    __slots__ = ("_ends", "_first", "_hole_ends", "_holes", "_refused", "_runs")
    table_status = TableStatus.SEGMENTS

    def __init__(self, header: RecordHeader, first: Record, runs: Sequence[Run]) -> None:
        super().__init__(first.body.file, first.offset, header)
        self.skip = first.skip
        self._first = first
        self._runs = runs
        self._ends = [run.stop for run in runs]
        size = len(header.raw)
        ends = [size, *self._ends]
        starts = [run.start for run in runs]
        starts.append(size + header.content_length)
        self._holes = tuple(it for it in zip(ends, starts, strict=True) if it[0] < it[1])
        self._hole_ends = [stop for _, stop in self._holes]
        self._refused: str | None = None

    @property
    @override
    def problem(self) -> str | None:
        return next((found for run in self._runs if (found := run.body.problem)), None)

    @override
    def check_end(self, stop: int) -> None:
        for run, _, end in self._within(stop - 1, stop, past_holes=True):
            if run is not None:
                run.body.check_end(end - run.start + run.begin)

    @property
    @override
    def holes(self) -> tuple[tuple[int, int], ...]:
        return self._holes

    @override
    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        found = []
        for run, begin, end in self._within(start, stop):
            if run is None:
                found.append(self._around(begin, end))
            else:
                found.append(run.read(begin, end, verify=verify))
                self._compare(run, begin, found[-1], verify=verify)
        return b"".join(found)

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        for run, begin, end in self._within(start, start + len(out)):
            with out[begin - start : end - start] as target:
                if run is None:
                    target[:] = self._around(begin, end)
                else:
                    run.body.read_into(begin - run.start + run.begin, target, verify=verify)
                    self._compare(run, begin, target, verify=verify)

    @override
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        found = b""
        for run, begin, end in self._within(start, min(stop, start + least) if self._holes else stop):
            if run is None:
                found += self._around(begin, end)
            else:
                shift = run.begin - run.start
                found += run.body.read_some(begin + shift, end + shift, least - len(found))
            if len(found) >= least:
                break
        return found

    def hides_records(self) -> bool:
        """See `RecordBody.hides_records`."""
        return any(run.body.hides_records() for run in self._runs)

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `RecordBody.plan`. The ranges of all files come one after the other; holes cost nothing."""
        plans = [
            run.body.plan(begin - run.start + run.begin, end - run.start + run.begin)
            for run, begin, end in self._within(start, stop, past_holes=True)
            if run is not None
        ]
        return ReadPlan(
            tuple(part for plan in plans for part in plan.ranges),
            sum(plan.bytes_decoded for plan in plans),
            sum(plan.frames for plan in plans),
            all(plan.is_verified for plan in plans),
        )

    def stored_end(self) -> int:
        """See `RecordBody.stored_end`: that of the first segment."""
        return self.offset + self._first.length

    def _within(
        self, start: int, stop: int, *, past_holes: bool = False
    ) -> Iterator[tuple[Run | None, int, int]]:
        """Yield what makes up [start, stop): runs, or None for header and line breaks."""
        head = len(self.header.raw)
        end = head + self.header.content_length
        if not past_holes:
            self._check(start, stop)
        if start < head:
            yield None, start, min(stop, head)
        for number in range(bisect_right(self._ends, start), len(self._runs)):
            run = self._runs[number]
            if run.start >= stop:
                break
            yield run, max(start, run.start), min(stop, run.stop)
        if stop > end:
            yield None, max(start, end), stop

    def _check(self, start: int, stop: int) -> None:
        """Raise if a byte of [start, stop) is in a hole, or parts are known to differ."""
        if self._refused is not None:
            raise SegmentError(self._refused, source=self._first.source, offset=self._first.offset)
        number = bisect_right(self._hole_ends, start)
        if number < len(self._holes) and self._holes[number][0] < stop:
            head = len(self.header.raw)
            begin, end = self._holes[number][0] - head, self._holes[number][1] - head
            error = HoleError(
                f"no record has bytes {begin} to {end - 1} of {self._first.target_uri}",
                source=self._first.source,
                offset=self._first.offset,
            )
            error.start, error.stop = begin, end
            raise error

    def _around(self, start: int, stop: int) -> bytes:
        """Return bytes of the header, or of the line breaks at the end."""
        end = len(self.header.raw) + self.header.content_length
        return self.header.raw[start:stop] if start < end else RECORD_END[start - end : stop - end]

    def _compare(self, run: Run, start: int, data: Buffer, *, verify: bool) -> None:
        """Compare bytes of a run with what else holds them: a few others, however many there are."""
        stop = start + len(data)
        compared = 0
        for other in run.again:
            if other.start >= stop or other.stop <= start:
                continue
            compared += 1
            if compared > MAX_COMPARED:
                break
            begin, end = max(start, other.start), min(stop, other.stop)
            if other.read(begin, end, verify=verify) != data[begin - start : end - start]:
                raise self._refuse(begin, end, run, other)

    def _refuse(self, start: int, stop: int, *differing: Run) -> SegmentError:
        head = len(self.header.raw)
        places = " and ".join(f"{it.body.file.name} at {it.body.offset}" for it in differing)
        self._refused = (
            f"the parts of {self._first.target_uri} cannot be joined: bytes {start - head} to "
            f"{stop - head - 1} differ in {places}"
        )
        return SegmentError(self._refused, source=self._first.source, offset=self._first.offset)

    def check_overlaps(self) -> None:
        """Compare everything that is held more than once, in time that is linear in its length.

        Raises:
            SegmentError: Two parts differ, as any read that comes upon it raises.
            FormatError: A part is damaged.
        """
        for run in self._runs:
            for other in run.again:
                for begin in range(other.start, other.stop, STEP):
                    end = min(begin + STEP, other.stop)
                    if other.read(begin, end, verify=True) != run.read(begin, end, verify=True):
                        raise self._refuse(begin, end, run, other)


def join_segments(origin: Record, continuations: Sequence[Record]) -> JoinedRecord:
    """Join the segments of a logical record (clause 7). The continuations may be in any order."""
    ordered = sorted(continuations, key=lambda record: record.segment_number or 0)
    problems = list(_problems(origin, ordered))
    if problems:
        raise SegmentError(
            f"the segments of {origin.id} cannot be joined: " + "; ".join(problems),
            source=origin.source,
            offset=origin.offset,
        )
    last = ordered[-1]
    added = [("Content-Length", str(last.segment_total_length))]
    if last.truncated is not None:
        added.append(("WARC-Truncated", last.truncated))
    # Its digest is that of the first segment's block; the segment number no longer has a meaning.
    removed = ("Content-Length", "WARC-Truncated", "WARC-Segment-Number", "WARC-Block-Digest")
    return JoinedRecord(edit_header(origin.header, removed, added), (origin, *ordered))


def _problems(origin: Record, ordered: Sequence[Record]) -> Iterator[str]:
    """Name what is wrong with the segments of a record, continuations in the order of their numbers."""
    if origin.segment_number != 1:
        yield f"{_place(origin)} is the first, and its number is {origin.segment_number}"
    for record in ordered:
        if record.target_uri != origin.target_uri:
            yield f"{_place(record)} has another target URI, {record.target_uri}"
    numbered = {1: origin}
    for record in ordered:
        number = record.segment_number
        if number is None or number < FIRST_CONTINUATION:
            stated = record.header.get("WARC-Segment-Number")
            yield f"{_place(record)} is a continuation, and its WARC-Segment-Number is {stated}"
            return
        if number in numbered:
            yield f"number {number} is there twice, {_place(numbered[number])} and {_place(record)}"
        numbered.setdefault(number, record)
    last = ordered[-1] if ordered else origin
    # Numbers are not to be believed: as many are looked for as a sentence can name.
    sought = range(2, min(last.segment_number or 1, len(numbered) + MAX_NAMED))
    missing = [number for number in sought if number not in numbered]
    if missing:
        yield "number " + ", ".join(map(str, missing[:MAX_NAMED])) + " is missing"
    elif len(numbered) == len(ordered) + 1:
        yield from _wrong_total((origin, *ordered))


def _wrong_total(segments: Sequence[Record]) -> Iterator[str]:
    *others, last = segments
    for record in others:
        if record.segment_total_length is not None:
            yield f"{_place(record)} states a total length, but is not the last"
    total = last.segment_total_length
    length = sum(record.content_length for record in segments)
    if total is None:
        yield f"the last segment is missing: {_place(last)} states no total length"
    elif length != total:
        yield f"they hold {counted(length, 'byte')}, and should hold {total}"


def _place(record: Record) -> str:
    return f"{record.source} at {record.offset}"
