"""Records that are one frame: decoded whole, once, and kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from seekwarc.errors import ChecksumError
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.reader import FrameReader
from seekwarc.frames.single import SingleFrame
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source import Stats
from tests.support.foreign import text, zstd_frame
from tests.support.sources import RecordingSource, RemoteFake

CONTENT = text(50_000, seed=91)
STORED = zstd_frame(CONTENT)


def opened(source: object, *, size: int = len(CONTENT)) -> tuple[SingleFrame, FrameReader, Stats]:
    stats = Stats()
    decoder = FrameDecoder(lambda: None)
    reader = FrameReader(Fetcher(source, stats), decoder, stats, cache_size=1 << 20, threads=1)
    return SingleFrame(reader, 5, len(STORED), size), reader, stats


def test_any_range_costs_one_request_and_one_decoding() -> None:
    frame, _, stats = opened(RecordingSource(b"front" + STORED))
    assert frame.plan(10, 20).ranges == ((5, 5 + len(STORED)),)
    assert frame.plan(10, 10).ranges == ()
    assert frame.cheap_stop(0) == len(CONTENT)
    assert stats.requests == 0
    for start, stop in ((0, 1), (40_000, 50_000), (7, 7), (0, 50_000)):
        out = bytearray(stop - start)
        frame.read_into(start, memoryview(out))
        assert bytes(out) == frame.peek(start, stop) == CONTENT[start:stop]
    assert (stats.requests, stats.bytes_decoded) == (1, len(CONTENT))


def test_threads_that_want_it_at_once_fetch_it_once() -> None:
    frame, _, stats = opened(RemoteFake(b"front" + STORED, latency=0.05))
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda _: frame.peek(0, 50_000), range(16))) == {CONTENT}
    assert (stats.requests, stats.bytes_decoded, stats.cache_hits) == (1, len(CONTENT), 15)


def test_what_is_cached_by_another_size_is_not_used() -> None:
    frame, reader, _ = opened(RecordingSource(b"front" + STORED))
    reader.cache.put(5, b"not this")
    assert frame.peek(0, 10) == CONTENT[:10]


def test_damage_is_told_each_time() -> None:
    frame, _, _ = opened(RecordingSource(b"front" + STORED), size=len(CONTENT) + 1)
    for _ in range(2):
        with pytest.raises(ChecksumError, match="frame 0"):
            frame.peek(0, 10)
