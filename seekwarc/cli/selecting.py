"""The options of the verbs that select records."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence

from seekwarc.cli.sizes import parse_size
from seekwarc.read.selection import Selection

__all__ = ["add_selection_arguments", "archives_named", "selection_of"]


def add_selection_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the conditions that select records."""
    group = parser.add_argument_group(
        "which records",
        "A record must match every option; an option that is given several times matches with any of "
        "its values. `*` stands for any text; quote it from the shell.",
    )
    group.add_argument("--type", action="append", metavar="TYPE", help="WARC-Type: response, resource, ...")
    group.add_argument(
        "--status", action="append", type=_status, metavar="CODE", help="HTTP status: 200, 404, 3xx"
    )
    group.add_argument(
        "--mime", action="append", metavar="TYPE", help="media type of the payload: text/html, 'image/*'"
    )
    group.add_argument(
        "--uri", action="append", metavar="URI", help="target URI: http://example.org/, '*.example.org/*.mp4'"
    )
    group.add_argument(
        "--min-size",
        type=parse_size,
        default=0,
        metavar="SIZE",
        help="minimum size of the block: 500, 64K, 1M",
    )


def _status(text: str) -> str:
    if not re.fullmatch(r"[0-9]{3}|[0-9][xX]{2}", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an HTTP status such as 404, or a class such as 2xx"
        )
    return text


def selection_of(options: argparse.Namespace) -> Selection:
    """Return the selection that the options describe."""
    return Selection.of(
        type=options.type,
        status=options.status,
        mime=options.mime,
        uri=options.uri,
        min_size=options.min_size,
    )


def archives_named(names: Sequence[str]) -> list[str]:
    """Return the files named, and those in the folders named; see `tools.batch.archives_in`.

    Raises:
        SourceError: A folder cannot be read or holds no WARC file.
    """
    if not any("://" not in name and os.path.isdir(name) for name in names):
        return list(names)
    from seekwarc.tools.batch import archives_in

    return [file for file, _ in archives_in(names)]
