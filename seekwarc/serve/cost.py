"""The cost of each view of a record: bytes sent, read and decompressed, and the frames that were fetched.

A view is one page, or one player, that shows one record. Its reads are made in worker threads inside
`View.charge`, which names the view in a context variable; `WatchedSource` reports every read of a file to the
view of the context that it is made in. So two views of the same open file are charged with their own reads.
Frames whose stored bytes lie wholly in a read were fetched by it, and count as decompressed.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from seekwarc.closing import Recent
from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit
from seekwarc.compiling import override
from seekwarc.format.seektable import SeekTable
from seekwarc.read.record import Record
from seekwarc.storage.source import SourceWrapper, Stats

__all__ = ["FrameMap", "View", "Views", "WatchedSource"]

MAX_VIEWS: Final = 256
"""Views that are kept; the least recently used one is forgotten first."""
MAX_EARLY: Final = 64
"""Reads made while a record is opened that are kept until its frames are known."""

_RUN = re.compile(b"\x01+")


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive frames of one file that belong to a record."""

    file: str
    offset: int
    """Offset of the first frame in the file."""
    table: SeekTable
    first: int
    """Number of the first frame, counted over all runs of the record."""


class FrameMap:
    """The frames of a record, with those of all its segments in order.

    Args:
        record: The record; for a resolved revisit, the frames are those of the original.
    """

    def __init__(self, record: Record) -> None:
        if isinstance(record, ResolvedRevisit):
            record = record.original
        stored = record.segments if isinstance(record, JoinedRecord) else (record,)
        runs = []
        self.count = 0
        for part in stored:
            table = part.body.frames
            if table is not None and len(table):
                runs.append(Run(part.source, part.offset, table, self.count))
                self.count += len(table)
        self.runs = tuple(runs)

    def within(self, file: str, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Find the frames that lie wholly in the stored bytes [start, stop) of a file.

        Yields:
            (first, last, content): frames [first, last) and their decompressed size.
        """
        for run in self.runs:
            if run.file == file:
                ends = _Bounds(run)
                first = bisect_left(ends, start)
                last = bisect_left(ends, stop + 1) - 1
                if first < last:
                    content = run.table[last - 1].content_stop - run.table[first].content_start
                    yield run.first + first, run.first + last, content

    def cells(self, limit: int) -> Iterator[tuple[int, int, int, int]]:
        """Sum up the frames in at most `limit` groups of neighbours.

        Yields:
            (first, last, content, stored): frames [first, last), their decompressed size, their stored size.
        """
        for cell in range(min(limit, self.count)):
            first = self.count * cell // min(limit, self.count)
            last = self.count * (cell + 1) // min(limit, self.count)
            content = stored = 0
            for run in self.runs:
                begin, end = max(first, run.first) - run.first, min(last - run.first, len(run.table))
                if begin < end:
                    head, tail = run.table[begin], run.table[end - 1]
                    content += tail.content_stop - head.content_start
                    stored += tail.stored_stop - head.stored_start
            yield first, last, content, stored


class _Bounds(Sequence[int]):
    """Offsets of the frames of a run in the file, and of the end of the last one, to bisect."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __len__(self) -> int:
        return len(self._run.table) + 1

    def __getitem__(self, index: int) -> int:  # type: ignore[override]
        run = self._run
        if index == len(run.table):
            return run.offset + run.table.stored_size
        return run.offset + run.table[index].stored_start


class View:
    """The counters of one view.

    Attributes:
        bytes_asked: Bytes of the record that were sent to the client.
        bytes_read: Stored bytes that were read for them, from disk or network.
        bytes_decoded: Bytes that were decompressed for them.
        requests: Reads of the files.
        problem: Why the last read failed, or None if it did not.
    """

    def __init__(self) -> None:
        self.bytes_asked = self.bytes_read = self.bytes_decoded = self.requests = 0
        self.problem: str | None = None
        self._fetched = bytearray()
        self._early: list[tuple[str, int, int]] = []
        self._opened = False
        self._lock = threading.Lock()

    @contextmanager
    def charge(self, stats: Sequence[Stats], frames: FrameMap | None = None) -> Iterator[None]:
        """Charge this view with the reads of the current context.

        Args:
            stats: Counters of the files, which count for a record that is not in frames.
            frames: The record's frames; None while it is opened, when they are not known yet.
        """
        if frames is not None and frames.runs:
            stats = ()
            with self._lock:
                if len(self._fetched) != frames.count:
                    self._fetched = bytearray(frames.count)
                while self._early:
                    self._light(*self._early.pop(), frames)
                    if self._fetched[0] and not self._opened:
                        # It contains the record header, so it was decoded too.
                        self._opened = True
                        self.bytes_decoded += frames.runs[0].table[0].content_size
        before = sum(one.bytes_decoded for one in stats)
        token = _charged.set((self, frames))
        try:
            yield
        finally:
            _charged.reset(token)
            with self._lock:
                self.bytes_decoded += sum(one.bytes_decoded for one in stats) - before

    def note_read(self, file: str, start: int, stop: int, frames: FrameMap | None) -> None:
        """Count a read of the stored bytes [start, stop) of a file."""
        with self._lock:
            self.requests += 1
            self.bytes_read += stop - start
            if frames is not None:
                self.bytes_decoded += self._light(file, start, stop, frames)
            elif len(self._early) < MAX_EARLY:
                self._early.append((file, start, stop))

    def _light(self, file: str, start: int, stop: int, frames: FrameMap) -> int:
        """Mark the frames that a read has fetched; return their decompressed size."""
        size = 0
        for first, last, content in frames.within(file, start, stop):
            self._fetched[first:last] = b"\x01" * (last - first)
            size += content
        return size

    def note_asked(self, count: int) -> None:
        """Count bytes that were sent to the client."""
        with self._lock:
            self.bytes_asked += count

    @property
    def fetched(self) -> list[tuple[int, int]]:
        """The frames that were fetched, as runs [first, last)."""
        with self._lock:
            return [match.span() for match in _RUN.finditer(self._fetched)]


class Views(Recent[str, View]):
    """The most recently used views, by the names that clients gave them."""

    def __init__(self) -> None:
        super().__init__(MAX_VIEWS)

    def open(self, name: str) -> View:
        """Return a view; a new one if it is unknown."""
        return self.put(name, View(), replace=False)


_charged: ContextVar[tuple[View, FrameMap | None] | None] = ContextVar("charged", default=None)
"""The view that is charged with the reads of this context, and the frames of its record."""


class WatchedSource(SourceWrapper):
    """Another source, whose reads are charged to the view of the context that they are made in."""

    @override
    def on_read(self, start: int, stop: int) -> None:
        charged = _charged.get()
        if charged is not None:
            view, frames = charged
            view.note_read(self.name, start, stop, frames)
