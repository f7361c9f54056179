"""Which other Pythons `.ci/full` runs the tests with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.posix


def program(path: Path, command: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of programs, with a Python 3.11 and a pyenv whose root is beside it."""
    program(tmp_path / "bin" / "python3", "echo 3.11; exit 1")
    program(tmp_path / "bin" / "pyenv", f"echo '{tmp_path / 'root'}'")
    return tmp_path / "bin"


def others(folder: Path) -> str:
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, ROOT / ".ci" / "other-pythons"], env={"PATH": str(folder)}, capture_output=True, check=True
    )
    assert done.stderr == b""
    return done.stdout.decode()


def test_each_version_of_pyenv_and_path_is_found_once(folder: Path) -> None:
    program(folder.parent / "root/versions/3.10.2/bin/python", "echo 3.10; exit 1")
    of_pyenv = program(folder.parent / "root/versions/3.12.1/bin/python", "echo 3.12")
    program(folder.parent / "root/versions/3.12.3/bin/python", "echo 3.12")
    program(folder / "python3.12", "echo 3.12")
    program(folder / "python3.13", "echo 'pyenv: python3.13: command not found' >&2; exit 127")
    on_path = program(folder / "python3.14", "echo 3.14")
    assert others(folder) == f"3.12 {of_pyenv}\n3.14 {on_path}\n"


def test_the_python_of_the_tests_is_not_another(folder: Path) -> None:
    program(folder / "python3", "echo 3.12")
    program(folder / "python3.12", "echo 3.12")
    assert others(folder) == ""
