"""A source as an archive reads it: requests joined, several under way at a time, each of them counted.

Everything that reads stored bytes goes through a `Fetcher`: one range (`read`), many ranges in order
(`fetch`), or a few that are going to be needed (`prefetch`).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from seekwarc.errors import SourceError
from seekwarc.format.zstd import Buffer
from seekwarc.storage.opening import as_source
from seekwarc.storage.plan import Request, plan_requests
from seekwarc.storage.source import RangeReadable, RangeSource, SmallReads, Stats

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from seekwarc.storage.diskcache import DiskCache

__all__ = ["Fetcher"]

TAIL: Final = 64 << 10
"""What is read at the end of an object to learn its size: what formats keep there comes along."""
MAX_PREFETCHED: Final = 8 << 20
"""Bytes kept of earlier calls of `prefetch`."""
MAX_WAITING: Final = 64 << 20
"""Bytes that have come, or are coming, and were not taken yet; one larger request excepted."""


_P = ParamSpec("_P")
_T = TypeVar("_T")


class Fetcher(RangeSource):
    """Reads one source, by its policy. May be used from any thread.

    Args:
        source: The source.
        stats: Counts the requests, and the bytes that they returned.
        disk: Keeps what comes from a remote object for the next time.

    Attributes:
        stats: See above.
    """

    def __init__(self, source: RangeReadable, stats: Stats, *, disk: DiskCache | None = None) -> None:
        self._source = as_source(source)
        self.stats = stats
        self._disk = disk
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._closed = False
        # Replaced, never changed, so that looking through it takes no lock.
        self._prefetched: tuple[tuple[int, bytes], ...] = ()
        self._size: int | None = None
        self.name = source.name
        self.policy = self._source.policy

    def __getstate__(self) -> tuple[RangeSource, DiskCache | None]:
        return self._source, self._disk

    def __setstate__(self, state: tuple[RangeSource, DiskCache | None]) -> None:
        # A copy counts for itself, and shares neither threads nor bytes at hand.
        source, disk = state
        Fetcher.__init__(self, source, Stats(), disk=disk)

    @property
    def is_pipe(self) -> bool:
        """See `RangeSource.is_pipe`."""
        return self._source.is_pipe

    @property
    def is_far(self) -> bool:
        """Whether each answer takes a while, so that many small reads in a row do."""
        return self.policy.in_flight > 1

    @property
    def size(self) -> int | None:  # type: ignore[override]  # found out by the first request
        """See `RangeSource.size`. Of a remote object that was not read yet, this reads the end."""
        if self.known_size is None and not self.is_pipe:
            self.prefetch((), end=True)
        return self._source.size

    @property
    def known_size(self) -> int | None:
        """See `RangeSource.known_size`."""
        # Once known it stays: this is part of every read.
        if self._size is None:
            self._size = self._source.known_size
        return self._size

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`."""
        size = self.known_size
        if size is not None and stop > size:
            stop = size
            if start >= stop:
                return b""
        for begin, data in self._prefetched:
            if begin <= start and stop <= begin + len(data):
                return data[start - begin : stop - begin]
        if self._disk is not None and size is not None and (identity := self._source.identity) is not None:
            return self._disk.read(identity, start, stop, self._request, size=size)
        return self._request(start, stop)

    def small_reads(self) -> SmallReads:
        """See `RangeSource.small_reads`; these are counted by `count_small`."""
        return self._source.small_reads()

    def count_small(self, reads: int, fetched: int) -> None:
        """Count such reads, once they have been made.

        Args:
            reads: How many they were.
            fetched: Bytes that they returned.
        """
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
        """Read many ranges, as few requests.

        Args:
            wanted: Ranges [start, stop), by ascending start.
            gap: Bytes between two ranges that are read along, if not as many as by the policy.
            in_flight: Requests at a time, if not as many as the policy allows.
            room: Returns a buffer of that size to read into, or None. What is in it must not be needed any
                more when the next request is taken.

        Yields:
            Each request and its bytes, in order; fewer bytes only where the source ends.
        """
        gap = self.policy.gap if gap is None else gap
        requests = plan_requests(wanted, gap=gap, most=self.policy.most)
        if (in_flight or self.policy.in_flight) > 1:
            yield from self._side_by_side(requests)
        else:
            for request in requests:
                yield request, self._read_into(request, room) or self.read(request.start, request.stop)

    def _read_into(self, request: Request, room: Callable[[int], memoryview | None]) -> memoryview | None:
        out = room(request.stop - request.start)
        if out is None:
            return None
        count = self._source.read_into(request.start, out)
        self._count(count)
        return out[:count]

    def prefetch(self, wanted: Iterable[tuple[int, int]], *, end: bool = False) -> None:
        """Read ranges side by side, in one round trip, and keep them for the reads that follow.

        Args:
            wanted: Ranges [start, stop).
            end: The last 64 KiB are wanted too. They can be read before the size is known.
        """
        size = self.known_size
        last = None
        ranges = list(wanted)
        if end and size is not None:
            ranges.append((max(size - TAIL, 0), size))
        elif end and not self.is_pipe:
            last = self.submit(self._read_end)
        if size is not None:
            ranges = [(start, min(stop, size)) for start, stop in ranges if start < size]
        ranges = [one for one in ranges if not self._has(*one)]
        # What lies between them is not read along: they come side by side anyway.
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

    def _has(self, start: int, stop: int) -> bool:
        return any(begin <= start and stop <= begin + len(data) for begin, data in self._prefetched)

    def _read_end(self) -> tuple[int, bytes]:
        start, data = self._source.read_end(TAIL)
        self._count(len(data))
        return start, data

    def _request(self, start: int, stop: int) -> bytes:
        data = self._source.read(start, stop)
        self._count(len(data))
        return data

    def _count(self, size: int) -> None:
        with self._lock:
            self.stats.requests += 1
            self.stats.bytes_fetched += size

    def _side_by_side(self, requests: Iterator[Request]) -> Iterator[tuple[Request, bytes]]:
        """Read some before they are taken, and yield them in order."""
        # The one that is taken next is read by this thread, if no other has begun to.
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
        """Have something done in one of the threads that wait for answers."""
        with self._lock:
            if self._closed:
                raise SourceError("the archive is closed", source=self.name)
            if self._pool is None or self._process != os.getpid():
                # The threads of a pool are not there in a forked child, which would wait for them for ever.
                self._process = os.getpid()
                # Imported here: a local file needs no threads, and this takes milliseconds.
                from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

                self._pool = ThreadPoolExecutor(self.policy.in_flight, "seekwarc-fetch")
            # What is set for this piece of work, such as who pays for it, holds in that thread too.
            return self._pool.submit(copy_context().run, partial(work, *args, **kwargs))

    def close(self) -> None:
        """Stop the threads and close the source. What is under way is not waited for."""
        with self._lock:
            self._closed = True
            self._prefetched = ()
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
        self._source.close()
