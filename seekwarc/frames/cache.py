"""Decoded frames of one file, each decoded by one thread at a time: a single-flight cache.

Goal: where several threads want the same frame at the same moment, as a player and its thumbnails do, one of
them fetches and decodes it and the others wait for the result.

Plan: a thread asks with `begin`. It gets the content where that is cached, waits where another thread is
decoding it, and otherwise gets None: then the frame is its own to decode, and it must call `end`, with the
content or, after a failure, with None. A thread that waited for a failure tries for itself, so that each
caller meets the error of its own read. Waiting has a cost only if a thread does wait: a frame that is
being decoded is an entry in a dictionary, and each waiter brings its own lock.

Worst case: a thread never returns from decoding, and those who wait never do either. Work in threads of a
pool, which may be cancelled before it begins, therefore calls `end` when it is cancelled.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

__all__ = ["FrameCache", "FrameKey"]

FrameKey = tuple[int, int, int]
"""[start, stop) of a frame in the file and the bytes that it holds: two tables may disagree about these, and
only one of them was found right when the frame was decoded."""
LEAST: Final = 300
"""Bytes that each frame counts as at least: what its entry takes. Else tiny frames would fill all memory."""
NOTHING: Final[tuple[FrameKey, bytes]] = ((-1, -1, -1), b"")


class _Waiter:
    """A thread that waits for what another one decodes."""

    __slots__ = ("_done", "content")

    def __init__(self) -> None:
        # A plain lock, held until the end, costs a fraction of an event.
        self._done = threading.Lock()
        self._done.acquire()
        self.content: bytes | None = None

    def wait(self) -> bytes | None:
        with self._done:
            return self.content

    def wake(self, content: bytes | None) -> None:
        self.content = content
        self._done.release()


class FrameCache:
    """Decoded frames, most recently used last: at most `capacity` bytes, and the `latest` of an iteration."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.latest: tuple[FrameKey, bytes] = NOTHING
        self._size = 0
        self._frames: OrderedDict[FrameKey, bytes] = OrderedDict()
        self._under_way: dict[FrameKey, list[_Waiter]] = {}
        self._lock = threading.Lock()

    def get(self, key: FrameKey) -> bytes | None:
        """Return the content of a frame, None if it is not cached."""
        latest, content = self.latest
        if latest == key:
            return bytes(content)
        with self._lock:
            found = self._frames.get(key)
            if found is not None:
                self._frames.move_to_end(key)
            return found

    def put(self, key: FrameKey, content: bytes) -> None:
        """Keep the content of a frame; others that were not used for longer make room for it."""
        with self._lock:
            self._put(key, content)

    def keep_latest(self) -> None:
        """Keep what was decoded last, which the caller is likely to read again after others were decoded."""
        key, content = self.latest
        self.put(key, bytes(content))

    def clear(self) -> None:
        """Drop what is kept, and keep nothing from now on."""
        with self._lock:
            self.capacity = 0
            self.latest = NOTHING
            self._frames.clear()
            self._size = 0

    def begin(self, key: FrameKey) -> bytes | None:
        """Return the content of a frame, or None: then the caller must decode it and call `end`."""
        latest, content = self.latest
        if latest == key:
            return bytes(content)
        while True:
            with self._lock:
                found = self._frames.get(key)
                if found is not None:
                    self._frames.move_to_end(key)
                    return found
                waiters = self._under_way.get(key)
                if waiters is None:
                    self._under_way[key] = []
                    return None
                waiter = _Waiter()
                waiters.append(waiter)
            found = waiter.wait()
            if found is not None:
                return found

    def reserve(self, key: FrameKey) -> bool:
        """Tell whether the caller is to decode a frame and call `end`; False where that is done already."""
        if self.latest[0] == key:
            return False
        with self._lock:
            if key in self._frames or key in self._under_way:
                return False
            self._under_way[key] = []
            return True

    def is_under_way(self, key: FrameKey) -> bool:
        """Tell whether some thread is decoding a frame."""
        return key in self._under_way

    def end(self, key: FrameKey, content: bytes | None) -> None:
        """Hand out and keep the content of a frame that was the caller's to decode; None after a failure."""
        with self._lock:
            if content is not None:
                self._put(key, content)
            # Work that was cancelled may end twice.
            waiters = self._under_way.pop(key, ())
        for waiter in waiters:
            waiter.wake(content)

    def _put(self, key: FrameKey, content: bytes) -> None:
        # The lock is held.
        size = max(len(content), LEAST)
        if size > self.capacity:
            return
        if (previous := self._frames.pop(key, None)) is not None:
            self._size -= max(len(previous), LEAST)
        self._frames[key] = content
        self._size += size
        while self._size > self.capacity:
            self._size -= max(len(self._frames.popitem(last=False)[1]), LEAST)
