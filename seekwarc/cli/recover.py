"""Save what is intact in a damaged file: every whole record goes into a new .warc.zst.

The damaged file is never written to. Losses are listed with their offsets, and make the exit status 1. `-` is
standard input or standard output, which go through temporary files: nothing is written before all of SRC is
read. With --to-dir, each FILE, and each WARC file in or below a folder, is saved into a file in DIR; one that
exists already, is sound and no older than FILE is skipped.

seekwarc recover broken.warc.zst saved.warc.zst
seekwarc recover cut.warc.gz saved.warc.zst --partial
seekwarc recover broken.warc.gz - | seekwarc ls -
seekwarc recover crawls/ --to-dir saved/ --jobs 4 --keep-going
"""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from seekwarc.cli.arguments import add_json_argument, add_output_arguments
from seekwarc.cli.batch import (
    add_batch_arguments,
    check_age,
    planned_jobs,
    renamed,
    run_batch,
    threads_of_each,
)
from seekwarc.cli.options import (
    add_limit_arguments,
    add_writer_arguments,
    dictionary_at,
    limit_options,
    writer_options,
)
from seekwarc.cli.printing import printable
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, input_target, output_target
from seekwarc.errors import FormatError, TargetExistsError, UnsupportedError
from seekwarc.format.words import counted
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.units import detect
from seekwarc.read.options import ReadLimits
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.tools.converting import content_digest
from seekwarc.tools.outcome import Job, Status
from seekwarc.tools.pipes import revocable, searchable
from seekwarc.tools.recovering import Recovery, recover
from seekwarc.tools.work import JobContext
from seekwarc.write.files import Existing, refuse_same_file
from seekwarc.write.output import Output

__all__ = ["add_arguments", "run"]

USAGE = """\
seekwarc recover [options] SRC DST
       seekwarc recover [options] SRC -o DST
       seekwarc recover [options] FILE|FOLDER... --to-dir DIR"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = USAGE
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="SRC and DST; with --to-dir, files and folders"
    )
    add_output_arguments(parser, "DST", "the new file", required=False)
    parser.add_argument(
        "--partial",
        action="store_true",
        help="keep the beginning of a damaged record, with WARC-Truncated, up to its first damaged frame",
    )
    parser.add_argument(
        "--source-dictionary", metavar="FILE", help="the dictionary of SRC, if the one in it is damaged"
    )
    add_json_argument(parser, "file")
    add_batch_arguments(parser, made="a new file")
    add_writer_arguments(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    jobs = planned_jobs(options, lambda name: renamed(name, ".zst"))
    limits = limit_options(options)
    dictionary = None
    if options.source_dictionary is not None:
        dictionary = dictionary_at(options.source_dictionary, **limits).dictionary
    settings = writer_options(options)
    if (threads := threads_of_each(options)) is not None:
        settings.setdefault("threads", threads)
    work = _Recovering(
        partial=options.partial,
        source_dictionary=dictionary,
        settings=settings,
        limits=limits,
        existing=existing_option(options),
        skips=options.to_dir is not None and not options.force,
    )
    return run_batch(options, jobs, work, text=_text, fields=_fields)


@dataclass(frozen=True, slots=True)
class _Saved:
    """What was saved, and the stored sizes of both files."""

    recovery: Recovery
    stored_size: int | None
    target_size: int


@dataclass(frozen=True, slots=True)
class _Recovering:
    """The work on one file; see `tools.work.Work`."""

    partial: bool
    source_dictionary: Dictionary | None
    settings: dict[str, Any]
    limits: ReadLimits
    existing: Existing
    skips: bool
    """Whether an existing target is skipped if it is sound and no older than its source."""

    def __call__(self, job: Job, context: JobContext) -> tuple[Status, _Saved | None]:
        target = output_target(job.target or "")
        if self.skips and isinstance(target, str) and os.path.lexists(target):
            _check_existing(job.source, target, context)
            return Status.SKIPPED, None
        refuse_same_file(job.source, target)
        stored = open_source(input_target(job.source))
        with searchable(stored, check_head=lambda head: _check_head(head, stored.name)) as source:
            if isinstance(target, str):
                with context.output(target, self.existing) as output:
                    done = self._recover(source, output, context)
                target_size = os.path.getsize(target)
            else:
                # A record that is found damaged at its end is rolled back, which a pipe does not allow.
                with revocable(target) as aside:
                    done = self._recover(source, aside, context)
                target_size = aside.size
            saved = _Saved(done, source.size, target_size)
        return Status.PROBLEMS if done.losses or done.suspect else Status.DONE, saved

    def _recover(self, source: RangeSource, output: Output, context: JobContext) -> Recovery:
        return recover(
            source,
            output,
            partial=self.partial,
            source_dictionary=self.source_dictionary,
            limits=self.limits,
            on_progress=context.on_progress,
            **self.settings,
        )


def _check_head(head: bytes, name: str) -> None:
    """Refuse a pipe that does not begin as a WARC file, since it may be endless."""
    try:
        detect(head, name)
    except UnsupportedError as error:
        hint = "if it is a WARC file that is damaged there, store it in a file first"
        raise UnsupportedError(f"{error.message}; {hint}", source=name, offset=0) from None


def _check_existing(source: str, target: str, context: JobContext) -> None:
    """Check that an existing target is sound and no older than its source."""
    sound = check_age(target, source)
    if sound:
        try:
            with closing(context.on_progress(open_source(target), "checking")) as stored:
                content_digest(stored)
        except FormatError:
            sound = False
    if not sound:
        raise TargetExistsError(
            f"exists already, but is damaged or older than {source}; --force replaces it", source=target
        )


def _fields(saved: _Saved | None) -> dict[str, object]:
    if saved is None:
        names = ("records", "stored_size", "target_size", "truncated", "lost", "losses", "suspect")
        return dict.fromkeys(names)
    done = saved.recovery
    return {
        "records": done.records,
        "stored_size": saved.stored_size,
        "target_size": saved.target_size,
        "truncated": done.truncated,
        "lost": done.lost,
        "losses": [{name: getattr(loss, name) for name in loss.__slots__} for loss in done.losses],
        "suspect": [{"offset": offset, "id": record_id} for offset, record_id in done.suspect],
    }


def _text(saved: _Saved) -> str:
    done = saved.recovery
    lines = []
    for loss in done.losses:
        uri = f" ({printable(loss.uri)})" if loss.uri is not None else ""
        kept = f"; the first {human_size(loss.kept)} of its block were kept" if loss.kept is not None else ""
        lines.append(
            f"lost: {loss.offset} to {loss.end}, {human_size(loss.end - loss.offset)}{uri}: "
            f"{printable(loss.reason)}{kept}"
        )
    lines += [
        f"suspect: {offset} {printable(record_id)}: kept, but its WARC-Block-Digest does not match"
        for offset, record_id in done.suspect
    ]
    truncated = f", and the beginnings of {done.truncated}" if done.truncated else ""
    lines.append(f"{counted(done.records, 'record')} saved{truncated}; {human_size(done.lost)} lost")
    return "\n".join(lines)
