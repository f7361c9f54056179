"""Payloads that were archived before, in this file or in an older one."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.write.dedup import Original
from tests.support.series import errors_of, labelled
from tests.support.writing import DATE, HTTP_HEAD, KIB, RESPONSE, URI, Stream, noise, record_id, text

ONE = Original("urn:x:1", "http://example.org/1", "2020-01-02T03:04:05Z")
TWO = Original("urn:x:2", "http://example.org/2", "2021-01-02T03:04:05Z")
PAYLOAD = text(1000)
SHA1 = hashlib.sha1(PAYLOAD)


def digest(text: str) -> seekwarc.Digest:
    return seekwarc.Digest.parse(text)


def record(
    *fields: tuple[str, str], block: bytes = HTTP_HEAD + PAYLOAD, version: str = "1.0", **changes: str | None
) -> bytes:
    """A record as other tools write it: fields are replaced by name, or left out where None."""
    given: dict[str, str | None] = {
        "WARC-Type": "response",
        "WARC-Record-ID": "<urn:x:1>",
        "WARC-Date": "2020-01-02T03:04:05Z",
        "WARC-Target-URI": "http://example.org/1",
        "Content-Type": RESPONSE,
        "WARC-Payload-Digest": labelled("sha1", PAYLOAD),
        **{name.replace("_", "-"): value for name, value in changes.items()},
    }
    lines = [f"{name}: {value}" for name, value in [*given.items(), *fields] if value is not None]
    head = "\r\n".join([f"WARC/{version}", *lines, f"Content-Length: {len(block)}", "", ""])
    return head.encode() + block + b"\r\n\r\n"


def seeded(*archives: bytes) -> seekwarc.Duplicates:
    known = seekwarc.Duplicates()
    for data in archives:
        with seekwarc.open(data) as archive:
            known.add_archive(archive)
    return known


def written(known: seekwarc.Duplicates, block: Any = HTTP_HEAD + PAYLOAD) -> seekwarc.Written:
    with seekwarc.Writer(io.BytesIO(), dedup=known, frame_size=64 * KIB) as writer:
        return writer.write_response(URI, block)


# In memory.


def test_an_added_payload_is_found() -> None:
    known = seekwarc.Duplicates()
    assert known.find(digest("sha1:abc")) is None
    assert len(known) == 0
    known.add(digest("sha1:abc"), ONE)
    known.add(digest("md5:abc"), TWO)
    assert known.find(digest("sha1:abc")) == ONE
    assert known.find(digest("md5:abc")) == TWO
    assert known.find(digest("sha1:abd")) is None
    assert len(known) == 2


def test_the_first_record_with_a_payload_is_kept() -> None:
    known = seekwarc.Duplicates()
    for capture in (ONE, TWO):
        known.add(digest("sha1:abc"), capture)
    assert known.find(digest("sha1:abc")) == ONE
    assert len(known) == 1


@pytest.mark.parametrize("prefix", ["sha1", "SHA1", "SHA-1", "sha-1"])
@pytest.mark.parametrize(
    "value",
    [
        SHA1.hexdigest(),
        SHA1.hexdigest().upper(),
        base64.b32encode(SHA1.digest()).decode(),
        base64.b32encode(SHA1.digest()).decode().lower(),
        base64.b64encode(SHA1.digest()).decode(),
    ],
)
def test_a_digest_is_the_same_in_all_its_spellings(prefix: str, value: str) -> None:
    known = seekwarc.Duplicates()
    known.add(digest(labelled("sha1", PAYLOAD)), ONE)
    assert known.find(digest(f"{prefix}:{value}")) == ONE


def test_payloads_take_little_memory() -> None:
    known = seekwarc.Duplicates()
    count = 5000
    tracemalloc.start()
    for number in range(count):
        value = hashlib.sha1(b"%d" % number).hexdigest()
        capture = Original(record_id(number), f"http://example.org/page/{number}", f"{number:04}-01-01")
        known.add(digest(f"sha1:{value}"), capture)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(known) == count
    assert taken / count < 700


# Older files.


@pytest.mark.parametrize("wrap", [bytes, Stream])
@pytest.mark.parametrize("size", [1000, 300_000])
def test_payloads_of_an_older_file_become_revisits(wrap: Any, size: int, tmp_path: Path) -> None:
    block = HTTP_HEAD + noise(size)
    path = tmp_path / "old.warc.zst"
    with seekwarc.Writer(path, frame_size=64 * KIB) as writer:
        writer.write_warcinfo({"software": "test"})
        original = writer.write_response("http://example.org/first", block, date=DATE)
    known = seekwarc.Duplicates()
    with seekwarc.open(path) as archive:
        known.add_archive(archive)
    again = written(known, wrap(block))
    assert again.type == "revisit"
    assert again.refers_to_id == original.id
    assert again.header["WARC-Refers-To-Target-URI"] == "http://example.org/first"
    assert again.header["WARC-Refers-To-Date"] == DATE
    assert errors_of(again.header) == []


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_older_file_may_be_written_by_any_tool(pack: Any) -> None:
    again = written(seeded(pack(record())))
    assert again.type == "revisit"
    assert again.refers_to_id == "urn:x:1"


def test_a_target_uri_in_brackets_is_written_without_them() -> None:
    """WARC 1.0 has brackets round every URI, WARC 1.1 none round this."""
    again = written(seeded(record(WARC_Target_URI="<http://example.org/1>")))
    assert again.header["WARC-Refers-To-Target-URI"] == "http://example.org/1"
    assert errors_of(again.header) == []


def test_resources_without_payload_digest_match_by_block() -> None:
    old = record(
        ("WARC-Block-Digest", labelled("sha1", PAYLOAD)),
        block=PAYLOAD,
        WARC_Type="resource",
        WARC_Payload_Digest=None,
        Content_Type="text/plain",
    )
    known = seeded(old)
    assert known.find(digest(labelled("sha1", PAYLOAD))) == ONE
    assert written(known).type == "revisit"


@pytest.mark.parametrize(
    "changes",
    [
        {"WARC_Type": "request"},
        {"WARC_Type": "metadata"},
        {"WARC_Type": "revisit"},
        {"WARC_Type": "conversion"},
        {"WARC_Type": None},
        {"WARC_Record_ID": None},
        {"WARC_Target_URI": None},
        {"WARC_Date": None},
        {"WARC_Payload_Digest": None},
        {"WARC_Truncated": "time"},
        {"WARC_Segment_Number": "1"},
    ],
)
def test_records_without_id_or_date_are_skipped(changes: dict[str, str | None]) -> None:
    known = seeded(record(**changes))
    assert len(known) == 0
    assert written(known).type == "response"


def test_a_response_does_not_match_by_its_block() -> None:
    old = record(("WARC-Block-Digest", labelled("sha1", HTTP_HEAD + PAYLOAD)), WARC_Payload_Digest=None)
    assert len(seeded(old)) == 0


def test_an_empty_payload_does_not_become_a_revisit() -> None:
    old = record(block=HTTP_HEAD, WARC_Payload_Digest=labelled("sha1", b""))
    assert written(seeded(old), HTTP_HEAD).type == "response"


@pytest.mark.parametrize("wrap", [bytes, Stream])
@pytest.mark.parametrize("size", [1000, 300_000])
@pytest.mark.parametrize("after", [b"\r\n", b"Expires: 0\r\n\r\n", b"\r\nmore"])
def test_what_follows_the_last_chunk_is_not_left_out(wrap: Any, size: int, after: bytes) -> None:
    """A revisit keeps the head only: what follows the payload, such as trailer fields, would be lost."""
    body = noise(size)
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n" % (size, body)
    known = seeded(record(block=HTTP_HEAD + body, WARC_Payload_Digest=labelled("sha1", body)))
    assert written(known, wrap(block + b"\r\n")).type == "revisit"
    assert (written(known, wrap(block + after)).type == "revisit") == (not after.strip())


def test_the_first_of_several_files_wins() -> None:
    known = seeded(record(), record(WARC_Record_ID="<urn:x:2>"))
    assert len(known) == 1
    assert written(known).refers_to_id == "urn:x:1"


def test_a_revisit_in_an_older_file_is_no_original() -> None:
    known = seekwarc.Duplicates()
    target = io.BytesIO()
    with seekwarc.Writer(target, dedup=seeded(record())) as writer:
        writer.write_response(URI, HTTP_HEAD + PAYLOAD)
    with seekwarc.open(target.getvalue()) as archive:
        known.add_archive(archive)
    assert len(known) == 0


def test_damage_is_reported() -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target) as writer:
        writer.write_response(URI, HTTP_HEAD + PAYLOAD)
    data = bytearray(target.getvalue())
    data[20] ^= 0xFF
    with pytest.raises(seekwarc.FormatError):
        seeded(bytes(data))


@pytest.mark.parametrize(
    "changes",
    [
        {"WARC_Payload_Digest": "none"},
        {"WARC_Segment_Number": "first"},
        {"WARC_Type": "resource", "WARC_Payload_Digest": None, "WARC_Block_Digest": "none"},
    ],
)
def test_a_malformed_value_does_not_hide_later_records(changes: dict[str, Any]) -> None:
    known = seeded(record(**changes) + record(WARC_Record_ID="<urn:x:2>"))
    assert written(known).refers_to_id == "urn:x:2"


@pytest.mark.parametrize(
    "changes",
    [
        {"WARC_Target_URI": "http://example.org/ä"},
        {"WARC_Target_URI": "http://example.org/a b"},
        {"WARC_Target_URI": "no uri"},
        {"WARC_Date": "20200102030405"},
        {"WARC_Date": "2020-01-02T03:04:05+01:00"},
        {"WARC_Record_ID": "<no uri>"},
        {"WARC_Record_ID": "<urn:x: 1>"},
    ],
)
def test_invalid_fields_of_an_older_file_are_not_copied(changes: dict[str, Any]) -> None:
    again = written(seeded(record(**changes)))
    assert errors_of(again.header) == []


def test_an_archive_is_added_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "old.warc"
    path.write_bytes(record())
    for given in (path, str(path)):
        known = seekwarc.Duplicates()
        known.add_archive(given)
        assert written(known).refers_to_id == "urn:x:1"


def test_payloads_of_raw_records_are_remembered_and_a_duplicate_is_told_once() -> None:
    with (
        seekwarc.open(record()) as archive,
        seekwarc.Writer(io.BytesIO(), dedup=seekwarc.Duplicates()) as out,
    ):
        (old,) = archive
        out.write_raw(old.header, old.block.open())
        assert out.write_response(URI, HTTP_HEAD + PAYLOAD).refers_to_id == "urn:x:1"
        with pytest.warns(UserWarning, match=r"http://example\.org/1 was archived before"):
            out.write_raw(old.header, old.block.open())
        out.write_raw(old.header, old.block.open())
