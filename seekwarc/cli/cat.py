"""Print a record, or any byte range of it, decompressing only the frames that hold the range.

The payload of a revisit is that of the record it refers to, and the payload of a segmented record is joined
from all segments; `--with` names other files that may hold them. With `--index`, an index leads to the
file and the offset, also of the record that a revisit refers to.

seekwarc cat crawl.warc.zst 3117 --range 1000000000+65536
seekwarc cat crawl.warc.zst --uri https://example.org/film.mp4 --range -4096:
seekwarc cat crawl.warc.zst 3117 --part record
seekwarc cat crawl-00000.warc.zst --uri https://example.org/film.mp4 --with crawl-00001.warc.zst
seekwarc cat --index crawl.cdxj --uri https://example.org/film.mp4 --date 2026-11-21 --range -4096:
"""

from __future__ import annotations

import argparse
import sys

from seekwarc.cli.arguments import add_no_verify_argument
from seekwarc.cli.options import add_index_limits, add_limit_arguments, index_limits, limit_options
from seekwarc.cli.records import add_record_arguments, wanted_record
from seekwarc.cli.sizes import counts_from_end, parse_range
from seekwarc.cli.targets import open_archive
from seekwarc.errors import NotFoundError, RangeError, SeekWarcError, SegmentError
from seekwarc.read.extent import Extent
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.write.files import write_all

__all__ = ["add_arguments", "run"]

STEP = 8 << 20
UNKNOWN_SIZE = 1 << 62
LATEST = "9999"
"""The capture nearest to this date is the latest one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_record_arguments(parser, required=True, file_required=False)
    parser.add_argument(
        "--range",
        metavar="RANGE",
        default=":",
        help="in bytes of the part: START:STOP as a Python slice (1000:2000, :100, -4096:), START+LENGTH, or "
        "FIRST-LAST as curl has it (0-99)",
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
        help="other files that may hold segments of the record, or the original of a revisit",
    )
    add_no_verify_argument(parser, "stop decoding at the end of the range, and check no checksum")
    group = parser.add_argument_group("by an index, instead of FILE")
    group.add_argument(
        "--index",
        metavar="INDEX",
        help="sorted CDXJ file, index of a ZipNum cluster, or Parquet file, to look --uri up in",
    )
    group.add_argument(
        "--date",
        metavar="DATE",
        help="date of the capture: 2026, 20261121 or 2026-11-21T09:30:00Z (default: the latest)",
    )
    group.add_argument("--closest", action="store_true", help="the capture nearest to --date")
    group.add_argument(
        "--files",
        metavar="DIR|URL",
        help="where the files that the index names are (default: in the folder of the index)",
    )
    add_index_limits(group)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if options.index is not None:
        return _run_with_index(options)
    if options.file is None or options.date is not None or options.closest or options.files is not None:
        raise SeekWarcError("name a FILE or an --index; --date, --closest and --files need an index")
    with open_archive(options.file, **limit_options(options)) as archive:
        record = wanted_record(archive, options)
        if record is None:
            raise NotFoundError("name the record: OFFSET, --uri or --id")
        if options.part == "payload" and (record.type == "revisit" or record.segment_number is not None):
            _print_logical(archive, record, options)
        else:
            _print(_part(record, options.part), options)
    return 0


def _run_with_index(options: argparse.Namespace) -> int:
    # Imported here: without an index it is not needed.
    from seekwarc.cdx.index import Index  # noqa: PLC0415

    if options.uri is None or options.file is not None or options.others:
        raise SeekWarcError("--index needs --uri, and takes neither FILE nor --with")
    if options.closest and options.date is None:
        raise SeekWarcError("--closest needs a --date")
    limits = {**limit_options(options), **index_limits(options)}
    with Index(options.index, files=options.files, **limits) as index:
        wanted = (
            {"closest": options.date} if options.closest else {"since": options.date, "until": options.date}
        )
        for capture in index.lookup(options.uri, **{"closest": LATEST, **wanted}):
            record = capture.open(resolve=options.part == "payload")
            if record.type in ("response", "resource", "revisit"):
                _print(_part(record, options.part), options)
                return 0
        at = f" at {options.date}; --closest takes the nearest" if options.date is not None else ""
        raise NotFoundError(f"no capture of {options.uri}{at}", source=index.name)


def _print_logical(archive: Reader, record: Record, options: argparse.Namespace) -> None:
    """Print the payload of a revisit or a segmented record, which other records hold."""
    # Imported here: most records hold their payload.
    from seekwarc.collection.collection import Collection  # noqa: PLC0415

    if archive.size is None:
        raise NotFoundError(
            "a pipe cannot be searched for other records: store it in a file", source=archive.name
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
    """Print a range of a decoded payload, whose length is unknown until its end."""
    start, stop = parse_range(options.range, UNKNOWN_SIZE)
    if counts_from_end(options.range):
        raise RangeError("the length of a decoded payload is unknown: count the range from the beginning")
    position = 0
    with extent.open(decoded=True) as file:
        while position < stop and (data := file.read(min(STEP, stop - position))):
            write_all(sys.stdout.buffer, data[max(start - position, 0) :])
            position += len(data)
