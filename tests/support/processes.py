"""Processes that a test waits for."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

PATIENT = 60.0
"""Seconds that no process of these tests takes."""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # It may have ended, and not have been waited for yet.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def settles(is_so: Callable[[], object], pause: Callable[[], object] = lambda: time.sleep(0.01)) -> bool:
    """Wait until a condition is true, and return whether it became true."""
    deadline = time.monotonic() + PATIENT
    while not is_so():
        if time.monotonic() >= deadline:
            return False
        pause()
    return True


def wait_until(is_so: Callable[[], object]) -> None:
    assert settles(is_so), "it never happened"


def wait_until_gone(pid: int) -> None:
    wait_until(lambda: not is_running(pid))


def is_open(port: int) -> bool:
    """Return whether a server of this machine takes connections at a port."""
    try:
        socket.create_connection(("127.0.0.1", port), PATIENT).close()
    except OSError:
        return False
    return True


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(it) for task in tasks for it in (task / "children").read_text().split()]
