"""Problems of a file: how bad they are, and each one once."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from seekwarc.errors import FormatError, LimitError

__all__ = ["Counted", "OnProblem", "OncePerPlace", "ProblemSeverity"]

OnProblem: TypeAlias = Callable[[FormatError], object]
"""Called with each problem that keeps a record out."""


class ProblemSeverity(StrEnum):
    """What a problem means for a reader of the file.

    Example:
        >>> seekwarc.tools.verify("crawl.warc.zst").of("damage")
        []
    """

    DAMAGE = "damage"
    """Bytes are lost or wrong, or some reader does not find them."""
    DEVIATION = "deviation"
    """A rule is broken, but every record can be read as it was written."""
    LIMIT = "limit"
    """Nothing is known to be wrong: a limit, which the caller may raise, kept bytes from being read."""

    @classmethod
    def of(cls, error: FormatError) -> ProblemSeverity:
        """Return the severity of what could not be read."""
        return cls.LIMIT if isinstance(error, LimitError) else cls.DAMAGE


class Counted:
    """Counts problems in `count`, and passes them on.

    Args:
        on_problem: Is called with each; without it the first is raised.
    """

    def __init__(self, on_problem: OnProblem | None) -> None:
        self.count = 0
        self._on_problem = on_problem

    def __call__(self, problem: FormatError) -> None:
        """Count a problem."""
        self.count += 1
        if self._on_problem is None:
            raise problem
        self._on_problem(problem)


class OncePerPlace:
    """Passes problems on, but only the first one at each offset of a file.

    Damage in a record is found twice: when the record is described, and on the way to the next one.

    Args:
        on_problem: Is called with each.
    """

    def __init__(self, on_problem: OnProblem) -> None:
        self._on_problem = on_problem
        self._offsets: set[int] = set()

    def __call__(self, problem: FormatError) -> None:
        """Pass a problem on, unless one at its offset was."""
        if problem.offset not in self._offsets:
            self._on_problem(problem)
        # Only now: a problem that was raised comes again, as damage found on the way.
        if problem.offset is not None:
            self._offsets.add(problem.offset)
