"""A foreign program, run again and again with limits on what it takes.

Goal: whatever the program does, each run ends: in time, with a bounded amount of output in memory, and with
nothing of it left. Plan: it gets a process group of its own, which is killed as a whole; one thread reads
its standard output up to the limit, another drains its standard error. Worst case: a grandchild that leaves
the group and keeps the pipes open. Then the threads that wait for them are left alone; they end with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, Final

from conformance.manifest import KitError, counted

__all__ = ["GRACE", "MAX_MESSAGE", "Command", "Drain", "Ended", "too_long"]

OWN_GROUP: Final[dict[str, Any]] = {"start_new_session": True} if hasattr(os, "killpg") else {}
"""Arguments that start a process whose children `kill_group` can end with it."""
MAX_MESSAGE: Final = 8 << 10
STEP: Final = 64 << 10
GRACE: Final = 1.0
"""Seconds to wait for the pipes of a process that was killed."""


@dataclass(frozen=True, slots=True)
class Ended:
    r"""How a run ended."""

    status: int | None
    """Exit status, negative for the signal that ended it; None if it was killed at one of the limits."""
    output: bytes
    """Its standard output, no more than the limit."""
    message: str
    """The last line of its standard error, if there is one."""
    broken: str = ""
    """Why its output is not an answer, such as that it is longer than the limit; empty if it is one."""


class Command:
    """A program with its first arguments, which is ended `timeout` seconds after each start.

    Safe to use from several threads, each of which waits for the run that it began.
    """

    def __init__(self, words: Sequence[str], *, timeout: float) -> None:
        self._words = list(words)
        self.timeout = timeout
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_stopped = False

    def run(self, arguments: Sequence[str], max_output: int) -> Ended:
        """Run it to its end, or until it has written more than `max_output` bytes or taken too long."""
        deadline = time.monotonic() + self.timeout
        process = self._start(arguments)
        output, errors = Drain(process.stdout, max_output), Drain(process.stderr, MAX_MESSAGE, cuts=True)
        status = None
        try:
            output.join(deadline)
            if output.is_complete:
                with suppress(subprocess.TimeoutExpired):
                    status = process.wait(max(deadline - time.monotonic(), 0))
        finally:
            self._end(process)
            output.close()
            errors.close()
        broken = too_long(max_output) if output.is_longer else ""
        return Ended(status, bytes(output.data), errors.last_line, broken)

    def stop(self) -> None:
        """End all runs, and begin no other."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                kill_group(process)

    def _start(self, arguments: Sequence[str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_stopped:
                raise KitError("the command was stopped")
            try:
                process = subprocess.Popen(  # noqa: S603 - to run what the caller names is the purpose
                    [*self._words, *arguments],
                    stdin=stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    **OWN_GROUP,
                )
            except OSError as error:
                raise KitError(
                    f"{self._words[0]}: cannot be run: {error.strerror or error}; give a program and its "
                    "arguments after `--`"
                ) from error
            self._running.add(process)
            return process

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        kill_group(process)
        process.wait()
        with self._lock:
            self._running.discard(process)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a process started with `OWN_GROUP` and what it started, even after it; on Windows only itself."""
    kill: Callable[[int, int], None] | None = getattr(os, "killpg", None)
    if kill is None:
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def too_long(limit: int) -> str:
    """Return why output of more bytes than the limit is not an answer."""
    return f"it writes more than {counted(limit, 'byte')}"


class Drain:
    """A thread that reads a pipe up to a limit; or, if it cuts, to the end, keeping the last bytes."""

    def __init__(self, pipe: IO[bytes] | None, limit: int, *, cuts: bool = False) -> None:
        assert pipe is not None, "the process was started with pipes"
        self.data = bytearray()
        self.is_longer = False
        self.is_complete = False
        self._pipe = pipe
        self._limit = limit
        self._cuts = cuts
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while data := self._pipe.read(STEP):
            self.data += data
            if len(self.data) <= self._limit:
                continue
            if not self._cuts:
                self.is_longer = True
                del self.data[self._limit :]
                return
            del self.data[: -self._limit]
        self.is_complete = True

    def join(self, deadline: float) -> None:
        """Wait for the end of the pipe, for the limit, or until the deadline."""
        self._thread.join(max(deadline - time.monotonic(), 0))

    def close(self) -> None:
        """Close the pipe, unless another process keeps it open and the thread waits."""
        self._thread.join(GRACE)
        if not self._thread.is_alive():
            self._pipe.close()

    @property
    def last_line(self) -> str:
        """The last line that is not blank, as text."""
        lines = self.data.decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
