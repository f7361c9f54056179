"""The text of the specification: its numbers, its links, and what the code cites of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.http import parse_http_head

ROOT = Path(__file__).parents[1]
NOTES = ROOT / "spec-notes"
TEXT = (NOTES / "warc-zstd-seekable" / "index.md").read_text()
REQUIREMENTS = {"W": 35, "R": 31, "V": 10}


def headings(text: str) -> dict[str, str]:
    """Return the number of each section, as the published site counts it, by its anchor."""
    numbers = [0, 0]
    found = {}
    for level, title in re.findall(
        r"^(#{1,2}) (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    ):
        numbers = [numbers[0] + 1, 0] if level == "#" else [numbers[0], numbers[1] + 1]
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found[anchor] = ".".join(str(number) for number in numbers if number)
    return found


SECTIONS = headings(TEXT)


def cited(text: str) -> set[str]:
    """Return the sections that a passage after the word names: "6.2", or "3" to "6" for "sections 3 to 6"."""
    return set(re.findall(r"\d+(?:\.\d+)?", text))


def expression(name: str) -> re.Pattern[bytes]:
    """Return the expression that section 2.1 gives for a start line."""
    stated = re.search(rf"^{name}: +(.+)$", TEXT, re.MULTILINE)
    assert stated is not None
    return re.compile(stated[1].replace("token", r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").encode())


STATUS_LINE, REQUEST_LINE = expression("status line"), expression("request line")
STATUS_LINES = b"HTTP/1.1 200 OK|HTTP/1.1 100 C|HTTP/2 103|HTTP/1.1 101 S|HTTP/1.x 200|http/1.1 200|ICY 200"
NO_STATUS = b"HTTP/1.1 0 No Content|HTTP/1.1 0|HTTP/1.1 00"
LINE_PARTS = b"GET / HTTP/1.1|HTTP 2000|GET| /|A: b|200 |\r|\r\n|\n|\r\n\r\n|\r\r\n"
HEAD_PARTS = [*STATUS_LINES.split(b"|"), *NO_STATUS.split(b"|"), *LINE_PARTS.split(b"|")]


def head_size(block: bytes) -> int | None:
    """Return the size of the HTTP head of a block, or None, as W2 says it."""
    start = re.match(rb"(\r?\n){0,4}", block)
    end, found = start.end() if start else 0, None
    while (status := STATUS_LINE.match(block, end)) or (found is None and REQUEST_LINE.match(block, end)):
        blank = re.compile(rb"\n\r{0,2}\n").search(block, end)
        if blank is None:
            return None
        interim = status is not None and re.search(rb"[ \t]1(?!01)\d\d$", status[0]) is not None
        end = found = blank.end()
        if not interim:
            break
    return found


@given(st.lists(st.sampled_from(HEAD_PARTS), max_size=12).map(b"".join))
def test_writer_finds_the_http_head_that_the_text_defines(block: bytes) -> None:
    block += bytes(200)
    head = parse_http_head(block)
    assert (None if head is None else head.size) == head_size(block)


def test_front_matter_is_that_of_a_proposal() -> None:
    lines = TEXT.split("---\n")[1].splitlines()
    assert {"status: proposed", "version: 1.5", "numbered: true"} <= set(lines)
    assert lines[0].startswith("title: ")


@pytest.mark.parametrize("kind", REQUIREMENTS)
def test_each_requirement_is_stated_once(kind: str) -> None:
    stated = sorted(int(number) for number in re.findall(rf"\*\*{kind}(\d+)\*\*", TEXT))
    assert stated == [*range(1, REQUIREMENTS[kind] + 1)], "a number is neither left out nor used again"


@pytest.mark.parametrize("mode", ["large", "every", "none"])
def test_table_of_classes_lists_what_each_mode_must_meet(mode: str) -> None:
    named = dict(re.findall(r"\*\*W(\d+)\*\* \(([a-z,\s]+)\)", TEXT))
    holds = {number for number in range(1, REQUIREMENTS["W"] + 1) if mode in named.get(str(number), mode)}
    row = re.search(rf'^\| writes "{mode}" \| ([^|]+) \|', TEXT, re.MULTILINE)
    assert row is not None
    listed: set[int] = set()
    for first, last in re.findall(r"W(\d+)(?: to W(\d+))?", row[1]):
        listed |= {*range(int(first), int(last or first) + 1)}
    assert listed == holds


@pytest.mark.parametrize("kind", REQUIREMENTS)
def test_requirements_that_are_referred_to_exist(kind: str) -> None:
    found = {int(number) for number in re.findall(rf"\b{kind}(\d+)\b", TEXT)}
    assert found <= {*range(1, REQUIREMENTS[kind] + 1)}


def test_every_requirement_says_how_binding_it_is() -> None:
    parts = re.split(r"\*\*([WRV]\d+)\*\*", TEXT)
    loose = [
        name
        for name, statement in zip(parts[1::2], parts[2::2], strict=True)
        if not re.search(r"MUST|SHOULD", statement)
    ]
    assert loose == []


def test_section_numbers_in_links_are_those_of_their_headings() -> None:
    links = re.findall(r"\[(\d+(?:\.\d+)?)\]\(#([\w-]+)\)", TEXT)
    links += re.findall(r"(?<![\d.])(\d+) \[[^\]]+\]\(#([\w-]+)\)", TEXT)
    assert len(links) > 15
    assert [(number, anchor) for number, anchor in links if SECTIONS.get(anchor) != number] == []


def test_sections_that_the_text_names_exist() -> None:
    prose = re.sub(
        r"WARC\], \d+|\d\d\d\d\], \d(?:\.\d+)*|\b0\.1\.[01]|WARC Format 1\.1|likewise 1\.0|version: 1\.\d",
        "",
        TEXT,
    )
    named = set(re.findall(r"(?<![\d.])\b\d{1,2}\.\d\b(?![\d.])", prose.partition("# Versions")[0]))
    assert named - set(SECTIONS.values()) == {"1.0"}, "the version of WARC-Zstandard"


def test_samples_name_sections_and_requirements_of_the_text() -> None:
    manifest = json.loads((NOTES / "warc-zstd-seekable" / "samples" / "manifest.json").read_text())
    assert f"version: {manifest['version']}\n" in TEXT
    sections = {number for sample in manifest["files"] for number in sample["sections"]}
    broken = {number for sample in manifest["files"] for number in sample["breaks"]}
    assert sections <= set(SECTIONS.values())
    assert broken <= {f"W{number}" for number in range(1, REQUIREMENTS["W"] + 1)}


def test_text_fits_six_printed_pages() -> None:
    assert len(TEXT.split()) <= 4_800


def test_sections_that_the_code_cites_exist() -> None:
    wrong = []
    for path in [*ROOT.glob("seekwarc/**/*.py"), *ROOT.glob("tests/**/*.py")]:
        for match in re.finditer(
            r"spec-notes(?:/warc-zstd-seekable)?,\s+(sections? )?(\d[\d. ,andto]*\d|\d)", path.read_text()
        ):
            wrong += [(path.name, number) for number in cited(match[2]) - set(SECTIONS.values())]
    assert wrong == []
