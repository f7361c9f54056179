"""What --dry-run says of files that take too long to try: ranges, from a sample."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from seekwarc.cli.batch import output_of, processes_of, skips_existing
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import output_target
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.frames.pieces import Compression
from seekwarc.jobs.batch import size_of
from seekwarc.jobs.outcome import Job
from seekwarc.jobs.work import JobContext
from seekwarc.make.estimating import Estimate, estimate
from seekwarc.read.options import ReadLimits
from seekwarc.system import cores

__all__ = ["print_estimate"]

MINUTE = 60
HOUR = 3600


def print_estimate(
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
    sizes = [(it.source, size_of(it)) for it in jobs]
    if options.quiet or options.dask is not None or not all(size for _, size in sizes):
        return False
    for job in jobs:
        name = job.target or ""
        with output_of(options, JobContext(print, lambda source, _: source), output_target(name), name):
            pass
    processes = min(processes_of(options, jobs), cores())
    given = {**settings, "threads": 1} if processes > 1 and compression == "zst" else settings
    verify = not options.no_verify
    found = estimate(sizes, compression, processes=processes, verify=verify, limits=limits, **given)
    if found is not None:
        print(_json(found, len(jobs), processes) if options.json else _text(found, len(jobs), processes))
    return found is not None


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
