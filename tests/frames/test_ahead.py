"""Batches decoded by several threads: in order, with the errors of one, bounded, and no thread left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seekwarc.frames.ahead import MAX_BATCHES, BatchesAhead, DecodedBatch
from tests.support.foreign import Foreign, text
from tests.support.processes import PATIENT, wait_until
from tests.support.rounds import rounds
from tests.support.threads import seen


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "seekwarc-ahead"]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert names() == []


class Batch(DecodedBatch):
    """A batch of one frame, which holds its number."""

    def __init__(self, number: int, work: Callable[[], object] = lambda: None) -> None:
        super().__init__([number + 1], 1, self.run, followed=True)
        self.number = number
        self.work = work

    def run(self) -> list[bytes]:
        return [str(self.number).encode()] if self.work() is not False else []


def taken(ahead: BatchesAhead) -> list[int]:
    return [int(batch.contents[0]) for batch in iter(ahead.take, None)]


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_batches_come_in_order_whichever_is_done_first(threads: int) -> None:
    def batches() -> Iterator[Batch]:
        for number in range(200):
            yield Batch(number, lambda number=number: time.sleep(number % 3 / 2000))

    with closing(BatchesAhead(batches(), threads)) as ahead:
        assert taken(ahead) == list(range(200))
        assert ahead.take() is None


def test_two_batches_are_decoded_at_a_time() -> None:
    both = threading.Barrier(2, timeout=PATIENT)
    with closing(BatchesAhead((Batch(n, both.wait) for n in range(2)), 2)) as ahead:
        assert taken(ahead) == [0, 1]


def fails() -> None:
    raise OSError(5, "gone")


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("count", [0, 1, 50])
def test_an_error_comes_after_the_batches_before_it(threads: int, count: int) -> None:
    def planning_fails() -> Iterator[Batch]:
        yield from map(Batch, range(count))
        fails()

    def decoding_fails() -> Iterator[Batch]:
        yield from map(Batch, range(count))
        yield Batch(count, fails)
        yield from map(Batch, range(count + 1, 1000))

    for batches in (planning_fails(), decoding_fails()):
        with closing(BatchesAhead(batches, threads)) as ahead:
            assert [int(ahead.take().contents[0]) for _ in range(count)] == list(range(count))
            with pytest.raises(OSError, match="gone"):
                ahead.take()
            assert ahead.take() is None


def test_nothing_follows_a_batch_that_cannot_be_decoded() -> None:
    batches = (Batch(number, lambda number=number: number != 7) for number in range(100))
    with closing(BatchesAhead(batches, 3)) as ahead:
        assert taken(ahead) == list(range(7))
        assert ahead.take() is None


@pytest.mark.parametrize("threads", [1, 3, 9])
def test_batches_wait_in_bounded_numbers(threads: int) -> None:
    made: list[int] = []

    def batches() -> Iterator[Batch]:
        for number in range(10_000):
            made.append(number)
            yield Batch(number)

    limit = max(MAX_BATCHES, 2 * threads)
    with closing(BatchesAhead(batches(), threads)) as ahead:
        for count in range(50):
            ahead.take()
            assert len(made) <= count + 1 + limit
        wait_until(lambda: len(made) == 50 + limit)


def test_closing_stops_endless_batches_and_may_be_repeated() -> None:
    ahead = BatchesAhead((Batch(0) for _ in iter(int, 1)), 4)
    assert ahead.take() is not None
    ahead.close()
    assert names() == []
    ahead.close()
    assert ahead.take() is None


def test_an_interrupt_while_it_waits_leaves_no_thread() -> None:
    go_on = threading.Event()

    def interrupted() -> None:
        with closing(BatchesAhead(iter([Batch(0, lambda: go_on.wait(PATIENT))]), 2)):
            go_on.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


# As iterating uses it.


KINDS: dict[str, Callable[[Foreign, int], object]] = {
    "small": lambda made, n: made.record(text(n * 37 % 900, seed=n)),
    "empty": lambda made, n: made.record(b""),
    "large": lambda made, n: made.record(text(90_000, seed=n)),
    "frames": lambda made, n: made.record(text(9000, seed=n), cuts=4000, table=True),
    "extension": lambda made, _: made.extension(),
}


@pytest.mark.slow
@settings(max_examples=rounds(25))
@given(
    st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.integers(1, 300)), min_size=1, max_size=5),
    st.integers(2, 6),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=2),
    st.booleans(),
)
def test_any_number_of_threads_reads_what_one_reads(runs, threads, damage, is_cut) -> None:
    made = Foreign()
    for kind, count in runs:
        for number in range(count if kind in ("small", "empty") else count // 60 + 1):
            KINDS[kind](made, number)
    data = bytearray(made.bytes())
    for place, flips in damage:
        data[int(place * len(data))] ^= flips
    stored = bytes(data[: len(data) * 3 // 4] if is_cut else data)
    assert seen(stored, threads) == seen(stored, 1)
