"""The guard of the hot paths: what it takes for worse, what it keeps, and the page that draws it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import seekwarc
from tests.benchmarks import instructions
from tests.benchmarks.counted import LINES, SHARES, STARTED
from tests.benchmarks.instructions import Entry, compare, kept, newest, with_entry
from tests.conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"
ONE = Entry("2026-11-27", "1234abcd", "0.1.0", "a machine", {"a": 1_000, "b": 1_000})


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str | None, dict[str, int]]:
    """Return what is counted of each commit (None is the package here), in place of counting it."""
    found: dict[str | None, dict[str, int]] = {}
    monkeypatch.setattr(instructions, "count", lambda commit=None: found[commit])
    monkeypatch.setattr(instructions, "key_of_this_machine", lambda: "a machine")
    monkeypatch.setattr(instructions, "REFERENCE", tmp_path / "kept.json")
    return found


def keep(*entries: Entry) -> None:
    instructions.REFERENCE.write_text(json.dumps([vars(it) for it in entries]))


def test_more_than_the_tolerance_is_too_many() -> None:
    lines, fine = compare({"a": 1_020, "b": 1_100}, {"a": 1_000, "b": 1_000})
    assert lines == ["a: 1,020 (+2.0%)", "b: 1,100 (+10.0%) TOO MANY"]
    assert not fine


def test_fewer_is_fine() -> None:
    assert compare({"a": 500}, {"a": 1_000}) == (["a: 500 (-50.0%)"], True)


def test_a_line_that_is_new_is_fine() -> None:
    assert compare({"a": 1_000}, {}) == (["a: 1,000"], True)


def test_the_gate_fails_and_says_which_line(counting, capsys) -> None:
    keep(ONE)
    counting[None] = {"a": 1_031, "b": 1_029}
    assert instructions.guard() == 1
    said = capsys.readouterr().out
    assert "a: 1,031 (+3.1%) TOO MANY" in said
    assert "b: 1,029 (+2.9%)\n" in said
    assert "--instructions --keep" in said
    counting[None] = {"a": 1_000, "b": 900}
    assert instructions.guard() == 0


def test_counts_are_kept_beside_older_ones(counting) -> None:
    keep(ONE)
    counting[None] = {"a": 2_000}
    assert instructions.guard(keep=True) == 0
    before, now = kept()
    assert before == ONE
    assert (now.version, now.key, now.counts) == (seekwarc.__version__, "a machine", {"a": 2_000})
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", now.date)
    assert newest(kept(), "a machine") == now
    assert newest(kept(), "another") is None


def test_counts_of_the_same_day_or_commit_are_replaced() -> None:
    other = Entry("2026-11-27", "ffffffff", "0.1.0", "another", {"a": 1})
    later = Entry("2026-11-27", "5678abcd", "0.1.0", "a machine", {"a": 2})
    assert with_entry([ONE, other], later) == [later, other]
    assert with_entry([ONE], Entry("2026-11-28", *("1234abcd", "0.1.0", "a machine"), {"a": 3}))[
        0
    ].counts == {"a": 3}


def test_a_machine_without_counts_compares_with_the_commit_of_the_newest(
    counting, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(instructions, "key_of_this_machine", lambda: "another machine")
    monkeypatch.setattr(instructions, "_git", lambda *_: "commit")
    keep(ONE)
    counting[None], counting[ONE.commit] = {"a": 5_000}, {"a": 4_000}
    assert instructions.guard() == 1
    assert f"compared with {ONE.commit}" in capsys.readouterr().out
    # A shallow clone does not have it.
    monkeypatch.setattr(instructions, "_git", lambda *_: "")
    assert instructions.guard() == 0
    assert f"this clone lacks {ONE.commit}" in capsys.readouterr().out


def test_what_is_kept_has_every_line_of_today() -> None:
    entries = kept()
    assert len({it.key for it in entries}) >= 2, "of more than one Python or codec"
    for key in {it.key for it in entries}:
        last = newest(entries, key)
        assert last is not None
        assert list(last.counts) == [*STARTED, *LINES]
        assert last.version == seekwarc.__version__
    assert len(STARTED) + len(LINES) >= 30
    assert sorted(name for share in SHARES for name in share) == sorted(LINES)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )


def test_every_line_runs(tmp_path: Path) -> None:
    run(tmp_path, "-m", "tests.benchmarks.counted", "make", str(tmp_path))
    made = {path.name for path in tmp_path.iterdir()}
    for number in range(len(SHARES)):
        run(tmp_path, "-m", "tests.benchmarks.counted", "run", str(tmp_path), str(number))
    assert {path.name for path in tmp_path.iterdir()} - made == {"f.warc.zst"}
    offset = (tmp_path / "offset").read_text()
    for words in STARTED.values():
        run(tmp_path, *(it.replace("OFFSET", offset) for it in words))


def page_of(entries: list[Entry], folder: Path) -> str:
    spec = importlib.util.spec_from_file_location("figures", ROOT / ".site" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    figures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(figures)
    file = folder / "kept.json"
    file.write_text(json.dumps([vars(it) for it in entries]))
    figures.make(folder, file)
    return (folder / "figures.md").read_text()


def test_the_page_draws_each_line_against_its_first_count(tmp_path: Path) -> None:
    later = Entry(
        "2026-11-28", "5678abcd", "0.1.0", "a machine", {"a": 900, "b": 1_100, "c <new>": 7_000_000}
    )
    page = page_of([ONE, later], tmp_path)
    assert "| a | 1 k | 900 | -10.0 % |" in page
    assert "| c <new> |  | 7 M |  |" in page
    root = ET.parse(tmp_path / "figures-0.svg").getroot()
    rows = [line.get("points").split() for line in root.iter(f"{SVG}polyline")]
    assert [len(points) for points in rows] == [2, 2, 1]
    first, last = ([float(it.split(",")[1]) for it in row] for row in rows[:2])
    assert first[1] > first[0], "fewer is lower"
    assert last[1] < last[0]


def test_a_page_of_nothing_is_a_page(tmp_path: Path) -> None:
    assert page_of([], tmp_path).startswith("# Instructions over time")
