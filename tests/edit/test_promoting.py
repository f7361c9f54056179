"""Revisits whose originals are removed: their payloads stay, and nothing names what was removed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.format.profiles import SERVER_NOT_MODIFIED
from tests.support.joined import decompressed
from tests.support.reading import types_in
from tests.support.writing import noise

URIS = [f"http://example.org/{number}" for number in range(5)]
PAGE = noise(3000, seed=1)


def write(path: Path, *captures: tuple[int, str]) -> Path:
    """Write captures by number: a "response" with the page, or a "revisit" of the first capture."""
    stated = {"refers_to_target_uri": URIS[0], "refers_to_date": "2026-01-01T00:00:00Z"}
    with seekwarc.open(path, "w") as out:
        for number, kind in captures:
            common = {"date": f"2026-01-0{number + 1}T00:00:00Z", "record_id": f"urn:x:{number}"}
            if kind == "response":
                out.write_response(URIS[number], PAGE, status=200, **common)
            else:
                head = b"HTTP/1.1 200 OK\r\nX-Number: %d\r\n\r\n" % number
                digest = seekwarc.Digest.of("sha1", hashlib.sha1(PAGE).digest())
                common |= {"payload_digest": digest, "refers_to": "urn:x:0"}
                out.write_revisit(URIS[number], head, **common, **stated)
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "rest.warc.zst"


def test_the_first_revisit_gets_the_payload_and_the_others_refer_to_it(tmp_path, target) -> None:
    source = write(tmp_path / "a.warc.zst", (0, "response"), (1, "revisit"), (2, "revisit"))
    done = tools.redact(source, target, uri=URIS[0], promote=True, stubs=False)
    assert (done.removed, done.promoted, done.repointed, done.revisits) == (1, 1, 1, 0)
    assert done.mentions == []
    assert types_in(target) == ["response", "revisit"]
    with seekwarc.Collection([target]) as archive:
        found = [archive.open_record(uri=uri) for uri in URIS[1:3]]
        assert [record.payload.read() for record in found] == [PAGE, PAGE]
        assert found[0].block.read().startswith(b"HTTP/1.1 200 OK\r\nX-Number: 1\r\n\r\n")
    assert URIS[0].encode() not in decompressed(target.read_bytes())
    assert tools.verify(target).is_sound


def test_a_promoted_revisit_may_be_the_original_of_another_payload(tmp_path, target) -> None:
    """It is the nearest capture before one that was not modified, which had the payload of a removed one."""
    other, uri = noise(2000, seed=2), URIS[1]
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_response(uri, other, status=200, date="2026-01-01", record_id="urn:x:kept")
        out.write_response(uri, other, status=200, date="2026-01-03", record_id="urn:x:removed")
        page = out.write_response(URIS[0], PAGE, status=200, date="2026-01-01")
        digest = page.header.get("WARC-Payload-Digest")
        head = b"HTTP/1.1 200 OK\r\n\r\n"
        out.write_revisit(uri, head, date="2026-01-02", refers_to=page, payload_digest=digest)
        # One without an original, which is nearer.
        out.write_revisit(uri, head, date="2026-01-03T12:00:00Z", payload_digest=f"sha1:{'A' * 32}")
        unchanged = b"HTTP/1.1 304 Not Modified\r\n\r\n"
        out.write_revisit(uri, unchanged, date="2026-01-04", profile=SERVER_NOT_MODIFIED)
    with pytest.raises(ValueError, match="the payload of the revisit at offset"):
        tools.redact(tmp_path / "a.warc.zst", target, ids=["urn:x:removed", page.id], promote=True)
    assert not target.exists()


def test_a_record_that_states_another_digest_does_not_become_the_original(tmp_path, target) -> None:
    """Its payload is the same, but a revisit that named it would not be taken for one of it."""
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        page = out.write_response(URIS[0], PAGE, status=200, record_id="urn:x:removed")
        lying = {"payload_digest": f"sha1:{'A' * 32}", "record_id": "urn:x:lying"}
        out.write_resource(URIS[1], PAGE, content_type="text/plain", date="2026-01-01", **lying)
        names = {"refers_to": "urn:x:lying", "profile": SERVER_NOT_MODIFIED, "record_id": "urn:x:304"}
        out.write_revisit(URIS[1], b"HTTP/1.1 304 Not Modified\r\n\r\n", **names)
        digest = page.header.get("WARC-Payload-Digest")
        out.write_revisit(URIS[2], b"HTTP/1.1 200 OK\r\n\r\n", payload_digest=digest, refers_to="urn:x:304")
    tools.redact(tmp_path / "a.warc.zst", target, ids=["urn:x:removed"], promote=True, stubs=False)
    with seekwarc.Collection([target]) as archive:
        assert archive.open_record(uri=URIS[2]).payload.read() == PAGE


def test_a_revisit_through_one_that_another_could_not_use_is_removed_too(tmp_path, target) -> None:
    """What was not modified has another ETag, so that the way to the payload is none for it alone."""
    digests = [seekwarc.Digest.of(it, hashlib.new(it, PAGE).digest()) for it in ("sha1", "sha256")]
    with seekwarc.open(tmp_path / "a.warc.zst", "w") as out:
        out.write_resource("http://example.org/other", b"other", "text/plain")
        tag = {"http_headers": {"ETag": '"0"'}, "record_id": "urn:x:page", "date": "2026-01-01"}
        out.write_response(URIS[0], PAGE, status=200, **tag)
        out.write_revisit(URIS[1], b"", payload_digest=digests[0], record_id="urn:x:1", date="2026-01-02")
        named = {"refers_to": "urn:x:1", "date": "2026-01-03"}
        out.write_revisit(URIS[2], b"", payload_digest=digests[0], **named)
        unchanged = b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n'
        out.write_revisit(URIS[2], unchanged, profile=SERVER_NOT_MODIFIED, date="2026-01-04")
        out.write_revisit(URIS[3], b"", payload_digest=digests[1], **named)
    with seekwarc.Collection([tmp_path / "a.warc.zst"]) as crawl:
        assert crawl.open_record(uri=URIS[3]).payload.read() == PAGE
    tools.redact(tmp_path / "a.warc.zst", target, ids=["urn:x:page"], with_revisits=True, stubs=False)
    with seekwarc.open(target) as archive:
        assert [it.target_uri for it in archive] == ["http://example.org/other", URIS[2]]


def test_another_identical_capture_becomes_the_original(tmp_path) -> None:
    one = write(tmp_path / "one.warc.zst", (0, "response"), (1, "revisit"))
    two = write(tmp_path / "two.warc.zst", (2, "response"), (3, "revisit"))
    done = tools.redact([one, two], in_place=True, ids=["urn:x:0"], promote=True, stubs=False)
    assert (done.promoted, done.repointed, done.written) == (0, 2, 2)
    assert (types_in(one), types_in(two)) == (["revisit"], ["response", "revisit"])
    with seekwarc.Collection([one, two]) as archive:
        assert [archive.open_record(uri=uri).payload.read() for uri in URIS[1:4]] == [PAGE] * 3
        assert {record.refers_to_target_uri for record in archive} == {URIS[2], None}
    assert done.mentions == []


def test_revisits_that_cannot_be_promoted_are_refused_or_removed(tmp_path, target) -> None:
    source = tmp_path / "a.warc.zst"
    with seekwarc.open(source, "w") as out:
        first = out.write_response(URIS[0], PAGE, status=200)
        out.write_revisit(URIS[1], payload_digest="tiger:ABCDEF", refers_to=first)
        out.write_response(URIS[2], b"other", status=200)
    with pytest.raises(ValueError, match="cannot be verified"):
        tools.redact(source, target, uri=URIS[0], promote=True)
    done = tools.redact(source, target, uri=URIS[0], promote=True, with_revisits=True, stubs=False)
    assert (done.removed, done.revisits, done.promoted) == (2, 1, 0)
    assert types_in(target) == ["response"]


def test_a_promoted_revisit_that_is_removed_itself_is_not_promoted(tmp_path, target) -> None:
    source = write(tmp_path / "a.warc.zst", (0, "response"), (1, "revisit"), (2, "revisit"))
    done = tools.redact(source, target, uris=URIS[:2], promote=True, stubs=False)
    assert (done.removed, done.promoted, done.repointed) == (2, 1, 0)
    with seekwarc.open(target) as archive:
        assert [(it.target_uri, it.payload.read()) for it in archive] == [(URIS[2], PAGE)]
