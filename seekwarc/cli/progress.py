"""How far a verb is, on standard error: a bar on a terminal, else a line a minute; and its rate at the end.

Both are driven by what is read, so they cost no thread; a verb that waits says nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from seekwarc.cli.printing import printable, say
from seekwarc.cli.sizes import human_size
from seekwarc.jobs.progress import Progress, ProgressSource, no_progress
from seekwarc.storage.source import RangeSource
from seekwarc.storage.streams import ReadableStream, read_some

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["Advance", "WatchedStream", "advancing", "progress_bar", "progress_is_seen", "watch"]

MINUTE: Final = 60.0
LONG: Final = 10.0
"""Seconds after which the rate of a verb is said."""
CHECKING: Final = "checking"
"""Label of a source that was just written: reading it does not count in the rate."""


class Meter:
    """Counts what a verb reads, from the time at which it is made."""

    def __init__(self) -> None:
        self._begin = self._said = monotonic()
        self._size = 0

    def add(self, size: int) -> None:
        """Count bytes."""
        self._size += size

    def tell(self, label: str, size: int, total: int | None) -> None:
        """Say how much of something was read, if nothing was said for a minute."""
        now = monotonic()
        if now - self._said < MINUTE:
            return
        self._said = now
        whole = f" of {human_size(total)} ({size / total:.0%})" if total else ""
        say(f"{printable(label)}: {human_size(size)}{whole} after {_minutes(now - self._begin)}")

    def end(self) -> None:
        """Say the rate of what took long."""
        seconds = monotonic() - self._begin
        if self._size and seconds > LONG:
            rate = human_size(self._size / seconds)
            say(f"{human_size(self._size)} in {_minutes(seconds)}, {rate}/s")


def _minutes(seconds: float) -> str:
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / MINUTE:.0f} min" if seconds < 120 * MINUTE else f"{seconds / MINUTE / 60:.1f} h"


def meter_of(options: argparse.Namespace) -> Meter:
    """Return the meter of a run of a verb, which says its rate when the verb ends."""
    known = getattr(options, "meter", None)
    if not isinstance(known, Meter):
        options.meter = known = Meter()
    return known


class _WatchedSource(ProgressSource):
    """A source whose reads are counted, and move a progress bar on a terminal."""

    def __init__(self, source: RangeSource, label: str, meter: Meter, *, shows_bar: bool) -> None:
        super().__init__(source, self._advance)
        self._label = label
        self._meter = meter
        self._size = 0
        # The size of a remote object is not known yet, and asking for it would be a request more.
        self._bar = progress_bar(source.known_size, label) if shows_bar else None

    def _advance(self, size: int) -> None:
        self._size += size
        if self._label != CHECKING:
            self._meter.add(size)
        if self._bar is None:
            self._meter.tell(self._label, self._size, self.known_size)
            return
        self._bar.total = self.known_size
        self._bar.update(size)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        super().close()


class Advance:
    """Is called with the number of further bytes that were read of what has so many."""

    def __init__(self, meter: Meter, label: str, total: int | None, bar: tqdm[Any] | None) -> None:
        self._meter = meter
        self._label = label
        self._total = total
        self._bar = bar
        self._size = 0

    def __call__(self, count: int) -> None:
        """Count the bytes."""
        self._size += count
        self._meter.add(count)
        if self._bar is not None:
            self._bar.update(count)
        else:
            self._meter.tell(self._label, self._size, self._total)

    def beside_the_bar(self) -> AbstractContextManager[object]:
        """Return what hides the bar while a line is printed."""
        return self._bar.external_write_mode(file=sys.stderr) if self._bar is not None else nullcontext()


@contextmanager
def advancing(options: argparse.Namespace, label: str, total: int | None) -> Iterator[Advance]:
    """Show and count how far something has been read, for a verb without --quiet."""
    with progress_bar(total, label) if progress_is_seen(options) else nullcontext() as bar:
        yield Advance(meter_of(options), label, total, bar)


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
    """Return what shows how far a source has been read, and counts it; with --quiet it does nothing."""
    if getattr(options, "quiet", False) or sys.stderr is None:
        return no_progress
    meter, shows_bar = meter_of(options), progress_is_seen(options)
    return lambda source, label: _WatchedSource(source, label, meter, shows_bar=shows_bar)
