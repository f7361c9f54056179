"""The table of rules says what clauses 5 and 6 of WARC 1.1 say, and each rule is found broken alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import pytest

from seekwarc.format.profiles import IDENTICAL_PAYLOAD_DIGEST, SERVER_NOT_MODIFIED
from seekwarc.format.rules import (
    CONDITIONS,
    FIELD_RULES,
    RECORD_TYPES,
    Condition,
    FieldRule,
    Finding,
    Severity,
    check_fields,
    first_value,
)
from tests.support.legal import ILLEGAL, LEGAL, Fields, having, legal_record, without

TYPES = sorted(RECORD_TYPES)

# Copied from the standard by hand: clause, types that shall have it, types that shall not.
ALL = "warcinfo response resource request metadata revisit conversion continuation"
STANDARD = {
    "WARC-Record-ID": ("5.2", ALL, ""),
    "Content-Length": ("5.3", ALL, ""),
    "WARC-Date": ("5.4", ALL, ""),
    "WARC-Type": ("5.5", ALL, ""),
    "Content-Type": ("5.6", "", ""),
    "WARC-Concurrent-To": ("5.7", "", "warcinfo conversion continuation"),
    "WARC-Block-Digest": ("5.8", "", ""),
    "WARC-Payload-Digest": ("5.9", "", "warcinfo metadata"),
    "WARC-IP-Address": ("5.10", "", "warcinfo conversion continuation"),
    "WARC-Refers-To": ("5.11", "", "warcinfo response resource request continuation"),
    "WARC-Refers-To-Target-URI": (
        "5.12",
        "",
        "warcinfo response metadata conversion resource request continuation",
    ),
    "WARC-Refers-To-Date": (
        "5.13",
        "",
        "warcinfo response metadata conversion resource request continuation",
    ),
    "WARC-Target-URI": ("5.14", "response resource request revisit conversion continuation", "warcinfo"),
    "WARC-Truncated": ("5.15", "", ""),
    "WARC-Warcinfo-ID": ("5.16", "", "warcinfo"),
    "WARC-Filename": ("5.17", "", "response resource request metadata revisit conversion continuation"),
    "WARC-Profile": ("5.18", "revisit", ""),
    "WARC-Identified-Payload-Type": ("5.19", "", "warcinfo metadata"),
    "WARC-Segment-Number": ("5.20", "continuation", ""),
    "WARC-Segment-Origin-ID": (
        "5.21",
        "continuation",
        "warcinfo response resource request metadata revisit conversion",
    ),
    "WARC-Segment-Total-Length": (
        "5.22",
        "",
        "warcinfo response resource request metadata revisit conversion",
    ),
}


def legal_values(name: str, kind: str) -> list[str]:
    if name == "WARC-Type":
        return [kind]
    if name == "WARC-Segment-Number" and kind == "continuation":
        return ["2", "17", "002"]
    if name == "WARC-Target-URI" and kind == "resource":
        # Of the results of a DNS lookup, clause 6.4.4 asks for more than this field.
        return [value for value in LEGAL[name] if not value.startswith("dns:")]
    return LEGAL[name]


def only_finding(fields: Fields, **options: str) -> Finding:
    found = check_fields(fields, **options)
    assert len(found) == 1, [str(finding) for finding in found]
    return found[0]


def assert_says(finding: Finding, rule: FieldRule | Condition, kind: str, clause: str | None = None) -> None:
    """Assert that a finding names field, type and clause, in its attributes and in its text."""
    name = rule.name if isinstance(rule, FieldRule) else rule.field
    clause = clause or rule.clause
    assert (finding.field, finding.type, finding.clause) == (name, kind, clause)
    assert name in str(finding)
    assert f"'{kind}'" in str(finding)
    assert str(finding).endswith(f"(WARC 1.1, clause {clause})")


# The table.


def test_the_eight_types_of_clause_5_5() -> None:
    assert sorted(ALL.split()) == TYPES


def test_the_table_says_what_the_standard_says() -> None:
    assert [rule.name for rule in FIELD_RULES] == list(STANDARD), "the fields of clause 5, in its order"
    for rule in FIELD_RULES:
        clause, required, forbidden = STANDARD[rule.name]
        assert rule.clause == clause, rule.name
        assert rule.required == frozenset(required.split()), rule.name
        assert rule.forbidden == frozenset(forbidden.split()), rule.name
        assert rule.repeatable is (rule.name == "WARC-Concurrent-To"), rule.name
        assert rule.since == ("1.1" if "Refers-To-" in rule.name else "1.0"), rule.name


def test_no_rule_both_requires_and_forbids() -> None:
    for rule in FIELD_RULES:
        assert not rule.required & rule.forbidden
        assert rule.required | rule.forbidden <= RECORD_TYPES


# Each rule of a field, broken alone, in each type of record.


def each_rule(wanted: Callable[[FieldRule, str], bool]) -> pytest.MarkDecorator:
    """Have a test for each rule, with the types of records for which it is wanted."""
    cases = {rule.name: (rule, [kind for kind in TYPES if wanted(rule, kind)]) for rule in FIELD_RULES}
    return pytest.mark.parametrize(
        ("rule", "kinds"), [pytest.param(*case, id=name) for name, case in cases.items() if case[1]]
    )


@pytest.mark.parametrize("kind", TYPES)
def test_a_legal_record_has_no_findings(kind: str) -> None:
    assert check_fields(legal_record(kind)) == []
    assert check_fields(legal_record(kind), version="1.0") == []


@each_rule(lambda rule, kind: kind in rule.required)
def test_a_required_field_that_is_missing_is_found(rule: FieldRule, kinds: list[str]) -> None:
    for kind in kinds:
        finding = only_finding(without(legal_record(kind), rule.name))
        assert finding.code == "missing"
        assert finding.severity is Severity.ERROR
        # Of a record without a type, nothing but that is known.
        assert_says(finding, rule, "" if rule.name == "WARC-Type" else kind)


def with_values(rule: FieldRule, kinds: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each type of records with each of the legal values that a field has there."""
    return ((kind, value) for kind in kinds for value in legal_values(rule.name, kind))


