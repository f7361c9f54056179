"""The language of text searches."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.inside.query import MAX_QUERY, MAX_WORDS, TextQuery, reading_of
from seekwarc.inside.search_file import SCHEMA, Page
from seekwarc.inside.words import words_of
from tests.support.work import at_most_calls


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("tea kettle", "The kettle for tea", True),
        ("tea kettle", "The kettle", False),
        ('"earl grey"', "Earl Grey, hot", True),
        ('"earl grey"', "Grey Earl", False),
        ('"earl grey', "Earl Grey", True),
        ("e-mail", "my e-mail", True),
        ("e-mail", "mail e", False),
        ("arch*", "many archives", True),
        ("arch*", "monarch", False),
        ("tea OR coffee", "coffee", True),
        ("tea or coffee", "coffee", False),
        ("tea AND milk", "milk tea", True),
        ("tea NOT green", "green tea", False),
        ("tea -green", "black tea", True),
        ('tea -"green tea"', "tea, green", True),
        ("(tea OR coffee) milk", "coffee with milk", True),
        ("(tea OR coffee) milk", "milk", False),
        ("tea NOT (green OR white)", "white tea", False),
        ("図書", "これは図書館です", True),
        ("図書館", "書館図書", False),
        ("図", "地図", True),
        ("TÉA", "tea", True),
        ("http://example.org/", "see example.org or http://example.org/", True),
    ],
)
def test_a_query_means_what_it_says(query: str, text: str, *, matches: bool) -> None:
    parsed = TextQuery.parse(query)
    assert parsed.matches(text, None) == matches
    assert not matches or is_found(parsed, text, None)
    if parsed.is_exact:
        assert is_found(parsed, text, None) == matches


def is_found(query: TextQuery, text: str, title: str | None) -> bool:
    """Return whether FTS5 finds a page."""
    database = sqlite3.connect(":memory:")
    database.execute(SCHEMA[-1])
    database.execute("INSERT INTO words (rowid, word) VALUES (1, ?)", (Page.of(text, title).words,))
    found = database.execute("SELECT rowid FROM words WHERE words MATCH ?", (query.expression,)).fetchall()
    database.close()
    return found == [(1,)]


def test_a_title_is_searched_by_itself_and_with_the_text() -> None:
    for query, found in {
        "menu": True,
        "title:menu": True,
        "title:tea": False,
        'title:"our menu"': True,
    }.items():
        parsed = TextQuery.parse(query)
        assert parsed.matches("Tea, hot.", "Our menu") == found
        assert is_found(parsed, "Tea, hot.", "Our menu") == found


def test_conditions_are_apart_from_words() -> None:
    query = TextQuery.parse("tea site:example.org site:*.example.net type:pdf type:text/*")
    assert query.sites == ("example.org", "example.net")
    assert query.types == ("*/*pdf*", "text/*")
    assert query.expression == '"tea"'
    assert TextQuery.parse("site:example.org").expression is None


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("", "no word"),
        ("!!!", "no word"),
        ("-tea", "only says what to leave out"),
        ("tea OR -coffee", "only says what to leave out"),
        ("tea OR", "OR needs a word"),
        ("OR tea", "OR needs a word"),
        ("tea OR site:a.org", "OR needs a word"),
        ("(tea OR coffee site:a.org)", "apply to the whole query"),
        ("tea NOT", "NOT needs a word"),
        ("(tea", "no `\\)`"),
        ("tea)", "no `\\(`"),
        ("a*", "2 letters"),
        ("tea -site:example.org", "cannot be negated"),
        ("site:http://example.org/a", "not a host"),
        ("(" * 20 + "tea" + ")" * 20, "parentheses"),
        ("a " * (MAX_WORDS + 1), f"{MAX_WORDS} words"),
        ("a" * (MAX_QUERY + 1), f"{MAX_QUERY} characters"),
    ],
)
def test_what_is_no_query_is_refused(query: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        TextQuery.parse(query)


WORDS = ["tea", "図書館", "語", "e-mail", "ar*", "title:tea", "site:a.org", "type:pdf", "a:b", '"a b"', "-x"]
OTHERS = [
    "OR",
    "AND",
    "NOT",
    "(",
    ")",
    '"',
    "NEAR(a",
    "word:",
    "{",
    "^a",
    "+a",
    "=a",
    "'",
    ";--",
    "\0",
    "*",
    ":",
]
PIECES = st.sampled_from(WORDS + OTHERS)


@given(st.lists(PIECES, max_size=12), st.text("teaxb 図書館語", max_size=30))
def test_no_query_reaches_sqlite_but_as_words(pieces: list[str], text: str) -> None:
    try:
        query = TextQuery.parse(" ".join(pieces))
    except ValueError:
        return
    if query.expression is not None:
        # What matches is always found; FTS5 takes every expression.
        found = is_found(query, text, None)
        assert found or not query.matches(text, None)
        assert not query.is_exact or found == query.matches(text, None)
    for word in query.sufficient:
        assert query.matches(word, None)
    for word in query.required:
        assert not query.matches(text, None) or any(it.startswith(word) for it in words_of(text))


def test_one_of_some_words_suffices() -> None:
    assert TextQuery.parse("tea OR arch* OR title:milk OR (a b)").sufficient == {"tea", "arch"}
    assert TextQuery.parse("tea").sufficient == {"tea"}
    assert TextQuery.parse("tea milk").sufficient == set()


def test_no_query_takes_long() -> None:
    for text in ("(" * MAX_QUERY, '"' * MAX_QUERY, "-" * MAX_QUERY, "a:" * (MAX_QUERY // 2), "é" * MAX_QUERY):
        with at_most_calls(10 * MAX_QUERY), contextlib.suppress(ValueError):
            TextQuery.parse(text)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("foo:bar", "foo: is not a field"),
        ('tea "earl grey', "a quotation mark is not closed"),
        ("tea site:example.org title:x -type:pdf", ""),
        ('"foo:bar" tea', ""),
        ("10:30", ""),
        ("tea", ""),
    ],
)
def test_how_a_query_was_read_is_said_where_it_surprises(query: str, said: str) -> None:
    found = reading_of(query)
    assert bool(found) == bool(said)
    assert said in found
