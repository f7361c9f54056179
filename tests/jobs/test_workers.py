"""Worker processes: they do what this process does, and may die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import pytest

from seekwarc.errors import FormatError, FormatWarning
from seekwarc.jobs.batch import run
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext
from seekwarc.storage.opening import open_source
from tests.conftest import ROOT
from tests.support.outcomes import Heard
from tests.support.parts import archive, indexed
from tests.support.processes import wait_until

pytestmark = pytest.mark.slow


def work(job: Job, context: JobContext) -> tuple[Status, object]:
    """Do what the source's name says; a module's function, for processes must find it."""
    name = os.path.basename(job.source)
    context.emit(f"at {name}")
    if job.target is not None:
        with context.output(job.target, "error") as output:
            output.write(b"half a file")
            output.flush()
            misbehave(name)
            output.commit()
    else:
        misbehave(name)
    if name == "read":
        context.on_progress(open_source(job.source), "reading").read(0, 1 << 20)
    return Status.DONE, os.getpid()


def misbehave(name: str) -> None:
    if name == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif name == "exits":
        os._exit(3)
    elif name == "damaged":
        raise FormatError("damaged", source=name, offset=3)
    elif name == "slow":
        time.sleep(60)
    elif name == "warns":
        warnings.warn("odd", FormatWarning, stacklevel=1)


def jobs_of(folder: Path, *names: str, to: str | None = None) -> list[Job]:
    return [Job(str(folder / name), to and str(folder / f"{name}.new")) for name in names]


def statuses(heard: Heard) -> dict[str, str]:
    return {os.path.basename(name): status for name, status in heard.statuses.items()}


def test_other_processes_work_and_report(tmp_path) -> None:
    (tmp_path / "read").write_bytes(b"x" * 300_000)
    heard = Heard()
    with pytest.warns(FormatWarning, match="odd"):
        assert run(jobs_of(tmp_path, "one", "two", "read", "warns"), work, heard, processes=2) == 0
    assert set(statuses(heard).values()) == {"done"}
    processes = {outcome.result for outcome in heard.outcomes.values()}
    assert os.getpid() not in processes
    assert len(processes) <= 2, "each works on several files"
    assert sorted(event for _, event in heard.events) == ["at one", "at read", "at two", "at warns"]
    assert heard.progress == 300_000


@pytest.mark.parametrize(("bad", "told"), [("killed", "SIGKILL"), ("exits", "status 3")])
def test_a_dead_process_fails_only_its_own_file(tmp_path, bad, told) -> None:
    heard = Heard()
    jobs = jobs_of(tmp_path, "one", bad, "two", "three", to="here")
    assert run(jobs, work, heard, processes=2, keep_going=True, folder=str(tmp_path)) == 2
    assert statuses(heard) == {"one": "done", bad: "failed", "two": "done", "three": "done"}
    failure = heard.outcomes[str(tmp_path / bad)].failure
    assert failure.kind == "died"
    assert told in failure.message
    assert sorted(os.listdir(tmp_path)) == ["one.new", "three.new", "two.new"], "nothing half is left"


def test_without_keep_going_no_further_file_is_begun(tmp_path) -> None:
    heard = Heard()
    jobs = (
        jobs_of(tmp_path / "a", "damaged")
        + jobs_of(tmp_path / "b", "damaged")
        + jobs_of(tmp_path, "one", "two")
    )
    assert run(jobs, work, heard, processes=2) == 1
    assert list(heard.statuses.values()).count("failed") == 2, "one that was begun is finished"
    assert statuses(heard) == {"damaged": "failed", "one": "not-run", "two": "not-run"}


def test_an_interruption_kills_all_and_leaves_nothing(tmp_path) -> None:
    class Impatient(Heard):
        def on_event(self, job: Job, event: object) -> None:
            super().on_event(job, event)
            if len(self.events) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(
            [Job(str(tmp_path / "slow"), str(tmp_path / name)) for name in ("a", "b")],
            work,
            Impatient(),
            processes=2,
            folder=str(tmp_path),
        )
    assert os.listdir(tmp_path) == [], "the workers are not waited for: they would make their files"


MAIN = """
from seekwarc.jobs.batch import run
from seekwarc.jobs.outcome import Job
from tests.support.outcomes import Heard
from tests.support.parts import archive, indexed

if __name__ == "__main__":
    from module_of_work import work
    raise SystemExit(run([Job("a", None), Job("b", None)], work, Heard(), processes=2))
"""
MODULE = """
import multiprocessing, os, signal, time
from pathlib import Path
from seekwarc.jobs.outcome import Status

def say(what):
    Path(__file__).with_name(f"{what}.{os.getpid()}").touch()

def until(condition):
    while not condition():
        time.sleep(0.01)

"""


def start(folder: Path, code: str) -> subprocess.Popen[bytes]:
    """Start a process whose two workers do what `work` of some code does."""
    (folder / "main.py").write_text(MAIN)
    (folder / "module_of_work.py").write_text(MODULE + textwrap.dedent(code))
    path = os.pathsep.join([str(ROOT), str(folder)])
    return subprocess.Popen(
        [sys.executable, folder / "main.py"], stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    )


def pids(folder: Path, what: str) -> list[int]:
    return [int(path.suffix[1:]) for path in folder.glob(f"{what}.*")]


@pytest.mark.posix
def test_an_interrupt_does_not_reach_a_worker_that_starts(tmp_path) -> None:
    process = start(
        tmp_path,
        """
        if multiprocessing.current_process().name != "MainProcess":
            say("imported")
            until(Path(__file__).with_name("go").exists)

        def work(job, context):
            return Status.DONE, None
        """,
    )
    wait_until(lambda: len(pids(tmp_path, "imported")) == 2)
    for pid in pids(tmp_path, "imported"):
        os.kill(pid, signal.SIGINT)
    (tmp_path / "go").touch()
    _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, b"")


@pytest.mark.posix
def test_workers_of_a_killed_process_end_in_silence(tmp_path) -> None:
    process = start(
        tmp_path,
        """
        parent = os.getppid()

        def work(job, context):
            say("begun")
            until(lambda: os.getppid() != parent)
            context.emit("too late")
            return Status.DONE, None
        """,
    )
    wait_until(lambda: len(pids(tmp_path, "begun")) == 2)
    process.kill()
    assert process.communicate(timeout=60)[1] == b""


@pytest.mark.posix
def test_idle_workers_of_a_killed_process_end_in_silence(tmp_path) -> None:
    process = start(
        tmp_path,
        """
        def work(job, context):
            os.kill(os.getppid(), signal.SIGSTOP)
            say("done")
            return Status.DONE, None
        """,
    )
    wait_until(lambda: len(pids(tmp_path, "done")) == 2)
    # The next message is waited for; those before it are never received, which resets the pipe.
    time.sleep(0.2)
    process.kill()
    assert process.communicate(timeout=60)[1] == b""


FROM_INPUT = """
from seekwarc import tools
from seekwarc.jobs import parts
parts.MIN_SIZE, parts.MIN_PART = 1, 4_000
tools.index(NAME, NAME + ".cdxj", processes=2)
print(__file__)
"""


def test_a_script_from_standard_input_may_start_processes(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(archive("gz"))
    script = FROM_INPUT.replace("NAME", repr(str(path)))
    done = subprocess.run(
        [sys.executable], input=script, text=True, capture_output=True, check=True, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == ("<stdin>\n", "")
    indexed(path, 1)
    assert (tmp_path / "a.warc.gz.cdxj").read_bytes() == (tmp_path / "1.cdxj").read_bytes()
