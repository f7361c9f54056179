"""The fuzz targets on stored inputs, on mutations of them, and in a few seconds of the real fuzzer."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.make_corpus import BROKE
from tests.fuzz.targets import TARGETS
from tests.support.rounds import rounds
from tests.support.work import watchdog

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
INPUTS = {(path.parent.name, path.name): path for path in sorted(CORPUS.glob("*/*"))}
MAX_BYTES = 300_000
"""What the corpus may weigh in the repository."""
SECONDS = rounds(5)
MUTATIONS = {"reader": 40, "tools": 15, "frames": 100, "codings": 60}
"""Mutations of each input: fewer where each takes milliseconds."""
INTERESTING = [
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff" * 4,
    b"\0" * 4,
    b"\r\n",
    b"\r\n\r\n",
    b"9" * 18,
    b" " * 30,
]


def mutations(data: bytes, seed: str) -> Iterator[bytes]:
    """Yield changed versions of an input without end, the same ones for the same seed."""
    rng = random.Random(seed)
    while True:
        changed = bytearray(data)
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            start, stop = sorted(rng.randint(0, len(changed)) for _ in range(2))
            near = min(start + rng.randint(1, 8), len(changed))
            kind = rng.randrange(7)
            if kind == 0 and start < len(changed):
                changed[start] ^= 1 << rng.randrange(8)
            elif kind == 1:
                changed[start:near] = rng.randbytes(near - start)
            elif kind == 2:
                changed[start:near] = rng.choice(INTERESTING)
            elif kind == 3:
                changed[start:start] = rng.choice(INTERESTING)
            elif kind == 4:
                del changed[start:near]
            elif kind == 5:
                del changed[start:]
            else:
                changed[start:start] = changed[start:stop]
        yield bytes(changed)


def test_every_target_has_a_few_inputs() -> None:
    assert {target for target, _ in INPUTS} == set(TARGETS)
    assert sum(path.stat().st_size for path in INPUTS.values()) < MAX_BYTES


def test_inputs_that_broke_a_target_are_kept() -> None:
    for target, inputs in BROKE.items():
        for name, data in inputs.items():
            assert INPUTS[target, name].read_bytes() == data, "python -m tests.fuzz.make_corpus makes them"


@pytest.mark.parametrize(("target", "name"), list(INPUTS))
def test_inputs_and_their_mutations_break_no_target(target: str, name: str) -> None:
    data = INPUTS[target, name].read_bytes()
    run = TARGETS[target]
    with watchdog():
        run(data)
        for number, changed in zip(range(MUTATIONS.get(target, 150)), mutations(data, name), strict=False):
            try:
                run(changed)
            except Exception:
                print(f"mutation {number}: {changed.hex()}")
                raise


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Fuzz all targets side by side."""
    started = {}
    for target in TARGETS:
        command = [sys.executable, "-m", "tests.fuzz", target, "--seconds", str(SECONDS)]
        command += ["--found", str(tmp_path_factory.mktemp(target))]
        started[target] = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=dict(os.environ),
        )
    yield started
    for run in started.values():
        run.kill()
        run.communicate()


@pytest.mark.needs("module:atheris")
@pytest.mark.parametrize("target", list(TARGETS))
def test_a_short_run_of_the_fuzzer_finds_nothing(target: str, runs: dict[str, subprocess.Popen[str]]) -> None:
    said, _ = runs[target].communicate(timeout=100 + 20 * SECONDS)
    assert runs[target].returncode == 0, said
    executed = int(said.split("number_of_executed_units:")[1].split()[0])
    assert executed > len([name for of, name in INPUTS if of == target]), said
