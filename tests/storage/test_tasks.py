"""Work in kept threads: bounded, cancelled at any time, with the context and the errors of its own."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import pytest

from seekwarc.errors import SourceError
from seekwarc.storage.tasks import REQUESTS, Tasks
from tests.support.processes import PATIENT

WHO: ContextVar[str] = ContextVar("who", default="nobody")


def test_as_much_as_may_be_is_done_at_a_time() -> None:
    tasks, all_there, over = Tasks("x", 3), threading.Barrier(4), threading.Event()

    def wait(number: int) -> int:
        all_there.wait(PATIENT)
        over.wait(PATIENT)
        return number

    first = [tasks.submit(wait, number) for number in range(3)]
    later = [tasks.submit(threading.current_thread) for _ in range(20)]
    all_there.wait(PATIENT)
    assert not any(it.done() for it in later)
    over.set()
    assert [tasks.result(it) for it in first] == [0, 1, 2]
    assert len({tasks.result(it) for it in later}) <= 3


def test_work_has_the_context_of_its_caller_and_its_own_errors() -> None:
    tasks = Tasks("x", 2)
    WHO.set("caller")
    assert tasks.result(tasks.submit(WHO.get)) == "caller"
    with pytest.raises(ZeroDivisionError):
        tasks.result(tasks.submit(divmod, 1, 0))
    assert tasks.result(tasks.submit(divmod, 7, 2)) == (3, 1)


def test_closing_waits_for_no_thread_that_closes() -> None:
    tasks = Tasks("x", 1)

    def close() -> str:
        tasks.close(wait=True)
        return "closed"

    answer = tasks.submit(close)
    with pytest.raises(SourceError, match="the archive is closed"):
        tasks.result(answer)
    tasks.close(wait=True)


def test_a_thread_that_cannot_be_started_leaves_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, done = Tasks("x", 1), []

    def fail(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(REQUESTS, "run", fail)
        with pytest.raises(RuntimeError):
            tasks.submit(done.append, 1)
    tasks.result(tasks.submit(done.append, 2))
    assert done == [2]
    tasks.close(wait=True)


def test_closing_cancels_what_has_begun_and_what_has_not() -> None:
    tasks, begun, over = Tasks("crawl.warc.zst", 1), threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        over.wait(PATIENT)

    answers = [tasks.submit(hang), tasks.submit(begun.clear)]
    begun.wait(PATIENT)
    tasks.close()
    for answer in answers:
        with pytest.raises(SourceError, match=r"crawl.warc.zst: the archive is closed"):
            tasks.result(answer)
    with pytest.raises(SourceError, match="the archive is closed"):
        tasks.submit(print)
    over.set()
    tasks.close(wait=True)
    assert begun.is_set(), "what had not begun never does"
