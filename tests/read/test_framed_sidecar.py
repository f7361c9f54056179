"""Ranges of a large frame through a sidecar: verified, cheap, and in order for the price of one pass."""

from __future__ import annotations

import pickle
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import seekwarc
from seekwarc import TableStatus, tools
from seekwarc.errors import ChecksumError, FormatWarning
from seekwarc.format.sidecar import SidecarRecord, Span
from seekwarc.read.filled import filled_record
from tests.support.foreign import CRLF2, warc_header
from tests.support.framed import SPACING, Film, FrameMaker, film
from tests.support.rangeserver import Content, RangeServer
from tests.support.sidecars import sidecar_of
from tests.support.writing import noise


@pytest.fixture(scope="module", params=[False, True], ids=["streamed", "sized"])
def made(request: pytest.FixtureRequest) -> tuple[Film, bytes]:
    it = film(1, content_size=request.param)
    return it, it.sidecar()


@pytest.fixture
def path(made: tuple[Film, bytes], tmp_path: Path) -> Path:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(made[0].data)
    path.with_name("a.warc.zst.seek").write_bytes(made[1])
    return path


def near(rnd: random.Random, it: Film) -> tuple[int, int]:
    """Choose a range, often where a compressed block is."""
    size = rnd.choice([1, 100, 70_000, 400_000])
    place = rnd.choice([rnd.randrange(len(it.content)), *rnd.choice(it.compressed)])
    start = max(place - rnd.choice([0, size // 2]), 0)
    return start, min(start + size, len(it.content))


def test_any_range_is_read_and_verified(path: Path, made: tuple[Film, bytes]) -> None:
    it, rnd = made[0], random.Random(1)
    for cache in (0, 32 << 20):
        with seekwarc.open(path, cache_size=cache) as reader:
            record = reader.record_at(it.offset, rnd.choice([None, it.length]))
            assert record.seek_table_status is TableStatus.SIDECAR
            for _ in range(40):
                start, stop = near(rnd, it)
                assert record.body.plan(start, stop).is_verified
                verify = rnd.random() < 0.8
                assert record.body.read(start, stop, verify=verify) == it.content[start:stop]
            assert record.body.read(0, record.size) == it.content


def test_a_range_of_raw_blocks_costs_its_spans(path: Path, made: tuple[Film, bytes]) -> None:
    it = made[0]
    with seekwarc.open(path) as reader:
        body = reader.record_at(it.offset, it.length).body
        plan = body.plan(30_000_000, 30_000_100)
        before = reader.stats.bytes_decoded, reader.stats.bytes_fetched
        assert body.read(30_000_000, 30_000_100) == it.content[30_000_000:30_000_100]
        after = reader.stats.bytes_decoded, reader.stats.bytes_fetched
        assert (after[0] - before[0], after[1] - before[1]) == (plan.bytes_decoded, plan.bytes_fetched)
        assert plan.bytes_decoded <= 2 * SPACING
        # What is compressed takes all that is before it.
        begin, end = it.compressed[-1]
        assert body.plan(begin, end).bytes_decoded >= end
        assert body.plan(begin, end).ranges[0][0] == it.offset


def test_of_known_length_no_block_headers_are_read(path: Path, made: tuple[Film, bytes]) -> None:
    it = made[0]
    with seekwarc.open(path) as reader:
        body = reader.record_at(it.offset, it.length).body
        assert body.read(30_000_000, 30_000_100) == it.content[30_000_000:30_000_100]
        assert reader.stats.requests < 20
        assert (
            reader.record_at(it.offset).length == reader.record_at(it.offset, it.length).length == it.length
        )


def test_in_order_a_film_is_decoded_once(path: Path, made: tuple[Film, bytes]) -> None:
    it = made[0]
    with seekwarc.open(path) as reader:
        body = reader.record_at(it.offset).body
        found = [
            body.read(start, min(start + 100_000, len(it.content)))
            for start in range(0, len(it.content), 100_000)
        ]
        assert b"".join(found) == it.content
        assert reader.stats.bytes_decoded < 2.5 * len(it.content)
    with seekwarc.open(path) as reader:
        assert [record.block.size for record in reader][1] > 33 << 20
        assert reader.stats.bytes_decoded <= len(it.content) + 1000


def test_a_pickled_record_and_several_threads_read_the_same(path: Path, made: tuple[Film, bytes]) -> None:
    it, rnd = made[0], random.Random(3)
    with seekwarc.open(path) as reader, ThreadPoolExecutor(4) as pool:
        body = pickle.loads(pickle.dumps(reader.record_at(it.offset))).body
        ranges = [near(rnd, it) for _ in range(30)]
        found = pool.map(lambda one: body.read(*one), ranges)
        assert [*found] == [it.content[start:stop] for start, stop in ranges]
        body.file.close()


def test_damage_in_the_range_is_found(path: Path, made: tuple[Film, bytes]) -> None:
    it = made[0]
    with seekwarc.open(path) as reader:
        frame = reader.record_at(it.offset).body.frames[1]
    data = bytearray(it.data)
    data[it.offset + frame.stored_start + 100] ^= 1
    path.write_bytes(data)
    with warnings.catch_warnings():
        # That of the first 64 KiB is noticed when the sidecar is opened.
        warnings.simplefilter("ignore", FormatWarning)
        with seekwarc.open(path) as reader:
            body = reader.record_at(it.offset).body
            if body.table_status is TableStatus.SIDECAR:
                with pytest.raises(ChecksumError, match="frame 1"):
                    body.read(frame.content_start, frame.content_start + 10)


@pytest.mark.parametrize("options", [{"sidecar": False}, {"strict": True}], ids=str)
def test_a_sidecar_is_not_used_where_it_is_not_wanted(
    path: Path, made: tuple[Film, bytes], options: dict[str, bool]
) -> None:
    it = made[0]
    with seekwarc.open(path, **options) as reader:
        record = reader.record_at(it.offset)
        assert record.seek_table_status in (TableStatus.STREAM, TableStatus.BLOCKS)
        assert record.body.read(30_000_000, 30_000_100) == it.content[30_000_000:30_000_100]


def test_damaged_records_are_not_filled_by_spans(path: Path, made: tuple[Film, bytes]) -> None:
    it = made[0]
    with seekwarc.open(path) as reader:
        record = reader.record_at(it.offset)
        assert filled_record(record) is record


def test_a_length_beyond_all_numbers_is_refused(path: Path, made: tuple[Film, bytes]) -> None:
    it = made[0]
    entry = SidecarRecord(it.offset, 2**64 - 1, len(it.content), [Span(it.offset + 6, 0, 0, 1, b"")])
    path.with_name("a.warc.zst.seek").write_bytes(sidecar_of(it.data, [entry]))
    with seekwarc.open(path) as reader, pytest.warns(FormatWarning, match="than the archive has"):
        assert reader.record_at(it.offset).seek_table_status is not TableStatus.SIDECAR


class Served(RangeServer):
    """Serves an archive and its sidecar."""

    beside = b""

    def content_of(self, target: str) -> Content | None:
        return Content(self.beside) if target.endswith(".seek") else self.content


@pytest.mark.needs("module:obstore")
def test_a_remote_film_takes_a_request_a_range(made: tuple[Film, bytes]) -> None:
    it = made[0]
    with Served(it.data) as server:
        server.beside = made[1]
        with seekwarc.open(server.url) as reader:
            record = reader.record_at(it.offset, it.length)
            assert record.seek_table_status is TableStatus.SIDECAR
            server.forget()
            assert record.body.read(30_000_000, 30_000_100) == it.content[30_000_000:30_000_100]
            assert len(server.asked) <= 1


@pytest.mark.needs("module:obstore")
def test_afar_a_film_of_known_blocks_has_its_sidecar_only_by_name() -> None:
    maker, size = FrameMaker(), 33 << 20
    maker.raw(warc_header(size, 1) + noise(size) + CRLF2)
    frame = maker.build(content_size=True)
    it = Film(frame, 0, len(frame), bytes(maker.content), [])
    for is_named in (False, True):
        with Served(it.data) as server:
            server.beside = it.sidecar(4 << 20)
            with seekwarc.open(server.url, sidecar=f"{server.url}.seek" if is_named else True) as reader:
                body = reader.record_at(0).body
                assert body.read(30_000_000, 30_000_100) == it.content[30_000_000:30_000_100]
                assert body.table_status is (TableStatus.SIDECAR if is_named else TableStatus.BLOCKS)
                assert body.plan(30_000_000, 30_000_100).is_verified == is_named
            assert any(one.target.endswith(".seek") for one in server.asked) == is_named


def test_what_the_tool_makes_is_found(path: Path, made: tuple[Film, bytes], tmp_path: Path) -> None:
    it = made[0]
    done = tools.sidecar(path, existing="overwrite")
    assert (done.records, done.problems) == (1, 0)
    index = tmp_path / "a.cdxj"
    tools.index(path, index, all_records=True)
    with seekwarc.Index(index) as captures:
        (capture,) = captures.lookup("http://example.org/1")
        record = capture.open()
        assert record.seek_table_status is TableStatus.SIDECAR
        assert record.body.read(30_000_000, 30_000_100) == it.content[30_000_000:30_000_100]
