"""Random access to a body in chunked transfer coding.

The size of each chunk comes before it, so byte N can only be found by stepping from chunk to chunk.

Goal: a range of a large body costs stepping there once, and later ranges start near by; a body of many
million tiny chunks costs little memory and no more time than its bytes.

Plan: the body is scanned in windows of 64 KiB. The last chunk of each window is kept, if it is 4 KiB or
more after the previous one kept: the map takes at most 0.6 % of the body. A read starts from the nearest
known chunk. Whole chunks inside a window are passed, or copied, by one call of `format.chunked`, not one
by one.

Worst case: chunks of one byte, six stored bytes for each; a body whose size is not asked for is
never scanned. Whether the body is chunked at all is decided by its beginning; `format.chunked` says how.

Source: RFC 9112, section 7.1; WARC 1.1, clause 6.3.2 (the payload is the entity-body).
"""

from __future__ import annotations

import math
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Generator
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.compiling import override
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.chunked import (
    IN_DOUBT,
    MAX_CHUNK_LINE,
    MAX_TRAILER,
    ChunkedBody,
    Evidence,
    breaks_off,
    incomplete,
    judge,
    parse_chunk_line,
    problem_after,
    skip_chunks,
    take_chunks,
)
from seekwarc.format.digest import is_digest_of
from seekwarc.frames.run import ReadPlan
from seekwarc.read.extent import Extent
from seekwarc.stopping import checkpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seekwarc.read.body import RecordBody

__all__ = ["ChunkedExtent"]

WINDOW: Final = 64 << 10
"""Most bytes that are scanned for chunks at a time."""
END: Final = 1 << 62
"""A position that no body reaches."""
MIN_DISTANCE: Final = 4 << 10
"""Bytes of the body between two chunks that are kept: the map never takes more than 0.6 % of the body."""


class _Chunk(NamedTuple):
    position: int
    """Where its data begin in the payload."""
    start: int
    """Where they begin in the content."""
    size: int

    @property
    def stop(self) -> int:
        return self.start + self.size


class _Window(NamedTuple):
    data: bytes
    base: int

    def holds(self, position: int) -> bool:
        return self.base <= position < self.base + len(self.data)

    def copy(self, start: int, out: memoryview) -> int:
        """Copy what there is from `start` on, and return how many bytes that was."""
        offset = start - self.base
        if not 0 <= offset < len(self.data):
            return 0
        count = min(len(self.data) - offset, len(out))
        out[:count] = self.data[offset : offset + count]
        return count


