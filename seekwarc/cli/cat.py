"""Print a record, or any byte range of it, decompressing only the frames that hold the range.

The payload of a revisit is that of the record it refers to; the payload of a record in several segments is
put together of all of them. `--with` names the files in which those are looked for.

seekwarc cat crawl.warc.zst 3117 --range 1000000000+65536
seekwarc cat crawl.warc.zst --uri https://example.org/film.mp4 --range -4096:
seekwarc cat crawl.warc.zst 3117 --part record
seekwarc cat crawl-00000.warc.zst --uri https://example.org/film.mp4 --with crawl-00001.warc.zst
"""

from __future__ import annotations

import argparse
import sys

from seekwarc.archive.output import write_all
from seekwarc.archive.payload import Extent
from seekwarc.archive.reader import Reader
from seekwarc.archive.record import Record
from seekwarc.cli.common import (
    add_limit_arguments,
    add_record_arguments,
    limit_options,
    open_archive,
    parse_range,
    wanted_record,
)
from seekwarc.errors import NotFoundError, RangeError, SegmentError

__all__ = ["add_arguments", "run"]

STEP = 8 << 20
UNKNOWN_SIZE = 1 << 62


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
        help="payload (default): without HTTP head and chunked coding; block: with them; record: with "
        "the WARC header too",
    )
    parser.add_argument(
        "--decoded",
        action="store_true",
        help="undo the content coding (gzip, deflate, br, zstd); a range then counts decoded bytes",
    )
    parser.add_argument(
        "--with",
        dest="others",
        metavar="FILE",
        nargs="+",
        default=[],
        help="other files that may hold segments of the record, or what a revisit refers to",
    )
    parser.add_argument("--no-verify", action="store_true", help="decode no further than the range's end")
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    with open_archive(options.file, **limit_options(options)) as archive:
        record = wanted_record(archive, options)
        if record is None:
            raise NotFoundError("say which record: OFFSET, --uri or --id")
        if options.part == "payload" and (record.type == "revisit" or record.segment_number is not None):
            _print_logical(archive, record, options)
        else:
            _print(_part(record, options.part), options)
    return 0


def _print_logical(archive: Reader, record: Record, options: argparse.Namespace) -> None:
    """Print the payload of a record that is stored as several."""
    # Imported here: most records are stored as one.
    from seekwarc.archive.collection import Collection  # noqa: PLC0415

    if archive.size is None:
        raise NotFoundError(
            f"{archive.name}: a pipe cannot be searched for other records; store it in a file"
        )
    with Collection([options.file, *options.others], **limit_options(options)) as collection:
        try:
            _print(collection.open_record(record).payload, options)
        except (NotFoundError, SegmentError) as error:
            hint = "name the other files with --with, or print what is here with --part block"
            raise NotFoundError(f"{error}; {hint}") from None


def _part(record: Record, part: str) -> Extent:
    if part == "block":
        return record.block
    return record.payload if part == "payload" else record.whole


def _print(extent: Extent, options: argparse.Namespace) -> None:
    if options.decoded and extent.codings:
        _print_decoded(extent, options)
        return
    start, stop = parse_range(options.range, extent.size)
    buffer = memoryview(bytearray(min(STEP, stop - start)))
    while start < stop:
        count = extent.pread_into(start, buffer[: stop - start], verify=not options.no_verify)
        write_all(sys.stdout.buffer, buffer[:count])
        start += count


def _print_decoded(extent: Extent, options: argparse.Namespace) -> None:
    """Print a range of what a payload decodes to, whose length nobody knows beforehand."""
    start, stop = parse_range(options.range, UNKNOWN_SIZE)
    if "-" in options.range:
        raise RangeError("where a decoded payload ends is not known: count its range from the beginning")
    position = 0
    with extent.open(decoded=True) as file:
        while position < stop and (data := file.read(min(STEP, stop - position))):
            write_all(sys.stdout.buffer, data[max(start - position, 0) :])
            position += len(data)
