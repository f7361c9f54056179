"""What the command says of its own arguments."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("words", "meant"),
    [(("verfy",), "verify"), (("ls", "--jsn", "x"), "--json"), (("help", "recove"), "recover")],
)
def test_what_was_meant_is_offered(command, words, meant) -> None:
    assert f"did you mean {meant}?" in command(*words, status=2).stderr


def test_help_verb_is_the_help_of_the_verb(command) -> None:
    assert command("help", "ls").out == command("ls", "--help").out
    assert command("help").out == command("--help").out


def test_limits_are_shown_when_asked_for(command) -> None:
    assert "--max-window" not in command("ls", "--help").out
    assert "--max-window SIZE" in command("ls", "--help-all").out
