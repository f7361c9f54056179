"""`seekwarc index --sidecar`: the points at which large records can be entered, in a file beside each."""

from __future__ import annotations

import argparse
import os
from functools import partial

from seekwarc.cli.arguments import add_flag, add_value
from seekwarc.cli.batch import Printer, planned_jobs, refuse_unsound, run_batch
from seekwarc.cli.options import limit_options
from seekwarc.cli.passing import outside_wacz
from seekwarc.cli.printing import picked, say
from seekwarc.cli.targets import absolute, existing_option
from seekwarc.errors import SeekWarcError
from seekwarc.format.conditions import parse_size
from seekwarc.format.sidecar import SIDECAR_SUFFIX
from seekwarc.format.words import counted
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext
from seekwarc.make.sidecars import MIN_SIZE, SPACING, Sidecar, sidecar
from seekwarc.read.sidecar_file import is_sidecar_of
from seekwarc.storage.expand import expand
from seekwarc.storage.remote_url import is_url

__all__ = ["add_sidecar_arguments", "make_sidecars", "refuse_sidecar_options"]


def add_sidecar_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("sidecars")
    text = (
        f"write NAME{SIDECAR_SUFFIX} beside each FILE instead of an index: with it any range of a large "
        "record is read at once; one that exists and fits FILE is skipped"
    )
    add_flag(group, "--sidecar", text)
    text = f"smallest record to list, decompressed (default: {MIN_SIZE >> 20}M)"
    add_value(group, "--min-size", "SIZE", text, parse_size)
    text = f"content between points, which a read has to decompress (default: {SPACING >> 20}M)"
    add_value(group, "--spacing", "SIZE", text, parse_size)
    text = "take the points from an index of FILE by indexed_gzip or rapidgzip, and try them out"
    add_value(group, "--from-gzidx", "INDEX", text)


def refuse_sidecar_options(options: argparse.Namespace) -> None:
    """Refuse what says how sidecars are made, where none are."""
    for name in ("min_size", "spacing", "from_gzidx"):
        if getattr(options, name) is not None:
            raise SeekWarcError(f"--{name.replace('_', '-')} is for sidecars: give --sidecar too")


def make_sidecars(options: argparse.Namespace, made: dict[str, str] | None = None) -> int:
    """Make sidecars, and add to `made` the path of each by that of its file, if an index is made, too."""
    if made is None and (options.all or options.parquet or options.post_append or options.stated_digests):
        raise SeekWarcError(
            "--sidecar writes no index: leave out the options of one, or name one, -o NAME.cdxj"
        )

    def keep(job: Job, done: Sidecar | None) -> None:
        if made is not None and done is not None and done.records:
            made[absolute(job.source)] = absolute(job.target or "")

    if "-" in options.files:
        raise SeekWarcError("standard input has no sidecar, which is of a file: store it in one first")
    if options.output is not None or options.to_dir is not None:
        jobs = planned_jobs(options, lambda name: name + SIDECAR_SUFFIX)
    else:
        names = [*expand(options.files)]
        for name in names:
            if is_url(name):
                raise SeekWarcError(f"name the sidecar of {name} with -o, or a folder for it with --to-dir")
        why = "and its sidecar would be beside it: name a folder for it with --to-dir"
        names = outside_wacz(names, lambda error: say(f"{error}; the file is passed over"), why)
        jobs = [Job(name, name + SIDECAR_SUFFIX) for name in names]
    if options.from_gzidx is not None and len(jobs) > 1:
        raise SeekWarcError(f"{options.from_gzidx} is the index of one file, not of {len(jobs)}")
    printer = Printer(_text, _fields, lambda problem: say(str(problem)), keep)
    return run_batch(options, jobs, partial(_make, options), printer)


def _make(options: argparse.Namespace, job: Job, context: JobContext) -> tuple[Status, Sidecar | None]:
    target = job.target or ""
    if not options.force and os.path.lexists(target):
        refuse_unsound(target, job.source, lambda path: is_sidecar_of(path, job.source))
        return Status.SKIPPED, None
    with context.output(target, existing_option(options)) as output:
        done = sidecar(
            job.source,
            output,
            gzidx=options.from_gzidx,
            min_size=options.min_size or MIN_SIZE,
            spacing=options.spacing or SPACING,
            on_problem=context.emit,
            on_progress=context.on_progress,
            **limit_options(options),
        )
        # Without records it was not committed.
        output.abort()
    return Status.PROBLEMS if done.problems else Status.DONE, done


def _fields(done: Sidecar | None) -> dict[str, object]:
    return picked(done, "records", "spans", "problems")


def _text(done: Sidecar) -> str:
    if not done.records:
        return "no sidecar, because no record of that size (--min-size) is one gzip member or large frame"
    return f"{counted(done.records, 'record')}, {counted(done.spans, 'span')}"
