"""The page of the public interface is what the docstrings say, and names everything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools

NOTES = Path(__file__).parents[1] / "spec-notes"
PAGE = (NOTES / "api.md").read_text()


def test_the_page_is_what_its_script_makes() -> None:
    command = [sys.executable, str(NOTES / "make_api.py"), "--check"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("name", seekwarc.__all__)
def test_every_public_name_is_described(name: str) -> None:
    title = re.search(rf"^### `{name}[(`].*\n\n(.+)", PAGE, re.MULTILINE)
    assert title is not None
    assert len(title[1]) > 15


def test_every_method_is_described() -> None:
    # One that is marked `override` has no text of its own, which a class that users meet needs.
    assert re.findall(r"^- `[^`]+\)`: *$", PAGE, re.MULTILINE) == []


@pytest.mark.parametrize("name", tools.__all__)
def test_every_function_for_whole_files_is_described(name: str) -> None:
    assert f"### `tools.{name}(" in PAGE


def test_every_public_member_of_a_record_is_described() -> None:
    part = PAGE.partition("### `Record`\n")[2].partition("\n### ")[0]
    for name in dir(seekwarc.Record):
        assert name.startswith("_") or f"- `{name}" in part, name


def test_those_who_come_from_elsewhere_find_names_that_exist() -> None:
    rows = [line.split("|")[-2] for line in PAGE.partition("\n## Functions")[0].splitlines() if "|" in line]
    for part, kind in (
        ("record", seekwarc.Record),
        ("archive", seekwarc.Reader),
        ("writer", seekwarc.Writer),
    ):
        names = {name for row in rows for name in re.findall(rf"\b{part}\.(\w+)", row)}
        assert names
        assert all(hasattr(kind, name) or name in ("header", "place") for name in names), names
