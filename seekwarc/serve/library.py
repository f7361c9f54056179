"""The files that are served, the catalogue of their records, and the records that are open.

files -> one pass in a background thread -> rows -> `Catalogue`, which the `Collection` asks too when a record
refers to another. The ID of a record is made of its file's name and its offset, so that it stays the same
whenever the file is served, and whatever other files are served with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final, Unpack
from urllib.parse import urlsplit

from seekwarc.cdx.index import folder_of, located
from seekwarc.closing import Closing, Recent
from seekwarc.collection.collection import Collection
from seekwarc.collection.record_index import entry_of, with_next
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
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.serve.catalogue import Catalogue, Row, key_of
from seekwarc.serve.cdxj_file import IndexFile, is_index
from seekwarc.serve.cost import View, WatchedSource
from seekwarc.serve.headers import clean, payload_type, stored_parts
from seekwarc.serve.served import ServedRecord
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeReadable, RangeSource, Stats
from seekwarc.storage.stopping import stoppable

__all__ = ["FileState", "Library", "rows_of"]

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
    problem: str | None = None
    """Why it was not scanned to its end."""


Readings = Callable[[], Iterator[tuple[int, Row]]]
"""Yields records as rows, each with the position that the scan has reached."""


class Library(Closing):
    """Files and their records.

    Args:
        targets: Paths or URLs of .warc.zst, .warc.gz and .warc files, or sources. Paths or URLs of CDXJ
            indexes (.cdxj) stand for the files that they name, in the same folder.
        **options: For each `Reader`.

    Raises:
        SourceError: A file cannot be opened.
    """

    def __init__(
        self,
        targets: Sequence[str | os.PathLike[str] | RangeReadable],
        **options: Unpack[ReadLimits],
    ) -> None:
        with ExitStack() as opened:
            sources = [_open(target, opened) for target in targets if not is_index(target)]
            indexes: list[tuple[IndexFile, dict[str, int]]] = []
            for target in filter(is_index, targets):
                source = _open(target, opened)
                index = IndexFile(WatchedSource(source, _short_name(source.name)))
                numbers = {name: len(sources) + at for at, name in enumerate(index.file_names())}
                indexes.append((index, numbers))
                folder = folder_of(source.name)
                sources += [_open(located(folder, name, source.name), opened) for name in numbers]
            self.names = _short_names([source.name for source in sources])
            """The names of the archives that the page shows: without folders."""
            seen = [WatchedSource(source, name) for source, name in zip(sources, self.names, strict=True)]
            self.catalogue = Catalogue(self.names)
            opened.callback(self.catalogue.close)
            # Requests run in threads of the server already; a pool for each file would not make them faster.
            self._collection = Collection(seen, index=self.catalogue, threads=1, **options)
            opened.callback(self._collection.close)
            self._resources = opened.pop_all()
        readers = self._collection.files
        scanned = readers[: len(sources) - sum(len(numbers) for _, numbers in indexes)]
        self._readings: list[tuple[FileState, Readings]] = [
            (FileState(reader.name, reader.size or 0), partial(_of_file, reader, number))
            for number, reader in enumerate(scanned)
        ]
        for index, numbers in indexes:
            state = FileState(index.source.name, index.source.size or 0)
            self._readings.append((state, partial(index.rows, numbers)))
        self._numbers = {_file_key(name): number for number, name in enumerate(self.names)}
        self._keys = list(self._numbers)
        self._open: Recent[str, ServedRecord] = Recent(MAX_OPEN)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def close(self) -> None:
        """Stop the scan and close the files. Idempotent."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        self._resources.close()

    @property
    def files(self) -> list[FileState]:
        """The files that are scanned for records: archives, and indexes of archives."""
        return [state for state, _ in self._readings]

    def start_reading(self) -> None:
        """Scan the files in a background thread. Records can be found as soon as they were scanned."""
        self._thread = threading.Thread(target=self.read, name="seekwarc-catalogue", daemon=True)
        self._thread.start()

    def read(self) -> None:
        """Scan the files and fill the catalogue. Damage ends the scan of one file, not of the others."""
        with contextlib.suppress(_Stopped), stoppable(self._check_stopped):
            self._read_all()
            self.catalogue.finish()

    def _check_stopped(self) -> None:
        if self._stopped.is_set():
            raise _Stopped

    def _read_all(self) -> None:
        for state, rows in self._readings:
            try:
                self._read_one(state, rows())
            except SeekWarcError as error:
                state.problem = str(error)
            except Exception as error:  # noqa: BLE001 - logged, and shown
                # If the thread died, the catalogue would never become complete.
                _log.exception("%s: the file could not be scanned to its end", state.name)
                state.problem = f"the file could not be scanned to its end: {type(error).__name__}: {error}"
            self._check_stopped()

    def _read_one(self, state: FileState, rows: Iterator[tuple[int, Row]]) -> None:
        batch: list[Row] = []
        size = FIRST_BATCH
        try:
            for position, row in rows:
                self._check_stopped()
                batch.append(row)
                state.position = position
                if len(batch) >= size:
                    self._add(state, batch)
                    size = BATCH
            state.position = state.size
        finally:
            self._add(state, batch)

    def _add(self, state: FileState, batch: list[Row]) -> None:
        self.catalogue.add(batch)
        state.records += len(batch)
        batch.clear()

    def record_id(self, file: int, offset: int, skip: int = 0) -> str:
        """Return the ID of the record that begins at an offset of a file."""
        return f"{self._keys[file]}-{offset}" + (f".{skip}" if skip else "")

    def id_of(self, record: Record) -> str:
        """Return the ID of a record."""
        return self.record_id(self._numbers[_file_key(record.source)], record.offset, record.skip)

    def open(self, record_id: str, view: View | None = None) -> ServedRecord:
        """Return a logical record by its ID: segments joined, a revisit with its payload.

        If other parts of the record cannot be found, it is returned as it is stored, with a `problem`.

        Args:
            record_id: The ID.
            view: Charged with the reads.

        Raises:
            NotFoundError: No record has that ID.
            UnsupportedError: The record shares a gzip member with others.
            FormatError: The record is damaged.
            SourceError: The stored bytes are unavailable.
        """
        known = self._open.get(record_id)
        if known is not None:
            return known
        with view.charge(()) if view is not None else nullcontext():
            return self._opened(record_id)

    def _opened(self, record_id: str) -> ServedRecord:
        complete = self.catalogue.complete
        record = self._stored(record_id)
        problem = None
        try:
            record = self._collection.open_record(record)
        except SeekWarcError as error:
            waiting = "" if complete else " (not all files have been scanned yet: try again in a while)"
            problem = f"{error}{waiting}"
        served = ServedRecord(record, self._stats(record), problem=problem)
        if problem is None or complete:
            self._open.put(record_id, served)
        return served

    def capture(self, uri: str, date: WarcDate | None = None) -> ServedRecord | None:
        """Open the capture of a URI that is nearest to a date; without a date, the latest. See `open`.

        Returns:
            None while it is not known, since files are still being scanned.

        Raises:
            NotFoundError: The URI has no capture.
        """
        complete = self.catalogue.complete
        row = self.catalogue.capture(uri, date)
        exact = (
            row is not None
            and date is not None
            and row.date is not None
            and (timestamp_of(WarcDate.parse(row.date)) == timestamp_of(date))
        )
        if not complete and not exact:
            return None
        if row is None:
            raise NotFoundError(f"no response, resource or revisit has the URI {uri}")
        served = self.open(self.record_id(row.file, row.offset, row.skip))
        # A revisit may refer to a record that was not scanned yet.
        return served if complete or served.problem is None else None

    def _stored(self, record_id: str) -> Record:
        match = _RECORD_ID.fullmatch(record_id)
        number = self._numbers.get(match[1]) if match is not None else None
        if match is None or number is None:
            raise NotFoundError(f"no record has the ID {record_id[:60]!r}; its file may not be served")
        offset, reader = int(match[2]), self._collection.files[number]
        if match[3] is not None:
            raise UnsupportedError(
                "this record shares its gzip member with others, so it can only be read in order; "
                "convert the file with `seekwarc convert` to open every record",
                source=reader.name,
                offset=offset,
            )
        if offset >= (reader.size or 0):
            raise NotFoundError(f"no record has the ID {record_id}: {reader.name} ends before that")
        row = self.catalogue.place(number, offset)
        if row is None:
            try:
                return reader.record_at(offset)
            except ChecksumError:
                raise
            except FormatError as error:
                # Nothing says that a record begins there but the ID.
                raise NotFoundError(f"no record has the ID {record_id}: {error}") from error
        return reader.record_at(offset, row.length or None, table=row.table)

    def _stats(self, record: Record) -> list[Stats]:
        files = {part.source for part in stored_parts(record, "payload")}
        return [reader.stats for reader in self._collection.files if reader.name in files]


