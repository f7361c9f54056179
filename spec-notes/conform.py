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

Examples are in tests/interop/adapters. Python 3.11 is all that this script needs.

python spec-notes/conform.py spec-notes/warc-zstd-seekable/samples -- python my_reader.py
python spec-notes/conform.py spec-notes/sidecar/samples --class seeks --batch -- java -jar my-reader.jar
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final, NoReturn, TypeVar

from conformance.answers import Answer, judged, meets, questions_about
from conformance.batch_command import BatchCommand
from conformance.command import Command
from conformance.manifest import KitError, Manifest, counted, read_manifest

PROGRAM: Final = os.path.basename(__file__)
TIMEOUT: Final = 10.0
MAX_TIMEOUT: Final = 86_400
"""A day."""


MAX_JOBS: Final = 256
MAX_DEFAULT_JOBS: Final = 4
BY_SIGNAL: Final = 128
BROKEN_PIPE: Final = 141

T = TypeVar("T")


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to find help, and exit with status 2."""
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")


class Stopped(BaseException):
    """SIGTERM asked the process to end."""


def parser() -> Parser:
    """Return the parser of the command line."""
    made = Parser(
        PROGRAM, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    made.add_argument("manifest", metavar="MANIFEST", help="manifest.json of the samples, or its folder")
    made.add_argument("command", metavar="COMMAND", nargs="+", help="after `--`: what runs the reader")
    made.add_argument(
        "--class",
        dest="reader_class",
        choices=("reads", "seeks"),
        default="reads",
        help="what the exit status says: whether all records are read and no range is wrong (reads, the "
        "default), or whether ranges are read too (seeks)",
    )
    made.add_argument(
        "--batch",
        action="store_true",
        help="ask many questions of one process, which takes less time, instead of starting one for each",
    )
    made.add_argument(
        "--timeout",
        type=argument(_seconds),
        default=TIMEOUT,
        metavar="SECONDS",
        help=f"end COMMAND after this time, for each question (default: {TIMEOUT:.0f})",
    )
    made.add_argument(
        "-j",
        "--jobs",
        type=argument(_jobs),
        default=min(os.cpu_count() or 1, MAX_DEFAULT_JOBS),
        metavar="N",
        help=f"samples to ask about at the same time, up to {MAX_JOBS} (default: one for each core)",
    )
    made.add_argument(
        "--json", action="store_true", help="print a JSON object for each question and one at the end"
    )
    return made


def argument(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return a type of arguments that keeps the message of a `ValueError`, which argparse would replace."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def _jobs(text: str) -> int:
    if not re.fullmatch("[0-9]{1,3}", text) or not 1 <= int(text) <= MAX_JOBS:
        raise ValueError(f"{text!r} is not a number from 1 to {MAX_JOBS}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MAX_TIMEOUT:
        raise ValueError(f"{text!r} is not a number of seconds")
    return value


def run(options: argparse.Namespace) -> int:
    """Ask the reader, print its answers, and return 0 if it meets its class and 1 if not."""
    manifest = read_manifest(options.manifest)
    command = (BatchCommand if options.batch else Command)(options.command, timeout=options.timeout)
    answers: list[Answer] = []
    try:
        for answer in _watched(judged(manifest, command.run, jobs=options.jobs), manifest):
            answers.append(answer)
            if options.json:
                print(json.dumps(_as_json(answer)))
    finally:
        command.stop()
    is_met = meets(answers, options.reader_class)
    if options.json:
        counts = Counter(answer.verdict for answer in answers)
        result = {"kind": "result", "class": options.reader_class, "met": is_met, "verdicts": counts}
        print(json.dumps({**result, "samples": manifest.version}))
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
    is_seen = sys.stderr is not None and sys.stderr.isatty()
    total = sum(len(questions_about(sample, "")) for sample in manifest.samples)
    for number, answer in enumerate(answers, 1):
        if is_seen:
            print(f"\rasking: {number}/{total} ", end="", file=sys.stderr, flush=True)
        yield answer
    if is_seen:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _as_json(answer: Answer) -> dict[str, object]:
    names = "question", "verdict", "allowed", "message"
    fields = {name: getattr(answer, name) or None for name in names} | {"allowed": answer.allowed}
    fields["sample"] = answer.file
    if answer.question == "range":
        fields |= {"offset": answer.offset, "start": answer.start, "end": answer.stop}
    return {"kind": "answer", **fields}


def _table(manifest: Manifest, answers: list[Answer]) -> Iterator[str]:
    """Yield a line for each sample, with what is not right below it, and the totals."""
    width = max(len(sample.name) for sample in manifest.samples)
    yield f"{'SAMPLE':<{width}}  {'RECORDS':<13}  RANGES"
    for file, group in groupby(answers, key=lambda answer: answer.file):
        records, *ranges = group
        yield f"{file:<{width}}  {records.verdict:<13}  {_counts(ranges) or '-'}"
        for answer in (records, *ranges):
            if not answer.allowed:
                yield f"    {_place(answer)}: {answer.verdict}: {printable(answer.message) or '-'}"
    for question, name in (("records", "records"), ("range", "ranges")):
        some = [answer for answer in answers if answer.question == question]
        yield f"{name} of {counted(len(manifest.samples), 'sample')}: {_counts(some) or '-'}"


def printable(text: str) -> str:
    """Return text in which control characters are shown, not obeyed by a terminal."""
    return "".join(it if it.isprintable() else it.encode("unicode_escape").decode() for it in text)


def say(text: str) -> None:
    """Print a message to standard error, if that can be written to."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(f"{PROGRAM}: {printable(text)}", file=sys.stderr)


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


def _stop(*_: object) -> NoReturn:
    raise Stopped


def main() -> int:
    """Run the command; 0 if the class is met, 1 if not, 2 for wrong usage or samples that cannot be used."""
    signal.signal(signal.SIGTERM, _stop)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    options = parser().parse_args()
    try:
        status = run(options)
        sys.stdout.flush()
    except (KeyboardInterrupt, Stopped) as stop:
        say("stopped")
        number = signal.SIGTERM if isinstance(stop, Stopped) else signal.SIGINT
        status = BY_SIGNAL + number
    except KitError as error:
        if options.json:
            failure = {"kind": error.kind, "offset": None, "message": str(error)}
            print(json.dumps({"file": None, "target": None, "status": "failed", "error": failure}))
        say(str(error))
        status = 2
    except OSError as error:
        status = BROKEN_PIPE if isinstance(error, BrokenPipeError) else 2
        if status == 2:
            say(f"standard output: cannot be written: {error.strerror or error}")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # What is buffered could not be written at exit either.
    return status


if __name__ == "__main__":
    sys.exit(main())
