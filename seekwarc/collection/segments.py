"""Records that are stored as several: segments joined, revisits with the payload they refer to.

Source: WARC 1.1, clauses 6.7 and 7.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.compiling import mypyc_attr, override
from seekwarc.errors import SegmentError
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

__all__ = ["JoinedRecord", "ResolvedRevisit", "SegmentsBody", "join_segments"]

FIRST_CONTINUATION: Final = 2
MAX_NAMED: Final = 8
"""Missing segments that a message names."""


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
        self.original = original

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "original": self.original}

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
        super().__init__(SegmentsBody(header, segments))
        self.segments = segments

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "segments": self.segments}


class _Piece(NamedTuple):
    """A part of a read that lies in one segment, or in what surrounds the blocks."""

    body: RecordBody | None
    """In the segment; None for header and line breaks."""
    start: int
    """Where it begins in the segment's content."""
    stop: int
    data: bytes = b""
    """Header or line breaks."""


@mypyc_attr(allow_interpreted_subclasses=True)
class SegmentsBody(RecordBody):
    """The bytes of a logical record: its header, the segments' blocks, two line breaks."""

    __slots__ = ("_ends", "_segments")
    table_status = TableStatus.SEGMENTS

    def __init__(self, header: RecordHeader, segments: Sequence[Record]) -> None:
        first = segments[0]
        super().__init__(first.body.file, first.offset, header)
        self.skip = first.skip
        self._segments = segments
        # Positions in the content at which the segments' blocks end.
        self._ends = list(accumulate((it.content_length for it in segments), initial=len(header.raw)))[1:]

    @override
    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        return b"".join(
            piece.data if piece.body is None else piece.body.read(piece.start, piece.stop, verify=verify)
            for piece in self._pieces(start, stop)
        )

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        begin = 0
        for piece in self._pieces(start, start + len(out)):
            with out[begin : begin + piece.stop - piece.start] as target:
                if piece.body is None:
                    target[:] = piece.data
                else:
                    piece.body.read_into(piece.start, target, verify=verify)
                begin += len(target)

    @override
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        found = b""
        for body, begin, end, data in self._pieces(start, stop):
            found += data if body is None else body.read_some(begin, end, least - len(found))
            if len(found) >= least:
                break
        return found

    def hides_records(self) -> bool:
        """See `RecordBody.hides_records`."""
        return any(segment.body.hides_records() for segment in self._segments)

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `RecordBody.plan`. The ranges of all files come one after the other."""
        plans = [it.body.plan(it.start, it.stop) for it in self._pieces(start, stop) if it.body is not None]
        return ReadPlan(
            tuple(part for plan in plans for part in plan.ranges),
            sum(plan.bytes_decoded for plan in plans),
            sum(plan.frames for plan in plans),
            all(plan.is_verified for plan in plans),
        )

    def stored_end(self) -> int:
        """See `RecordBody.stored_end`: that of the first segment."""
        return self.offset + self._segments[0].length

    def _pieces(self, start: int, stop: int) -> Iterator[_Piece]:
        raw, end = self.header.raw, self._ends[-1]
        if start < len(raw):
            data = raw[start:stop]
            yield _Piece(None, 0, len(data), data)
        first = bisect_right(self._ends, start)
        for segment, block_end in zip(self._segments[first:], self._ends[first:], strict=True):
            block_start = block_end - segment.content_length
            begin, finish = max(start, block_start), min(stop, block_end)
            if begin < finish:
                shift = len(segment.header.raw) - block_start
                yield _Piece(segment.body, begin + shift, finish + shift)
        if stop > end:
            data = RECORD_END[max(start - end, 0) : stop - end]
            yield _Piece(None, 0, len(data), data)


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
    # Its digest is that of the first segment's block; the segment number has no meaning any more.
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
