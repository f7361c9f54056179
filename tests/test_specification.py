"""The text of the specification: its numbers, its links, and what the code cites of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.check.requirements import MODES
from seekwarc.format.http import parse_http_head
from tests.interop.faulty_readers import FAULTS
from tests.support.specification import ANNEXES, CORE, Stated, sections, stated
from tests.support.vectors import manifest

ROOT = Path(__file__).parents[1]
SECTIONS = sections()
STATED = stated()
MUST = [it for it in STATED.values() if it.must]
MAX_WORDS = 1_900
"""Of the core text."""
TRIED_BY_TESTS = {
    "W28": [
        "edit/test_concatenating.py::test_a_shared_dictionary_is_stored_once",
        "edit/test_concatenating.py::test_another_dictionary_is_recompressed_with_a_warning",
    ],
    "W34": ["check/test_profile.py::test_a_file_of_too_many_frames_ends_in_padding"],
    "R19": ["frames/test_run.py::test_an_entry_that_swallows_a_frame_is_found_in_the_cache_too"],
    "R24": [
        "interop/test_javascript_reader.py::test_no_other_table_is_used_than_the_one_that_an_index_names",
        "read/test_known_frames.py::test_another_table_than_the_named_one_is_refused",
    ],
    "R25": ["make/test_indexing.py::test_a_pipe_gives_the_same_lines"],
    "R30": [
        "interop/test_javascript_reader.py::test_a_file_that_changes_between_requests_is_refused",
        "storage/test_remote.py::test_another_etag_alone_is_another_version",
    ],
    "R32": [
        "interop/test_javascript_reader.py::test_a_bad_host_is_refused_with_a_typed_error",
        "storage/test_remote.py::test_wrong_answers_are_refused",
        "storage/test_remote.py::test_a_whole_file_is_not_read_by_mistake",
        "storage/test_remote.py::test_a_label_that_the_name_does_not_explain_is_refused",
    ],
}
"""What no file alone can show: tools that join or index files, caches, hosts, and more frames than fit."""


def cited(text: str) -> set[str]:
    """Return the sections that a passage after the word names: "6.2", or "3" to "6" for "sections 3 to 6"."""
    return set(re.findall(r"\d+(?:\.\d+)?|\b[A-J](?:\.\d)?\b", text))


def expression(name: str) -> re.Pattern[bytes]:
    """Return the expression that section 2.1 gives for a start line."""
    line = re.search(rf"^{name}: +(.+)$", CORE, re.MULTILINE)
    assert line is not None
    return re.compile(line[1].replace("token", r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").encode())


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
    lines = CORE.split("---\n")[1].splitlines()
    assert {"status: proposed", f"version: {manifest()['version']}"} <= set(lines)
    assert lines[0].startswith("title: ")


def test_core_text_is_short() -> None:
    assert len(CORE.split()) <= MAX_WORDS


@pytest.mark.parametrize("kind", "WRV")
def test_each_requirement_is_stated_once(kind: str) -> None:
    numbers = sorted(int(name[1:]) for name in STATED if name.startswith(kind))
    assert numbers == [*range(1, len(numbers) + 1)], "a number is neither left out nor used again"


@pytest.mark.parametrize("mode", MODES)
def test_table_of_classes_lists_what_each_mode_must_meet(mode: str) -> None:
    holds = {it.number for it in STATED.values() if it.number[0] == "W" and mode in (it.modes or MODES)}
    row = re.search(rf'^\| writes "{mode}" \| ([^|]+) \|', ANNEXES, re.MULTILINE)
    assert row is not None
    assert listed(row[1]) == holds


def test_table_of_classes_lists_all_requirements_on_readers() -> None:
    rows = re.findall(r"^\| (reads|seeks[^|]*) \| ([^|]+) \|", ANNEXES, re.MULTILINE)
    reads, seeks, others = (listed(cell) for _, cell in rows)
    assert reads < seeks
    assert not seeks & others
    assert seeks | others == {name for name in STATED if name.startswith("R")}
    assert {STATED[name].section[0] for name in seeks} == {"6", "7", "8"}, "those of the core text"


def listed(cell: str) -> set[str]:
    """Return what a cell such as "W1 to W5, W7" lists."""
    found: set[str] = set()
    for kind, first, last in re.findall(r"([WR])(\d+)(?: to [WR](\d+))?", cell):
        found |= {f"{kind}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def test_requirements_that_are_referred_to_exist() -> None:
    assert set(re.findall(r"\b[WRV]\d+\b", CORE + ANNEXES)) <= set(STATED)


def test_each_sentence_with_must_has_a_number_of_its_own() -> None:
    assert {it.number: it.must for it in MUST if len(it.must) > 1} == {}
    said = sum(text.count("MUST") for text in SECTIONS.values())
    numbered = sum(sentence.count("MUST") for it in MUST for sentence in it.must)
    # The words themselves in section 1; the table of classes; what is new in a version.
    assert said - numbered == 3


def test_every_requirement_says_how_binding_it_is() -> None:
    loose = [it.number for it in STATED.values() if not re.search(r"MUST|SHOULD", " ".join(it.sentences))]
    assert loose == []


def tried_by_samples() -> dict[str, set[str]]:
    """Return the samples that the manifest names for a requirement."""
    found: dict[str, set[str]] = {}
    for sample in manifest()["files"]:
        assert set(sample["breaks"]) <= set(sample["requirements"]) <= set(STATED), sample["file"]
        for name in sample["requirements"]:
            found.setdefault(name, set()).add(sample["file"].removesuffix(".warc.zst"))
    return found


TRIED = tried_by_samples()


@pytest.mark.parametrize("it", MUST, ids=lambda it: it.number)
def test_each_requirement_with_must_is_tried_by_a_sample_or_a_test(it: Stated) -> None:
    named = TRIED_BY_TESTS.get(it.number, [])
    for name in named:
        file, _, function = name.partition("::")
        assert f"\ndef {function}(" in (ROOT / "tests" / file).read_text(), name
    assert named or TRIED.get(it.number), it.must


def test_samples_of_requirements_on_readers_find_a_faulty_reader() -> None:
    finding = {fault.sample for fault in FAULTS}
    readers = {it.number for it in MUST if it.number.startswith("R")} - set(TRIED_BY_TESTS) | {"R19"}
    assert {name for name in readers if not TRIED[name] & finding} == set()


def test_links_lead_to_sections() -> None:
    for text in (CORE, ANNEXES):
        prose = re.sub(
            r"WARC\], \d+|\d\d\d\d\], \d+(?:\.\d+)*|\b0\.1\.[01]|WARC Format 1\.1|WARC Files 1\.0"
            r"|likewise 1\.0|version: 1\.\d",
            "",
            text,
        )
        named = set(re.findall(r"(?<![\d.])\b(?:\d{1,2}|[A-J])\.\d\b(?![\d.])", prose.partition("# J ")[0]))
        assert named <= set(SECTIONS)


def test_samples_name_sections_of_the_text() -> None:
    named = {number for sample in manifest()["files"] for number in sample["sections"]}
    assert named <= set(SECTIONS)
    assert set(SECTIONS) - named <= {"1", "1.1", "2", "4", "6", "6.5", "A", "A.7", "B", "B.2", *"CEFGHIJ"}


def test_sections_that_the_code_cites_exist() -> None:
    wrong = []
    for path in [*ROOT.glob("seekwarc/**/*.py"), *ROOT.glob("tests/**/*.py")]:
        for match in re.finditer(
            r"spec-notes(?:/warc-zstd-seekable(?:/index\.md)?)?,\s+((?:sections?|annex) [\dA-J][^)\n]*)",
            path.read_text(),
        ):
            wrong += [(path.name, number) for number in cited(match[1]) - set(SECTIONS)]
    assert wrong == []
