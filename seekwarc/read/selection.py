"""Which records are wanted: by type, HTTP status, media type, target URI, size and date."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict

from seekwarc.format.dates import WarcDate

if TYPE_CHECKING:
    from seekwarc.read.record import Record

__all__ = ["Conditions", "Selection", "checked_status", "date_bound", "http_media_type", "matches_pattern"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS: Final = r"[0-9]{3}|[0-9][xX]{2}"
_LAST: Final = {"month": 12, "day": 31, "hour": 23, "minute": 59, "second": 59, "microsecond": 999_999}
_GIVEN: Final = {"year": 0, "month": 1, "day": 2, "minute": 4, "second": 5, "fraction": 6}
"""How many units of `_LAST` a date of that precision gives."""


class Conditions(TypedDict, total=False):
    """The conditions that select records, as keyword arguments.

    A record must satisfy every condition given. Where several values are given for a condition, one of them
    must match; None means no condition. Conditions on the header are checked first: the block of a record of
    another type, URI, size or date is not read.

    Example:
        >>> wanted: seekwarc.Conditions = {"type": ["response", "revisit"], "uri": "*://example.org/*"}
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     sum(1 for record in archive.records(**wanted))
        3
    """

    type: str | Iterable[str] | None
    """WARC-Type, such as "response"."""
    status: int | str | Iterable[int | str] | None
    """HTTP status, such as 200 or "4xx". Only a record that holds an HTTP response has one."""
    mime: str | Iterable[str] | None
    """Media type, such as "text/html" or "image/*", in any case: that of the HTTP head, or of the record
    header if the block is not an HTTP message."""
    uri: str | Iterable[str] | None
    """Target URI, in which `*` stands for any text: "*/film.mp4". All other characters are literal."""
    min_size: int
    """Minimum size of the block, in bytes."""
    since: datetime | None
    """Earliest WARC-Date, with a time zone. A record without a valid date does not match."""
    until: datetime | None
    """Latest WARC-Date, with a time zone. Dates are compared to the microsecond; one that names only a day
    counts as the beginning of that day."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a record must be like to be wanted; made with `of`, which takes `Conditions`.

    Example:
        wanted = Selection.of(type="response", status=200, mime="image/*")
        images = [record for record in archive if wanted.matches(record)]
    """

    types: frozenset[str] = frozenset()
    """WARC-Type, in lower case. No condition if empty, as for the others."""
    statuses: frozenset[str] = frozenset()
    """HTTP status codes, or classes of them ("2xx"), in lower case."""
    mimes: tuple[str, ...] = ()
    """Patterns of media types, in lower case."""
    uris: tuple[str, ...] = ()
    """Patterns of target URIs."""
    min_size: int = 0
    """Fewest bytes of the block, as Content-Length states them."""
    since: int | None = None
    """Earliest WARC-Date, in microseconds since 1970. What comes after the microsecond is cut off a date."""
    until: int | None = None
    """Latest WARC-Date."""

    @classmethod
    def of(
        cls,
        *,
        type: str | Iterable[str] | None = None,  # noqa: A002
        status: int | str | Iterable[int | str] | None = None,
        mime: str | Iterable[str] | None = None,
        uri: str | Iterable[str] | None = None,
        min_size: int = 0,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> Self:
        """Make a selection of `Conditions`.

        Raises:
            ValueError: A status is not a number of three digits or a class such as "2xx"; a datetime has no
                time zone.
        """
        return cls(
            frozenset(str(it).lower() for it in _alternatives(type)),
            frozenset(checked_status(str(it)) for it in _alternatives(status)),
            tuple(str(it).lower() for it in _alternatives(mime)),
            tuple(map(str, _alternatives(uri))),
            min_size,
            _microseconds(since),
            _microseconds(until),
        )

    @classmethod
    def pop_from(cls, arguments: dict[str, Any]) -> Self:
        """Make a selection of the conditions among some arguments, and remove them from these."""
        return cls.of(
            **{name: arguments.pop(name) for name in Conditions.__annotations__ if name in arguments}
        )

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        texts = self.types or self.statuses or self.mimes or self.uris
        return bool(texts or self.min_size) or self._has_dates

    @property
    def _has_dates(self) -> bool:
        return self.since is not None or self.until is not None

    def matches(self, record: Record) -> bool:
        """Tell whether a record is wanted. The block is only touched for `statuses` and `mimes`.

        Raises:
            FormatError: The block had to be looked at and is damaged.
            SourceError: The stored bytes are unavailable.
        """
        if self.types and (record.type or "").lower() not in self.types:
            return False
        if record.content_length < self.min_size:
            return False
        if self.uris and not _any_matches(self.uris, record.target_uri):
            return False
        if self._has_dates and not self._has_date(record):
            return False
        if self.statuses and not self._has_status(record):
            return False
        return not self.mimes or _any_matches(self.mimes, http_media_type(record))

    def _has_date(self, record: Record) -> bool:
        date = record.date
        if date is None:
            return False
        found = date.nanoseconds // 1000
        return (self.since is None or found >= self.since) and (self.until is None or found <= self.until)

    def _has_status(self, record: Record) -> bool:
        head = record.http
        status = head.status if head is not None else None
        return status is not None and not self.statuses.isdisjoint((f"{status}", f"{status // 100}xx"))


def _microseconds(date: datetime | None) -> int | None:
    if date is None:
        return None
    if date.tzinfo is None:
        raise ValueError(f"the date {date} has no time zone; give it tzinfo=UTC")
    return (date - _EPOCH) // timedelta(microseconds=1)


def checked_status(text: str) -> str:
    """Return an HTTP status or a class of them ("2xx") in lower case.

    Raises:
        ValueError: The text is neither.
    """
    if not re.fullmatch(_STATUS, text):
        raise ValueError(f"{text!r} is not an HTTP status such as 404, or a class such as 2xx")
    return text.lower()


def date_bound(text: str, *, last: bool = False) -> datetime:
    """Return when a date in the form of WARC-Date begins, or its last microsecond: "2026" is a whole year.

    Raises:
        ValueError: The text is not such a date.
    """
    date = WarcDate.parse(text)
    try:
        begin = date.datetime
    except OverflowError:
        raise ValueError(f"{text!r} is not within the years 1 to 9999") from None
    if not last:
        return begin
    units: dict[str, Any] = dict(list(_LAST.items())[_GIVEN[date.precision] :])
    if date.precision == "month":
        units["day"] = monthrange(begin.year, begin.month)[1]
    return begin.replace(**units)


def http_media_type(record: Record) -> str | None:
    """Return the media type of a payload, in lower case and without parameters.

    That is what the HTTP head says, or the record header where the block holds no HTTP message. A value that
    is not a media type is returned up to its first semicolon.

    Raises:
        FormatError: The block is damaged.
    """
    value = (record.http or record.header).get("Content-Type")
    return value.partition(";")[0].strip().lower() if value is not None else None


def matches_pattern(pattern: str, text: str) -> bool:
    """Tell whether a text matches a pattern, in which `*` matches any text, also none.

    The parts between the asterisks are looked for from left to right, so that no pattern and no text takes
    long, as the backtracking of a regular expression does.
    """
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


def _any_matches(patterns: Iterable[str], text: str | None) -> bool:
    return text is not None and any(matches_pattern(pattern, text) for pattern in patterns)


def _alternatives(value: object) -> Iterable[object]:
    if value is None:
        return ()
    return value if isinstance(value, Iterable) and not isinstance(value, str | bytes) else (value,)
