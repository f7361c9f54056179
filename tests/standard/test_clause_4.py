"""Clause 4: the parts of a record, its header, its block, its payload."""

from __future__ import annotations

import io

import pytest

import seekwarc
from seekwarc.format.rules import check_header
from seekwarc.format.warc import parse_record_header
from tests.standard.clauses import shall
from tests.standard.material import (
    DIGEST,
    HTTP_HEAD,
    HTTP_TYPE,
    ID,
    OTHER_ID,
    TYPES,
    UNKNOWN_TYPE,
    URI,
    assert_found,
    assert_refused,
    assert_required,
    collected,
    fields_of,
    findings,
    reading,
    record,
    stored,
    write,
    written,
)
from tests.support.writing import KIB, content_of, noise, sha1, walk

OCTETS = bytes(range(256)) * 3
ENDS = b"\r\n\r\n"


def problems(raw: bytes) -> list[tuple[str, str]]:
    """Return code and clause of what a checker finds in a header."""
    return [(it.code, it.clause) for it in check_header(parse_record_header(raw))]


RECORD = (
    "A WARC record shall consist of a record header followed by a record content block and two new lines."
)


@shall("4", RECORD)
@pytest.mark.parametrize("kind", [*TYPES, UNKNOWN_TYPE])
@pytest.mark.parametrize("block", [b"", b"x", ENDS, b"WARC/1.1\r\n\r\n", noise(200 * KIB)], ids=len)
def test_what_is_written_is_a_header_a_block_and_two_new_lines(kind: str, block: bytes) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=64 * KIB) as writer:
        one = write(kind, block=block)(writer).header.raw
        other = write(kind, block=block)(writer).header.raw
    assert content_of(walk(target.getvalue())) == one + block + ENDS + other + block + ENDS


@shall("4", RECORD)
@pytest.mark.parametrize("end", [b"", b"\r\n", b"\n\n", b"\n", b"\r\n" * 4])
def test_a_reader_finds_the_record_after_one_that_ends_otherwise(end: bytes) -> None:
    odd = record("resource", b"block").removesuffix(ENDS) + end
    with reading(odd, record("response", b"other")) as (one, other):
        assert one.block.read() == b"block"
        assert other.block.read() == b"other"


@shall("4", RECORD)
def test_a_reader_says_where_a_block_is_missing() -> None:
    whole = record("resource", b"block")
    with seekwarc.open(whole + whole.removesuffix(b"ock" + ENDS)) as archive:
        found = iter(archive)
        assert next(found).block.read() == b"block"
        with pytest.warns(seekwarc.FormatWarning, match=f"offset {len(whole)}: the record is cut off"):
            cut = next(found)
        with pytest.raises(seekwarc.TruncatedError, match=f"offset {len(whole)}"):
            cut.block.pread(0, 5)
        assert cut.block.read() == b"bl"


HEADER = (
    "The WARC record header shall consist of one first line declaring the record to be in the WARC format "
    "with a given version number, then a variable number of line-oriented named fields terminated by a blank "
    "line."
)


@shall("4", HEADER)
@pytest.mark.parametrize("kind", [*TYPES, UNKNOWN_TYPE])
def test_a_header_has_a_version_fields_and_a_blank_line(kind: str) -> None:
    header = written(write(kind, {"X-Own": "value"}))
    version, *lines, blank, rest = header.raw.decode().split("\r\n")
    assert version == "WARC/1.1"
    assert [tuple(line.split(": ", 1)) for line in lines] == list(header.fields)
    assert ("X-Own", "value") in header.fields
    assert (blank, rest) == ("", "")


@shall("4", HEADER)
def test_a_checker_finds_invalid_versions_and_lines() -> None:
    good = stored(fields_of("response")).removesuffix(ENDS)
    assert problems(good) == []
    assert problems(good.replace(b"WARC/1.1", b"WARC/1.0", 1)) == []
    assert problems(good.replace(b"WARC/1.1", b"WARC/7.3", 1)) == [("grammar", "4")]
    assert problems(good.replace(b"Content-Length", b"no field\r\nContent-Length")) == [("grammar", "4")]


