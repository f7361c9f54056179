"""Put files of any kind into a new .warc.zst, as resource records with seek tables.

  seekwarc pack talk.mp4 slides.pdf photos/ -o talk.warc.zst

  pg_dump site | seekwarc pack - --stdin-name site.sql -o site.warc.zst

A folder means all files in and below it. `-` is standard input, `-o -` standard output.

With --max-file-size, OUT-00000, OUT-00001, ... are written. To add new files to such a series:

  seekwarc pack today/ -o talks.warc.zst --max-file-size 1G --existing number
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import BinaryIO, cast, get_args

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments, add_value
from seekwarc.cli.options import add_quiet_argument, add_writer_arguments, writer_options
from seekwarc.cli.printing import done_json, picked, printable, report
from seekwarc.cli.progress import WatchedStream, advancing
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, input_target, output_target
from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.make.packing import NamedStream, files_below, pack
from seekwarc.write.dedup import Duplicates
from seekwarc.write.files import ExistingSeries, refuse_same_file

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+")
    add_output_arguments(parser, "OUT", "the new .warc.zst")
    add_value(parser, "--base-uri", "URI", "target URIs begin with this (default: file:// and the full path)")
    parser.add_argument(
        "--existing",
        choices=get_args(ExistingSeries),
        help="for existing output files: refuse (error, the default), with --max-file-size continue the "
        "numbering after the last (number), or replace them (overwrite, the same as --force)",
    )
    add_value(parser, "--stdin-name", "NAME", "name under which standard input, `-`, is packed")
    add_quiet_argument(parser)
    add_json_argument(parser, "record")
    add_flag(parser, "--dedup", "write a file with the same content as an earlier one as a revisit")
    add_writer_arguments(parser, series=True)


def run(options: argparse.Namespace) -> int:
    files = _entries(options)
    if not files:
        raise SourceError("no files to pack: the folder is empty", source=", ".join(options.files))
    target = output_target(options.output)
    existing = _existing(options)
    settings = {"base_uri": options.base_uri, "existing": existing, **writer_options(options)}
    if options.dedup:
        settings["dedup"] = Duplicates()
    if options.quiet:
        written = pack(files, target, **settings)
    else:
        total = sum(file.stat().st_size for file in files if isinstance(file, Path))
        with advancing(options, "packing", total) as advance:
            settings["on_progress"] = lambda _, file: cast("BinaryIO", WatchedStream(file, advance))
            written = pack(files, target, **settings)
    for path, record in written:
        size = record.content_length
        if options.json:
            names = ("type", "offset", "length", "id")
            fields = picked(record, *names, target="filename", uri="target_uri", size="content_length")
            line = done_json(file=str(path), **fields)
        else:
            line = f"{record.offset:>12} {record.length:>12} {human_size(size):>10}  {printable(str(path))}"
        if options.json or not options.quiet:
            report(line, target=options.output)
    return 0


def _existing(options: argparse.Namespace) -> ExistingSeries:
    if options.existing is None:
        return existing_option(options)
    existing: ExistingSeries = options.existing
    if options.force and existing != "overwrite":
        raise SeekWarcError(
            f"--force replaces existing files, --existing {existing} does not: give only one of them"
        )
    if existing == "number" and options.max_file_size is None:
        raise SeekWarcError("--existing number needs a series: give its file size with --max-file-size")
    return existing


def _entries(options: argparse.Namespace) -> list[Path | NamedStream]:
    """Return what to pack, in the order in which it was named."""
    if options.files.count("-") > 1:
        raise SeekWarcError("standard input can be read only once")
    entries: list[Path | NamedStream] = []
    for name in options.files:
        if name != "-":
            refuse_same_file(name, options.output)
            entries += (file for file in files_below([name]) if not _same(file, options.output))
        elif not options.stdin_name:
            raise SeekWarcError("standard input has no name: give it one with --stdin-name")
        else:
            stream = cast("BinaryIO", input_target(name))
            entries.append(NamedStream(Path(options.stdin_name), stream))
    return entries


def _same(file: Path, output: str) -> bool:
    return output != "-" and Path(output).exists() and file.samefile(output)
