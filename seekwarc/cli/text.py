"""Write the text of pages: HTML, PDF and plain text, for a search engine or a language model.

Each page becomes a line of JSON with its URI, date, title, language, text, and the file and offset of its
record, or a row of Parquet if OUT ends with .parquet; a name that ends with .jsonl.gz gets compressed lines.
The lines go to standard output unless `-o` names a file. Their order is that of the records, whatever
--jobs is. With --main menus, footers and the like are left out.

Without conditions, responses and resources are taken, and of responses those of status 200. What is not a
page, an image or a script, is passed over, as are pages without text and revisits. With --dedupe only the
first of pages with the same title and text is written.

A page is read up to --max-size, and its text cut at --max-text characters: `whole` is false then. A damaged
record is reported, the others are still written, and the exit status is 1. The same applies to a page that
takes more than 20 seconds or 3 GiB of memory. A folder means all WARC files in and below it. Of more than can
be tried in 20 seconds, --dry-run says sizes and times by a sample.

seekwarc text crawl.warc.gz -o pages.jsonl
seekwarc text crawls/ -o pages.parquet --main --dedupe --jobs 4
seekwarc text crawl.warc.zst --uri '*.example.org/*' --mime text/html | head
"""

from __future__ import annotations

import argparse
import io
from dataclasses import asdict
from functools import partial
from typing import Any, Final, cast

from seekwarc.cli.arguments import add_flag, add_json_argument, add_output_arguments, add_value, number
from seekwarc.cli.batch import Printer, add_batch_arguments, run_batch
from seekwarc.cli.options import add_dry_run_argument, add_limit_arguments, limit_options, values_of
from seekwarc.cli.printing import picked, report, say
from seekwarc.cli.selecting import add_selection_arguments, archives_named, conditions_of
from seekwarc.cli.spools import Spooled, Spools
from seekwarc.cli.targets import existing_option, input_target, output_target
from seekwarc.errors import NotFoundError
from seekwarc.format.conditions import parse_size
from seekwarc.format.words import counted
from seekwarc.inside.parsing import resiliparse_needed
from seekwarc.inside.text import MAX_SIZE, MAX_TEXT
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext
from seekwarc.make.page_files import PageForm, form_of
from seekwarc.make.texts import TextPages, merge_pages, text
from seekwarc.read.selection import Selection
from seekwarc.storage.local import BytesSource
from seekwarc.system import temporary_folder
from seekwarc.write.files import refuse_same_file
from seekwarc.write.opening import open_output
from seekwarc.write.output import Output

__all__ = ["add_arguments", "run"]

MAX_CHARACTERS: Final = 1 << 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER|URL", nargs="+")
    text = "the new .jsonl, .jsonl.gz or .parquet (default: - for standard output)"
    add_output_arguments(parser, "OUT", text, required=False, default="-")
    add_flag(parser, "--main", "leave out menus, footers and the like, as far as they are recognized")
    add_flag(parser, "--dedupe", "write only the first of pages with the same title and text")
    add_selection_arguments(parser)
    text = "bytes of a page that are read, content codings undone (default: 32M)"
    add_value(parser, "--max-size", "SIZE", text, parse_size, default=MAX_SIZE)
    text = f"characters of a text, at most (default: {MAX_TEXT})"
    add_value(parser, "--max-text", "N", text, number("number", 1, MAX_CHARACTERS), default=MAX_TEXT)
    add_dry_run_argument(parser, "written, and how long it would take")
    add_json_argument(parser, "file")
    add_batch_arguments(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    resiliparse_needed()
    # A wrong condition is an error of usage, not of the first file.
    Selection.of(**conditions_of(options))
    form = form_of(options.output)
    jobs = [Job(name, options.output) for name in archives_named(options.files)]
    for job in jobs:
        refuse_same_file(job.source, options.output)
    if options.dry_run:
        from seekwarc.cli.estimates import no_output, print_estimate

        output = no_output(options, options.output)
        if print_estimate(options, jobs, partial(_size_of_text, options), limit_options(options)):
            return 0
    else:
        output = open_output(output_target(options.output), existing=existing_option(options))
    try:
        return _write(options, jobs, output, form)
    finally:
        # That of a file that has its name does nothing.
        output.abort()


def _write(options: argparse.Namespace, jobs: list[Job], output: Output, form: PageForm) -> int:
    """Write the pages of each file into a temporary folder, and one file of them."""
    done = TextPages()
    with temporary_folder(".text.", ".partial", folder=output.spool_directory) as folder:
        spools = Spools(folder, are_sent=options.dask is not None)

        def store(job: Job, made: Spooled[TextPages]) -> None:
            done.add(made.done)
            spools.keep(job, made)

        printer = Printer(lambda _: None, _fields, lambda it: say(str(it)), store, summary=False)
        status = run_batch(options, jobs, partial(_spool, options, spools), printer)
        parts = spools.paths(jobs)
        if not parts or (len(parts) < len(jobs) and not options.keep_going):
            return status
        merge_pages(parts, output, form, done, dedupe=options.dedupe and len(parts) > 1)
    if not done.pages and not done.problems:
        raise NotFoundError("no record has text, or matches; `seekwarc ls` lists the records")
    output.commit()
    if not (options.json or options.quiet):
        is_shown = options.dry_run or output.filename is not None
        would = "would be written: " if options.dry_run else ""
        report(f"{output.name}: {would}{_text(done)}", target=output.name if is_shown else "-")
    return status


def _size_of_text(options: argparse.Namespace, source: BytesSource) -> int:
    from seekwarc.cli.estimates import size_of_made

    def make(target: str, context: JobContext) -> None:
        _text_of(io.BytesIO(source.read(0, source.size)), "", target, options, context)

    return size_of_made(make, f".{form_of(options.output).value}")


def _spool(
    options: argparse.Namespace, spools: Spools, job: Job, context: JobContext
) -> tuple[Status, Spooled[TextPages]]:
    source = input_target(job.source)
    made = spools.made(job, lambda spool: _text_of(source, job.source, spool, options, context))
    return Status.PROBLEMS if made.done.problems else Status.DONE, made


def _text_of(
    source: object, name: str, target: str | Output, options: argparse.Namespace, context: JobContext
) -> TextPages:
    """Write the pages of one file."""
    return text(
        cast("Any", source),
        target,
        on_problem=context.emit,
        on_progress=context.on_progress,
        processes=context.processes,
        name=name,
        limits=limit_options(options),
        **values_of(options, "main", "dedupe", "max_size", "max_text"),
        **conditions_of(options),
    )


def _fields(made: Spooled[TextPages] | None) -> dict[str, object]:
    names = tuple(asdict(TextPages()))
    return picked(made.done if made is not None else None, *names)


def _text(done: TextPages) -> str:
    parts = [
        counted(done.pages, "page"),
        counted(done.characters, "character"),
        f"{counted(done.duplicates, 'duplicate')} left out" if done.duplicates else "",
        f"{done.cut} not whole" if done.cut else "",
        counted(done.problems, "problem") if done.problems else "",
    ]
    return ", ".join(filter(None, parts))
