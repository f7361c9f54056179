"""What a record says of itself, of the HTTP message in its block, and of its payload."""

from __future__ import annotations

import itertools
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import LimitError
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.http import MAX_HTTP_HEAD_SIZE
from seekwarc.format.values import MediaType
from seekwarc.read.record import MAX_FIELDS_BLOCK
from tests.support.chunks import chunked, random_sizes
from tests.support.foreign import Foreign, text
from tests.support.headers import ATTRIBUTES
from tests.support.rounds import rounds
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import noise

HEADER = (
    b"WARC/1.0\r\n"
    b"warc-type: response\r\n"
    b"WARC-Record-ID: <urn:uuid:1>\r\n"
    b"WARC-Target-URI: <http://example.org/>\r\n"
    b"WARC-Date: 2026-01-02T03:04:05.678Z\r\n"
    b"Content-Type: application/http; msgtype=response\r\n"
    b"X-Twice: one\r\n"
    b"X-Twice: two\r\n"
    b"Content-Length: %d\r\n"
    b"\r\n"
)
REQUEST = HEADER.replace(b"response", b"request")
HTTP = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n"
FORMS = ("bytes", "gzip", "plain")
MINIMAL = b"WARC/1.1\r\n%sContent-Length: %%d\r\n\r\n"


def record_of(block: bytes, header: bytes = HEADER, form: str = "bytes", **options) -> seekwarc.Record:
    made = Foreign().record(block, header=header % len(block), **options)
    data = made.bytes() if form == "bytes" else getattr(made, form)().bytes()
    return next(iter(seekwarc.open(data)))


def with_fields(*lines: bytes, block: bytes = b"") -> seekwarc.Record:
    return record_of(block, MINIMAL % b"".join(line.replace(b"%", b"%%") + b"\r\n" for line in lines))


# Fields.


@pytest.mark.parametrize("form", FORMS)
def test_fields_are_read_whatever_their_case(form) -> None:
    record = record_of(HTTP, form=form)
    assert record.type == "response"
    assert record.id == "urn:uuid:1"
    assert record.target_uri == "http://example.org/"
    assert record.date == WarcDate.parse("2026-01-02T03:04:05.678Z")
    assert str(record.date) == "2026-01-02T03:04:05.678Z"
    assert record.content_type == "application/http; msgtype=response"
    assert record.media_type == MediaType("application/http", (("msgtype", "response"),))
    assert record.content_length == len(HTTP)
    assert record.headers.get("x-twice") == "one"
    assert record.header.raw == HEADER % len(HTTP)
    assert record.skip == 0
    assert record.source == "<bytes>"
    assert repr(record) == "<Record response at 0: http://example.org/>"


def test_missing_fields_give_none() -> None:
    record = record_of(b"x", MINIMAL % b"")
    for name in {*ATTRIBUTES.values(), "media_type", "http", "warc_fields"} - {
        "content_length",
        "concurrent_to",
    }:
        assert getattr(record, name) is None, name
    assert record.concurrent_to == ()
    assert record.check_digests() == ()
    assert record.payload.read() == b"x"
    assert "None" in repr(record)


def test_the_fields_of_a_revisit() -> None:
    record = with_fields(
        b"WARC-Type: revisit",
        b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        b"WARC-Refers-To: <urn:uuid:2>",
        b"WARC-Refers-To-Target-URI: http://example.org/%C3%A9",
        b"WARC-Refers-To-Date: 2025-12",
        b"WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
        b"WARC-Block-Digest: md5:d41d8cd98f00b204e9800998ecf8427e",
        b"WARC-IP-Address: 192.0.2.1",
        b"WARC-Truncated: length",
        b"WARC-Concurrent-To: <urn:uuid:3>",
        b"WARC-Concurrent-To: <urn:uuid:4>",
        b"WARC-Warcinfo-ID: <urn:uuid:5>",
        b"WARC-Identified-Payload-Type: image/png",
    )
    assert record.profile == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert record.refers_to_id == "urn:uuid:2"
    assert record.refers_to_target_uri == "http://example.org/%C3%A9"
    assert record.refers_to_date == WarcDate.parse("2025-12")
    assert record.payload_digest == Digest("sha1", "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ")
    assert record.block_digest == Digest("md5", "d41d8cd98f00b204e9800998ecf8427e")
    assert record.ip_address == IPv4Address("192.0.2.1")
    assert record.truncated == "length"
    assert record.concurrent_to == ("urn:uuid:3", "urn:uuid:4")
    assert record.warcinfo_id == "urn:uuid:5"
    assert record.identified_payload_type == MediaType("image/png")


