"""Print a record, or any byte range of it, decompressing only the frames that hold the range.

The payload of a revisit is that of the record it refers to, and the payload of a segmented record is joined
from all segments; `--with` names other files that may hold them. With `--index`, an index leads to the
file and the offset, also of the record that a revisit refers to. For `--uri`, an index beside the file
(FILE.cdxj, or index.cdxj in its folder) is used without being named, if it is of all of the file.

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
from typing import Final

from seekwarc.cli.arguments import add_flag, add_value
from seekwarc.cli.payloads import add_payload_arguments, found_record
from seekwarc.cli.printing import say
from seekwarc.cli.sizes import counts_from_end, parse_range
from seekwarc.errors import FormatError, RangeError
from seekwarc.format.words import counted
from seekwarc.read.extent import Extent
from seekwarc.read.record import Record
from seekwarc.system import write_all

__all__ = ["add_arguments", "run"]

STEP: Final = 8 << 20
STEP_TO_DAMAGE: Final = 64 << 10
"""With --partial: of what is read in one step, nothing is printed if it is damaged."""
UNKNOWN_SIZE: Final = 1 << 62


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_payload_arguments(parser)
    text = (
        "in bytes of the part: START:STOP as a Python slice (1000:2000, :64K, -10M:), START+LENGTH, or "
        "FIRST-LAST as curl has it (0-99); several, as in 0-99,-4K:, are printed one after another"
    )
    add_value(parser, "--range", "RANGE", text, str, default=":")
    parser.add_argument(
        "--part",
        choices=("payload", "block", "record"),
        default="payload",
        help="payload (default): without HTTP head and chunked coding; block: with them; record: with "
        "the WARC header too",
    )
    text = "undo the content coding (gzip, deflate, br, zstd); a range then counts decoded bytes"
    add_flag(parser, "--decoded", text)
    text = "print what is intact of a damaged record, with zero bytes for damaged frames, or its beginning"
    add_flag(parser, "--partial", text)
    add_flag(parser, "--no-verify", "stop decoding at the end of the range, and check no checksum")


def run(options: argparse.Namespace) -> int:
    with found_record(options, part=options.part) as found:
        record = found.record
        status = _printed(record.payload, options) if found.is_logical else _print_intact(record, options)
        if options.part == "payload" and (problem := record.payload.problem) is not None:
            # Such as chunks that break off, which `extract` reports, too.
            sys.stdout.buffer.flush()
            say(str(FormatError(problem).located(record.source, record.offset)))
            status = 1
        return found.status | status


def _print_intact(record: Record, options: argparse.Namespace) -> int:
    """Print a part of a record, with --partial up to damage, and return the exit status."""
    if not options.partial:
        return _printed(_part(record, options.part), options)
    from seekwarc.read.filled import filled_record, gaps_of

    record = filled_record(record)
    try:
        status = _printed(_part(record, options.part), options)
    except FormatError as error:
        sys.stdout.buffer.flush()
        say(f"{error}; what comes before it was printed")
        return 1
    if (gaps := gaps_of(record)) is not None:
        say(f"{record.source}, offset {record.offset}: {gaps}")
        return 1
    return status


def _printed(extent: Extent, options: argparse.Namespace) -> int:
    """Print bytes, and return 1 if they may be wrong, as the end of a record shows; a warning was printed."""
    from seekwarc.read.resync import only_shares

    _print(extent, options)
    return int(extent.end_problem is not None and not only_shares(extent.end_problem))


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
    ranges = [parse_range(text, size) for text in texts]
    if is_counted and size and all(start == size for start, _ in ranges):
        raise RangeError(f"--range {options.range} begins after the end: there are {counted(size, 'byte')}")
    for start, stop in ranges:
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
