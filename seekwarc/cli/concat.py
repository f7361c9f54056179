"""Join files into one .warc.zst, copying compressed frames where the format allows it.

  seekwarc concat monday.warc.zst tuesday.warc.zst -o week.warc.zst

Frames are copied from every .warc.zst with the same dictionary as the first file, or without one if that has
none; each is decoded and compared with its checksum. The records of other files are compressed again, with
the first file's dictionary; a message names these files beforehand. OUT ends with one seek table for all
records. `-` is standard input or standard output.

If a FILE cannot be read, or is damaged, nothing is written. With --keep-going all of it is left out, which is
said, and makes the exit status 1; each FILE is then read once more, before the others are joined.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments
from seekwarc.cli.options import (
    add_keep_going_argument,
    add_limit_arguments,
    add_quiet_argument,
    limit_options,
)
from seekwarc.cli.passing import OR_DAMAGED, PassedOver
from seekwarc.cli.printing import copied_text, printable, say
from seekwarc.cli.progress import watch
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, input_target, output_target
from seekwarc.edit.concatenating import Concatenation, concat
from seekwarc.errors import SeekWarcError
from seekwarc.format.words import counted

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+", help=".warc.zst, .warc.gz or .warc")
    add_output_arguments(parser, "OUT", "the new .warc.zst")
    add_flag(parser, "--no-verify", "copy large records without decoding them")
    add_keep_going_argument(parser, OR_DAMAGED)
    add_quiet_argument(parser)
    add_json_argument(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if options.output.lower().endswith((".gz", ".warc")):
        raise SeekWarcError(
            "`concat` writes only .warc.zst: name it so (`seekwarc convert` writes others)",
            source=options.output,
        )
    if options.files.count("-") > 1:
        raise SeekWarcError("standard input can be read only once")
    with PassedOver(options) as passed:
        done = concat(
            [input_target(name) for name in options.files],
            output_target(options.output),
            verify=not options.no_verify,
            existing=existing_option(options),
            on_warning=say,
            on_error=passed.on_error,
            on_progress=watch(options),
            **limit_options(options),
        )
    fields = {**asdict(done), "files": options.files, "target": options.output}
    return passed.report(_text(done), fields, done.files)


def _text(done: Concatenation) -> str:
    files = counted(done.files, "file")
    lines = [
        f"{files}, {counted(done.records, 'record')}: {human_size(done.target_size)}",
        copied_text(done, " (verified)" if done.verified else " (not verified)"),
        *map(str, done.recompressed),
    ]
    return "\n".join(map(printable, lines))
