"""What a table of records is asked for, as SQL; and which of its rows are parts of one resource."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from seekwarc.collection.entry import CAPTURE_TYPES, Entry
from seekwarc.format.partial import resource_of

__all__ = ["SORTS", "PartRows", "Query", "conditions"]

Sort = Literal["stored", "uri", "date", "size"]
SORTS: Final[tuple[Sort, ...]] = ("stored", "uri", "date", "size")
PARTIAL_CONTENT: Final = 206
MAX_PARTS: Final = 1_000_000
"""Rows of parts that are remembered. Further ones are rows of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Conditions on rows. A row must meet all that are given."""

    words: tuple[str, ...] = ()
    """Words that are all in the URI, whatever the case of ASCII letters; `*` in them is any text."""
    file: str | None = None
    type: str | None = None
    captures: bool = False
    """Whether only captures are wanted: records of `CAPTURE_TYPES`."""
    status: str | None = None
    """HTTP status, such as 404, or a class of them, such as 4xx."""
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
    folded: bool = False
    """Whether the parts of a resource (206 Partial Content) are one row: the first that is found."""


class PartRows:
    """The rows that are parts of a resource, by their numbers. One thread adds, any thread may ask."""

    def __init__(self) -> None:
        self._resources: dict[str, int] = {}
        """The first rows of resources by URI."""
        self._first: dict[int, int] = {}
        """The first row of the same resource, for each row."""
        self._counts: dict[int, int] = {}

    @property
    def is_needed(self) -> bool:
        """Whether a resource has more than one part."""
        return len(self._first) > len(self._counts)

    def add(self, entries: Sequence[Entry], number: int) -> None:
        """Add those of the entries that are parts; `number` is that of the first entry."""
        for row, entry in enumerate(entries, number):
            if entry.status != PARTIAL_CONTENT or entry.uri is None or len(self._first) == MAX_PARTS:
                continue
            first = self._resources.setdefault(resource_of(entry.uri)[0], row)
            self._first[row] = first
            self._counts[first] = self._counts.get(first, 0) + 1

    def count(self, row: int) -> int:
        """Return the number of parts of the resource that a row is a part of; 1 for all other rows."""
        return self._counts.get(self._first.get(row, 0), 1)

    def folded(self, query: Query, rows: array[int]) -> array[int]:
        """Return rows with one for each resource, the first of each, if the query wants that."""
        if not query.folded:
            return rows
        seen: set[int] = set()
        found = array(rows.typecode)
        for row in rows:
            first = self._first.get(row)
            if first is None or first not in seen:
                found.append(row)
            if first is not None:
                seen.add(first)
        return found


def conditions(query: Query, files: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    """Yield conditions of SQL, each with its value; `files` are the numbers of the files by their names."""
    for word in query.words:
        yield "uri LIKE ? ESCAPE '\\'", f"%{_literally(word).replace('*', '%')}%"
    if query.captures:
        yield f"type IN {CAPTURE_TYPES} AND ?", True
    if query.status is not None:
        yield "CAST(status AS TEXT) LIKE ?", query.status.replace("x", "_")
    if query.mime is not None:
        yield "mime LIKE ? ESCAPE '\\'", f"{_literally(query.mime)}%"
    compared: dict[str, str | int | None] = {
        "filename = ?": files.get(query.file, -1) if query.file is not None else None,
        "type = ?": query.type,
        "date >= ?": query.since,
        "date < ?": query.until + "~" if query.until is not None else None,
        "size >= ?": query.smallest,
        "size <= ?": query.largest,
    }
    yield from ((condition, value) for condition, value in compared.items() if value is not None)


def _literally(text: str) -> str:
    """Escape the characters that have a meaning in a LIKE pattern."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
