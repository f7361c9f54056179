"""Files that a job leaves out whole, since they cannot be read; each is examined before anything is made."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias, TypeVar

from seekwarc.errors import FormatError, FormatWarning, NotFoundError, SourceError
from seekwarc.format.words import counted

__all__ = ["OnError", "readable"]

File = TypeVar("File")
Examined = TypeVar("Examined")
OnError: TypeAlias = Literal["raise", "skip"] | Callable[[FormatError | SourceError], object]
"""How to handle a file that cannot be read: an error is raised, or the file is left out."""


def readable(
    files: Iterable[File], examine: Callable[[File], Examined], on_error: OnError, *, least: int = 1
) -> list[Examined]:
    """Return what `examine` makes of each file that it does not refuse.

    Args:
        files: The files.
        examine: Raises an error if a file cannot be opened, is not an archive, or is damaged.
        on_error: What is done then; see `OnError`. A function is called with the error; if this is "skip",
            there is a `FormatWarning`.
        least: How many files must be left.

    Raises:
        NotFoundError: Fewer are left, of those that were refused and these.
    """
    if on_error not in ("raise", "skip") and not callable(on_error):
        raise ValueError(f'on_error is {on_error!r}, not "raise", "skip" or a function')
    found: list[Examined] = []
    refused = 0
    for file in files:
        try:
            found.append(examine(file))
        except (FormatError, SourceError) as error:
            if on_error == "raise":
                raise
            refused += 1
            if callable(on_error):
                on_error(error)
            else:
                warnings.warn(f"{error}; the file is passed over", FormatWarning, stacklevel=3)
    if refused and len(found) < least:
        raise NotFoundError(f"no file is left of {counted(refused, 'file')}, so nothing was written")
    return found
