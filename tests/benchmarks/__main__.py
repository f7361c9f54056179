"""Measure seekwarc beside other tools on the same data, in turn, and print medians and ratios.

    python -m tests.benchmarks [--size MIB] [--runs N] [--folder FOLDER]

Needs FastWARC, pyzstd and warcio. The files are made once and kept in FOLDER.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import fastwarc
import pyzstd
import warcio
import zstandard

import seekwarc
from seekwarc.tools.convert import convert

MIB = 1 << 20
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
RECORDS = 30_000


def text(size: int) -> bytes:
    """Return text: the sources of the Python standard library, as often as it takes."""
    sources = sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py"))
    data = bytearray()
    while len(data) < size:
        for source in sources:
            data += source.read_bytes()
            if len(data) >= size:
                break
    return bytes(data[:size])


class Bench:
    """The files that are measured on, and the table of results."""

    def __init__(self, folder: Path, size: int, runs: int) -> None:
        self.runs = runs
        self.size = size
        self.plain = folder / f"text-{size}.bin"
        self.large = folder / f"large-{size}.warc.zst"
        self.one_frame = folder / f"one-frame-{size}.warc.zst"
        self.gzipped = folder / f"large-{size}.warc.gz"
        self.small = folder / "small.warc.zst"
        self.small_gz = folder / "small.warc.gz"
        self.folder = folder

    def make(self) -> None:
        if not self.plain.exists():
            self.plain.write_bytes(text(self.size))
        data = self.plain.read_bytes()
        if not self.large.exists():
            with seekwarc.open(self.large, "w") as out:
                out.write_warcinfo({"software": "benchmark"})
                out.write(
                    "response",
                    target_uri="http://example.org/large",
                    content_type="application/http; msgtype=response",
                    block=HEAD + data,
                )
            convert(str(self.large), str(self.gzipped), "gz", level=6)
        if not self.one_frame.exists():
            # What other writers make of it: each record is one frame.
            with self.one_frame.open("wb") as file, seekwarc.open(self.large) as archive:
                for record in archive:
                    file.write(zstandard.ZstdCompressor(level=3).compress(record.whole.read()))
        if not self.small.exists():
            rng = random.Random(1)
            with seekwarc.open(self.small, "w") as out:
                for number in range(RECORDS):
                    start = rng.randrange(len(data) - 5000)
                    out.write(
                        "response",
                        target_uri=f"http://example.org/{number}",
                        content_type="application/http; msgtype=response",
                        block=HEAD + data[start : start + 4200],
                    )
            convert(str(self.small), str(self.small_gz), "gz")

    def line(self, what: str, ours: Callable[[], object], **others: Callable[[], object]) -> None:
        """Run all in turn and print one line of the table for each of the others."""
        times: dict[str, list[float]] = {name: [] for name in ("seekwarc", *others)}
        for run in range(self.runs + 1):
            for name, work in (("seekwarc", ours), *others.items()):
                begin = time.perf_counter()
                work()
                if run:  # The first is to warm up.
                    times[name].append(time.perf_counter() - begin)
        mine = times.pop("seekwarc")
        for name, theirs in times.items():
            ratios = [b / a for a, b in zip(mine, theirs, strict=True)]
            print(
                f"| {what} | {statistics.median(mine) * 1e3:.2f} ms | {name} "
                f"{statistics.median(theirs) * 1e3:.2f} ms | {statistics.median(ratios):.1f}x "
                f"({min(ratios):.1f}-{max(ratios):.1f}) |",
                flush=True,
            )


def skip_to(path: Path, position: int, length: int) -> bytes:
    """Read a range of the large payload with FastWARC: it reads up to it."""
    for record in fastwarc.ArchiveIterator(str(path), parse_http=True):
        if record.content_length > MIB:
            left = position
            while left:
                left -= len(record.reader.read(min(left, MIB)))
            return record.reader.read(length)
    raise LookupError(path)


def warcio_skip(path: Path, position: int, length: int) -> bytes:
    """Read a range of the large payload with warcio."""
    with path.open("rb") as file:
        for record in warcio.ArchiveIterator(file):
            if record.rec_type == "response":
                stream = record.content_stream()
                left = position
                while left:
                    left -= len(stream.read(min(left, MIB)))
                return stream.read(length)
    raise LookupError(path)


def measure(bench: Bench) -> None:
    near_end = bench.size * 95 // 100
    with seekwarc.open(bench.large) as archive:
        record = list(archive)[1]
        place = (record.offset, record.length)

    def cold() -> bytes:
        with seekwarc.open(bench.large) as archive:
            return archive.record_at(*place).payload.pread(near_end, 65_536)

    assert cold() == skip_to(bench.one_frame, near_end, 65_536)
    bench.line(
        "64 KiB near the end of the payload, file opened anew",
        cold,
        **{
            "FastWARC .warc.zst": lambda: skip_to(bench.one_frame, near_end, 65_536),
            "FastWARC .warc.gz": lambda: skip_to(bench.gzipped, near_end, 65_536),
            "warcio .warc.gz": lambda: warcio_skip(bench.gzipped, near_end, 65_536),
        },
    )
    rng = random.Random(2)
    places = [rng.randrange(bench.size - 5000) for _ in range(200)]
    long_places = [rng.randrange(bench.size - 16 * MIB) for _ in range(8)]
    with seekwarc.open(bench.large, cache_size=0) as archive, pyzstd.SeekableZstdFile(bench.large) as other:
        payload = archive.record_at(*place).payload

        def theirs(starts: list[int], length: int) -> None:
            for start in starts:
                other.seek(start)
                other.read(length)

        def mine(starts: list[int], length: int, *, verify: bool) -> None:
            for start in starts:
                payload.pread(start, length, verify=verify)

        bench.line(
            "200 random 4 KiB reads, frames not verified by either",
            lambda: mine(places, 4096, verify=False),
            pyzstd=lambda: theirs(places, 4096),
        )
        bench.line(
            "200 random 4 KiB reads, verified by us only",
            lambda: mine(places, 4096, verify=True),
            pyzstd=lambda: theirs(places, 4096),
        )
        bench.line(
            "8 reads of 16 MiB, verified by us only",
            lambda: mine(long_places, 16 * MIB, verify=True),
            pyzstd=lambda: theirs(long_places, 16 * MIB),
        )

    def iterate(path: Path) -> int:
        with seekwarc.open(path) as archive:
            return sum(record.type == "response" for record in archive)

    def iterate_fastwarc(path: Path) -> int:
        records = fastwarc.ArchiveIterator(str(path), parse_http=False)
        return sum(record.record_type == fastwarc.WarcRecordType.response for record in records)

    assert iterate(bench.small) == iterate_fastwarc(bench.small) == RECORDS
    bench.line(
        "all types of 30,000 records, .warc.zst",
        lambda: iterate(bench.small),
        FastWARC=lambda: iterate_fastwarc(bench.small),
    )
    bench.line(
        "the same, .warc.gz",
        lambda: iterate(bench.small_gz),
        FastWARC=lambda: iterate_fastwarc(bench.small_gz),
    )

    def write() -> None:
        with (
            bench.plain.open("rb") as file,
            seekwarc.open(bench.folder / "out.warc.zst", "w", threads=2) as out,
        ):
            out.write("resource", target_uri="urn:x", block=file)

    def write_zstd() -> None:
        subprocess.run(
            ["zstd", "-T2", "-3", "-q", "-f", bench.plain, "-o", bench.folder / "out.zst"], check=True
        )

    bench.line("writing the large record", write, **{"zstd -T2 -3": write_zstd})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1024, help="MiB of the large record")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "seekwarc-benchmarks")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.folder, options.size * MIB, options.runs)
    bench.make()
    print("| what | seekwarc | other | ratio (spread) |\n|---|---|---|---|")
    measure(bench)


if __name__ == "__main__":
    main()
