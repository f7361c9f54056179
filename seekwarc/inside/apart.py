"""Parsing in another process, for libraries that a hostile file can make hang, crash, or take all memory.

Goal: neither stops the program, and the file gets an error. The libraries cannot be interrupted, so the
other process ends itself: at a time that a thread of C watches, whatever runs, and at a limit of its memory
where the system has one. This process then finds its pipe closed. The process is kept for the next page.

A request is a line of JSON and the bytes of the file; an answer is a line of JSON.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Final

from seekwarc.errors import FormatError, LimitError, UnsupportedError
from seekwarc.inside.parsing import MAX_SECONDS, Parsed, parse_html, parse_pdf

__all__ = ["MAX_MEMORY", "run_apart", "serve"]

MAX_MEMORY: Final = 3 << 30
"""Bytes of memory that the process may map."""
MAX_IDLE: Final = 4
"""Processes that are kept, as many as threads parse at a time."""
ERRORS: Final = {it.__name__: it for it in (FormatError, LimitError, UnsupportedError)}
_START: Final = "import sys; sys.path[:] = {path!r}; from seekwarc.inside.apart import serve; serve()"

_idle: list[_Process] = []


class _Process:
    def __init__(self) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(  # noqa: S603 - Python itself
            [sys.executable, "-c", _START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, request: Mapping[str, object], data: bytes) -> dict[str, Any] | None:
        """Return the answer; None if the process ended instead."""
        pipe, answers = self._process.stdin, self._process.stdout
        assert pipe is not None
        assert answers is not None
        try:
            pipe.write(json.dumps({**request, "size": len(data)}).encode() + b"\n" + data)
            pipe.flush()
            line = answers.readline()
        except OSError:
            return None
        return json.loads(line) if line.endswith(b"\n") else None

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
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
    process = _process()
    request = {"kind": kind, "charset": charset, "main": main, "max_text": max_text, "is_cut": is_cut}
    try:
        answer = process.ask(request, data)
    except BaseException:
        process.end()
        raise
    if answer is None:
        process.end()
        text = f"the {kind.upper()} takes more than {MAX_SECONDS} seconds, or too much memory, to parse"
        raise LimitError(text)
    if len(_idle) < MAX_IDLE:
        _idle.append(process)
    else:
        process.end()
    if "error" in answer:
        raise ERRORS[answer["error"]](answer["message"])
    return Parsed(**answer)


def _process() -> _Process:
    while _idle:
        with suppress(IndexError):
            process = _idle.pop()
            # Those of the parent process are the parent's, after a fork; and one may have been killed.
            if process.owner == os.getpid() and process.is_alive():
                return process
    try:
        return _Process()
    except OSError as error:
        text = f"large pages and PDF are parsed in another process, which cannot be started: {error}"
        raise UnsupportedError(text) from error


@atexit.register
def _end_all() -> None:
    while _idle:
        process = _idle.pop()
        if process.owner == os.getpid():
            process.end()


def serve() -> None:
    """Run the other process: parse files from standard input until it ends."""
    # Ctrl-C reaches every process of a terminal; the parent process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.disable()
    _limit_memory()
    requests = sys.stdin.buffer
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with open(os.devnull, "wb") as nowhere:
        while line := requests.readline():
            faulthandler.dump_traceback_later(MAX_SECONDS, exit=True, file=nowhere)
            answer = _answer(json.loads(line), requests)
            faulthandler.cancel_dump_traceback_later()
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()


def _answer(request: dict[str, Any], file: BinaryIO) -> dict[str, object]:
    kind, data = request.pop("kind"), file.read(request.pop("size"))
    try:
        if kind == "html":
            return parse_html(data, **request)._asdict()
        return parse_pdf(data, max_text=request["max_text"])._asdict()
    except FormatError as error:
        return {"error": type(error).__name__, "message": error.message}
    except MemoryError:
        return {"error": "LimitError", "message": f"the {kind.upper()} takes too much memory to parse"}


def _limit_memory() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        posix: Any = resource
        posix.setrlimit(posix.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
