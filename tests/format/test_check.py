"""Headers are compared with the grammar and with the rules; no header makes that fail."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import FormatError
from seekwarc.format.rules import FIELD_RULES, RECORD_TYPES, Finding, Severity, check_fields, check_header
from seekwarc.format.warc import build_record_header, parse_record_header
from tests.support.strategies import DrawnHeader, record_headers

LEGAL = (
    b"WARC/1.1\r\n"
    b"WARC-Type: response\r\n"
    b"WARC-Record-ID: <urn:uuid:92283950-ef2f-4d72-b224-f54c6ec90bb0>\r\n"
    b"WARC-Date: 2016-09-19T17:20:24Z\r\n"
    b"WARC-Target-URI: http://www.archive.org/images/logoc.jpg\r\n"
    b"Content-Type: application/http;msgtype=response\r\n"
    b"X-Any: caf\xc3\xa9\r\n"
    b"Content-Length: 1902\r\n"
    b"\r\n"
)


def findings(raw: bytes) -> list[Finding]:
    return check_header(parse_record_header(raw))


def test_a_legal_header_has_no_findings() -> None:
    assert findings(LEGAL) == []
    assert findings(LEGAL.replace(b"WARC/1.1", b"WARC/1.0")) == []


def test_a_folded_field_is_legal() -> None:
    assert findings(LEGAL.replace(b"X-Any: ", b"X-Any:\r\n folded\r\n\tagain ")) == []
    assert findings(LEGAL.replace(b"X-Any: caf\xc3\xa9", b"X-Any:")) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"WARC/1.1", b"WARC/0.18", "version 0.18"),
        (b"WARC/1.1", b"WARC/2.0", "version 2.0"),
        (b"X-Any: caf\xc3\xa9\r\n", b"X-Any: x\n", "LF instead of CRLF"),
        (b"caf\xc3\xa9", b"caf\xe9", "invalid UTF-8"),
        (b"caf\xc3\xa9", b"caf\xc3", "invalid UTF-8"),
        (b"caf\xc3\xa9", b"a\0b", "control character"),
        (b"caf\xc3\xa9", b"a\x1bb", "control character"),
        (b"caf\xc3\xa9", b"a\x7fb", "control character"),
        (b"X-Any: ", b"no field\r\nX-Any: ", "'no field"),
        (b"WARC-Type: ", b"no field\r\nWARC-Type: ", "'no field"),
        (b"X-Any: ", b"X Any: ", "'X Any: "),
        (b"X-Any: ", b"X-Any : ", "'X-Any : "),
        (b"X-Any: ", b": ", "': "),
        (b"X-Any: ", b"X(Any): ", "'X(Any): "),
        (b"X-Any: ", b"\xc3\xa9: ", ": caf"),
        # CR ends a line only before LF.
        (b"caf\xc3\xa9", b"a\rb", "control character"),
        (b"caf\xc3\xa9\r\n", b"a\r\r\n", "control character"),
    ],
)
def test_grammar_errors_are_found(old: bytes, new: bytes, words: str) -> None:
    found = findings(LEGAL.replace(old, new))
    assert len(found) == 1, [str(it) for it in found]
    assert (found[0].code, found[0].severity, found[0].clause) == ("grammar", Severity.ERROR, "4")
    assert (found[0].field, found[0].type) == ("", "response")
    assert words in found[0].message
    assert "'response'" in str(found[0])
    assert str(found[0]).endswith("(WARC 1.1, clause 4)")


def test_every_line_that_is_no_field_is_found() -> None:
    found = findings(LEGAL.replace(b"X-Any: ", b"one\r\ntwo\r\nX-Any: "))
    assert ["one" in found[0].message, "two" in found[1].message] == [True, True]


def test_problems_of_grammar_come_before_those_of_fields() -> None:
    found = findings(LEGAL.replace(b"X-Any", b"WARC-Filename").replace(b"caf\xc3\xa9", b"\0"))
    assert [(it.code, it.field) for it in found] == [("grammar", ""), ("forbidden", "WARC-Filename")]


def test_fields_are_compared_with_the_version_of_the_record() -> None:
    raw = LEGAL.replace(b"http://www.archive.org/images/logoc.jpg", b"<http://www.archive.org/>")
    assert [it.field for it in findings(raw)] == ["WARC-Target-URI"]
    assert findings(raw.replace(b"WARC/1.1", b"WARC/1.0")) == []


def test_folded_values_are_unfolded_before_the_check() -> None:
    assert findings(LEGAL.replace(b"application/http;", b"application/http;\r\n ")) == []


@pytest.mark.parametrize(
    ("value", "shown"), [("x" * 1_000_000, "x" * 199), ("a\u202eb", "\\u202e"), ("\udcff", "%FF")]
)
def test_a_message_can_be_printed(value: str, shown: str) -> None:
    fields = [
        ("WARC-Type", "metadata"),
        ("WARC-Record-ID", "<a:b>"),
        ("WARC-Date", "2026"),
        ("Content-Length", "0"),
    ]
    found = check_fields([*fields, ("WARC-Refers-To", value)])
    assert shown in str(found[0])
    assert len(str(found[0])) < 500
    str(found[0]).encode("utf-8")


# Whatever stands there.

names = st.one_of(st.sampled_from([rule.name for rule in FIELD_RULES]), st.text(max_size=8))
values = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            *sorted(RECORD_TYPES),
            "0",
            "1",
            "9" * 5000,
            "<urn:a>",
            "urn:a",
            "<",
            "2026",
            "text/html",
            "sha1:A",
            "::1",
        ]
    ),
    st.sampled_from(
        ["http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "<a:b>", "dns:a", "length"]
    ),
)


@given(
    st.lists(st.tuples(names, values), max_size=12),
    st.one_of(st.sampled_from(["1.0", "1.1", "0.18", "2.0"]), st.text(max_size=5)),
)
@example([("WARC-Type", "")], "1.1")
def test_any_fields_can_be_checked(fields: list[tuple[str, str]], version: str) -> None:
    found = check_fields(fields, version=version)
    kinds = [value for name, value in fields if name.lower() == "warc-type"]
    for it in found:
        assert it.type == (kinds[0] if kinds else "")
        assert it.code in ("missing", "forbidden", "repeated", "form", "condition")
        assert it.field in {rule.name for rule in FIELD_RULES}
        assert it.field in str(it)


@given(
    st.lists(st.tuples(names, values), max_size=12).flatmap(
        lambda fields: st.tuples(st.just(fields), st.permutations(fields))
    )
)
def test_the_order_of_fields_does_not_matter(
    both: tuple[list[tuple[str, str]], list[tuple[str, str]]],
) -> None:
    # Of repeated fields the first counts where one has to, so only those whose first is the same are alike.
    def firsts(fields: list[tuple[str, str]]) -> dict[str, str]:
        return {name.lower(): value for name, value in reversed(fields)}

    one, other = both
    if firsts(one) == firsts(other):
        assert sorted(map(str, check_fields(one))) == sorted(map(str, check_fields(other)))


@given(record_headers())
def test_any_header_can_be_checked(drawn: DrawnHeader) -> None:
    found = check_header(parse_record_header(drawn.raw))
    codes = {it.code for it in found}
    assert "missing" in codes, "no drawn header has all that it must have"
    if b"\n" in drawn.raw.replace(b"\r\n", b""):
        assert any("LF instead of CRLF" in it.message for it in found)
    assert all(str(it) for it in found)


@given(st.binary(max_size=200))
def test_any_bytes_that_are_a_header_can_be_checked(middle: bytes) -> None:
    raw = b"WARC/1.1\r\nContent-Length: 0\r\n" + middle + b"\r\n\r\n"
    try:
        header = parse_record_header(raw)
    except FormatError:
        return
    found = check_header(header)
    assert any(it.field == "WARC-Date" for it in found) == ("WARC-Date" not in header)


def test_built_headers_follow_the_grammar() -> None:
    fields = [("WARC-Type", "response"), ("X", "caf\u00e9"), ("Content-Length", "0")]
    assert not [it for it in check_header(build_record_header(fields)) if it.code == "grammar"]


# Files by other tools. What they break is known (README.md beside them).


def found_in(path: Path) -> set[tuple[str, str]]:
    data = path.read_bytes()
    found = set()
    with seekwarc.open(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data) as archive:
        for record in archive:
            for it in check_header(record.header):
                assert str(it)
                found.add((it.code, it.field))
    return found


@pytest.mark.needs("samples")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("warcio-example-space-in-target-uri.warc.gz", {("form", "WARC-Target-URI")}),
        ("pywb-example-url-agnostic-orig.warc.gz", {("form", "WARC-Date")}),
        ("pywb-example-wpull.warc.gz", {("forbidden", "WARC-Warcinfo-ID")}),
        ("warcio-example.warc.gz", {("condition", "WARC-Truncated")}),
        ("iipc-20141129-heritrix-revisit-with-http-headers-and-new-warc-headers.warc.gz", set()),
        ("iipc-hello-world.warc", set()),
        ("warcio-example-resource.warc.gz", set()),
    ],
)
def test_what_is_found_in_files_by_other_tools(
    samples: Path, name: str, expected: set[tuple[str, str]]
) -> None:
    assert found_in(samples / name) == expected
