"""What is left of removed records is found, wherever it is."""

from __future__ import annotations

import base64
import hashlib
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


@pytest.mark.parametrize("spelling", ["hex", "HEX", "base32"])
@pytest.mark.parametrize(
    "algorithm", ["sha1", "sha256", "sha512", "md5", "blake2b", "blake2s", "sha3-256", "sha3_512", "sha384"]
)
def test_the_digest_of_nothing_is_no_mention(algorithm, spelling) -> None:
    for data, is_said in ((b"", False), (b"x", True)):
        raw = hashlib.new(algorithm.replace("-", "_"), data).digest()
        words = {"hex": raw.hex(), "HEX": raw.hex().upper(), "base32": base64.b32encode(raw).decode()}
        stored = io.BytesIO()
        with seekwarc.open(stored, "w") as out:
            out.write(
                "resource",
                block=b"x",
                target_uri="http://example.org/",
                headers={"WARC-Payload-Digest": f"{algorithm}:{words[spelling]}"},
            )
        with seekwarc.open(stored.getvalue()) as archive:
            needles = needles_of(next(iter(archive)), with_digest=True)
        assert ("payload digest" in needles.values()) == is_said


def test_a_uri_in_a_block_is_a_link(record) -> None:
    stored = io.BytesIO()
    with seekwarc.open(stored, "w") as out:
        out.write_metadata({"via": "http://example.org/a?b"}, target_uri="http://example.org/")
        out.write_metadata({"via": "-"}, target_uri="http://example.org/a?b")
    with seekwarc.open(stored.getvalue()) as archive:
        found = [
            it for other in archive for it in in_record(other, "new", needles_of(record, with_digest=True))
        ]
    assert [it.kind for it in found] == ["link", "metadata"]


def test_a_line_mentions_a_uri_and_a_digest_without_its_label(record) -> None:
    needles = needles_of(record, with_digest=True)
    bare = record.header.get("WARC-Payload-Digest").removeprefix("sha1:")
    fields = {"url": "http://example.org/a?b", "digest": bare, "mime": "text/html"}
    found = [*in_line(fields, "all.cdxj", 7, needles)]
    assert [(it.file, it.offset, it.type, it.what) for it in found] == [
        ("all.cdxj", 7, "line", "uri"),
        ("all.cdxj", 7, "line", "payload digest"),
    ]


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "md5"])
def test_a_mention_is_found_in_any_spelling(algorithm) -> None:
    raw = hashlib.new(algorithm, b"page").digest()
    spelled = base64.b32encode(raw).decode(), raw.hex(), raw.hex().upper()
    digests = [f"{label}:{value}" for label in (algorithm, algorithm.upper()) for value in spelled]
    uris = ["http://example.org/~a", "HTTP://EXAMPLE.ORG:80/%7ea#b"]
    for uri, other_uri in (uris, reversed(uris)):
        for number, digest in enumerate(digests):
            stored = io.BytesIO()
            with seekwarc.open(stored, "w") as out:
                states = {"WARC-Payload-Digest": digest}
                out.write("resource", block=b"page", target_uri=uri, headers=states)
                states["WARC-Payload-Digest"] = other = digests[number - 1]
                out.write("resource", block=b"other", target_uri="http://kept.example/", headers=states)
                out.write_metadata({"via": other_uri}, target_uri="http://kept.example/")
            with seekwarc.open(stored.getvalue()) as archive:
                removed, *kept = archive
                needles = needles_of(removed, with_digest=True)
                found = [(it.what, it.text) for record in kept for it in in_record(record, "new", needles)]
            assert found == [("payload digest", other), ("uri", other_uri)]
            line = in_line({"url": other_uri, "digest": other}, "all.cdxj", 7, needles)
            assert {it.text for it in line} == {other, other_uri}


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
