"""Arguments that name a record of a file, and finding it."""

from __future__ import annotations

import argparse
import re
from typing import Final

from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record

__all__ = ["add_record_arguments", "split_offset", "wanted_record"]

MAX_NEAR: Final = 3
"""Similar URIs that are named when one is not found."""


def add_record_arguments(
    parser: argparse.ArgumentParser, *, required: bool, file_required: bool = True, several: bool = False
) -> None:
    """Add the ways to name a record.

    Args:
        parser: The parser.
        required: Whether a record has to be named.
        file_required: Whether a file has to be named.
        several: Take many files in `files`, the last of which may be an offset: see `split_offset`.
    """
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
            "offset", metavar="OFFSET", nargs="?", type=_offset, help="offset in the file, as in `ls` and CDX"
        )
    which.add_argument("--uri", metavar="URI", help="the first response or resource with this target URI")
    which.add_argument("--id", metavar="ID", help="the record with this WARC-Record-ID")
    parser.add_argument(
        "--length",
        metavar="N",
        type=_offset,
        help="stored length, if an index states it: saves reading the end of the file",
    )


def _offset(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(text)


def split_offset(options: argparse.Namespace) -> None:
    """Take the offset after the name of a single file out of the list of files.

    Raises:
        SeekWarcError: A record is named twice, or in several files.
    """
    if len(options.files) == 2 and re.fullmatch(r"[0-9]{1,18}", options.files[1]):
        options.offset = int(options.files.pop())
    named = [it for it in (options.offset, options.uri, options.id) if it is not None]
    if len(named) > 1:
        raise SeekWarcError("name the record in one way: OFFSET, --uri or --id")
    if named and len(options.files) > 1:
        raise SeekWarcError("OFFSET, --uri and --id name a record of one file: give only that file")


def wanted_record(archive: Reader, options: argparse.Namespace) -> Record | None:
    """Return the record that the arguments ask for, or None if they name no record.

    Raises:
        NotFoundError: No record has that URI or ID.
    """
    if options.offset is not None:
        return archive.record_at(options.offset, options.length)
    if options.id is not None:
        wanted = options.id.strip("<>")
        for record in archive:
            if record.id == wanted:
                return record
        raise NotFoundError(
            f"no record has the ID {wanted}; `seekwarc ls --json` lists the IDs", source=archive.name
        )
    if options.uri is not None:
        return _by_uri(archive, options.uri)
    return None


def _by_uri(archive: Reader, wanted: str) -> Record:
    near: list[str] = []
    for record in archive:
        uri = record.target_uri
        if uri is None or record.type not in ("response", "resource"):
            continue
        if uri == wanted:
            return record
        if len(near) < MAX_NEAR and wanted.lower() in uri.lower() and uri not in near:
            near.append(uri)
    hint = f"did you mean {' or '.join(near)}?" if near else "`seekwarc ls` lists what it holds"
    raise NotFoundError(f"no response or resource has the URI {wanted}; {hint}", source=archive.name)
