"""An index of records: where each one is, and which others refer to it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Protocol

from seekwarc.collection.entry import Entry, described
from seekwarc.collection.record_table import BATCH, RecordTable
from seekwarc.format.digest import Digest
from seekwarc.read.reader import Reader

__all__ = ["Entry", "MemoryIndex", "RecordIndex"]


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


class MemoryIndex(RecordTable):
    """A `RecordIndex` of entries that are added to it: in memory, or on disk if it is larger than 16 MiB.

    The disk space is that of a temporary file, about 500 bytes per record.

    Example:
        >>> index = seekwarc.MemoryIndex()
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     index.add_archive(archive)
        >>> with seekwarc.Collection(["crawl.warc.zst"], index=index) as crawl:
        ...     print(crawl.open_record("urn:x:2").target_uri)
        http://example.org/film.mp4
    """

    def __init__(self) -> None:
        super().__init__()
        self._added: list[Entry] = []
        self._adding = threading.Lock()

    def __getstate__(self) -> tuple[list[Entry]]:
        return (list(self.entries()),)

    def __setstate__(self, state: tuple[list[Entry]]) -> None:
        MemoryIndex.__init__(self)
        self.extend(*state)

    def add(self, entry: Entry) -> None:
        """Add a record."""
        with self._adding:
            self._added.append(entry)
            is_full = len(self._added) >= BATCH
        if is_full:
            self.flush()

    def add_archive(self, archive: Reader) -> None:
        """Add all records of a file.

        Raises:
            FormatError: The file is damaged; the records before the damage were added.
        """
        for entry in described(archive):
            self.add(entry)

    def pending(self) -> Iterable[Entry]:
        """See `RecordTable.pending`."""
        if not self._added:
            return ()
        with self._adding:
            added, self._added = self._added, []
        return added
