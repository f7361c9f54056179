"""Writing each type of record, with the fields that clause 6 of WARC 1.1 requires and forbids."""

from __future__ import annotations

import datetime as dt
import io
import re
from collections.abc import Callable
from typing import Any

import pytest

import seekwarc
from seekwarc.format.warc_fields import DefinedFields
from tests.support.series import errors_of, labelled
from tests.support.writing import DATE, HTTP_HEAD, KIB, RESPONSE, URI, Stream, noise, text

FRAME = 64 * KIB
REQUEST = "application/http; msgtype=request"
REQUEST_HEAD = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
DIGEST = labelled("sha1", b"the payload")
ALWAYS = {"WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length", "WARC-Block-Digest"}

Write = Callable[..., DefinedFields]

EACH: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "response": ((URI, HTTP_HEAD + b"body"), {}),
    "request": ((URI, REQUEST_HEAD), {}),
    "resource": ((URI, b"text", "text/plain"), {}),
    "metadata": (({"via": "test"},), {"target_uri": URI}),
    "revisit": ((URI, HTTP_HEAD), {"payload_digest": DIGEST}),
    "conversion": ((URI, b"text", "text/plain"), {}),
    "continuation": ((URI, b"text"), {"origin_id": "urn:x:1", "segment_number": 2}),
}
"""Arguments that make a record of each type."""


def write(kind: str, *args: Any, **fields: Any) -> DefinedFields:
    """Write one record by the method of its type, check that it is read back so, and return its fields."""
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=FRAME) as writer:
        written = getattr(writer, f"write_{kind}")(*args, **fields)
    with seekwarc.open(target.getvalue()) as archive:
        (record,) = archive
        assert record.header == written.header
        assert record.type == kind
        assert all(check.verdict in ("valid", "elsewhere") for check in record.check_digests())
    assert errors_of(written.header) == []
    return DefinedFields(written.header)


def write_each(kind: str, **fields: Any) -> DefinedFields:
    args, common = EACH[kind]
    return write(kind, *args, **{**common, **fields})


def names(written: DefinedFields) -> set[str]:
    return set(written.header)


# What each type has.


def test_every_record_type_has_a_method() -> None:
    methods = {name.removeprefix("write_") for name in dir(seekwarc.Writer) if name.startswith("write_")}
    assert methods == {"raw", "warcinfo", *EACH}


@pytest.mark.parametrize("uri", [URI, "http://example.org/", "HTTPS://EXAMPLE.ORG/"])
def test_a_response_from_the_web_is_an_http_message(uri: str) -> None:
    written = write("response", uri, HTTP_HEAD + b"body")
    assert written.target_uri == uri
    assert written.content_type == RESPONSE
    assert str(written.payload_digest) == labelled("sha1", b"body")
    assert names(written) == ALWAYS | {"WARC-Target-URI", "Content-Type", "WARC-Payload-Digest"}


@pytest.mark.parametrize(
    "uri", ["ftp://example.org/a", "dns:example.org", "gemini://example.org/", "httpx:a"]
)
def test_a_non_http_response_has_the_given_content_type(uri: str) -> None:
    assert write("response", uri, b"text").content_type is None
    assert write("response", uri, b"text", content_type="text/dns").content_type == "text/dns"


def test_a_request_to_the_web_is_an_http_message() -> None:
    written = write("request", URI, REQUEST_HEAD + b"form")
    assert written.content_type == REQUEST
    assert names(written) == ALWAYS | {"WARC-Target-URI", "Content-Type"}
    assert write("request", "gemini://example.org/", b"/\r\n").content_type is None


@pytest.mark.parametrize("kind", ["response", "request"])
def test_another_content_type_is_kept(kind: str) -> None:
    assert write_each(kind, content_type="application/octet-stream").content_type == (
        "application/octet-stream"
    )


def test_a_resource_has_its_own_type() -> None:
    written = write("resource", "file:///a%20b.txt", b"text", "text/plain; charset=utf-8")
    assert written.content_type == "text/plain; charset=utf-8"
    assert names(written) == ALWAYS | {"WARC-Target-URI", "Content-Type"}
    assert write("resource", URI, b"text", None).content_type is None


