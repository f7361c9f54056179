"""Which test stands for which sentence of WARC 1.1, and the text that the sentences are from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tests.conftest import STANDARD

Test = TypeVar("Test", bound=Callable[..., object])

FIRST = "A WARC format file is the simple concatenation"
"""How clause 4 begins."""
AFTER_LAST = "Different use cases are listed in Tables A.1"
"""How annex A begins."""

_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
_SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<=[.?!])(?P<closed>[)\"']*)\s+(?=[A-Z(\"'])")
_OBLIGATION = re.compile(r"\b(?:shall|must|mandatory)\b")


@dataclass(frozen=True, slots=True)
class Quotation:
    """A sentence of the standard that a test is about."""

    clause: str
    sentence: str
    test: str


QUOTATIONS: list[Quotation] = []


def shall(clause: str, sentence: str) -> Callable[[Test], Test]:
    """Mark a test as one of a sentence that says what shall be."""

    def mark(test: Test) -> Test:
        quotation = Quotation(clause, normalised(sentence), f"{test.__module__}.{test.__name__}")
        QUOTATIONS.append(quotation)
        test.quotations = (quotation, *getattr(test, "quotations", ()))
        return test

    return mark


def normalised(text: str) -> str:
    """Write quotes straight and blanks single, and undo line breaks in words with a hyphen."""
    text = re.sub(r"\s+", " ", text.translate(_QUOTES)).strip()
    return re.sub(r"(?<=\w)- (?=\w)", "-", text)


def body() -> list[str]:
    """Return the paragraphs of clauses 4 to 9."""
    lines = STANDARD.read_text("utf-8").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(FIRST))
    stop = next(number for number, line in enumerate(lines) if line.startswith(AFTER_LAST))
    return [normalised(line) for line in lines[first:stop]]


def sentences(paragraph: str) -> list[str]:
    """Take a paragraph apart. A sentence in brackets keeps them."""
    found, begin = [], 0
    for end in _SENTENCE_END.finditer(paragraph):
        found.append(paragraph[begin : end.end("closed")])
        begin = end.end()
    return [*found, paragraph[begin:]]


def obligations(text: str) -> int:
    """Count the words that oblige."""
    return len(_OBLIGATION.findall(text))
