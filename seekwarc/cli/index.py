"""Make a CDXJ index of WARC files: which capture of which URI is where, sorted, one a line.

The lines are those that pywb and cdxj-indexer expect, also for .warc.zst. Only heads are decompressed, unless
a record states no digest of its payload. The index goes to standard output unless `-o` names a file. Exit
status 1 means that records are missing in the index, which is then told.

seekwarc index crawl-*.warc.zst -o crawl.cdxj
seekwarc index https://example.org/crawl.warc.zst > crawl.cdxj
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import BinaryIO

from seekwarc.cli.common import (
    add_force_argument,
    add_limit_arguments,
    existing_option,
    input_target,
    limit_options,
    output_target,
    printable,
    report,
    watch,
)
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.words import counted
from seekwarc.tools.index import file_name, index

__all__ = ["add_arguments", "run"]

MOST_OF_A_KIND = 3
"""Problems of one kind that are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("files", metavar="FILE|URL", nargs="+")
    parser.add_argument(
        "-o", "--output", metavar="OUT", default="-", help="the index (default: standard output)"
    )
    parser.add_argument(
        "-p",
        "--post-append",
        action="store_true",
        help="tell the answers to POST and PUT requests apart by what was sent",
    )
    parser.add_argument(
        "--dir-root",
        metavar="DIR",
        help="name files by their path below this folder (default: without any folder)",
    )
    parser.add_argument(
        "--stdin-name", metavar="NAME", help="what the index calls a file that comes from standard input, `-`"
    )
    parser.add_argument(
        "--stated-digests",
        action="store_true",
        help="make no digest where a record states none: no payload is read then",
    )
    add_force_argument(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    sources: dict[str, str | BinaryIO] = {}
    for file in options.files:
        name = options.stdin_name if file == "-" else file_name(file, options.dir_root)
        if name is None:
            raise SeekWarcError("say with --stdin-name what the index is to call standard input")
        if name in sources:
            raise SeekWarcError(f"two files have the name {name}: tell them apart with --dir-root")
        sources[name] = input_target(file)
    done = index(
        sources,
        output_target(options.output),
        complain=_Complaints(),
        post_append=options.post_append,
        stated_digests=options.stated_digests,
        existing=existing_option(options),
        watch=watch,
        **limit_options(options),
    )
    if options.output != "-":
        report(f"{options.output}: {counted(done.lines, 'capture')}", target=options.output)
    return 1 if done.problems else 0


class _Complaints:
    """Prints problems, the first few of a kind."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()

    def __call__(self, problem: FormatError) -> None:
        self._kinds[problem.message] += 1
        count = self._kinds[problem.message]
        if count <= MOST_OF_A_KIND:
            more = "; more of this kind are not printed" if count == MOST_OF_A_KIND else ""
            report(f"seekwarc: {printable(str(problem))}{more}", target="-")
