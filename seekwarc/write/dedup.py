"""Payloads that were archived before, found by their digests.

Source: WARC 1.1, clause 6.7.2.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from seekwarc.collection.record_index import entry_of
from seekwarc.format.digest import Digest
from seekwarc.read.reader import Reader

__all__ = ["Deduplicator", "Duplicates", "Original"]


class Original(NamedTuple):
    """The record that has a payload, as a revisit of it names that record; what a `Deduplicator` returns."""

    id: str
    """Its WARC-Record-ID, without angle brackets."""
    target_uri: str
    date: str
    """Its WARC-Date, as in the header."""


class Deduplicator(Protocol):
    """What a writer asks whether it has met a payload before."""

    def find(self, digest: Digest, /) -> Original | None:
        """Return a record with that payload."""

    def add(self, digest: Digest, original: Original, /) -> None:
        """Take note of a record with that payload."""


class Duplicates:
    """Remembers payloads in memory, about 500 bytes for each."""

    def __init__(self) -> None:
        self._originals: dict[tuple[str, bytes], Original] = {}

    def __len__(self) -> int:
        return len(self._originals)

    def find(self, digest: Digest) -> Original | None:
        """See `Deduplicator.find`."""
        return self._originals.get(digest.key)

    def add(self, digest: Digest, original: Original) -> None:
        """See `Deduplicator.add`; the first record with a payload is kept."""
        self._originals.setdefault(digest.key, original)

    def add_archive(self, archive: Reader) -> None:
        """Take note of all responses and resources in a file, so that a new one can refer to them.

        Raises:
            FormatError: Damage is reached.
        """
        for record in archive:
            if record.truncated is not None or record.type not in ("response", "resource"):
                continue
            entry = entry_of(record)
            date = record.header.get("WARC-Date")
            is_whole = record.header.get("WARC-Segment-Number") is None
            if entry.payload_digest is not None and is_whole and entry.id and entry.uri and date:
                self.add(entry.payload_digest, Original(entry.id, entry.uri, date))
