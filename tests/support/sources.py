"""Sources that remember or misbehave, for assertions on what is asked of them."""

from __future__ import annotations

import io
import random
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from seekwarc.storage.plan import REMOTE
from seekwarc.storage.source import RangeSource
from tests.support.foreign import skippable
from tests.support.writing import noise

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

DATA = noise(300_000, seed=11)
"""What sources are filled with where its content does not matter."""


class RecordingSource(RangeSource):
    """Bytes in memory; every (start, stop) that is asked for is remembered, and its answer's length."""

    def __init__(self, data: bytes, name: str = "recorded.warc.zst") -> None:
        self.name = name
        self.data = bytes(data)
        self.size = len(self.data)
        self.requests: list[tuple[int, int]] = []
        self.closed = False

    def read(self, start: int, stop: int) -> bytes:
        self.requests.append((start, stop))
        return self.data[start:stop]

    def close(self) -> None:
        self.closed = True

    @property
    def bytes_asked(self) -> int:
        """Stored bytes that were delivered, bytes delivered twice counted twice."""
        return sum(max(min(stop, self.size) - start, 0) for start, stop in self.requests)

    def forget(self) -> None:
        self.requests.clear()


class Endless(RangeSource):
    """A server that claims any size, and sends nonsense after a file for ever."""

    def __init__(self, data: bytes, nonsense: bytes) -> None:
        self.name, self.size, self.policy = "http://example.org/crawl", 40 << 30, REMOTE
        self._data, self._nonsense = data, nonsense
        self.requests = self.bytes_sent = 0

    def read(self, start: int, stop: int) -> bytes:
        self.requests += 1
        self.bytes_sent += stop - start
        found = self._data[start:stop]
        return (
            found
            + (self._nonsense * ((stop - start) // len(self._nonsense) + 1))[: stop - start - len(found)]
        )


NONSENSE = [b"nonsense", b"\0", b"\x1f\x8b\x08\0", b"WARC/1.1\r\nx", skippable(0x184D2A50, b"x" * 40)]
"""What an `Endless` source may send, which looks like the beginning of something or like nothing."""


class Pipe(io.RawIOBase):
    """A stream that cannot seek and answers with less than was asked for, as pipes and sockets do."""

    def __init__(self, data: bytes, *, most: int = 70_000, seed: int = 0) -> None:
        super().__init__()
        self._data = io.BytesIO(data)
        self._most = most
        self._random = random.Random(seed)
        self.reads = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        self.reads += 1
        count = min(len(buffer), self._random.randint(1, self._most))
        return self._data.readinto(memoryview(buffer)[:count])


class ShortFile(io.BytesIO):
    """A seekable file that never answers with more than a few bytes at a time."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size, 3) if size is not None and size >= 0 else 3)


class RemoteFake(RangeSource):
    """A remote object without a network: answers late, and knows how many wait for it at a time."""

    def __init__(self, data: bytes, *, latency: float = 0.0, identity: str | None = "fake 1") -> None:
        self.name = "fake://object"
        self.policy = REMOTE
        self.is_known = False
        self.requests: list[tuple[int, int]] = []
        self.at_once = 0
        self.fail: Callable[[int, int], None] = lambda start, stop: None
        self._data = data
        self._identity = identity
        self._latency = latency
        self._waiting = 0
        self._lock = threading.Lock()

    is_pipe = False

    @property
    def size(self) -> int:
        if not self.is_known:
            self.read_end(1)
        return len(self._data)

    @property
    def known_size(self) -> int | None:
        return len(self._data) if self.is_known else None

    @property
    def identity(self) -> str | None:
        return self._identity if self.is_known else None

    def read(self, start: int, stop: int) -> bytes:
        with self._lock:
            self.requests.append((start, stop))
            self._waiting += 1
            self.at_once = max(self.at_once, self._waiting)
        try:
            time.sleep(self._latency)
            self.fail(start, stop)
        finally:
            with self._lock:
                self._waiting -= 1
        self.is_known = True
        return self._data[start:stop]

    def read_end(self, count: int) -> tuple[int, bytes]:
        start = max(len(self._data) - count, 0)
        return start, self.read(start, len(self._data))

    def forget(self) -> None:
        self.requests.clear()
        self.at_once = 0

    def close(self) -> None:
        pass
