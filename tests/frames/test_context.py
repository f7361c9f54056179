"""What the frames of one file share: counters, room to decode into, threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from seekwarc.frames.context import MAX_SCRATCH, FrameContext
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.local import BytesSource
from seekwarc.storage.source import Stats
from tests.support.processes import PATIENT


def context(threads: int = 3) -> tuple[FrameContext, Stats]:
    stats = Stats()
    source = Fetcher(BytesSource(b""), stats)
    return FrameContext(source, FrameDecoder(lambda: None), cache_size=0, threads=threads), stats


def test_nothing_is_lost_where_many_count() -> None:
    shared, stats = context()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: shared.count(decoded=3, cache_hits=1), range(4000)))
    assert (stats.bytes_decoded, stats.cache_hits) == (12_000, 4000)


def test_scratch_is_kept_for_each_thread_but_not_without_bounds() -> None:
    shared, _ = context()
    assert len(shared.scratch(100)) == 100
    assert shared.scratch(100).obj is shared.scratch(MAX_SCRATCH).obj
    assert shared.scratch(MAX_SCRATCH + 1).obj is not shared.scratch(MAX_SCRATCH + 1).obj
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(shared.scratch, 100).result().obj is not shared.scratch(100).obj


def test_threads_are_started_when_needed_and_stopped() -> None:
    def running() -> int:
        return sum(thread.name.startswith("seekwarc-decode") for thread in threading.enumerate())

    before = running()
    shared, _ = context(threads=3)
    assert running() == before
    barrier = threading.Barrier(3)
    waiting = [shared.pool.submit(barrier.wait, 5) for _ in range(2)]
    barrier.wait(PATIENT)
    assert [one.result() is not None for one in waiting] == [True, True]
    assert running() == before + 2
    shared.close()
    shared.close()
    assert running() == before
