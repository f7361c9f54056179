"""Dates of WARC-Date, in UTC, with a precision from a year to a nanosecond.

Source: WARC 1.1, clause 5.4; W3C note "Date and Time Formats" (W3CDTF).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from seekwarc.errors import FormatError

__all__ = ["Precision", "WarcDate", "format_date"]

Precision = Literal["year", "month", "day", "minute", "second", "fraction"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A date without a zone is taken as UTC, which the standard requires anyway.
_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9})\d*)?)?"
    r"(?:[Zz]|([+-])(\d\d):(\d\d))?)?)?)?",
    re.ASCII,
)
_PRECISIONS: Final[tuple[tuple[int, Precision], ...]] = (
    (7, "fraction"),
    (6, "second"),
    (4, "minute"),
    (3, "day"),
    (2, "month"),
    (1, "year"),
)


@dataclass(frozen=True, slots=True, order=True)
class WarcDate:
    """A date as a record header states it. Dates are ordered by the instant at which they begin.

    Attributes:
        nanoseconds: Nanoseconds from 1970-01-01T00:00:00Z to the instant at which the date begins.
        precision: The smallest unit that is given.
        text: The date as written.

    Example:
        >>> day, second = map(seekwarc.WarcDate.parse, ("2026-11-16", "2026-11-16T06:00:00Z"))
        >>> day < second, day.precision
        (True, 'day')
        >>> second.datetime.isoformat()
        '2026-11-16T06:00:00+00:00'
    """

    nanoseconds: int
    precision: Precision = field(compare=False)
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> WarcDate:
        """Parse YYYY, YYYY-MM or YYYY-MM-DD; the last may have Thh:mm, :ss, and a fraction of a second.

        Raises:
            FormatError: The text is not such a date.
        """
        match = _DATE.fullmatch(text)
        if match is None:
            raise FormatError(f"{text[:40]!r} is not a date such as 2026-11-21T09:30:00Z")
        year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = match.groups()
        precision = next(name for group, name in _PRECISIONS if match[group] is not None)
        try:
            instant = datetime(
                int(year),
                int(month or 1),
                int(day or 1),
                int(hour or 0),
                int(minute or 0),
                int(second or 0),
                tzinfo=UTC,
            )
        except ValueError as error:
            raise FormatError(f"{text[:40]!r} is not a date: {error}") from error
        elapsed = instant - _EPOCH
        seconds = elapsed.days * 86400 + elapsed.seconds
        if sign:
            zone = int(zone_hours) * 3600 + int(zone_minutes) * 60
            seconds -= zone if sign == "+" else -zone
        return cls(seconds * 10**9 + int((fraction or "0").ljust(9, "0")), precision, text)

    def __str__(self) -> str:
        return self.text

    @property
    def datetime(self) -> datetime:
        """The instant at which the date begins, in UTC, truncated to the microsecond.

        Raises:
            OverflowError: Its zone moves it out of the years 1 to 9999.
        """
        return _EPOCH + timedelta(microseconds=self.nanoseconds // 1000)


def format_date(date: datetime | WarcDate | str | None) -> str:
    """Format a date for WARC-Date: in UTC, to the second, or to the microsecond if it has a fraction.

    Args:
        date: An aware datetime; a `WarcDate` or text, which is returned as written; or None for the current
        second.

    Raises:
        ValueError: A datetime without a time zone.
    """
    if isinstance(date, str | WarcDate):
        return str(date)
    if date is None:
        date = datetime.now(UTC).replace(microsecond=0)
    if date.tzinfo is None:
        raise ValueError(f"date is {date}, without a time zone: give it tzinfo=UTC")
    return date.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
