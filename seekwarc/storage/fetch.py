"""A source as an archive reads it: requests joined, several under way at a time, each of them counted.

Everything that reads stored bytes goes through a `Fetcher`: one range (`read`), many ranges in order
(`fetch`), or a few that are going to be needed (`keep`).
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
from seekwarc.storage.plan import Request, plan_requests
from seekwarc.storage.source import (
    RangeSource,
    RemoteObject,
    SmallReads,
    Stats,
    as_buffered,
    as_remote,
    policy_of,
)

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from seekwarc.storage.diskcache import DiskCache

__all__ = ["Fetcher"]

TAIL: Final = 64 << 10
"""What is read at the end of a file: most tables are no longer."""
MOST_KEPT: Final = 8 << 20
"""Bytes that are kept of earlier calls of `keep`."""
MOST_WAITING: Final = 64 << 20
"""Bytes that have come, or are coming, and that nobody has taken yet; one larger request excepted."""


_P = ParamSpec("_P")
_T = TypeVar("_T")


class Fetcher:
    """Reads one source, by its policy. May be used from any thread, and as a `RangeSource`.

    Args:
        source: The source.
        stats: Counts the requests, and the bytes that they returned.
        disk: Keeps what comes from a remote object for the next time.

    Attributes:
        stats: See above.
    """

    def __init__(self, source: RangeSource, stats: Stats, *, disk: DiskCache | None = None) -> None:
        self._source = source
        self.stats = stats
        self._remote = as_remote(source)
        self._buffered = as_buffered(source)
        self._disk = disk
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._closed = False
        # Replaced, never changed: whoever looks through it needs no lock.
        self._kept: tuple[tuple[int, bytes], ...] = ()
        self.name = source.name
        self.policy = policy_of(source)

    def __getstate__(self) -> tuple[RangeSource, DiskCache | None]:
        return self._source, self._disk

    def __setstate__(self, state: tuple[RangeSource, DiskCache | None]) -> None:
        # A copy counts for itself, and shares neither threads nor bytes at hand.
        source, disk = state
        Fetcher.__init__(self, source, Stats(), disk=disk)

    @property
    def is_pipe(self) -> bool:
        """Whether the source can be read once only, in order."""
        return self._remote is None and self._source.size is None

    @property
    def is_far(self) -> bool:
        """Whether each answer takes a while, so that many small reads in a row do."""
        return self.policy.in_flight > 1

    @property
    def size(self) -> int | None:
        """See `RangeSource.size`. Of a remote object nothing was read of yet, this reads the end."""
        if self._remote is not None and self._remote.known_size is None:
            self.keep((), end=True)
        return self._source.size

    @property
    def _known_size(self) -> int | None:
        return self._source.size if self._remote is None else self._remote.known_size

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`."""
        size = self._known_size
        if size is not None and stop > size:
            stop = size
            if start >= stop:
                return b""
        for begin, data in self._kept:
            if begin <= start and stop <= begin + len(data):
                return data[start - begin : stop - begin]
        identity = self._remote.identity if self._remote is not None else None
        if self._disk is not None and identity is not None and size is not None:
            return self._disk.read(identity, start, stop, self._request, size=size)
        return self._request(start, stop)

    def small_reads(self) -> SmallReads:
        """Return what makes very many small reads in a row the quickest way; see `count_small`."""
        quick: Callable[[], SmallReads] | None = getattr(self._source, "small_reads", None)
        if quick is not None:
            return quick()
        return SmallReads(lambda size, start: self._source.read(start, start + size), None)

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
        out = room(request.stop - request.start) if self._buffered is not None else None
        if self._buffered is None or out is None:
            return None
        count = self._buffered.read_into(request.start, out)
        self._count(count)
        return out[:count]

    def keep(self, wanted: Iterable[tuple[int, int]], *, end: bool = False) -> None:
        """Read ranges side by side, in one round trip, and keep them for the reads that follow.

        Args:
            wanted: Ranges [start, stop).
            end: The last 64 KiB are wanted too. They can be had before the size is known.
        """
        size = self._known_size
        last = None
        ranges = list(wanted)
        if end and size is not None:
            ranges.append((max(size - TAIL, 0), size))
        elif end and self._remote is not None:
            last = self.submit(self._read_end, self._remote)
        if size is not None:
            ranges = [(start, min(stop, size)) for start, stop in ranges if start < size]
        ranges = [one for one in ranges if not self._has(*one)]
        # What lies between them is not read along: they come side by side anyway.
        found = [(request.start, bytes(data)) for request, data in self.fetch(sorted(ranges), gap=0)]
        if last is not None:
            found.append(last.result())
        with self._lock:
            room = MOST_KEPT
            for begin, data in self._kept:
                room -= len(data)
                if room >= 0:
                    found.append((begin, data))
            self._kept = tuple(found)

    def _has(self, start: int, stop: int) -> bool:
        return any(begin <= start and stop <= begin + len(data) for begin, data in self._kept)

    def _read_end(self, remote: RemoteObject) -> tuple[int, bytes]:
        start, data = remote.read_end(TAIL)
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
        """Read some ahead of whoever takes them, and hand them out in order."""
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
                while waiting and (len(waiting) >= self.policy.in_flight or size >= MOST_WAITING):
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
            # Whoever counts what is read for whom is known there too.
            return self._pool.submit(copy_context().run, partial(work, *args, **kwargs))

    def close(self) -> None:
        """Stop the threads and close the source. What is under way is not waited for."""
        with self._lock:
            self._closed = True
            self._kept = ()
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
        self._source.close()
