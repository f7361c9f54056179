"""What the revisits of some WACZ files need of others, which these require: `merge_wacz` copies it.

The lines of all indexes are noted once, and each revisit is followed as a `Collection` does. A record is
copied as it is stored: as its gzip member, or its bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final, NamedTuple

from seekwarc.cdx.index import Index
from seekwarc.cdx.places import beside, is_wacz_name
from seekwarc.collection.entry import Entry, describe, entry_of_line
from seekwarc.collection.record_index import MemoryIndex
from seekwarc.collection.revisits import IndexedCapture, Profile, container_of, originals
from seekwarc.compiling import override
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.cdxj import CdxjLine, timestamp_of
from seekwarc.format.dates import WarcDate
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.record import Record
from seekwarc.read.resync import is_shared
from seekwarc.storage.zip_members import ARCHIVE, SEPARATOR

__all__ = ["Needed", "Original"]

IN_WACZ: Final = SEPARATOR + ARCHIVE


class Original(NamedTuple):
    """A record that is needed."""

    source: ArchiveFile
    start: int
    """Where its stored bytes begin, and `stop`, where they end."""
    stop: int
    line: CdxjLine
    """What the index of its WACZ says of it."""


class _Capture(IndexedCapture):
    """A capture by lines, which have whole seconds; the date that a revisit names may be more precise."""

    __slots__ = ()

    @override
    def _of_date(self, uri: str, date: WarcDate) -> Iterator[Entry]:
        second = timestamp_of(date)
        dated = ((it.date, it) for it in self._of_uri(uri))
        return (it for found, it in dated if found is not None and timestamp_of(found) == second)


class Needed:
    """The originals that the revisits of some WACZ files need, and that none of these has.

    Args:
        indexes: The indexes of the WACZ files, by path or URL.
        opened: Closes what is opened.
    """

    def __init__(self, indexes: dict[str, Index], opened: ExitStack) -> None:
        self._own = indexes
        self._indexes = dict(indexes)
        self._opened = opened
        self._of_own, self._of_all = MemoryIndex(), MemoryIndex()
        self._tried = set(indexes)
        self._compared: dict[tuple[Hashable, Hashable], bool] = {}
        self._found: dict[str, dict[str, set[int]]] = {}
        """By WACZ and file, the offsets of what is needed."""
        self.missing: Counter[str] = Counter()
        """Revisits without an original, by the container that they name; "" for those without."""

    @property
    def count(self) -> int:
        """How many records are needed."""
        return sum(len(offsets) for files in self._found.values() for offsets in files.values())

    def look(self) -> None:
        """Look for the original of each revisit."""
        for name, index in self._own.items():
            for entry in _entries(name, index):
                self._of_own.add(entry)
            for required in index.chain.required if index.chain is not None else ():
                self._try(name, required.filename)
        for name, index in self._own.items():
            for entry in _entries(name, index):
                if entry.type == "revisit" and (record := self._open(entry)).type == "revisit":
                    self._look_for(record, name)

    def _try(self, wacz: str, container: str) -> None:
        """Note the lines of a file beside a WACZ, if it is there."""
        path = beside(wacz, container)
        if path in self._tried:
            return
        self._tried.add(path)
        with suppress(SeekWarcError):
            self._indexes[path] = index = self._opened.enter_context(Index(path))
            for entry in _entries(path, index):
                self._of_all.add(entry)

    def _open(self, entry: Entry) -> Record:
        wacz, _, file = entry.filename.rpartition(IN_WACZ)
        return self._indexes[wacz].record(replace(entry, filename=file))

    def _look_for(self, record: Record, wacz: str) -> None:
        container = container_of(record)
        if container is not None and is_wacz_name(container):
            self._try(wacz, container)
        for lines in (self._of_own, self._of_all):
            revisit = _Capture(lines, self._open, describe(record), record)
            try:
                found = originals(revisit)
                if found and lines is self._of_all and not self._has_payload(found[-1], revisit):
                    found = ()
            except FormatError:
                # It is damaged, which is as good as none.
                found = ()
            if found:
                break
        # Neither can be copied alone, and no player reads it: one of a shared member, or of a .warc.zst.
        if not found or any(is_shared(it.stored) or it.entry.filename.endswith(".zst") for it in found):
            self.missing[container or ""] += 1
        elif lines is self._of_all:
            for it in found:
                path, _, file = it.entry.filename.rpartition(IN_WACZ)
                self._found.setdefault(path, {}).setdefault(file, set()).add(it.entry.offset)

    def _has_payload(self, original: IndexedCapture, revisit: IndexedCapture) -> bool:
        """Compare the bytes of an original with what a revisit states: the digest of a line is a claim."""
        if revisit.profile is not Profile.IDENTICAL:
            return True
        key = original.key, revisit.digest
        if key not in self._compared:
            self._compared[key] = original.has_payload_of(revisit)
        return self._compared[key]

    def files(self) -> Iterator[tuple[str, list[Original]]]:
        """Yield how the name of a new WARC file ends, and the records that it shall have, in order."""
        for path, files in self._found.items():
            index = self._indexes[path]
            found: dict[str, dict[int, Original]] = {}
            for line in index:
                if line.offset in files.get(line.filename, ()):
                    # Its length is measured, whatever the line says.
                    body = index.record(replace(entry_of_line(line), length=None)).body
                    original = Original(body.file, body.offset, body.stored_end(), line)
                    found.setdefault(line.filename, {})[line.offset] = original
            for file, these in found.items():
                _, dot, ending = file.partition(".warc")
                yield dot + ending, [these[offset] for offset in sorted(these)]


def _entries(wacz: str, index: Index) -> Iterator[Entry]:
    for line in index:
        yield entry_of_line(line, wacz + IN_WACZ + line.filename)
