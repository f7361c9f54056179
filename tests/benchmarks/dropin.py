"""Programs that read through warcio: its iterator, and seekwarc.compat.warcio's in its place.

Each reads the same records, in a process of its own, in turn. warcio does not read Zstandard: it gets such a
file through zstandard's stream reader, which is how programs do that today.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import seekwarc
from seekwarc import tools
from tests.benchmarks import tables

__all__ = ["Pair", "as_dropin_table", "measure"]

PAGES = 8_000
ROUNDS = 5
FILMS = 10
MIB = 1 << 20

THEIRS = """
import zstandard
from warcio.archiveiterator import ArchiveIterator
def opened():
    file = open(path, "rb")
    if path.endswith(".gz"):
        return file
    return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True)
"""
OURS = """
from seekwarc.compat.warcio import ArchiveIterator
def opened():
    return open(path, "rb")
"""
HEADERS = """
def read():
    with opened() as file:
        return sum(record.rec_headers.get_header("WARC-Type") is not None for record in ArchiveIterator(file))
"""
CONTENT = """
def read():
    rows = 0
    with opened() as file:
        for record in ArchiveIterator(file):
            rows += record.http_headers is None or record.http_headers.get_statuscode() == "200"
            record.content_stream().read()
    return rows
"""
WORK = {"headers": HEADERS, "headers, HTTP and content": CONTENT}


@dataclass(frozen=True, slots=True)
class Pair:
    """What the same work took with both; medians of several rounds."""

    file: str
    work: str
    rows: int
    theirs: float
    """Seconds."""
    ours: float


def measure(folder: Path, *, pages: int = PAGES, film: int = 20 * MIB, rounds: int = ROUNDS) -> list[Pair]:
    """Measure with a crawl of so many pages, as .warc.gz and .warc.zst, and with one of films."""
    stored = folder / f"pages-{pages}.warc.zst"
    if not stored.exists():
        tables.make(stored, pages)
    packed = stored.with_suffix(".gz")
    if not packed.exists():
        tools.convert(stored, packed)
    films = folder / f"films-{film}.warc.zst"
    if not films.exists():
        chance = random.Random(4)
        with seekwarc.open(films, "w") as out:
            for number in range(FILMS):
                out.write_resource(f"http://example.org/{number}.mp4", chance.randbytes(film), "video/mp4")
    return [_pair(path, work, rounds) for path in (packed, stored, films) for work in WORK]


def _pair(path: Path, work: str, rounds: int) -> Pair:
    theirs, ours = [], []
    rows = set()
    for _ in range(rounds):
        for iterator, seconds in ((THEIRS, theirs), (OURS, ours)):
            found, taken, *_ = tables.run(iterator + WORK[work], path, 1)
            rows.add(found)
            seconds.append(taken)
    (same,) = rows
    return Pair(path.name, work, same, median(theirs), median(ours))


def as_dropin_table(pairs: list[Pair]) -> str:
    """Return the measurements as a table in Markdown."""
    return "\n".join(_lines(pairs)) + "\n"


def _lines(pairs: list[Pair]) -> Iterator[str]:
    yield "| file | read | warcio | in its place | times as fast |"
    yield "|---|---|---|---|---|"
    for one in pairs:
        seconds = f"{one.theirs:.2f} s | {one.ours:.2f} s"
        yield f"| {one.file} | {one.work} | {seconds} | {one.theirs / one.ours:.2f} |"
