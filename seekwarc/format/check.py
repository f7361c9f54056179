"""Checking a record header against the rules of WARC 1.1.

Source: WARC 1.1, clause 4 (grammar of a header); the tables of `rules.py` for clauses 5 and 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from seekwarc.format.rules import (
    CONDITIONS,
    FIELD_RULES,
    RECORD_TYPES,
    FieldRule,
    Severity,
    Values,
    first_value,
)
from seekwarc.format.warc import RecordHeader

__all__ = ["Finding", "check_fields", "check_header"]


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


def check_fields(fields: Iterable[tuple[str, str]], *, version: str = "1.1") -> list[Finding]:
    """Check the fields of a record header against the standard.

    Fields and record types that the standard does not define are ignored, as it asks (clauses 5.1, 5.5).

    Args:
        fields: (name, value) of each field, in order.
        version: Version of the record.
    """
    values: Values = {}
    for name, value in fields:
        values.setdefault(name.lower(), []).append(value)
    kind = first_value(values, "WARC-Type")
    found = [
        _finding("missing", rule, kind, f"{rule.name} is missing in a {kind!r} record")
        for name, rule in _REQUIRED.get(kind, _REQUIRED_OF_ALL)
        if name not in values
    ]
    for name, them in values.items():
        rule = _BY_NAME.get(name)
        if rule is not None and rule.since <= version:
            found += _check_field(rule, kind, them, version)
    found += [
        Finding("condition", rule.severity, rule.field, kind, rule.clause, rule.message.format(kind=kind))
        for rule in _CONDITIONS.get(kind, ())
        if rule.is_broken(values)
    ]
    return found


def _check_field(rule: FieldRule, kind: str, values: list[str], version: str) -> Iterable[Finding]:
    if kind in rule.forbidden:
        yield _finding("forbidden", rule, kind, f"{rule.name} is forbidden in a {kind!r} record")
    if len(values) > 1 and not rule.repeatable:
        message = f"{rule.name} occurs {len(values)} times in a {kind!r} record; only one is allowed"
        yield _finding("repeated", rule, kind, message, clause="5.1")
    form = rule.form
    is_met = form.is_met_1_0 if form.is_met_1_0 is not None and version < "1.1" else form.is_met
    for value in values:
        if not is_met(value):
            message = f"{rule.name} is {value[:200]!r} in a {kind!r} record, not {form.name}"
            yield _finding("form", rule, kind, message)


def _finding(code: str, rule: FieldRule, kind: str, message: str, *, clause: str = "") -> Finding:
    return Finding(code, Severity.ERROR, rule.name, kind, clause or rule.clause, message)


_KNOWN_VERSIONS: Final = ("1.0", "1.1")
_LINE_FEED_ALONE = re.compile(rb"(?<!\r)\n")
_FIELD_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)")


def check_header(header: RecordHeader) -> list[Finding]:
    """Check a record header against the standard: its grammar, then its fields."""
    kind = header.get("WARC-Type") or ""
    grammar = [
        Finding("grammar", Severity.ERROR, "", kind, "4", f"{message} in the header of a {kind!r} record")
        for message in _grammar_problems(header)
    ]
    return grammar + check_fields(header.fields, version=header.version)


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
