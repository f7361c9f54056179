"""What --dry-run says of files that take too long to try: ranges, from a sample."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

from seekwarc.cli.batch import output_of, processes_of, skips_existing
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, output_target
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.frames.pieces import Compression
from seekwarc.jobs.batch import size_of
from seekwarc.jobs.outcome import Job
from seekwarc.jobs.progress import no_progress
from seekwarc.jobs.work import JobContext
from seekwarc.make.estimating import Conversion, Estimate, Work, estimate
from seekwarc.read.options import ReadLimits
from seekwarc.storage.remote_url import is_url
from seekwarc.system import cores, temporary_folder
from seekwarc.write.output import NoOutput, Output

__all__ = ["no_output", "print_conversion", "print_estimate", "size_of_made"]

MINUTE = 60
HOUR = 3600


def print_conversion(
    options: argparse.Namespace,
    jobs: Sequence[Job],
    compression: Compression,
    settings: dict[str, Any],
    limits: ReadLimits,
) -> bool:
    """Print what converting files would take; return False if that is found out by trying all of it.

    Raises:
        TargetExistsError: There is a file of a target's name.
    """
    jobs = [it for it in jobs if not (skips_existing(options) and os.path.lexists(it.target or ""))]
    for job in jobs:
        name = job.target or ""
        with output_of(options, JobContext(print, no_progress), output_target(name), name):
            pass
    given = {**settings, "threads": 1} if _processes(options, jobs) > 1 and compression == "zst" else settings
    return print_estimate(
        options, jobs, Conversion(compression, not options.no_verify, limits, given), limits
    )


def print_estimate(options: argparse.Namespace, jobs: Sequence[Job], work: Work, limits: ReadLimits) -> bool:
    """Print what work on files would take; return False if that is found out by trying all of it."""
    sizes = [(it.source, size_of(it)) for it in jobs]
    if options.quiet or options.dask is not None or not all(size for _, size in sizes):
        return False
    processes = _processes(options, jobs)
    found = estimate(sizes, work, processes=processes, limits=limits)
    if found is not None:
        print(_json(found, len(jobs), processes) if options.json else _text(found, len(jobs), processes))
    return found is not None


def size_of_made(make: Callable[[str, JobContext], object], ending: str) -> int:
    """Return how many bytes are in the files that are made when a function gets a name with an ending."""
    with temporary_folder("seekwarc-") as folder:
        # What is wrong with records is said by the run itself.
        make(os.path.join(folder, f"new{ending}"), JobContext(lambda _: None, no_progress))
        return sum(it.stat().st_size for it in os.scandir(folder))


def no_output(options: argparse.Namespace, name: str) -> Output:
    """Return an output that keeps nothing, of a name that the new file could get.

    Raises:
        TargetExistsError: There is a file of this name.
    """
    is_path = name != "-" and not is_url(name)
    return NoOutput(name if name != "-" else "standard output", existing_option(options) if is_path else None)


def _processes(options: argparse.Namespace, jobs: Sequence[Job]) -> int:
    return min(processes_of(options, jobs), cores())


def _text(found: Estimate, files: int, processes: int) -> str:
    least, most = found.target_size
    hours = _duration(*found.seconds)
    shares = f"{least / found.source_size:.1%} to {most / found.source_size:.1%}"
    return (
        f"{counted(files, 'file')}, {human_size(found.source_size)}: would become about "
        f"{human_size(least)} to {human_size(most)} ({shares}), in {hours} with --jobs {processes}\n"
        f"measured on {counted(found.samples, 'sample')}, {human_size(found.sampled_size)}; damage elsewhere "
        "was not looked for"
    )


def _duration(least: float, most: float) -> str:
    if most < 2 * MINUTE:
        return f"{least:.0f} to {most:.0f} seconds"
    if most < 2 * HOUR:
        return f"{least / MINUTE:.0f} to {most / MINUTE:.0f} minutes"
    return f"{least / HOUR:.1f} to {most / HOUR:.1f} hours"


def _json(found: Estimate, files: int, processes: int) -> str:
    return json_text(
        {
            "kind": "estimate",
            "files": files,
            "stored_size": found.source_size,
            "samples": found.samples,
            "sampled_size": found.sampled_size,
            "target_size_range": list(found.target_size),
            "seconds_range": [round(it, 1) for it in found.seconds],
            "jobs": processes,
        }
    )
