"""Searching the texts of archives: the pages that an index knows, and what their records say of them.

An index has no text, so a snippet is made of the record, which is read again. This also decides whether
a page has the words of a phrase in their order: the best pages are read until enough are found.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypedDict, Unpack

from seekwarc.closing import Closing, Recent
from seekwarc.compiling import override
from seekwarc.errors import FormatError, NotFoundError, SeekWarcError, SourceError
from seekwarc.format.dates import format_date
from seekwarc.format.uri import as_utf8
from seekwarc.inside.query import TextQuery
from seekwarc.inside.search import Capture, Conditions, Order, SearchFile
from seekwarc.inside.search_file import text_key
from seekwarc.inside.snippets import Snippet, snippet_of
from seekwarc.inside.text import PageText
from seekwarc.make.text_indexing import path_of, seconds_of, stored_path, version_of
from seekwarc.options import check_range
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.read.record import Record
from seekwarc.read.selection import Selection
from seekwarc.storage.remote_url import is_url
from seekwarc.storage.zip_members import SEPARATOR

__all__ = ["Hit", "Search", "SearchConditions", "SearchIndex", "search"]

LIMIT: Final = 10
MAX_LIMIT: Final = 1000
MAX_READ: Final = 1000
"""Pages that are read to find those that have a phrase."""
MAX_SECONDS: Final = 20.0
"""Seconds in which that is done."""
MAX_OPEN: Final = 16
"""Archives that are kept open."""
MAX_TRIED: Final = 3
"""Captures of a page that are tried, if the first of them cannot be read."""
READABLE: Final = ("response", "resource", "conversion")
"""Types of records that have a text of their own."""


DESCRIBED: Final = ("file", "offset", "length", "type", "uri", "date", "mime", "title", "captures")
"""What the JSON form of a hit says of it, before the snippet."""


class SearchConditions(TypedDict, total=False):
    """Which captures are searched, as keyword arguments; see `SearchIndex.search`."""

    since: datetime | str | None
    """Earliest date: a datetime with a time zone, or text such as "2026-11"."""
    until: datetime | str | None
    """Latest date; the text "2026-11" includes all of that month."""
    type: str | Iterable[str] | None
    """Types of records: "response", "resource", "conversion", "revisit"."""
    mime: str | Iterable[str] | None
    """Media types, such as "text/html" or "text/*"."""
    host: str | Iterable[str] | None
    """Hosts; see `seekwarc.Conditions`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A page that was found, in the latest of its captures that match.

    Example:
        >>> hit = seekwarc.tools.search("crawl.fts", '"same every day"').hits[0]
        >>> hit.uri, hit.date, hit.captures, hit.snippet.text[:19]
        ('http://example.org/', '2026-11-17T06:00:00Z', 2, 'The same every day.')
    """

    uri: str
    date: str | None
    """As in WARC-Date, to the second."""
    title: str | None
    mime: str | None
    type: str
    """WARC-Type of the record."""
    file: str
    """Path or URL of the archive."""
    offset: int
    length: int | None
    captures: int
    """Number of captures with this text that match, up to 1000."""
    snippet: Snippet | None
    """The part of the text that shows best what was searched for; None if the text cannot be read."""
    problem: str | None = None
    """Why it cannot be read, or may not be what was indexed."""

    def as_json(self) -> dict[str, object]:
        """Return its JSON form; see spec-notes/json.md."""
        snippet = self.snippet
        return {
            **{name: getattr(self, name) for name in DESCRIBED},
            "snippet": snippet.text if snippet is not None else None,
            "marks": [list(it) for it in snippet.marks] if snippet is not None else [],
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search.

    Example:
        >>> found = seekwarc.tools.search("crawl.fts", "every day")
        >>> found.total, found.is_total_exact
        (1, True)
    """

    hits: list[Hit]
    total: int
    """Number of pages found; of a query with a phrase, those that have its words in any order, perhaps."""
    is_total_exact: bool
    """Whether there are that many: False if there may be more, or fewer have the words in their order."""
    unread: int = 0
    """Number of pages that may match, but cannot be read to find out."""


