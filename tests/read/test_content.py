"""Contents that are stored as they are, or that can only be read forward."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc.errors import SourceError, TruncatedError
from seekwarc.read.content import PlainContent
from tests.support.foreign import Foreign, noise, text
from tests.support.sources import Pipe, RecordingSource

BLOCK = text(500_000)


def read(content, start: int, length: int) -> bytes:
    out = bytearray(length)
    content.read_into(start, memoryview(out))
    return bytes(out)


def test_stored_content_is_read_as_it_is() -> None:
    source = RecordingSource(b"in front" + BLOCK)
    content = PlainContent(source, 8)
    assert read(content, 1000, 50) == content.peek(1000, 1050) == BLOCK[1000:1050]
    assert source.requests[0] == (1008, 1058)
    plan = content.plan(1000, 1050)
    assert (plan.ranges, plan.bytes_fetched, plan.bytes_decoded) == (((1008, 1058),), 50, 0)
    assert content.plan(7, 7).ranges == ()
    assert content.cheap_stop(10) > 10


def test_stored_content_that_is_cut_is_told() -> None:
    content = PlainContent(RecordingSource(BLOCK, "cut.warc"), 400_000)
    with pytest.raises(TruncatedError, match=r"^cut.warc, offset 400000: the file ends inside"):
        read(content, 99_990, 11)


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


def test_a_read_that_goes_back_begins_anew() -> None:
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


def test_a_record_of_a_pipe_that_has_gone_by_is_gone() -> None:
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