def test_a_resource_from_the_dns_holds_text_dns() -> None:
    assert write("resource", "dns:example.org", b"20260101\n", "text/dns").content_type == "text/dns"
    with pytest.raises(seekwarc.RuleError, match=r"Content-Type.*text/dns.*resource"):
        write("resource", "dns:example.org", b"20260101\n", "text/plain")


@pytest.mark.parametrize("make", [dict, list, iter])
def test_metadata_are_fields(make: Any) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        fields = make([("via", "http://example.org/"), ("fetchTimeMs", "17")])
        written = writer.write_metadata(fields, target_uri=URI, concurrent_to="urn:x:1")
    assert written.header["Content-Type"] == "application/warc-fields"
    with seekwarc.open(target.getvalue()) as archive:
        (record,) = archive
        assert record.warc_fields == (("via", "http://example.org/"), ("fetchTimeMs", "17"))
        assert record.concurrent_to == ("urn:x:1",)


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, io.BytesIO, Stream])
def test_metadata_may_be_a_block_of_any_type(wrap: Any) -> None:
    written = write("metadata", wrap(b'{"a": 1}'), content_type="application/json", refers_to="urn:x:1")
    assert written.content_type == "application/json"
    assert written.content_length == 8
    assert written.refers_to_id == "urn:x:1"
    assert "WARC-Target-URI" not in written.header


def test_fields_of_metadata_may_be_of_another_type() -> None:
    assert write("metadata", {"a": "1"}, content_type="text/x-own").content_type == "text/x-own"


def test_a_revisit_has_the_fields_of_clause_6_7_2() -> None:
    written = write(
        "revisit",
        URI,
        HTTP_HEAD,
        payload_digest=DIGEST,
        refers_to="urn:x:1",
        refers_to_target_uri="http://example.org/first",
        refers_to_date=dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
    )
    expected = {
        "WARC-Profile": IDENTICAL,
        "WARC-Payload-Digest": DIGEST,
        "WARC-Refers-To": "<urn:x:1>",
        "WARC-Refers-To-Target-URI": "http://example.org/first",
        "WARC-Refers-To-Date": "2020-01-02T03:04:05Z",
        "WARC-Truncated": "length",
        "Content-Type": RESPONSE,
        "WARC-Block-Digest": labelled("sha1", HTTP_HEAD),
    }
    assert {name: written.header[name] for name in expected} == expected
    assert names(written) == ALWAYS | set(expected) | {"WARC-Target-URI"}


@pytest.mark.parametrize("block", [b"", bytearray(), memoryview(b"")])
def test_a_revisit_without_a_block_has_no_content_type(block: Any) -> None:
    written = write("revisit", URI, block, payload_digest=DIGEST)
    assert written.content_length == 0
    assert written.content_type is None


def test_a_server_not_modified_revisit_is_not_truncated() -> None:
    head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    written = write("revisit", URI, head, profile=NOT_MODIFIED, refers_to_date="2020-01-02")
    assert written.profile == NOT_MODIFIED
    assert written.truncated is None
    assert str(written.refers_to_date) == "2020-01-02"
    assert "WARC-Payload-Digest" not in written.header


def test_a_digest_may_be_a_digest_or_text() -> None:
    for digest in (DIGEST, seekwarc.Digest.parse(DIGEST)):
        assert write("revisit", URI, payload_digest=digest).header["WARC-Payload-Digest"] == DIGEST


def test_a_conversion_refers_to_its_original() -> None:
    written = write("conversion", URI, b"text", "text/plain", refers_to="urn:x:1")
    assert written.refers_to_id == "urn:x:1"
    assert names(written) == ALWAYS | {"WARC-Target-URI", "Content-Type", "WARC-Refers-To"}


def test_a_continuation_belongs_to_its_origin() -> None:
    written = write("continuation", URI, b"text", origin_id="urn:x:1", segment_number=2)
    assert (written.segment_origin_id, written.segment_number) == ("urn:x:1", 2)
    assert names(written) == ALWAYS | {
        "WARC-Target-URI",
        "WARC-Segment-Origin-ID",
        "WARC-Segment-Number",
    }
    last = write("continuation", URI, b"t", origin_id="urn:x:1", segment_number=3, total_length=9)
    assert last.segment_total_length == 9


