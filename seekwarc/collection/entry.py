"""What is known of a record without opening it: made in one place, for every index and listing.

A record is described while it is the current one of an iteration, since only that one is decompressed. Its
length is known only after the next one was found. So records are described early and yielded late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.cdxj import TYPE_FIELD, CdxjLine
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.seektable import TableChoice, TableTrust
from seekwarc.format.values import MediaType
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.read.zstd_body import table_choice

__all__ = [
    "CAPTURE_TYPES",
    "Entry",
    "describe",
    "described",
    "entry_of_line",
    "nearest",
    "with_lengths",
    "with_next",
]

Value = TypeVar("Value")

CAPTURE_TYPES: Final = ("response", "resource", "revisit")
"""Types of the records that are captures of their URI."""
PAYLOAD_IS_BLOCK: Final = ("resource", "conversion")


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

    file: str
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
    """Media type of the payload, without parameters. This and all that follows is None unless asked for."""
    status: int | None = None
    """Status of the HTTP response."""
    payload_size: int | None = None
    problem: str | None = None
    """What is wrong with the part of the record that was read."""


def describe(
    record: Record,
    *,
    media_type: Callable[[Record], MediaType | None] | None = None,
    payload_size: bool = False,
) -> Entry:
    """Return the entry of a record, made from its header alone by default. Malformed fields are left out.

    `table` is left to `described`, since it may cost I/O.

    Args:
        record: The record; cheap to describe while it is the current one of an iteration.
        media_type: Tells the media type of the payload, for `mime`; `status` is set too.
        payload_size: Set `payload_size`. Of chunked bodies, only those of one frame are measured.
    """
    kind, digest = record.type, record.payload_digest
    if digest is None and kind in PAYLOAD_IS_BLOCK:
        digest = record.block_digest
    media = head = size = problem = None
    try:
        if media_type is not None:
            head = record.http
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
        mime=media.essence if media is not None else None,
        status=head.status if head is not None else None,
        payload_size=size,
        problem=problem,
    )


def described(
    archive: Reader, describe: Callable[[Record], Entry] = describe, *, damaged: bool = False
) -> Iterator[Entry]:
    """Yield an entry for each record of a file, with its length and with how its frames are found.

    Args:
        archive: The file.
        describe: Describes a record while it is the current one.
        damaged: Yield an entry of the record that damage lies within, too; its length is None.

    Raises:
        FormatError: Damage is reached; all records before it have been yielded.
    """
    for (record, entry), _, is_damaged in with_next(archive, lambda record: (record, describe(record))):
        if record.has_length:
            # No one else has the entry yet.
            object.__setattr__(entry, "length", record.length)
            object.__setattr__(entry, "table", table_choice(record))
        if damaged or record.has_length or not is_damaged:
            yield entry


def with_lengths(archive: Reader) -> Iterator[Record]:
    """Yield each record after the next one was found, so that its `length` costs no I/O.

    Raises:
        FormatError: Damage is reached; all intact records before it have been yielded.
    """
    for record, _, is_damaged in with_next(archive, lambda record: record):
        if not is_damaged or record.has_length:
            yield record


def with_next(
    records: Iterable[Record], describe: Callable[[Record], Value]
) -> Iterator[tuple[Value, Value | None, bool]]:
    """Describe each record when it is reached, and yield the description after the next record was found.

    Args:
        records: The records of a file, in order.
        describe: Called with each record while it is the current one.

    Yields:
        What `describe` returned for a record; what it returned for the next record, or None after the last;
        and whether damage follows the record, which is raised next.

    Raises:
        SeekWarcError: As from iterating over the records.
    """
    previous: Value | None = None
    damage: SeekWarcError | None = None
    iterator = iter(records)
    while damage is None:
        try:
            record = next(iterator, None)
        except SeekWarcError as error:
            record, damage = None, error
        current = describe(record) if record is not None else None
        if previous is not None:
            yield previous, current, damage is not None
        if current is None:
            break
        previous = current
    if damage is not None:
        raise damage


def entry_of_line(line: CdxjLine, file: str | None = None) -> Entry:
    """Return the entry of a line of a CDXJ index, which need not tell a response from a resource.

    A malformed name of a seek table is a `problem` of the entry: the record can be read without.

    Args:
        line: The line.
        file: Name of the file, if it is not that in the line.

    Raises:
        FormatError: The line names no file or offset, or its date is malformed.
    """
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


def nearest(entries: Iterable[Entry], date: WarcDate | None) -> Entry | None:
    """Return the entry with the date nearest to a given one, or the latest; of equally near ones the first.

    Args:
        entries: Entries; those without a date are passed over.
        date: The date; None for the latest.

    Returns:
        The entry; None if no entry has a date.
    """
    wanted = date.nanoseconds if date is not None else None
    found, least = None, 0
    for entry in entries:
        if entry.date is None:
            continue
        instant = entry.date.nanoseconds
        distance = abs(instant - wanted) if wanted is not None else -instant
        if found is None or distance < least:
            found, least = entry, distance
    return found
