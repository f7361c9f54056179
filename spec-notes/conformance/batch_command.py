"""An external program that answers many questions in one process, with the limits of a run for each.

    COMMAND batch      reads a question from each line of its standard input, a JSON array of the arguments
                       of a run, and writes its answer to standard output: a line `STATUS SIZE MESSAGE`,
                       where STATUS is the exit status of such a run and MESSAGE may be left out, and then
                       SIZE bytes, the output

Goal: what one question does to the process is not counted against others. Plan: a thread writes a question
and reads the answer, and the caller waits for it no longer than the limit. A process that ends, breaks the
protocol or takes too long is killed, and the next question starts another. One that ends without a byte of an
answer may have been broken by an earlier question, so it is asked again in a new process. Worst case: a
process for each question.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Final, cast

from conformance.command import GRACE, MAX_MESSAGE, Command, Drain, Ended, too_long

__all__ = ["BatchCommand"]

BATCH: Final = "batch"
ANSWER: Final = re.compile(rb"(\d{1,3}) (\d{1,18})(?: (.*?))?\r?\n", re.DOTALL)
SHOWN: Final = 100
"""Bytes of another line that a message shows."""


class BatchCommand(Command):
    """A program that answers in as many processes as there are threads that ask."""

    def __init__(self, words: Sequence[str], *, timeout: float) -> None:
        super().__init__(words, timeout=timeout)
        self._idle: list[_Process] = []

    def run(self, arguments: Sequence[str], max_output: int) -> Ended:
        """Ask an idle process, or a new one; see `Command.run`."""
        while True:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            is_new = process is None
            if process is None:
                process = _Process(self._start([BATCH], subprocess.PIPE), self._end)
            ended = process.ask(arguments, max_output, self.timeout)
            if process.is_ready:
                with self._lock:
                    self._idle.append(process)
            if is_new or not process.is_silent:
                return ended

    def stop(self) -> None:
        """See `Command.stop`."""
        super().stop()
        while self._idle:
            self._idle.pop().close()


class _Process:
    def __init__(
        self, process: subprocess.Popen[bytes], end: Callable[[subprocess.Popen[bytes]], None]
    ) -> None:
        self.is_ready = False
        """Whether it has answered, and can be asked again."""
        self.is_silent = False
        """Whether it has ended without a byte of an answer."""
        self._process = process
        self._end = end
        self._errors = Drain(process.stderr, MAX_MESSAGE, cuts=True)
        self._questions = cast("IO[bytes]", process.stdin)
        self._answers = io.BufferedReader(cast("io.RawIOBase", process.stdout))
        self._line = self._output = b""
        self._thread = threading.Thread()

    def ask(self, words: Sequence[str], max_output: int, timeout: float) -> Ended:
        self.is_ready = False
        try:
            return self._ask(words, max_output, timeout)
        finally:
            if not self.is_ready:
                self.close()

    def _ask(self, words: Sequence[str], max_output: int, timeout: float) -> Ended:
        self._line = self._output = b""
        self._thread = threading.Thread(target=self._talk, args=(words, max_output), daemon=True)
        self._thread.start()
        self._thread.join(timeout)
        if self._thread.is_alive():
            return Ended(None, b"", "")
        answer = ANSWER.fullmatch(self._line)
        if answer is None and (self._line.endswith(b"\n") or len(self._line) == MAX_MESSAGE):
            shown = self._line[:SHOWN].decode(errors="backslashreplace").rstrip()
            return Ended(None, b"", "", f"its answer begins with {shown!r}, not with STATUS SIZE")
        if answer is not None and int(answer[2]) > max_output:
            return Ended(None, b"", "", too_long(max_output))
        if answer is None or len(self._output) < int(answer[2]):
            self.is_silent = not self._line
            return self._left()
        self.is_ready = True
        return Ended(int(answer[1]), self._output, (answer[3] or b"").decode(errors="replace").strip())

    def _talk(self, words: Sequence[str], max_output: int) -> None:
        with suppress(OSError, ValueError):  # It has ended, or was ended: then nothing comes.
            self._questions.write(json.dumps([*words]).encode() + b"\n")
            self._line = self._answers.readline(MAX_MESSAGE)
            answer = ANSWER.fullmatch(self._line)
            if answer is not None and int(answer[2]) <= max_output:
                self._output = self._answers.read(int(answer[2]))

    def _left(self) -> Ended:
        status = None
        with suppress(subprocess.TimeoutExpired):
            status = self._process.wait(GRACE)
        self._errors.join(time.monotonic() + GRACE)
        return Ended(status, b"", self._errors.last_line, "it ended before it had answered")

    def close(self) -> None:
        self._end(self._process)
        self._errors.close()
        self._thread.join(GRACE)
        if not self._thread.is_alive():
            for pipe in (self._questions, self._answers):
                with suppress(OSError):
                    pipe.close()
