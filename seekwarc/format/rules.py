"""The rules of WARC 1.1 for a record header, and checking a header against them.

The rules are one table: the writer refuses what the checker reports.

Source: WARC 1.1, clauses 4 (grammar of a header), 5 (named fields) and 6 (record types). "shall" makes an
error, "should" a warning. WARC 1.0 lacks some of the fields, and allows angle brackets around every URI.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from seekwarc.compiling import mypyc_attr
from seekwarc.errors import FormatError
from seekwarc.format.arc import ArcHeader
from seekwarc.format.conditions import RECORD_TYPES
from seekwarc.format.dates import WarcDate
from seekwarc.format.header_fields import TOKEN, whole_number
from seekwarc.format.profiles import is_identical_payload
from seekwarc.format.values import URI, MediaType, is_uri, without_brackets
from seekwarc.format.warc import RecordHeader
from seekwarc.format.words import quoted

__all__ = [
    "CONDITIONS",
    "FIELD_RULES",
    "RECORD_TYPES",
    "Condition",
    "FieldRule",
    "Finding",
    "Form",
    "Severity",
    "Values",
    "check_fields",
    "check_header",
    "first_value",
    "known_shapes",
]


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    """The standard says "shall"."""
    WARNING = "warning"
    """The standard says "should"."""


MAX_REMEMBERED: Final = 100
"""Characters of a value that is worth remembering; also bounds what is kept of hostile ones."""


def _matching(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.ASCII).fullmatch


def _remembering(check: Callable[[str], object]) -> Callable[[str], object]:
    """Return a check that remembers its last values: many records of a file share a date and a type."""
    known = lru_cache(64)(check)
    return lambda value: known(value) if len(value) <= MAX_REMEMBERED else check(value)


def _parsed_by(
    parse: Callable[[str], object], form: Callable[[str], object] = lambda _: True
) -> Callable[[str], object]:
    def check(value: str) -> bool:
        try:
            return bool(form(value) and parse(value))
        except FormatError:
            return False

    return _remembering(check)


# Each of these returns whether a value has the form that its clause asks for.
_is_w3c_date = _matching(r"\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?Z)?)?)?")
_is_date_1_0 = _matching(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_is_ipv4 = _matching(r"\d{1,3}(?:\.\d{1,3}){3}")
# A digest value should be a token; base64 needs characters that tokens may not have, and is in use.
_DIGEST: Final = rf"{TOKEN}:[!#$%&'*+\-.^_`|~0-9A-Za-z/=]+"


def _is_bracketed_uri(value: str) -> bool:
    return value.startswith("<") and value.endswith(">") and is_uri(value[1:-1])


def _is_address(value: str) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value and (address.version == 6 or bool(_is_ipv4(value)))  # RFC 4291 has no zones.


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class Form:
    """How the value of a field is written."""

    name: str
    is_met: Callable[[str], object]
    """The test, whose result is true or false."""
    is_met_1_0: Callable[[str], object] | None = None
    """The test for WARC 1.0, where it differs."""
    pattern: str = ""
    """A regular expression of values that meet it, without the brackets of URIs."""


def _is_uri_1_0(value: str) -> bool:
    return is_uri(without_brackets(value))


_ID = Form("a URI in angle brackets, such as <urn:uuid:...>", _is_bracketed_uri, pattern=URI)
_URI = Form("a URI in the characters of RFC 3986 (all others percent-encoded)", is_uri, _is_uri_1_0, URI)
_DATE = Form(
    "a UTC date such as 2026-11-21T09:30:00Z",
    _parsed_by(WarcDate.parse, _is_w3c_date),
    _parsed_by(WarcDate.parse, _is_date_1_0),
)
_NUMBER = Form("a number", _matching(r"[0-9]+"), pattern=r"[0-9]+")
_WORD = Form("a token", _matching(TOKEN), pattern=TOKEN)
_LABELLED = Form(
    "a labelled digest such as sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", _matching(_DIGEST), pattern=_DIGEST
)
_MEDIA = Form("a media type such as text/html", _parsed_by(MediaType.parse))
_ADDRESS = Form("an IPv4 or IPv6 address", _remembering(_is_address))
_TEXT = Form("text", lambda value: value != "")

_ALL = RECORD_TYPES
_NONE: Final[frozenset[str]] = frozenset()
_HARVESTED = frozenset({"response", "resource", "request", "revisit", "conversion", "continuation"})
_WITHOUT_EVENT = frozenset({"warcinfo", "conversion", "continuation"})
_WITHOUT_PAYLOAD = frozenset({"warcinfo", "metadata"})


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class FieldRule:
    """What clause 5 says of one field."""

    name: str
    clause: str
    form: Form
    required: frozenset[str] = _NONE
    """Record types that shall have it; `RECORD_TYPES` includes unknown types."""
    forbidden: frozenset[str] = _NONE
    """Record types that shall not have it."""
    repeatable: bool = False
    since: str = "1.0"
    """First version that defines it; before that, it is an extension."""


FIELD_RULES: Final = (
    FieldRule("WARC-Record-ID", "5.2", _ID, required=_ALL),
    FieldRule("Content-Length", "5.3", _NUMBER, required=_ALL),
    FieldRule("WARC-Date", "5.4", _DATE, required=_ALL),
    FieldRule("WARC-Type", "5.5", _WORD, required=_ALL),
    FieldRule("Content-Type", "5.6", _MEDIA),
    FieldRule("WARC-Concurrent-To", "5.7", _ID, forbidden=_WITHOUT_EVENT, repeatable=True),
    FieldRule("WARC-Block-Digest", "5.8", _LABELLED),
    FieldRule("WARC-Payload-Digest", "5.9", _LABELLED, forbidden=_WITHOUT_PAYLOAD),
    FieldRule("WARC-IP-Address", "5.10", _ADDRESS, forbidden=_WITHOUT_EVENT),
    FieldRule("WARC-Refers-To", "5.11", _ID, forbidden=_ALL - {"metadata", "revisit", "conversion"}),
    FieldRule("WARC-Refers-To-Target-URI", "5.12", _URI, forbidden=_ALL - {"revisit"}, since="1.1"),
    FieldRule("WARC-Refers-To-Date", "5.13", _DATE, forbidden=_ALL - {"revisit"}, since="1.1"),
    FieldRule("WARC-Target-URI", "5.14", _URI, required=_HARVESTED, forbidden=frozenset({"warcinfo"})),
    FieldRule("WARC-Truncated", "5.15", _WORD),
    FieldRule("WARC-Warcinfo-ID", "5.16", _ID, forbidden=frozenset({"warcinfo"})),
    FieldRule("WARC-Filename", "5.17", _TEXT, forbidden=_ALL - {"warcinfo"}),
    FieldRule("WARC-Profile", "5.18", _URI, required=frozenset({"revisit"})),
    FieldRule("WARC-Identified-Payload-Type", "5.19", _MEDIA, forbidden=_WITHOUT_PAYLOAD),
    FieldRule("WARC-Segment-Number", "5.20", _NUMBER, required=frozenset({"continuation"})),
    FieldRule(
        "WARC-Segment-Origin-ID",
        "5.21",
        _ID,
        required=frozenset({"continuation"}),
        forbidden=_ALL - {"continuation"},
    ),
    FieldRule("WARC-Segment-Total-Length", "5.22", _NUMBER, forbidden=_ALL - {"continuation"}),
)
"""The fields of clause 5, in its order."""

Values = dict[str, list[str]]
"""Values of each field, by its name in lower case."""


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class Condition:
    """A rule about a field that depends on the values of others."""

    field: str
    clause: str
    message: str
    """What is wrong in a record that breaks it; `{kind}` is replaced by the record's type."""
    types: frozenset[str]
    is_broken: Callable[[Values], bool]
    severity: Severity = Severity.ERROR


