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
from seekwarc.compiling import override
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.seektable import SeekTable
from seekwarc.read.record import Record
from seekwarc.serve.headers import stored_parts
from seekwarc.storage.source import SourceWrapper, Stats

__all__ = ["FrameMap", "View", "Views", "WatchedSource"]

MAX_VIEWS: Final = 256
"""Views that are kept; the least recently used one is forgotten first."""
MAX_EARLY: Final = 64
"""Reads made while a record is opened that are kept until its frames are known."""

MAX_JOINED: Final = 4 << 20
"""Bytes of reads that follow each other, in which a frame may be that came in several reads."""

FETCHED: Final = 1
FROM_MEMORY: Final = 2
DAMAGED: Final = 3
"""What is known of each frame, a byte each; 0 for those that were not needed yet."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive frames of one file that belong to a record."""

    file: str
    offset: int
    """Offset of the first frame in the file."""
    table: SeekTable
    first: int
    """Number of the first frame, counted over all runs of the record."""

    def is_at(self, error: SeekWarcError) -> bool:
        """Return whether an error is about this record."""
        return (error.source, error.offset) == (self.file, self.offset)

    def bound(self, number: int) -> int:
        """Return where a frame begins in the file, or where the last one ends."""
        if number == len(self.table):
            return self.offset + self.table.stored_size
        return self.offset + self.table[number].stored_start


class FrameMap:
    """The frames of a record, with those of all its segments in order."""

    def __init__(self, record: Record) -> None:
        runs = []
        self.count = 0
        for part in stored_parts(record, "payload"):
            table = part.body.frames
            if table is not None and len(table):
                runs.append(Run(part.source, part.offset, table, self.count))
                self.count += len(table)
        self.runs = tuple(runs)

    def within(self, file: str, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield (first, last, content) of frames [first, last) that lie wholly in stored bytes of a file."""
        for run in self.runs:
            if run.file == file:
                bounds = range(len(run.table) + 1)
                first = bisect_left(bounds, start, key=run.bound)
                last = bisect_left(bounds, stop + 1, key=run.bound) - 1
                if first < last:
                    content = run.table[last - 1].content_stop - run.table[first].content_start
                    yield run.first + first, run.first + last, content

    def cells(self, limit: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield (first, last, content, stored) of at most `limit` groups of neighbouring frames."""
        groups = min(limit, self.count)
        for cell in range(groups):
            first = self.count * cell // groups
            last = self.count * (cell + 1) // groups
            content = stored = 0
            for run in self.runs:
                begin, end = max(first, run.first) - run.first, min(last - run.first, len(run.table))
                if begin < end:
                    head, tail = run.table[begin], run.table[end - 1]
                    content += tail.content_stop - head.content_start
                    stored += tail.stored_stop - head.stored_start
            yield first, last, content, stored


class View:
    """The counters of one view; `openapi.py` says what each counts."""

    def __init__(self) -> None:
        self.bytes_asked = self.bytes_read = self.bytes_decoded = self.requests = 0
        self.problem: str | None = None
        self._frames = bytearray()
        self._early: list[tuple[str, int, int]] = []
        self._opened = False
        self._last = "", 0, 0
        self._lock = threading.Lock()

    @contextmanager
    def charge(self, stats: Sequence[Stats], frames: FrameMap | None = None) -> Iterator[None]:
        """Charge this view with the reads of the current context.

        `frames` is None while the record is opened, when they are not known yet. `stats` are the counters
        of the files, which count for a record that is not in frames.
        """
        if frames is not None and frames.runs:
            stats = ()
            with self._lock:
                if len(self._frames) != frames.count:
                    self._frames = bytearray(frames.count)
                while self._early:
                    self._light(*self._early.pop(), frames)
                    if self._frames[0] and not self._opened:
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
            begin = self._joined(file, start, stop)
            if frames is not None:
                known = sum(content for _, _, content in frames.within(file, begin, start))
                self.bytes_decoded += self._light(file, begin, stop, frames) - known
            elif len(self._early) < MAX_EARLY:
                self._early.append((file, begin, stop))

    def _joined(self, file: str, start: int, stop: int) -> int:
        """Return where the reads begin that follow each other up to this one: a frame may come in several."""
        last_file, begin, end = self._last
        if last_file != file or start != end or stop - begin > MAX_JOINED:
            begin = start
        self._last = file, begin, stop
        return begin

    def _light(self, file: str, start: int, stop: int, frames: FrameMap) -> int:
        """Mark the frames that a read has fetched; return their decompressed size."""
        size = 0
        for first, last, content in frames.within(file, start, stop):
            self._frames[first:last] = bytes([FETCHED]) * (last - first)
            size += content
        return size

    def note_needed(self, file: str, start: int, stop: int, frames: FrameMap) -> None:
        """Mark the frames in stored bytes [start, stop) that were not fetched: they were in memory."""
        with self._lock:
            for first, last, _ in frames.within(file, start, stop):
                for number in range(first, last):
                    self._frames[number] = self._frames[number] or FROM_MEMORY

    def note_damage(self, error: SeekWarcError, frames: FrameMap | None) -> None:
        """Keep why a read failed, and mark the frame that is damaged if the error names it."""
        with self._lock:
            self.problem = str(error)
            for run in frames.runs if frames is not None else ():
                if isinstance(error, FormatError) and error.frame is not None and run.is_at(error):
                    self._frames[run.first + error.frame] = DAMAGED

    def note_asked(self, count: int) -> None:
        """Count bytes that were sent to the client."""
        with self._lock:
            self.bytes_asked += count

    @property
    def fetched(self) -> list[tuple[int, int]]:
        """The frames that were fetched, as runs [first, last)."""
        return self._runs(FETCHED)

    @property
    def from_memory(self) -> list[tuple[int, int]]:
        """The frames that were needed, and still in memory."""
        return self._runs(FROM_MEMORY)

    @property
    def damaged(self) -> list[tuple[int, int]]:
        """The frames that are damaged."""
        return self._runs(DAMAGED)

    def _runs(self, state: int) -> list[tuple[int, int]]:
        with self._lock:
            return [match.span() for match in re.finditer(b"%c+" % state, self._frames)]


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
