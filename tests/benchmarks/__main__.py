"""Measure seekwarc beside other tools on the same data, in turn; how its cost grows; and its instructions.

    python -m tests.benchmarks                  the table of spec-notes/benchmarks.md: ten minutes on two
                                                cores, and the time to make the data, the first time
    python -m tests.benchmarks --growth         sizes, seek tables, numbers of records, threads: a minute
    python -m tests.benchmarks --files          bytes and requests of records that are read as files
    python -m tests.benchmarks --tables         records as tables, beside what others write
    python -m tests.benchmarks --text           text of pages, beside FastWARC with resiliparse, and datatrove
    python -m tests.benchmarks --search         indexes of texts: size, speed, queries of 100,000 pages
    python -m tests.benchmarks --dropin         programs that read through warcio, and with ours in its place
    python -m tests.benchmarks --foreign        ranges in files that nobody converted, beside others' indexes
    python -m tests.benchmarks --serve          ranges over HTTP, beside nginx and pywb: needs wrk
    python -m tests.benchmarks --replay WABAC   a film of 1 GiB in Chromium, beside pywb and replayweb.page
    python -m tests.benchmarks --scale          parts of files, read by one process and by two; planning and
                                                gathering: 4 GiB with --size 4096
    python -m tests.benchmarks --clip           ten seconds of a film, beside ffmpeg and FastWARC
    python -m tests.benchmarks --instructions   hot paths under valgrind, against kept counts (--keep)

Needs `pip install -e '.[bench]'`, and zstd (or valgrind) of the operating system.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib import metadata
from pathlib import Path

from seekwarc.frames.codec import LIBRARY
from tests.benchmarks import growth, instructions
from tests.benchmarks.plots import as_growth_svg, as_svg
from tests.benchmarks.report import as_growth_table, as_json, as_table
from tests.benchmarks.running import Line, Result, package

PEERS = ("pyzstd", "FastWARC", "warcio", "blosc2", "indexed_gzip", "rapidgzip", "zstandard", "xxhash")
MIN_SIZE = 64
"""MiB; below it, 16 MiB reads say little."""


def processor_name() -> str:
    """Return the processor's name: ratios depend on it, and on what libraries choose for it."""
    names = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", names.read_text()) if names.exists() else None
    return found[1] if found is not None else platform.processor() or platform.machine()


