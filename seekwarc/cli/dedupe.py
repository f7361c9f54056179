"""Turn records with identical payloads into revisits of the oldest one, over all files.

  seekwarc dedupe monday.warc.zst tuesday.warc.zst -o both.warc.zst

  seekwarc dedupe crawls/ --to-dir deduplicated/

  seekwarc dedupe --undo both.warc.zst -o full.warc.zst

  seekwarc dedupe --between april.wacz may.wacz --to-dir chain

Payloads are compared byte by byte, not only their digests. All other records are copied frame by frame, as by
`concat`. With --to-dir each FILE becomes a file in DIR, in the same tree: all are made, or none. A revisit
and its original may then be in different files, which belong together. `--dry-run` says what would be saved,
and writes nothing.

With --between the FILES, which may be WACZ, were crawled apart, and become a chain in DIR: a response whose
payload an older FILE has becomes a revisit that names this file (WARC-Refers-To-Container). A new file has
the name and compression of its FILE, and the bytes of all other records. A WACZ lists the files that it
requires, with size and hash, so keep all of them as they are. `seekwarc verify --closed DIR` checks them.
--undo makes full records of all revisits that name another file.

A damaged record is reported and left out, and a FILE that cannot be opened or is not an archive stops all,
or is left out with --keep-going; nothing becomes a revisit of a record in it. Both make the exit status 1.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seekwarc.cli.arguments import add_flag, add_value
from seekwarc.cli.copying import (
    add_copy_arguments,
    check_copy_targets,
    copy_options,
    copy_targets,
    damage_json,
)
from seekwarc.cli.options import limit_options, values_of
from seekwarc.cli.passing import PassedOver
from seekwarc.cli.printing import printable
from seekwarc.cli.sizes import human_size
from seekwarc.edit.deduplicating import MIN_SIZE, Deduplication, dedupe
from seekwarc.errors import SeekWarcError
from seekwarc.format.conditions import parse_size
from seekwarc.format.words import counted
from seekwarc.storage.expand import expand

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flag(parser, "--undo", "make revisits full records again, where the original is in the files")
    text = "make a chain of files that were crawled apart, in the folder --to-dir"
    add_flag(parser, "--between", text)
    text = "leave smaller payloads as they are (default: 1K)"
    add_value(parser, "--min-size", "SIZE", text, parse_size, default=MIN_SIZE)
    add_copy_arguments(parser)


def run(options: argparse.Namespace) -> int:
    sources, target = _chain_targets(options) if options.between else copy_targets(options)
    with PassedOver(options) as passed:
        done = dedupe(
            sources,
            target,
            **values_of(options, "undo", "between", "min_size"),
            **copy_options(options, passed),
            **limit_options(options),
        )
    name = options.output or options.to_dir
    fields = {**asdict(done), "files": sources, "target": name, "damaged": damage_json(done.damaged)}
    return passed.report(_text(done), fields, done.files) | int(bool(done.damaged))


def _chain_targets(options: argparse.Namespace) -> tuple[list[str], str | None]:
    """Return the files, and the folder for those of the chain."""
    check_copy_targets(options)
    if options.output is not None:
        raise SeekWarcError("--between makes a new file of each: name a folder for them with --to-dir")
    return [*expand(options.files, leave_out=options.to_dir)], options.to_dir


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
