"""A table of records in SQLite: look-ups by ID, URI, digest and reference; pages of searches.

It takes disk space and not memory, so it may have millions of rows. A private table is a database that only
this object sees, which SQLite keeps in memory while it is small. A shared one is a file with several
connections: one thread adds rows, each of which is found as soon as it was added, and a request for a few
rows does not wait for a search of all of them. Where the system allows, its file has no name.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from itertools import groupby, islice
from os.path import join
from typing import Any, Final, NamedTuple

from seekwarc.closing import Recent
from seekwarc.collection.connection import BATCH, Connection
from seekwarc.collection.entry import CAPTURE_TYPES, Entry, nearest, values_of
from seekwarc.collection.likeness import Meant
from seekwarc.collection.table_query import SORTS, PartRows, Query, conditions
from seekwarc.format.cdxj import FIELDS_TYPE
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.seektable import parse_table_choice
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_utf8, normalized

__all__ = ["SORTS", "SURT", "Page", "Query", "RecordTable"]

MAX_RESULTS: Final = 16
"""Results of searches that are kept, at four bytes for each row that was found."""
STALE_AFTER: Final = 2.0
"""Seconds after which a sorted result is updated while rows are still being added."""
SURT: Final = "surt"
"""The name of the key that an index of URIs is sorted by."""
FEW: Final = 8
"""Results of a look-up that are made of their rows each time."""
MAX_KNOWN: Final = 2000
"""Entries of larger results that are kept."""
MAX_LOOK_UPS: Final = 1000
"""Larger results that are kept."""
CACHE_SIZE: Final = 16 << 10
"""KiB of a private table that SQLite keeps in memory."""

FIELDS: Final = tuple(field.name for field in fields(Entry))
FILE, TYPE, URI, DATE, DIGEST, CONCURRENT, TABLE, MIME = map(
    FIELDS.index, ("filename", "type", "uri", "date", "payload_digest", "concurrent_to", "table", "mime")
)
TEXTS: Final = tuple(
    FIELDS.index(name)
    for name in ["type", "id", "uri", "payload_digest", "segment_origin_id", "refers_to", "mime", "problem"]
)
COLUMNS: Final = ", ".join(f'"{name}"' for name in FIELDS)
SELECT: Final = f"SELECT {COLUMNS} FROM records"  # noqa: S608
INSERT: Final = f"INSERT INTO records ({COLUMNS}, digest_key, spelling) VALUES (?{', ?' * (len(FIELDS) + 1)})"  # noqa: S608
SHARED: Final = "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
PRIVATE: Final = f"PRAGMA journal_mode=MEMORY; PRAGMA cache_size=-{CACHE_SIZE};"
AGE: Final = "rtrim(date, 'Z')"
"""Sorts dates in order: a fraction of a second is more than none."""
OF_PRIVATE: Final = ("uri, date", "status, uri", "mime, status", "status, refers_to")
"""Indexes of a private table alone."""
IS_NOTE: Final = f"type = 'resource' AND mime IS '{FIELDS_TYPE}'"
IS_CAPTURE: Final = f"uri IS NOT NULL AND date IS NOT NULL AND type IN {CAPTURE_TYPES} AND NOT ({IS_NOTE})"

Text = Callable[[str], "str | bytes"]


class Page(NamedTuple):
    """Some of the rows that a query found."""

    total: int
    """Number of rows that it found, among those added so far."""
    entries: list[Entry]
    parts: list[int]
    """How many parts of a resource each of them stands for: 1, unless the query is `folded`."""


class _Result(NamedTuple):
    rows: int
    """Number of rows in the table at that time."""
    made: float
    found: array[int]


def exact_text(text: str) -> str | bytes:
    """Return text as SQLite can keep it, so that it comes back as it was, lone surrogates and all."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _bytes_of(text)
    return text