def test_the_fields_of_a_continuation() -> None:
    record = with_fields(
        b"WARC-Type: continuation",
        b"WARC-Segment-Number: 3",
        b"WARC-Segment-Origin-ID: <urn:uuid:1>",
        b"WARC-Segment-Total-Length: 123456789012",
        b"WARC-IP-Address: 2001:db8::1",
    )
    assert record.segment_number == 3
    assert record.segment_origin_id == "urn:uuid:1"
    assert record.segment_total_length == 123_456_789_012
    assert record.ip_address == IPv6Address("2001:db8::1")


def test_a_malformed_field_gives_none_and_a_finding() -> None:
    made = Foreign().record(b"in front")
    made.record(b"", header=b"WARC/1.1\r\nWARC-Date: yesterday\r\nWARC-Type: x\r\nContent-Length: 0\r\n\r\n")
    with seekwarc.open(made.bytes()) as archive:
        record = list(archive)[1]
        assert record.date is None
        assert any("WARC-Date is 'yesterday'" in finding.message for finding in record.findings)
        assert record.header.get("WARC-Date") == "yesterday"
        assert record.type == "x"
        assert record.block.read() == b""


# Blocks of fields.


FIELDS = (
    b"software: seekwarc\r\nhostname:  here \r\nhttp-header-user-agent:\r\n Mozilla/5.0\r\nfrom: \xc3\xa9\r\n"
)
PARSED = (
    ("software", "seekwarc"),
    ("hostname", "here"),
    ("http-header-user-agent", "Mozilla/5.0"),
    ("from", "\u00e9"),
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [b"application/warc-fields", b"Application/WARC-Fields; charset=utf-8"])
@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_a_block_of_fields_is_taken_apart(form, kind, end) -> None:
    header = MINIMAL % (b"WARC-Type: warcinfo\r\nContent-Type: " + kind + b"\r\n")
    record = record_of(FIELDS + end, header, form=form)
    assert record.warc_fields == PARSED
    assert record.block.read() == FIELDS + end
    assert record.payload.read() == FIELDS + end


def test_bytes_and_lines_that_are_no_fields() -> None:
    block = b"\xff: \xfe\nno colon\n: no name\n\n\0: \0\nlast: one"
    record = with_fields(b"Content-Type: application/warc-fields", block=block)
    assert record.warc_fields == (("\udcff", "\udcfe"), ("", "no name"), ("\0", "\0"), ("last", "one"))
    assert with_fields(b"Content-Type: application/warc-fields").warc_fields == ()


@given(st.binary(max_size=200))
def test_any_block_can_be_taken_apart(block: bytes) -> None:
    record = with_fields(b"Content-Type: application/warc-fields", block=block)
    fields = record.warc_fields
    assert fields is not None
    assert len(fields) <= block.count(b":")
    assert record.http is None


@pytest.mark.parametrize(
    "kind", [b"text/plain", b"application/warc-fieldset", b"application/warc", b"application/http"]
)
def test_other_blocks_have_no_fields(kind) -> None:
    assert with_fields(b"Content-Type: " + kind, block=FIELDS).warc_fields is None


