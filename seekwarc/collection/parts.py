"""A resource that was captured in parts (206 Partial Content), joined: its payload, read from all of them.

Parts belong together if they are answers to GET for one URI, apart from range parameters, with equal codings
and size of the whole, and the same strong entity tag. Without a strong tag they need the same Last-Modified,
and captures within an hour; that is not proof. An answer that has the whole takes the place of all parts.

Bytes that several parts have are compared when they are read, a few parts at a time, so that opening reads no
payload; `check_overlaps` compares all. A difference refuses the whole group.

Source: RFC 9110, section 15.3.7.3; `format.partial` has the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from seekwarc.collection.entry import Entry
from seekwarc.collection.record_index import RangedUris, RecordIndex
from seekwarc.collection.segments import Run, SegmentsBody
from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError, NotFoundError
from seekwarc.format.dates import WarcDate
from seekwarc.format.http import HttpHead
from seekwarc.format.partial import Claim, body_parts, cover, resource_of
from seekwarc.format.partial import claim_of as http_claim
from seekwarc.format.uri import as_utf8
from seekwarc.format.warc import edit_header
from seekwarc.frames.run import ReadPlan
from seekwarc.read.body import RecordBody, TableStatus
from seekwarc.read.extent import Extent
from seekwarc.read.record import Record

__all__ = [
    "MAX_CAPTURES",
    "UNKNOWN_TYPE",
    "Group",
    "JoinedParts",
    "captures_of",
    "claim_of",
    "groups_of",
    "joined_nearest",
    "joined_with_others",
]

MAX_CAPTURES: Final = 1 << 16
"""Captures of one resource that are opened."""
PART_TYPES: Final = ("response", "revisit")
PARTIAL_CONTENT: Final = 206
PART_STATUS: Final = (200, PARTIAL_CONTENT)
WINDOW: Final = 3600 * 10**9
"""Nanoseconds in which parts without a strong entity tag must have been captured."""
READ_AT_ONCE: Final = 64 << 10
MULTIPART: Final = "multipart/byteranges"
UNKNOWN_TYPE: Final = "application/octet-stream"

Open = Callable[[Entry], Record]
Logical = Callable[[Record], Record]
"""Returns the logical record of a stored one."""


class Part(NamedTuple):
    """A logical record, and the bytes of a resource that it has."""

    record: Record
    claim: Claim
    start: int = 0
    """Where they are in its payload."""
    media_type: str | None = None
    """Their Content-Type, if that of the record is multipart/byteranges."""


class JoinedParts(Record):
    """A part of a resource, with the payload of the whole, as far as other parts have it.

    Header, block and HTTP head are the part's own. `payload.holes` are the ranges that no part has.

    Attributes:
        part: The record of the part.
        parts: All parts that are used, in the order of their first bytes.
        ranges: The bytes [start, stop) that each of them has.
        is_proved: Whether a strong entity tag says that they are parts of the same bytes.

    Example:
        >>> with seekwarc.Collection(["parts.warc.zst"]) as crawl:
        ...     film = crawl.open_record(uri="http://example.org/film.mp4", joined=True)
        ...     print(len(film.parts), film.is_proved, film.payload.size, film.payload.holes)
        2 True 3145728 ((2000000, 2500000),)
    """

    __slots__ = ("_joined", "_starts", "_total", "_type", "is_proved", "part", "parts", "ranges")

    def __init__(self, part: Record, group: Sequence[Part]) -> None:
        super().__init__(part.body)
        self.part = part
        ordered = sorted(group, key=lambda it: it.claim.held)
        self.parts = tuple(it.record for it in ordered)
        self.ranges = tuple(it.claim.held for it in ordered)
        self._starts = tuple(it.start for it in ordered)
        self._type = next((it.media_type for it in ordered if it.record is part), None)
        self._total = ordered[0].claim.total
        self.is_proved = ordered[0].claim.is_proved or len(ordered) == 1
        self._joined: tuple[SegmentsBody, Extent] | None = None

    def __getstate__(self) -> dict[str, object]:
        names = ("part", "parts", "ranges", "_starts", "_total", "_type", "is_proved")
        own = {name: getattr(self, name) for name in names}
        return {**super().__getstate__(), **own, "_joined": None}

    @property
    def problem(self) -> str | None:
        """See `Record.problem`: that of the part, or else of the first of `parts` that has one."""
        return self.part.problem or next((found for it in self.parts if (found := it.problem)), None)

    @property
    def http(self) -> HttpHead | None:
        """See `Record.http`: that of the part."""
        return self.part.http

    @property
    def payload(self) -> Extent:
        """The payload of the whole resource."""
        return self._whole[1]

    @property
    def held(self) -> int:
        """Bytes of the payload that the parts have."""
        return self.payload.size - sum(stop - start for start, stop in self.payload.holes)

    def check_overlaps(self) -> None:
        """Compare all bytes that several parts have.

        Raises:
            SegmentError: Two parts differ.
            FormatError: A part is damaged.
        """
        self._whole[0].check_overlaps()

    @property
    def _whole(self) -> tuple[SegmentsBody, Extent]:
        if self._joined is None:
            self._joined = self._join()
        return self._joined

    def _join(self) -> tuple[SegmentsBody, Extent]:
        total = self._total
        header = edit_header(self.header, ["Content-Length"], [("Content-Length", str(total))])
        head = len(header.raw)
        bodies = [*map(_PayloadBody, self.parts)]
        pieces, again = cover(self.ranges)

        def run(number: int, start: int, stop: int, others: tuple[Run, ...] = ()) -> Run:
            begin = self._starts[number] + start - self.ranges[number].start
            return Run(head + start, head + stop, bodies[number], begin, others)

        # Both are in the order of their first bytes, and each of `again` is in one piece or in two.
        waiting = sorted(again, key=lambda it: it.start, reverse=True)
        active: list[tuple[int, int, int]] = []
        runs = []
        for piece in pieces:
            while waiting and waiting[-1].start < piece.stop:
                active.append(waiting.pop())
            others = tuple(
                run(number, max(start, piece.start), min(stop, piece.stop))
                for number, start, stop in active
                if stop > piece.start
            )
            active = [it for it in active if it[2] > piece.stop]
            runs.append(run(*piece, others))
        body = SegmentsBody(header, self.part, runs)
        codings = self.parts[0].payload.codings
        fields = self.http if self._type is None else {"Content-Type": self._type}
        return body, Extent(body, head, head + total, codings, fields=fields)


class _PayloadBody(RecordBody):
    """The payload of a part as a body, with chunked coding removed."""

    __slots__ = ("_payload",)
    table_status = TableStatus.SEGMENTS

    def __init__(self, part: Record) -> None:
        super().__init__(part.body.file, part.offset, part.header)
        self._payload = part.payload

    @property
    @override
    def problem(self) -> str | None:
        return self._payload.end_problem

    @override
    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        data = self._payload.pread(start, stop - start, verify=verify)
        if len(data) < stop - start:
            raise self.cut()
        return data

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        done = 0
        while done < len(out):
            with out[done:] as rest:
                count = self._payload.pread_into(start + done, rest, verify=verify)
            if not count:
                raise self.cut()
            done += count

    @override
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        found = self._payload.pread(start, min(stop - start, max(least, READ_AT_ONCE)))
        if not found:
            raise self.cut()
        return found

    @override
    def plan(self, start: int, stop: int) -> ReadPlan:
        return self._payload.plan(start, stop)

    @override
    def stored_end(self) -> int:
        return self.offset


def claim_of(record: Record) -> Claim | None:
    """Return what a record claims to have of a resource, None if it is not an answer that says so.

    For an answer with several ranges (multipart/byteranges) it is the first of them.

    Raises:
        FormatError: The HTTP head cannot be read, or the record is damaged.
    """
    found = next(_claimed(record, record), None)
    return found.claim if found is not None else None


def _claimed(stored: Record, record: Record) -> Iterator[Part]:
    """Yield what a stored record claims that it has; `record` is the same, or resolved."""
    uri = stored.target_uri
    head = stored.http if uri is not None and stored.type in ("response", "revisit") else None
    if uri is None or head is None or stored.truncated not in (None, "length"):
        return
    media = head.media_type
    if media is None or media.essence != MULTIPART:
        claim = http_claim(uri, head.status, head, head.codings)
        if claim is not None:
            yield Part(record, claim)
    elif not head.codings and head.status == PARTIAL_CONTENT and stored.type == "response":
        for it in body_parts(record.payload.pread, media.get("boundary") or ""):
            claim = http_claim(uri, head.status, head, (), content_range=it.content_range)
            if claim is not None:
                yield Part(record, claim, it.start, it.media_type or UNKNOWN_TYPE)


def captures_of(index: RecordIndex, uri: str) -> list[Entry]:
    """Return captures of a resource: of its URI, then of URIs that name a range of it.

    Other URIs than its own are only found in an index that has `RangedUris`.

    Raises:
        LimitError: There are more than are looked at.
    """
    uri = as_utf8(uri)
    found = [it for it in index.by_uri(uri) if as_utf8(it.uri or "") == uri]
    if isinstance(index, RangedUris):
        found += (it for it in index.with_range(uri) if it.uri != uri and resource_of(it.uri or "")[0] == uri)
    if len(found) > MAX_CAPTURES:
        raise LimitError(f"{uri} has {len(found)} captures; parts are looked for among {MAX_CAPTURES}")
    return found


@dataclass(frozen=True, slots=True)
class Group:
    """Parts of the same bytes, or captures of the whole."""

    parts: tuple[Part, ...]

    def joined(self, part: Record | None = None) -> JoinedParts:
        """Return one of the parts, the first unless named, with the payload of all."""
        whole = [it for it in self.parts if it.claim.is_whole]
        return JoinedParts(part or self.parts[0].record, whole[:1] or self.parts)

    def part_at(self, source: str, offset: int) -> Record | None:
        """Return the part at an offset of a file, or None."""
        records = (it.record for it in self.parts)
        return next((it for it in records if (it.source, it.offset) == (source, offset)), None)


def joined_with_others(record: Record, groups: Callable[[str], Iterable[Group]]) -> JoinedParts | None:
    """Return a part with the payload of the whole resource; None if it is not one of several.

    `groups` returns the groups of a resource.
    """
    claim = claim_of(record)
    if claim is not None and not claim.is_whole:
        for group in groups(claim.resource):
            if (part := group.part_at(record.source, record.offset)) is not None:
                return group.joined(part)
    return None


def joined_nearest(groups: Iterable[Group], date: WarcDate | None) -> JoinedParts | None:
    """Return the part that is nearest to a date, or the latest, with the payload of the whole."""
    wanted = date.nanoseconds if date is not None else 1 << 80
    found = [
        (abs(wanted - _instant(part.record)), part.record, group) for group in groups for part in group.parts
    ]
    if not found:
        return None
    _, part, group = min(found, key=itemgetter(0))
    return group.joined(part)


def groups_of(
    uri: str, captures: Iterable[Entry], index: RecordIndex, open_entry: Open, logical: Logical
) -> tuple[Group, ...]:
    """Return the groups that captures of a resource form: of parts that are as long as they say.

    Damaged parts are left out, and so are revisits whose original is not in the index.
    """
    found = [
        part
        for entry in captures
        if entry.type in PART_TYPES and entry.status in (None, *PART_STATUS)
        for part in _opened(entry, index, open_entry, logical)
        if part.claim.resource == uri
    ]
    found.sort(key=lambda it: (repr(it.claim.identity), _instant(it.record)))
    groups = groupby(found, key=lambda it: it.claim.identity)
    return tuple(Group(parts) for _, same in groups for parts in _windows(same))


def _windows(parts: Iterable[Part]) -> Iterator[tuple[Part, ...]]:
    """Cut parts, in the order of their dates, where an hour is over, unless a strong tag proves them."""
    group: list[Part] = []
    for part in parts:
        instant = _instant(part.record)
        if group and not part.claim.is_proved and instant - _instant(group[0].record) > WINDOW:
            yield tuple(group)
            group = []
        group.append(part)
    yield tuple(group)


def _instant(record: Record) -> int:
    return record.date.nanoseconds if record.date is not None else 0


def _opened(entry: Entry, index: RecordIndex, open_entry: Open, logical: Logical) -> list[Part]:
    """Return the parts that a record has, if they are as long as it says."""
    try:
        stored = open_entry(entry)
        if not _is_get(stored, index, open_entry):
            return []
        parts = list(_claimed(stored, logical(stored)))
        for record, claim, _, media_type in parts:
            length = claim.held.stop - claim.held.start
            if media_type is None:
                # No more chunks than these are passed.
                record.payload.look_ahead(length + 1)
                if record.payload.known_size != length:
                    return []
    except (FormatError, NotFoundError):
        # A part that is damaged, or whose payload is in another file, is a hole.
        return []
    return parts


def _is_get(record: Record, index: RecordIndex, open_entry: Open) -> bool:
    """Return whether no request of the same capture has another method."""
    named = [entry for other in record.concurrent_to for entry in index.by_id(other)]
    if record.id is not None:
        named += index.concurrent_to(record.id)
    heads = (open_entry(entry).http for entry in named if entry.type == "request")
    return all(head is None or head.method in (None, "GET") for head in heads)
