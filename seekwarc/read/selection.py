"""Which records are wanted: by type, HTTP status, media type, target URI, host, size and date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict

from seekwarc.format.conditions import (
    checked_status,
    checked_type,
    date_bound,
    matches_pattern,
    refuse_unknown,
    size_argument,
)
from seekwarc.format.uri import as_utf8, checked_host, has_host, normalized
from seekwarc.options import shown

if TYPE_CHECKING:
    from seekwarc.read.record import Record

__all__ = ["Conditions", "Selection", "http_media_type"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Conditions(TypedDict, total=False):
    """The conditions that select records, as keyword arguments.

    A record must satisfy every condition given. Where several values are given for a condition, one of them
    must match; None means no condition. Conditions on the header are checked first: the block of a record of
    another type, URI, host, size or date is not read.

    Example:
        >>> wanted: seekwarc.Conditions = {"type": ["response", "revisit"], "uri": "*://example.org/*"}
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     sum(1 for record in archive.records(**wanted))
        3
    """

    type: str | Iterable[str] | None
    """WARC-Type, such as "response", in any case."""
    status: int | str | Iterable[int | str] | None
    """HTTP status, such as 200 or "4xx". Only a record that holds an HTTP response has one."""
    mime: str | Iterable[str] | None
    """Media type, such as "text/html" or "image/*", in any case: that of the HTTP head, or of the record
    header if the block is not an HTTP message."""
    uri: str | Iterable[str] | None
    """Target URI in any spelling (percent-encodings, IDNA, default port, fragment); or a pattern, in which
    `*` stands for any text and all other characters are literal: "*/film.mp4"."""
    min_size: int | str
    """Minimum size of the block: bytes, or text such as "64K" or "1M"."""
    since: datetime | str | None
    """Earliest WARC-Date: a datetime with a time zone, or text such as "2026-11-17T06:00:00Z", "2026-11" or
    "20261117". A record without a valid date does not match."""
    until: datetime | str | None
    """Latest WARC-Date; the text "2026-11" includes all of that month. Dates are compared to the microsecond;
    a WARC-Date that names only a day counts as the beginning of that day."""
    host: str | Iterable[str] | None
    """Host of the target URI in any spelling (case, IDNA, trailing dot), with any port; "example.org" means
    its subdomains, too. A record without a target URI does not match."""


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
    same_uris: frozenset[bytes] = frozenset()
    """Target URIs without `*`, as `normalized` returns them."""
    hosts: frozenset[str] = frozenset()
    """Hosts of target URIs, as `checked_host` returns them."""

    @classmethod
    def of(
        cls,
        *,
        type: str | Iterable[str] | None = None,  # noqa: A002
        status: int | str | Iterable[int | str] | None = None,
        mime: str | Iterable[str] | None = None,
        uri: str | Iterable[str] | None = None,
        min_size: int | str = 0,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        host: str | Iterable[str] | None = None,
    ) -> Self:
        """Make a selection of `Conditions`; a wrong one is a TypeError or ValueError, a misspelt type too."""
        uris = [_text("uri", it) for it in _alternatives(uri)]
        first, last = _microseconds("since", since), _microseconds("until", until)
        if first is not None and last is not None and first > last:
            raise ValueError("since is later than until: no record is of both")
        return cls(
            frozenset(checked_type(str(it)) for it in _alternatives(type)),
            frozenset(checked_status(str(it)) for it in _alternatives(status)),
            tuple(_text("mime", it).lower() for it in _alternatives(mime)),
            tuple(as_utf8(it) for it in uris if "*" in it),
            size_argument("min_size", min_size),
            first,
            last,
            frozenset(normalized(it) for it in uris if "*" not in it),
            frozenset(checked_host(_text("host", it)) for it in _alternatives(host)),
        )

    @classmethod
    def named(cls, **conditions: Any) -> Self:  # noqa: ANN401
        """Make a selection of `Conditions`, as `of` does; one of another name is a TypeError that says so."""
        refuse_unknown(conditions, Conditions.__annotations__)
        return cls.of(**conditions)

    @classmethod
    def pop_from(cls, arguments: dict[str, Any]) -> Self:
        """Make a selection of the conditions among some arguments, and remove them from these."""
        return cls.of(
            **{name: arguments.pop(name) for name in Conditions.__annotations__ if name in arguments}
        )

    def __bool__(self) -> bool:
        texts = self.types or self.statuses or self.mimes or self.has_uris
        return bool(texts or self.min_size) or self._has_dates

    @property
    def has_uris(self) -> bool:
        """Whether there is a condition on the target URI."""
        return bool(self.uris or self.same_uris or self.hosts)

    @property
    def _has_dates(self) -> bool:
        return self.since is not None or self.until is not None

    def matches(self, record: Record) -> bool:
        """Tell whether a record is wanted. The block is only touched for `statuses` and `mimes`."""
        if self.types and (record.type or "").lower() not in self.types:
            return False
        if record.content_length < self.min_size:
            return False
        if self.has_uris and not self.has_uri(record.target_uri):
            return False
        if self._has_dates and not self._has_date(record):
            return False
        if self.statuses and not self._has_status(record):
            return False
        return not self.mimes or _any_matches(self.mimes, http_media_type(record))

    def has_uri(self, uri: str | None) -> bool:
        """Tell whether a target URI satisfies the conditions on it."""
        if self.hosts and not has_host(uri, self.hosts):
            return False
        if not (self.uris or self.same_uris):
            return True
        if uri is not None and self.same_uris and normalized(uri) in self.same_uris:
            return True
        return _any_matches(self.uris, uri)

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


def _microseconds(name: str, date: datetime | str | None) -> int | None:
    if date is None:
        return None
    if isinstance(date, str):
        try:
            date = date_bound(date, last=name == "until")
        except ValueError as error:
            # Not a FormatError, which would blame the file: the caller passed the date.
            raise ValueError(f"{name}: {error}") from None
    if not isinstance(date, datetime):
        raise TypeError(f'{name} must be a datetime or a date such as "2026-11-17", not {shown(date)}')
    if date.tzinfo is None:
        raise ValueError(f"{name} is {date}, without a time zone; give it tzinfo=UTC")
    return (date - _EPOCH) // timedelta(microseconds=1)


def http_media_type(record: Record) -> str | None:
    """Return the bare media type of a payload, in lower case: that of the HTTP head, or else the header's."""
    value = (record.http or record.header).get("Content-Type")
    if value is None:
        return None
    text = value.partition(";")[0].strip().lower()
    # Some servers write more after a blank. Text without a slash is not a type, and stays as it is.
    first = text.split(maxsplit=1)[0] if text else text
    return first if "/" in first else text


def _any_matches(patterns: Iterable[str], text: str | None) -> bool:
    return text is not None and any(matches_pattern(pattern, as_utf8(text)) for pattern in patterns)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text or several of it, not {shown(value)}")
    return value


def _alternatives(value: object) -> Iterable[object]:
    if value is None:
        return ()
    return value if isinstance(value, Iterable) and not isinstance(value, str | bytes) else (value,)
