"""How cost grows: with the size of a record, of its seek table, with the number of records, and with threads.

Records of up to 64 GiB take a few MiB here, for all of their frames are the same few bytes.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import time
from array import array
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import xxhash
import zstandard

import seekwarc

__all__ = ["Series", "exponent", "large_record", "measure"]

KIB = 1 << 10
MIB = 1 << 20
PATTERN = random.Random(6).randbytes(4 * KIB)
HEADER = (
    "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>\r\n"
    "WARC-Date: 2026-11-05T12:00:00Z\r\nWARC-Target-URI: http://example.org/\r\nContent-Length: {}\r\n\r\n"
)
RECORD_END = b"\r\n\r\n"
REPEATS = 7
READS = 100
TOLERANCE = 0.2
"""What an exponent may be above what it should be; timings are noisy."""


@dataclass(frozen=True, slots=True)
class Series:
    """A cost at growing sizes."""

    panel: str
    name: str
    unit: str
    """What the sizes count."""
    most: int | None
    """Largest exponent that the cost may grow with: 0 is flat, 1 linear; None where it should fall."""
    points: tuple[tuple[int, float], ...]
    """(size, seconds), sizes ascending."""

    @property
    def fine(self) -> bool:
        """Whether it grows as it should."""
        if self.most is None:
            return self.points[-1][1] < self.points[0][1]
        return exponent(self.points) <= self.most + TOLERANCE


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope in logarithms of the upper half of the points: where the growth shows."""
    upper = points[len(points) // 2 :] if len(points) > 3 else points
    x, y = zip(*((math.log(size), math.log(seconds)) for size, seconds in upper), strict=True)
    return statistics.linear_regression(x, y).slope


def large_record(path: Path, size: int, frame_size: int = MIB) -> None:
    """Write a file of one record with a seek table, put together from copies of one frame.

    Args:
        path: Where to.
        size: Bytes of the block, a multiple of `frame_size`.
        frame_size: Content bytes of a frame.
    """
    codec = zstandard.ZstdCompressor(level=1, write_checksum=True)
    content = PATTERN * (frame_size // len(PATTERN))
    frames = [codec.compress(part) for part in (HEADER.format(size).encode(), content, content + RECORD_END)]
    contents = [HEADER.format(size).encode(), content, content + RECORD_END]
    copies = [1, size // frame_size - 1, 1]

    def column(values: list[int]) -> array[int]:
        return array("I", [values[0]]) + array("I", [values[1]]) * copies[1] + array("I", [values[2]])

    table = seekwarc.SeekTable(
        column([len(frame) for frame in frames]),
        column([len(part) for part in contents]),
        column([xxhash.xxh64_intdigest(part) & 0xFFFF_FFFF for part in contents]),
    )
    with path.open("wb") as file:
        file.write(frames[0])
        for done in range(0, copies[1], KIB):
            file.write(frames[1] * min(KIB, copies[1] - done))
        file.write(frames[2])
        file.write(table.build())


def median_of(work: Callable[[], object], repeats: int = REPEATS, units: int = 1) -> float:
    """Return the median seconds of one unit of work, after a first time that does not count."""
    times = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        work()
        times.append((time.perf_counter() - begin) / units)
    return statistics.median(times[1:])


def reads(path: Path, size: int, length: int = 4 * KIB) -> tuple[float, float]:
    """Return the seconds of a read in an open record, and of opening and reading once."""
    chance = random.Random(7)

    def check(start: int, found: bytes) -> None:
        shift = start % len(PATTERN)
        assert found == (PATTERN * (length // len(PATTERN) + 2))[shift : shift + length]

    def once() -> None:
        start = chance.randrange(size - length)
        with seekwarc.open(path) as archive:
            check(start, archive.record_at(0, path.stat().st_size).block.pread(start, length))

    def many() -> None:
        for _ in range(READS):
            start = chance.randrange(size - length)
            check(start, block.pread(start, length))

    with seekwarc.open(path, cache_size=0) as archive:
        block = archive.record_at(0, path.stat().st_size).block
        warm = median_of(many, units=READS)
    return warm, median_of(once)


def by_size(folder: Path) -> list[Series]:
    path = folder / "growth.warc.zst"
    sizes = [MIB << shift for shift in range(0, 17, 2)]
    found = []
    for size in sizes:
        large_record(path, size)
        found.append(reads(path, size))
    entries = [1 << shift for shift in range(4, 21, 2)]
    opened = []
    for count in entries:
        large_record(path, count * 64 * KIB, 64 * KIB)
        opened.append(reads(path, count * 64 * KIB))
    path.unlink()
    panels = ("Reading 4 KiB of a record", "Reading 4 KiB through a seek table")
    return [
        Series(panels[0], "archive open", "bytes", 0, _points(sizes, found, 0)),
        Series(panels[0], "opened for it", "bytes", 1, _points(sizes, found, 1)),
        Series(panels[1], "archive open", "frames", 0, _points(entries, opened, 0)),
        Series(panels[1], "opened for it", "frames", 1, _points(entries, opened, 1)),
    ]


def by_records(folder: Path) -> list[Series]:
    path = folder / "growth.warc.zst"
    counts = [100, 1_000, 10_000, 100_000]
    found = []
    for count in counts:
        with seekwarc.open(path, "w", digest=None, existing="overwrite") as out:
            for number in range(count):
                out.write("resource", target_uri=f"http://example.org/{number}", block=PATTERN[:500])
        with seekwarc.open(path) as archive:
            offsets = [record.offset for record in archive]
        found.append(
            (
                median_of(partial(_iterate, path), 3, units=count),
                median_of(partial(_look, path, offsets), 3, units=READS),
                median_of(partial(_look_once, path, offsets[-1])),
            )
        )
    path.unlink()
    panel = "One record of many"
    return [
        Series(panel, "in an iteration", "records", 0, _points(counts, found, 0)),
        Series(panel, "by offset", "records", 0, _points(counts, found, 1)),
        Series(panel, "by offset, opened for it", "records", 1, _points(counts, found, 2)),
    ]


def by_threads(folder: Path) -> list[Series]:
    path = folder / "growth.warc.zst"
    counts = sorted({1, 2, os.cpu_count() or 1})
    chance = random.Random(8)
    words = [chance.randbytes(chance.randrange(2, 9)).hex().encode() for _ in range(5000)]
    content = b" ".join(chance.choices(words, k=8 * MIB))[: 64 * MIB]
    found = []
    with ExitStack() as stack:
        for count in counts:
            written = median_of(partial(_write, path, content, count), 3)
            archive = stack.enter_context(seekwarc.open(path, threads=count, cache_size=0))
            block = next(iter(archive)).block
            found.append((median_of(partial(block.pread, MIB, 16 * MIB), 15), written))
    path.unlink()
    return [
        Series("Long work", "reading 16 MiB", "threads", None, _points(counts, found, 0)),
        Series("Long work", "writing 64 MiB", "threads", None, _points(counts, found, 1)),
    ]


def _write(path: Path, content: bytes, threads: int) -> None:
    with seekwarc.open(path, "w", threads=threads, existing="overwrite") as out:
        out.write("resource", target_uri="http://example.org/", block=content)


def _iterate(path: Path) -> None:
    with seekwarc.open(path) as archive:
        for record in archive:
            assert record.target_uri


def _look(path: Path, offsets: list[int]) -> None:
    chance = random.Random(9)
    with seekwarc.open(path, cache_size=0) as archive:
        for offset in chance.choices(offsets, k=READS):
            assert archive.record_at(offset).block.read() == PATTERN[:500]


def _look_once(path: Path, offset: int) -> None:
    with seekwarc.open(path) as archive:
        assert archive.record_at(offset).block.read() == PATTERN[:500]


def _points(
    sizes: Sequence[int], rows: Sequence[tuple[float, ...]], column: int
) -> tuple[tuple[int, float], ...]:
    return tuple((size, row[column]) for size, row in zip(sizes, rows, strict=True))


def measure(folder: Path) -> list[Series]:
    """Measure all; the files that are needed take some MiB and are gone at the end."""
    return [*by_size(folder), *by_records(folder), *by_threads(folder)]
