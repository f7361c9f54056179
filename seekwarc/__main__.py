"""The `seekwarc` command as a process: what `seekwarc` and `python -m seekwarc` run."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn

__all__ = ["run"]


def run() -> NoReturn:
    """Run the command, and exit with its status."""
    # Of the many thousands of objects that imports make, none is garbage, but looking for some takes as long
    # as reading a range.
    gc.set_threshold(10_000)
    from seekwarc.cli import main

    status = main()
    # Memory goes with the process: Python need not look through it once more.
    gc.freeze()
    sys.exit(status)


if __name__ == "__main__":
    run()
