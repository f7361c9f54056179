"""`seekwarc index --text`: a search index of the texts in files, made or brought up to date."""

from __future__ import annotations

import argparse
import os
from functools import partial

from seekwarc.cli.batch import Printer, run_batch
from seekwarc.cli.beside import is_search_index
from seekwarc.cli.options import limit_options
from seekwarc.cli.printing import picked, report, say
from seekwarc.cli.spools import Spools
from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.format.words import counted
from seekwarc.inside.parsing import resiliparse_needed
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext
from seekwarc.make.text_indexing import IndexUpdate, PageSpool, TextIndexing, spool_pages, version_of
from seekwarc.read.options import ReadLimits
from seekwarc.storage.expand import expand
from seekwarc.write.files import refuse_same_file

__all__ = ["make_text_index"]

NOT_WITH_TEXT = (
    "all",
    "parquet",
    "post_append",
    "stated_digests",
    "sidecar",
    "to_dir",
    "dask",
    "dir_root",
    "dry_run",
)


def make_text_index(options: argparse.Namespace) -> int:
    """Index the files that are new or have changed, and replace the index if there are any."""
    resiliparse_needed()
    for name in NOT_WITH_TEXT:
        if getattr(options, name):
            raise SeekWarcError(f"--{name.replace('_', '-')} is for other indexes: leave it out with --text")
    if options.output is None or options.output == "-":
        raise SeekWarcError("a search index is a file of its own: name it, -o NAME.fts")
    if os.path.exists(options.output) and not is_search_index(options.output):
        raise SeekWarcError("exists and is not a search index; name another file", source=options.output)
    sources = list(expand(options.files))
    if "-" in sources:
        raise SeekWarcError("standard input cannot be indexed: a search reads pages again; store a file")
    for source in sources:
        refuse_same_file(source, options.output)
    with IndexUpdate(options.output, rebuild=options.force) as update:
        done = update.done
        versions = {source: _version(source) for source in sources}
        jobs = [Job(it) for it in sources if not update.has(it, versions[it])]
        done.unchanged = len(sources) - len(jobs)
        queue = _Queue(update, [*jobs], versions)
        printer = Printer(
            lambda _: None, _fields, lambda problem: say(str(problem)), queue.put, summary=False
        )
        work = partial(_spool, limit_options(options), Spools(update.folder))
        status = run_batch(options, jobs, work, printer) if jobs else 0
        queue.finish()
        if not jobs or not done.files or (done.files < len(jobs) and not options.keep_going):
            if not jobs and not (options.json or options.quiet):
                report(f"{update.name}: up to date, {_files(done)}", target="")
            return status
        update.commit()
    if not (options.json or options.quiet):
        report(f"{update.name}: {_text(done)}", target="")
    return status


def _version(source: str) -> str | None:
    try:
        return version_of(source)
    except SourceError:
        # The work on it fails, and says why.
        return None


class _Queue:
    """Adds what was found in files to the index, in the order of the files, whichever is ready first."""

    def __init__(self, update: IndexUpdate, jobs: list[Job], versions: dict[str, str | None]) -> None:
        self._update = update
        self._jobs = jobs
        self._versions = versions
        self._ready: set[str] = set()

    def put(self, job: Job, found: PageSpool) -> None:
        self._update.done.problems += found.problems
        self._ready.add(job.source)
        while self._jobs and self._jobs[0].source in self._ready:
            self._add(self._jobs[0])

    def finish(self) -> None:
        """Add what waits for a file that failed."""
        for job in [it for it in self._jobs if it.source in self._ready]:
            self._add(job)

    def _add(self, job: Job) -> None:
        self._jobs.remove(job)
        self._ready.discard(job.source)
        self._update.add(job.source, self._versions[job.source], Spools(self._update.folder).path(job))


def _spool(limits: ReadLimits, spools: Spools, job: Job, context: JobContext) -> tuple[Status, PageSpool]:
    found = spool_pages(
        job.source,
        spools.path(job),
        on_problem=context.emit,
        on_progress=context.on_progress,
        processes=context.processes,
        limits=limits,
    )
    return Status.PROBLEMS if found.problems else Status.DONE, found


def _fields(found: PageSpool | None) -> dict[str, object]:
    return picked(found, "captures", "problems")


def _text(done: TextIndexing) -> str:
    parts = [counted(done.pages, "page"), counted(done.captures, "capture"), _files(done)]
    if done.problems:
        parts.append(counted(done.problems, "problem"))
    return ", ".join(parts)


def _files(done: TextIndexing) -> str:
    unchanged = f"{counted(done.unchanged, 'file')} unchanged" if done.unchanged else ""
    read = f"{counted(done.files, 'file')} read" if done.files else ""
    return ", ".join(filter(None, [read, unchanged]))
