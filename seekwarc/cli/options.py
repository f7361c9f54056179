"""Options of reading and writing, from arguments."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any, Final, Unpack

from seekwarc.cli.sizes import parse_size
from seekwarc.cli.targets import input_target
from seekwarc.errors import SeekWarcError
from seekwarc.frames.decoder import WINDOW_LIMITS
from seekwarc.frames.dictionary import StoredDictionary, read_dictionary
from seekwarc.read.options import ReadLimits
from seekwarc.storage.opening import open_source

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
    group = parser.add_argument_group("limits of reading .warc.zst")
    group.add_argument(
        "--max-window",
        type=_window_size,
        metavar="SIZE",
        help="largest Zstandard window to allocate, 1K to 2G (default: 128M)",
    )
    group.add_argument(
        "--max-dictionary",
        type=parse_size,
        metavar="SIZE",
        help="largest dictionary to load, stored or decompressed (default: 8M)",
    )
    group.add_argument(
        "--max-table",
        type=parse_size,
        metavar="SIZE",
        help="largest seek table to load; larger ones are ignored, with 0 all are (default: 64M)",
    )


def _window_size(text: str) -> int:
    size = parse_size(text)
    if size not in WINDOW_LIMITS:
        raise argparse.ArgumentTypeError(f"{text} is not within 1K to 2G")
    return size


def limit_options(options: argparse.Namespace) -> ReadLimits:
    """Return the limits that were given, as a `Reader` takes them; empty if the verb has no such options."""
    limits: ReadLimits = {}
    if getattr(options, "max_window", None) is not None:
        limits["max_window_size"] = options.max_window
    if getattr(options, "max_dictionary", None) is not None:
        limits["max_dictionary_size"] = options.max_dictionary
    if getattr(options, "max_table", None) is not None:
        limits["max_table_size"] = options.max_table
    return limits


def add_index_limits(parser: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add the limits of reading ZipNum clusters and Parquet files."""
    parser.add_argument(
        "--max-block",
        type=parse_size,
        metavar="SIZE",
        help="largest block of a ZipNum cluster to decompress (default: 8M)",
    )
    parser.add_argument(
        "--max-cell",
        type=parse_size,
        metavar="SIZE",
        help="longest text in a row of a Parquet index (default: 1M)",
    )
    parser.add_argument(
        "--max-group",
        type=parse_size,
        metavar="SIZE",
        help="largest row group of a Parquet index to decompress (default: 256M)",
    )


def index_limits(options: argparse.Namespace) -> dict[str, Any]:
    """Return the limits that were given, as an `Index` takes them."""
    given = {f"{name}_size": getattr(options, name) for name in ("max_block", "max_cell", "max_group")}
    return {name: size for name, size in given.items() if size is not None}


def add_writer_arguments(parser: argparse.ArgumentParser, *, train: bool = False) -> None:
    """Add the options of writing .warc.zst.

    Args:
        parser: The parser.
        train: Whether the verb can train a dictionary.
    """
    group = parser.add_argument_group("writing .warc.zst")
    group.add_argument("--level", type=int, metavar="N", help="compression level, -7 to 22 (default: 3)")
    group.add_argument(
        "--frame-size",
        type=parse_size,
        metavar="SIZE",
        help="content of a frame, 64K to 8M (default: 1M): larger compresses better, smaller reads faster",
    )
    group.add_argument(
        "--tables",
        choices=("large", "every", "none"),
        help="which records get a seek table (default: large ones)",
    )
    group.add_argument(
        "--threads", type=int, metavar="N", help="compression threads (default: one per core, at most 4)"
    )
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
    names = ("level", "frame_size", "tables", "threads", "max_file_size")
    given = {name: getattr(options, name) for name in names if getattr(options, name, None) is not None}
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

    Args:
        name: The file; `-` is standard input.
        **limits: From `limit_options`.

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
