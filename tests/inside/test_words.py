"""The words of a text."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.inside.words import MAX_WORD, is_ideographic, places_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Earl Grey, hot.", ["earl", "grey", "hot"]),
        ("Crème BRÛLÉE", ["creme", "brulee"]),
        ("cre\u0300me", ["creme"]),
        ("Straße ﬁn", ["strasse", "fin"]),
        ("don't x_y e-mail", ["don", "t", "x", "y", "e", "mail"]),
        ("日本語", ["日本", "本語", "語"]),
        ("the 図書館 of Kyōto", ["the", "図書", "書館", "館", "of", "kyoto"]),
        ("abc図def", ["abc", "図", "def"]),
        ("한국어", ["한국", "국어", "어"]),
        ("हिन्दी", ["हिन्दी"]),
        ("\0a\0b", ["a", "b"]),
        ("", []),
        ("…!", []),
    ],
)
def test_words_are_letters_and_digits(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_a_very_long_word_counts_by_its_beginning() -> None:
    for letter in "xé":
        text = letter * 1_000_000
        tracemalloc.start()
        (word,) = words_of(text)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(word) == MAX_WORD
        assert most < 4 * len(text), "the rest is not looked at"


@given(st.text())
def test_places_are_where_the_words_are(text: str) -> None:
    places = list(places_of(text))
    assert [it[0] for it in places] == words_of(text)
    assert all(0 <= start < stop <= len(text) for _, start, stop in places)
    assert [it[1] for it in places] == sorted(it[1] for it in places)


@given(st.text(st.characters(max_codepoint=127)))
def test_plain_text_has_the_same_words_among_others(text: str) -> None:
    assert words_of(text + " é")[:-1] == words_of(text)


@given(st.text())
def test_no_word_has_what_separates_words_in_the_index(text: str) -> None:
    for word in words_of(text):
        assert not any(it < "\x80" and not it.isalnum() for it in word)


def test_one_character_of_chinese_is_a_beginning() -> None:
    assert is_ideographic("図")
    assert not any(map(is_ideographic, ("x", "図書", "")))
