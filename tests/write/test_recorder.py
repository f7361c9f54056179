"""Digests of written records, and revisits of payloads archived before (clause 6.7.2)."""

from __future__ import annotations

import base64
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.write.block_reader import SizedStream
from seekwarc.write.dedup import Original
from tests.support.series import (
    MAX,
    Found,
    assert_conforms,
    errors_of,
    files_in,
    labelled,
    logical_records,
    segmented,
    series_of,
    user_records,
)
from tests.support.writing import (
    DATE,
    HTTP_HEAD,
    KIB,
    MIB,
    RESPONSE,
    URI,
    Stream,
    header_for,
    noise,
    record_id,
    text,
)

FRAME = 64 * KIB
OTHER_HEAD = b"HTTP/1.1 200 OK\r\nServer: another\r\nDate: today\r\n\r\n"
CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
LATER = "2026-12-24T18:00:00Z"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
SIZES = [100, FRAME, 300_000]
WRAPS = [bytes, io.BytesIO, Stream]


def chunked(body: bytes, size: int = 7000) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return CHUNKED_HEAD + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def response(block: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "response", "block": block, "content_type": RESPONSE, **fields}


def resource(block: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "resource", "block": block, "content_type": "text/plain", **fields}


def put(writer: seekwarc.Writer, number: int, record: dict[str, Any]) -> seekwarc.Written:
    return writer.write(**{"target_uri": URI, "record_id": record_id(number), "date": DATE, **record})


def recorded(*records: dict[str, Any], **options: Any) -> list[Found]:
    """Write records into one file, duplicates left out, and read them back."""
    target = io.BytesIO()
    options = {"frame_size": FRAME, "dedup": seekwarc.Duplicates(), **options}
    with seekwarc.Writer(target, **options) as writer:
        for number, record in enumerate(records):
            put(writer, number, record)
    with seekwarc.open(target.getvalue()) as archive:
        found = [Found("", r.header, r.block.read(), r.offset, r.length) for r in archive]
    assert [errors_of(record.header) for record in found] == [[] for _ in records]
    return found


def types(*records: dict[str, Any], **options: Any) -> list[str | None]:
    return [record.type for record in recorded(*records, **options)]


# Revisits.


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("digest", ["sha1", "sha256"])
def test_a_duplicate_becomes_a_revisit_with_all_its_fields(
    size: int, wrap: Any, threads: int, digest: Any
) -> None:
    payload = noise(size)
    first, again, after = recorded(
        response(wrap(HTTP_HEAD + payload)),
        response(wrap(OTHER_HEAD + payload), target_uri="http://example.org/again", date=LATER),
        resource(b"after"),
        threads=threads,
        digest=digest,
    )
    assert (first.type, first.block) == ("response", HTTP_HEAD + payload)
    assert again.block == OTHER_HEAD
    assert dict(again.header) == {
        "WARC-Type": "revisit",
        "WARC-Record-ID": f"<{record_id(1)}>",
        "WARC-Date": LATER,
        "WARC-Target-URI": "http://example.org/again",
        "WARC-Profile": IDENTICAL,
        "WARC-Payload-Digest": labelled(digest, payload),
        "WARC-Refers-To": f"<{record_id(0)}>",
        "WARC-Refers-To-Target-URI": URI,
        "WARC-Refers-To-Date": DATE,
        "WARC-Truncated": "length",
        "WARC-Block-Digest": labelled(digest, OTHER_HEAD),
        "Content-Type": RESPONSE,
        "Content-Length": str(len(OTHER_HEAD)),
    }
    assert again.length < KIB
    assert (after.type, after.block) == ("resource", b"after")


def test_a_duplicate_is_returned_as_a_revisit() -> None:
    with seekwarc.Writer(io.BytesIO(), dedup=seekwarc.Duplicates()) as writer:
        first = writer.write_response(URI, HTTP_HEAD + b"body")
        again = writer.write_response(URI, HTTP_HEAD + b"body")
    assert (first.type, again.type) == ("response", "revisit")
    assert again.refers_to_id == first.id
    assert again.offset == first.offset + first.length


