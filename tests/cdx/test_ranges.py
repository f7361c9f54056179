"""Ranges of the lines of an index; `test_index.py` looks captures up with them."""

from __future__ import annotations

import pytest

from seekwarc.cdx.lines import StoredLine
from seekwarc.cdx.ranges import date_in, distance, key_ranges
from seekwarc.errors import FormatError
from seekwarc.format.dates import date_of_digits
from tests.support.cdx import cdxj_line


def test_the_keys_of_both_families_are_looked_for() -> None:
    starts = [start for start, _ in key_ranges("https://www.example.org/Blog/?u=%2F", "exact")]
    assert starts == [
        b"org,example)/blog?u=/ ",
        b"org,example)/blog/?u=%2f ",
        b"org,example)/blog?u=%2f ",
    ]
    assert len([*key_ranges("http://example.org/", "exact")]) == 1


def test_ranges_of_a_host_are_one() -> None:
    assert [*key_ranges("example.org", "host")] == [(b"org,example)", b"org,example*")]
    assert [*key_ranges("example.org", "domain")] == [(b"org,example)", b"org,example-")]


def test_the_date_of_a_line_is_after_its_key() -> None:
    line = StoredLine(cdxj_line("org,a)/", "20200101000001"), "a.cdxj", 7)
    assert date_in(line) == b"20200101000001"
    assert distance(date_of_digits("2020"), line) == 10**9
    with pytest.raises(FormatError, match="invalid date"):
        distance(date_of_digits("2020"), StoredLine(b"org,a)/ 2020x {}", "a.cdxj", 7))
