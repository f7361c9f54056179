"""The `seekwarc` command: one file a verb."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Final

from seekwarc import __version__
from seekwarc.cli.arguments import Parser
from seekwarc.cli.printing import SAID, WARNING, report, say
from seekwarc.cli.verbs import GROUPS, RENAMED, VERBS, Verb
from seekwarc.errors import (
    FormatError,
    FormatWarning,
    NotFoundError,
    SeekWarcError,
    SourceNotFoundError,
    TargetError,
)
from seekwarc.format.words import did_you_mean
from seekwarc.storage.expand import noting
from seekwarc.system import SIGPIPE, configure_text, is_broken_pipe, raise_signal_after

__all__ = ["main"]

FOUND_PROBLEMS: Final = 1
FAILED: Final = 2
BY_SIGNAL: Final = 128
STOPPING: Final = (signal.SIGINT, signal.SIGTERM)
SOON: Final = 0.01
"""Seconds."""

FIRST_COMMANDS: Final = """\
seekwarc: web archives with random access inside their records. To begin:

  seekwarc demo                                       make an example and see what a range read costs
  seekwarc convert CRAWL.warc.gz CRAWL.warc.zst       make a file of yours seekable
  seekwarc serve CRAWL.warc.zst                       look at it in a browser, play films, scrub

`seekwarc --help` lists every verb.
"""
EPILOG: Final = """\
exit status: 0 fine, 1 damaged data or nothing found, 2 wrong usage or input/output error.
`seekwarc help VERB` explains one verb.
"""


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from seekwarc import __compiled__
        from seekwarc.frames.codec import LIBRARY

        kind = "compiled" if __compiled__ else "pure Python"
        text = f"seekwarc {__version__} ({kind}; {LIBRARY.NAME})\n"
        if not __compiled__:
            text += "`SEEKWARC_COMPILE=1` when installing makes it 1.1 to 1.5 times as fast\n"
        # At once: `grep -q` goes away after the first line.
        sys.stdout.write(text)
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS))
    parts = [
        "\n".join(
            [f"{group}:", *(f"  {it.name:<{width}}  {it.text}" for it in VERBS.values() if it.group == group)]
        )
        for group in GROUPS
    ]
    parser = Parser("seekwarc", "WARC files with random access inside their records.")
    parser.usage = "seekwarc [--version] VERB ..."
    parser.epilog = "\n\n".join([*parts, EPILOG])
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and the codec")
    parser.add_argument("verb", metavar="VERB", help=argparse.SUPPRESS)
    return parser


def _verb_of(words: list[str]) -> tuple[Verb | None, list[str]]:
    """Return the verb and what follows it. `help VERB` is what `VERB --help` is."""
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    if not words:
        return None, []
    first, *rest = words
    if first in VERBS and " ".join(words[:2]) not in RENAMED:
        return VERBS[first], rest
    import shlex

    parser = _parser()
    for old in (first, " ".join(words[:2])):
        if old in RENAMED:
            parser.exit(FAILED, f"seekwarc: `seekwarc {old}` is now `{RENAMED[old]}`\n")
    if first.startswith("-"):
        parser.parse_known_args([first, "VERB"])  # Help and the version end here.
        option, verb = first.partition("=")[0], next((it for it in words if it in VERBS), None)
        if verb is None or option not in VERBS[verb].parser()._option_string_actions:  # noqa: SLF001
            parser.error(f"unrecognized arguments: {option}")
        place = words.index(verb)
        command = shlex.join(["seekwarc", verb, *words[:place], *words[place + 1 :]])
        parser.exit(FAILED, f"seekwarc: {option} goes after the verb: {command}\n")
    is_file = os.path.exists(first) or "://" in first
    hint = f"; a verb goes before it: {shlex.join(['seekwarc', 'ls', first])}" if is_file else ""
    return parser.error(f"unknown verb {first!r}{hint or did_you_mean(first.lower(), VERBS)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if fine, 1 for damage or nothing found, 2 for wrong usage or I/O errors."""
    words = list(sys.argv[1:] if argv is None else argv)
    SAID.clear()
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", FormatWarning)
    dropped, sys.unraisablehook = sys.unraisablehook, _stop_again
    handlers = {number: signal.getsignal(number) for number in STOPPING}
    try:
        for number, handler in handlers.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, _stop)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                configure_text(stream)
        status = _status_of(*_verb_of(words))
    except (KeyboardInterrupt, _Terminated) as stop:
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)  # Nothing may interrupt the exit of Python.
        say("stopped")
        _drop_output()
        return BY_SIGNAL + _signal_of(stop)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    sys.unraisablehook = dropped
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _drop_output()  # The error was reported already.
    return status


