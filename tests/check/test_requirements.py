"""The requirements in code are those of the specification."""

from __future__ import annotations

import re
import threading

from seekwarc.check.requirements import MODES, REQUIREMENTS, Account
from tests.support.vectors import SAMPLES

TEXT = (SAMPLES.parent / "index.md").read_text()


def in_the_text() -> dict[str, tuple[str, tuple[str, ...], bool]]:
    """Return section, modes and whether it says MUST, of each requirement in the text, by its number."""
    found: dict[str, tuple[str, tuple[str, ...], bool]] = {}
    chapter = section = 0
    body = TEXT.split("\n---\n", 1)[-1]
    parts = re.split(r"^(#{1,2} .*)$", body, flags=re.MULTILINE)
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        if heading.startswith("## "):
            section += 1
        else:
            chapter, section = chapter + 1, 0
        here = f"{chapter}.{section}" if section else str(chapter)
        marks = list(re.finditer(r"\*\*(W\d+)\*\*(?: \(([a-z, ]+)\))?", text))
        ends = [mark.start() for mark in re.finditer(r"\*\*[WRV]\d+\*\*", text)] + [len(text)]
        for mark in marks:
            end = next(it for it in ends if it > mark.start())
            sentences = text[mark.end() : end]
            modes = tuple(mark[2].split(", ")) if mark[2] else ()
            found[mark[1]] = (here, modes, "MUST" in sentences.split(" SHOULD ")[0])
    return found


def test_numbers_and_sections_are_those_of_the_text() -> None:
    text = in_the_text()
    assert {number: it.section for number, it in REQUIREMENTS.items()} == {
        number: section for number, (section, _, _) in text.items()
    }
    assert list(REQUIREMENTS) == [f"W{number}" for number in range(1, len(REQUIREMENTS) + 1)]


def test_modes_and_strength_are_those_of_the_text() -> None:
    for number, (_, modes, is_must) in in_the_text().items():
        requirement = REQUIREMENTS[number]
        if modes:
            assert set(requirement.modes) == set(modes), number
        assert requirement.is_must == is_must, number


def numbers(text: str) -> set[str]:
    """Return what a cell such as "W1 to W5, W7" names."""
    found: set[str] = set()
    for part in text.split(", "):
        first, _, last = part.partition(" to ")
        found |= {f"W{number}" for number in range(int(first[1:]), int((last or first)[1:]) + 1)}
    return found


def test_classes_have_the_requirements_of_the_table() -> None:
    rows = re.findall(r'^\| writes "(\w+)" \| ([^|]+) \|', TEXT, re.MULTILINE)
    assert {mode for mode, _ in rows} == set(MODES)
    for mode, cell in rows:
        mine = {number for number, it in REQUIREMENTS.items() if mode in it.modes}
        assert numbers(cell) == mine, mode


def test_the_mode_with_the_fewest_broken_requirements_is_taken() -> None:
    account = Account()
    assert account.profile(is_damaged=False).mode == "large"
    account.add("W22", 5, "no table at the end")
    profile = account.profile(is_damaged=False)
    assert (profile.mode, profile.broken) == ("none", ())
    assert account.profile(is_damaged=True).mode is None
    account.add("W26", 5, "a table")
    assert account.profile(is_damaged=False).mode == "every"
    account.add("W23", 5, "no table")
    profile = account.profile(is_damaged=False)
    assert (profile.mode, profile.judged_by) == (None, "large"), "the first of equals"
    assert [it.requirement.number for it in profile.broken] == ["W22"]


def test_a_requirement_counts_once_however_often_it_is_broken() -> None:
    account = Account()
    for number in ("W21", "W23", "W26"):
        account.add(number, 5, "broken")
    for offset in range(6, 9):
        account.add("W21", offset, "broken again")
    assert account.profile(is_damaged=False).judged_by == "large"


def test_what_only_should_be_breaks_no_class() -> None:
    account = Account()
    account.add("W20", 1, "no checksums")
    account.add("W16", 1, "padding")
    profile = account.profile(is_damaged=False)
    assert (profile.mode, profile.broken) == ("large", ())
    assert [it.requirement.number for it in profile.advice] == ["W16", "W20"]


def test_the_first_place_is_the_lowest_whatever_the_order() -> None:
    account = Account()

    def add(number: int) -> None:
        for offset in range(1000, 0, -1):
            account.add("W7", offset * 2 + number, f"at {offset * 2 + number}")

    threads = [threading.Thread(target=add, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [broken] = account.profile(is_damaged=False).broken
    assert (broken.count, broken.offset, broken.message) == (2000, 2, "at 2")
    assert set(MODES) == {"large", "every", "none"}