class SearchIndex(Closing):
    """A search index and the archives that it names, open for searching by one thread at a time.

        with tools.SearchIndex("crawl.fts") as index:
            for hit in index.search('"earl grey" site:example.org', limit=5).hits:
                print(hit.date, hit.uri, hit.snippet and hit.snippet.marked("*", "*"))

    Args:
        path: Path of the index, which `index_text` made.
        remote: Whether archives that the index names by their URLs are read. An index that someone else made
            could name any URL.
        find: Returns an open archive for the path or URL that the index has for it; None for one that is not
            to be read. The caller closes it. By default archives are opened here.
        files: Paths or URLs of archives: only what the index has of these is searched; None for all.

    Raises:
        FormatError: The file is not a search index, or is damaged.
        SourceError: The file cannot be read.
        UnsupportedError: A newer version of seekwarc made it.

    Example:
        >>> with seekwarc.tools.SearchIndex("crawl.fts") as index:
        ...     [hit.uri for hit in index.search("day OR night", until="2026-11-16").hits]
        ['http://example.org/']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        remote: bool = False,
        find: Callable[[str], Reader | None] | None = None,
        files: Iterable[str] | None = None,
    ) -> None:
        self._file = SearchFile(path)
        self.name = self._file.name
        self._remote = remote
        self._find = find
        self._readers: Recent[str, Reader] = Recent(MAX_OPEN)
        self._opened: list[Reader] = []
        self._files = {stored_path(it, self.name): it for it in files or ()}

    @property
    def files(self) -> list[str]:
        """The archives that are searched, as they were named; empty for all."""
        return [*self._files.values()]

    @override
    def close(self) -> None:
        """Close the index, and the archives that were opened. Idempotent."""
        for reader in self._opened:
            reader.close()
        self._file.close()

    def check(self) -> None:
        """Compare the index with `files` as they are now.

        Raises:
            FormatError: It does not list one of them, or an earlier version of it.
            SourceError: One of them cannot be read.
        """
        for stored, name in self._files.items():
            known = self._file.version_of(stored)
            if known is None:
                raise FormatError(f"it does not list {name}", source=self.name)
            if known != version_of(name):
                raise FormatError(f"{name} has changed since it was indexed", source=self.name)

    def search(
        self,
        query: str,
        *,
        limit: int = LIMIT,
        start: int = 0,
        order: Order = "rank",
        snippets: bool = True,
        **conditions: Unpack[SearchConditions],
    ) -> Search:
        """Search for pages.

        Args:
            query: Words, all of which a page must have, without regard to case and accents;
                "words in this order"; beginnings of words, arch*; AND, OR, NOT and parentheses; title:word;
                site:example.org and type:pdf. At most 32 words.
            limit: Maximum number of hits, up to 1000.
            start: Number of hits to leave out before the first.
            order: "rank": those first that have rarer words, in their titles, or several times; "date": the
                latest captures first.
            snippets: Whether records are read to make snippets.
            **conditions: Which captures; see `SearchConditions`.

        Raises:
            FormatError: The index is damaged.
            SourceTimeoutError: The search took longer than 10 seconds.
            ValueError: The query or a condition is invalid.
        """
        check_range("limit", limit, 1, MAX_LIMIT)
        check_range("start", start, 0, 1 << 31)
        if order not in ("rank", "date"):
            raise ValueError(f'order must be "rank" or "date", not {order!r}')
        parsed = TextQuery.parse(query)
        which = replace(_conditions(**conditions), paths=tuple(self._files)).narrowed(parsed)
        found = self._file.find(parsed, which, order=order)
        if parsed.is_exact:
            chosen = found.pages[start : start + limit]
            hits = [self._hit(it, parsed, which, snippets=snippets) for it in chosen]
            return Search(hits, len(found.pages), found.is_whole)
        hits, unread, seen = [], 0, 0
        deadline = time.monotonic() + MAX_SECONDS
        numbers = iter(found.pages[:MAX_READ])
        for number in numbers:
            seen += 1
            text = self._text(number)
            unread += text.page is None
            if text.page is not None and parsed.matches(text.page.text, text.page.title):
                hits.append(self._hit(number, parsed, which, snippets=snippets, text=text))
            if len(hits) >= start + limit or time.monotonic() > deadline:
                break
        is_all = seen == len(found.pages) and found.is_whole
        total = len(hits) if is_all else len(found.pages)
        return Search(hits[start:], total, is_all and not unread, unread)

    def _hit(
        self, number: int, query: TextQuery, which: Conditions, *, snippets: bool, text: _Text | None = None
    ) -> Hit:
        captures = self._file.captures(number, which)
        if not captures:
            raise FormatError("the search index is damaged: a page has no capture", source=self.name)
        capture = captures[0]
        _, title = self._file.page(number)
        if text is None:
            text = self._text(number) if snippets else _Text(None, None)
        snippet, problem = None, text.problem
        if text.page is not None and snippets:
            snippet = snippet_of(text.page.text, query)
            problem = self._problem(capture, text, query)
        return Hit(
            uri=capture.uri,
            date=_date(capture.date),
            title=title,
            mime=capture.mime,
            type=capture.kind,
            file=path_of(capture.path, self.name),
            offset=capture.offset,
            length=capture.length or None,
            captures=self._file.count_captures(number, which),
            snippet=snippet,
            problem=problem,
        )

    def _problem(self, capture: Capture, text: _Text, query: TextQuery) -> str | None:
        """Return what the index says of a capture and its files do not; None if they agree."""
        try:
            if capture != text.capture:
                self._record(capture)
        except (SeekWarcError, ValueError) as error:
            return f"the record cannot be read: {error}"
        if text.page is None or query.matches(text.page.text, text.page.title):
            return None
        return f"the text does not match, other than {self.name} says: make that again with --force"

    def _text(self, number: int) -> _Text:
        """Read the text of a page again, from whichever of its captures can be read."""
        key, _ = self._file.page(number)
        first: _Text | None = None
        for capture in self._file.captures(number, Conditions(kinds=READABLE), limit=MAX_TRIED):
            path = path_of(capture.path, self.name)
            try:
                record, is_same = self._record(capture)
                page = record.payload.text()
            except (SeekWarcError, ValueError) as error:
                found = _Text(None, f"the text cannot be read: {error}")
            else:
                is_indexed = is_same or (page is not None and text_key(page.text, page.title) == key)
                if page is not None and is_indexed:
                    return _Text(page, None, capture)
                found = _Text(None, f"{path} has changed since it was indexed")
            first = first or found
        return first or _Text(None, "no record in the index has this text now")

    def _record(self, capture: Capture) -> tuple[Record, bool]:
        """Return the record of a capture, and whether its file is the one that was indexed.

        Raises:
            FormatError: The record has another URI or date than the index says.
        """
        path = path_of(capture.path, self.name)
        reader = self._reader(path) if self._find is None else self._find(path)
        if reader is None:
            raise NotFoundError("is not among the files that are open", source=path)
        record = reader.record_at(capture.offset, capture.length or None)
        uri = as_utf8(record.target_uri or "")
        if uri != capture.uri or seconds_of(record) != capture.date:
            at = f"{uri or 'no URI'} of {record.date}"
            raise FormatError(f"{path} has changed since it was indexed: at {capture.offset} is {at}")
        return record, reader.version == capture.version

    def _reader(self, path: str) -> Reader:
        known = self._readers.get(path)
        if known is not None:
            return known
        if is_url(path):
            if not self._remote:
                raise SourceError("is read only if that is allowed (`--remote`)", source=path)
        elif not os.path.isfile(path.partition(SEPARATOR)[0]):
            raise SourceError("no longer exists", source=path)
        reader = WholeReader(path)
        self._opened.append(reader)
        return self._readers.put(path, reader)


class _Text(NamedTuple):
    page: PageText | None
    problem: str | None
    capture: Capture | None = None
    """The one that it was read from."""


def _conditions(**given: Any) -> Conditions:  # noqa: ANN401 - SearchConditions, checked here
    unknown = given.keys() - SearchConditions.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown condition: {', '.join(sorted(unknown))}")
    selection = Selection.of(**given)
    return Conditions(
        since=-(-selection.since // 10**6) if selection.since is not None else None,
        until=selection.until // 10**6 if selection.until is not None else None,
        mimes=(selection.mimes,) if selection.mimes else (),
        hosts=(tuple(sorted(selection.hosts)),) if selection.hosts else (),
        kinds=tuple(sorted(selection.types)),
    )


def _date(seconds: int | None) -> str | None:
    if seconds is None:
        return None
    with suppress(OverflowError, ValueError, OSError):
        return format_date(datetime.fromtimestamp(seconds, UTC))
    return None


def search(
    index: str | os.PathLike[str],
    query: str,
    *,
    limit: int = LIMIT,
    start: int = 0,
    order: Order = "rank",
    remote: bool = False,
    **conditions: Unpack[SearchConditions],
) -> Search:
    """Search for pages in an index that `index_text` made; see `SearchIndex.search`.

        for hit in tools.search("crawl.fts", '"earl grey"', since="2026").hits:
            print(hit.date, hit.uri, hit.file, hit.offset)

    Args:
        index: Path of the index.
        query: What to search for.
        limit: Maximum number of hits.
        start: Number of hits to leave out before the first.
        order: "rank", or "date" for the latest first.
        remote: Whether archives that the index names by URLs are read, for snippets and phrases.
        **conditions: Which captures; see `SearchConditions`.

    Raises:
        FormatError: The file is not a search index, or is damaged.
        SourceError: The file cannot be read.
        SourceTimeoutError: The search took longer than 10 seconds.
        ValueError: The query or a condition is invalid.
    """
    with SearchIndex(index, remote=remote) as opened:
        return opened.search(query, limit=limit, start=start, order=order, **conditions)
