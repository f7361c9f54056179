"""Every sentence of WARC 1.1 that says what shall be has a test that names it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from tests.standard.clauses import QUOTATIONS, body, normalised, obligations, sentences

MODULES = [
    import_module(f"tests.standard.{path.stem}") for path in Path(__file__).parent.glob("test_clause_*.py")
]

EXCEPTIONS = {
    "The MIME type of a WARC file shall be application/warc.": (
        "a label that the server of the file adds; the file has no label, and seekwarc does not serve files"
    ),
}
"""Sentences that no test can be about, and why."""

with_text = pytest.mark.needs("standard")


def obliging() -> list[str]:
    """Return the sentences of clauses 4 to 9 that oblige, in order."""
    return [it for paragraph in body() for it in sentences(paragraph) if obligations(it)]


def test_every_test_of_a_clause_names_a_sentence() -> None:
    assert len(MODULES) == 5
    tests = [value for module in MODULES for name, value in vars(module).items() if name.startswith("test_")]
    assert [test.__qualname__ for test in tests if not getattr(test, "quotations", ())] == []
    assert len(QUOTATIONS) >= len(tests) > 100


@with_text
def test_every_quoted_sentence_is_in_the_standard() -> None:
    text = "\n".join(body())
    assert [it for it in QUOTATIONS if it.sentence not in text] == []
    assert [sentence for sentence in EXCEPTIONS if normalised(sentence) not in text] == []


@with_text
def test_every_requirement_has_a_test_or_an_exception() -> None:
    named = {it.sentence for it in QUOTATIONS}
    excepted = {normalised(sentence) for sentence in EXCEPTIONS}
    assert [it for it in obliging() if it not in named | excepted] == []
    assert named & excepted == set()


@with_text
def test_clauses_are_numbered_in_the_order_of_the_text() -> None:
    text = "\n".join(body())
    ordered = sorted(QUOTATIONS, key=lambda it: text.find(it.sentence))
    numbers = [tuple(map(int, it.clause.split("."))) for it in ordered]
    assert numbers == sorted(numbers)


@with_text
def test_no_shall_or_should_is_lost_between_sentences() -> None:
    assert sum(map(obligations, obliging())) == sum(map(obligations, body()))
    # As the standard has them; another number means that the text or the way it is taken apart has changed.
    assert len(obliging()) == 71
