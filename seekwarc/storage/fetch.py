"""A source as an archive reads it: requests are joined, several are in flight at a time, each is counted.

Everything that reads stored bytes goes through a `Fetcher`: one range (`read`), many ranges in order
(`fetch`), or a few that will be needed soon (`prefetch`).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from seekwarc.compiling import Buffer, override
from seekwarc.errors import SourceError
from seekwarc.storage.plan import Request, plan_requests
from seekwarc.storage.source import (
    RangeReadable,
    RangeSource,
    SmallReads,
    SourceWrapper,
    Stats,
    as_source,
    closed_error,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

    from seekwarc.storage.diskcache import DiskCache
    from seekwarc.storage.tasks import Tasks

__all__ = ["Fetcher"]

TAIL: Final = 64 << 10
"""Size of the read at the end of an object that finds out its size; formats keep their tables there."""
MAX_PREFETCHED: Final = 8 << 20
"""Bytes that are kept of earlier calls of `prefetch`."""
MAX_BATCH: Final = MAX_PREFETCHED // 2
"""Bytes that are prefetched at a time of ranges that are read one after the other."""
MAX_WAITING: Final = 64 << 20
"""Bytes that are fetched, or being fetched, and were not taken yet. A single request may be larger."""


_P = ParamSpec("_P")
_T = TypeVar("_T")


class Fetcher(SourceWrapper):
    """Reads one source, by its policy, and counts what that costs. May be used from any thread."""

    def __init__(
        self, source: RangeReadable, stats: Stats | None = None, *, disk: DiskCache | None = None
    ) -> None:
        super().__init__(as_source(source))
        self.stats = stats if stats is not None else Stats()
        self._disk = disk
        self._lock = threading.Lock()
        self._process = 0
        self._closed = False
        self._tasks: Tasks | None = None
        # Replaced as a whole, never changed, so that reads can search it without a lock.
        self._prefetched: tuple[tuple[int, bytes], ...] = ()
        self._size: int | None = None

    def __getstate__(self) -> tuple[RangeSource, DiskCache | None]:
        return self._source, self._disk

    def __setstate__(self, state: tuple[RangeSource, DiskCache | None]) -> None:
        # A copy has counters of its own, and shares neither threads nor prefetched bytes.
        source, disk = state
        Fetcher.__init__(self, source, disk=disk)

    @override
    def on_read(self, start: int, stop: int) -> None:
        self.count(stop - start)

    @property
    def size(self) -> int | None:  # type: ignore[override]  # found out by the first request
        """See `RangeSource.size`. If the size is unknown, this reads the end of the object and keeps it."""
        if self._size is None and self.known_size is None and not self.is_pipe:
            self.prefetch((), end=True)
        return self._size if self._size is not None else self._source.size

    @property
    @override
    def known_size(self) -> int | None:
        # The size never changes once it is known, and every read needs it.
        if self._size is None:
            self._size = self._source.known_size
        return self._size

    @override
    def read(self, start: int, stop: int) -> bytes:
        size = self._size
        if size is None:
            size = self.known_size
        if size is not None and stop > size:
            stop = size
            if start >= stop:
                return b""
        for begin, data in self._prefetched:
            if begin <= start and stop <= begin + len(data):
                return data[start - begin : stop - begin]
        if self._disk is not None and size is not None and (identity := self._source.identity) is not None:
            return self._disk.read(identity, start, stop, super().read, size=size)
        data = self._source.read(start, stop)
        self.count(len(data))
        return data

    def small_reads(self) -> SmallReads:
        """See `RangeSource.small_reads`. The caller counts these reads with `count`."""
        return self._source.small_reads()

    def count(self, fetched: int, reads: int = 1) -> None:
        """Count reads of the source that were made."""
        with self._lock:
            self.stats.requests += reads
            self.stats.bytes_fetched += fetched

    def fetch(
        self,
        wanted: Iterable[tuple[int, int]],
        *,
        gap: int | None = None,
        in_flight: int | None = None,
        room: Callable[[int], memoryview | None] = lambda _: None,
    ) -> Iterator[tuple[Request, Buffer]]:
        """Read many ranges, by ascending start, with few requests.

        `gap` and `in_flight` are those of the source's policy unless given. `room` returns a buffer of a
        given size to read into, or None; it is used again for the next request.

        Yields:
            Each request and its bytes, in order; fewer bytes only if the source ends.
        """
        gap = self.policy.gap if gap is None else gap
        requests = plan_requests(wanted, gap=gap, max_size=self.policy.max_request)
        if (in_flight or self.policy.in_flight) > 1:
            yield from self._side_by_side(
                requests, lambda it, _: self._read_far(it.start, it.stop), MAX_WAITING
            )
        else:
            for request in requests:
                start, stop, _ = request
                out = None if self.has(start, stop) else room(stop - start)
                yield request, self.read(start, stop) if out is None else out[: self.read_into(start, out)]

    def prefetch(self, wanted: Iterable[tuple[int, int]], *, end: bool = False) -> None:
        """Fetch ranges in one round trip, and the last 64 KiB if `end`, and keep them for later reads."""
        size = self.known_size
        last = None
        ranges = list(wanted)
        if end and size is not None:
            ranges.append((max(size - TAIL, 0), size))
        elif end and not self.is_pipe:
            last = self.submit(self.read_end, TAIL)
        if size is not None:
            ranges = [(start, min(stop, size)) for start, stop in ranges if start < size]
        ranges = [one for one in ranges if not self.has(*one)]
        # Reading the gaps would save nothing: the requests are in flight at the same time.
        found = [(request.start, bytes(data)) for request, data in self.fetch(sorted(ranges), gap=0)]
        if last is not None:
            found.append(self._beside().result(last))
        with self._lock:
            room = MAX_PREFETCHED
            for begin, data in self._prefetched:
                room -= len(data)
                if room >= 0:
                    found.append((begin, data))
            self._prefetched = tuple(found)

    def in_batches(self, wanted: Iterable[tuple[int, int]], *, gap: int | None = None) -> Iterator[int]:
        """Prefetch ranges, by ascending start, some at a time; a source that is near needs none of it.

        `gap` is that of the source's policy unless given.

        Yields:
            How many more of the ranges are prefetched. They are kept until the next batch is asked for.
        """
        if not self.policy.is_far:
            yield sum(1 for _ in wanted)
            return
        batch: list[tuple[int, int]] = []
        size = count = 0
        gap = self.policy.gap if gap is None else gap
        for request in plan_requests(wanted, gap=gap, max_size=MAX_BATCH // 2):
            if batch and size + request.stop - request.start > MAX_BATCH:
                self.prefetch(batch)
                yield count
                batch, size, count = [], 0, 0
            batch.append((request.start, request.stop))
            size += request.stop - request.start
            count += request.ranges
        if batch:
            self.prefetch(batch)
            yield count

    def use_each(self, wanted: Iterable[tuple[int, int]], use: Callable[[int, int], _T]) -> Iterator[_T]:
        """Fetch many ranges and use each as its bytes come; see `Reader.use_each`.

        A source that is near is read by `use` alone.
        """
        requests = plan_requests(wanted, gap=self.policy.gap, max_size=MAX_BATCH // 2)
        if self.policy.is_far:
            do = partial(self._read_and_use, use)
            yield from (found for _, found in self._side_by_side(requests, do, MAX_PREFETCHED))
            return
        first = 0
        for request in requests:
            yield use(first, first + request.ranges)
            first += request.ranges

    def has(self, start: int, stop: int) -> bool:
        """Return whether a range is prefetched."""
        return any(begin <= start and stop <= begin + len(data) for begin, data in self._prefetched)

    def _side_by_side(
        self, requests: Iterator[Request], do: Callable[[Request, int], _T], most: int
    ) -> Iterator[tuple[Request, _T]]:
        """Do several requests at a time and yield what comes of them, in order.

        `do` is called with a request and the number of its first range.

        `waiting` is a sliding window of requests: it is filled until as many are in flight as the policy
        allows, or until their sizes add up to `most`, and then the oldest is yielded. So memory is bounded,
        whatever the number of ranges. A request that enters an empty window is not given to another thread,
        since this one would only wait for it: it does that one itself. A single range thus costs no change
        of thread. If the caller stops early, what has not begun is cancelled.
        """
        waiting: deque[tuple[Request, int, Future[_T] | None]] = deque()
        size = first = 0

        def take() -> tuple[Request, _T]:
            request, number, answer = waiting.popleft()
            return request, self._beside().result(answer) if answer else do(request, number)

        try:
            for request in requests:
                waiting.append((request, first, self.submit(do, request, first) if waiting else None))
                first += request.ranges
                size += request.stop - request.start
                while waiting and (len(waiting) >= self.policy.in_flight or size >= most):
                    size -= waiting[0][0].stop - waiting[0][0].start
                    yield take()
            while waiting:
                yield take()
        finally:
            for _, _, answer in waiting:
                if answer is not None:
                    answer.cancel()

    def _read_far(self, start: int, stop: int) -> bytes:
        """Read in the thread that it is called from if that one may be left alone with it."""
        from seekwarc.storage.tasks import REQUESTS

        return REQUESTS.blocking(self.read, start, stop)

    def _read_and_use(self, use: Callable[[int, int], _T], request: Request, first: int) -> _T:
        piece = None
        # Where a request fails, each range has an error of its own, or none where the next succeeds.
        with suppress(SourceError):
            piece = request.start, self._read_far(request.start, request.stop)
        with self._lock:
            if self._closed:
                raise closed_error(self.name)
            if piece is not None:
                self._prefetched = (piece, *self._prefetched)
        try:
            return use(first, first + request.ranges)
        finally:
            with self._lock:
                self._prefetched = tuple(it for it in self._prefetched if it is not piece)

    def submit(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Run `work` in one of the threads that wait for answers; see `Tasks`."""
        return self._beside().submit(work, *args, **kwargs)

    def _beside(self) -> Tasks:
        with self._lock:
            if self._closed:
                raise closed_error(self.name)
            if self._tasks is None or self._process != os.getpid():
                # A forked child has no threads of its parent's, and would wait for them for ever.
                self._process = os.getpid()
                from seekwarc.storage.tasks import Tasks

                self._tasks = Tasks(self.name, self.policy.in_flight)
            return self._tasks

    def close(self) -> None:
        """Stop the threads and close the source, without waiting for requests in flight."""
        with self._lock:
            self._closed = True
            self._prefetched = ()
        if self._tasks is not None:
            self._tasks.close()
        self._source.close()
