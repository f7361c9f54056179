"""Byte ranges that are wanted -> few requests: which ranges are read together.

Pure: nothing here reads. The cost of a request differs from source to source, so each source states it in
a `ReadPolicy`; the planner has no settings of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

__all__ = ["LOCAL", "REMOTE", "UNKNOWN", "ReadPolicy", "Request", "plan_requests"]


class ReadPolicy(NamedTuple):
    """How a source wants to be read, which follows from what one request costs there.

    Example:
        >>> class Slow(seekwarc.FileSystemSource):
        ...     policy = seekwarc.FileSystemSource.policy._replace(gap=1 << 20, in_flight=4)
    """

    gap: int
    """Unwanted bytes between two ranges that are read with them, as that is cheaper than another request."""
    max_request: int
    """Maximum size of a request that serves several ranges, in bytes."""
    in_flight: int
    """Requests that may be in flight at the same time; 1 for a source that answers at once."""
    max_prefetch: int
    """Maximum number of frames that are fetched before they are asked for, while access is sequential."""

    @property
    def is_near(self) -> bool:
        """Whether several short reads cost no more than one that has all of their bytes."""
        return self.gap == 0

    @property
    def is_far(self) -> bool:
        """Whether each answer takes so long that many small reads in a row are slow.

        A source whose calls are expensive, but must come one by one, is neither near nor far.
        """
        return self.in_flight > 1


LOCAL: Final = ReadPolicy(gap=0, max_request=16 << 20, in_flight=1, max_prefetch=0)
"""Reading a gap costs more than another call does, and the operating system prefetches."""
UNKNOWN: Final = ReadPolicy(gap=256 << 10, max_request=16 << 20, in_flight=1, max_prefetch=0)
"""A source without a policy: a call may be expensive, and two at a time may be unsafe."""
REMOTE: Final = ReadPolicy(gap=256 << 10, max_request=16 << 20, in_flight=16, max_prefetch=64)
"""In the time that an answer takes to begin, some hundred kilobytes could be sent."""


class Request(NamedTuple):
    """One read of the source, [start, stop), that contains the next `ranges` wanted ranges."""

    start: int
    stop: int
    ranges: int


def plan_requests(wanted: Iterable[tuple[int, int]], *, gap: int, max_size: int) -> Iterator[Request]:
    """Join ranges [start, stop), by ascending start, that lie at most `gap` bytes apart into one request.

    One pass, which holds only the request that is being put together: a range joins it if the gap and the
    size allow, or else the request is yielded and the range begins the next one. So the ranges may come from
    a generator that never ends, and the first request is ready as soon as the second begins. Greedy joining
    is optimal here: ranges come in order, and no request can gain from leaving out a range that fits. Only a
    single range may exceed `max_size` bytes: ranges are never cut.
    """
    begin = end = count = 0
    for start, stop in wanted:
        if count and start - end <= gap and max(end, stop) - begin <= max_size:
            end = max(end, stop)
            count += 1
            continue
        if count:
            yield Request(begin, end, count)
        begin, end, count = start, stop, 1
    if count:
        yield Request(begin, end, count)