def test_a_reader_resolves_the_revisit() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, dedup=seekwarc.Duplicates()) as writer:
        for head in (HTTP_HEAD, OTHER_HEAD):
            writer.write_response(URI, head + text(1000))
    with seekwarc.open(target.getvalue()) as archive:
        _, record = archive
        assert record.http is not None
        assert record.http.raw == OTHER_HEAD
        checks = {check.field: check.verdict for check in record.check_digests()}
    assert checks == {"WARC-Block-Digest": "valid", "WARC-Payload-Digest": "elsewhere"}


def test_all_duplicates_refer_to_the_first_record() -> None:
    found = recorded(*[response(HTTP_HEAD + b"body")] * 4)
    assert [record.type for record in found] == ["response", "revisit", "revisit", "revisit"]
    assert {record["WARC-Refers-To"] for record in found[1:]} == {f"<{record_id(0)}>"}


def test_a_revisit_refers_to_the_original_date() -> None:
    found = recorded(
        response(HTTP_HEAD + b"body", date="2026-11-05T12:00:00.123456789Z"), response(HTTP_HEAD + b"body")
    )
    assert found[1]["WARC-Refers-To-Date"] == "2026-11-05T12:00:00.123456789Z"


def test_a_revisit_keeps_the_fields_of_the_capture() -> None:
    given = {
        "WARC-IP-Address": "192.0.2.1",
        "WARC-Concurrent-To": "<urn:x:9>",
        "WARC-Warcinfo-ID": "<urn:x:8>",
        "WARC-Identified-Payload-Type": "text/plain",
        "X-Own": "kept",
    }
    _, again = recorded(response(HTTP_HEAD + b"body"), response(OTHER_HEAD + b"body", headers=given))
    assert again.type == "revisit"
    for name, value in given.items():
        assert again[name] == value


def test_a_revisit_drops_fields_that_are_no_longer_right() -> None:
    block = OTHER_HEAD + b"body"
    given = {
        "content-length": str(len(block)),
        "warc-block-digest": labelled("sha256", block),
        "content-type": "application/http",
    }
    _, again = recorded(response(HTTP_HEAD + b"body"), response(block, headers=given))
    assert again.type == "revisit"
    assert again["Content-Length"] == str(len(OTHER_HEAD))
    assert again["WARC-Block-Digest"] == labelled("sha1", OTHER_HEAD)
    assert again.header.get_all("Content-Type") == ("application/http",)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wrap", WRAPS)
def test_chunked_coding_does_not_change_the_payload_digest(size: int, wrap: Any) -> None:
    body = noise(size)
    spellings = [
        HTTP_HEAD + body,
        chunked(body),
        chunked(body, 1234),
        # Crawlers undo the coding and keep the head.
        CHUNKED_HEAD + body,
    ]
    for first in spellings:
        others = [spelling for spelling in spellings if spelling is not first]
        found = recorded(*(response(wrap(block)) for block in (first, *others)))
        assert [record.type for record in found] == ["response", "revisit", "revisit", "revisit"]
        heads = [block[: block.index(b"\r\n\r\n") + 4] for block in others]
        assert [record.block for record in found[1:]] == heads


def test_resources_become_revisits_too() -> None:
    first, again = recorded(resource(text(1000)), resource(text(1000), target_uri="file:///again"))
    assert first.type == "resource"
    assert first["WARC-Payload-Digest"] == labelled("sha1", text(1000))
    assert again.type == "revisit"
    assert again.block == b""
    assert again["Content-Length"] == "0"
    assert again["Content-Type"] is None
    assert again["WARC-Payload-Digest"] == labelled("sha1", text(1000))
    assert again["WARC-Refers-To"] == f"<{record_id(0)}>"


