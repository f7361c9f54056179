"""No faulty decoder passes: each single fault of one is found by a sample, in every reader that has it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from conformance.answers import judged
from conformance.batch_command import BatchCommand

from tests.conftest import ROOT
from tests.interop.faulty_decoders import DECODER_FAULTS, OF_COMPRESSORS, DecoderFault
from tests.interop.implementations import ADAPTERS, samples
from tests.support.processes import PATIENT
from tests.support.rounds import one_in

pytestmark = pytest.mark.needs("node")
READER = ROOT / "spec-notes" / "reader"


def is_found(folder: Path) -> bool:
    """Tell whether the suite finds a fault of the reader in a folder."""
    manifest = samples()
    some = [it for it in manifest.samples if it.file.startswith(OF_COMPRESSORS)]
    command = ["env", f"READER={folder / 'reader.js'}", "node", str(ADAPTERS / "javascript_reader.mjs")]
    reader = BatchCommand(command, timeout=PATIENT)
    try:
        return any(not it.allowed for it in judged(replace(manifest, samples=tuple(some)), reader.run))
    finally:
        reader.stop()


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(READER, tmp_path / "reader"))


@pytest.mark.slow
def test_the_decoder_itself_has_none(copied: Path) -> None:
    assert not is_found(copied)


def test_there_are_many_faults_and_each_is_of_one_place() -> None:
    source = (READER / "zstd.js").read_text()
    assert len(DECODER_FAULTS) >= 60
    assert len({it.name for it in DECODER_FAULTS}) == len(DECODER_FAULTS)
    assert [it.name for it in DECODER_FAULTS if source.count(it.right) != 1] == []


@pytest.mark.parametrize("fault", one_in(25, DECODER_FAULTS), ids=lambda fault: fault.name)
def test_a_faulty_decoder_does_not_pass(fault: DecoderFault, copied: Path) -> None:
    path = copied / "zstd.js"
    path.write_text(path.read_text().replace(fault.right, fault.wrong))
    assert is_found(copied)
