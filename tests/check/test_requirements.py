"""The requirements in code are those of the specification."""

from __future__ import annotations

import threading

from seekwarc.check.requirements import MODES, REQUIREMENTS, Account
from tests.support.specification import stated

STATED = {number: it for number, it in stated().items() if number.startswith("W")}


def test_numbers_and_sections_are_those_of_the_text() -> None:
    assert {number: it.section for number, it in REQUIREMENTS.items()} == {
        number: it.section for number, it in STATED.items()
    }
    assert list(REQUIREMENTS) == [f"W{number}" for number in range(1, len(REQUIREMENTS) + 1)]


def test_modes_and_strength_are_those_of_the_text() -> None:
    for number, it in STATED.items():
        requirement = REQUIREMENTS[number]
        assert set(requirement.modes) == set(it.modes or MODES), number
        assert requirement.is_must == it.is_must, number


def test_the_mode_with_the_fewest_broken_requirements_is_taken() -> None:
    account = Account()
    assert account.profile(is_damaged=False).mode == "large"
    account.add("W22", 5, "no table at the end")
    profile = account.profile(is_damaged=False)
    assert (profile.mode, profile.broken) == ("none", ())
    assert account.profile(is_damaged=True).mode is None
    account.add("W26", 5, "a table")
    assert account.profile(is_damaged=False).mode == "every"
    account.add("W23", 5, "no table")
    profile = account.profile(is_damaged=False)
    assert (profile.mode, profile.judged_by) == (None, "large"), "the first of equals"
    assert [it.requirement.number for it in profile.broken] == ["W22"]


def test_a_requirement_counts_once_however_often_it_is_broken() -> None:
    account = Account()
    for number in ("W21", "W23", "W26"):
        account.add(number, 5, "broken")
    for offset in range(6, 9):
        account.add("W21", offset, "broken again")
    assert account.profile(is_damaged=False).judged_by == "large"


def test_what_only_should_be_breaks_no_class() -> None:
    account = Account()
    account.add("W20", 1, "no checksums")
    account.add("W16", 1, "padding")
    profile = account.profile(is_damaged=False)
    assert (profile.mode, profile.broken) == ("large", ())
    assert [it.requirement.number for it in profile.advice] == ["W16", "W20"]


def test_the_first_place_is_the_lowest_whatever_the_order() -> None:
    account = Account()

    def add(number: int) -> None:
        for offset in range(1000, 0, -1):
            account.add("W7", offset * 2 + number, f"at {offset * 2 + number}")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [broken] = account.profile(is_damaged=False).broken
    assert (broken.count, broken.offset, broken.message) == (2000, 2, "at 2")
    assert set(MODES) == {"large", "every", "none"}
