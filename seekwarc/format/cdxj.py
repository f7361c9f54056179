"""One line of a CDXJ index: a capture of a URI, and where its record is.

    org,example)/ 20261121093000 {"url": "http://example.org/", "mime": "text/html", "offset": "784", ...}

A line has a SURT key, a date of 14 digits and a JSON object; lines are sorted by their bytes. Values are
strings; numbers are accepted. Sources: the CDXJ of pywb and cdxj-indexer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as _quoted
from typing import Final

from seekwarc.compiling import mypyc_attr
from seekwarc.errors import FormatError
from seekwarc.format.dates import DIGITS, WarcDate, date_of_digits, is_digits
from seekwarc.format.digest import Digest
from seekwarc.format.header_fields import whole_number
from seekwarc.format.json_text import json_text
from seekwarc.format.seektable import TableChoice, TableTrust, parse_table_choice
from seekwarc.format.uri import as_utf8
from seekwarc.format.words import quoted

__all__ = [
    "MAX_LINE_SIZE",
    "REVISIT",
    "TABLE_FIELD",
    "TYPE_FIELD",
    "CdxjLine",
    "date_digits",
    "is_capture",
    "line_head",
    "parse_line",
    "stated_type",
    "timestamp_of",
]

MAX_LINE_SIZE: Final = 16 << 20
"""A line holds a URI of up to 1 MiB (the limit of a header) twice, and escapes may take six times as much."""
REVISIT: Final = "warc/revisit"
"""The `mime` of a revisit."""
TABLE_FIELD: Final = "seekTable"
"""Names the seek table of a large record. The field is seekwarc's own; other readers ignore it."""
TYPE_FIELD: Final = "warc-type"
"""The record's type, by the name that cdxj-indexer has for it. Lines of captures need not have it."""
FIELDS_TYPE: Final = "application/warc-fields"
MAX_SHOWN: Final = 60