@shall("4", HEADER)
def test_a_reader_takes_any_version_and_no_record_without_a_header() -> None:
    for version in ("0.18", "1.0", "1.1", "7.3"):
        with reading(stored(fields_of("response"), b"block", version=version)) as (found,):
            assert found.header.version == version
            assert found.block.read() == b"block"
    for raw in (b"WARC/1.1\r\nContent-Length: 0\r\n", b"WARC\r\nContent-Length: 0\r\n\r\n" + ENDS):
        with seekwarc.open(raw) as archive, pytest.raises(seekwarc.FormatError):
            list(archive)


RULES_OF_HTTP = (
    "The WARC record header format shall follow the general rules of HTTP/1.1 [RFC 2616] and [RFC 5322] "
    "headers with one major exception: it shall also allow UTF-8 characters, as specified in [RFC 3629]."
)
TEXTS = ["Bücherei", "図書館", "🕸 🗄", "\u200bא"]


@shall("4", RULES_OF_HTTP)
@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("WARC-Filename: one two", "one two"),
        ("warc-fileNAME: one two", "one two"),
        ("WARC-Filename:one two", "one two"),
        ("WARC-Filename: \t one two \t", "one two"),
        ("WARC-Filename: one\r\n two", "one two"),
        ("WARC-Filename: one\r\n\t \ttwo", "one two"),
        ("WARC-Filename:\r\n one\r\n two", "one two"),
        ("WARC-Filename: one\r\n two: three", "one two: three"),
        ('WARC-Filename: "one: \\"two\\""', '"one: \\"two\\""'),
    ],
)
def test_fields_are_read_by_the_rules_of_http(lines: str, value: str) -> None:
    fields = stored(fields_of("warcinfo")).removesuffix(ENDS)
    for raw in (
        fields.replace(b"WARC-Type", lines.encode() + b"\r\nWARC-Type"),
        fields.replace(b"Content-Length", lines.encode() + b"\r\nContent-Length"),
    ):
        assert problems(raw) == []
        with reading(raw + ENDS) as (found,):
            assert found.header.get("Warc-Filename") == value
            assert found.type == "warcinfo"
            assert found.id == ID.strip("<>")


@shall("4", RULES_OF_HTTP)
@pytest.mark.parametrize("text", TEXTS)
def test_characters_beyond_ascii_are_written_as_utf_8_and_read_again(text: str) -> None:
    header = written(write("warcinfo", {"WARC-Filename": text, "X-Own": text}))
    assert b"\r\nX-Own: " + text.encode() + b"\r\n" in header.raw
    assert header["X-Own"] == header.text("WARC-Filename") == text
    with reading(record("warcinfo", warc_filename=text)) as (found,):
        assert found.filename == text


@shall("4", RULES_OF_HTTP)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "v"),
        ("a b", "v"),
        ("a:b", "v"),
        ("(a)", "v"),
        ("ä", "v"),
        ("X-Own\r\nY", "v"),
        ("X-Own", "a\r\nY: b"),
        ("X-Own", "a\nb"),
        ("X-Own", "a\rb"),
        ("X-Own", "a\r\n b"),
        ("X-Own", "a\0b"),
        ("X-Own", "a\x01b"),
        ("X-Own", "a\x1bb"),
        ("X-Own", "a\x7fb"),
        ("X-Own", "a\udcffb"),
    ],
)
def test_a_writer_refuses_what_is_no_field(name: str, value: str) -> None:
    assert_refused(write("resource", {name: value}), name[:5], error=ValueError)


