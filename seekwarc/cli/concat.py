"""Join files into one .warc.zst, without compressing them anew where the format allows it.

  seekwarc concat monday.warc.zst tuesday.warc.zst -o week.warc.zst

Frames are copied from every .warc.zst that has the dictionary of the first file, or none as that has; each
is decoded and compared with its checksum on the way. The records of other files are compressed anew with
the first file's dictionary, which is said beforehand. OUT gets one right seek table for all of it.
`-` is standard input or standard output.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seekwarc.cli.common import (
    add_force_argument,
    add_limit_arguments,
    done_json,
    existing_option,
    human_size,
    input_target,
    limit_options,
    output_target,
    printable,
    report,
    watch,
)
from seekwarc.errors import SeekWarcError
from seekwarc.format.words import counted
from seekwarc.tools.concat import Concatenation, concat

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help=".warc.zst, .warc.gz or .warc")
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="the new .warc.zst")
    parser.add_argument("--no-verify", action="store_true", help="copy large records without decoding them")
    add_force_argument(parser)
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    if options.output.lower().endswith((".gz", ".warc")):
        raise SeekWarcError(
            "joined files become a .warc.zst; name it so (`seekwarc convert` makes others)",
            source=options.output,
        )
    if options.files.count("-") > 1:
        raise SeekWarcError("standard input can be read once only")
    done = concat(
        [input_target(name) for name in options.files],
        output_target(options.output),
        verify=not options.no_verify,
        existing=existing_option(options),
        on_warning=lambda text: report(f"seekwarc: {printable(text)}", target="-"),
        on_progress=watch,
        **limit_options(options),
    )
    shown = _json(done, options) if options.json else _text(done)
    report(shown, target=options.output)
    return 0


def _json(done: Concatenation, options: argparse.Namespace) -> str:
    return done_json(**{**asdict(done), "files": options.files, "target": options.output})


def _text(done: Concatenation) -> str:
    checked = "verified" if done.verified else "not verified"
    files = counted(done.files, "file")
    lines = [
        f"{files}, {counted(done.records, 'record')}: {human_size(done.target_size)}",
        (
            f"{human_size(done.bytes_copied)} of frames copied ({checked}), "
            f"{human_size(done.bytes_recompressed)} of content compressed anew"
        ),
        *map(str, done.recompressed),
    ]
    return "\n".join(map(printable, lines))
