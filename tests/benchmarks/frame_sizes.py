"""What small frames cost and bring: bytes stored, and the time of a short read, for three kinds of data."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import zstandard

from tests.benchmarks.data import KIB, LEVEL, MIB, Data, content_of
from tests.benchmarks.ranges import pyzstd_reader, reader_of, truth_of, warm
from tests.benchmarks.running import Line, Peer, Places, Result, compare, timed_reads

__all__ = ["LINES"]

SIZES = (128 * KIB, 256 * KIB, 512 * KIB, MIB)


def frame_sizes(data: Data) -> list[Result]:
    results = []
    for plain in (data.beginning(data.text), data.beginning(data.array), data.beginning(data.video)):
        content = content_of(plain)
        one = len(zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(content))
        for size in SIZES:
            stored = data.warc(plain, size).stat().st_size / one
            what = f"size of {plain.stem}, {size // KIB} KiB frames"
            results.append(Result(what, "one frame, same level", (stored,), None, "times"))
        results += short_reads(data, plain)
    return results


def short_reads(data: Data, plain: Path) -> list[Result]:
    """Compare reads of 4 KiB, whose frames are verified, with the same at 1 MiB and with pyzstd's."""
    theirs = data.seekable(plain, MIB)
    files = {size: data.warc(plain, size) for size in SIZES}
    warm(theirs, *files.values())
    places, truth = Places(0, plain.stat().st_size, 4 * KIB, 100), truth_of(plain)
    results = []
    with ExitStack() as stack:
        runs = {
            size: timed_reads(reader_of(stack, path, cache_size=0), places, truth)
            for size, path in files.items()
        }
        unverified = timed_reads(pyzstd_reader(stack, theirs), places, truth)
        for size, run in runs.items():
            results += compare(
                f"random 4 KiB of {plain.stem}, {size // KIB} KiB frames, verified by us only",
                run,
                [Peer("seekwarc, 1 MiB frames", runs[MIB]), Peer("pyzstd, 1 MiB frames", unverified)],
                budget=4,
            )
    return results


LINES = (Line("frame-sizes", frame_sizes),)
