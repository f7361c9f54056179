"""Make a CDXJ index of WARC files: one line for each capture, sorted by URI and date.

The lines are those that pywb and cdxj-indexer expect, also for .warc.zst. Only heads are decompressed, unless
a record states no payload digest. The index goes to standard output unless `-o` names a file. Exit status 1
means that records are missing from the index; each problem is printed.

A folder stands for all WARC files in and below it. With --to-dir each file gets an index of its own, named
after the file with .cdxj added; one that exists already, is sound and no older than the file is skipped.

seekwarc index crawl-*.warc.zst -o crawl.cdxj
seekwarc index crawls/ -o crawls.cdxj --jobs 4
seekwarc index https://example.org/crawl.warc.zst > crawl.cdxj
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from seekwarc.cli.arguments import add_json_argument, add_output_arguments
from seekwarc.cli.batch import add_batch_arguments, check_age, planned_jobs, run_batch
from seekwarc.cli.common import (
    add_limit_arguments,
    existing_option,
    input_target,
    limit_options,
    output_target,
    printable,
    report,
)
from seekwarc.errors import FormatError, SeekWarcError, TargetExistsError
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.words import counted
from seekwarc.read.options import ReadLimits
from seekwarc.tools.batch import archives_in
from seekwarc.tools.index import Indexing, file_name, index
from seekwarc.tools.outcome import Job, Status
from seekwarc.tools.sorting import sorted_lines
from seekwarc.tools.work import JobContext
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.output import Output, open_output

__all__ = ["add_arguments", "run"]

MAX_OF_A_KIND = 3
"""Problems of one kind that are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the verb takes."""
    parser.add_argument("files", metavar="FILE|FOLDER|URL", nargs="+")
    add_output_arguments(parser, "OUT", "the index (default: standard output)", required=False)
    parser.add_argument(
        "-p",
        "--post-append",
        action="store_true",
        help="distinguish the answers to POST and PUT requests by the request body",
    )
    parser.add_argument(
        "--dir-root",
        metavar="DIR",
        help="name files by their path below this folder (default: by base name)",
    )
    parser.add_argument(
        "--stdin-name", metavar="NAME", help="name in the index of the file on standard input, `-`"
    )
    parser.add_argument(
        "--stated-digests",
        action="store_true",
        help="leave out digests that records do not state, and so read no payload",
    )
    add_json_argument(parser, "file")
    add_batch_arguments(parser, made="an index")
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Run the verb."""
    if options.output is not None and options.to_dir is not None:
        raise SeekWarcError("-o names one index, --to-dir a folder for many: give only one of them")
    told = _Complaints()
    if options.to_dir is not None:
        return _index_each(options, told)
    target = "-" if options.output is None else options.output
    jobs = [Job(name, target) for name, _ in archives_in(options.files)]
    _names(options, jobs)
    for job in jobs:
        refuse_same_file(job.source, target)
    output = open_output(output_target(target), existing=existing_option(options))
    try:
        with tempfile.TemporaryDirectory(".partial", ".index.", output.spool_directory) as folder:
            parts = {job.source: os.path.join(folder, str(number)) for number, job in enumerate(jobs)}
            work = _Indexing.of(options, parts)
            status = run_batch(
                options, jobs, work, text=lambda _: None, fields=_fields, on_event=told, summary=False
            )
            made = [part for part in parts.values() if os.path.exists(part)]
            if not made or (len(made) < len(parts) and not options.keep_going):
                output.abort()
                return status
            count = 0
            for line in sorted_lines(_lines_of(made), folder=output.spool_directory):
                output.write(line)
                count += 1
            output.commit()
    except BaseException:
        output.abort()
        raise
    if output.spool_directory is not None and not options.json:
        report(f"{target}: {counted(count, 'capture')}", target=target)
    return status


