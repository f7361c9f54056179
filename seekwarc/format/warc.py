"""The header of a WARC record: version line, named fields, blank line.

Source: WARC 1.1, clause 4 (grammar) and clause 5 (named fields). WARC 1.0 differs only in that every
URI has angle brackets, which `RecordHeader.uri` removes.

Reading tolerates what real files have: lines that end with bare LF, a version line that ends with CR CR LF,
blanks after a field name, any version. The bytes are kept exactly as read in
`RecordHeader.raw`, so that copying a record never changes it. Writing is strict.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import lru_cache
from typing import Final

from seekwarc.errors import FormatError
from seekwarc.format.values import decode_words, without_brackets
from seekwarc.format.zstd import Buffer

__all__ = [
    "MAX_BLANK_BYTES",
    "MAX_HEADER_SIZE",
    "RECORD_BEGINNING",
    "RECORD_END",
    "RECORD_MAGIC",
    "FieldMapping",
    "RecordHeader",
    "build_record_header",
    "edit_header",
    "field_values",
    "find_header_end",
    "format_fields",
    "parse_fields",
    "parse_record_header",
]

RECORD_END: Final = b"\r\n\r\n"
"""What follows every block (clause 4: `warc-record = header CRLF block CRLF CRLF`)."""
MAX_HEADER_SIZE: Final = 1 << 20
"""Limit of the search for the blank line that ends a header."""

MAX_BLANK_BYTES: Final = 512
"""CR and LF bytes that are allowed between two records; more are damage."""
RECORD_MAGIC: Final = b"WARC/"
RECORD_BEGINNING: Final = re.compile(rb"WARC/[0-9]{1,4}\.[0-9]{1,4}[ \t]{0,8}\r{0,2}\n[!-9;-~]{1,64}[ \t:]")
"""A version line and the name of a field: what is taken for a record where none is expected."""

_VERSION = re.compile(rb"WARC/(\d{1,4}\.\d{1,4})[ \t]*(\r{0,2})\n")
_TOO_MANY_RETURNS = b"\r\r"
_USUAL_VERSIONS = (b"WARC/1.0\r\n", b"WARC/1.1\r\n")
_CONTENT_LENGTH = re.compile(rb"\n(?i:content-length)[ \t]*+:([^\n]*+(?:\n[ \t][^\n]*+)*+)")
MAX_DIGITS: Final = 18
_DIGITS = re.compile(r"[0-9]{1,18}")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LINE_BREAK_OR_NUL = re.compile(r"[\r\n\0]")
_FOLD = re.compile(r"(?:(?<![ \t])[ \t]++)?\r?\n[ \t]++")


def find_header_end(data: bytes | bytearray, start: int = 0) -> int:
    """Return the index after the blank line that ends a header, or -1 if `data` has no blank line yet."""
    end = data.find(b"\n\r\n", start)
    # Some write bare LF.
    bare = data.find(b"\n\n", start, end + 1 if end >= 0 else None)
    if bare >= 0:
        return bare + 2
    return end + 3 if end >= 0 else -1


def parse_fields(data: Buffer) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of each named field, in order, folded lines joined by one space.

    Bytes that are not UTF-8 become surrogate escapes, so nothing is lost: encoding with
    `errors="surrogateescape"` restores them. Lines without a colon are skipped.
    """
    text = bytes(data).decode("utf-8", "surrogateescape")
    for line in _FOLD.sub(" ", text).split("\n"):
        name, colon, value = line.partition(":")
        # A blank at the very beginning continues the start line, which is not a field.
        if colon and line[0] not in " \t":
            yield name.strip(" \t"), value.strip(" \t\r")


class FieldMapping(Mapping[str, str]):
    """Named fields as a mapping whose names are not case-sensitive.

    A field may be repeated: `header[name]` and `get` return its first value, `get_all` every value.
    Iteration, `len`, `keys`, `values` and `items` cover every field, in order, with names as written.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def _pairs(self) -> Sequence[tuple[str, str]]:
        """All fields as (name, value), in order."""

    @abstractmethod
    def get_all(self, name: str) -> tuple[str, ...]:
        """Return every value of a field that may be repeated."""

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return the first value of a field, or `default` if it is missing."""
        return next(iter(self.get_all(name)), default)

    def __getitem__(self, name: str) -> str:
        value = self.get(name)
        if value is None:
            raise KeyError(name)
        return value

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._pairs])

    def __len__(self) -> int:
        return len(self._pairs)

    def __bool__(self) -> bool:
        # `if record.http:` asks for a head; even one without fields is a head.
        return True

    def items(self) -> ItemsView[str, str]:
        """Return every field as (name, value)."""
        return _Items(self)

    def values(self) -> ValuesView[str]:
        """Return the value of every field."""
        return _Values(self)


class _Items(ItemsView[str, str]):
    def __init__(self, fields: FieldMapping) -> None:
        super().__init__(fields)
        self._fields = fields

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._fields._pairs)  # noqa: SLF001


class _Values(ValuesView[str]):
    def __init__(self, fields: FieldMapping) -> None:
        super().__init__(fields)
        self._fields = fields

    def __iter__(self) -> Iterator[str]:
        return iter([value for _, value in self._fields._pairs])  # noqa: SLF001


