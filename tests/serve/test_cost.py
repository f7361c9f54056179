"""What views are charged with."""

from __future__ import annotations

import gzip
import threading
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

import seekwarc
from seekwarc.format.seektable import SeekTable
from seekwarc.serve.cost import MAX_VIEWS, FrameMap, Run, View, Views, WatchedSource
from seekwarc.serve.library import Library
from seekwarc.storage.local import BytesSource, LocalFileSource
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import Stats
from tests.serve.conftest import FILM


@pytest.fixture
def film(crawl):
    """The film's record, in a file that is watched."""
    source = WatchedSource(open_source(crawl.paths[0]), "one")
    with seekwarc.open(source, threads=1) as archive:
        record = archive.record_at(crawl.offsets["film.mp4"])
        yield archive, record, FrameMap(record)


def test_a_read_is_charged_with_what_it_took(film) -> None:
    archive, record, frames = film
    view = View()
    assert record.http is not None
    before = archive.stats.bytes_fetched, archive.stats.bytes_decoded, archive.stats.requests
    with view.charge([archive.stats], frames):
        record.payload.pread(1_000_000, 300_000)
    stats = archive.stats
    assert view.bytes_read == stats.bytes_fetched - before[0] > 0
    assert view.bytes_decoded == stats.bytes_decoded - before[1] >= 300_000
    assert view.requests == stats.requests - before[2]


def test_the_frames_that_were_fetched_are_those_of_the_range(film) -> None:
    archive, record, frames = film
    view = View()
    with view.charge([archive.stats], frames):
        record.payload.pread(1_000_000, 300_000)
    head = len(record.header.raw) + record.http.size
    wanted = record.body.frames.locate(head + 1_000_000, head + 1_300_000)
    assert view.fetched == [(wanted.start, wanted.stop)]
    with view.charge([archive.stats], frames):
        record.payload.pread(2_900_000, 10)
    assert len(view.fetched) == 2


def test_a_served_local_file_keeps_the_reused_read_buffer(crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    read_into = LocalFileSource.read_into

    def counted(self: LocalFileSource, start: int, out: memoryview) -> int:
        calls.append(start)
        return read_into(self, start, out)

    monkeypatch.setattr(LocalFileSource, "read_into", counted)
    with Library([crawl.paths[0]]) as library:
        record = library.open(library.record_id(library.names[0], crawl.offsets["film.mp4"]))
        view = View()
        assert record.frames.count > 3
        calls.clear()
        with record.charge(view):
            record.record.payload.pread(1_000_000, 300_000)
    assert calls, "several frames are read into one buffer, not each into one of its own"
    assert view.requests == len(calls)


def test_what_others_read_is_not_charged(film) -> None:
    archive, record, frames = film
    view, other = View(), View()
    inside = threading.Event()
    done = threading.Event()

    def read() -> None:
        inside.wait()
        with other.charge([archive.stats], frames):
            record.payload.pread(2_000_000, 100_000)
        done.set()

    threading.Thread(target=read).start()
    with view.charge([archive.stats], frames):
        inside.set()
        done.wait()
    assert (view.bytes_read, view.fetched) == (0, [])
    assert other.bytes_read > 0


def test_what_is_read_while_a_record_is_opened_counts(crawl) -> None:
    view = View()
    source = WatchedSource(open_source(crawl.paths[0]), "one")
    with seekwarc.open(source, threads=1) as archive:
        with view.charge(()):
            record = archive.record_at(crawl.offsets["things.json"])
            frames = FrameMap(record)
        with view.charge([archive.stats], frames):
            record.payload.read()
        assert view.bytes_read == archive.stats.bytes_fetched
        assert view.bytes_decoded == archive.stats.bytes_decoded > 0
        assert view.fetched == [(0, 1)], "a record of one frame is read with its header"


def test_a_record_without_frames_is_charged_by_the_archive(tmp_path, crawl) -> None:
    path = tmp_path / "x.warc.gz"
    with seekwarc.open(crawl.paths[0]) as archive:
        record = archive.record_at(crawl.offsets["film.mp4"])
        path.write_bytes(gzip.compress(record.header.raw + record.block.read() + b"\r\n\r\n"))
    with seekwarc.open(WatchedSource(open_source(path), "x"), threads=1) as archive:
        record = archive.record_at(0)
        frames = FrameMap(record)
        view = View()
        with view.charge([archive.stats], frames):
            record.payload.pread(len(FILM) - 10, 10)
        assert frames.count == 0
        assert view.fetched == []
        assert view.bytes_decoded >= len(FILM) - 100_000
        assert view.bytes_read > 0


def test_frames_of_segments_are_numbered_together(crawl) -> None:
    sources = [WatchedSource(open_source(path), path.name) for path in crawl.paths]
    with seekwarc.Collection(sources, threads=1) as files:
        record = files.open_record(uri="http://example.org/big.mp4")
        frames = FrameMap(record)
        assert len(frames.runs) == len(record.segments) > 2
        assert frames.count == sum(len(segment.body.frames) for segment in record.segments)
        view = View()
        with view.charge([reader.stats for reader in files.files], frames):
            assert record.payload.read() == FILM
        fetched = {number for first, last in view.fetched for number in range(first, last)}
        headers = {number for run in frames.runs for number in (run.first, run.first + 1)}
        assert set(range(frames.count)) - headers <= fetched


sizes = st.lists(st.tuples(st.integers(1, 99), st.integers(0, 99)), min_size=1, max_size=60)


def map_of(*tables: list[tuple[int, int]]) -> FrameMap:
    frames = object.__new__(FrameMap)
    runs, first = [], 0
    for number, table in enumerate(tables):
        stored, content = zip(*table, strict=True)
        runs.append(Run(f"file {number}", 100, SeekTable(array("Q", stored), array("Q", content)), first))
        first += len(table)
    frames.runs, frames.count = tuple(runs), first
    return frames


@given(sizes, st.integers(0, 7000), st.integers(0, 7000))
def test_frames_within_a_read_are_those_that_lie_wholly_in_it(table, start, length) -> None:
    frames = map_of(table)
    wanted = []
    at = 100
    for number, (stored, _) in enumerate(table):
        if start <= at and at + stored <= start + length:
            wanted.append(number)
        at += stored
    found = list(frames.within("file 0", start, start + length))
    assert [number for first, last, _ in found for number in range(first, last)] == wanted
    assert sum(content for _, _, content in found) == sum(table[number][1] for number in wanted)
    assert list(frames.within("another", start, start + length)) == []


@given(sizes, sizes, st.integers(1, 200))
def test_cells_cover_every_frame_once(one, two, most) -> None:
    frames = map_of(one, two)
    cells = list(frames.cells(most))
    assert len(cells) == min(most, len(one) + len(two))
    assert [number for first, last, _, _ in cells for number in range(first, last)] == list(
        range(frames.count)
    )
    assert sum(content for _, _, content, _ in cells) == sum(content for _, content in one + two)
    assert sum(stored for *_, stored in cells) == sum(stored for stored, _ in one + two)


def test_the_oldest_view_is_forgotten() -> None:
    views = Views()
    first = views.open("first")
    views.open("second")
    assert views.open("first") is first
    for number in range(MAX_VIEWS - 1):
        views.open(str(number))
    assert views.get("first") is first
    assert views.get("second") is None


def test_reads_outside_any_view_are_not_charged() -> None:
    source = WatchedSource(BytesSource(b"abcdef"), "x")
    assert source.read(1, 3) == b"bc"
    view = View()
    with view.charge([Stats()]):
        source.read(0, 4)
    assert (view.bytes_read, view.requests) == (4, 1)
