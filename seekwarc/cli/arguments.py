"""The argument parser: errors in one line with a hint, and rare options shown only by --help-all."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from collections.abc import Callable
from itertools import takewhile
from typing import Any, Final, NoReturn, TypeVar

from seekwarc.format.header_fields import whole_number
from seekwarc.format.words import did_you_mean
from seekwarc.system import cores

__all__ = [
    "MAX_JOBS",
    "MAX_NUMBER",
    "Help",
    "Parser",
    "add_flag",
    "add_force_argument",
    "add_jobs_argument",
    "add_json_argument",
    "add_output_arguments",
    "add_parts_argument",
    "add_value",
    "argument",
    "folder",
    "number",
    "whole",
]

RARE: Final = frozenset(
    f"max_{name}_size" for name in ("window", "dictionary", "table", "block", "cell", "group")
)
"""Options that most users never need: the limits of reading."""
MAX_NUMBER: Final = 10**18
MAX_JOBS: Final = 256
MAX_WIDTH: Final = 110
"""Characters of a line of text that are easy to read."""
_OPTION = re.compile(r"-[^\d.]")
"""How an option begins: after a minus, digits are a number."""
REQUIRED: Final = re.compile("the following arguments are required: .*|.* is required", re.DOTALL)

_T = TypeVar("_T")
Arguments = argparse._ActionsContainer  # noqa: SLF001
"""A parser, or a group of one."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal, measured without `shutil`, which takes long to import."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else 0
        with contextlib.suppress(OSError):
            width = width or os.get_terminal_size(1).columns
        super().__init__(prog, width=(width or 80) - 2)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Fill the paragraphs, but for examples and tables."""
        from textwrap import TextWrapper

        wrapper = TextWrapper(
            min(width, MAX_WIDTH),
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return "\n\n".join(
            super(Help, self)._fill_text(it, width, indent)
            if re.search(r"^( |seekwarc )", it, re.MULTILINE)
            else wrapper.fill(it)
            for it in text.strip().split("\n\n")
        )


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line and name the command that helps."""

    def __init__(self, prog: str, description: str | None = None, **options: Any) -> None:  # noqa: ANN401
        # argparse makes a formatter for each argument, to see if it fits: one will do for all of a parser.
        checking = argparse.HelpFormatter(prog, width=80)
        options["formatter_class"] = lambda prog: checking  # noqa: ARG005
        super().__init__(prog, description=description, allow_abbrev=False, **options)
        # From Python 3.15 on argparse has suggestions of its own, beside those that `error` adds.
        self.suggest_on_error = False
        self._words: list[str] = []

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to find help, and exit with status 2."""
        if REQUIRED.fullmatch(message) and (unknown_name := self._unknown()) is not None:
            message = f"{self._is_unknown(unknown_name)}; {message}"
        if unknown := re.fullmatch(r"unrecognized arguments: (-\S+).*", message, re.DOTALL):
            message = self._is_unknown(unknown[1].partition("=")[0])
        if invalid := re.fullmatch(r".* invalid choice: '(.*)' \(choose from (.*)\)", message, re.DOTALL):
            message += did_you_mean(invalid[1], re.findall(r"[\w-]+", invalid[2]))
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")

    def format_usage(self) -> str:
        """Return the first lines of the help."""
        self.formatter_class = Help
        return super().format_usage()

    def format_help(self) -> str:
        """Return the help, as wide as the terminal."""
        self.formatter_class = Help
        return super().format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401
        """Parse arguments, which `error` looks at."""
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def _is_unknown(self, name: str) -> str:
        is_file = not name.startswith("--") and os.path.lexists(name)
        hint = f"; the file is ./{name}" if is_file else did_you_mean(name, self._option_string_actions)
        return f"unknown option {name}{hint}"

    def _unknown(self) -> str | None:
        """Return the first unknown option: argparse names what is missing instead."""
        known = self._option_string_actions
        names = [it.partition("=")[0] for it in takewhile("--".__ne__, self._words) if _OPTION.match(it)]
        return next((it for it in names if it not in known and (it[:2] not in known or it[1] == "-")), None)

    def hide_rare(self) -> None:
        """Leave rare options out of the help; `--help-all` shows them."""
        hidden = [action for action in self._actions if action.dest in RARE]
        if hidden:
            self.add_argument("--help-all", action=_HelpAll, hidden=[(it, it.help) for it in hidden])
        for action in hidden:
            action.help = argparse.SUPPRESS


class _HelpAll(argparse.Action):
    """Show the help, including what `Parser.hide_rare` left out."""

    def __init__(
        self, option_strings: list[str], dest: str, hidden: list[tuple[argparse.Action, str | None]]
    ) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show this help and the limits of reading")
        self._hidden = hidden

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        for action, text in self._hidden:
            action.help = text
        parser.print_help()
        parser.exit()


def argument(parse: Callable[[str], _T]) -> Callable[[str], _T]:
    """Return a type of arguments that keeps the message of a `ValueError`, which argparse would replace."""

    def parsed(text: str) -> _T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def number(what: str, low: int, high: int = MAX_NUMBER) -> Callable[[str], int]:
    """Return a parser of a whole number within limits, both included."""

    def parsed(text: str) -> int:
        value = whole_number(text)
        if value is None or not low <= value <= high:
            limits = f"from {low} to {high}" if high < MAX_NUMBER else ""
            raise ValueError(f"{text!r} is not a {what} {limits}".rstrip())
        return value

    return parsed


def filled(text: str) -> str:
    """Return an argument that is not empty: a script with an unset variable gives an empty one."""
    if not text.strip():
        raise ValueError("is empty")
    return text


def folder(text: str) -> str:
    """Return the name of a folder for new files."""
    if filled(text) == "-":
        raise ValueError("is standard output, and a folder is wanted (one of this name is ./-)")
    return text


def whole(text: str) -> int:
    """Return a whole number, whose limits are checked elsewhere."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def add_value(
    parser: Arguments,
    names: str,
    metavar: str,
    text: str,
    parse: Callable[[str], object] = filled,
    *,
    repeat: bool = False,
    **more: Any,  # noqa: ANN401 - argparse checks them
) -> None:
    """Add an option with a value, in each of its names, with blanks between them; or a positional argument.

    `parse` raises a `ValueError` for a wrong value, such as an empty one. With `repeat` the option makes a
    list of its values.
    """
    action = "append" if repeat else "store"
    parser.add_argument(
        *names.split(), metavar=metavar, help=text, type=argument(parse), action=action, **more
    )


