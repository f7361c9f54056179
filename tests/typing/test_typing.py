"""Type checkers as users run them: nothing to find in a right program, every mistake in a wrong one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import seekwarc
from tests.typing import program

pytestmark = pytest.mark.slow
"""A type checker reads the whole package each time."""

FOLDER = Path(__file__).parent
PACKAGES = str(Path(seekwarc.__file__).parents[1])


def mypy(file: Path, folder: Path) -> set[int]:
    """Return the lines in which mypy finds something."""
    options = ["--strict", "--config-file=", f"--cache-dir={folder}", "--no-error-summary"]
    printed = run([sys.executable, "-m", "mypy", *options, str(file)], folder)
    found = re.findall(rf"^{re.escape(str(file))}:(\d+): error", printed, re.MULTILINE)
    assert found or not printed, printed
    return set(map(int, found))


def pyright(file: Path, folder: Path) -> set[int]:
    """Return the lines in which pyright finds something."""
    options = ["--outputjson", "--pythonpath", sys.executable]
    printed = run([sys.executable, "-m", "pyright", *options, str(file)], folder)
    found = json.loads(printed[printed.index("{") :])["generalDiagnostics"]
    return {it["range"]["start"]["line"] + 1 for it in found if it["severity"] == "error"}


def run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "MYPYPATH": PACKAGES, "PYTHONPATH": PACKAGES}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment
    ).stdout


CHECKERS = [
    pytest.param(mypy, marks=pytest.mark.needs("module:mypy")),
    pytest.param(pyright, marks=pytest.mark.needs("module:pyright")),
]


@pytest.mark.parametrize("check", CHECKERS)
def test_a_right_program_passes(check: Callable[[Path, Path], set[int]], tmp_path: Path) -> None:
    assert check(FOLDER / "program.py", tmp_path) == set()


@pytest.mark.parametrize("check", CHECKERS)
def test_each_wrong_call_is_refused(check: Callable[[Path, Path], set[int]], tmp_path: Path) -> None:
    file = FOLDER / "wrong.py"
    lines = file.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "# refused" in line}
    assert len(marked) == 18
    assert check(file, tmp_path) == marked


def test_the_right_program_does_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(tmp_path / "typed.warc.zst")
    printed = capsys.readouterr().out
    assert printed.startswith("['<p>é'] b'<p>\\xc3\\xa9' [('Content-Type', ")
    assert "['http://example.org/', 'http://example.org/a']" in printed
