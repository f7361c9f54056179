"""Make an index of WARC files: one line for each capture, sorted by URI and date.

The lines are CDXJ, as pywb and cdxj-indexer expect it, also for .warc.zst; with --parquet they are rows of a
columnar index with the columns of Common Crawl's, for DuckDB, Spark and Athena (where offsets and lengths of
records must be BIGINT). Responses, revisits and resources are listed; with --all also metadata, requests and
all else that has a URI. Only heads are decompressed, unless a record states no payload digest, or --parquet
has to count the chunks of a chunked body. The index goes to standard output unless `-o` names a file. Exit
status 1 means that records are missing from the index; each problem is printed.

A folder means all WARC files in and below it. With --to-dir each file gets an index of its own, named
after the file with .cdxj or .parquet added; one that exists already, is sound and no older than the file is
skipped. With --to-dir and -o they are merged into one index too, so the same command continues after an
interruption.

If OUT ends with .idx, it becomes a ZipNum cluster, whose blocks go into a file beside it, OUT.cdx.gz.

seekwarc index crawl-*.warc.zst -o crawl.cdxj
seekwarc index crawls/ -o crawls.cdxj --jobs 4
seekwarc index crawls/ --parquet -o crawls.parquet
seekwarc index crawls/ --to-dir indexes/ -o crawls.idx --jobs 4 --keep-going
seekwarc index https://example.org/crawl.warc.zst > crawl.cdxj
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from seekwarc.cdx.index import PARQUET_MAGIC
from seekwarc.cli.arguments import add_json_argument, add_output_arguments
from seekwarc.cli.batch import add_batch_arguments, check_age, planned_jobs, run_batch
from seekwarc.cli.options import add_limit_arguments, limit_options
from seekwarc.cli.printing import printable, report
from seekwarc.cli.targets import absolute, existing_option, input_target, output_target
from seekwarc.errors import FormatError, SeekWarcError, TargetExistsError
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.words import counted
from seekwarc.read.options import ReadLimits
from seekwarc.tools.batch import archives_in
from seekwarc.tools.indexing import Indexing, file_name, index, write_lines
from seekwarc.tools.outcome import Job, Status
from seekwarc.tools.sorting import sorted_lines
from seekwarc.tools.work import JobContext
from seekwarc.tools.zipnum import index_output
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.output import FileObjectOutput, Output

__all__ = ["add_arguments", "run"]

MAX_OF_A_KIND = 3
"""Problems of one kind that are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER|URL", nargs="+")
    add_output_arguments(parser, "OUT", "the index (default: standard output)", required=False)
    parser.add_argument(
        "--all",
        action="store_true",
        dest="all_records",
        help="list every record that has a URI (default: responses, revisits and resources)",
    )
    parser.add_argument(
        "-p",
        "--post-append",
        action="store_true",
        help="distinguish the answers to POST and PUT requests by the request body",
    )
    parser.add_argument(
        "--parquet",
        action="store_true",
        help="write a columnar index, as Common Crawl has it (needs pyarrow)",
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
        help="leave out digests that records do not state, and so read no payload for them",
    )
    add_json_argument(parser, "file")
    add_batch_arguments(parser, made="an index")
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    told = _Complaints()
    target, options.output = options.output, None
    if options.dir_root is not None:
        # Workers have another current folder.
        options.dir_root = os.path.abspath(options.dir_root)
    if options.to_dir is None:
        target = "-" if target is None else target
        jobs = [Job(name, target) for name, _ in archives_in(options.files)]
        with _opened(options, jobs, target) as output:
            return _index_all(options, jobs, output, told)
    suffix = "parquet" if options.parquet else "cdxj"
    jobs = planned_jobs(options, lambda name: f"{name}.{suffix}")
    if target is None:
        _names(options, jobs)
        return _index_each(options, jobs, told)
    with _opened(options, jobs, target) as output:
        status = _index_each(options, jobs, told)
        return _merge(options, [job.target or "" for job in jobs], output, status)


@contextmanager
def _opened(options: argparse.Namespace, jobs: list[Job], target: str) -> Iterator[Output]:
    """Open one index of all files, after a look at what could go wrong later. The block may commit it."""
    _names(options, jobs)
    for job in jobs:
        refuse_same_file(job.source, target)
        if options.to_dir is not None and absolute(job.target or "") == absolute(target):
            raise SeekWarcError(f"{target} is to be the index of {job.source} and of all files: rename one")
    output = index_output(output_target(target), existing=existing_option(options), parquet=options.parquet)
    try:
        yield output
    finally:
        # That of a file that has its name does nothing.
        output.abort()


def _index_each(options: argparse.Namespace, jobs: list[Job], told: _Complaints) -> int:
    return run_batch(options, jobs, _Indexing.of(options), text=_text, fields=_fields, on_event=told)


def _index_all(options: argparse.Namespace, jobs: list[Job], output: Output, told: _Complaints) -> int:
    """Make the lines of each file in a temporary folder, and one index of them."""
    with tempfile.TemporaryDirectory(".partial", ".index.", output.spool_directory) as folder:
        work = _Indexing.of(options, parts=folder)

        def store(job: Job, done: _Indexed) -> None:
            if done.lines is not None:
                with open(_part_of(folder, job), "wb") as file:
                    shutil.copyfileobj(gzip.GzipFile(fileobj=io.BytesIO(done.lines)), file)

        status = run_batch(
            options,
            jobs,
            work,
            text=lambda _: None,
            fields=_fields,
            on_event=told,
            on_result=store,
            summary=False,
        )
        return _merge(options, [_part_of(folder, job) for job in jobs], output, status)


