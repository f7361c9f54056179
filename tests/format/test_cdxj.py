"""Lines of CDXJ."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError
from seekwarc.format.cdxj import CdxjLine, date_digits, line_head, timestamp_of
from seekwarc.format.dates import WarcDate, date_of_digits
from seekwarc.format.surt import surt

LINE = (
    b'org,example)/ 20261121093000 {"url": "http://example.org/", "mime": "text/html", "status": "200", '
    b'"digest": "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "length": "1228", "offset": "784", '
    b'"filename": "a.warc.zst"}\n'
)


def line(**fields: str) -> CdxjLine:
    return CdxjLine("org,example)/", "20261121093000", fields)


def test_a_line_is_read() -> None:
    found = CdxjLine.parse(LINE)
    assert (found.key, found.timestamp) == ("org,example)/", "20261121093000")
    assert str(found.date) == "2026-11-21T09:30:00Z"
    assert (found.uri, found.mime, found.status) == ("http://example.org/", "text/html", 200)
    assert (found.filename, found.offset, found.length) == ("a.warc.zst", 784, 1228)
    assert str(found.digest) == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    assert not found.is_revisit


def test_a_line_is_written_as_it_was_read() -> None:
    assert CdxjLine.parse(LINE).build() == LINE
    assert CdxjLine.parse(LINE.rstrip() + b"\r\n").build() == LINE


def test_a_line_is_made_of_a_capture() -> None:
    uri = "http://www.Example.org/é"
    timestamp = timestamp_of(WarcDate.parse("2026-11-21T09:30:00.999Z"))
    made = CdxjLine(surt(uri), timestamp, {"url": uri, "offset": "3"})
    assert made.build() == (
        b'org,example)/%c3%a9 20261121093000 {"url": "http://www.Example.org/\\u00e9", "offset": "3"}\n'
    )


def test_of_a_key_and_second_captures_are_sorted_first() -> None:
    url = "http://example.org/"
    captures = [line(url=url), line(**{"url": url, "mime": "text/html", "warc-type": "response"})]
    others = [line(**{"url": url, "mime": "a/a", "warc-type": kind}) for kind in ("metadata", "request", "")]
    others.append(line(**{"url": url, "mime": "application/warc-fields", "warc-type": "resource"}))
    assert all(it.is_capture for it in captures)
    assert not any(it.is_capture for it in others)
    assert max(it.build() for it in captures) < min(it.build() for it in others)
    assert all(CdxjLine.parse(it.build()) == it for it in captures + others)


FIELDS = st.dictionaries(
    st.text(max_size=8).filter(lambda name: name != "url"), st.text(max_size=20), max_size=4
)
MOMENTS = st.datetimes().map(lambda it: WarcDate.parse(it.replace(microsecond=0).isoformat() + "Z"))


@given(st.text(max_size=40), MOMENTS, FIELDS)
def test_what_is_written_is_read_back(uri: str, date: WarcDate, fields: dict[str, str]) -> None:
    made = CdxjLine(surt(uri), timestamp_of(date), {"url": uri, **fields})
    stored = made.build()
    assert stored.count(b"\n") == 1
    assert pickle.loads(pickle.dumps(made)) == made
    assert CdxjLine.parse(stored) == made
    assert made.date == date
    assert line_head(stored) == f"{made.key} {made.timestamp}".encode()


def test_numbers_are_accepted_and_null_is_no_value() -> None:
    found = CdxjLine.parse(b'a 2026 {"offset": 784, "length": null, "status": 200, "robot": {"x": [1]}}')
    assert (found.offset, found.length, found.status) == (784, None, 200)
    assert found.fields["robot"] == '{"x": [1]}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"org,example)/",
        b"org,example)/ 20261121093000",
        b" 20261121093000 {}",
        b"org,example)/ 2026112109300x {}",
        b"org,example)/ 20261121093000 http://example.org/ text/html 200 AAAA - - 5 6 a.warc.gz",
        b"org,example)/ 20261121093000 []",
        b'org,example)/ 20261121093000 {"url": }',
        b'org,example)/ 20261121093000 {"a": 1} x',
        b'!meta 0 {"format": "cdxj-gzip-1.0"}',
        b"\x1f\x8b\x08\x00\xff",
        b"a 2026 {" + b'"a": [' * 100_000,
        b'a 2026 {"a": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda data: repr(data[:40]),
)
def test_what_is_not_a_line_is_reported(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"CDXJ|JSON"):
        CdxjLine.parse(data)


@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda data: b"a 20260101000000 " + data))
def test_any_bytes_are_a_line_or_an_error(data: bytes) -> None:
    try:
        found = CdxjLine.parse(data)
    except FormatError:
        return
    assert all(isinstance(value, str) for value in found.fields.values())


@pytest.mark.parametrize(
    ("key", "timestamp"), [("a b", "2026"), ("a\n", "2026"), ("", "2026"), ("a", "x"), ("é", "2026")]
)
def test_a_malformed_line_is_not_written(key: str, timestamp: str) -> None:
    with pytest.raises(FormatError, match="cannot be in a line"):
        CdxjLine(key, timestamp, {}).build()


def test_a_line_without_a_place_fails_when_it_is_read() -> None:
    with pytest.raises(FormatError, match="names no file"):
        _ = line().filename
    with pytest.raises(FormatError, match="offset"):
        _ = line().offset
    with pytest.raises(FormatError, match="'-5'"):
        _ = line(offset="-5").offset
    assert line(length="0").length is None
    assert line(length="-").length is None
    assert line(status="-").status is None


def test_digests_come_with_a_label_or_without() -> None:
    name = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    bare, labelled = line(digest=name).digest, line(digest=f"sha1:{name}").digest
    assert bare is not None
    assert labelled is not None
    assert bare.key == labelled.key
    assert line(digest="-").digest is None
    assert line(digest="a b").digest is None


def test_dates_typed_by_people() -> None:
    assert date_digits("2026") == "2026"
    assert date_digits("20261121093000") == "20261121093000"
    assert date_digits("2026-11") == "202611"
    assert date_digits("2026-11-21T09:30Z") == "202611210930"
    assert date_digits("2026-11-21T09:30:00.5Z") == "20261121093000"
    assert date_digits("2026-11-21T00:30:00+02:00") == "20261120223000"
    assert str(date_of_digits("202611")) == "2026-11-01T00:00:00Z"
    assert str(date_of_digits("20261121093000123")) == "2026-11-21T09:30:00Z"


@pytest.mark.parametrize(
    "text", ["", "20261", "202", "0000", "202613", "20260230", "now", "٢٠٢٦", "2026112109300000", "-2026"]
)
def test_what_is_not_a_date_is_reported(text: str) -> None:
    with pytest.raises(FormatError, match="not a date"):
        date_digits(text)


def test_a_date_before_the_year_1000_keeps_its_digits() -> None:
    assert timestamp_of(WarcDate.parse("0987-06-05T04:03:02Z")) == "09870605040302"
    for text in ("0001-01-01T00:00:00+01:00", "9999-12-31T23:59:60Z", "9999-12-31T23:59:60.5Z"):
        with pytest.raises(FormatError, match="years 1 to 9999"):
            timestamp_of(WarcDate.parse(text))


def test_json_is_written_as_cdxj_indexer_writes_it() -> None:
    assert LINE.endswith((json.dumps(dict(CdxjLine.parse(LINE).fields)) + "\n").encode())
