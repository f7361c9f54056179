"""Ranges in large records of files that nobody converted: beside others, whose index is ready.

The same member of a .warc.gz is read by all: with our sidecar, which verifies what it reads, and with the
indexes of rapidgzip and indexed_gzip, which do not. Time is that of the processor, so that other work on the
machine counts little.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import indexed_gzip
import rapidgzip

import seekwarc
from seekwarc import tools
from seekwarc.read.body import record_size
from tests.benchmarks.data import KIB, MIB, Data, content_of
from tests.benchmarks.limit import place_of_large
from tests.benchmarks.ranges import Read, seeking, warm

__all__ = ["Row", "as_foreign_table", "measure"]

SIZES = {"4 KiB": 4 * KIB, "64 KiB": 64 * KIB, "1 MiB": MIB}
Opener = Callable[[ExitStack], Read]


@dataclass(frozen=True, slots=True)
class Row:
    """What the same took with each."""

    content: str
    what: str
    ours: float
    rapidgzip: float
    indexed_gzip: float


def measure(folder: Path, size: int, reads: int = 20) -> list[Row]:
    """Measure text and what does not compress, `size` MiB of each."""
    data = Data(folder, size * MIB)
    return [
        row
        for kind, path, plain in (
            ("text", data.gzipped, data.text),
            ("film", data.gzipped_film, data.video),
        )
        for row in _rows(kind, path, plain, reads)
    ]


def _rows(kind: str, path: Path, plain: Path, reads: int) -> list[Row]:
    warm(path, plain)
    made = [path.with_name(path.name + end) for end in (".seek", ".rapidgzip", ".indexed_gzip")]
    _, theirs, others = made
    rows = [
        Row(
            kind,
            "build, s",
            _took(lambda: tools.sidecar(path, existing="overwrite")),
            _took(lambda: _export_rapidgzip(path, theirs)),
            _took(lambda: _export_indexed_gzip(path, others)),
        ),
        Row(kind, "index, % of the .gz", *(100 * it.stat().st_size / path.stat().st_size for it in made)),
    ]
    offset, length = place_of_large(path)
    with seekwarc.open(path) as archive:
        record = archive.record_at(offset, length)
        shift = sum(record_size(it.header) for it in archive if it.offset < offset)
        shift += len(record.header.raw) + record.content_length - record.payload.size

    def sidecar(stack: ExitStack) -> Read:
        return stack.enter_context(seekwarc.open(path, cache_size=0)).record_at(offset, length).payload.pread

    def rapid(stack: ExitStack) -> Read:
        file = stack.enter_context(rapidgzip.open(str(path), parallelization=2))
        file.import_index(str(theirs))
        return seeking(file, shift)

    def indexed(stack: ExitStack) -> Read:
        return seeking(
            stack.enter_context(indexed_gzip.IndexedGzipFile(str(path), index_file=str(others))), shift
        )

    openers = sidecar, rapid, indexed
    truth = content_of(plain)
    for name, size in SIZES.items():
        places = random.Random(size).choices(range(len(truth) - size), k=reads)
        rows += [
            Row(kind, f"{name} {how}, ms", *(_reads(it, places, size, truth, again=again) for it in openers))
            for how, again in (("at random", False), ("opened again", True))
        ]
    return rows


def _export_rapidgzip(path: Path, index: Path) -> None:
    with rapidgzip.open(str(path), parallelization=2) as file:
        file.export_index(str(index))


def _export_indexed_gzip(path: Path, index: Path) -> None:
    with indexed_gzip.IndexedGzipFile(str(path), spacing=MIB) as file:
        file.build_full_index()
        file.export_index(str(index))


def _took(work: Callable[[], object], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def _reads(opener: Opener, places: list[int], size: int, truth: bytes, *, again: bool) -> float:
    """Return milliseconds a read."""

    def read_all() -> None:
        with ExitStack() as stack:
            read = opener(stack)
            for place in places:
                assert read(place, size) == truth[place : place + size]

    def read_each() -> None:
        for place in places:
            with ExitStack() as stack:
                assert opener(stack)(place, size) == truth[place : place + size]

    return 1000 * _took(read_each if again else read_all) / len(places)


def as_foreign_table(rows: list[Row]) -> str:
    lines = ["| content | | seekwarc | rapidgzip | indexed_gzip |", "|---|---|--:|--:|--:|"]
    lines += [
        f"| {row.content} | {row.what} | {row.ours:.3f} | {row.rapidgzip:.3f} | {row.indexed_gzip:.3f} |"
        for row in rows
    ]
    return "\n".join(lines)