def _status_of(verb: Verb | None, words: list[str]) -> int:
    """Run a verb, report what went wrong, and return the exit status."""
    try:
        if sys.stdout is None:
            raise TargetError("standard output is closed")
        if verb is None:
            print(FIRST_COMMANDS, end="")
        status = 0 if verb is None else _run(verb, words)
        # A verb that failed has said why: perhaps that standard output cannot be written to.
        if status != FAILED:
            sys.stdout.flush()
    except (FormatError, NotFoundError) as error:
        from seekwarc.jobs.outcome import Failure

        failure = Failure.of(error)
        say(f"{error}{failure.way_out}")
        return FOUND_PROBLEMS
    except (SeekWarcError, ValueError) as error:
        say(str(error))
        return FAILED
    except OSError as error:
        if is_broken_pipe(error):
            return BY_SIGNAL + SIGPIPE  # The reader has enough.
        if error.filename is not None:
            say(str(error))
        elif isinstance(error, FileNotFoundError):
            say("the current folder was removed: change to another one")
        else:
            say(f"standard output: cannot be written: {error.strerror or error}")
        return FAILED
    return status


def _run(verb: Verb, words: list[str]) -> int:
    options = verb.parser().parse_args(_joined_ranges(words))
    try:
        with noting() as expanded:
            status = verb.run(options)
    except (SeekWarcError, ValueError, OSError) as error:
        if isinstance(error, SourceNotFoundError) and error.source == "-":
            error.source, error.message = "<stdin>", "cannot be used here; store it in a file first"
        if isinstance(error, NotFoundError) and hasattr(options, "mime"):
            from seekwarc.cli.selecting import missed

            error.message += missed(options)
        # An error without a file name is one of standard output itself.
        is_of_a_file = isinstance(error, SeekWarcError | ValueError) or error.filename is not None
        if getattr(options, "json", False) and is_of_a_file:
            _print_failure(options, error)
        raise
    if expanded.passed_over and not getattr(options, "quiet", False):
        say(str(expanded))
    # A verb that shows progress counts what it reads.
    if (meter := getattr(options, "meter", None)) is not None:
        meter.end()
    return status


def _print_failure(options: argparse.Namespace, error: Exception) -> None:
    """Print as JSON that a verb failed; see spec-notes/json.md."""
    from seekwarc.format.json_text import json_text
    from seekwarc.jobs.outcome import Failure

    target = getattr(options, "output", None)
    file = getattr(options, "file", None) or getattr(options, "index", None)
    # That of `redact` is a list of other files, which are made again.
    file = file if isinstance(file, str) else None
    files = getattr(options, "files", None) or []
    if isinstance(error, FormatError) and error.source is not None:
        file = error.source
    elif file is None and len(files) == 1:
        file = files[0]
    fields = {"file": file, "target": target, "status": "failed", "error": Failure.of(error).as_json()}
    report(json_text(fields), target=target or "")


def _joined_ranges(words: list[str]) -> list[str]:
    """Join a range that begins with a minus to its option: argparse would take it for an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--range" and word.startswith("-") and "--" not in joined:
            joined[-1] = f"--range={word}"
        else:
            joined.append(word)
    return joined


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    say(f"{WARNING}{message}")


def _drop_output() -> None:
    """Discard buffered output: written when Python exits, it could fail or block."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _stop(number: int, _: FrameType | None) -> None:
    """Raise an exception, so that unfinished files are removed on the way out, and do not interrupt that.

    Later signals are not ignored altogether: if a library swallows the exception, the next signal raises
    again.
    """
    error = sys.exception()
    while error is not None and not _signal_of(error):
        error = error.__context__
    # If there is such an exception, the `except` or `finally` block that it has reached is running.
    if error is None:
        raise _Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _stop_again(lost: sys.UnraisableHookArgs) -> None:
    """Raise again an exception that Python dropped because the signal came during a destructor."""
    if number := _signal_of(lost.exc_value):
        raise_signal_after(SOON, number)
    else:
        sys.__unraisablehook__(lost)


def _signal_of(error: BaseException | None) -> int:
    """Return the signal that raised the exception, or 0."""
    if isinstance(error, KeyboardInterrupt):
        return signal.SIGINT
    return signal.SIGTERM if isinstance(error, _Terminated) else 0


class _Terminated(BaseException):
    """SIGTERM asked the process to end."""
