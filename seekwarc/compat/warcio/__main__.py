"""Run a program that uses warcio, with .warc.zst: `python -m seekwarc.compat.warcio PROGRAM ARGS...`."""

from __future__ import annotations

import os
import runpy
import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from seekwarc.compat.warcio import install
from seekwarc.errors import SeekWarcError

__all__ = ["main"]

INTERRUPTED: Final = 130
"""Exit status of what Ctrl-C ended, as a shell has it."""
USAGE: Final = """\
usage: python -m seekwarc.compat.warcio PROGRAM [ARGS...]

Run a program that reads or writes WARC files through warcio, so that it takes .warc.zst too. PROGRAM is a
command that is installed in the same environment, or a file that ends in .py:

  python -m seekwarc.compat.warcio cdxj-indexer crawl.warc.zst
  python -m seekwarc.compat.warcio warcio recompress old.warc.gz new.warc.zst
"""


def main(arguments: list[str]) -> int:
    """Run the program and return its exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    program = arguments[0]
    command = _command(program)
    if command is None and not program.endswith(".py"):
        print(  # noqa: T201
            f"{program}: no such command is installed beside seekwarc; install it in the same environment, "
            "or name a file that ends in .py",
            file=sys.stderr,
        )
        return 2
    install()
    sys.argv = arguments
    try:
        result = command.load()() if command is not None else runpy.run_path(program, run_name="__main__")
        sys.stdout.flush()
    except SeekWarcError as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201
        result = 2
    except BrokenPipeError:
        # Nobody reads what is left in the buffer: the interpreter must not try to write it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        result = 1
    except KeyboardInterrupt:
        result = INTERRUPTED
    return result if isinstance(result, int) else 0


def _command(name: str) -> EntryPoint | None:
    return next(iter(entry_points(group="console_scripts", name=name)), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
