"""The header of an ARC record: one line of fields, in the order that the file's version block gives.

    http://example.org/ 192.0.2.1 20010101000000 text/html 1591

Source: "Arc File Format", version 1.0, Internet Archive, 1996-09-15, which defines versions 1 and 2. There a
record is a line break, the URL-record, a line break and the document: what comes between two records belongs
to neither, and real files have one line break there, two, or none.

Real files break these rules: URLs and media types have blanks, address and date are exchanged, a version
block names the fields of the other version. So what a line says is found by its address and date, which
nothing else looks like; the names in the version block decide only where there is no such pair. To a reader
the fields have the names that WARC has for them; `raw` is the line as stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from seekwarc.compiling import Buffer
from seekwarc.errors import FormatError
from seekwarc.format.dates import DIGITS, date_of_digits
from seekwarc.format.header_fields import whole_number
from seekwarc.format.warc import RECORD_MAGIC, Grammar, RecordHeader, build_record_header
from seekwarc.format.words import quoted

__all__ = ["ArcGrammar", "ArcHeader", "arc_grammar"]

VERSION_1: Final = ("URL", "IP-address", "Archive-date", "Content-type", "Archive-length")
VERSION_2: Final = (
    *VERSION_1[:4],
    "Result-code",
    "Checksum",
    "Location",
    "Offset",
    "Filename",
    "Archive-length",
)
MAX_NAMES: Final = 16
MAX_LINE: Final = 64 << 10
FIRST_LOOK: Final = 512
HTTP: Final = "application/http;msgtype=response"

_SCHEME = rb"[A-Za-z][A-Za-z0-9+.\-]{0,31}"
_DATE: Final = rb"[0-9]{4,20}"
# One of IPv6 has seven colons or two in a row, as no time of day has.
_ADDRESS: Final = (
    rb"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}"
    rb"|(?=[0-9A-Fa-f:]{0,40}::|(?:[0-9A-Fa-f]{1,4}:){6})[0-9A-Fa-f]{0,4}:[0-9A-Fa-f.:]{1,43})"
)
_PAIR: Final = rb"(?:%s %s|%s %s)" % (_ADDRESS, _DATE, _DATE, _ADDRESS)
_LENGTH: Final = rb" [^\0- ]{1,18}[ \t]{0,8}\r?\n"
_URL = re.compile(_SCHEME + rb":")
_BEFORE_LINE_END = re.compile(rb"(?:%s:?|%s:[^\n]*)" % (_SCHEME, _SCHEME))
_LINE_END = re.compile(rb"\n")
_ANY: Final = rb"[^\n]{0,%d}" % MAX_LINE
# The end of a line is looked at first, so that no line takes longer than its length.
_SURE: Final = rb"%s:(?=%s%s)%s %s |filedesc://%s%s" % (_SCHEME, _ANY, _LENGTH, _ANY, _PAIR, _ANY, _LENGTH)
"""A line that is one wherever it is found."""
_LIKELY = re.compile(
    rb"%s|(?:%s://|dns:)(?=%s%s)[^ \n]{1,%d} (?:%s )?(?:-|%s|%s) "
    % (_SURE, _SCHEME, _ANY, _LENGTH, MAX_LINE, _ANY, _DATE, _ADDRESS)
)
"""One where a record is expected."""
_WITH_PAIR = re.compile(rb"%s:(?=%s\n)%s %s " % (_SCHEME, _ANY, _ANY, _PAIR))
"""One where a record is expected, whatever it has for a length."""
_TAIL: Final = (
    r"(?: (?P<media>.*?))??(?: (?:-|[0-9]{1,3}) [^ ]+ [^ ]+ (?:-|[0-9]{1,18}) [^ ]+)? (?P<length>[^ ]+)"
)
"""The rest of a line. Two numbers mark the fields of version 2, which end like those of version 1."""
_ANCHORS: Final = tuple(
    re.compile(pattern.replace("ADDRESS", _ADDRESS.decode()).replace("DATE", _DATE.decode()) + _TAIL)
    for pattern in (
        r"(?P<url>.+) (?P<ip>ADDRESS) (?P<date>DATE)",
        r"(?P<url>.+) (?P<date>DATE) (?P<ip>ADDRESS)",
        r"(?P<url>[^ ]+|.+(?= [^ ]+ [0-9]{14} ))(?: (?P<ip>[^ ]+))? (?P<date>[0-9]{14})",
    )
)
_NOT_IN_URI = re.compile(r"[\0- \x7f]")
_MEDIA_TYPE = re.compile(r"[!-~]+/[!-~]+(?: [ -~]+)?")
_IS_ADDRESS = re.compile(_ADDRESS.decode())


class ArcHeader(RecordHeader):
    r"""The header of a record of an ARC file. As a mapping it has the fields that WARC would have for it.

    There is no WARC-Record-ID, since the file states none.

    Attributes:
        raw: The line as stored, line break included.
        content_length: Length of the block in bytes; 0 if the line does not tell.
        record_size: Bytes of line and block: the line breaks after it are not the record's.
        warc: These fields as the header of a WARC record.

    Example:
        >>> from seekwarc.format.arc import arc_grammar
        >>> header = arc_grammar(b"").parse(b"http://example.org/ 192.0.2.1 20010101000000 text/html 26\n")
        >>> header["WARC-Type"], header["WARC-Date"], header.content_length
        ('response', '2001-01-01T00:00:00Z', 26)
    """

    __slots__ = ("_problem", "warc")

    def __init__(
        self, raw: bytes, content_length: int, warc: RecordHeader, problem: str | None = None
    ) -> None:
        super().__init__(raw, content_length)
        self.record_size = len(raw) + content_length
        self.warc = warc
        self._problem = problem

    def __reduce__(self) -> tuple[type[RecordHeader], tuple[object, ...]]:
        return ArcHeader, (self.raw, self.content_length, self.warc, self._problem)

    def with_length(self, content_length: int) -> RecordHeader:
        """See `RecordHeader.with_length`."""
        return ArcHeader(self.raw, content_length, self.warc, self._problem)

    @property
    def problem(self) -> str | None:
        """What is wrong with the line, though it could be parsed; None if nothing is."""
        return self._problem

    @property
    def wrong_field(self) -> str | None:
        """Name of the field that `problem` is about, which it begins with; None if nothing is wrong."""
        return self._problem.partition(" ")[0] if self._problem is not None else None

    @property
    def fields(self) -> tuple[tuple[str, str], ...]:
        """All fields as (name, value), by their names in WARC."""
        return self.warc.fields

    def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """Return a field by its name in WARC, or `default` if it is missing."""
        return self.warc.get(name, default)

    def get_all(self, name: str) -> tuple[str, ...]:
        """Return the values of a field by its name in WARC."""
        return self.warc.get_all(name)


class ArcGrammar(Grammar):
    """How the records of an ARC file begin and end, by the names of their fields."""

    def __init__(self, names: Sequence[str] = VERSION_1) -> None:
        super().__init__(_SURE, (b"\n",), b"", is_arc=True)
        self._names = tuple(names)

    def header_end(self, data: Buffer, start: int = 0) -> int:
        """See `Grammar.header_end`: a line is all of it."""
        found = _LINE_END.search(data, start)
        return found.end() if found is not None else -1

    def begins(self, data: bytes) -> bool:
        """See `Grammar.begins`."""
        return _LIKELY.match(data) is not None

    def may_begin(self, data: bytes) -> bool:
        """See `Grammar.may_begin`."""
        return _BEFORE_LINE_END.fullmatch(data) is not None or self.begins(data)

    def begins_at(self, look: Callable[[int], bytes]) -> bool:
        """See `Grammar.begins_at`: lines are of any length."""
        size = len(RECORD_MAGIC)
        while not (self.begins(data := look(size)) or _WITH_PAIR.match(data)):
            if len(data) < size or size > MAX_LINE or not self.may_begin(data):
                return False
            size = max(size * 4, FIRST_LOOK)
        return True

    def whole(self, content: bytes) -> RecordHeader | None:
        """See `Grammar.whole`."""
        end = self.header_end(content)
        try:
            header = self.parse(content[: max(end, 0)])
        except FormatError:
            return None
        rest = content[header.record_size :]
        is_whole = header.record_size <= len(content) and not rest.strip(b"\r\n")
        return header if is_whole and header.problem is None else None

    def parse(self, raw: bytes) -> RecordHeader:
        """See `Grammar.parse`."""
        given = _fields(_text(raw[:MAX_LINE]).rstrip("\r\n\t "), self._names)
        if given is None or _URL.match(raw) is None:
            raise FormatError(f"no ARC record starts here: found {raw[:40]!r}")
        if len(raw) > MAX_LINE:
            raise FormatError(f"the line that begins an ARC record exceeds the limit of {MAX_LINE} bytes")
        length, date = whole_number(given["Archive-length"]), given.get("Archive-date", "-")
        problem = None
        if length is None:
            problem = f"Archive-length {quoted(given['Archive-length'][:40])} is not a length"
        elif _date(date) is None and date.strip("-0"):
            problem = f"Archive-date {quoted(date[:40])} is not a date"
        warc = build_record_header(_warc_fields(given, length or 0))
        return ArcHeader(raw, length or 0, warc, problem)


def arc_grammar(beginning: bytes) -> ArcGrammar:
    """Return the grammar of a file with that version block; without one, of version 1."""
    names = _text(beginning.split(b"\n", 3)[2]).split() if beginning.count(b"\n") > 2 else []
    ends = (names[0].upper(), names[-1]) if names else None
    return ArcGrammar(
        names if ends == ("URL", "Archive-length") and 2 < len(names) <= MAX_NAMES else VERSION_1
    )


def _fields(line: str, names: Sequence[str]) -> dict[str, str] | None:
    """Return the fields of a line by their names in version 1; None if it has too few."""
    if tuple(names) in (VERSION_1, VERSION_2):
        for anchor in _ANCHORS:
            if (found := anchor.fullmatch(line)) is not None:
                given = found.group("url", "ip", "date", "media", "length")
                return dict(zip(VERSION_1, (value or "" for value in given), strict=True))
    for some in (names, VERSION_1):
        if len(values := line.rsplit(" ", len(some) - 1)) == len(some):
            return dict(zip(some, values, strict=True))
    return None


def _warc_fields(given: dict[str, str], length: int) -> list[tuple[str, str]]:
    """Return the fields of a WARC header; what the line does not tell, or not as it should, is left out."""
    uri = _NOT_IN_URI.sub(lambda found: f"%{ord(found[0]):02X}", given["URL"])
    is_first = uri.startswith("filedesc://")
    is_http = uri[:8].lower().startswith(("http://", "https://"))
    kind = "warcinfo" if is_first else "response" if is_http else "resource"
    found = [("WARC-Type", kind), ("WARC-Target-URI", uri)]
    if is_first:
        found.append(("WARC-Filename", uri.removeprefix("filedesc://")))
    else:
        # That of a first record is of no server.
        address = given.get("IP-address", "")
        found += [("WARC-IP-Address", address)] if _IS_ADDRESS.fullmatch(address) else []
    date = _date(given.get("Archive-date", ""))
    found += [("WARC-Date", date)] if date is not None else []
    media_type = HTTP if is_http else given.get("Content-type", "")
    found += [("Content-Type", media_type)] if _MEDIA_TYPE.fullmatch(media_type) else []
    return [*found, ("Content-Length", str(length))]


def _date(digits: str) -> str | None:
    if not (digits.isascii() and digits.isdecimal() and len(digits) >= 4):
        return None
    try:
        return date_of_digits(digits[:DIGITS]).text
    except FormatError:
        return None


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
