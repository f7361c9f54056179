"""Searching the index that `search_file.py` makes.

A phrase finds the pages that have all of its words, in any order: whether one matches, its text says
(`TextQuery.matches`). The file was made as a whole and is never changed in place, so it is opened as
immutable. One that someone else made may be hostile: its tables must be exactly those that are made here, a
search ends when its time is up, and its results are only numbers and texts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from seekwarc.closing import Closing
from seekwarc.compiling import override
from seekwarc.errors import (
    FormatError,
    SourceError,
    SourceNotFoundError,
    SourceTimeoutError,
    UnsupportedError,
)
from seekwarc.format.conditions import matches_pattern
from seekwarc.format.json_text import json_text
from seekwarc.inside.query import IN_TITLE, OFTEN, TextQuery
from seekwarc.inside.search_file import APPLICATION_ID, KINDS, SCHEMA, VERSION, connected, host_key

__all__ = [
    "HEAD",
    "MAX_FOUND",
    "MAX_TIME",
    "Capture",
    "Conditions",
    "Found",
    "Order",
    "SearchFile",
    "is_search_head",
]

MAX_FOUND: Final = 10_000
"""Pages that a search returns."""
LIMIT: Final = MAX_FOUND + 1
MAX_TIME: Final = 10.0
"""Seconds that a search may take."""
MAX_RANKED: Final = 8
"""Words by which pages are ranked."""
MAX_CELL: Final = 16 << 20
"""Bytes of a value in a database."""
STEPS: Final = 10_000
"""Instructions of SQLite between looks at the clock."""
MAGIC: Final = b"SQLite format 3\0"
HEAD: Final = 100
SHADOWS: Final = frozenset({"words_config", "words_data", "words_idx"})
"""Tables that FTS5 makes."""
MAX_COUNTED: Final = 1000
"""Captures of a page that are counted."""
TITLE_WEIGHT: Final = 2.0
FEW: Final = 1000
COMMON: Final = 4
"""A word that is in more than one of so many pages says little of them."""

Order = Literal["rank", "date"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Which captures are searched; a page is found if one of its captures matches."""

    since: int | None = None
    """Earliest date, in seconds since 1970."""
    until: int | None = None
    """Latest date."""
    mimes: tuple[tuple[str, ...], ...] = ()
    """Patterns of media types, in lower case: one of each group must match."""
    hosts: tuple[tuple[str, ...], ...] = ()
    """Hosts, as `checked_host` returns them, each of which also means its subdomains: one of each group must
    match."""
    kinds: tuple[str, ...] = ()
    """Types of records; all if empty."""
    paths: tuple[str, ...] = ()
    """Files, as the index names them; all if empty."""

    def narrowed(self, query: TextQuery) -> Conditions:
        """Return these conditions and those of a query."""
        return replace(
            self,
            mimes=(*self.mimes, query.types) if query.types else self.mimes,
            hosts=(*self.hosts, query.sites) if query.sites else self.hosts,
        )


class Capture(NamedTuple):
    """A capture of a page."""

    path: str
    """The file, as the index names it."""
    version: str | None
    """The version of the file that was indexed."""
    offset: int
    length: int | None
    date: int | None
    """Seconds since 1970."""
    kind: str
    mime: str | None
    uri: str


class Found(NamedTuple):
    """What a search found: the numbers of pages, best or newest first."""

    pages: list[int]
    is_whole: bool
    """False if there are more than `MAX_FOUND`."""


