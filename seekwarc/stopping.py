"""Stopping work whose result is no longer wanted.

Some reads take long however few bytes they return: the end of a large .warc.gz record, the millionth chunk
of a body. A thread cannot be stopped from outside. So such work calls `checkpoint` now and then, and a caller
that may want to stop it says how with `stoppable`:

    with stoppable(raise_if_the_client_is_gone):
        record.payload.pread(10**12, 100)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["checkpoint", "stoppable"]

_check: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)


@contextmanager
def stoppable(check: Callable[[], object]) -> Iterator[None]:
    """Let an exception that `check` raises, which is called often, stop what this thread does in the block.

    It should be a `BaseException`: code on the way may take an `Exception` for damage to the file.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def checkpoint() -> None:
    """Raise the exception that stops this work, if it should stop. Call it where nothing is half done."""
    check = _check.get()
    if check is not None:
        check()
