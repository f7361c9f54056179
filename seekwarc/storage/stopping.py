"""Ending work that nobody waits for any more.

Some reads take long however little they give: the end of a large .warc.gz record, the millionth chunk of a
body. A thread cannot be ended from outside. So such work calls `checkpoint` now and then, and a caller that
may want to end it says with `stoppable` how:

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
    """Let `check` end what is done in this thread meanwhile.

    Args:
        check: Called often, so it must be quick. What it raises ends the work; an exception that is no
            `Exception` is taken for damage by nobody on its way.
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def checkpoint() -> None:
    """Raise what ends this work, if it is to end. To be called where nothing is half done."""
    check = _check.get()
    if check is not None:
        check()
