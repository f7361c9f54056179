"""Every way to read a file that somebody else made, and the cost of each.

Each way takes a path and returns what it found, as text that can be compared. A `SeekWarcError` is an answer
like any other; anything else that is raised goes through to the caller.

As a command it goes one or several ways through a file, in a process of its own, and tells what that took:

    python -m tests.fuzz.ways SECONDS FILE WAY...

prints for each way a line of JSON with its name, answer, and the most memory so far that the process
had beyond what it had at first. After that many seconds of processor time the process is ended.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

import seekwarc
from seekwarc.check.recovering import recover
from seekwarc.check.verifying import Verifier
from seekwarc.cli import main
from seekwarc.write.append import existing_file
from tests.support.sources import Pipe

__all__ = ["WAYS", "answer"]

STEP: Final = 64 << 10
MAX_READ: Final = 32 << 20
"""Bytes of a file's blocks that are read at the most: of what unpacks to gigabytes, the beginning will do."""
MAX_RECORDS: Final = 20
FAR: Final = 1 << 62


def iterate(path: str) -> str:
    """List the records with what is known of them without their blocks."""
    count = 0
    with seekwarc.open(path, threads=1) as archive, _ending(lambda: count) as end:
        for record in archive:
            _ = record.type, record.length, record.seek_table_status
            count += 1
    return end()


def strictly(path: str) -> str:
    """List the records; refuse deviations."""
    count = 0
    with seekwarc.open(path, threads=1, strict=True) as archive, _ending(lambda: count) as end:
        for record in archive:
            _ = record.type, record.length
            count += 1
    return end()


def blocks(path: str) -> str:
    """Read all blocks, record by record."""
    count = size = 0
    with seekwarc.open(path, threads=2) as archive, _ending(lambda: count) as end:
        for record in archive:
            with record.block.open() as file:
                while size < MAX_READ and (data := file.read(STEP)):
                    size += len(data)
            count += 1
    return end()


def in_order(path: str) -> str:
    """Decompress the whole file once."""
    count = 0
    with seekwarc.open(path, threads=1) as archive, _ending(lambda: count) as end:
        for _ in archive.in_order():
            count += 1
    return end()


def piped(path: str) -> str:
    """Read from something that cannot seek."""
    count = 0
    with open(path, "rb") as file:
        pipe = Pipe(file.read())
    with seekwarc.open(pipe, threads=1) as archive, _ending(lambda: count) as end:
        for record in archive:
            record.block.pread(0, 10)
            count += 1
    return end()


def at(path: str, length: int | None = None) -> str:
    """Go to the first record by its offset, and read some of it from both ends."""
    with seekwarc.open(path, threads=1) as archive:
        return _first(archive.record_at(0, length))


def at_length(path: str) -> str:
    """Go to the first record with the file's length as its own."""
    return at(path, os.path.getsize(path) or 1)


def at_far(path: str) -> str:
    """Go to the first record with an impossible length, then to an impossible offset."""
    with seekwarc.open(path, threads=1) as archive, contextlib.suppress(seekwarc.FormatError):
        archive.record_at(FAR * 4)
    return at(path, FAR)


def everything(path: str) -> str:
    """Read the first record's block with one call."""
    with seekwarc.open(path, threads=2) as archive:
        record = archive.record_at(0)
        if record.content_length > MAX_READ and record.seek_table_status != seekwarc.TableStatus.STREAM:
            return "large"
        return str(len(record.block.pread(0, MAX_READ)))


def verify(path: str) -> str:
    """Check the file."""
    verifier = Verifier(path)
    for _ in verifier:
        pass
    return f"{verifier.result.records} {' '.join(sorted(verifier.result.codes))}".strip()


def save(path: str) -> str:
    """Recover what is intact."""
    with tempfile.TemporaryDirectory() as folder:
        found = recover(path, os.path.join(folder, "saved.warc.zst"), partial=False)
        return f"{found.records}"


