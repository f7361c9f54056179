"""Runs of frames read by content range: the bytes, the requests, the damage."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seekwarc import SeekTable
from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.frames.decoder import FrameDecoder
from seekwarc.frames.run import FrameReader, FrameRun
from seekwarc.storage.source import CountingSource, Stats
from tests.support.foreign import Entry, Foreign, cut, noise, skippable, text, zstd_frame
from tests.support.sources import RecordingSource

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
    ) -> None:
        entries = change(list(made.entries)) if change else made.entries
        columns = [array("I", column) for column in zip(*entries, strict=True)]
        self.table = SeekTable(*columns[: 3 if checksums else 2])
        stored = front + (made.bytes() if data is None else data)
        self.source = RecordingSource(stored)
        self.stats = Stats()
        self.reader = FrameReader(
            CountingSource(self.source, self.stats),
            FrameDecoder(lambda: None),
            self.stats,
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


@settings(deadline=None)
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
        assert opened.run.peek(start, stop) == CONTENT[start:stop]
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


def test_cheap_stop_is_the_end_of_the_frame() -> None:
    run = Opened(frames()).run
    assert [run.cheap_stop(start) for start in (0, 9_999, 10_000, 89_999)] == [10_000, 10_000, 20_000, 90_000]


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
    # Where the content's checksum is the only one, what stands behind the frame says nothing of it.
    harmless |= change is WRONG["stored size too large"] and listed and not checksum
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
