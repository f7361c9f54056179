"""Split a file into several .warc.zst, by size or number of records, copying compressed frames.

  seekwarc split crawl.warc.zst -o part.warc.zst --size 1G

makes part-00000.warc.zst, part-00001.warc.zst and so on. Records are never cut: one that is larger than SIZE
gets a file of its own. Each file begins with the warcinfo record that its records belong to, or a copy of it;
with --no-warcinfo the files together hold what FILE holds and nothing else.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments, add_value, number
from seekwarc.cli.options import add_dry_run_argument, add_limit_arguments, add_quiet_argument, limit_options
from seekwarc.cli.printing import copied_text, piece_json, piece_text, printable, report_done, say
from seekwarc.cli.progress import watch
from seekwarc.cli.targets import existing_option, input_target
from seekwarc.edit.splitting import MIN_SIZE, Splitting, split
from seekwarc.errors import SeekWarcError
from seekwarc.format.conditions import parse_size
from seekwarc.format.words import counted

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help=".warc.zst, .warc.gz or .warc")
    add_output_arguments(parser, "PATTERN", "name of the new files; a number is added to it")
    how = parser.add_mutually_exclusive_group(required=True)
    add_value(how, "--size", "SIZE", "maximum size of a file, such as 1G", parse_size)
    text = "maximum number of records in a file, not counting a copied warcinfo record"
    add_value(how, "--records", "N", text, number("number of records", 1))
    add_flag(parser, "--no-warcinfo", "do not begin each file with its warcinfo record")
    add_flag(parser, "--no-verify", "copy large records without decoding them")
    add_dry_run_argument(parser, "written")
    add_quiet_argument(parser)
    add_json_argument(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if options.output == "-":
        raise SeekWarcError("several files cannot go to standard output: name them with -o")
    if options.size is not None and options.size < MIN_SIZE:
        raise SeekWarcError(f"--size is {options.size}, not {MIN_SIZE} or more")
    done = split(
        input_target(options.file),
        options.output,
        max_size=options.size,
        max_records=options.records,
        repeat_warcinfo=not options.no_warcinfo,
        verify=not options.no_verify,
        existing=existing_option(options),
        on_warning=say,
        on_progress=watch(options),
        dry_run=options.dry_run,
        **limit_options(options),
    )
    pieces = [*map(piece_json, done.pieces)]
    report_done(
        options,
        _text(done, is_dry=options.dry_run),
        {**asdict(done), "file": options.file, "dry_run": options.dry_run, "pieces": pieces},
    )
    return 0


def _text(done: Splitting, *, is_dry: bool) -> str:
    files = counted(len(done.pieces), "file")
    written = " would be written" if is_dry else ""
    lines = [
        *map(piece_text, done.pieces),
        f"{files} of {counted(done.records, 'record')}{written}",
        copied_text(done, " (verified)" if done.verified else " (not verified)"),
        *map(str, done.recompressed),
    ]
    return "\n".join(map(printable, lines))
