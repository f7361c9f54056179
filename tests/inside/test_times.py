"""Times in films, as people write them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.inside.times import checked_time, parse_time, time_for_name, time_text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("75", "75"),
        ("75.5", "75.5"),
        ("1:15", "75"),
        ("1:15.25", "75.25"),
        ("1:02:10.25", "3730.25"),
        ("90:00", "5400"),
        ("0", "0"),
    ],
)
def test_a_time_is_seconds_or_a_clock(text, seconds) -> None:
    assert parse_time(text) == Fraction(seconds)


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1:60", "1:60:00", "1:2:3:4", "1:", ":5", "1e3", "5s", "1.2.3"]
)
def test_other_text_is_refused_with_the_forms(text) -> None:
    with pytest.raises(ValueError, match=r"is not a time: write seconds \(75\.5\)"):
        parse_time(text)


@given(st.integers(0, 10**9))
def test_a_time_is_the_same_after_it_was_shown(milliseconds) -> None:
    seconds = Fraction(milliseconds, 1000)
    assert parse_time(time_text(seconds)) == seconds


def test_names_sort_as_times_do() -> None:
    times = [Fraction(0), Fraction(1, 2), Fraction(59), Fraction(75), Fraction(3730), Fraction(36_000)]
    names = [time_for_name(it) for it in times]
    assert names == sorted(names)
    assert names[3] == "00-01-15.000"


@pytest.mark.parametrize("value", [-1, float("nan"), 10**12])
def test_numbers_that_are_no_times_are_refused(value) -> None:
    with pytest.raises(ValueError, match="start is"):
        checked_time("start", value)


@pytest.mark.parametrize("value", [None, True, b"1"])
def test_other_types_are_refused(value) -> None:
    with pytest.raises(TypeError, match="start must be"):
        checked_time("start", value)
