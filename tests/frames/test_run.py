"""Runs of frames read by content range: the bytes, the requests, the damage."""

from __future__ import annotations

import random
import tracemalloc
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc import SeekTable
from seekwarc.errors import ChecksumError, FormatError, SourceError, TruncatedError
from seekwarc.frames.context import FrameContext
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.run import FrameRun
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source import Stats
from tests.support.foreign import Entry, Foreign, cut, skippable, text, zstd_frame
from tests.support.processes import PATIENT, wait_until
from tests.support.sources import RecordingSource, RemoteFake
from tests.support.writing import noise

CONTENT = text(90_000, seed=51)
FRAME = 10_000


class Opened:
    """A run over a file made by hand, with everything that can be asked about its cost."""

    def __init__(
        self,
        made: Foreign,
        *,
        change: Callable[[list[Entry]], list[Entry]] | None = None,
        checksums: bool = True,
        threads: int = 1,
        cache_size: int = 0,
        head: int = 0,
        data: bytes | None = None,
        front: bytes = b"front",
        latency: float | None = None,
    ) -> None:
        entries = change(list(made.entries)) if change else made.entries
        columns = [array("I", column) for column in zip(*entries, strict=True)]
        self.table = SeekTable(*columns[: 3 if checksums else 2])
        stored = front + (made.bytes() if data is None else data)
        self.source = RecordingSource(stored) if latency is None else RemoteFake(stored, latency=latency)
        self.stats = Stats()
        self.reader = FrameContext(
            Fetcher(self.source, self.stats),
            FrameDecoder(lambda: None),
            cache_size=cache_size,
            threads=threads,
        )
        at_hand = stored[len(front) : len(front) + head]
        self.run = FrameRun(self.reader, len(front), self.table, at_hand)

    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        out = bytearray(stop - start)
        self.run.read_into(start, memoryview(out), verify=verify)
        return bytes(out)


def frames(content: bytes = CONTENT, size: int = FRAME, **options: bool) -> Foreign:
    made = Foreign(options)
    for piece in cut(content, size):
        made.frame(piece)
    return made


ranges = st.tuples(st.integers(0, len(CONTENT)), st.integers(0, len(CONTENT))).map(sorted)


@given(
    st.lists(ranges, min_size=1, max_size=5),
    st.booleans(),
    st.sampled_from([0, 15_000, 1 << 20]),
    st.sampled_from([0, 20, 3000, 10**6]),
    st.sampled_from([1, 3]),
)
def test_any_range_is_a_slice_of_the_content(
    wanted: list[list[int]], verify: bool, cache_size: int, head: int, threads: int
) -> None:
    opened = Opened(frames(), cache_size=cache_size, head=head, threads=threads)
    for start, stop in wanted:
        assert opened.read(start, stop, verify=verify) == CONTENT[start:stop]
        assert opened.run.read(start, stop) == CONTENT[start:stop]
    opened.reader.close()


@pytest.mark.parametrize(
    ("start", "stop", "count"),
    [(0, 1, 1), (9_999, 10_001, 2), (10_000, 20_000, 1), (5, 5, 0), (15_000, 85_000, 8), (0, 90_000, 9)],
)
def test_a_read_is_one_request_for_the_frames_it_touches(start: int, stop: int, count: int) -> None:
    opened = Opened(frames())
    plan = opened.run.plan(start, stop)
    assert opened.source.requests == []
    assert plan.frames == count
    assert opened.read(start, stop) == CONTENT[start:stop]
    assert tuple(opened.source.requests) == plan.ranges
    assert len(plan.ranges) == (1 if count else 0)
    assert opened.stats.bytes_fetched == plan.bytes_fetched
    assert opened.stats.bytes_decoded == plan.bytes_decoded == count * FRAME


def test_a_few_frames_are_one_request_for_those_that_are_not_cached() -> None:
    made = Foreign()
    for piece in cut(CONTENT, FRAME):
        made.frame(piece).empty()
    opened = Opened(made, cache_size=1 << 20)
    assert opened.run.read(25_000, 55_000) == CONTENT[25_000:55_000]
    assert opened.stats.requests == 1
    assert opened.stats.bytes_decoded == 4 * FRAME
    assert opened.run.read(55_000, 75_000) == CONTENT[55_000:75_000]
    assert (opened.stats.requests, opened.stats.bytes_decoded) == (2, 6 * FRAME), "the edge was kept"
    assert opened.run.read(35_000, 36_000) == CONTENT[35_000:36_000]
    assert opened.stats.requests == 3, "what all was read of was not"


def test_frames_at_hand_are_not_fetched_again() -> None:
    made = frames()
    opened = Opened(made, head=made.entries[0][0])
    assert opened.read(0, FRAME) == CONTENT[:FRAME]
    assert opened.source.requests == []
    assert opened.read(0, FRAME + 1) == CONTENT[: FRAME + 1]
    assert len(opened.source.requests) == 1


