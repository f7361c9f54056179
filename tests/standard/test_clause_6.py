"""Clause 6: what each type of record holds."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

import seekwarc
from tests.standard.clauses import shall
from tests.standard.material import (
    DATE,
    DIGEST,
    HTTP_HEAD,
    HTTP_TYPE,
    IDENTICAL,
    NOT_MODIFIED,
    OTHER_ID,
    UNKNOWN_PROFILE,
    UNKNOWN_TYPE,
    URI,
    assert_form,
    assert_found,
    assert_refused,
    assert_required,
    collected,
    fields_of,
    findings,
    reading,
    record,
    stored,
    urn,
    write,
    written,
)
from tests.support.foreign import gzip_member, zstd_frame
from tests.support.sources import Pipe
from tests.support.writing import KIB, noise, sha1

OLD_IDENTICAL = "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
OLD_NOT_MODIFIED = "http://netpreserve.org/warc/1.0/revisit/server-not-modified"
HTTP_CUT_OFF = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\npart"


def response(number: int, body: bytes, **more: str | None) -> bytes:
    """Return a response that a revisit may be of."""
    fields = {"content_type": HTTP_TYPE, "warc_record_id": f"<{urn(number)}>"}
    return record("response", HTTP_HEAD + body, **(fields | {"warc_payload_digest": sha1(body)} | more))


def revisit(number: int, block: bytes = b"", **more: str | None) -> bytes:
    """Return a revisit of "body", identified by its digest unless told otherwise."""
    fields = {"warc_record_id": f"<{urn(number)}>", "warc_payload_digest": sha1(b"body")}
    return record("revisit", block, **(fields | more))


# 6.1 General.

SKIPPED_TYPES = (
    "Because new record types that extend the WARC format may be defined in future versions of the WARC "
    "standard, WARC processing software shall skip records of unknown type."
)


@shall("6.1", SKIPPED_TYPES)
@pytest.mark.parametrize("pack", [bytes, gzip_member, zstd_frame], ids=["plain", "gz", "zst"])
@pytest.mark.parametrize("pipe", [False, True])
def test_a_reader_skips_records_of_unknown_type(pack: object, *, pipe: bool) -> None:
    unknown = record(
        UNKNOWN_TYPE,
        record("response", b"not a record of this file") + noise(1000),
        # What these fields mean in such a record nobody knows.
        warc_date="the day after",
        warc_payload_digest="none",
        warc_segment_number="first",
        warc_record_id=None,
    )
    parts = [pack(it) for it in (unknown, response(1, b"body"), unknown, response(2, b"other"), unknown)]
    data = b"".join(parts)
    with seekwarc.open(Pipe(data) if pipe else data) as archive:
        found = [(it.type, it.offset, it.block.read() if it.type == "response" else None) for it in archive]
    offsets = [len(b"".join(parts[:number])) for number in range(5)]
    kinds = [UNKNOWN_TYPE, "response", UNKNOWN_TYPE, "response", UNKNOWN_TYPE]
    blocks = [None, HTTP_HEAD + b"body", None, HTTP_HEAD + b"other", None]
    assert found == list(zip(kinds, offsets, blocks, strict=True))
    with collected(data) as collection:
        assert collection.open_record(urn(2)).payload.read() == b"other"
        assert collection.open_record(uri=URI).id in (urn(1), urn(2))


@shall("6.1", SKIPPED_TYPES)
def test_records_of_undefined_types_may_be_written_and_copied() -> None:
    header = written(write(UNKNOWN_TYPE, block=b"block"))
    assert header["WARC-Type"] == UNKNOWN_TYPE
    assert findings(fields_of(UNKNOWN_TYPE)) == []
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer, reading(record(UNKNOWN_TYPE, b"block")) as (found,):
        writer.write_raw(found.header, found.block.open())
    with seekwarc.open(target.getvalue()) as archive:
        assert [(it.type, it.block.read()) for it in archive] == [(UNKNOWN_TYPE, b"block")]


# 6.3 'response'.

NOTED = (
    "When a 'response' is known to have been truncated, this shall be noted using the WARC-Truncated field."
)


@shall("6.3.2", NOTED)
@pytest.mark.parametrize("reason", ["length", "time", "disconnect", "unspecified"])
def test_a_truncated_response_is_written_and_read(reason: str) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        writer.write_response(URI, HTTP_CUT_OFF, truncated=reason)
    with seekwarc.open(target.getvalue()) as archive:
        (found,) = archive
        assert findings(list(found.header.items())) == []
        assert found.header.get_all("WARC-Truncated") == (reason,)
        assert found.truncated == reason
        assert found.payload.read() == b"part"


@shall("6.3.2", NOTED)
def test_a_truncated_segmented_response_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path, frame_size=64 * KIB, max_file_size=300 * KIB) as writer:
        done = writer.write_response(URI, io.BytesIO(HTTP_HEAD + noise(600 * KIB)), truncated="time")
    with seekwarc.Collection(sorted(tmp_path.iterdir())) as collection:
        assert collection.open_record(done.id).truncated == "time"


@shall("6.3.2", NOTED)
def test_a_response_is_not_cut_off_without_a_note() -> None:
    for block in (HTTP_HEAD, io.BytesIO(HTTP_HEAD)):
        assert_refused(
            lambda writer, block=block: writer.write_response(URI, block, length=len(HTTP_HEAD) + 1),
            "the block ended",
            error=seekwarc.FormatError,
        )


@shall("6.3.2", NOTED)
@pytest.mark.parametrize("cut", [{"length": 60}, {"headers": {"Content-Length": "60"}}], ids=str)
def test_a_response_that_a_writer_cuts_off_itself_is_refused_or_noted(cut: dict[str, object]) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        writer.write_resource(URI, b"before", "text/plain")
        try:
            writer.write_response(URI, HTTP_HEAD + b"body" * 20, **cut)
        except ValueError:
            return
    with seekwarc.open(target.getvalue()) as archive:
        _, found = archive
        assert found.content_length == 60
        assert found.truncated is not None


@shall("6.3.2", NOTED)
def test_a_reader_accepts_a_truncated_response() -> None:
    body = gzip.compress(noise(1000), mtime=0)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    whole = {"content_type": HTTP_TYPE, "warc_payload_digest": sha1(body)}
    with reading(
        record("response", head + body[:500], warc_truncated="disconnect", **whole),
        record("response", head + body[:500], **whole),
    ) as (noted, not_noted):
        with noted.payload.open(decoded=True) as file:
            assert noise(1000).startswith(file.read())
        with not_noted.payload.open(decoded=True) as file, pytest.raises(seekwarc.FormatError):
            file.read()
        assert [check.verdict for check in noted.check_digests()] == ["truncated"]
        assert [check.verdict for check in not_noted.check_digests()] == ["invalid"]


@shall("6.3.2", NOTED)
def test_a_truncated_response_is_no_original_of_a_revisit() -> None:
    with seekwarc.Writer(io.BytesIO(), dedup=seekwarc.Duplicates()) as writer:
        cut = [writer.write_response(URI, HTTP_HEAD + b"body", truncated="time").type for _ in range(2)]
        whole = [writer.write_response(URI, HTTP_HEAD + b"body").type for _ in range(2)]
        again = writer.write_response(URI, HTTP_HEAD + b"body", truncated="time").type
    assert cut == ["response", "response"]
    assert whole == ["response", "revisit"]
    # What it would have been had it not been cut off, nobody knows.
    assert again == "response"


@shall("6.3.2", NOTED)
@pytest.mark.parametrize("value", ["", "too long", "length,time", '"time"'])
def test_a_reason_is_one_word(value: str) -> None:
    assert_form("WARC-Truncated", "response", value, "5.15")


# 6.4 'resource'.

HTTP_RESOURCE = (
    "For a target-URI of the 'http' or 'https' schemes, a 'resource' record block shall contain the returned "
    "'entity-body' (as specified in [RFC 2616]), possibly truncated."
)
FTP_RESOURCE = (
    "For a target-URI of the 'ftp' scheme, a 'resource' record block shall contain the complete file "
    "returned by an FTP operation, possibly truncated."
)


@shall("6.4.2", HTTP_RESOURCE)
@shall("6.4.3", FTP_RESOURCE)
@pytest.mark.parametrize("uri", [URI, "https://example.org/a", "ftp://example.org/a"])
@pytest.mark.parametrize("truncated", [None, "time"])
@pytest.mark.parametrize(
    "body",
    [b"", b"\r\n\r\n", HTTP_CUT_OFF, gzip.compress(b"body", mtime=0), noise(200 * KIB)],
    ids=["nothing", "blank", "looks like a message", "looks encoded", "large"],
)
def test_the_block_of_a_resource_is_what_was_returned(uri: str, truncated: str | None, body: bytes) -> None:
    for given in (body, io.BytesIO(body)):
        target = io.BytesIO()
        with seekwarc.Writer(target, frame_size=64 * KIB) as writer:
            writer.write_resource(uri, given, "text/html", **({"truncated": truncated} if truncated else {}))
        with seekwarc.open(target.getvalue()) as archive:
            (found,) = archive
            assert findings(list(found.header.items())) == []
            assert found.content_type == "text/html"
            assert found.truncated == truncated
            assert found.block.read() == found.payload.read() == body
            assert found.payload.codings == ()
            assert found.http is None
            assert str(found.block_digest) == sha1(body)


DNS_RESOURCE = (
    "For a target-URI of the 'dns' scheme ([RFC 4501]), a 'resource' record shall contain material of "
    "content-type 'text/dns' (registered by [RFC 4027] and defined by [RFC 2540] and [RFC 1035]) "
    "representing the results of a single DNS lookup as described by the target-URI."
)


@shall("6.4.4", DNS_RESOURCE)
@pytest.mark.parametrize("uri", ["dns:example.org", "DNS:example.org", "dns://192.0.2.1/example.org?type=A"])
@pytest.mark.parametrize(
    "content_type", ["text/dns", "Text/DNS", "text/dns; charset=us-ascii", "text/dns;a=b"]
)
def test_a_dns_resource_is_text_dns(uri: str, content_type: str) -> None:
    block = b"20260102030405\r\nexample.org.\t3600\tIN\tA\t192.0.2.1\r\n"
    assert findings(fields_of("resource", {"WARC-Target-URI": uri, "Content-Type": content_type})) == []
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        writer.write_resource(uri, block, content_type)
    with seekwarc.open(target.getvalue()) as archive:
        (found,) = archive
        assert found.media_type.essence == "text/dns"
        assert found.payload.read() == found.block.read() == block


@shall("6.4.4", DNS_RESOURCE)
@pytest.mark.parametrize("content_type", [None, "text/plain", "application/dns", "text/dnsx", "text/dns-x"])
def test_a_dns_resource_of_another_type_is_refused_found_and_read(content_type: str | None) -> None:
    more = {"WARC-Target-URI": "dns:example.org", "Content-Type": content_type}
    with reading(stored(fields_of("resource", more), b"block")) as (found,):
        assert found.payload.read() == b"block"
    assert_refused(write("resource", more), "text/dns", "'resource'", "6.4.4")
    (finding,) = findings(fields_of("resource", more))
    assert (finding.code, finding.field, finding.clause) == ("condition", "Content-Type", "6.4.4")


@shall("6.4.4", DNS_RESOURCE)
def test_a_dns_resource_of_another_type_names_the_wrong_field() -> None:
    assert_refused(write("resource", {"WARC-Target-URI": "dns:example.org"}), "Content-Type", "'resource'")


@shall("6.4.4", DNS_RESOURCE)
def test_text_dns_is_required_of_no_other_record() -> None:
    other_uri = {"WARC-Target-URI": "http://example.org/dns:", "Content-Type": "text/plain"}
    assert findings(fields_of("resource", other_uri)) == []
    dns = {"WARC-Target-URI": "dns:example.org", "Content-Type": "text/plain"}
    assert findings(fields_of("metadata", dns)) == []


# 6.7.1 'revisit', general.

HAS_PROFILE = (
    "A 'revisit' record shall contain a WARC-Profile field which determines the interpretation of the "
    "record's fields and record block."
)


@shall("6.7.1", HAS_PROFILE)
def test_a_revisit_without_profile_is_refused_found_and_read() -> None:
    assert_refused(write("revisit", {"WARC-Profile": None}), "WARC-Profile", "'revisit'", "missing")
    assert_required("WARC-Profile", "revisit", "5.18")
    for value in ("", "identical-payload-digest", "http://example.org/a b", f"<{IDENTICAL}>"):
        assert_form("WARC-Profile", "revisit", value, "5.18")


@shall("6.7.1", HAS_PROFILE)
@pytest.mark.parametrize(
    ("profile", "found"),
    [
        (IDENTICAL, "by digest"),
        (OLD_IDENTICAL, "by digest"),
        (NOT_MODIFIED, "by validator"),
        (OLD_NOT_MODIFIED, "by validator"),
        (UNKNOWN_PROFILE, None),
        (None, None),
    ],
)
def test_the_profile_tells_what_a_revisit_is_of(profile: str | None, found: str | None) -> None:
    # One record has the payload digest of the revisit, another the ETag of its block.
    by_digest = response(1, b"by digest", warc_target_uri="http://example.org/other")
    by_validator = response(2, b"by validator")
    other = record("response", HTTP_HEAD.replace(b'"1"', b'"2"'), content_type=HTTP_TYPE, warc_date="2026-06")
    again = revisit(
        3,
        b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n',
        content_type=HTTP_TYPE,
        warc_profile=profile,
        warc_payload_digest=sha1(b"by digest"),
        warc_date="2026-12",
    )
    with collected(by_digest, by_validator, other, again) as collection:
        if found is None:
            with pytest.raises(seekwarc.UnsupportedError):
                collection.open_record(urn(3))
        else:
            assert collection.open_record(urn(3)).payload.read().decode() == found


UNKNOWN_PROFILES = (
    "A reader which does not recognize the profile URI shall not attempt to interpret the enclosing record "
    "or associated content body."
)


@shall("6.7.1", UNKNOWN_PROFILES)
@pytest.mark.parametrize("profile", [UNKNOWN_PROFILE, IDENTICAL + "/", IDENTICAL.replace("1.1", "1.2"), None])
def test_a_revisit_of_unknown_profile_is_not_interpreted(profile: str | None) -> None:
    # It says where its payload is, in every way in which the known profiles do.
    original = response(1, b"body")
    block = b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n'
    again = revisit(
        2,
        block,
        content_type=HTTP_TYPE,
        warc_profile=profile,
        warc_refers_to=f"<{urn(1)}>",
        warc_refers_to_target_uri=URI,
        warc_refers_to_date=DATE,
        warc_date="2026-12",
    )
    with collected(original, again) as collection:
        _, record_found = collection
        entry = collection.index.by_id(urn(2))[0]
        for asked in ({"which": urn(2)}, {"which": record_found}, {"which": entry}, {"uri": URI}):
            with pytest.raises(seekwarc.UnsupportedError, match=r"1\.warc, offset 0.*profile"):
                collection.open_record(**asked)
        assert record_found.http is None
        assert record_found.block.read() == block
        # What is known all the same: which record it is about.
        assert collection.refers_to(record_found).id == urn(1)


@shall("6.7.1", UNKNOWN_PROFILES)
@pytest.mark.parametrize("profile", [UNKNOWN_PROFILE, None])
def test_a_revisit_of_unknown_profile_stands_for_no_payload(profile: str | None) -> None:
    # A reader that follows a revisit to it does not know what the payload is.
    at_one = {"warc_refers_to": f"<{urn(1)}>", "warc_payload_digest": None}
    unknown = revisit(2, b"diff", warc_profile=profile, **at_one)
    files = [response(1, b"other"), unknown, revisit(3, warc_refers_to=f"<{urn(2)}>")]
    refusals = (seekwarc.UnsupportedError, seekwarc.NotFoundError)
    with collected(*files) as collection, pytest.raises(refusals):
        collection.open_record(urn(3))
    with seekwarc.open(unknown) as archive:
        duplicates = seekwarc.Duplicates()
        duplicates.add_archive(archive)
        assert len(duplicates) == 0


# 6.7.2 Profile identical-payload-digest.

COMPARED_DIGEST = (
    "To report the payload digest used for comparison, a 'revisit' record using this profile shall include a "
    "WARC-Payload-Digest field, with a value of the digest that was calculated on the payload."
)


@shall("6.7.2", COMPARED_DIGEST)
@pytest.mark.parametrize("profile", [IDENTICAL, OLD_IDENTICAL])
def test_a_revisit_by_digest_without_one_is_refused_found_and_read(profile: str) -> None:
    more = {"WARC-Profile": profile, "WARC-Payload-Digest": None}
    assert_refused(write("revisit", more), "WARC-Payload-Digest", "'revisit'", "6.7.2")
    assert_found(fields_of("revisit", more), "condition", "WARC-Payload-Digest", "6.7.2")
    original = response(1, b"body")
    named = revisit(2, warc_profile=profile, warc_payload_digest=None, warc_refers_to=f"<{urn(1)}>")
    with collected(original, named) as collection:
        assert collection.open_record(urn(2)).payload.read() == b"body"


@shall("6.7.2", COMPARED_DIGEST)
@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
@pytest.mark.parametrize("kind", ["response", "resource"])
def test_the_written_digest_of_a_revisit_is_of_the_payload(kind: str, algorithm: str, tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    with seekwarc.Writer(path, dedup=seekwarc.Duplicates(), digest=algorithm) as writer:
        for block in (b"HTTP/1.1 200 OK\r\nX: 1\r\n\r\nbody", b"HTTP/1.1 200 OK\r\nX: 22\r\n\r\nbody"):
            if kind == "response":
                last = writer.write_response(URI, block)
            else:
                last = writer.write_resource(URI, b"body", "text/plain")
    assert last.type == "revisit"
    assert last.payload_digest.startswith(f"{algorithm}:")
    with seekwarc.Collection([path]) as collection:
        found = collection.open_record(last.id)
        assert found.payload.read() == b"body"
        checks = {check.field: check.verdict for check in found.check_digests()}
        assert checks == {"WARC-Block-Digest": "valid", "WARC-Payload-Digest": "valid"}


@shall("6.7.2", COMPARED_DIGEST)
def test_the_digest_of_a_revisit_is_checked_with_its_payload() -> None:
    # The digest of the payload of an original that states none is computed.
    silent = response(1, b"another body", warc_payload_digest=None)
    for original in (silent, response(1, b"another body")):
        files = [original, revisit(2, warc_refers_to=f"<{urn(1)}>")]
        with collected(*files) as collection, pytest.raises(seekwarc.NotFoundError):
            collection.open_record(urn(2))


NO_BLOCK = (
    "A 'revisit' record using this profile may have no record block, in which case a Content-Length of zero "
    "must be written."
)
NO_BODY = (
    "A 'revisit' record using this profile may have no content body, in which case a Content-Length of zero "
    "shall be written."
)


@shall("6.7.2", NO_BLOCK)
@shall("6.7.3", NO_BODY)
@pytest.mark.parametrize("profile", [IDENTICAL, NOT_MODIFIED])
def test_the_length_of_a_revisit_without_block_is_zero(profile: str) -> None:
    for block in ({}, {"block": b""}, {"block": io.BytesIO()}):
        header = written(
            lambda writer, block=block: writer.write_revisit(
                URI, profile=profile, payload_digest=DIGEST, **block
            )
        )
        assert header.get_all("Content-Length") == ("0",)
    original, again = response(1, b"body"), revisit(2, warc_profile=profile, warc_refers_to=f"<{urn(1)}>")
    with collected(original + again) as collection:
        _, found = collection
        assert found.content_length == 0
        assert found.block.read() == b""
        assert found.http is None
        # There is no head of its own, so it is that of the original.
        opened = collection.open_record(urn(2))
        assert opened.payload.read() == b"body"
        assert opened.http.get("ETag") == '"1"'


@shall("6.7.2", NO_BLOCK)
def test_a_resource_that_is_met_again_leaves_no_block() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, dedup=seekwarc.Duplicates()) as writer:
        for _ in range(2):
            last = writer.write_resource(URI, b"body", "text/plain")
    assert last.type == "revisit"
    assert last.header.get_all("Content-Length") == ("0",)
    assert "Content-Type" not in last.header


LIKE_A_RESPONSE = (
    "If a record block is present, it shall be interpreted the same as a 'response' record type for the same "
    "URI, but truncated to avoid storing the duplicate content."
)


@shall("6.7.2", LIKE_A_RESPONSE)
@pytest.mark.parametrize("profile", [IDENTICAL, OLD_IDENTICAL, NOT_MODIFIED])
@pytest.mark.parametrize(
    "block",
    [
        HTTP_HEAD,
        b"HTTP/1.1 200 OK\nContent-Length: 1000\nSet-Cookie: a\nSet-Cookie: b\n\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nX: without an end",
        b"<p>no message at all",
        b"",
    ],
)
@pytest.mark.parametrize("content_type", [HTTP_TYPE, "message/http", "text/plain", None])
def test_the_block_of_a_revisit_is_read_like_that_of_a_response(
    profile: str, block: bytes, content_type: str | None
) -> None:
    with reading(
        record("response", block, content_type=content_type),
        record("revisit", block, content_type=content_type, warc_profile=profile),
    ) as (one, other):
        assert one.http == other.http
        assert (one.http is not None) == (b"HTTP/1.1" in block and "http" in (content_type or ""))


@shall("6.7.2", LIKE_A_RESPONSE)
def test_a_revisit_has_its_own_head_and_the_originals_payload(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.zst"
    again = b"HTTP/1.1 203 Non-Authoritative Information\r\nX-Visit: 2\r\n\r\n"
    with seekwarc.Writer(path, dedup=seekwarc.Duplicates()) as writer:
        writer.write_response(URI, HTTP_HEAD + b"body")
        last = writer.write_response(URI, again + b"body")
    assert last.header["Content-Type"] == HTTP_TYPE
    with seekwarc.Collection([path]) as collection:
        found = collection.open_record(last.id)
        # Truncated: what is duplicate content is not stored again.
        assert found.block.read() == again
        assert (found.http.status, found.http.get("X-Visit")) == (203, "2")
        assert found.payload.read() == b"body"


@shall("6.7.2", LIKE_A_RESPONSE)
@pytest.mark.parametrize("uri", [URI, "https://example.org/", "ftp://example.org/"])
def test_the_block_of_a_revisit_gets_the_type_that_a_response_would(uri: str) -> None:
    as_response = written(lambda writer: writer.write_response(uri, HTTP_HEAD))
    as_revisit = written(lambda writer: writer.write_revisit(uri, HTTP_HEAD, payload_digest=DIGEST))
    assert as_revisit.get("Content-Type") == as_response.get("Content-Type")


BY_LENGTH = "A WARC-Truncated header with reason 'length' shall be used for any identical-digest truncation."


@shall("6.7.2", BY_LENGTH)
@pytest.mark.parametrize("reason", [None, "time", "disconnect", "unspecified", "lengthy"])
@pytest.mark.parametrize("profile", [IDENTICAL, OLD_IDENTICAL])
def test_another_reason_or_none_is_refused_found_and_read(reason: str | None, profile: str) -> None:
    more = {"WARC-Truncated": reason, "WARC-Profile": profile}
    assert_refused(write("revisit", more), "WARC-Truncated", "'revisit'", "6.7.2")
    assert_found(fields_of("revisit", more), "condition", "WARC-Truncated", "6.7.2")
    # Most that are in use have none.
    again = revisit(2, warc_truncated=reason, warc_profile=profile)
    with collected(response(1, b"body"), again) as collection:
        assert collection.open_record(urn(2)).payload.read() == b"body"


@shall("6.7.2", BY_LENGTH)
def test_the_reason_of_a_revisit_is_filled_in() -> None:
    header = written(lambda writer: writer.write_revisit(URI, HTTP_HEAD, payload_digest=DIGEST))
    assert header.get_all("WARC-Truncated") == ("length",)
    with seekwarc.Writer(io.BytesIO(), dedup=seekwarc.Duplicates()) as writer:
        for _ in range(2):
            last = writer.write_response(URI, HTTP_HEAD + b"body")
    assert (last.type, last.header.get_all("WARC-Truncated")) == ("revisit", ("length",))


@shall("6.7.3", NO_BODY)
def test_a_revisit_not_modified_needs_no_digest_or_reason() -> None:
    more = {"WARC-Profile": NOT_MODIFIED, "WARC-Payload-Digest": None, "WARC-Truncated": None}
    assert findings(fields_of("revisit", more)) == []
    header = written(lambda writer: writer.write_revisit(URI, profile=NOT_MODIFIED))
    assert header["Content-Length"] == "0"
    assert not {"WARC-Truncated", "WARC-Payload-Digest", "Content-Type"} & set(header)


# 6.8 'conversion'.


@shall(
    "6.8",
    "A 'conversion' record shall contain an alternative version of another record's content that was created "
    "as the result of an archival process.",
)
def test_a_conversion_refers_to_its_original(tmp_path: Path) -> None:
    crawl, converted = tmp_path / "crawl.warc.zst", tmp_path / "converted.warc.zst"
    with seekwarc.Writer(crawl) as writer:
        original = writer.write_response(URI, HTTP_HEAD + b"body", date=DATE)
    with seekwarc.Writer(converted) as writer:
        # The same bytes are no duplicate here: a conversion is complete, with no need of the original.
        done = writer.write_conversion(URI, b"BODY", "text/x-upper", refers_to=original.id)
        twice = writer.write_conversion(URI, b"bODY", "text/x-lower", refers_to=done.id)
    assert findings(list(done.header.items())) == []
    with seekwarc.Collection([crawl, converted]) as collection:
        found = collection.open_record(twice.id)
        assert found.payload.read() == found.block.read() == b"bODY"
        assert str(found.media_type) == "text/x-lower"
        assert found.refers_to.id == done.id
        assert found.refers_to.refers_to.id == original.id
        assert [it.id for it in found.refers_to.refers_to.referring_to] == [done.id]
        # Who asks for the URI gets what was harvested.
        assert collection.open_record(uri=URI).payload.read() == b"body"


# 6.9 'continuation'.

APPENDED = (
    "Record blocks from 'continuation' records must be appended to corresponding prior record block(s) (e.g. "
    "from other WARC files) to create the logically complete full-sized original record."
)


def segments(*parts: bytes, kind: str = "resource", **more: str | None) -> list[bytes]:
    """Return the segments of a record, one a record."""
    total = str(sum(map(len, parts)))
    files = [record(kind, parts[0], warc_record_id=f"<{urn(1)}>", warc_segment_number="1", **more)]
    for number, part in enumerate(parts[1:], 2):
        files.append(
            record(
                "continuation",
                part,
                warc_record_id=f"<{urn(number)}>",
                warc_segment_number=str(number),
                warc_segment_origin_id=f"<{urn(1)}>",
                warc_segment_total_length=total if number == len(parts) else None,
            )
        )
    return files


@shall("6.9", APPENDED)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("asked", [1, 2, 3])
def test_the_blocks_of_continuations_are_appended(order: tuple[int, ...], asked: int, *, apart: bool) -> None:
    parts = [noise(1000, seed=number) for number in range(3)]
    files = segments(*parts)
    others = [record("continuation", b"x", warc_segment_origin_id="<urn:x:other>"), response(9, b"y")]
    ordered = [files[number] for number in order] + others
    with collected(*(ordered if apart else [b"".join(ordered)])) as collection:
        whole = collection.open_record(urn(asked))
        assert (whole.type, whole.id, whole.content_length) == ("resource", urn(1), 3000)
        assert whole.block.read() == whole.payload.read() == b"".join(parts)
        assert whole.block.pread(990, 1020) == b"".join(parts)[990:2010]
        assert [it.id for it in whole.segments] == [urn(1), urn(2), urn(3)]


@shall("6.9", APPENDED)
def test_the_message_in_segments_is_one() -> None:
    # Its head is cut, and its chunks are.
    message = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n5\r\n more\r\n0\r\n\r\n"
    files = segments(message[:20], message[20:55], message[55:], kind="response", content_type=HTTP_TYPE)
    with collected(*files) as collection:
        whole = collection.open_record(urn(1))
        assert whole.http.status == 200
        assert whole.payload.read() == b"body more"


CONTINUATION_FIELDS = (
    "A continuation record shall contain the named fields WARC-Segment-Origin-ID and WARC-Segment-Number, "
    "and the last 'continuation' record of a series shall contain a WARC-Segment-Total-Length field."
)


@shall("6.9", CONTINUATION_FIELDS)
@pytest.mark.parametrize("field", ["WARC-Segment-Origin-ID", "WARC-Segment-Number"])
def test_an_incomplete_continuation_is_refused_and_found(field: str) -> None:
    assert_refused(write("continuation", {field: None}), field, "'continuation'", "missing")
    assert_required(field, "continuation", "5.20" if field == "WARC-Segment-Number" else "5.21")


@shall("6.9", CONTINUATION_FIELDS)
def test_a_continuation_is_written_with_its_fields() -> None:
    header = written(
        lambda writer: writer.write_continuation(
            URI, b"more", origin_id=OTHER_ID, segment_number=2, total_length=8
        )
    )
    assert header["WARC-Segment-Origin-ID"] == OTHER_ID
    assert header["WARC-Segment-Number"] == "2"
    assert header["WARC-Segment-Total-Length"] == "8"
    assert "WARC-Payload-Digest" not in header


@shall("6.9", CONTINUATION_FIELDS)
def test_a_series_without_its_last_record_is_not_joined() -> None:
    files = segments(b"some", b"more", b"most")
    with collected(*files[:2]) as collection:
        with pytest.raises(seekwarc.SegmentError, match="no total length"):
            collection.open_record(urn(1))
        with pytest.raises(seekwarc.SegmentError, match="no total length"):
            collection.open_record(urn(2))
