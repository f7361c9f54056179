"""Work done ahead in a thread: the same items and errors, bounded, and stopped when nobody wants more."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from seekwarc.frames.prefetch import BATCH_WEIGHT, MAX_BATCHES, MAX_ITEMS, Prefetcher, PrefetchWindow
from tests.support.processes import PATIENT, settles


def weightless(_: Any) -> int:
    return 0


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "seekwarc-ahead"]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    assert threads() == []
    yield
    assert settles(lambda: threads() == [])


@pytest.mark.parametrize("count", [0, 1, MAX_ITEMS - 1, MAX_ITEMS, MAX_ITEMS + 1, 20_000])
@pytest.mark.parametrize("weight", [0, 100, BATCH_WEIGHT, 10 * BATCH_WEIGHT])
def test_all_items_come_in_order(count, weight) -> None:
    count = count if weight < BATCH_WEIGHT else min(count, 1000)
    assert list(Prefetcher(iter(range(count)), lambda _: weight)) == list(range(count))


def test_items_are_made_in_another_thread() -> None:
    def items() -> Iterator[str]:
        yield threading.current_thread().name

    assert list(Prefetcher(items(), weightless)) == ["seekwarc-ahead"]


@pytest.mark.parametrize("count", [0, 1, 1000])
@pytest.mark.parametrize("error", [ValueError("why"), OSError(5, "gone"), MemoryError()])
def test_an_error_comes_after_the_items_before_it(count, error) -> None:
    def items() -> Iterator[int]:
        yield from range(count)
        raise error

    found = []
    with pytest.raises(type(error)) as raised:
        for item in Prefetcher(items(), weightless):
            found.append(item)
    assert raised.value is error
    assert found == list(range(count))


def test_an_error_is_raised_again_to_who_asks_again() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("why")

    ahead = Prefetcher(items(), weightless)
    assert next(iter(ahead)) == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="why"):
            list(ahead)
    ahead.close()


def test_several_iterators_share_the_items() -> None:
    ahead = Prefetcher(iter(range(1000)), weightless)
    first = iter(ahead)
    assert [next(first) for _ in range(3)] == [0, 1, 2]
    assert list(ahead) == list(range(3, 1000))
    assert list(ahead) == []


def test_light_items_wait_in_bounded_numbers() -> None:
    made = []

    def items() -> Iterator[int]:
        for number in range(100 * MAX_BATCHES * MAX_ITEMS):
            made.append(number)
            yield number

    ahead = Prefetcher(items(), weightless)
    most = (MAX_BATCHES + 2) * MAX_ITEMS
    assert settles(lambda: len(made) >= MAX_BATCHES * MAX_ITEMS)
    time.sleep(0.25)
    assert len(made) <= most
    taken = iter(ahead)
    for _ in range(5 * MAX_ITEMS):
        next(taken)
    assert settles(lambda: len(made) >= (MAX_BATCHES + 4) * MAX_ITEMS)
    assert len(made) <= most + 6 * MAX_ITEMS
    ahead.close()


def test_heavy_items_wait_in_bounded_bytes() -> None:
    made = []

    def items() -> Iterator[bytes]:
        while True:
            made.append(1)
            yield bytes(BATCH_WEIGHT // 2)

    ahead = Prefetcher(items(), len)
    assert settles(lambda: len(made) >= 2 * MAX_BATCHES)
    time.sleep(0.25)
    assert len(made) <= 2 * (MAX_BATCHES + 2)
    ahead.close()


def test_closing_stops_an_endless_iterator() -> None:
    def items() -> Iterator[int]:
        while True:
            yield 1

    ahead = Prefetcher(items(), weightless)
    assert next(iter(ahead)) == 1
    ahead.close()
    assert threads() == []


def test_closing_before_anything_was_taken() -> None:
    ahead = Prefetcher(iter(lambda: 0, 1), weightless)
    ahead.close()
    assert threads() == []


def test_closing_twice_or_at_the_end_does_no_harm() -> None:
    ahead = Prefetcher(iter(range(3)), weightless)
    assert list(ahead) == [0, 1, 2]
    ahead.close()
    ahead.close()
    assert threads() == []


def test_nothing_is_made_after_closing() -> None:
    made = []

    def items() -> Iterator[int]:
        while True:
            made.append(1)
            yield 1

    ahead = Prefetcher(items(), weightless)
    next(iter(ahead))
    ahead.close()
    count = len(made)
    time.sleep(0.05)
    assert len(made) == count


def test_closing_while_the_iterator_waits_for_its_input() -> None:
    go_on = threading.Event()

    def items() -> Iterator[int]:
        yield 1
        go_on.wait(PATIENT)
        yield 2

    ahead = Prefetcher(items(), weightless)
    timer = threading.Timer(0.2, go_on.set)
    timer.start()
    ahead.close()
    timer.join()
    assert threads() == []


# How much is fetched ahead.


def told(most: int, *reads: tuple[int, int]) -> list[list[int]]:
    ahead = PrefetchWindow(most)
    return [list(ahead.note(*read)) for read in reads]


def test_random_access_reads_nothing_ahead() -> None:
    assert told(64, (5, 6), (90, 92), (3, 4), (50, 51), (48, 49)) == [[]] * 5


def test_the_first_read_reads_nothing_ahead() -> None:
    assert told(64, (0, 1)) == [[]]


def test_sequential_access_reads_twice_as_much_each_time() -> None:
    counts = [len(one) for one in told(64, *((n, n + 1) for n in range(200))) if one]
    assert counts[0] == 1
    assert all(later >= earlier for earlier, later in itertools.pairwise(counts[:4]))
    asked = [number for one in told(64, *((n, n + 1) for n in range(200))) for number in one]
    assert asked == list(range(asked[0], asked[-1] + 1)), "each frame once, in order"
    assert asked[-1] <= 199 + 64 + 1
    assert len(counts) < 20, "and not one by one"


def test_several_reads_of_one_frame_are_one_step() -> None:
    assert told(64, (0, 1), (0, 1), (0, 1)) == [[]] * 3
    assert told(64, (0, 1), (0, 2), (1, 2), (1, 2), (1, 3)) == [[], [2], [], [], [3, 4]]


def test_a_jump_begins_again() -> None:
    assert told(64, (0, 1), (1, 2), (2, 3), (70, 71), (71, 72)) == [[], [2], [3, 4], [], [72]]


def test_never_more_than_is_allowed() -> None:
    for most in (0, 1, 5):
        ahead = PrefetchWindow(most)
        for number in range(100):
            found = ahead.note(number, number + 1)
            assert not found or found[-1] - number <= most


def test_long_reads_go_ahead_as_well() -> None:
    assert told(64, (0, 50), (50, 100), (100, 150)) == [[], [100], [150, 151]]


@pytest.mark.parametrize("has_begun", [True, False])
def test_an_interrupt_while_the_thread_starts_leaves_it_not_running(monkeypatch, has_begun: bool) -> None:
    begun = threading.Event()

    def items() -> Iterator[int]:
        for number in range(1 << 40):
            begun.set()
            yield number

    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if has_begun:
            start(thread)
            assert begun.wait(PATIENT)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    numbers = items()
    with pytest.raises(KeyboardInterrupt):
        Prefetcher(numbers, lambda _: 1)
    numbers.close()  # Which raises where another thread runs it.
