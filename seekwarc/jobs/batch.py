"""Work on many files, one after another or several at a time: plan it, run it, report on each file.

The plan is made before anything is written, and refused if names collide. `work.attempt` works on one file,
in this process, in others (`tools.workers`) or on other machines (`compat.cluster`), so all do the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, Protocol

from seekwarc.cdx.places import base_name
from seekwarc.errors import TargetError
from seekwarc.jobs.outcome import Job, Outcome, Status
from seekwarc.jobs.parts import MIN_SIZE
from seekwarc.jobs.progress import Progress, counting
from seekwarc.jobs.work import JobContext, Report, Work, attempt
from seekwarc.storage.expand import placed

__all__ = ["Pool", "jobs_into", "run", "size_of"]

MAX_LISTED: Final = 3
"""Maximum number of collisions in a message."""


def _is_same(path: str, other: str) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def jobs_into(
    folder: str, names: Iterable[str], rename: Callable[[str], str], *, flat: bool = False
) -> list[Job]:
    """Plan to make one file in a folder of each source, below it where the source is below a named folder.

    A file that was found in a folder and is its own target was made by an earlier run, and is skipped. No
    target is outside of the folder, whatever the names and the links in it are.

    Args:
        folder: The folder for new files.
        names: Files, folders and patterns.
        rename: Returns the base name of the new file for that of a source.
        flat: Make all files in the folder itself.
    """
    jobs: list[Job] = []
    given = list(names)
    for source, place in placed(given, leave_out=folder):
        if source == "-":
            raise TargetError(
                "standard input has no name that a file in a folder could get; name one file with -o"
            )
        *parents, base = [base_name(source)] if flat or place is None else place.split("/")
        if any(it in ("", ".", "..") or "/" in it or "\0" in it for it in (*parents, base)):
            raise TargetError(f"has no name that a file in {folder} could get", source=source)
        target = os.path.join(folder, *parents, rename(base))
        if _is_same(source, target):
            if source not in given:
                continue
            raise TargetError("source and target are the same file", source=source)
        jobs.append(Job(source, target))
    _refuse_collisions(jobs, folder, flat=flat)
    return jobs


def _refuse_collisions(jobs: Sequence[Job], folder: str, *, flat: bool) -> None:
    sources: dict[str, list[str]] = {}
    for job in jobs:
        sources.setdefault(os.path.normcase(job.target or ""), []).append(job.source)
    collisions = [
        f"{' and '.join(it)} would both become {target}" for target, it in sources.items() if len(it) > 1
    ]
    roots = {os.path.normcase(folder), ""}
    for job in jobs:
        parent = os.path.dirname(os.path.normcase(job.target or ""))
        while parent not in roots:
            roots.add(parent)
            if parent in sources:
                collisions.append(f"{sources[parent][0]} would become {parent}, the folder for {job.source}")
            parent = os.path.dirname(parent)
    if collisions:
        rest = len(collisions) - MAX_LISTED
        listed = [*collisions[:MAX_LISTED], *([f"and {rest} more"] if rest > 0 else [])]
        way_out = "Use the tree (without --flat)" if flat else "Name the folder that they are all in"
        raise TargetError(
            f"{'; '.join(listed)}. {way_out}, or give them different folders; nothing was written"
        )
    paths = {os.path.realpath(job.source) for job in jobs if "://" not in job.source}
    inside = os.path.join(os.path.realpath(folder), "")
    for job in jobs:
        target = os.path.realpath(job.target or "")
        if target in paths:
            raise TargetError(
                f"is the output for {job.source}, but also one of the inputs; choose a folder other than "
                f"{folder}. Nothing was written",
                source=job.target,
            )
        if not target.startswith(inside):
            raise TargetError(
                f"is outside of {folder}, where a symbolic link leads: {target}. Nothing was written",
                source=job.target,
            )


def size_of(job: Job) -> int:
    """Return the size of a local file, 0 of anything else."""
    return os.path.getsize(job.source) if os.path.isfile(job.source) else 0


class Pool(Protocol):
    """Other processes, which work on several files at a time."""

    def __call__(
        self, jobs: Sequence[Job], work: Work, report: Report, *, keep_going: bool, folder: str | None
    ) -> Iterator[Outcome]:
        """Yield the outcome for each file as soon as it is known; for the arguments see `run`."""


def run(
    jobs: Sequence[Job],
    work: Work,
    report: Report,
    *,
    processes: int = 1,
    pool: Pool | None = None,
    keep_going: bool = False,
    folder: str | None = None,
    on_progress: Progress | None = None,
) -> int:
    """Work on files, and report on each; return the highest exit status of an outcome: 0, 1 or 2.

    Each of `processes` works on a file of its own, or all on parts of the same, where there are few and large
    files. `report` is called in this process. `pool` works instead of `processes`. In this process,
    `on_progress` wraps each source that is read, instead of calls of `report.on_progress`.
    """
    in_parts = len(jobs) < processes and any(size_of(job) >= MIN_SIZE for job in jobs)
    if pool is None and processes > 1 and len(jobs) > 1 and not in_parts:
        # Imported only when needed: it takes a while.
        from seekwarc.jobs.workers import run_in_processes

        pool = partial(run_in_processes, processes=min(processes, len(jobs)))
    if pool is not None:
        outcomes = pool(jobs, work, report, keep_going=keep_going, folder=folder)
    else:
        outcomes = _run_here(jobs, work, report, processes, keep_going=keep_going, on_progress=on_progress)
    worst = 0
    for outcome in outcomes:
        report.on_outcome(outcome)
        worst = max(worst, outcome.exit_status)
    return worst


def _run_here(
    jobs: Sequence[Job],
    work: Work,
    report: Report,
    processes: int,
    *,
    keep_going: bool,
    on_progress: Progress | None,
) -> Iterator[Outcome]:
    for number, job in enumerate(jobs, 1):
        shown = counting(job.source, report.on_progress) if on_progress is None else on_progress
        context = JobContext(partial(report.on_event, job), shown, processes=processes)
        outcome = attempt(job, work, context)
        yield outcome
        if outcome.status is Status.FAILED and not keep_going:
            yield from (Outcome(it, Status.NOT_RUN) for it in jobs[number:])
            return