def test_a_revisit_of_a_resource_has_no_block() -> None:
    """Its payload is its block, whatever that is (clause 6.4)."""
    _, again = recorded(*(resource(HTTP_HEAD + b"body", content_type=RESPONSE) for _ in range(2)))
    assert again.type == "revisit"
    assert again["WARC-Payload-Digest"] == labelled("sha1", HTTP_HEAD + b"body")
    assert again.block == b""


def test_without_dedup_a_resource_has_no_payload_digest() -> None:
    (found,) = recorded(resource(text(1000)), dedup=None)
    assert "WARC-Payload-Digest" not in found.header


@pytest.mark.parametrize("one", [resource, lambda body: response(HTTP_HEAD + body)])
@pytest.mark.parametrize("other", [resource, lambda body: response(HTTP_HEAD + body)])
def test_a_duplicate_is_found_for_any_kind_of_block(one: Any, other: Any) -> None:
    assert types(one(text(1000)), other(text(1000)))[1] == "revisit"


def test_digests_of_an_http_message_as_resource_are_right() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, dedup=seekwarc.Duplicates()) as writer:
        writer.write_resource(URI, HTTP_HEAD + b"body", RESPONSE)
    with seekwarc.open(target.getvalue()) as archive:
        (record,) = archive
        assert {check.verdict for check in record.check_digests()} == {"valid"}


@pytest.mark.parametrize(
    "record",
    [
        response(HTTP_HEAD),
        response(chunked(b"")),
        response(b""),
        resource(b""),
    ],
)
def test_an_empty_payload_never_becomes_a_revisit(record: dict[str, Any]) -> None:
    assert types(*[record] * 3) == [record["type"]] * 3


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wrap", WRAPS)
def test_a_truncated_record_is_no_duplicate_and_no_original(size: int, wrap: Any) -> None:
    headers = {"WARC-Truncated": "time"}
    block = HTTP_HEAD + noise(size)

    def both() -> tuple[dict[str, Any], dict[str, Any]]:
        return response(wrap(block), headers=headers), response(wrap(block))

    truncated, whole = both()
    assert types(truncated, whole) == ["response", "response"]
    truncated, whole = both()
    assert types(whole, truncated) == ["response", "response"]


@pytest.mark.parametrize("size", SIZES)
def test_an_incomplete_chunked_body_is_no_duplicate(size: int) -> None:
    block = chunked(noise(size))[:-9]
    found = recorded(*[response(block)] * 2)
    assert [record.type for record in found] == ["response", "response"]
    assert all("WARC-Payload-Digest" not in record.header for record in found)


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "request", "content_type": "application/http; msgtype=request"},
        {"type": "metadata", "content_type": "text/plain"},
        {"type": "conversion", "content_type": "text/plain"},
        {"type": "response", "content_type": "text/plain"},
        {"type": "x-own", "content_type": "text/plain"},
    ],
)
def test_other_types_are_neither_duplicates_nor_originals(fields: dict[str, Any]) -> None:
    record = {"block": b"the same", **fields}
    assert types(record, record) == [fields["type"]] * 2
    assert types(record, resource(b"the same")) == [fields["type"], "resource"]
    assert types(resource(b"the same"), record) == ["resource", fields["type"]]


def test_raw_records_are_written_as_they_are() -> None:
    target = io.BytesIO()
    header = header_for(4)
    with seekwarc.Writer(target, dedup=seekwarc.Duplicates()) as writer:
        writer.write_resource(URI, b"body", "text/plain")
        writer.write_raw(header, b"body")
    with seekwarc.open(target.getvalue()) as archive:
        assert list(archive)[1].header.raw == header


def test_a_given_payload_digest_is_used_for_dedup() -> None:
    given = {"headers": {"WARC-Payload-Digest": "xyz:1234"}}
    found = recorded(resource(b"one", **given), resource(b"two", **given), resource(b"two"))
    assert [record.type for record in found] == ["resource", "revisit", "resource"]
    assert found[1]["WARC-Payload-Digest"] == "xyz:1234"


