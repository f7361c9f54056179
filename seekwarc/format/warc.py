"""The header of a WARC record: version line, named fields, blank line.

Source: WARC 1.1, clause 4 (grammar) and clause 5 (named fields). WARC 1.0 differs only in that every
URI has angle brackets, which `RecordHeader.uri` removes.

Reading tolerates what real files have: lines that end with bare LF or with CR CR LF, blanks after a field
name, any version. `WARC/` may be in any case, as all literals of the grammar may (RFC 2616, section 2.1). The
bytes are kept exactly as read in `RecordHeader.raw`, so that copying a record never changes it. Writing is
strict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from seekwarc.compiling import Buffer
from seekwarc.errors import FormatError
from seekwarc.format.header_fields import (
    MAX_DIGITS,
    FieldMapping,
    field_pattern,
    find_header_end,
    format_fields,
    parse_fields,
    unfolded,
    whole_number,
)
from seekwarc.format.values import decode_words, without_brackets
from seekwarc.format.words import quoted

__all__ = [
    "ARC_MAGIC",
    "HEADER_END",
    "LEADS",
    "MAX_BLANK_BYTES",
    "MAX_HEADER_SIZE",
    "MAX_LEAD",
    "RECORD_END",
    "RECORD_MAGIC",
    "WARC",
    "Grammar",
    "RecordHeader",
    "blank_size",
    "build_record_header",
    "edit_header",
    "is_record_magic",
    "may_begin_record",
    "parse_record_header",
]

HEADER_END: Final = b"\r\n\r\n"
"""The end of the last field, and the blank line."""
RECORD_END: Final = b"\r\n\r\n"
"""What follows every block (clause 4: `warc-record = header CRLF block CRLF CRLF`)."""
MAX_HEADER_SIZE: Final = 1 << 20
"""Limit of the search for the blank line that ends a header."""

MAX_BLANK_BYTES: Final = 512
"""CR and LF bytes that are allowed between two records; more are damage."""
MAX_LEAD: Final = 48
"""Bytes of the blanks, zeros and byte order marks that may come before a record, sixteen at most."""
LEADS: Final = frozenset((b" ", b"\t", b"\0", b"\xef"))
"""What their first byte is."""
MAX_ARC_GAP: Final = 4
"""The line breaks after a record of an ARC file, in its gzip member: one as a rule."""
ARC_MAGIC: Final = b"filedesc://"
"""What an ARC file begins with: the URL of its version block."""
RECORD_MAGIC: Final = b"WARC/"
"""What a record begins with, in any case; see `is_record_magic`."""
_RECORD_BEGINNING = rb"[Ww][Aa][Rr][Cc]/[0-9]{1,4}\.[0-9]{1,4}[ \t]{0,8}\r{0,2}\n[!-9;-~]{1,64}[ \t:]"
"""A version line and the name of a field: what is taken for a record where none is expected."""

LEAD: Final = rb"(?:[ \t\0]|\xef\xbb\xbf){0,16}"
_BLANK = re.compile(rb"[\r\n]*+%s(?=[Ww][Aa][Rr][Cc]/)" % LEAD)
_VERSION = re.compile(rb"(?i:warc)/(\d{1,4}\.\d{1,4})[ \t]*(\r{0,2})\n")
_TOO_MANY_RETURNS = b"\r\r"
_LAST_RETURNS = b"\n\r\r\n"
_USUAL_VERSIONS = (b"WARC/1.0\r\n", b"WARC/1.1\r\n")
_CONTENT_LENGTH = re.compile(
    # The usual form, and any other.
    rb"\n(?i:content-length)[ \t]*+:[ \t]*+"
    rb"(?:([0-9]{1,%d})\r?\n(?![ \t])|([^\n]*+(?:\n[ \t][^\n]*+)*))" % MAX_DIGITS
)


class RecordHeader(FieldMapping):
    """The header of one record, exactly as stored; `parse_record_header` makes it.

    It is a mapping of its fields (see `FieldMapping`):

        header["WARC-Type"], "warc-date" in header, dict(header), list(header.items())

    Attributes:
        raw: All bytes of the header, from the version line to the blank line, both included.
        content_length: Length of the block in bytes (clause 5.3); the first value where the field is
            repeated.
        record_size: Bytes of the whole record, decompressed: header, block, and the line breaks after it.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     header = next(archive.records(type="revisit")).header
        >>> header["warc-type"], header.version, header.content_length
        ('revisit', '1.1', 67)
    """

    __slots__ = ("content_length", "record_size")

    def __init__(self, raw: bytes, content_length: int) -> None:
        self.raw = raw  # One call less, for each record.
        self.content_length = content_length
        self.record_size = len(raw) + content_length + len(RECORD_END)

    def __repr__(self) -> str:
        return f"<RecordHeader {self.get('WARC-Type')} {self.uri('WARC-Target-URI') or ''}>"

    def __reduce__(self) -> tuple[type[RecordHeader], tuple[object, ...]]:
        return RecordHeader, (self.raw, self.content_length)

    def with_length(self, content_length: int) -> RecordHeader:
        """Return the same header for a block of another length than it states."""
        return RecordHeader(self.raw, content_length)

    @property
    def _pairs(self) -> tuple[tuple[str, str], ...]:
        return self.fields

    @property
    def version(self) -> str:
        """The version in the first line, such as "1.1"."""
        match = _VERSION.match(self.raw)
        return match[1].decode("ascii") if match else ""

    @property
    def problem(self) -> str | None:
        """What is wrong with the form of the header, though it could be parsed; None if nothing is."""
        if self.raw.endswith(_LAST_RETURNS):
            return "the lines of the header end with CR CR LF"
        if self.raw.startswith(_USUAL_VERSIONS):
            return None
        match = _VERSION.match(self.raw)
        return "the version line ends with CR CR LF" if match and match[2] == _TOO_MANY_RETURNS else None

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """All named fields as (name, value), in order."""
        return tuple(parse_fields(self.raw[self.raw.index(b"\n") + 1 :]))

    def uri(self, name: str) -> str | None:
        """Return a URI field without the angle brackets that WARC 1.0 and some writers put round it."""
        value = self.get(name)
        return without_brackets(value) if value is not None else None

    def text(self, name: str) -> str | None:
        """Return a field with its encoded words (RFC 2047) decoded."""
        value = self.get(name)
        return decode_words(value) if value is not None else None


def is_record_magic(data: bytes) -> bool:
    """Return whether bytes begin with `WARC/`, in any case: then a record may begin there."""
    return data[:5].upper() == RECORD_MAGIC


def may_begin_record(data: bytes) -> bool:
    """Return the same of bytes that may be fewer than five, of which more are to come."""
    return RECORD_MAGIC.startswith(data[:5].upper())


def blank_size(data: Buffer, start: int = 0) -> int:
    """Return where a record begins at or after `start`; `start` if one does not.

    Line breaks may come before it, and after these up to 16 blanks, zero bytes and byte order marks.
    """
    blank = _BLANK.match(data, start)
    return blank.end() if blank is not None else start


def _unusual_length(field: re.Match[bytes] | None) -> int:
    """Return the length that a Content-Length field states that is not just digits."""
    if field is None:
        raise FormatError("the record has no Content-Length field")
    value = unfolded(field[2])
    length = whole_number(value)
    if length is None:
        raise FormatError(f"Content-Length {quoted(value[:40])} is not a length")
    return length


def parse_record_header(raw: bytes, *, strict: bool = False) -> RecordHeader:
    """Parse a record header; `strict` refuses what has a `RecordHeader.problem`."""
    if len(raw) > MAX_HEADER_SIZE:
        raise FormatError(f"a record header of {len(raw)} bytes exceeds the limit of {MAX_HEADER_SIZE}")
    is_usual = raw.startswith(_USUAL_VERSIONS) and not raw.endswith(_LAST_RETURNS)
    if not is_usual and _VERSION.match(raw) is None:
        raise FormatError(f"no WARC record starts here: found {raw[:16]!r}")
    field = _CONTENT_LENGTH.search(raw)
    digits = field[1] if field is not None else None
    header = RecordHeader(raw, int(digits) if digits is not None else _unusual_length(field))
    if strict and not is_usual and (problem := header.problem) is not None:
        raise FormatError(problem)
    return header


class Grammar:
    """How the records of a file begin and end: as WARC has it here, or ARC (`format.arc`).

    Attributes:
        gaps: The line breaks that come before a record, the usual ones first.
        end: What follows every block, if anything has to.
        gap: Bytes that may follow a record in its gzip member.
        is_arc: Whether this is the grammar of an ARC file.
    """

    def __init__(
        self, beginning: bytes, gaps: tuple[bytes, ...], end: bytes, *, is_arc: bool = False
    ) -> None:
        # Most reads need none of the patterns, and to compile them takes as long as such a read.
        self._beginning = rb"(?m:^)(?:%s)" % beginning if is_arc else beginning
        gap = rb"(?:%s)%s" % (b"|".join(gaps), b"" if is_arc else LEAD)
        self._after_gap = rb"%s(?=%s)" % (gap, beginning)
        self._last_gap = rb"%s\Z" % gap
        self.gaps = gaps
        self.end = end
        self.gap = 0 if end else MAX_ARC_GAP
        self.is_arc = is_arc

    @property
    def beginning(self) -> re.Pattern[bytes]:
        """What is taken for a record where none is expected."""
        return re.compile(self._beginning)

    @property
    def after_gap(self) -> re.Pattern[bytes]:
        """The same, after the line breaks that come before a record."""
        return re.compile(self._after_gap)

    @property
    def last_gap(self) -> re.Pattern[bytes]:
        """These line breaks at the end of bytes, and blanks that may follow them."""
        return re.compile(self._last_gap)

    def header_end(self, data: Buffer, start: int = 0) -> int:
        """Return the index after the header at `start`, or -1 if `data` does not have all of it."""
        return find_header_end(data, start)

    def begins(self, data: bytes) -> bool:
        """Return whether bytes begin as a record does. `begins_at` gives them enough."""
        return is_record_magic(data)

    def may_begin(self, data: bytes) -> bool:
        """Return the same of bytes of which more are to come."""
        return may_begin_record(data)

    def begins_at(self, look: Callable[[int], bytes]) -> bool:
        """Return whether a record begins where `look` returns as many bytes from as it is asked for."""
        return is_record_magic(look(len(RECORD_MAGIC)))

    def blank_size(self, data: Buffer, start: int = 0) -> int:
        """Return where a record begins after blanks, as `blank_size` does; `start` in an ARC file."""
        return start if self.is_arc else blank_size(data, start)

    def parse(self, raw: bytes) -> RecordHeader:
        """Parse the header of a record."""
        return parse_record_header(raw)

    def whole(self, content: bytes) -> RecordHeader | None:
        """Return the header of a record without a problem that is all of `content`, its end included."""
        end = find_header_end(content) if content.endswith(RECORD_END) else -1
        if end < 0:
            return None
        try:
            header = parse_record_header(content[:end], strict=True)
        except FormatError:
            return None
        return header if header.record_size == len(content) else None


WARC: Final = Grammar(_RECORD_BEGINNING, (b"\r\n\r\n", b"\n\n"), RECORD_END)


def edit_header(header: RecordHeader, remove: Iterable[str], add: Iterable[tuple[str, str]]) -> RecordHeader:
    """Return a header with some fields removed and others added; the rest stays as written."""
    raw = header.raw
    for name in remove:
        raw = field_pattern(name).sub(b"", raw)
    fields = raw[: raw.rindex(b"\n", 0, -1) + 1]
    return parse_record_header(fields + format_fields(add) + b"\r\n")


def pad_header(header: RecordHeader, size: int) -> RecordHeader:
    """Return a header of `size` bytes: blanks, which do not count, follow the last field."""
    fields = header.raw.removesuffix(HEADER_END)
    return RecordHeader(fields + b" " * (size - len(header.raw)) + HEADER_END, header.content_length)


def build_record_header(fields: Iterable[tuple[str, str]], *, version: str = "1.1") -> RecordHeader:
    """Build a header from its fields, which include Content-Length."""
    return parse_record_header(b"WARC/" + version.encode("ascii") + b"\r\n" + format_fields(fields) + b"\r\n")
