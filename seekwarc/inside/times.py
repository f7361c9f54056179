"""Times in films, as people write them: `75`, `75.5`, `1:15`, `1:02:10.25`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

__all__ = ["checked_time", "parse_time", "time_for_name", "time_text"]

MILLISECONDS: Final = 1000
MAX_SECONDS: Final = 10**9
_TIME = re.compile(r"(?:(?:([0-9]{1,6}):)?([0-9]{1,6}):)?([0-9]{1,9}(?:\.[0-9]{1,9})?)")


def parse_time(text: str) -> Fraction:
    """Return a time in seconds: seconds, MINUTES:SECONDS or HOURS:MINUTES:SECONDS, with decimals or not.

    Raises:
        ValueError: It is not such a time, or minutes or seconds after a colon are 60 or more.
    """
    match = _TIME.fullmatch(text)
    if match is not None:
        hours, minutes, seconds = (Fraction(group or 0) for group in match.groups())
        is_clock = (match[2] is None or seconds < 60) and (match[1] is None or minutes < 60)
        if is_clock:
            return hours * 3600 + minutes * 60 + seconds
    raise ValueError(f"{text!r} is not a time: write seconds (75.5), minutes (1:15) or hours (1:02:10.25)")


def checked_time(name: str, value: float | Fraction | str) -> Fraction:
    """Return an argument that is a time in seconds or as text; refuse others (`ValueError`, `TypeError`)."""
    if isinstance(value, str):
        return parse_time(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise TypeError(f"{name} must be seconds or text such as '1:15', not {type(value).__name__}")
    if not 0 <= value <= MAX_SECONDS:
        raise ValueError(f"{name} is {value} seconds, not within 0 to {MAX_SECONDS}")
    return Fraction(value)


def time_text(seconds: Fraction | float) -> str:
    """Return a time for people, to the millisecond: 1:15, 1:02:10.25."""
    hours, minutes, rest, milliseconds = _split(seconds)
    shown = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{shown}.{milliseconds:03}".rstrip("0") if milliseconds else shown


def time_for_name(seconds: Fraction | float) -> str:
    """Return a time for the name of a file, in the order of which names sort: 01-02-10.250."""
    hours, minutes, rest, milliseconds = _split(seconds)
    return f"{hours:02}-{minutes:02}-{rest:02}.{milliseconds:03}"


def _split(seconds: Fraction | float) -> tuple[int, int, int, int]:
    total, milliseconds = divmod(round(seconds * MILLISECONDS), MILLISECONDS)
    return total // 3600, total // 60 % 60, total % 60, milliseconds
