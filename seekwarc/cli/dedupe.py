"""Turn records with identical payloads into revisits of the oldest one, over all files.

  seekwarc dedupe monday.warc.zst tuesday.warc.zst -o both.warc.zst

  seekwarc dedupe crawls/ --to-dir deduplicated/

  seekwarc dedupe --undo both.warc.zst -o full.warc.zst

Payloads are compared byte by byte, not only their digests. All other records are copied frame by frame, as by
`concat`. With --to-dir each FILE becomes a file in DIR: all are made, or none. A revisit and its original may
then be in different files, which belong together. `--dry-run` says what would be saved, and writes nothing.

A damaged record is reported and left out, and a FILE that cannot be opened or is not an archive stops all,
or is left out with --keep-going; nothing becomes a revisit of a record in it. Both make the exit status 1.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments, add_parts_argument
from seekwarc.cli.batch import targets_of
from seekwarc.cli.options import add_limit_arguments, limit_options
from seekwarc.cli.passing import LEFT_OUT, PassedOver
from seekwarc.cli.printing import printable, say
from seekwarc.cli.progress import watch
from seekwarc.cli.sizes import SIZE, human_size
from seekwarc.cli.targets import existing_option
from seekwarc.edit.deduplicating import MIN_SIZE, Deduplication, dedupe
from seekwarc.errors import SeekWarcError
from seekwarc.format.words import counted

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+", help=".warc.zst, .warc.gz or .warc")
    add_output_arguments(parser, "OUT", "the new .warc.zst", required=False)
    parser.add_argument(
        "--to-dir", metavar="DIR", help="write a new .warc.zst for each FILE into this folder"
    )
    add_flag(parser, "-n", "--dry-run", text="print what would be done, and write nothing")
    add_flag(parser, "--undo", text="make revisits full records again, where the original is in the files")
    parser.add_argument(
        "--min-size",
        type=SIZE,
        default=MIN_SIZE,
        metavar="SIZE",
        help="leave smaller payloads as they are (default: 1K)",
    )
    add_flag(parser, "--no-verify", text="copy large records without decoding them")
    add_flag(parser, "-k", "--keep-going", text=LEFT_OUT)
    add_parts_argument(parser)
    add_json_argument(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if "-" in options.files:
        raise SeekWarcError("standard input cannot be read twice: name a file")
    if (options.output is None) + (options.to_dir is None) + (not options.dry_run) != 2:
        raise SeekWarcError("name either one new file with -o, or a folder with --to-dir, or give --dry-run")
    sources, target = targets_of(options)
    with PassedOver(options) as passed:
        done = dedupe(
            sources,
            target,
            undo=options.undo,
            min_size=options.min_size,
            dry_run=options.dry_run,
            verify=not options.no_verify,
            existing=existing_option(options),
            processes=options.jobs,
            on_warning=say,
            on_damage=lambda error: say(f"{error}; left out"),
            on_error=passed.on_error,
            on_progress=watch,
            **limit_options(options),
        )
    fields = {
        **asdict(done),
        "files": sources,
        "target": options.output or options.to_dir,
        "damaged": [{"file": it.source, "offset": it.offset} for it in done.damaged],
    }
    return passed.report(_text(done), fields, done.files) | int(bool(done.damaged))


def _text(done: Deduplication) -> str:
    did = f"{done.revisits} became revisits, {done.repointed} revisits refer to another record now"
    lines = [
        f"{counted(done.files, 'file')}, {counted(done.records, 'record')}",
        f"{done.restored} revisits became full records" if done.restored else did,
        *(f"{counted(number, 'record')} stayed: {reason}" for reason, number in done.left.items()),
        f"{human_size(done.content_saved)} of content saved",
    ]
    if done.stored_saved is not None:
        lines[-1] += f", {human_size(done.stored_saved)} compressed"
    if done.target_size is not None:
        checked = "verified" if done.verified else "not verified"
        lines.append(
            f"{human_size(done.target_size)} written: {human_size(done.bytes_copied)} of frames copied "
            f"({checked}), {human_size(done.bytes_recompressed)} of content recompressed"
        )
    return "\n".join(map(printable, [*lines, *map(str, done.recompressed)]))
