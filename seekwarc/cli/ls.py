"""List the records of WARC files, one per line: offset, length, type, date, size, frames, URI.

Offset and length say where the record is in the file, as in CDX; size is the length of its block. With
several files, the first column is the file; a folder means all WARC files in and below it. Blocks of
large records are not decompressed, except their beginnings for --status and --mime. `-` is standard input.

seekwarc ls crawl.warc.zst
seekwarc ls crawls/ --type response --status 404
seekwarc ls crawl.warc.gz --mime 'video/*' --min-size 10M --json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

from seekwarc.cli.arguments import add_json_argument
from seekwarc.cli.options import add_limit_arguments, limit_options
from seekwarc.cli.printing import printable
from seekwarc.cli.selecting import add_selection_arguments, archives_named, selection_of
from seekwarc.cli.targets import open_archive
from seekwarc.collection.record_index import with_lengths
from seekwarc.errors import FormatError, NotFoundError, TruncatedError
from seekwarc.read.record import Record
from seekwarc.read.selection import Selection

__all__ = ["add_arguments", "run"]

HEADER = f"{'OFFSET':>12} {'LENGTH':>12} {'TYPE':<12} {'DATE':<20} {'SIZE':>12} {'FRAMES':>6}  URI"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+")
    add_json_argument(parser, "record")
    add_selection_arguments(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    selection = selection_of(options)
    files = archives_named(options.files)
    width = max(4, *(len(printable(name)) for name in files)) if len(files) > 1 else 0
    head = "" if options.json else f"{'FILE':<{width}} {HEADER}\n" if width else f"{HEADER}\n"
    listing = _Listing(selection)
    for name in files:
        # The JSON of a failure names the file.
        options.file = name
        with open_archive(name, **limit_options(options)) as archive:
            for record in listing.wanted(with_lengths(archive)):
                line = _json(name, record) if options.json else _line(record)
                if width and not options.json:
                    line = f"{printable(name):<{width}} {line}"
                sys.stdout.write(head + line + "\n")
                head = ""
        if options.json and listing.damage is not None:
            print(json.dumps(_damaged(name, listing.damage)))
        listing.damage = None
    if selection and not listing.found and not listing.is_damaged:
        raise NotFoundError("no record matches; `seekwarc ls` without conditions lists all")
    return int(listing.is_damaged)


class _Listing:
    """Passes on the matching records, and remembers what was found."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self.found = False
        self.is_damaged = False
        self.damage: FormatError | None = None
        """The first damage of the current file."""

    def _note(self, damage: FormatError) -> None:
        self.is_damaged = True
        self.damage = self.damage or damage

    def wanted(self, records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            if record.is_cut_off:
                text = record.problem or "the record is cut off"
                self._note(TruncatedError(text, source=record.source, offset=record.offset))
            try:
                is_wanted = self._selection.matches(record)
            except FormatError as error:
                # Whether it matches is unknown; go on with the others.
                self._note(error)
                print(f"seekwarc: {printable(str(error))}", file=sys.stderr)
                continue
            if is_wanted:
                self.found = True
                yield record


def _damaged(name: str, damage: FormatError) -> dict[str, object]:
    """Return the JSON object of a file whose records were listed although it is damaged."""
    # Imported here: most files are sound.
    from seekwarc.tools.outcome import Failure, Status  # noqa: PLC0415

    return {"file": name, "target": None, "status": Status.FAILED, "error": Failure.of(damage).as_json()}


def _frames(record: Record) -> int | None:
    frames = record.body.frames
    return sum(1 for size in frames.content_sizes if size) if frames is not None else None


def _line(record: Record) -> str:
    frames = _frames(record)
    return (
        f"{record.offset:>12} {record.length:>12} {printable(record.type):<12} "
        f"{printable(record.header.get('WARC-Date')):<20} {record.content_length:>12} "
        f"{'-' if frames is None else frames:>6}  {printable(record.target_uri)}"
    )


def _more(record: Record) -> dict[str, object]:
    header = record.header
    return {
        "payload_digest": header.get("WARC-Payload-Digest"),
        "truncated": record.truncated,
        "concurrent_to": record.concurrent_to,
        "refers_to": record.refers_to_id,
        "profile": record.profile,
        "segment_number": header.get("WARC-Segment-Number"),
        "segment_origin_id": record.segment_origin_id,
    }


def _json(name: str, record: Record) -> str:
    return json.dumps(
        {
            "file": name,
            "offset": record.offset,
            "length": record.length,
            "type": record.type,
            "id": record.id,
            "date": record.header.get("WARC-Date"),
            "uri": record.target_uri,
            "content_type": record.content_type,
            "size": record.content_length,
            "frames": _frames(record),
            **{key: value for key, value in _more(record).items() if value},
        }
    )
