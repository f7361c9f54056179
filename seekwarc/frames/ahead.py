"""Small frames or members: some decoded one by one, then batches ahead by several threads.

Goal: most files are mostly small records of one frame or member each. To decode these one by one costs as
much in calls as in decoding, and leaves all but one processor idle: a second thread would fight for the
interpreter's lock after each of them.

Plan: a batch is decoded by one call of the codec, which holds no lock. Whichever thread is free plans the
next batch, one thread at a time, and then decodes it beside the others. `take` hands the batches over in
their order, each when it is decoded. Until the next one is, the caller's thread decodes others: a thread more
than there are processors would take its time from the others.

Worst case: a batch that cannot be decoded. It ends the batches, and the caller goes on one by one, which
finds the damage where it is. An error in planning, such as of the source, is raised after the batches before
it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Final

__all__ = [
    "MAX_BATCHES",
    "MAX_BATCH_CONTENT",
    "MAX_BATCH_FRAMES",
    "SMALL_FRAME",
    "BatchesAhead",
    "DecodedBatch",
    "Small",
    "alone_then_ahead",
    "batches_from",
]

SMALL_FRAME: Final = 64 << 10
"""Larger frames and members, stored or decoded, are left to others: the caller may not
want the record that they are part of."""
MAX_BATCH_FRAMES: Final = 512
MAX_BATCH_CONTENT: Final = 512 << 10
"""The output of one call, which is copied right after, should fit into a processor's cache."""
MAX_BATCHES: Final = 8
"""Batches that are decoded or wait, unless there are more threads than half of that."""
ALONE: Final = 64
"""After so many frames or members, threads that decode small ones ahead are worth their cost."""

Small = tuple[int, bytes, bool]
"""Offset after a frame or member, what it holds, and whether another one that may begin a record follows.

The offset is 0 if this is only a piece of it, and others follow."""


class DecodedBatch:
    """Consecutive small frames or members, and what they hold.

    Attributes:
        ends: Offset after each.
        size: Content bytes in all.
        decode: Returns what each holds; nothing where one of them cannot be decoded. Called once, and dropped
            then: what waits to be taken holds no stored bytes.
        followed: Whether another frame or member that may begin a record follows the last.
        contents: What each holds, once the batch was decoded.
    """

    __slots__ = ("contents", "decode", "ends", "error", "followed", "is_done", "size")

    def __init__(
        self, ends: list[int], size: int, decode: Callable[[], list[bytes]], *, followed: bool
    ) -> None:
        self.ends = ends
        self.size = size
        self.decode: Callable[[], list[bytes]] | None = decode
        self.followed = followed
        self.contents: list[bytes] = []
        self.error: Exception | None = None
        self.is_done = False


def batches_from(plan: Callable[[int], DecodedBatch | None], offset: int) -> Iterator[DecodedBatch]:
    """Plan batches, each of which begins where the one before it ends."""
    while (batch := plan(offset)) is not None:
        yield batch
        offset = batch.ends[-1]


def alone_then_ahead(
    offset: int,
    one_by_one: Callable[[int], Iterator[Small]],
    ahead: Callable[[int], BatchesAhead] | None,
    count: Callable[[int], object] | None = None,
) -> Generator[Small, None, None]:
    """Yield frames or members from `offset` on: some one by one, then small ones in batches. Close it."""
    alone = ALONE
    while True:
        number = 0
        for small in one_by_one(offset):
            if count is not None:
                count(len(small[1]))
            yield small
            if small[0]:
                offset = small[0]
                number += 1
            if number == alone and ahead is not None:
                break
        else:
            return
        begin = offset
        with closing(ahead(offset)) as batches:
            while (batch := batches.take()) is not None:
                if count is not None:
                    count(batch.size)
                last = batch.ends[-1]
                for end, content in zip(batch.ends, batch.contents, strict=True):
                    yield end, content, end != last or batch.followed
                offset = last
        # There may be very many that cannot be decoded in batches.
        alone = ALONE if offset > begin else 2 * alone


class BatchesAhead:
    """Decodes batches in threads of its own, a little ahead of the caller, and in the caller's. Close it."""

    def __init__(self, batches: Iterator[DecodedBatch], threads: int) -> None:
        self._batches = batches
        # Reentrant: collecting garbage may close this in the midst of anything.
        lock = threading.RLock()
        self._ready = threading.Condition(lock)
        """What the caller waits on."""
        self._turn = threading.Condition(lock)
        """What the other threads wait on."""
        self._planned: deque[DecodedBatch] = deque()
        self._limit = max(MAX_BATCHES, 2 * threads)
        self._error: Exception | None = None
        self._is_planning = False
        """Whether some thread plans a batch."""
        self._is_over = False
        """Whether no more are planned."""
        self._workers: list[threading.Thread] = []
        try:
            for _ in range(max(threads - 1, 1)):
                worker = threading.Thread(target=self._work, name="seekwarc-ahead", daemon=True)
                worker.start()
                self._workers.append(worker)
        except RuntimeError:
            self.close()
            raise

    def _work(self) -> None:
        while True:
            with self._turn:
                while not self._is_over and not self._may_plan():
                    self._turn.wait()
                if self._is_over:
                    return
                self._is_planning = True
            self._decode_next()

    def _may_plan(self) -> bool:
        return not self._is_over and not self._is_planning and len(self._planned) < self._limit

    def _decode_next(self) -> None:
        """Plan a batch, for which it is the calling thread's turn, and decode it."""
        batch = error = None
        try:
            batch = next(self._batches, None)
        except Exception as failure:  # noqa: BLE001 - whatever it is, it is raised where it belongs
            error = failure
        with self._ready:
            self._is_planning = False
            if self._is_over:
                return
            if batch is None:
                self._error = error
                self._end()
                return
            self._planned.append(batch)
            self._turn.notify()
            self._ready.notify()
        try:
            batch.contents = batch.decode() if batch.decode is not None else []
        except Exception as failure:  # noqa: BLE001 - as above
            batch.error = failure
        batch.decode = None
        with self._ready:
            batch.is_done = True
            self._ready.notify()

    def take(self) -> DecodedBatch | None:
        """Return the next batch, decoded; None after the last, and where one cannot be decoded."""
        while True:
            with self._ready:
                while not (is_here := self._is_here()) and not self._may_plan():
                    self._ready.wait()
                if is_here:
                    return self._next()
                self._is_planning = True
            self._decode_next()

    def _is_here(self) -> bool:
        """Tell whether the next batch is decoded, or will never come."""
        return self._planned[0].is_done if self._planned else self._is_over

    def _next(self) -> DecodedBatch | None:
        batch = self._planned.popleft() if self._planned else None
        if batch is not None and batch.contents:
            self._turn.notify()
            return batch
        error = self._error if batch is None else batch.error
        self._error = None
        self._planned.clear()
        self._end()
        if error is not None:
            raise error
        return None

    def _end(self) -> None:
        self._is_over = True
        self._turn.notify_all()
        self._ready.notify()

    def close(self) -> None:
        """Stop the threads. Idempotent."""
        with self._ready:
            self._planned.clear()
            self._end()
        for worker in self._workers:
            if worker is not threading.current_thread():
                worker.join()
