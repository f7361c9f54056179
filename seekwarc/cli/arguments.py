"""Command lines that explain themselves: one line for what is wrong, and rare options shown when asked."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from collections.abc import Iterable
from typing import Any, Final, NoReturn

__all__ = ["Help", "Parser", "did_you_mean"]

RARE: Final = frozenset(("max_window", "max_dictionary", "max_table", "max_block"))
"""Options that most users never need: the limits of reading."""


class Help(argparse.RawDescriptionHelpFormatter):
    """As wide as the terminal. argparse asks `shutil`, which takes longer to import than a range to read."""

    def __init__(self, prog: str) -> None:
        columns = os.environ.get("COLUMNS", "")
        width = int(columns) if columns.isdecimal() else 0
        with contextlib.suppress(OSError):
            width = width or os.get_terminal_size(1).columns
        super().__init__(prog, width=(width or 80) - 2)


class Parser(argparse.ArgumentParser):
    """A parser whose errors take one line and name the next command.

    Args:
        prog: What the user types: `seekwarc ls`.
        description: What the help begins with.
        **options: Of `argparse.ArgumentParser`, which makes the parsers of actions with them.
    """

    def __init__(self, prog: str | None = None, description: str | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(prog=prog, description=description, **{"formatter_class": Help, **options})

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is, and exit with status 2."""
        if unknown := re.fullmatch(r"unrecognized arguments: (-\S+).*", message, re.DOTALL):
            name = unknown[1].partition("=")[0]
            message = f"there is no option {name}{did_you_mean(name, self._option_string_actions)}"
        if invalid := re.fullmatch(r".* invalid choice: '(.*)' \(choose from (.*)\)", message, re.DOTALL):
            message += did_you_mean(invalid[1], re.findall(r"[\w-]+", invalid[2]))
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")

    def hide_rare(self) -> None:
        """Leave rare options out of the help; `--help-all` shows them."""
        hidden = [action for action in self._actions if action.dest in RARE]
        if hidden:
            self.add_argument("--help-all", action=_HelpAll, hidden=[(it, it.help) for it in hidden])
        for action in hidden:
            action.help = argparse.SUPPRESS


class _HelpAll(argparse.Action):
    """Show the help with what `Parser.hide_rare` left out."""

    def __init__(
        self, option_strings: list[str], dest: str, hidden: list[tuple[argparse.Action, str | None]]
    ) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show this help with the limits of reading")
        self._hidden = hidden

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        for action, text in self._hidden:
            action.help = text
        parser.print_help()
        parser.exit()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean ...?" where a known word is close to one that is not known, else nothing."""
    # Imported here: only those who err wait for it.
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else ""
