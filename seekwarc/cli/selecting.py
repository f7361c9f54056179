"""The options of the verbs that select records."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from seekwarc.cli.arguments import Arguments, add_flag, add_value
from seekwarc.cli.options import values_of
from seekwarc.format.conditions import checked_status, checked_type, date_bound, parse_size
from seekwarc.storage.expand import expand

if TYPE_CHECKING:
    from seekwarc.edit.choosing import ChoiceConditions
    from seekwarc.read.selection import Conditions, Selection

__all__ = [
    "add_date_arguments",
    "add_host_argument",
    "add_list_arguments",
    "add_selection_arguments",
    "archives_named",
    "choice_of",
    "conditions_of",
    "missed",
    "selection_of",
]

LISTS: Final = {
    "uris": "target URIs, each in any spelling",
    "hosts": "hosts, each as --host takes it",
    "ids": "record IDs, with or without angle brackets",
    "cdxj": "an index, whose lines name records by file name (without folders) and offset",
}


def add_selection_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "which records",
        "A record must match every option; an option that is given several times matches with any of "
        "its values. `*` matches any text; quote it from the shell.",
    )
    add_value(group, "--type", "TYPE", "WARC-Type: response, resource, ...", checked_type, repeat=True)
    add_value(group, "--status", "CODE", "HTTP status: 200, 404, 3xx", checked_status, repeat=True)
    add_value(group, "--mime", "TYPE", "media type of the payload: text/html, 'image/*'", repeat=True)
    text = "target URI, in any spelling, or '*.example.org/*.mp4'"
    add_value(group, "--uri", "URI", text, repeat=True)
    add_host_argument(group)
    add_value(group, "--min-size", "SIZE", "minimum size of the block: 500, 64K, 1M", parse_size, default=0)
    add_date_arguments(group)


def add_host_argument(parser: Arguments) -> None:
    text = "host of the target URI, in any spelling; example.org also means its subdomains"
    add_value(parser, "--host", "HOST", text, _host, repeat=True)


def _host(text: str) -> str:
    from seekwarc.format.uri import checked_host

    return checked_host(text)


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the lists of records, and what inverts them."""
    group = parser.add_argument_group(
        "lists of records", "FILE has an entry per line. Each option also inverted: --not-hosts FILE."
    )
    for name, text in LISTS.items():
        group.add_argument(f"--{name}", metavar="FILE", help=text)
        group.add_argument(f"--not-{name}", metavar="FILE", help=argparse.SUPPRESS)
    add_flag(group, "--invert", "choose the records that do not match all options together")


def missed(options: argparse.Namespace) -> str:
    """Return what conditions may have meant that no record matches; "" if they are as they should be."""
    uris = [it for it in getattr(options, "uri", None) or () if isinstance(it, str)]
    mimes = [it for it in getattr(options, "mime", None) or () if isinstance(it, str)]
    whole = (it for it in uris if not {":", "*"} & set(it))
    hints = [f"a URI is compared as a whole, with its scheme: try --uri '*{it}*'" for it in whole]
    alone = (it for it in mimes if not {"/", "*"} & set(it))
    hints += [f"a media type has two parts: try --mime '*/{it}'" for it in alone]
    return "".join(f"; {hint}" for hint in hints)


def choice_of(options: argparse.Namespace) -> ChoiceConditions:
    """Return all conditions as keyword arguments."""
    names = [f"{prefix}{name}" for prefix in ("", "not_") for name in LISTS]
    return cast("ChoiceConditions", {**conditions_of(options), **values_of(options, *names, "invert")})


def add_date_arguments(parser: Arguments, of: str = "") -> None:
    text = f"{of}earliest date: 2026-11-17T06:00:00Z, 2026-11, 20261117"
    add_value(parser, "--since", "DATE", text, date_bound)
    text = f"{of}latest date; 2026-11 includes all of that month"
    add_value(parser, "--until", "DATE", text, partial(date_bound, last=True))


def conditions_of(options: argparse.Namespace) -> Conditions:
    from seekwarc.read.selection import Conditions

    return cast("Conditions", values_of(options, *Conditions.__annotations__))


def selection_of(options: argparse.Namespace) -> Selection:
    from seekwarc.read.selection import Selection

    return Selection.of(**conditions_of(options))


def archives_named(names: Sequence[str]) -> list[str]:
    """Return the files named, those in the folders named, and those that match patterns."""
    return list(expand(names, repeat=True))
