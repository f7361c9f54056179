"""Ranges of large gzip members through a sidecar: right, cheap, and never those of another archive."""

from __future__ import annotations

import dataclasses
import pickle
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from unittest.mock import ANY

import pytest

import seekwarc
from seekwarc import TableStatus, tools
from seekwarc.errors import ChecksumError, FormatWarning, SourceError
from seekwarc.format.sidecar import SIDECAR_SUFFIX, SidecarRecord, Span
from seekwarc.serve.library import Library
from tests.support.foreign import CRLF2, cut, warc_header, zstd_frame
from tests.support.rangeserver import Content, RangeServer
from tests.support.sidecars import Member, gzip_member, member, mixed, sidecar_of, spliced

SPACING = 64 << 10


class Archive(NamedTuple):
    data: bytes
    sidecar: bytes
    offset: int
    length: int
    payload: bytes
    points: int


@pytest.fixture(scope="module")
def archive() -> Archive:
    pieces = mixed(1, 1_500_000)
    payload = b"".join(pieces)
    pieces = [warc_header(len(payload), 1), *pieces, CRLF2]
    small = gzip_member([warc_header(5), b"small", CRLF2])
    large = gzip_member(pieces)
    data = small + large + small
    entry = member(len(small), large, b"".join(pieces)).record(SPACING)
    return Archive(data, sidecar_of(data, [entry]), len(small), len(large), payload, len(entry.spans))


@pytest.fixture
def path(archive: Archive, tmp_path: Path) -> Path:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(archive.data)
    path.with_name("a.warc.gz.seek").write_bytes(archive.sidecar)
    return path


def test_any_range_is_read(path: Path, archive: Archive) -> None:
    rnd = random.Random(1)
    with seekwarc.open(path, cache_size=0) as reader:
        payload = reader.record_at(archive.offset, archive.length).payload
        for _ in range(150):
            start = rnd.randrange(len(archive.payload))
            size = rnd.choice([1, 100, 4096, 70_000, 400_000])
            wanted = archive.payload[start : start + size]
            assert payload.pread(start, size, verify=rnd.random() < 0.8) == wanted
            out = bytearray(len(wanted))
            assert payload.pread_into(start, out) == len(wanted)
            assert out == wanted
        assert payload.read() == archive.payload


def test_a_range_costs_its_spans(path: Path, archive: Archive) -> None:
    with seekwarc.open(path) as reader:
        record = reader.record_at(archive.offset, archive.length)
        assert record.seek_table_status is TableStatus.SIDECAR
        assert len(record.body.frames) == archive.points > 10
        plan = record.payload.plan(1_000_000, 1_000_100)
        before = reader.stats.bytes_decoded, reader.stats.bytes_fetched
        assert record.payload.pread(1_000_000, 100) == archive.payload[1_000_000:1_000_100]
        after = reader.stats.bytes_decoded, reader.stats.bytes_fetched
        assert (after[0] - before[0], after[1] - before[1]) == (plan.bytes_decoded, plan.bytes_fetched)
        assert 100 <= plan.bytes_decoded < 4 * SPACING
        assert (plan.frames, plan.is_verified) == (1, True)


class Served(RangeServer):
    """Serves an archive, and what there is beside it."""

    beside: bytes | None = None

    def content_of(self, target: str) -> Content | None:
        if not target.endswith(SIDECAR_SUFFIX):
            return self.content
        return Content(self.beside) if self.beside is not None else None

    def asked_beside(self) -> list[str | None]:
        return [one.range for one in self.asked if one.target.endswith(SIDECAR_SUFFIX)]


MIDDLE = 1_000_000


def middle(record: seekwarc.Record) -> bytes:
    return record.payload.pread(MIDDLE, 100)


def test_a_record_of_an_iteration_is_read_by_range(path: Path, archive: Archive) -> None:
    with seekwarc.open(path) as reader:
        records = iter(reader)
        next(records)
        film = next(records)
        assert film.payload.pread(MIDDLE, 70_000) == archive.payload[MIDDLE : MIDDLE + 70_000]
        assert reader.stats.bytes_decoded < 500_000
        assert next(records).payload.read() == b"small"
        assert film.payload.read() == archive.payload


def test_an_iteration_decompresses_nothing_twice(path: Path, archive: Archive) -> None:
    with seekwarc.open(path, threads=1) as reader:
        content = sum(record.size for record in reader)
        before = reader.stats.bytes_decoded
        assert [len(record.payload.read()) for record in reader] == [5, len(archive.payload), 5]
        assert reader.stats.bytes_decoded - before <= content + 1000


def test_a_pickled_record_is_read_by_range(path: Path, archive: Archive) -> None:
    with seekwarc.open(path) as reader:
        record = pickle.loads(pickle.dumps(reader.record_at(archive.offset)))
        assert middle(record) == archive.payload[MIDDLE : MIDDLE + 100]
        assert record.seek_table_status is TableStatus.SIDECAR
        record.body.file.close()


