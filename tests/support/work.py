"""Bounds on work that no clock measures: a busy machine makes no test fail.

What can be counted is counted: calls here, requests and bytes by `tests.support.sources`. Where the defect is
that something does not end, as an expression that tries each of many ways, a watchdog ends it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MINUTE = 60
"""Seconds that no sound code takes."""


@contextmanager
def at_most_calls(count: int) -> Iterator[None]:
    """Fail as soon as functions were called more often; compiled code calls less that can be seen.

    Built-in functions count, and so does each step of a generator; classes that are called do not.
    """
    left = count

    def seen(_frame: object, event: str, _argument: object) -> None:
        nonlocal left
        left -= event in ("call", "c_call")
        assert left >= 0, f"more than {count} calls"

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        yield
    finally:
        sys.setprofile(before)
    assert left >= 0, f"more than {count} calls"


@contextmanager
def watchdog(*, waiting: bool = False) -> Iterator[None]:
    """Raise after a minute, so that a hang is a failure like any other.

    What counts is the processor time of this process, which other processes take nothing of; with `waiting`,
    any time counts, since another process does the work. Input of a test must be so large that the defect
    takes more than a minute, and sound code about a second. Windows has no such timers: a hang is a hang.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"still not done after {MINUTE} s")

    number, timer = (signal.SIGALRM, signal.ITIMER_REAL) if waiting else (signal.SIGPROF, signal.ITIMER_PROF)
    before = signal.signal(number, stop)
    # Again and again, for hypothesis would take the first for one failing example of many.
    signal.setitimer(timer, MINUTE, 1)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)
