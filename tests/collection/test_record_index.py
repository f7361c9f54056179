"""The index of entries that are added to it, and how it is asked."""

from __future__ import annotations

import copy
import os
import pickle
import random
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import seekwarc
from seekwarc import Digest, Entry, MemoryIndex, TableReference, TableTrust, WarcDate
from seekwarc.format.uri import as_utf8
from tests.support.foreign import gzip_member
from tests.support.headers import BASE16, BASE32, OTHER, header
from tests.support.sources import RecordingSource
from tests.support.writing import URI, record_id


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
    return {(it.filename, it.offset) for it in found}


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


@pytest.mark.parametrize("text", ["caf\udce9", "\ud800", "caf\u00e9", "a\0b", "\U0001f600", "\n", ""])
def test_any_text_is_kept_and_found_as_it_is(text: str) -> None:
    index = MemoryIndex()
    one = Entry(
        f"{text}.warc",
        7,
        type=text,
        id=f"urn:{text}",
        uri=text,
        payload_digest=Digest("tiger", text),
        segment_origin_id=text,
        refers_to=text,
        concurrent_to=(text, "x"),
        mime=text,
        problem=text,
    )
    index.add(one)
    # A URI is kept as it is written everywhere, and found by either spelling.
    one = replace(one, uri=as_utf8(text))
    index.add(Entry("other.warc", 8, id="urn:", uri=text + "?", concurrent_to=(text + "?",)))
    for found in (
        index.by_id(f"urn:{text}"),
        index.by_uri(text),
        index.by_uri(as_utf8(text)),
        index.by_payload(Digest("tiger", text)),
        index.segments_of(text),
        index.referring_to(text),
        index.concurrent_to(text),
    ):
        assert one in found
        assert len(found) == 1 + (text == "" and found == index.by_id("urn:"))


def full_entry() -> Entry:
    return Entry(
        "a.warc",
        1 << 40,
        99,
        "response",
        "urn:1",
        URI,
        WarcDate.parse("2026-11-16T06:00:00.25+01:00"),
        Digest.parse(BASE32),
        2,
        "urn:2",
        "urn:3",
        ("urn:4", "urn:5"),
        TableReference(5, 6, "0" * 64),
        7,
        8,
        "text/html",
        200,
        9,
        "damaged",
    )


def test_an_entry_comes_back_as_it_was_added() -> None:
    index = MemoryIndex()
    index.add(full_entry())
    index.add(Entry("a.warc", 0, id="urn:2", table=TableTrust.SCANNED))
    (found,) = index.by_id("urn:1")
    assert found == full_entry()
    assert str(found.date) == "2026-11-16T06:00:00.25+01:00"
    assert found.table == TableReference(5, 6, "0" * 64)
    assert index.by_id("urn:2")[0].table is TableTrust.SCANNED


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_has_the_same_entries_and_is_independent(index: MemoryIndex, copied: Callable) -> None:
    empty = copied(MemoryIndex())
    other = copied(index)
    assert places(other.by_uri(URI)) == places(index.by_uri(URI))
    other.add(full_entry())
    assert len(other.by_uri(URI)) == 4
    assert len(index.by_uri(URI)) == 3
    assert not empty.by_uri(URI)


def test_a_collection_takes_its_index_into_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(header("resource", 1, 4) + b"blah\r\n\r\n")
    index = MemoryIndex()
    with seekwarc.open(path) as archive:
        index.add_archive(archive)
    with seekwarc.Collection([path], index=index) as crawl:
        other = pickle.loads(pickle.dumps(crawl))
    with other:
        assert other.open_record(record_id(1)).block.read() == b"blah"


def test_entries_may_be_added_after_and_during_a_look_up(index: MemoryIndex) -> None:
    seen = 0
    for entry in index.by_uri(URI):
        index.add(Entry("c.warc", entry.offset, uri=URI))
        seen += 1
    assert seen == 3
    assert len(index.by_uri(URI)) == 6


def test_threads_may_add_and_ask_at_once() -> None:
    index = MemoryIndex()

    def work(number: int) -> None:
        for at in range(300):
            index.add(Entry(f"{number}.warc", at, id=f"urn:{number}:{at}", uri=URI))
            assert len(index.by_id(f"urn:{number}:{at}")) == 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))
    assert len(places(index.by_uri(URI))) == 1800


@pytest.mark.slow
def test_a_large_index_takes_little_memory() -> None:
    count = 20_000
    index = MemoryIndex()
    tracemalloc.start()
    try:
        for number in range(count):
            index.add(
                Entry("a.warc", number, id=f"urn:uuid:{number:032}", uri=f"http://example.org/{number}")
            )
        (found,) = index.by_id(f"urn:uuid:{count // 2:032}")
        assert tracemalloc.get_traced_memory()[1] < count * 100
    finally:
        tracemalloc.stop()
    assert found.offset == count // 2


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows forks no processes")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_may_ask_a_large_index() -> None:
    index = MemoryIndex()
    count = 20_000
    for number in range(count):
        index.add(Entry("a.warc", number, id=f"urn:{number}", uri="http://example.org/" + "x" * 1000))
    index.by_id("urn:0")
    children = []
    for seed in range(3):
        child = os.fork()
        if not child:
            numbers = random.Random(seed).sample(range(count), 2000)
            found = [[it.offset for it in index.by_id(f"urn:{number}")] for number in numbers]
            os._exit(found != [[number] for number in numbers])
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]


def test_large_answers_are_complete_and_in_order() -> None:
    index = MemoryIndex()
    for number in range(3000):
        index.add(Entry("a.warc", number, uri=URI, id=f"urn:{number % 20}"))
    for _ in range(2):
        assert [it.offset for it in index.by_uri(URI)] == list(range(3000))
        assert [it.offset for it in index.by_id("urn:7")] == list(range(7, 3000, 20))
