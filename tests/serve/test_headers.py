"""What archived content is sent with."""

from __future__ import annotations

import io

import pytest

import seekwarc
from seekwarc.collection.record_index import MemoryIndex
from seekwarc.serve.headers import content_headers, entity_tag, file_name, payload_type
from tests.serve.conftest import record_of
from tests.support.writing import response

INERT = ("application/octet-stream", "text/plain")


def fields_of(kind: str | None, body: bytes = b"body", *more: str, **options: bool) -> dict[str, str]:
    pairs = content_headers(record_of(response(body, kind, *more)), "payload", **options)
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize(
    "kind", ["video/mp4", "audio/mpeg", "image/png", "image/webp", "VIDEO/MP4; codecs=x"]
)
def test_media_are_shown_in_place(kind) -> None:
    fields = fields_of(kind)
    assert fields["content-type"] == kind.partition(";")[0].lower()
    assert "content-disposition" not in fields
    assert fields["content-security-policy"] == (
        "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'; sandbox allow-same-origin"
    )


@pytest.mark.parametrize(
    "kind",
    [
        "text/html",
        "TEXT/HTML; charset=utf-8",
        "text/html; charset",
        "application/xhtml+xml",
        "image/svg",
        "image/x+xml",
        "text/xml",
        "application/xml",
        "text/javascript",
        "application/javascript",
        "application/pdf",
        "multipart/x-mixed-replace",
        "text/vtt",
        "not a type",
        "video/mp4\x00",
        "",
        None,
    ],
)
def test_everything_else_is_a_download_and_no_document(kind) -> None:
    fields = fields_of(kind)
    assert fields["content-type"].partition(";")[0] in INERT
    assert fields["content-disposition"].startswith("attachment;")
    assert fields["content-security-policy"] == "default-src 'none'; sandbox"


@pytest.mark.parametrize("kind", ["image/svg+xml", "IMAGE/SVG+XML; charset=utf-8"])
def test_a_drawing_is_a_picture_but_no_document(kind) -> None:
    fields = fields_of(kind)
    assert fields["content-type"] == "image/svg+xml"
    assert fields["content-disposition"].startswith("attachment;"), "opened by itself it is saved"
    assert fields["content-security-policy"].startswith("default-src 'none';")
    assert fields["content-security-policy"].endswith("; sandbox")
    assert "script" not in fields["content-security-policy"]


def test_no_archived_header_is_sent() -> None:
    hostile = (
        "Set-Cookie: a=b",
        "Location: http://evil.example/",
        "Refresh: 0",
        "Clear-Site-Data: *",
        "Link: <x>",
    )
    fields = fields_of(
        "text/html", b"body", *hostile, "Content-Security-Policy: default-src *", 'ETag: "theirs"'
    )
    assert set(fields) == {
        "accept-ranges",
        "cache-control",
        "x-content-type-options",
        "referrer-policy",
        "cross-origin-resource-policy",
        "content-type",
        "content-security-policy",
        "content-disposition",
    }
    assert fields["x-content-type-options"] == "nosniff"


def test_a_content_coding_is_named_if_the_body_is_in_it() -> None:
    gzipped = b"\x1f\x8b\x08and so on"
    assert fields_of("text/html", gzipped, "Content-Encoding: gzip")["content-encoding"] == "gzip"
    assert "content-encoding" not in fields_of("text/html", b"<p>", "Content-Encoding: gzip")
    assert "content-encoding" not in fields_of("text/html", gzipped, "Content-Encoding: rot13")
    assert "content-encoding" not in fields_of("text/html", gzipped, "Content-Encoding: gzip", as_bytes=True)


def test_as_bytes_no_media_type_is_named() -> None:
    assert fields_of("video/mp4", as_bytes=True)["content-type"] == "application/octet-stream"
    block = dict(content_headers(record_of(response(b"x", "video/mp4")), "block"))
    assert block["content-type"] == "application/octet-stream"
    assert block["content-disposition"].startswith("attachment;")


