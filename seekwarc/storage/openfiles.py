"""How many local files are open at a time: a collection may have more than a process can open.

The goal is that thousands of archives can be in use together, and their number still leaves descriptors for
everything else that a process opens. A source notes itself when it opens its file. When there are too many,
the file that was opened first is closed; its source opens it again when it is next read, and checks that it
is the same file. With fewer files than that, nothing is ever closed before its source is.
"""

from __future__ import annotations

import threading
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from seekwarc.system import max_open_files

__all__ = ["OPEN_FILES", "OpenFiles", "Rests"]

SHARE: Final = 4
"""One in so many of the descriptors that a process may have is for archives."""


class Rests(Protocol):
    """A source that can do without its file until it is next read."""

    def rest(self) -> None:
        """Close the file. A read that has begun in another thread is finished first."""


class OpenFiles:
    """The sources that have their files open, the oldest first.

    Args:
        limit: How many there may be; a quarter of what the process may open unless given.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._opened: WeakKeyDictionary[Rests, None] = WeakKeyDictionary()

    def add(self, source: Rests) -> None:
        """Note that a source has opened its file, and let others rest if there are too many."""
        with self._lock:
            if self._limit is None:
                self._limit = max(max_open_files() // SHARE, 1)
            self._opened[source] = None
            surplus = len(self._opened) - self._limit
            resting = list(self._opened)[:surplus] if surplus > 0 else []
            for each in resting:
                del self._opened[each]
        for each in resting:
            each.rest()

    def remove(self, source: Rests) -> None:
        """Note that a source has closed its file for good."""
        with self._lock:
            self._opened.pop(source, None)


OPEN_FILES: Final = OpenFiles()
"""Those of this process."""