def first_value(values: Values, name: str) -> str:
    """Return the first value of a field, or "" where it is missing."""
    found = values.get(name.lower())
    return found[0] if found else ""


def _number(values: Values, name: str) -> int | None:
    return whole_number(first_value(values, name))


def _has_identical_payload(values: Values) -> bool:
    return is_identical_payload(without_brackets(first_value(values, "WARC-Profile")))


CONDITIONS: Final = (
    Condition(
        "Content-Type",
        "5.6",
        "a {kind!r} record with a block should have a Content-Type",
        _ALL - {"continuation"},
        lambda v: not first_value(v, "Content-Type") and bool(_number(v, "Content-Length")),
        Severity.WARNING,
    ),
    Condition(
        "WARC-Profile",
        "5.18",
        "WARC-Profile has no meaning in a {kind!r} record, only in revisits",
        _ALL - {"revisit"},
        lambda v: "warc-profile" in v,
        Severity.WARNING,
    ),
    Condition(
        "WARC-Segment-Number",
        "5.20",
        "WARC-Segment-Number is not 1 in a {kind!r} record, which can only be the first segment",
        _ALL - {"continuation"},
        lambda v: "warc-segment-number" in v and _number(v, "WARC-Segment-Number") not in (None, 1),
    ),
    Condition(
        "WARC-Segment-Number",
        "5.20",
        "WARC-Segment-Number is less than 2 in a {kind!r} record",
        frozenset({"continuation"}),
        lambda v: _number(v, "WARC-Segment-Number") in (0, 1),
    ),
    Condition(
        "Content-Type",
        "6.4.4",
        "Content-Type is not text/dns in a {kind!r} record with a dns: URI",
        frozenset({"resource"}),
        lambda v: (
            without_brackets(first_value(v, "WARC-Target-URI")).lower().startswith("dns:")
            and first_value(v, "Content-Type").partition(";")[0].strip().lower() != "text/dns"
        ),
    ),
    Condition(
        "WARC-Payload-Digest",
        "6.7.2",
        "WARC-Payload-Digest is missing in a {kind!r} record of the identical-payload-digest profile",
        frozenset({"revisit"}),
        lambda v: _has_identical_payload(v) and "warc-payload-digest" not in v,
    ),
    Condition(
        "WARC-Truncated",
        "6.7.2",
        "WARC-Truncated is not 'length' in a {kind!r} record of the identical-payload-digest profile",
        frozenset({"revisit"}),
        lambda v: _has_identical_payload(v) and first_value(v, "WARC-Truncated").lower() != "length",
    ),
)
"""What clauses 5 and 6 say of several fields together."""


