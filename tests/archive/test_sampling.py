"""What records opened by offset and length cost: their own bytes, once (counted, not timed)."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.errors import RangeError
from seekwarc.storage.plan import LOCAL
from tests.support.foreign import Foreign, Put, warc_header
from tests.support.sources import RemoteFake
from tests.support.writing import KIB, CountedSource, noise

FORMS = ["zst", "gz", "plain"]
HEAD = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
RECORDS = 400
SAMPLED = 100
FILE_HEAD = 64 * KIB
"""Read once of a remote file: its dictionary would be there."""


class LocalCounted(CountedSource):
    policy = LOCAL


class Made:
    """A file of records of about 5 kB each, and which of them are sampled."""

    def __init__(self, form: str, sizes: Callable[[random.Random], int] = lambda it: it.randrange(9000)):
        chance = random.Random(5)
        made = Foreign()
        for number in range(RECORDS):
            block = HEAD + noise(sizes(chance), seed=number)
            header = warc_header(len(block), number, kind="response")
            made.record(block, header=header.replace(b"text/plain", b"application/http; msgtype=response"))
        if form != "zst":
            made = made.gzip() if form == "gz" else made.plain()
        self.stored = made.bytes()
        self.sampled: list[Put] = chance.sample(made.records, SAMPLED)
        self.size = sum(put.length for put in self.sampled)


@pytest.fixture(scope="module", params=FORMS)
def made(request: pytest.FixtureRequest) -> Made:
    return Made(request.param)


def headers_only(record: seekwarc.Record, put: Put) -> None:
    assert record.type == "response"
    assert record.http is not None
    assert record.http.status == 200


def whole(record: seekwarc.Record, put: Put) -> None:
    assert record.block.read() == put.block


def both(record: seekwarc.Record, put: Put) -> None:
    headers_only(record, put)
    assert record.payload.read() == put.block[len(HEAD) :]


def assert_nothing_twice(reads: list[tuple[int, int]]) -> None:
    end = 0
    for start, stop in sorted(reads):
        assert start >= end, f"[{start}, {min(end, stop)}) was fetched twice"
        end = stop


@pytest.mark.parametrize("use", [headers_only, whole, both])
def test_local_samples_cost_their_own_bytes_once(made: Made, use: Callable[..., None]) -> None:
    source: Any = LocalCounted.of(made.stored)
    with seekwarc.open(source) as archive:
        for put in made.sampled:
            source.reads.clear()
            use(archive.record_at(put.offset, put.length), put)
            assert_nothing_twice(source.reads)
            assert all(put.offset <= start < stop <= put.stop for start, stop in source.reads)
        assert archive.stats.bytes_fetched <= made.size


@pytest.mark.parametrize("use", [headers_only, whole, both])
def test_remote_samples_cost_little_more_than_their_bytes(made: Made, use: Callable[..., None]) -> None:
    source: Any = RemoteFake(made.stored)
    with seekwarc.open(source) as archive:
        for number, put in enumerate(made.sampled):
            source.forget()
            use(archive.record_at(put.offset, put.length), put)
            if number and put.stop > FILE_HEAD:
                assert source.requests == [(put.offset, put.stop)]
        print(f"{made.size} bytes of records, {archive.stats.bytes_fetched} fetched")
        assert archive.stats.bytes_fetched <= 1.2 * made.size
        assert archive.stats.bytes_fetched <= made.size + FILE_HEAD


def test_the_first_remote_sample_reads_its_record_and_the_head_of_the_file(made: Made) -> None:
    source: Any = RemoteFake(made.stored, latency=0.02)
    put = next(put for put in made.sampled if FILE_HEAD < put.offset < 3 * FILE_HEAD)
    with seekwarc.open(source) as archive:
        both(archive.record_at(put.offset, put.length), put)
    assert sorted(source.requests) == [(0, FILE_HEAD), (put.offset, put.stop)]
    assert source.at_once == 2, "in one round trip"


@pytest.mark.parametrize("form", FORMS)
def test_the_header_of_a_longer_record_costs_its_first_bytes(form: str) -> None:
    made = Made(form, lambda it: 40 * KIB)
    source: Any = LocalCounted.of(made.stored)
    with seekwarc.open(source) as archive:
        for put in made.sampled[:10]:
            source.reads.clear()
            record = archive.record_at(put.offset, put.length)
            assert_nothing_twice(source.reads)
            read = sum(stop - start for start, stop in source.reads)
            # A frame is decoded whole, or not at all.
            assert read == put.length if form == "zst" else read <= 16 * KIB
            whole(record, put)
            assert_nothing_twice(source.reads)
            assert sum(stop - start for start, stop in source.reads) <= put.length


@pytest.mark.parametrize("form", ["gz", "plain"])
def test_no_table_is_looked_for_where_there_is_none(form: str) -> None:
    made = Foreign().record(noise(300 * KIB)).record(noise(300 * KIB, seed=1)).record(b"last")
    made = made.gzip() if form == "gz" else made.plain()
    source: Any = RemoteFake(made.bytes())
    with seekwarc.open(source) as archive:
        last = made.records[2]
        assert archive.record_at(last.offset, last.length).block.read() == b"last"
        for length in (True, False):
            put = made.records[1]
            source.forget()
            assert archive.record_at(put.offset, put.length if length else None).type == "resource"
            assert source.requests == ([(put.offset, put.offset + 16 * KIB)] if length else [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrong", [1, 20, 300, 1 << 40])
def test_a_length_that_lies_changes_nothing(form: str, wrong: int) -> None:
    made = Foreign().record(b"first").record(noise(50 * KIB)).record(noise(90 * KIB)).record(b"last")
    if form != "zst":
        made = made.gzip() if form == "gz" else made.plain()
    for kind in (LocalCounted.of, CountedSource.of, RemoteFake):
        source: Any = kind(made.bytes())
        with seekwarc.open(source) as archive:
            for put in made.records:
                record = archive.record_at(put.offset, wrong)
                assert record.block.read() == put.block
                reads = source.requests if kind is RemoteFake else source.reads
                assert len(reads) < 30
                reads.clear()


@pytest.mark.parametrize("form", FORMS)
def test_numbers_of_an_index_are_taken_as_they_are(form: str) -> None:
    made = Foreign().record(b"first").record(b"second")
    if form != "zst":
        made = made.gzip() if form == "gz" else made.plain()
    put = made.records[1]
    with seekwarc.open(made.bytes()) as archive:
        assert archive.record_at(str(put.offset), str(put.length)).block.read() == b"second"
        assert archive.record_at(str(put.offset)).block.read() == b"second"
        for wrong in ("", "-", "-1", "1.0", " 1", "0x10", "9" * 5000, "\N{ARABIC-INDIC DIGIT ONE}"):
            with pytest.raises(RangeError, match="digits"):
                archive.record_at(wrong)
            with pytest.raises(RangeError, match="digits"):
                archive.record_at(0, wrong)


def test_a_line_of_an_index_opens_its_record(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    made = Foreign().record(b"first").record(b"second")
    path.write_bytes(made.bytes())
    fields = {"offset": str(made.records[1].offset), "length": str(made.records[1].length)}
    with seekwarc.open(path) as archive:
        assert archive.record_at(fields["offset"], fields["length"]).block.read() == b"second"
