"""Problems that keep records out of what is made of a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from seekwarc.errors import FormatError

__all__ = ["OnProblem", "OncePerPlace"]

OnProblem: TypeAlias = Callable[[FormatError], object]
"""Called with each problem that keeps a record out."""


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
