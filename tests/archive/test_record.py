"""What a record says of itself."""

from __future__ import annotations

import pytest

import seekwarc
from tests.support.foreign import Foreign, text

HEADER = (
    b"WARC/1.0\r\n"
    b"warc-type: RESPONSE\r\n"
    b"WARC-Record-ID: <urn:uuid:1>\r\n"
    b"WARC-Target-URI: <http://example.org/>\r\n"
    b"WARC-Date: 2026-01-02T03:04:05.678Z\r\n"
    b"Content-Type: application/http; msgtype=response\r\n"
    b"X-Twice: one\r\n"
    b"X-Twice: two\r\n"
    b"Content-Length: %d\r\n"
    b"\r\n"
)
HTTP = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n"
FORMS = ("bytes", "gzip", "plain")


def record_of(block: bytes, header: bytes = HEADER, form: str = "bytes", **options) -> seekwarc.Record:
    made = Foreign().record(block, header=header % len(block), **options)
    data = made.bytes() if form == "bytes" else getattr(made, form)().bytes()
    return next(iter(seekwarc.open(data)))


@pytest.mark.parametrize("form", FORMS)
def test_fields_are_read_whatever_their_case(form) -> None:
    record = record_of(HTTP, form=form)
    assert record.type == "response"
    assert record.id == "urn:uuid:1"
    assert record.target_uri == "http://example.org/"
    assert record.date == "2026-01-02T03:04:05.678Z"
    assert record.content_type == "application/http; msgtype=response"
    assert record.content_length == len(HTTP)
    assert record.headers.get("x-twice") == "one"
    assert record.header.raw == HEADER % len(HTTP)
    assert record.skip == 0


def test_fields_that_are_missing_are_none() -> None:
    record = record_of(b"x", b"WARC/1.1\r\nContent-Length: %d\r\n\r\n")
    assert (record.type, record.id, record.target_uri, record.date, record.content_type) == (None,) * 5
    assert record.http is None
    assert record.payload.read() == b"x"
    assert "None" in repr(record)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("payload", [b"", b"x", text(300_000)])
@pytest.mark.parametrize("cuts", [(), 40, 50_000])
def test_the_payload_begins_behind_the_http_head(form, payload, cuts) -> None:
    if isinstance(cuts, int) and len(payload) // cuts > 1000:
        cuts = 5000
    record = record_of(HTTP + payload, form=form, cuts=cuts)
    assert record.http.status == 404
    assert record.payload.size == len(payload)
    assert record.payload.read() == payload
    assert record.block.read() == HTTP + payload
    assert record.whole.read() == HEADER % len(HTTP + payload) + HTTP + payload + b"\r\n\r\n"
    assert record.size == record.whole.size


@pytest.mark.parametrize(
    "block", [b"", b"no head", b"HTTP/1.1 200 OK\r\nno end: of it", b"\r\n\r\nx", b"HTTP/1.1 200 OK\r\n" * 9]
)
def test_without_a_head_the_payload_is_the_block(block) -> None:
    record = record_of(block)
    assert record.payload.read() == block


def test_what_is_not_called_http_is_not_parsed_as_such() -> None:
    record = record_of(HTTP + b"x", HEADER.replace(b"application/http", b"application/octet-stream"))
    assert record.http is None
    assert record.payload.read() == HTTP + b"x"


def test_a_head_longer_than_a_cheap_read_is_found() -> None:
    head = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"v" * 50) for n in range(400)) + b"\r\n"
    for form in FORMS:
        assert record_of(head + b"payload", form=form, cuts=3000).payload.read() == b"payload"


def test_the_length_is_known_once_the_next_record_is_found() -> None:
    made = Foreign().record(b"x" * 5000, cuts=600).record(b"y")
    with seekwarc.open(made.bytes()) as archive:
        records = list(archive)
        assert [record.length for record in records] == [put.length for put in made.records]
        assert records[0].has_length
        fresh = archive.record_at(0)
        assert not fresh.has_length
        assert fresh.length == made.records[0].length
        assert fresh.has_length


def test_a_table_status_says_how_frames_were_found() -> None:
    own = Foreign().record(b"x" * 5000, cuts=600, table=True).record(b"y" * 5000, cuts=600)
    with seekwarc.open(own.bytes()) as archive:
        assert [record.seek_table_status for record in archive] == ["record", "none"]
    with seekwarc.open(own.file_table().bytes()) as archive:
        assert [archive.record_at(put.offset).seek_table_status for put in own.records] == ["file", "file"]
    for form, status in (("plain", "stored"), ("gzip", "stream")):
        with seekwarc.open(getattr(own, form)().bytes()) as archive:
            assert next(iter(archive)).seek_table_status == status