def test_a_block_too_large_for_fields_is_refused_unread() -> None:
    made = Foreign()
    block = bytes(MAX_FIELDS_BLOCK + 1)
    header = b"WARC/1.1\r\nContent-Type: application/warc-fields\r\nContent-Length: %d\r\n\r\n" % len(block)
    made.record(block, header=header, cuts=1 << 20)
    with seekwarc.open(made.bytes()) as archive:
        record = next(iter(archive))
        with pytest.raises(LimitError, match=r"^<bytes>, offset 0: a block of \d+ bytes"):
            record.warc_fields  # noqa: B018
        assert archive.stats.bytes_decoded < 4 << 20


# HTTP heads.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("payload", [b"", b"x", text(300_000)])
@pytest.mark.parametrize("cuts", [(), 40, 50_000])
def test_the_payload_begins_after_the_http_head(form, payload, cuts) -> None:
    if isinstance(cuts, int) and len(payload) // cuts > 1000:
        cuts = 5000
    record = record_of(HTTP + payload, form=form, cuts=cuts)
    assert record.http.status == 404
    assert record.payload.size == len(payload)
    assert record.payload.read() == payload
    assert record.payload.problem is None
    assert record.block.read() == HTTP + payload
    assert record.whole.read() == HEADER % len(HTTP + payload) + HTTP + payload + b"\r\n\r\n"
    assert record.size == record.whole.size


