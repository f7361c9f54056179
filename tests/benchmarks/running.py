"""How things are timed: in turn, round after round, and compared within each round.

A machine's speed drifts, with other work on it and with its temperature. Two runs that follow each other see
nearly the same speed, so what is kept of a round is the ratio of its times; what is reported is the median of
these ratios and their quartiles.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple, TypeVar

from seekwarc.format import warc

__all__ = [
    "Line",
    "Peer",
    "Places",
    "Result",
    "UnequalError",
    "alternate",
    "compare",
    "package",
    "timed",
    "timed_reads",
]

Run = Callable[[int], float]
"""Does the work of a round, given its number, and returns the seconds that one unit of it took."""

Material = TypeVar("Material")
Found = TypeVar("Found")

MIN_ROUNDS = 4
MAX_ROUNDS = 25
BUDGET = 12.0
"""Seconds after which no further round of a line begins, once `MIN_ROUNDS` were run."""


class UnequalError(Exception):
    """Two tools did not find the same; then their times say nothing."""


Unit = Literal["x", "times", "ms", "MiB"]
"""What a value is: "x" says how many times as fast as the other we are, the more the better; "times" how many
times as much we take. Of all but the first, less is better."""


class Peer(NamedTuple):
    """Another tool, and what we want to reach beside it."""

    name: str
    run: Run
    target: float | None = None
    unit: Unit = "x"


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured of one line against one peer."""

    what: str
    against: str
    values: tuple[float, ...]
    """One for each round."""
    target: float | None = None
    unit: Unit = "x"
    ours: float | None = None
    """Median seconds of one unit of work."""
    theirs: float | None = None
    line: str = ""
    """Key of the line."""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The lower and the upper quartile; both are the value where there is only one."""
        if len(self.values) == 1:
            return self.values[0], self.values[0]
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high

    @property
    def at_most(self) -> bool:
        """Whether less is better."""
        return self.unit != "x"

    @property
    def reached(self) -> bool | None:
        """Whether the median reaches the target; None without a target."""
        if self.target is None:
            return None
        return self.median <= self.target if self.at_most else self.median >= self.target


@dataclass(frozen=True, slots=True)
class Line(Generic[Material]):
    """A line of the table: its key, for `--only`, and what measures it."""

    key: str
    measure: Callable[[Material], Sequence[Result]]


@dataclass(frozen=True, slots=True)
class Places:
    """Where to read: in each round elsewhere, for all tools the same.

    Args:
        low: First byte that may be read.
        high: End of what may be read, exclusive.
        length: Bytes of a read.
        count: Reads of a round.
    """

    low: int
    high: int
    length: int
    count: int
    seed: int = field(default=5, kw_only=True)

    def starts(self, round_number: int) -> list[int]:
        chance = random.Random(f"{self.seed}/{round_number}")
        return [chance.randint(self.low, self.high - self.length) for _ in range(self.count)]


def timed_reads(
    read: Callable[[int, int], bytes],
    places: Places,
    truth: Callable[[int, int], bytes],
    *,
    count: int | None = None,
) -> Run:
    """Return a run that times reads, without the time that it takes to compare each with the truth.

    Args:
        read: Called with start and length.
        places: Where to read.
        truth: Returns what should have been read.
        count: Reads of a round; all of `places` unless given. Fewer suit a peer that takes long.
    """

    def run(round_number: int) -> float:
        starts = places.starts(round_number)[:count]
        seconds = 0.0
        for start in starts:
            begin = time.perf_counter()
            found = read(start, places.length)
            seconds += time.perf_counter() - begin
            if found != truth(start, places.length):
                raise UnequalError(f"{places.length} bytes from {start} on are not those of the data")
        return seconds / len(starts)

    return run


def package() -> str:
    """Return which package is measured: "compiled" or "pure"."""
    return "pure" if warc.__file__.endswith(".py") else "compiled"


def timed(work: Callable[[], Found], expected: Found | None = None) -> Run:
    """Return a run that times one piece of work, and then compares what it returns, where that is known."""

    def run(round_number: int) -> float:
        begin = time.perf_counter()
        found = work()
        seconds = time.perf_counter() - begin
        if expected is not None and found != expected:
            raise UnequalError(f"{found!r:.200} instead of {expected!r:.200}")
        return seconds

    return run


def alternate(
    runs: Sequence[Run], *, budget: float = BUDGET, least: int = MIN_ROUNDS, most: int = MAX_ROUNDS
) -> list[tuple[float, ...]]:
    """Run all in turn, A B C A B C ..., and return the times of each round.

    The first round warms up and is not counted. When `budget` seconds are over, no further round begins.
    """
    begin = time.perf_counter()
    for run in runs:
        run(0)
    rounds: list[tuple[float, ...]] = []
    while len(rounds) < least or (len(rounds) < most and time.perf_counter() - begin < budget):
        rounds.append(tuple(run(len(rounds) + 1) for run in runs))
    return rounds


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it has run, all threads together."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def compare(
    what: str,
    ours: Run,
    peers: Sequence[Peer],
    *,
    budget: float = BUDGET,
    least: int = MIN_ROUNDS,
    processor: bool = False,
) -> list[Result]:
    """Measure us and the peers in turn; `processor` gives a second result each, of processor time.

    With idle cores, threads beside the caller's make the first shorter, and not the second.
    """
    runs = [ours, *(peer.run for peer in peers)]
    spent: list[float] = []

    def noted(run: Run) -> Run:
        def run_noted(round_number: int) -> float:
            begin = processor_seconds()
            seconds = run(round_number)
            spent.append(processor_seconds() - begin)
            return seconds

        return run_noted

    rounds = alternate([noted(run) for run in runs] if processor else runs, budget=budget, least=least)
    results = _paired(what, peers, rounds)
    if processor:
        # Without the round that warms up.
        turns = [tuple(spent[start : start + len(runs)]) for start in range(len(runs), len(spent), len(runs))]
        results += _paired(f"{what}: processor time", peers, turns)
    return results


def _paired(what: str, peers: Sequence[Peer], rounds: Sequence[tuple[float, ...]]) -> list[Result]:
    mine, *others = zip(*rounds, strict=True)
    results = []
    for peer, theirs in zip(peers, others, strict=True):
        pairs = zip(mine, theirs, strict=True)
        results.append(
            Result(
                what,
                peer.name,
                tuple(b / a if peer.unit == "x" else a / b for a, b in pairs),
                peer.target,
                peer.unit,
                ours=statistics.median(mine),
                theirs=statistics.median(theirs),
            )
        )
    return results