@each_rule(lambda rule, kind: kind in rule.forbidden)
def test_a_forbidden_field_is_found(rule: FieldRule, kinds: list[str]) -> None:
    for kind, value in with_values(rule, kinds):
        finding = only_finding(having(legal_record(kind), rule.name, value))
        assert finding.code == "forbidden"
        assert finding.severity is Severity.ERROR
        assert_says(finding, rule, kind)


def is_allowed(rule: FieldRule, kind: str) -> bool:
    return kind not in rule.forbidden and (rule.name != "WARC-Profile" or kind == "revisit")


@each_rule(is_allowed)
def test_an_optional_field_is_no_finding(rule: FieldRule, kinds: list[str]) -> None:
    for kind, value in with_values(rule, kinds):
        fields = having(legal_record(kind), rule.name, value)
        if rule.name == "Content-Length":
            fields.append(("Content-Type", "text/plain"))
        assert check_fields(fields) == [], value
        assert check_fields([(name.swapcase(), value) for name, value in reversed(fields)]) == []


@each_rule(is_allowed)
def test_a_value_that_is_not_of_its_form_is_found(rule: FieldRule, kinds: list[str]) -> None:
    for kind, value in product(kinds, ILLEGAL[rule.name]):
        finding = only_finding(having(legal_record(kind), rule.name, value))
        assert finding.code == "form", value
        assert finding.severity is Severity.ERROR
        assert_says(finding, rule, value if rule.name == "WARC-Type" else kind)
        assert repr(value) in finding.message


@each_rule(is_allowed)
def test_a_field_that_is_repeated_is_found(rule: FieldRule, kinds: list[str]) -> None:
    for kind, count in product(kinds, (2, 3)):
        value = legal_values(rule.name, kind)[0]
        fields = having(legal_record(kind), rule.name, *[value] * count)
        if rule.name == "WARC-Concurrent-To":
            assert check_fields(fields) == []
            continue
        finding = only_finding(fields)
        assert finding.code == "repeated"
        assert finding.severity is Severity.ERROR
        assert f"{count} times" in str(finding)
        assert_says(finding, rule, kind, clause="5.1")