@shall("4", RULES_OF_HTTP)
@pytest.mark.parametrize(
    ("bad", "what"),
    [
        (b"X-Own: a\x01b\r\n", "control character"),
        (b"X-Own: a\x7fb\r\n", "control character"),
        (b"X-Own: a\xffb\r\n", "invalid UTF-8"),
        (b"X-Own: a\xed\xa0\x80b\r\n", "invalid UTF-8"),
        (b"X-Own: ab\n", "LF instead of CRLF"),
        (b"X Own: ab\r\n", "X Own"),
        (b"(X): ab\r\n", "(X)"),
        (b": ab\r\n", ": ab"),
    ],
)
def test_a_checker_finds_what_is_no_field_and_a_reader_reads_on(bad: bytes, what: str) -> None:
    raw = record("resource", b"block", content_type="text/plain")
    raw = raw.replace(b"Content-Length", bad + b"Content-Length")
    with reading(raw) as (found,):
        (problem,) = check_header(found.header)
        assert (problem.code, problem.clause, problem.type) == ("grammar", "4", "resource")
        assert what in str(problem)
        assert found.header.raw == raw.removesuffix(b"block" + ENDS)
        assert found.target_uri == URI
        assert found.block.read() == b"block"


VERSION_FIRST = (
    "The record version shall appear first in every record and hence shall also begin the WARC file itself."
)


@shall("4", VERSION_FIRST)
def test_the_version_begins_every_record_that_is_written_and_the_file() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        for kind in TYPES:
            write(kind, block=b"block")(writer)
    frames = [frame for frame in walk(target.getvalue()) if frame.is_data]
    assert len(frames) == len(TYPES)
    assert all(frame.content.startswith(b"WARC/1.1\r\n") for frame in frames)
    assert frames[0].offset == 0


@shall("4", VERSION_FIRST)
@pytest.mark.parametrize("before", [b"WARC-Type: resource\r\n", b"HTTP/1.1 200 OK\r\n"])
def test_a_record_begins_with_a_version(before: bytes) -> None:
    good = record("resource", b"block")
    with seekwarc.open(before + good) as archive, pytest.raises(seekwarc.FormatError):
        list(archive)
    with seekwarc.open(good + before + good) as archive:
        found = iter(archive)
        assert next(found).block.read() == b"block"
        with pytest.raises(seekwarc.FormatError, match=f"offset {len(good)}"):
            next(found)


@shall("4", VERSION_FIRST)
def test_a_mark_before_the_version_is_refused_by_strict_readers() -> None:
    good, mark = record("resource", b"block"), b"\xef\xbb\xbf"
    for data in (mark + good, good + mark + good):
        with seekwarc.open(data, strict=True) as archive, pytest.raises(seekwarc.FormatError):
            list(archive)


ENCODED_WORDS = (
    "Although UTF-8 characters are allowed, the 'encoded-word' mechanism of [RFC2047] may also be used when "
    "writing WARC fields and shall also be understood by WARC reading software."
)


@shall("4", ENCODED_WORDS)
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("=?utf-8?q?caf=C3=A9?=", "café"),
        ("=?UTF-8?B?Y2Fmw6k=?=", "café"),
        ("=?iso-8859-1?Q?caf=E9_noir?=", "café noir"),
        ("=?shift_jis?b?kH2PkYrZ?=", "図書館"),
        ("a =?utf-8?q?caf=C3=A9?= b", "a café b"),
        ("=?utf-8?q?ca?= =?utf-8?q?f=C3=A9?=", "café"),
        ("=?utf-8?q?ca?=\r\n =?iso-8859-1?q?f=E9?=", "café"),
        ("=?utf-8?q?caf=C3=A9?= b =?utf-8?q?=C3=BC?=", "café b ü"),
        ("é =?utf-8?q?caf=C3=A9?=", "é café"),
        ("図書館 =?utf-8?q?caf=C3=A9?=", "図書館 café"),
        ("no word =? at all ?=", "no word =? at all ?="),
        ("=?x-none?q?a?=", "=?x-none?q?a?="),
    ],
)
def test_encoded_words_are_decoded(value: str, text: str) -> None:
    with reading(record("warcinfo", warc_filename=value)) as (found,):
        assert found.filename == found.header.text("warc-filename") == text
        # Nothing is lost: the field is still there as it was written.
        assert found.header["WARC-Filename"] == value.replace("\r\n ", " ")


@shall("4", ENCODED_WORDS)
def test_encoded_words_may_be_written() -> None:
    header = written(write("warcinfo", {"WARC-Filename": "=?utf-8?q?caf=C3=A9=2Ewarc?="}))
    assert b"=?utf-8?q?caf=C3=A9=2Ewarc?=" in header.raw
    assert header.text("WARC-Filename") == "café.warc"


