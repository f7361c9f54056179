"""Copy a WARC file into another compression, without changing a byte of what it holds.

SRC is a .warc, .warc.gz or .warc.zst, told apart by its content; what DST becomes follows from its name,
or from --to. Before DST gets its name it is decompressed and compared with SRC. `-` is standard input or
standard output.
"""

from __future__ import annotations

import argparse
import json

from seekwarc.cli.common import (
    add_writer_arguments,
    human_size,
    input_target,
    output_target,
    report,
    watch,
    writer_options,
)
from seekwarc.errors import SeekWarcError
from seekwarc.frames.units import Compression
from seekwarc.tools.convert import convert

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("source", metavar="SRC")
    parser.add_argument("target", metavar="DST")
    parser.add_argument(
        "--to", choices=("zst", "gz", "none"), help="compression of DST (default: by its name)"
    )
    parser.add_argument("--no-verify", action="store_true", help="do not decompress DST to compare it")
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    add_writer_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    done = convert(
        input_target(options.source),
        output_target(options.target),
        _compression(options),
        verify=not options.no_verify,
        watch=watch,
        **writer_options(options),
    )
    if options.json:
        text = json.dumps({field: getattr(done, field) for field in done.__slots__})
    else:
        share = done.target_size / done.source_size if done.source_size else 0
        checked = "the new file holds the same" if done.verified else "not checked"
        text = (
            f"{done.records} records, {human_size(done.content_size)}: "
            f"{human_size(done.source_size)} became {human_size(done.target_size)} ({share:.1%})\n"
            f"sha256 of the content: {done.sha256} ({checked})"
        )
    report(text, target=options.target)
    return 0


def _compression(options: argparse.Namespace) -> Compression:
    if options.to is not None:
        chosen: Compression = options.to
        return chosen
    name = options.target.lower()
    if name.endswith(".gz"):
        return "gz"
    if name.endswith(".warc"):
        return "none"
    if name.endswith((".zst", ".zstd")) or name == "-":
        return "zst"
    raise SeekWarcError(f"{options.target}: name it .warc.zst, .warc.gz or .warc, or say --to")
