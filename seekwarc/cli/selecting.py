"""The options of the verbs that select records."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from seekwarc.cli.sizes import parse_size
from seekwarc.read.selection import Conditions, Selection, checked_status, date_bound

__all__ = ["add_selection_arguments", "archives_named", "selection_of"]

_T = TypeVar("_T")


def add_selection_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the conditions that select records."""
    group = parser.add_argument_group(
        "which records",
        "A record must match every option; an option that is given several times matches with any of "
        "its values. `*` matches any text; quote it from the shell.",
    )
    group.add_argument("--type", action="append", metavar="TYPE", help="WARC-Type: response, resource, ...")
    group.add_argument(
        "--status",
        action="append",
        type=_parsed_by(checked_status),
        metavar="CODE",
        help="HTTP status: 200, 404, 3xx",
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
    group.add_argument(
        "--since",
        type=_parsed_by(date_bound),
        metavar="DATE",
        help="earliest date: 2026-11-17T06:00:00Z, 2026-11",
    )
    group.add_argument(
        "--until",
        type=_parsed_by(partial(date_bound, last=True)),
        metavar="DATE",
        help="latest date; 2026-11 includes all of that month",
    )


def _parsed_by(parse: Callable[[str], _T]) -> Callable[[str], _T]:
    """Keep the message of a `ValueError`, which argparse would replace."""

    def parsed(text: str) -> _T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def selection_of(options: argparse.Namespace) -> Selection:
    """Return the selection that the options describe."""
    return Selection.of(**{name: getattr(options, name) for name in Conditions.__annotations__})


def archives_named(names: Sequence[str]) -> list[str]:
    """Return the files named, and those in the folders named; see `tools.batch.archives_in`.

    Raises:
        SourceError: A folder cannot be read or holds no WARC file.
    """
    if not any("://" not in name and os.path.isdir(name) for name in names):
        return list(names)
    # Imported here: listing a single file does not need it.
    from seekwarc.tools.batch import archives_in  # noqa: PLC0415

    return [file for file, _ in archives_in(names)]