HAS_A_TYPE = "Every WARC record shall have a type, reported in the WARC-Type field."


@shall("4", HAS_A_TYPE)
@pytest.mark.parametrize("kind", [*TYPES, UNKNOWN_TYPE])
def test_the_type_of_a_record_is_in_its_field(kind: str) -> None:
    assert written(write(kind))["WARC-Type"] == kind
    with reading(record(kind)) as (found,):
        assert found.type == kind


@shall("4", HAS_A_TYPE)
@pytest.mark.parametrize("none", [None, "", " ", "a b"])
def test_a_record_without_a_type_is_not_written(none: str | None) -> None:
    assert_refused(lambda writer: writer.write(none, target_uri=URI), "WARC-Type")
    assert_refused(lambda writer: writer.write("response", headers={"WARC-Type": none or ""}), "WARC-Type")


@shall("4", HAS_A_TYPE)
def test_a_record_without_a_type_is_found_and_read() -> None:
    fields = fields_of("resource", {"WARC-Type": None})
    assert_found(fields, "missing", "WARC-Type", "5.5")
    with reading(stored(fields, b"block")) as (found,):
        assert found.type is None
        assert found.block.read() == b"block"


OCTET_CONTENT = (
    "The record block shall contain octet content, interpreted based on the record type and other header "
    "values."
)


@shall("4", OCTET_CONTENT)
@pytest.mark.parametrize("kind", [*TYPES, UNKNOWN_TYPE])
def test_a_block_may_hold_any_octets(kind: str) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        write(kind, block=OCTETS)(writer)
    with seekwarc.open(target.getvalue()) as archive:
        assert [found.block.read() for found in archive] == [OCTETS]
    with reading(record(kind, OCTETS)) as (found,):
        assert found.block.read() == OCTETS


@shall("4", OCTET_CONTENT)
@pytest.mark.parametrize(
    ("kind", "content_type", "payload", "status"),
    [
        ("response", HTTP_TYPE, b"body", 200),
        ("response", "message/http", b"body", 200),
        ("response", "text/plain", HTTP_HEAD + b"body", None),
        ("response", None, HTTP_HEAD + b"body", None),
        ("resource", "text/plain", HTTP_HEAD + b"body", None),
        ("conversion", "text/plain", HTTP_HEAD + b"body", None),
    ],
)
def test_a_block_is_interpreted_by_its_type(
    kind: str, content_type: str | None, payload: bytes, status: int | None
) -> None:
    with reading(record(kind, HTTP_HEAD + b"body", content_type=content_type)) as (found,):
        assert found.payload.read() == payload
        assert (found.http.status if found.http else None) == status
        assert found.block.read() == HTTP_HEAD + b"body"


@shall("4", OCTET_CONTENT)
@pytest.mark.parametrize("kind", ["resource", "conversion"])
def test_the_payload_of_a_resource_is_its_block_even_if_http(kind: str) -> None:
    # Clauses 6.4.1 and 6.8: "the payload is defined as the record block". The answer to TRACE is such a one.
    with reading(record(kind, HTTP_HEAD + b"body", content_type="message/http")) as (found,):
        assert found.payload.read() == HTTP_HEAD + b"body"


@shall("4", OCTET_CONTENT)
@pytest.mark.parametrize("block", [b"Dear reader,\r\n\r\nthe site is closed.", b"The site is closed."])
def test_the_block_of_a_response_is_not_taken_for_a_request(block: bytes) -> None:
    # Clause 6.3.2: "response-like material" need not be a legal response; HTTP/0.9 has no head.
    with reading(record("response", block, content_type=HTTP_TYPE)) as (found,):
        assert found.http is None
        assert found.payload.read() == block


@shall("4", OCTET_CONTENT)
def test_a_block_of_fields_is_taken_apart_if_its_type_says_so() -> None:
    block = b"software: test\r\nformat: WARC\r\n folded\r\n"
    with reading(
        record("metadata", block, content_type="application/warc-fields; charset=utf-8"),
        record("metadata", block, content_type="text/plain"),
    ) as (fields, text):
        assert fields.warc_fields == (("software", "test"), ("format", "WARC folded"))
        assert text.warc_fields is None


