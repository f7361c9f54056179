"""Convert WARC files to another compression, without changing a byte of their records.

  seekwarc convert crawl.warc.gz crawl.warc.zst
  seekwarc convert crawls/ --to-dir seekable/ --jobs 4 --keep-going --json > report.jsonl

SRC is a .warc, .warc.gz or .warc.zst, recognized by its content; or, with the extra `warcio`, an ARC file
(.arc, .arc.gz), whose records get headers of WARC. The compression of DST follows from its
name, or from --to. An existing DST is refused unless --force is given. The new file is decompressed and
compared with SRC before it gets its name. `-` is standard input or standard output.

With --to-dir, each FILE, and each WARC file in or below a folder, is converted into a file in DIR. A file
that exists already and decompresses to the same bytes is skipped, so the same command continues after an
interruption. (With --no-verify, a file is skipped if it is no older than FILE.)

With a dictionary, its saving is measured on some of the records. `--dictionary train` trains one on records
of SRC, which is then read twice, and measures on other records.
"""

from __future__ import annotations

import argparse
import io
import os
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from seekwarc.cli.arguments import add_json_argument, add_no_verify_argument, add_output_arguments
from seekwarc.cli.batch import (
    add_batch_arguments,
    check_age,
    planned_jobs,
    renamed,
    run_batch,
    threads_of_each,
)
from seekwarc.cli.options import (
    TRAIN,
    add_limit_arguments,
    add_writer_arguments,
    limit_options,
    writer_options,
)
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import STANDARD_OUTPUT, existing_option, input_target, output_target
from seekwarc.errors import (
    FormatError,
    SeekWarcError,
    SourceError,
    TargetExistsError,
    UnsupportedError,
)
from seekwarc.format.words import counted
from seekwarc.frames.dictionary import MAX_DICTIONARY_SIZE, Dictionary
from seekwarc.frames.encoder import DEFAULT_LEVEL
from seekwarc.frames.units import Compression
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.tools.arc import is_arc
from seekwarc.tools.converting import Conversion, convert, holds_same
from seekwarc.tools.outcome import Job, Status
from seekwarc.tools.train import Gain, GainMeter, train
from seekwarc.tools.work import JobContext
from seekwarc.write.files import Existing, is_special, refuse_same_file
from seekwarc.write.output import PathOutput
from seekwarc.write.writer import Writer

__all__ = ["add_arguments", "run"]

USAGE = """\
seekwarc convert [options] SRC DST
       seekwarc convert [options] SRC -o DST
       seekwarc convert [options] FILE|FOLDER... --to-dir DIR"""
SUFFIXES = {"zst": ".zst", "gz": ".gz", "none": ""}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = USAGE
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="SRC and DST; with --to-dir, files and folders"
    )
    add_output_arguments(parser, "DST", "the new file", required=False)
    parser.add_argument(
        "--to",
        choices=("zst", "gz", "none"),
        help="compression of new files (default: from the name of DST; with --to-dir: zst)",
    )
    add_no_verify_argument(parser, "do not decompress DST and compare it with SRC")
    add_json_argument(parser, "file")
    add_batch_arguments(parser, made="a new file")
    add_writer_arguments(parser, train=True)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    to: Compression = options.to or "zst"
    jobs = planned_jobs(options, lambda name: renamed(name, SUFFIXES[to]))
    compression = to if options.to_dir is not None else _compression(options, jobs[0].target or "")
    trains = options.dictionary == TRAIN
    if trains:
        options.dictionary = None
    settings = writer_options(options)
    if compression == "zst" and (threads := threads_of_each(options)) is not None:
        settings.setdefault("threads", threads)
    work = _Converting(
        compression=compression,
        settings=settings,
        limits=limit_options(options),
        level=DEFAULT_LEVEL if options.level is None else options.level,
        verify=not options.no_verify,
        existing=existing_option(options),
        trains=trains,
        skips=options.to_dir is not None and not options.force,
    )
    return run_batch(options, jobs, work, text=_text, fields=_fields)


@dataclass(frozen=True, slots=True)
class _Made:
    """The result of a conversion, and what its dictionary saves."""

    conversion: Conversion
    dictionary: Dictionary | None
    gains: tuple[Gain, ...]


