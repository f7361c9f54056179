"""Runs of the command that run out of space, or get a signal before a chosen line of code.

As a program this is the process that starts them: it imports everything once and forks for each run, so that
a hundred take seconds. The signal is sent by the process to itself. So it comes at the same place every time,
and at places that lie too close together to be hit from outside.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import seekwarc
from seekwarc.cli import main
from tests.support.writing import noise

if TYPE_CHECKING:
    from types import FrameType

ROOT = Path(__file__).parents[2]
PACKAGE = f"{Path(seekwarc.__file__).parent}{os.sep}"
APPEND = "append"
"""In the place of a verb: a program that continues a file."""
IGNORED = {"__del__", "_remove", "remove_empty"}
"""Functions that Python calls by itself, and lets nothing out of: a signal in them is lost."""


@dataclass(frozen=True)
class Place:
    """In front of a line of the package, when it is passed for the `turn`-th time."""

    file: str
    line: int
    turn: int = 1


@dataclass(frozen=True)
class Run:
    """A run of the command.

    Attributes:
        words: Its arguments.
        folder: Where it runs, and has its temporary files.
        stdout: Where standard output goes: "nowhere", a "closed pipe" or a "full disk".
        room: Bytes that no file may grow beyond.
        place: Where it gets a signal.
        number: Which one.
        again: It gets another one when it takes its files away.
        watch: The lines of the package that it passes are told.
    """

    words: tuple[str, ...]
    folder: str
    stdout: str = "nowhere"
    room: int | None = None
    place: Place | None = None
    number: int = signal.SIGTERM
    again: bool = False
    watch: bool = False


@dataclass(frozen=True)
class Ending:
    """How a run ended.

    Attributes:
        status: Exit status; if negative the signal that ended it.
        stderr: What it told.
        passed: (file, line, times) of the lines that it passed.
    """

    status: int
    stderr: str
    passed: list[tuple[str, int, int]]


class Processes:
    """Runs the command, each time in a process of its own."""

    def __init__(self) -> None:
        # Standard output is buffered, as most people have it.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        self._server = subprocess.Popen(
            [sys.executable, "-B", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )

    def run(self, words: Iterable[str], folder: Path, **options: Any) -> Ending:
        """Run it and wait for its end."""
        run = Run(tuple(words), str(folder), **options)
        print(json.dumps(asdict(run)), file=self._server.stdin, flush=True)
        return Ending(**json.loads(self._server.stdout.readline()))

    def close(self) -> None:
        with self._server:
            self._server.stdin.close()


def append(name: str) -> int:
    """Continue a file as a program does."""
    with seekwarc.open(name, "a", frame_size=64 << 10, threads=2, on_error="discard") as writer:
        for seed in range(3):
            writer.write("resource", target_uri="urn:x:new", block=noise(1000 + 70_000 * seed, seed=seed))
        # A stream of unknown length is put aside first.
        writer.write("resource", target_uri="urn:x:new", block=io.BytesIO(noise(90_000, seed=3)))
    return 0


class _Tracer:
    """Sees every line of the package that the main thread passes."""

    def __init__(self, run: Run) -> None:
        self._place = run.place
        self._run = run
        self._again = False
        self.passed: Counter[tuple[str, int]] = Counter()

    def begin(self) -> None:
        if self._run.again:
            sys.addaudithook(self._audit)
        if self._run.watch or self._place is not None:
            sys.settrace(self._enter)

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if not file.startswith(PACKAGE) or name in IGNORED or file == f"{PACKAGE}cli{os.sep}__init__.py":
            return None
        if self._place is not None and file != PACKAGE + self._place.file:
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            here = (frame.f_code.co_filename.removeprefix(PACKAGE), frame.f_lineno)
            self.passed[here] += 1
            place = self._place
            if place is not None and here == (place.file, place.line) and self.passed[here] == place.turn:
                self._again = self._run.again
                os.kill(os.getpid(), self._run.number)
        return self._line

    def _audit(self, event: str, arguments: object) -> None:
        if self._again and event == "os.remove":
            self._again = False
            os.kill(os.getpid(), self._run.number)


def _stdout(kind: str) -> int:
    if kind == "closed pipe":
        read, write = os.pipe()
        os.close(read)
        return write
    return os.open({"nowhere": os.devnull, "full disk": "/dev/full"}[kind], os.O_WRONLY)


def _child(run: Run, stderr: int, passed: IO[str]) -> int:
    """Be the process that runs the command."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(_stdout(run.stdout), 1)
    os.dup2(stderr, 2)
    # The descriptor may be of a file or of a pipe.
    sys.stderr = open(2, "w", 1, closefd=False)  # noqa: SIM115
    os.chdir(run.folder)
    tempfile.tempdir = run.folder
    if run.room is not None:
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_FSIZE, (run.room, run.room))
    tracer = _Tracer(run)
    tracer.begin()
    try:
        return append(run.words[1]) if run.words[0] == APPEND else main(run.words)
    finally:
        sys.settrace(None)
        if run.watch:
            json.dump([[*place, times] for place, times in tracer.passed.items()], passed)


def _fork(run: Run) -> Ending:
    stderr, stderr_end = os.pipe()
    passed, passed_end = os.pipe()
    process = os.fork()
    if not process:
        with os.fdopen(passed_end, "w") as file:
            sys.exit(_child(run, stderr_end, file))
    os.close(stderr_end)
    os.close(passed_end)
    with os.fdopen(passed) as passed_file, os.fdopen(stderr) as stderr_file:
        lines, told = passed_file.read(), stderr_file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return Ending(status, told, json.loads(lines or "[]"))


def _endings() -> Iterator[Ending]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for fields in map(json.loads, sys.stdin):
        place = fields.pop("place")
        run = Run(**fields, place=place and Place(**place))
        if run.words[0] != APPEND:
            importlib.import_module(f"seekwarc.cli.{run.words[0]}")
        yield _fork(run)


if __name__ == "__main__":
    for ending in _endings():
        print(json.dumps(asdict(ending)), flush=True)
