"""Sources that remember or misbehave, for assertions on what is asked of them."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class RecordingSource:
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