def test_ranges_are_read_from_several_threads(path: Path, archive: Archive) -> None:
    with seekwarc.open(path) as reader, ThreadPoolExecutor(8) as pool:
        payload = reader.record_at(archive.offset).payload
        found = pool.map(lambda start: payload.pread(start, 30_000), range(0, 1_500_000, 40_000))
        assert [*found] == [archive.payload[n : n + 30_000] for n in range(0, 1_500_000, 40_000)]


@pytest.mark.parametrize("options", [{"sidecar": False}, {"strict": True}], ids=str)
def test_a_sidecar_is_not_used_where_it_is_not_wanted(
    path: Path, archive: Archive, options: dict[str, bool]
) -> None:
    with seekwarc.open(path, **options) as reader:
        record = reader.record_at(archive.offset)
        assert record.seek_table_status is TableStatus.STREAM
        assert record.body.frames is None
        assert middle(record) == archive.payload[MIDDLE : MIDDLE + 100]
        assert reader.stats.bytes_decoded > MIDDLE


def test_a_record_that_no_table_is_believed_of_is_read_without(path: Path, archive: Archive) -> None:
    with seekwarc.open(path) as reader:
        record = reader.record_at(archive.offset, table=seekwarc.TableTrust.SCANNED)
        assert record.seek_table_status is TableStatus.STREAM
        copy = pickle.loads(pickle.dumps(record))
        assert copy.seek_table_status is TableStatus.STREAM
        assert middle(copy) == archive.payload[MIDDLE : MIDDLE + 100]
        copy.body.file.close()


@pytest.mark.parametrize("strict", [False, True])
def test_a_sidecar_is_named(path: Path, archive: Archive, strict: bool) -> None:
    elsewhere = path.rename(path.with_name("b.warc.gz"))
    with seekwarc.open(elsewhere, sidecar=f"{path}.seek", strict=strict) as reader:
        assert reader.record_at(archive.offset).seek_table_status is TableStatus.SIDECAR
    with seekwarc.open(elsewhere, sidecar=path.with_name("none")) as reader:
        record = reader.record_at(archive.offset)
        with pytest.raises(SourceError, match="none"):
            middle(record)


def test_the_option_has_a_type(path: Path) -> None:
    with pytest.raises(TypeError, match="sidecar must be True, False, a path or a URL, not 1"):
        seekwarc.open(path, sidecar=1)


@pytest.mark.parametrize("place", ["size", "head", "tail"])
def test_the_sidecar_of_another_archive_is_not_used(path: Path, archive: Archive, place: str) -> None:
    data = bytearray(archive.data)
    if place == "size":
        data += archive.data[: archive.offset]
    else:
        # The time that a gzip member states.
        data[4 if place == "head" else len(data) - archive.offset + 4] ^= 1
    path.write_bytes(data)
    with seekwarc.open(path) as reader:
        record = reader.record_at(archive.offset)
        with pytest.warns(FormatWarning, match=r"the sidecar is not used: .*made of another archive"):
            assert middle(record) == archive.payload[MIDDLE : MIDDLE + 100]
        assert record.seek_table_status is TableStatus.STREAM


def test_an_archive_that_was_changed_in_between_is_noticed(path: Path, archive: Archive) -> None:
    with seekwarc.open(path) as reader:
        frame = reader.record_at(archive.offset).body.frames[5]
    data = bytearray(archive.data)
    data[archive.offset + frame.stored_start + 3000] ^= 1
    path.write_bytes(data)
    with seekwarc.open(path) as reader:
        payload = reader.record_at(archive.offset).payload
        assert payload.pread(0, 50_000) == archive.payload[:50_000]
        with pytest.raises(ChecksumError, match="frame 5"):
            payload.pread(frame.content_start, 1)


@pytest.mark.parametrize("data", [b"", b"x" * 500, zstd_frame(b"x" * 500)], ids=["empty", "text", "frame"])
def test_other_files_are_no_sidecars(path: Path, archive: Archive, data: bytes) -> None:
    path.with_name("a.warc.gz.seek").write_bytes(data)
    with seekwarc.open(path) as reader, pytest.warns(FormatWarning, match="the sidecar is not used"):
        assert middle(reader.record_at(archive.offset)) == archive.payload[MIDDLE : MIDDLE + 100]


def test_spans_of_another_record_are_not_used(path: Path, archive: Archive) -> None:
    span = Span(archive.offset + 10, 0, 0, 1, b"")
    entry = SidecarRecord(archive.offset, archive.length, 1_000_000, [span])
    path.with_name("a.warc.gz.seek").write_bytes(sidecar_of(archive.data, [entry]))
    with seekwarc.open(path) as reader, pytest.warns(FormatWarning, match="bytes for this record, which has"):
        assert middle(reader.record_at(archive.offset)) == archive.payload[MIDDLE : MIDDLE + 100]


@pytest.fixture(scope="module")
def members() -> tuple[Member, Member]:
    """Two records of one size, one after the other."""
    found: list[Member] = []
    for seed in (1, 2):
        text = b"".join(mixed(seed, 1_500_000))[:1_300_000]
        pieces = [warc_header(len(text), seed), *cut(text, 9_000), CRLF2]
        offset = sum(len(it.stored) for it in found)
        found.append(member(offset, gzip_member(pieces), b"".join(pieces)))
    return found[0], found[1]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize("way", ["by offset", "by length", "scanned"])
