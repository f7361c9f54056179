"""A progress bar on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from seekwarc.jobs.progress import Progress, ProgressSource, no_progress
from seekwarc.storage.source import RangeSource
from seekwarc.storage.streams import ReadableStream, read_some

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["WatchedStream", "progress_bar", "progress_is_seen", "watch"]


class _WatchedSource(ProgressSource):
    """A source whose reads move a progress bar."""

    def __init__(self, source: RangeSource, label: str) -> None:
        super().__init__(source, self._advance)
        # The size of a remote object is not known yet, and asking for it would be a request more.
        self._bar = progress_bar(source.known_size, label)

    def _advance(self, size: int) -> None:
        self._bar.total = self.known_size
        self._bar.update(size)

    def close(self) -> None:
        self._bar.close()
        super().close()


class WatchedStream:
    """A stream whose reads move a progress bar."""

    def __init__(self, stream: ReadableStream, advance: Callable[[int], object]) -> None:
        self._stream = stream
        self._advance = advance

    def read(self, size: int) -> bytes:
        """See `ReadableStream.read`."""
        data = read_some(self._stream, size)
        self._advance(len(data))
        return data


def progress_bar(total: int | None, label: str, unit: str = "B") -> tqdm[Any]:
    """Return a new bar, which disappears when it is closed."""
    from tqdm import tqdm

    scaled = unit == "B"
    return tqdm(total=total, desc=label, unit=unit, unit_scale=scaled, leave=False, file=sys.stderr)


def progress_is_seen(options: argparse.Namespace) -> bool:
    """Return whether progress is shown: on a terminal, without --quiet; standard error may be closed."""
    is_quiet = getattr(options, "quiet", False)
    return not is_quiet and sys.stderr is not None and sys.stderr.isatty()


def watch(options: argparse.Namespace) -> Progress:
    """Return what shows on a terminal how far a source has been read; elsewhere it does nothing."""
    return _WatchedSource if progress_is_seen(options) else no_progress