# What all of them may have.


@pytest.mark.parametrize("kind", EACH)
def test_every_type_takes_the_common_fields(kind: str) -> None:
    written = write_each(
        kind,
        record_id="urn:x:7",
        date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        truncated="length",
        warcinfo_id="urn:x:8",
        headers=iter([("X-Own", "1"), ("X-Own", "2")]),
    )
    assert written.id == "urn:x:7"
    assert written.header["WARC-Date"] == "2026-01-01T00:00:00Z"
    assert written.truncated == "length"
    assert written.warcinfo_id == "urn:x:8"
    assert written.header.get_all("X-Own") == ("1", "2")


@pytest.mark.parametrize("kind", EACH)
def test_dates_are_taken_in_all_forms(kind: str) -> None:
    for date in (DATE, "2026", seekwarc.WarcDate.parse("2026-01-02T03:04:05.000000001Z")):
        assert write_each(kind, date=date).header["WARC-Date"] == str(date)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", write_each(kind).header["WARC-Date"])
    with pytest.raises(ValueError, match="time zone"):
        write_each(kind, date=dt.datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize("kind", ["response", "request", "resource", "metadata", "revisit"])
def test_records_of_a_capture_take_address_and_concurrent_to(kind: str) -> None:
    written = write_each(kind, ip_address="2001:db8::1", concurrent_to=iter(["urn:x:1", "<urn:x:2>"]))
    assert written.header["WARC-IP-Address"] == "2001:db8::1"
    assert written.header.get_all("WARC-Concurrent-To") == ("<urn:x:1>", "<urn:x:2>")
    assert write_each(kind, concurrent_to="urn:x:1").concurrent_to == ("urn:x:1",)


@pytest.mark.parametrize("kind", ["response", "request", "resource", "revisit", "conversion", "continuation"])
def test_records_with_a_payload_take_its_identified_type(kind: str) -> None:
    written = write_each(kind, identified_payload_type="text/html")
    assert written.header["WARC-Identified-Payload-Type"] == "text/html"


IDS = [
    ("response", "record_id", "WARC-Record-ID"),
    ("response", "concurrent_to", "WARC-Concurrent-To"),
    ("response", "warcinfo_id", "WARC-Warcinfo-ID"),
    ("metadata", "refers_to", "WARC-Refers-To"),
    ("revisit", "refers_to", "WARC-Refers-To"),
    ("conversion", "refers_to", "WARC-Refers-To"),
    ("continuation", "origin_id", "WARC-Segment-Origin-ID"),
]


@pytest.mark.parametrize(("kind", "argument", "field"), IDS)
@pytest.mark.parametrize("given", ["urn:x:1", "<urn:x:1>"])
def test_ids_are_taken_with_and_without_brackets(kind: str, argument: str, field: str, given: str) -> None:
    assert write_each(kind, **{argument: given}).header[field] == "<urn:x:1>"


@pytest.mark.parametrize("kind", EACH)
def test_fields_given_as_none_are_omitted(kind: str) -> None:
    args, common = EACH[kind]
    nothing = dict.fromkeys(("date", "record_id", "length", "warcinfo_id", "ip_address"))
    assert names(write(kind, *args, **common, **nothing)) == names(write(kind, *args, **common))


def test_headers_replace_added_fields() -> None:
    headers = {"content-type": "application/http", "WARC-Record-ID": "<urn:x:1>", "WARC-DATE": "2020"}
    written = write("response", URI, HTTP_HEAD, headers=headers)
    assert written.header.get_all("Content-Type") == ("application/http",)
    assert written.header.get_all("WARC-Record-ID") == ("<urn:x:1>",)
    assert written.header.get_all("WARC-Date") == ("2020",)


@pytest.mark.parametrize("kind", sorted(EACH.keys() - {"metadata"}))
@pytest.mark.parametrize("size", [10, 300_000])
def test_a_length_takes_that_much_of_a_stream(kind: str, size: int) -> None:
    stream = io.BytesIO(noise(size) + b"next")
    (uri, _, *args), common = EACH[kind]
    written = write(kind, uri, stream, *args, **common, length=size)
    assert written.content_length == size
    assert stream.read() == b"next"


@pytest.mark.parametrize("kind", sorted(EACH.keys() - {"metadata"}))
@pytest.mark.parametrize("wrap", [bytearray, memoryview, io.BytesIO, Stream])
def test_a_block_may_be_anything_that_holds_bytes(kind: str, wrap: Any) -> None:
    (uri, _, *args), common = EACH[kind]
    block = text(200_000)
    written = write(kind, uri, wrap(block), *args, **common)
    assert written.header["WARC-Block-Digest"] == labelled("sha1", block)


# What is refused.


FORBIDDEN = [
    ("request", {"refers_to": "urn:x:1"}, "WARC-Refers-To is forbidden in a 'request'"),
    ("response", {"headers": {"WARC-Refers-To": "<urn:x:1>"}}, "WARC-Refers-To is forbidden in a 'response'"),
    ("response", {"headers": {"WARC-Filename": "a"}}, "WARC-Filename is forbidden in a 'response'"),
    (
        "resource",
        {"headers": {"WARC-Refers-To-Date": DATE}},
        "WARC-Refers-To-Date is forbidden in a 'resource'",
    ),
    (
        "request",
        {"headers": {"WARC-Segment-Origin-ID": "<urn:x:1>"}},
        "WARC-Segment-Origin-ID is forbidden in a 'request'",
    ),
    ("metadata", {"headers": {"WARC-Payload-Digest": DIGEST}}, "WARC-Payload-Digest is forbidden in a 'meta"),
    (
        "metadata",
        {"identified_payload_type": "text/html"},
        "WARC-Identified-Payload-Type is forbidden in a 'metadata'",
    ),
    ("conversion", {"ip_address": "192.0.2.1"}, "WARC-IP-Address is forbidden in a 'conversion'"),
    ("conversion", {"concurrent_to": "urn:x:1"}, "WARC-Concurrent-To is forbidden in a 'conversion'"),
    ("continuation", {"concurrent_to": ["urn:x:1"]}, "WARC-Concurrent-To is forbidden in a 'continuation'"),
    ("continuation", {"ip_address": "192.0.2.1"}, "WARC-IP-Address is forbidden in a 'continuation'"),
    ("continuation", {"segment_number": 1}, "WARC-Segment-Number is less than 2 in a 'continuation'"),
    ("revisit", {"payload_digest": None}, "WARC-Payload-Digest is missing in a 'revisit'"),
    ("revisit", {"truncated": "time"}, "WARC-Truncated is not 'length' in a 'revisit'"),
    ("revisit", {"profile": "not a uri"}, "WARC-Profile is 'not a uri' in a 'revisit'"),
    ("response", {"ip_address": "example.org"}, "WARC-IP-Address is 'example.org' in a 'response'"),
    ("response", {"ip_address": "1.2.3"}, "WARC-IP-Address is '1.2.3' in a 'response'"),
    ("resource", {"record_id": "no scheme"}, "WARC-Record-ID is '<no scheme>' in a 'resource'"),
    ("resource", {"warcinfo_id": "<urn:x:1"}, "WARC-Warcinfo-ID is '<urn:x:1' in a 'resource'"),
    ("resource", {"date": "yesterday"}, "WARC-Date is 'yesterday' in a 'resource'"),
    ("resource", {"date": "2026-01-01T00:00:00+01:00"}, "WARC-Date is '2026-01-01T00:00:00+01:00'"),
    ("response", {"truncated": "a b"}, "WARC-Truncated is 'a b' in a 'response'"),
    (
        "response",
        {"identified_payload_type": "html"},
        "WARC-Identified-Payload-Type is 'html' in a 'response'",
    ),
    ("response", {"content_type": "http"}, "Content-Type is 'http' in a 'response'"),
    (
        "response",
        {"headers": [("WARC-Truncated", "time"), ("warc-truncated", "length")]},
        "WARC-Truncated occurs 2 times in a 'response'",
    ),
    (
        "response",
        {"truncated": "time", "headers": {"WARC-Truncated": "length"}},
        "WARC-Truncated occurs 2 times in a 'response'",
    ),
]


@pytest.mark.parametrize(("kind", "fields", "told"), FORBIDDEN)
def test_a_forbidden_field_is_named_and_nothing_written(kind: str, fields: dict[str, Any], told: str) -> None:
    target = io.BytesIO()
    args, common = EACH[kind]
    with seekwarc.Writer(target) as writer:
        with pytest.raises(seekwarc.RuleError, match=re.escape(told)):
            getattr(writer, f"write_{kind}")(*args, **{**common, **fields})
        writer.flush()
        assert target.getvalue() == b""
        writer.write_resource(URI, b"good", "text/plain")
    with seekwarc.open(target.getvalue()) as archive:
        assert [record.block.read() for record in archive] == [b"good"]


@pytest.mark.parametrize(
    "uri", ["", "no scheme", "http://example.org/ä", "http://example.org/a b", f"<{URI}>"]
)
@pytest.mark.parametrize("kind", sorted(EACH.keys() - {"metadata"}))
def test_an_invalid_uri_is_refused_before_the_block_is_read(kind: str, uri: str) -> None:
    stream = io.BytesIO(text(1000))
    (_, _, *args), common = EACH[kind]
    with pytest.raises(seekwarc.RuleError, match=f"WARC-Target-URI is '{re.escape(uri)}' in a '{kind}'"):
        write(kind, uri, stream, *args, **common)
    assert stream.tell() == 0


def test_a_warcinfo_record_takes_no_fields_of_a_capture() -> None:
    with seekwarc.Writer(io.BytesIO()) as writer:
        for name, value in (
            ("WARC-Target-URI", URI),
            ("WARC-Concurrent-To", "<urn:x:1>"),
            ("WARC-IP-Address", "192.0.2.1"),
            ("WARC-Refers-To", "<urn:x:1>"),
            ("WARC-Warcinfo-ID", "<urn:x:1>"),
            ("WARC-Payload-Digest", DIGEST),
            ("WARC-Identified-Payload-Type", "text/html"),
        ):
            with pytest.raises(seekwarc.RuleError, match=f"{name} is forbidden in a 'warcinfo'"):
                writer.write_warcinfo({"a": "1"}, headers={name: value})
        writer.write_warcinfo({"a": "1"})


@pytest.mark.parametrize("kind", EACH)
def test_a_misspelt_argument_is_a_type_error(kind: str) -> None:
    with pytest.raises(TypeError, match="ip_adress"):
        write_each(kind, ip_adress="192.0.2.1")


@pytest.mark.parametrize("kind", EACH)
def test_typed_methods_write_the_same_as_write(kind: str) -> None:
    written = write_each(kind, record_id="urn:x:1", date=DATE)
    block = EACH[kind][0][1] if kind != "metadata" else b"via: test\r\n"
    added = {"Content-Length", "WARC-Block-Digest", "WARC-Type", "WARC-Record-ID", "WARC-Date"}
    headers = [(name, value) for name, value in written.header.items() if name not in added]
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        plain = writer.write(kind, block=block, record_id="urn:x:1", date=DATE, headers=headers)
    assert sorted(plain.header.items()) == sorted(written.header.items())


@pytest.mark.parametrize(
    "digest", ["sha1:bad", "sha1:" + "A" * 31, "sha256:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "md5:" + "g" * 32]
)
def test_a_digest_that_is_not_one_of_its_algorithm_is_refused(digest: str) -> None:
    with pytest.raises(
        seekwarc.RuleError, match=f"WARC-Payload-Digest is '{digest}', not a digest of the alg"
    ):
        write("revisit", URI, payload_digest=digest)


def test_a_digest_of_an_unknown_algorithm_is_written() -> None:
    assert write("revisit", URI, payload_digest="own:bad").payload_digest is not None


@pytest.mark.parametrize("fields", [{"a": 1}, "a: 1", [("a",)], 5])
def test_fields_that_are_not_text_are_refused(fields: Any) -> None:
    with seekwarc.Writer(io.BytesIO()) as writer:
        with pytest.raises(TypeError, match=r"^fields must "):
            writer.write_warcinfo(fields)
        writer.write_warcinfo({"a": "1"})
