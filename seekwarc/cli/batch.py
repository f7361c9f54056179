"""What verbs over many files share: which files, how many at a time, and what is printed about each."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from seekwarc.cli.arguments import add_jobs_argument, add_output_arguments, add_value
from seekwarc.cli.options import (
    ALWAYS,
    GO_ON,
    add_dry_run_argument,
    add_keep_going_argument,
    add_quiet_argument,
    add_to_dir_arguments,
    writer_options,
)
from seekwarc.cli.printing import passed_over, printable, report, say
from seekwarc.cli.progress import Advance, advancing, watch
from seekwarc.cli.targets import absolute, existing_option, output_target
from seekwarc.compiling import override
from seekwarc.errors import SeekWarcError, SourceError, TargetExistsError
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.jobs.batch import Pool, jobs_into, run, size_of
from seekwarc.jobs.outcome import Job, Outcome, Status
from seekwarc.jobs.parts import MIN_SIZE
from seekwarc.jobs.work import JobContext, Report, Work
from seekwarc.storage.expand import expand
from seekwarc.storage.remote_url import is_url
from seekwarc.storage.zip_members import is_wacz, split_name
from seekwarc.system import cores, default_threads
from seekwarc.write.files import make_folder, refuse_url
from seekwarc.write.output import NoOutput, Output

__all__ = [
    "Printer",
    "add_batch_arguments",
    "add_copy_arguments",
    "as_json",
    "check_age",
    "output_of",
    "planned_jobs",
    "processes_of",
    "refuse_flat",
    "refuse_unsound",
    "renamed",
    "run_batch",
    "skips_existing",
    "targets_of",
    "writer_options_of_each",
]

NOTHING_TO_DO: Final = "nothing to do: every file found is in the folder of the new ones, as its own new one"
MAX_FAILED: Final = 20
"""Failed files that are listed at the end."""
_SUFFIX = re.compile(r"\.(gz|zstd?)$", re.IGNORECASE)

STATUS_WORDS: Final = {
    Status.DONE: "done",
    Status.PROBLEMS: "done with problems",
    Status.SKIPPED: "skipped",
    Status.FAILED: "failed",
    Status.NOT_RUN: "not started",
}


def add_batch_arguments(
    parser: argparse.ArgumentParser, *, made: str | None = None, looks: bool = False
) -> None:
    """Add the options of `run_batch`; with `looks`, of a verb that only looks, and so always goes on."""
    group = parser.add_argument_group("many files")
    if made is not None:
        add_to_dir_arguments(group, f"{made} for each FILE", "; a sound one that exists is skipped")
    text = "processes, for files and for parts of a large one (default: one per core, one for small files)"
    add_jobs_argument(group, text, None)
    text = (
        "let the workers of the Dask cluster at this address (tcp://host:8786) process the files; they "
        "open each FILE, and DIR, by the same name"
    )
    add_value(group, "--dask", "ADDRESS", text)
    add_keep_going_argument(group, ALWAYS if looks else GO_ON)
    add_quiet_argument(group)
    parser.set_defaults(keep_going=looks, dry_run=False)


def processes_of(options: argparse.Namespace, jobs: Sequence[Job]) -> int:
    """Return how many processes share the work."""
    if options.jobs is not None:
        return int(options.jobs)
    is_small = sum(map(size_of, jobs)) < MIN_SIZE or any(job.source == "-" for job in jobs)
    return 1 if is_small or options.dask is not None else cores()


def writer_options_of_each(options: argparse.Namespace, jobs: Sequence[Job]) -> dict[str, Any]:
    """Return the options of the `Writer` of each job. Jobs share the cores."""
    given = writer_options(options)
    if options.dask is not None:
        # A cluster has a worker thread for each core.
        given.setdefault("threads", 1)
    elif len(jobs) > 1 and (processes := processes_of(options, jobs)) > 1:
        given.setdefault("threads", max(1, default_threads() // processes))
    return given


def add_copy_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    """Add the names of files and new files, for `planned_jobs`."""
    parser.usage = (
        f"seekwarc {verb} [options] SRC DST\n"
        f"       seekwarc {verb} [options] SRC -o DST\n"
        f"       seekwarc {verb} [options] FILE|FOLDER... --to-dir DIR"
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="SRC and DST; with --to-dir, files and folders"
    )
    add_output_arguments(parser, "DST", "the new file", required=False)
    add_dry_run_argument(parser, "written")


def renamed(name: str, suffix: str) -> str:
    """Return the base name of a file in another compression: "a.warc.gz" becomes "a.warc" and the suffix."""
    bare = _SUFFIX.sub("", name)
    if not bare.lower().endswith("warc"):
        bare += ".warc"
    return bare + suffix


def check_age(target: str, source: str) -> bool:
    """Return whether a file is at least as new as the one it was made from; True if that is a URL."""
    if "://" in source:
        return True
    source = (split_name(source) or (source,))[0]
    try:
        return os.stat(target).st_mtime_ns >= os.stat(source).st_mtime_ns
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", source=error.filename) from error


def _jobs_in_new_folder(options: argparse.Namespace, rename: Callable[[str], str]) -> list[Job]:
    """Plan to make one file in a folder of each source, and make the folder, with those below it."""
    folder: str = options.to_dir
    refuse_url(folder)
    jobs = jobs_into(folder, options.files, rename, flat=options.flat)
    if options.dry_run:
        return jobs
    for path in dict.fromkeys([folder, *(os.path.dirname(job.target or "") for job in jobs)]):
        make_folder(path)
    return jobs


def refuse_flat(options: argparse.Namespace) -> None:
    """Refuse --flat where no folder for new files is named."""
    if options.flat and options.to_dir is None:
        raise SeekWarcError("--flat is for the new files in a folder: name it with --to-dir")


def targets_of(options: argparse.Namespace) -> tuple[list[str], str | BinaryIO | list[str] | None]:
    """Return the files that are named, and where all of them go (-o), or each of them (--to-dir)."""
    refuse_flat(options)
    if options.to_dir is None:
        return [*expand(options.files)], output_target(options.output) if options.output is not None else None
    jobs = _jobs_in_new_folder(options, lambda name: renamed(name, ".zst"))
    return [job.source for job in jobs], [job.target or "" for job in jobs]


def planned_jobs(options: argparse.Namespace, rename: Callable[[str], str]) -> list[Job]:
    """Return which file is made from which: SRC DST, SRC -o DST, or FILE... --to-dir DIR, which is made."""
    if options.to_dir is not None:
        if options.output is not None:
            raise SeekWarcError("-o names one new file, --to-dir a folder for many: give only one of them")
        return _jobs_in_new_folder(options, rename)
    sources, target = options.files, options.output
    if target is None:
        *sources, target = sources
    if not sources or not target:
        text = "name the new file too, or a folder for new files with --to-dir"
        raise SeekWarcError(text, source=target or None)
    if is_wacz(sources[0]) and len(sources) == 1:
        if os.path.isdir(target) or target.endswith("/"):
            options.files, options.to_dir = sources, target
            return _jobs_in_new_folder(options, rename)
        sources = [*expand(sources)]
    refuse_flat(options)
    if len(sources) > 1:
        raise SeekWarcError(
            f"{len(sources)} files cannot become one: name a folder for the new files with --to-dir"
        )
    for name, place in ((sources[0], "is a directory"), (target, "cannot be written: is a directory")):
        if "://" not in name and os.path.isdir(name):
            raise SourceError(
                f"{place}; to process the files in it, name a folder for new files with --to-dir", source=name
            )
    return [Job(sources[0], target)]


@contextmanager
def output_of(
    options: argparse.Namespace, context: JobContext, target: str | BinaryIO, name: str
) -> Iterator[Output]:
    """Open the target of a job, of this name; with --dry-run, an output that keeps nothing."""
    existing = existing_option(options)
    if not options.dry_run:
        with context.output(target, existing) as output:
            yield output
        return
    is_new_folder = options.to_dir is not None and not os.path.isdir(options.to_dir)
    is_path = isinstance(target, str) and not is_url(target) and not is_new_folder
    yield NoOutput(name, existing if is_path else None)


def skips_existing(options: argparse.Namespace) -> bool:
    """Return whether an existing target is skipped if it is sound."""
    return options.to_dir is not None and not options.force


def refuse_unsound(target: str, source: str, is_sound: Callable[[str], bool]) -> None:
    """Raise an error unless an existing target is sound and no older than its source."""
    if not (check_age(target, source) and is_sound(target)):
        raise TargetExistsError(
            f"exists already, but is damaged or older than {source}; --force replaces it", source=target
        )


def as_json(outcome: Outcome, fields: dict[str, object]) -> dict[str, object]:
    return {
        "file": outcome.job.source,
        "target": outcome.job.target,
        "status": outcome.status,
        **fields,
        "error": outcome.failure.as_json() if outcome.failure is not None else None,
    }


@dataclass
class Printer(Report):
    """Prints what happens to the files of a batch."""

    text: Callable[[Any], str | None]
    """Returns the line to print for a result, or None."""
    fields: Callable[[Any], dict[str, object]]
    """Returns the JSON fields of a result, or of None if the file failed."""
    event: Callable[[Any], object] = print
    """Prints what is found along the way."""
    keep: Callable[[Job, Any], object] | None = None
    """Called with each result, in this process."""
    skipped: str = "exists already"
    """What is printed about a file that is skipped."""
    summary: bool = True
    """Whether to print a count of outcomes at the end, if there are several files."""
    total: Callable[[], str | None] = lambda: None
    """Returns a last line about all results, or None."""
    is_listing: bool = False
    """Whether the lines are what was asked for, or problems, which are printed with --quiet, too."""
    quiet: bool = field(default=False, init=False)
    is_dry: bool = field(default=False, init=False)
    show_json: bool = field(default=False, init=False)
    show_names: bool = field(default=False, init=False)
    advance: Advance | None = field(default=None, init=False)
    _counts: Counter[Status] = field(default_factory=Counter, init=False)
    _failed: list[Outcome] = field(default_factory=list, init=False)

    @override
    def on_event(self, job: Job, event: object) -> None:
        with self._beside_the_bar():
            self.event(event)

    @override
    def on_progress(self, size: int) -> None:
        if self.advance is not None:
            self.advance(size)

    @override
    def on_outcome(self, outcome: Outcome) -> None:
        self._counts[outcome.status] += 1
        if self.keep is not None and outcome.result is not None:
            self.keep(outcome.job, outcome.result)
        with self._beside_the_bar():
            if outcome.failure is not None:
                self._failed.append(outcome)
                say(outcome.failure.message + outcome.failure.way_out)
            line = self._json(outcome) if self.show_json else self._line(outcome)
            if line is not None:
                report(line, target=outcome.job.target or "")
                if sys.stdout is not None:
                    # People watch a long run.
                    sys.stdout.flush()

    def _json(self, outcome: Outcome) -> str:
        return json_text(as_json(outcome, self.fields(outcome.result)))

    def _line(self, outcome: Outcome) -> str | None:
        job = outcome.job
        if self.quiet and outcome.status is not Status.PROBLEMS and not self.is_listing:
            return None
        names = f"{printable(job.source)} -> {printable(job.target)}" if job.target else printable(job.source)
        if outcome.status is Status.SKIPPED:
            return f"{names}: {printable(self.skipped)}"
        if outcome.status in (Status.FAILED, Status.NOT_RUN):
            return None
        text = self.text(outcome.result)
        if text is not None and self.is_dry:
            text = f"would be written: {text}"
        return f"{names}: {text}" if text is not None and self.show_names and job.target else text

    def _beside_the_bar(self) -> AbstractContextManager[object]:
        return self.advance.beside_the_bar() if self.advance is not None else nullcontext()

    def say_failed(self, *, passes_over: bool) -> None:
        """Say how many files failed, if any: what is printed is about the others."""
        if self._failed:
            total = self._counts.total()
            say(passed_over(len(self._failed), total) if passes_over else self._outcomes())

    def _outcomes(self) -> str:
        each = ", ".join(
            f"{self._counts[status]} {text}" for status, text in STATUS_WORDS.items() if self._counts[status]
        )
        return f"{counted(self._counts.total(), 'file')}: {each}"

    def print_summary(self) -> None:
        """Print how many files there were, by outcome, and which of them failed."""
        total = self._counts.total()
        print(self._outcomes() if total else NOTHING_TO_DO)
        if (line := self.total()) is not None:
            print(line)
        # What was printed about each may be thousands of lines ago.
        for outcome in self._failed[:MAX_FAILED] if total > 1 else []:
            kind = outcome.failure.kind if outcome.failure is not None else ""
            print(f"    failed: {printable(outcome.job.source)} ({kind})")
        if len(self._failed) > MAX_FAILED:
            print(f"    and {len(self._failed) - MAX_FAILED} more")


def run_batch(options: argparse.Namespace, jobs: Sequence[Job], work: Work, printer: Printer) -> int:
    folder = getattr(options, "to_dir", None) if not options.dry_run else None
    many = len(jobs) > 1 or getattr(options, "to_dir", None) is not None
    pool = None
    if options.dask is not None:
        pool = _cluster(options)
        jobs = [Job(absolute(job.source), job.target and absolute(job.target)) for job in jobs]
        folder = folder and absolute(folder)
    processes = processes_of(options, jobs)
    if (pool is not None or (processes > 1 and len(jobs) > 1)) and any(it.source == "-" for it in jobs):
        option = "--jobs" if pool is None else "--dask"
        raise SeekWarcError(f"standard input can be read by one process only: leave out {option}")
    shows_bar = many or pool is not None
    printer.show_json, printer.show_names, printer.quiet = (
        options.json,
        many or options.dry_run,
        options.quiet,
    )
    printer.is_dry = options.dry_run
    with ExitStack() as opened:
        if shows_bar and not options.quiet:
            label, total = counted(len(jobs), "file"), sum(map(size_of, jobs))
            printer.advance = opened.enter_context(advancing(options, label, total))
        status = run(
            jobs,
            work,
            printer,
            processes=processes,
            pool=pool,
            keep_going=options.keep_going,
            folder=folder,
            on_progress=None if shows_bar else watch(options),
        )
    if many and not options.json:
        if printer.summary and not options.quiet:
            printer.print_summary()
        else:
            printer.say_failed(passes_over=options.keep_going)
    return status


def _cluster(options: argparse.Namespace) -> Pool:
    if options.jobs is not None and options.jobs > 1:
        raise SeekWarcError("--jobs is for processes of this machine, --dask for a cluster: give only one")
    try:
        from seekwarc.compat.cluster import Cluster
    except ImportError as error:
        raise SeekWarcError(f"--dask needs {error.name}: pip install 'seekwarc[dask]'") from error
    return Cluster(options.dask)
