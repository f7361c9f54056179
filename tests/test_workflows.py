"""What runs where releases are made."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash(path) -> None:
    actions = re.findall(r"uses: (\S+)(.*)", path.read_text())
    assert actions
    for action, comment in actions:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action}: the release is named beside the hash"


def test_a_release_waits_for_all_its_files() -> None:
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    jobs = re.findall(r"^  (\w+):$", text.partition("\njobs:\n")[2], re.MULTILINE)
    assert f"needs: [{', '.join(jobs[:-1])}]" in text
