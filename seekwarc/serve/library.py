"""The files that are served, the catalogue of their records, and the records that are open.

files -> one pass in a background thread -> entries -> `RecordTable`, which the `Collection` asks too when a
record refers to another. The ID of a record is made of its file's name and its offset, so that it stays the
same whenever the file is served, and whatever other files are served with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, Unpack

from seekwarc.cdx.beside import IndexBeside
from seekwarc.cdx.places import folder_of, located, name_in_index
from seekwarc.closing import Closing, Recent
from seekwarc.collection.collection import Collection
from seekwarc.collection.entry import CAPTURE_TYPES, Entry, OnDamage, describe, described, is_place
from seekwarc.collection.groups import GROUPINGS, Groups, Savings, Shares, group_of
from seekwarc.collection.parts import JoinedParts
from seekwarc.collection.record_table import SURT, RecordTable
from seekwarc.errors import (
    ChecksumError,
    FormatError,
    NotFoundError,
    SeekWarcError,
    SourceError,
    UnsupportedError,
)
from seekwarc.format.cdxj import timestamp_of
from seekwarc.format.dates import WarcDate
from seekwarc.format.post import bare_uri
from seekwarc.format.seektable import TableTrust
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_utf8
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.serve.cdxj_file import file_names, index_entries
from seekwarc.serve.cost import View, WatchedSource
from seekwarc.serve.error_answers import short_name
from seekwarc.serve.headers import payload_type, stored_parts
from seekwarc.serve.served import ServedRecord, logical_or_problem
from seekwarc.stopping import stoppable
from seekwarc.storage.expand import expand, index_ending
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable, RangeSource, Stats

__all__ = ["FileState", "Library", "entries_of"]

MAX_OPEN: Final = 128
"""Records that are kept open, so that their seek tables and chunks need not be found again."""
BATCH: Final = 1000
"""Rows that are added at a time. The first batch is small, so that a page shows something at once."""
FIRST_BATCH: Final = 50

_log = logging.getLogger("seekwarc.serve")
_RECORD_ID = re.compile(r"([0-9a-f]{8})-([0-9]{1,18})(?:\.([0-9]{1,18}))?")


@dataclass(slots=True)
class FileState:
    """How far a file has been scanned."""

    name: str
    """The name that the page shows: without folders."""
    size: int
    """Stored bytes."""
    position: int = 0
    """Stored bytes that were scanned."""
    records: int = 0
    damaged: int = 0
    """Places that are damaged. They are listed as the records are, and so is what follows."""
    problems: int = 0
    """Records in which something is wrong, such as one that the end of the file cuts off."""
    problem: str | None = None
    """Why it was not scanned to its end."""

    def note(self, _damage: FormatError) -> None:
        """Count a damaged place."""
        self.damaged += 1


Readings = Callable[[], Iterator[tuple[int, Entry]]]
"""Yields entries of records, each with the position that the scan has reached."""


class Library(Closing):
    """Files and their records. A CDXJ index (.cdxj) means the files that it names, in the same folder.

    A file in `indexes`, by its path or URL, is not scanned: the records that its index lists are shown.
    What a line says is compared with its record when that is opened.
    """

    def __init__(
        self,
        targets: Sequence[str | os.PathLike[str] | RangeReadable],
        *,
        sidecar: bool | str | os.PathLike[str] = True,
        indexes: Mapping[str, IndexBeside] | None = None,
        **options: Unpack[ReadLimits],
    ) -> None:
        targets = list(expand(targets))
        with ExitStack() as opened:
            archives = [_open(target, opened) for target in targets if index_ending(target) != ".cdxj"]
            lists: list[tuple[RangeSource, list[str]]] = []
            listed: list[RangeSource] = []
            for target in (it for it in targets if index_ending(it) == ".cdxj"):
                source = _open(target, opened)
                names = file_names(source)
                lists.append((WatchedSource(source, short_name(source.name)), names))
                folder = folder_of(source.name)
                listed += [_open(located(folder, name, source.name), opened) for name in names]
            self.names = _short_names([source.name for source in (*archives, *listed)])
            """The names of the archives that the page shows: without folders."""
            self.sources = dict(zip(self.names, (*archives, *listed), strict=True))
            """The archives by those names."""
            seen = map(WatchedSource, (*archives, *listed), self.names)
            self.catalogue = RecordTable(shared=True, text=as_utf8, keys={SURT: surt})
            opened.callback(self.catalogue.close)
            self.groups = {by: Groups() for by in GROUPINGS}
            """The records by what they have in common, as far as they were scanned."""
            self.savings = Savings()
            # Requests run in threads of the server already; a pool for each file would not make them faster.
            self._collection = Collection(
                list(seen), index=self.catalogue, threads=1, sidecar=sidecar, **options
            )
            opened.callback(self._collection.close)
            self._resources = opened.pop_all()
        readers = self._collection.files
        states = [FileState(reader.name, reader.size or 0) for reader in readers[: len(archives)]]
        indexed = [(indexes or {}).get(source.name) for source in archives]
        self._indexes = {it.name: index for it, index in zip(readers, indexed, strict=False) if index}
        """The indexes beside the archives, by the names that the page shows of these."""
        self._readings: list[tuple[FileState, Readings]] = [
            (
                state,
                partial(self._of_file, reader, state.note)
                if index is None
                else partial(self._counted, partial(_of_index, index, source.name, reader.name)),
            )
            for state, source, reader, index in zip(states, archives, readers, indexed, strict=False)
        ]
        shown = iter(self.names[len(archives) :])
        for source, names in lists:
            entries = partial(index_entries, source, {name: next(shown) for name in names})
            self._readings.append((FileState(source.name, source.size or 0), partial(self._counted, entries)))
        self.files = [state for state, _ in self._readings]
        """The files that are scanned for records: archives, and indexes of archives."""
        self.archives = dict(zip((it.name for it in (*archives, *listed)), readers, strict=True))
        """The archives by the paths and URLs under which they were opened."""
        self._by_key = {_file_key(reader.name): reader for reader in readers}
        self._open: Recent[str, ServedRecord] = Recent(MAX_OPEN)
        self._captures: Recent[tuple[str, WarcDate | None], ServedRecord] = Recent(MAX_OPEN)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Stop the scan and close the files. Idempotent."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        self._resources.close()

    def start_reading(self) -> None:
        """Scan the files in a background thread. Records can be found as soon as they were scanned."""
        self._thread = threading.Thread(target=self.read, name="seekwarc-catalogue", daemon=True)
        self._thread.start()

    def read(self) -> None:
        """Scan the files and fill the catalogue, past damage."""
        with contextlib.suppress(_Stopped), stoppable(self._check_stopped):
            for state, entries in self._readings:
                self._read_one(state, entries)
                self._check_stopped()
            self.catalogue.finish()

    @cached_property
    def saved_by_revisits(self) -> int:
        """Stored bytes of the captures that revisits repeat, less their own; for a complete catalogue."""
        return self.savings.stored_size

    def _check_stopped(self) -> None:
        if self._stopped.is_set():
            raise _Stopped

    def _read_one(self, state: FileState, entries: Readings) -> None:
        try:
            self._fill(state, entries())
        except SeekWarcError as error:
            state.problem = str(error)
        except Exception as error:  # noqa: BLE001 - logged, and shown
            # If the thread died, the catalogue would never become complete.
            _log.exception("%s: the file could not be scanned to its end", state.name)
            state.problem = f"the file could not be scanned to its end: {type(error).__name__}: {error}"

    def _fill(self, state: FileState, entries: Iterator[tuple[int, Entry]]) -> None:
        batch: list[Entry] = []
        size = FIRST_BATCH
        try:
            for position, entry in entries:
                self._check_stopped()
                batch.append(entry)
                state.position = position
                if len(batch) >= size:
                    self._add(state, batch)
                    size = BATCH
            state.position = state.size
        finally:
            self._add(state, batch)

    def _add(self, state: FileState, batch: list[Entry]) -> None:
        self.catalogue.extend(batch)
        for entry in batch:
            if not is_place(entry):
                state.records += 1
                state.problems += entry.problem is not None
        batch.clear()

    def _of_file(self, reader: Reader, on_damage: OnDamage) -> Iterator[tuple[int, Entry]]:
        records: deque[Record] = deque()
        shares = {
            by: Shares(groups, self.savings if by == "type" else None, reader.size)
            for by, groups in self.groups.items()
        }
        for entry in entries_of(reader, on_damage, records.append):
            if not is_place(entry):
                record = records.popleft()
                following = (records[0].offset, records[0].skip) if records else None
                is_shared = following is not None and following[0] <= record.offset
                is_damaged = entry.length is None and not is_shared
                for by, groups in self.groups.items():
                    name = group_of(entry, by)
                    shares[by].add(record, name, following, is_damaged=is_damaged)
                    if is_damaged:
                        groups.add(name, record.size, 0)
            yield entry.offset + (entry.length or 0), entry

    def _counted(self, entries: Readings) -> Iterator[tuple[int, Entry]]:
        """Count the records of an index, whose lines may have any order."""
        for position, entry in entries():
            stored_size = entry.length or 0
            for by, groups in self.groups.items():
                groups.add(group_of(entry, by), entry.size or 0, stored_size)
            if entry.type in CAPTURE_TYPES:
                digest = entry.payload_digest
                text = digest.value if digest is not None else None
                self.savings.add(text, stored_size, is_revisit=entry.type == "revisit")
            yield position, entry

    def record_id(self, file: str, offset: int, skip: int = 0) -> str:
        """Return the ID of the record that begins at an offset of a file."""
        return f"{_file_key(file)}-{offset}" + (f".{skip}" if skip else "")

    def id_of(self, record: Record) -> str:
        """Return the ID of a record."""
        return self.record_id(record.source, record.offset, record.skip)

    def open(self, record_id: str, view: View | None = None) -> ServedRecord:
        """Return a logical record by its ID; as it is stored, with a `problem`, if a part is not found."""
        known = self.known(record_id)
        if known is not None:
            return known
        complete = self.catalogue.complete
        with view.charge(()) if view is not None else nullcontext():
            logical = partial(self._collection.open_record, joined=True)
            record, problem = logical_or_problem(self._stored(record_id), logical)
        if problem is not None and not complete:
            problem += " (not all files have been scanned yet: try again in a while)"
        served = ServedRecord(record, self._stats(record), problem=problem)
        if complete or not (problem or isinstance(record, JoinedParts)):
            self._open.put(record_id, served)
        return served

    def requests_of(self, record: Record) -> Iterator[Record]:
        """Yield the requests that were captured together with a record, as far as the files have them."""
        named = [entry for other in record.concurrent_to for entry in self.catalogue.by_id(other)]
        if record.id is not None:
            named += self.catalogue.concurrent_to(record.id)
        return (self._collection.record(entry) for entry in named if entry.type == "request")

    def known(self, record_id: str) -> ServedRecord | None:
        """Return a record if it is open. Does not block."""
        return self._open.get(record_id)

    def known_capture(self, uri: str, date: WarcDate | None) -> ServedRecord | None:
        """Return a capture if it is open. Does not block."""
        return self._captures.get((uri, date))

    def capture(self, uri: str, date: WarcDate | None = None) -> ServedRecord | None:
        """Return the capture nearest to a date, or the latest; None while files are being scanned for it."""
        known = self.known_capture(uri, date)
        if known is not None:
            return known
        complete = self.catalogue.complete
        entry = self.catalogue.capture(uri, date)
        if not complete and not _is_of(entry, date):
            return None
        if entry is None:
            # All captures may have a range in their URIs.
            found = self.id_of(self._collection.open_record(uri=uri, date=date, joined=True))
        else:
            found = self.record_id(entry.filename, entry.offset, entry.skip)
        served = self.open(found)
        if complete:
            return self._captures.put((uri, date), served)
        # A revisit may refer to a record that was not scanned yet, and other parts may be found.
        return served if served.problem is None and not isinstance(served.record, JoinedParts) else None

    def _stored(self, record_id: str) -> Record:
        match = _RECORD_ID.fullmatch(record_id)
        reader = self._by_key.get(match[1]) if match is not None else None
        if match is None or reader is None:
            raise NotFoundError(f"no record has the ID {record_id[:60]!r}; its file may not be served")
        offset = int(match[2])
        if match[3] is not None:
            raise UnsupportedError(
                "this record shares its gzip member with others, so it can only be read in order; "
                "convert the file with `seekwarc convert` to open every record",
                source=reader.name,
                offset=offset,
            )
        if offset >= (reader.size or 0):
            raise NotFoundError(f"no record has the ID {record_id}: {reader.name} ends before that")
        entry = self.catalogue.place(reader.name, offset)
        if entry is None:
            try:
                return reader.record_at(offset)
            except ChecksumError:
                raise
            except FormatError as error:
                # Nothing says that a record begins there but the ID.
                raise NotFoundError(f"no record has the ID {record_id}: {error}") from error
        if is_place(entry):
            raise FormatError(entry.problem or "damaged", source=reader.name, offset=offset)
        index = self._indexes.get(reader.name)
        if index is not None and entry.date is not None:
            return index.record(reader, offset, bare_uri(entry.uri), timestamp_of(entry.date))
        return reader.record_at(offset, entry.length or None, table=entry.table)

    def _stats(self, record: Record) -> list[Stats]:
        files = {part.source for part in stored_parts(record, "payload")}
        return [reader.stats for reader in self._collection.files if reader.name in files]


class _Stopped(BaseException):
    """Raised in the scan once the library is closed. Not an `Exception`: a file is not damaged by it."""


def _is_of(entry: Entry | None, date: WarcDate | None) -> bool:
    if entry is None or entry.date is None or date is None:
        return False
    return timestamp_of(entry.date) == timestamp_of(date)


def entries_of(
    reader: Reader, on_damage: OnDamage, on_record: Callable[[Record], object] | None = None
) -> Iterator[Entry]:
    """Yield an entry for each record of a file, and for damage. If anything is wrong, the entry says so.

    `on_record` is called with each record that is found: with the next one before an entry is yielded.
    """
    return described(reader, partial(_described, on_record), on_damage=on_damage, places=True)


def _of_index(index: IndexBeside, name: str, shown: str) -> Iterator[tuple[int, Entry]]:
    with contextlib.closing(open_source(index.name)) as source:
        for _, entry in index_entries(source, {name_in_index(name): shown}):
            # A table that an index names is for those who name the index.
            yield 0, replace(entry, table=TableTrust.CLAIMED)


def _described(on_record: Callable[[Record], object] | None, record: Record) -> Entry:
    if on_record is not None:
        on_record(record)
    try:
        return describe(record, media_type=payload_type)
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - logged, and shown
        _log.exception("%s, offset %d: this record could not be described", record.source, record.offset)
        problem = f"this record could not be described: {type(error).__name__}"
        return Entry(
            record.source, record.offset, skip=record.skip, size=record.content_length, problem=problem
        )


def _open(target: str | os.PathLike[str] | RangeReadable, opened: ExitStack) -> RangeSource:
    source = open_source(target)
    opened.callback(source.close)
    # For a remote object this is a request: if it fails, nothing is served.
    if source.size is None:
        raise UnsupportedError("a pipe cannot be served; store it in a file first", source=source.name)
    return source


def _short_names(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    unique = []
    for name in map(short_name, names):
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def _file_key(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
