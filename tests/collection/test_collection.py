"""Several files as one: records found in all of them, and how they are related."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import seekwarc
from seekwarc import Collection, Digest, Entry, JoinedRecord, MemoryIndex, Record, RecordIndex, WarcDate
from seekwarc.collection.entry import described
from seekwarc.errors import FormatError, FormatWarning, NotFoundError, SeekWarcError, SourceError
from seekwarc.format.warc import build_record_header
from tests.support.foreign import CRLF2, Foreign, gzip_member, text
from tests.support.sources import Pipe, RecordingSource
from tests.support.work import at_most_calls
from tests.support.writing import DATE, URI, noise, record_id

FORMS = ("warc", "warc.gz", "warc.zst")
Stored = tuple[bytes, bytes]
"""Header and block of a record."""


def put(
    number: int,
    *more: tuple[str, str],
    kind: str = "resource",
    block: bytes | None = None,
    uri: str = URI,
    date: str = DATE,
) -> Stored:
    """Make a record. Its block tells its number."""
    block = b"block of %d" % number if block is None else block
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", f"<{record_id(number)}>"),
        ("WARC-Date", date),
        ("WARC-Target-URI", uri),
        *more,
        ("Content-Length", str(len(block))),
    ]
    return build_record_header([field for field in fields if field[1]]).raw, block


def refers_to(number: int) -> tuple[str, str]:
    return "WARC-Refers-To", f"<{record_id(number)}>"


def concurrent_to(number: int) -> tuple[str, str]:
    return "WARC-Concurrent-To", f"<{record_id(number)}>"


def stored(form: str, records: Sequence[Stored]) -> bytes:
    made = Foreign()
    for header, block in records:
        made.record(block, header=header, cuts=20_000)
    return {"warc": made.plain, "warc.gz": made.gzip, "warc.zst": lambda: made}[form]().bytes()


def files(*contents: Sequence[Stored], folder: str = "") -> list[RecordingSource]:
    """Make a file of each list of records, in one form after the other: "0.warc", "1.warc.gz", ..."""
    return [
        RecordingSource(stored(form, records), f"{folder}{number}.{form}")
        for number, (records, form) in enumerate(zip(contents, itertools.cycle(FORMS), strict=False))
    ]


def numbers(records: Sequence[Record]) -> set[int]:
    """Return the numbers of records, each of which has to be there once."""
    found = [int((record.id or "")[-12:]) for record in records]
    assert len(found) == len(set(found))
    return set(found)


def by_number(collection: Collection, number: int) -> Record:
    return collection.open_record(record_id(number))


# Iterating and opening.


def test_all_records_of_all_files_are_iterated_in_order() -> None:
    with Collection(files([put(1), put(2)], [put(3)], [put(4), put(5)])) as collection:
        for _ in range(2):
            assert [record.block.read() for record in collection] == [b"block of %d" % n for n in range(1, 6)]
        assert [file.name for file in collection.files] == ["0.warc", "1.warc.gz", "2.warc.zst"]
        assert all(isinstance(file, seekwarc.Reader) for file in collection.files)
        assert "3 files" in repr(collection)


def test_a_collection_may_be_empty() -> None:
    with Collection([]) as collection:
        assert list(collection) == []
        with pytest.raises(NotFoundError):
            collection.open_record("urn:x:1")


def test_files_may_be_given_in_many_ways(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.warc" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(stored("warc", [put(number)]))
    with paths[2].open("rb") as opened:
        targets = [
            paths[0],
            str(paths[1]),
            opened,
            stored("warc.gz", [put(3)]),
            io.BytesIO(stored("warc.zst", [put(4)])),
            *files([put(5)]),
        ]
        with Collection(targets) as collection:
            assert len(collection.files) == len(targets)
            for number in range(6):
                assert by_number(collection, number).block.read() == b"block of %d" % number
        assert not opened.closed, "what was handed over open stays the caller's"


def test_a_path_a_folder_and_a_pattern_stand_for_their_files(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.warc" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(stored("warc", [put(number)]))
    for given, names in (
        (paths[0], ["0.warc"]),
        (str(paths[0]), ["0.warc"]),
        (tmp_path, ["0.warc", "1.warc", "2.warc"]),
        ([str(tmp_path / "[12].warc"), paths[0]], ["1.warc", "2.warc", "0.warc"]),
    ):
        with Collection(given) as collection:
            assert [os.path.basename(it.name) for it in collection.files] == names
    with pytest.raises(FileNotFoundError, match=r"9\.warc"):
        Collection(tmp_path / "9.warc")


def test_files_may_come_from_a_generator() -> None:
    with Collection(source for source in files([put(1)], [put(2)])) as collection:
        assert numbers(list(collection)) == {1, 2}
        assert numbers(list(collection)) == {1, 2}


def test_a_pipe_can_be_iterated() -> None:
    with Collection([Pipe(stored("warc.gz", [put(1), put(2)]))]) as collection:
        assert [record.block.read() for record in collection] == [b"block of 1", b"block of 2"]
        with pytest.raises(SourceError):
            list(collection)


def test_options_are_those_of_a_reader() -> None:
    (source,) = files([put(1, block=text(100_000))])
    source.data = stored("warc.zst", [put(1, block=text(100_000))])
    source.size = len(source.data)
    decoded = []
    for cache_size in (0, 1 << 20):
        with Collection([source], cache_size=cache_size, threads=1) as collection:
            block = by_number(collection, 1).block
            for start in (30_000, 70_000, 30_000, 70_000):
                assert block.pread(start, 10) == text(100_000)[start : start + 10]
            decoded.append(collection.files[0].stats.bytes_decoded)
    assert decoded[0] > decoded[1]
    with pytest.raises(TypeError):
        Collection(files([put(1)]), no_such_option=1)


def test_two_files_of_one_name_are_refused() -> None:
    one, two, three = files([put(1)], [put(2)], [put(3)])
    three.name = one.name
    with pytest.raises(ValueError, match=r"0\.warc"):
        Collection([one, two, three])
    assert (one.closed, two.closed, three.closed) == (True, True, True)
    with pytest.raises(ValueError, match="<bytes>"):
        Collection([one.data, two.data])


def test_if_one_file_cannot_be_opened_the_others_are_closed(tmp_path: Path) -> None:
    one, two = files([put(1)], [put(2)])
    with pytest.raises(SourceError, match="missing"):
        Collection([one, tmp_path / "missing.warc", two])
    assert one.closed
    assert not two.closed, "it was never opened"


def test_records_are_readable_until_the_collection_is_closed(tmp_path: Path) -> None:
    block = noise(400_000)
    for form in FORMS:
        (tmp_path / form).write_bytes(stored(form, [put(1, block=block)]))
        collection = Collection([tmp_path / form])
        record = by_number(collection, 1)
        assert record.block.pread(50_000, 10) == block[50_000:50_010]
        collection.close()
        collection.close()
        with pytest.raises(SourceError, match="closed"):
            by_number(collection, 1)
        with pytest.raises(SourceError, match="closed"):
            record.block.pread(350_000, 10)


def test_leaving_a_with_block_closes_all_files() -> None:
    sources = files([put(1)], [put(2)])
    with Collection(sources) as collection:
        list(collection)
        assert not any(source.closed for source in sources)
    assert all(source.closed for source in sources)


# Which record is meant.


def test_a_record_is_opened_by_id_or_uri_not_both() -> None:
    with Collection(files([put(1)])) as collection:
        for arguments in ({}, {"which": record_id(1), "uri": URI}):
            with pytest.raises(ValueError, match="URI"):
                collection.open_record(**arguments)


def test_an_ordinary_record_is_the_stored_one() -> None:
    with Collection(files([put(1), put(2, kind="metadata")])) as collection:
        for record in collection:
            assert collection.open_record(record) is record
            assert type(collection.open_record(f"<{record.id}>")) is Record


def test_a_missing_record_is_not_found() -> None:
    with Collection(files([put(1)], [put(2)])) as collection:
        with pytest.raises(NotFoundError, match="urn:x:1"):
            collection.open_record("<urn:x:1>")
        with pytest.raises(NotFoundError, match="http://no/"):
            collection.open_record(uri="http://no/")
        with pytest.raises(NotFoundError):
            collection.open_record("")


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (None, 4),
        ("2026-01-03T00:00:00Z", 2),
        ("2026-01-03", 2),
        ("2026-01-03T23:59:59.9Z", 2),
        ("2026-01-04T00:00:00.1Z", 3),
        ("1990", 1),
        ("2030-01", 4),
        (WarcDate.parse("2026-01-05T01:00:00+01:00"), 3),
    ],
)
def test_of_several_captures_the_nearest_is_opened(date: str | WarcDate | None, expected: int) -> None:
    captures = [
        put(2, date="2026-01-03T00:00:00Z", kind="resource"),
        put(4, date="2026-01-06T00:00:00Z", kind="resource"),
        put(1, date="2026-01-01T00:00:00Z", kind="response"),
        put(3, date="2026-01-06", kind="resource", uri="http://other/"),
        put(3, date="2026-01-03T00:00:00Z", kind="request"),
        put(3, date="2026-01-05T00:00:00Z", kind="resource"),
    ]
    with Collection(files(captures[::2], captures[1::2])) as collection:
        assert collection.open_record(uri=URI, date=date).block.read() == b"block of %d" % expected


def test_only_captures_are_opened_by_uri() -> None:
    kinds = ("request", "metadata", "conversion", "warcinfo")
    made = files([put(number, kind=kind) for number, kind in enumerate(kinds)])
    with Collection(made) as collection, pytest.raises(NotFoundError):
        collection.open_record(uri=URI)


def test_a_capture_without_a_date_is_not_opened_by_date() -> None:
    odd = [put(1, date="yesterday"), put(2, date="2026-01-01")]
    with Collection(files(odd)) as collection:
        for date in (None, "1970", "2030"):
            assert collection.open_record(uri=URI, date=date).block.read() == b"block of 2"
        with pytest.raises(FormatError, match="someday"):
            collection.open_record(uri=URI, date="someday")


# Records of the same capture event.


def test_concurrent_records_know_each_other_in_both_directions() -> None:
    with Collection(files([put(1, kind="response")], [put(2, concurrent_to(1), kind="request")])) as made:
        assert numbers(by_number(made, 2).concurrent) == {1}
        assert numbers(by_number(made, 1).concurrent) == {2}
        assert by_number(made, 1).concurrent[0].block.read() == b"block of 2"
        assert by_number(made, 1).concurrent[0].source == "1.warc.gz"
        assert numbers(made.concurrent(by_number(made, 1))) == {2}


@pytest.mark.parametrize("of", range(1, 7))
def test_concurrent_records_know_each_other_through_others(of: int) -> None:
    """1 is named by 2 and 3; 4 names 3; 4 and 5 name 6, which names 5."""
    made = files(
        [put(1), put(3, concurrent_to(1)), put(8)],
        [put(6, concurrent_to(5)), put(2, concurrent_to(1)), put(9, concurrent_to(8))],
        [put(4, concurrent_to(3), concurrent_to(6)), put(5, concurrent_to(6))],
    )
    with Collection(made) as collection:
        assert numbers(by_number(collection, of).concurrent) == {1, 2, 3, 4, 5, 6} - {of}
        assert numbers(by_number(collection, 8).concurrent) == {9}


def test_records_that_name_one_that_is_not_there_are_concurrent() -> None:
    with Collection(files([put(2, concurrent_to(1))], [put(3, concurrent_to(1))])) as collection:
        assert numbers(by_number(collection, 2).concurrent) == {3}


def test_many_names_that_lead_to_the_same_records_do_not_multiply(monkeypatch) -> None:
    others = [concurrent_to(number) for number in range(100, 600)]
    parsed: list[str] = []
    with Collection(files([put(number, *others) for number in range(1, 9)])) as collection:
        first = by_number(collection, 1)
        loads = json.loads
        monkeypatch.setattr(json, "loads", lambda text: parsed.append(text) or loads(text))
        assert numbers(first.concurrent) == set(range(2, 9))
    # Each of the 500 names leads to 8 records that name all 500.
    assert len(parsed) < 50


def test_a_record_is_not_concurrent_with_itself() -> None:
    made = files([put(1, concurrent_to(1)), put(2)])
    with Collection(made) as collection:
        assert by_number(collection, 1).concurrent == ()
        assert by_number(collection, 2).concurrent == ()


def test_a_copy_in_another_file_is_given_once() -> None:
    pair = [put(1), put(2, concurrent_to(1))]
    with Collection(files(pair, pair)) as collection:
        for record in collection:
            assert numbers(record.concurrent) == {1, 2} - numbers([record])


def test_a_record_without_an_id_has_no_concurrent_records() -> None:
    header, block = put(1, concurrent_to(2))
    anonymous = header.replace(b"WARC-Record-ID", b"X-Record-ID")
    with Collection(files([(anonymous, block), put(2)])) as collection:
        first = next(iter(collection))
        assert first.id is None
        assert first.concurrent == ()
        assert first.referring_to == ()


def test_thousands_of_concurrent_records_are_found_fast() -> None:
    chain = [put(n, concurrent_to(n - 1), block=b"") for n in range(1, 2000)]
    with at_most_calls(800 * 2000), Collection(files(chain)) as collection:
        assert numbers(by_number(collection, 1000).concurrent) == {*range(1, 2000)} - {1000}


# Records that are about others.


def test_relations_are_followed_in_both_directions() -> None:
    made = files(
        [put(1), put(2, refers_to(1), kind="metadata")],
        [put(3, refers_to(1), kind="conversion"), put(4, refers_to(3), kind="metadata")],
    )
    with Collection(made) as collection:
        about = {number: by_number(collection, number).refers_to for number in range(1, 5)}
        assert about[1] is None
        assert [about[number].block.read() for number in (2, 3, 4)] == [
            b"block of 1",
            b"block of 1",
            b"block of 3",
        ]
        back = {number: numbers(by_number(collection, number).referring_to) for number in range(1, 5)}
        assert back == {1: {2, 3}, 2: set(), 3: {4}, 4: set()}
        assert collection.refers_to(by_number(collection, 4)).id == record_id(3)
        assert numbers(collection.referring_to(by_number(collection, 3))) == {4}


def test_a_dangling_reference_gives_no_record() -> None:
    with Collection(files([put(2, refers_to(1), kind="metadata")])) as collection:
        record = by_number(collection, 2)
        assert record.refers_to is None
        assert record.refers_to_id == record_id(1)


def test_ids_are_compared_without_their_brackets() -> None:
    bare = ("WARC-Refers-To", record_id(1))
    with Collection(files([put(1), put(2, bare, kind="metadata")])) as collection:
        assert by_number(collection, 2).refers_to.id == record_id(1)
        assert numbers(by_number(collection, 1).referring_to) == {2}


def test_a_logical_record_has_the_relations_of_its_origin() -> None:
    block = b"HTTP/1.1 200 OK\r\n\r\nhello"
    made = files(
        [put(1, ("WARC-Segment-Number", "1"), kind="response", block=block[:10])],
        [
            put(
                2,
                ("WARC-Segment-Number", "2"),
                ("WARC-Segment-Origin-ID", f"<{record_id(1)}>"),
                ("WARC-Segment-Total-Length", str(len(block))),
                kind="continuation",
                block=block[10:],
            )
        ],
        [put(3, concurrent_to(1), kind="request"), put(4, refers_to(1), kind="metadata")],
    )
    with Collection(made) as collection:
        record = by_number(collection, 2)
        assert isinstance(record, JoinedRecord)
        assert numbers(record.concurrent) == {3}
        assert numbers(record.referring_to) == {4}
        assert by_number(collection, 4).refers_to.id == record_id(1)


def test_relations_of_a_single_reader_ask_for_a_collection() -> None:
    (source,) = files([put(1, refers_to(1), concurrent_to(1))])
    with seekwarc.open(source) as archive:
        for record in (next(iter(archive)), archive.record_at(0)):
            for name in ("concurrent", "refers_to", "referring_to"):
                with pytest.raises(SeekWarcError, match="Collection"):
                    getattr(record, name)


# The index.


class ListIndex:
    """An index as someone else may have it: a list, files by their base names, lengths not known."""

    def __init__(self, sources: Sequence[RecordingSource], *, lengths: bool = False) -> None:
        self.asked = 0
        self.entries: list[Entry] = []
        for source in sources:
            with seekwarc.open(source) as archive:
                for it in described(archive):
                    self.entries.append(
                        Entry(
                            os.path.basename(it.filename),
                            it.offset,
                            it.length if lengths else None,
                            *(getattr(it, name) for name in Entry.__slots__[3:]),
                        )
                    )
        # No order is promised.
        self.entries.reverse()

    def _where(self, name: str, value: object) -> list[Entry]:
        self.asked += 1
        return [it for it in self.entries if getattr(it, name) == value]

    def by_id(self, record_id: str) -> Sequence[Entry]:
        return self._where("id", record_id)

    def by_uri(self, uri: str) -> Sequence[Entry]:
        return self._where("uri", uri)

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        self.asked += 1
        return [it for it in self.entries if it.payload_digest and it.payload_digest.key == digest.key]

    def segments_of(self, origin_id: str) -> Sequence[Entry]:
        return self._where("segment_origin_id", origin_id)

    def concurrent_to(self, record_id: str) -> Sequence[Entry]:
        self.asked += 1
        return [it for it in self.entries if record_id in it.concurrent_to]

    def referring_to(self, record_id: str) -> Sequence[Entry]:
        return self._where("refers_to", record_id)


IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
EMPTY_SHA1 = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def a_crawl() -> list[RecordingSource]:
    """All that can be asked for, in files in a folder."""
    segment = ("WARC-Segment-Number", "2"), ("WARC-Segment-Origin-ID", f"<{record_id(3)}>")
    return files(
        [put(1, ("WARC-Payload-Digest", EMPTY_SHA1)), put(2, refers_to(1), kind="metadata")],
        [put(3, ("WARC-Segment-Number", "1"), block=b"one ", uri="urn:x:3"), put(5, concurrent_to(3))],
        [
            put(
                4,
                *segment,
                ("WARC-Segment-Total-Length", "7"),
                kind="continuation",
                block=b"two",
                uri="urn:x:3",
            )
        ],
        [
            put(
                6,
                ("WARC-Profile", IDENTICAL),
                ("WARC-Payload-Digest", EMPTY_SHA1),
                kind="revisit",
                block=b"",
                uri="urn:x:6",
            )
        ],
        folder="some/folder/",
    )


def answers(collection: Collection) -> list[object]:
    """Ask a collection of `a_crawl` for everything."""
    return [
        by_number(collection, 1).block.read(),
        by_number(collection, 2).refers_to.block.read(),
        numbers(by_number(collection, 1).referring_to),
        by_number(collection, 4).block.read(),
        numbers(by_number(collection, 3).concurrent),
        numbers(by_number(collection, 5).concurrent),
        by_number(collection, 6).payload.read(),
        collection.open_record(uri="urn:x:6").payload.read(),
        collection.open_record(uri="urn:x:3").payload.read(),
    ]


EXPECTED = [b"block of 1", b"block of 1", {2}, b"one two", {5}, {3}, b"block of 1", b"block of 1", b"one two"]


@pytest.mark.parametrize("lengths", [True, False])
def test_a_custom_index_works_like_the_built_in_one(lengths: bool) -> None:
    sources = a_crawl()
    own = ListIndex(sources, lengths=lengths)
    index: RecordIndex = own
    with Collection(sources) as built, Collection(sources, index=index) as given:
        assert answers(built) == EXPECTED
        assert answers(given) == EXPECTED
        assert given.index is index
        assert own.asked >= len(EXPECTED)
        assert isinstance(built.index, MemoryIndex)
        assert built.index is built.index


def test_one_index_may_serve_several_collections() -> None:
    sources = a_crawl()
    with Collection(sources) as first:
        index = first.index
    with Collection(sources, index=index) as second:
        assert answers(second) == EXPECTED


def test_nothing_is_read_before_it_is_needed() -> None:
    sources = a_crawl()
    own = ListIndex(sources)
    for source in sources:
        source.forget()
    with Collection(sources, index=own) as collection:
        assert by_number(collection, 1).block.read() == b"block of 1"
        assert [len(source.requests) for source in sources[1:]] == [0, 0, 0]
    with Collection(sources) as collection:
        for source in sources:
            source.forget()
        assert len(collection.files) == 4
        assert [len(source.requests) for source in sources] == [0, 0, 0, 0]
        by_number(collection, 1)
        assert all(source.requests for source in sources)
        once = [len(source.requests) for source in sources]
        for number in range(1, 7):
            by_number(collection, number)
        assert sum(len(source.requests) for source in sources) <= sum(once) + 3 * 6, (
            "each file is scanned once"
        )


def test_files_with_one_base_name_are_distinguished_by_path() -> None:
    one, two = (files([put(number)], folder=f"{number}/")[0] for number in (1, 2))
    with Collection([one, two]) as collection:
        assert os.path.basename(one.name) == os.path.basename(two.name)
        assert by_number(collection, 1).block.read() == b"block of 1"
        assert by_number(collection, 2).block.read() == b"block of 2"


def test_an_ambiguous_base_name_opens_no_wrong_record() -> None:
    one, two = (files([put(number)], folder=f"{number}/")[0] for number in (1, 2))
    for order in ([one, two], [two, one]):
        with Collection(order) as collection, pytest.raises(NotFoundError, match=r"0\.warc"):
            collection.record(Entry("0.warc", 0))


def test_an_entry_of_another_file_is_not_found() -> None:
    with Collection(files([put(1)])) as collection:
        for name in ("1.warc", "", "0.warc/"):
            with pytest.raises(NotFoundError):
                collection.record(Entry(name, 0, id=record_id(1)))
        assert collection.record(Entry("elsewhere/0.warc", 0, id=record_id(1))).id == record_id(1)


@pytest.mark.parametrize("form", FORMS)
def test_an_index_of_other_files_is_noticed(form: str) -> None:
    data = stored(form, [put(1), put(2)])
    with seekwarc.open(data) as archive:
        second = list(archive)[1].offset
    with Collection([RecordingSource(data, "a.warc")]) as collection:
        assert collection.record(Entry("a.warc", second, id=record_id(2))).id == record_id(2)
        assert collection.record(Entry("a.warc", second)).id == record_id(2)
        with pytest.raises(FormatError, match=record_id(2)) as caught:
            collection.record(Entry("a.warc", second, id=record_id(1)))
        assert record_id(1) in str(caught.value)
        assert (caught.value.source, caught.value.offset) == ("a.warc", second)
        for offset in (1, second + 1, len(data), len(data) + 10):
            with pytest.raises(FormatError) as caught:
                collection.record(Entry("a.warc", offset, id=record_id(2)))
            assert caught.value.source == "a.warc"


@pytest.mark.parametrize("form", FORMS)
def test_an_entry_with_a_wrong_length_still_opens_its_record(form: str) -> None:
    data = stored(form, [put(1, block=text(50_000)), put(2)])
    for length in (1, 1000, len(data), 10**9):
        with Collection([RecordingSource(data, "a.warc")]) as collection:
            record = collection.record(Entry("a.warc", 0, length, id=record_id(1)))
            assert record.block.read() == text(50_000)


def sharing() -> Collection:
    """Return a collection of one file that holds records 1 and 2 in one gzip member."""
    shared = gzip_member(b"".join(header + block + CRLF2 for header, block in (put(1), put(2))))
    collection = Collection([RecordingSource(shared, "a.warc.gz")])
    with pytest.warns(FormatWarning, match="share"):
        assert collection.index.by_id(record_id(2))
    return collection


def test_records_that_share_a_gzip_member_are_not_confused() -> None:
    with sharing() as collection, pytest.raises(FormatError, match="convert"):
        by_number(collection, 2)


def test_the_first_record_of_a_shared_gzip_member_is_found() -> None:
    with sharing() as collection:
        assert by_number(collection, 1).block.read() == b"block of 1"


def test_records_before_and_after_damage_are_found() -> None:
    good, damaged = files([put(1)], [put(2), put(3), put(4)])
    with seekwarc.open(damaged.data) as archive:
        place = [it.offset for it in archive][1]
    damaged.data = damaged.data[:place] + b"X" + damaged.data[place + 1 :]
    with Collection([good, damaged]) as collection:
        with pytest.warns(FormatWarning, match=rf"{damaged.name}: 1 place damaged \(offset {place}\)"):
            assert by_number(collection, 1).block.read() == b"block of 1"
        assert by_number(collection, 4).block.read() == b"block of 4"
        with pytest.raises(NotFoundError):
            by_number(collection, 3)
        with pytest.raises(FormatError):
            list(collection)
    with Collection([good, damaged], on_error="skip") as collection:
        assert by_number(collection, 4).block.read() == b"block of 4", "without a warning"


def test_one_path_is_not_taken_for_its_letters(tmp_path: Path) -> None:
    for name in ("a.warc.zst", "b.warc.zst"):
        with seekwarc.open(tmp_path / name, "w") as out:
            out.write_resource(URI, name.encode(), "text/plain")
    path = tmp_path / "a.warc.zst"
    for one in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
        with Collection(one) as collection:
            assert [it.block.read() for it in collection] == [b"a.warc.zst"]
    for several in (tmp_path, f"{tmp_path}/*.warc.zst", [tmp_path]):
        with Collection(several) as collection:
            assert [it.block.read() for it in collection] == [b"a.warc.zst", b"b.warc.zst"]


def test_a_file_that_is_not_an_archive_is_reported_when_the_index_is_made() -> None:
    good, damaged = files([put(1)], [put(2)])
    damaged.data = b"this is no record"
    damaged.size = len(damaged.data)
    with Collection([good, damaged]) as collection:
        for _ in range(2):
            with pytest.raises(FormatError) as caught:
                by_number(collection, 1)
            assert caught.value.source == damaged.name
    with Collection([good, damaged], index=ListIndex([good])) as collection:
        assert by_number(collection, 1).block.read() == b"block of 1"


# Several threads.


def test_several_threads_may_ask_one_collection() -> None:
    contents = [[put(n, block=text(30_000, n)) for n in range(base, base + 12)] for base in (0, 20, 40)]
    sources = files(*contents)
    with Collection(sources) as collection:

        def ask(number: int) -> bool:
            record = by_number(collection, number)
            return record.block.pread(100, 25_000) == text(30_000, number)[100:25_100]

        wanted = [*range(12), *range(20, 32), *range(40, 52)] * 3
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(ask, wanted))


def test_the_index_is_made_once_however_many_threads_ask() -> None:
    sources = a_crawl()
    with Collection(sources) as collection:
        assert collection.index
        alone = [len(source.requests) for source in sources]
    again = a_crawl()
    with Collection(again) as collection, ThreadPoolExecutor(8) as pool:
        indexes = list(pool.map(lambda _: collection.index, range(16)))
        assert all(index is indexes[0] for index in indexes)
        assert [len(source.requests) for source in again] == alone


@pytest.mark.parametrize("bad", [b"", b"<!DOCTYPE html>", bytes(100)])
def test_a_file_that_is_no_archive_is_passed_over_if_wanted(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "a.warc.gz").write_bytes(bad)
    with seekwarc.open(tmp_path / "b.warc.gz", "w") as out:
        out.write_resource(URI, b"b", "text/plain")
    with Collection(tmp_path) as collection:
        with pytest.raises(FormatError, match=r"a\.warc\.gz"):
            list(collection)
        with pytest.raises(FormatError, match=r"a\.warc\.gz"):
            _ = collection.index
    told: list[FormatError] = []
    with Collection(tmp_path, on_error=told.append) as collection:
        assert [it.block.read() for it in collection] == [b"b"]
        assert len(told) == 1
        assert collection.open_record(uri=URI).block.read() == b"b"
    assert {it.source for it in told} == {str(tmp_path / "a.warc.gz")}
    with Collection(tmp_path, on_error="skip") as collection:
        with pytest.warns(FormatWarning, match=r"a\.warc\.gz.*passed over"):
            assert [it.block.read() for it in collection] == [b"b"]
        with pytest.warns(FormatWarning, match=r"a\.warc\.gz.*passed over"):
            assert len(collection.index.by_uri(URI)) == 1


def test_a_folder_opens_as_the_collection_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.warc", "sub/b.warc.gz"):
        with seekwarc.open(tmp_path / name, "w") as out:
            out.write_resource(f"http://example.org/{name}", b"x", "text/plain")
    opened: object = seekwarc.open(tmp_path)
    assert isinstance(opened, seekwarc.Collection)
    with opened:
        assert len(opened.files) == 2
        assert opened.open_record(uri="http://example.org/sub/b.warc.gz").payload.read() == b"x"
