"""What is known of a record, and which of several captures is nearest."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import seekwarc
from seekwarc import Digest, Entry, MemoryIndex, TableTrust, WarcDate
from seekwarc.collection.entry import (
    by_nearness,
    describe,
    described,
    entry_of_line,
    is_listed,
    judged,
    nearest,
)
from seekwarc.errors import FormatError
from seekwarc.format.cdxj import CdxjLine
from seekwarc.make.converting import convert
from seekwarc.make.indexing import index
from seekwarc.read.selection import Selection
from tests.support.foreign import Foreign
from tests.support.headers import BASE16, BASE32, OTHER, header
from tests.support.sources import RecordingSource
from tests.support.writing import DATE, URI, noise, record_id

WANTED = Selection.of(status=200, mime="text/html")
FORMS = {
    "zst": lambda made: made,
    "gz": Foreign.gzip,
    "none": Foreign.plain,
}


def entry(number: int = 1, *fields: tuple[str, str], kind: str = "response") -> Entry:
    """Return the one entry of a file whose record has these fields."""
    data = header(kind, number, 0, *fields) + b"\r\n\r\n"
    with seekwarc.open(RecordingSource(data, f"{number}.warc")) as archive:
        (found,) = described(archive)
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
        found = list(described(archive))
        assert [it.filename for it in found] == ["one.warc"] * 6
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
        assert [it.length for it in described(archive)] == [put.length for put in made.records]


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
        found = list(described(archive))
        assert [it.id for it in found] == [place.id for place in places]
        assert [it.type for it in found] == ["warcinfo", "resource", "resource"]
        assert [it.uri for it in found] == [None, URI, URI]
        if form == "zst":
            assert [it.offset for it in found] == [place.offset for place in places]


def test_blocks_are_not_decompressed_for_an_index() -> None:
    made = several(table=True, file_table=True)
    with seekwarc.open(made.bytes()) as archive:
        assert len(list(described(archive))) == 6
        assert archive.stats.bytes_decoded < 4 * 60_000, "no more than the first frame of each"


@pytest.mark.parametrize("form", FORMS)
def test_damage_is_reported_when_it_is_reached(form: str) -> None:
    made = FORMS[form](several(table=False, file_table=False))
    with seekwarc.open(made.bytes() + b"this is no record") as archive:
        found = described(archive)
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
        size=0,
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
        (found,) = described(archive)
    assert found == Entry("<bytes>", 0, found.length, size=1)
    index = MemoryIndex()
    index.add(found)
    assert index.by_id("") == ()


def test_judged_records_are_of_known_length() -> None:
    made = Foreign().record(b"x" * 3000, cuts=500).record(b"y").record(b"z" * 900, cuts=300)
    with seekwarc.open(made.bytes()) as archive:
        for (record, _), put in zip(judged(archive, bool), made.records, strict=True):
            assert record.length == put.length


def test_judging_costs_no_more_than_iterating() -> None:
    made = Foreign()
    for _ in range(50):
        made.record(b"x" * 3000, cuts=500)
    plain, asked = RecordingSource(made.gzip().bytes()), RecordingSource(made.gzip().bytes())
    with seekwarc.open(plain) as archive:
        list(archive)
    with seekwarc.open(asked) as archive:
        assert sum(record.length for record, _ in judged(archive, bool)) == asked.size
    assert asked.bytes_asked == plain.bytes_asked


def test_records_before_damage_are_judged() -> None:
    made = Foreign().record(b"x").record(b"y")
    with seekwarc.open(made.bytes() + b"damage") as archive:
        records = judged(archive, bool)
        assert [next(records)[0].offset for _ in range(2)] == [put.offset for put in made.records]
        with pytest.raises(FormatError):
            next(records)


def pages(path: Path, count: int) -> Path:
    """Write small responses, every other one with the status that is wanted."""
    with seekwarc.open(path, "w", threads=1) as out:
        for number in range(count):
            page = {"http_headers": {"Content-Type": "text/html"}, "status": 200 + number % 2}
            out.write_response(f"{URI}{number}", b"page", date=DATE, **page)
    return path


@pytest.mark.parametrize("compression", ["zst", "gz"])
def test_what_is_judged_is_decompressed_once(compression: str, tmp_path: Path) -> None:
    """Each record was decompressed again when its head was asked for after the next was found."""
    name = pages(tmp_path / f"a.warc.{compression}", 90)
    with seekwarc.open(name, threads=1) as archive:
        list(archive)
        once = archive.stats.bytes_decoded
    with seekwarc.open(name, threads=1) as archive:
        found = [it for it, is_wanted in judged(archive, WANTED.matches) if is_wanted]
        assert (len(found), archive.stats.bytes_decoded) == (45, once)
        assert found[0].block.read()[:4] == b"HTTP"
        assert archive.stats.bytes_decoded > once


@pytest.mark.parametrize("compression", ["zst", "gz"])
def test_nothing_is_kept_of_records_that_were_judged(compression: str, tmp_path: Path) -> None:
    name = pages(tmp_path / f"a.warc.{compression}", 900)
    kept: list[int] = []
    with seekwarc.open(name, threads=1) as archive:
        tracemalloc.start()
        try:
            for number, _ in enumerate(judged(archive, WANTED.matches)):
                if number in (100, 800):
                    kept.append(tracemalloc.get_traced_memory()[0])
        finally:
            tracemalloc.stop()
    # Less than 30 bytes a record; it was more than 600.
    assert kept[1] - kept[0] < 20_000


def test_iteration_may_stop_early() -> None:
    with seekwarc.open(several(table=False, file_table=False).bytes()) as archive:
        entries = described(archive)
        assert next(entries).offset == 0
        del entries
        records = judged(archive, bool)
        assert next(records)[0].offset == 0
        records.close()


# Which of several captures is nearest.


def dated(*dates: str | None) -> list[Entry]:
    return [
        Entry("a.warc", number, date=WarcDate.parse(date) if date is not None else None)
        for number, date in enumerate(dates)
    ]


@pytest.mark.parametrize(
    ("date", "wanted"),
    [(None, 2), ("2020", 0), ("2022-06", 1), ("2030", 2), ("2024-06-15T12:00:00Z", 2)],
)
def test_the_nearest_capture_is_found(date: str | None, wanted: int) -> None:
    found = nearest(dated("2021", "2023", "2025", None), date and WarcDate.parse(date))
    assert found is not None
    assert found.offset == wanted


def test_of_equally_near_captures_the_later_is_taken_and_of_the_same_date_as_they_are_stored() -> None:
    entries = dated("2025-01-03", "2025-01-01", "2025-01-03", "2025-01-01", None)
    for date, order in (
        (None, [2, 0, 3, 1]),
        ("2025-01-02", [0, 2, 3, 1]),
        ("2025-01-03", [0, 2, 3, 1]),
        ("2025-01-04", [2, 0, 3, 1]),
        ("2025", [1, 3, 0, 2]),
    ):
        wanted = date and WarcDate.parse(date)
        for given in (entries, entries[::-1]):
            assert by_nearness(given, wanted) == [entries[it] for it in order], date
            assert nearest(given, wanted) is entries[order[0]]


def test_captures_without_a_date_are_never_nearest() -> None:
    assert nearest(dated(None, None), None) is None
    assert nearest([], WarcDate.parse("2025")) is None


# Entries from an index.


def line(**fields: str) -> CdxjLine:
    return CdxjLine(
        "org,example)/", "20261121093000", {"url": URI, "filename": "a.warc", "offset": "7", **fields}
    )


def test_a_line_of_an_index_is_an_entry() -> None:
    fields = {"mime": "text/html", "status": "200", "length": "99", "digest": BASE32.removeprefix("sha1:")}
    found = entry_of_line(line(**fields))
    assert (found.filename, found.offset, found.length, found.type) == ("a.warc", 7, 99, "response")
    assert (found.uri, str(found.date)) == (URI, "2026-11-21T09:30:00Z")
    assert (found.mime, found.status, found.payload_digest) == ("text/html", 200, Digest.parse(BASE32))
    assert entry_of_line(line(), "other.warc").filename == "other.warc"
    assert entry_of_line(line(mime="warc/revisit")).type == "revisit"
    assert entry_of_line(line(**{"warc-type": "metadata"})).type == "metadata"


def test_a_line_with_a_malformed_table_is_an_entry_with_a_problem() -> None:
    found = entry_of_line(line(seekTable="nonsense"))
    assert found.table is TableTrust.SCANNED
    assert "nonsense" in (found.problem or "")


def test_a_line_without_a_place_is_not_an_entry() -> None:
    for wrong in ({"filename": ""}, {"offset": "x"}):
        with pytest.raises(FormatError):
            entry_of_line(line(**wrong))


def test_what_costs_more_than_the_header_is_asked_for() -> None:
    head = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html; charset=x\r\n\r\n"
    made = Foreign().record(
        head + b"<p>", header=header("response", 1, len(head) + 3, ("Content-Type", "application/http"))
    )
    with seekwarc.open(made.bytes()) as archive:
        (bare,) = described(archive)
    assert (bare.size, bare.mime, bare.status, bare.payload_size) == (len(head) + 3, None, None, None)
    with seekwarc.open(made.bytes()) as archive:
        (full,) = described(
            archive,
            lambda record: describe(record, media_type=lambda it: it.payload.media_type, payload_size=True),
        )
    assert (full.size, full.mime, full.status, full.payload_size) == (len(head) + 3, "text/html", 404, 3)


def test_the_record_that_damage_is_in_is_described_if_wanted() -> None:
    made = Foreign().record(b"x").record(noise(400_000, 2)).gzip()
    data = bytearray(made.bytes())
    second = made.records[1]
    data[second.offset + second.length // 2] ^= 255
    for places, lengths in ((False, [second.offset]), (True, [second.offset, None])):
        damages: list[FormatError] = []
        with seekwarc.open(bytes(data)) as archive:
            found = list(described(archive, on_damage=damages.append, places=places))
        assert [it.length for it in found] == lengths
        assert [it.problem for it in found[1:]] == [it.message for it in damages if places]
        assert len(damages) == 1


@pytest.mark.parametrize("form", FORMS)
def test_records_after_damage_have_entries(form: str) -> None:
    made = FORMS[form](several(table=False, file_table=False))
    data = bytearray(made.bytes())
    third = made.records[2]
    data[third.offset : third.offset + third.length] = b"x" * third.length
    damages: list[FormatError] = []
    with seekwarc.open(bytes(data)) as archive:
        found = list(described(archive, on_damage=damages.append))
        places = [it for it in described(archive, on_damage=print, places=True) if it.type is None]
    kept = [put for put in made.records if put is not third]
    assert [(it.offset, it.length) for it in found] == [(put.offset, put.length) for put in kept]
    assert [it.offset for it in damages] == [it.offset for it in places] == [third.offset]
    assert places[0].problem == damages[0].message


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_are_equal(copied) -> None:
    date, digest = WarcDate.parse("2026-11"), Digest.parse(BASE16)
    whole = Entry(
        "a.warc.zst", 7, 90, "response", "urn:x", URI, date, digest, 1, "urn:o", "urn:r", ("urn:c",)
    )
    made = copied(whole)
    assert (made, made.date.precision, made.date.text) == (whole, "month", "2026-11")
    assert (made.payload_digest, made.table) == (digest, TableTrust.CLAIMED)


@pytest.mark.parametrize(
    ("kind", "media", "is_wanted"),
    [
        ("resource", "application/warc-fields", False),
        ("resource", "application/warc-fields; v=1", False),
        ("resource", "application/warc-fields v=1", False),
        ("resource", "text/plain", True),
        ("response", "application/warc-fields", True),
        ("metadata", "text/plain", False),
    ],
)
def test_one_rule_says_which_records_an_index_lists(
    tmp_path: Path, kind: str, media: str, *, is_wanted: bool
) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(header(kind, 1, 0, ("Content-Type", media)) + b"\r\n\r\n")
    index(path, tmp_path / "a.cdxj")
    with seekwarc.open(path) as archive:
        assert [is_listed(it) for it in archive] == [is_wanted]
    assert bool((tmp_path / "a.cdxj").read_bytes()) is is_wanted
