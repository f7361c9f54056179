"""Convert WARC files to another compression, without changing a byte of their records.

  seekwarc convert crawl.warc.gz crawl.warc.zst
  seekwarc convert crawls/ --to-dir seekable/ --jobs 4 --keep-going --json > report.jsonl

SRC is a .warc, .warc.gz or .warc.zst, recognized by its content, or an ARC file (.arc, .arc.gz), whose
records get headers of WARC. The compression of DST follows from its name, or from --to. An existing DST is
refused unless --force is given. The new file is decompressed and compared with SRC before it gets its name.
`-` is standard input or standard output.

With --to-dir, each FILE, and each archive in or below a folder, is converted into a file in DIR, which keeps
the tree below that folder unless --flat is given. A file that exists already and decompresses to the same
bytes is skipped, so the same command continues after an interruption. (With --no-verify, a file is skipped if
it is no older than FILE.) The last line says what the files converted took before and take now.

--dry-run keeps nothing. What can be converted in 20 seconds is, and its sizes and the exit status of the run
are said; of more, a sample is converted in that time, and the likely sizes and hours of all are said.

With a dictionary, its saving is measured on some of the records. `--dictionary auto` trains one on a sample
of SRC, and keeps it if that makes DST smaller by more than a tenth. `--dictionary train` trains it on all
records, so SRC is read twice, and keeps it if it helps at all. Both measure on other records. Without one,
the last line says what it would save: it is not the default, since some programs that read a .warc.zst
cannot read one that has a dictionary.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from seekwarc.cli.arguments import add_flag, add_json_argument
from seekwarc.cli.batch import (
    Printer,
    add_batch_arguments,
    add_copy_arguments,
    check_age,
    output_of,
    planned_jobs,
    renamed,
    run_batch,
    skips_existing,
    writer_options_of_each,
)
from seekwarc.cli.options import (
    AUTO,
    TRAIN,
    add_limit_arguments,
    add_writer_arguments,
    limit_options,
    writer_options,
)
from seekwarc.cli.printing import STANDARD_OUTPUT, dictionary_json, picked
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, input_target, output_target
from seekwarc.errors import (
    FormatError,
    FormatWarning,
    SeekWarcError,
    SourceError,
    TargetExistsError,
)
from seekwarc.format.words import counted
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.pieces import Compression
from seekwarc.jobs.outcome import Job, Status
from seekwarc.jobs.work import JobContext
from seekwarc.make.converting import Conversion, convert, holds_same
from seekwarc.make.training import Gain, GainMeter, train
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import Reader
from seekwarc.read.resync import SHARED
from seekwarc.write.files import is_special, refuse_same_file
from seekwarc.write.opening import open_output
from seekwarc.write.writer import Writer

if TYPE_CHECKING:
    from seekwarc.make.trying import Trial

__all__ = ["add_arguments", "run"]

MIN_ADVISED: Final = 1 << 20
"""Smaller files are converted without advice: there is little that a dictionary could save."""
SUFFIXES = {"zst": ".zst", "gz": ".gz", "none": ""}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_copy_arguments(parser, "convert")
    parser.add_argument(
        "--to",
        choices=("zst", "gz", "none"),
        help="compression of new files (default: from the name of DST; with --to-dir: zst)",
    )
    add_flag(parser, "--no-verify", "do not decompress DST and compare it with SRC")
    add_json_argument(parser, "file")
    add_batch_arguments(parser, made="a new file")
    add_writer_arguments(parser, train=True)
    add_limit_arguments(parser)


def run(options: argparse.Namespace) -> int:
    to: Compression = options.to or "zst"
    jobs = planned_jobs(options, lambda name: renamed(name, SUFFIXES[to]))
    compression = to if options.to_dir is not None else _compression(options, jobs[0].target or "")
    made = options.dictionary if options.dictionary in (AUTO, TRAIN) else None
    if made is not None:
        options.dictionary = None
    settings = writer_options_of_each(options, jobs) if compression == "zst" else writer_options(options)
    limits = limit_options(options)
    if options.dry_run and made is None:
        from seekwarc.cli.estimates import print_conversion

        if print_conversion(options, jobs, compression, settings, limits):
            return 0
    work = _Converting(options, compression, settings, limits, made)
    became = "would become" if options.dry_run else "became"
    saved = _Saved(became)
    printer = Printer(
        partial(_text, became, len(jobs)), partial(_fields, options), keep=saved.add, total=saved.text
    )
    return run_batch(options, jobs, work, printer)


@dataclass(frozen=True, slots=True)
class _Made:
    conversion: Conversion
    dictionary: Dictionary | None
    gains: tuple[Gain, ...]
    advice: str | None
    """What is said of the dictionary that the file does not have."""
    could_save: int


class _Saved:
    """What all conversions saved together."""

    def __init__(self, became: str) -> None:
        self._became = became
        self._before = self._after = self._could_save = 0

    def add(self, _: Job, made: _Made) -> None:
        self._before += made.conversion.source_size or 0
        self._after += made.conversion.target_size
        self._could_save += made.could_save

    def text(self) -> str | None:
        if not self._before:
            return None
        change = _change(self._became, self._before, self._after)
        return f"{change}\n{_advice(self._could_save, self._after)}" if self._could_save else change


def _advice(could_save: int, size: int) -> str:
    return (
        f"with a dictionary it would be about {human_size(could_save)} ({could_save / size:.0%}) smaller: "
        "--dictionary auto"
    )


def _change(became: str, before: int, after: int) -> str:
    saving = (
        f"{human_size(before - after)} saved" if after <= before else f"{human_size(after - before)} more"
    )
    return f"{human_size(before)} {became} {human_size(after)} ({after / before:.1%}): {saving}"


@dataclass(frozen=True, slots=True)
class _Converting:
    """The work on one file; see `tools.work.Work`."""

    options: argparse.Namespace
    compression: Compression
    settings: dict[str, Any]
    limits: ReadLimits
    made: str | None
    """How a dictionary is made, AUTO or TRAIN."""

    def __call__(self, job: Job, context: JobContext) -> tuple[Status, _Made | None]:
        name = job.target or ""
        if skips_existing(self.options) and os.path.lexists(name):
            self._check_existing(job.source, name, context)
            return Status.SKIPPED, None
        source, target = input_target(job.source), output_target(name)
        refuse_same_file(job.source, target)
        with warnings.catch_warnings():
            # Such a file is mended by what is done here.
            warnings.filterwarnings("ignore", f".*{re.escape(SHARED)}", FormatWarning)
            return Status.DONE, self._convert(job, source, target, context)

    def _convert(
        self, job: Job, source: str | BinaryIO, target: str | BinaryIO, context: JobContext
    ) -> _Made:
        settings = dict(self.settings)
        level = settings.get("level")
        gains: tuple[Gain, ...] = ()
        trial = None
        if self.made is not None:
            self._check_before_training(job, source)
        if self.made == TRAIN:
            training = train([source], level=level, on_progress=context.on_progress, **self.limits)
            settings["dictionary"], gains = training.dictionary, training.gains
        elif self.made == AUTO or self._gives_advice(source):
            trial = self._tried(source, level)
        if self.made == AUTO and trial is not None and trial.pays:
            settings["dictionary"], gains = trial.dictionary, (trial.gain,)
        dictionary = settings.get("dictionary")
        meter = GainMeter() if dictionary is not None and self.made is None else None
        with output_of(self.options, context, target, job.target or "") as output:
            done = convert(
                source,
                output,
                self.compression,
                verify=not (self.options.no_verify or self.options.dry_run),
                on_progress=context.on_progress,
                on_record=meter.add if meter is not None else None,
                limits=self.limits,
                processes=context.processes,
                **settings,
            )
        if meter is not None and dictionary is not None:
            gains = meter.gains(dictionary, level)
        advice, could_save = None, 0
        if self.made == AUTO and dictionary is None:
            saving = "none" if trial is None else f"{max(trial.share, 0):.1%}"
            advice = f"no dictionary: one made of a sample of the records saves {saving}, too little"
        elif dictionary is None and trial is not None and trial.pays:
            could_save = int(trial.share * done.target_size)
            advice = _advice(could_save, done.target_size)
        return _Made(done, dictionary, gains, advice, could_save)

    def _gives_advice(self, source: str | BinaryIO) -> bool:
        """Tell whether a dictionary that was not asked for is tried."""
        return (
            self.compression == "zst"
            and self.settings.get("dictionary") is None
            and not (self.options.quiet or self.options.json)
            and isinstance(source, str)
            and os.path.isfile(source)
            and os.path.getsize(source) >= MIN_ADVISED
        )

    def _tried(self, source: str | BinaryIO, level: int | None) -> Trial | None:
        from seekwarc.make.trying import tried

        try:
            return tried(source, level=level, **self.limits)
        except SeekWarcError:
            if self.made is not None:
                raise
            return None  # Converting finds out what is wrong.

    def _check_existing(self, source: str, target: str, context: JobContext) -> None:
        """Check that an existing target was made from this source, and is whole."""
        if self.options.no_verify:
            sound = check_age(target, source) and _begins_well(target)
        else:
            most = ReadOptions.of(**self.limits).max_dictionary_size
            sound = holds_same(source, target, on_progress=context.on_progress, max_dictionary_size=most)
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
                "make a dictionary from other files with `seekwarc dictionary train`",
                source=job.source,
            )
        Writer(io.BytesIO(), **self.settings).abort()
        target = output_target(job.target or "")
        if isinstance(target, str) and not is_special(target) and not self.options.dry_run:
            open_output(target, existing=existing_option(self.options)).abort()


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
    endings: dict[str, Compression] = {".gz": "gz", ".warc": "none", ".zst": "zst", ".zstd": "zst"}
    for ending, compression in endings.items():
        if target.lower().endswith(ending):
            return compression
    if target in STANDARD_OUTPUT:
        return "zst"
    raise SeekWarcError(
        "unknown compression: name it .warc.zst, .warc.gz or .warc, or give --to", source=target
    )


def _fields(options: argparse.Namespace, made: _Made | None) -> dict[str, object]:
    names = ("records", "target_size", "content_size", "sha256", "verified")
    data = picked(made.conversion if made is not None else None, *names, stored_size="source_size")
    data["dry_run"] = options.dry_run
    if made is not None and made.dictionary is not None:
        for gain in made.gains:
            sizes = picked(gain, "measured", "size_without", "size_with", "saving")
            data["dictionary"] = dictionary_json(made.dictionary) | sizes
    return data


def _text(became: str, files: int, made: _Made) -> str:
    done, dictionary = made.conversion, made.dictionary
    share = done.target_size / done.source_size if done.source_size else 0
    checked = "the new file holds the same" if done.verified else "not checked"
    lines = [
        (
            f"{counted(done.records, 'record')}, {human_size(done.content_size)}: "
            f"{human_size(done.source_size)} {became} {human_size(done.target_size)} ({share:.1%})"
        ),
        f"sha256 of the content: {done.sha256} ({checked})",
    ]
    if dictionary is not None:
        lines.append(
            f"dictionary {dictionary.id}: {human_size(len(dictionary.data))}, "
            f"{human_size(len(dictionary.compressed))} in the file"
        )
        lines += [_gain_text(gain, len(dictionary.compressed)) for gain in made.gains]
    elif made.advice is not None and (files == 1 or not made.could_save):
        # Of several files the last line says it.
        lines.append(made.advice)
    return "\n".join(lines)


def _gain_text(gain: Gain, cost: int) -> str:
    if gain.share is None:
        return "too few records to measure what it saves"
    net = gain.saving - cost
    change = "smaller" if net > 0 else "larger: convert without it"
    return (
        f"{counted(gain.measured, 'record')} measured: {human_size(gain.size_without)} without it, "
        f"{human_size(gain.size_with)} with it ({gain.share:.1%}); "
        f"it makes the file about {human_size(abs(net))} {change}"
    )
