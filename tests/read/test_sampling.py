"""Records that match, and random samples: the right ones, and no more is read than need be."""

from __future__ import annotations

import io
from collections import Counter

import pytest

import seekwarc
from tests.support.foreign import Foreign, text
from tests.support.sources import RecordingSource, RemoteFake


def crawl(**options: object) -> bytes:
    target = io.BytesIO()
    with seekwarc.open(target, "w", **options) as out:
        for number in range(60):
            status, mime = (200, "text/html; charset=utf-8") if number % 3 else (404, "image/png")
            head = f"HTTP/1.1 {status} OK\r\nContent-Type: {mime}\r\n\r\n".encode()
            out.write_response(f"http://example.org/{number}", head + text(500, seed=number))
            out.write_resource(f"http://example.com/{number}", text(100), "text/plain")
        out.write_resource("http://example.com/large", text(4 << 20), "video/mp4")
    return target.getvalue()


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({}, 121),
        ({"type": "response"}, 60),
        ({"type": ("response", "resource")}, 121),
        ({"status": 200}, 40),
        ({"status": (200, 404), "mime": "image/*"}, 20),
        ({"mime": "TEXT/html"}, 40),
        ({"mime": ["text/html", "text/plain"]}, 100),
        ({"type": "resource", "status": 200}, 0),
        ({"uri": "http://example.org/7"}, 1),
        ({"uri": "http://example.org/*"}, 60),
        ({"uri": "http://example.org/1*", "status": 404}, 3),
    ],
)
def test_records_that_match_are_yielded(wanted: dict, count: int) -> None:
    with seekwarc.open(crawl()) as archive:
        assert len(list(archive.records(**wanted))) == count


def test_no_block_is_read_of_a_record_of_another_type() -> None:
    source = RecordingSource(crawl())
    with seekwarc.open(source) as archive:
        assert len(list(archive.records(type="response", status=200))) == 40
        assert archive.stats.bytes_decoded < 2 << 20


def test_a_sample_is_of_the_file_and_the_same_for_a_seed() -> None:
    data = crawl()
    with seekwarc.open(data) as archive:
        offsets = [record.offset for record in archive]
        first = [record.offset for record in archive.sample(10, seed=5)]
        assert first == sorted(set(first))
        assert set(first) <= set(offsets)
        assert len(first) == 10
        assert first == [record.offset for record in archive.sample(10, seed=5)]
        assert [record.offset for record in archive.sample(1000)] == offsets
        assert archive.sample(0) == []
        with pytest.raises(seekwarc.RangeError):
            archive.sample(-1)


@pytest.mark.slow
@pytest.mark.parametrize("tables", ["large", "none"])
def test_every_record_is_as_likely_as_any_other(tables: str) -> None:
    """The large record has several frames, and is drawn no more often for that."""
    made = crawl(tables=tables, frame_size=64 << 10)
    drawn: Counter[int] = Counter()
    with seekwarc.open(made) as archive:
        offsets = [record.offset for record in archive]
        rounds = 60
        for seed in range(rounds):
            drawn.update(record.offset for record in archive.sample(24, seed=seed))
    assert set(drawn) <= set(offsets)
    expected = rounds * 24 / len(offsets)
    assert max(drawn.values()) < 3 * expected
    assert len(drawn) > 0.98 * len(offsets)
    assert drawn[offsets[-1]] < 3 * expected


def test_a_sample_by_tables_does_not_read_the_file() -> None:
    source = RecordingSource(crawl())
    with seekwarc.open(source) as archive:
        assert len(archive.sample(5, seed=1)) == 5
        assert archive.stats.bytes_decoded < 3 << 20


def test_what_was_drawn_is_not_fetched_again_to_be_read() -> None:
    source = RemoteFake(crawl())
    with seekwarc.open(source) as archive:
        sample = [it for it in archive.sample(20, seed=3) if it.content_length < 10_000]
        drawn = archive.stats.bytes_fetched
        blocks = [record.block.read() for record in sample]
        assert archive.stats.bytes_fetched == drawn
        for record, block in zip(sample, blocks, strict=True):
            assert archive.record_at(record.offset, record.length).block.read() == block


@pytest.mark.parametrize("tables", ["large", "every"])
def test_a_large_record_that_was_drawn_is_read_as_any_other(tables: str) -> None:
    data = crawl(tables=tables, frame_size=64 << 10)
    with seekwarc.open(data) as archive:
        large = next(it for it in archive.sample(1000) if it.content_length > 1 << 20)
        assert large.block.read() == text(4 << 20)
        assert large.payload.pread(3 << 20, 100) == text(4 << 20)[3 << 20 :][:100]
        assert large.length == list(archive)[-1].length


@pytest.mark.parametrize("form", ["gzip", "plain"])
def test_files_without_tables_are_sampled_too(form: str) -> None:
    made = Foreign()
    for number in range(20):
        made.record(text(300, seed=number))
    with seekwarc.open(getattr(made, form)().bytes()) as archive:
        assert len({record.id for record in archive.sample(7, seed=2)}) == 7
