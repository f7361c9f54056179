"""Print the address of a capture in a running `seekwarc serve`, for ffmpeg, ffprobe, mpv or curl.

FILE is what is served: an archive, or a CDXJ index. The address is made without asking the server. It assumes
the default address of `seekwarc serve`: if that printed another port, give it with --port. Players read by
range, so cutting five seconds from the middle of a film costs a few frames.

seekwarc url crawl.warc.zst --uri https://example.org/film.mp4
ffmpeg -ss 600 -t 5 -i "$(seekwarc url crawl.warc.zst --uri https://example.org/film.mp4)" -c copy cut.mp4
seekwarc url crawl.cdxj --uri https://example.org/film.mp4 --date 20261121 --port 8091
"""

from __future__ import annotations

import argparse
from operator import attrgetter

from seekwarc.cli.arguments import argument
from seekwarc.cli.options import add_limit_arguments, limit_options
from seekwarc.cli.printing import say
from seekwarc.cli.records import NO_CAPTURE
from seekwarc.cli.serve import DEFAULT_HOST, DEFAULT_PORT, PORT, web_address
from seekwarc.cli.targets import open_archive
from seekwarc.collection.entry import CAPTURE_TYPES, describe, nearest
from seekwarc.collection.likeness import Meant, most_alike
from seekwarc.errors import NotFoundError
from seekwarc.format.cdxj import date_digits
from seekwarc.format.dates import LATEST, WarcDate, date_of_digits

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE|INDEX", help=".warc.zst, .warc.gz, .warc or .cdxj")
    parser.add_argument("--uri", metavar="URI", required=True, help="target URI of the capture")
    parser.add_argument(
        "--date",
        metavar="DATE",
        type=argument(date_digits),
        help="the capture nearest to this date: 2026, 20261121 or 2026-11-21T09:30:00Z (default: the latest)",
    )
    parser.add_argument(
        "--host",
        default=DEFAULT_HOST,
        metavar="ADDRESS",
        help=f"host name or address of the server (default: {DEFAULT_HOST})",
    )
    parser.add_argument(
        "--port",
        type=PORT,
        default=DEFAULT_PORT,
        metavar="N",
        help=f"port of the server (default: {DEFAULT_PORT})",
    )
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    from seekwarc.serve.address import capture_address
    from seekwarc.serve.cdxj_file import is_index

    uri, date = (_in_index if is_index(options.file) else _in_archive)(options)
    print(web_address(options.host, options.port) + capture_address(uri, date).removeprefix("/"))
    return 0


def _in_archive(options: argparse.Namespace) -> tuple[str, WarcDate]:
    """Return URI and date of the capture in an archive, which is read to its end."""
    with open_archive(options.file, **limit_options(options)) as archive:
        captures = (describe(record) for record in archive if record.type in CAPTURE_TYPES)
        alike = most_alike(options.uri, captures, attrgetter("uri"))
        found = nearest(alike, date_of_digits(options.date or LATEST))
        if found is None or found.date is None:
            raise NotFoundError(
                f"{NO_CAPTURE} {options.uri}; `seekwarc ls` lists the records", source=archive.name
            )
        return _said(options.uri, found.uri), found.date


def _in_index(options: argparse.Namespace) -> tuple[str, WarcDate]:
    from seekwarc.cdx.index import Index

    with Index(options.file) as index:
        for capture in index.lookup(options.uri, closest=options.date or LATEST):
            return _said(options.uri, capture.uri), capture.date
        raise NotFoundError(f"no capture of {options.uri}; `seekwarc lookup` finds others", source=index.name)


def _said(asked: str, found: str | None) -> str:
    """Return the URI that was found, and say so if it is not the one that was asked for."""
    if (note := Meant(asked).note(found)) is not None:
        say(note)
    return found or asked
