"""Byte ranges that are wanted -> few requests: which ranges are asked for together.

Pure: nothing here reads. What is worth a request differs from source to source, so the source states it as
a `ReadPolicy`; the planner has no knobs of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["LOCAL", "REMOTE", "UNKNOWN", "ReadPolicy", "Request", "plan_requests"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPolicy:
    """What reading from a source costs, as far as it decides how one reads."""

    gap: int
    """Bytes between two wanted ranges that are read along rather than asked around."""
    most: int
    """Most bytes of a request that serves several ranges."""
    in_flight: int
    """Requests that may be under way at the same time; 1 where the source answers at once."""
    ahead: int
    """Most frames that are fetched before they are asked for, while access is sequential."""


LOCAL: Final = ReadPolicy(gap=0, most=16 << 20, in_flight=1, ahead=0)
"""A read of what lies between costs more than another call does, and the system itself reads ahead."""
UNKNOWN: Final = ReadPolicy(gap=256 << 10, most=16 << 20, in_flight=1, ahead=0)
"""A source that says nothing of itself: a call may be expensive, and nobody knows what two at a time do."""
REMOTE: Final = ReadPolicy(gap=256 << 10, most=16 << 20, in_flight=8, ahead=64)
"""What waiting for an answer costs is worth some hundred kilobytes."""


class Request(NamedTuple):
    """One read of the source, [start, stop), that holds the next `ranges` of those wanted."""

    start: int
    stop: int
    ranges: int


def plan_requests(wanted: Iterable[tuple[int, int]], *, gap: int, most: int) -> Iterator[Request]:
    """Join ranges that lie near each other.

    Ranges are taken one at a time, so that there may be any number of them.

    Args:
        wanted: Ranges [start, stop), by ascending start. They may overlap.
        gap: Most bytes between two ranges of one request.
        most: Most bytes of a request, unless a single range has more: ranges are never cut.

    Yields:
        Requests in order; together they hold every range, each as a whole.
    """
    begin = end = count = 0
    for start, stop in wanted:
        if count and start - end <= gap and max(end, stop) - begin <= most:
            end = max(end, stop)
            count += 1
            continue
        if count:
            yield Request(begin, end, count)
        begin, end, count = start, stop, 1
    if count:
        yield Request(begin, end, count)
