"""--keep-going of verbs that make something of several files: those that cannot be read are left out."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Literal, Self

from seekwarc.cli.printing import passed_over, report_done, say
from seekwarc.errors import FormatError, SeekWarcError, SourceChangedError, SourceError
from seekwarc.jobs.outcome import Failure, Status
from seekwarc.storage.expand import expand
from seekwarc.storage.zip_members import split_name

__all__ = ["LEFT_OUT", "OR_DAMAGED", "PassedOver", "outside_wacz"]

LEFT_OUT: Final = "leave out each FILE that cannot be opened or is not an archive (default: stop)"
OR_DAMAGED: Final = (
    "leave out each FILE that cannot be opened, or is damaged or not an archive (default: stop)"
)


def outside_wacz(names: list[str], pass_over: Callable[[SourceError], object], why: str) -> list[str]:
    """Return the files that are not in a WACZ, for what is written into or beside them.

    `pass_over` gets an error for each other one, which says why; if there are only those, it is raised.
    """
    inside = [SourceError(f"is in a WACZ, {why}", source=it) for it in names if split_name(it)]
    if inside and len(inside) == len(names):
        raise inside[0]
    for error in inside:
        pass_over(error)
    return [it for it in names if not split_name(it)]


class PassedOver:
    """The files that are passed over with --keep-going; without it, an error says that it would help.

    Args:
        options: The arguments of the verb.
        consequence: What more is said of each file, and of all.
    """

    def __init__(self, options: argparse.Namespace, consequence: str = "") -> None:
        self._options = options
        self._consequence = consequence
        self.files: list[dict[str, object]] = []
        """Those that were passed over, as JSON fields."""
        self.on_error: Literal["raise"] | PassedOver = self if options.keep_going else "raise"

    def __call__(self, error: FormatError | SourceError) -> None:
        """Say why a file is passed over."""
        failure = Failure.of(error)
        say(f"{failure.message}; the file is passed over{self._consequence}{failure.way_out}")
        self.files.append({"file": error.source, **failure.as_json()})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if self._options.keep_going or not isinstance(error, FormatError | SourceError):
            return
        # The verb has said what expanding the names warns of.
        with suppress(SeekWarcError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files = [*expand(self._options.files)]
            if len(files) > 1 and error.source in files and not isinstance(error, SourceChangedError):
                error.message += "; --keep-going leaves this file out"

    def report(self, text: str, fields: dict[str, object], files: int) -> int:
        """Print what was done with so many other files, and the number of these; return the exit status."""
        status = {"status": Status.PROBLEMS} if self.files else {}
        report_done(self._options, text, {**fields, **status, "passed_over": self.files})
        if self.files:
            say(f"{passed_over(len(self.files), len(self.files) + files)}{self._consequence}")
        return int(bool(self.files))