def test_each_of_several_values_is_looked_at() -> None:
    fields = [*legal_record("response"), ("WARC-Concurrent-To", "<urn:a>"), ("WARC-Concurrent-To", "urn:b")]
    assert "'urn:b'" in str(only_finding(fields))


# Conditions, broken one by one.


def _edit(*pairs: tuple[str, str]) -> Callable[[Fields], Fields]:
    def edit(fields: Fields) -> Fields:
        for name, value in pairs:
            fields = having(fields, name, value)
        return fields

    return edit


IDENTICAL = ("WARC-Profile", IDENTICAL_PAYLOAD_DIGEST)
DIGEST = ("WARC-Payload-Digest", "sha1:3EF4GH5IJ6KL7MN8OPQAB2CD")
CUT = ("WARC-Truncated", "length")
BROKEN: dict[tuple[str, str, bool], list[Callable[[Fields], Fields]]] = {
    ("Content-Type", "5.6", False): [_edit(("Content-Length", "1")), _edit(("Content-Length", "0099"))],
    ("WARC-Profile", "5.18", False): [_edit(IDENTICAL), _edit(("WARC-Profile", "urn:x"))],
    ("WARC-Segment-Number", "5.20", False): [
        _edit(("WARC-Segment-Number", "0")),
        _edit(("WARC-Segment-Number", "2")),
    ],
    ("WARC-Segment-Number", "5.20", True): [
        _edit(("WARC-Segment-Number", "0")),
        _edit(("WARC-Segment-Number", "1")),
    ],
    ("Content-Type", "6.4.4", False): [
        _edit(("WARC-Target-URI", "dns:www.archive.org")),
        _edit(("WARC-Target-URI", "DNS:www.archive.org"), ("Content-Type", "text/plain")),
        _edit(("WARC-Target-URI", "dns:www.archive.org"), ("Content-Type", "text/dnssec")),
    ],
    ("WARC-Payload-Digest", "6.7.2", False): [_edit(IDENTICAL, CUT)],
    ("WARC-Truncated", "6.7.2", False): [
        _edit(IDENTICAL, DIGEST),
        _edit(IDENTICAL, DIGEST, ("WARC-Truncated", "time")),
    ],
}
"""By field, clause, and whether it is about continuations: edits of a legal record that break it."""


def condition_cases() -> list[object]:
    return [
        pytest.param(condition, kind, id=f"{condition.field}-{condition.clause}-{kind}")
        for condition in CONDITIONS
        for kind in sorted(condition.types)
    ]


def test_every_condition_has_an_example() -> None:
    keys = [(it.field, it.clause, it.types == frozenset({"continuation"})) for it in CONDITIONS]
    assert sorted(keys) == sorted(BROKEN)


@pytest.mark.parametrize(("condition", "kind"), condition_cases())
def test_a_condition_that_is_broken_is_found(condition: Condition, kind: str) -> None:
    only_continuations = condition.types == frozenset({"continuation"})
    for edit in BROKEN[condition.field, condition.clause, only_continuations]:
        finding = only_finding(edit(legal_record(kind)))
        assert finding.code == "condition"
        assert finding.severity is condition.severity
        assert_says(finding, condition, kind)


@pytest.mark.parametrize(
    ("clause", "severity"),
    [
        ("5.6", "warning"),
        ("5.18", "warning"),
        ("5.20", "error"),
        ("6.4.4", "error"),
        ("6.7.2", "error"),
    ],
)
def test_should_makes_a_warning_and_shall_an_error(clause: str, severity: str) -> None:
    assert {it.severity for it in CONDITIONS if it.clause == clause} == {severity}


