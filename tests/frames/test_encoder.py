"""Frames as the standard wants them, and work that comes back in order."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

import pytest

from seekwarc.frames.encoder import MAX_ASIDE, FrameEncoder, OrderedWork
from tests.support.leaks import new_threads
from tests.support.writing import KIB, MIB, noise, small_dictionary, text, walk


@pytest.mark.one_in(3)
@pytest.mark.parametrize("level", [-7, 0, 3, 22])
@pytest.mark.parametrize(
    "content", [b"", b"x", b"0" * 255, b"0" * 256, text(65_791), text(MIB), noise(300_000)]
)
def test_a_frame_states_its_size_and_checksum(level: int, content: bytes) -> None:
    encoded = FrameEncoder(level, None).encode(content)
    (frame,) = walk(encoded.data)
    assert frame.content == content
    assert frame.stated_size == encoded.content_size == len(content)
    assert frame.has_checksum
    assert encoded.checksum == frame.checksum == frame.trailer
    assert frame.dictionary_id == 0


@pytest.mark.parametrize("level", [-7, 3, 19])
def test_a_frame_names_its_dictionary(level: int) -> None:
    dictionary = small_dictionary()
    encoder = FrameEncoder(level, dictionary)
    for content in (b"x", text(1000), text(300_000), noise(300_000)):
        for encoded in [encoder.encode(content), *encoder.encode_chunk(content, 128 * KIB)]:
            (frame,) = walk(encoded.data, dictionary.data)
            assert frame.dictionary_id == dictionary.id
            assert encoded.checksum == frame.checksum


def test_a_dictionary_makes_small_frames_smaller() -> None:
    content = text(700, seed=1000)
    with_one, without = (FrameEncoder(3, d).encode(content).data for d in (small_dictionary(), None))
    assert len(with_one) < len(without)


def test_without_a_level_that_of_a_frame_follows_from_its_size() -> None:
    contents = [text(1000), text(300_000), text(5000), text(256 * KIB)]
    at_3, at_6 = (FrameEncoder(level, None).encode_each(contents) for level in (3, 6))
    expected = [at_6[0], at_3[1], at_6[2], at_6[3]]
    encoder = FrameEncoder(None, None)
    assert encoder.encode_each(contents) == [*map(encoder.encode, contents)] == expected
    assert encoder.encode_chunk(contents[2], 128 * KIB) == [at_6[2]]
    assert at_3[0] != at_6[0]


def test_with_a_dictionary_small_frames_have_the_level_of_large_ones() -> None:
    encoders = [FrameEncoder(level, small_dictionary()) for level in (None, 3)]
    assert encoders[0].encode(text(5000)) == encoders[1].encode(text(5000))


def test_content_that_compresses_stays_in_one_frame() -> None:
    content = text(MIB)
    encoder = FrameEncoder(3, None)
    assert encoder.encode_chunk(content, 128 * KIB) == [encoder.encode(content)]


def test_content_that_does_not_compress_is_split() -> None:
    content = noise(MIB + 1000)
    frames = FrameEncoder(3, None).encode_chunk(content, 128 * KIB)
    assert [frame.content_size for frame in frames] == [128 * KIB] * 8 + [1000]
    assert b"".join(walk(frame.data)[0].content for frame in frames) == content
    assert all(frame.checksum == walk(frame.data)[0].checksum for frame in frames)


def test_little_content_is_not_split_whatever_it_is() -> None:
    assert len(FrameEncoder(3, None).encode_chunk(noise(128 * KIB), 128 * KIB)) == 1


def test_the_same_content_makes_the_same_bytes_in_any_thread() -> None:
    encoder = FrameEncoder(3, small_dictionary())
    contents = [text(20_000 * n, n) for n in range(1, 9)]
    expected = [encoder.encode(content).data for content in contents]
    found: list[list[bytes]] = []
    threads = [
        threading.Thread(target=lambda: found.append([encoder.encode(c).data for c in contents]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


# Work in order.


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_and_marks_come_in_the_order_of_the_jobs(threads: int) -> None:
    chance = random.Random(3)
    seen: list[object] = []
    work = OrderedWork(threads)
    expected: list[object] = []

    def job(number: int, pause: float) -> Callable[[], int]:
        def run() -> int:
            time.sleep(pause)
            return number

        return run

    for number in range(60):
        work.submit(job(number, chance.random() / 500), seen.append)
        expected.append(number)
        if number % 7 == 0:
            work.mark(lambda number=number: seen.append(("mark", number)))  # type: ignore[misc]
            expected.append(("mark", number))
    work.drain()
    work.close()
    assert seen == expected


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_more_than_a_few_jobs_are_ever_waiting(threads: int) -> None:
    work = OrderedWork(threads)
    delivered = 0

    def deliver(_: object) -> None:
        nonlocal delivered
        delivered += 1

    for submitted in range(1, 100):
        work.submit(lambda: None, deliver)
        assert submitted - delivered <= 2 * threads
    work.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_results_are_delivered_in_the_callers_thread(threads: int) -> None:
    here = []
    work = OrderedWork(threads)
    for _ in range(10):
        work.submit(lambda: None, lambda _: here.append(threading.current_thread()))
    work.mark(lambda: here.append(threading.current_thread()))
    work.drain()
    work.close()
    assert set(here) == {threading.current_thread()}


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_job_reaches_the_caller(threads: int) -> None:
    work = OrderedWork(threads)

    def fail() -> None:
        raise ZeroDivisionError

    def go_on() -> None:
        for _ in range(20):
            work.submit(fail, lambda _: None)
        work.drain()

    with pytest.raises(ZeroDivisionError):
        go_on()
    work.close()


def test_closing_drops_what_is_waiting_and_stops_the_threads() -> None:
    before = set(threading.enumerate())
    work = OrderedWork(3)
    seen: list[int] = []
    for number in range(6):
        work.submit(lambda number=number: number, seen.append)  # type: ignore[misc]
    work.close()
    assert seen == []
    assert new_threads(before) == []
    work.drain()


@pytest.mark.parametrize("with_dictionary", [False, True])
def test_a_stored_frame_is_as_long_for_any_content(with_dictionary: bool) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    encoder = FrameEncoder(3, dictionary)
    contents = text(5000), bytes(5000), noise(5000)
    frames = [encoder.store(content) for content in contents]
    assert {len(frame.data) for frame in frames} == {len(frames[0].data)}
    for frame, content in zip(frames, contents, strict=True):
        (stored,) = walk(frame.data, dictionary.data if dictionary is not None else None)
        assert stored.content == content
        assert stored.trailer == stored.checksum == frame.checksum
        assert stored.dictionary_id == (dictionary.id if dictionary is not None else 0)


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_aside_are_made_in_order_one_at_a_time(threads: int) -> None:
    work = OrderedWork(threads)
    aside = work.aside()
    seen = []
    for number in range(50):
        aside.call(seen.append, number)
    aside.finish()
    assert seen == list(range(50))
    work.close()


def test_few_calls_aside_ever_wait() -> None:
    work = OrderedWork(2)
    aside = work.aside()
    go, made = threading.Event(), 0

    def call_many() -> None:
        nonlocal made
        for _ in range(20):
            aside.call(go.wait, None)
            made += 1

    caller = threading.Thread(target=call_many)
    caller.start()
    caller.join(0.2)
    assert made <= MAX_ASIDE
    go.set()
    caller.join()
    assert made == 20
    work.close()


def test_an_error_in_a_call_aside_reaches_the_caller() -> None:
    work = OrderedWork(2)
    aside = work.aside()
    aside.call([].remove, 1)
    with pytest.raises(ValueError, match="not in list"):
        aside.finish()
    work.close()
