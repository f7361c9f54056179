"""No table changes what is read: sound files, false tables, and what a reader without tables delivers.

More mutants than run here: `python -m tests.support.mutants --count 1000000`.
"""

from __future__ import annotations

import pytest

from tests.support.mutants import Maker, Tally, check


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_false_tables_change_nothing_that_is_read(first: int) -> None:
    tally = Tally()
    for number in range(first, first + 50):
        check(number, tally)
    assert tally.false > 30
    assert tally.reported == tally.false


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 11_000, 1000))
def test_ten_thousand_false_tables_change_nothing(first: int) -> None:
    tally = Tally()
    for number in range(first, first + 1000):
        check(number, tally)
    assert tally.raised > 0
    print(tally)


def test_the_mutants_are_of_every_kind() -> None:
    kinds = {Maker(number).mutant().kind.partition(",")[0] for number in range(200)}
    assert {"replaced", "added", "hidden", "raw", "more than there is"} <= kinds
