"""Look up the captures of a URI in an index, by binary search: only a few blocks of a large one are read.

INDEX is a sorted CDXJ file (`-`: standard input), the index of a ZipNum cluster (cluster.idx, index.idx), or
a columnar index in Parquet, here or remote, or a folder of those. Dates are 4 to 14 digits (2026,
20261121093000) or 2026-11-21T09:30:00Z. Exit status 1 means that there is no such capture.

With --url, the address of a capture in a running `seekwarc serve` is printed, for ffmpeg, ffprobe, mpv or
curl. The server is not asked. INDEX may then be an archive, too, which is read to its end. Players read by
range, so cutting five seconds from the middle of a film costs a few frames.

seekwarc lookup crawl.cdxj http://example.org/ --since 2025 --until 2026
seekwarc lookup crawl.cdxj http://example.org/ --closest 20261121 --limit 1
seekwarc lookup crawl.cdxj example.org --match domain --filter '=status:200' --filter '!~mime:image/.*' --json
ffmpeg -ss 600 -t 5 -i "$(seekwarc lookup crawl.cdxj https://example.org/film.mp4 --url)" -c copy cut.mp4
seekwarc lookup crawl.warc.zst https://example.org/film.mp4 --url --closest 2026 --server http://127.0.0.1:8091/
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import islice

from seekwarc.cdx.index import Capture, Index
from seekwarc.cli.addresses import add_address_arguments, address, address_in_archive, is_archive
from seekwarc.cli.arguments import add_flag, add_json_argument, add_value
from seekwarc.cli.options import (
    add_index_limits,
    add_limit_argument,
    add_limit_arguments,
    index_limits,
    values_of,
)
from seekwarc.cli.printing import printable
from seekwarc.cli.targets import input_target, refuse_swapped
from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.format.cdxj import date_digits
from seekwarc.format.dates import LATEST
from seekwarc.format.json_text import json_text
from seekwarc.format.uri import as_utf8
from seekwarc.jobs.pipes import searchable
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource

__all__ = ["add_arguments", "run"]

HEADER = f"{'DATE':<14} {'STATUS':>6} {'MIME':<24} {'LENGTH':>12} {'OFFSET':>12}  FILE  URI"

_FILTER = re.compile(r"(!?)([=~]?)([^:]+):(.*)", re.DOTALL)

Filter = Callable[[Capture], bool]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("index", metavar="INDEX")
    parser.add_argument("uri", metavar="URI")
    add_value(parser, "--since --from", "DATE", "earliest date", date_digits)
    add_value(parser, "--until --to", "DATE", "latest date; 2026 includes all of that year", date_digits)
    add_value(parser, "--closest", "DATE", "captures alone, nearest to this date first", date_digits)
    add_limit_argument(parser, "captures")
    parser.add_argument(
        "--match",
        choices=("exact", "prefix", "host", "domain"),
        default="exact",
        help="exact (default); prefix: URIs that begin with it; host: all URIs of its host; domain: of its "
        "subdomains too",
    )
    text = (
        "only captures whose field contains the text, equals it (=) or matches it as a regular "
        "expression (~); ! inverts. Fields: urlkey, timestamp, url, mime, status, digest, filename, ..."
    )
    add_value(
        parser, "--filter", "[!][=|~]FIELD:TEXT", text, _filter, repeat=True, dest="filters", default=[]
    )
    add_index_limits(parser)
    shown = parser.add_mutually_exclusive_group()
    add_json_argument(shown, "capture")
    add_flag(shown, "--cdxj", "print CDXJ lines")
    add_address_arguments(shown, parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    show = _json if options.json else _cdxj if options.cdxj else _line
    closest, limit = options.closest, options.limit
    if options.server is not None and not options.url:
        raise SeekWarcError("--server is for --url, which prints the address of a capture there")
    if options.url:
        if is_archive(options.index):
            print(address_in_archive(options))
            return 0
        show, limit = partial(_url, options), limit or 1
        if options.match == "exact":
            closest = closest or LATEST
    refuse_swapped("lookup", options.index, options.uri)
    with ExitStack() as opened:
        target: str | RangeSource = options.index
        if options.index == "-":
            target = opened.enter_context(searchable(open_source(input_target("-"))))
        # A cluster finds its blocks by its path.
        index = opened.enter_context(Index(target, **index_limits(options)))
        asked = values_of(options, "match", "since", "until")
        captures = index.lookup(options.uri, closest=closest, **asked)
        wanted = (it for it in captures if all(passes(it) for passes in options.filters))
        found = 0
        for capture in islice(wanted, limit):
            if not found and show is _line:
                print(HEADER)
            found += 1
            sys.stdout.write(show(capture) + "\n")
        if not found:
            raise NotFoundError(f"no such capture of {options.uri}{_hint(options)}", source=index.name)
    return 0


def _hint(options: argparse.Namespace) -> str:
    """Say what a URI with an asterisk probably means: CDX servers take one for a pattern."""
    if options.match != "exact":
        return ""
    if options.uri.endswith("*"):
        return f"; for all URIs that begin so, use {options.uri.rstrip('*')} --match prefix"
    if options.uri.startswith("*."):
        return f"; for all URIs of a domain, use {options.uri.removeprefix('*.')} --match domain"
    return ""


def _filter(text: str) -> Filter:
    match = _FILTER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a filter such as mime:text, =status:200, !~url:.*[?]")
    negated, kind, field, wanted = match.groups()
    try:
        pattern = re.compile(wanted if kind == "~" else re.escape(wanted))
    except re.error as error:
        raise ValueError(f"{wanted!r} is not a regular expression: {error}") from None
    matches = {"=": pattern.fullmatch, "~": pattern.match, "": pattern.search}[kind]
    return lambda capture: (matches(as_utf8(_fields(capture).get(field, ""))) is None) == bool(negated)


def _fields(capture: Capture) -> dict[str, str]:
    return {"urlkey": capture.key, "timestamp": capture.timestamp, **capture.fields}


def _url(options: argparse.Namespace, capture: Capture) -> str:
    return address(options, capture.uri, capture.date)


def _json(capture: Capture) -> str:
    return json_text(_fields(capture))


def _cdxj(capture: Capture) -> str:
    return capture.build().decode("ascii").rstrip("\n")


def _line(capture: Capture) -> str:
    mime, status, length, offset, file, uri = (
        printable(capture.fields.get(name))
        for name in ("mime", "status", "length", "offset", "filename", "url")
    )
    return f"{capture.timestamp:<14} {status:>6} {mime:<24} {length:>12} {offset:>12}  {file}  {uri}"
