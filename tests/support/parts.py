"""Files that are worked on in very small parts, one after the other and in this process."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from seekwarc import tools
from seekwarc.errors import SeekWarcError
from seekwarc.jobs import parts, workers
from seekwarc.jobs.outcome import Job, Outcome, Status
from seekwarc.jobs.progress import counting
from seekwarc.jobs.work import JobContext, Report, Work, attempt
from seekwarc.scale import searched
from tests.support.foreign import Foreign, gzip_member, text, warc_header
from tests.support.writing import noise

FORMS = ("zst", "zst without tables", "zst with a dictionary", "gz", "none")


class Parts:
    """Counts the parts that were worked on."""

    def __init__(self) -> None:
        self.done = 0
        self.failed = 0
        self.starts: list[int] = []

    def run(self, jobs: Sequence[Job], work: Work, report: Report, **_: Any) -> Iterator[Outcome]:
        self.starts = [job.part.start for job in jobs if job.part is not None]
        with tempfile.TemporaryDirectory() as folder:
            for job in jobs:
                shown = counting(job.source, report.on_progress, job.part)
                outcome = attempt(job, work, JobContext(lambda _: None, shown, folder))
                is_done = outcome.status is Status.DONE
                self.done, self.failed = self.done + is_done, self.failed + (not is_done)
                yield outcome
                assert not os.listdir(folder) or is_done


def small_parts(monkeypatch: pytest.MonkeyPatch, size: int = 4 << 10) -> Parts:
    """Have files cut into parts of about a size."""
    counted = Parts()
    monkeypatch.setattr(parts, "MIN_SIZE", 1)
    monkeypatch.setattr(parts, "MIN_PART", size)
    monkeypatch.setattr(parts, "MAX_PART", size)
    # Otherwise a damaged place among members for 64 KiB would be in the first part.
    monkeypatch.setattr(searched, "MAX_BLOCK", size)
    monkeypatch.setattr(workers, "run_in_order", counted.run)
    return counted


def pairs() -> Foreign:
    """Requests with bodies and their responses, in both orders, next to each other or not."""
    made = Foreign()
    for number in range(60):
        uri = b"http://example.org/%d" % (number // 2)
        kind = b"request" if number % 4 in (0, 3) else b"response"
        if kind == b"request":
            block = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\na=%d" % (number % 10)
        else:
            block = b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n" + noise(300, seed=number)
        header = warc_header(len(block), number, kind=kind.decode())
        header = header.replace(b"http://example.org/%d" % number, uri)
        header = header.replace(b"text/plain", b"application/http; msgtype=" + kind)
        if number % 2 and number % 7:
            before = b"<urn:uuid:00000000-0000-4000-8000-%012d>" % (number - 1)
            header = header[:-2] + b"WARC-Concurrent-To: " + before + b"\r\n\r\n"
        made.record(block, header=header)
    return made


def archive(form: str) -> bytes:
    """Return records of all sizes, archives in archives among them."""
    made = Foreign()
    tables = form == "zst"
    if "dictionary" in form:
        made.dictionary(compressed=True)
    inner = Foreign().record(b"x").record(noise(500)).record(b"y")
    for number in range(40):
        made.record(text(30 + 97 * number % 1900, seed=number % 9))
        if number % 10 == 7:
            made.record(text(30_000, seed=number), cuts=8 << 10, table=tables)
        if number % 10 == 8:
            made.record(noise(3000, seed=number))
    made.record(inner.bytes() * 6).record(inner.gzip().bytes() * 6).record(inner.plain().bytes() * 6)
    made.record(inner.plain().bytes() * 12, cuts=len(inner.plain().bytes()), table=tables)
    made.append(Foreign(frame_options=made.frame_options).record(b"last but one").record(b"last"))
    if tables:
        made.file_table()
    return made.gzip().bytes() if form == "gz" else made.plain().bytes() if form == "none" else made.bytes()


def shared() -> bytes:
    """Return gzip members with several records each."""
    whole = [it.header + it.block + b"\r\n\r\n" for it in Foreign(records=[]).record(noise(200)).records]
    return b"".join(gzip_member(b"".join(whole * (1 + number % 3))) for number in range(40))


def damaged(data: bytes, number: int) -> bytes:
    """Damage some data, in a way that depends on a number: bytes flipped, cut out, or put in."""
    place = number * 7919 * 101 % len(data)
    match number % 4:
        case 0:
            return data[:place]
        case 1:
            return data[:place] + data[place + 1 + number :]
        case 2:
            return data[:place] + b"\r\n" * (number % 5) + data[place - 20 :]
    flipped = bytearray(data)
    flipped[place] ^= 0x10
    return bytes(flipped)


def indexed(path: Path, processes: int, **options: Any) -> list[object]:
    """Return all that comes of indexing a file."""
    target = path.with_name(f"{processes}.cdxj")
    problems: list[str] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        done = tools.index(
            path,
            target,
            on_problem=lambda problem: problems.append(str(problem)),
            existing="overwrite",
            processes=processes,
            **options,
        )
    assert sorted(it.name for it in path.parent.iterdir() if it.name.startswith(".")) == []
    return [done, target.read_bytes(), problems, [str(it.message) for it in told]]


def converted(path: Path, processes: int, to: str = "zst", **options: Any) -> list[object]:
    """Return all that comes of converting a file."""
    target = path.with_name(f"{processes}.warc.{to}")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            done = tools.convert(path, target, existing="overwrite", processes=processes, **options)
        except SeekWarcError as error:
            return [type(error), str(error), target.exists(), [str(it.message) for it in told]]
    assert sorted(it.name for it in path.parent.iterdir() if it.name.startswith(".")) == []
    data = target.read_bytes()
    target.unlink()
    return [done, data, [str(it.message) for it in told]]


def recovered(path: Path, processes: int, to: str = "zst", **options: Any) -> list[object]:
    """Return all that comes of recovering a file."""
    target = path.with_name(f"{processes}.warc.{to}")
    read: list[int] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found: list[object] = [read, told]
        try:
            found.append(
                tools.recover(
                    path,
                    target,
                    processes=processes,
                    on_progress=counting(str(path), read.append),
                    **options,
                )
            )
        except SeekWarcError as error:
            found += [type(error), str(error), target.exists()]
    assert [it.name for it in path.parent.iterdir() if it.name.startswith(".")] == []
    found[:2] = sum(read), [str(it.message) for it in told]
    if target.exists():
        found.append(target.read_bytes())
        target.unlink()
    return found


def verified(path: Path, processes: int) -> list[object]:
    """Return all that comes of verifying a file."""
    problems: list[object] = []
    return [tools.verify(path, on_problem=problems.append, processes=processes), sorted(map(str, problems))]


def made_of(verb: str, path: Path, processes: int, **options: Any) -> list[object]:
    """Return all that comes of making one new file of a file, by a verb that looks through it in parts."""
    target = path.with_name(f"{processes}.warc.zst")
    damage: list[str] = []
    if verb != "redact":
        options["on_damage"] = lambda error: damage.append(str(error))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found: list[object] = [damage, told]
        try:
            done = getattr(tools, verb)(path, target, existing="overwrite", processes=processes, **options)
            # The names of the new files differ, and errors are not equal.
            found.append(str(done).replace(str(target), ""))
        except SeekWarcError as error:
            found += [type(error), str(error), target.exists()]
    assert [it.name for it in path.parent.iterdir() if it.name.startswith(".")] == []
    found[1] = [str(it.message) for it in told]
    if target.exists():
        found.append(target.read_bytes())
        target.unlink()
    return found


def filtered(path: Path, processes: int) -> list[object]:
    """Return all that comes of copying chosen records."""
    return made_of("filter", path, processes, min_size=500)


def redacted(path: Path, processes: int) -> list[object]:
    """Return all that comes of taking records out."""
    return made_of("redact", path, processes, min_size=500, stubs=False, keep_dictionary=True)


def deduplicated(path: Path, processes: int) -> list[object]:
    """Return all that comes of making revisits of equal payloads."""
    return made_of("dedupe", path, processes, min_size=1)


def joined(path: Path, processes: int) -> list[object]:
    """Return all that comes of looking for parts of resources."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            done = tools.join(path, dry_run=True, processes=processes)
        except SeekWarcError as error:
            return [type(error), str(error), [str(it.message) for it in told]]
    return [done, [str(it.message) for it in told]]
