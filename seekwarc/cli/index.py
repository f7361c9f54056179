"""Make an index of WARC files: one line for each capture, sorted by URI and date.

The lines are CDXJ, as pywb and cdxj-indexer expect it, also for .warc.zst; with --parquet they are rows of a
columnar index with the columns of Common Crawl's, for DuckDB, Spark and Athena (where offsets and lengths of
records must be BIGINT). Responses, revisits and resources are listed; with --all also metadata, requests and
all else that has a URI. Only heads are decompressed, unless a record states no payload digest, or --parquet
has to count the chunks of a chunked body. The index goes to standard output unless `-o` names a file. Exit
status 1 means that records are missing from the index; each problem is printed.

A folder means all archives in and below it. With --to-dir each file gets an index of its own, in the same
tree, named after the file with .cdxj or .parquet added; one that exists already, is sound and no older than
the file is skipped. With --to-dir and -o they are merged into one index too, so the same command continues
after an interruption.

If OUT ends with .idx, it becomes a ZipNum cluster, whose blocks go into a file beside it, OUT.cdx.gz. Of more
than can be tried in 20 seconds, --dry-run says sizes and times by a sample.

With --text the index is one of the words of pages, for `seekwarc search`: HTML, PDF and plain text, of
responses those with a status of 2xx. It has about a fifth of the size of the texts, which are not in it.
Where OUT exists, files that have not changed are skipped, and OUT is replaced when all others are done.

With --sidecar no index is made, but for each .warc.gz, or .warc.zst with one frame a record, a file beside
it, NAME.seek, with points at which its large records can be entered. All readers of this package find it, and
read any range of a film in such a record at once. A file without large records gets none. If -o names a file
that ends with .cdxj or .idx, that is an index, which names by its digest each sidecar that was made with it.
It is not made if a sidecar could not be, unless --keep-going is given.

seekwarc index crawl-*.warc.zst -o crawl.cdxj
seekwarc index crawls/ -o crawls.cdxj --jobs 4
seekwarc index crawls/ --parquet -o crawls.parquet
seekwarc index crawls/ --to-dir indexes/ -o crawls.idx --jobs 4 --keep-going
seekwarc index https://example.org/crawl.warc.zst > crawl.cdxj
seekwarc index --text crawls/ -o crawls.fts
seekwarc index --sidecar crawls/ --jobs 4
seekwarc index --sidecar https://example.org/crawl.warc.gz --to-dir indexes/ -o indexes/crawl.cdxj
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments, add_value
from seekwarc.cli.batch import (
    Printer,
    add_batch_arguments,
    output_of,
    planned_jobs,
    refuse_flat,
    refuse_unsound,
    run_batch,
)
from seekwarc.cli.options import add_dry_run_argument, add_limit_arguments, limit_options
from seekwarc.cli.printing import picked, report, say
from seekwarc.cli.sidecar import add_sidecar_arguments, make_sidecars, refuse_sidecar_options
from seekwarc.cli.spools import Spooled, Spools
from seekwarc.cli.targets import absolute, existing_option, input_target, output_target
from seekwarc.collection.entry import damaged_places
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format import parquet
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.words import counted
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.sorting import sorted_lines
from seekwarc.jobs.work import JobContext
from seekwarc.make.index_lines import Place
from seekwarc.make.indexing import Indexing, file_name, index, write_lines
from seekwarc.make.zipnum import index_output
from seekwarc.storage.expand import expand
from seekwarc.storage.local import BytesSource
from seekwarc.system import temporary_folder
from seekwarc.write.files import refuse_same_file
from seekwarc.write.output import Output

__all__ = ["add_arguments", "run"]

INDEX_SUFFIXES = (".cdxj", ".idx")
MAX_OF_A_KIND = 3
"""Problems of one kind that are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER|URL", nargs="+")
    add_output_arguments(parser, "OUT", "the index (default: standard output)", required=False)
    add_flag(parser, "--all", "list every record that has a URI (default: responses, revisits and resources)")
    text = "distinguish the answers to POST and PUT requests by the request body"
    add_flag(parser, "-p --post-append", text)
    add_flag(parser, "--parquet", "write a columnar index, as Common Crawl has it (needs pyarrow)")
    text = "name files by their path below this folder (default: by base name)"
    add_value(parser, "--dir-root", "DIR", text)
    add_value(parser, "--stdin-name", "NAME", "name in the index of the file on standard input, `-`")
    text = "leave out digests that records do not state, and so read no payload for them"
    add_flag(parser, "--stated-digests", text)
    add_dry_run_argument(parser, "written, and how long it would take")
    add_json_argument(parser, "file")
    text = (
        "make an index of the words of pages instead, OUT.fts, for `seekwarc search`; one that exists "
        "is brought up to date, or with --force made again"
    )
    add_flag(parser.add_argument_group("search"), "--text", text)
    add_sidecar_arguments(parser)
    add_batch_arguments(parser, made="an index")
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    if not options.sidecar:
        refuse_sidecar_options(options)
    if options.text:
        # Other indexes begin faster without it.
        from seekwarc.cli.text_index import make_text_index

        return make_text_index(options)
    refuse_flat(options)
    options.sidecars = {}
    status = 0
    if options.sidecar:
        if options.dry_run:
            raise SeekWarcError("--dry-run is for indexes of captures: leave it out with --sidecar")
        target = options.output or ""
        if not target.endswith(INDEX_SUFFIXES):
            return make_sidecars(options)
        options.output = None
        status = make_sidecars(options, options.sidecars)
        if status and not options.keep_going:
            say(f"{target} was not made, since not all sidecars were; --keep-going makes it all the same")
            return status
        options.output, options.to_dir = target, None
    return max(status, _make_index(options))


