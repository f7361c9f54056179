"""Options, markers and fixtures that all tests share."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAMPLES = Path(os.environ.get("SEEKWARC_SAMPLES", ROOT.parent / "shared" / "samples"))
IN_CI = bool(os.environ.get("CI"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--large", action="store_true", help="run the tests that take gigabytes")


def _is_there(component: str) -> bool:
    """Tell whether a component can be used: the samples, a program, or a Python module."""
    if component == "samples":
        return SAMPLES.is_dir()
    if component.startswith("module:"):
        return importlib.util.find_spec(component.removeprefix("module:")) is not None
    return shutil.which(component) is not None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("large") and not item.config.getoption("--large"):
        pytest.skip("takes gigabytes; run with --large")
    for marker in item.iter_markers("needs"):
        for component in marker.args:
            if not _is_there(component):
                if IN_CI:
                    pytest.fail(f"{component} is missing, and nothing may be skipped in CI")
                pytest.skip(f"{component} is not installed")


@pytest.fixture(scope="session")
def samples() -> Path:
    """The folder of files by other tools; use with `needs("samples")`."""
    return SAMPLES


@pytest.fixture
def run_cli():
    """Run the command as a user does: a process of its own."""

    def run(*args: object, stdin: bytes | None = None, **options: object) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "seekwarc", *map(str, args)]
        return subprocess.run(command, input=stdin, capture_output=True, check=False, **options)

    return run
