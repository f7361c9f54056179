"""A source as an archive reads it: requests are joined, several are in flight at a time, each is counted.

Everything that reads stored bytes goes through a `Fetcher`: one range (`read`), many ranges in order
(`fetch`), or a few that will be needed soon (`prefetch`).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from seekwarc.compiling import Buffer, override
from seekwarc.errors import SourceError
from seekwarc.storage.plan import Request, plan_requests
from seekwarc.storage.source import RangeReadable, RangeSource, SmallReads, SourceWrapper, Stats, as_source

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from seekwarc.storage.diskcache import DiskCache

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
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._closed = False
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
            yield from self._side_by_side(requests)
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
            found.append(last.result())
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

    def has(self, start: int, stop: int) -> bool:
        """Return whether a range is prefetched."""
        return any(begin <= start and stop <= begin + len(data) for begin, data in self._prefetched)

    def _side_by_side(self, requests: Iterator[Request]) -> Iterator[tuple[Request, bytes]]:
        """Fetch several requests at a time and yield their bytes in order.

        `waiting` is a sliding window of requests: it is filled until as many are in flight as the policy
        allows, or until their sizes add up to `MAX_WAITING`, and then the oldest is yielded. So memory is
        bounded, whatever the number of ranges. A request that enters an empty window is not given to the
        pool, since this thread would only wait for it: it reads that one itself. A single range thus costs
        no change of thread. If the caller stops early, requests that have not begun are cancelled.
        """
        waiting: deque[tuple[Request, Future[bytes] | None]] = deque()
        size = 0

        def take() -> tuple[Request, bytes]:
            request, answer = waiting.popleft()
            data = answer.result() if answer else self.read(request.start, request.stop)
            return request, data

        try:
            for request in requests:
                answer = self.submit(self.read, request.start, request.stop) if waiting else None
                waiting.append((request, answer))
                size += request.stop - request.start
                while waiting and (len(waiting) >= self.policy.in_flight or size >= MAX_WAITING):
                    size -= waiting[0][0].stop - waiting[0][0].start
                    yield take()
            while waiting:
                yield take()
        finally:
            for _, answer in waiting:
                if answer is not None:
                    answer.cancel()

    def submit(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Run `work` in one of the threads that wait for answers."""
        with self._lock:
            if self._closed:
                raise SourceError("the archive is closed", source=self.name)
            if self._pool is None or self._process != os.getpid():
                # A forked child has no threads of its parent's pool, and would wait for them for ever.
                self._process = os.getpid()
                from concurrent.futures import ThreadPoolExecutor

                self._pool = ThreadPoolExecutor(self.policy.in_flight, "seekwarc-fetch")
            # Context variables apply to the work that is done on behalf of their context, in any thread.
            return self._pool.submit(copy_context().run, partial(work, *args, **kwargs))

    def close(self) -> None:
        """Stop the threads and close the source, without waiting for requests in flight."""
        with self._lock:
            self._closed = True
            self._prefetched = ()
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
        self._source.close()
