"""The index in memory, and how it is asked."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc import Digest, Entry, MemoryIndex
from seekwarc.format.warc import build_record_header
from tests.support.foreign import gzip_member
from tests.support.sources import RecordingSource
from tests.support.writing import DATE, URI, record_id

BASE32 = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
BASE16 = "SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709"
OTHER = "sha1:YAYSCX5QBYJ3I42H3S6NNFQ2MSVX7XZK"


def header(kind: str, number: int, length: int, *fields: tuple[str, str], uri: str = URI) -> bytes:
    """Make a header; a field given overrides what would be there."""
    usual = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<{record_id(number)}>"),
        ("WARC-Date", DATE),
        ("WARC-Target-URI", uri),
        ("Content-Length", str(length)),
    ]
    given = {name for name, _ in fields}
    return build_record_header([*(field for field in usual if field[0] not in given), *fields]).raw


@pytest.fixture
def index() -> MemoryIndex:
    made = MemoryIndex()
    one = {"id": record_id(1), "uri": URI, "payload_digest": Digest.parse(BASE32)}
    made.add(Entry("a.warc", 0, **one))
    made.add(Entry("a.warc", 100, id=record_id(2), uri=URI, segment_origin_id=record_id(1)))
    made.add(Entry("b.warc", 0, **one))
    made.add(Entry("b.warc", 50, id=record_id(3), refers_to=record_id(1), concurrent_to=(record_id(2),)))
    made.add(Entry("b.warc", 70, id=record_id(4), concurrent_to=(record_id(2), record_id(3))))
    return made


def places(found: object) -> set[tuple[str, int]]:
    return {(it.file, it.offset) for it in found}


def test_a_record_is_found_by_its_id_in_every_file_that_has_it(index: MemoryIndex) -> None:
    assert places(index.by_id(record_id(1))) == {("a.warc", 0), ("b.warc", 0)}
    assert places(index.by_id(record_id(2))) == {("a.warc", 100)}


def test_records_are_found_by_their_uri(index: MemoryIndex) -> None:
    assert places(index.by_uri(URI)) == {("a.warc", 0), ("a.warc", 100), ("b.warc", 0)}


@pytest.mark.parametrize("spelling", [BASE32, BASE32.lower(), BASE16, "sha1:2jmj7l5rSw0yVb/vlWAYkK/YBwk="])
def test_records_are_found_by_a_digest_in_any_spelling(index: MemoryIndex, spelling: str) -> None:
    assert places(index.by_payload(Digest.parse(spelling))) == {("a.warc", 0), ("b.warc", 0)}


def test_a_digest_of_an_unknown_algorithm_is_found_as_it_is_spelt() -> None:
    index = MemoryIndex()
    index.add(Entry("a.warc", 0, payload_digest=Digest.parse("tiger:abc")))
    assert places(index.by_payload(Digest.parse("Tiger:abc"))) == {("a.warc", 0)}
    assert not index.by_payload(Digest.parse("tiger:ABC"))


def test_segments_are_found_by_their_origin(index: MemoryIndex) -> None:
    assert places(index.segments_of(record_id(1))) == {("a.warc", 100)}


def test_records_are_found_by_the_ids_that_they_name(index: MemoryIndex) -> None:
    assert places(index.concurrent_to(record_id(2))) == {("b.warc", 50), ("b.warc", 70)}
    assert places(index.concurrent_to(record_id(3))) == {("b.warc", 70)}
    assert places(index.referring_to(record_id(1))) == {("b.warc", 50)}


def test_unknown_keys_are_not_found_and_not_stored(index: MemoryIndex) -> None:
    for _ in range(2):
        assert not index.by_id(record_id(9))
        assert not index.by_uri("http://elsewhere/")
        assert not index.by_payload(Digest.parse(OTHER))
        assert not index.segments_of(record_id(2))
        assert not index.concurrent_to(record_id(1))
        assert not index.referring_to(record_id(2))


def test_archives_are_added_one_after_the_other() -> None:
    index = MemoryIndex()
    for name, number in (("a.warc.zst", 1), ("b.warc.gz", 2)):
        stored = header("resource", number, 4) + b"blah\r\n\r\n"
        data = gzip_member(stored) if name.endswith("gz") else stored
        with seekwarc.open(RecordingSource(data, name)) as archive:
            index.add_archive(archive)
    assert places(index.by_uri(URI)) == {("a.warc.zst", 0), ("b.warc.gz", 0)}
    assert places(index.by_id(record_id(2))) == {("b.warc.gz", 0)}
