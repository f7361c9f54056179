"""What verbs print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.cli.printing import printable


@given(st.text() | st.text(st.characters(codec=None, categories=["Cc", "Cs", "Cf"])))
def test_nothing_that_a_terminal_obeys_gets_through(text) -> None:
    shown = printable(text)
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)
    assert not any(0xDC80 <= ord(character) <= 0xDCFF for character in shown)
    if text.isprintable():
        assert shown == text


@pytest.mark.parametrize("text", ["a\u202eb", "a\u2066b", "a\u200bb\u200f"])
def test_text_is_not_turned_round(text) -> None:
    assert printable(text) != text, "bidirectional controls make one URI look like another"


def test_what_is_not_there_is_a_dash() -> None:
    assert printable(None) == "-"
