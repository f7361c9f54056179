"""Problems, each of which is reported once."""

from __future__ import annotations

import pytest

from seekwarc.errors import ChecksumError, FormatError
from seekwarc.jobs.problems import Counted, OncePerPlace


def test_problems_of_one_place_are_reported_once() -> None:
    found: list[FormatError] = []
    report = OncePerPlace(found.append)
    first, second = FormatError("one", offset=0), FormatError("other", offset=7)
    nowhere = FormatError("somewhere")
    for problem in (first, ChecksumError("again", offset=0), second, nowhere, nowhere):
        report(problem)
    assert found == [first, second, nowhere, nowhere]


def test_a_problem_that_was_raised_is_raised_again() -> None:
    def refuse(problem: FormatError) -> None:
        raise problem

    report = OncePerPlace(refuse)
    for _ in range(2):
        with pytest.raises(FormatError):
            report(FormatError("one", offset=0))


def test_problems_are_counted_and_without_a_function_raised() -> None:
    found: list[FormatError] = []
    problem = FormatError("one", offset=0)
    count, refuse = Counted(found.append), Counted(None)
    count(problem)
    count(problem)
    assert (count.count, found) == (2, [problem, problem])
    with pytest.raises(FormatError):
        refuse(problem)
