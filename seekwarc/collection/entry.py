"""What is known of a record without opening it: made in one place, for every index and listing.

A record is described while it is the current one of an iteration, since only that one is decompressed. Its
length is known only after the next one was found. So records are described early and yielded late.
"""

from __future__ import annotations

import heapq
import warnings
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar

from seekwarc.compiling import mypyc_attr
from seekwarc.errors import FormatError, FormatWarning, SeekWarcError
from seekwarc.format.cdxj import FIELDS_TYPE, TYPE_FIELD, CdxjLine, is_capture, stated_type
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.profiles import is_server_not_modified
from seekwarc.format.seektable import TableChoice, TableTrust
from seekwarc.format.values import MediaType
from seekwarc.format.words import counted
from seekwarc.read.reader import Reader, begun
from seekwarc.read.record import Record
from seekwarc.read.zstd_body import table_choice

__all__ = [
    "CAPTURE_TYPES",
    "UNCHANGED",
    "Entry",
    "OnDamage",
    "by_nearness",
    "damaged_places",
    "describe",
    "described",
    "described_past_damage",
    "entry_of_line",
    "is_listed",
    "is_listed_as",
    "is_place",
    "judged",
    "nearest",
    "values_of",
    "verdict",
    "warned_of_damage",
    "with_next",
]

Value = TypeVar("Value")
OnDamage: TypeAlias = Callable[[FormatError], object]

CAPTURE_TYPES: Final = ("response", "resource", "revisit")
"""Types of the records that are captures of their URI."""
PAYLOAD_IS_BLOCK: Final = ("resource", "conversion")
UNCHANGED: Final = 304
"""Status of a revisit whose profile is server-not-modified."""
MAX_SHOWN: Final = 3
"""Damaged places that a message names."""


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class Entry:
    """One record as an index lists it. IDs have no angle brackets.

    Example:
        >>> with seekwarc.Collection(["crawl.warc.zst"]) as crawl:
        ...     for entry in crawl.index.by_uri("http://example.org/"):
        ...         print(entry.type, entry.date, crawl.record(entry).size)
        response 2026-11-16T06:00:00Z 23393
        revisit 2026-11-17T06:00:00Z 611
    """

    filename: str
    """Name of the file that has the record."""
    offset: int
    """Where the record begins in the file, in bytes."""
    length: int | None = None
    """Stored bytes up to the next record, where known."""
    type: str | None = None
    id: str | None = None
    uri: str | None = None
    date: WarcDate | None = None
    payload_digest: Digest | None = None
    segment_number: int | None = None
    segment_origin_id: str | None = None
    refers_to: str | None = None
    """ID of the record that this one is about."""
    concurrent_to: tuple[str, ...] = ()
    """IDs of records of the same capture event."""
    table: TableChoice = TableTrust.CLAIMED
    """The record's seek table, if the index names it; no other is trusted then. Or which may be trusted."""
    skip: int = 0
    """Bytes of other records before it in its gzip member; if there are any, its offset cannot be opened."""
    size: int | None = None
    """Length of the block; of the stored record, if the entry comes from a CDXJ index."""
    mime: str | None = None
    """Media type of the payload, without parameters. This and the fields below are filled in only on request;
    this one always for a resource that is a crawler's note, which it tells from a capture."""
    status: int | None = None
    """Status of the HTTP response; 304 for a server-not-modified revisit even if not asked for."""
    payload_size: int | None = None
    problem: str | None = None
    """What is wrong with the part of the record that was read."""

    @property
    def is_capture(self) -> bool:
        """Whether the record is a capture of its URI, and no note on one: as an index lists it."""
        return self.uri is not None and is_capture(self.type, self.mime, self.uri)

    def __reduce__(self) -> tuple[Callable[..., Entry], tuple[Any, ...]]:
        # Processes send them by the million: half the time of what a dataclass does.
        return Entry, values_of(self)


values_of: Final = attrgetter(*[field.name for field in fields(Entry)])
"""Returns the values of all fields of an entry, in order."""


