"""One line of a CDXJ index: which capture of which URI is where.

    org,example)/ 20261121093000 {"url": "http://example.org/", "mime": "text/html", "offset": "784", ...}

A SURT key, a date of 14 digits and a JSON object, in lines that are sorted by their bytes. The values are
strings; numbers are taken too. Sources: the CDXJ of pywb and cdxj-indexer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seekwarc.errors import FormatError
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.seektable import TableReference
from seekwarc.format.surt import surt

__all__ = [
    "MAX_LINE_SIZE",
    "REVISIT",
    "TABLE_FIELD",
    "CdxjLine",
    "date_digits",
    "date_of_digits",
    "line_head",
    "timestamp_of",
]

MAX_LINE_SIZE: Final = 16 << 20
"""A line holds a URI twice, which a record header limits to a MiB, and escapes take six times that."""
REVISIT: Final = "warc/revisit"
"""The `mime` of a revisit."""
TABLE_FIELD: Final = "seekTable"
"""The field of ours that names the seek table of a large record; other readers pass over it."""
DIGITS: Final = 14
"""YYYYMMDDhhmmss"""
MAX_SHOWN: Final = 60

# Lines of a cluster's index have a tab behind the date.
_HEAD = re.compile(rb"[^ \n]*+ [^ \t\r\n]*+")
_KEY = re.compile(r"[\x21-\x7e]+")
_TIMESTAMP = re.compile(r"[0-9]{4,17}")
_DIGITS = re.compile(r"(?:[0-9]{2}){2,7}")
_NUMBER = re.compile(r"[0-9]{1,18}")
_EARLIEST: Final = "00000101000000"


@dataclass(frozen=True, slots=True)
class CdxjLine:
    """A line of an index. What its fields say is read when it is asked for."""

    key: str
    """SURT key of the URI; of a POST request with the request body in it."""
    timestamp: str
    """Date of the capture in UTC, 14 digits."""
    fields: Mapping[str, str]
    """What else the line says, in its order."""

    @staticmethod
    def make(uri: str, date: WarcDate, fields: Mapping[str, str], *, key: str | None = None) -> CdxjLine:
        """Make the line of a capture.

        Args:
            uri: Its URI.
            date: Its date.
            fields: The other fields; the URI goes in front of them.
            key: The key, where it is not that of the URI.

        Raises:
            FormatError: The date is outside the years 1 to 9999.
        """
        return CdxjLine(surt(uri) if key is None else key, timestamp_of(date), {"url": uri, **fields})

    @staticmethod
    def parse(data: bytes) -> CdxjLine:
        """Read a line, with or without its line break.

        Raises:
            FormatError: It is no such line.
        """
        key, _, rest = data.rstrip(b"\r\n").decode("utf-8", "surrogateescape").partition(" ")
        timestamp, _, value = rest.partition(" ")
        if not key or not _TIMESTAMP.fullmatch(timestamp) or not value.startswith("{"):
            raise FormatError(f"not a line of CDXJ (key, date, JSON object): {_shown(data)}")
        try:
            found = json.loads(value)
        except (ValueError, RecursionError) as error:
            reason = str(error) or type(error).__name__
            raise FormatError(f"the JSON of this line cannot be read, {reason}: {_shown(data)}") from error
        fields = {name: _text(value) for name, value in found.items() if value is not None}
        return CdxjLine(key, timestamp, fields)

    def build(self) -> bytes:
        """Return the line with its line break, all in ASCII.

        Raises:
            FormatError: Key or date would break it.
        """
        if not _KEY.fullmatch(self.key) or not _TIMESTAMP.fullmatch(self.timestamp):
            raise FormatError(
                f"key {self.key[:MAX_SHOWN]!r} and date {self.timestamp!r} make no line of CDXJ"
            )
        return f"{self.key} {self.timestamp} {json.dumps(dict(self.fields))}\n".encode("ascii")

    @property
    def uri(self) -> str | None:
        """`url`: the URI that was captured."""
        return self.fields.get("url")

    @property
    def date(self) -> WarcDate:
        """The date of the capture, to the second.

        Raises:
            FormatError: Its digits are no date.
        """
        return date_of_digits(self.timestamp)

    @property
    def mime(self) -> str | None:
        """`mime`: media type of the payload, or `warc/revisit`."""
        return self.fields.get("mime")

    @property
    def is_revisit(self) -> bool:
        """Whether the capture is a revisit."""
        return self.mime == REVISIT

    @property
    def status(self) -> int | None:
        """`status`: HTTP status code; None where it is no number."""
        return self._number("status", needed=False)

    @property
    def digest(self) -> Digest | None:
        """`digest`: of the payload. One without a label is SHA-1, as older indexes have it."""
        text = self.fields.get("digest")
        if text is None or text == "-":
            return None
        try:
            return Digest.parse(text if ":" in text else f"sha1:{text}")
        except FormatError:
            return None

    @property
    def filename(self) -> str:
        """`filename`: the file that the record is in.

        Raises:
            FormatError: The line names none.
        """
        name = self.fields.get("filename")
        if not name:
            raise FormatError("this line of the index names no file")
        return name

    @property
    def offset(self) -> int:
        """`offset`: where the record begins in the stored file.

        Raises:
            FormatError: The line has none.
        """
        return self._number("offset") or 0

    @property
    def length(self) -> int | None:
        """`length`: stored bytes up to the next record, where the line tells."""
        return self._number("length", needed=False) or None

    @property
    def table(self) -> TableReference | None:
        """`seekTable`: the record's seek table, where the maker of the index has compared it with the frames.

        Raises:
            FormatError: The field is of another form.
        """
        text = self.fields.get(TABLE_FIELD)
        return None if text is None else TableReference.parse(text)

    def _number(self, name: str, *, needed: bool = True) -> int | None:
        text = self.fields.get(name, "")
        if _NUMBER.fullmatch(text):
            return int(text)
        if needed:
            raise FormatError(f"the `{name}` of this line of the index is {text[:MAX_SHOWN]!r}, not a number")
        return None


def line_head(data: bytes, start: int = 0) -> bytes | None:
    """Return key and date of the line at `start` as they are sorted by, None where it has not got both."""
    match = _HEAD.match(data, start)
    return match[0] if match else None


def timestamp_of(date: WarcDate) -> str:
    """Write a date as an index has it: 14 digits, in UTC, cut to the second.

    Raises:
        FormatError: It is outside the years 1 to 9999.
    """
    try:
        return f"{date.datetime:%Y%m%d%H%M%S}".rjust(DIGITS, "0")
    except OverflowError:
        raise FormatError(f"the date {date} is outside the years 1 to 9999") from None


def date_digits(text: str) -> str:
    """Read a date as a person writes it, and return the digits that the dates of an index begin with.

    Args:
        text: An even number of digits, 4 to 14 (2026, 20261121093000), or a date as WARC-Date has it
            (2026-11-21T09:30:00Z).

    Raises:
        FormatError: It is neither.
    """
    if _DIGITS.fullmatch(text):
        date_of_digits(text)
        return text
    date = WarcDate.parse(text)
    digits = {"year": 4, "month": 6, "day": 8, "minute": 12, "second": 14, "fraction": 14}[date.precision]
    return timestamp_of(date)[:digits]


def date_of_digits(digits: str) -> WarcDate:
    """Return the instant at which 4 to 17 digits of a date begin.

    Raises:
        FormatError: They are no date.
    """
    whole = digits[:DIGITS] + _EARLIEST[len(digits) :]
    year, *rest = whole[:4], *(whole[at : at + 2] for at in range(4, DIGITS, 2))
    month, day, hour, minute, second = rest
    return WarcDate.parse(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(data: bytes) -> str:
    return repr(data[:MAX_SHOWN])
