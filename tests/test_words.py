"""Words that a native reader stumbles over stay out of the package, the pages and the names of tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

INSTEAD = {
    r"\bbehind\b(?! a (reverse )?proxy)": "after",
    r"\bin front of\b": "before",
    r"\banew\b": "again",
    r"\bgone through\b": "scanned, read",
    r"\b(is|are|was|were) none\b": "is None, has no ...",
    r"\bbe had\b": "is unavailable",
    r"\bbe meant\b": "is invalid",
    r"\b[Ww]hoever\b": "the caller, a reader of ...",
    r"\btwice does no harm\b": "is idempotent",
    r"\bfor nothing\b": "costs no I/O",
    r"(?m)^(?:<<<<<<<|>>>>>>>) ": "one of the two versions",
}
"""Each expression, and what an experienced engineer would write."""
CONSTANTS = re.compile(
    r"\b_?(?:[A-Z]+_)*(?:MOST|LONGEST|LARGEST|LEAST)(?:_[A-Z]+)+\b|\b_?[A-Z]+_(?:MOST|LEAST)\b"
)
"""Names of bounds that should begin with MAX or MIN."""


def room_of(path: Path) -> str:
    """Return the folder below the package, the tests or the notes, or else the file."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2])


def text_of(path: Path) -> str:
    """Return what is judged: all of a page or module of the package, only the names in a test."""
    text = path.read_text()
    if path.suffix == ".py" and path.is_relative_to(ROOT / "tests"):
        names = re.findall(r"^ *(?:async )?(?:def|class) (\w+)", text, re.MULTILINE)
        return "\n".join([name.replace("_", " ") for name in names] + re.findall(r"\b_?[A-Z_]{5,}\b", text))
    return text


def readable_files() -> Iterator[Path]:
    yield ROOT / "README.md"
    for folder, kinds in {"seekwarc": ("py", "md"), "spec-notes": ("py", "md"), "tests": ("py",)}.items():
        for kind in kinds:
            yield from (ROOT / folder).rglob(f"*.{kind}")


def faults_of(text: str) -> list[str]:
    """Return the listed words in a text, each with what to write instead."""
    faults = [
        f"{found[0]!r} ({instead})"
        for expression, instead in INSTEAD.items()
        for found in re.finditer(expression, text)
    ]
    return faults + [f"{found[0]!r} (MAX_, MIN_)" for found in CONSTANTS.finditer(text)]


ROOMS: dict[str, list[Path]] = {}
for file in sorted(readable_files()):
    if file != Path(__file__):
        ROOMS.setdefault(room_of(file), []).append(file)


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_room_uses_plain_words(room: str) -> None:
    found = {str(path.relative_to(ROOT)): faults_of(text_of(path)) for path in ROOMS[room]}
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "text",
    [
        "the table behind the frames",
        "it is read anew",
        "of whoever asks; there is none",
        "MOST_FIELDS = 1",
        "_LONGEST_LINE = 2",
        "AT_LEAST = 3",
    ],
)
def test_listed_words_are_found(text: str) -> None:
    assert faults_of(text)


@pytest.mark.parametrize("text", ["if x is None:", "runs behind a reverse proxy", "at most 3", "MAX_FIELDS"])
def test_other_words_are_not(text: str) -> None:
    assert faults_of(text) == []