LENGTH = "All records shall include a Content-Length field to specify the length of the block."


@shall("4", LENGTH)
@pytest.mark.parametrize("kind", [*TYPES, UNKNOWN_TYPE])
@pytest.mark.parametrize("size", [0, 1, 100, 200 * KIB])
def test_the_length_of_a_block_is_written(kind: str, size: int) -> None:
    block = noise(size)
    for given in (block, io.BytesIO(block)):
        header = written(write(kind, block=given), frame_size=64 * KIB)
        assert header.get_all("Content-Length") == (str(size),)
        assert header.content_length == size


@shall("4", LENGTH)
def test_a_writer_refuses_a_length_other_than_the_blocks() -> None:
    for block in (b"block", io.BytesIO(b"block")):
        assert_refused(
            lambda writer, block=block: writer.write("resource", target_uri=URI, block=block, length=6),
            "5 bytes",
            error=seekwarc.FormatError,
        )


@shall("4", LENGTH)
@pytest.mark.parametrize("kind", [*TYPES, UNKNOWN_TYPE])
def test_a_record_without_a_length_is_found_and_cannot_be_read(kind: str) -> None:
    assert_required("Content-Length", kind, "5.3")
    good = record("resource", b"block")
    bad = stored(fields_of(kind, {"Content-Length": None}))
    with seekwarc.open(good + bad) as archive:
        found = iter(archive)
        assert next(found).block.read() == b"block"
        with pytest.raises(seekwarc.FormatError, match=rf"offset {len(good)}.*no Content-Length"):
            next(found)


NO_PAYLOAD = "All 'warcinfo' and 'metadata' records shall not have a payload."


@shall("4", NO_PAYLOAD)
@pytest.mark.parametrize("kind", ["warcinfo", "metadata"])
@pytest.mark.parametrize("field", ["WARC-Payload-Digest", "WARC-Identified-Payload-Type"])
def test_a_header_has_no_digest_of_a_missing_payload(kind: str, field: str) -> None:
    # Even of a block that would have a payload in a response.
    header = written(write(kind, block=HTTP_HEAD + b"body", content_type=HTTP_TYPE))
    assert field not in header
    assert header["WARC-Block-Digest"] == sha1(HTTP_HEAD + b"body")
    value = DIGEST if field == "WARC-Payload-Digest" else "text/plain"
    assert_refused(write(kind, {field: value}), field, kind)
    assert [it.code for it in findings(fields_of(kind, {field: value}))] == ["forbidden"]


@shall("4", NO_PAYLOAD)
def test_a_record_without_payload_is_no_original_of_a_revisit() -> None:
    digest = sha1(b"body")
    metadata = record("metadata", b"body", warc_payload_digest=digest, warc_target_uri="http://example.org/m")
    revisit = record("revisit", warc_payload_digest=digest, warc_record_id=OTHER_ID)
    with collected(metadata, revisit) as collection:
        with pytest.raises(seekwarc.NotFoundError, match="revisit refers to was not found"):
            collection.open_record(OTHER_ID)
        with pytest.raises(seekwarc.NotFoundError, match=r"http://example\.org/m"):
            collection.open_record(uri="http://example.org/m")
    with seekwarc.open(metadata) as archive:
        known = seekwarc.Duplicates()
        known.add_archive(archive)
        assert len(known) == 0


@shall(
    "4",
    'Content matching the warc-file rule shall have the MIME content-type "application/warc", as specified '
    "in 8.",
)
def test_a_nested_warc_file_has_its_content_type() -> None:
    inner = record("warcinfo", b"software: test\r\n", content_type="application/warc-fields")
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        writer.write_resource("file:///crawl.warc", inner, "application/warc")
    with seekwarc.open(target.getvalue()) as archive:
        (outer,) = archive
        assert str(outer.media_type) == "application/warc"
        assert outer.warc_fields is None
        with seekwarc.open(outer.payload.read()) as nested:
            (found,) = nested
            assert found.warc_fields == (("software", "test"),)
