"""Options of reading and writing, from arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

from seekwarc.cli.arguments import Arguments
from seekwarc.cli.sizes import parse_size
from seekwarc.cli.targets import input_target
from seekwarc.errors import SeekWarcError
from seekwarc.frames.dictionary import StoredDictionary, read_dictionary
from seekwarc.options import check_range
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.storage.opening import open_source

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = [
    "TRAIN",
    "add_index_limits",
    "add_limit_arguments",
    "add_writer_arguments",
    "dictionary_at",
    "index_limits",
    "limit_options",
    "writer_options",
]

TRAIN: Final = "train"
"""Given instead of a dictionary file: train one on the records that are converted."""


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the limits of reading, which keep a file from taking all memory.

    Every reader must support windows and dictionaries of 8 MiB ("Window and dictionary limits").
    """
    _add_options(parser.add_argument_group("limits of reading .warc.zst"), ReadOptions)


def limit_options(options: argparse.Namespace) -> ReadLimits:
    """Return the limits that were given, as a `Reader` takes them; empty if the verb has no such options."""
    return cast("ReadLimits", _given(options, ReadOptions))


def _add_options(group: Arguments, options: type[DataclassInstance], without: Collection[str] = ()) -> None:
    """Add the options that have a flag, each as its field says."""
    for it in fields(options):
        argument = dict(it.metadata.get("argument", ()))
        if "flag" in argument and it.name not in without:
            values = it.metadata["values"]
            if isinstance(values, tuple):
                argument["choices"] = values
            else:
                argument["type"] = _size_within(values, it.name) if argument["metavar"] == "SIZE" else int
            group.add_argument(argument.pop("flag"), dest=it.name, **argument)


def _size_within(sizes: range, name: str) -> Callable[[str], int]:
    def parse(text: str) -> int:
        size = parse_size(text)
        try:
            check_range(name, size, sizes[0], sizes[-1])
        except ValueError as error:
            # Of any other error, argparse does not show the message.
            raise argparse.ArgumentTypeError(str(error)) from error
        return size

    return parse


def _given(given: argparse.Namespace, options: type[DataclassInstance]) -> dict[str, Any]:
    """Return the options that have a flag and were given."""
    names = [it.name for it in fields(options) if "flag" in it.metadata.get("argument", ())]
    return {name: value for name in names if (value := getattr(given, name, None)) is not None}


def add_index_limits(parser: Arguments) -> None:
    """Add the limits of reading ZipNum clusters and Parquet files."""
    from seekwarc.cdx.lines import IndexLimits

    _add_options(parser, IndexLimits)


def index_limits(options: argparse.Namespace) -> dict[str, Any]:
    """Return the limits that were given, as an `Index` takes them."""
    from seekwarc.cdx.lines import IndexLimits

    return _given(options, IndexLimits)


def add_writer_arguments(
    parser: argparse.ArgumentParser, *, train: bool = False, series: bool = False
) -> None:
    """Add the options of writing .warc.zst, of training a dictionary, and of writing a series of files."""
    from seekwarc.write.options import WriteOptions

    group = parser.add_argument_group("writing .warc.zst")
    _add_options(group, WriteOptions, without=() if series else ("max_file_size",))
    group.add_argument(
        "--dictionary",
        metavar="FILE|train" if train else "FILE",
        help="dictionary for all frames: a Zstandard dictionary, or a .warc.zst that has one"
        + ("; `train` makes one from the records" if train else ""),
    )


def writer_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `Writer` that were given.

    Raises:
        SourceError: The dictionary cannot be read.
        FormatError: It is not a dictionary.
    """
    from seekwarc.write.options import WriteOptions

    given = _given(options, WriteOptions)
    if options.dictionary == TRAIN:
        raise SeekWarcError(
            "--dictionary train works only with `seekwarc convert`; make a dictionary with `seekwarc train` "
            "and name its file (a file named train is ./train)"
        )
    if options.dictionary is not None:
        given["dictionary"] = dictionary_at(options.dictionary, **limit_options(options)).dictionary
    return given


def dictionary_at(name: str, **limits: Unpack[ReadLimits]) -> StoredDictionary:
    """Read a dictionary from a file that is one, or that begins with one.

    Raises:
        SourceError: The file cannot be read.
        FormatError: The file has no dictionary.
    """
    with closing(open_source(input_target(name))) as source:
        return read_dictionary(
            source,
            max_dictionary_size=limits.get("max_dictionary_size"),
            max_window_size=limits.get("max_window_size"),
        )
