"""What the revisits of some WACZ files need of others, which these require: `merge_wacz` copies it.

Each revisit is looked for once, first in the index of the file that it names. A record is copied as it is
stored: as its gzip member, or its bytes.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from seekwarc.cdx.chain import LinesNearby, originals_in
from seekwarc.cdx.index import Index
from seekwarc.cdx.nearby import NearbyIndex
from seekwarc.collection.entry import Entry, entry_of_line
from seekwarc.collection.revisits import container_of, holders_of
from seekwarc.format.cdxj import CdxjLine, timestamp_of
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.record import Record
from seekwarc.read.resync import is_shared

__all__ = ["Needed", "Original"]


class Original(NamedTuple):
    """A record that is needed."""

    source: ArchiveFile
    start: int
    """Where its stored bytes begin, and `stop`, where they end."""
    stop: int
    line: CdxjLine
    """What the index of its WACZ says of it."""


def _original(index: LinesNearby, entry: Entry) -> Original:
    body = index.record(entry).body
    date = timestamp_of(entry.date) if entry.date is not None else ""
    place = entry.filename, entry.offset
    line = next(it for it in index.near(entry.uri or "", date) if (it.filename, it.offset) == place)
    return Original(body.file, body.offset, body.stored_end(), line)


class Needed:
    """The originals that the revisits of some WACZ files need, and that none of these has.

    Args:
        indexes: The indexes of the WACZ files, by path or URL.
    """

    def __init__(self, indexes: dict[str, Index]) -> None:
        self._indexes = indexes
        self._by_container = {name: index for path, index in indexes.items() for name in holders_of(path)}
        self._found: dict[tuple[LinesNearby, str], dict[int, Entry]] = {}
        """By index and file, what is needed of it, by offset."""
        self.missing: Counter[str] = Counter()
        """Revisits without an original, by the container that they name; "" for those without."""

    def look(self) -> None:
        """Look for the original of each revisit."""
        for index in self._indexes.values():
            for line in index:
                if line.is_revisit:
                    self._look_for(index.record(entry_of_line(line)), index)

    def _look_for(self, record: Record, own: Index) -> None:
        container = container_of(record)
        named = self._by_container.get(container) if container is not None else None
        others = (it for it in self._indexes.values() if it is not named and it is not own)
        for index in [it for it in (named, own, *others) if it is not None]:
            if originals_in(NearbyIndex(record, index.near), index, record):
                return
        found = own.chain.originals(record) if own.chain is not None else None
        if found is None:
            if not self._has_digest(record):
                self.missing[container or ""] += 1
            return
        if any(is_shared(it.stored) or it.entry.filename.endswith(".zst") for it in found[1]):
            # Its gzip member is not its own, or its frame needs a dictionary; and no player reads either.
            self.missing[container or ""] += 1
            return
        for capture in found[1]:
            entry = capture.entry
            self._found.setdefault((found[0], entry.filename), {})[entry.offset] = entry

    @property
    def count(self) -> int:
        """How many records are needed."""
        return sum(map(len, self._found.values()))

    def files(self) -> Iterator[tuple[str, list[Original]]]:
        """Yield how the name of a new WARC file ends, and the records that it shall have, in order."""
        for (index, file), entries in self._found.items():
            _, dot, ending = file.partition(".warc")
            yield dot + ending, [_original(index, entries[offset]) for offset in sorted(entries)]

    def _has_digest(self, record: Record) -> bool:
        digest = record.payload_digest
        if digest is None:
            return False
        place = bisect_left(self._digests, number := hash(digest.key))
        return place < len(self._digests) and self._digests[place] == number

    @cached_property
    def _digests(self) -> Sequence[int]:
        lines = (it for index in self._indexes.values() for it in index if not it.is_revisit)
        return array("q", sorted(array("q", (hash(it.digest.key) for it in lines if it.digest is not None))))
