"""Write the payloads of records into a folder, one file each, with a list of what came from where.

The new files are named after the target URIs, such as example.org_images_logo.png. The list, manifest.jsonl
in the same folder, has a JSON object for each: file and offset of the record, target (the new file), status,
type, uri, date, mime, http_status, size and sha256. Without conditions, the payloads of all responses,
resources, revisits and conversions are written. A revisit gets the payload of the record that it refers to,
and a segmented record all of its segments, if the named files hold them; a revisit is selected by its own
HTTP head.

A damaged record gets no file: it is reported and listed, the others are still extracted, and the exit status
is 1. A folder that is not empty is refused unless --force is given; a payload larger than --max-size is
refused.

seekwarc extract crawl.warc.gz -o all
seekwarc extract crawls/ --mime 'image/*' --status 200 --min-size 10K -o images
seekwarc extract crawl.warc.zst --uri 'https://example.org/*.pdf' -o papers
"""

from __future__ import annotations

import argparse
import json
import sys

from seekwarc.cli.arguments import add_force_argument
from seekwarc.cli.options import add_limit_arguments, limit_options
from seekwarc.cli.printing import printable
from seekwarc.cli.progress import watch
from seekwarc.cli.selecting import add_selection_arguments, selection_of
from seekwarc.cli.sizes import human_size, parse_size
from seekwarc.cli.targets import input_target
from seekwarc.errors import NotFoundError, SeekWarcError
from seekwarc.format.words import counted
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.tools.batch import archives_in
from seekwarc.tools.extract import MANIFEST, MAX_SIZE, Extracted, Extractor
from seekwarc.tools.outcome import Outcome

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder for the new files")
    add_selection_arguments(parser)
    parser.add_argument(
        "--encoded",
        action="store_true",
        help="write payloads as they were sent, with their content coding (default: decoded)",
    )
    parser.add_argument(
        "--max-size",
        type=parse_size,
        default=MAX_SIZE,
        metavar="SIZE",
        help="largest payload to write (default: 16G)",
    )
    add_force_argument(parser, "write into a folder that is not empty, and replace files with the same names")
    parser.add_argument(
        "--json", action="store_true", help="print the lines of the list, and an object for each file"
    )
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if not options.output:
        raise SeekWarcError("the name of the new folder is empty")
    files = [name for name, _ in archives_in(options.files, leave_out=options.output)]
    count = failed = size = worst = 0
    with Extractor(
        files,
        options.output,
        selection_of(options),
        open_file=_opened,
        decoded=not options.encoded,
        max_size=options.max_size,
        force=options.force,
        limits=limit_options(options),
    ) as extractor:
        for name in files:
            for told in extractor.extract(name):
                worst = max(worst, told.exit_status)
                if told.failure is not None:
                    failed += 1
                    _warn(told.failure.message)
                if isinstance(told, Extracted):
                    count += told.target is not None
                    size += told.size or 0
                    if told.problem is not None and told.failure is None:
                        _warn(f"{told.file}, offset {told.offset}: {told.problem}")
                if options.json:
                    print(json.dumps(_as_json(told)))
    if not count and not failed:
        raise NotFoundError("no record matches, so no file was written; `seekwarc ls` lists the records")
    if not options.json:
        failures = f", {failed} failed" if failed else ""
        print(
            f"{printable(options.output)}: {counted(count, 'file')}, {human_size(size)}{failures}; "
            f"{MANIFEST} says what came from where"
        )
    return worst


def _opened(name: str) -> RangeSource:
    return watch(open_source(input_target(name)), printable(name))


def _as_json(told: Extracted | Outcome) -> dict[str, object]:
    if isinstance(told, Extracted):
        return told.as_json()
    return {
        "file": told.job.source,
        "target": told.job.target,
        "status": told.status,
        "records": told.result,
        "error": told.failure.as_json() if told.failure is not None else None,
    }


def _warn(text: str) -> None:
    if sys.stderr is not None:
        print(f"seekwarc: {printable(text)}", file=sys.stderr)
