"""Which captures are meant by a URI."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc import Entry, WarcDate
from seekwarc.collection.likeness import Likeness, Meant, in_order, nearest_alike
from seekwarc.format.uri import normalized

SPELLINGS = [
    ("http://example.org", "http://EXAMPLE.org:80/#top"),
    ("http://example.org/%7Ea%c3%a9", "http://example.org/~a\u00e9"),
    ("http://example.org/caf\udce9", "http://example.org/caf%e9"),
    ("http://m\u00fcnchen.example/", "http://xn--mnchen-3ya.example/"),
    ("https://example.org:443/a b?q=a b", "https://example.org/a%20b?q=a%20b"),
    ("http://[::1]/", "http://[::1]:80/"),
]
OTHERS = [
    ("https://www.example.org/", "https://www2.example.org/"),
    ("http://example.org/", "https://example.org/"),
    ("http://example.org/AbC", "http://example.org/abc"),
    ("http://example.org/a//b", "http://example.org/a/b"),
    ("http://example.org/?b=1&a=2", "http://example.org/?a=2&b=1"),
]
NONE = [
    ("http://example.org/", "http://example.org/a"),
    ("http://example.org/", "http://example.com/"),
    ("http://example.org/a%2Fb?x", "http://example.org/a"),
    ("http://example.org:8080/", "http://example.org/"),
]


@pytest.mark.parametrize("pair", SPELLINGS)
def test_spellings_of_a_uri_are_the_same_uri(pair: tuple[str, str]) -> None:
    for one, other in (pair, pair[::-1]):
        assert Meant(one)(one) is Likeness.SAME
        assert Meant(one)(other) is Likeness.SPELLING
        assert Meant(one).note(other) is None


@pytest.mark.parametrize("pair", OTHERS)
def test_another_uri_of_the_same_key_is_said(pair: tuple[str, str]) -> None:
    for one, other in (pair, pair[::-1]):
        assert Meant(one)(other) is Likeness.KEY
        assert Meant(one).note(other) == f"no capture of {one}; this is {other}, which has the same key"


@pytest.mark.parametrize("pair", NONE)
def test_other_uris_are_not_alike(pair: tuple[str, str]) -> None:
    for one, other in (pair, pair[::-1]):
        assert Meant(one)(other) is None


def test_captures_come_by_likeness_and_then_as_given() -> None:
    given = ["http://www.e.org/b", "http://e.org/%62", "http://e.org/b", "http://e.org/B", "http://e.org/b"]
    expected = [given[2], given[4], given[1], given[0], given[3]]
    assert list(in_order("http://e.org/b", given, str)) == expected


@pytest.mark.parametrize(
    ("uri", "date", "number"),
    [
        ("http://e.org/b", None, 4),
        ("http://e.org/b", "2001", 2),
        ("http://e.org/b#x", None, 4),
        ("http://e.org/b#x", "2001", 1),
        ("https://e.org/B", "2003", 3),
        ("http://e.org/BB", None, None),
        ("http://e.org/c", None, 6),
    ],
)
def test_the_nearest_is_one_of_those_that_are_the_most_alike(
    uri: str, date: str | None, number: int | None
) -> None:
    stored = ["www.e.org/b", "e.org/%62", "e.org/b", "e.org/B", "e.org/b", "e.org/c", "e.org/C"]
    entries = [
        Entry("a.warc", at, uri=f"http://{it}", date=WarcDate.parse(f"200{at}") if it != "e.org/c" else None)
        for at, it in enumerate(stored)
    ]
    found = nearest_alike(uri, entries, WarcDate.parse(date) if date is not None else None)
    assert (found.offset if found is not None else None) == number


def test_the_first_of_the_same_uri_is_there_before_others_are_looked_at() -> None:
    def captures():
        yield "http://e.org/b"
        raise AssertionError

    assert next(in_order("http://e.org/b", captures(), str)) == "http://e.org/b"


@given(st.text(max_size=60) | st.text(max_size=40).map(lambda it: f"http://e.org/{it}"))
def test_any_text_has_a_form_that_is_its_own(uri: str) -> None:
    uri = uri.encode("utf-8", "replace").decode()
    form = normalized(uri)
    assert normalized(form.decode("utf-8", "surrogateescape")) == form
    assert Meant(uri)(uri) is Likeness.SAME
