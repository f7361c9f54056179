"""Work done before its results are asked for: which frames to fetch, and items made in another thread.

`PrefetchWindow` is for ranges of a remote file: a reader that goes forward finds its next frames fetched, one
that jumps has nothing fetched in vain. `Prefetcher` is for iteration: a thread makes items a little ahead of
the caller. It hands them over in batches, since each handover costs as much as decoding a small frame, and
waits when a bounded number of bytes lies ready. An error is raised where the item would have come.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from typing import Final, Generic, NamedTuple, TypeVar

__all__ = ["PrefetchWindow", "Prefetcher"]

MAX_BATCHES: Final = 8
MAX_ITEMS: Final = 256
BATCH_WEIGHT: Final = 256 << 10
POLL_INTERVAL: Final = 0.1
"""Seconds between two checks whether the results are still wanted."""

_T = TypeVar("_T")


class PrefetchWindow:
    """Decides how many frames to prefetch: none, then twice as many with each sequential read."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._ahead = 0
        self._stop: int | None = None
        """Number of the frame after those that were read last."""
        self._asked = 0
        """Number of the frame after those that were returned last."""

    def note(self, first: int, stop: int) -> range:
        """Note that frames [first, stop) are read, and return the frames to fetch besides."""
        if not self._limit:
            return range(0)
        with self._lock:
            previous, self._stop = self._stop, stop
            if previous is None or first not in (previous - 1, previous):
                self._ahead, self._asked = 0, stop
                return range(0)
            if stop <= previous:
                return range(0)
            self._asked = max(self._asked, stop)
            # Asked for in halves: not for one more frame each time one was used.
            if self._ahead and 2 * (self._asked - stop) > self._ahead:
                return range(0)
            self._ahead = min(max(2 * self._ahead, 1), self._limit)
            begin, self._asked = self._asked, stop + self._ahead
            return range(begin, self._asked)


class Prefetcher(Generic[_T]):
    """Iterates in its own thread, a little ahead; errors come in order. Close it if it is not exhausted."""

    def __init__(self, items: Iterator[_T], weigh: Callable[[_T], int]) -> None:
        self._items = items
        self._weigh = weigh
        # Items are handed over many at a time: each time costs as much as decoding a small frame.
        self._queue: Queue[_Batch[_T]] = Queue(MAX_BATCHES)
        self._batch: Iterator[_T] = iter(())
        self._error: Exception | None = None
        self._unwanted = threading.Event()
        self._done = False
        self._thread = threading.Thread(target=self._work, name="seekwarc-ahead", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            # Ctrl-C while it starts: no caller has this object yet, to close it.
            self.close()
            raise

    def _work(self) -> None:
        if self._unwanted.is_set():
            return  # It was closed before it had started.
        batch: list[_T] = []
        weight = 0
        error = None
        try:
            for item in self._items:
                batch.append(item)
                weight += self._weigh(item)
                if weight >= BATCH_WEIGHT or len(batch) == MAX_ITEMS:
                    if not self._put(_Batch(batch, None, is_last=False)):
                        return
                    batch, weight = [], 0
        except Exception as failure:  # noqa: BLE001 - whatever it is, it is raised where it belongs
            error = failure
        self._put(_Batch(batch, error, is_last=True))

    def _put(self, batch: _Batch[_T]) -> bool:
        while not self._unwanted.is_set():
            try:
                self._queue.put(batch, timeout=POLL_INTERVAL)
            except Full:
                continue
            return True
        return False

    def __iter__(self) -> Iterator[_T]:
        while True:
            yield from self._batch
            if self._done:
                if self._error is not None:
                    raise self._error
                return
            batch = self._queue.get()
            self._batch = iter(batch.items)
            self._done = batch.is_last
            self._error = batch.error

    def close(self) -> None:
        """Stop the thread. Idempotent."""
        self._done = True
        self._unwanted.set()
        while self._thread.is_alive():
            try:
                self._queue.get_nowait()
            except Empty:
                self._thread.join(POLL_INTERVAL)


class _Batch(NamedTuple, Generic[_T]):
    items: list[_T]
    error: Exception | None
    """What was raised after them."""
    is_last: bool
