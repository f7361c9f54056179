"""Dates of WARC-Date, in UTC, with a precision from a year to a nanosecond.

Source: WARC 1.1, clause 5.4; W3C note "Date and Time Formats" (W3CDTF).
"""

from __future__ import annotations

import re
import time as clock
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, Literal, get_args

from seekwarc.errors import FormatError
from seekwarc.format.words import quoted
from seekwarc.options import shown

__all__ = [
    "DIGITS",
    "LATEST",
    "Precision",
    "WarcDate",
    "date_of_digits",
    "format_date",
    "internet_date",
    "is_digits",
    "usual_seconds",
]

Precision = Literal["year", "month", "day", "minute", "second", "fraction"]

DAY: Final = 86_400
DIGITS: Final = 14
"""YYYYMMDDhhmmss, as dates are in an index."""
LATEST: Final = "9999"
"""The capture nearest to this date is the latest one."""
_DIGITS = re.compile(r"(?:[0-9]{2}){2,7}")
_EARLIEST: Final = "00000101000000"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A date without a zone is taken as UTC, which the standard requires anyway.
_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9})\d*)?)?"
    r"(?:[Zz]|([+-])(\d\d):(\d\d))?)?)?)?",
    re.ASCII,
)
# From Python 3.14 on `fromisoformat` takes 24:00 for midnight.
_USUAL = re.compile(r"\d{4}-\d\d-\d\dT(?!24)\d\d:\d\d:\d\dZ", re.ASCII)
_SECOND: Final = timedelta(seconds=1)
_PRECISIONS: Final[tuple[Precision, ...]] = get_args(Precision)


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
        if (usual := usual_seconds(text)) is not None:
            return cls(usual * 10**9, "second", text)
        match = _DATE.fullmatch(text)
        if match is None:
            raise FormatError(f"{quoted(text[:40])} is not a date such as 2026-11-21T09:30:00Z")
        year, month, day, hour, minute, second, fraction, sign, zone_hours, zone_minutes = match.groups()
        given = [it for it in (year, month, day, minute, second, fraction) if it is not None]
        try:
            start = date(int(year), int(month or 1), int(day or 1))
            # A leap second is the instant at which the next minute begins, as in POSIX time.
            leap = minute == "59" and second == "60"
            clock = time(int(hour or 0), int(minute or 0), 59 if leap else int(second or 0), tzinfo=UTC)
        except ValueError as error:
            raise FormatError(f"{quoted(text[:40])} is not a date: {error}") from error
        seconds = (datetime.combine(start, clock) - _EPOCH) // _SECOND + leap
        if sign:
            zone = int(zone_hours) * 3600 + int(zone_minutes) * 60
            seconds -= zone if sign == "+" else -zone
        nanoseconds = seconds * 10**9 + int((fraction or "0").ljust(9, "0"))
        return cls(nanoseconds, _PRECISIONS[len(given) - 1], text)

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[WarcDate], tuple[int, Precision, str]]:
        return WarcDate, (self.nanoseconds, self.precision, self.text)

    def isoformat(self) -> str:
        """Return `text`, as a `datetime` would; a WARC-Date is a date of ISO 8601."""
        return self.text

    @property
    def datetime(self) -> datetime:
        """The instant at which the date begins, in UTC, truncated to the microsecond.

        Raises:
            OverflowError: Its zone moves it out of the years 1 to 9999.
        """
        return _EPOCH + timedelta(microseconds=self.nanoseconds // 1000)


def usual_seconds(text: str) -> int | None:
    """Return the seconds from 1970 of a date that is written as nearly all in archives; None for others."""
    if not _USUAL.fullmatch(text):
        return None
    try:
        since = datetime.fromisoformat(text) - _EPOCH
    except ValueError:
        return None
    return since.days * DAY + since.seconds


def format_date(date: object) -> str:
    """Format a date for WARC-Date, in UTC, with a fraction if it has one; text as it is; None is now.

    Raises:
        TypeError: It is not a `datetime`, a `WarcDate`, text or None.
        ValueError: It has no time zone.
    """
    if date is None:
        return _instant(int(clock.time()))
    if isinstance(date, str | WarcDate):
        return str(date)
    if not isinstance(date, datetime):
        raise TypeError(f"date must be a datetime, a WarcDate or text, not {shown(date)}")
    if date.tzinfo is None:
        raise ValueError(f"date is {date}, without a time zone: give it tzinfo=UTC")
    return date.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def internet_date(date: WarcDate) -> str:
    """Return a date in the form of RFC 3339: as it is written, if that has seconds and a zone."""
    text = date.text
    is_whole = date.precision in ("second", "fraction") and (text[-1] in "Zz" or text[-6] in "+-")
    return text if is_whole else format_date(date.datetime)


@lru_cache(maxsize=1)
def _instant(second: int) -> str:
    return format_date(datetime.fromtimestamp(second, UTC))


def is_digits(text: str) -> bool:
    """Return whether a date is written as in an index: an even number of digits, 4 to 14."""
    return _DIGITS.fullmatch(text) is not None


def date_of_digits(digits: str) -> WarcDate:
    """Return the instant at which 4 to 17 digits of a date begin."""
    it = digits[:DIGITS] + _EARLIEST[len(digits) :]
    return WarcDate.parse(f"{it[:4]}-{it[4:6]}-{it[6:8]}T{it[8:10]}:{it[10:12]}:{it[12:]}Z")
