"""Bounds on work, themselves tested."""

from __future__ import annotations

import contextlib
import signal

import pytest

from tests.support import work
from tests.support.work import at_most_calls, watchdog


def called(times: int) -> None:
    for _ in range(times):
        len("x")


def test_calls_are_counted() -> None:
    with at_most_calls(110):
        called(100)
    with pytest.raises(AssertionError, match="more than 50 calls"), at_most_calls(50):
        called(100)
    with at_most_calls(10):
        called(1)


def test_an_error_that_is_caught_hides_no_calls() -> None:
    with (
        pytest.raises(AssertionError, match="more than 50 calls"),
        at_most_calls(50),
        contextlib.suppress(AssertionError),
    ):
        called(100)


@pytest.mark.posix
@pytest.mark.parametrize("waiting", [False, True])
def test_a_watchdog_ends_what_does_not_end(monkeypatch, waiting: bool) -> None:
    monkeypatch.setattr(work, "MINUTE", 0.1)
    before = signal.getsignal(signal.SIGPROF), signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeoutError), watchdog(waiting=waiting):
        while True:
            pass
    assert (signal.getsignal(signal.SIGPROF), signal.getsignal(signal.SIGALRM)) == before
