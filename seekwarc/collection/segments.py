"""Records that are stored as several: segments joined, revisits with the payload they refer to.

Source: WARC 1.1, clauses 6.7 and 7.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.errors import SegmentError
from seekwarc.format.seektable import SeekTable
from seekwarc.format.warc import RECORD_END, RecordHeader, edit_header
from seekwarc.format.words import counted
from seekwarc.frames.run import ReadPlan
from seekwarc.read.digests import check_payload_digest
from seekwarc.read.record import Layout, Record, TableStatus

if TYPE_CHECKING:
    from seekwarc.format.http import HttpHead
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.digests import DigestCheck
    from seekwarc.read.extent import Extent

__all__ = ["JoinedContent", "JoinedRecord", "ResolvedRevisit", "join_segments"]

FIRST_CONTINUATION: Final = 2
MOST_NAMED: Final = 8
"""Missing segments that a message names."""


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
        super().__init__(revisit.header, revisit.place)
        self.original = original

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
        payload = check_payload_digest(self, self.original)
        own = [check for check in super().check_digests() if check.field != "WARC-Payload-Digest"]
        return (*own, payload) if payload is not None else tuple(own)


class JoinedRecord(Record):
    """A logical record: the blocks of its segments, one behind the other (clause 7).

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
        super().__init__(header, _JoinedPlace(segments))
        self.segments = segments


class _JoinedPlace:
    """Where a logical record begins: with its first segment."""

    def __init__(self, segments: tuple[Record, ...]) -> None:
        self._segments = segments
        self.file: ArchiveFile = segments[0].place.file
        self.offset = segments[0].offset
        self.skip = segments[0].skip

    def layout(self, header: RecordHeader) -> Layout:
        return Layout(JoinedContent(header.raw, self._segments), TableStatus.SEGMENTS)

    def length(self, header: RecordHeader, layout: Layout) -> int:  # noqa: ARG002
        return self._segments[0].length


class _Piece(NamedTuple):
    """A part of a read that lies in one segment."""

    segment: Record
    start: int
    """Where it begins in the segment's content."""
    stop: int
    begin: int
    """Where it begins in what is read."""


class JoinedContent:
    """The content of a logical record, as `Content`: its header, the segments' blocks, two line breaks.

    Args:
        header: The header.
        segments: The records that have the blocks.
    """

    table: SeekTable | None = None
    in_one_piece = False

    def __init__(self, header: bytes, segments: Sequence[Record]) -> None:
        self._header = header
        self._segments = segments
        # Positions in the content at which the segments' blocks end.
        self._ends = list(accumulate((it.content_length for it in segments), initial=len(header)))[1:]

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        """See `Content.read_into`."""
        for piece in self._pieces(start, start + len(out)):
            with out[piece.begin : piece.begin + piece.stop - piece.start] as target:
                piece.segment.layout.content.read_into(piece.start, target, verify=verify)
        for begin, data in self._around(start, start + len(out)):
            out[begin : begin + len(data)] = data

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `Content.plan`. The ranges of all files come one after the other."""
        plans = [it.segment.layout.content.plan(it.start, it.stop) for it in self._pieces(start, stop)]
        return ReadPlan(
            tuple(part for plan in plans for part in plan.ranges),
            sum(plan.bytes_decoded for plan in plans),
            sum(plan.frames for plan in plans),
        )

    def peek(self, start: int, stop: int) -> bytes:
        """See `Content.peek`."""
        out = bytearray(stop - start)
        for piece in self._pieces(start, stop):
            data = piece.segment.layout.content.peek(piece.start, piece.stop)
            out[piece.begin : piece.begin + len(data)] = data
        for begin, data in self._around(start, stop):
            out[begin : begin + len(data)] = data
        return bytes(out)

    def cheap_stop(self, start: int) -> int:
        """See `Content.cheap_stop`."""
        number = bisect_right(self._ends, start)
        if start < len(self._header) or number == len(self._ends):
            return start + 1
        segment = self._segments[number]
        # From positions in the whole to positions in the segment's own content.
        shift = len(segment.header.raw) + segment.content_length - self._ends[number]
        return min(segment.layout.content.cheap_stop(start + shift) - shift, self._ends[number])

    def _pieces(self, start: int, stop: int) -> Iterator[_Piece]:
        first = bisect_right(self._ends, start)
        for segment, end in zip(self._segments[first:], self._ends[first:], strict=True):
            block_start = end - segment.content_length
            if block_start >= stop:
                return
            begin, finish = max(start, block_start), min(stop, end)
            if begin < finish:
                shift = len(segment.header.raw) - block_start
                yield _Piece(segment, begin + shift, finish + shift, begin - start)

    def _around(self, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
        """Yield what of the header and the line breaks at the end is in a range, and where in it."""
        end = self._ends[-1]
        if start < len(self._header):
            yield 0, self._header[start : min(stop, len(self._header))]
        if stop > end:
            begin = max(start, end)
            yield begin - start, RECORD_END[begin - end : stop - end]


def join_segments(origin: Record, continuations: Sequence[Record]) -> JoinedRecord:
    """Join the segments of a logical record (clause 7).

    Args:
        origin: The first segment.
        continuations: The others, in any order.

    Raises:
        SegmentError: Segments are missing, there twice, or do not belong together.
    """
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
    sought = range(2, min(last.segment_number or 1, len(numbered) + MOST_NAMED))
    missing = [number for number in sought if number not in numbered]
    if missing:
        yield "number " + ", ".join(map(str, missing[:MOST_NAMED])) + " is missing"
    elif len(numbered) == len(ordered) + 1:
        yield from _wrong_total((origin, *ordered))


def _wrong_total(segments: Sequence[Record]) -> Iterator[str]:
    """Name what is wrong with the lengths of segments that are all there."""
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
