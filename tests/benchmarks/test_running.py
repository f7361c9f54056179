"""How the benchmarks time: in turn, paired, and only what found the right bytes."""

from __future__ import annotations

import itertools

import pytest

from tests.benchmarks import running
from tests.benchmarks.running import (
    Peer,
    Places,
    Result,
    UnequalError,
    alternate,
    compare,
    timed,
    timed_reads,
)

CONTENT = bytes(range(256)) * 40


def truth(start: int, length: int) -> bytes:
    return CONTENT[start : start + length]


def test_runs_take_turns_and_the_first_round_does_not_count() -> None:
    order: list[tuple[str, int]] = []

    def run(name: str) -> running.Run:
        return lambda number: order.append((name, number)) or len(order)

    rounds = alternate([run("a"), run("b")], budget=0, least=2)
    assert order == [(name, number) for number in (0, 1, 2) for name in "ab"]
    assert rounds == [(3, 4), (5, 6)]


def test_no_round_begins_when_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=1.0)
    monkeypatch.setattr(running.time, "perf_counter", lambda: next(clock))
    assert len(alternate([lambda _: 1.0], budget=6.5, least=1)) == 7
    assert len(alternate([lambda _: 1.0], budget=1e9, most=9)) == 9


def test_ratios_are_those_of_one_round() -> None:
    # The machine becomes slower; who is compared does so in step.
    ours = iter([9, 1, 2, 4, 8])
    theirs = iter([9, 3, 6, 8, 16])
    (result,) = compare("w", lambda _: next(ours), [Peer("p", lambda _: next(theirs), 2.5)], budget=0)
    assert result.values == (3, 3, 2, 2)
    assert (result.median, result.quartiles, result.reached) == (2.5, (2, 3), True)
    assert (result.ours, result.theirs) == (3, 7)


def test_processor_time_is_paired_too_without_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # A clock around each run: ours take 3, the others 1, and those of the first round much more.
    clock = itertools.accumulate([0, 90, 0, 10, *[0, 3, 0, 1] * 4])
    monkeypatch.setattr(running, "processor_seconds", lambda: next(clock))
    wall, spent = compare("w", lambda _: 2.0, [Peer("p", lambda _: 4.0)], budget=0, processor=True)
    assert (wall.what, wall.values) == ("w", (2, 2, 2, 2))
    assert (spent.what, spent.values) == ("w: processor time", (1 / 3,) * 4)


def test_times_say_how_many_times_as_much_we_take() -> None:
    (result,) = compare("w", lambda _: 10.0, [Peer("p", lambda _: 2.0, 4, "times")], budget=0)
    assert result.median == 5
    assert result.reached is False


def test_one_value_is_its_own_spread() -> None:
    assert Result("w", "a", (7.0,)).quartiles == (7, 7)
    assert Result("w", "a", (7.0,)).reached is None


def test_all_tools_read_the_same_places_new_ones_each_round() -> None:
    places = Places(100, 1000, 50, 300)
    assert places.starts(1) == places.starts(1) != places.starts(2)
    found = places.starts(3)
    assert len(found) == 300
    assert min(found) >= 100
    assert max(found) + 50 <= 1000


def test_the_first_and_the_last_byte_are_read_too() -> None:
    assert set(Places(0, 3, 1, 100).starts(0)) == {0, 1, 2}


def test_a_read_that_finds_other_bytes_is_no_result() -> None:
    places = Places(0, 1000, 20, 5)
    assert timed_reads(truth, places, truth)(1) > 0
    with pytest.raises(UnequalError, match="20 bytes from"):
        timed_reads(lambda start, length: truth(start + 1, length), places, truth)(1)


def test_a_slow_peer_reads_less_in_a_round() -> None:
    read: list[int] = []
    places = Places(0, 1000, 20, 5)
    timed_reads(lambda start, length: read.append(start) or truth(start, length), places, truth, count=2)(1)
    assert read == places.starts(1)[:2]


def test_work_that_returns_something_else_is_no_result() -> None:
    assert timed(lambda: 3, 3)(0) >= 0
    assert timed(lambda: 3)(0) >= 0
    with pytest.raises(UnequalError, match="3 instead of 4"):
        timed(lambda: 3, 4)(0)
