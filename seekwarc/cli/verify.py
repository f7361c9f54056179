"""Check files: their grammar, every checksum, every seek table, the rules of WARC, every digest.

What is found is printed with its offset and what to do about it. Exit status 1 means that something is wrong;
warnings alone leave it 0. `-` is standard input, which is first stored in a temporary file.

seekwarc verify crawl.warc.zst
seekwarc verify --json *.warc.gz
"""

from __future__ import annotations

import argparse
import json
import sys

from seekwarc.cli.common import (
    add_limit_arguments,
    human_size,
    input_target,
    limit_options,
    printable,
    watch,
)
from seekwarc.format.rules import Severity
from seekwarc.storage.source import open_source
from seekwarc.tools.aside import searchable
from seekwarc.tools.verify import Problem, Verification, Verifier

__all__ = ["add_arguments", "run"]

MOST_OF_A_KIND = 10
"""Problems of one kind that are printed of a file, unless all are asked for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--all", action="store_true", help="print every problem, not only ten of a kind")
    parser.add_argument("--quiet", action="store_true", help="print problems only, no summary")
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object for each problem and each file, one a line"
    )
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    sound = True
    for name in options.files:
        with searchable(open_source(input_target(name))) as source:
            verifier = Verifier(source, watch=watch, **limit_options(options))
            for problem in verifier:
                count = verifier.result.codes[problem.code]
                if options.json:
                    print(json.dumps(_problem_json(problem)))
                elif options.all or count <= MOST_OF_A_KIND:
                    _print_problem(problem, last=not options.all and count == MOST_OF_A_KIND)
                # Whoever watches a long run wants to see what was found so far.
                sys.stdout.flush()
        result = verifier.result
        sound = sound and result.is_sound
        if options.json:
            print(json.dumps(_result_json(result)))
        elif not options.quiet:
            print(_summary(result))
    return 0 if sound else 1


def _print_problem(problem: Problem, *, last: bool) -> None:
    of = f" {printable(problem.record_id)}" if problem.record_id is not None else ""
    where = f"{printable(problem.source)}: {problem.offset}{of}"
    print(f"{where}: {problem.severity}: {printable(problem.message)}")
    print(
        f"    {problem.remedy}" + ("; more of this kind are not printed (--all prints them)" if last else "")
    )


def _problem_json(problem: Problem) -> dict[str, object]:
    return {
        "kind": "problem",
        "code": problem.code,
        "severity": problem.severity,
        "file": problem.source,
        "offset": problem.offset,
        "id": problem.record_id,
        "message": problem.message,
        "remedy": problem.remedy,
    }


def _result_json(result: Verification) -> dict[str, object]:
    data = {name: getattr(result, name) for name in result.__slots__ if name != "source"}
    return {"kind": "file", "file": result.source, "sound": result.is_sound, **data}


def _summary(result: Verification) -> str:
    warnings = sum(result.codes.values()) - result.errors
    found = "sound" if result.is_sound else f"{result.errors} {Severity.ERROR}s"
    text = (
        f"{printable(result.source)}: {found}"
        + (f", {warnings} {Severity.WARNING}s" if warnings else "")
        + f": {result.records} records, {human_size(result.stored_size)}, {result.digests} digests and "
        f"{result.tables} seek tables right"
    )
    if result.lost:
        text += f"; {human_size(result.lost)} lost"
    kinds = ", ".join(f"{count} {code}" for code, count in result.codes.most_common())
    return text + (f"\n    {kinds}" if kinds else "")
