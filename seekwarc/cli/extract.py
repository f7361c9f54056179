"""Write the payloads of records into a folder, one file each, with a list of what came from where.

The new files are named after the target URIs, such as example.org_images_logo.png. The list, manifest.jsonl
in the same folder, has a JSON object for each: file and offset of the record, target (the new file), status,
type, uri, date, mime, http_status, size and sha256. Without conditions, the payloads of all responses,
resources, revisits and conversions are written. A revisit gets the payload of the record that it refers to,
and a segmented record all of its segments, if the named files hold them; a revisit is selected by its own
HTTP head.

A damaged record gets no file, or with --partial one of what is intact of it: it is reported and listed, the
others are still extracted, and the exit status is 1. A folder that is not empty is refused unless --force is
given; a payload larger than --max-size is refused.

seekwarc extract crawl.warc.gz -o all
seekwarc extract crawls/ --mime 'image/*' --status 200 --min-size 10K -o images
seekwarc extract crawl.warc.zst --uri 'https://example.org/*.pdf' -o papers
"""

from __future__ import annotations

import argparse
from functools import partial

from seekwarc.cli.arguments import add_flag, add_force_argument, add_value, folder
from seekwarc.cli.batch import as_json
from seekwarc.cli.options import (
    ALWAYS,
    add_keep_going_argument,
    add_limit_arguments,
    add_quiet_argument,
    limit_options,
)
from seekwarc.cli.printing import printable, say
from seekwarc.cli.progress import watch
from seekwarc.cli.selecting import add_selection_arguments, conditions_of
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, input_target
from seekwarc.errors import NotFoundError
from seekwarc.format.conditions import parse_size
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.jobs.outcome import Outcome
from seekwarc.make.extracting import MANIFEST, MAX_SIZE, Extracted, extract
from seekwarc.storage.opening import open_source

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+")
    add_value(parser, "-o --output", "DIR", "folder for the new files", folder, required=True)
    add_selection_arguments(parser)
    text = "write payloads as they were sent, with their content coding (default: decoded)"
    add_flag(parser, "--encoded", text)
    text = "largest payload to write (default: 16G)"
    add_value(parser, "--max-size", "SIZE", text, parse_size, default=MAX_SIZE)
    text = "write what is intact of damaged payloads, with zero bytes for damaged frames, or their beginnings"
    add_flag(parser, "--partial", text)
    add_keep_going_argument(parser, ALWAYS)
    add_quiet_argument(parser)
    add_force_argument(parser, "write into a folder that is not empty, and replace files with the same names")
    add_flag(parser, "--json", "print the lines of the list, and an object for each file")
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    watched = watch(options)
    done = extract(
        options.files,
        options.output,
        decoded=not options.encoded,
        max_size=options.max_size,
        partial=options.partial,
        existing=existing_option(options),
        on_result=partial(_print, options),
        open_file=lambda name: watched(open_source(input_target(name)), printable(name)),
        limits=limit_options(options),
        **conditions_of(options),
    )
    if not done.written and not done.failed:
        raise NotFoundError("no record matches, so no file was written; `seekwarc ls` lists the records")
    if not (options.json or options.quiet):
        failures = f", {done.failed} failed" if done.failed else ""
        made = f"{counted(done.written, 'file')}, {human_size(done.size)}{failures}"
        print(f"{printable(options.output)}: {made}; {MANIFEST} says what came from where")
    return done.exit_status


def _print(options: argparse.Namespace, result: Extracted | Outcome) -> None:
    if result.failure is not None:
        say(result.failure.message)
    elif isinstance(result, Extracted) and result.problem is not None:
        say(f"{result.file}, offset {result.offset}: {result.problem}")
    if options.json:
        fields = result.as_json() if isinstance(result, Extracted) else _of_file(result)
        print(json_text(fields))


def _of_file(outcome: Outcome) -> dict[str, object]:
    return as_json(outcome, {"records": outcome.result})