def save_partly(path: str) -> str:
    """Recover also the beginnings of what is damaged."""
    with tempfile.TemporaryDirectory() as folder:
        found = recover(path, os.path.join(folder, "saved.warc.zst"), partial=True)
        return f"{found.records} {found.truncated}"


def go_on(path: str) -> str:
    """Examine the file as for appending."""
    return existing_file(path).tables


def collect(path: str) -> str:
    """Follow references between records."""
    with seekwarc.Collection([path], threads=1) as files:
        index = files.index
        count = 0
        for record in itertools.islice(files, MAX_RECORDS):
            _ = record.concurrent, record.refers_to, record.referring_to
            with contextlib.suppress(seekwarc.SeekWarcError):
                _ = files.open_record(record).payload.pread(0, 100)
            count += 1
        return f"{count} {type(index).__name__}"


def ls(path: str) -> str:
    """List with the command."""
    return _command("ls", path)


def ls_json(path: str) -> str:
    """List as JSON with the command."""
    return _command("ls", "--json", path)


def cat(path: str) -> str:
    """Print the end of the first record's payload with the command."""
    return _command("cat", path, "0", "--range", "-100:")


def cat_decoded(path: str) -> str:
    """Print some of the first record's payload with its content codings undone."""
    return _command("cat", path, "0", "--decoded", "--range", "0:1000")


WAYS: Final[dict[str, Callable[[str], str]]] = {
    way.__name__: way
    for way in (
        iterate,
        strictly,
        blocks,
        in_order,
        piped,
        at,
        at_length,
        at_far,
        everything,
        verify,
        save,
        save_partly,
        go_on,
        collect,
        ls,
        ls_json,
        cat,
        cat_decoded,
    )
}


def answer(way: str, path: str) -> str:
    """Read a file in one way; an error that seekwarc raises on purpose is a result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        try:
            return WAYS[way](path)
        except seekwarc.SeekWarcError as error:
            return type(error).__name__


@contextlib.contextmanager
def _ending(count: Callable[[], int]):
    """Return how many records came, and with which error they ended."""
    said = [""]
    try:
        yield lambda: f"{count()}{said[0]}"
    except seekwarc.SeekWarcError as error:
        said[0] = f" {type(error).__name__}"


def _first(record: seekwarc.Record) -> str:
    said = [str(record.content_length)]
    for part in (record.block, record.payload):
        try:
            part.pread(0, 100)
            part.pread(max(part.size - 100, 0), 100)
            part.pread(part.size // 2, 100, verify=False)
        except seekwarc.SeekWarcError as error:
            said.append(type(error).__name__)
    with contextlib.suppress(seekwarc.FormatError):
        _ = record.length
    head = record.http
    if head is not None:
        _ = head.start_line, head.reason, head.method, head.target, head.headers, head.codings
    return " ".join(said)


def _command(*words: str) -> str:
    """Run the command here, its output thrown away."""
    showwarning = warnings.showwarning
    try:
        with (
            open(os.devnull, "w") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            status = main(words)
    finally:
        warnings.showwarning = showwarning
    assert status in (0, 1, 2), status
    return f"exit {status}" if status < 2 else f"exit 2: {said.getvalue()}"


def _memory() -> int:
    """Return the peak memory of this process in bytes."""
    # Linux lets a process inherit the ru_maxrss of the one that started it, but not its VmHWM.
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) << 10
    unit = 1 if sys.platform == "darwin" else 1 << 10
    import resource  # noqa: PLC0415 - not on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _report(path: str, ways: list[str]) -> None:
    base = _memory()
    for way in ways:
        try:
            found = answer(way, path)
        except Exception as error:  # noqa: BLE001 - the caller reports it
            found = f"RAISED {error!r}"
        line = {"way": way, "answer": found, "memory": _memory() - base}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1]) + 1))
    _report(sys.argv[2], sys.argv[3:] or list(WAYS))