@mypyc_attr(native_class=False)
@dataclass(frozen=True, slots=True)
class Finding:
    r"""A rule that a record header breaks.

    Example:
        >>> short = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
        >>> with seekwarc.open(short) as archive:
        ...     findings = seekwarc.check_header(next(iter(archive)).header)
        >>> print(findings[0])
        WARC-Record-ID is missing in a 'response' record (WARC 1.1, clause 5.2)
    """

    code: str
    """Kind of finding: "missing", "forbidden", "repeated", "form", "condition" or "grammar"."""
    severity: Severity
    field: str
    type: str
    """Type of the record."""
    clause: str
    """Clause of WARC 1.1 that states the rule."""
    message: str

    def __str__(self) -> str:
        return f"{self.message} (WARC 1.1, clause {self.clause})"


_BY_NAME: Final = {rule.name.lower(): rule for rule in FIELD_RULES}
_REQUIRED: Final = {
    kind: [(name, rule) for name, rule in _BY_NAME.items() if kind in rule.required]
    for kind in sorted(RECORD_TYPES)
}
_REQUIRED_OF_ALL: Final = [it for it in _BY_NAME.items() if it[1].required == RECORD_TYPES]
_CONDITIONS: Final = {
    kind: [condition for condition in CONDITIONS if kind in condition.types] for kind in sorted(RECORD_TYPES)
}


