"""Work in another process, for libraries that a hostile file can make hang, crash, or take all memory.

Goal: neither stops the program, and the file gets an error. The libraries cannot be interrupted, so the
other process ends itself: at a time that a thread of C watches, whatever runs, and at a limit of its memory
where the system has one. This process then finds its pipe closed. The process is kept for the next file.

A message is a line of JSON, whose `size` says how many bytes follow it. HTML and PDF are one request and one
answer. For a film, messages go on in both directions until it is closed: see `films_apart.py`. While this
process waits for an answer, `seekwarc.stopping` can stop it; the other process is ended then. If this process
ends in any way, the other one finds its pipe closed, and ends at once.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO, Final, TypeAlias

from seekwarc import errors
from seekwarc.errors import FormatError, LimitError, SeekWarcError, UnsupportedError
from seekwarc.inside.parsing import MAX_SECONDS, Parsed, parse_html, parse_pdf
from seekwarc.stopping import checkpoint
from seekwarc.system import is_readable, write_all

__all__ = [
    "MAX_MEMORY",
    "Channel",
    "Message",
    "Process",
    "error_of",
    "kept",
    "limit",
    "run_apart",
    "serve",
    "taken",
]

MAX_MEMORY: Final = 3 << 30
"""Bytes of memory that the process may map."""
MAX_IDLE: Final = 4
"""Processes that are kept, as many as threads parse at a time."""
TICK: Final = 0.1
"""Seconds between two looks whether the work is still wanted."""
STEP: Final = 1 << 20
_START: Final = "import sys; sys.path[:] = {path!r}; from seekwarc.inside.apart import serve; serve()"

Message: TypeAlias = tuple[dict[str, Any], bytes]
"""What a line of JSON says, and the bytes that follow it."""

_idle: list[Process] = []
_running: set[Process] = set()


class Process:
    """Another process, which does one thing at a time.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(  # noqa: S603 - Python itself
            [sys.executable, "-c", _START.format(path=sys.path)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._received = bytearray()
        _running.add(self)

    def send(self, fields: dict[str, Any], data: bytes = b"") -> None:
        """Send a message; nothing is said if the process has ended, which `receive` will find."""
        pipe = self._process.stdin
        assert pipe is not None
        with suppress(OSError):
            write_all(pipe, json.dumps({**fields, "size": len(data)}).encode() + b"\n")
            write_all(pipe, data)

    def receive(self) -> Message | None:
        """Return the next message; None if the process ended instead."""
        while (end := self._received.find(b"\n") + 1) == 0:
            if not self._more():
                return None
        fields = json.loads(self._received[:end])
        size = fields.pop("size")
        while len(self._received) < end + size:
            if not self._more():
                return None
        data = bytes(memoryview(self._received)[end : end + size])
        del self._received[: end + size]
        return fields, data

    def _more(self) -> bool:
        pipe = self._process.stdout
        assert pipe is not None
        while not is_readable(pipe, TICK):
            checkpoint()
        data = os.read(pipe.fileno(), STEP)
        self._received += data
        return bool(data)

    def is_alive(self) -> bool:
        """Tell whether it still runs."""
        return self._process.poll() is None

    def end(self) -> None:
        """End it, whatever it does."""
        _running.discard(self)
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def run_apart(
    kind: str, data: bytes, *, charset: str | None, main: bool, max_text: int, is_cut: bool
) -> Parsed:
    """Parse a file, "html" or "pdf", in another process.

    Raises:
        FormatError: It cannot be read.
        LimitError: That took too much time or memory.
        UnsupportedError: A package is missing, or no process can be started.
    """
    request = {"kind": kind, "charset": charset, "main": main, "max_text": max_text, "is_cut": is_cut}
    process = taken()
    try:
        process.send(request, data)
        answer = process.receive()
        if answer is None:
            text = f"the {kind.upper()} takes more than {MAX_SECONDS} seconds, or too much memory, to parse"
            raise LimitError(text)
    except BaseException:
        process.end()
        raise
    kept(process)
    if (error := error_of(answer[0])) is not None:
        raise error
    return Parsed(**answer[0])


def error_of(answer: dict[str, Any]) -> SeekWarcError | None:
    """Return the error that an answer is; None of any other answer."""
    if "error" not in answer:
        return None
    kind: type[SeekWarcError] = getattr(errors, answer["error"])
    return kind(answer["message"])


def taken() -> Process:
    """Return a process, for `kept` or `Process.end`.

    Raises:
        UnsupportedError: It cannot be started.
    """
    while _idle:
        with suppress(IndexError):
            process = _idle.pop()
            # Those of the parent process are the parent's, after a fork; and one may have been killed.
            if process.owner == os.getpid() and process.is_alive():
                return process
    try:
        return Process()
    except OSError as error:
        text = f"large pages, PDF and films are read in another process, which cannot be started: {error}"
        raise UnsupportedError(text) from error


def kept(process: Process) -> None:
    """Keep a process that has nothing to do, for the next file."""
    if len(_idle) < MAX_IDLE:
        _idle.append(process)
    else:
        process.end()


@atexit.register
def _end_all() -> None:
    _idle.clear()
    for process in [*_running]:
        if process.owner == os.getpid():
            process.end()


class Channel:
    """The other process's end: messages in both directions, and the time that each request may take.

    Time in which the first process has its turn does not count.
    """

    def __init__(self, requests: BinaryIO, answers: BinaryIO) -> None:
        self._answers = answers
        self._received: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._nowhere = open(os.devnull, "wb")  # noqa: SIM115 - as long as the process runs
        self._left = float(MAX_SECONDS)
        self._begun = time.monotonic()
        threading.Thread(target=self._read, args=(requests,), daemon=True).start()

    def _read(self, requests: BinaryIO) -> None:
        while line := requests.readline():
            fields = json.loads(line)
            self._received.put((fields, requests.read(fields.pop("size"))))
        # The first process has ended, so nothing waits for this one, which may take long.
        os._exit(0)

    def receive(self) -> Message:
        """Wait for a request."""
        self._pause()
        received = self._received.get()
        self.extend()
        return received

    def send(self, fields: dict[str, Any], data: bytes | memoryview = b"") -> None:
        """Send a message."""
        self._pause()
        self._write(fields, data)
        self._go_on()

    def ask(self, fields: dict[str, Any]) -> Message:
        """Send a message, and wait for the answer, in the middle of a request."""
        self._pause()
        self._write(fields)
        received = self._received.get()
        self._go_on()
        return received

    def _write(self, fields: dict[str, Any], data: bytes | memoryview = b"") -> None:
        self._answers.write(json.dumps({**fields, "size": len(data)}).encode() + b"\n")
        self._answers.write(data)
        self._answers.flush()

    def extend(self) -> None:
        """Allow as much time from now on as a request has."""
        self._left = float(MAX_SECONDS)
        self._go_on()

    def _go_on(self) -> None:
        self._begun = time.monotonic()
        faulthandler.dump_traceback_later(max(self._left, 0.01), exit=True, file=self._nowhere)

    def _pause(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._left -= time.monotonic() - self._begun


def serve() -> None:
    """Run the other process: do what standard input asks for until it ends."""
    # Ctrl-C reaches every process of a terminal; the parent process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable()
    limit("RLIMIT_AS", MAX_MEMORY)
    # Output of libraries must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    channel = Channel(sys.stdin.buffer, answers)
    while True:
        request, data = channel.receive()
        channel.send(_answer(request, data, channel))


def _answer(request: dict[str, Any], data: bytes, channel: Channel) -> dict[str, Any]:
    kind = request.pop("kind")
    try:
        if kind == "html":
            return parse_html(data, **request)._asdict()
        if kind == "pdf":
            return parse_pdf(data, max_text=request["max_text"])._asdict()
        # By its name, since it imports this module; libav is loaded for films alone.
        films: Any = import_module("seekwarc.inside.films_apart")
        answer: dict[str, Any] = films.serve_film(channel, request)
    except FormatError as error:
        return {"error": type(error).__name__, "message": error.message}
    except MemoryError:
        return {"error": "LimitError", "message": f"the {kind.upper()} takes too much memory to parse"}
    else:
        return answer


def limit(name: str, size: int | None) -> None:
    """Limit this process, where the system can: `RLIMIT_AS` or `RLIMIT_DATA`; None ends that."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        posix: Any = resource
        number = getattr(posix, name)
        most = posix.getrlimit(number)[1]
        posix.setrlimit(number, (most if size is None else size, most))
