"""List the records of WARC files, one per line: offset, length, type, date, size, frames, URI.

Offset and length say where the record is in the file, as in CDX; size is the length of its block. With
several files, the first column is the file, and one that cannot be read is named and passed over; a folder
means all WARC files in and below it. Blocks of large records are not decompressed, except their beginnings
for --status and --mime. `-` is standard input.

A resource that a crawler made of a page has what it is as its type: `urn:view:URI` is a screenshot; others
are text, thumbnail or page-info.

With --uri or --host, and --type response or revisit alone, an index beside a file (FILE.cdxj, or index.cdxj
in its folder) is used instead of reading the file, if it is of all of it.

With --sort, all files are read before the first line is printed: the largest records come first, or the
oldest, or those of each site together. What does not fit into memory goes into temporary files.

seekwarc ls crawl.warc.zst
seekwarc ls crawls/ --sort size | head
seekwarc ls crawls/ --type response --status 404
seekwarc ls crawl.warc.gz --mime 'video/*' --min-size 10M --json
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.cli.advice import RequestAdvice
from seekwarc.cli.arguments import add_json_argument
from seekwarc.cli.options import (
    ALWAYS,
    add_keep_going_argument,
    add_limit_argument,
    add_limit_arguments,
    add_no_index_argument,
    add_sidecar_argument,
    open_options,
)
from seekwarc.cli.printing import passed_over, printable, say
from seekwarc.cli.selecting import add_selection_arguments, archives_named, selection_of
from seekwarc.cli.targets import open_archive
from seekwarc.closing import keeping
from seekwarc.collection.entry import damaged_places, judged, verdict
from seekwarc.errors import FormatError, NotFoundError, SeekWarcError, TruncatedError
from seekwarc.format.conditions import RECORD_TYPES
from seekwarc.format.json_text import json_text
from seekwarc.format.uri import page_part
from seekwarc.format.words import counted
from seekwarc.jobs.problems import ProblemSeverity
from seekwarc.read.body import TableStatus
from seekwarc.read.record import Record
from seekwarc.read.selection import Selection

if TYPE_CHECKING:
    from seekwarc.cdx.index import Capture

__all__ = ["add_arguments", "run"]

INDEXED: Final = frozenset(("response", "revisit"))
"""Types all records of which an index lists."""
MAX_PRINTED: Final = 3
"""Damaged places of a file that are printed one by one."""
PLACES: Final = {ProblemSeverity.DAMAGE: "damaged", ProblemSeverity.LIMIT: "above a limit"}
"""What is said of places, by the severity of what is wrong there."""
LAST: Final = b"\xff"
"""The key of what has none: no UTF-8 begins with this byte."""
MAX_SIZE: Final = 10**18
MEMORY: Final = 64 << 20
"""Bytes of lines to sort in memory."""
NANOSECONDS: Final = 10**21
HEADER = f"{'OFFSET':>12} {'LENGTH':>12} {'TYPE':<12} {'DATE':<20} {'SIZE':>12} {'FRAMES':>6}  URI"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+")
    add_json_argument(parser, "record")
    parser.add_argument(
        "--sort",
        choices=tuple(KEYS),
        help="list the records of all files by size (largest first), date or URI (default: as stored)",
    )
    add_limit_argument(parser, "records")
    add_keep_going_argument(parser, ALWAYS)
    add_selection_arguments(parser)
    add_no_index_argument(parser)
    add_sidecar_argument(parser)
    add_limit_arguments(parser)


@keeping()
def run(options: argparse.Namespace) -> int:
    selection = selection_of(options)
    files = archives_named(options.files)
    width = max(4, *(len(printable(name)) for name in files)) if len(files) > 1 else 0
    head = "" if options.json else f"{'FILE':<{width}} {HEADER}\n" if width else f"{HEADER}\n"
    listing = _Listing(selection)
    listed = _lines(options, files, listing, width)
    lines: Iterator[_Line] = listed
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        # Containers set PYTHONUNBUFFERED: a system call for each line costs as much as the line.
        sys.stdout.reconfigure(write_through=False)
    if options.sort is not None:
        lines = _sorted(listed, KEYS[options.sort], options.limit)
    elif options.limit is not None:
        lines = _first(listed, options.limit)
    for line in lines:
        sys.stdout.write(head + line.text + "\n")
        head = ""
    sys.stdout.flush()
    if options.limit is not None and files:
        # Of the file that was not listed to its end.
        listing.end(options.file)
    places = sum(map(len, listing.places.values()))
    if (places > 1 or (places and listing.found) or listing.failed) and not options.json:
        found = [damaged_places(at, PLACES[it]) for it, at in listing.places.items()]
        found += [passed_over(listing.failed, len(files))] if listing.failed else []
        say(", ".join([counted(listing.found, "record"), *found]))
    if selection and not listing.found and not places and not listing.failed:
        unknown = sorted(selection.types - RECORD_TYPES)
        hint = f" ({', '.join(unknown)}: not a type of the standard)" if unknown else ""
        raise NotFoundError(f"no record matches{hint}; `seekwarc ls` without conditions lists all")
    return max(listing.status, int(places > 0))


class _Line(NamedTuple):
    text: str
    record: Record | None = None
    """None for the JSON of a damaged file."""


def _lines(
    options: argparse.Namespace, files: list[str], listing: _Listing, width: int
) -> Generator[_Line, None, None]:
    advice = RequestAdvice()
    beside = None
    if listing.is_indexed and not options.no_index:
        from seekwarc.cli.beside import IndexesBeside

        beside = IndexesBeside(files, listing.has_line)
    for name in files:
        # The JSON of a failure names the file.
        options.file = name
        given = open_options(options, len(files))
        failures: list[SeekWarcError] = []
        try:
            with open_archive(name, **given) as archive:
                index = beside.of(archive) if beside is not None else None
                found = (
                    judged(archive, listing.matches, listing.pass_over)
                    if index is None
                    else ((it, verdict(listing.matches, it)) for it in index.in_order(archive))
                )
                for record in listing.wanted(advice.watch(archive, found)):
                    line = _json(name, record) if options.json else _line(record)
                    if width and not options.json:
                        line = f"{printable(name):<{width}} {line}"
                    yield _Line(line, record)
        except SeekWarcError as error:
            if len(files) == 1:
                raise
            listing.fail(error)
            failures.append(error)
        if options.json and (failures or listing.damages):
            yield _Line(json_text(_damaged(name, failures, listing.damages)))
        listing.end(name)


def _first(lines: Generator[_Line, None, None], limit: int) -> Iterator[_Line]:
    """Yield the lines up to that of so many records."""
    with closing(lines):
        for line in lines:
            yield line
            limit -= line.record is not None
            if not limit:
                return


def _sorted(lines: Iterator[_Line], key: Callable[[Record], bytes], limit: int | None) -> Iterator[_Line]:
    """Yield lines in the order of their keys, also those before an error, which is raised at the end."""
    from seekwarc.jobs.sorting import sorted_lines

    problems: list[SeekWarcError] = []
    damaged: list[_Line] = []

    def keyed() -> Iterator[bytes]:
        try:
            for number, line in enumerate(lines):
                if line.record is None:
                    damaged.append(line)
                else:
                    yield b"%b\0%020d\0%b\n" % (key(line.record), number, line.text.encode())
        except SeekWarcError as error:
            problems.append(error)

    for line in islice(sorted_lines(keyed(), memory=MEMORY), limit):
        # The text is printable, so it has no NUL.
        yield _Line(line.rpartition(b"\0")[2].decode().removesuffix("\n"))
    yield from damaged
    if problems:
        raise problems[0]


def _by_size(record: Record) -> bytes:
    return b"%019d" % (MAX_SIZE - record.content_length)


def _by_date(record: Record) -> bytes:
    date = record.date
    # Nanoseconds of the year 1 are negative.
    return b"%022d" % (date.nanoseconds + NANOSECONDS) if date is not None else LAST


def _by_uri(record: Record) -> bytes:
    uri = record.target_uri
    return uri.encode("utf-8", "surrogateescape") if uri is not None else LAST


KEYS: Final = {"size": _by_size, "date": _by_date, "uri": _by_uri}


class _Listing:
    """Passes on the matching records, and remembers what was found."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        # An index has no records of other types, and not all resources.
        self.is_indexed = selection.has_uris and bool(selection.types) and selection.types <= INDEXED
        self._is_choosy = bool(selection)
        self.found = 0
        self.failed = self.status = 0
        """Files that were passed over, and the highest exit status of these."""
        self.damages: list[FormatError] = []
        """Damage of the current file."""
        self.places: dict[ProblemSeverity, list[tuple[str, int]]] = {}
        """Damaged places of the files before it, and those that a limit kept from being read."""

    def has_line(self, line: Capture) -> bool:
        """Return whether a line of an index may be of a wanted record."""
        return self._selection.has_uri(line.uri)

    def pass_over(self, damage: FormatError) -> None:
        self.damages.append(damage)
        if len(self.damages) <= MAX_PRINTED:
            say(str(damage))

    def fail(self, error: SeekWarcError) -> None:
        """Say why a file is passed over."""
        from seekwarc.jobs.outcome import Failure

        failure = Failure.of(error)
        self.failed, self.status = self.failed + 1, max(self.status, failure.status)
        say(failure.message + failure.way_out)

    def end(self, name: str) -> None:
        """Keep the places of a file of this name, which has been listed."""
        for damage in self.damages:
            self.places.setdefault(ProblemSeverity.of(damage), []).append((name, damage.offset or 0))
        self.damages.clear()

    def matches(self, record: Record) -> bool:
        return not self._is_choosy or self._selection.matches(record)

    def wanted(self, found: Iterator[tuple[Record, bool | FormatError]]) -> Iterator[Record]:
        for record, is_wanted in found:
            if record.is_cut_off:
                text = record.problem or "the record is cut off"
                self.damages.append(TruncatedError(text, source=record.source, offset=record.offset))
            if isinstance(is_wanted, FormatError):
                # Whether it matches is unknown; go on with the others.
                self.pass_over(is_wanted)
            elif is_wanted:
                self.found += 1
                yield record