def test_neighbouring_reads_decode_a_frame_once() -> None:
    opened = Opened(frames(), cache_size=1 << 20)
    for start in range(20_000, 30_000, 500):
        assert opened.read(start, start + 500) == CONTENT[start : start + 500]
    assert opened.stats.requests == 1
    assert opened.stats.bytes_decoded == FRAME
    assert opened.stats.cache_hits == 19


def test_unverified_reads_decode_up_to_where_they_end() -> None:
    opened = Opened(frames())
    assert opened.read(20_100, 20_200, verify=False) == CONTENT[20_100:20_200]
    assert opened.stats.bytes_decoded == 200


def test_long_reads_are_several_requests_of_bounded_size() -> None:
    content = noise(40 << 20)
    opened = Opened(frames(content, 1 << 20), threads=3)
    assert opened.read(10, len(content) - 10) == content[10:-10]
    assert 3 <= opened.stats.requests <= 5
    assert max(stop - start for start, stop in opened.source.requests) <= 16 << 20
    opened.reader.close()


def test_frames_without_content_are_passed_over() -> None:
    made = Foreign().frame(CONTENT[:1000]).extension(data=bytes(5000)).empty().frame(CONTENT[1000:2000])
    made.extension(0x184D2A5E, b"abc").frame(CONTENT[2000:3000])
    opened = Opened(made)
    for start in range(0, 3000, 250):
        assert opened.read(start, start + 250) == CONTENT[start : start + 250]
    opened.source.forget()
    assert opened.read(0, 3000) == CONTENT[:3000]
    assert opened.run.plan(0, 3000).frames == 3


def test_read_some_goes_to_the_end_of_a_frame() -> None:
    run = Opened(frames()).run
    for start, least, stop in ((0, 1, 10_000), (9_999, 1, 10_000), (9_999, 2, 20_000), (89_999, 1, 90_000)):
        assert run.read_some(start, 90_000, least) == CONTENT[start:stop]
    assert run.read_some(9_000, 9_500) == CONTENT[9_000:9_500]
    assert run.read_some(9_000, 9_000) == b""


def test_read_some_reads_no_frame_after_the_range() -> None:
    opened = Opened(frames())
    assert opened.run.read_some(5_000, 20_000, least=70_000) == CONTENT[5_000:20_000]
    assert opened.stats.bytes_decoded == 2 * FRAME


# Far away.


def settled(opened: Opened) -> None:
    """Wait until nothing is under way."""
    wait_until(lambda: not opened.reader.cache._under_way)


def test_a_long_read_asks_for_several_parts_at_a_time() -> None:
    content = noise(40 << 20)
    opened = Opened(frames(content, 1 << 20), threads=2, latency=0.05)
    plan = opened.run.plan(10, len(content) - 10)
    assert opened.read(10, len(content) - 10) == content[10:-10]
    assert sorted(opened.source.requests) == list(plan.ranges)
    assert opened.source.at_once == len(plan.ranges) == 3
    opened.reader.close()


def test_random_reads_fetch_what_they_need_and_no_more() -> None:
    opened = Opened(frames(), cache_size=1 << 20, latency=0)
    for number in (5, 2, 8, 0):
        start = number * FRAME + 17
        (expected,) = opened.run.plan(start, start + 100).ranges
        opened.source.forget()
        assert opened.read(start, start + 100) == CONTENT[start : start + 100]
        assert opened.source.requests == [expected]


@pytest.mark.parametrize("step", [2000, FRAME, 3 * FRAME])
@pytest.mark.parametrize("verify", [True, False])
def test_sequential_reads_find_frames_that_were_fetched_ahead(step: int, verify: bool) -> None:
    content = noise(1_000_000)
    opened = Opened(frames(content), cache_size=64 << 20, latency=0)
    for start in range(0, len(content), step):
        stop = min(start + step, len(content))
        assert opened.read(start, stop, verify=verify) == content[start:stop]
    settled(opened)
    if verify:
        assert opened.stats.bytes_decoded == len(content), "each frame once"
    assert opened.stats.requests < 25


def test_reading_ahead_takes_no_more_than_its_share_of_the_cache() -> None:
    content = noise(2_000_000)
    cache = 200_000
    opened = Opened(frames(content), cache_size=cache, latency=0)
    for start in range(0, 1_000_000, FRAME):
        opened.read(start, start + 100)
        settled(opened)
        ahead = max(stop for _, stop in opened.source.requests) - start
        assert ahead <= 2 * FRAME + cache // 4
    assert opened.stats.requests < 60, "and takes that much at a time"


def test_without_a_cache_nothing_is_read_ahead() -> None:
    opened = Opened(frames(), latency=0)
    for start in range(0, 50_000, 5000):
        opened.read(start, start + 5000)
    assert opened.stats.requests == 10


