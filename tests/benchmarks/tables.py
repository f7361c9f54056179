"""Tables of records: rows per second and peak memory of `seekwarc.batches` and of loops that others write.

Each way makes the same table of the same records, batch by batch, in a process of its own. The loops are what
users of FastWARC and warcio have in their jobs: a dict for each record, and a table of them. Daft, which has
a reader of its own, is measured where a Python is named that has it: it may need other versions than we do.
The ways take turns, round after round, for the speed of a machine drifts; reported is the median of each.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import seekwarc
from seekwarc import tools
from tests.benchmarks.running import package

__all__ = ["Speed", "as_tables_table", "make", "measure", "run"]

ROOT = Path(__file__).parents[2]
PAGES = 10_000
TIMES = 2
ROUNDS = 3

HEAD = """
import json, sys, time
path, times = sys.argv[1], int(sys.argv[2])
"""
TAIL = """
read()
began, began_cpu = time.perf_counter(), time.process_time()
rows = sum(read() for _ in range(times))
seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
print(json.dumps([rows, seconds, cpu, peak]))
"""
OURS = """
import seekwarc
columns = {columns}
def read():
    return sum(batch.num_rows for batch in seekwarc.batches(path, columns))
"""
COLUMNS = ["offset", "type", "target_uri", "date", "http_status", "http_mime", "payload", "headers"]
FASTWARC = """
from fastwarc.warc import ArchiveIterator
def rows_of(file):
    for record in ArchiveIterator(file):
        http = record.http_headers
        yield {
            "offset": record.stream_pos,
            "type": str(record.record_type),
            "target_uri": record.headers.get("WARC-Target-URI"),
            "date": record.record_date,
            "http_status": int(http.status_code) if http is not None and http.status_code else None,
            "http_mime": record.http_content_type if http is not None else None,
            "payload": record.reader.read(),
            "headers": [{"name": name, "value": value} for name, value in record.headers],
        }
"""
WARCIO = """
from warcio.archiveiterator import ArchiveIterator
def rows_of(file):
    archive = ArchiveIterator(file)
    for record in archive:
        http, headers = record.http_headers, record.rec_headers
        status = http.get_statuscode() if http is not None else ""
        yield {
            "offset": archive.get_record_offset(),
            "type": record.rec_type,
            "target_uri": headers.get_header("WARC-Target-URI"),
            "date": headers.get_header("WARC-Date"),
            "http_status": int(status) if status.isdigit() else None,
            "http_mime": http.get_header("Content-Type") if http is not None else None,
            "payload": record.content_stream().read(),
            "headers": [{"name": name, "value": value} for name, value in headers.headers],
        }
"""
LOOP = """
from itertools import islice
def read():
    rows = 0
    with open(path, "rb") as file:
        found = rows_of(file)
        while some := list(islice(found, 2048)):
            rows += pa.RecordBatch.from_pylist(some).num_rows
    return rows
"""
BAG = """
import dask.bag
def all_of(path):
    with open(path, "rb") as file:
        return list(rows_of(file))
def read():
    bag = dask.bag.from_sequence([path], npartitions=1).map(all_of).flatten()
    return pa.RecordBatch.from_pylist(bag.compute(scheduler="synchronous")).num_rows
"""
READ = """
from fastwarc.warc import ArchiveIterator
def read():
    rows = 0
    with open(path, "rb") as file:
        for record in ArchiveIterator(file):
            record.reader.read()
            rows += 1
    return rows
"""
DAFT = """
import daft
def read():
    return sum(batch.num_rows for batch in daft.read_warc(path).to_arrow_iter())
