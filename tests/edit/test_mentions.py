"""What is left of removed records is found, wherever it is."""

from __future__ import annotations

import io

import pytest

import seekwarc
from seekwarc.edit.mentions import fragment, in_line, in_record, needles_of
from tests.support.writing import noise

SIZE = 3000


@pytest.fixture
def record():
    stored = io.BytesIO()
    with seekwarc.open(stored, "w") as out:
        out.write_response("http://example.org/a?b", noise(SIZE), status=200, record_id="urn:x:1")
    with seekwarc.open(stored.getvalue()) as archive:
        yield next(iter(archive))


def test_a_record_is_known_by_id_uri_and_digest(record) -> None:
    needles = needles_of(record, with_digest=True)
    digest = record.header.get("WARC-Payload-Digest")
    assert needles == {
        b"urn:x:1": "id",
        b"http://example.org/a?b": "uri",
        digest.encode(): "payload digest",
        digest.removeprefix("sha1:").encode(): "payload digest",
    }
    assert {*needles_of(record, with_digest=False).values()} == {"id", "uri"}
    assert [it.what for it in in_record(record, "new", needles)] == ["id", "uri", "payload digest"]


def test_a_line_mentions_a_uri_and_a_digest_without_its_label(record) -> None:
    needles = needles_of(record, with_digest=True)
    bare = record.header.get("WARC-Payload-Digest").removeprefix("sha1:")
    fields = {"url": "http://example.org/a?b", "digest": bare, "mime": "text/html"}
    found = [*in_line(fields, "all.cdxj", 7, needles)]
    assert [(it.file, it.offset, it.type, it.what) for it in found] == [
        ("all.cdxj", 7, "line", "uri"),
        ("all.cdxj", 7, "line", "payload digest"),
    ]


@pytest.mark.parametrize("at", [0, 17, SIZE - 32])
@pytest.mark.parametrize("before", [0, 5, 16])
def test_32_bytes_of_a_payload_are_found_in_a_dictionary(record, at, before) -> None:
    payload = record.payload.pread(at, 32)
    around = noise(before, seed=9), noise(100, seed=10)
    assert fragment(record, payload.join(around))
    assert not fragment(record, payload[:31].join(around))


def test_a_fragment_is_found_where_a_payload_is_read_in_parts(monkeypatch, record) -> None:
    monkeypatch.setattr("seekwarc.edit.mentions.STEP", 1000)
    assert all(fragment(record, record.payload.pread(at, 32)) for at in range(960, 1010, 7))