def _merge(options: argparse.Namespace, parts: list[str], output: Output, status: int) -> int:
    """Write one index of those of all files, if there are enough of them; return the exit status."""
    made = [part for part in parts if os.path.exists(part)]
    if not made or (len(made) < len(parts) and not options.keep_going):
        return status
    lines = sorted_lines(_lines_of(made), folder=output.spool_directory)
    count = write_lines(lines, output, parquet=options.parquet)
    output.commit()
    if output.spool_directory is not None and not options.json:
        report(f"{output.name}: {counted(count, 'capture')}", target=output.name)
    return status


def _part_of(folder: str, job: Job) -> str:
    """Return where the lines of a file go until they are merged."""
    return os.path.join(
        folder, hashlib.sha256(absolute(job.source).encode(errors="surrogateescape")).hexdigest()
    )


def _names(options: argparse.Namespace, jobs: list[Job]) -> None:
    """Check that no two files have the same name in the index."""
    seen: set[str] = set()
    for job in jobs:
        name = options.stdin_name if job.source == "-" else file_name(job.source, options.dir_root)
        if name is None:
            raise SeekWarcError("standard input has no name: give it one with --stdin-name")
        if name in seen:
            raise SeekWarcError(f"two files have the name {name}: name them by their paths with --dir-root")
        seen.add(name)


@dataclass(frozen=True, slots=True)
class _Indexed:
    """The result for one file."""

    done: Indexing
    lines: bytes | None
    """Its lines, compressed with gzip, if they are sent."""


@dataclass(frozen=True, slots=True)
class _Indexing:
    """The work on one file; see `tools.work.Work`."""

    parts: str | None
    """Folder for the lines of each file; None if each gets an index of its own."""
    sends: bool
    """Whether the lines of each file come back in its result, from workers that may not see the folder."""
    all_records: bool
    post_append: bool
    stated_digests: bool
    parquet: bool
    dir_root: str | None
    stdin_name: str | None
    limits: ReadLimits
    existing: Existing
    skips: bool
    """Whether an existing index is skipped if it is sound and no older than its file."""

    @classmethod
    def of(cls, options: argparse.Namespace, *, parts: str | None = None) -> _Indexing:
        return cls(
            parts=parts,
            sends=parts is not None and options.dask is not None,
            all_records=options.all_records,
            post_append=options.post_append,
            stated_digests=options.stated_digests,
            parquet=options.parquet,
            dir_root=options.dir_root,
            stdin_name=options.stdin_name,
            limits=limit_options(options),
            existing=existing_option(options),
            skips=parts is None and not options.force,
        )

    def __call__(self, job: Job, context: JobContext) -> tuple[Status, _Indexed | None]:
        name = self.stdin_name if job.source == "-" else file_name(job.source, self.dir_root)
        sources = {name or "": input_target(job.source)}
        lines = None
        if self.sends:
            packed = io.BytesIO()
            with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as file:
                done = self._index(sources, FileObjectOutput(cast("BinaryIO", file)), context)
            lines = packed.getvalue()
        elif self.parts is not None:
            done = self._index(sources, _part_of(self.parts, job), context)
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
        return Status.PROBLEMS if done.problems else Status.DONE, _Indexed(done, lines)

    def _index(
        self, sources: dict[str, str | BinaryIO], target: str | Output, context: JobContext
    ) -> Indexing:
        return index(
            sources,
            target,
            on_problem=context.emit,
            all_records=self.all_records,
            post_append=self.post_append,
            stated_digests=self.stated_digests,
            parquet=self.parquet and self.parts is None,
            details=self.parquet,
            on_progress=context.on_progress,
            **self.limits,
        )


def _lines_of(paths: Iterable[str]) -> Iterator[bytes]:
    for path in paths:
        with open(path, "rb") as file:
            if _is_parquet(file):
                # Imported here: few indexes are columnar.
                from seekwarc.tools.parquet import lines_in  # noqa: PLC0415

                yield from lines_in(path)
            else:
                yield from file


def _is_parquet(file: BinaryIO) -> bool:
    is_parquet = file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    file.seek(0)
    return is_parquet


def _is_sound(path: str) -> bool:
    """Tell whether an index is whole: its lines can be parsed and are sorted, or its rows read."""
    before = b""
    with open(path, "rb") as file:
        if _is_parquet(file):
            from seekwarc.tools.parquet import lines_in  # noqa: PLC0415

            try:
                return all(lines_in(path))
            except FormatError:
                return False
        for line in file:
            try:
                CdxjLine.parse(line)
            except FormatError:
                return False
            if not line.endswith(b"\n") or line < before:
                return False
            before = line
    return True


def _fields(indexed: _Indexed | None) -> dict[str, object]:
    return {
        "captures": indexed.done.lines if indexed is not None else None,
        "problems": indexed.done.problems if indexed is not None else None,
    }


def _text(indexed: _Indexed) -> str:
    return counted(indexed.done.lines, "capture")


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