def test_a_first_segment_gets_no_payload_digest() -> None:
    """Clause 5.9: in segments it is the digest of the payload of the logical record."""
    segment = response(HTTP_HEAD + b"first part", headers={"WARC-Segment-Number": "1"})
    (found,) = recorded(segment, dedup=None)
    assert "WARC-Payload-Digest" not in found.header


def test_a_first_segment_is_no_duplicate() -> None:
    segment = response(HTTP_HEAD + b"first part", headers={"WARC-Segment-Number": "1"})
    assert types(response(HTTP_HEAD + b"first part"), segment, segment) == ["response"] * 3


# What it costs.


@pytest.mark.parametrize("wrap", WRAPS)
def test_large_duplicates_take_no_space(wrap: Any) -> None:
    payload = noise(3 * MIB)

    def size(*records: dict[str, Any]) -> int:
        target = io.BytesIO()
        with seekwarc.Writer(target, dedup=seekwarc.Duplicates()) as writer:
            for number, record in enumerate(records):
                put(writer, number, record)
        return len(target.getvalue())

    alone = size(response(HTTP_HEAD + payload))
    # Behind another record a large one has a table of its own beside that of the file.
    first = response(HTTP_HEAD + payload)
    assert size(first, *(response(wrap(HTTP_HEAD + payload)) for _ in range(5))) < alone + 5 * KIB


def test_the_spool_of_a_duplicate_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seekwarc.write.spool.SPOOL_IN_MEMORY", 1000)
    spools = []
    original = tempfile.SpooledTemporaryFile

    def watched(*args: Any, **options: Any) -> Any:
        spools.append(original(*args, **options))
        return spools[-1]

    monkeypatch.setattr("seekwarc.write.spool.tempfile.SpooledTemporaryFile", watched)
    with seekwarc.Writer(tmp_path / "a.warc.zst", frame_size=FRAME, dedup=seekwarc.Duplicates()) as writer:
        for _ in range(3):
            writer.write_response(URI, Stream(HTTP_HEAD + noise(500_000)))
        assert len(os.listdir(tmp_path)) == 1
    assert [spool.closed for spool in spools] == [True] * 3
    assert os.listdir(tmp_path) == ["a.warc.zst"]


def test_a_long_http_head_is_kept_whole() -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Long: " + noise(30_000).hex().encode() + b"\r\n\r\n"
    _, again = recorded(*(response(Stream(head + noise(300_000))) for _ in range(2)))
    assert (again.type, again.block) == ("revisit", head)


# Failures.


@pytest.mark.parametrize("size", [100, 300_000])
def test_a_failed_record_is_no_original(size: int) -> None:
    block = HTTP_HEAD + noise(size)
    target = io.BytesIO()
    with seekwarc.Writer(target, frame_size=FRAME, threads=1, dedup=seekwarc.Duplicates()) as writer:
        with pytest.raises(seekwarc.FormatError):
            writer.write_response(URI, Stream(block), length=len(block) + 1)
        with pytest.raises(seekwarc.RuleError):
            writer.write_response("no uri", block)
        assert writer.write_response(URI, Stream(block)).type == "response"
        assert writer.write_response(URI, Stream(block)).type == "revisit"


def test_dedup_needs_digests() -> None:
    with pytest.raises(ValueError, match="dedup needs digests"):
        seekwarc.Writer(io.BytesIO(), dedup=seekwarc.Duplicates(), digest=None)


# Any object that knows payloads.


