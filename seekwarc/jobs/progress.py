"""Progress of tools that read for a long time: how far a source has been read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from seekwarc.compiling import override
from seekwarc.scale.split import Split
from seekwarc.storage.source import RangeSource, SourceWrapper

__all__ = ["Progress", "ProgressSource", "counting", "no_progress"]

Progress: TypeAlias = Callable[[RangeSource, str], RangeSource]
"""Wraps a source to report how far it has been read; the second argument is a label such as "converting"."""


def no_progress(source: RangeSource, label: str) -> RangeSource:  # noqa: ARG001
    """Return the source as it is, unobserved."""
    return source


def counting(name: str, on_bytes: Callable[[int], object], part: Split | None = None) -> Progress:
    """Report how many more bytes of the source of that name, or of its part, and of no other, were read."""
    start, stop = (part.start, part.stop) if part is not None else (0, None)

    def wrapped(source: RangeSource, label: str) -> RangeSource:  # noqa: ARG001
        return ProgressSource(source, on_bytes, start, stop) if source.name == name else source

    return wrapped


class ProgressSource(SourceWrapper):
    """A source that reports how much further it has been read than ever before.

    The tables at the end of a remote object are read first: that does not count as progress.
    """

    def __init__(
        self, source: RangeSource, on_bytes: Callable[[int], object], start: int = 0, stop: int | None = None
    ) -> None:
        super().__init__(source)
        self._on_bytes = on_bytes
        self._position = start
        self._stop = stop

    @override
    def on_read(self, start: int, stop: int) -> None:
        if self._stop is not None:
            stop = min(stop, self._stop) if start < self._stop else 0
        if stop > self._position:
            self._on_bytes(stop - self._position)
            self._position = stop

    @override
    def read_end(self, count: int) -> tuple[int, bytes]:
        return self._source.read_end(count)
