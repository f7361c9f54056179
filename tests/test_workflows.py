"""What runs where releases are made."""

from __future__ import annotations

import os
import re

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