@pytest.mark.parametrize(
    ("charset", "sent"),
    [
        ("utf-8", "text/plain; charset=utf-8"),
        ('"windows-1252"', "text/plain; charset=windows-1252"),
        ('"a b"', "text/plain"),
    ],
)
def test_a_valid_charset_is_kept(charset, sent) -> None:
    assert fields_of(f"text/html; charset={charset}")["content-type"] == sent


def test_without_a_stated_type_the_identified_one_counts() -> None:
    for kind in (None, "application/octet-stream"):
        found = payload_type(record_of(response(b"x", kind), identified_payload_type="image/png"))
        assert found.essence == "image/png"
    assert (
        payload_type(record_of(response(b"x", None), "http://example.org/a/film.mp4")).essence == "video/mp4"
    )
    octets = response(b"x", "application/octet-stream")
    assert payload_type(record_of(octets, "http://example.org/film.webm")).essence == "video/webm"
    assert payload_type(record_of(octets, "http://example.org/film")).essence == "application/octet-stream"


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("http://example.org/a/film.mp4?x=/y", "film.mp4"),
        ("http://example.org/a/", "a"),
        ("http://example.org/", "record-0"),
        ("http://example.org/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "_.._etc_passwd"),
        ("http://example.org/a%0d%0aSet-Cookie%3A%20x", "a__Set-Cookie_ x"),
        ("http://example.org/na%C3%AFve%20%22x%22.txt", "naïve _x_.txt"),
        ("http://example.org/%ff%fe.bin", "\ufffd\ufffd.bin"),
        ("http://[broken/x", "record-0"),
        ("http://example.org/" + "x" * 300 + ".zip", "x" * 96 + ".zip"),
    ],
)
def test_names_of_files_are_harmless(uri, name) -> None:
    head = f"WARC/1.1\r\nWARC-Type: resource\r\nWARC-Target-URI: {uri}\r\nContent-Length: 1\r\n\r\n"
    record = next(iter(seekwarc.open(head.encode() + b"x\r\n\r\n")))
    assert file_name(record) == name
    disposition = dict(content_headers(record, "block"))["content-disposition"]
    assert disposition.isascii()
    assert disposition.count('"') == 2
    assert not any(ord(char) < 32 for char in disposition)


def test_an_entity_tag_does_not_depend_on_the_file(tmp_path) -> None:
    block = response(b"x" * 300_000, "video/mp4")
    tags = set()
    for level, name in ((1, "a"), (9, "b")):
        with seekwarc.open(tmp_path / f"{name}.warc.zst", "w", level=level) as out:
            out.write_response(
                "http://example.org/", block, date="2026-11-16T12:00:00Z", record_id="urn:uuid:1"
            )
        with seekwarc.open(tmp_path / f"{name}.warc.zst") as archive:
            record = next(iter(archive))
            tags.add(entity_tag(record, "payload"))
            assert entity_tag(record, "payload") != entity_tag(record, "block")
    assert len(tags) == 1
    assert tags.pop().startswith('"')


def test_without_digests_a_tag_depends_on_the_content(tmp_path) -> None:
    tags = []
    for fill in (b"x", b"y"):
        raw = b"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: 300000\r\n\r\n"
        with seekwarc.open(tmp_path / "a.warc.zst", "w", existing="overwrite") as out:
            out.write_raw(raw, io.BytesIO(fill * 300_000))
        with seekwarc.open(tmp_path / "a.warc.zst") as archive:
            tags.append(entity_tag(next(iter(archive)), "block"))
    assert tags[0] != tags[1]


def test_a_resolved_revisit_has_the_tag_of_its_original(crawl) -> None:
    with seekwarc.Collection(crawl.paths, index=MemoryIndex()) as plain:
        revisits = [record for record in plain if record.type == "revisit"]
    with seekwarc.Collection(crawl.paths) as files:
        revisit = files.open_record(revisits[0].id)
        assert entity_tag(revisit, "payload") == entity_tag(revisit.original, "payload")
        assert entity_tag(revisit, "block") != entity_tag(revisit.original, "block")
