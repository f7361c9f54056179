"""Threads for calls that may never end.

A call of obstore cannot be interrupted: neither Ctrl-C nor the end of the process ends it. So it is made in a
daemon thread, which those who wait for it can abandon. (The threads of a `ThreadPoolExecutor` are joined when
the interpreter exits.) Starting a thread costs as much as a small request, so each is kept for later calls.

Handing a call over to another thread and waiting for it costs as much again. So work in such a thread makes
the call right there if everyone who waits for that work can abandon it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, ParamSpec, TypeAlias, TypeVar

__all__ = ["KeptThreads"]

Call: TypeAlias = Callable[[], object]

KEPT_SECONDS: Final = 5.0

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Here(threading.local):
    is_kept = False
    may_block = False


class KeptThreads:
    """Daemon threads, as many as there are calls at a time; some are kept for the next calls."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._idle: list[SimpleQueue[Call]] = []
        """One for each thread that waits for a call."""
        self._here = _Here()
        if hasattr(os, "register_at_fork"):
            # A forked process has none of these threads, and a call that is handed to one would never begin.
            os.register_at_fork(after_in_child=self._idle.clear)

    def run(self, call: Call) -> None:
        """Make a call in a thread. It must not raise."""
        try:
            calls = self._idle.pop()
        except IndexError:
            calls = SimpleQueue()
            threading.Thread(target=self._work, args=(calls,), name=self._name, daemon=True).start()
        calls.put(call)

    @property
    def is_current(self) -> bool:
        """Whether this thread is one of these."""
        return self._here.is_kept

    @property
    def may_block(self) -> bool:
        """Whether this thread may make a call that never ends."""
        return self._here.may_block

    def blocking(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do work in which this thread, if it is one of these, may block: who waits for it can abandon it."""
        self._here.may_block = self._here.is_kept
        try:
            return work(*args, **kwargs)
        finally:
            self._here.may_block = False

    def _work(self, calls: SimpleQueue[Call]) -> None:
        self._here.is_kept = True
        call: Call | None = calls.get()
        while call is not None:
            call()
            # What it holds, such as an answer, is not kept until the next one comes.
            call = None
            if len(self._idle) < self._most:
                self._idle.append(calls)
                call = self._next(calls)

    def _next(self, calls: SimpleQueue[Call]) -> Call | None:
        try:
            return calls.get(timeout=KEPT_SECONDS)
        except Empty:
            pass
        try:
            self._idle.remove(calls)
        except ValueError:
            # A call is being handed over at this moment.
            return calls.get()
        return None
