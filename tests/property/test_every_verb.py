"""Every verb of the command, over damaged and foreign input of each kind that it takes."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from seekwarc.cli.verbs import VERBS as KNOWN
from tests.serve.asgi import Client
from tests.support.rounds import rounds
from tests.support.verbs import VERBS, ask_some, inputs, mutant, try_verb

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.needs(
    "module:av", "module:pyarrow", "module:resiliparse", "module:starlette", "module:uvicorn"
)


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as made:
        yield made


@pytest.fixture(autouse=True)
def servers_are_asked_and_end(monkeypatch, portal: BlockingPortal) -> Iterator[None]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    run = lambda server: ask_some(Client(server.config.app, portal))  # noqa: E731
    monkeypatch.setattr("seekwarc.serve.server.Server.run", run)
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_each_verb_that_there_is_is_tried() -> None:
    assert VERBS.keys() == KNOWN.keys()


@pytest.mark.parametrize("verb", VERBS)
def test_no_input_gives_a_traceback_or_leaves_half_a_file(verb: str, tmp_path: Path) -> None:
    tried(verb, range(2), tmp_path, quick=True)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_no_input_of_many_does(verb: str, tmp_path: Path) -> None:
    tried(verb, range(2, 2 + rounds(15)), tmp_path)


def tried(verb: str, seeds: range, folder: Path, *, quick: bool = False) -> None:
    for seed in seeds:
        here = folder / str(seed)
        here.mkdir()
        try_verb(verb, seed, here, quick=quick)
        shutil.rmtree(here)


WITHOUT_ASSERTS = """
import json, sys
from tests.support.verbs import run
print(json.dumps([[it.status, it.out, it.err] for it in map(run, json.loads(sys.stdin.read()))]))
"""
READING = ("ls", "cat", "info", "text", "verify", "recover", "filter", "wacz")


@pytest.mark.slow
def test_verbs_do_the_same_without_asserts(tmp_path: Path) -> None:
    chance = random.Random(5)
    words: list[list[str]] = []
    for kind in ("a.warc", "a.warc.gz", "a.warc.zst", "a.arc.gz", "a.wacz"):
        path = tmp_path / kind
        path.write_bytes(mutant(inputs()[kind], chance))
        words += [
            [it.format(file=path, new=tmp_path / "new", offset=0) for it in shlex.split(pattern)]
            for verb in READING
            for pattern, kinds in VERBS[verb].items()
            if kind in kinds
        ]
    said = []
    for option in ((), ("-O",)):
        for made in tmp_path.glob("new*"):
            shutil.rmtree(made) if made.is_dir() else made.unlink()
        command = [sys.executable, *option, "-c", WITHOUT_ASSERTS]
        done = subprocess.run(
            command, input=json.dumps(words).encode(), capture_output=True, check=True, cwd=ROOT
        )
        said.append(json.loads(done.stdout))
    assert said[1] == said[0]
    assert {status for status, _, _ in said[0]} == {0, 1, 2}