@lru_cache(maxsize=8)
def _rules_of(version: str) -> dict[str, tuple[FieldRule, Callable[[str], object]]]:
    """Return the rules that a version of WARC has, by the name of the field, and the test of its form."""
    older = version < "1.1"
    return {
        name: (rule, (rule.form.is_met_1_0 if older else None) or rule.form.is_met)
        for name, rule in _BY_NAME.items()
        if rule.since <= version
    }


def check_fields(fields: Iterable[tuple[str, str]], *, version: str = "1.1") -> list[Finding]:
    """Check record header fields; fields and types of extensions are ignored, as clauses 5.1 and 5.5 ask."""
    values: Values = {}
    for name, value in fields:
        values.setdefault(name.lower(), []).append(value)
    kind = first_value(values, "WARC-Type")
    found = [
        _finding("missing", rule, kind, f"{rule.name} is missing in a {quoted(kind)} record")
        for name, rule in _REQUIRED.get(kind, _REQUIRED_OF_ALL)
        if name not in values
    ]
    rules = _rules_of(version)
    for name, them in values.items():
        if name in rules:
            rule, is_met = rules[name]
            if kind in rule.forbidden or len(them) > 1 or not is_met(them[0]):
                found += _check_field(rule, kind, them, is_met)
    found += [
        Finding("condition", rule.severity, rule.field, kind, rule.clause, rule.message.format(kind=kind))
        for rule in _CONDITIONS.get(kind, ())
        if rule.is_broken(values)
    ]
    return found


def _check_field(
    rule: FieldRule, kind: str, values: list[str], is_met: Callable[[str], object]
) -> Iterable[Finding]:
    if kind in rule.forbidden:
        yield _finding("forbidden", rule, kind, f"{rule.name} is forbidden in a {quoted(kind)} record")
    if len(values) > 1 and not rule.repeatable:
        message = f"{rule.name} occurs {len(values)} times in a {quoted(kind)} record; only one is allowed"
        yield _finding("repeated", rule, kind, message, clause="5.1")
    for value in values:
        if not is_met(value):
            message = f"{rule.name} is {quoted(value[:200])} in a {quoted(kind)} record, not {rule.form.name}"
            yield _finding("form", rule, kind, message)


def _finding(code: str, rule: FieldRule, kind: str, message: str, *, clause: str = "") -> Finding:
    return Finding(code, Severity.ERROR, rule.name, kind, clause or rule.clause, message)


_KNOWN_VERSIONS: Final = ("1.0", "1.1")
_COMMON: Final = re.compile(f"WARC/1\\.[01]\r\n(?:{TOKEN}:[\\t -~]*\r\n)*\r\n".encode())
"""A header without problems of grammar, as nearly all are."""
_LINE_FEED_ALONE = re.compile(rb"(?<!\r)\n")
_FIELD_LINE = re.compile(f"{TOKEN}:".encode())
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")
_DECIDING: Final = ("warc-type", "warc-profile", "warc-segment-number", "warc-truncated")
"""Fields whose values decide which rules there are for others, and which conditions are broken."""
_CAPTURED: Final = ("content-length", "warc-block-digest", "warc-payload-digest")
MAX_SHAPES: Final = 16
MAX_SHAPED: Final = 8 << 10
MAX_SHAPED_FIELDS: Final = 64
"""Bytes and fields of a header whose shape is learnt: a field takes a millisecond, and 28 KB for good."""
SHAPE_COST: Final = 64
"""Headers that are checked in the time that it takes to compile the pattern of one."""