class RecordTable:
    """The table, a `RecordIndex`. Methods may be called from any thread; `extend` from one at a time.

    A shared table is kept in a file with several connections, and searched without indexes until `finish` is
    called; a private table makes them at the first look-up. `text` converts all text before it is kept or
    looked for. `keys` are functions of a URI by which captures can be looked up, by name: the index of a key
    is made when it is first needed. `fill` makes the entries of a private table when they are first needed.
    """

    def __init__(
        self,
        *,
        shared: bool = False,
        text: Text = exact_text,
        keys: Mapping[str, Callable[[str], str]] | None = None,
        fill: Callable[[], Iterable[Entry]] | None = None,
    ) -> None:
        self._is_shared = shared
        self._text = text
        self._fill = fill
        self._files: list[str] = []
        self._numbers: dict[str, int] = {}
        self._filling = threading.RLock()
        self._results: Recent[Query, _Result] = Recent(MAX_RESULTS)
        self._looked_up: Recent[tuple[object, ...], Sequence[int]] = Recent(MAX_LOOK_UPS)
        self._known: dict[int, Entry] = {}
        """Entries by their numbers. Replaced, never changed, so that readers need no lock."""
        self._keyed: set[str] = set()
        """Keys that have an index."""
        self._parts = PartRows()
        self.rows = 0
        """Number of rows."""
        self.types: Counter[str] = Counter()
        self.mimes: Counter[str] = Counter()
        self.complete = False
        """Whether there are indexes of the rows."""
        with ExitStack() as opened:
            path = ""
            if shared:
                folder = tempfile.TemporaryDirectory(prefix="seekwarc-", ignore_cleanup_errors=True)
                opened.callback(folder.cleanup)
                path = join(folder.name, "records.sqlite")
            connections = [opened.enter_context(Connection(path)) for _ in range(3 if shared else 1)]
            self._writer, self._reader, self._searcher = connections if shared else connections * 3
            # The table can be made again, so it need not survive a crash.
            self._writer.script(
                (SHARED if shared else PRIVATE)
                + f"CREATE TABLE records (n INTEGER PRIMARY KEY, {COLUMNS}, digest_key, spelling);"
                + "CREATE TABLE concurrent (id, n);"
            )
            if shared:
                self._writer.script("CREATE INDEX by_offset ON records (offset)")
                # Once all have opened each file of it, no name is needed, and what is killed leaves none.
                for connection in connections:
                    connection.rows("SELECT max(n) FROM concurrent", ())
                folder.cleanup()
            self._keys = keys or {}
            for name, function in self._keys.items():
                for connection in connections:
                    connection.define(name, partial(_key, function))
            self._close = weakref.finalize(self, opened.pop_all().close)

    def close(self) -> None:
        """Delete the table. Idempotent."""
        self._close()

    def extend(self, entries: Iterable[Entry]) -> None:
        """Append entries: all of them, or none if something fails."""
        types: Counter[str] = Counter()
        mimes: Counter[str] = Counter()
        iterator = iter(entries)
        with self._filling, self._writer.transaction() as run:
            rows = self.rows
            while batch := list(islice(iterator, BATCH)):
                made = [self._row(entry) for entry in batch]
                run(INSERT, made)
                named = [
                    (self._text(other), number)
                    for number, entry in enumerate(batch, rows + 1)
                    for other in entry.concurrent_to
                ]
                run("INSERT INTO concurrent VALUES (?, ?)", named)
                rows += len(batch)
                types.update(row[TYPE] or "" for row in made)
                mimes.update(row[MIME] or "" for row in made)
                if self._is_shared:
                    self._parts.add(batch, rows - len(batch) + 1)
        # Replaced, never changed, so that readers need no lock.
        self.types, self.mimes = self.types + types, self.mimes + mimes
        self.rows = rows

    def entries(self, rows: range | None = None) -> Iterator[Entry]:
        """Yield all entries, in the order in which they were added, or those that were so at some places."""
        self._prepare()
        rows = range(self.rows) if rows is None else rows
        condition = "n > ? AND n <= ?"
        found = self._reader.some_rows(f"{SELECT} WHERE {condition} ORDER BY n", (rows.start, rows.stop))
        return map(self._entry, found)

    def finish(self) -> None:
        """Make the indexes, when all rows were added: faster than updating them for each row."""
        if self._is_shared:
            for column in ("uri", "date", "size"):
                self._writer.script(f"CREATE INDEX IF NOT EXISTS by_{column} ON records ({column})")
        looked_up = ["id", "spelling", f"digest_key, {AGE}", "segment_origin_id", "refers_to"]
        for columns in looked_up if self._is_shared else [*looked_up, *OF_PRIVATE]:
            column = columns.partition(",")[0]
            self._writer.script(
                f'CREATE INDEX IF NOT EXISTS "by {columns}" ON records ({columns}) WHERE {column} IS NOT NULL'
            )
        self._writer.script("CREATE INDEX IF NOT EXISTS by_concurrent ON concurrent (id)")
        self.complete = True

    def page(self, query: Query, start: int, count: int) -> Page:
        """Return rows [start, start + count) of what a query finds."""
        self._prepare()
        if query.folded and not self._parts.is_needed:
            query = replace(query, folded=False)
        if query == Query():
            total = self.rows
            numbers: Sequence[int] = range(start + 1, min(start + count, total) + 1)
        else:
            found = self._found(query)
            total = len(found)
            numbers = found[start : start + count]
        by_number = self._numbered(numbers)
        parts = [self._parts.count(number) if query.folded else 1 for number in numbers]
        return Page(total, [by_number[number] for number in numbers], parts)

    def _found(self, query: Query) -> array[int]:
        """Return the numbers of the rows that a query finds, in its order."""
        known = self._results.get(query)
        rows, now = self.rows, time.monotonic()
        if known is not None and known.rows == rows:
            return known.found
        if known is not None and query.sort == "stored" and not query.descending:
            # Rows are added in this order, so new ones come after all that were found.
            more = self._search(query, known.rows, rows)
            result = _Result(rows, now, self._parts.folded(query, known.found + more))
        elif known is not None and now - known.made < STALE_AFTER:
            return known.found
        else:
            result = _Result(rows, now, self._parts.folded(query, self._search(query, 0, rows)))
        return self._results.put(query, result).found

    def _search(self, query: Query, after: int, last: int) -> array[int]:
        wanted, values = ["n > ?", "n <= ?"], [after, last]
        for condition, value in conditions(query, self._numbers):
            wanted.append(condition)
            values.append(value)
        direction = "DESC" if query.descending else "ASC"
        order = f"n {direction}" if query.sort == "stored" else f"{query.sort} {direction}, n"
        text = f"SELECT n FROM records WHERE {' AND '.join(wanted)} ORDER BY {order}"  # noqa: S608
        return self._searcher.numbers(text, values)

    def place(self, file: str, offset: int) -> Entry | None:
        """Return the record at an offset of a file, or None if it is unknown."""
        condition = "filename = ? AND offset = ? AND skip = 0"
        return next(iter(self._entries(condition, self._numbers.get(file), offset)), None)

    def capture(self, uri: str, date: WarcDate | None) -> Entry | None:
        """Return the capture of a URI nearest to a date, or the latest; None if the URI has no capture."""
        return nearest(self._captures("uri = ?", as_utf8(uri)), date)

    def similar(self, uri: str) -> Sequence[Entry]:
        """Return the captures whose URIs have the same key as one, in an index (`format.surt`)."""
        if SURT in self._keys:
            return self.captures(SURT, surt(uri))
        self._prepare()
        statement = f"SELECT DISTINCT uri FROM records WHERE {IS_CAPTURE}"  # noqa: S608
        meant = Meant(uri)
        uris = [it for (it,) in self._reader.some_rows(statement, ()) if meant(_text_of(it)) is not None]
        return [entry for it in uris for entry in self._captures("uri = ?", it)]

    def captures(self, key: str, value: str) -> Sequence[Entry]:
        """Return the captures whose URIs have a key."""
        return self._captures(f"{self._indexed(key)} = ?", _bytes_of(value))

    def below(self, key: str, prefix: str) -> Iterator[Entry]:
        """Yield the latest capture of each URI whose key begins with a prefix, in the order of the keys."""
        column, begin = self._indexed(key), _bytes_of(prefix)
        rows = self._reader.some_rows(
            f"{SELECT} WHERE {IS_CAPTURE} AND {column} >= ? AND {column} < ? ORDER BY {column}, n",
            (begin, begin + b"\xff"),
        )
        for _, same in groupby(map(self._entry, rows), lambda entry: entry.uri):
            latest = nearest((it for it in same if it.is_capture), None)
            if latest is not None:
                yield latest

    def around(self, key: str, value: str, count: int) -> list[str]:
        """Return the keys of captures next to one, at most `count` on each side, in their order."""
        column = self._indexed(key)
        before, after = (
            self._reader.rows(
                f"SELECT DISTINCT {column} FROM records WHERE {IS_CAPTURE} "  # noqa: S608
                f"AND {column} {side} ? ORDER BY {column} {direction} LIMIT ?",
                (_bytes_of(value), count),
            )
            for side, direction in (("<", "DESC"), (">=", "ASC"))
        )
        return [_text_of(found) for (found,) in (*before[::-1], *after)]

    def by_id(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.by_id`."""
        return self._entries("id = ?", self._text(record_id))

    def by_uri(self, uri: str) -> Sequence[Entry]:
        """See `RecordIndex.by_uri`."""
        return self._entries("uri = ?", as_utf8(uri))

    def spelled(self, uri: str) -> Sequence[Entry]:
        """See `SpelledUris.spelled`."""
        name = normalized(uri)
        return self._entries("(uri = ? OR uri = ? OR spelling = ?)", as_utf8(uri), name.decode(), name)

    def with_range(self, uri: str) -> Sequence[Entry]:
        """See `RangedUris.with_range`."""
        bare = uri.partition("#")[0].partition("?")[0]
        condition = "uri >= ? AND uri < ? AND (uri LIKE '%range=%' OR uri LIKE '%bytestart=%')"
        return self._entries(condition, as_utf8(f"{bare}?"), as_utf8(f"{bare}@"))

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        """See `RecordIndex.by_payload`."""
        return self._entries("digest_key = ?", _key_of(digest))

    def segments_of(self, origin_id: str) -> Sequence[Entry]:
        """See `RecordIndex.segments_of`."""
        return self._entries("segment_origin_id = ?", self._text(origin_id))

    def concurrent_to(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.concurrent_to`."""
        self._prepare()
        statement = "SELECT DISTINCT n FROM concurrent WHERE id = ? ORDER BY n"
        # Each of the many names of a record may lead to that record again, which is then not read again.
        return self._of_rows(self._reader.numbers(statement, (self._text(record_id),)))

    def referring_to(self, record_id: str) -> Sequence[Entry]:
        """See `RecordIndex.referring_to`."""
        return self._entries("refers_to = ?", self._text(record_id))

    def some(self, limit: int, *, oldest: bool = False, **values: object) -> Sequence[Entry]:
        """Return at most so many entries with these values of columns: the first, or those of oldest date."""
        self._prepare()
        condition = " AND ".join(f"{name} = ?" for name in values)
        order = f"{AGE}, n" if oldest else "n"
        kept = [
            (as_utf8 if name == "uri" else self._text)(value) if isinstance(value, str) else value
            for name, value in values.items()
        ]
        rows = self._reader.rows(f"{SELECT} WHERE {condition} ORDER BY {order} LIMIT {limit}", kept)
        return [self._entry(row) for row in rows]

    def oldest(self, limit: int, digest: Digest, **values: object) -> Sequence[Entry]:
        """Return the oldest entries with a payload digest and these values of columns, in order."""
        return self.some(limit, oldest=True, digest_key=_key_of(digest), **values)

    def first(self, limit: int, digest: Digest, status: int) -> Sequence[Entry]:
        """Return the first entries with a payload digest and a status; sorts all of those with the digest."""
        self._prepare()
        # The marks keep SQLite from reading all entries with the status, or all, for the sake of the order.
        condition = "digest_key = ? AND +status = ? ORDER BY +n"
        rows = self._reader.rows(f"{SELECT} WHERE {condition} LIMIT {limit}", (_key_of(digest), status))
        return [self._entry(row) for row in rows]

    def _captures(self, condition: str, *values: object) -> Sequence[Entry]:
        # The index of a key is used only with the condition that it was made with, which is wider.
        found = self._entries(f"{condition} AND {IS_CAPTURE}", *values)
        return tuple([it for it in found if it.is_capture])

    def _entries(self, condition: str, *values: object) -> Sequence[Entry]:
        self._prepare()
        # Records that many others name are often asked for again, by each of those.
        numbers = self._looked_up.get(key := (self.rows, condition, *values))
        if numbers is None:
            few = self._reader.rows(f"{SELECT} WHERE {condition} ORDER BY n LIMIT {FEW + 1}", values)
            if len(few) <= FEW:
                return tuple(map(self._entry, few))
            numbers = self._reader.numbers(f"SELECT n FROM records WHERE {condition} ORDER BY n", values)  # noqa: S608
            if len(numbers) <= MAX_KNOWN:
                self._looked_up.put(key, numbers)
        return self._of_rows(numbers)

    def _of_rows(self, numbers: Sequence[int]) -> tuple[Entry, ...]:
        known = self._known
        missing = [number for number in numbers if number not in known]
        if missing:
            known = dict(known)
            for start in range(0, len(missing), BATCH):
                known |= self._numbered(missing[start : start + BATCH])
            self._known = known if len(known) <= MAX_KNOWN else {}
        return tuple(map(known.__getitem__, numbers))

    def _numbered(self, numbers: Sequence[int]) -> dict[int, Entry]:
        marks = ", ".join("?" * len(numbers))
        rows = self._reader.rows(f"SELECT n, {COLUMNS} FROM records WHERE n IN ({marks})", numbers)  # noqa: S608
        return {number: self._entry(row) for number, *row in rows}

    @property
    def is_filled(self) -> bool:
        """Whether the entries are there: a look-up need not make them first."""
        return self._fill is None

    def _prepare(self) -> None:
        if self._is_shared:
            return
        with self._filling:
            if self._fill is not None:
                self.extend(self._fill())
                self._fill = None
            if not self.complete:
                self.finish()

    def _indexed(self, key: str) -> str:
        """Return the expression of a key, after an index of it was made."""
        self._prepare()
        if key not in self._keyed:
            self._writer.script(
                f"CREATE INDEX IF NOT EXISTS by_{key} ON records ({key}(uri)) WHERE {IS_CAPTURE}"
            )
            self._keyed.add(key)
        return f"{key}(uri)"

    def _row(self, entry: Entry) -> list[Any]:
        file = self._numbers.get(entry.filename)
        if file is None:
            file = self._numbers[entry.filename] = len(self._files)
            self._files.append(entry.filename)
        date, digest = entry.date, entry.payload_digest
        row: list[Any] = list(values_of(entry))
        row[FILE] = file
        row[DATE] = date.text if date is not None else None
        row[DIGEST] = str(digest) if digest is not None else None
        for column in TEXTS:
            if row[column] is not None:
                row[column] = self._text(row[column])
        # One spelling of each URI, as indexes have it.
        row[URI] = as_utf8(entry.uri) if entry.uri is not None else None
        # In JSON, any text is ASCII.
        row[CONCURRENT] = json.dumps(entry.concurrent_to) if entry.concurrent_to else None
        row[TABLE] = str(entry.table)
        row.append(_key_of(digest) if digest is not None else None)
        name = normalized(entry.uri) if entry.uri is not None else None
        row.append(name if name is not None and name != row[URI].encode() else None)
        return row

    def _entry(self, row: Sequence[Any]) -> Entry:
        values: list[Any] = list(row)
        for column in TEXTS:
            values[column] = _text_of(row[column])
        values[FILE] = self._files[row[FILE]]
        if values[DATE] is not None:
            values[DATE] = WarcDate.parse(values[DATE])
        if values[DIGEST] is not None:
            values[DIGEST] = Digest(*values[DIGEST].split(":", 1))
        values[CONCURRENT] = tuple(json.loads(row[CONCURRENT])) if row[CONCURRENT] is not None else ()
        values[TABLE] = parse_table_choice(row[TABLE])
        return Entry(*values)


def _key_of(digest: Digest) -> bytes:
    """Return a key that is equal for two spellings of the same digest."""
    name, value = digest.key
    return b"%s:%s" % (_bytes_of(name), value)


def _key(function: Callable[[str], str], uri: str | bytes) -> bytes:
    return _bytes_of(function(_text_of(uri)))


def _bytes_of(text: str) -> bytes:
    """Encode any text; the order of the bytes is that of the characters."""
    return text.encode("utf-8", "surrogatepass")


def _text_of(kept: Any) -> Any:  # noqa: ANN401 - text, or None
    return kept.decode("utf-8", "surrogatepass") if isinstance(kept, bytes) else kept