RESPONSES = [
    (b"HTTP/1.1 200 OK\r\n\r\n", 200, ()),
    (b"HTTP/1.0 200 OK\nA: b\n\n", 200, (("A", "b"),)),
    (b"HTTP/2 200\r\nA: b\r\n\r\n", 200, (("A", "b"),)),
    (b"HTTP/1.1 204\r\n\r\n", 204, ()),
    (b"ICY 200 OK\r\nicy-name: x\r\n\r\n", 200, (("icy-name", "x"),)),
    (b"\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n", 200, (("A", "b"),)),
    (b"HTTP/1.1 200 OK\r\nno colon\r\nA : \xe9\r\n\tfolded\r\n\r\n", 200, (("A", "\udce9 folded"),)),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n", 200, (("A", "b"),)),
    (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 \r\n\r\nHTTP/1.1 500 No\r\nA: b\r\n\r\n",
        500,
        (("A", "b"),),
    ),
    (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", 101, (("Upgrade", "x"),)),
    (b"HTTP/1.x 304 Not Modified\r\nA: b\r\n\r\n", 304, (("A", "b"),)),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("head", "status", "headers"), RESPONSES, ids=lambda it: repr(it)[:30])
def test_responses_of_all_kinds(form, head, status, headers) -> None:
    for body in (b"", b"body", b"\r\n\r\nbody"):
        if status == 101 or body != b"\r\n\r\nbody":
            record = record_of(head + body, form=form)
            assert record.http.status == status
            assert record.http.headers == headers
            assert record.payload.read() == body
            assert record.http is record.http


@pytest.mark.parametrize(("head", "status", "headers"), RESPONSES, ids=lambda it: repr(it)[:30])
def test_a_head_is_the_same_wherever_frames_begin(head, status, headers) -> None:
    start = len(HEADER % (len(head) + 100))
    for cut in range(start, start + len(head) + 1):
        record = record_of(head + b"x" * 100, cuts=(cut,))
        assert record.http is not None, cut - start
        assert (record.http.status, record.http.headers) == (status, headers), cut - start
        assert record.payload.read() == b"x" * 100


@pytest.mark.parametrize(
    ("head", "method", "target"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/"),
        (b"GET /a b HTTP/1.0\nHost: a\n\n", "GET", "/a b"),
        (b"POST http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "POST", "http://a/"),
        (b"GET /\r\nHost: a\r\n\r\n", "GET", "/"),
        (b"\r\nCONNECT a:443 HTTP/2\r\nHost: a\r\n\r\n", "CONNECT", "a:443"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_requests_of_all_kinds(form, head, method, target) -> None:
    for body in (b"", b"a=b", text(70_000)):
        record = record_of(head + body, REQUEST, form=form)
        assert record.type == "request"
        assert (record.http.method, record.http.target, record.http.status) == (method, target, None)
        assert record.http.get("host") == "a"
        assert record.payload.read() == body


@pytest.mark.parametrize(
    "head", [b"HTTP/1.1 200 OK\r\nA: b", b"HTTP/1.1 200 OK\r\nA: b\r\n", b"HTTP/1.1 200 OK"]
)
@pytest.mark.parametrize("cuts", [(), 7])
@pytest.mark.parametrize("form", FORMS)
def test_a_head_that_ends_with_the_block_is_all_of_it(form, cuts, head) -> None:
    # Behind the block stand two line breaks, which are none of the head's.
    record = record_of(head, form=form, cuts=cuts)
    assert record.http.raw == head
    assert record.payload.size == 0
    assert record.payload.read() == b""


NO_RESPONSES = [
    b"",
    b"\r\n\r\nx",
    b"<html>\n\n</html>",
    b"\x16\x03\x01\n\n",
    b"HTTP/1.1 OK\r\n\r\nx",
    # Servers of HTTP/0.9 send no head. Any text may look like a request.
    b"no head",
    b"Hello world, this\n\nis a text without a head\n",
    b"%PDF-1.4 is\n\nno head either",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\nechoed",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block", NO_RESPONSES)
def test_without_a_head_the_payload_is_the_block(form, block) -> None:
    record = record_of(block, form=form)
    assert record.http is None
    assert record.payload.read() == block
    assert record.payload.codings == ()


GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    ("kind", "head", "looked_into"),
    [
        (b"response", HTTP, True),
        (b"request", GET, True),
        (b"response", GET, False),
        (b"request", HTTP, False),
        # Of these the payload is the block, or there is none (clauses 4, 6.4, 6.8, 6.9).
        *((kind, HTTP, False) for kind in b"warcinfo resource metadata conversion continuation".split()),
        # What records of other types hold is not defined.
        (b"x-other", HTTP, True),
        (b"x-other", GET, True),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_heads_are_looked_for_where_the_standard_puts_them(form, kind, head, looked_into) -> None:
    record = record_of(head + b"body", HEADER.replace(b"type: response", b"type: " + kind), form=form)
    assert record.type == kind.decode()
    assert (record.http is not None) is looked_into
    assert record.payload.read() == (b"body" if looked_into else head + b"body")


def test_what_is_not_called_http_is_not_parsed_as_such() -> None:
    record = record_of(HTTP + b"x", HEADER.replace(b"application/http", b"application/octet-stream"))
    assert record.http is None
    assert record.payload.read() == HTTP + b"x"


@pytest.mark.parametrize(
    "kind", [b"message/http", b"application/http", b"APPLICATION/HTTP ;msgtype=response"]
)
def test_what_is_called_http_is_parsed_as_such(kind) -> None:
    record = record_of(HTTP + b"x", HEADER.replace(b"application/http; msgtype=response", kind))
    assert record.http.status == 404
    assert record.payload.read() == b"x"


@pytest.mark.parametrize("size", [4096, 5000, 20_000, MAX_HTTP_HEAD_SIZE - 1, MAX_HTTP_HEAD_SIZE])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cuts", [(), 3000])
def test_a_head_longer_than_a_cheap_read_is_found(form, cuts, size) -> None:
    head = b"HTTP/1.1 200 OK\r\nX: "
    head += b"v" * (size - len(head) - 4) + b"\r\n\r\n"
    record = record_of(head + b"payload", form=form, cuts=cuts)
    assert record.http.size == size
    assert record.payload.read() == b"payload"
    record = record_of(head[:-4], form=form, cuts=cuts)
    assert record.http.size == size - 4
    assert record.payload.read() == b""


@pytest.mark.parametrize("form", FORMS)
def test_a_short_head_takes_no_more_than_a_cheap_read(form) -> None:
    block = HTTP + noise(200_000)
    made = Foreign().record(block, header=HEADER % len(block), cuts=10_000, table=True)
    source = RecordingSource((made if form == "bytes" else getattr(made, form)()).bytes())
    with seekwarc.open(source) as archive:
        record = archive.record_at(0)
        assert record.block.size == len(block)
        _ = record.body.table_status
        source.forget()
        assert record.http.status == 404
        assert source.bytes_asked <= 40_000


@pytest.mark.parametrize("form", FORMS)
def test_a_head_without_an_end_is_no_head(form) -> None:
    block = b"HTTP/1.1 200 OK\r\nX: " + b"v" * MAX_HTTP_HEAD_SIZE + b"\r\n\r\nbody"
    record = record_of(block, form=form)
    assert record.http is None
    assert record.payload.read() == block


@pytest.mark.parametrize(
    ("profile", "known"),
    [
        (b"http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", True),
        (b"<http://netpreserve.org/warc/1.0/revisit/identical-payload-digest>", True),
        (b"http://netpreserve.org/warc/1.0/revisit/server-not-modified", True),
        (b"http://netpreserve.org/warc/1.1/server-not-modified", True),
        (b"http://example.org/my-profile", False),
        (b"", False),
        (None, False),
    ],
)
def test_a_revisit_is_looked_into_where_its_profile_is_known(profile, known) -> None:
    fields = [b"WARC-Type: revisit", b"Content-Type: application/http; msgtype=response"]
    if profile is not None:
        fields.append(b"WARC-Profile: " + profile)
    record = with_fields(*fields, block=HTTP)
    assert (record.http is not None) is known
    assert record.payload.read() == (b"" if known else HTTP)
    # In other records a profile means nothing.
    assert with_fields(b"WARC-Type: response", *fields[1:], block=HTTP).http is not None


# Payloads.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stated", [b"0", b"5", b"9", b"10", b"11", b"100000", b"x", b"-1", b""])
def test_the_length_that_the_head_states_does_not_matter(form, stated) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: " + stated + b"\r\n\r\n"
    record = record_of(head + b"0123456789", form=form, cuts=30)
    assert record.payload.size == 10
    assert record.payload.read() == b"0123456789"
    assert record.http.content_length == (int(stated) if stated.isdigit() else None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cuts", [(), 50, 10_000])
def test_the_payload_of_a_chunked_message_is_what_was_chunked(form, cuts) -> None:
    data = text(100_000 if cuts != 50 else 5000)
    body = chunked(data, random_sizes(1, 9000))
    for head in (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\ntransfer-encoding: Chunked\nContent-Length: 3\n\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ):
        record = record_of(head + body, form=form, cuts=cuts)
        assert record.http.chunked
        assert record.payload.pread(len(data) // 2, 100) == data[len(data) // 2 :][:100]
        assert record.payload.size == len(data)
        assert record.payload.read() == data
        assert record.payload.problem is None
        assert record.block.read() == head + body


def test_the_payload_of_a_chunked_request_is_what_was_chunked() -> None:
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert record_of(head + b"1\r\na\r\n0\r\n\r\n", REQUEST).payload.read() == b"a"


@pytest.mark.parametrize(
    ("body", "payload", "problem"),
    [
        (b"", b"", None),
        (b"1\r\na\r\n0\r\n\r\n", b"a", None),
        (b"1\r\na\r\n", b"a", "last chunk is missing"),
        (b"1\r\na\r\n5\r\nb", b"ab", "last chunk is missing"),
        (b"1\r\na\r\n1\r\nbc\r\n0\r\n\r\n", b"ab", "chunks break off"),
        (b"1\r\na\r\n1\r\nb\r\n<html>", b"ab", "chunks break off"),
        (b"1\r\na\r\n0\r\nExpires: never\r\n\r\n", b"a", None),
        (b"1\r\na\r\n0\r\n\r\n<html>", b"a", "8 bytes follow the last chunk"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_what_is_wrong_with_a_chunked_body_is_said(form, body, payload, problem) -> None:
    record = record_of(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body, form=form)
    assert record.payload.read() == payload
    assert record.payload.size == len(payload)
    found = record.payload.problem
    assert found is None if problem is None else problem in found
    assert record.payload.deviation is None


@pytest.mark.parametrize("form", FORMS)
def test_a_body_that_is_not_chunked_is_a_deviation(form) -> None:
    record = record_of(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n<html>", form=form)
    assert record.payload.read() == b"<html>"
    assert record.payload.size == len(b"<html>")
    assert "not chunked" in record.payload.deviation
    assert record.payload.problem is None, "no byte is missing"


def test_a_payload_keeps_its_content_codings() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: br, gzip\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
    record = record_of(head + b"1\r\na\r\n0\r\n\r\n")
    assert record.payload.codings == ("br", "gzip", "gzip")
    assert record.block.codings == ()
    assert record.payload.read() == b"a"
    assert record_of(HTTP).payload.codings == ()


def test_digests_are_checked() -> None:
    body = b"1\r\na\r\n0\r\n\r\n"
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    record = with_fields(
        b"WARC-Type: response",
        b"Content-Type: application/http",
        b"WARC-Block-Digest: md5:00000000000000000000000000000000",
        b"WARC-Payload-Digest: sha1:86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
        block=block,
    )
    assert [(it.field, str(it.verdict)) for it in record.check_digests()] == [
        ("WARC-Block-Digest", "invalid"),
        ("WARC-Payload-Digest", "valid"),
    ]


heads = st.lists(
    st.sampled_from(
        [
            b"HTTP/1.1 200 OK",
            b"HTTP/1.1 100 Continue",
            b"GET / HTTP/1.1",
            b"Transfer-Encoding: chunked",
            b"Content-Length: 7",
            b"A: b",
            b"\r\n",
            b"\n",
            b"1\r\na\r\n",
            b"0\r\n\r\n",
            b":",
            b" ",
            b"\0",
            b"2",
        ]
    ),
    max_size=10,
).map(b"".join)


@settings(max_examples=rounds(300))
@given(st.one_of(heads, st.binary(max_size=50)), st.integers(0, 60), st.sampled_from([HEADER, REQUEST]))
def test_any_block_has_a_payload(block: bytes, cut: int, header: bytes) -> None:
    found = []
    edge = len(header % len(block)) + min(cut, len(block))
    for form, cuts in (("bytes", ()), ("bytes", (edge,)), ("gzip", ()), ("plain", ())):
        record = record_of(block, header, form=form, cuts=cuts)
        head = record.http
        payload = record.payload.read()
        assert record.payload.size == len(payload)
        assert record.block.read() == block
        if head is None:
            assert payload == block
        elif not head.chunked:
            assert payload == block[head.size :]
        found.append((head, payload, record.payload.problem))
    assert all(it == found[0] for it in found), "in every form the same"


# Places.


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
    for form, status in (("plain", "uncompressed"), ("gzip", "stream")):
        with seekwarc.open(getattr(own, form)().bytes()) as archive:
            assert next(iter(archive)).seek_table_status == status


@pytest.mark.parametrize("form", FORMS)
def test_heads_are_looked_at_without_losing_anything_of_a_pipe(form) -> None:
    made = Foreign()
    for number in range(5):
        block = HTTP + text(20_000, seed=number)
        made.record(block, header=HEADER % len(block), cuts=3000)
    data = made.bytes() if form == "bytes" else getattr(made, form)().bytes()
    with seekwarc.open(Pipe(data)) as archive:
        seen = []
        for record, number in zip(archive, itertools.count(), strict=False):
            assert record.http.status == 404
            assert record.http.get("Content-Type") == "text/html"
            seen.append(record.block.read() if number % 2 else record.payload.read())
    expected = [HTTP * (number % 2) + text(20_000, seed=number) for number in range(5)]
    assert seen == expected
