"""Finds the capture that a replayed page asks for.

Goal: what the page asks for now is rarely what it asked for when it was captured. The scheme differs, a query
has the time in it, a form was sent, a site redirects to itself.

Plan: captures of the same key (`format.surt`) and method, those of exactly this URI first, and of these the
nearest date; then the same without query arguments that only defeat caches; then captures whose own such
arguments make the difference.

Worst case: a path with many captures that only differ in their queries: `MAX_COMPARED` are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from seekwarc.collection.entry import Entry, by_nearness
from seekwarc.collection.likeness import in_order
from seekwarc.collection.parts import JoinedParts
from seekwarc.collection.record_table import SURT
from seekwarc.collection.segments import ResolvedRevisit
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.dates import WarcDate
from seekwarc.format.partial import resource_of
from seekwarc.format.post import with_query
from seekwarc.format.surt import surt
from seekwarc.make.index_lines import sent_by
from seekwarc.read.record import Record
from seekwarc.serve.library import Library
from seekwarc.serve.replay_fields import redirect_target
from seekwarc.serve.served import ServedRecord

__all__ = ["Asked", "Captures", "Found", "answer_of", "without_busters"]

NOT_MODIFIED: Final = 304
MAX_COMPARED: Final = 500
MAX_OPENED: Final = 64
"""Captures that are opened for one request: some are refused, since they redirect to themselves."""
MAX_REQUESTS: Final = 8
"""Requests of one capture that are read."""

_BUSTER = re.compile(r"(?i)_|cb|rnd|rand|random|nocache|cachebust(?:er)?|timestamp|_dc")
_STAMP = re.compile(r"1[0-9]{9}|1[0-9]{12}|0\.[0-9]{6,}")


class Asked(NamedTuple):
    """What a page asks for."""

    uri: str
    date: WarcDate | None
    sent: tuple[str, str] | None = None
    """Method and body of a request other than GET, as `sent_by` returns them."""

    @property
    def full(self) -> str:
        """The URI, with what was sent as a part of its query."""
        return self.uri if self.sent is None else with_query(self.uri, *self.sent)


class Found(NamedTuple):
    """A capture that is sent."""

    uri: str
    date: WarcDate | None
    served: ServedRecord


class Captures:
    """The captures of a library, found by what a page asks for. Methods block."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._table = library.catalogue

    def of(self, uri: str) -> list[Entry]:
        """Return the captures of a URI in the order of their dates."""
        return by_nearness(self._of_key(surt(uri)), None)[::-1]

    def find(self, asked: Asked) -> Found | None:
        """Return the capture that is nearest to what is asked for; None while files are being scanned for it.

        Raises:
            NotFoundError: There is no such capture.
            SeekWarcError: It is damaged, or cannot be read.
        """
        complete = self._table.complete
        key = surt(asked.uri)
        for entry in islice(self._candidates(asked), MAX_OPENED):
            served = self._open(entry)
            if asked.sent is None and complete and self._sent_with(served.record) is not None:
                continue
            head = answer_of(served.record).http
            target = redirect_target(head, entry.uri or asked.uri) if head is not None else None
            # http redirects to https under the same key, which would never end.
            if target is None or surt(target) != key:
                return Found(entry.uri or asked.uri, entry.date, _part_or_whole(served, asked.uri))
        # All captures may have a range in their URIs.
        if asked.sent is None and not self._table.by_uri(asked.uri) and self._table.with_range(asked.uri):
            whole = self._library.capture(asked.uri, asked.date)
            return Found(asked.uri, whole.record.date, whole) if whole is not None else None
        if not complete:
            return None
        raise NotFoundError(f"no capture of {asked.uri}")

    def _candidates(self, asked: Asked) -> Iterator[Entry]:
        full, plain = asked.full, without_busters(asked.full)
        wanted = surt(plain)
        for key in dict.fromkeys((surt(full), wanted)):
            yield from in_order(full, by_nearness(self._of_key(key), asked.date), attrgetter("uri"))
        if asked.sent is not None:
            for entry in by_nearness(self._of_key(surt(asked.uri)), asked.date)[:MAX_COMPARED]:
                if self._is_answer(entry, asked.uri, wanted):
                    yield entry
        below = self._table.below(SURT, surt(full.partition("?")[0]) + "?")
        for entry in islice(below, MAX_COMPARED):
            if entry.uri is not None and surt(without_busters(entry.uri)) == wanted:
                yield from by_nearness(self._of_key(surt(entry.uri)), asked.date)
                return

    def _of_key(self, key: str) -> Sequence[Entry]:
        return self._table.captures(SURT, key)

    def _open(self, entry: Entry) -> ServedRecord:
        return self._library.open(self._library.record_id(entry.filename, entry.offset, entry.skip))

    def _is_answer(self, entry: Entry, uri: str, wanted: str) -> bool:
        """Return whether the request of a capture, which is stored with it, sent what is asked for."""
        try:
            sent = self._sent_with(self._open(entry).record)
        except FormatError:
            return False
        return sent is not None and surt(without_busters(with_query(uri, *sent))) == wanted

    def _sent_with(self, record: Record) -> tuple[str, str] | None:
        """Return method and body of the request that a record answers; None of a GET, or if unknown."""
        requests = islice(self._library.requests_of(record), MAX_REQUESTS)
        return next((sent for request in requests if (sent := sent_by(request)) is not None), None)


def _part_or_whole(served: ServedRecord, uri: str) -> ServedRecord:
    record = served.record
    # A player that has the range in its URI wants that part.
    if isinstance(record, JoinedParts) and resource_of(uri)[0] != uri:
        return ServedRecord(record.part)
    return served


def answer_of(record: Record) -> Record:
    """Return the record whose head was sent with a payload: not a revisit that says "not modified"."""
    head = record.http
    if isinstance(record, ResolvedRevisit) and head is not None and head.status == NOT_MODIFIED:
        return record.original
    return record


def without_busters(uri: str) -> str:
    """Leave out query arguments that only defeat caches: by their names, or since they are a time."""
    head, _, query = uri.partition("?")
    kept = [
        f"{name}={value}"
        for name, value in parse_qsl(query, keep_blank_values=True)
        if not (_BUSTER.fullmatch(name) or _STAMP.fullmatch(value) or _STAMP.fullmatch(name))
    ]
    return head + "?" * bool(kept) + "&".join(kept)
