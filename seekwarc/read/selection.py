"""Which records are wanted: by type, HTTP status, media type, target URI, size and date."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from seekwarc.read.record import Record

__all__ = ["Selection", "http_media_type", "matches_pattern"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STATUS: Final = r"[0-9]{3}|[0-9][xX]{2}"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a record must be like to be wanted; made with `of`, which takes what users write.

    A record must satisfy every condition given, each by one of its alternatives. What the record header tells
    is looked at first, so that a record that is not wanted is passed over before its block is touched.

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
        """Make a selection. A condition may have several alternatives; None means no condition.

        Args:
            type: WARC-Type, such as "response".
            status: HTTP status, such as 200 or "4xx". Only what holds an HTTP response has one.
            mime: Media type, such as "text/html" or "image/*": see `http_media_type`. In any case.
            uri: Target URI, in which `*` matches any text: "*/film.mp4". All else is literal.
            min_size: Fewest bytes of the block.
            since: Earliest WARC-Date; what has no valid date is not wanted then.
            until: Latest WARC-Date. A date counts as `WarcDate.datetime`: to the microsecond, and where it
                names only a day, as the beginning of that.

        Raises:
            ValueError: A status is neither a number of three digits nor a class such as "2xx"; a datetime has
                no time zone.
        """
        statuses = frozenset(str(it).lower() for it in _alternatives(status))
        for it in statuses:
            if not re.fullmatch(_STATUS, it):
                raise ValueError(f"{it!r} is not an HTTP status such as 404, or a class of them such as 2xx")
        return cls(
            frozenset(str(it).lower() for it in _alternatives(type)),
            statuses,
            tuple(str(it).lower() for it in _alternatives(mime)),
            tuple(map(str, _alternatives(uri))),
            min_size,
            _microseconds(since),
            _microseconds(until),
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
