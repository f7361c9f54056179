"""Numbers with their nouns, and texts between quotes."""

from __future__ import annotations

import pytest

from seekwarc.format.words import counted, quoted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 records"), (1, "1 record"), (2, "2 records"), (1000, "1000 records")]
)
def test_one_is_singular_and_all_others_plural(number: int, words: str) -> None:
    assert counted(number, "record") == words


def test_a_plural_of_another_form_can_be_given() -> None:
    assert counted(2, "entry", "entries") == "2 entries"
    assert counted(1, "entry", "entries") == "1 entry"


def test_a_text_is_quoted_without_surrogates() -> None:
    assert quoted("http://e.org/\udce9") == "'http://e.org/%E9'"
    assert quoted("it's \ud800\n") == '"it\'s %ED%A0%80\\n"'
