"""One open record as it is served: what every request needs is found once and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Final

from seekwarc.collection.parts import JoinedParts
from seekwarc.collection.segments import ResolvedRevisit
from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.read.extent import Extent
from seekwarc.read.record import Record
from seekwarc.serve.cost import FrameMap, View
from seekwarc.serve.error_answers import message_of
from seekwarc.serve.headers import Part, content_headers, entity_tag, stored_parts
from seekwarc.serve.representation import Beginning, Representation
from seekwarc.storage.plan import LOCAL
from seekwarc.storage.source import Stats

__all__ = ["ServedRecord", "logical_or_problem"]


SMALL_FRAME: Final = 1 << 20
"""Maximum size of a frame that is decoded in the thread that answers all requests: a millisecond."""
SLOW: Final = 0.01
"""Seconds of a read that was not quick after all. A single one may be due to a busy computer."""
SLOW_READS: Final = 3
SLOW_FOR: Final = 5
"""Seconds in which threads read after so many slow reads in a row."""


class ServedRecord:
    """A record that is served.

    Example:
        >>> from seekwarc.serve.served import ServedRecord
        >>> archive = seekwarc.open("crawl.warc.zst")
        >>> served = ServedRecord(next(archive.records(uri="*/film.mp4")))
        >>> film = served.representation("payload")
        >>> answer = film.answer({"range": "bytes=0-99"})
        >>> int(answer.status), len(film.extent.pread(answer.start, answer.stop - answer.start))
        (206, 100)
        >>> archive.close()
    """

    def __init__(self, record: Record, stats: Sequence[Stats] = (), *, problem: str | None = None) -> None:
        self.record = record
        self.problem = problem or _why_not(record)
        self._stats = stats
        self._slow_reads, self._slow_until = 0, 0.0
        self._made: dict[tuple[Part, bool], Representation] = {}

    @cached_property
    def frames(self) -> FrameMap:
        """The frames of the record, which are found once."""
        return FrameMap(self.record)

    @cached_property
    def uri(self) -> str | None:
        """The URI of the record."""
        return self.record.target_uri

    @contextmanager
    def charge(self, view: View | None) -> Iterator[None]:
        """Charge a view, if there is one, with reads of this record; note in it the error that ends them."""
        if view is None:
            yield
            return
        frames = None
        try:
            with view.charge(()):
                frames = self.frames
            with view.charge(self._stats, frames):
                yield
        except SeekWarcError as error:
            view.note_damage(error, frames)
            raise

    def extent(self, part: Part) -> Extent:
        """Return a part; `NotFoundError` if it is in records that were not found."""
        if part == "payload" and self.problem is not None:
            raise NotFoundError(self.problem)
        return self.record.payload if part == "payload" else self.record.block

    def representation(
        self, part: Part, *, as_bytes: bool = False, view: View | None = None
    ) -> Representation:
        """Return the bytes and fields that a request is answered with, which may take reads.

        `view`, if given, is charged with these reads, and with those of the representation.
        """
        made = self._made.get((part, as_bytes))
        extent = self.extent(part)
        if made is None:
            with self.charge(view):
                made = self._made[part, as_bytes] = Representation(
                    extent=extent,
                    etag=entity_tag(self.record, part),
                    modified=_modified(self.record),
                    headers=content_headers(self.record, part, as_bytes=as_bytes),
                    is_quick=all(map(_is_quick, stored_parts(self.record, part))),
                )
        return made if view is None else replace(made, extent=_Charged(extent, self, view))

    def begin_quickly(
        self, part: Part, asked: Mapping[str, str], method: str, *, as_bytes: bool, view: View | None
    ) -> Beginning | None:
        """Begin an answer as `Representation.begin`, if that takes less time than another thread would.

        It may do so if the record was sent before, has small frames, and is on this computer. Disks and
        network folders can be slow all the same: after some reads that were, threads read for a while.
        """
        made, now = self._made.get((part, as_bytes)), time.monotonic()
        if made is None or not made.is_quick or made.extent.known_size is None or now < self._slow_until:
            return None
        begun = self.representation(part, as_bytes=as_bytes, view=view).begin(asked, method)
        end = time.monotonic()
        self._slow_reads = self._slow_reads + 1 if end - now > SLOW else 0
        if self._slow_reads == SLOW_READS:
            self._slow_reads, self._slow_until = 0, end + SLOW_FOR
        return begun


def logical_or_problem(stored: Record, logical: Callable[[Record], Record]) -> tuple[Record, str | None]:
    """Return the logical record of a stored one and None, or the stored one and why it has none."""
    try:
        return logical(stored), None
    except SeekWarcError as error:
        return stored, message_of(error)


class _Charged:
    def __init__(self, extent: Extent, served: ServedRecord, view: View) -> None:
        self._extent = extent
        self._frames = served.frames
        self._charge = partial(served.charge, view)
        self._view = view

    @property
    def known_size(self) -> int | None:
        return self._extent.known_size

    @property
    def holes(self) -> Sequence[tuple[int, int]]:
        return self._extent.holes

    def look_ahead(self, position: int, seconds: float) -> bool:
        with self._charge():
            return self._extent.look_ahead(position, seconds)

    def pread(self, start: int, length: int) -> bytes:
        with self._charge():
            data = self._extent.pread(start, length)
            if len(self._frames.runs) == 1:
                for begin, end in self._extent.plan(start, start + len(data)).ranges:
                    self._view.note_needed(self._frames.runs[0].file, begin, end, self._frames)
        self._view.note_asked(len(data))
        return data


def _is_quick(stored: Record) -> bool:
    frames = stored.body.frames
    return (
        frames is not None
        and stored.body.file.source.policy == LOCAL
        and max(frames.content_sizes, default=0) <= SMALL_FRAME
        and max(frames.stored_sizes, default=0) <= SMALL_FRAME
    )


def _why_not(record: Record) -> str | None:
    """Return why a record does not have its payload, or None if it has."""
    if record.type != "revisit" or isinstance(record, ResolvedRevisit | JoinedParts):
        return None
    original = record.refers_to_id or record.refers_to_target_uri or record.target_uri
    return (
        f"{record.source}, offset {record.offset}: the payload of this revisit is in the record that it "
        f"refers to, {original}; open the revisit with `Collection.open_record` or `Capture.open`"
    )


def _modified(record: Record) -> int | None:
    """Return when a record was captured, in seconds from 1970; None unless that is a date in the past."""
    if record.date is None:
        return None
    seconds = record.date.nanoseconds // 10**9
    return seconds if 0 <= seconds <= time.time() else None
