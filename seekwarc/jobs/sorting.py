"""Sorting more lines than fit into memory, by merging sorted runs in temporary files.

Runs are merged when there are `MAX_RUNS` of a level, into one run of the next level. So few files are open
at a time, and a line is copied once for each level, of which there are very few.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Final

from seekwarc.errors import TargetError

__all__ = ["sorted_lines"]

MEMORY: Final = 128 << 20
LINE_OVERHEAD: Final = 56
"""Memory that a line takes beside its bytes."""
MAX_RUNS: Final = 64
"""Runs of a level that are merged into one of the next; each is an open file."""


def sorted_lines(
    lines: Iterable[bytes], *, memory: int = MEMORY, folder: str | None = None
) -> Iterator[bytes]:
    """Yield lines in byte order, without duplicates; more than `memory` bytes go into temporary files."""
    with ExitStack() as opened:
        runs = _Runs(opened, folder)
        waiting: list[bytes] = []
        size = 0
        for line in lines:
            waiting.append(line)
            size += len(line) + LINE_OVERHEAD
            if size >= memory:
                waiting.sort()
                runs.add(waiting)
                waiting, size = [], 0
        waiting.sort()
        yield from _once(heapq.merge(*runs.all(), waiting))


class _Runs:
    """Sorted runs on disk. Those of level n were merged n times."""

    def __init__(self, opened: ExitStack, folder: str | None) -> None:
        self._opened = opened
        self._folder = folder
        self._levels: list[list[IO[bytes]]] = []

    def add(self, lines: Iterable[bytes], level: int = 0) -> None:
        if level == len(self._levels):
            self._levels.append([])
        self._levels[level].append(self._stored(lines))
        if len(self._levels[level]) == MAX_RUNS:
            full, self._levels[level] = self._levels[level], []
            self.add(heapq.merge(*full), level + 1)
            for run in full:
                run.close()

    def all(self) -> list[IO[bytes]]:
        return [run for level in self._levels for run in level]

    def _stored(self, lines: Iterable[bytes]) -> IO[bytes]:
        try:
            run = self._opened.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
            run.writelines(_once(lines))
            run.seek(0)
        except OSError as error:
            place = self._folder or tempfile.gettempdir()
            raise TargetError(
                f"temporary file for sorting cannot be written: {error.strerror}", source=place
            ) from error
        return run


def _once(lines: Iterable[bytes]) -> Iterator[bytes]:
    before = None
    for line in lines:
        if line != before:
            yield line
        before = line
