"""How far the reading of a source is: what tools that read for long report it to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from seekwarc.storage.source import RangeSource

__all__ = ["Progress", "counting", "no_progress"]

Progress: TypeAlias = Callable[[RangeSource, str], RangeSource]
"""Wraps a source to report how far it has been read; told what for, such as "converting"."""


def no_progress(source: RangeSource, label: str) -> RangeSource:  # noqa: ARG001
    """Return the source as it is: nobody wants to know."""
    return source


def counting(name: str, on_bytes: Callable[[int], object]) -> Progress:
    """Return what reports how many more bytes of the source of that name, and of no other, were read."""

    def wrapped(source: RangeSource, label: str) -> RangeSource:  # noqa: ARG001
        return _CountedSource(source, on_bytes) if source.name == name else source

    return wrapped


class _CountedSource:
    """A source that tells how far it has been read."""

    def __init__(self, source: RangeSource, on_bytes: Callable[[int], object]) -> None:
        self.name = source.name
        self.size = source.size
        self._source = source
        self._on_bytes = on_bytes
        self._position = 0

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`."""
        data = self._source.read(start, stop)
        if start + len(data) > self._position:
            self._on_bytes(start + len(data) - self._position)
            self._position = start + len(data)
        return data

    def close(self) -> None:
        """See `RangeSource.close`."""
        self._source.close()
