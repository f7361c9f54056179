"""Finding the original of a revisit through the index that has the revisit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from typing import Final

from seekwarc.collection.entry import Entry, entry_of_line
from seekwarc.collection.likeness import Meant, in_order
from seekwarc.errors import FormatError
from seekwarc.format.cdxj import CdxjLine, timestamp_of
from seekwarc.format.digest import Digest
from seekwarc.read.record import Record

__all__ = ["Near", "NearbyIndex"]

MAX_LINES: Final = 10_000
"""Captures of a URI that are examined, nearest in time first."""

Near = Callable[[str, str], Iterator[CdxjLine]]
"""Returns the captures of a URI, nearest to a date first."""


class NearbyIndex:
    """A CDXJ index as a `RecordIndex`: it knows URIs and digests, and lists captures near a record first."""

    def __init__(self, record: Record, near: Near) -> None:
        self._near = near
        self._uris = [it for it in (record.refers_to_target_uri, record.target_uri) if it is not None]
        self._named_date = record.refers_to_date
        self._date = self._named_date or record.date

    def by_uri(self, uri: str) -> Sequence[Entry]:
        """See `RecordIndex.by_uri`; other spellings follow, and what only has the same key is left out."""
        meant = Meant(uri)
        return [it for it in in_order(uri, self._entries(uri), attrgetter("uri")) if meant.is_spelled(it.uri)]

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        """See `RecordIndex.by_payload`; only captures of the record's URI, since lines are sorted by URI."""
        return [
            entry
            for uri in dict.fromkeys(self._uris)
            for entry in self._entries(uri)
            if entry.payload_digest is not None and entry.payload_digest.key == digest.key
        ]

    def by_id(self, record_id: str) -> Sequence[Entry]:  # noqa: ARG002
        """See `RecordIndex.by_id`; lines have no IDs."""
        return ()

    segments_of = concurrent_to = referring_to = by_id

    def _entries(self, uri: str) -> Iterator[Entry]:
        if self._date is None:
            return
        for line in islice(self._near(uri, timestamp_of(self._date)), MAX_LINES):
            try:
                yield self._entry(line)
            except FormatError:
                # A line without a file or offset is of no use; another may be.
                continue

    def _entry(self, line: CdxjLine) -> Entry:
        entry = entry_of_line(line)
        # An index has whole seconds; the date that a revisit names may be more precise.
        if self._named_date is not None and timestamp_of(self._named_date) == line.timestamp:
            return replace(entry, date=self._named_date)
        return entry