class ChunkedExtent(Extent):
    """The data of a chunked body, up to where the chunks break off; that of any other body as it is.

    Args:
        stated: The payload digest that the record header states, if any.

    Attributes:
        trailer: What follows the last chunk, once the end was reached: trailer fields and a blank line.
    """

    __slots__ = (
        "_deviation",
        "_is_chunked",
        "_latest",
        "_lock",
        "_positions",
        "_problem",
        "_size",
        "_sizes",
        "_starts",
        "_stated",
        "_stop",
        "trailer",
    )
    _short_read = 0

    def __init__(
        self,
        body: RecordBody,
        start: int,
        stop: int,
        codings: tuple[str, ...] = (),
        *,
        truncated: bool = False,
        fields: Mapping[str, str] | None = None,
        stated: str | None = None,
    ) -> None:
        super().__init__(body, start, stop, codings, truncated=truncated, fields=fields)
        self._stop = stop
        self._stated = stated
        self._is_chunked: bool | None = None
        self.trailer = b""
        # Chunks that are known: the last in each window, so that none has to be scanned twice.
        self._positions = array("Q")
        self._starts = array("Q")
        self._sizes = array("Q")
        self._lock = threading.Lock()
        # Where the last read ended. A stream cannot be read again before that.
        self._latest: _Chunk | None = None
        self._size: int | None = None
        self._problem: str | None = None
        self._deviation: str | None = None

    @property
    def size(self) -> int:
        """See `Extent.size`: all chunks are passed, once."""
        self.look_ahead(END)
        return self._size or 0

    @property
    @override
    def known_size(self) -> int | None:
        return self._size

    def look_ahead(self, position: int, seconds: float = math.inf) -> bool:
        """See `Extent.look_ahead`. Progress is kept: the next call goes on there."""
        if self._size is None:
            until = time.monotonic() + seconds
            before: _Window | None = None
            for chunk, window in self._walk(self._farthest(), passing=position):
                if chunk.position + chunk.size >= position:
                    return True
                # The first window is always passed, so that every call gets on.
                if window is not before and window.data:
                    if before is not None and time.monotonic() > until:
                        return False
                    before = window
        return True

    def _farthest(self) -> int:
        with self._lock:
            latest = self._latest
            known = self._positions[-1] if self._positions else 0
        return max(known, latest.position if latest is not None else 0)

    @property
    def problem(self) -> str | None:
        """See `Extent.problem`: known once the end of the body was reached."""
        return self._problem

    @property
    def deviation(self) -> str | None:
        """See `Extent.deviation`: known once the beginning of the body was read."""
        return self._deviation

    def _read(self, start: int, length: int, *, verify: bool) -> bytes:
        out = bytearray(length)
        count = 0
        with memoryview(out) as view:
            # Where the file ends before the payload does, the second call raises.
            while count < length and (self._size is None or start + count < self._size):
                with view[count:] as rest:
                    count += self._read_into(start + count, rest, verify=verify)
        return bytes(out) if count == length else bytes(out[:count])

    def _read_into(self, start: int, out: memoryview, *, verify: bool) -> int:
        filled = 0
        if not start:
            self._body.begins = True
        try:
            for count in self._fill(start, out, verify=verify):
                filled += count
        except TruncatedError:
            if not filled:
                raise
        return filled

    def _fill(self, start: int, out: memoryview, *, verify: bool) -> Generator[int]:
        """Fill `out` piece by piece, and yield how many bytes each piece has."""
        filled = 0
        walk = self._walk(start)
        step = next(walk, None)
        while step is not None:
            chunk, window = step
            offset = start + filled - chunk.position
            if offset < chunk.size:
                self._latest = chunk
                count = min(chunk.size - offset, len(out) - filled)
                end = filled + count
                with out[filled:end] as target:
                    copied = window.copy(chunk.start + offset, target)
                filled += copied
                yield copied
                while filled < end:
                    begin = chunk.start + start + filled - chunk.position
                    with out[filled:end] as rest:
                        copied = self._body.read_up_to_cut(begin, rest, verify=verify)
                    filled += copied
                    yield copied
            if filled == len(out):
                break
            if chunk.position + chunk.size == start + filled:
                data, chunk = self._take(chunk, window, len(out) - filled)
                if data:
                    self._latest = chunk
                    out[filled : filled + len(data)] = data
                    filled += len(data)
                    yield len(data)
            try:
                step = walk.send(chunk)
            except StopIteration:
                break

    def _plan(self, start: int, stop: int) -> ReadPlan:
        first = last = None
        for chunk, _ in self._walk(start):
            begin, end = max(start, chunk.position), min(stop, chunk.position + chunk.size)
            if begin < end:
                first = chunk.start + begin - chunk.position if first is None else first
                last = chunk.start + end - chunk.position
            if chunk.position + chunk.size >= stop:
                break
        if first is None or last is None:
            return ReadPlan((), 0, 0)
        return self._body.plan(first, last)

    def _known(self, position: int) -> _Chunk | None:
        with self._lock:
            index = bisect_right(self._positions, position) - 1
            chunk = None
            if index >= 0:
                chunk = _Chunk(self._positions[index], self._starts[index], self._sizes[index])
            latest = self._latest
        if latest is not None and (chunk.position if chunk else -1) < latest.position <= position:
            return latest
        return chunk

    def _walk(self, position: int, *, passing: int = 0) -> Generator[tuple[_Chunk, _Window], _Chunk | None]:
        """Yield chunks, with the buffered content, from one at or before `position` on.

        Of buffered chunks that end at `position` or before, or up to a later `passing`, only the last is
        yielded, of size 0 if it is unknown. A later chunk may be sent, to go on from.
        """
        wanted = max(position, passing)
        window = _Window(b"", 0)
        chunk = self._known(position)
        if chunk is not None:
            chunk = (yield chunk, window) or chunk
        while True:
            line_start = chunk.stop if chunk else self._start
            before = window
            line, window = self._line(line_start, window, first=chunk is None)
            if chunk is None:
                self._decide(window)
                line = line if self._is_chunked else None
            if chunk is not None and window is not before:
                self._keep(chunk)
            if line is None and chunk is None and line_start < self._stop:
                chunk = _Chunk(0, self._start, self._stop - self._start)
            elif line is None or line[0] == 0:
                self._end(chunk, line_start, line[1] if line is not None else None, window)
                return
            else:
                size, start = line
                begin = chunk.position + chunk.size if chunk else 0
                chunk = _Chunk(begin, start, min(size, self._stop - start))
                if begin + size < wanted:
                    chunk = self._pass(chunk, window, wanted)
            chunk = (yield chunk, window) or chunk

    def _decide(self, window: _Window) -> None:
        """Find out whether the body is chunked."""
        size, truncated = self._stop - self._start, self._truncated
        if self._is_chunked is not None or not size:
            return
        try:
            found = judge(window.data, size)
            while isinstance(found, int):
                window = self._window(self._start, self._start + found, found)
                found = judge(window.data, size)
        except FormatError:
            # Reading finds damage when it gets there. So far a CRLF indicates chunks.
            line = parse_chunk_line(window.data, 0, first=True)
            is_strict = line is not None and window.data[: line[1]].endswith(b"\r\n")
            self._note_reading(is_chunked=is_strict, in_doubt=False)
            return
        stated = self._stated
        if stated is not None and found.takes_digest(size, breaks_off=True, truncated=truncated):
            data = self._window(self._start, self._stop, size).data
            if found.takes_digest(size, breaks_off=breaks_off(data), truncated=truncated):
                as_stored = is_digest_of(stated, [data])
                if as_stored or is_digest_of(stated, ChunkedBody().feed(data)):
                    self._note_reading(is_chunked=not as_stored, in_doubt=False)
                    return
        is_chunked = found.is_chunked(truncated=truncated)
        self._note_reading(is_chunked=is_chunked, in_doubt=found is Evidence.CUT)

    def _note_reading(self, *, is_chunked: bool, in_doubt: bool) -> None:
        if not is_chunked:
            self._deviation = "the body is not chunked, though its head says so"
            if in_doubt:
                self._problem = IN_DOUBT
        self._is_chunked = is_chunked

    def _pass(self, chunk: _Chunk, window: _Window, wanted: int) -> _Chunk:
        """Pass chunks after one that ends before a position, as far as they are in a window."""
        if not window.holds(chunk.stop):
            return chunk
        end = chunk.position + chunk.size
        passed, last, stop = skip_chunks(window.data, chunk.stop - window.base, wanted - end)
        return _Chunk(end + passed - last, window.base + stop - last, last) if passed else chunk

    def _take(self, chunk: _Chunk, window: _Window, most: int) -> tuple[bytes, _Chunk]:
        """Return the data of the chunks that follow one in a window, and the last of them."""
        if not window.holds(chunk.stop):
            return b"", chunk
        data, last, stop = take_chunks(window.data, chunk.stop - window.base, most)
        if not data:
            return data, chunk
        end = chunk.position + chunk.size + len(data)
        return data, _Chunk(end - last, window.base + stop - last, last)

    def _line(self, start: int, window: _Window, *, first: bool) -> tuple[tuple[int, int] | None, _Window]:
        if not window.holds(start):
            window = self._window(start, start + WINDOW)
        line = parse_chunk_line(window.data, start - window.base, first=first)
        end = window.base + len(window.data)
        if line is None and end < min(start + MAX_CHUNK_LINE, self._stop):
            # The line may go on after what cost nothing more.
            window = self._window(start, start + MAX_CHUNK_LINE, MAX_CHUNK_LINE)
            line = parse_chunk_line(window.data, 0, first=first)
        return (line[0], line[1] + window.base) if line else None, window

    def _window(self, start: int, stop: int, least: int = 1) -> _Window:
        checkpoint()
        stop = min(stop, self._stop)
        return _Window(self._body.read_some(start, stop, least) if start < stop else b"", start)

    def _keep(self, chunk: _Chunk) -> None:
        with self._lock:
            if not self._starts or chunk.start - self._starts[-1] >= MIN_DISTANCE:
                self._positions.append(chunk.position)
                self._starts.append(chunk.start)
                self._sizes.append(chunk.size)

    def _end(self, chunk: _Chunk | None, line_start: int, trailer: int | None, window: _Window) -> None:
        if trailer is not None:
            self._problem = self._problem_after(trailer, window)
        elif self._is_chunked:
            self._problem = incomplete(self._stop - line_start)
        if self._stop - line_start <= WINDOW:
            # A damaged chunk line may end the body before a read comes near the end of the record.
            self._body.check_end(self._stop)
        self._size = self._length = chunk.position + chunk.size if chunk else 0

    def _problem_after(self, start: int, window: _Window) -> str | None:
        """Look at what follows the last chunk, and say what is wrong with it."""
        size = self._stop - start
        if size <= MAX_TRAILER and not (window.holds(start) and window.holds(self._stop - 1)):
            try:
                window = self._window(start, self._stop, size)
            except TruncatedError:
                return "the file ends after the last chunk"
        rest = window.data[start - window.base :]
        problem = problem_after(rest, size)
        self.trailer = rest if problem is None else b""
        return problem
