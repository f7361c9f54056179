"""What an index knows of each record, and how it is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import seekwarc
from seekwarc import Digest, Entry, MemoryIndex
from seekwarc.collection.record_index import entries_of, with_lengths
from seekwarc.errors import FormatError
from seekwarc.format.warc import build_record_header
from seekwarc.tools.converting import convert
from tests.support.foreign import Foreign, gzip_member
from tests.support.sources import RecordingSource
from tests.support.writing import DATE, URI, noise, record_id

FORMS = {
    "zst": lambda made: made,
    "gz": Foreign.gzip,
    "none": Foreign.plain,
}
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


def entry(number: int = 1, *fields: tuple[str, str], kind: str = "response") -> Entry:
    """Return the one entry of a file whose record has these fields."""
    data = header(kind, number, 0, *fields) + b"\r\n\r\n"
    with seekwarc.open(RecordingSource(data, f"{number}.warc")) as archive:
        (found,) = entries_of(archive)
    return found


# Entries of a file.


def several(*, table: bool, file_table: bool) -> Foreign:
    """Small records and large ones, in whatever order matters to how they are found."""
    made = Foreign()
    for number, size in enumerate((5, 300_000, 0, 200_000, 250_000, 7)):
        made.record(
            noise(size, number),
            header=header("resource", number, size),
            cuts=60_000 if size > 60_000 else (),
            table=table and size > 60_000,
        )
    return made.file_table() if file_table else made


@pytest.mark.parametrize("file_table", [True, False])
@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_entries_have_the_offset_of_each_record(form: str, table: bool, file_table: bool) -> None:
    made = FORMS[form](several(table=table, file_table=file_table))
    with seekwarc.open(RecordingSource(made.bytes(), "one.warc")) as archive:
        found = list(entries_of(archive))
        assert [it.file for it in found] == ["one.warc"] * 6
        assert [it.offset for it in found] == [put.offset for put in made.records]
        assert [it.id for it in found] == [record_id(number) for number in range(6)]
        for it, put in zip(found, made.records, strict=True):
            assert it.length in (None, put.length), "a length may be missing, but never wrong"
            record = archive.record_at(it.offset, it.length)
            assert record.header.raw == put.header
            assert record.block.read() == put.block


@pytest.mark.parametrize("file_table", [True, False])
@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("form", ["gz", "zst", "none"])
def test_entries_have_the_length_of_each_record(form: str, table: bool, file_table: bool) -> None:
    made = FORMS[form](several(table=table, file_table=file_table))
    with seekwarc.open(made.bytes()) as archive:
        assert [it.length for it in entries_of(archive)] == [put.length for put in made.records]


@pytest.mark.parametrize("form", FORMS)
def test_written_records_are_found_at_their_stated_offsets(form: str, tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    with seekwarc.Writer(path, frame_size=64 << 10) as writer:
        places = [
            writer.write_warcinfo({"software": "x"}),
            writer.write_resource(URI, noise(300_000), "image/x"),
            writer.write_resource(URI, b"small", "text/plain"),
        ]
    if form != "zst":
        convert(path, path.with_suffix(".other"), form)
        path = path.with_suffix(".other")
    with seekwarc.open(path) as archive:
        found = list(entries_of(archive))
        assert [it.id for it in found] == [place.id for place in places]
        assert [it.type for it in found] == ["warcinfo", "resource", "resource"]
        assert [it.uri for it in found] == [None, URI, URI]
        if form == "zst":
            assert [it.offset for it in found] == [place.offset for place in places]


def test_blocks_are_not_decompressed_for_an_index() -> None:
    made = several(table=True, file_table=True)
    with seekwarc.open(made.bytes()) as archive:
        assert len(list(entries_of(archive))) == 6
        assert archive.stats.bytes_decoded < 4 * 60_000, "no more than the first frame of each"


@pytest.mark.parametrize("form", FORMS)
def test_damage_is_reported_when_it_is_reached(form: str) -> None:
    made = FORMS[form](several(table=False, file_table=False))
    with seekwarc.open(made.bytes() + b"this is no record") as archive:
        found = entries_of(archive)
        assert [next(found).offset for _ in range(5)] == [put.offset for put in made.records[:5]]
        with pytest.raises(FormatError):
            deplete(found)


def deplete(entries: Iterator[Entry]) -> None:
    for _ in entries:
        pass


# What an entry says.


def test_an_entry_has_every_field_that_is_looked_up() -> None:
    found = entry(
        7,
        ("WARC-Payload-Digest", BASE32),
        ("WARC-Segment-Number", "2"),
        ("WARC-Segment-Origin-ID", f"<{record_id(1)}>"),
        ("WARC-Refers-To", f"<{record_id(2)}>"),
        ("WARC-Concurrent-To", f"<{record_id(3)}>"),
        ("WARC-Concurrent-To", record_id(4)),
        kind="continuation",
    )
    assert found.date is not None
    assert found.date.text == DATE
    assert found == Entry(
        "7.warc",
        0,
        found.length,
        "continuation",
        record_id(7),
        URI,
        found.date,
        Digest.parse(BASE32),
        2,
        record_id(1),
        record_id(2),
        (record_id(3), record_id(4)),
    )


def test_uris_and_ids_come_without_angle_brackets() -> None:
    found = entry(1, ("WARC-Target-URI", f"<{URI}>"), ("WARC-Record-ID", "urn:uuid:bare"))
    assert (found.uri, found.id) == (URI, "urn:uuid:bare")


@pytest.mark.parametrize("kind", ["resource", "conversion"])
def test_the_payload_of_a_record_without_a_protocol_is_its_block(kind: str) -> None:
    assert entry(1, ("WARC-Block-Digest", BASE32), kind=kind).payload_digest == Digest.parse(BASE32)
    both = entry(1, ("WARC-Block-Digest", OTHER), ("WARC-Payload-Digest", BASE32), kind=kind)
    assert both.payload_digest == Digest.parse(BASE32)


@pytest.mark.parametrize("kind", ["response", "request", "metadata", "revisit", "warcinfo", "continuation"])
def test_the_block_digest_of_others_is_not_that_of_their_payload(kind: str) -> None:
    assert entry(1, ("WARC-Block-Digest", BASE32), kind=kind).payload_digest is None


@pytest.mark.parametrize(
    ("name", "value", "attribute"),
    [
        ("WARC-Date", "yesterday", "date"),
        ("WARC-Date", "2026-02-30T00:00:00Z", "date"),
        ("WARC-Payload-Digest", "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "payload_digest"),
        ("WARC-Payload-Digest", "sha1:", "payload_digest"),
        ("WARC-Block-Digest", "no digest", "payload_digest"),
        ("WARC-Segment-Number", "two", "segment_number"),
        ("WARC-Segment-Number", "-1", "segment_number"),
        ("WARC-Segment-Number", "9" * 19, "segment_number"),
    ],
)
def test_a_malformed_value_is_left_out(name: str, value: str, attribute: str) -> None:
    found = entry(1, (name, value), ("WARC-Refers-To", f"<{record_id(2)}>"), kind="resource")
    assert getattr(found, attribute) is None
    assert (found.id, found.uri, found.refers_to) == (record_id(1), URI, record_id(2))


def test_a_record_without_fields_has_an_entry() -> None:
    with seekwarc.open(b"WARC/1.1\r\nContent-Length: 1\r\n\r\nx\r\n\r\n") as archive:
        (found,) = entries_of(archive)
    assert found == Entry("<bytes>", 0, found.length)
    index = MemoryIndex()
    index.add(found)
    assert index.by_id("") == ()


# The index in memory.


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


def test_with_lengths_yields_records_of_known_length() -> None:
    made = Foreign().record(b"x" * 3000, cuts=500).record(b"y").record(b"z" * 900, cuts=300)
    with seekwarc.open(made.bytes()) as archive:
        for record, put in zip(with_lengths(archive), made.records, strict=True):
            assert record.length == put.length


def test_with_lengths_costs_no_more_than_iterating() -> None:
    made = Foreign()
    for _ in range(50):
        made.record(b"x" * 3000, cuts=500)
    plain, asked = RecordingSource(made.gzip().bytes()), RecordingSource(made.gzip().bytes())
    with seekwarc.open(plain) as archive:
        list(archive)
    with seekwarc.open(asked) as archive:
        assert sum(record.length for record in with_lengths(archive)) == asked.size
    assert asked.bytes_asked == plain.bytes_asked


def test_with_lengths_yields_records_before_damage() -> None:
    made = Foreign().record(b"x").record(b"y")
    with seekwarc.open(made.bytes() + b"damage") as archive:
        records = with_lengths(archive)
        assert [next(records).offset for _ in range(2)] == [put.offset for put in made.records]
        with pytest.raises(FormatError):
            next(records)


def test_iteration_may_stop_early() -> None:
    with seekwarc.open(several(table=False, file_table=False).bytes()) as archive:
        entries = entries_of(archive)
        assert next(entries).offset == 0
        del entries
        records = with_lengths(archive)
        assert next(records).offset == 0
        records.close()
