"""Limits how many local files are open at a time: a collection may have more than a process can open.

The goal is that thousands of archives can be in use together and still leave file descriptors for everything
else that a process opens. A source registers when it opens its file. When there are too many, the file that
was opened first is closed; its source opens it again on the next read, and checks that it is the same file.
Below that number, no file is closed before its source is.
"""

from __future__ import annotations

import threading
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from seekwarc.system import max_open_files

__all__ = ["OPEN_FILES", "OpenFiles", "Rests"]

SHARE: Final = 4
"""Archives may use 1/SHARE of the descriptors that a process may have."""


class Rests(Protocol):
    """A source that can close its file until the next read."""

    def rest(self) -> None:
        """Close the file. Reads that other threads have begun are finished first."""


class OpenFiles:
    """The sources that have their files open, the oldest first."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._opened: WeakKeyDictionary[Rests, None] = WeakKeyDictionary()

    def add(self, source: Rests) -> None:
        """Register a source that has opened its file; close the oldest files if there are too many."""
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
        """Forget a source, which has closed its file for good."""
        with self._lock:
            self._opened.pop(source, None)


OPEN_FILES: Final = OpenFiles()
"""The open files of this process."""
