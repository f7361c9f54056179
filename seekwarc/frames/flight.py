"""Work that is done once although several threads want its result at the same time."""

from __future__ import annotations

import threading

__all__ = ["Flight", "Flights", "StoredSpan"]

StoredSpan = tuple[int, int]
"""[start, stop) of a frame in the file: what it is called by in the cache and among those under way."""


class Flight:
    """The decoding of one frame: one thread does it, others may wait for what comes of it."""

    __slots__ = ("_content", "_landed")

    def __init__(self) -> None:
        # A plain lock, held until the end, costs a fraction of an event.
        self._landed = threading.Lock()
        self._landed.acquire()
        self._content: bytes | None = None

    def wait(self) -> bytes | None:
        """Return the content once it is there; None where the thread that was at it failed."""
        with self._landed:
            return self._content

    def land(self, content: bytes | None) -> None:
        """Let go who waits. Done once."""
        self._content = content
        self._landed.release()


class Flights:
    """The frames of one file that are being decoded, by where they are stored."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[StoredSpan, Flight] = {}

    def find(self, span: StoredSpan) -> Flight | None:
        """Return the flight of a frame that some thread is decoding."""
        return self._under_way.get(span)

    def begin(self, span: StoredSpan) -> Flight | None:
        """Announce that this thread decodes a frame; return the flight of another that does already."""
        with self._lock:
            other = self._under_way.get(span)
            if other is None:
                self._under_way[span] = Flight()
            return other

    def end(self, span: StoredSpan, content: bytes | None) -> None:
        """Hand out what was announced; None where it failed."""
        with self._lock:
            flight = self._under_way.pop(span)
        flight.land(content)