def _damaged(name: str, failures: list[SeekWarcError], damages: list[FormatError]) -> dict[str, object]:
    from seekwarc.jobs.outcome import Failure, Status

    return {
        "file": name,
        "target": None,
        "status": Status.FAILED,
        "damaged": [it.offset for it in damages if ProblemSeverity.of(it) is ProblemSeverity.DAMAGE],
        "error": Failure.of([*failures, *damages][0]).as_json(),
    }


def _frames(record: Record) -> int | None:
    frames = record.body.frames
    return sum(1 for size in frames.content_sizes if size) if frames is not None else None


def _line(record: Record) -> str:
    frames, uri, kind = _frames(record), record.target_uri, record.type
    kind = page_part(kind, uri)[0] or kind
    return (
        f"{record.offset:>12} {record.length:>12} {printable(kind):<12} "
        f"{printable(record.header.get('WARC-Date')):<20} {record.content_length:>12} "
        f"{'-' if frames is None else frames:>6}  {printable(uri)}"
    )


def _more(record: Record, kind: str | None, uri: str | None) -> dict[str, object]:
    header = record.header
    part, page = page_part(kind, uri)
    return {
        "page_part": part,
        "page": page,
        "payload_digest": header.get("WARC-Payload-Digest"),
        "truncated": record.truncated,
        "concurrent_to": record.concurrent_to,
        "refers_to": record.refers_to_id,
        "profile": record.profile,
        "segment_number": header.get("WARC-Segment-Number"),
        "segment_origin_id": record.segment_origin_id,
        "sidecar": record.seek_table_status is TableStatus.SIDECAR,
    }


def _json(name: str, record: Record) -> str:
    kind, uri = record.type, record.target_uri
    return json_text(
        {
            "file": name,
            "offset": record.offset,
            "length": record.length,
            "type": kind,
            "id": record.id,
            "date": record.header.get("WARC-Date"),
            "uri": uri,
            "content_type": record.content_type,
            "size": record.content_length,
            "frames": _frames(record),
            **{key: value for key, value in _more(record, kind, uri).items() if value},
        }
    )
