"""An index of records: where each one is, and which others refer to it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from seekwarc.collection.connection import BATCH
from seekwarc.collection.entry import Entry, described
from seekwarc.collection.record_table import RecordTable
from seekwarc.format.digest import Digest
from seekwarc.read.reader import Reader

__all__ = ["Entry", "MemoryIndex", "RangedUris", "RecordIndex", "SimilarUris", "SpelledUris"]


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


@runtime_checkable
class SimilarUris(Protocol):
    """What an index may know besides."""

    def similar(self, uri: str) -> Sequence[Entry]:
        """Return the captures whose URIs count as the same in an index (`format.surt`)."""


@runtime_checkable
class SpelledUris(Protocol):
    """What an index may know besides."""

    def spelled(self, uri: str) -> Sequence[Entry]:
        """Return all records with a target URI in any spelling (`format.uri.normalized`)."""


@runtime_checkable
class RangedUris(Protocol):
    """What an index may know besides."""

    def with_range(self, uri: str) -> Sequence[Entry]:
        """Return records whose URIs may name a range of what a URI names: `range=` or `bytestart=`."""


class MemoryIndex:
    """A `RecordIndex` of the entries that are added to it.

    The first 16 MiB of it are in memory and the rest in a temporary file, about 400 bytes per record.

    Example:
        >>> index = seekwarc.MemoryIndex()
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     index.add_archive(archive)
        >>> with seekwarc.Collection(["crawl.warc.zst"], index=index) as crawl:
        ...     print(crawl.open_record("urn:x:2").target_uri)
        http://example.org/film.mp4
    """

    def __init__(self) -> None:
        self._table = RecordTable()
        self._added: list[Entry] = []
        """Entries that are not in the table yet: it takes many at a time faster than one by one."""
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        kept = {name: value for name, value in vars(self).items() if name not in ("_table", "_lock")}
        return {**kept, "_added": list(self._filled().entries())}

    def __setstate__(self, state: dict[str, object]) -> None:
        MemoryIndex.__init__(self)
        vars(self).update(state)

    def add(self, entry: Entry) -> None:
        """Add a record."""
        with self._lock:
            self._added.append(entry)
            is_full = len(self._added) >= BATCH
        if is_full:
            self._filled()

    def add_archive(self, archive: Reader) -> None:
        """Add all records of a file.

        Raises:
            FormatError: The file is damaged; the records before the damage were added.
        """
        for entry in described(archive):
            self.add(entry)

    def by_id(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.by_id`."""
        return self._filled().by_id(record_id)

    def by_uri(self, uri: str) -> Sequence[Entry]:
        """See `RecordIndex.by_uri`."""
        return self._filled().by_uri(uri)

    def spelled(self, uri: str) -> Sequence[Entry]:
        """See `SpelledUris.spelled`."""
        return self._filled().spelled(uri)

    def similar(self, uri: str) -> Sequence[Entry]:
        """See `SimilarUris.similar`."""
        return self._filled().similar(uri)

    def with_range(self, uri: str) -> Sequence[Entry]:
        """See `RangedUris.with_range`."""
        return self._filled().with_range(uri)

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        """See `RecordIndex.by_payload`."""
        return self._filled().by_payload(digest)

    def segments_of(self, origin_id: str) -> Sequence[Entry]:
        """See `RecordIndex.segments_of`."""
        return self._filled().segments_of(origin_id)

    def concurrent_to(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.concurrent_to`."""
        return self._filled().concurrent_to(record_id)

    def referring_to(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.referring_to`."""
        return self._filled().referring_to(record_id)

    def _filled(self) -> RecordTable:
        if self._added:
            with self._lock:
                self._table.extend(self._added)
                self._added = []
        return self._table