def describe(
    record: Record,
    *,
    media_type: Callable[[Record], MediaType | None] | None = None,
    payload_size: bool = False,
) -> Entry:
    """Return the entry of a record, made from its header alone by default. Malformed fields are left out.

    `table` is left to `described`, since it may cost I/O; `status` is set with `mime`, by `media_type`. Of
    chunked bodies, only those of one frame are measured.
    """
    kind, digest = record.type, record.payload_digest
    if digest is None and kind in PAYLOAD_IS_BLOCK:
        digest = record.block_digest
    media = size = problem = None
    status = UNCHANGED if kind == "revisit" and is_server_not_modified(record.profile) else None
    try:
        if media_type is not None:
            head = record.http
            status = head.status if head is not None else None
            media = media_type(record)
        if payload_size and kind != "revisit":
            payload = record.payload
            payload.look_ahead(record.content_length, 0)
            size = payload.known_size
    except FormatError as error:
        problem = str(error)
    return Entry(
        record.source,
        record.offset,
        record.length if record.has_length else None,
        kind,
        record.id,
        record.target_uri,
        record.date,
        digest,
        record.segment_number,
        record.segment_origin_id,
        record.refers_to_id,
        record.concurrent_to,
        skip=record.skip,
        size=record.content_length,
        mime=media.essence if media is not None else _type_of_note(record, kind),
        status=status,
        payload_size=size,
        problem=problem,
    )


def _type_of_note(record: Record, kind: str | None) -> str | None:
    """Return the media type of a resource that is a note; it tells it from a capture."""
    is_note = kind == "resource" and not is_capture(kind, stated_type(record.content_type), None)
    return FIELDS_TYPE if is_note else None


def described(
    archive: Reader,
    describe: Callable[[Record], Entry] = describe,
    *,
    on_damage: OnDamage | None = None,
    places: bool = False,
) -> Iterator[Entry]:
    """Yield an entry for each record of a file, with its length and with how its frames are found.

    Damage goes to `on_damage` as in `Reader.past_damage`; without it, damage is raised after the records
    before it. With `places`, damage has an entry with a `problem`: that of its record, or a bare offset.
    """
    found: list[FormatError] = []

    def note(damage: FormatError) -> None:
        found.append(damage)
        if on_damage is not None:
            on_damage(damage)

    passing = note if on_damage is not None else None
    for record, entry, _, is_broken in with_next(archive, describe, passing):
        while found and (found[0].offset or 0) < record.offset:
            place = _place(archive, found.pop(0))
            if places:
                yield place
        is_damaged = is_broken and not record.body.is_passed
        # No one else has the entry yet.
        if record.has_length:
            object.__setattr__(entry, "length", record.length)
            object.__setattr__(entry, "table", table_choice(record))
        elif found and is_damaged:
            object.__setattr__(entry, "problem", found.pop(0).message)
        if places and entry.problem is None and record.is_cut_off:
            object.__setattr__(entry, "problem", record.problem)
        if places or not is_damaged:
            yield entry
    yield from [_place(archive, damage) for damage in found if places]


def is_place(entry: Entry) -> bool:
    """Return whether an entry is not that of a record, but of a damaged place."""
    return entry.type is None and entry.size is None


def _place(archive: Reader, damage: FormatError) -> Entry:
    return Entry(archive.name, damage.offset or 0, problem=damage.message)


def described_past_damage(
    archives: Iterable[Reader], describe: Callable[[Record], Entry] = describe
) -> Iterator[Entry]:
    """Yield the entries of intact records in several files, and warn of the others."""
    for archive in archives:
        with warned_of_damage(archive.name) as note:
            yield from described(archive, describe, on_damage=note)


@contextmanager
def warned_of_damage(name: str) -> Iterator[OnDamage]:
    """Yield a function that takes the damage of a file, and warn of it at the end."""
    # Not the errors, whose tracebacks keep what was read.
    found = array("Q")
    yield lambda damage: found.append(damage.offset or 0)
    if found:
        places = damaged_places([(name, offset) for offset in found])
        warnings.warn(
            f"{name}: {places}, so records may be missing; `seekwarc verify` lists all damage",
            FormatWarning,
            stacklevel=4,
        )


def damaged_places(places: Sequence[tuple[str, int]], what: str = "damaged") -> str:
    """Say how many places are damaged, or what else, and name the first: pairs of a file and an offset."""
    files = len({file for file, _ in places})
    shown = [f"{file}, offset {offset}" if files > 1 else str(offset) for file, offset in places[:MAX_SHOWN]]
    more = ["..."] if len(places) > MAX_SHOWN else []
    named = "; ".join(shown + more) if files > 1 else "offset " + ", ".join(shown + more)
    return f"{counted(len(places), 'place')} {what} ({named})"


