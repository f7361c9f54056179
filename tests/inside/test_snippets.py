"""Snippets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seekwarc.inside.query import TextQuery
from seekwarc.inside.snippets import SNIPPET_SIZE, Snippet, snippet_of
from tests.support.work import at_most_calls

LONG = "Lorem ipsum dolor. " * 40 + "We drink Earl Grey tea,\nhot, of a kettle. " + "Sit amet tea. " * 500


def marked(text: str, query: str) -> list[str]:
    found = snippet_of(text, TextQuery.parse(query))
    return [found.text[start:stop] for start, stop in found.marks]


def test_a_snippet_shows_all_words_together_if_it_can() -> None:
    assert marked(LONG, "kettle tea")[:2] == ["tea", "kettle"]
    found = snippet_of(LONG, TextQuery.parse("kettle tea"))
    assert "Grey tea, hot" in found.text
    assert found.text.startswith("… ")
    assert found.text.endswith(" …")
    assert len(found.text) <= SNIPPET_SIZE + 4


def test_phrases_and_beginnings_are_marked_as_a_whole() -> None:
    assert marked("Grey Earl; Earl Grey; Lady Grey", '"earl grey" OR "lady grey"') == [
        "Earl Grey",
        "Lady Grey",
    ]
    assert marked("many archives and ARCHÉ", "arch*") == ["archives", "ARCHÉ"]
    assert marked("これは図書館です", "図書館") == ["図書館"]


def test_what_is_negated_is_not_marked() -> None:
    assert marked("tea, green", 'tea -"green tea"') == ["tea"]


def test_without_the_words_it_is_the_beginning() -> None:
    found = snippet_of(LONG, TextQuery.parse("title:menu"))
    assert found.text.startswith("Lorem ipsum")
    assert found.marks == ()
    assert snippet_of("", TextQuery.parse("tea")) == Snippet("")


def test_marks_can_be_put_into_the_text() -> None:
    assert Snippet("tea, hot tea", ((0, 3), (9, 12))).marked("<", ">") == "<tea>, hot <tea>"


@given(st.text("abé 図書\n", max_size=400), st.sampled_from(["a", "ab*", '"a b"', "図", "図書", "a b é"]))
def test_marks_are_in_the_snippet(text: str, query: str) -> None:
    found = snippet_of(text, TextQuery.parse(query), 60)
    assert "\n" not in found.text
    last = 0
    for start, stop in found.marks:
        assert last <= start < stop <= len(found.text)
        last = stop


def test_a_long_text_takes_no_longer_than_reading_it() -> None:
    query = TextQuery.parse(" ".join(["tea", *(f"w{it}" for it in range(31))]))
    with at_most_calls(15 * 20_000):
        snippet_of("tea " * 20_000, query)
