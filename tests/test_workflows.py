"""What runs where releases are made."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash(path) -> None:
    actions = re.findall(r"uses: ([^.\s]\S*)(.*)", path.read_text())
    assert actions
    for action, comment in actions:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action}: the release is named beside the hash"


@pytest.mark.parametrize(("workflow", "script"), [("ci", "run"), ("full", "full")])
def test_a_workflow_runs_the_script_that_anyone_can(workflow: str, script: str) -> None:
    assert f"- run: .ci/{script}\n" in (ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text()
    assert os.access(ROOT / ".ci" / script, os.X_OK)


def test_a_release_waits_for_all_its_files() -> None:
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    jobs = re.findall(r"^  (\w+):$", text.partition("\njobs:\n")[2], re.MULTILINE)
    assert f"needs: [{', '.join(jobs[:-1])}]" in text


def test_a_release_is_rehearsed_before_it() -> None:
    assert "\n.ci/rehearse\n" in (ROOT / ".ci" / "full").read_text()
    assert os.access(ROOT / ".ci" / "rehearse", os.X_OK)


def git(folder: Path, *words: str) -> str:
    named = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", *named, "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, str]:
    """Return a repository that froze the files of a version, and the commit that did."""
    folder = tmp_path / "history"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for name in ("a.txt", "tests/frozen/1/contents.json", "tests/frozen/2/contents.json", "b.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", name)
    return folder, git(folder, "rev-parse", "--short", "HEAD^")


def upgraded_from(folder: Path, *arguments: str) -> str:
    """Return what `.ci/rehearse` upgrades from, in a clone."""
    begin = re.search(r"^older=.*?^fi$", (ROOT / ".ci" / "rehearse").read_text(), re.MULTILINE | re.DOTALL)
    assert begin is not None
    script = f'set -euo pipefail\n{begin[0]}\necho "$older"'
    command = ["bash", "-c", script, "rehearse", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.posix
def test_an_upgrade_is_rehearsed_in_any_clone_with_its_history(history, tmp_path: Path) -> None:
    folder, frozen = history
    git(tmp_path, "clone", "-q", str(folder), "fresh")
    assert upgraded_from(tmp_path / "fresh") == frozen
    assert upgraded_from(tmp_path / "fresh", "abc") == "abc"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{folder}", "shallow")
    assert upgraded_from(tmp_path / "shallow") == ""
    git(folder, "tag", "-m", "1.0", "1.0", "HEAD~3")
    assert upgraded_from(folder) == "1.0"


def test_a_job_that_needs_the_history_has_it() -> None:
    for name in ("ci", "full"):
        assert "fetch-depth: 0" in (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