def machine(size: int) -> dict[str, object]:
    command = subprocess.run(["zstd", "--version"], capture_output=True, text=True, check=True).stdout
    return {
        "processor": processor_name(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "codec": LIBRARY.NAME,
        "architecture": platform.machine(),
        "MiB": size,
        "package": package(),
        "zstd": command.partition(" v")[2].partition(",")[0],
        **{name: metadata.version(name) for name in PEERS},
    }


def lines(wanted: Sequence[str]) -> list[Line]:
    # Imported here: --growth and --instructions need none of the other tools.
    from tests.benchmarks import (  # noqa: PLC0415
        archives,
        frame_sizes,
        one_frame,
        processes,
        ranges,
        records,
        remote,
    )

    modules = (ranges, one_frame, frame_sizes, archives, records, processes, remote)
    there = {line.key: line for module in modules for line in module.LINES}
    if unknown := set(wanted) - set(there):
        print(f"no such line: {' '.join(sorted(unknown))}; there are {' '.join(there)}", file=sys.stderr)
        raise SystemExit(2)
    return [there[key] for key in there if not wanted or key in wanted]


def measure(folder: Path, size: int, only: Sequence[str], target: Path) -> None:
    from tests.benchmarks.data import MIB, Data  # noqa: PLC0415

    begin = time.perf_counter()
    data = Data(folder, size * MIB)
    results: list[Result] = []
    for line in lines(only):
        print(f"{time.perf_counter() - begin:4.0f} s  {line.key}", file=sys.stderr, flush=True)
        results += [replace(result, line=line.key) for result in line.measure(data)]
    facts = machine(size)
    table = as_table(results)
    cores = f"{facts['cores']} cores of {facts['processor']}"
    measured_on = f"{size} MiB payloads, {cores}, Python {facts['python']}, {facts['codec']}"
    print(f"{measured_on}\n\n{table}")
    note = f"{measured_on}. Green reaches the upright line, its target; ✗ does not; blue has none"
    save(target, as_json(results, facts), table, as_svg(results, note))
    print(f"{time.perf_counter() - begin:.0f} s")


def measure_growth(folder: Path, target: Path) -> int:
    series = growth.measure(folder)
    table = as_growth_table(series)
    print(table)
    save(
        target, {"series": [asdict(one) | {"fine": one.fine} for one in series]}, table, as_growth_svg(series)
    )
    return 0 if all(one.fine for one in series) else 1


def measure_files(folder: Path, size: int) -> int:
    from tests.benchmarks.files import as_files_table, measure  # noqa: PLC0415

    print(as_files_table(measure(folder, size)))
    return 0


def measure_tables(folder: Path, daft: Path | None) -> int:
    from tests.benchmarks.tables import as_tables_table, measure  # noqa: PLC0415

    print(as_tables_table(measure(folder, daft=daft)))
    return 0


def measure_text(folder: Path, datatrove: Path | None) -> int:
    from tests.benchmarks.tables import as_tables_table  # noqa: PLC0415
    from tests.benchmarks.texts import measure  # noqa: PLC0415

    print(as_tables_table(measure(folder, datatrove=datatrove)))
    return 0


def measure_search(folder: Path) -> int:
    from tests.benchmarks.searching import as_search_table, measure  # noqa: PLC0415

    print(as_search_table(list(measure(folder))))
    return 0


def measure_dropin(folder: Path) -> int:
    from tests.benchmarks.dropin import as_dropin_table, measure  # noqa: PLC0415

    print(as_dropin_table(measure(folder)))
    return 0


def measure_foreign(folder: Path, size: int) -> int:
    from tests.benchmarks.foreign import as_foreign_table, measure  # noqa: PLC0415

    print(as_foreign_table(measure(folder, size)))
    return 0


def measure_serve(folder: Path) -> int:
    from tests.benchmarks.serving import as_serving_table, measure  # noqa: PLC0415

    print(as_serving_table(measure(folder, 128)))
    return 0


def measure_replay(folder: Path, size: int, worker: Path, web_page: Path | None) -> int:
    from tests.benchmarks.replay import as_replay_table, measure  # noqa: PLC0415

    print(as_replay_table(measure(folder, size, worker, web_page)))
    return 0


def measure_scale(folder: Path, size: int) -> int:
    from tests.benchmarks.scale import Figure, as_scale_table, measure  # noqa: PLC0415

    figures: list[Figure] = []
    for figure in measure(folder, size, counts=(10, 100, 1_000, 10_000), clips=10_000):
        print(figure, file=sys.stderr, flush=True)
        figures.append(figure)
    print(as_scale_table(figures))
    return 0


def measure_clip(folder: Path, size: int) -> int:
    from tests.benchmarks.clip import as_clip_table, measure  # noqa: PLC0415

    print(as_clip_table(list(measure(folder, size))))
    return 0


def save(target: Path, measured: dict[str, object], table: str, plot: str) -> None:
    target.write_text(json.dumps(measured, indent=1) + "\n")
    target.with_suffix(".md").write_text(table)
    target.with_suffix(".svg").write_text(plot)
    print(f"written: {target}, .md and .svg")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--growth", action="store_true", help="measure how cost grows instead")
    parser.add_argument("--files", action="store_true", help="count what reading records as files fetches")
    parser.add_argument("--tables", action="store_true", help="measure tables of records, beside others")
    parser.add_argument("--daft", type=Path, metavar="PYTHON", help="with --tables: a Python that has Daft")
    parser.add_argument("--text", action="store_true", help="measure text of pages, beside others")
    parser.add_argument(
        "--datatrove", type=Path, metavar="PYTHON", help="with --text: a Python that has datatrove"
    )
    parser.add_argument("--search", action="store_true", help="measure indexes of texts instead")
    parser.add_argument("--dropin", action="store_true", help="measure what reads through warcio instead")
    parser.add_argument("--foreign", action="store_true", help="measure files that nobody converted instead")
    parser.add_argument("--serve", action="store_true", help="measure ranges over HTTP instead")
    parser.add_argument(
        "--replay", type=Path, metavar="WORKER", help="measure replay instead, by this package of wabac.js"
    )
    parser.add_argument(
        "--web-page", type=Path, metavar="FOLDER", help="with --replay: the unpacked package `replaywebpage`"
    )
    parser.add_argument("--scale", action="store_true", help="measure work on parts of files instead")
    parser.add_argument("--clip", action="store_true", help="measure clips of films instead")
    parser.add_argument("--instructions", action="store_true", help="count instructions instead")
    parser.add_argument("--keep", action="store_true", help="with --instructions: keep the new counts")
    parser.add_argument(
        "--at", metavar="COMMIT", help="with --instructions: count the package of this commit"
    )
    parser.add_argument("--size", type=int, default=1024, metavar="MIB", help="of the large payloads (1024)")
    folder = Path(tempfile.gettempdir()) / "seekwarc-benchmarks"
    parser.add_argument(
        "--folder", type=Path, default=folder, help="where data are made and kept: 10 GB at full size"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="LINE", help="measure these lines only")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="where results go, .md and .svg beside it (in FOLDER)"
    )
    options = parser.parse_args()
    if options.instructions:
        if shutil.which("valgrind") is None:
            parser.error("--instructions needs valgrind")
        return instructions.guard(keep=options.keep, at=options.at)
    if options.size < MIN_SIZE:
        parser.error(f"--size must be at least {MIN_SIZE}")
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        return measured(options)
    except ModuleNotFoundError as error:
        print(f"{error}; pip install -e '.[bench]'", file=sys.stderr)
        return 2


def measured(options: argparse.Namespace) -> int:
    """Measure what is asked for; return the exit status."""
    if options.growth:
        return measure_growth(options.folder, options.json or options.folder / "growth.json")
    others = {
        "serve": partial(measure_serve, options.folder),
        "replay": partial(measure_replay, options.folder, options.size, options.replay, options.web_page),
        "scale": partial(measure_scale, options.folder, options.size),
        "foreign": partial(measure_foreign, options.folder, options.size),
        "files": partial(measure_files, options.folder, options.size),
        "tables": partial(measure_tables, options.folder, options.daft),
        "text": partial(measure_text, options.folder, options.datatrove),
        "search": partial(measure_search, options.folder),
        "clip": partial(measure_clip, options.folder, options.size),
        "dropin": partial(measure_dropin, options.folder),
    }
    for name, measure_it in others.items():
        if getattr(options, name):
            return measure_it()
    measure(options.folder, options.size, options.only, options.json or options.folder / "results.json")
    return 0


if __name__ == "__main__":
    sys.exit(main())
