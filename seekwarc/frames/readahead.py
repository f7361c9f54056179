"""How far to read ahead, told by what was read before."""

from __future__ import annotations

import threading

__all__ = ["ReadAhead"]


class ReadAhead:
    """Decides how many frames to fetch before they are asked for: none, and twice as many each time.

    Access is sequential where a read begins in the frame that the one before it ended in, or in the next.

    Args:
        most: Most frames ahead; 0 for none at any time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._ahead = 0
        self._stop: int | None = None
        """Number of the frame behind those that were read last."""
        self._asked = 0
        """Number of the frame behind those that were told last."""

    def note(self, first: int, stop: int) -> range:
        """Take down that frames [first, stop) are read, and return the frames to fetch beside them."""
        if not self._most:
            return range(0)
        with self._lock:
            previous, self._stop = self._stop, stop
            if previous is None or first not in (previous - 1, previous):
                self._ahead, self._asked = 0, stop
                return range(0)
            if stop <= previous:
                return range(0)
            self._asked = max(self._asked, stop)
            # Asked for in halves: not for one more frame each time that one was used up.
            if self._ahead and 2 * (self._asked - stop) > self._ahead:
                return range(0)
            self._ahead = min(max(2 * self._ahead, 1), self._most)
            begin, self._asked = self._asked, stop + self._ahead
            return range(begin, self._asked)
