"""Doing work in a thread ahead of whoever takes its results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import Final, Generic, TypeVar

__all__ = ["Ahead"]

MOST_BATCHES: Final = 8
MOST_ITEMS: Final = 256
BATCH_WEIGHT: Final = 256 << 10
PATIENCE: Final = 0.1
"""Seconds after which the thread looks whether its results are still wanted."""

_T = TypeVar("_T")


class Ahead(Generic[_T]):
    """Iterates in a thread of its own, a little ahead of whoever takes the items.

    What the iterator raises is raised where the item would have come. Close it where it is not taken to its
    end.

    Args:
        items: The iterator.
        weigh: Tells the bytes that an item takes; they bound what waits.
    """

    def __init__(self, items: Iterator[_T], weigh: Callable[[_T], int]) -> None:
        self._items = items
        self._weigh = weigh
        # Items are handed over many at a time: each time costs as much as decoding a small frame.
        self._queue: Queue[_Batch[_T]] = Queue(MOST_BATCHES)
        self._batch: Iterator[_T] = iter(())
        self._error: Exception | None = None
        self._unwanted = threading.Event()
        self._done = False
        self._thread = threading.Thread(target=self._work, name="seekwarc-ahead", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        batch: list[_T] = []
        weight = 0
        error = None
        try:
            for item in self._items:
                batch.append(item)
                weight += self._weigh(item)
                if weight >= BATCH_WEIGHT or len(batch) == MOST_ITEMS:
                    if not self._put(_Batch(batch, None, is_last=False)):
                        return
                    batch, weight = [], 0
        except Exception as failure:  # noqa: BLE001 - whatever it is, it is raised where it belongs
            error = failure
        self._put(_Batch(batch, error, is_last=True))

    def _put(self, batch: _Batch[_T]) -> bool:
        while not self._unwanted.is_set():
            try:
                self._queue.put(batch, timeout=PATIENCE)
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
        """Stop the thread. Twice does no harm."""
        self._done = True
        self._unwanted.set()
        while self._thread.is_alive():
            try:
                self._queue.get_nowait()
            except Empty:
                self._thread.join(PATIENCE)


@dataclass(frozen=True, slots=True)
class _Batch(Generic[_T]):
    items: list[_T]
    error: Exception | None
    """What was raised behind them."""
    is_last: bool