def add_flag(parser: Arguments, names: str, text: str) -> None:
    """Add an option without a value, in each of its names, with blanks between them."""
    parser.add_argument(*names.split(), action="store_true", help=text)


def add_json_argument(parser: Arguments, each: str | None = None) -> None:
    """Add --json, for an object for each file, record or capture, or for one object with what was done."""
    text = f"print a JSON object for each {each}, one per line" if each else "print what was done as JSON"
    add_flag(parser, "--json", text)


def add_jobs_argument(parser: Arguments, text: str, default: int | None) -> None:
    """Add --jobs, for things that are done at the same time."""
    add_value(parser, "-j --jobs", "N", text, number("number", 1, MAX_JOBS), default=default)


def add_parts_argument(parser: Arguments) -> None:
    """Add --jobs, for verbs that make one thing of all files."""
    text = "processes that look through parts of a large FILE (default: one per core)"
    add_jobs_argument(parser, text, cores())


def add_output_arguments(
    parser: Arguments, metavar: str, text: str, *, required: bool = True, default: str | None = None
) -> None:
    """Add -o for the new file, and --force."""
    add_value(parser, "-o --output", metavar, text, required=required, default=default)
    add_force_argument(parser)


def add_force_argument(parser: Arguments, text: str = "replace an existing file (default: refuse)") -> None:
    """Add the option that lets a verb replace existing files."""
    add_flag(parser, "-f --force", text)
