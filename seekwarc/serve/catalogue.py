"""One table of all records of the served files: for the list, for searches, for references between records.

It is an SQLite file in a temporary folder, so that a million records take disk space and not memory. One
thread adds rows; each row can be found as soon as it was added.
"""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os.path import join
from typing import Any, Final, Literal, NamedTuple

from seekwarc.closing import Recent
from seekwarc.collection.record_index import Entry
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.seektable import TableChoice, TableTrust, parse_table_choice
from seekwarc.serve.address import CAPTURE_TYPES
from seekwarc.serve.headers import clean

__all__ = ["SORTS", "Catalogue", "Page", "Query", "Row", "key_of"]

Sort = Literal["stored", "uri", "date", "size"]
SORTS: Final[tuple[Sort, ...]] = ("stored", "uri", "date", "size")
MAX_RESULTS: Final = 16
"""Results of searches that are kept, at four bytes for each row that was found."""
STALE_AFTER: Final = 2.0
"""Seconds after which a sorted result is updated while rows are still being added."""


class Row(NamedTuple):
    """One record."""

    file: int
    """Number of the file that it is in."""
    offset: int
    length: int | None = None
    """Stored bytes up to the next record, or None if that is unknown."""
    skip: int = 0
    """Bytes of other records before it in its gzip member; if there are any, its offset cannot be opened."""
    type: str | None = None
    id: str | None = None
    uri: str | None = None
    date: str | None = None
    """As in the header, if it is valid."""
    mime: str | None = None
    """Media type of the payload, without parameters."""
    status: int | None = None
    """Status of the HTTP response."""
    size: int = 0
    """Length of the block; or of the stored record, if the row comes from an index."""
    digest: str | None = None
    """Digest of the payload, spelt as in the header."""
    digest_key: bytes | None = None
    """The digest in a form that does not depend on its spelling; see `key_of`."""
    segment: int | None = None
    origin: str | None = None
    """ID of the first segment."""
    refers_to: str | None = None
    concurrent_to: str = ""
    """IDs, each with a line break before and after it."""
    problem: str | None = None
    """What is wrong with the part of it that was read."""
    seek_table: str = TableTrust.CLAIMED.value
    """Text of the choice of a seek table; see `table`."""

    @property
    def table(self) -> TableChoice:
        """The only seek table to trust, or which may be trusted."""
        return parse_table_choice(self.seek_table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Conditions on rows. A row must meet all that are given."""

    words: tuple[str, ...] = ()
    """Words that are all in the URI, whatever the case of ASCII letters."""
    type: str | None = None
    mime: str | None = None
    """Beginning of the media type."""
    since: str | None = None
    """Beginning of the earliest date, such as 2026-11."""
    until: str | None = None
    """Beginning of the latest date; 2026-11 includes the whole month."""
    smallest: int | None = None
    largest: int | None = None
    sort: Sort = "stored"
    descending: bool = False


class Page(NamedTuple):
    """Some of the rows that a query found."""

    total: int
    """Number of rows that it found, among those added so far."""
    rows: list[tuple[int, Row]]
    """(number, row); numbers count from 1, in the order in which rows were added."""


class _Result(NamedTuple):
    rows: int
    """Number of rows in the table at that time."""
    made: float
    found: array[int]


class Catalogue:
    """The table. Methods may be called from any thread; `add` from one at a time.

    Args:
        files: Names of the files, in the order of their numbers.
    """

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._folder = tempfile.TemporaryDirectory(prefix="seekwarc-", ignore_cleanup_errors=True)
        path = join(self._folder.name, "catalogue.sqlite")
        self._writer = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        # The file can be made again, so it need not survive a crash.
        self._writer.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
            f"CREATE TABLE records (n INTEGER PRIMARY KEY, {', '.join(Row._fields)});"
            "CREATE INDEX by_offset ON records (offset)"
        )
        # Two connections, so that a request for a few rows does not wait for a search of all of them.
        self._reader = _Connection(path)
        self._searcher = _Connection(path)
        self._results: Recent[Query, _Result] = Recent(MAX_RESULTS)
        self.rows = 0
        """Number of rows."""
        self.types: Counter[str] = Counter()
        self.mimes: Counter[str] = Counter()
        self.complete = False
        """Whether all rows have been added."""

    def close(self) -> None:
        """Delete the file. Idempotent."""
        self._reader.close()
        self._searcher.close()
        self._writer.close()
        self._folder.cleanup()

    def add(self, rows: Iterable[Row]) -> None:
        """Append rows."""
        batch = list(rows)
        places = ", ".join("?" * len(Row._fields))
        self._writer.execute("BEGIN")
        self._writer.executemany(f"INSERT INTO records VALUES (NULL, {places})", batch)  # noqa: S608
        self._writer.execute("COMMIT")
        # Replaced, never changed, so that readers need no lock.
        self.types = self.types + Counter(row.type or "" for row in batch)
        self.mimes = self.mimes + Counter(row.mime or "" for row in batch)
        self.rows += len(batch)

    def finish(self) -> None:
        """Declare that all rows were added, and build the indexes: faster than updating them for each row."""
        for column in ("uri", "date", "size"):
            self._writer.execute(f"CREATE INDEX by_{column} ON records ({column})")
        for column in ("id", "digest_key", "origin", "refers_to"):
            self._writer.execute(f"CREATE INDEX by_{column} ON records ({column}) WHERE {column} IS NOT NULL")
        self._writer.execute("CREATE INDEX by_concurrent ON records (n) WHERE concurrent_to <> ''")
        self.complete = True

    def page(self, query: Query, start: int, count: int) -> Page:
        """Return rows [start, start + count) of what a query finds."""
        if query == Query():
            total = self.rows
            numbers: Sequence[int] = range(start + 1, min(start + count, total) + 1)
        else:
            found = self._found(query)
            total = len(found)
            numbers = found[start : start + count]
        marks = ", ".join("?" * len(numbers))
        rows = self._reader.rows(f"SELECT * FROM records WHERE n IN ({marks})", tuple(numbers))  # noqa: S608
        by_number = {number: Row._make(row) for number, *row in rows}
        return Page(total, [(number, by_number[number]) for number in numbers])

    def _found(self, query: Query) -> array[int]:
        """Return the numbers of the rows that a query finds, in its order."""
        known = self._results.get(query)
        rows, now = self.rows, time.monotonic()
        if known is not None and known.rows == rows:
            return known.found
        if known is not None and query.sort == "stored" and not query.descending:
            # Rows are added in this order, so new ones come after all that were found.
            more = self._search(query, known.rows, rows)
            result = _Result(rows, now, known.found + more)
        elif known is not None and now - known.made < STALE_AFTER:
            return known.found
        else:
            result = _Result(rows, now, self._search(query, 0, rows))
        return self._results.put(query, result).found

    def _search(self, query: Query, after: int, last: int) -> array[int]:
        conditions, values = ["n > ?", "n <= ?"], [after, last]
        for condition, value in _conditions(query):
            conditions.append(condition)
            values.append(value)
        direction = "DESC" if query.descending else "ASC"
        order = f"n {direction}" if query.sort == "stored" else f"{query.sort} {direction}, n"
        text = f"SELECT n FROM records WHERE {' AND '.join(conditions)} ORDER BY {order}"  # noqa: S608
        return self._searcher.numbers(text, values)

    def place(self, file: int, offset: int) -> Row | None:
        """Return the row of the record at an offset of a file, or None if it is unknown."""
        return next((row for row in self._rows("file = ? AND offset = ? AND skip = 0", file, offset)), None)

    def capture(self, uri: str, date: WarcDate | None) -> Row | None:
        """Return the capture of a URI nearest to a date, or the latest; None if the URI has no capture."""
        marks = ", ".join("?" * len(CAPTURE_TYPES))
        rows = self._rows(f"uri = ? AND date IS NOT NULL AND type IN ({marks})", clean(uri), *CAPTURE_TYPES)

        def distance(row: Row) -> int:
            instant = WarcDate.parse(row.date or "").nanoseconds
            return abs(instant - date.nanoseconds) if date is not None else -instant

        return min(rows, key=distance, default=None)

    def by_id(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.by_id`."""
        return self._entries("id = ?", clean(record_id))

    def by_uri(self, uri: str) -> Sequence[Entry]:
        """See `RecordIndex.by_uri`."""
        return self._entries("uri = ?", clean(uri))

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        """See `RecordIndex.by_payload`."""
        return self._entries("digest_key = ?", key_of(digest))

    def segments_of(self, origin_id: str) -> Sequence[Entry]:
        """See `RecordIndex.segments_of`."""
        return self._entries("origin = ?", clean(origin_id))

    def concurrent_to(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.concurrent_to`."""
        return self._entries("concurrent_to <> '' AND instr(concurrent_to, ?)", f"\n{clean(record_id)}\n")

    def referring_to(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.referring_to`."""
        return self._entries("refers_to = ?", clean(record_id))

    def _rows(self, condition: str, *values: object) -> Iterator[Row]:
        for _, *row in self._reader.rows(f"SELECT * FROM records WHERE {condition}", values):  # noqa: S608
            yield Row._make(row)

    def _entries(self, condition: str, value: object) -> list[Entry]:
        return [
            Entry(
                self._files[row.file],
                row.offset,
                row.length,
                row.type,
                row.id,
                row.uri,
                WarcDate.parse(row.date) if row.date is not None else None,
                Digest.parse(row.digest) if row.digest is not None else None,
                row.segment,
                row.origin,
                row.refers_to,
                tuple(filter(None, row.concurrent_to.split("\n"))),
                row.table,
            )
            for row in self._rows(condition, value)
        ]


class _Connection:
    """A connection that several threads use, one at a time."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()

    def rows(self, text: str, values: Sequence[object]) -> list[Any]:
        with self._lock:
            return self._connection.execute(text, values).fetchall()

    def numbers(self, text: str, values: Sequence[object]) -> array[int]:
        with self._lock:
            return array("I", (number for (number,) in self._connection.execute(text, values)))

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def _conditions(query: Query) -> Iterator[tuple[str, Any]]:
    for word in query.words:
        yield "uri LIKE ? ESCAPE '\\'", f"%{_literally(word)}%"
    if query.type is not None:
        yield "type = ?", query.type
    if query.mime is not None:
        yield "mime LIKE ? ESCAPE '\\'", f"{_literally(query.mime)}%"
    if query.since is not None:
        yield "date >= ?", query.since
    if query.until is not None:
        yield "date < ?", query.until + "~"
    if query.smallest is not None:
        yield "size >= ?", query.smallest
    if query.largest is not None:
        yield "size <= ?", query.largest


def _literally(text: str) -> str:
    """Escape the characters that have a meaning in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def key_of(digest: Digest) -> bytes:
    """Return a key that is equal for two spellings of the same digest."""
    name, value = digest.key
    # A label may have any bytes, and one from a line of CDXJ any code points.
    return b"%s:%s" % (name.encode("utf-8", "surrogatepass"), value)
