"""A source read through a `Fetcher`: the same bytes, in few requests, several at a time, each counted."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import SourceError
from seekwarc.storage.fetch import MAX_PREFETCHED, TAIL, Fetcher
from seekwarc.storage.local import BytesSource, LocalFileSource
from seekwarc.storage.source import Stats
from seekwarc.storage.streams import PipeSource
from tests.support.processes import PATIENT
from tests.support.sources import Pipe, RecordingSource, RemoteFake
from tests.support.writing import noise

DATA = noise(3_000_000, seed=41)
KIB = 1 << 10


def fetcher(source: object) -> tuple[Fetcher, Stats]:
    stats = Stats()
    return Fetcher(source, stats), stats


ranges = st.lists(st.tuples(st.integers(0, 2_900_000), st.integers(0, 90_000)), max_size=12).map(
    lambda found: sorted((start, start + size) for start, size in found)
)


@given(ranges, st.booleans())
def test_ranges_come_in_order_and_whole(wanted: list[tuple[int, int]], remote: bool) -> None:
    reading, stats = fetcher(RemoteFake(DATA) if remote else RecordingSource(DATA))
    left = list(wanted)
    count = fetched = 0
    for request, data in reading.fetch(wanted):
        assert data == DATA[request.start : request.stop]
        for _ in range(request.ranges):
            start, stop = left.pop(0)
            assert request.start <= start <= stop <= request.stop
        count += 1
        fetched += len(data)
    assert left == []
    assert (stats.requests, stats.bytes_fetched) == (count, fetched)
    reading.close()


def far_apart(count: int) -> list[tuple[int, int]]:
    return [(n * 400_000, n * 400_000 + 10) for n in range(count)]


def test_remote_ranges_are_read_side_by_side() -> None:
    source = RemoteFake(bytes(10_000_000), latency=0.01)
    reading, _ = fetcher(source)
    most = threading.Barrier(source.policy.in_flight)
    source.fail = lambda start, _: most.wait(PATIENT) and None if start < 16 * 400_000 else None
    assert len(list(reading.fetch(far_apart(20)))) == 20
    assert source.at_once == source.policy.in_flight == 16
    source.fail = lambda *_: None
    source.forget()
    assert len(list(reading.fetch(far_apart(20), in_flight=1))) == 20
    assert source.at_once == 1
    reading.close()


def test_a_single_request_uses_no_other_thread() -> None:
    threads = []
    source = RemoteFake(DATA)
    source.fail = lambda *_: threads.append(threading.current_thread())
    reading, _ = fetcher(source)
    list(reading.fetch([(0, 10), (20, 30)]))
    reading.read(5, 10)
    assert threads == [threading.current_thread()] * 2


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own() -> None:
    reading, _ = fetcher(RemoteFake(DATA))

    def read() -> bytes:
        return b"".join(data for _, data in reading.fetch([(5, 9), (70_000, 70_003)], gap=0))

    assert read() == DATA[5:9] + DATA[70_000:70_003]
    child = os.fork()
    if not child:
        # Whether it waits for the threads of its parent, or fails in another way, it ends here.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        try:
            os._exit(0 if read() == DATA[5:9] + DATA[70_000:70_003] else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_no_more_threads_wait_than_requests_may_be_in_flight() -> None:
    reading, _ = fetcher(RemoteFake(b""))
    threads = {reading.submit(threading.current_thread).result() for _ in range(50)}
    assert len(threads) <= reading.policy.in_flight < 50


def test_bytes_that_wait_to_be_taken_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seekwarc.storage.fetch.MAX_WAITING", 300)
    source = RemoteFake(bytes(10_000_000))
    reading, _ = fetcher(source)
    answers = reading.fetch([(n * 400_000, n * 400_000 + 100) for n in range(20)])
    next(answers)
    answers.close()
    assert len(source.requests) <= 4
    reading.close()


def test_an_error_is_raised_in_place_of_its_bytes() -> None:
    def fail(start: int, _: int) -> None:
        if start == 1_200_000:
            raise SourceError("no")

    source = RemoteFake(bytes(10_000_000))
    source.fail = fail
    reading, stats = fetcher(source)
    answers = reading.fetch(far_apart(8))
    assert [next(answers)[0].start for _ in range(3)] == [0, 400_000, 800_000]
    with pytest.raises(SourceError, match="no"):
        next(answers)
    assert stats.requests <= 7, "what failed brought nothing"
    reading.close()


def test_a_local_source_is_read_one_request_at_a_time() -> None:
    source = RecordingSource(DATA)
    reading, stats = fetcher(source)
    assert reading.read(10, 20) == DATA[10:20]
    assert [data for _, data in reading.fetch(far_apart(3))] == [DATA[s:e] for s, e in far_apart(3)]
    assert source.requests == [(10, 20), *far_apart(3)]
    assert (stats.requests, stats.bytes_fetched) == (4, 40)


# Ranges that are used as they come.


def test_ranges_are_used_in_the_threads_that_their_bytes_come_in() -> None:
    source = RemoteFake(DATA * 4, latency=0.02)
    readers: dict[int, threading.Thread] = {}
    source.fail = lambda start, _: readers.update({start: threading.current_thread()})
    reading, stats = fetcher(source)
    wanted = far_apart(12)

    def use(first: int, stop: int) -> tuple[range, bytes, bool]:
        start, end = wanted[first]
        is_here = readers[start] is threading.current_thread()
        return range(first, stop), reading.read(start, end), is_here

    found = list(reading.use_each(wanted, use))
    assert found == [(range(n, n + 1), (DATA * 4)[s:e], True) for n, (s, e) in enumerate(wanted)]
    assert stats.requests == len(wanted) == source.at_once, "none came twice, nor one after the other"
    assert readers[0] is threading.current_thread(), "which has nothing else to do"
    assert not reading.has(*wanted[0]), "nothing is kept"
    reading.close()


def test_ranges_near_each_other_are_used_together() -> None:
    wanted = [(0, 10), (5, 20), (100_000, 100_020), (2_000_000, 2_000_001)]
    for source in (RemoteFake(DATA), RecordingSource(DATA)):
        reading, stats = fetcher(source)

        def use(first: int, stop: int, reading: Fetcher = reading) -> list[bytes]:
            return [reading.read(*it) for it in wanted[first:stop]]

        found = [it for some in reading.use_each(wanted, use) for it in some]
        assert found == [DATA[start:stop] for start, stop in wanted]
        assert stats.requests == (2 if source.policy.is_far else 4)
        assert list(reading.use_each([], use)) == []
        reading.close()


def test_a_failed_request_leaves_it_to_the_user_to_find_out() -> None:
    def fail(start: int, _: int) -> None:
        if start == 800_000:
            raise SourceError("no")

    source = RemoteFake(DATA)
    source.fail = fail
    reading, _ = fetcher(source)
    wanted = far_apart(4)

    def use(first: int, _: int) -> str:
        try:
            return reading.read(*wanted[first]).hex()
        except SourceError as error:
            return str(error)

    found = list(reading.use_each(wanted, use))
    assert found == [DATA[:10].hex(), DATA[400_000:400_010].hex(), "no", DATA[1_200_000:1_200_010].hex()]
    reading.close()


def test_closing_ends_the_wait_for_ranges_that_never_come() -> None:
    source, entered, end = RemoteFake(DATA), threading.Barrier(4), threading.Event()

    def hang(start: int, _: int) -> None:
        if start:
            entered.wait(PATIENT)
            end.wait(PATIENT)

    source.fail = hang
    reading, _ = fetcher(source)
    used: list[int] = []
    results = reading.use_each(far_apart(4), lambda first, _: used.append(first))

    def close() -> None:
        entered.wait(PATIENT)
        reading.close()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(SourceError, match="the archive is closed"):
        list(results)
    closing.join()
    end.set()
    assert used in ([0], []), "what comes later is not used"


def test_bytes_that_are_fetched_to_be_used_are_bounded() -> None:
    source, most = RemoteFake(bytes(80 << 20)), 0
    reading, _ = fetcher(source)
    wanted = [(start, start + (2 << 20)) for start in range(0, 72 << 20, 3 << 20)]
    for number, _ in enumerate(reading.use_each(wanted, lambda first, _: first)):
        most = max(most, len(source.requests) - number)
    assert most << 21 <= MAX_PREFETCHED + (2 << 20)
    reading.close()


# Prefetching.


def test_prefetched_ranges_are_not_requested_again() -> None:
    source = RemoteFake(DATA)
    reading, stats = fetcher(source)
    reading.prefetch([(1_000_000, 1_000_100), (0, 500)])
    assert sorted(source.requests) == [(0, 500), (1_000_000, 1_000_100)]
    assert reading.read(10, 400) == DATA[10:400]
    assert reading.read(1_000_000, 1_000_100) == DATA[1_000_000:1_000_100]
    reading.prefetch([(0, 500), (1_000_050, 1_000_060)])
    assert stats.requests == 2
    assert reading.read(400, 501) == DATA[400:501]
    assert stats.requests == 3
    reading.close()


def test_the_end_can_be_prefetched_before_the_size_is_known() -> None:
    source = RemoteFake(DATA, latency=0.05)
    reading, stats = fetcher(source)
    reading.prefetch([(0, 100)], end=True)
    assert source.at_once == 2, "in one round trip"
    assert reading.size == len(DATA)
    assert reading.read(len(DATA) - TAIL, len(DATA)) == DATA[-TAIL:]
    assert reading.read(len(DATA) - 10, len(DATA) + TAIL) == DATA[-10:]
    reading.prefetch([], end=True)
    assert stats.requests == 2
    reading.close()


def test_the_end_is_prefetched_when_the_size_is_known() -> None:
    for source in (RecordingSource(DATA), RemoteFake(DATA)):
        reading, stats = fetcher(source)
        reading.read(0, 1)
        reading.prefetch([(0, 2)], end=True)
        before = stats.requests
        assert reading.read(len(DATA) - TAIL, len(DATA)) == DATA[-TAIL:]
        assert stats.requests == before
        reading.close()


def test_the_size_of_a_remote_object_costs_one_request() -> None:
    reading, stats = fetcher(RemoteFake(DATA))
    assert reading.size == reading.size == len(DATA)
    assert stats.requests == 1
    assert reading.read(len(DATA) - 100, len(DATA)) == DATA[-100:]
    assert stats.requests == 1
    reading.close()


def test_prefetched_bytes_are_bounded() -> None:
    source = RecordingSource(bytes(40 << 20))
    reading, stats = fetcher(source)
    for number in range(20):
        reading.prefetch([(number << 20, (number + 1) << 20)])
    stats.requests = 0
    for number in range(20):
        reading.read(number << 20, (number << 20) + 1)
    assert 20 - stats.requests <= (MAX_PREFETCHED >> 20) + 1
    reading.read(19 << 20, 20 << 20)
    assert 20 - stats.requests > 0, "the latest is kept"


@pytest.mark.parametrize("data", [b"", b"short"])
def test_small_objects(data: bytes) -> None:
    for source in (RecordingSource(data), RemoteFake(data)):
        reading, stats = fetcher(source)
        reading.prefetch([(0, 100)], end=True)
        assert reading.size == len(data)
        assert reading.read(0, 1000) == data
        assert reading.read(1000, 2000) == b""
        before = stats.requests
        reading.prefetch([(0, 100), (500, 600)], end=True)
        assert stats.requests == before, "what is there is known to be all"
        reading.close()


# Other sources.


def test_a_pipe_is_read_in_order() -> None:
    reading, _ = fetcher(PipeSource(Pipe(DATA)))
    assert reading.is_pipe
    assert reading.size is None
    assert reading.read(0, 100_000) == DATA[:100_000]
    assert not fetcher(BytesSource(b""))[0].is_pipe
    assert not fetcher(RemoteFake(b""))[0].is_pipe


def test_a_closed_fetcher_reads_nothing() -> None:
    source = RemoteFake(DATA)
    reading, _ = fetcher(source)
    reading.prefetch([(0, 100)], end=True)
    reading.close()
    reading.close()
    with pytest.raises(SourceError, match="fake://object: the archive is closed"):
        reading.submit(print)
    source.forget()
    reading.read(0, 100)
    assert source.requests == [(0, 100)], "nor served from what was kept: the source says what is to say"


def test_a_local_file_is_read_into_the_callers_buffer(tmp_path: Path) -> None:
    data = noise(300_000)
    path = tmp_path / "data"
    path.write_bytes(data)
    room = bytearray(100_000)
    found, stats = fetcher(LocalFileSource(path))
    wanted = [(0, 10), (500, 90_000), (100_000, 250_000), (299_000, 310_000)]
    taken = [
        (request.start, bytes(got), isinstance(got, memoryview))
        for request, got in found.fetch(
            wanted, room=lambda size: memoryview(room)[:size] if size <= len(room) else None
        )
    ]
    assert taken == [(start, data[start:stop], stop - start <= len(room)) for start, stop in wanted]
    assert (stats.requests, stats.bytes_fetched) == (4, 10 + 89_500 + 150_000 + 1000)
    found.close()
