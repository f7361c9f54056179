"""Check whether a reader of .warc.zst, or of sidecars, reads the samples of the specification as it should.

MANIFEST is the samples' manifest.json, or its folder. COMMAND is a small program around the reader:

  COMMAND records FILE                          prints a line of JSON for each record of FILE in order:
                                                {"offset": 0, "length": 248, "size": 19, "sha256": "..."},
                                                size and sha256 being those of the block, length null if
                                                it is unknown
  COMMAND range FILE OFFSET LENGTH START END    writes bytes START to END (excluded) of the block of the
                                                record at OFFSET; with samples of sidecars the path of the
                                                one to use comes last

Its exit status is 0 if it did that; 1 after an error, which it reports on standard error, when all that is
right was written; 3 if the reader cannot do what was asked for. With --batch it is started as

  COMMAND batch                                 and reads questions from its standard input: each line is
                                                a JSON array of the arguments above. Its answer is a line
                                                `STATUS SIZE MESSAGE`, and then SIZE bytes, the output

Examples are in tests/interop/adapters.

seekwarc conform spec-notes/warc-zstd-seekable/samples -- python my_reader.py
seekwarc conform samples/manifest.json --class seeks --batch --json -- java -jar my-reader.jar
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from typing import Final

from seekwarc.cli.arguments import MAX_JOBS, add_flag, add_jobs_argument, argument
from seekwarc.cli.printing import picked, printable, say
from seekwarc.cli.progress import progress_bar, progress_is_seen
from seekwarc.conform.answers import Answer, judged, meets, questions_about
from seekwarc.conform.batch_command import BatchCommand
from seekwarc.conform.command import Command
from seekwarc.conform.manifest import Manifest, read_manifest
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.json_text import json_text
from seekwarc.format.words import counted
from seekwarc.system import default_threads

__all__ = ["add_arguments", "run"]

TIMEOUT: Final = 10.0
MAX_TIMEOUT: Final = 86_400
"""A day."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("manifest", metavar="MANIFEST", help="manifest.json of the samples, or its folder")
    parser.add_argument("command", metavar="COMMAND", nargs="+", help="after `--`: what runs the reader")
    parser.add_argument(
        "--class",
        dest="reader_class",
        choices=("reads", "seeks"),
        default="reads",
        help="what the exit status tells: whether all records are read and no range is wrong (reads, the "
        "default), or whether ranges are read too (seeks)",
    )
    add_flag(
        parser,
        "--batch",
        text="ask many questions of one process, which takes less time, instead of starting one for each",
    )
    parser.add_argument(
        "--timeout",
        type=argument(_seconds),
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"end COMMAND after this time, for each question (default: {TIMEOUT:.0f})",
    )
    text = f"samples to ask about at the same time, up to {MAX_JOBS} (default: one for each core)"
    add_jobs_argument(parser, text, default_threads())
    add_flag(parser, "--json", text="print a JSON object for each question and one at the end")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MAX_TIMEOUT:
        raise ValueError(f"{text!r} is not a number of seconds")
    return value


def run(options: argparse.Namespace) -> int:
    try:
        manifest = read_manifest(options.manifest)
    except FormatError as error:
        # It says nothing of the reader, which status 1 would.
        raise SeekWarcError(error.message, source=error.source) from error
    command = (BatchCommand if options.batch else Command)(options.command, timeout=options.timeout)
    answers: list[Answer] = []
    try:
        for answer in _watched(judged(manifest, command.run, jobs=options.jobs), manifest):
            answers.append(answer)
            if options.json:
                print(json_text(_as_json(answer)))
    finally:
        command.stop()
    is_met = meets(answers, options.reader_class)
    if options.json:
        counts = Counter(answer.verdict for answer in answers)
        result = {"kind": "result", "class": options.reader_class, "met": is_met, "verdicts": counts}
        print(json_text({**result, "samples": manifest.version}))
    else:
        print("\n".join(_table(manifest, answers)))
        if is_met:
            print(f"class {options.reader_class!r} is met")
    if not is_met:
        sys.stdout.flush()
        say(f"class {options.reader_class!r} is not met")
    return 0 if is_met else 1


def _watched(answers: Iterable[Answer], manifest: Manifest) -> Iterator[Answer]:
    """Show on a terminal how many questions were answered."""
    with ExitStack() as opened:
        bar = None
        if progress_is_seen():
            total = sum(len(questions_about(sample, "")) for sample in manifest.samples)
            bar = opened.enter_context(progress_bar(total, "asking", unit=""))
        for answer in answers:
            if bar is not None:
                bar.update()
            yield answer


def _as_json(answer: Answer) -> dict[str, object]:
    fields = picked(answer, "question", "verdict", "allowed", "message", sample="file")
    if answer.question == "range":
        fields |= picked(answer, "offset", "start", end="stop")
    return {"kind": "answer", **fields}


def _table(manifest: Manifest, answers: list[Answer]) -> Iterator[str]:
    """Yield a line for each sample, with what is not right below it, and the totals."""
    width = max(len(sample.name) for sample in manifest.samples)
    yield f"{'SAMPLE':<{width}}  {'RECORDS':<13}  RANGES"
    for file, group in groupby(answers, key=lambda answer: answer.file):
        records, *ranges = group
        told = _counts(ranges) or "-"
        yield f"{file:<{width}}  {records.verdict:<13}  {told}"
        for answer in (records, *ranges):
            if not answer.allowed:
                yield f"    {_place(answer)}: {answer.verdict}: {printable(answer.message) or '-'}"
    for question, name in (("records", "records"), ("range", "ranges")):
        some = [answer for answer in answers if answer.question == question]
        yield f"{name} of {counted(len(manifest.samples), 'sample')}: {_counts(some) or '-'}"


def _counts(answers: Iterable[Answer]) -> str:
    words = Counter(
        f"{answer.verdict} (allowed)" if answer.allowed and answer.verdict != "right" else str(answer.verdict)
        for answer in answers
    )
    return ", ".join(f"{count} {word}" for word, count in words.most_common())


def _place(answer: Answer) -> str:
    if answer.question == "records":
        return "records"
    return f"range {answer.start} to {answer.stop} of the record at {answer.offset}"
