"""Running the command many times without paying for the start of Python each time.

A process imports every verb once, and forks a child for each run. The child is a process of its own, as the
command is: it has descriptors, a folder, an environment, and an exit status. What a fork cannot show is what
happens while Python starts. So tests of signals, terminals and imports start the command themselves, as does
one test of every verb, and with `--cold` nothing is forked at all.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO
from unittest.mock import patch

from seekwarc.cli import main
from seekwarc.cli.verbs import VERBS
from tests.support.disks import leave_unsynced

try:
    # Not `os.fork`, which support/windows takes away from everything but this.
    from posix import fork
except ImportError:
    fork = None

CAN_FORK = fork is not None
MAX_REQUEST = 1 << 20

RECORD = (
    b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:f9f2ac0e-93a1-44a1-8ac6-5b0c7ba9d5e1>\r\n"
    b"WARC-Date: 2026-11-17T06:00:00Z\r\nWARC-Target-URI: http://example.org/\r\n"
    b"Content-Type: application/http;msgtype=response\r\nContent-Length: 45\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n\r\n\r\n"
)
FIRST_RUNS = (
    "convert a.warc b.warc.gz",
    "convert a.warc c.warc.zst",
    "ls a.warc b.warc.gz c.warc.zst",
    "verify b.warc.gz c.warc.zst --json",
    "info c.warc.zst",
    "info c.warc.zst 0 --json",
    "cat c.warc.zst 0",
    "index b.warc.gz c.warc.zst -o a.cdxj",
    "lookup a.cdxj http://example.org/ --json",
    "recover a.warc d.warc.zst",
    "concat a.warc c.warc.zst -o e.warc.zst",
    "split c.warc.zst -o f.warc.zst --records 1",
    "extract c.warc.zst -o payloads",
)
"""What loads modules, and compiles expressions, that most runs need."""


def run_here(*args: object, cwd: object = None) -> subprocess.CompletedProcess:
    """Run the command within this process, which takes a tenth of the time that a fork of it takes.

    It is for what a command prints and makes. Whatever it leaves in the process, the next one meets.
    """
    words = [*map(str, args)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        open(os.devnull) as nothing,
        contextlib.chdir(str(cwd or os.getcwd())),
        patch.multiple(sys, stdin=nothing, argv=["seekwarc", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        try:
            status = main(words)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        out.flush()
        err.flush()
    said = [it.buffer.getvalue() for it in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(words, status, *said)


class WarmCommand:
    """The command, ready to be run."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # Pipes, as a child has them: Python asks its streams once, at the start, whether they can seek.
            self._server = subprocess.Popen(
                [sys.executable, "-m", "tests.support.warm", str(theirs.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                cwd=os.path.dirname(os.path.dirname(os.path.dirname(__file__))),
            )

    def run(
        self, *args: object, stdin: bytes | None = None, cwd: object = None
    ) -> subprocess.CompletedProcess:
        """Run the command to its end, as `subprocess.run` with `capture_output` does."""
        words = [*map(str, args)]
        request = {"args": words, "cwd": str(cwd or os.getcwd()), "env": dict(os.environ)}
        with contextlib.ExitStack() as ends, ThreadPoolExecutor(3) as pool:
            given = ends.enter_context(open(os.devnull, "rb")) if stdin is None else None
            if given is None:
                given, to_child = _pipe(ends)
            pipes = [_pipe(ends), _pipe(ends)]
            theirs = [given, *(write for _, write in pipes)]
            message = json.dumps(request).encode()
            socket.send_fds(self._socket, [message], [end.fileno() for end in theirs])
            for end in theirs:
                end.close()
            if stdin is not None:
                pool.submit(_give, to_child, stdin)
            outputs = [pool.submit(read.read) for read, _ in pipes]
            status = int(self._socket.recv(100))
            stdout, stderr = (output.result() for output in outputs)
        return subprocess.CompletedProcess(words, status, stdout, stderr)

    def close(self) -> None:
        """End the process that forks."""
        self._socket.close()
        self._server.communicate()


def _pipe(ends: contextlib.ExitStack) -> tuple[BinaryIO, BinaryIO]:
    read, write = os.pipe()
    return ends.enter_context(open(read, "rb")), ends.enter_context(open(write, "wb", buffering=0))


def _give(pipe: BinaryIO, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), pipe:
        view = memoryview(data)
        while view:
            view = view[pipe.write(view) :]


def _requests(connection: socket.socket) -> Iterator[tuple[dict[str, Any], list[int]]]:
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, MAX_REQUEST, 3)
        if not message:
            return
        yield json.loads(message), descriptors


def _warm_up() -> None:
    for verb in VERBS:
        importlib.import_module(f"seekwarc.cli.{verb}")
    with (
        tempfile.TemporaryDirectory() as folder,
        open(os.devnull, "w") as nowhere,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        with open("a.warc", "wb") as file:
            file.write(RECORD)
        for words in FIRST_RUNS:
            assert main(words.split()) == 0, words
    # Each child has an environment of its own, and so a folder for temporary files.
    tempfile.tempdir = None


def _serve(connection: socket.socket) -> int:
    """Fork a child for each request, and return its exit status in the child."""
    leave_unsynced()
    _warm_up()
    gc.collect()
    gc.freeze()
    for request, descriptors in _requests(connection):
        child = fork()
        if child == 0:
            connection.close()
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.environ.clear()
            os.environ.update(request["env"])
            os.chdir(request["cwd"])
            sys.argv[1:] = request["args"]
            return _run()
        for descriptor in descriptors:
            os.close(descriptor)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.send(b"%d" % status)
    return 0


def _run() -> int:
    """Run the command, and end as Python does but without taking modules apart: that copies their memory.

    Returns:
        The status, where the end itself is of interest: what was printed cannot be written.
    """
    try:
        status = main()
    except SystemExit as stop:
        if not isinstance(stop.code, int):
            raise
        status = stop.code
    threading._shutdown()
    atexit._run_exitfuncs()
    gc.collect()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return status
    os._exit(status)


if __name__ == "__main__":
    # Ctrl-C is for pytest, which ends this process by closing the socket; the command handles signals itself.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(_serve(socket.socket(fileno=int(sys.argv[1]))))