class RecordHeader(FieldMapping):
    """The header of one record, exactly as stored; `parse_record_header` makes it.

    It is a mapping of its fields (see `FieldMapping`):

        header["WARC-Type"], "warc-date" in header, dict(header), list(header.items())

    Attributes:
        raw: All bytes of the header, from the version line to the blank line, both included.
        content_length: Length of the block in bytes (clause 5.3); the first value where the field is
            repeated.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     header = next(archive.records(type="revisit")).header
        >>> header["warc-type"], header.version, header.content_length
        ('revisit', '1.1', 67)
    """

    __slots__ = ("content_length", "raw")

    def __init__(self, raw: bytes, content_length: int) -> None:
        self.raw = raw
        self.content_length = content_length

    def __repr__(self) -> str:
        return f"<RecordHeader {self.get('WARC-Type')} {self.uri('WARC-Target-URI') or ''}>"

    def __eq__(self, other: object) -> bool:
        return self.raw == other.raw if isinstance(other, RecordHeader) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.raw)

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
        if self.raw.startswith(_USUAL_VERSIONS):
            return None
        match = _VERSION.match(self.raw)
        return "the version line ends with CR CR LF" if match and match[2] == _TOO_MANY_RETURNS else None

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """All named fields as (name, value), in order."""
        return tuple(parse_fields(self.raw[self.raw.index(b"\n") + 1 :]))

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return the first value of a field, or `default` where the header has none."""
        # Searched in the bytes: most readers want a few fields of each record, never all of them.
        match = _field(name).search(self.raw)
        return _value(match[1]) if match else default

    def get_all(self, name: str) -> tuple[str, ...]:
        """Return every value of a field that may be repeated, such as WARC-Concurrent-To."""
        return field_values(self.raw, name)

    def uri(self, name: str) -> str | None:
        """Return a URI field without the angle brackets that WARC 1.0 and some writers put round it."""
        value = self.get(name)
        return without_brackets(value) if value is not None else None

    def text(self, name: str) -> str | None:
        """Return a field with its encoded words (RFC 2047) decoded."""
        value = self.get(name)
        return decode_words(value) if value is not None else None


def field_values(raw: bytes, name: str) -> tuple[str, ...]:
    """Return every value of a field in a header, whose first line is not a field; see `parse_fields`."""
    return tuple(map(_value, _field(name).findall(raw)))


@lru_cache(maxsize=256)
def _field(name: str) -> re.Pattern[bytes]:
    """Return a pattern of a field with that name, including folded lines."""
    escaped = re.escape(name.encode("utf-8", "surrogateescape"))
    return re.compile(rb"\n(?i:" + escaped + rb")[ \t]*+:([^\n]*+(?:\n[ \t][^\n]*+)*+)")


def _value(raw: bytes) -> str:
    text = raw.decode("utf-8", "surrogateescape")
    if "\n" in text:
        text = _FOLD.sub(" ", text)
    return text.strip(" \t\r")


def _content_length(raw: bytes) -> int:
    field = _CONTENT_LENGTH.search(raw)
    if field is None:
        raise FormatError("the record has no Content-Length field")
    digits = field[1].strip(b" \t\r")
    if digits.isdigit() and len(digits) <= MAX_DIGITS:
        return int(digits)
    value = _value(field[1])
    if not _DIGITS.fullmatch(value):
        raise FormatError(f"Content-Length {value[:40]!r} is not a length")
    return int(value)


def parse_record_header(raw: bytes, *, strict: bool = False) -> RecordHeader:
    """Parse a record header.

    Args:
        raw: All its bytes, from the version line to the blank line.
        strict: Refuse a header that has a `RecordHeader.problem`.

    Raises:
        FormatError: The bytes do not begin with a WARC version line, are more than 1 MiB, or have no
            usable Content-Length.
    """
    if len(raw) > MAX_HEADER_SIZE:
        raise FormatError(f"a record header of {len(raw)} bytes exceeds the limit of {MAX_HEADER_SIZE}")
    if not raw.startswith(_USUAL_VERSIONS):
        version = _VERSION.match(raw)
        if version is None or (strict and version[2] == _TOO_MANY_RETURNS):
            raise FormatError(f"no WARC record starts here: found {raw[:16]!r}")
        if version[2] == _TOO_MANY_RETURNS and b"\n\r\r\n" in raw:
            # The real blank line is CR CR LF too, so `raw` extends into the block.
            raise FormatError("the lines of this record header end with CR CR LF")
    return RecordHeader(raw, _content_length(raw))


def edit_header(header: RecordHeader, remove: Iterable[str], add: Iterable[tuple[str, str]]) -> RecordHeader:
    """Return a header with some fields removed and others added; the rest stays as written.

    Raises:
        ValueError: As `format_fields`.
        FormatError: The new header has no usable Content-Length.
    """
    raw = header.raw
    for name in remove:
        raw = _field(name).sub(b"", raw)
    fields = raw.removesuffix(b"\n").removesuffix(b"\r")
    return parse_record_header(fields + format_fields(add) + b"\r\n")


def format_fields(fields: Iterable[tuple[str, str]]) -> bytes:
    """Serialise named fields, one CRLF-ended line each: an `application/warc-fields` block.

    Raises:
        ValueError: A name that is not a token, or a value that contains a line break or NUL.
    """
    lines = []
    for name, value in fields:
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a field (WARC 1.1, clause 4: token)")
        if _LINE_BREAK_OR_NUL.search(value):
            raise ValueError(f"the value of {name} contains a line break or NUL: {value[:80]!r}")
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


def build_record_header(fields: Iterable[tuple[str, str]], *, version: str = "1.1") -> RecordHeader:
    """Build a header from its fields.

    Raises:
        ValueError: As `format_fields`.
        FormatError: No usable Content-Length among the fields, or a header of more than 1 MiB.
    """
    return parse_record_header(b"WARC/" + version.encode("ascii") + b"\r\n" + format_fields(fields) + b"\r\n")
