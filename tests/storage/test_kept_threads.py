"""Threads for calls that may never end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from seekwarc.storage import kept_threads
from seekwarc.storage.kept_threads import KeptThreads
from tests.support.processes import PATIENT, wait_until


def threads_of(name: str) -> list[threading.Thread]:
    return [it for it in threading.enumerate() if it.name == name]


def noted(threads: KeptThreads, done: list[threading.Thread]) -> Callable[[], None]:
    return lambda: done.append(threading.current_thread())


def test_calls_one_after_the_other_are_made_in_one_thread() -> None:
    threads, done = KeptThreads("test-one", 2), []
    for count in range(1, 20):
        threads.run(noted(threads, done))
        wait_until(lambda count=count: len(done) == count and len(threads._idle) == 1)
    assert len(set(done)) == 1
    assert done[0].daemon


def test_a_call_never_waits_for_another() -> None:
    threads, done = KeptThreads("test-more", 2), []
    end = threading.Event()
    for _ in range(5):
        threads.run(end.wait)
    threads.run(noted(threads, done))
    wait_until(lambda: done)
    assert len(threads_of("test-more")) >= 5
    end.set()
    wait_until(lambda: len(threads_of("test-more")) == 2)


def test_a_thread_ends_after_some_time_without_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_threads, "KEPT_SECONDS", 0.001)
    threads, done = KeptThreads("test-end", 8), []
    for count in range(1, 200):
        threads.run(noted(threads, done))
        wait_until(lambda count=count: len(done) == count)
    wait_until(lambda: not threads_of("test-end"))
    assert threads._idle == []


def test_only_work_in_such_a_thread_may_block() -> None:
    threads, done = KeptThreads("test-block", 2), []
    for work in (lambda: threads.may_block, lambda: threads.blocking(lambda: threads.may_block)):
        threads.run(lambda work=work: done.append(work()))
        wait_until(lambda: len(threads._idle) == 1)
        assert not work(), "others wait for this thread"
    assert done == [False, True]


@pytest.mark.posix
def test_a_forked_process_starts_threads_of_its_own() -> None:
    threads, done = KeptThreads("test-fork", 2), []
    threads.run(noted(threads, done))
    wait_until(lambda: len(threads._idle) == 1)
    child = os.fork()
    if child == 0:
        made = threading.Event()
        threads.run(made.set)
        os._exit(0 if made.wait(PATIENT) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
