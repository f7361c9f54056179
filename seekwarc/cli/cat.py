"""Print a record, or any byte range of it, decompressing only the frames that hold the range.

seekwarc cat crawl.warc.zst 3117 --range 1000000000+65536
seekwarc cat crawl.warc.zst --uri https://example.org/film.mp4 --range -4096:
seekwarc cat crawl.warc.zst 3117 --part record
"""

from __future__ import annotations

import argparse
import sys

from seekwarc.archive.output import write_all
from seekwarc.archive.payload import Extent
from seekwarc.archive.record import Record
from seekwarc.cli.common import add_record_arguments, open_archive, parse_range, wanted_record
from seekwarc.errors import NotFoundError

__all__ = ["add_arguments", "run"]

STEP = 8 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    add_record_arguments(parser, required=True)
    parser.add_argument(
        "--range",
        metavar="RANGE",
        default=":",
        help="START:STOP as a Python slice (1000:2000, :100, -4096:) or START+LENGTH, in bytes of the part",
    )
    parser.add_argument(
        "--part",
        choices=("payload", "block", "record"),
        default="payload",
        help="payload (default): without the HTTP head; block: with it; record: with the WARC header too",
    )
    parser.add_argument("--no-verify", action="store_true", help="decode no further than the range's end")


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    with open_archive(options.file) as archive:
        record = wanted_record(archive, options)
        if record is None:
            raise NotFoundError("say which record: OFFSET, --uri or --id")
        extent = _part(record, options.part)
        start, stop = parse_range(options.range, extent.size)
        buffer = memoryview(bytearray(min(STEP, stop - start)))
        while start < stop:
            count = extent.pread_into(start, buffer[: stop - start], verify=not options.no_verify)
            write_all(sys.stdout.buffer, buffer[:count])
            start += count
    return 0


def _part(record: Record, part: str) -> Extent:
    if part == "block":
        return record.block
    return record.payload if part == "payload" else record.whole