"""
WAYS = {
    "seekwarc.batches, these columns": OURS.format(columns=COLUMNS),
    "seekwarc.batches, without payload": OURS.format(columns=[it for it in COLUMNS if it != "payload"]),
    "seekwarc.batches, all 17 columns": OURS.format(columns=None),
    "FastWARC loop, pyarrow": FASTWARC + LOOP,
    "FastWARC loop in a Dask bag": FASTWARC + BAG,
    "FastWARC alone, no table": READ,
    "warcio loop, pyarrow": WARCIO + LOOP,
}


@dataclass(frozen=True, slots=True)
class Speed:
    """What one way to read one file took, several times after a first one in the same process.

    Of several such processes, the median.
    """

    file: str
    way: str
    rows: int
    seconds: float
    cpu: float
    """Seconds of all threads."""
    peak: float
    """MiB, Python and pyarrow included."""


def measure(
    folder: Path,
    *,
    pages: int = PAGES,
    times: int = TIMES,
    rounds: int = ROUNDS,
    daft: Path | None = None,
) -> list[Speed]:
    """Measure with a crawl of so many pages, as .warc.gz and .warc.zst.

    In each round each way reads a file a first time, and then so many times.

    Args:
        folder: Where the crawl is made and kept.
        pages: Its pages.
        times: Times that count.
        rounds: Rounds.
        daft: A Python that has Daft.
    """
    stored = folder / f"pages-{pages}.warc.zst"
    if not stored.exists():
        make(stored, pages)
    packed = stored.with_suffix(".gz")
    if not packed.exists():
        tools.convert(stored, packed)
    # Of a .warc.zst Daft gives the first record alone, without an error.
    return [*_measured(packed, rounds, times, daft), *_measured(stored, rounds, times, None)]


def make(path: Path, pages: int) -> None:
    """Write a crawl of pages of some kilobytes."""
    chance = random.Random(3)
    letters = b"abcdefghijklmnopqrstuvwxyz"
    words = [bytes(chance.choices(letters, k=chance.randrange(3, 10))) for _ in range(3000)]
    head = {"Content-Type": "text/html; charset=utf-8", "Server": "nginx", "Set-Cookie": "a=b"}
    with seekwarc.open(path, "w") as out:
        for number in range(pages):
            text = b" ".join(chance.choices(words, k=chance.randrange(200, 3000)))
            body = b"<!doctype html><html><body><p>" + text
            out.write_response(f"http://site{number % 300}.org/{number}", body, status=200, http_headers=head)


def _measured(path: Path, rounds: int, times: int, daft: Path | None) -> Iterator[Speed]:
    # warcio does not read Zstandard.
    ways = {way: it for way, it in WAYS.items() if path.suffix == ".gz" or "warcio" not in way}
    if daft is not None:
        ways["Daft's read_warc"] = DAFT
    found: dict[str, list[tuple[int, float, float, float]]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, script in ways.items():
            python = str(daft) if script == DAFT else sys.executable
            found[way].append(run("import pyarrow as pa\n" + script, path, times, python=python))
    for way, several in found.items():
        rows, seconds, cpu, peak = map(median, zip(*several, strict=True))
        yield Speed(path.name, way, int(rows), seconds, cpu, peak)


def run(
    script: str, path: Path, times: int, *, python: str = sys.executable
) -> tuple[int, float, float, float]:
    """Call the `read` of a script, which returns a number of rows, once, and then so many times.

    Args:
        script: Python; `path` is what it reads.
        path: The file.
        times: Calls that are counted.
        python: What runs it.

    Returns:
        Rows of these calls, their seconds and CPU seconds, and the peak memory of the process in MiB.
    """
    command = [python, "-c", HEAD + script + TAIL, str(path), str(times)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=os.environ)
    rows, seconds, cpu, peak = json.loads(done.stdout)
    return rows, seconds, cpu, peak


def as_tables_table(speeds: list[Speed]) -> str:
    """Return the measurements as a table in Markdown."""
    return "\n".join(_lines(speeds)) + "\n"


def _lines(speeds: list[Speed]) -> Iterator[str]:
    yield f"seekwarc is the {package()} package."
    yield ""
    yield "| file | way | rows per second | CPU per row | peak memory |"
    yield "|---|---|---|---|---|"
    for one in speeds:
        speed = f"{one.rows / one.seconds:,.0f} | {one.cpu / one.rows * 1e6:.0f} µs"
        yield f"| {one.file} | {one.way} | {speed} | {one.peak:.0f} MiB |"