def test_a_frame_that_is_being_fetched_is_waited_for() -> None:
    opened = Opened(frames(), cache_size=1 << 20, latency=0.05)
    with ThreadPoolExecutor(32) as pool:
        wanted = [pool.submit(opened.read, 20_000 + n, 20_100 + n) for n in range(32)]
        assert [one.result() for one in wanted] == [CONTENT[20_000 + n : 20_100 + n] for n in range(32)]
    assert (opened.stats.requests, opened.stats.bytes_decoded) == (1, FRAME)
    assert opened.stats.cache_hits == 31


def test_a_frame_that_is_being_fetched_is_not_fetched_by_a_longer_read() -> None:
    opened = Opened(frames(), cache_size=1 << 20, latency=0.05)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(opened.read, 20_000, 20_100)
        wait_until(lambda: opened.source.requests)
        assert opened.read(0, 90_000) == CONTENT
        assert one.result() == CONTENT[20_000:20_100]
    assert opened.stats.bytes_decoded == len(CONTENT)


def test_what_fails_fails_for_each_and_blocks_nobody() -> None:
    opened = Opened(frames(), cache_size=1 << 20, latency=0.01)

    def fail(*_: int) -> None:
        raise SourceError("gone")

    opened.source.fail = fail
    with ThreadPoolExecutor(8) as pool:
        for wanted in ((20_000, 20_100), (0, 90_000), (15_000, 35_000)):
            failed = [pool.submit(opened.read, *wanted) for _ in range(8)]
            assert {str(one.exception(timeout=PATIENT)) for one in failed} == {"gone"}
    opened.source.fail = lambda *_: None
    assert opened.read(0, 90_000) == CONTENT


def test_what_fails_ahead_is_told_when_it_is_reached() -> None:
    made = frames()
    data = bytearray(made.bytes())
    data[sum(entry[0] for entry in made.entries[:4]) + 500] ^= 1
    opened = Opened(made, data=bytes(data), cache_size=1 << 20, latency=0)
    for start in range(0, 40_000, FRAME):
        assert opened.read(start, start + 100) == CONTENT[start : start + 100]
        settled(opened)
    with pytest.raises(ChecksumError, match="frame 4"):
        opened.read(40_000, 40_100)
    assert opened.read(50_000, 90_000) == CONTENT[50_000:]


def test_closing_lets_go_who_waits() -> None:
    opened = Opened(frames(noise(1_000_000)), cache_size=64 << 20, latency=0.05)
    for start in range(0, 100_000, FRAME):
        opened.read(start, start + 100)
    opened.reader.source.close()
    settled(opened)


def test_threads_agree_with_the_content() -> None:
    content = noise(1_500_000)
    opened = Opened(frames(content), cache_size=300_000, latency=0.0, threads=2)

    def read(seed: int) -> bool:
        chance = random.Random(seed)
        for _ in range(30):
            start = chance.randrange(len(content))
            stop = min(start + chance.choice([1, 500, FRAME, 5 * FRAME]), len(content))
            if opened.read(start, stop, verify=chance.random() < 0.8) != content[start:stop]:
                return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(read, range(16)))
    opened.reader.close()


@pytest.mark.slow
def test_a_frame_for_each_byte_takes_room_for_none_of_them() -> None:
    content = noise(30_000)
    made = frames(content, 1, checksum=False)
    opened = Opened(made, checksums=False)
    assert opened.read(0, 10) == content[:10]
    tracemalloc.start()
    assert opened.read(0, len(content)) == content
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < len(made.data) + 20 * len(content)


# Damage.


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("checksums", [True, False])
def test_a_damaged_frame_is_named_and_the_others_are_not_touched(threads: int, checksums: bool) -> None:
    content = noise(900_000)
    made = frames(content, 100_000)
    data = bytearray(made.bytes())
    start = sum(entry[0] for entry in made.entries[:4])
    data[start + 500] ^= 1
    opened = Opened(made, data=bytes(data), threads=threads, checksums=checksums)
    place = rf"recorded.*, offset 5: frame 4 \(stored bytes {start + 5} to {start + 5 + made.entries[4][0]}, "
    place += r"record bytes 400000 to 500000\): .*damaged"
    for begin, end in ((0, 900_000), (450_000, 450_001), (399_999, 400_001)):
        with pytest.raises(ChecksumError, match=place):
            opened.read(begin, end)
    assert opened.read(0, 400_000) == content[:400_000]
    assert opened.read(500_000, 900_000) == content[500_000:]
    opened.reader.close()


def one(number: int, *, stored: int = 0, content: int = 0, checksum: int = 0) -> Callable:
    def change(entries: list[Entry]) -> list[Entry]:
        old = entries[number]
        entries[number] = (old[0] + stored, old[1] + content, old[2] ^ checksum)
        return entries

    return change


