"""The `seekwarc` command: one file a verb."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Final, NoReturn

from seekwarc import __version__
from seekwarc.errors import (
    FormatError,
    FormatWarning,
    NotFoundError,
    SeekWarcError,
    SourceError,
)

__all__ = ["main"]

VERBS: Final = {
    "convert": "copy a file into another compression, byte for byte",
    "pack": "put files of any kind into a new .warc.zst",
    "ls": "list the records of a file",
    "cat": "print a record, or any byte range of it",
    "info": "tell about a file, or one record and its frames",
    "verify": "check files: grammar, checksums, seek tables, rules, digests",
    "recover": "save what is intact in a damaged file",
    "concat": "join files without compressing them anew where the format allows it",
    "split": "cut a file into several, by size or number of records",
    "train": "make a dictionary from the records of files",
    "dictionary": "take the dictionary out of a file",
    "demo": "make an example and show what a range read costs",
}
FOUND_PROBLEMS: Final = 1
FAILED: Final = 2
BY_SIGNAL: Final = 128

EPILOG: Final = """\
exit status: 0 fine, 1 damaged data or nothing found, 2 wrong usage or input/output error.
`seekwarc VERB --help` tells about one verb.
"""


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {text}" for verb, text in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="seekwarc",
        description="WARC files with random access inside their records.",
        epilog=f"verbs:\n{verbs}\n\n{EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="seekwarc [--version] VERB ...",
    )
    parser.add_argument("--version", action="version", version=f"seekwarc {__version__}")
    parser.add_argument("verb", metavar="VERB", choices=VERBS, help=argparse.SUPPRESS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: Arguments without the program's name; those of the process unless given.

    Returns:
        The exit status: 0 fine, 1 damaged data or nothing found, 2 wrong usage or I/O error.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(words or ["--help"])
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot show is written in ASCII rather than not at all.
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", FormatWarning)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        if sys.stdout is None:
            raise SourceError("standard output is closed")
        status = _run(arguments.verb, arguments.arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has enough. What is buffered must not raise again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BY_SIGNAL + signal.SIGPIPE
    except (KeyboardInterrupt, _Terminated) as stop:
        _say("stopped")
        return BY_SIGNAL + (signal.SIGTERM if isinstance(stop, _Terminated) else signal.SIGINT)
    except (FormatError, NotFoundError) as error:
        _say(str(error))
        return FOUND_PROBLEMS
    except (SeekWarcError, OSError, ValueError) as error:
        _say(str(error))
        return FAILED
    return status


def _run(verb: str, words: list[str]) -> int:
    # Only the verb that is run is imported: each starts as fast as it can.
    module = importlib.import_module(f"seekwarc.cli.{verb}")
    parser = argparse.ArgumentParser(
        prog=f"seekwarc {verb}",
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    status: int = module.run(parser.parse_args(_joined_ranges(words)))
    return status


def _joined_ranges(words: list[str]) -> list[str]:
    """Tie a range that begins with a minus to its option, which argparse would take for another one."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--range" and word.startswith("-"):
            joined[-1] = f"--range={word}"
        else:
            joined.append(word)
    return joined


def _say(text: str) -> None:
    # With standard error closed, `print` would turn to standard output.
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(f"seekwarc: {text}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    _say(f"warning: {message}")


def _terminate(number: int, _: FrameType | None) -> NoReturn:
    """Leave by an exception, so that unfinished files are taken away."""
    raise _Terminated(number)


class _Terminated(BaseException):
    """A signal asked the process to end."""
