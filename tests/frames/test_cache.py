"""Frames that several threads want are decoded once; a failure is left to each of them."""

from __future__ import annotations

import random
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.frames.cache import LEAST, FrameCache, FrameKey
from tests.support.processes import PATIENT


def key(offset: int) -> FrameKey:
    return offset, offset + 1, 5


@pytest.mark.parametrize("capacity", [0, LEAST])
def test_the_first_decodes_and_the_others_wait(capacity: int) -> None:
    cache = FrameCache(capacity)
    assert cache.begin(key(5)) is None
    assert cache.is_under_way(key(5))
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(cache.begin, key(5)) for _ in range(8)]
        time.sleep(0.02)
        assert not any(one.done() for one in waiting)
        cache.end(key(5), b"content")
        assert [one.result(timeout=PATIENT) for one in waiting] == [b"content"] * 8
    assert not cache.is_under_way(key(5))
    assert cache.begin(key(5)) == (b"content" if capacity else None)


def test_frames_do_not_wait_for_each_other() -> None:
    cache = FrameCache(1000)
    assert cache.begin(key(1)) is cache.begin(key(2)) is None
    with ThreadPoolExecutor(1) as pool:
        two = pool.submit(cache.begin, key(2))
        cache.end(key(1), b"one")
        cache.end(key(2), b"two")
        assert two.result(timeout=PATIENT) == b"two"


def test_after_a_failure_one_that_waited_decodes() -> None:
    cache = FrameCache(1000)
    assert cache.begin(key(1)) is None
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(cache.begin, key(1))
        time.sleep(0.02)
        cache.end(key(1), None)
        assert other.result(timeout=PATIENT) is None
    assert cache.is_under_way(key(1))
    cache.end(key(1), b"content")
    assert cache.begin(key(1)) == b"content"


def test_work_that_was_cancelled_may_end_twice() -> None:
    cache = FrameCache(1000)
    assert cache.reserve(key(5))
    cache.end(key(5), None)
    assert not cache.is_under_way(key(5))
    cache.end(key(5), b"late")
    assert cache.begin(key(5)) == b"late"


def test_what_is_cached_or_under_way_is_not_reserved() -> None:
    cache = FrameCache(1000)
    assert cache.reserve(key(1))
    assert not cache.reserve(key(1))
    cache.end(key(1), b"one")
    assert not cache.reserve(key(1))
    cache.latest = (key(2), b"two")
    assert not cache.reserve(key(2))
    assert cache.get(key(2)) == cache.begin(key(2)) == b"two"


def test_a_frame_of_another_size_is_another() -> None:
    cache = FrameCache(1000)
    cache.put((0, 10, 5), b"bytes")
    assert cache.get((0, 10, 6)) is None
    assert cache.get((0, 11, 5)) is None


def test_of_many_that_begin_at_once_one_decodes() -> None:
    cache = FrameCache(0)
    barrier = threading.Barrier(16)
    decoded = []

    def work() -> bytes | None:
        barrier.wait()
        content = cache.begin(key(7))
        if content is None:
            decoded.append(threading.current_thread())
            while len(cache._under_way[key(7)]) < 15:
                time.sleep(0.001)
            content = b"content"
            cache.end(key(7), content)
        return content

    with ThreadPoolExecutor(16) as pool:
        assert {one.result() for one in [pool.submit(work) for _ in range(16)]} == {b"content"}
    assert len(decoded) == 1


# What is kept.


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 600)), max_size=40), st.integers(0, 1500))
def test_the_cache_keeps_what_was_used_last(steps: list[tuple[int, int]], capacity: int) -> None:
    cache = FrameCache(capacity)
    model: dict[int, bytes] = {}
    for offset, size in steps:
        content = bytes([offset]) * size
        if size % 2:
            cache.put(key(offset), content)
            if max(size, LEAST) <= capacity:
                model.pop(offset, None)
                model[offset] = content
                while sum(max(len(kept), LEAST) for kept in model.values()) > capacity:
                    del model[next(iter(model))]
        else:
            assert cache.get(key(offset)) == model.get(offset)
            if offset in model:
                model[offset] = model.pop(offset)
    for offset in range(6):
        assert cache.get(key(offset)) == model.get(offset)


def test_tiny_frames_do_not_fill_memory() -> None:
    cache = FrameCache(1 << 20)
    tracemalloc.start()
    try:
        for offset in range(10_000):
            cache.put(key(1 << 40 | offset), b"1")
        assert tracemalloc.get_traced_memory()[0] < 2 << 20
    finally:
        tracemalloc.stop()


def test_nothing_is_kept_after_it_was_cleared() -> None:
    cache = FrameCache(1000)
    cache.put(key(1), b"one")
    cache.latest = (key(2), b"two")
    assert cache.begin(key(3)) is None
    cache.clear()
    cache.end(key(3), b"three")
    assert [cache.get(key(number)) for number in (1, 2, 3)] == [None, None, None]


def test_what_was_read_again_stays_longer() -> None:
    cache = FrameCache(3000)
    for offset in (1, 2, 3):
        cache.put(key(offset), bytes(1000))
    assert cache.get(key(1)) == bytes(1000)
    cache.put(key(4), bytes(1000))
    assert [cache.get(key(offset)) is not None for offset in (1, 2, 3, 4)] == [True, False, True, True]


def test_threads_share_a_cache() -> None:
    cache = FrameCache(5000)

    def use(seed: int) -> bool:
        rng = random.Random(seed)
        for _ in range(500):
            offset = rng.randrange(20)
            content = cache.get(key(offset))
            if content is not None and content != bytes([offset]) * 400:
                return False
            cache.put(key(offset), bytes([offset]) * 400)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(16)))
    kept = [offset for offset in range(20) if cache.get(key(offset)) is not None]
    assert 1 <= len(kept) <= 12
