"""Ranges of the lines of an index; `test_index.py` looks captures up with them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from seekwarc.cdx.lines import StoredLine
from seekwarc.cdx.ranges import date_in, key_ranges, nearness
from seekwarc.errors import FormatError
from seekwarc.format.dates import date_of_digits
from seekwarc.format.surt import browser_key
from tests.support.cdx import cdxj_line
from tests.support.odd_uris import odd_uris


def test_the_keys_of_both_families_are_looked_for() -> None:
    starts = [start for start, _ in key_ranges("https://www.example.org/Blog/?u=%2F", "exact")]
    assert starts == [
        b"org,example)/blog?u=/ ",
        b"org,example)/blog/?u=%2f ",
        b"org,example)/blog?u=%2f ",
    ]
    assert len([*key_ranges("http://example.org/", "exact")]) == 1


def test_what_browsers_write_as_it_is_has_one_key_of_theirs() -> None:
    for uri in (
        "http://a.org",
        "https://www.a.org:443/B//c/./d/../~e/?B=1&a=.&&=",
        "http://www.www.a.org:80?x/y",
        "http://1.2.3/",
        "http:///x",
    ):
        starts = {start for start, _ in key_ranges(uri, "exact")}
        assert {f"{browser_key(uri, raw=raw)} ".encode() for raw in (False, True)} <= starts, uri
    for uri in odd_uris(2000, seed=6):
        starts = {start for start, _ in key_ranges(uri, "exact")}
        assert {f"{browser_key(uri, raw=raw)} ".encode() for raw in (False, True)} <= starts, uri


def test_a_host_may_end_with_a_dot_and_have_its_www() -> None:
    both = [(b"org,example)", b"org,example*"), (b",org,example)", b",org,example*")]
    assert [*key_ranges("example.org", "host")] == both
    # As in `http://user@www.example.org/`.
    assert [*key_ranges("www.example.org", "host")] == [
        *both,
        (b"org,example,www)", b"org,example,www*"),
        (b",org,example,www)", b",org,example,www*"),
    ]
    assert [start for start, _ in key_ranges("http://[::1]/", "host")] == [
        *(b"::1)", b",::1)", b"[::1])", b",[::1])")
    ]


def test_ranges_do_not_overlap() -> None:
    # That of `www.` is in the domain.
    both = [(b"org,example)", b"org,example-"), (b",org,example)", b",org,example-")]
    assert [*key_ranges("www.example.org", "domain")] == both
    assert [*key_ranges("http://a.org/b?d&c", "prefix")] == [(b"org,a)/b?c&d", b"org,a)/b?c&d\xff")]
    for uri in odd_uris(2000, seed=5):
        ranges = sorted(key_ranges(uri, "prefix"))
        assert all(one[1] <= two[0] for one, two in pairwise(ranges)), uri


def test_what_was_posted_is_looked_for_decoded_and_without_its_body() -> None:
    starts = [start for start, _ in key_ranges("http://a.org/b?__wb_method=POST&a=%C3%BC%26", "exact")]
    assert b"org,a)/b?__wb_method=post&a=%c3%bc%26 " in starts
    assert b"org,a)/b?__wb_method=post&a=%C3%BC%26 " in starts
    assert b"org,a)/b?&__wb_method=post " in starts


def test_the_date_of_a_line_is_after_its_key() -> None:
    line = StoredLine(cdxj_line("org,a)/", "20200101000001"), "a.cdxj", 7)
    assert date_in(line) == b"20200101000001"
    assert nearness(date_of_digits("2020"), line) == (10**9, False)
    assert nearness(date_of_digits("20200101000002"), line) == (10**9, True)
    with pytest.raises(FormatError, match="invalid date"):
        nearness(date_of_digits("2020"), StoredLine(b"org,a)/ 2020x {}", "a.cdxj", 7))
