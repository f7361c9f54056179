"""What verbs over many files share: which files, how many at a time, and what is printed about each."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, Final

from seekwarc.cli.printing import printable, report
from seekwarc.cli.progress import progress_is_seen, watch
from seekwarc.cli.targets import absolute
from seekwarc.errors import SeekWarcError, SourceError, TargetError
from seekwarc.format.words import counted
from seekwarc.system import default_threads
from seekwarc.tools.batch import Pool, jobs_into, run
from seekwarc.tools.outcome import Job, Outcome, Status
from seekwarc.tools.work import Work

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = [
    "MAX_JOBS",
    "add_batch_arguments",
    "as_json",
    "check_age",
    "parse_jobs",
    "planned_jobs",
    "renamed",
    "run_batch",
    "threads_of_each",
]

MAX_JOBS: Final = 256
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


def add_batch_arguments(parser: argparse.ArgumentParser, *, made: str | None = None) -> None:
    """Add the options for many files."""
    group = parser.add_argument_group("many files")
    if made is not None:
        group.add_argument(
            "--to-dir",
            metavar="DIR",
            help=f"write {made} for each FILE into this folder; a sound one that exists is skipped",
        )
    group.add_argument(
        "-j",
        "--jobs",
        type=parse_jobs,
        default=1,
        metavar="N",
        help="files to process at the same time (default: 1)",
    )
    group.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="let the workers of the Dask cluster at this address (tcp://host:8786) process the files; they "
        "open each FILE, and DIR, by the same name",
    )
    group.add_argument(
        "-k", "--keep-going", action="store_true", help="continue with the other files after one has failed"
    )


def parse_jobs(text: str) -> int:
    """Parse how many files are processed at the same time, for argparse."""
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MAX_JOBS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MAX_JOBS}")
    return int(text)


def threads_of_each(options: argparse.Namespace) -> int | None:
    """Return how many threads a job may have, since jobs share the cores; None if it may have all of them."""
    if options.dask is not None:
        # A cluster has a worker thread for each core.
        return 1
    return max(1, default_threads() // options.jobs) if options.jobs > 1 else None


def renamed(name: str, suffix: str) -> str:
    """Return the name of a file in another compression: "a.warc.gz" becomes "a.warc.zst".

    Args:
        name: Its base name.
        suffix: The part after ".warc": ".zst", ".gz" or nothing.
    """
    bare = _SUFFIX.sub("", name)
    if not bare.lower().endswith("warc"):
        bare += ".warc"
    return bare + suffix


def check_age(target: str, source: str) -> bool:
    """Return whether a file is at least as new as the one it was made from; True if that is a URL."""
    if "://" in source:
        return True
    try:
        return os.stat(target).st_mtime_ns >= os.stat(source).st_mtime_ns
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}", source=error.filename) from error


def planned_jobs(options: argparse.Namespace, rename: Callable[[str], str]) -> list[Job]:
    """Return which file is made from which: SRC DST, SRC -o DST, or FILE... --to-dir DIR, which is created.

    Raises:
        SeekWarcError: The names are too few or too many.
        TargetError: Names collide, or DIR cannot be created.
    """
    if options.to_dir is not None:
        if options.output is not None:
            raise SeekWarcError("-o names one new file, --to-dir a folder for many: give only one of them")
        jobs = jobs_into(options.to_dir, options.files, rename)
        try:
            os.makedirs(options.to_dir, exist_ok=True)
        except OSError as error:
            raise TargetError(f"cannot be created: {error.strerror}", source=options.to_dir) from error
        return jobs
    sources, target = options.files, options.output
    if target is None:
        *sources, target = sources
    if not sources:
        raise SeekWarcError("name the new file too, or a folder for new files with --to-dir", source=target)
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


def as_json(outcome: Outcome, fields: dict[str, object]) -> dict[str, object]:
    """Return the JSON object of a file."""
    return {
        "file": outcome.job.source,
        "target": outcome.job.target,
        "status": outcome.status,
        **fields,
        "error": outcome.failure.as_json() if outcome.failure is not None else None,
    }


def run_batch(
    options: argparse.Namespace,
    jobs: Sequence[Job],
    work: Work,
    *,
    text: Callable[[Any], str | None],
    fields: Callable[[Any], dict[str, object]],
    on_event: Callable[[Any], object] = print,
    on_result: Callable[[Job, Any], object] | None = None,
    skipped: str = "exists already",
    summary: bool = True,
) -> int:
    """Process files, and print the outcome of each.

    Args:
        options: With `jobs`, `keep_going`, `json`, and `to_dir` where the verb has it.
        jobs: The files.
        work: Processes one file.
        text: Returns the line to print for a result, or None.
        fields: Returns the JSON fields of a result, or of None if it failed.
        on_event: Prints what is found along the way.
        on_result: Called with each result, in this process.
        skipped: What is printed about a file that is skipped.
        summary: Whether to print a count of outcomes at the end, if there are several files.

    Returns:
        The exit status.
    """
    folder = getattr(options, "to_dir", None)
    many = folder is not None or len(jobs) > 1
    pool = None
    if options.dask is not None:
        pool = _cluster(options)
        jobs = [Job(absolute(job.source), job.target and absolute(job.target)) for job in jobs]
        folder = folder and absolute(folder)
    if (pool is not None or (options.jobs > 1 and len(jobs) > 1)) and any(it.source == "-" for it in jobs):
        option = "--jobs" if pool is None else "--dask"
        raise SeekWarcError(f"standard input can be read by one process only: leave out {option}")
    shows_bar = many or pool is not None
    with ExitStack() as opened:
        bar = opened.enter_context(_bar(jobs)) if shows_bar and progress_is_seen() else None
        told = _Told(
            text, fields, on_event, on_result, bar, skipped=skipped, show_json=options.json, show_names=many
        )
        status = run(
            jobs,
            work,
            told,
            processes=options.jobs,
            pool=pool,
            keep_going=options.keep_going,
            folder=folder,
            on_progress=None if shows_bar else watch,
        )
    if many and summary and not options.json:
        told.print_summary()
    return status


def _cluster(options: argparse.Namespace) -> Pool:
    if options.jobs > 1:
        raise SeekWarcError("--jobs is for processes of this machine, --dask for a cluster: give only one")
    try:
        from seekwarc.compat.cluster import Cluster  # noqa: PLC0415
    except ImportError as error:
        raise SeekWarcError(f"--dask needs {error.name}: pip install 'seekwarc[dask]'") from error
    return Cluster(options.dask)


def _bar(jobs: Sequence[Job]) -> tqdm[Any]:
    # Imported here: it takes longer than most commands.
    from tqdm import tqdm  # noqa: PLC0415

    total = sum(os.path.getsize(job.source) for job in jobs if os.path.isfile(job.source))
    return tqdm(
        total=total, desc=f"{len(jobs)} files", unit="B", unit_scale=True, leave=False, file=sys.stderr
    )


class _Told:
    """Prints what happens; see `tools.work.Report`."""

    def __init__(
        self,
        text: Callable[[Any], str | None],
        fields: Callable[[Any], dict[str, object]],
        on_event: Callable[[Any], object],
        on_result: Callable[[Job, Any], object] | None,
        bar: tqdm[Any] | None,
        *,
        skipped: str,
        show_json: bool,
        show_names: bool,
    ) -> None:
        self._show_json = show_json
        self._show_names = show_names
        self._text = text
        self._fields = fields
        self._on_event = on_event
        self._on_result = on_result
        self._skipped = skipped
        self._bar = bar
        self._counts: Counter[Status] = Counter()
        self._failed: list[Outcome] = []

    def on_event(self, job: Job, event: object) -> None:  # noqa: ARG002
        with self._beside_the_bar():
            self._on_event(event)

    def on_progress(self, size: int) -> None:
        if self._bar is not None:
            self._bar.update(size)

    def on_outcome(self, outcome: Outcome) -> None:
        self._counts[outcome.status] += 1
        if self._on_result is not None and outcome.result is not None:
            self._on_result(outcome.job, outcome.result)
        with self._beside_the_bar():
            if outcome.failure is not None:
                self._failed.append(outcome)
                text = outcome.failure.message + outcome.failure.way_out
                report(f"seekwarc: {printable(text)}", target="-")
            line = self._json(outcome) if self._show_json else self._line(outcome)
            if line is not None:
                report(line, target=outcome.job.target or "")
                if sys.stdout is not None:
                    # People watch a long run.
                    sys.stdout.flush()

    def _json(self, outcome: Outcome) -> str:
        return json.dumps(as_json(outcome, self._fields(outcome.result)))

    def _line(self, outcome: Outcome) -> str | None:
        job = outcome.job
        names = f"{printable(job.source)} -> {printable(job.target)}" if job.target else printable(job.source)
        if outcome.status is Status.SKIPPED:
            return f"{names}: {printable(self._skipped)}"
        if outcome.status in (Status.FAILED, Status.NOT_RUN):
            return None
        text = self._text(outcome.result)
        return f"{names}: {text}" if text is not None and self._show_names and job.target else text

    def _beside_the_bar(self) -> Any:  # noqa: ANN401
        if self._bar is None:
            return nullcontext()
        return self._bar.external_write_mode(file=sys.stderr)

    def print_summary(self) -> None:
        """Print how many files there were, by outcome, and which of them failed."""
        total = sum(self._counts.values())
        files = counted(total, "file")
        each = ", ".join(
            f"{self._counts[status]} {text}" for status, text in STATUS_WORDS.items() if self._counts[status]
        )
        print(f"{files}: {each}" if total else "nothing to do: every file found exists already")
        # What was printed about each may be thousands of lines ago.
        for outcome in self._failed[:MAX_FAILED] if total > 1 else []:
            kind = outcome.failure.kind if outcome.failure is not None else ""
            print(f"    failed: {printable(outcome.job.source)} ({kind})")
        if len(self._failed) > MAX_FAILED:
            print(f"    and {len(self._failed) - MAX_FAILED} more")
