"""Types, statuses, dates and sizes as users write them, in arguments of the command and of functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from seekwarc.format.words import did_you_mean, quoted
from seekwarc.options import Options, shown

if TYPE_CHECKING:
    from datetime import datetime

__all__ = [
    "RECORD_TYPES",
    "SIZE_PATTERN",
    "checked_status",
    "checked_type",
    "date_bound",
    "matches_pattern",
    "parse_size",
    "size_argument",
    "with_sizes",
]

RECORD_TYPES: Final = frozenset(
    {"warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion", "continuation"}
)
"""The types of WARC 1.1, clause 5.5; others may be defined by extensions."""

_STATUS: Final = r"[0-9]{3}|[0-9][xX]{2}"
SIZE_PATTERN: Final = r"[0-9]{1,18}(?:\.[0-9]{1,15})?(?:[kKmMgGtT]i?[bB]?|[bB])?"
"""A size, as a regular expression without groups."""
MAX_SIZE: Final = (1 << 63) - 1
_SHIFTS: Final = {"B": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_LAST: Final = {"month": 12, "day": 31, "hour": 23, "minute": 59, "second": 59, "microsecond": 999_999}
_GIVEN: Final = {"year": 0, "month": 1, "day": 2, "minute": 4, "second": 5, "fraction": 6}
"""How many units of `_LAST` a date of that precision gives."""


def checked_type(text: str) -> str:
    """Return a WARC-Type in lower case, also an extension's; a misspelt standard one is a ValueError."""
    name = text.lower()
    hint = "" if name in RECORD_TYPES else did_you_mean(name, sorted(RECORD_TYPES))
    if hint:
        raise ValueError(f"{quoted(text)} is not a WARC-Type{hint}")
    return name


def checked_status(text: str) -> str:
    """Return an HTTP status or a class of them ("2xx") in lower case; other text is a ValueError."""
    if not re.fullmatch(_STATUS, text):
        raise ValueError(f"{quoted(text)} is not an HTTP status such as 404, or a class such as 2xx")
    return text.lower()


def parse_size(text: str) -> int:
    """Parse a size in bytes (65536, 64K, 0.5M, 1MiB): powers of 1024, rounded down; else a ValueError."""
    number = text.rstrip("kKmMgGtTiIbB")
    unit = text[len(number) : len(number) + 1].upper() or "B"
    whole, _, fraction = number.partition(".")
    if re.fullmatch(SIZE_PATTERN, text) and not (fraction and unit == "B"):
        size: int = (int(whole + fraction) << _SHIFTS[unit]) // 10 ** len(fraction)
        if size <= MAX_SIZE:
            return size
    raise ValueError(f"{quoted(text)} is not a size such as 65536, 64K or 0.5M")


def size_argument(name: str, value: object) -> int:
    """Return a size that is given as a number of bytes or as text; errors name the argument."""
    if isinstance(value, str):
        try:
            return parse_size(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f'{name} must be a number of bytes or a size such as "64K", not {shown(value)}')
    if value < 0:
        raise ValueError(f"{name} must not be negative: {value}")
    return value


def refuse_unknown(names: Iterable[str], known: Collection[str]) -> None:
    """Refuse options or conditions of other names.

    Raises:
        TypeError: A name is not known; the message has a similar one, or all of them.
    """
    for name in names:
        if name not in known:
            alike = next((it for it in known if name.startswith(it)), None)
            hint = f"; did you mean {alike}?" if alike is not None else did_you_mean(name, known)
            raise TypeError(f"unknown option: {name}{hint or '; there are ' + ', '.join(known)}")


def with_sizes(kind: type[Options], options: Mapping[str, object], *names: str) -> dict[str, Any]:
    """Return options, the named ones as numbers of bytes if they are text; an unknown one is a TypeError."""
    refuse_unknown(options, kind.known)
    return {
        name: size_argument(name, value) if name in names and isinstance(value, str) else value
        for name, value in options.items()
    }


def date_bound(text: str, *, last: bool = False) -> datetime:
    """Return the first or last microsecond of a date (WARC-Date, or 4 to 14 digits); else a ValueError."""
    from datetime import timedelta

    from seekwarc.format.dates import WarcDate, date_of_digits, is_digits

    if is_digits(text):
        date, given = date_of_digits(text), len(text) // 2 - 2
    else:
        date = WarcDate.parse(text)
        given = _GIVEN[date.precision]
    try:
        begin = date.datetime
    except OverflowError:
        raise ValueError(f"{quoted(text)} is not within the years 1 to 9999") from None
    if not last:
        return begin
    units: dict[str, Any] = dict(list(_LAST.items())[given:])
    if given == 1:
        # The calendar module would load the locale.
        is_december = begin.month == 12
        units["day"] = 31 if is_december else (begin.replace(month=begin.month + 1) - timedelta(1)).day
    return begin.replace(**units)


def matches_pattern(pattern: str, text: str) -> bool:
    """Tell whether a text matches a pattern, in which `*` is any text; no backtracking, so never slow."""
    first, *parts = pattern.split("*")
    if not parts:
        return text == first
    last = parts.pop()
    if not text.startswith(first) or not text.endswith(last):
        return False
    position, end = len(first), len(text) - len(last)
    for part in parts:
        found = text.find(part, position, max(end, position))
        if found < 0:
            return False
        position = found + len(part)
    return position <= end