def test_conditions_that_are_met() -> None:
    for kind, edit in [
        ("response", _edit(("Content-Length", "5"), ("Content-Type", "application/http"))),
        ("continuation", _edit(("Content-Length", "5"))),
        ("response", _edit(("WARC-Segment-Number", "1"))),
        ("resource", _edit(("WARC-Target-URI", "dns:a"), ("Content-Type", "text/dns"))),
        ("resource", _edit(("WARC-Target-URI", "dns:a"), ("Content-Type", "Text/DNS; charset=utf-8"))),
        ("response", _edit(("WARC-Target-URI", "dns:a"), ("Content-Type", "text/plain"))),
        ("revisit", _edit(IDENTICAL, DIGEST, CUT)),
        ("revisit", _edit(("WARC-Profile", SERVER_NOT_MODIFIED))),
        ("revisit", _edit(("WARC-Profile", "http://example.org/another-profile"))),
    ]:
        assert check_fields(edit(legal_record(kind))) == []


# What the standard does not define.


@pytest.mark.parametrize("kind", ["screenshot", "Response", "x-my-type"])
def test_records_of_unknown_types_are_ignored(kind: str) -> None:
    fields = [
        *legal_record("response"),
        ("WARC-Filename", "a"),
        ("WARC-Profile", "urn:x"),
        ("WARC-Segment-Origin-ID", "<urn:x>"),
        ("Screen-Size", "1 x 1"),
    ]
    assert check_fields(having(fields, "WARC-Type", kind)) == []
    assert check_fields(without(having(fields, "WARC-Type", kind), "WARC-Target-URI")) == []


@pytest.mark.parametrize("name", ["WARC-Record-ID", "Content-Length", "WARC-Date"])
def test_records_of_unknown_types_have_what_all_have(name: str) -> None:
    finding = only_finding(without(having(legal_record("response"), "WARC-Type", "screenshot"), name))
    assert (finding.code, finding.field, finding.type) == ("missing", name, "screenshot")


@pytest.mark.parametrize("kind", TYPES)
def test_unknown_fields_are_ignored(kind: str) -> None:
    extra = [("WARC-JSON-Metadata", "{"), ("X", ""), ("X", "\udcff"), ("WARC-Dates", "never"), ("", "a")]
    assert check_fields(legal_record(kind) + extra) == []


# WARC 1.0.


def test_warc_1_0_writes_brackets_round_every_uri() -> None:
    fields = having(legal_record("revisit"), "WARC-Target-URI", "<http://www.archive.org/>")
    fields = having(fields, "WARC-Profile", f"<{SERVER_NOT_MODIFIED}>")
    assert check_fields(fields, version="1.0") == []
    assert [it.field for it in check_fields(fields)] == ["WARC-Target-URI", "WARC-Profile"]
    fields = having(fields, "WARC-Target-URI", "<www.archive.org>")
    assert only_finding(fields, version="1.0").code == "form"


def test_the_profile_of_warc_1_0_may_stand_in_brackets() -> None:
    profile = "<http://netpreserve.org/warc/1.0/revisit/identical-payload-digest>"
    fields = having(legal_record("revisit"), "WARC-Profile", profile)
    found = check_fields(fields, version="1.0")
    assert [(it.field, it.clause) for it in found] == [
        ("WARC-Payload-Digest", "6.7.2"),
        ("WARC-Truncated", "6.7.2"),
    ]


def test_warc_1_0_has_dates_to_the_second_only() -> None:
    for value in LEGAL["WARC-Date"]:
        found = check_fields(having(legal_record("metadata"), "WARC-Date", value), version="1.0")
        assert [it.code for it in found] == ([] if value == "2016-01-11T23:24:25Z" else ["form"]), value
    for value in ILLEGAL["WARC-Date"]:
        finding = only_finding(having(legal_record("metadata"), "WARC-Date", value), version="1.0")
        assert finding.code == "form"


@pytest.mark.parametrize("name", ["WARC-Refers-To-Target-URI", "WARC-Refers-To-Date"])
def test_fields_of_warc_1_1_are_extensions_in_1_0(name: str) -> None:
    for kind in TYPES:
        assert check_fields(having(legal_record(kind), name, "any value", "twice"), version="1.0") == []
    assert check_fields(having(legal_record("response"), name, "any value", "twice")) != []


# Profiles.


def test_the_first_value_of_a_field() -> None:
    values = {"warc-type": ["response", "request"], "x": []}
    assert first_value(values, "WARC-Type") == "response"
    assert first_value(values, "X") == ""
    assert first_value(values, "Y") == ""