def _make_index(options: argparse.Namespace) -> int:
    if options.dry_run and _print_estimate(options):
        return 0
    told = _Complaints()
    target, options.output = options.output, None
    if options.dir_root is not None:
        # Workers have another current folder.
        options.dir_root = os.path.abspath(options.dir_root)
    if options.to_dir is None:
        target = "-" if target is None else target
        jobs = [Job(name, target) for name in expand(options.files)]
        with _opened(options, jobs, target) as output:
            return _index_all(options, jobs, output, told)
    suffix = "parquet" if options.parquet else "cdxj"
    jobs = planned_jobs(options, lambda name: f"{name}.{suffix}")
    if target is None:
        return _index_each(options, jobs, told)
    with _opened(options, jobs, target) as output:
        damaged: list[Place] = []
        status = _index_each(options, jobs, told, damaged)
        return _merge(options, [job.target or "" for job in jobs], output, status, damaged)


def _print_estimate(options: argparse.Namespace) -> bool:
    from seekwarc.cli.estimates import print_estimate, size_of_made

    def work(source: BytesSource) -> int:
        def make(target: str, context: JobContext) -> None:
            _Indexing(options).make(source, "a", target, context)

        return size_of_made(make, ".idx" if str(options.output).endswith(".idx") else ".cdxj")

    jobs = [Job(name) for name in expand(options.files, leave_out=options.to_dir)]
    return print_estimate(options, jobs, work, limit_options(options))


@contextmanager
def _opened(options: argparse.Namespace, jobs: list[Job], target: str) -> Iterator[Output]:
    """Open one index of all files, after a look at what could go wrong later. The block may commit it."""
    _names(options, jobs)
    for job in jobs:
        refuse_same_file(job.source, target)
        if options.to_dir is not None and absolute(job.target or "") == absolute(target):
            raise SeekWarcError(f"{target} is to be the index of {job.source} and of all files: rename one")
    if options.dry_run:
        from seekwarc.cli.estimates import no_output

        output: Output = no_output(options, target)
    else:
        output = index_output(
            output_target(target), existing=existing_option(options), parquet=options.parquet
        )
    try:
        yield output
    finally:
        # That of a file that has its name does nothing.
        output.abort()


def _index_each(
    options: argparse.Namespace, jobs: list[Job], told: _Complaints, damaged: list[Place] | None = None
) -> int:
    def count(_: Job, done: Spooled[Indexing]) -> None:
        if damaged is not None:
            damaged.extend(done.done.damaged)

    return run_batch(options, jobs, _Indexing(options), Printer(_text, _fields, told, count))


def _index_all(options: argparse.Namespace, jobs: list[Job], output: Output, told: _Complaints) -> int:
    """Make the lines of each file in a temporary folder, and one index of them."""
    damaged: list[Place] = []
    with temporary_folder(".index.", ".partial", folder=output.spool_directory) as folder:
        spools = Spools(folder, are_sent=options.dask is not None)

        def store(job: Job, made: Spooled[Indexing]) -> None:
            damaged.extend(made.done.damaged)
            spools.keep(job, made)

        printer = Printer(lambda _: None, _fields, told, store, summary=False)
        status = run_batch(options, jobs, _Indexing(options, spools), printer)
        return _merge(options, [spools.path(job) for job in jobs], output, status, damaged)


