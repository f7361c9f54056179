"""Heads of records and HTTP messages as warcio's `StatusAndHeaders`, by its rules, but only when asked for.

warcio takes each head apart line by line, which is most of the time of an iteration, and programs want a few
fields of it. The rules are those of its `StatusAndHeadersParser`: each line is UTF-8, or ISO 8859-1 where it
is not; a line that begins with a blank goes on the value before it; a line without a colon is left out; the
head ends with the first blank line.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from warcio.recordloader import ArcWarcRecordLoader
from warcio.statusandheaders import (
    StatusAndHeaders,
    StatusAndHeadersParser,
    StatusAndHeadersParserException,
)

__all__ = ["Head", "ParsedHead", "parse_head", "record_head"]

_LOGGER: Final = logging.getLogger(__name__)
_USUAL_VERSIONS: Final = (b"WARC/1.0\r\n", b"WARC/1.1\r\n")
_URI: Final = "warc-target-uri"
_CODINGS: Final = re.compile(rb"\n(?:content|transfer)-encoding[ \t]*:", re.IGNORECASE)
_FOLDED: Final = re.compile(rb"\n[ \t]")
_BLANK_LINE: Final = re.compile(rb"\n[ \t\r\f\v]*\n")


class Head(NamedTuple):
    """A head, and how many bytes it takes, the blank line included."""

    headers: Any
    size: int


def parse_head(
    data: bytes, *, is_all: bool, protocols: Sequence[str] = (), verify: bool = False
) -> Head | None:
    """Parse the head that `data` begins with; None if it does not end there, and more bytes would follow.

    If `is_all`, a head without a blank line ends with `data`. The first line is split after one of
    `protocols`, which it must begin with if `verify`, or else at the first blank.
    """
    first = data.find(b"\n") + 1
    if first and not data[:first].strip():
        return Head(StatusAndHeaders("", [], "", first), first)
    blank = _BLANK_LINE.search(data)
    if blank is None and not is_all:
        return None
    size = blank.end() if blank is not None else len(data)
    lines = data[:size]
    start = _decoded(lines[:first] if first else lines).rstrip()
    split = StatusAndHeadersParser.split_prefix(start, protocols) if protocols else None
    if split is None:
        if verify:
            text = f"Expected Status Line starting with {list(protocols)} - Found: {start}"
            raise StatusAndHeadersParserException(text, start)
        protocol, _, rest = start.partition(" ")
    else:
        protocol, rest = split
    return Head(ParsedHead(rest.strip(), protocol, lines), size)


class ParsedHead(StatusAndHeaders):  # type: ignore[misc]  # warcio has no types
    """A `StatusAndHeaders` whose fields are taken apart when more is asked for than some of them."""

    def __init__(self, statusline: str, protocol: str, lines: bytes, *, is_record: bool = False) -> None:
        self.statusline = statusline
        self.protocol = protocol
        self.headers_buff = None
        self._lines = lines
        self._is_record = is_record
        self._fields: list[tuple[str, str]] | None = None
        # A line can be found by its beginning where none is folded, and all decode alike.
        self._is_simple = lines.isascii() and _FOLDED.search(lines) is None
        self.total_len = len(lines) if self._is_simple else len(_decoded(lines))

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Name and value of each field; the list may be changed."""
        if self._fields is None:
            self._fields = fields = _fields(_decoded(self._lines).split("\n")[1:])
            uri = next((index for index, (name, _) in enumerate(fields) if name.lower() == _URI), None)
            if self._is_record and uri is not None:
                fields[uri] = fields[uri][0], _mended_uri(fields[uri][1])
        return self._fields

    @headers.setter
    def headers(self, fields: list[tuple[str, str]]) -> None:
        self._fields = fields

    @property
    def has_codings(self) -> bool:
        """Whether a field may say that the body is not the payload as it was made."""
        return self._fields is not None or not self._is_simple or _CODINGS.search(self._lines) is not None

    def get_header(self, name: str, default_value: Any = None) -> Any:  # noqa: ANN401 - as warcio has it
        """Return the first value of a field, or the default."""
        if self._fields is not None or not self._is_simple:
            return super().get_header(name, default_value)
        found = _field_pattern(name).search(self._lines)
        if found is None:
            return default_value
        value = found[1].decode().strip()
        return _mended_uri(value) if self._is_record and name.lower() == _URI else value

    get = __getitem__ = get_header


def record_head(raw: bytes) -> ParsedHead:
    """Return the header of a record."""
    if raw.startswith(_USUAL_VERSIONS):
        return ParsedHead("", raw[:8].decode(), raw, is_record=True)
    head = parse_head(raw, is_all=True, protocols=ArcWarcRecordLoader.WARC_TYPES)
    first = head.headers if head is not None else StatusAndHeaders("", [])
    return ParsedHead(first.statusline, first.protocol, raw, is_record=True)


def _mended_uri(uri: str) -> str:
    """Return a URI without the angle brackets and blanks that some writers put there."""
    if uri.startswith("<") and uri.endswith(">"):
        uri = uri[1:-1]
    if " " in uri:
        _LOGGER.warning("Replacing spaces in invalid WARC-Target-URI: %s", uri)
        uri = uri.replace(" ", "%20")
    return uri


@lru_cache(256)
def _field_pattern(name: str) -> re.Pattern[bytes]:
    return re.compile(b"\n" + re.escape(name.encode()) + rb"[ \t]*:([^\n]*)", re.IGNORECASE)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "\n".join(map(StatusAndHeadersParser.decode_header, data.split(b"\n")))


def _fields(lines: list[str]) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    continues = False
    for index, untrimmed in enumerate(lines):
        line = untrimmed.rstrip()
        if not line:
            break
        if index and line[:1] in (" ", "\t"):
            if continues:
                name, value = fields[-1]
                fields[-1] = name, value + line
            continue
        name, colon, value = line.partition(":")
        continues = bool(colon)
        if continues:
            fields.append((name.rstrip(" \t"), value.lstrip()))
    return fields