def _index_each(options: argparse.Namespace, told: _Complaints) -> int:
    """Make an index of each file."""
    options.output = None
    jobs = planned_jobs(options, lambda name: f"{name}.cdxj")
    _names(options, jobs)
    return run_batch(options, jobs, _Indexing.of(options, None), text=_text, fields=_fields, on_event=told)


def _names(options: argparse.Namespace, jobs: list[Job]) -> None:
    """Check that no two files have the same name in the index.

    Raises:
        SeekWarcError: Two files have.
    """
    seen: set[str] = set()
    for job in jobs:
        name = options.stdin_name if job.source == "-" else file_name(job.source, options.dir_root)
        if name is None:
            raise SeekWarcError("standard input has no name: give it one with --stdin-name")
        if name in seen:
            raise SeekWarcError(f"two files have the name {name}: name them by their paths with --dir-root")
        seen.add(name)


@dataclass(frozen=True, slots=True)
class _Indexing:
    """The work on one file; see `tools.work.Work`."""

    parts: dict[str, str] | None
    """Where the lines of each file go; None if each gets an index of its own."""
    post_append: bool
    stated_digests: bool
    dir_root: str | None
    stdin_name: str | None
    limits: ReadLimits
    existing: Existing
    skips: bool
    """Whether an existing index is skipped if it is sound and no older than its file."""

    @classmethod
    def of(cls, options: argparse.Namespace, parts: dict[str, str] | None) -> _Indexing:
        return cls(
            parts=parts,
            post_append=options.post_append,
            stated_digests=options.stated_digests,
            dir_root=options.dir_root,
            stdin_name=options.stdin_name,
            limits=limit_options(options),
            existing=existing_option(options),
            skips=parts is None and not options.force,
        )

    def __call__(self, job: Job, context: JobContext) -> tuple[Status, Indexing | None]:
        name = self.stdin_name if job.source == "-" else file_name(job.source, self.dir_root)
        sources = {name or "": input_target(job.source)}
        if self.parts is not None:
            done = self._index(sources, self.parts[job.source], context)
        else:
            target = job.target or ""
            if self.skips and os.path.lexists(target):
                if not (check_age(target, job.source) and _is_sound(target)):
                    raise TargetExistsError(
                        f"exists already, but is damaged or older than {job.source}; --force replaces it",
                        source=target,
                    )
                return Status.SKIPPED, None
            with context.output(target, self.existing) as output:
                done = self._index(sources, output, context)
        return Status.PROBLEMS if done.problems else Status.DONE, done

    def _index(
        self, sources: dict[str, str | BinaryIO], target: str | Output, context: JobContext
    ) -> Indexing:
        return index(
            sources,
            target,
            on_problem=context.emit,
            post_append=self.post_append,
            stated_digests=self.stated_digests,
            on_progress=context.on_progress,
            **self.limits,
        )


def _lines_of(paths: Iterable[str]) -> Iterator[bytes]:
    for path in paths:
        with open(path, "rb") as file:
            yield from file


def _is_sound(path: str) -> bool:
    """Tell whether an index is whole: its lines can be parsed and are sorted."""
    before = b""
    with open(path, "rb") as file:
        for line in file:
            try:
                CdxjLine.parse(line)
            except FormatError:
                return False
            if not line.endswith(b"\n") or line < before:
                return False
            before = line
    return True


def _fields(done: Indexing | None) -> dict[str, object]:
    return {
        "captures": done.lines if done is not None else None,
        "problems": done.problems if done is not None else None,
    }


def _text(done: Indexing) -> str:
    return counted(done.lines, "capture")


class _Complaints:
    """Prints problems, the first few of a kind."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()

    def __call__(self, problem: FormatError) -> None:
        self._kinds[problem.message] += 1
        count = self._kinds[problem.message]
        if count <= MAX_OF_A_KIND:
            more = "; more of this kind are not printed" if count == MAX_OF_A_KIND else ""
            report(f"seekwarc: {printable(str(problem))}{more}", target="-")