class Known:
    """Knows one payload, and records its calls."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.told: list[tuple[str, Original]] = []

    def find(self, digest: seekwarc.Digest) -> Original | None:
        self.asked.append(str(digest))
        known = str(digest) == labelled("sha1", b"known")
        return Original("urn:x:1", "http://example.org/first", "2020-01-02T03:04:05Z") if known else None

    def add(self, digest: seekwarc.Digest, original: Original) -> None:
        self.told.append((str(digest), original))


def test_any_deduplicator_may_be_given() -> None:
    known = Known()
    first, again = recorded(response(HTTP_HEAD + b"new"), response(HTTP_HEAD + b"known"), dedup=known)
    assert first.type == "response"
    assert again["WARC-Refers-To"] == "<urn:x:1>"
    assert again["WARC-Refers-To-Target-URI"] == "http://example.org/first"
    assert again["WARC-Refers-To-Date"] == "2020-01-02T03:04:05Z"
    assert known.asked == [labelled("sha1", b"new"), labelled("sha1", b"known")]
    assert known.told == [(labelled("sha1", b"new"), Original(record_id(0), URI, DATE))]


# Series.


def series(folder: Path, write: Callable[[seekwarc.Writer], None]) -> list[Any]:
    options = {"frame_size": FRAME, "max_file_size": MAX, "dedup": seekwarc.Duplicates()}
    with seekwarc.Writer(folder / "crawl.warc.zst", **options) as writer:
        write(writer)
    files = files_in(folder)
    assert_conforms(files)
    return files


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_revisit_of_segments_refers_to_the_first_one(wrap: Any, tmp_path: Path) -> None:
    block = HTTP_HEAD + noise(700_000)

    def write(writer: seekwarc.Writer) -> None:
        for number in range(3):
            put(writer, number, response(wrap(block)))

    files = series(tmp_path, write)
    assert len(files) == 3, "revisits go where the last segment is"
    (segments,) = segmented(files)
    assert [record.type for record in files[-1].records] == ["warcinfo", "continuation", "revisit", "revisit"]
    for again in files[-1].records[2:]:
        assert again["WARC-Refers-To"] == segments[0]["WARC-Record-ID"] == f"<{record_id(0)}>"
        assert again["WARC-Segment-Number"] is None
    assert logical_records(files)[0][1] == block


def test_a_truncated_segmented_record_is_no_original(tmp_path: Path) -> None:
    block = HTTP_HEAD + noise(700_000)

    def write(writer: seekwarc.Writer) -> None:
        put(writer, 0, response(block, headers={"WARC-Truncated": "time"}))
        put(writer, 1, response(block))

    files = series(tmp_path, write)
    assert "revisit" not in [record.type for record in user_records(files)]


def test_small_duplicates_fill_files_slowly(tmp_path: Path) -> None:
    def write(writer: seekwarc.Writer) -> None:
        for number in range(100):
            put(writer, number, resource(noise(40_000)))

    (file,) = series(tmp_path, write)
    assert [record.type for record in file.records[1:]] == ["resource", *["revisit"] * 99]


# Blocks of just one frame.


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_block_that_just_fits_into_a_frame_is_not_cut(wrap: Any, tmp_path: Path) -> None:
    (file,) = series_of(tmp_path, resource(wrap(noise(FRAME))))
    _, contents = (frame.content for frame in file.frames() if frame.is_data)
    assert contents.endswith(noise(FRAME) + b"\r\n\r\n")


@pytest.mark.parametrize("wrap", WRAPS)
def test_a_head_of_just_one_frame_may_lack_its_blank_line(wrap: Any) -> None:
    head = b"HTTP/1.1 304 Not Modified\r\nX-Long: "
    (record,) = recorded(response(wrap(head.ljust(FRAME, b"x"))), digest="sha256")
    assert record["WARC-Payload-Digest"] == labelled("sha256", b"")


def test_a_file_of_just_one_frame_may_grow_while_it_is_read(tmp_path: Path) -> None:
    block = noise(5 * FRAME)
    with seekwarc.Writer(tmp_path / "a.warc.zst", frame_size=FRAME) as writer:
        put(writer, 1, resource(SizedStream(io.BytesIO(block), FRAME)))
    (file,) = files_in(tmp_path)
    assert [record.block for record in file.records] == [block]


def test_a_long_http_head_leaves_less_room_in_the_first_segment(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nX-Long: %s\r\n\r\n" % base64.b64encode(noise(40_000))
    assert_conforms(series_of(tmp_path, response(head + noise(2 * MAX))))
