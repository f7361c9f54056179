"""A record's bytes in memory, for what reads them by range."""

from __future__ import annotations

import threading

from seekwarc.errors import SourceError
from seekwarc.frames.run import ReadPlan
from seekwarc.read.body import RecordBody, TableStatus


class MemoryBody(RecordBody):
    """Bytes in memory, in frames of any size, that remember what was asked of them.

    Args:
        data: The bytes.
        edges: Where frames begin; without any, 4 KiB cost what one byte does, as of content without frames.
        forward: Whether it is a pipe: what was passed is gone.
    """

    table_status = TableStatus.NONE

    def __init__(self, data: bytes, edges: tuple[int, ...] = (), *, forward: bool = False) -> None:
        self.data = data
        self.edges = sorted({*edges, len(data)}) if edges else []
        self.forward = forward
        self.position = 0
        self.reads: list[tuple[int, int]] = []
        self.looks: list[tuple[int, int]] = []
        self._lock = threading.Lock()

    def _go(self, start: int, stop: int, reached: int) -> None:
        assert 0 <= start <= stop <= len(self.data), f"[{start}, {stop}) is not in {len(self.data)} bytes"
        with self._lock:
            if self.forward and start < self.position:
                raise SourceError(f"{start} has passed, {self.position} is next")
            self.position = reached

    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        out = bytearray(stop - start)
        with memoryview(out) as view:
            self.read_into(start, view, verify=verify)
        return bytes(out)

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        stop = start + len(out)
        self._go(start, stop, stop)
        self.reads.append((start, stop))
        out[:] = self.data[start:stop]

    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        reached = start + min(least, stop - start)
        cheap = next((edge for edge in self.edges if edge >= reached), start + 4096)
        stop = min(max(cheap, reached), stop)
        self._go(start, stop, start)
        self.looks.append((start, stop))
        return self.data[start:stop]

    def plan(self, start: int, stop: int) -> ReadPlan:
        return ReadPlan(((start, stop),) if start < stop else (), stop - start, 1)

    def stored_end(self) -> int:
        return len(self.data)