class HeaderShape:
    """A pattern of headers that break no rule and have the same fields, in the order of one of them."""

    def __init__(self, header: RecordHeader) -> None:
        self.kind = header.get("WARC-Type") or ""
        self.is_whole = self.kind != "revisit" and "WARC-Segment-Number" not in header
        self._tests: list[tuple[int, Callable[[str], object]]] = []
        self._places: dict[str, int] = {}
        rules = _rules_of(header.version)
        lines = []
        for written, value in header.fields:
            name = written.lower()
            rule, is_met = rules.get(name, (None, None))
            if name in _DECIDING:
                form = re.escape(value)
            elif rule is None or is_met is None:
                form = r"[\t -~]*"
            elif rule.form.pattern:
                form = f"<{rule.form.pattern}>" if value.startswith("<") else rule.form.pattern
                if name in _CAPTURED:
                    form = f"({form})"
                    self._places[name] = len(self._places) + 1
            else:
                form = "([ -~]*)"
                self._places[name] = len(self._places) + 1
                self._tests.append((self._places[name], is_met))
            if name == "warc-target-uri":
                form = f"(?!<?(?i:dns):){form}"  # A rule of resources is about URIs of this scheme.
            lines.append(rf"{re.escape(written)}:[\t ]*+{form}\r\n")
        version = re.escape(header.raw[: header.raw.index(b"\n") + 1])
        self.pattern = re.compile(version + "".join(lines).encode() + rb"\r\n")

    def is_met(self, match: re.Match[bytes]) -> bool:
        """Return whether the values that the pattern leaves open break no rule either."""
        for number, test in self._tests:  # noqa: SIM110 - each record has them, and a generator takes calls
            if not test(match[number].decode("ascii")):
                return False
        return True

    def value(self, match: re.Match[bytes], name: str) -> str | None:
        """Return Content-Length, Content-Type or a digest by its name in lower case; None if missing."""
        number = self._places.get(name)
        return match[number].decode("ascii") if number is not None else None


class _Shapes:
    """Shapes of headers that break no rule: nearly all of a file have the same few. Others may break none."""

    def __init__(self) -> None:
        self._known: tuple[HeaderShape, ...] = ()
        self._unmatched = 0

    def find(self, raw: bytes) -> tuple[HeaderShape, re.Match[bytes]] | None:
        """Return the shape of a header that is known to break no rule, and its match."""
        for shape in self._known:
            match = shape.pattern.fullmatch(raw)
            if match is not None and shape.is_met(match):
                return shape, match
        return None

    def add(self, header: RecordHeader) -> None:
        """Learn the shape of a header that breaks no rule; seldom, as hostile files have many shapes."""
        self._unmatched += 1
        is_time = len(self._known) < MAX_SHAPES or self._unmatched >= SHAPE_COST
        is_small = len(header.raw) <= MAX_SHAPED and len(header) <= MAX_SHAPED_FIELDS
        # Without a Content-Type, the length of the block decides.
        if is_time and is_small and "Content-Type" in header:
            self._unmatched = 0
            self._known = (*self._known[-MAX_SHAPES + 1 :], HeaderShape(header))


known_shapes: Final = _Shapes()
"""Of all headers that were read or made in this process."""


def check_header(header: RecordHeader) -> list[Finding]:
    """Check a record header against the standard: its grammar, then its fields; of an ARC file, its form."""
    if isinstance(header, ArcHeader):
        kind, problem = header.get("WARC-Type") or "", header.problem
        name = header.wrong_field or ""
        return [Finding("form", Severity.ERROR, name, kind, "", problem)] if problem else []
    if known_shapes.find(header.raw) is not None:
        return []
    if _COMMON.fullmatch(header.raw):
        found = check_fields(header.fields, version=header.version)
        if not found:
            known_shapes.add(header)
        return found
    kind = header.get("WARC-Type") or ""
    end = f" in the header of a {quoted(kind)} record"
    found = [Finding("grammar", Severity.ERROR, "", kind, "4", it + end) for it in _grammar_problems(header)]
    return found + check_fields(header.fields, version=header.version)


def _grammar_problems(header: RecordHeader) -> Iterator[str]:
    raw = header.raw
    if header.version not in _KNOWN_VERSIONS:
        yield f"unknown WARC version {header.version}"
    if _LINE_FEED_ALONE.search(raw):
        yield "a line that ends with LF instead of CRLF"
    if _CONTROL.search(raw):
        yield "a control character"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        yield f"invalid UTF-8 at byte {error.start}"
    for line in raw.split(b"\n")[1:]:
        if line.strip(b"\r") and line[:1] not in b" \t" and not _FIELD_LINE.match(line):
            yield f"a line that is not a named field, {line[:40]!r},"
