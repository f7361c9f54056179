"""Work on parts: how much faster two processes are than one, what planning and gathering ask for."""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import seekwarc
from seekwarc import PayloadPart, Split
from tests.support.rangeserver import RangeServer

__all__ = ["Figure", "as_scale_table", "gathering", "measure", "parts", "planning", "scheduling"]

KIB = 1 << 10
MIB = 1 << 20
CLIP = 64 * KIB
FILES = 20
LATENCY = 0.01
"""Seconds that each answer takes."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Something measured, and in what unit."""

    what: str
    value: float
    unit: str


def measure(folder: Path, size: int, *, counts: Sequence[int], clips: int) -> Iterator[Figure]:
    """Measure with a file of `size` MiB, plan so many files, and gather so many ranges."""
    yield from parts(folder, size)
    yield from planning(folder, counts)
    yield from scheduling(folder, counts)
    yield from gathering(folder, max(size // 16, 8), clips)


# One file, and one record, read by one process and by two.


def parts(folder: Path, size: int) -> Iterator[Figure]:
    pages, film = folder / f"pages-{size}.warc.zst", folder / f"film-{size}.warc.zst"
    if not pages.exists():
        _write_pages(pages, size * MIB)
    if not film.exists():
        with seekwarc.open(film, "w", existing="overwrite") as out:
            length = size * 3 // 4 * MIB
            out.write("resource", target_uri="http://e.org/film", block=_Endless(length), length=length)
    for what, path, inside in (("a file", pages, False), ("a record", film, True)):
        target = max(path.stat().st_size // 16, MIB) if not inside else max(size * MIB // 16, MIB)
        splits = list(seekwarc.splits(path, target_bytes=target, inside_records=inside))
        alone, together = (_read_by(count, splits, read_part) for count in (1, 2))
        assert alone.size == together.size, "something else was read"
        name = f"{what} of {alone.size / MIB:.0f} MiB in {len(splits)} parts"
        yield Figure(f"{name}, one process", alone.seconds, "s")
        yield Figure("the same, two processes", together.seconds, "s")
        yield Figure("two processes take, of the time of one", together.seconds / alone.seconds, "")
        # What a busy machine does not change much.
        share = together.processor / alone.processor
        yield Figure("the busier of two processes takes, of the processor time of one", share, "")
        yield Figure("peak memory of a process", max(alone.memory, together.memory), "MiB")
        rows = _read_by(2, list(seekwarc.splits(path, target_bytes=target)), read_rows)
        yield Figure("as rows with payloads up to 1 MiB, two processes", rows.seconds, "s")
        yield Figure("peak memory of a process", rows.memory, "MiB")


class Reading(NamedTuple):
    """What it took to read all parts."""

    size: int
    """Bytes of the payloads."""
    seconds: float
    processor: float
    """Seconds of the process that took most."""
    memory: float
    """MiB of the process that took most."""


class _Endless(io.RawIOBase):
    """So many bytes that compress as text does, and take no time to make."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self._left = length
        self._text = _words(4 * MIB)
        self._turn = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        self._turn = (self._turn + 7_919) % MIB
        count = min(len(buffer), self._left, 3 * MIB)
        buffer[:count] = self._text[self._turn : self._turn + count]
        self._left -= count
        return count


def _words(size: int) -> bytes:
    rng = random.Random(3)
    known = [rng.randbytes(rng.randint(2, 5)).hex().encode() for _ in range(20_000)]
    return b" ".join(rng.choices(known, k=size // 5))[:size]


def _write_pages(path: Path, size: int) -> None:
    """Write pages of some KiB, and a record of a sixteenth of it all among them."""
    text, rng = _words(8 * MIB), random.Random(4)
    written = 0
    with seekwarc.open(path, "w", existing="overwrite") as out:
        while written < size:
            length = rng.choice((3_000, 20_000, 60_000, 200_000))
            start = rng.randrange(len(text) - length)
            out.write_resource(f"http://e.org/{written}", text[start : start + length], "text/html")
            if written <= size // 2 < written + length:
                large = size // 16
                out.write("resource", target_uri="http://e.org/film", block=_Endless(large), length=large)
                written += large
            written += length


Measured = tuple[int, int, float, float]
"""Bytes read, the process's number, seconds of processor time, and the process's peak memory in MiB."""


def _read_by(count: int, splits: Sequence[Split], read: Callable[[Split], Measured]) -> Reading:
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_nothing, range(4 * count)))
        begin = time.perf_counter()
        done = list(pool.map(read, splits))
        seconds = time.perf_counter() - begin
    processor: Counter[int] = Counter()
    for _, process, took, _ in done:
        processor[process] += took
    return Reading(sum(it[0] for it in done), seconds, max(processor.values()), max(it[3] for it in done))


def _nothing(_: int) -> None:
    time.sleep(0.1)


def read_part(split: Split) -> Measured:
    """Read all payloads of a part, as a worker does."""
    size = 0
    begin = time.process_time()
    for found in seekwarc.read_split(split, threads=1):
        extent = found if isinstance(found, PayloadPart) else found.payload
        position = 0
        while data := extent.pread(position, 4 * MIB):
            position += len(data)
        size += position
    return _measured(size, begin)


def read_rows(split: Split) -> Measured:
    """Read all rows of a part, each with its payload unless that is large."""
    begin = time.process_time()
    size = sum(batch.nbytes for batch in seekwarc.batches(split, threads=1))
    return _measured(size, begin)


def _measured(size: int, begin: float) -> Measured:
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / KIB
    return size, os.getpid(), time.process_time() - begin, peak


# Planning many files, handing them out, and gathering many ranges.


def _tiny_files(folder: Path, count: int) -> list[Path]:
    """Return files of one small record."""
    tiny = folder / "tiny.warc.zst"
    if not tiny.exists():
        with seekwarc.open(tiny, "w") as out:
            out.write_resource("http://e.org/", b"tiny", "text/plain")
    names = [folder / "tiny" / f"{number}.warc.zst" for number in range(count)]
    names[0].parent.mkdir(exist_ok=True)
    for name in names:
        if not name.exists():
            name.hardlink_to(tiny)
    return names


def planning(folder: Path, counts: Sequence[int]) -> Iterator[Figure]:
    for count in counts:
        names = _tiny_files(folder, count)
        tiny = names[0]
        begin = time.perf_counter()
        assert sum(1 for _ in seekwarc.splits(names)) == count
        yield Figure(f"planning {count} local files", time.perf_counter() - begin, "s")
        with RangeServer(tiny.read_bytes(), latency=LATENCY) as server:
            urls = [f"{server.root}/{number}.warc.zst" for number in range(count)]
            begin = time.perf_counter()
            assert sum(1 for _ in seekwarc.splits(urls)) == count
            yield Figure(f"planning {count} objects", time.perf_counter() - begin, "s")
            yield Figure("the same", len(server.asked), "requests")


def scheduling(folder: Path, counts: Sequence[int]) -> Iterator[Figure]:
    """Have Dask's scheduler, in this process, hand out a task for each file to two workers."""
    # Imported here: nothing else needs a cluster.
    from distributed import Client, LocalCluster  # noqa: PLC0415

    from seekwarc.compat.dask import read_warc  # noqa: PLC0415

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        for count in counts:
            splits = list(seekwarc.splits(_tiny_files(folder, count)))
            begin = time.perf_counter()
            assert len(read_warc(splits, ["offset"])) == count
            yield Figure(f"handing out {count} files with Dask", time.perf_counter() - begin, "s")
            with open("/proc/self/status") as status:
                memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / KIB
            yield Figure("the process of the scheduler has", memory, "MiB")


def gathering(folder: Path, size: int, clips: int) -> Iterator[Figure]:
    film = folder / f"noise-{size}.warc.zst"
    with seekwarc.open(film, "w", existing="overwrite") as out:
        rng = random.Random(5)
        block = b"".join(rng.randbytes(MIB) for _ in range(size))
        written = out.write_resource("http://e.org/film", block, "video/mp4")
    with seekwarc.open(film) as archive:
        length = archive.record_at(written.offset).length
    starts = [rng.randrange(len(block) - CLIP) for _ in range(clips)]
    with RangeServer(film.read_bytes(), latency=LATENCY) as server:
        rows = [
            (f"{server.root}/{number % FILES}.warc.zst", written.offset, length, start, start + CLIP)
            for number, start in enumerate(starts)
        ]
        begin = time.perf_counter()
        for row, data in zip(rows, seekwarc.gather(rows), strict=True):
            assert data == block[row[3] : row[4]], data
        what = f"{clips} ranges of 64 KiB in {FILES} records of {size} MiB"
        yield Figure(f"{what}, gathered", time.perf_counter() - begin, "s")
        yield Figure("the same", len(server.asked), "requests")
        yield Figure("the same", sum(it.sent for it in server.asked) / MIB, "MiB")
        server.forget()
        begin = time.perf_counter()
        archives = {row[0]: seekwarc.open(row[0], cache_size=0) for row in rows}
        records = {url: archive.record_at(written.offset, length) for url, archive in archives.items()}
        for row in rows:
            assert records[row[0]].payload.pread(row[3], CLIP) == block[row[3] : row[4]]
        yield Figure("one after the other", time.perf_counter() - begin, "s")
        yield Figure("the same", len(server.asked), "requests")
        yield Figure("the same", sum(it.sent for it in server.asked) / MIB, "MiB")
        for archive in archives.values():
            archive.close()


def as_scale_table(figures: Sequence[Figure]) -> str:
    """Return the figures as a table."""
    rows = [f"| {it.what} | {it.value:,.2f} {it.unit} |" for it in figures]
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n"
