"""What the revisits in a table of records refer to, where a URI or a digest may have a million captures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Final, Self, cast

from seekwarc.collection.entry import Entry, describe
from seekwarc.collection.record_table import RecordTable
from seekwarc.collection.revisits import MAX_REVISITS, IndexedCapture, Open, originals
from seekwarc.compiling import override
from seekwarc.errors import FormatError
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.uri import normalized
from seekwarc.read.record import Record

__all__ = ["MAX_FOLLOWED", "TYPES", "ListedCapture", "dated", "followed", "may_lead_to"]

TYPES: Final = ("response", "resource")
"""Types of the records that become revisits."""
MAX_LISTED: Final = 1000
"""Maximum originals of a revisit that are looked at, of each type."""
MAX_FOLLOWED: Final = 16
"""Maximum revisits of a digest that are followed to see whether one leads to a record."""
EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - so that no zone is written


def dated(entry: Entry) -> Entry:
    """Return an entry with its date as `ListedCapture` finds it: in one spelling for each instant."""
    date = entry.date
    if date is None or (text := _spelt(date)) == date.text:
        return entry
    return replace(entry, date=WarcDate.parse(text))


def _spelt(date: WarcDate) -> str:
    second, fraction = divmod(date.nanoseconds, 10**9)
    try:
        text = (EPOCH + timedelta(seconds=second)).isoformat()
    except OverflowError:
        # Its zone moves it out of the years 1 to 9999.
        return date.text
    return f"{text}{f'.{fraction:09}'.rstrip('0') if fraction else ''}Z"


class ListedCapture(IndexedCapture):
    """A capture of a table whose entries are `dated`."""

    __slots__ = ()

    @classmethod
    def of(cls, record: Record, table: RecordTable, open_entry: Open) -> Self:
        """Return a revisit that is to be resolved by a table."""
        return cls(_OriginalsFirst(table), open_entry, describe(record), record)

    @override
    def _of_date(self, uri: str, date: WarcDate) -> Iterable[Entry]:
        table, name = cast("_OriginalsFirst", self._index).table, normalized(uri)
        found = [table.some(MAX_LISTED, uri=it, date=_spelt(date)) for it in (uri, name.decode())]
        return chain(*found, table.some(MAX_LISTED, spelling=name, date=_spelt(date)))


class _OriginalsFirst:
    """A table in which the million revisits of a logo are not looked up with it."""

    def __init__(self, table: RecordTable) -> None:
        self.table, self.spelled = table, table.spelled
        self.by_id, self.by_uri, self.segments_of = table.by_id, table.by_uri, table.segments_of
        self.concurrent_to, self.referring_to = table.concurrent_to, table.referring_to

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        """See `RecordIndex.by_payload`; revisits only if nothing else has the digest, and a few of them."""
        found = [it for kind in TYPES for it in self.table.oldest(MAX_LISTED, digest, type=kind)]
        return found or self.table.oldest(MAX_REVISITS, digest, type="revisit")


def followed(
    revisits: Sequence[Entry], table: RecordTable, open_entry: Open
) -> Sequence[tuple[IndexedCapture, ...]] | None:
    """Return what each of some revisits leads to; None if they are too many, or a record is damaged."""
    if len(revisits) > MAX_FOLLOWED:
        return None
    try:
        return [originals(ListedCapture.of(open_entry(it), table, open_entry)) for it in revisits]
    except FormatError:
        return None


def may_lead_to(
    place: tuple[str, int, int], revisits: Sequence[Entry], table: RecordTable, open_entry: Open
) -> bool:
    """Return whether one of some revisits may lead to the record at a place; True if they are too many."""
    paths = followed(revisits, table, open_entry)
    if paths is None:
        return True
    # The table has digests that no header states, and by which no reader finds a record.
    ends = [path[-1] for path in paths if path]
    return any(it.key == place or it.stored.header.get("WARC-Payload-Digest") is None for it in ends)
