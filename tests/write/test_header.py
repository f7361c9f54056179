"""Building headers: given fields win, missing ones are added, forbidden ones refused."""

from __future__ import annotations

import os
import re
import uuid
from typing import Any

import pytest

import seekwarc
from seekwarc.format.rules import check_header
from seekwarc.format.uri import StoredUri
from seekwarc.write.header import HeaderDraft, bracketed, new_id, pairs_of
from tests.support.writing import DATE, URI

GIVEN = [
    ("WARC-Type", "resource"),
    ("WARC-Record-ID", "<urn:x:1>"),
    ("WARC-Date", DATE),
    ("WARC-Target-URI", URI),
]


def draft(*fields: tuple[str, str], without: str = "") -> HeaderDraft:
    return HeaderDraft([*(field for field in GIVEN if field[0] != without), *fields])


# Pairs, brackets, identifiers.


@pytest.mark.parametrize("make", [dict, list, iter, tuple])
def test_fields_are_a_mapping_or_pairs(make: Any) -> None:
    assert pairs_of(make([("a", "1"), ("b", "2")])) == [("a", "1"), ("b", "2")]


def test_pairs_may_repeat() -> None:
    assert pairs_of((("a", "1"), ("a", "2"))) == [("a", "1"), ("a", "2")]


@pytest.mark.parametrize("given", ["urn:x:1", "<urn:x:1>"])
def test_an_identifier_gets_one_pair_of_brackets(given: str) -> None:
    assert bracketed(given) == "<urn:x:1>"


def test_new_identifiers_are_random_uuids() -> None:
    ids = [new_id() for _ in range(100)]
    assert len(set(ids)) == 100
    for one in ids:
        match = re.fullmatch("<urn:uuid:(.*)>", one)
        assert match is not None
        assert uuid.UUID(match[1]).version == 4
        assert uuid.UUID(match[1]).variant == uuid.RFC_4122


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_has_identifiers_of_its_own() -> None:
    new_id()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, new_id().encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        assert pipe.read() not in [new_id() for _ in range(300)]


# What is added.


def test_added_fields_come_before_given_ones() -> None:
    fields = HeaderDraft({"X-Own": "1"})
    fields.add("WARC-Type", "resource")
    fields.add("WARC-Date", DATE)
    assert list(fields) == [("WARC-Type", "resource"), ("WARC-Date", DATE), ("X-Own", "1")]
    assert list(fields) == list(fields)


@pytest.mark.parametrize("name", ["WARC-Date", "warc-date", "WARC-DATE"])
def test_given_fields_win_in_any_case(name: str) -> None:
    fields = HeaderDraft({name: "2020"})
    fields.add("WARC-Date", DATE)
    assert list(fields) == [(name, "2020")]
    assert fields.get("WARC-Date") == fields.get(name.swapcase()) == "2020"


def test_a_field_without_a_value_is_not_added() -> None:
    fields = HeaderDraft()
    fields.add("WARC-Target-URI", None)
    assert list(fields) == []
    assert fields.get("WARC-Target-URI") is None


def test_get_returns_the_first_of_several_values() -> None:
    fields = HeaderDraft([("WARC-Concurrent-To", "<urn:x:1>"), ("warc-concurrent-to", "<urn:x:2>")])
    assert fields.get("WARC-Concurrent-To") == "<urn:x:1>"


def test_without_does_not_change_the_draft() -> None:
    fields = draft(("warc-date", "2020"), ("X", "1"), without="WARC-Date")
    fields.add("Content-Type", "text/plain")
    before = list(fields)
    rest = fields.without("WARC-DATE", "content-type", "Not-There")
    assert [name for name, _ in rest] == ["WARC-Type", "WARC-Record-ID", "WARC-Target-URI", "X"]
    assert list(fields) == before
    rest.add("WARC-Date", DATE)
    assert rest.get("WARC-Date") == DATE


# The header.


def test_a_header_has_the_length_of_its_block() -> None:
    header = draft(("X-Own", "é")).header(17)
    assert isinstance(header, seekwarc.RecordHeader)
    assert header.content_length == 17
    assert list(header.items()) == [("Content-Length", "17"), *GIVEN, ("X-Own", "é")]
    assert header.raw.startswith(b"WARC/1.1\r\n")
    assert header.raw.endswith(b"\r\n\r\n")


def test_a_given_content_length_stays() -> None:
    header = draft(("content-length", "017")).header(17)
    assert header.get_all("Content-Length") == ("017",)


# What is refused.


@pytest.mark.parametrize("kind", ["resource", "x-of-an-extension"])
def test_a_complete_header_is_accepted(kind: str) -> None:
    fields = draft(("WARC-Type", kind), ("X-Own", "any thing"), ("x-own", ""), without="WARC-Type")
    fields.check()
    assert fields.get("Content-Length") is None, "its length is not known yet"


