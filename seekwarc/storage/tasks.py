"""Work that waits for answers, in kept threads: so much of it at a time, and cancelled at any time.

An executor of the standard library waits for its threads, so that a request which never ends keeps a program
from ending; and it starts threads of its own for each file.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from seekwarc.storage.kept_threads import KeptThreads
from seekwarc.storage.source import closed_error

__all__ = ["REQUESTS", "Tasks"]

MAX_KEPT: Final = 64
REQUESTS: Final = KeptThreads("seekwarc-request", MAX_KEPT)
"""Threads that wait for answers of sources that are far away."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Tasks:
    """The work of one user of `REQUESTS`.

    Args:
        name: What error messages call the user.
        most: How much is done at the same time.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._idle = threading.Condition()
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._under_way: set[Future[Any]] = set()
        self._threads = 0
        self._closed = False

    def submit(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Run `work` in one of the threads; `result` waits for what it returns."""
        answer: Future[_T] = Future()
        # Context variables apply to the work that is done on behalf of their context, in any thread.
        task = answer, partial(copy_context().run, partial(work, *args, **kwargs))
        with self._idle:
            if self._closed:
                raise closed_error(self._name)
            self._waiting.append(task)
            if self._threads == self._most:
                return answer
            self._threads += 1
        try:
            REQUESTS.run(self._work)
        except BaseException:
            # No more threads can be started.
            with self._idle:
                self._threads -= 1
                if task in self._waiting:
                    self._waiting.remove(task)
            raise
        return answer

    def result(self, answer: Future[_T]) -> _T:
        """Wait for what was submitted.

        Raises:
            SourceError: It was cancelled by `close`.
        """
        try:
            return answer.result()
        except CancelledError:
            raise closed_error(self._name) from None

    def close(self, *, wait: bool = False) -> None:
        """Cancel everything. What has begun goes on, and what it returns is dropped; `wait` for its end.

        There is no wait in one of the threads, where garbage may be collected at any moment.
        """
        with self._idle:
            self._closed = True
            left = [*self._under_way, *(answer for answer, _ in self._waiting)]
            self._waiting.clear()
        for answer in left:
            answer.cancel()
        if wait and not REQUESTS.is_current:
            with self._idle:
                self._idle.wait_for(lambda: not self._threads)

    def _work(self) -> None:
        answer: Future[Any] | None = None
        while True:
            with self._idle:
                if answer is not None:
                    self._under_way.discard(answer)
                if not self._waiting:
                    self._threads -= 1
                    self._idle.notify_all()
                    return
                answer, work = self._waiting.popleft()
                self._under_way.add(answer)
            _settle(answer, work)
            # What it holds, such as an answer, is not kept until the next one comes.
            del work


def _settle(answer: Future[_T], work: Callable[[], _T]) -> None:
    # It may be cancelled at any time.
    with suppress(InvalidStateError):
        if answer.cancelled():
            return
        try:
            found = work()
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            answer.set_exception(error)
        else:
            answer.set_result(found)