# In the index of a cluster, a tab follows the date.
_HEAD = re.compile(rb"[^ \n]*+ [^ \t\r\n]*+")
_KEY = re.compile(r"[\x21-\x7e]+")
_TIMESTAMP = re.compile(r"[0-9]{4,17}")
# The leap second at the end of 9999 is in the year after.
_USUAL_DATE = re.compile(
    r"(?!9999-12-31T23:59:60)[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z"
)
_HOST_AND_PORT = re.compile(r"(?:localhost|[^\s/?#@:\[\]]*\.[^\s/?#@:\[\]]*|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
"""The target of CONNECT. With a dot in the host, for `tel:1234` is a URI."""
_TYPE_END = re.compile(r"[;\s]")
_NO_MARKS: Final = str.maketrans("", "", "-T:")


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class CdxjLine:
    """A line of an index. Its fields are parsed when they are read."""

    key: str
    """SURT key of the URI; for a POST request, of the URI with the request body in its query."""
    timestamp: str
    """Date of the capture in UTC, 14 digits."""
    fields: Mapping[str, str]
    """The fields of the JSON object, in their order."""

    @staticmethod
    def parse(data: bytes) -> CdxjLine:
        """Parse a line, with or without its line break."""
        return CdxjLine(*parse_line(data))

    def build(self) -> bytes:
        """Return the line with its line break, all in ASCII.

        That of a record that is not a capture begins with `warc-type`, all others with `url`: of the lines of
        a URI and second, which are sorted by their bytes, captures come first.
        """
        if not _KEY.fullmatch(self.key) or not _TIMESTAMP.fullmatch(self.timestamp):
            key, date = quoted(self.key[:MAX_SHOWN]), quoted(self.timestamp)
            raise FormatError(f"key {key} and date {date} cannot be in a line of CDXJ")
        fields = self.fields
        if not self.is_capture:
            fields = {TYPE_FIELD: fields[TYPE_FIELD], **fields}
        # As `json_text`, in a third of its time.
        text = ", ".join([f"{_quoted(name)}: {_quoted(as_utf8(value))}" for name, value in fields.items()])
        return f"{self.key} {self.timestamp} {{{text}}}\n".encode("ascii")

    @property
    def uri(self) -> str | None:
        """`url`: the URI that was captured."""
        return self.fields.get("url")

    @property
    def date(self) -> WarcDate:
        """The date of the capture, to the second.

        Raises:
            FormatError: The digits are not a date.
        """
        return date_of_digits(self.timestamp)

    @property
    def mime(self) -> str | None:
        """`mime`: media type of the payload, or `warc/revisit`."""
        return self.fields.get("mime")

    @property
    def is_capture(self) -> bool:
        """Whether the record is a capture of the URI; true where the line has no `warc-type`."""
        kind = self.fields.get(TYPE_FIELD)
        return kind is None or is_capture(kind, self.mime, self.uri)

    @property
    def is_revisit(self) -> bool:
        """Whether the capture is a revisit."""
        return self.mime == REVISIT

    @property
    def status(self) -> int | None:
        """`status`: HTTP status code; None if it is not a number."""
        return self._number("status")

    @property
    def digest(self) -> Digest | None:
        """`digest`: digest of the payload. Without a label, as in older indexes, it is SHA-1."""
        text = self.fields.get("digest")
        if text is None or text == "-":
            return None
        try:
            return Digest.parse(text if ":" in text else f"sha1:{text}")
        except FormatError:
            return None

    @property
    def filename(self) -> str:
        """`filename`: name of the file that has the record.

        Raises:
            FormatError: The line names no file.
        """
        name = self.fields.get("filename")
        if not name:
            raise FormatError("this line of the index names no file")
        return name

    @property
    def offset(self) -> int:
        """`offset`: where the record begins in the file, in bytes.

        Raises:
            FormatError: The line has no offset.
        """
        offset = self._number("offset")
        if offset is None:
            text = self.fields.get("offset", "")
            raise FormatError(
                f"the `offset` of this line of the index is {quoted(text[:MAX_SHOWN])}, not a number"
            )
        return offset

    @property
    def length(self) -> int | None:
        """`length`: stored bytes up to the next record, or None if the line does not say."""
        return self._number("length") or None

    @property
    def table(self) -> TableChoice:
        """`seekTable`: the record's seek table, which was compared with the frames when the index was made.

        Without that field the file is believed (`TableTrust.CLAIMED`); "none" says that no table is to be.
        It may also name the sidecar that was made with the index.

        Raises:
            FormatError: The field is malformed.
        """
        text = self.fields.get(TABLE_FIELD)
        return TableTrust.CLAIMED if text is None else parse_table_choice(text)

    def _number(self, name: str) -> int | None:
        return whole_number(self.fields.get(name, ""))


def is_capture(kind: str | None, media_type: str | None, uri: str | None) -> bool:
    """Return whether a record of a WARC-Type and media type is a capture, which may be shown for its URI.

    Others only describe a capture, as do resources of application/warc-fields, which are notes of crawlers.
    So do answers to CONNECT, whose target is a host and a port (RFC 9110, 9.3.6).
    """
    if kind in ("response", "revisit"):
        return uri is None or _HOST_AND_PORT.fullmatch(uri) is None
    return kind == "resource" and (media_type or "").lower() != FIELDS_TYPE


def stated_type(content_type: str | None) -> str | None:
    """Return the media type of a Content-Type as indexes have it: as it is written, without parameters."""
    return _TYPE_END.split(content_type, maxsplit=1)[0] if content_type is not None else None


def parse_line(data: bytes) -> tuple[str, str, dict[str, str]]:
    """Return key, date and fields of a line, with or without its line break."""
    key, _, rest = data.rstrip(b"\r\n").decode("utf-8", "surrogateescape").partition(" ")
    timestamp, _, value = rest.partition(" ")
    if not key or not _TIMESTAMP.fullmatch(timestamp) or not value.startswith("{"):
        raise FormatError(f"not a line of CDXJ (key, date, JSON object): {data[:MAX_SHOWN]!r}")
    try:
        found = json.loads(value)
    except (ValueError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        raise FormatError(f"this line has malformed JSON, {reason}: {data[:MAX_SHOWN]!r}") from error
    # No call for each: nearly all are text.
    fields = {
        name: value if isinstance(value, str) else json_text(value)
        for name, value in found.items()
        if value is not None
    }
    return key, timestamp, fields


def line_head(data: bytes, start: int = 0) -> bytes | None:
    """Return the key and date of the line at `start`, which lines are sorted by; None if one is missing."""
    match = _HEAD.match(data, start)
    return match[0] if match else None


def timestamp_of(date: WarcDate) -> str:
    """Format a date for an index: 14 digits, in UTC, truncated to the second."""
    if _USUAL_DATE.fullmatch(date.text):
        return date.text[:19].translate(_NO_MARKS)
    try:
        return f"{date.datetime:%Y%m%d%H%M%S}".rjust(DIGITS, "0")
    except OverflowError:
        raise FormatError(f"the date {date} is outside the years 1 to 9999") from None


def date_digits(text: str) -> str:
    """Turn a date, of 4 to 14 digits or as WARC-Date, into the leading digits of the dates in an index."""
    if is_digits(text):
        date_of_digits(text)
        return text
    date = WarcDate.parse(text)
    digits = {"year": 4, "month": 6, "day": 8, "minute": 12, "second": 14, "fraction": 14}[date.precision]
    return timestamp_of(date)[:digits]
