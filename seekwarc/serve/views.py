"""What each view of a record has cost: bytes asked, read and decompressed, and which frames were fetched.

A view is one page, or one player, that looks at one record. Its reads are made in a worker thread under
`View.charge`; `WatchedSource` tells the view which stored bytes they took from the file.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit
from seekwarc.format.seektable import SeekTable
from seekwarc.read.record import Record
from seekwarc.storage.source import SourceWrapper, Stats

__all__ = ["FrameMap", "View", "Views", "WatchedSource"]

MAX_VIEWS: Final = 256
"""Views that are remembered; the one not asked for longest is forgotten first."""
MAX_EARLY: Final = 64
"""Reads made while a record is opened, when its frames are not known yet, that are kept until they are."""

_RUN = re.compile(b"\x01+")


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive frames of one file that belong to a record."""

    file: str
    offset: int
    """Where the first frame begins in the file."""
    table: SeekTable
    first: int
    """Number of the first frame, counted through all runs of the record."""


class FrameMap:
    """The frames of a record, those of all its segments one behind the other.

    Args:
        record: The record; of a resolved revisit the frames of the original.
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
            (first, last, content): frames [first, last) and the bytes they hold.
        """
        for run in self.runs:
            if run.file == file:
                ends = _Bounds(run)
                first = bisect_left(ends, start)
                last = bisect_left(ends, stop + 1) - 1
                if first < last:
                    content = run.table[last - 1].content_stop - run.table[first].content_start
                    yield run.first + first, run.first + last, content

    def cells(self, most: int) -> Iterator[tuple[int, int, int, int]]:
        """Sum the frames up in at most `most` groups of neighbours.

        Yields:
            (first, last, content, stored): frames [first, last), bytes they hold, bytes they are stored in.
        """
        for cell in range(min(most, self.count)):
            first = self.count * cell // min(most, self.count)
            last = self.count * (cell + 1) // min(most, self.count)
            content = stored = 0
            for run in self.runs:
                begin, end = max(first, run.first) - run.first, min(last - run.first, len(run.table))
                if begin < end:
                    head, tail = run.table[begin], run.table[end - 1]
                    content += tail.content_stop - head.content_start
                    stored += tail.stored_stop - head.stored_start
            yield first, last, content, stored


class _Bounds(Sequence[int]):
    """Where the frames of a run begin in the file, and where the last one ends, for bisecting."""

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
        bytes_asked: Bytes of the record that were given to the client.
        bytes_read: Stored bytes that were read for it, from disk or network.
        bytes_decoded: Bytes that were decompressed for it.
        requests: Reads of the file.
        problem: Why the last read failed, None where it did not.
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
        """Charge this view with what the current thread reads.

        Args:
            stats: Counters of the files, asked where the record is in no frames.
            frames: The frames that are read; None while the record is opened and they are not known.
        """
        if frames is not None and frames.runs:
            stats = ()
            with self._lock:
                if len(self._fetched) != frames.count:
                    self._fetched = bytearray(frames.count)
                while self._early:
                    self._light(*self._early.pop(), frames)
                    if self._fetched[0] and not self._opened:
                        # It has the record header, so it was decoded too.
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
        """Take note that stored bytes [start, stop) of a file were read, for frames that are known or not."""
        with self._lock:
            self.requests += 1
            self.bytes_read += stop - start
            if frames is not None:
                self.bytes_decoded += self._light(file, start, stop, frames)
            elif len(self._early) < MAX_EARLY:
                self._early.append((file, start, stop))

    def _light(self, file: str, start: int, stop: int, frames: FrameMap) -> int:
        """Mark the frames that a read has fetched; return the bytes that they hold."""
        held = 0
        for first, last, content in frames.within(file, start, stop):
            self._fetched[first:last] = b"\x01" * (last - first)
            held += content
        return held

    def note_asked(self, count: int) -> None:
        """Take note that the client was given `count` bytes."""
        with self._lock:
            self.bytes_asked += count

    @property
    def fetched(self) -> list[tuple[int, int]]:
        """The frames that were fetched, as runs [first, last)."""
        with self._lock:
            return [match.span() for match in _RUN.finditer(self._fetched)]


class Views:
    """The views of late, by the name that the client gave each."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, View] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> View | None:
        """Return a view, None where it is not known, or not any more."""
        with self._lock:
            return self._views.get(name)

    def open(self, name: str) -> View:
        """Return a view, a new one where it is not known."""
        with self._lock:
            view = self._views.setdefault(name, View())
            self._views.move_to_end(name)
            while len(self._views) > MAX_VIEWS:
                self._views.popitem(last=False)
            return view


_charged: ContextVar[tuple[View, FrameMap | None] | None] = ContextVar("charged", default=None)
"""The view that pays for what this thread reads, and the frames that it reads."""


class WatchedSource(SourceWrapper):
    """Another source, whose reads are told to the view that they are made for."""

    def on_read(self, start: int, stop: int) -> None:
        """See `SourceWrapper.on_read`."""
        charged = _charged.get()
        if charged is not None:
            view, frames = charged
            view.note_read(self.name, start, stop, frames)