def judged(
    archive: Reader, matches: Callable[[Record], bool], on_damage: OnDamage | None = None
) -> Iterator[tuple[Record, bool | FormatError]]:
    """Yield each intact record after the next one was found, so that its `length` costs no I/O.

    Beside it is whether it matches, or why that is unknown. That was asked while it was the current one:
    later, what `matches` reads of its block would be decompressed again.
    """
    for record, found, _, is_damaged in with_next(archive, partial(verdict, matches), on_damage):
        if not is_damaged:
            yield record, found


def verdict(matches: Callable[[Record], bool], record: Record) -> bool | FormatError:
    """Return whether a record matches, or why that is unknown."""
    try:
        return matches(record)
    except FormatError as error:
        return error


def with_next(
    archive: Reader, describe: Callable[[Record], Value], on_damage: OnDamage | None = None
) -> Iterator[tuple[Record, Value, Value | None, bool]]:
    """Describe each record of a file when it is reached, and yield it after the next record was found.

    Yields the record, its description, that of the next (None after the last), and whether the first is
    damaged.
    """
    previous: tuple[Record, Value] | None = None
    damage: SeekWarcError | None = None
    has_passed = False

    def note(passed: FormatError) -> None:
        nonlocal has_passed
        has_passed = True
        if on_damage is not None:
            on_damage(passed)

    begin = archive.__iter__ if on_damage is None else partial(archive.past_damage, note)
    records = begun(archive, begin)
    while damage is None:
        has_passed = False
        try:
            record = next(records, None)
        except SeekWarcError as error:
            record, damage = None, error
        current = (record, describe(record)) if record is not None else None
        if previous is not None:
            is_damaged = (has_passed or damage is not None) and not previous[0].has_length
            yield *previous, current[1] if current is not None else None, is_damaged
        if current is None:
            break
        previous = current
    if damage is not None:
        raise damage


def entry_of_line(line: CdxjLine, file: str | None = None) -> Entry:
    """Return the entry of a line of a CDXJ index; a malformed name of a seek table is a `problem` of it."""
    problem = None
    try:
        table = line.table
    except FormatError as error:
        table, problem = TableTrust.SCANNED, str(error)
    length = line.length
    return Entry(
        line.filename if file is None else file,
        line.offset,
        length,
        "revisit" if line.is_revisit else line.fields.get(TYPE_FIELD, "response"),
        uri=line.uri,
        date=line.date,
        payload_digest=line.digest,
        table=table,
        size=length,
        mime=line.mime,
        status=line.status,
        problem=problem,
    )


def is_listed(record: Record) -> bool:
    """Return whether a record is one that an index of captures lists."""
    return is_listed_as(record, record.target_uri, record.type)


def is_listed_as(record: Record, uri: str | None, kind: str | None) -> bool:
    """Return the same where the record's URI and type are known."""
    # Only of a resource the type of the block decides.
    media_type = stated_type(record.content_type) if kind == "resource" else None
    return uri is not None and is_capture(kind, media_type, uri)


def nearest(entries: Iterable[Entry], date: WarcDate | None) -> Entry | None:
    """Return the entry nearest to a date, or the latest: the first of `by_nearness`."""
    return next(iter(by_nearness(entries, date)), None)


def by_nearness(entries: Iterable[Entry], date: WarcDate | None) -> list[Entry]:
    """Return the entries that have a date, nearest to a date first, or the latest first.

    Of two that are equally near, the later is first. Those of the same instant are taken for captured in the
    order in which they are stored, since an index has seconds only.
    """
    in_time = sorted((it for it in entries if it.date is not None), key=_instant_and_place)
    if date is None:
        return in_time[::-1]
    wanted = date.nanoseconds
    middle = bisect_left(in_time, wanted, key=_instant)
    sides = in_time[middle:], in_time[:middle][::-1]
    return [*heapq.merge(*sides, key=lambda it: abs(_instant(it) - wanted))]


def _instant(entry: Entry) -> int:
    return entry.date.nanoseconds if entry.date is not None else 0


def _instant_and_place(entry: Entry) -> tuple[int, str, int, int]:
    return _instant(entry), entry.filename, entry.offset, entry.skip
