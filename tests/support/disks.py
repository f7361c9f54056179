"""Disks that need not hold what they get: tests write thousands of files, and look at none after a crash."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Any

Sync = Callable[[Any], None]


def leave_unsynced() -> None:
    """Let this process not wait until a disk holds files and folders; what cannot be asked for still fails.

    Whether it is asked for where it must be is what tests/cli/test_durability.py counts.
    """
    os.fsync = _only_what_is_odd(os.fsync)


def _only_what_is_odd(sync: Sync) -> Sync:
    def fsync(file: Any) -> None:
        mode = os.fstat(file if isinstance(file, int) else file.fileno()).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            sync(file)

    return fsync