@pytest.mark.parametrize("name", ["WARC-Type", "WARC-Record-ID", "WARC-Date", "WARC-Target-URI"])
def test_a_missing_field_is_refused(name: str) -> None:
    with pytest.raises(seekwarc.RuleError, match=f"{name} is missing.*WARC 1.1, clause 5"):
        draft(without=name).check()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("WARC-Refers-To", "<urn:x:2>", "WARC-Refers-To is forbidden in a 'resource' record"),
        ("warc-filename", "a.warc", "WARC-Filename is forbidden in a 'resource' record"),
        ("WARC-Date", DATE, "WARC-Date occurs 2 times in a 'resource' record"),
        ("WARC-Warcinfo-ID", "urn:x:2", "WARC-Warcinfo-ID is 'urn:x:2' in a 'resource' record, not a URI in"),
        ("WARC-IP-Address", "example.org", "WARC-IP-Address is 'example.org'"),
        ("WARC-Block-Digest", "nothing", "WARC-Block-Digest is 'nothing'"),
        ("Content-Length", "-1", "Content-Length is '-1'"),
        ("Content-Type", "text", "Content-Type is 'text'"),
        ("WARC-Segment-Number", "2", "WARC-Segment-Number is not 1 in a 'resource' record"),
    ],
)
def test_a_forbidden_field_is_named_with_the_type(name: str, value: str, told: str) -> None:
    with pytest.raises(seekwarc.RuleError, match=re.escape(told)):
        draft((name, value)).check()


def test_a_rule_error_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="missing"):
        HeaderDraft().check()


@pytest.mark.parametrize("value", ["a\x1b[2J", "a\x7f", "\x01", "\udcff"])
def test_a_value_with_control_characters_is_refused(value: str) -> None:
    with pytest.raises(seekwarc.RuleError, match=r"value of X-Own .*WARC 1\.1, clause 4"):
        draft(("X-Own", value)).check()


@pytest.mark.parametrize(
    ("uri", "written"),
    [("http://e.org/\udce9 <\x01>", b"http://e.org/\xe9 <\x01>"), ("x\0\r\n", b"x%00%0D%0A"), ("", b"")],
)
def test_the_uri_of_a_stored_record_is_written_as_it_is(uri: str, written: bytes) -> None:
    made = HeaderDraft([("WARC-Type", "metadata"), ("WARC-Record-ID", "<urn:x:1>"), ("WARC-Date", DATE)])
    made.add("WARC-Target-URI", StoredUri(uri))
    made.check()
    assert b"\r\nWARC-Target-URI: %b\r\n" % written in made.header(0).raw


def test_a_value_may_contain_a_tab() -> None:
    draft(("X-Own", "a\tb")).check()


@pytest.mark.parametrize("field", [("X Y", "a"), ("", "a"), ("X", "a\r\nb"), ("X", "a\0")])
def test_an_unrepresentable_field_is_a_value_error(field: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match=r"line break or NUL|cannot name a field") as refused:
        draft(field).check()
    assert not isinstance(refused.value, seekwarc.RuleError)


def test_a_missing_recommended_field_is_accepted() -> None:
    fields = draft()
    fields.check()
    assert fields.get("Content-Type") is None


GOOD = [*GIVEN, ("Content-Type", "text/plain"), ("X-Own", "1"), ("X-Other", "2")]


@pytest.mark.parametrize(
    ("place", "field"),
    [
        (slice(5, 7), ("X-Own", "1\r\nX-Other: 2")),
        (slice(5, 7), ("X-Own: 1\r\nX-Other", "2")),
        (slice(5, 6), ("X-Own: 1", "2")),
        (slice(3, 4), ("WARC-Target-URI: http", "//example.org/")),
        (slice(3, 4), ("WARC-Target-URI", " http://example.org/")),
        (slice(3, 4), ("WARC-Target-URI", "http://example.org/ ")),
        (slice(3, 4), ("WARC-Target-URI", "\thttp://example.org/")),
        (slice(3, 4), ("WARC-Target-URI", "http://example.org/a b")),
        (slice(0, 1), ("WARC-Type", "resource ")),
        (slice(2, 3), ("WARC-Date", "2026-13-05T12:00:00Z")),
    ],
)
def test_fields_that_only_look_like_those_of_a_good_header_are_refused(
    place: slice, field: tuple[str, str]
) -> None:
    HeaderDraft(GOOD).check()
    fields = [*GOOD]
    fields[place] = [field]
    with pytest.raises(ValueError, match=r"break|name|not"):
        HeaderDraft(fields).check()


def test_a_warning_about_a_header_that_was_written_is_given_again() -> None:
    for _ in range(2):
        made = HeaderDraft([*GOOD, ("WARC-Profile", "urn:x:y")])
        made.check()
        assert [finding.severity for finding in check_header(made.header(1))] == ["warning"]
