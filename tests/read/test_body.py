"""Bodies of records that are stored as they are, or that can only be read forward."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc.errors import SourceError, TruncatedError
from tests.support.foreign import Foreign, text
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import noise

BLOCK = text(500_000)


def test_an_uncompressed_body_is_read_as_it_is() -> None:
    made = Foreign().record(b"before").record(BLOCK).plain()
    source, record = RecordingSource(made.bytes()), made.records[1]
    with seekwarc.open(source) as archive:
        body = archive.record_at(record.offset).body
        start = len(body.header.raw) + 100_000
        source.forget()
        assert body.read(start, start + 50) == BLOCK[100_000:100_050]
        assert source.requests == [(record.offset + start, record.offset + start + 50)]
        assert body.read_some(start, start + 100, 60)[:60] == BLOCK[100_000:100_060]
        assert body.read_some(start, start) == b""
        plan = body.plan(start, start + 50)
        assert (plan.ranges, plan.bytes_decoded) == (tuple(source.requests[:1]), 0)
        assert body.plan(7, 7).ranges == ()


def test_an_uncompressed_body_that_is_cut_raises_at_the_cut() -> None:
    made = Foreign().record(BLOCK).plain().bytes()[:-1000]
    with seekwarc.open(RecordingSource(made, "cut.warc")) as archive:
        block = archive.record_at(0).block
        end = len(made) - (len(block._body.header.raw))
        assert block.pread(end - 10, 10) == BLOCK[end - 10 : end]
        with pytest.raises(TruncatedError, match=r"^cut.warc, offset 0: the file ends inside"):
            block.pread(end - 10, 11)


def streamed() -> tuple[RecordingSource, Foreign]:
    made = Foreign().record(b"in front").record(BLOCK).record(b"behind").gzip()
    return RecordingSource(made.bytes()), made


def test_forward_reads_go_on_and_read_nothing_twice() -> None:
    source, made = streamed()
    with seekwarc.open(source) as archive:
        block = archive.record_at(made.records[1].offset).block
        for start in range(0, 500_000, 7001):
            assert block.pread(start, 100) == BLOCK[start : start + 100]
        assert archive.stats.bytes_decoded < 600_000


def test_a_read_that_goes_back_begins_again() -> None:
    source, made = streamed()
    with seekwarc.open(source) as archive:
        block = archive.record_at(made.records[1].offset).block
        for start in (400_000, 1000, 450_000, 0):
            assert block.pread(start, 100) == BLOCK[start : start + 100]


def test_a_plan_says_the_most_that_it_may_take() -> None:
    source, made = streamed()
    with seekwarc.open(source) as archive:
        block = archive.record_at(made.records[1].offset).block
        plan = block.plan(400_000, 400_100)
        assert plan.frames == 0
        assert plan.bytes_decoded >= 400_100
        before = archive.stats.bytes_decoded
        block.pread(400_000, 100)
        assert archive.stats.bytes_decoded - before <= plan.bytes_decoded + (256 << 10)


def test_a_record_of_a_pipe_that_was_passed_is_gone() -> None:
    made = Foreign().record(b"in front").record(noise(500_000)).record(b"behind").gzip()
    with seekwarc.open(Pipe(made.bytes())) as archive:
        records = iter(archive)
        first, second = next(records), next(records)
        assert second.block.pread(400_000, 10) == made.records[1].block[400_000:400_010]
        with pytest.raises(SourceError, match="read twice"):
            first.block.read()
        assert next(records).block.read() == b"behind", "the iteration goes on all the same"


@pytest.mark.parametrize("length", [30, 1000, 5000])
def test_streamed_content_that_is_cut_is_told(length) -> None:
    _, made = streamed()
    put = made.records[1]
    archive = seekwarc.open(RecordingSource(made.bytes()[: put.offset + length], "cut.warc.gz"))
    with pytest.raises(TruncatedError, match=f"^cut.warc.gz, offset {put.offset}: "):
        archive.record_at(put.offset).block.pread(499_999, 1)
