"""What the names of files on the command line stand for: `-` is standard input or output."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, BinaryIO, Unpack

from seekwarc.cli.printing import STANDARD_OUTPUT
from seekwarc.errors import SeekWarcError, SourceError, TargetError
from seekwarc.read.options import OpenOptions
from seekwarc.read.reader import Reader
from seekwarc.storage.opening import open_source

if TYPE_CHECKING:
    from seekwarc.write.files import Existing

__all__ = ["absolute", "existing_option", "input_target", "open_archive", "output_target"]


def input_target(name: str) -> str | BinaryIO:
    """Return what a reader opens for a file name, in which `-` is standard input."""
    if name != "-":
        return name
    if sys.stdin is None:
        raise SourceError("standard input is closed")
    return sys.stdin.buffer


def output_target(name: str) -> str | BinaryIO:
    """Return what a writer opens for a file name, in which `-` is standard output."""
    if name not in STANDARD_OUTPUT:
        return name
    if sys.stdout.isatty():
        raise TargetError("standard output is a terminal: name a file, or redirect the output")
    return sys.stdout.buffer


def refuse_swapped(verb: str, file: str, other: str) -> None:
    """Refuse a file that is named after what is looked for in it."""
    if not os.path.exists(file) and os.path.isfile(other):
        import shlex

        raise SeekWarcError(f"{other} goes first: {shlex.join(['seekwarc', verb, other, file])}")


def absolute(name: str) -> str:
    """Return the absolute path of a file; a URL, or `-` for a standard stream, as it is."""
    return name if "://" in name or name == "-" else os.path.abspath(name)


def existing_option(options: argparse.Namespace) -> Existing:
    return "overwrite" if options.force else "error"


def open_archive(name: str, **options: Unpack[OpenOptions]) -> Reader:
    """Open the file that a command names, with `limit_options` or `open_options` for a reader."""
    return Reader(open_source(input_target(name)), **options)
