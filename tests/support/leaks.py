"""What a test left open. Only its own files and threads: others of this process may end at any moment."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

__all__ = ["new_threads", "open_below"]


def open_below(*folders: Path) -> list[str]:
    """Return the paths below these folders that this process has open, each as often as it is open."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        # The descriptor of this listing is closed by now.
        with contextlib.suppress(OSError):
            path = os.readlink(f"/proc/self/fd/{number}")
            if any(Path(path).is_relative_to(folder) for folder in folders):
                found.append(path)
    return found


def new_threads(before: set[threading.Thread]) -> list[str]:
    """Return the names of the threads that were not there before."""
    return [thread.name for thread in set(threading.enumerate()) - before]
