"""No table changes what is read: sound files, false tables, and what a reader without tables delivers.

More mutants than run here: `SEEKWARC_ROUNDS=5`, or `python -m tests.support.mutants --count 1000000`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.forged import WAYS
from tests.support.mutants import Maker, Tally, check, check_listing
from tests.support.rounds import rounds


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(50, 300, 50))]
)
def test_false_tables_change_nothing_that_is_read(first: int) -> None:
    tally = Tally()
    check(range(first, first + 50), tally)
    assert tally.false > 30
    assert tally.reported == tally.false
    assert set(WAYS) <= set(tally.ways)
    # What is refused, since no reader can tell what it is, is rare.
    assert sum(count for way, count in tally.ways.items() if way.endswith("error")) < tally.mutants // 10


def test_false_tables_change_nothing_that_the_command_lists(tmp_path: Path) -> None:
    mutants = [Maker(number).mutant() for number in range(300, 320)]
    paths = [tmp_path / f"{number}.warc.zst" for number in range(len(mutants))]
    for path, mutant in zip(paths, mutants, strict=True):
        path.write_bytes(mutant.data)

    def run(words: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "seekwarc", *words], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    check_listing(paths, mutants, run)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1000 + rounds(5_000), 500))
def test_thousands_of_false_tables_change_nothing(first: int) -> None:
    tally = Tally()
    check(range(first, first + 500), tally, ways_of=5)
    assert tally.raised > 0
    print(tally)


def test_the_mutants_are_of_every_kind() -> None:
    kinds = {Maker(number).mutant().kind.partition(",")[0] for number in range(200)}
    assert {"replaced", "added", "hidden", "raw", "more than there is"} <= kinds
