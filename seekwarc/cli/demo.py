"""Show what a range read costs, with an example.

Makes a crawl with a large film in it, stores it as .warc.gz and as .warc.zst, reads the same range of the
film from both, and shows how much of each file had to be read and decompressed.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import sys
from pathlib import Path

from seekwarc.cli.arguments import add_force_argument, add_json_argument, add_value, folder
from seekwarc.cli.printing import picked
from seekwarc.cli.progress import watch
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option
from seekwarc.errors import ChecksumError, SeekWarcError
from seekwarc.format.conditions import parse_size
from seekwarc.format.json_text import json_text
from seekwarc.make.converting import convert
from seekwarc.make.example import FILM, RangeCost, make_example, measure
from seekwarc.read.reader import Reader
from seekwarc.system import temporary_folder
from seekwarc.write.files import make_folder, refuse_existing

__all__ = ["add_arguments", "run"]

RANGE_SIZE = 64 << 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    text = "keep the two files there (default: they are deleted)"
    add_value(parser, "folder", "FOLDER", text, folder, nargs="?")
    add_value(parser, "-o --output", "FOLDER", "the same as FOLDER", folder)
    add_value(parser, "--size", "SIZE", "size of the film (default: 192M)", parse_size, default=192 << 20)
    add_force_argument(parser)
    add_json_argument(parser)


def run(options: argparse.Namespace) -> int:
    name = options.output if options.folder is None else options.folder
    if name is not None:
        if None not in (options.folder, options.output):
            raise SeekWarcError("name one folder to keep the files in, as FOLDER or with -o")
        make_folder(name)
        return _demo(Path(name), options, kept=True)
    with temporary_folder("seekwarc-demo-") as name:
        return _demo(Path(name), options, kept=False)


def _demo(folder: Path, options: argparse.Namespace, *, kept: bool) -> int:
    seekable, gzipped = folder / "demo.warc.zst", folder / "demo.warc.gz"
    existing = existing_option(options)
    if existing == "error":
        for path in (seekable, gzipped):
            refuse_existing(path)
    if not options.json:
        print(f"Making a crawl of 50 pages and a film of {human_size(options.size)} ...", flush=True)
    offset = make_example(seekable, options.size, existing=existing)
    convert(str(seekable), str(gzipped), "gz", existing=existing, on_progress=watch(options))
    start = options.size * 9 // 10
    costs = {
        gzipped: measure(gzipped, start, RANGE_SIZE, _film_offset),
        seekable: measure(seekable, start, RANGE_SIZE, lambda _: offset),
    }
    old, new = costs[gzipped], costs[seekable]
    if old.data != new.data:
        raise ChecksumError("the two files gave different bytes", source=str(seekable))
    if options.json:
        print(json_text({path.name: _figures(path, cost) for path, cost in costs.items()}))
        return 0
    print(f"Reading {human_size(RANGE_SIZE)} at 90 % of the film, from each file, just opened:\n")
    print(f"  {'':<14} {'file':>10} {'read':>10} {'decompressed':>13} {'time':>10}")
    for path, cost in costs.items():
        print(
            f"  {path.name:<14} {human_size(path.stat().st_size):>10} "
            f"{human_size(cost.stats.bytes_fetched):>10} {human_size(cost.stats.bytes_decoded):>13} "
            f"{cost.seconds * 1000:>7.1f} ms"
        )
    print(
        f"\nThe bytes are the same. The seekable file took 1/{old.seconds / new.seconds:.0f} of the time.\n"
    )
    _print_next_steps(seekable if kept else None, offset, f"{start}+{RANGE_SIZE}")
    sys.stdout.flush()
    return 0


def _print_next_steps(example: Path | None, offset: int, wanted: str) -> None:
    if example is None:
        print("Keep the files:       seekwarc demo FOLDER")
    else:
        name = shlex.quote(str(example))
        print(f"Look at the result:   seekwarc serve {name}")
        print(f"                      seekwarc info {name} {offset}")
        print(f"                      seekwarc cat {name} --uri {FILM} --range {wanted} | wc -c")
    print("A file of your own:   seekwarc convert FILE.warc.gz FILE.warc.zst")
    print("Look at it:           seekwarc serve FILE.warc.zst")
    print("                      seekwarc ls FILE.warc.zst")
    print("Take a part of it:    seekwarc cat FILE.warc.zst OFFSET --range 1000000+65536")
    if importlib.util.find_spec("uvicorn") is None:
        print("`serve` needs:        pip install 'seekwarc[serve]'")


def _film_offset(archive: Reader) -> int:
    return next(record.offset for record in archive if record.target_uri == FILM)


def _figures(path: Path, cost: RangeCost) -> dict[str, object]:
    sizes = picked(cost.stats, "bytes_fetched", "bytes_decoded")
    return {"stored_size": path.stat().st_size, **sizes, "seconds": cost.seconds}
