"""Records have warcio's attributes, each found when it is asked for."""

from __future__ import annotations

import gzip
import io
import logging
import re
import zipfile
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as TheirIterator
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders, StatusAndHeadersParserException
from warcio.warcwriter import BufferWARCWriter

import seekwarc
from seekwarc.compat.warcio import ArchiveIterator
from seekwarc.format.warc import RECORD_END, build_record_header
from tests.support.chunks import chunked, random_sizes
from tests.support.sources import RecordingSource
from tests.support.writing import MIB, noise, text

BODY = text(300_000)
URI = "http://example.org/"


def archive(body: bytes, **headers: str) -> bytes:
    file = io.BytesIO()
    with seekwarc.open(file, "w", frame_size=64 << 10) as out:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        out.write_response(URI, body, status=200, http_headers=named)
    return file.getvalue()


def response(block: bytes, uri: str = URI) -> bytes:
    fields = {
        "WARC-Type": "response",
        "WARC-Target-URI": uri,
        "Content-Type": "application/http;msgtype=response",
        "Content-Length": str(len(block)),
    }
    return build_record_header(fields.items()).raw + block + RECORD_END


def only(data: object, **options: object) -> ArcWarcRecord:
    (record,) = ArchiveIterator(data, **options)
    return record


def test_a_record_is_one_of_warcio() -> None:
    record = only(archive(BODY, Content_Type="text/plain"))
    assert isinstance(record, ArcWarcRecord)
    assert isinstance(record.rec_headers, StatusAndHeaders)
    assert isinstance(record.http_headers, StatusAndHeaders)
    assert (record.format, record.rec_type, record.payload_length) == ("warc", "response", len(BODY))
    assert record.length == int(record.rec_headers["Content-Length"])
    assert record.http_headers.get_statuscode() == "200"
    assert record.rec_headers.get_header("warc-target-uri") == URI


@given(st.binary(max_size=6), st.binary(max_size=8).map(b"text/".__add__))
@example(b"r\xe9ponse", b"text/\xe9; x=\x80")
@example("réponse".encode(), b"text/\xff")
def test_fields_in_any_bytes_are_those_of_warcio(kind: bytes, media_type: bytes) -> None:
    kind, media_type = (re.sub(rb"[\x00-\x20\x7f]", b"", it) for it in (kind, media_type))
    data = b"WARC/1.0\r\nWARC-Type: %s\r\nContent-Type: %s\r\n" % (kind, media_type)
    data += b"Content-Length: 2\r\n\r\nhi\r\n\r\n"
    ours = only(data)
    (theirs,) = TheirIterator(io.BytesIO(data))
    assert (ours.rec_type, ours.content_type) == (theirs.rec_type, theirs.content_type)


def test_attributes_may_be_set() -> None:
    record = only(archive(BODY, Content_Encoding="gzip"))
    record.http_headers = StatusAndHeaders("404 Not Found", [], "HTTP/1.1")
    record.raw_stream = io.BytesIO(b"other")
    record.length, record.rec_type = 5, "resource"
    assert record.content_stream().read() == b"other"
    assert record.http_headers.get_statuscode() == "404"


@pytest.mark.parametrize("size", [1000, 300_000, 1_000_000])
def test_the_stored_payload_is_seekable(size: int) -> None:
    body = text(size)
    stream = only(archive(body)).raw_stream
    assert (stream.tell(), stream.read(10)) == (0, body[:10])
    assert stream.seek(-10, io.SEEK_END) == size - 10
    assert stream.read() == body[-10:]
    assert stream.seek(0) == 0
    assert stream.readline() == body.splitlines(keepends=True)[0]


def compressed_zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("a.txt", BODY)
    return file.getvalue() + b"PK"


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "x-unknown": bytes,
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_content_is_decoded_and_seekable(coding: str, is_chunked: bool) -> None:
    body = CODINGS[coding](BODY)
    headers = {"Content_Encoding": coding} if coding else {}
    data = archive(body, **headers)
    if is_chunked:
        data = archive(chunked(body, random_sizes(1000, 20_000)), Transfer_Encoding="chunked", **headers)
    record = only(data)
    stream = record.content_stream()
    assert stream.read() == BODY
    assert stream.seek(200_000) == 200_000
    assert stream.read(100) == BODY[200_000:200_100]
    stream.seek(0)
    assert stream.read(5) == BODY[:5]


def test_programs_that_seek_take_the_content() -> None:
    payload = compressed_zip()
    record = only(archive(chunked(payload, random_sizes(1000, 20_000)), Transfer_Encoding="chunked"))
    with zipfile.ZipFile(record.content_stream()) as found:
        assert found.read("a.txt") == BODY


def test_a_body_that_names_a_coding_it_has_not_is_as_it_is() -> None:
    assert only(archive(BODY, Content_Encoding="gzip")).content_stream().read() == BODY


def test_a_coding_that_breaks_off_ends_there() -> None:
    data = gzip.compress(noise(100_000), 0)[:-50_000]
    content = only(archive(data, Content_Encoding="gzip")).content_stream().read()
    assert noise(100_000).startswith(content)
    assert len(content) > 40_000


def test_damage_of_a_coding_is_raised() -> None:
    data = bytearray(gzip.compress(BODY))
    data[1000] ^= 255
    with pytest.raises(seekwarc.FormatError, match="gzip coding of the payload is damaged"):
        only(archive(bytes(data), Content_Encoding="gzip")).content_stream().read()


def test_only_the_range_that_is_read_is_fetched() -> None:
    source = RecordingSource(archive(noise(8 * MIB)))
    record = only(source)
    source.forget()
    record.raw_stream.seek(4 * MIB)
    assert record.raw_stream.read(100) == noise(8 * MIB)[4 * MIB :][:100]
    assert source.bytes_asked < 300_000


def test_heads_are_read_beyond_the_first_frame() -> None:
    value = "x" * 200_000
    record = only(archive(b"body", X_Long=value))
    assert record.http_headers["X-Long"] == value
    assert record.raw_stream.read() == b"body"


def test_a_block_without_a_head_ends_it_somewhere() -> None:
    page = b"<p>line\n" * 500_000
    record = only(response(page))
    assert record.http_headers.protocol == "<p>line"
    assert len(record.raw_stream.read()) == len(page) - (1 << 20)


def test_a_response_must_begin_as_one_if_that_is_asked() -> None:
    data = response(b"<p>Hi")
    assert only(data).http_headers.protocol == "<p>Hi"
    with pytest.raises(StatusAndHeadersParserException):
        only(data, verify_http=True)


def test_blanks_of_a_uri_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        record = only(response(b"Hi", "http://example.org/a b"))
        assert record.http_headers is not None
        assert record.rec_headers["WARC-Target-URI"] == "http://example.org/a%20b"
    assert len(caplog.records) == 1


def test_warcio_writes_the_records() -> None:
    writer = BufferWARCWriter(gzip=True)
    writer.write_record(only(archive(BODY, Content_Type="text/plain")))
    with writer.out:
        written = next(TheirIterator(io.BytesIO(writer.get_contents())))
    assert written.content_stream().read() == BODY