WRONG = {
    "checksum": one(2, checksum=1),
    "content size too large": one(2, content=1),
    "content size too small": one(2, content=-1),
    "stored size too large": one(2, stored=1),
    "stored size too small": one(2, stored=-1),
    "stored size without checksum": one(2, stored=-4),
    "offset": one(1, stored=1),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("content_size", [True, False], ids=["size", "no size"])
@pytest.mark.parametrize("checksum", [True, False], ids=["checksum", "no checksum"])
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "not listed"])
def test_a_table_that_lists_a_frame_wrongly_never_gives_other_bytes(
    change: Callable, content_size: bool, checksum: bool, listed: bool
) -> None:
    content = noise(len(CONTENT))
    made = frames(content, content_size=content_size, checksum=checksum)
    opened = Opened(made, change=change, checksums=listed)
    harmless = change is WRONG["checksum"] and not listed
    for start, stop in ((20_000, 30_000), (20_100, 20_200), (0, 30_000)):
        if harmless:
            assert opened.read(start, stop) == content[start:stop]
            continue
        with pytest.raises(ChecksumError, match=r"recorded.*offset 5: frame [12] \(stored bytes"):
            opened.read(start, stop)


def test_an_entry_for_two_frames_never_gives_other_bytes() -> None:
    def join(entries: list[Entry]) -> list[Entry]:
        (a, size, check), (b, _, _), *rest = entries
        return [(a + b, size, check), *rest]

    made = frames()
    for checksums in (True, False):
        opened = Opened(made, change=join, checksums=checksums)
        with pytest.raises(ChecksumError):
            opened.read(0, FRAME)


def swallow(entries: list[Entry]) -> list[Entry]:
    """List the second frame as if it went on to the end of the third, whose checksum is there."""
    first, (a, size, _), (b, _, check), *rest = entries
    return [first, (a + b, size, check), *rest]


@pytest.mark.parametrize("cache_size", [0, 1 << 20])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("verify", [True, False])
def test_an_entry_that_swallows_a_frame_is_found_on_every_way(
    cache_size: int, threads: int, verify: bool
) -> None:
    opened = Opened(frames(), change=swallow, cache_size=cache_size, threads=threads)
    for start, stop in ((FRAME, 2 * FRAME), (FRAME, FRAME + 1), (2 * FRAME - 1, 2 * FRAME), (0, 80_000)):
        with pytest.raises(ChecksumError, match=r"frame 1 .*does not end where the seek table says"):
            opened.read(start, stop, verify=verify)
        with pytest.raises(ChecksumError):
            opened.run.read(start, stop)
    opened.reader.close()


def test_an_entry_that_swallows_a_frame_is_found_in_the_cache_too() -> None:
    made = frames()
    opened = Opened(made, cache_size=1 << 20)
    assert opened.read(FRAME, FRAME + 10) == CONTENT[FRAME : FRAME + 10]
    columns = [array("I", column) for column in zip(*swallow(list(made.entries)), strict=True)]
    other = FrameRun(opened.reader, opened.run.offset, SeekTable(*columns))
    with pytest.raises(ChecksumError, match="does not end where the seek table says"):
        other.read(FRAME, FRAME + 10)


def test_an_entry_that_swallows_a_frame_is_found_where_it_is_fetched_ahead() -> None:
    opened = Opened(frames(), change=swallow, cache_size=1 << 20, latency=0.0)
    assert opened.read(0, 500) == CONTENT[:500]
    with pytest.raises(ChecksumError):
        opened.read(500, FRAME + 500)
    with pytest.raises(ChecksumError):
        opened.read(FRAME + 500, FRAME + 600)
    opened.reader.close()


def test_a_file_that_ends_inside_a_frame_is_truncated() -> None:
    made = frames()
    opened = Opened(made, data=made.bytes()[:-1])
    assert opened.read(0, 80_000) == CONTENT[:80_000]
    with pytest.raises(TruncatedError, match=r"recorded.*offset 5: the file ends inside"):
        opened.read(80_000, 80_001)


def test_frames_too_large_to_hold_are_refused_before_they_are_decoded() -> None:
    made = Foreign().frame(bytes(1000))
    opened = Opened(made, change=lambda _: [(len(made.data), 2**32 - 1, 0)])
    with pytest.raises(FormatError, match="too large to seek in"):
        opened.read(5, 10)
    assert opened.stats.bytes_decoded == 0


def test_what_is_no_frame_is_damage() -> None:
    for frame in (skippable(0x184D2A50, bytes(92)), bytes(100), zstd_frame(b"x")[:4] + b"\x08" + bytes(95)):
        made = Foreign()
        made._put(frame, 50, 0)
        with pytest.raises(ChecksumError, match="frame 0"):
            Opened(made).read(0, 50)