@dataclass(frozen=True, slots=True)
class _Converting:
    """The work on one file; see `tools.work.Work`."""

    compression: Compression
    settings: dict[str, Any]
    limits: ReadLimits
    level: int
    verify: bool
    existing: Existing
    trains: bool
    skips: bool
    """Whether an existing target is skipped if it holds the same."""

    def __call__(self, job: Job, context: JobContext) -> tuple[Status, _Made | None]:
        name = job.target or ""
        if self.skips and os.path.lexists(name):
            self._check_existing(job.source, name, context)
            return Status.SKIPPED, None
        source, target = input_target(job.source), output_target(name)
        refuse_same_file(job.source, target)
        if is_arc(source):
            try:
                from seekwarc.compat.warcio.arc import warc_of_arc  # noqa: PLC0415 - it needs warcio
            except ImportError as error:
                text = "this is an ARC file, and to convert it needs: pip install 'seekwarc[warcio]'"
                raise UnsupportedError(text, source=job.source) from error

            with warc_of_arc(job.source, on_progress=context.on_progress) as warc:
                made = self._convert(job, warc, target, context)
            size = os.path.getsize(job.source)
            return Status.DONE, replace(made, conversion=replace(made.conversion, source_size=size))
        return Status.DONE, self._convert(job, source, target, context)

    def _convert(
        self, job: Job, source: str | BinaryIO, target: str | BinaryIO, context: JobContext
    ) -> _Made:
        settings = dict(self.settings)
        gains: tuple[Gain, ...] = ()
        if self.trains:
            self._check_before_training(job, source)
            training = train([source], level=self.level, on_progress=context.on_progress, **self.limits)
            settings["dictionary"], gains = training.dictionary, training.gains
        dictionary = settings.get("dictionary")
        meter = GainMeter() if dictionary is not None and not self.trains else None
        with context.output(target, self.existing) as output:
            done = convert(
                source,
                output,
                self.compression,
                verify=self.verify,
                on_progress=context.on_progress,
                on_record=meter.add if meter is not None else None,
                limits=self.limits,
                **settings,
            )
        if meter is not None and dictionary is not None:
            gains = meter.gains(dictionary, self.level)
        return _Made(done, dictionary, gains)

    def _check_existing(self, source: str, target: str, context: JobContext) -> None:
        """Check that an existing target was made from this source, and is whole."""
        if self.verify:
            most = self.limits.get("max_dictionary_size", MAX_DICTIONARY_SIZE)
            sound = holds_same(source, target, on_progress=context.on_progress, max_dictionary_size=most)
        else:
            sound = check_age(target, source) and _begins_well(target)
        if not sound:
            raise TargetExistsError(
                f"exists already, and is not a conversion of {source}; --force replaces it", source=target
            )

    def _check_before_training(self, job: Job, source: str | BinaryIO) -> None:
        if self.compression != "zst":
            raise SeekWarcError(f"a file of compression {self.compression!r} takes no dictionary")
        if _is_pipe(source):
            raise SourceError(
                "a pipe cannot be read twice, to train and to convert: store it in a file, or "
                "make a dictionary from other files with `seekwarc train`",
                source=job.source,
            )
        Writer(io.BytesIO(), **self.settings).abort()
        target = output_target(job.target or "")
        if isinstance(target, str) and not is_special(target):
            PathOutput(target, existing=self.existing).abort()


def _begins_well(name: str) -> bool:
    try:
        with Reader(name) as archive:
            return next(iter(archive), None) is not None
    except FormatError:
        return False


def _is_pipe(source: str | BinaryIO) -> bool:
    if isinstance(source, str):
        return os.path.exists(source) and not (os.path.isfile(source) or os.path.isdir(source))
    return not source.seekable()


def _compression(options: argparse.Namespace, target: str) -> Compression:
    if options.to is not None:
        chosen: Compression = options.to
        return chosen
    name = target.lower()
    if name.endswith(".gz"):
        return "gz"
    if name.endswith(".warc"):
        return "none"
    if name.endswith((".zst", ".zstd")) or name in STANDARD_OUTPUT:
        return "zst"
    raise SeekWarcError(
        "unknown compression: name it .warc.zst, .warc.gz or .warc, or give --to", source=target
    )


def _fields(made: _Made | None) -> dict[str, object]:
    done = made.conversion if made is not None else None
    data: dict[str, object] = {
        "records": done.records if done is not None else None,
        "stored_size": done.source_size if done is not None else None,
        "target_size": done.target_size if done is not None else None,
        "content_size": done.content_size if done is not None else None,
        "sha256": done.sha256 if done is not None else None,
        "verified": done.verified if done is not None else None,
    }
    for gain in made.gains if made is not None else ():
        if made is not None and made.dictionary is not None:
            data["dictionary"] = {
                "id": made.dictionary.id,
                "size": len(made.dictionary.data),
                "stored_size": len(made.dictionary.compressed),
                "measured": gain.measured,
                "size_without": gain.size_without,
                "size_with": gain.size_with,
                "saving": gain.saving,
            }
    return data


def _text(made: _Made) -> str:
    done, dictionary = made.conversion, made.dictionary
    share = done.target_size / done.source_size if done.source_size else 0
    checked = "the new file holds the same" if done.verified else "not checked"
    lines = [
        (
            f"{counted(done.records, 'record')}, {human_size(done.content_size)}: "
            f"{human_size(done.source_size)} became {human_size(done.target_size)} ({share:.1%})"
        ),
        f"sha256 of the content: {done.sha256} ({checked})",
    ]
    if dictionary is not None:
        lines.append(
            f"dictionary {dictionary.id}: {human_size(len(dictionary.data))}, "
            f"{human_size(len(dictionary.compressed))} in the file"
        )
        lines += [_gain_text(gain, len(dictionary.compressed)) for gain in made.gains]
    return "\n".join(lines)


def _gain_text(gain: Gain, cost: int) -> str:
    if gain.share is None:
        return "too few records to measure what it saves"
    net = gain.saving - cost
    text = (
        f"{counted(gain.measured, 'record')} measured: {human_size(gain.size_without)} without it, "
        f"{human_size(gain.size_with)} with it ({gain.share:.1%}); "
    )
    if net > 0:
        return text + f"it makes the file about {human_size(net)} smaller"
    return text + f"it makes the file about {human_size(-net)} larger: convert without it"
