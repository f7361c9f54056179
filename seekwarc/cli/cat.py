"""Print a record, or any byte range of it, decompressing only the frames that hold the range.

The payload of a revisit is that of the record it refers to, and the payload of a segmented record is joined
from all segments; `--with` names other files that may hold them. With `--index`, an index leads to the
file and the offset, also of the record that a revisit refers to.

seekwarc cat crawl.warc.zst 3117 --range 1000000000+65536
seekwarc cat crawl.warc.zst 3117 --range 0-99,-10M:
seekwarc cat crawl.warc.zst --uri https://example.org/film.mp4 --range -4096:
seekwarc cat crawl.warc.zst 3117 --part record
seekwarc cat broken.warc.zst 3117 --partial > film.mp4
seekwarc cat crawl-00000.warc.zst --uri https://example.org/film.mp4 --with crawl-00001.warc.zst
seekwarc cat crawls/ --uri https://example.org/film.mp4
seekwarc cat proxy.warc.gz --uri https://example.org/film.mp4 --joined > film.mp4
seekwarc cat crawl.warc.gz 3117 --range 1000000000+65536 --sidecar points/crawl.warc.gz.seek
seekwarc cat --index crawl.cdxj --uri https://example.org/film.mp4 --date 2026-11-21 --range -4096:
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from seekwarc.cli.arguments import add_flag
from seekwarc.cli.options import (
    add_index_limits,
    add_limit_arguments,
    add_sidecar_argument,
    index_limits,
    limit_options,
    open_options,
)
from seekwarc.cli.printing import say
from seekwarc.cli.records import add_record_arguments, wanted_record
from seekwarc.cli.sizes import counts_from_end, parse_range
from seekwarc.cli.targets import open_archive
from seekwarc.errors import FormatError, HoleError, NotFoundError, RangeError, SeekWarcError, SegmentError
from seekwarc.read.extent import Extent
from seekwarc.read.record import Record
from seekwarc.storage.expand import expand
from seekwarc.write.files import write_all

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["add_arguments", "run"]

PIPE = "a pipe cannot be searched for other records: store it in a file"
STEP = 8 << 20
STEP_TO_DAMAGE = 64 << 10
"""With --partial: of what is read in one step, nothing is printed if it is damaged."""
UNKNOWN_SIZE = 1 << 62
JOINED = "the payload of the whole resource, joined of the parts that the files have (206 Partial Content)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_record_arguments(parser, required=True, file_required=False)
    parser.add_argument(
        "--range",
        metavar="RANGE",
        default=":",
        help="in bytes of the part: START:STOP as a Python slice (1000:2000, :64K, -10M:), START+LENGTH, or "
        "FIRST-LAST as curl has it (0-99); several, as in 0-99,-4K:, are printed one after another",
    )
    parser.add_argument(
        "--part",
        choices=("payload", "block", "record"),
        default="payload",
        help="payload (default): without HTTP head and chunked coding; block: with them; record: with "
        "the WARC header too",
    )
    add_flag(
        parser,
        "--decoded",
        text="undo the content coding (gzip, deflate, br, zstd); a range then counts decoded bytes",
    )
    parser.add_argument(
        "--with",
        dest="others",
        metavar="FILE",
        nargs="+",
        default=[],
        help="other files that may hold segments of the record, or the original of a revisit",
    )
    add_flag(parser, "--joined", text=JOINED)
    text = "print what is intact of a damaged record, with zero bytes for damaged frames, or its beginning"
    add_flag(parser, "--partial", text=text)
    add_flag(parser, "--no-verify", text="stop decoding at the end of the range, and check no checksum")
    add_sidecar_argument(parser)
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
    add_flag(group, "--closest", text="the capture nearest to --date")
    group.add_argument(
        "--files",
        metavar="DIR|URL",
        help="where the files that the index names are (default: in the folder of the index)",
    )
    add_index_limits(group)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    _use_own_index(options)
    if options.index is not None:
        return _run_with_index(options)
    if options.file is None or options.date is not None or options.closest or options.files is not None:
        raise SeekWarcError("name a FILE or an --index; --date, --closest and --files need an index")
    files = list(expand(options.file))
    if options.offset is not None and len(files) > 1:
        raise SeekWarcError(f"OFFSET names a record of one file, and {options.file} has {len(files)}")
    given = open_options(options, len(files) + len(options.others))
    if options.joined and options.uri is not None and options.part == "payload":
        _print_logical(None, files, options)
        return 0
    missing: NotFoundError | None = None
    for name in files:
        with open_archive(name, **given) as archive:
            try:
                record, status = wanted_record(archive, options)
            except NotFoundError as error:
                missing = error
                continue
            record = _filled(record, options)
            is_alone = record.type != "revisit" and record.segment_number is None and not options.joined
            if options.part == "payload" and not is_alone:
                if archive.size is None:
                    raise NotFoundError(PIPE, source=archive.name)
                _print_logical(record, files, options)
            else:
                status |= _print_intact(record, options)
            return status
    assert missing is not None
    missing.source = options.file
    raise missing


def _use_own_index(options: argparse.Namespace) -> None:
    """Look a URI up in the index that a WACZ has."""
    has_other = options.index is not None or options.joined or options.others
    if has_other or options.uri is None or options.file is None:
        return
    from seekwarc.storage.zip_members import is_wacz

    if is_wacz(options.file):
        options.index, options.file = options.file, None


def _run_with_index(options: argparse.Namespace) -> int:
    from seekwarc.cdx.index import Index

    if (
        options.uri is None
        or options.file is not None
        or options.others
        or options.sidecar is not None
        or options.joined
    ):
        raise SeekWarcError("--index needs --uri, and takes none of FILE, --with, --sidecar and --joined")
    if options.closest and options.date is None:
        raise SeekWarcError("--closest needs a --date")
    if options.date is not None and (options.since, options.until) != (None, None):
        raise SeekWarcError("name the capture by --date, or by --since and --until")
    limits = {**limit_options(options), **index_limits(options)}
    from seekwarc.format.dates import LATEST

    with Index(options.index, files=options.files, **limits) as index:
        since, until = (options.date or _digits(it) for it in (options.since, options.until))
        wanted = {"closest": options.date} if options.closest else {"since": since, "until": until}
        for capture in index.lookup(options.uri, **{"closest": LATEST, **wanted}):
            record = capture.open(resolve=options.part == "payload")
            if record.type in ("response", "resource", "revisit"):
                return _print_intact(_filled(record, options), options)
        at = f" at {options.date}; --closest takes the nearest" if options.date is not None else ""
        raise NotFoundError(f"no capture of {options.uri}{at}", source=index.name)


def _digits(date: datetime | None) -> str | None:
    from seekwarc.format.dates import DIGITS

    return f"{date:%Y%m%d%H%M%S}".rjust(DIGITS, "0") if date is not None else None


def _print_logical(record: Record | None, files: Sequence[str], options: argparse.Namespace) -> None:
    """Print a payload that other records hold: of a revisit, segments, or a URI captured in parts."""
    from seekwarc.collection.collection import Collection

    named = [*files, *options.others]
    with Collection(named, **open_options(options, len(named))) as collection:
        try:
            uri = options.uri if record is None else None
            _print(collection.open_record(record, uri=uri, joined=options.joined).payload, options)
        except HoleError:
            raise
        except (NotFoundError, SegmentError) as error:
            hint = "name the other files with --with, or print what is here with --part block"
            raise NotFoundError(f"{error}; {hint}") from None


def _filled(record: Record, options: argparse.Namespace) -> Record:
    if not options.partial:
        return record
    from seekwarc.read.filled import filled_record

    return filled_record(record)


def _print_intact(record: Record, options: argparse.Namespace) -> int:
    """Print a part of a record, with --partial up to damage, and return the exit status."""
    if not options.partial:
        _print(_part(record, options.part), options)
        return 0
    from seekwarc.read.filled import gaps_of

    try:
        _print(_part(record, options.part), options)
    except FormatError as error:
        sys.stdout.buffer.flush()
        say(f"{error}; what comes before it was printed")
        return 1
    if (gaps := gaps_of(record)) is not None:
        say(f"{record.source}, offset {record.offset}: {gaps}")
        return 1
    return 0


def _part(record: Record, part: str) -> Extent:
    if part == "block":
        return record.block
    return record.payload if part == "payload" else record.whole


def _print(extent: Extent, options: argparse.Namespace) -> None:
    if options.decoded and extent.codings:
        _print_decoded(extent, options)
        return
    texts = options.range.split(",")
    # A chunked body has no known size: to count its chunks is to read them, and a pipe is read once only.
    is_counted = extent.known_size is not None or any(map(counts_from_end, texts))
    size = extent.size if is_counted else UNKNOWN_SIZE
    step = STEP_TO_DAMAGE if options.partial else STEP
    for start, stop in [parse_range(text, size) for text in texts]:
        position, buffer = start, memoryview(bytearray(min(step, stop - start)))
        while position < stop:
            count = extent.pread_into(position, buffer[: stop - position], verify=not options.no_verify)
            if not count:
                break
            write_all(sys.stdout.buffer, buffer[:count])
            position += count


def _print_decoded(extent: Extent, options: argparse.Namespace) -> None:
    """Print a range of a decoded payload, whose length is unknown until its end."""
    ranges = [parse_range(text, UNKNOWN_SIZE) for text in options.range.split(",")]
    if any(map(counts_from_end, options.range.split(","))):
        raise RangeError("the length of a decoded payload is unknown: count the range from the beginning")
    for start, stop in ranges:
        position = 0
        with extent.open(decoded=True) as file:
            while position < stop and (data := file.read(min(STEP, stop - position))):
                write_all(sys.stdout.buffer, data[max(start - position, 0) :])
                position += len(data)
