"""An index of records: where each one is, and which others refer to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from seekwarc.errors import SeekWarcError
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.seektable import TableChoice, TableTrust
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.read.zstd_body import table_choice

__all__ = ["Entry", "MemoryIndex", "RecordIndex", "entries_of", "entry_of", "with_lengths", "with_next"]

Value = TypeVar("Value")

PAYLOAD_IS_BLOCK = ("resource", "conversion")


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


class RecordIndex(Protocol):
    """Where a collection looks up records. Results have no defined order.

    Example:
        >>> with seekwarc.Collection(["crawl.warc.zst"]) as crawl:
        ...     index: seekwarc.RecordIndex = crawl.index
        ...     print([entry.type for entry in index.referring_to("urn:x:2")])
        ['metadata']
    """

    def by_id(self, record_id: str) -> Sequence[Entry]:
        """Return the records with an ID: one, unless files hold copies."""

    def by_uri(self, uri: str) -> Sequence[Entry]:
        """Return all records with a target URI."""

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        """Return all records that state a payload digest, in any spelling."""

    def segments_of(self, origin_id: str) -> Sequence[Entry]:
        """Return all continuations of a record."""

    def concurrent_to(self, record_id: str) -> Sequence[Entry]:
        """Return all records that name a record as one of the same capture event."""

    def referring_to(self, record_id: str) -> Sequence[Entry]:
        """Return all records that refer to a record."""


class MemoryIndex:
    """A `RecordIndex` in memory, of about a kilobyte per record.

    Example:
        >>> index = seekwarc.MemoryIndex()
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     index.add_archive(archive)
        >>> with seekwarc.Collection(["crawl.warc.zst"], index=index) as crawl:
        ...     print(crawl.open_record("urn:x:2").target_uri)
        http://example.org/film.mp4
    """

    def __init__(self) -> None:
        self._by_id: defaultdict[str, list[Entry]] = defaultdict(list)
        self._by_uri: defaultdict[str, list[Entry]] = defaultdict(list)
        self._by_payload: defaultdict[tuple[str, bytes], list[Entry]] = defaultdict(list)
        self._by_origin: defaultdict[str, list[Entry]] = defaultdict(list)
        self._by_concurrent: defaultdict[str, list[Entry]] = defaultdict(list)
        self._by_referred: defaultdict[str, list[Entry]] = defaultdict(list)

    def add(self, entry: Entry) -> None:
        """Add a record."""
        if entry.id is not None:
            self._by_id[entry.id].append(entry)
        if entry.uri is not None:
            self._by_uri[entry.uri].append(entry)
        if entry.payload_digest is not None:
            self._by_payload[entry.payload_digest.key].append(entry)
        if entry.segment_origin_id is not None:
            self._by_origin[entry.segment_origin_id].append(entry)
        if entry.refers_to is not None:
            self._by_referred[entry.refers_to].append(entry)
        for other in entry.concurrent_to:
            self._by_concurrent[other].append(entry)

    def add_archive(self, archive: Reader) -> None:
        """Add all records of a file.

        Raises:
            FormatError: The file is damaged; the records before the damage were added.
        """
        for entry in entries_of(archive):
            self.add(entry)

    def by_id(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.by_id`."""
        return self._by_id.get(record_id, ())

    def by_uri(self, uri: str) -> Sequence[Entry]:
        """See `RecordIndex.by_uri`."""
        return self._by_uri.get(uri, ())

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        """See `RecordIndex.by_payload`."""
        return self._by_payload.get(digest.key, ())

    def segments_of(self, origin_id: str) -> Sequence[Entry]:
        """See `RecordIndex.segments_of`."""
        return self._by_origin.get(origin_id, ())

    def concurrent_to(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.concurrent_to`."""
        return self._by_concurrent.get(record_id, ())

    def referring_to(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.referring_to`."""
        return self._by_referred.get(record_id, ())


def entry_of(record: Record) -> Entry:
    """Return the index entry of a record. Malformed fields are left out."""
    digest = record.payload_digest
    if digest is None and record.type in PAYLOAD_IS_BLOCK:
        digest = record.block_digest
    return Entry(
        record.source,
        record.offset,
        record.length if record.has_length else None,
        record.type,
        record.id,
        record.target_uri,
        record.date,
        digest,
        record.segment_number,
        record.segment_origin_id,
        record.refers_to_id,
        record.concurrent_to,
        table_choice(record),
    )


def entries_of(archive: Reader) -> Iterator[Entry]:
    """Yield an entry for each record of a file; errors as from `with_lengths`."""
    return map(entry_of, with_lengths(archive))


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

    Only the current record is decompressed, so a record that is read later must be decompressed again. But
    its length is known only when the next record is found. So records are described early and yielded late.

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
