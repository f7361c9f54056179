"""Options of reading and writing, from arguments."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Unpack, cast

from seekwarc.cli.arguments import MAX_NUMBER, Arguments, add_flag, add_value, argument, folder, number, whole
from seekwarc.cli.targets import input_target
from seekwarc.errors import SeekWarcError
from seekwarc.format.conditions import parse_size
from seekwarc.options import Options, check_range
from seekwarc.read.options import OpenOptions, ReadLimits, ReadOptions

if TYPE_CHECKING:
    from seekwarc.frames.dictionary import StoredDictionary

__all__ = [
    "ALWAYS",
    "AUTO",
    "GO_ON",
    "SEARCH_INDEXES",
    "TRAIN",
    "add_dry_run_argument",
    "add_index_limits",
    "add_keep_going_argument",
    "add_limit_argument",
    "add_limit_arguments",
    "add_no_index_argument",
    "add_quiet_argument",
    "add_sidecar_argument",
    "add_to_dir_arguments",
    "add_writer_arguments",
    "check_sidecar",
    "dictionary_at",
    "index_limits",
    "limit_options",
    "open_options",
    "values_of",
    "writer_options",
]

TRAIN: Final = "train"
"""Given instead of a dictionary file: train one on the records that are converted."""
AUTO: Final = "auto"
"""The same: train one on a sample of the records, and keep it if it saves enough."""


GO_ON: Final = "continue with the other files after one has failed"
INDEXES: Final = "FILE.cdxj or index.cdxj"
SEARCH_INDEXES: Final = "FILE.fts or index.fts"
ALWAYS: Final = f"{GO_ON} (always done)"
"""What --keep-going means of a verb that only looks."""


def add_quiet_argument(parser: Arguments) -> None:
    """Add --quiet, for verbs that show progress or a summary: neither is the answer, nor is JSON."""
    add_flag(parser, "-q --quiet", "print problems only: no progress, no summary")


def add_keep_going_argument(parser: Arguments, text: str) -> None:
    """Add --keep-going, for verbs that take several files."""
    add_flag(parser, "-k --keep-going", text)


def add_dry_run_argument(parser: Arguments, text: str) -> None:
    """Add --dry-run, for verbs that write; the exit status is that of the run, as far as it is known."""
    add_flag(parser, "-n --dry-run", f"write nothing; say what would be {text}")


def add_to_dir_arguments(parser: Arguments, made: str, more: str = "") -> None:
    """Add --to-dir, for verbs that make a file of each, and --flat."""
    text = f"write {made} into this folder, below it as FILE is below FOLDER{more}"
    add_value(parser, "--to-dir", "DIR", text, folder)
    add_flag(parser, "--flat", "write all files into DIR itself (default: keep the tree)")


def add_no_index_argument(parser: Arguments, names: str = INDEXES) -> None:
    """Add --no-index, for verbs that use an index that is not named."""
    add_flag(parser, "--no-index", f"read the files, though they have an index ({names})")


def add_limit_argument(
    parser: Arguments, what: str, default: int | None = None, most: int = MAX_NUMBER
) -> None:
    """Add --limit, the greatest number of things that are listed."""
    shown = "all" if default is None else default
    text = f"at most this many {what} (default: {shown})"
    add_value(parser, "--limit", "N", text, number(f"number of {what}", 1, most), default=default)


def add_limit_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the limits of reading, which keep a file from taking all memory.

    Every reader must support windows and dictionaries of 8 MiB ("Window and dictionary limits").
    """
    _add_options(parser.add_argument_group("limits of reading .warc.zst"), ReadOptions)


def limit_options(options: argparse.Namespace) -> ReadLimits:
    """Return the limits that were given, as a `Reader` takes them; empty if the verb has no such options."""
    return cast("ReadLimits", _given(options, ReadOptions))


def add_sidecar_argument(parser: argparse.ArgumentParser) -> None:
    text = "path or URL of the sidecar of FILE (default: FILE.seek, if there is one)"
    add_value(parser, "--sidecar", "SIDECAR", text)


def open_options(options: argparse.Namespace, files: int = 1) -> OpenOptions:
    """Return the limits and the sidecar that were given, as a `Reader` of one of so many files takes them."""
    given = cast("OpenOptions", limit_options(options))
    check_sidecar(options, files)
    if options.sidecar is not None:
        given["sidecar"] = options.sidecar
    return given


def check_sidecar(options: argparse.Namespace, files: int) -> None:
    if options.sidecar is not None and files != 1:
        raise SeekWarcError(f"--sidecar is of one FILE, and {files} are named")


def _add_options(group: Arguments, options: type[Options], without: Collection[str] = ()) -> None:
    """Add the options that have a flag, each as its field says."""
    for name, it in options.known.items():
        how: dict[str, Any] = dict(it.argument)
        if "flag" in how and name not in without:
            if isinstance(it.values, tuple):
                how["choices"] = it.values
            elif isinstance(it.values, range) and how["metavar"] == "SIZE":
                how["type"] = argument(partial(_size, name, it.values))
            else:
                how["type"] = argument(whole)
            group.add_argument(how.pop("flag"), dest=name, **how)


def _size(name: str, sizes: range, text: str) -> int:
    size = parse_size(text)
    check_range(name, size, sizes[0], sizes[-1])
    return size


def _given(given: argparse.Namespace, options: type[Options]) -> dict[str, Any]:
    """Return the options that have a flag and were given."""
    names = [name for name, it in options.known.items() if "flag" in it.argument]
    return {name: value for name in names if (value := getattr(given, name, None)) is not None}


def values_of(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return arguments of the command for parameters that have the same names."""
    return {name: getattr(options, name) for name in names}


def add_index_limits(parser: Arguments) -> None:
    from seekwarc.cdx.limits import IndexLimits

    _add_options(parser, IndexLimits)


def index_limits(options: argparse.Namespace) -> dict[str, Any]:
    """Return the limits that were given, as an `Index` takes them."""
    from seekwarc.cdx.limits import IndexLimits

    return _given(options, IndexLimits)


def add_writer_arguments(
    parser: argparse.ArgumentParser, *, train: bool = False, series: bool = False
) -> None:
    from seekwarc.write.options import WriteOptions

    group = parser.add_argument_group("writing .warc.zst")
    _add_options(group, WriteOptions, without=() if series else ("max_file_size",))
    text = "dictionary for all frames: a Zstandard dictionary, or a .warc.zst that has one" + (
        "; `auto` makes one from a sample if it pays, `train` from all records" if train else ""
    )
    add_value(group, "--dictionary", "FILE|auto|train" if train else "FILE", text)


def writer_options(options: argparse.Namespace) -> dict[str, Any]:
    from seekwarc.write.options import WriteOptions

    given = _given(options, WriteOptions)
    # A level out of range is an error even if nothing will be written.
    WriteOptions(**given)
    if options.dictionary in (AUTO, TRAIN):
        raise SeekWarcError(
            f"--dictionary {options.dictionary} works only with `seekwarc convert`; make a dictionary with "
            f"`seekwarc dictionary train` and name its file (a file named {options.dictionary} is "
            f"./{options.dictionary})"
        )
    if options.dictionary is not None:
        given["dictionary"] = dictionary_at(options.dictionary, **limit_options(options)).dictionary
    return given


def dictionary_at(name: str, **limits: Unpack[ReadLimits]) -> StoredDictionary:
    """Read a dictionary from a file that is one, or that begins with one."""
    from seekwarc.make.dictionaries import dictionary

    return dictionary(input_target(name), **limits)
