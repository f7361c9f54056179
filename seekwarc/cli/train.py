"""Train a dictionary on records like those it will compress: of the same site, or the same crawl.

  seekwarc dictionary train crawl-*.warc.gz -o crawl.dict
  seekwarc convert crawl-00000.warc.gz crawl-00000.warc.zst --dictionary crawl.dict

It helps small records most, and every file that uses it stores a copy. For each file, its saving is measured
on records that it was not trained on. `-` is standard input or standard output.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seekwarc.cli.arguments import add_json_argument, add_output_arguments, add_value, number, whole
from seekwarc.cli.options import add_limit_arguments, add_quiet_argument, limit_options, values_of
from seekwarc.cli.printing import dictionary_json, picked, printable, report_done
from seekwarc.cli.progress import watch
from seekwarc.cli.sizes import human_size
from seekwarc.cli.targets import existing_option, input_target, output_target
from seekwarc.format.conditions import parse_size
from seekwarc.format.words import counted
from seekwarc.frames.dictionary import MAX_DICTIONARY_SIZE
from seekwarc.make.training import DEFAULT_SIZE, Gain, Training, train
from seekwarc.storage.expand import expand
from seekwarc.write.files import refuse_same_file
from seekwarc.write.opening import committed

__all__ = ["add_train_arguments", "train_dictionary"]

GAIN_FIELDS = ("records", "measured", "size_without", "size_with", "saving")
MAX_KINDS = 20
"""Kinds of records that are listed; JSON has all."""


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE|FOLDER", nargs="+", help=".warc.zst, .warc.gz or .warc")
    add_output_arguments(parser, "DICT", "the dictionary")
    text = "maximum size of the dictionary (default: 112640); it is smaller if there is little to train on"
    add_value(parser, "--size", "SIZE", text, parse_size, default=DEFAULT_SIZE)
    text = "compression level that it will be used with, -7 to 22 (default: that of convert)"
    add_value(parser, "--level", "N", text, whole)
    text = "maximum number of records to train on (default: as many as help)"
    add_value(parser, "--samples", "N", text, number("number of records", 1))
    add_quiet_argument(parser)
    add_json_argument(parser)
    add_limit_arguments(parser)


def train_dictionary(options: argparse.Namespace) -> int:
    target = output_target(options.output)
    # A file that is named twice would be measured on records that were trained on.
    files = list(expand(options.files))
    for name in files:
        refuse_same_file(name, target)
    with committed(target, existing=existing_option(options)) as output:
        done = train(
            map(input_target, files),
            on_progress=watch(options),
            **values_of(options, "size", "level", "samples"),
            **limit_options(options),
        )
        output.write(done.dictionary.data)
    report_done(options, _text(done), {"target": options.output, **_json(done)})
    return 0


def _json(done: Training) -> dict[str, object]:
    return {
        **dictionary_json(done.dictionary),
        **picked(done, "samples", "sample_size"),
        "strata": [asdict(it) for it in done.strata],
        "files": [{"file": it.name, **picked(it, *GAIN_FIELDS)} for it in done.gains],
    }


def _text(done: Training) -> str:
    size = len(done.dictionary.data)
    lines = [
        (
            f"dictionary {done.dictionary.id}: {human_size(size)} ({counted(size, 'byte')}), trained on "
            f"{counted(done.samples, 'sample')} of {human_size(done.sample_size)}"
        ),
        f"each file takes {human_size(len(done.dictionary.compressed))} to hold it",
        "",
        f"{'RECORDS':>10} {'SAMPLES':>10} {'SIZE':>10}  OF KIND",
        *(
            f"{it.records:>10} {it.samples:>10} {human_size(it.sample_size):>10}  "
            f"{printable(it.type)} {printable(it.mime)}"
            for it in done.strata[:MAX_KINDS]
        ),
    ]
    if len(done.strata) > MAX_KINDS:
        lines.append(f"{'':>33} and {len(done.strata) - MAX_KINDS} more kinds")
    lines += [
        "",
        f"{'RECORDS':>10} {'MEASURED':>10} {'WITHOUT':>10} {'WITH':>10} {'LEFT':>7} {'SAVED':>10}  IN FILE",
        *map(_gain_line, done.gains),
    ]
    if size > MAX_DICTIONARY_SIZE:
        lines.append(f"Readers need not support dictionaries above {human_size(MAX_DICTIONARY_SIZE)}.")
    return "\n".join(lines)


def _gain_line(gain: Gain) -> str:
    figures = f"{'-':>10} {'-':>10} {'-':>7} {'-':>10}"
    if gain.share is not None:
        without, left = human_size(gain.size_without), human_size(gain.size_with)
        figures = f"{without:>10} {left:>10} {gain.share:>7.1%} {human_size(gain.saving):>10}"
    return f"{gain.records:>10} {gain.measured:>10} {figures}  {printable(gain.name)}"
