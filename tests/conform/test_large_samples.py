"""Samples beyond 4 GiB, which a script makes where they are wanted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conformance.answers import judged, meets
from conformance.batch_command import BatchCommand
from conformance.manifest import read_manifest

from tests.conftest import ROOT
from tests.interop.implementations import ADAPTERS

pytestmark = [pytest.mark.large, pytest.mark.posix]
PATIENT = 600.0
COMMANDS = {
    "seekwarc": [sys.executable, str(ADAPTERS / "seekwarc_reader.py")],
    "reader.js": ["node", str(ADAPTERS / "javascript_reader.mjs")],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    subprocess.run([sys.executable, ROOT / "spec-notes" / "large_samples.py", folder], check=True)
    return folder


@pytest.mark.needs("node")
@pytest.mark.parametrize("name", COMMANDS)
def test_both_readers_read_beyond_4_gib(name: str, folder: Path) -> None:
    command = BatchCommand(COMMANDS[name], timeout=PATIENT)
    try:
        answers = list(judged(read_manifest(folder), command.run))
    finally:
        command.stop()
    assert meets(answers, "seeks")
    assert len(answers) == 13
