"""Check files: their grammar, every checksum, every seek table, the rules of WARC, every digest.

Damage (bytes that are lost, wrong or hidden) is printed as it is found, with its offset and what to do about
it, and makes the exit status 1. Deviations break a rule of the standards but harm no reader: they are counted
by kind, with the first of each, and leave the exit status 0 unless --strict is given. `-` is standard input,
which is first stored in a temporary file. A folder stands for all WARC files in and below it.

seekwarc verify crawl.warc.zst
seekwarc verify --strict --json *.warc.gz
seekwarc verify crawls/ --jobs 4 --keep-going
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass

from seekwarc.cli.batch import add_batch_arguments, run_batch
from seekwarc.cli.common import (
    add_limit_arguments,
    human_size,
    input_target,
    limit_options,
    printable,
)
from seekwarc.format.words import counted
from seekwarc.read.options import ReadLimits
from seekwarc.storage.opening import open_source
from seekwarc.tools.batch import archives_in
from seekwarc.tools.outcome import Job, Status
from seekwarc.tools.pipes import searchable
from seekwarc.tools.verify import Problem, ProblemKind, ProblemSeverity, Verification, Verifier
from seekwarc.tools.work import JobContext

__all__ = ["add_arguments", "run"]

MAX_OF_A_KIND = 10
"""Problems of one kind that are printed for a file, without --all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 for deviations too")
    parser.add_argument(
        "--all", action="store_true", help="print every problem: all damage of a kind, each deviation"
    )
    parser.add_argument("--quiet", action="store_true", help="print problems only, no summary")
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object for each problem and each file, one a line"
    )
    add_batch_arguments(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    jobs = [Job(name) for name, _ in archives_in(options.files)]
    work = _Verifying(limit_options(options), options.strict)
    return run_batch(
        options,
        jobs,
        work,
        text=lambda result: _result_text(result, options),
        fields=_fields,
        on_event=lambda found: _print_problem(found[0], found[1], options),
        summary=not options.quiet,
    )


@dataclass(frozen=True, slots=True)
class _Verifying:
    """The work on one file; see `tools.work.Work`."""

    limits: ReadLimits
    strict: bool

    def __call__(self, job: Job, context: JobContext) -> tuple[Status, Verification]:
        with searchable(open_source(input_target(job.source))) as source:
            verifier = Verifier(source, on_progress=context.on_progress, **self.limits)
            for problem in verifier:
                context.emit((problem, verifier.result.codes[problem.code]))
        result = verifier.result
        found = not result.is_sound or (self.strict and result.deviations > 0)
        return Status.PROBLEMS if found else Status.DONE, result


def _print_problem(problem: Problem, count: int, options: argparse.Namespace) -> None:
    """Print damage, and with --all deviations.

    Args:
        problem: The problem.
        count: How many of its kind the file has had so far, including this one.
        options: The arguments.
    """
    if problem.severity is ProblemSeverity.DEVIATION and not options.all:
        return
    if options.json:
        print(json.dumps(_problem_json(problem)))
    else:
        if not options.all and count > MAX_OF_A_KIND:
            return
        last = not options.all and count == MAX_OF_A_KIND
        of = f" {printable(problem.record_id)}" if problem.record_id is not None else ""
        where = f"{printable(problem.source)}: {problem.offset}{of}"
        print(f"{where}: {problem.severity}: {printable(problem.message)}")
        print(
            f"    {problem.remedy}" + ("; more of this kind is not printed (--all prints it)" if last else "")
        )
    # People watch a long run.
    sys.stdout.flush()


def _problem_json(problem: Problem) -> dict[str, object]:
    return {
        "kind": "problem",
        "severity": problem.severity,
        "code": problem.code,
        "rule": problem.rule or None,
        "file": problem.source,
        "offset": problem.offset,
        "id": problem.record_id,
        "message": problem.message,
        "remedy": problem.remedy,
    }


def _fields(result: Verification | None) -> dict[str, object]:
    data: dict[str, object] = {"kind": "file"}
    if result is None:
        names = ("sound", "compression", "records", "digests", "tables", "stored_size", "lost")
        return data | dict.fromkeys((*names, "damage", "deviations"))
    return data | {
        "sound": result.is_sound,
        "compression": result.compression,
        "records": result.records,
        "digests": result.digests,
        "tables": result.tables,
        "stored_size": result.stored_size,
        "lost": result.lost,
        "damage": [_kind_json(kind) for kind in result.of(ProblemSeverity.DAMAGE)],
        "deviations": [_kind_json(kind) for kind in result.of(ProblemSeverity.DEVIATION)],
    }


def _kind_json(kind: ProblemKind) -> dict[str, object]:
    """Describe all problems of a kind by their number and the first of them."""
    first = kind.first
    return {
        "code": first.code,
        "rule": first.rule or None,
        "count": kind.count,
        "offset": first.offset,
        "id": first.record_id,
        "message": first.message,
        "remedy": first.remedy,
    }


def _result_text(result: Verification, options: argparse.Namespace) -> str | None:
    name = printable(result.source)
    deviations = result.of(ProblemSeverity.DEVIATION)
    lines = [] if options.quiet else [f"{name}: {_summary(result, len(deviations))}"]
    for kind in [] if options.all else deviations:
        of = f"{name}: " if options.quiet else "    "
        rule = f" ({kind.first.rule})" if kind.first.rule else ""
        first = f"{kind.first.code}{rule}, first at {kind.first.offset}: {printable(kind.first.message)}"
        lines.append(f"{of}{counted(kind.count, 'deviation')}: {first}")
        lines.append(f"        {kind.first.remedy}")
    return "\n".join(lines) or None


def _summary(result: Verification, kinds: int) -> str:
    found = "sound" if result.is_sound else "damaged"
    if result.damages:
        codes = [f"{kind.count} {kind.first.code}" for kind in result.of(ProblemSeverity.DAMAGE)]
        found += f" ({', '.join(codes)})"
    if result.deviations:
        found += f", {counted(result.deviations, 'deviation')} of {counted(kinds, 'kind')}"
    text = (
        f"{found}: {counted(result.records, 'record')}, {human_size(result.stored_size)}, "
        f"{counted(result.digests, 'digest')} and {counted(result.tables, 'seek table')} right"
    )
    return text + (f"; {human_size(result.lost)} lost" if result.lost else "")