class SearchFile(Closing):
    """A search index, open for searching by one thread at a time.

    Raises:
        FormatError: The file is not a search index, or is damaged; also raised by its methods.
        UnsupportedError: A newer version of seekwarc made it, or SQLite has no FTS5.
        SourceError: The file cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_time: float = MAX_TIME) -> None:
        self.name = os.fsdecode(path)
        self._max_time = max_time
        self._deadline = 0.0
        self._check_head()
        uri = Path(self.name).absolute().as_uri()
        with self._reading():
            self._database = connected(f"{uri}?mode=ro&immutable=1", uri=True)
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @override
    def close(self) -> None:
        self._database.close()

    def find(self, query: TextQuery, conditions: Conditions, *, order: Order = "rank") -> Found:
        """Find pages; if the query is not exact, also some that do not match.

        Args:
            query: What to search for.
            conditions: What one of their captures must be like; those of the query (`narrowed`) among them.
            order: The best first, or those that were captured last.
        """
        expression = query.expression
        which, values = _which(conditions)
        matching, given = "SELECT id FROM page", []
        if expression:
            matching, given = "SELECT rowid AS id FROM words WHERE words MATCH ?", [expression]
        if order == "date" or not expression:
            rows = self._rows(
                f"SELECT page FROM capture WHERE page IN ({matching}) AND {which} "
                f"GROUP BY page ORDER BY max(date) DESC, page LIMIT {LIMIT}",
                *(*given, *values),
            )
            return _found([row[0] for row in rows])
        has_capture = "id NOT IN (SELECT page FROM dead)"
        if conditions.hosts and not self._finds_few(expression):
            has_capture = f"id IN (SELECT page FROM capture WHERE {which})"
        elif conditions != Conditions():
            has_capture = f"EXISTS (SELECT 1 FROM capture WHERE page = id AND {which})"
        ranked, weights = self._ranked(query, expression)
        best = []
        if ranked:
            best = self._rows(
                f"SELECT id FROM ({ranked}) WHERE {has_capture} "
                f"GROUP BY id ORDER BY sum(w) DESC, id LIMIT {LIMIT}",
                *(*weights, *values),
            )
        # The others are worth the same: no more of them are looked at than are returned.
        rest = self._rows(f"SELECT id FROM ({matching}) WHERE {has_capture} LIMIT {LIMIT}", *given, *values)
        return _found(list(dict.fromkeys(row[0] for row in (*best, *rest))))

    def _finds_few(self, expression: str) -> bool:
        """Tell whether it costs less to look at the captures of what is found than at those of hosts."""
        some = f"SELECT 1 FROM words WHERE words MATCH ? LIMIT {FEW}"
        return self._number(self._rows(f"SELECT count(*) FROM ({some})", expression)[0][0]) < FEW

    def _ranked(self, query: TextQuery, expression: str) -> tuple[str, list[object]]:
        """Return a statement that finds pages that are worth more than others, and its values.

        A page is worth more the more of the words it has, the rarer these are, and if they are in its title
        or there several times. That costs a row for each page, so what many pages have is left out.
        """
        words = dict.fromkeys(it.words[-1] for it in query.wanted if not it.is_prefix)
        sufficient = query.sufficient
        parts: list[str] = []
        values: list[object] = []
        pages = self._number(self._rows("SELECT count(*) FROM page")[0][0])
        for word in list(words)[:MAX_RANKED]:
            has = self._number(
                self._rows("SELECT count(*) FROM words WHERE words MATCH ?", f'"{word}"')[0][0]
            )
            weight = log(1 + pages / (has + 1))
            shares = {IN_TITLE: TITLE_WEIGHT} if has * 2 <= pages else {}
            if has * COMMON <= pages:
                shares[OFTEN] = 1.0
            if word not in query.required:
                shares[""] = 1.0
            for mark, share in shares.items():
                parts.append("SELECT rowid AS id, ? AS w FROM words WHERE words MATCH ?")
                marked = f'"{mark}{word}"'
                values += [weight * share, marked if word in sufficient else f"({expression}) AND {marked}"]
        return " UNION ALL ".join(parts), values

    def version_of(self, path: str) -> str | None:
        """Return which version of a file is in the index; None if it is not."""
        rows = self._rows("SELECT version FROM file WHERE path = ?", path)
        return rows[0][0] if rows and isinstance(rows[0][0], str) else None

    def page(self, number: int) -> tuple[int, str | None]:
        """Return what distinguishes the text of a page (see `text_key`), and its title."""
        rows = self._rows("SELECT hash, title FROM page WHERE id = ?", number)
        key, title = rows[0] if rows else (0, None)
        return self._number(key), title if isinstance(title, str) else None

    def captures(self, page: int, conditions: Conditions, *, limit: int = 1) -> list[Capture]:
        """Return the captures of a page that match, newest first."""
        which, values = _which(conditions)
        rows = self._rows(
            "SELECT path, version, offset, length, date, kind, name, uri FROM capture "
            f"JOIN file ON file.id = file LEFT JOIN mime ON mime.id = mime WHERE page = ? AND {which} "
            "ORDER BY date DESC, capture.rowid DESC LIMIT ?",
            *(page, *values, limit),
        )
        return [self._capture(row) for row in rows]

    def count_captures(self, page: int, conditions: Conditions) -> int:
        """Return how many captures of a page match, up to a thousand."""
        which, values = _which(conditions)
        some = f"SELECT 1 FROM capture WHERE page = ? AND {which} LIMIT {MAX_COUNTED}"
        return self._number(self._rows(f"SELECT count(*) FROM ({some})", page, *values)[0][0])

    def _capture(self, row: Sequence[Any]) -> Capture:
        path, version, offset, length, date, kind, mime, uri = row
        texts, numbers = (path, version or "", mime or "", uri), (offset, length or 0, date or 0, kind)
        is_sound = all(isinstance(it, str) for it in texts) and all(isinstance(it, int) for it in numbers)
        if not is_sound or offset < 0 or (length or 0) < 0 or not 0 <= kind < len(KINDS):
            raise FormatError("the search index is damaged: a capture has an invalid value", source=self.name)
        return Capture(path, version, offset, length, date, KINDS[kind], mime, uri)

    def _number(self, value: object) -> int:
        if not isinstance(value, int):
            raise FormatError("the search index is damaged: a number is missing", source=self.name)
        return value

    def _check_head(self) -> None:
        if not os.path.isfile(self.name):
            raise SourceNotFoundError("is not a file; `seekwarc index --text` makes one", source=self.name)
        try:
            with open(self.name, "rb") as file:
                head = file.read(HEAD)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot be read: {error}", source=self.name) from error
        if not is_search_head(head):
            raise FormatError("is not a search index, as `seekwarc index --text` makes it", source=self.name)
        version = int.from_bytes(head[60:64], "big")
        if version != VERSION:
            raise UnsupportedError(
                f"is a search index of version {version}, and this seekwarc reads version {VERSION}: make it "
                "again with `seekwarc index --text --force`",
                source=self.name,
            )

    def _prepare(self) -> None:
        import sqlite3

        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON", "mmap_size = 0"):
            self._rows(f"PRAGMA {pragma}")
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL)
        self._database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self._database.set_progress_handler(self._is_late, STEPS)
        self._database.create_function("has_type", 2, _has_type, deterministic=True)
        tables = self._rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL LIMIT 100")
        names, made = {name for name, _ in tables}, {statement for _, statement in tables}
        ours = {statement.split()[3 if "VIRTUAL" in statement else 2] for statement in SCHEMA}
        if not made >= set(SCHEMA) or names != ours | SHADOWS or len(made) != len(names):
            raise FormatError(
                "not a seekwarc search index, or a damaged one: unexpected tables", source=self.name
            )

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with self._reading():
            return self._database.execute(statement, values).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        import sqlite3

        self._deadline = time.monotonic() + self._max_time
        try:
            yield
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise SourceTimeoutError(
                    f"the search took longer than {self._max_time:g} s; search for rarer words, or longer "
                    "beginnings of words",
                    source=self.name,
                ) from error
            if "no such module" in str(error):
                raise UnsupportedError("SQLite has no FTS5, which search indexes need") from error
            raise FormatError(f"the search index is damaged: {error}", source=self.name) from error
        except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
            raise FormatError(f"the search index is damaged: {error}", source=self.name) from error


def _found(pages: list[int]) -> Found:
    return Found(pages[:MAX_FOUND], len(pages) <= MAX_FOUND)


def is_search_head(head: bytes) -> bool:
    """Tell whether a file that begins so, with 100 bytes or more, is a search index of any version."""
    return head.startswith(MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _which(conditions: Conditions) -> tuple[str, list[object]]:
    """Return an expression for captures that match, and its values."""
    terms, values = ["1"], list[object]()
    if conditions.since is not None:
        terms.append("capture.date >= ?")
        values.append(conditions.since)
    if conditions.until is not None:
        terms.append("capture.date <= ?")
        values.append(conditions.until)
    for patterns in conditions.mimes:
        terms.append("capture.mime IN (SELECT id FROM mime WHERE has_type(name, ?))")
        values.append("\n".join(patterns))
    for hosts in conditions.hosts:
        ranges = " OR ".join(["(key >= ? AND key < ?)"] * len(hosts))
        terms.append(f"capture.host IN (SELECT id FROM host WHERE {ranges})")
        for host in hosts:
            key = host_key(host)
            # All keys that begin so are before the one that ends with the next character.
            values += [key, key[:-1] + chr(ord(key[-1]) + 1)]
    if conditions.kinds:
        terms.append(f"capture.kind IN ({', '.join('?' * len(conditions.kinds))})")
        values += [KINDS.index(it) if it in KINDS else -1 for it in conditions.kinds]
    if conditions.paths:
        terms.append("capture.file IN (SELECT id FROM file WHERE path IN (SELECT value FROM json_each(?)))")
        values.append(json_text(conditions.paths))
    return " AND ".join(terms), values


def _has_type(name: object, patterns: str) -> bool:
    return isinstance(name, str) and any(matches_pattern(it, name) for it in patterns.split("\n"))