class _Stopped(BaseException):
    """Raised in the scan once the library is closed. Not an `Exception`: a file is not damaged by it."""


def rows_of(reader: Reader, number: int) -> Iterator[Row]:
    """Yield a row for each record of a file, whose number is `number`.

    Raises:
        FormatError: The file is damaged; all records before the damage were yielded.
    """
    for (record, row), _, _ in with_next(reader, lambda record: (record, _row(record, number))):
        yield _with_length(record, row)


def _of_file(reader: Reader, number: int) -> Iterator[tuple[int, Row]]:
    for row in rows_of(reader, number):
        yield row.offset + (row.length or 0), row


def _with_length(record: Record, row: Row) -> Row:
    # Once the next record was found, the length costs no I/O.
    return row._replace(length=record.length) if record.has_length else row


def _row(record: Record, number: int) -> Row:
    """Return the row of a record. If anything is wrong with the record, its row says so."""
    row = Row(number, record.offset, skip=record.skip, size=record.content_length)
    try:
        return _described(row, record)
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - logged, and shown
        _log.exception("%s, offset %d: this record could not be described", record.source, record.offset)
        return row._replace(problem=f"this record could not be described: {type(error).__name__}")


def _described(row: Row, record: Record) -> Row:
    entry = entry_of(record)
    digest = entry.payload_digest
    head = media = problem = None
    try:
        head = record.http
        media = payload_type(record)
    except FormatError as error:
        problem = str(error)
    return row._replace(
        type=clean(entry.type),
        id=clean(entry.id),
        uri=clean(entry.uri),
        date=str(entry.date) if entry.date is not None else None,
        mime=media.essence if media is not None else None,
        status=head.status if head is not None else None,
        digest=clean(str(digest)) if digest is not None else None,
        digest_key=key_of(digest) if digest is not None else None,
        segment=entry.segment_number,
        origin=clean(entry.segment_origin_id),
        refers_to=clean(entry.refers_to),
        concurrent_to="".join(f"\n{clean(one)}\n" for one in entry.concurrent_to),
        problem=clean(problem),
        seek_table=str(entry.table),
    )


def _open(target: str | os.PathLike[str] | RangeReadable, opened: ExitStack) -> RangeSource:
    source = open_source(target)
    opened.callback(source.close)
    # For a remote object this is a request: if it fails, nothing is served.
    if source.size is None:
        raise UnsupportedError("a pipe cannot be served; store it in a file first", source=source.name)
    return source


def _short_name(name: str) -> str:
    """Return the name of a file without folder, host and signature."""
    return os.path.basename(urlsplit(name).path if "://" in name else name) or name


def _short_names(names: Sequence[str]) -> list[str]:
    """Return short names of files, with a number after each that is not the first of its name."""
    seen: Counter[str] = Counter()
    unique = []
    for name in map(_short_name, names):
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return unique


def _file_key(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
