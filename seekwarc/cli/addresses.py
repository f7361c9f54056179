"""`seekwarc lookup --url`: addresses of captures in a running `seekwarc serve`."""

from __future__ import annotations

import argparse
import os
from typing import Final

from seekwarc.cli.arguments import Arguments, add_flag, add_value
from seekwarc.cli.options import limit_options
from seekwarc.cli.printing import say
from seekwarc.cli.records import NO_CAPTURE
from seekwarc.cli.targets import open_archive
from seekwarc.collection.entry import describe, is_listed
from seekwarc.collection.likeness import Meant, nearest_alike
from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.format.dates import LATEST, WarcDate, date_of_digits
from seekwarc.storage.expand import index_ending
from seekwarc.storage.zip_members import is_wacz

__all__ = ["add_address_arguments", "address", "address_in_archive", "is_archive"]

SERVER: Final = "http://127.0.0.1:8090/"


def add_address_arguments(group: Arguments, parser: argparse.ArgumentParser) -> None:
    text = "print the address of the latest capture in `seekwarc serve`, or of that nearest to --closest"
    add_flag(group, "--url", text)
    text = f"with --url: the address that `seekwarc serve` has printed (default: {SERVER})"
    add_value(parser, "--server", "ADDRESS", text, _server)


def _server(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError(f"{text!r} is not an address such as {SERVER}")
    return text.rstrip("/") + "/"


def is_archive(name: str) -> bool:
    """Tell whether a name is that of an archive, and not of an index."""
    return not (name == "-" or index_ending(name) or is_wacz(name) or os.path.isdir(name))


def address(options: argparse.Namespace, uri: str | None, date: WarcDate) -> str:
    """Return the address of a capture, and say so if its URI is not the one that was asked for."""
    from seekwarc.serve.address import capture_address

    if options.match == "exact" and (note := Meant(options.uri).note(uri)) is not None:
        say(note)
    server: str = options.server or SERVER
    return server + capture_address(uri or options.uri, date).removeprefix("/")


def address_in_archive(options: argparse.Namespace) -> str:
    """Return the address of a capture in an archive, which is read to its end."""
    given = (options.match, options.filters, options.since, options.until, options.limit)
    if given != ("exact", [], None, None, None):
        text = "--match, --filter, --since, --until and --limit need an index"
        raise SeekWarcError(text, source=options.index)
    date = date_of_digits(options.closest or LATEST)
    with open_archive(options.index, **limit_options(options)) as archive:
        captures = (describe(record) for record in archive if is_listed(record))
        found = nearest_alike(options.uri, captures, date)
        if found is None or found.date is None:
            text = f"{NO_CAPTURE} {options.uri}; `seekwarc ls` lists the records"
            raise NotFoundError(text, source=archive.name)
        return address(options, found.uri, found.date)
