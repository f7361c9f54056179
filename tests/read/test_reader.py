"""An open file: iterated, gone to by offset, closed."""

from __future__ import annotations

import io
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import seekwarc
from seekwarc.errors import FormatError, RangeError, SourceChangedError, SourceError, UnsupportedError
from tests.support.foreign import Foreign, text
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import noise

FORMS = {
    "zst": Foreign.bytes,
    "gz": lambda made: made.gzip().bytes(),
    "none": lambda made: made.plain().bytes(),
}


def some_records() -> Foreign:
    made = Foreign()
    made.record(b"first").record(text(400_000), cuts=50_000, table=True).record(noise(90_000), cuts=30_000)
    return made.record(b"").record(b"last")


@pytest.fixture(params=FORMS)
def form(request) -> str:
    return request.param


def in_form(form: str) -> tuple[bytes, Foreign]:
    made = some_records()
    return FORMS[form](made), {"zst": made, "gz": made.gzip(), "none": made.plain()}[form]


def blocks_of(archive: seekwarc.Reader) -> list[bytes]:
    return [record.block.read() for record in archive]


def test_a_file_may_be_given_in_many_ways(form, tmp_path) -> None:
    data, made = in_form(form)
    path = tmp_path / "no suffix tells"
    path.write_bytes(data)
    with path.open("rb") as opened:
        for target in (path, str(path), data, io.BytesIO(data), opened, RecordingSource(data), Pipe(data)):
            with seekwarc.open(target) as archive:
                assert archive.compression == form
                assert blocks_of(archive) == [put.block for put in made.records]


def test_each_iteration_begins_again(form) -> None:
    data, made = in_form(form)
    with seekwarc.open(data) as archive:
        one, other = iter(archive), iter(archive)
        assert next(one).block.read() == b"first"
        assert next(other).offset == 0
        assert len(next(one).block.read()) == 400_000
        assert len(blocks_of(archive)) == 5
        assert [record.offset for record in other] == [put.offset for put in made.records[1:]]


def test_records_stay_good_when_the_iteration_has_gone_on(form) -> None:
    data, made = in_form(form)
    with seekwarc.open(data) as archive:
        records = list(archive)
        for record, put in reversed(list(zip(records, made.records, strict=True))):
            assert record.block.pread(len(put.block) // 2, 100) == put.block[len(put.block) // 2 :][:100]
            assert record.block.read() == put.block


def test_an_offset_leads_to_its_record(form) -> None:
    data, made = in_form(form)
    with seekwarc.open(data) as archive:
        for put in reversed(made.records):
            for length in (None, put.length):
                record = archive.record_at(put.offset, length)
                assert (record.offset, record.block.read()) == (put.offset, put.block)


@pytest.mark.parametrize(("offset", "length"), [(-1, None), (0, 0), (0, -5)])
def test_an_offset_that_cannot_be_is_refused(form, offset, length) -> None:
    with seekwarc.open(in_form(form)[0]) as archive, pytest.raises(RangeError):
        archive.record_at(offset, length)


def test_an_offset_without_a_record_is_an_error_with_its_place(form) -> None:
    data, made = in_form(form)
    with seekwarc.open(RecordingSource(data, "some.warc")) as archive:
        for offset in (1, made.records[1].offset + 7, len(data), len(data) + 100):
            with pytest.raises(FormatError, match=f"^some.warc, offset {offset}: "):
                archive.record_at(offset)


def test_a_wrong_length_does_no_harm(form) -> None:
    data, made = in_form(form)
    put = made.records[1]
    for length in (1, 9, put.length - 1, put.length + 1, 10 * len(data)):
        with seekwarc.open(data) as archive:
            assert archive.record_at(put.offset, length).block.read() == put.block


def test_a_pipe_is_read_once(form) -> None:
    with seekwarc.open(Pipe(in_form(form)[0])) as archive:
        assert archive.size is None
        assert len(blocks_of(archive)) == 5
        with pytest.raises(SourceError, match="once"):
            list(archive)


def test_in_order_shows_every_byte_to_the_tap(form) -> None:
    data, made = in_form(form)
    seen = bytearray()
    with seekwarc.open(data) as archive:
        assert sum(1 for _ in archive.in_order(seen.extend)) == 5
    assert bytes(seen) == made.plain().bytes()


@pytest.mark.parametrize("data", [b"", b"W", b"WARC", b"\x28\xb5", b"text", b"\xff\xd8\xff\xe0"])
def test_what_is_no_warc_file_is_refused(data) -> None:
    with seekwarc.open(data) as archive:
        with pytest.raises(UnsupportedError, match=r"^<bytes>, offset 0: "):
            list(archive)
        with pytest.raises(UnsupportedError, match=r"^<bytes>, offset 0: "):
            _ = archive.compression


def test_a_closed_archive_says_so(tmp_path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(in_form("zst")[0])
    archive = seekwarc.open(path)
    record = list(archive)[1]
    archive.close()
    archive.close()
    with pytest.raises(SourceError, match="closed"):
        record.block.pread(200_000, 10)
    with pytest.raises(SourceError, match="closed"):
        archive.record_at(0)


def test_what_was_handed_over_open_is_left_open() -> None:
    file = io.BytesIO(in_form("zst")[0])
    with seekwarc.open(file):
        pass
    assert not file.closed


def test_a_file_that_is_not_there_is_an_os_error(tmp_path) -> None:
    with pytest.raises(OSError, match="not there: cannot be opened"):
        seekwarc.open(tmp_path / "not there")


def test_other_modes_are_refused() -> None:
    with pytest.raises(ValueError, match="'x'"):
        seekwarc.open("file", "x")


def test_threads_may_read_at_once(form) -> None:
    data, made = in_form(form)
    with seekwarc.open(data, cache_size=100_000) as archive:
        records = list(archive)
        together = threading.Barrier(4)

        def read(worker: int) -> bool:
            together.wait()
            good = True
            for turn in range(10):
                number = (worker + turn) % 5
                block = made.records[number].block
                start = (turn * 37_001) % (len(block) + 1)
                good &= records[number].block.pread(start, 70_000) == block[start : start + 70_000]
            return good

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(read, range(4)))


def test_the_cost_is_counted() -> None:
    data, made = in_form("zst")
    source = RecordingSource(data)
    with seekwarc.open(source) as archive:
        blocks_of(archive)
        assert archive.stats.requests == len(source.requests)
        assert archive.stats.bytes_fetched == source.bytes_asked
        assert archive.stats.bytes_decoded >= sum(len(put.block) for put in made.records)


@pytest.mark.parametrize("name", ["a.warc.zst", "a.warc.gz", "a.warc"])
def test_a_file_that_is_cut_while_it_is_read_has_no_fewer_records(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with seekwarc.open(path, "w") as out:
        for number in range(5):
            out.write_resource(f"http://example.org/{number}", noise(300_000, seed=number), "image/png")
    with seekwarc.open(path) as archive, pytest.raises(SourceChangedError):
        for record in archive:
            assert record.block.pread(0, 10)
            os.truncate(path, 1000)
