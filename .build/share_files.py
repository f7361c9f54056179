"""Makes what a wheel puts into `share`: the manual page, and scripts that complete words in shells.

    python .build/share_files.py FOLDER

Run where the package can be imported; see hook.py. All of it is made of the command's own table of verbs.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from seekwarc import __version__
from seekwarc.cli.completion import script
from seekwarc.cli.verbs import GROUPS, VERBS

COMPLETIONS = {
    "bash": "bash-completion/completions/seekwarc",
    "zsh": "zsh/site-functions/_seekwarc",
    "fish": "fish/vendor_completions.d/seekwarc.fish",
}
"""Where the shells look for them, below `share`."""
MANUAL = "man/man1/seekwarc.1"
EXAMPLE = re.compile(r"^ *(?:\S+ .*\| )?seekwarc [a-z]|^  ")

HEAD = r"""
.TH SEEKWARC 1 "" "seekwarc {version}" "User Commands"
.SH NAME
seekwarc \- web archives with random access inside their records
.SH SYNOPSIS
.B seekwarc
.I VERB
.RI [ option ...]
.RI [ file ...]
.br
.B seekwarc \-\-version
.SH DESCRIPTION
Reads and writes web archives (.warc.zst, .warc.gz, .warc). A range of a record is read without decompressing
what is before it: of a .warc.zst by its frames, of a .warc.gz by a sidecar.
.PP
.B seekwarc help
.I VERB
explains one verb. Options with the same name mean the same for all verbs.
"""
TAIL = r"""
.SH EXIT STATUS
.TP
.B 0
All is well.
.TP
.B 1
Damaged data were found, or nothing was found.
.TP
.B 2
Wrong usage, or an error of input or output.
.SH SEE ALSO
.BR zstd (1),
.BR gzip (1)
"""


def escaped(text: str) -> str:
    """Return a line of text as roff has it: none of it is a request."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a docstring: examples stay as they are, all else is filled."""
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = part.splitlines()
        if any(map(EXAMPLE.match, lines)):
            yield from (".PP", ".nf", ".RS 4", *map(escaped, map(str.strip, lines)), ".RE", ".fi")
        else:
            yield from (".PP", *map(escaped, lines))


def options(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines about the arguments of a verb, and of what it can do (`dictionary train`)."""
    formatter = parser._get_formatter()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from about(f"{parser.prog} {name}", inner)
            continue
        if action.help is argparse.SUPPRESS or "--help" in action.option_strings:
            continue
        value = formatter._format_args(action, action.dest.upper()) if action.nargs != 0 else ""
        if isinstance(action.metavar, tuple):
            value = " ".join(action.metavar)
        names = ", ".join(rf"\fB{escaped(name)}\fR" for name in action.option_strings)
        argument = rf"\fI{escaped(value)}\fR" if value else ""
        yield from (".TP", f"{names} {argument}".strip())
        yield escaped(formatter._expand_help(action)) if action.help else r"\&"


def about(command: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the section about a verb."""
    yield f'.SS "{command}"'
    usage = parser.format_usage().removeprefix("usage: ")
    yield from (".nf", *map(escaped, usage.strip().splitlines()), ".fi")
    yield from paragraphs(parser.description or "")
    yield from options(parser)


def manual() -> str:
    """Return the manual page."""
    lines = [HEAD.format(version=__version__).strip(), ".SH VERBS"]
    for group in GROUPS:
        lines += [".PP", rf"\fB{group}\fR"]
        for verb in VERBS.values():
            if verb.group == group:
                lines += [".TP", rf"\fB{verb.name}\fR", escaped(verb.text)]
    lines.append(".SH EACH VERB")
    for verb in VERBS.values():
        lines += about(f"seekwarc {verb.name}", verb.parser())
    return "\n".join([*lines, TAIL.strip()]) + "\n"


def main(folder: Path) -> None:
    # Usage is as wide on each machine, without colours.
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}
    files = {MANUAL: manual()} | {place: script(shell) for shell, place in COMPLETIONS.items()}
    for place, text in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
