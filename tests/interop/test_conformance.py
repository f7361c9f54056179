"""What other readers, and this one, make of the samples of the specification."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from conformance.answers import Answer, judged, meets
from conformance.command import Command

from tests.interop.implementations import IMPLEMENTATIONS, PAGE, TIMEOUT, answers_of, cells, samples

pytestmark = pytest.mark.posix
NAMES = [it.name for it in IMPLEMENTATIONS]


def kept() -> dict[str, dict[str, str]]:
    """Return what the page says, by implementation and sample."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("|") and "---" not in line
    ]
    head, *rows = rows
    names = [cell.partition(" ")[0] for cell in head[1:]]
    return {
        name: {row[0]: cell for row in rows for cell in [row[number]]} for number, name in enumerate(names, 1)
    }


def told(answers: list[Answer]) -> dict[str, str]:
    classes = {f'class "{it}"': "yes" if meets(answers, it) else "no" for it in ("reads", "seeks")}
    return classes | {file.removesuffix(".warc.zst"): cell for file, cell in cells(answers).items()}


each_implementation = pytest.mark.parametrize(
    "implementation",
    [pytest.param(it, marks=[pytest.mark.needs(it.needs)], id=it.name) for it in IMPLEMENTATIONS],
)


@pytest.mark.slow
@each_implementation
def test_adapters_answer_alike_one_question_a_process_and_many(implementation) -> None:
    names = {"displaced-checksum.warc.zst", "damaged-no-record.warc.zst"}
    manifest = samples()
    few = replace(manifest, samples=tuple(it for it in manifest.samples if it.file in names))
    alone = Command(implementation.command, timeout=TIMEOUT)
    assert list(judged(few, alone.run, jobs=2)) == answers_of(implementation, few)


@each_implementation
@pytest.mark.slow
def test_page_of_results_is_up_to_date(implementation) -> None:
    """What the page says is compared, not the versions: a new one that does the same changes nothing."""
    answers = answers_of(implementation, samples())
    assert told(answers) == kept()[implementation.name], "python -m tests.interop.implementations writes it"


def test_page_names_all_implementations_and_samples() -> None:
    page = kept()
    assert list(page) == NAMES
    names = [sample.file.removesuffix(".warc.zst") for sample in samples().samples]
    assert all(list(column) == ['class "reads"', 'class "seeks"', *names] for column in page.values())
    assert re.search(r"FastWARC \d+\.\d+\.\d+ \| pyzstd \d", PAGE.read_text()), "versions are named"


@pytest.mark.parametrize("name", ["seekwarc", "reader.js", "small_reader.py"])
def test_readers_of_the_specification_meet_both_classes(name: str) -> None:
    page = kept()[name]
    assert page['class "reads"'] == page['class "seeks"'] == "yes"


def test_small_reader_is_small_and_needs_the_standard_library_alone() -> None:
    source = (PAGE.parents[1] / "small_reader.py").read_text()
    code = re.sub(r'""".*?"""', "", source, flags=re.DOTALL)
    assert len([it for it in code.splitlines() if it.strip() and not it.strip().startswith("#")]) <= 150
    imported = set(re.findall(r"^ *(?:import|from) (\w+)", code, re.MULTILINE))
    assert imported == {"hashlib", "json", "re", "struct", "sys", "compression", "backports"}
