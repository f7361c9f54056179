"""What verbs share that decide about each record: their arguments, and what they are made of."""

from __future__ import annotations

import argparse
from typing import BinaryIO

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments, add_parts_argument
from seekwarc.cli.batch import targets_of
from seekwarc.cli.options import (
    add_dry_run_argument,
    add_keep_going_argument,
    add_limit_arguments,
    add_quiet_argument,
    add_to_dir_arguments,
)
from seekwarc.cli.passing import LEFT_OUT, PassedOver
from seekwarc.cli.printing import say
from seekwarc.cli.progress import watch
from seekwarc.cli.targets import existing_option
from seekwarc.edit.deciding import CopyOptions
from seekwarc.errors import FormatError, SeekWarcError

__all__ = [
    "add_copy_arguments",
    "add_rest_of_copy_arguments",
    "check_copy_targets",
    "copy_options",
    "copy_targets",
    "damage_json",
]


def add_copy_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+", help=".warc.zst, .warc.gz or .warc")
    add_output_arguments(parser, "OUT", "the new .warc.zst", required=False)
    add_to_dir_arguments(parser, "a new .warc.zst for each FILE")
    add_rest_of_copy_arguments(parser, "done")


def add_rest_of_copy_arguments(parser: argparse.ArgumentParser, done: str) -> None:
    """Add what `copy_options` returns, and the limits of reading."""
    add_dry_run_argument(parser, done)
    add_flag(parser, "--no-verify", "copy large records without decoding them")
    add_keep_going_argument(parser, LEFT_OUT)
    add_quiet_argument(parser)
    add_parts_argument(parser)
    add_json_argument(parser)
    add_limit_arguments(parser)


def copy_targets(options: argparse.Namespace) -> tuple[list[str], str | BinaryIO | list[str] | None]:
    """Return the files, and the new one, or one for each."""
    check_copy_targets(options)
    return targets_of(options)


def check_copy_targets(options: argparse.Namespace) -> None:
    """Refuse standard input, and several new files, or none."""
    if "-" in options.files:
        raise SeekWarcError("standard input cannot be read twice: name a file")
    named = (options.output is not None) + (options.to_dir is not None)
    if named > 1 or not (named or options.dry_run):
        raise SeekWarcError("name either one new file with -o, or a folder with --to-dir, or give --dry-run")


def copy_options(options: argparse.Namespace, passed: PassedOver) -> CopyOptions:
    return {
        "dry_run": options.dry_run,
        "verify": not options.no_verify,
        "existing": existing_option(options),
        "processes": options.jobs,
        "on_warning": say,
        "on_damage": lambda error: say(f"{error}; left out"),
        "on_error": passed.on_error,
        "on_progress": watch(options),
    }


def damage_json(damaged: tuple[FormatError, ...] | list[FormatError]) -> list[dict[str, object]]:
    return [{"file": it.source, "offset": it.offset} for it in damaged]
