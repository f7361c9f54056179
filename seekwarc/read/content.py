"""Where the decompressed bytes of one record come from.

Positions are counted from the first byte of the record header. Three sources answer the same questions:
a `FrameRun` (frames that can be reached by range), `PlainContent` (no compression) and `StreamContent`
(everything that has to be decompressed from its beginning).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol

from seekwarc.errors import TruncatedError
from seekwarc.format.seektable import SeekTable
from seekwarc.frames.run import ReadPlan
from seekwarc.frames.scan import Window
from seekwarc.frames.stream import ContentStream
from seekwarc.storage.source import RangeSource, policy_of

__all__ = ["Content", "PlainContent", "StreamContent"]

CHEAP_READ: Final = 4 << 10


class Content(Protocol):
    """The decompressed bytes of a record, by range."""

    @property
    def table(self) -> SeekTable | None:
        """The frames, where they can be reached by range."""

    @property
    def in_one_piece(self) -> bool:
        """Whether it is small and always decoded as a whole, so that `peek` does for every read."""

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        """Fill `out` from `start` on; the caller has checked that the record is that long."""

    def plan(self, start: int, stop: int) -> ReadPlan:
        """Tell what reading [start, stop) costs."""

    def peek(self, start: int, stop: int) -> bytes:
        """Return [start, stop) and keep it readable even where nothing can be read twice."""

    def cheap_stop(self, start: int) -> int:
        """Return a position after `start` up to which reading costs no more than one byte does."""


class PlainContent:
    """A record of a file that is not compressed.

    Args:
        source: The file.
        offset: Offset of the record.
        window: A window of nobody else that has the record's beginning.
    """

    table: SeekTable | None = None
    in_one_piece = False

    def __init__(self, source: RangeSource, offset: int, window: Window | None = None) -> None:
        self._source = source
        self._offset = offset
        # Chunks are read in small steps, which must not be a request each.
        self._window = window or Window(source)
        self._lock = threading.Lock()

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:  # noqa: ARG002
        """See `Content.read_into`; there is nothing to verify."""
        first = self._offset + start
        stop = first + len(out)
        with self._lock:
            if self._window.leads_to(first, stop):
                self._fill(out, self._window.take(first, len(out)))
                return
        step = policy_of(self._source).most
        for begin in range(first, stop, step):
            end = min(begin + step, stop)
            with out[begin - first : end - first] as part:
                self._fill(part, self._source.read(begin, end))

    def _fill(self, out: memoryview, data: bytes) -> None:
        if len(data) < len(out):
            raise _cut(self._source, self._offset)
        out[:] = data

    def peek(self, start: int, stop: int) -> bytes:
        """See `Content.peek`."""
        with self._lock:
            data = self._window.take(self._offset + start, stop - start)
        if len(data) < stop - start:
            raise _cut(self._source, self._offset)
        return data

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `Content.plan`."""
        if stop <= start:
            return ReadPlan((), 0, 0)
        return ReadPlan(((self._offset + start, self._offset + stop),), 0, 0)

    def cheap_stop(self, start: int) -> int:
        """See `Content.cheap_stop`: no further than the file goes, which may be cut."""
        end = (self._source.size or 0) - self._offset
        return max(min(start + CHEAP_READ, end), start + 1)


class StreamContent:
    """A record that can only be decompressed from its beginning.

    Reads that go forward go on where the last one ended; a read that goes back begins anew.

    Args:
        source: The file.
        offset: Offset of the unit that the record begins in.
        skip: Content bytes of that unit in front of the record.
        reopen: Makes a new stream of the file's content from `offset` on.
        live: The stream that an iteration reads the file with, used as long as it has not gone by.
        live_position: Position in `live` at which the record begins.
    """

    table: SeekTable | None = None
    in_one_piece = False

    def __init__(
        self,
        source: RangeSource,
        offset: int,
        skip: int,
        reopen: Callable[[], ContentStream],
        *,
        live: ContentStream,
        live_position: int,
    ) -> None:
        self._source = source
        self._offset = offset
        self._skip = skip
        self._reopen = reopen
        self._stream = live
        self._base = live_position
        self._lock = threading.Lock()

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:  # noqa: ARG002
        """See `Content.read_into`; what is decompressed to its end is always verified."""
        with self._lock:
            filled = self._stream.read_at(self._base + start, out)
            if filled is None:
                self._begin_anew()
                filled = self._stream.read_at(self._base + start, out)
        if filled != len(out):
            raise _cut(self._source, self._offset)

    def peek(self, start: int, stop: int) -> bytes:
        """See `Content.peek`."""
        with self._lock:
            data = self._stream.peek_at(self._base + start, stop - start)
            if data is None:
                self._begin_anew()
                data = self._stream.peek_at(self._base + start, stop - start)
        if data is None or len(data) < stop - start:
            raise _cut(self._source, self._offset)
        return data

    def _begin_anew(self) -> None:
        self._stream = self._reopen()
        self._base = self._skip

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `Content.plan`: at the most, everything from the record's beginning on."""
        if stop <= start:
            return ReadPlan((), 0, 0)
        end = self._source.size
        return ReadPlan(((self._offset, end or self._offset),), self._skip + stop, 0)

    def cheap_stop(self, start: int) -> int:
        """See `Content.cheap_stop`."""
        return start + CHEAP_READ


def _cut(source: RangeSource, offset: int) -> TruncatedError:
    return TruncatedError("the file ends inside this record", source=source.name, offset=offset)
