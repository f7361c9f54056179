"""Decides how a request with conditions and a range is answered. Pure: no I/O, no clock.

Source: RFC 9110, clauses 5.6.7 (dates), 8.8 (validators), 13 (conditional requests) and 14 (ranges). Choices
that the standard leaves open: only single ranges are answered, and a malformed Range field is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

__all__ = [
    "UNSATISFIABLE",
    "Answer",
    "bytes_needed",
    "capped",
    "conditions_in",
    "decide",
    "joined",
    "parse_http_date",
    "parse_range",
]

UNSATISFIABLE: Final = (0, 0)
"""What `parse_range` returns if no byte is in the range: the answer is 416."""

_UNSATISFIABLE: Final = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
_ENDLESS: Final = 1 << 62
"""A size larger than any."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A list of ranges may have empty elements (clause 5.6.1).
_RANGE = re.compile(r"[ \t]*bytes[ \t]*=[ \t,]*([0-9]*)-([0-9]*)[ \t,]*", re.IGNORECASE | re.ASCII)
_OPEN_RANGE = re.compile(r"bytes=([0-9]{1,18})-")
_DECISIVE: Final = frozenset(
    (b"range", b"if-range", b"if-match", b"if-none-match", b"if-modified-since", b"if-unmodified-since")
)
_ENTITY_TAG = re.compile(r'(W/)?("[!#-~\x80-\xff]*")')
_DATE = re.compile(
    # The form to write; the obsolete form with a two-digit year; the form of C's asctime().
    r"[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [1-9][0-9]{3} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
    r"|[A-Z][a-z]{5,8}, [0-9]{2}-[A-Z][a-z]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [0-9 ][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [1-9][0-9]{3}"
)
_MAX_DIGITS: Final = 30
"""Numbers with more digits are larger than any size, so their exact values do not matter."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How to answer a request: the status, and which bytes [start, stop) make the body."""

    status: HTTPStatus
    start: int = 0
    stop: int | None = 0
    """None for the end of the representation, if that is unknown."""


def decide(
    headers: Mapping[str, str], *, size: int | None, etag: str, modified: int | None = None, known: int = 0
) -> Answer:
    """Decide how a GET or HEAD request is answered (clause 13.2.2, in this order).

    While `size` is None, `known` is a number of bytes that are there for certain; see `bytes_needed`.
    `modified` is in seconds from 1970. The fields are as `joined` returns them.
    """
    refusal = _refusal(headers, etag, modified)
    if refusal is not None:
        return Answer(refusal)
    part = parse_range(headers.get("range"), known if size is None else size)
    if part is None or not _is_same(headers.get("if-range"), etag, modified):
        return Answer(HTTPStatus.OK, 0, size)
    if part == UNSATISFIABLE:
        # Any range may be ignored. This one is, if it takes the size to say whether it can be satisfied.
        return Answer(HTTPStatus.OK, 0, None) if size is None else Answer(_UNSATISFIABLE)
    return Answer(HTTPStatus.PARTIAL_CONTENT, *part)


def joined(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return fields by lower-case name; repeated fields are joined to a list (clause 5.3)."""
    asked: dict[str, str] = {}
    for name, value in fields:
        key = name.lower()
        asked[key] = f"{asked[key]}, {value}" if key in asked else value
    return asked


def conditions_in(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the fields that decide how a request is answered, as `joined` does."""
    return joined(
        (name.decode("ascii"), value.decode("latin-1")) for name, value in fields if name in _DECISIVE
    )


def bytes_needed(
    headers: Mapping[str, str], *, etag: str, modified: int | None = None, at_once: int
) -> int | None:
    """Return how many bytes must be known to exist before an answer, or None if it takes the size itself.

    A 206 states the end of its range before any byte is sent (clause 14.4). So only a range that names its
    end, and is read in one step anyway, can be answered without the size. One from the beginning is what some
    players ask for to find out the size, and a 206 that does not name it makes them stop. It is answered with
    200, which needs no size, unless the size is known by then.
    """
    part = parse_range(headers.get("range"), _ENDLESS)
    if part is None or part == (0, _ENDLESS):
        return 0
    if _refusal(headers, etag, modified) is not None or not _is_same(headers.get("if-range"), etag, modified):
        return 0
    start, stop = part
    if not start < stop < _ENDLESS or stop - start > at_once:
        return None
    return stop if start else 0


def _refusal(headers: Mapping[str, str], etag: str, modified: int | None) -> HTTPStatus | None:
    if (tags := headers.get("if-match")) is not None:
        holds = _names(tags, etag, weak=False)
    else:
        date = parse_http_date(headers.get("if-unmodified-since"))
        holds = modified is None or date is None or modified <= date
    if not holds:
        return HTTPStatus.PRECONDITION_FAILED
    if (tags := headers.get("if-none-match")) is not None:
        known = _names(tags, etag, weak=True)
    else:
        date = parse_http_date(headers.get("if-modified-since"))
        known = modified is not None and date is not None and modified <= date
    return HTTPStatus.NOT_MODIFIED if known else None


def parse_range(field: str | None, size: int) -> tuple[int, int] | None:
    """Return the [start, stop) that a Range field means; None to ignore it, as when it has several ranges."""
    match = _RANGE.fullmatch(field or "")
    first, last = match.groups() if match is not None else ("", "")
    if not first:
        length = min(_number(last), size)
        return None if not last else (size - length, size) if length else UNSATISFIABLE
    start = _number(first)
    stop = _number(last) + 1 if last else size
    if last and stop <= start:
        return None
    return (start, min(stop, size)) if start < size else UNSATISFIABLE


def capped(field: str, most: int) -> str:
    """Return a Range field whose open range, `bytes=N-`, ends after `most` bytes; any other as it is.

    A shorter answer than was asked for is allowed (RFC 9110, section 15.3.7): the client asks for the rest.
    """
    match = _OPEN_RANGE.fullmatch(field)
    return f"bytes={match[1]}-{int(match[1]) + most - 1}" if match is not None else field


def _number(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


def _names(field: str, etag: str, *, weak: bool) -> bool:
    """Return whether a list of entity tags contains this one; `*` matches any (clause 13.1.1)."""
    if field.strip(" \t") == "*":
        return True
    return any(tag == etag and (weak or not mark) for mark, tag in _ENTITY_TAG.findall(field))


def _is_same(if_range: str | None, etag: str, modified: int | None) -> bool:
    """Return whether the client's copy is of this representation, by exact match (clause 13.1.5)."""
    if if_range is None:
        return True
    if if_range.startswith(('"', "W/")):
        return if_range == etag
    return modified is not None and parse_http_date(if_range) == modified


def parse_http_date(text: str | None) -> int | None:
    """Return the seconds from 1970 of a date in a form of clause 5.6.7; None if invalid."""
    if text is None or not _DATE.fullmatch(text):
        return None
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (date.replace(tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)
