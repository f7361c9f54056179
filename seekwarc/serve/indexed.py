"""The captures of an index, opened as `seekwarc serve` opens those of the files that it scans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from seekwarc.cdx.index import Capture, Index
from seekwarc.closing import Recent
from seekwarc.collection.entry import Entry, entry_of_line
from seekwarc.collection.likeness import Likeness, Meant
from seekwarc.collection.parts import (
    MAX_CAPTURES,
    Group,
    captures_of,
    groups_of,
    joined_nearest,
    joined_with_others,
)
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.dates import LATEST, WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.surt import surt
from seekwarc.read.record import Record
from seekwarc.serve.served import ServedRecord, logical_or_problem

__all__ = ["IndexedCaptures"]

KEPT_OPEN: Final = 128
"""Captures that are kept open, so that their seek tables and chunks need not be found again."""
AFTER_QUERY: Final = "@"
"""The character after "?", with which a query begins."""


class IndexedCaptures:
    """Opens captures by URI and date; the most recently used ones stay open."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._uris = _Uris(index)
        self._open: Recent[tuple[str, WarcDate | None], ServedRecord] = Recent(KEPT_OPEN)

    def __call__(self, uri: str, date: WarcDate | None, /) -> ServedRecord:
        """Return the capture of a URI that is nearest to a date, or the latest; else `NotFoundError`."""
        return self.known(uri, date) or self._open.put((uri, date), self._find(uri, date))

    def known(self, uri: str, date: WarcDate | None, /) -> ServedRecord | None:
        """Return a capture if it is open. Does not block."""
        return self._open.get((uri, date))

    def _find(self, uri: str, date: WarcDate | None) -> ServedRecord:
        closest = str(date) if date is not None else LATEST
        capture = next(self._index.lookup(uri, closest=closest), None)
        if capture is None or Meant(uri)(capture.uri) is not Likeness.SAME:
            # All captures may have a range in their URIs.
            film = joined_nearest(self._groups(uri), date)
            if film is not None:
                return ServedRecord(film)
        if capture is None:
            raise NotFoundError(f"no response, resource or revisit has the URI {uri}")
        record, problem = logical_or_problem(capture.open(resolve=False), self._logical)
        return ServedRecord(record, problem=problem)

    def _logical(self, stored: Record) -> Record:
        return joined_with_others(stored, self._groups) or self._index.resolved(stored)

    def _groups(self, uri: str) -> tuple[Group, ...]:
        captures = captures_of(self._uris, uri)
        return groups_of(uri, captures, self._uris, self._index.record, self._index.resolved)


class _Uris:
    """An index as a `RecordIndex` with `RangedUris`; its lines have no IDs, so it knows no relations."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def by_uri(self, uri: str) -> Sequence[Entry]:
        return _entries(self._index.lookup(uri))

    def with_range(self, uri: str) -> Sequence[Entry]:
        bare = uri.partition("#")[0].partition("?")[0]
        return _entries(self._with_query(bare))

    def _with_query(self, bare: str) -> Iterator[Capture]:
        end = surt(bare) + AFTER_QUERY
        for capture in self._index.lookup(bare, match="prefix"):
            if capture.key >= end:
                return
            if capture.uri is not None and "?" in capture.uri:
                yield capture

    def by_payload(self, _: Digest) -> Sequence[Entry]:
        return ()

    def by_id(self, _: str) -> Sequence[Entry]:
        return ()

    segments_of = concurrent_to = referring_to = by_id


def _entries(captures: Iterator[Capture]) -> list[Entry]:
    """Return the entries of captures, one more than the limit; useless lines are left out."""
    return list(islice(filter(None, map(_entry, captures)), MAX_CAPTURES + 1))


def _entry(capture: Capture) -> Entry | None:
    try:
        return entry_of_line(capture)
    except FormatError:
        return None
