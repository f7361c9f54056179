"""Processes that a test waits for."""

from __future__ import annotations

import os
import time
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


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + PATIENT
    while is_running(pid):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.01)
