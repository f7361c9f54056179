"""Arguments that name a record of a file, and finding it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from seekwarc.cli.arguments import number
from seekwarc.cli.printing import say
from seekwarc.cli.selecting import add_date_arguments
from seekwarc.errors import FormatError, NotFoundError, SeekWarcError
from seekwarc.format.header_fields import whole_number
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record

__all__ = ["add_record_arguments", "split_offset", "wanted_record"]

MAX_NEAR: Final = 3
"""Similar URIs that are named when one is not found."""
OFFSET: Final = number("number of bytes", 0)


def add_record_arguments(
    parser: argparse.ArgumentParser, *, required: bool, file_required: bool = True, several: bool = False
) -> None:
    """Add the ways to name a record. With `several`, see `split_offset` for the last of `files`."""
    which = parser.add_mutually_exclusive_group(required=required)
    if several:
        text = ".warc.zst, .warc.gz or .warc; after a single file, the offset of a record as in `ls` and CDX"
        parser.add_argument("files", metavar="FILE [OFFSET]", nargs="+", help=text)
        parser.set_defaults(offset=None)
    else:
        parser.add_argument(
            "file", metavar="FILE", nargs=None if file_required else "?", help=".warc.zst, .warc.gz or .warc"
        )
        which.add_argument(
            "offset", metavar="OFFSET", nargs="?", type=OFFSET, help="offset in the file, as in `ls` and CDX"
        )
    which.add_argument("--uri", metavar="URI", help="the first response or resource with this target URI")
    which.add_argument("--id", metavar="ID", help="the record with this WARC-Record-ID")
    parser.add_argument(
        "--length",
        metavar="N",
        type=OFFSET,
        help="stored length, if an index states it: saves reading the end of the file",
    )
    add_date_arguments(parser, of="with --uri: " if not several else "")


def split_offset(options: argparse.Namespace) -> None:
    """Take the offset after the name of a single file out of the list of files."""
    if len(options.files) == 2 and (offset := whole_number(options.files[1])) is not None:
        options.offset = offset
        del options.files[1]
    named = [it for it in (options.offset, options.uri, options.id) if it is not None]
    if len(named) > 1:
        raise SeekWarcError("name the record in one way: OFFSET, --uri or --id")
    if named and len(options.files) > 1:
        raise SeekWarcError("OFFSET, --uri and --id name a record of one file: give only that file")


def wanted_record(archive: Reader, options: argparse.Namespace) -> tuple[Record, int]:
    """Return the record that the arguments ask for, and the exit status: 1 if damage was passed over."""
    status = 0

    def pass_over(damage: FormatError) -> None:
        nonlocal status
        status = 1
        say(str(damage))

    if options.offset is not None:
        return archive.record_at(options.offset, options.length), 0
    records = archive.past_damage(pass_over)
    if options.id is not None:
        wanted = options.id.strip("<>")
        for record in records:
            if record.id == wanted:
                return record, status
        raise NotFoundError(
            f"no record has the ID {wanted}; `seekwarc ls --json` lists the IDs", source=archive.name
        )
    if options.uri is not None:
        from seekwarc.read.selection import Selection

        selection = Selection.of(since=options.since, until=options.until)
        return _by_uri(filter(selection.matches, records), options.uri, archive.name), status
    raise NotFoundError("name the record: OFFSET, --uri or --id")


def _by_uri(records: Iterator[Record], wanted: str, source: str) -> Record:
    near: list[str] = []
    for record in records:
        uri = record.target_uri
        if uri is None or record.type not in ("response", "resource"):
            continue
        if uri == wanted:
            return record
        if len(near) < MAX_NEAR and wanted.lower() in uri.lower() and uri not in near:
            near.append(uri)
    hint = f"did you mean {' or '.join(near)}?" if near else "`seekwarc ls` lists what it holds"
    raise NotFoundError(f"no response or resource has the URI {wanted}; {hint}", source=source)
