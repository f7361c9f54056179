"""Each defined field of a header comes with its type, or as None, or with an error that names it."""

from __future__ import annotations

import inspect
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.rules import FIELD_RULES
from seekwarc.format.values import MediaType
from seekwarc.format.warc import build_record_header, parse_record_header
from seekwarc.format.warc_fields import DefinedFields
from tests.support.headers import ATTRIBUTES

TYPED = [
    "WARC-Date",
    "WARC-Block-Digest",
    "WARC-Payload-Digest",
    "WARC-IP-Address",
    "WARC-Refers-To-Date",
    "WARC-Identified-Payload-Type",
    "WARC-Segment-Number",
    "WARC-Segment-Total-Length",
]
"""Fields whose value may be malformed."""


def fields_of(*pairs: tuple[str, str]) -> DefinedFields:
    return DefinedFields(build_record_header([*pairs, ("Content-Length", "7")]))


def test_there_is_an_attribute_for_every_field_of_the_standard() -> None:
    assert list(ATTRIBUTES) == [rule.name for rule in FIELD_RULES]
    for attribute in [*ATTRIBUTES.values(), "media_type"]:
        assert inspect.isdatadescriptor(getattr(DefinedFields, attribute))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("WARC-Record-ID", "<urn:uuid:1>", "urn:uuid:1"),
        ("WARC-Record-ID", "urn:uuid:1", "urn:uuid:1"),
        ("WARC-Date", "2016-01-11T23:24:25.5Z", WarcDate.parse("2016-01-11T23:24:25.5Z")),
        ("WARC-Type", "response", "response"),
        ("WARC-Type", "x-other", "x-other"),
        ("Content-Type", "Application/HTTP; msgtype=response", "Application/HTTP; msgtype=response"),
        ("WARC-Concurrent-To", "<urn:uuid:2>", ("urn:uuid:2",)),
        (
            "WARC-Block-Digest",
            "sha1:UZY6ND6CCHXETFVJD2MSS7ZENMWF7KQ2",
            Digest("sha1", "UZY6ND6CCHXETFVJD2MSS7ZENMWF7KQ2"),
        ),
        ("WARC-Payload-Digest", "tiger:x", Digest("tiger", "x")),
        ("WARC-IP-Address", "207.241.233.58", IPv4Address("207.241.233.58")),
        ("WARC-IP-Address", "2001:DB8::1", IPv6Address("2001:db8::1")),
        ("WARC-Refers-To", "<urn:uuid:3>", "urn:uuid:3"),
        ("WARC-Refers-To-Target-URI", "http://a/", "http://a/"),
        ("WARC-Refers-To-Date", "2016", WarcDate.parse("2016")),
        ("WARC-Target-URI", "<http://www.archive.org/>", "http://www.archive.org/"),
        ("WARC-Target-URI", "http://www.archive.org/a b", "http://www.archive.org/a b"),
        ("WARC-Truncated", "length", "length"),
        ("WARC-Warcinfo-ID", "<urn:uuid:4>", "urn:uuid:4"),
        ("WARC-Filename", "crawl.warc.zst", "crawl.warc.zst"),
        ("WARC-Filename", "=?utf-8?q?caf=C3=A9.warc?=", "caf\u00e9.warc"),
        ("WARC-Profile", "<http://a/profile>", "http://a/profile"),
        ("WARC-Identified-Payload-Type", "Image/JPEG", MediaType("image/jpeg")),
        ("WARC-Segment-Number", "1", 1),
        ("WARC-Segment-Number", "002", 2),
        ("WARC-Segment-Origin-ID", "<urn:uuid:5>", "urn:uuid:5"),
        ("WARC-Segment-Total-Length", "9" * 18, 10**18 - 1),
    ],
)
def test_a_field_has_its_type(name: str, text: str, expected: object) -> None:
    found = getattr(fields_of((name.swapcase(), text)), ATTRIBUTES[name])
    assert found == expected
    assert type(found) is type(expected)


def test_a_date_and_a_digest_keep_how_they_were_written() -> None:
    fields = fields_of(("WARC-Date", "2016-01-11T23:24:25.500Z"), ("WARC-Block-Digest", "SHA-1:abc="))
    assert str(fields.date) == "2016-01-11T23:24:25.500Z"
    assert str(fields.block_digest) == "SHA-1:abc="


@pytest.mark.parametrize("name", [name for name in ATTRIBUTES if name != "Content-Length"])
def test_a_missing_field_gives_none(name: str) -> None:
    expected = () if name == "WARC-Concurrent-To" else None
    assert getattr(fields_of(), ATTRIBUTES[name]) == expected


def test_content_length_is_always_there() -> None:
    assert fields_of().content_length == 7


def test_the_media_type_of_the_block() -> None:
    fields = fields_of(("Content-Type", 'text/HTML; Charset="utf-8"'))
    assert fields.media_type == MediaType("text/html", (("charset", "utf-8"),))
    assert fields_of().media_type is None
    malformed = fields_of(("Content-Type", "html"))
    assert (malformed.media_type, malformed.content_type) == (None, "html")


def test_all_values_of_concurrent_to_come_in_order() -> None:
    fields = fields_of(("WARC-Concurrent-To", "<urn:b>"), ("X", "y"), ("warc-concurrent-to", "urn:a"))
    assert fields.concurrent_to == ("urn:b", "urn:a")


def test_of_a_repeated_field_the_first_counts() -> None:
    assert fields_of(("WARC-Segment-Number", "1"), ("WARC-Segment-Number", "x")).segment_number == 1


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.parametrize("text", ["", "?", "a b", "-1", "\u0661", "1" * 19])
def test_a_malformed_value_gives_none_and_a_finding(name: str, text: str) -> None:
    fields = fields_of(("WARC-Type", "response"), (name, text))
    assert getattr(fields, ATTRIBUTES[name]) is None
    assert fields.header.get(name) == text
    # A number of nineteen digits has the form of one; it is only more than any file holds.
    if text != "1" * 19 or "Segment" not in name:
        assert [it.code for it in fields.findings if it.field == name and it.code == "form"] == ["form"]


def test_a_header_that_keeps_the_rules_has_no_findings() -> None:
    fields = fields_of(
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", "<urn:a:b>"),
        ("WARC-Date", "2026-11-21T00:00:00Z"),
        ("Content-Type", "application/warc-fields"),
    )
    assert fields.findings == []


@pytest.mark.parametrize(
    "text",
    [
        "localhost",
        "1.2.3",
        "1.2.3.4.5",
        "256.0.0.1",
        "01.2.3.4",
        "1.2.3.4:80",
        "[::1]",
        "::1::",
        "16909060",
        "1.2.3.4/8",
    ],
)
def test_a_malformed_address_gives_none(text: str) -> None:
    assert fields_of(("WARC-IP-Address", text)).ip_address is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from([it for it in ATTRIBUTES if it != "Content-Length"]), st.binary(max_size=30)
        )
    )
)
def test_any_header_has_all_attributes(pairs: list[tuple[str, bytes]]) -> None:
    raw = b"".join(name.encode() + b": " + value.replace(b"\n", b"") + b"\r\n" for name, value in pairs)
    fields = DefinedFields(parse_record_header(b"WARC/1.1\r\nContent-Length: 7\r\n" + raw + b"\r\n"))
    for name, attribute in ATTRIBUTES.items():
        found = getattr(fields, attribute)
        if name in TYPED:
            assert found is None or name in fields.header
        else:
            assert (found is None or found == ()) == (name not in fields.header)