def test_an_entry_that_goes_on_in_the_next_member_is_not_used(
    tmp_path: Path, members: tuple[Member, Member], is_alone: bool, way: str
) -> None:
    one, other = members
    data = one.stored + other.stored
    path = tmp_path / "a.warc.gz"
    path.write_bytes(data)
    entries = [spliced(one, other, 3, SPACING, len(data))]
    if not is_alone:
        entries.append(other.record(SPACING))
    path.with_name("a.warc.gz.seek").write_bytes(sidecar_of(data, entries))
    with seekwarc.open(path) as reader:
        if way == "scanned":
            record, _ = reader
        else:
            record = reader.record_at(0, len(one.stored) if way == "by length" else None)
        with pytest.warns(FormatWarning, match="the sidecar is not used"):
            assert record.whole.pread(MIDDLE, 100) == one.content[MIDDLE : MIDDLE + 100]
        if not is_alone:
            assert reader.record_at(other.offset).seek_table_status is TableStatus.SIDECAR


def test_an_entry_that_ends_before_the_size_of_the_member_is_not_used(
    tmp_path: Path, members: tuple[Member, Member]
) -> None:
    one = members[0]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(one.stored)
    entry = dataclasses.replace(one.record(SPACING), length=len(one.stored) - 8)
    path.with_name("a.warc.gz.seek").write_bytes(sidecar_of(one.stored, [entry]))
    with seekwarc.open(path) as reader, pytest.warns(FormatWarning, match="end with the size of a member"):
        assert reader.record_at(0).whole.pread(MIDDLE, 100) == one.content[MIDDLE : MIDDLE + 100]


@pytest.mark.needs("module:obstore")
def test_a_remote_sidecar_takes_two_requests(archive: Archive) -> None:
    with Served(archive.data) as server:
        server.beside = archive.sidecar
        with seekwarc.open(server.url) as reader:
            record = reader.record_at(archive.offset, archive.length)
            assert not server.asked_beside()
            server.forget()
            assert middle(record) == archive.payload[MIDDLE : MIDDLE + 100]
            # Its end, which has the directory, and a frame of windows.
            assert server.asked_beside() in (["bytes=-65536"], ["bytes=-65536", ANY])
            # The end of the archive, which is compared, and the span.
            assert len(server.asked) - len(server.asked_beside()) <= 2
            server.forget()
            assert record.payload.pread(MIDDLE + 200_000, 100) == archive.payload[MIDDLE + 200_000 :][:100]
            assert len(server.asked) <= 2
            server.forget()
            assert record.payload.pread(100_000, 1_200_000) == archive.payload[100_000:1_300_000]
            assert len(server.asked) <= 6


@pytest.mark.needs("module:obstore")
@pytest.mark.parametrize(("sidecar", "requests"), [(True, 1), (False, 0)])
def test_a_sidecar_that_is_missing_costs_one_request(archive: Archive, sidecar: bool, requests: int) -> None:
    with Served(archive.data) as server, seekwarc.open(server.url, sidecar=sidecar) as reader:
        record = reader.record_at(archive.offset)
        assert middle(record) == archive.payload[MIDDLE : MIDDLE + 100]
        assert record.payload.pread(5, 5) == archive.payload[5:10]
        assert len(server.asked_beside()) == requests


def test_small_records_and_bytes_look_for_none(path: Path, archive: Archive) -> None:
    path.with_name("a.warc.gz.seek").write_bytes(b"no sidecar")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with seekwarc.open(path) as reader:
            assert reader.record_at(0).payload.read() == b"small"
            assert [record.payload.size for record in reader] == [5, len(archive.payload), 5]
        with seekwarc.open(archive.data) as reader:
            assert middle(reader.record_at(archive.offset)) == archive.payload[MIDDLE : MIDDLE + 100]


def test_everything_above_reads_through_it(path: Path, archive: Archive, tmp_path: Path) -> None:
    wanted = archive.payload[MIDDLE : MIDDLE + 100]
    index = tmp_path / "a.cdxj"
    tools.index(path, index, all_records=True)
    with seekwarc.Collection([path]) as collection:
        record = next(record for record in collection if record.content_length > MIDDLE)
        assert record.seek_table_status is TableStatus.SIDECAR
        assert middle(record) == wanted
    with seekwarc.Index(index) as captures:
        (capture,) = captures.lookup("http://example.org/1")
        record = capture.open()
        assert record.seek_table_status is TableStatus.SIDECAR
        assert middle(record) == wanted
    with Library([path]) as library:
        library.read()
        served = library.capture("http://example.org/1")
        assert served.extent("payload").pread(MIDDLE, 100) == wanted
    parts = [
        part
        for split in seekwarc.splits(path, inside_records=True, target_bytes=400_000)
        if split.kind == "payload"
        for part in seekwarc.read_split(split)
    ]
    assert len(parts) > 2
    assert b"".join(part.pread(0, part.size) for part in parts) == archive.payload
