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
TURNS = {
    r"\bOf (?:an?|what|records)\b": "For a ..., In a ...: a sentence begins with its subject",
    r"\btells? of\b": "reports, says, names",
    r"\bis another one\b": "changes, is not the same",
    r"\bno (?:sample|part of a file) (?:has|can)\b": "NAME must be at least ..., not ...",
    r"(?<![Tt]here )\b(?:is|are) no (?!longer\b|(?:\w+er|more|less) than\b)\w": "is not a ...",
    r"\bare wanted\b(?=[\"'{])": "expected ...",
    r"\bof what lies\b": "the bytes before, earlier records",
    r"\bgone to\b": "reached, has an offset of its own",
    r"\bis done without\b": "no ... here",
    r"\bNone where\b": "None if",
    r"\b(?:nobody|somebody)\b": "a caller, no thread; or in the passive",
}
"""Turns of phrase that stop a reader, in docstrings, messages, comments and pages of the package."""
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


def faults_of(text: str, listed: dict[str, str] = INSTEAD) -> list[str]:
    """Return the listed expressions in a text, each with what to write instead."""
    faults = [
        f"{found[0]!r} ({instead})"
        for expression, instead in listed.items()
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


@pytest.mark.parametrize("room", sorted(name for name in ROOMS if name.startswith("seekwarc")))
def test_room_speaks_as_a_native_engineer(room: str) -> None:
    found = {str(path.relative_to(ROOT)): faults_of(text_of(path), TURNS) for path in ROOMS[room]}
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "text",
    [
        "Of a pipe or a file object there is no copy",
        "a `FormatWarning` tells of each kind once a file",
        "Text that is another one when the file is replaced",
        "no sample has -1 records",
        "'x' is no offset or length: digits are wanted",
        "Of records: those whose first byte is in the stored bytes",
        "of what lies before these, an index may tell",
        "no part of a file can have 0 bytes",
        "One that shares its frame with the record before it cannot be gone to.",
        "what needs no call, no object and no read is done without",
    ],
)
def test_turns_are_found(text: str) -> None:
    assert faults_of(text, TURNS)


@pytest.mark.parametrize(
    "text",
    [
        "there is no such record",
        "it is no longer open, and is no older than that",
        "Length of the payload",
        "None if the record has none",
    ],
)
def test_plain_sentences_are_not(text: str) -> None:
    assert faults_of(text, TURNS) == []


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
