"""Save what is intact in a damaged file: every whole record goes into a new .warc.zst.

With --partial, a damaged record is kept too. In a large record of a .warc.zst only the damaged frames are
missing: zero bytes take their place, so that what follows keeps its position, and the field X-Missing-Bytes
names them. Of others the beginning is kept.

The damaged file is never written to. Losses are listed with their offsets, and make the exit status 1. `-` is
standard input or standard output, which go through temporary files: nothing is written before all of SRC is
read. With --to-dir, each FILE, and each archive in or below a folder, is saved into a file in DIR, which has
the same tree; one that exists already, is sound and no older than FILE is skipped.

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
from functools import partial
from typing import Any

from seekwarc.check.recovering import Loss, Recovery, recover
from seekwarc.cli.arguments import add_flag, add_json_argument, add_value
from seekwarc.cli.batch import (
    Printer,
    add_batch_arguments,
    add_copy_arguments,
    output_of,
    planned_jobs,
    refuse_unsound,
    renamed,
    run_batch,
    skips_existing,
    writer_options_of_each,
)
from seekwarc.cli.options import (
    add_limit_arguments,
    add_writer_arguments,
    dictionary_at,
    limit_options,
)
from seekwarc.cli.printing import picked, printable
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, input_target, output_target
from seekwarc.errors import FormatError, UnsupportedError
from seekwarc.format.words import counted
from seekwarc.frames.pieces import detect
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.pipes import revocable, searchable
from seekwarc.jobs.problems import ProblemSeverity
from seekwarc.jobs.work import JobContext
from seekwarc.make.converting import content_digest
from seekwarc.storage.opening import open_source
from seekwarc.storage.remote_url import is_url
from seekwarc.write.files import refuse_same_file
from seekwarc.write.output import NoOutput

__all__ = ["add_arguments", "run"]

COUNTS = ("records", "truncated", "kept", "missing", "lost", "unread")
MAX_GAPS = 3
"""Gaps of a record that are printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_copy_arguments(parser, "recover")
    text = (
        "keep what is intact of damaged records, with WARC-Truncated and zero bytes for damaged frames, "
        "or their beginnings"
    )
    add_flag(parser, "--partial", text)
    add_value(parser, "--source-dictionary", "FILE", "the dictionary of SRC, if the one in it is damaged")
    add_json_argument(parser, "file")
    add_batch_arguments(parser, made="a new file")
    add_writer_arguments(parser)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    jobs = planned_jobs(options, lambda name: renamed(name, ".zst"))
    limits = limit_options(options)
    settings = {"partial": options.partial, "limits": limits, **writer_options_of_each(options, jobs)}
    if options.source_dictionary is not None:
        settings["source_dictionary"] = dictionary_at(options.source_dictionary, **limits).dictionary
    printer = Printer(_text, partial(_fields, options))
    return run_batch(options, jobs, partial(_recover, options, settings), printer)


@dataclass(frozen=True, slots=True)
class _Saved:
    """What was saved, and the stored sizes of both files."""

    recovery: Recovery
    stored_size: int | None
    target_size: int


def _recover(
    options: argparse.Namespace, settings: dict[str, Any], job: Job, context: JobContext
) -> tuple[Status, _Saved | None]:
    target = output_target(job.target or "")
    if skips_existing(options) and isinstance(target, str) and os.path.lexists(target):
        refuse_unsound(target, job.source, lambda name: _is_sound(name, context))
        return Status.SKIPPED, None
    refuse_same_file(job.source, target)
    stored = open_source(input_target(job.source))
    given = {"on_progress": context.on_progress, "processes": context.processes, **settings}
    with searchable(stored, check_head=lambda head: _check_head(head, stored.name)) as source:
        if options.dry_run or (isinstance(target, str) and not is_url(target)):
            with output_of(options, context, target, job.target or "") as output:
                done = recover(source, output, **given)
            dry = output.size if isinstance(output, NoOutput) else None
            target_size = os.path.getsize(output.name) if dry is None else dry
        else:
            # A record that is found damaged at its end is rolled back, which few targets allow.
            with revocable(target, existing=existing_option(options)) as aside:
                done = recover(source, aside, **given)
            target_size = aside.size
        saved = _Saved(done, source.size, target_size)
    return Status.PROBLEMS if done.losses or done.suspect else Status.DONE, saved


def _check_head(head: bytes, name: str) -> None:
    """Refuse a pipe that does not begin as a WARC file, since it may be endless."""
    try:
        detect(head, name)
    except UnsupportedError as error:
        hint = "if it is a WARC file that is damaged there, store it in a file first"
        raise UnsupportedError(f"{error.message}; {hint}", source=name, offset=0) from None


def _is_sound(name: str, context: JobContext) -> bool:
    try:
        with closing(context.on_progress(open_source(name), "checking")) as stored:
            content_digest(stored)
    except FormatError:
        return False
    return True


def _fields(options: argparse.Namespace, saved: _Saved | None) -> dict[str, object]:
    done = saved.recovery if saved is not None else None
    data = picked(saved, "stored_size", "target_size") | picked(done, *COUNTS, "losses", "suspect")
    data["dry_run"] = options.dry_run
    if done is not None:
        data["losses"] = [picked(loss, *loss.__slots__) for loss in done.losses]
        data["suspect"] = [{"offset": offset, "id": record_id} for offset, record_id in done.suspect]
    return data


def _text(saved: _Saved) -> str:
    done = saved.recovery
    lines = []
    for loss in done.losses:
        uri = f" ({printable(loss.uri)})" if loss.uri is not None else ""
        word = "lost" if loss.kept is None else "damaged"
        word = "not read" if loss.severity is ProblemSeverity.LIMIT else word
        size = human_size(loss.end - loss.offset)
        lines.append(
            f"{word}: {loss.offset} to {loss.end}, {size}{uri}: {printable(loss.reason)}{_kept_text(loss)}"
        )
    lines += [
        f"suspect: {offset} {printable(record_id)}: kept, but its WARC-Block-Digest does not match"
        for offset, record_id in done.suspect
    ]
    sizes = f"({human_size(done.kept)} kept, {human_size(done.missing)} missing)"
    truncated = f", and parts of {done.truncated} {sizes}" if done.truncated else ""
    unread = f", {human_size(done.unread)} not read" if done.unread else ""
    lines.append(f"{counted(done.records, 'record')} saved{truncated}; {human_size(done.lost)} lost{unread}")
    return "\n".join(lines)


def _kept_text(loss: Loss) -> str:
    if loss.kept is None or loss.missing is None:
        return ""
    kept, missing = human_size(loss.kept), human_size(loss.missing)
    if not loss.gaps:
        return f"; the first {kept} of its block were kept, {missing} are missing"
    shown = [f"{start}-{stop - 1}" for start, stop in loss.gaps[:MAX_GAPS]]
    gaps = ", ".join([*shown, "..."] if len(loss.gaps) > MAX_GAPS else shown)
    return f"; {kept} of its block were kept, {missing} are missing ({gaps}; zero bytes are there)"
