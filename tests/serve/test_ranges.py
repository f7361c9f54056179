"""Ranges, conditions and dates."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import formatdate
from http import HTTPStatus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seekwarc.serve.ranges import (
    UNSATISFIABLE,
    Answer,
    decide,
    parse_http_date,
    parse_range,
)

SIZE = 1000
ETAG = '"right"'
MODIFIED = 1_700_000_000


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("bytes=0-", (0, 1000)),
        ("bytes=0-0", (0, 1)),
        ("bytes=10-19", (10, 20)),
        ("bytes=999-", (999, 1000)),
        ("bytes=990-5000", (990, 1000)),
        ("bytes=0-99999999999999999999999999", (0, 1000)),
        ("bytes=-1", (999, 1000)),
        ("bytes=-1000", (0, 1000)),
        ("bytes=-5000", (0, 1000)),
        ("bytes=-99999999999999999999999999", (0, 1000)),
        ("bytes=0000000000000000000000000010-19", (10, 20)),
        ("BYTES = 1-2", (1, 3)),
        ("bytes=1-2,", (1, 3)),
        ("bytes= 1-2 ", (1, 3)),
    ],
)
def test_a_range_is_cut_at_the_end(field, wanted) -> None:
    assert parse_range(field, SIZE) == wanted


@pytest.mark.parametrize(
    "field", ["bytes=-0", "bytes=1000-", "bytes=1000-2000", "bytes=99999999999999999999-"]
)
def test_a_range_after_the_end_is_unsatisfiable(field) -> None:
    assert parse_range(field, SIZE) == UNSATISFIABLE
    assert decide({"range": field}, size=SIZE, etag=ETAG).status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE


@pytest.mark.parametrize(
    "field",
    [
        None,
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=--1",
        "bytes=5-2",
        "bytes=99999999999999999999-5",
        "bytes=0-1,3-4",
        "bytes=0-1,0-1",
        "bytes=a-b",
        "bytes=1-b",
        "bytes=0x1-2",
        "bytes=1 - 2",
        "bytes=+1-2",
        "bytes=1.0-2",
        "bytes=\u0661-\u0662",
        "bytes=²-3",
        "items=0-1",
        "bytes 0-1",
        "bytes=1_0-20",
    ],
)
def test_anything_but_a_single_range_of_bytes_is_ignored(field) -> None:
    assert parse_range(field, SIZE) is None


@given(st.text(max_size=40), st.integers(0, 1 << 60))
@example("bytes=" + "9" * 30 + "-", 5)
def test_every_answer_is_within_the_bytes(field, size) -> None:
    for asked in (field, f"bytes={field}"):
        found = parse_range(asked, size)
        assert found is None or found == UNSATISFIABLE or 0 <= found[0] < found[1] <= size


@given(st.integers(0, 1 << 70), st.integers(0, 1 << 70), st.integers(0, 1 << 60))
def test_a_range_equals_a_slice(first, last, size) -> None:
    everything = range(size)
    found = parse_range(f"bytes={first}-{last}", size)
    if last < first:
        assert found is None
    else:
        wanted = everything[min(first, size) : min(last + 1, size)]
        assert found == ((wanted.start, wanted.stop) if wanted else UNSATISFIABLE)
    suffix = everything[-last:] if last else range(0)
    assert parse_range(f"bytes=-{last}", size) == ((suffix.start, suffix.stop) if suffix else UNSATISFIABLE)


def status(**headers: str) -> int:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return int(decide(fields, size=SIZE, etag=ETAG, modified=MODIFIED).status)


SAME = formatdate(MODIFIED, usegmt=True)
EARLIER = formatdate(MODIFIED - 1, usegmt=True)
LATER = formatdate(MODIFIED + 1, usegmt=True)


@pytest.mark.parametrize(
    ("if_range", "wanted"),
    [
        (ETAG, 206),
        ('"stale"', 200),
        (f"W/{ETAG}", 200),
        (f"{ETAG}, {ETAG}", 200),
        (SAME, 206),
        (EARLIER, 200),
        (LATER, 200),
        ("yesterday", 200),
        ("", 200),
    ],
)
def test_a_range_of_another_version_becomes_all_of_this_one(if_range, wanted) -> None:
    assert status(range="bytes=0-9", if_range=if_range) == wanted
    assert status(if_range=if_range) == 200


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ({"if_none_match": ETAG}, 304),
        ({"if_none_match": f"W/{ETAG}"}, 304),
        ({"if_none_match": f'"a", {ETAG}'}, 304),
        ({"if_none_match": "*"}, 304),
        ({"if_none_match": ETAG, "range": "bytes=0-9"}, 304),
        ({"if_none_match": ETAG, "range": "bytes=2000-"}, 304),
        ({"if_none_match": '"a,b"'}, 200),
        ({"if_none_match": ETAG.strip('"')}, 200),
        ({"if_none_match": '"a"', "if_modified_since": LATER}, 200),
        ({"if_modified_since": SAME}, 304),
        ({"if_modified_since": LATER}, 304),
        ({"if_modified_since": EARLIER}, 200),
        ({"if_modified_since": "no date"}, 200),
        ({"if_match": ETAG}, 200),
        ({"if_match": "*"}, 200),
        ({"if_match": f'"a", {ETAG}', "range": "bytes=0-9"}, 206),
        ({"if_match": '"stale"'}, 412),
        ({"if_match": f"W/{ETAG}"}, 412),
        ({"if_match": '"stale"', "range": "bytes=0-9"}, 412),
        ({"if_match": ETAG, "if_unmodified_since": EARLIER}, 200),
        ({"if_unmodified_since": SAME}, 200),
        ({"if_unmodified_since": EARLIER}, 412),
        ({"if_unmodified_since": "no date"}, 200),
        ({"if_match": ETAG, "if_none_match": ETAG}, 304),
    ],
)
def test_conditions(headers, wanted) -> None:
    assert status(**headers) == wanted


def test_without_a_date_conditions_on_dates_are_ignored() -> None:
    for name in ("if-modified-since", "if-unmodified-since"):
        assert decide({name: EARLIER}, size=SIZE, etag=ETAG) == Answer(HTTPStatus.OK, 0, SIZE)
    assert decide({"range": "bytes=0-9", "if-range": SAME}, size=SIZE, etag=ETAG).status == HTTPStatus.OK


def test_an_empty_body_satisfies_no_range() -> None:
    assert parse_range("bytes=0-", 0) == parse_range("bytes=-5", 0) == UNSATISFIABLE
    assert decide({}, size=0, etag=ETAG) == Answer(HTTPStatus.OK, 0, 0)


@pytest.mark.parametrize(
    "text",
    ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"],
)
def test_the_three_forms_of_a_date(text) -> None:
    assert parse_http_date(text) == 784_111_777


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 28:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "784111777",
        "1994-11-06T08:49:37Z",
    ],
)
def test_malformed_dates_are_ignored(text) -> None:
    assert parse_http_date(text) is None


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_dates_round_trip(date) -> None:
    seconds = int((date - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() // 1)
    assert parse_http_date(formatdate(seconds, usegmt=True)) == seconds


@given(st.text(max_size=40))
def test_any_text_can_be_parsed_as_a_date(text) -> None:
    assert parse_http_date(text) is None or isinstance(parse_http_date(text), int)
    assert status(if_range=text, if_match=text, if_none_match=text, range=text) in (200, 206, 304, 412, 416)
