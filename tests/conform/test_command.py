"""A program that may do anything: it ends in time, with bounded output, and leaves nothing running."""

from __future__ import annotations

import sys
import threading

import pytest
from conformance.command import MAX_MESSAGE, Command
from conformance.manifest import KitError

from tests.support.processes import PATIENT, wait_until, wait_until_gone


def python(code: str, timeout: float = PATIENT) -> Command:
    return Command([sys.executable, "-Sc", code], timeout=timeout)


def test_output_status_and_last_message_are_told() -> None:
    code = "import sys; print('out', *sys.argv[1:]); print('a\\n\\nb \\n', file=sys.stderr); sys.exit(3)"
    ended = python(code).run(["x", "y z"], 100)
    assert (ended.status, ended.output.split(), ended.message) == (3, [b"out", b"x", b"y", b"z"], "b")
    assert not ended.broken


def test_it_gets_no_input() -> None:
    assert python("import sys; print(len(sys.stdin.read()))").run([], 100).output.strip() == b"0"


@pytest.mark.parametrize("size", [0, 99, 100])
def test_output_up_to_the_limit_is_kept(size: int) -> None:
    ended = python(f"import sys; sys.stdout.write('x' * {size})").run([], 100)
    assert (ended.status, ended.output, ended.broken) == (0, b"x" * size, "")


def test_output_without_end_is_stopped_at_the_limit() -> None:
    ended = python("while True: print('x' * 1000)").run([], 2500)
    assert (ended.status, len(ended.output)) == (None, 2500)
    assert ended.broken == "it writes more than 2500 bytes"


def test_messages_without_end_are_bounded() -> None:
    code = "import sys; sys.stderr.write('x' * 10_000_000 + '\\nlast'); print('done')"
    ended = python(code).run([], 100)
    assert (ended.status, ended.output.strip(), ended.message) == (0, b"done", "last")
    assert len(python("import sys; sys.stderr.write('x' * 10_000_000)").run([], 1).message) <= MAX_MESSAGE


@pytest.mark.parametrize(
    "code", ["import time; time.sleep(600)", "import os, time; os.close(1); time.sleep(600)"]
)
def test_what_does_not_end_is_ended(code: str) -> None:
    assert python(code, timeout=0.2).run([], 100).status is None


@pytest.mark.posix
def test_what_it_started_ends_with_it() -> None:
    child = "import time; time.sleep(600)"
    start = f"subprocess.Popen([sys.executable, '-Sc', {child!r}], stdout=-3, stderr=-3)"
    ended = python(f"import subprocess, sys; print({start}.pid)").run([], 100)
    assert ended.status == 0
    wait_until_gone(int(ended.output))


@pytest.mark.posix
def test_a_signal_is_told() -> None:
    assert python("import os; os.kill(os.getpid(), 9)").run([], 100).status == -9


@pytest.mark.parametrize("name", ["no-such-program-here", __file__, ""])
def test_what_cannot_be_started_is_an_error(name: str) -> None:
    with pytest.raises(KitError, match="cannot be run"):
        Command([name], timeout=1).run([], 100)


def test_stopping_ends_what_other_threads_run() -> None:
    command = python("import time; print('begun', flush=True); time.sleep(600)")
    ended = []
    threads = [threading.Thread(target=lambda: ended.append(command.run([], 100))) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(command._running) == 2)
    command.stop()
    for thread in threads:
        thread.join(PATIENT)
    assert len(ended) == 2
    assert all(it.status != 0 for it in ended)
    with pytest.raises(KitError, match="stopped"):
        command.run([], 100)
