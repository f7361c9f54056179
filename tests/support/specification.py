"""The text of the specification: its sections, and its requirements with the sentences that state them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tests.support.vectors import SAMPLES

CORE: Final = (SAMPLES.parent / "index.md").read_text()
ANNEXES: Final = (SAMPLES.parent / "annexes.md").read_text()
FENCED: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
MARK: Final = re.compile(r"\*\*([WRV]\d+)\*\*(?: \(([a-z, ]+)\))?")
SENTENCE: Final = re.compile(r"(?<=[.:;])\s+(?=[A-Z*`\[])")


@dataclass(frozen=True, slots=True)
class Stated:
    """A requirement as the text states it."""

    number: str
    section: str
    """Such as "6.2", or "A.4" of the annexes."""
    modes: tuple[str, ...]
    """Those that it names; none if it holds in all."""
    sentences: tuple[str, ...]

    @property
    def must(self) -> list[str]:
        """Its sentences with MUST."""
        return [it for it in self.sentences if "MUST" in it]

    @property
    def is_must(self) -> bool:
        """Whether it says MUST before it says SHOULD."""
        return "MUST" in " ".join(self.sentences).split(" SHOULD ")[0]


def sections() -> dict[str, str]:
    """Return the text of each section of both files by its number."""
    found = {}
    for text in (CORE.split("\n---\n", 1)[1], ANNEXES):
        bare = FENCED.sub("", text)
        parts = re.split(r"^#{1,2} ([\dA-Z](?:\.\d)?) .*$", bare, flags=re.MULTILINE)
        found |= dict(zip(parts[1::2], parts[2::2], strict=True))
    return found


def stated() -> dict[str, Stated]:
    """Return the requirements by number, in the order of the text."""
    found = {}
    for section, text in sections().items():
        marks = list(MARK.finditer(text))
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        for mark, end in zip(marks, ends, strict=False):
            sentences = SENTENCE.split(" ".join(text[mark.end() : end].split()))
            modes = tuple(mark[2].split(", ")) if mark[2] else ()
            assert mark[1] not in found, mark[1]
            found[mark[1]] = Stated(mark[1], section, modes, tuple(sentences))
    return found