def _merge(
    options: argparse.Namespace, parts: list[str], output: Output, status: int, damaged: list[Place]
) -> int:
    """Write one index of those of all files, if there are enough of them; return the exit status."""
    made = [part for part in parts if os.path.exists(part)]
    if not made or (len(made) < len(parts) and not options.keep_going):
        return status
    lines = sorted_lines(_lines_of(made), folder=output.spool_directory)
    count = write_lines(lines, output, parquet=options.parquet)
    output.commit()
    is_shown = options.dry_run or output.filename is not None
    would = "would be written: " if options.dry_run else ""
    if (damaged or (is_shown and not options.quiet)) and not options.json:
        report(f"{output.name}: {would}{_counts(count, damaged)}", target=output.name if is_shown else "-")
    return status


def _names(options: argparse.Namespace, jobs: list[Job]) -> None:
    """Check that no two files have the same name in the index."""
    seen: set[str] = set()
    for job in jobs:
        name = _name(job, options)
        if name is None:
            raise SeekWarcError("standard input has no name: give it one with --stdin-name")
        if name in seen:
            raise SeekWarcError(f"two files have the name {name}: name them by their paths with --dir-root")
        seen.add(name)


def _name(job: Job, options: argparse.Namespace) -> str | None:
    if job.source == "-":
        name: str | None = options.stdin_name
        return name
    return file_name(job.source, options.dir_root)


@dataclass(frozen=True, slots=True)
class _Indexing:
    """The work on one file; see `tools.work.Work`."""

    options: argparse.Namespace
    spools: Spools | None = None
    """Where the lines of each file go; None if each gets an index of its own."""

    def __call__(self, job: Job, context: JobContext) -> tuple[Status, Spooled[Indexing] | None]:
        if self.spools is None:
            target = job.target or ""
            if not self.options.force and os.path.lexists(target):
                refuse_unsound(target, job.source, _is_sound)
                return Status.SKIPPED, None
            with output_of(self.options, context, target, target) as output:
                made = Spooled(self._index(job, output, context), None)
        else:
            made = self.spools.made(job, lambda spool: self._index(job, spool, context))
        return Status.PROBLEMS if made.done.problems else Status.DONE, made

    def _index(self, job: Job, target: str | Output, context: JobContext) -> Indexing:
        sidecar = self.options.sidecars.get(absolute(job.source))
        name = _name(job, self.options) or ""
        return self.make(input_target(job.source), name, target, context, sidecar)

    def make(
        self,
        source: str | BinaryIO | BytesSource,
        name: str,
        target: str | Output,
        context: JobContext,
        sidecar: str | None = None,
    ) -> Indexing:
        """Write the lines of one file."""
        options = self.options
        return index(
            {name: source},
            target,
            on_problem=context.emit,
            all_records=options.all,
            post_append=options.post_append,
            stated_digests=options.stated_digests,
            parquet=options.parquet and self.spools is None,
            details=options.parquet,
            on_progress=context.on_progress,
            processes=context.processes,
            sidecars={name: sidecar} if sidecar is not None else None,
            **limit_options(options),
        )


def _lines_of(paths: Iterable[str]) -> Iterator[bytes]:
    for path in paths:
        with open(path, "rb") as file:
            yield from _rows_of(path) if _is_parquet(file) else file


def _rows_of(path: str) -> Iterator[bytes]:
    from seekwarc.make.parquet import lines_in

    return lines_in(path)


def _is_parquet(file: BinaryIO) -> bool:
    is_parquet = file.read(len(parquet.MAGIC)) == parquet.MAGIC
    file.seek(0)
    return is_parquet


def _is_sound(path: str) -> bool:
    """Return whether an index is whole: its lines can be parsed and are sorted, or its rows read."""
    before = b""
    with open(path, "rb") as file:
        try:
            if _is_parquet(file):
                return all(_rows_of(path))
            for line in file:
                CdxjLine.parse(line)
                if not line.endswith(b"\n") or line < before:
                    return False
                before = line
        except FormatError:
            return False
    return True


def _fields(indexed: Spooled[Indexing] | None) -> dict[str, object]:
    fields = picked(indexed, captures="done.lines", problems="done.problems")
    damaged = [offset for _, offset in indexed.done.damaged] if indexed is not None else None
    return {**fields, "damaged": damaged}


def _text(indexed: Spooled[Indexing]) -> str:
    return _counts(indexed.done.lines, indexed.done.damaged)


def _counts(captures: int, damaged: Sequence[Place]) -> str:
    return ", ".join([counted(captures, "capture"), *([damaged_places(damaged)] if damaged else [])])


class _Complaints:
    """Prints problems, the first few of a kind."""

    def __init__(self) -> None:
        self._kinds: Counter[str] = Counter()

    def __call__(self, problem: FormatError) -> None:
        self._kinds[problem.message] += 1
        count = self._kinds[problem.message]
        if count <= MAX_OF_A_KIND:
            more = "; more of this kind are not printed" if count == MAX_OF_A_KIND else ""
            say(f"{problem}{more}")
