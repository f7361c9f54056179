"""Random access to chunked bodies: the bytes that a decoder finds that reads all, at the cost of few."""

from __future__ import annotations

import io
import itertools
import random
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import ChecksumError, RangeError, SeekWarcError
from seekwarc.read.chunked_payload import MIN_DISTANCE, WINDOW, ChunkedExtent
from tests.support.chunks import HTTP, ODD, bodies, chunked, decode, made, random_sizes, reference, response
from tests.support.foreign import Foreign, text, zstd_frame
from tests.support.memory import MemoryBody
from tests.support.rounds import rounds
from tests.support.sources import Pipe, RecordingSource
from tests.support.work import at_most_calls
from tests.support.writing import KIB, MIB, RESPONSE, URI, Repeated, noise
from tests.support.writing import text as pages

BEFORE, AFTER = b"X" * 11, b"\r\n\r\n0\r\n\r\n"
"""What stands round a body in its record; none of it belongs to it."""

NOT_CHUNKED = "the body is not chunked, though its head says so"
PROBLEMS = {
    "missing": "the last chunk is missing",
    "broken": "the chunks break off",
    "doubtful": "the body may be the beginning of one chunk: it is given as it is stored",
}


def expected_problem(body: bytes) -> list[str | None]:
    """What may be said of a body once its end was reached."""
    found = reference(body)
    if not found.has_problem or not body:
        return [None]
    if found.is_doubtful:
        return [PROBLEMS["doubtful"]]
    count = len(found.rest)
    follow = f"{count} byte{'s follow' if count != 1 else ' follows'} the last chunk"
    return [follow] if found.complete else [PROBLEMS["missing"], PROBLEMS["broken"]]


def expected_deviation(body: bytes) -> str | None:
    return NOT_CHUNKED if reference(body).plain else None


def mapped(
    body: bytes, edges: tuple[int, ...] = (), *, forward: bool = False
) -> tuple[ChunkedExtent, MemoryBody]:
    """A map of a body that lies somewhere in content with frames at `edges`."""
    content = MemoryBody(BEFORE + body + AFTER, edges, forward=forward)
    return ChunkedExtent(content, len(BEFORE), len(BEFORE) + len(body)), content


def read(chunks: ChunkedExtent, start: int, length: int) -> bytes:
    """Read as an extent does, and see that nothing else of the buffer is touched."""
    buffer = bytearray(b"#" * (length + 4))
    with memoryview(buffer) as view, view[2 : 2 + length] as out:
        count = chunks.pread_into(start, out)
    assert count <= length
    assert (buffer[:2], buffer[2 + count :]) == (b"##", b"#" * (length - count + 2))
    return bytes(buffer[2 : 2 + count])


def in_pieces(extent: seekwarc.Extent, sizes: Iterator[int]) -> bytes:
    """Read an extent from its beginning to its end, as a file."""
    pieces = []
    with extent.open() as file:
        while piece := file.read(next(sizes)):
            pieces.append(piece)
    return b"".join(pieces)


# Whatever the body, wherever frames begin in it.

reads = st.lists(
    st.tuples(st.integers(0, 1500), st.one_of(st.integers(0, 40), st.integers(0, 2000))), max_size=8
)
edge_lists = st.lists(st.integers(1, 1500), max_size=12).map(tuple)


@pytest.mark.slow
@settings(max_examples=rounds(300))
@given(bodies(), edge_lists, reads, st.integers(0, 8))
def test_any_range_of_any_body_is_what_a_naive_decoder_finds(
    body: bytes, edges: tuple[int, ...], wanted: list[tuple[int, int]], sized_after: int
) -> None:
    data = reference(body).data
    chunks, _ = mapped(body, edges)
    for number, (start, length) in enumerate(wanted):
        if number == sized_after:
            assert chunks.size == len(data)
        assert read(chunks, start, length) == data[start : start + length]
    assert chunks.size == len(data)
    assert chunks.problem in expected_problem(body)
    assert chunks.deviation == expected_deviation(body)
    for start, length in wanted:
        assert read(chunks, start, length) == data[start : start + length]
    assert read(chunks, 0, len(data) + 10) == data


@pytest.mark.parametrize("body", ODD, ids=lambda body: repr(body[:20]))
def test_bodies_at_the_edges(body: bytes) -> None:
    data = reference(body).data
    for edges in ((), (1, 2, 3), tuple(range(1, 12_000, 7)), (4096, 8192)):
        chunks, _ = mapped(body, edges)
        assert read(chunks, len(data) // 2, 10) == data[len(data) // 2 :][:10]
        assert read(chunks, 0, len(data) + 1) == data
        assert chunks.size == len(data)
        assert chunks.problem in expected_problem(body)
        assert chunks.deviation == expected_deviation(body)


@settings(max_examples=rounds(200))
@given(bodies(), st.lists(st.integers(0, 5000), max_size=20), edge_lists)
def test_random_access_finds_what_reading_in_order_finds(
    body: bytes, cuts: list[int], edges: tuple[int, ...]
) -> None:
    data, decoder = decode(body, cuts)
    chunks, _ = mapped(body, edges)
    assert chunks.size >= len(data)
    if chunks.deviation is None:
        assert read(chunks, 0, len(data) + 1) == data
        assert chunks.problem is not None or decoder.complete or not body
    else:
        assert read(chunks, 0, len(body)) == body


@pytest.mark.slow
@settings(max_examples=rounds(300))
@given(
    bodies(),
    st.lists(st.integers(0, 400), max_size=12),
    st.lists(st.integers(0, 50), max_size=12),
    edge_lists,
)
def test_a_stream_is_read_in_order_without_going_back(
    body: bytes, lengths: list[int], gaps: list[int], edges: tuple[int, ...]
) -> None:
    data = reference(body).data
    chunks, content = mapped(body, edges, forward=True)
    position = 0
    for length, gap in itertools.zip_longest(lengths, gaps, fillvalue=0):
        start = position + gap
        assert read(chunks, start, length) == data[start : start + length]
        # A read behind the end has passed everything in front of it.
        position = min(start + length, len(data)) if length else position
        assert content.position <= len(BEFORE) + len(body), "what follows the body is not passed"
    # What is behind the last read is gone through, what is in front of it is not needed again.
    assert chunks.size == len(data)
    assert chunks.problem in expected_problem(body)
    assert chunks.deviation == expected_deviation(body)


@settings(max_examples=rounds(200))
@given(bodies(), edge_lists, st.integers(0, 1500), st.integers(0, 1500))
def test_a_plan_spans_what_a_read_touches(
    body: bytes, edges: tuple[int, ...], start: int, length: int
) -> None:
    data = reference(body).data
    chunks, content = mapped(body, edges)
    wanted = data[start : start + length]
    plan = chunks.plan(start, start + length)
    if not wanted:
        assert plan.ranges == ()
        return
    ((begin, end),) = plan.ranges
    assert content.data[begin : begin + 1] == wanted[:1]
    assert content.data[end - 1 : end] == wanted[-1:]
    assert len(wanted) <= end - begin <= len(body)
    assert read(chunks, start, length) == wanted
    fetched = {place for one, other in content.reads for place in range(one, other)}
    assert fetched <= set(range(begin, end)), "no data outside of the plan are read"


@pytest.mark.parametrize("forward", [False, True])
def test_reads_of_no_bytes_cost_no_io(forward: bool) -> None:
    chunks, content = mapped(b"5\r\nhello\r\n0\r\n\r\n", forward=forward)
    assert read(chunks, 0, 0) == read(chunks, 3, 0) == b""
    assert read(chunks, 10**15, 100) == b""
    assert (content.reads, content.looks) == ([], [])


def test_a_problem_is_known_once_the_end_was_reached() -> None:
    chunks, _ = mapped(b"5\r\nhello\r\n5\r\nagain")
    assert chunks.problem is None
    assert read(chunks, 0, 3) == b"hel"
    assert chunks.problem is None
    assert read(chunks, 0, 100) == b"helloagain"
    assert chunks.problem == PROBLEMS["missing"]
    assert mapped(b"")[0].problem is None


@pytest.mark.parametrize("options", [{}, {"verify": True}, {"verify": False}])
def test_whether_to_verify_is_passed_on(options: dict[str, bool]) -> None:
    told = []

    class Content(MemoryBody):
        def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
            told.append(verify)

    body = b"ffff\r\n" + bytes(0xFFFF) + b"\r\n0\r\n\r\n"
    ChunkedExtent(Content(body), 0, len(body)).pread_into(0, bytearray(0xFFFF), **options)
    assert told == [options.get("verify", True)]


# The map.


def entries(chunks: ChunkedExtent) -> int:
    assert len(chunks._positions) == len(chunks._starts) == len(chunks._sizes)
    assert list(chunks._starts) == sorted(chunks._starts)
    assert list(chunks._positions) == sorted(chunks._positions)
    return len(chunks._starts)


@pytest.mark.slow
@pytest.mark.parametrize("frame", [0, 64 * KIB])
@pytest.mark.parametrize(
    ("chunk", "line"), [(1, "{:x}\r\n"), (3, "{:x}\n"), (60, "{:x}\r\n"), (100, "{:x};a=b\r\n")]
)
def test_the_map_of_very_small_chunks_is_small_and_of_use(chunk: int, line: str, frame: int) -> None:
    data = noise(25_000 * min(chunk, 20))
    body = chunked(data, itertools.repeat(chunk), line)
    chunks, content = mapped(body, tuple(range(frame, len(body), frame)) if frame else ())
    # What is made once in a process, such as patterns, is not counted.
    assert mapped(chunked(b"x", itertools.repeat(chunk), line))[0].size == 1
    tracemalloc.start()
    try:
        assert chunks.size == len(data)
        content.looks.clear()
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert entries(chunks) <= len(body) // MIN_DISTANCE + 1
    assert kept < len(body) // 100 + 8 * KIB
    assert peak < 4 * WINDOW + len(body) // 20
    for start in (len(data) // 3, len(data) // 2 + 1, len(data) - 10, 5):
        content.looks.clear()
        assert read(chunks, start, 10) == data[start : start + 10]
        scanned = sum(stop - start for start, stop in content.looks)
        assert scanned <= 2 * WINDOW, "from the nearest chunk that is known, not from the first"


@pytest.mark.slow
def test_a_million_chunks_of_a_byte() -> None:
    count = 1_000_000
    body = b"1\r\nx\r\n" * count + b"0\r\n\r\n"
    chunks, content = mapped(body, tuple(range(MIB, len(body), MIB)))
    assert chunks.size == count
    assert 10 <= entries(chunks) <= len(body) // MIN_DISTANCE + 1
    content.looks.clear()
    assert read(chunks, count - 5, 100) == b"xxxxx"
    assert sum(stop - start for start, stop in content.looks) <= 2 * WINDOW


@settings(max_examples=rounds(30))
@given(st.integers(1, 300), st.integers(1, 20_000), st.integers(100, 70_000), st.integers(0, 1000))
def test_the_map_never_grows_beyond_its_share(low: int, more: int, frame: int, seed: int) -> None:
    data = noise(100_000)
    body = chunked(data, random_sizes(low, low + more, seed))
    chunks, content = mapped(body, tuple(range(frame, len(body), frame)))
    chance = random.Random(seed)
    for _ in range(5):
        start = chance.randrange(len(data))
        assert read(chunks, start, 50) == data[start : start + 50]
    assert chunks.size == len(data)
    before = entries(chunks)
    assert before <= len(body) // MIN_DISTANCE + 1
    content.looks.clear()
    assert chunks.size == len(data)
    assert content.looks == [], "all chunks are scanned once"
    for start in range(0, len(data), 10_000):
        assert read(chunks, start, 50) == data[start : start + 50]
    assert entries(chunks) <= len(body) // MIN_DISTANCE + 1


def test_many_threads_share_a_map() -> None:
    data = text(2 * MIB)
    body = chunked(data, random_sizes(1, 3000))
    for round_ in range(4):
        chunks, _ = mapped(body, tuple(range(50_000, len(body), 50_000)))
        barrier = threading.Barrier(12)

        def work(seed: int, chunks: ChunkedExtent = chunks, barrier: threading.Barrier = barrier) -> None:
            chance = random.Random(seed)
            barrier.wait()
            for _ in range(30):
                start = chance.randrange(len(data))
                length = chance.choice([1, 100, 5000, 100_000])
                assert read(chunks, start, length) == data[start : start + length]
                if chance.random() < 0.05:
                    assert chunks.size == len(data)

        with ThreadPoolExecutor(12) as pool:
            for done in [pool.submit(work, 100 * round_ + seed) for seed in range(12)]:
                done.result()
        assert entries(chunks) <= len(body) // MIN_DISTANCE + 1


# In files of every form.


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "small frames, table": lambda body: made(body, cuts=300, table=True).bytes(),
    "small frames": lambda body: made(body, cuts=77).bytes(),
    "large frames, table": lambda body: made(body, cuts=50_000, table=True).bytes(),
    "one frame": lambda body: made(body).bytes(),
    "one frame of unknown size": lambda body: made(body, content_size=False).bytes(),
    "frames of unknown size": lambda body: made(body, cuts=500, content_size=False).bytes(),
    "gzip": lambda body: made(body).gzip().bytes(),
    "plain": lambda body: made(body).plain().bytes(),
}

SOME_BODIES = [
    chunked(text(100_000), random_sizes(1, 20_000)),
    chunked(text(9_000), random_sizes(1, 30)),
    chunked(text(60_000), random_sizes(1, 9000), "{:05X} ; name=value\n"),
    chunked(text(50_000), random_sizes(1, 5000))[:-2000],
    chunked(text(20_000), random_sizes(1, 5000)).replace(b"\r\n0\r\n", b"0\r\n"),
    text(50_000),
    *ODD,
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", FORMS)
def test_ranges_in_any_order_in_any_form(form: str) -> None:
    for number, body in enumerate(SOME_BODIES):
        data = reference(body).data
        chance = random.Random(number)
        with seekwarc.open(FORMS[form](body)) as archive:
            payload = list(archive)[1].payload
            for _ in range(6):
                start = chance.randint(0, len(data) + 3)
                length = chance.choice([0, 1, 50, len(data)])
                assert payload.pread(start, length) == data[start : start + length]
                assert payload.pread(start, length, verify=False) == data[start : start + length]
            assert payload.size == len(data)
            assert payload.read() == data
            assert payload.problem in expected_problem(body)


@settings(max_examples=rounds(60))
@given(bodies(), st.sampled_from(sorted(FORMS)), reads)
def test_any_body_in_any_form(body: bytes, form: str, wanted: list[tuple[int, int]]) -> None:
    data = reference(body).data
    with seekwarc.open(FORMS[form](body)) as archive:
        record = next(itertools.islice(archive, 1, None))
        assert record.block.read() == HTTP + body
        for start, length in wanted:
            assert record.payload.pread(start, length) == data[start : start + length]
        with record.payload.open() as file:
            assert file.read() == data
            assert file.seek(0, io.SEEK_END) == len(data)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pipe", [True, False])
def test_bodies_read_as_they_come(form: str, pipe: bool) -> None:
    for number, body in enumerate(SOME_BODIES):
        data = reference(body).data
        stored = FORMS[form](body)
        with seekwarc.open(Pipe(stored) if pipe else stored) as archive:
            seen = []
            for record in archive.in_order():
                seen.append(in_pieces(record.payload, random_sizes(1, 9000, number)))
                expected = expected_problem(body) if len(seen) == 2 else [None]
                assert record.payload.problem in expected
            assert seen == [b"before", data, b"after"]


def test_a_body_that_is_not_read_is_passed() -> None:
    body = SOME_BODIES[0]
    for form in FORMS.values():
        with seekwarc.open(Pipe(form(body))) as archive:
            seen = [record.payload.pread(0, 10) for record in archive]
        assert seen == [b"before", text(100_000)[:10], b"after"]


@pytest.mark.parametrize("form", FORMS)
def test_the_size_is_found_without_going_back(form: str) -> None:
    body = chunked(text(60_000), random_sizes(1, 200))
    with seekwarc.open(Pipe(FORMS[form](body))) as archive:
        records = archive.in_order()
        records.step()
        record = records.step()
        assert record is not None
        assert record.payload.pread(0, 33_333) == text(60_000)[:33_333]
        assert record.payload.size == 60_000
        following = records.step()
        assert following is not None
        assert following.block.read() == b"after"


def test_an_extent_says_what_is_wrong() -> None:
    for body in ODD:
        with seekwarc.open(made(body).bytes()) as archive:
            payload = list(archive)[1].payload
            assert payload.problem is None
            assert payload.deviation is None
            payload.read()
            assert payload.size == len(reference(body).data)
            assert payload.problem in expected_problem(body)
            assert payload.deviation == expected_deviation(body)


def test_a_payload_is_one_extent_however_often_it_is_asked_for() -> None:
    with seekwarc.open(made(SOME_BODIES[0], cuts=5000).bytes()) as archive:
        record = list(archive)[1]
        assert record.payload is record.payload


def test_what_is_no_range_is_refused() -> None:
    with seekwarc.open(made(SOME_BODIES[0]).bytes()) as archive:
        payload = list(archive)[1].payload
        for start, length in [(-1, 5), (0, -1)]:
            with pytest.raises(RangeError):
                payload.pread(start, length)
            with pytest.raises(RangeError):
                payload.plan(start, start + length)


def test_damage_is_named_and_the_bytes_before_it_come() -> None:
    data = text(400_000)
    file = made(chunked(data, random_sizes(1, 9000)), cuts=20_000, table=True)
    put = file.records[1]
    stored = bytearray(file.bytes())
    stored[put.offset + put.length * 2 // 3] ^= 1
    with seekwarc.open(bytes(stored)) as archive:
        payload = archive.record_at(put.offset, put.length).payload
        assert payload.pread(0, 100_000) == data[:100_000]
        for _ in range(2):
            with pytest.raises(ChecksumError, match=r"^<bytes>, offset \d+: frame \d+"):
                payload.read()
        assert payload.pread(50_000, 100_000) == data[50_000:150_000]
        buffer = bytearray(300_000)
        with pytest.raises(ChecksumError):
            payload.pread_into(100_000, buffer)
        buffer.append(0)  # The error keeps no hold of it.


@pytest.mark.parametrize("form", ["gzip", "plain", "bytes"])
def test_a_file_that_ends_inside_the_body_gives_what_is_there(form: str) -> None:
    data = noise(100_000)
    file = Foreign().record(HTTP + chunked(data, itertools.repeat(1000)), header=response(101_000), cuts=2000)
    stored = file.bytes() if form == "bytes" else getattr(file, form)().bytes()
    with seekwarc.open(stored[: len(stored) // 2]) as archive:
        records = iter(archive.in_order())
        payload = next(records).payload
        assert payload.pread(0, 40_000) == data[:40_000]
        with pytest.raises(SeekWarcError, match="ends inside"):
            payload.pread(40_000, 40_000)


# What it costs.


def cost(archive: seekwarc.Reader) -> tuple[int, int, int]:
    stats = archive.stats
    return stats.requests, stats.bytes_fetched, stats.bytes_decoded


@pytest.mark.parametrize("sizes", [(1, 50), (500, 9000), (100_000, 200_000)])
@pytest.mark.parametrize("by", ["read", "pieces", "wrapped"])
@pytest.mark.parametrize("pipe", [True, False])
@pytest.mark.parametrize("form", ["gzip", "one frame of unknown size"])
def test_a_stream_is_decompressed_once(form: str, pipe: bool, by: str, sizes: tuple[int, int]) -> None:
    data = text(400_000 if sizes[1] > 50 else 40_000)
    body = chunked(data, random_sizes(*sizes))
    stored = FORMS[form](body)
    everything = sum(len(put.header + put.block) + 4 for put in made(body).records)
    with seekwarc.open(Pipe(stored) if pipe else stored) as archive:
        found = []
        for record in archive:
            payload = record.payload
            if by == "read":
                found.append(payload.read())
            elif by == "pieces":
                found.append(in_pieces(payload, itertools.repeat(1234)))
            else:
                with io.BufferedReader(payload.open(), 3000) as file:
                    found.append(b"".join(file))
        assert found[1] == data
        # The header of the small record behind may be looked at twice.
        assert archive.stats.bytes_decoded <= everything + 1000


@pytest.mark.slow
def test_a_frame_too_large_to_seek_in_is_decompressed_once() -> None:
    data = text(4 * MIB) * 9
    block = HTTP + chunked(data, random_sizes(8 * KIB, 64 * KIB))
    stored = zstd_frame(response(len(block)) + block + b"\r\n\r\n")
    with seekwarc.open(stored) as archive:
        record = next(iter(archive))
        assert record.seek_table_status == "stream"
        before = archive.stats.bytes_decoded
        position = 0
        with record.payload.open() as file:
            while piece := file.read(300_000):
                assert piece == data[position : position + len(piece)]
                position += len(piece)
        assert position == len(data)
        assert archive.stats.bytes_decoded - before <= len(block) + 64 * KIB
        # Going back begins anew, and goes no further than is needed.
        before = archive.stats.bytes_decoded
        assert record.payload.pread(MIB, 100) == data[MIB : MIB + 100]
        assert archive.stats.bytes_decoded - before <= 2 * MIB


@pytest.mark.parametrize("cache_size", [32 << 20, 300_000])
@pytest.mark.parametrize("sizes", [(1, 40), (1, 5000), (8 * KIB, 64 * KIB), (300_000, 400_000)])
def test_reading_all_of_a_framed_body_decodes_each_frame_once(
    sizes: tuple[int, int], cache_size: int
) -> None:
    data = text(1_000_000 if sizes[1] > 40 else 200_000)
    file = made(chunked(data, random_sizes(*sizes)), cuts=100_000, table=True)
    put = file.records[1]
    size = len(put.header + put.block) + 4
    at_hand = 2 * 64 * KIB  # Bytes read along with the header and with the table.
    for step in (10_000, 10_000_000):
        with seekwarc.open(file.bytes(), cache_size=cache_size) as archive:
            payload = archive.record_at(put.offset, put.length).payload
            assert in_pieces(payload, itertools.repeat(step)) == data
            # A long first chunk is read once more, to see whether another one follows.
            again = sizes[1] if sizes[1] > WINDOW else 0
            assert archive.stats.bytes_decoded <= size + 100_000 + again
            assert archive.stats.bytes_fetched <= put.length + at_hand + 30_000 + again


def test_the_first_read_goes_no_further_than_it_has_to() -> None:
    data = noise(4 * MIB)
    file = made(chunked(data, random_sizes(1000, 9000)), cuts=100_000, table=True)
    put = file.records[1]
    with seekwarc.open(file.bytes()) as archive:
        payload = archive.record_at(put.offset, put.length).payload
        assert payload.pread(MIB, 1000) == data[MIB : MIB + 1000]
        assert archive.stats.bytes_decoded <= MIB + 400_000


@pytest.mark.parametrize(
    "sizes", [(20, 300), (60, 60), (1000, 9000), (8 * KIB, 64 * KIB), (200_000, 300_000)]
)
def test_a_second_read_costs_the_frames_that_it_needs(sizes: tuple[int, int]) -> None:
    data = noise(3 * MIB)
    frame = 100_000
    file = made(chunked(data, random_sizes(*sizes)), cuts=frame, table=True)
    put = file.records[1]
    chance = random.Random(1)
    dearer = 0
    with seekwarc.open(file.bytes(), cache_size=0) as archive:
        payload = archive.record_at(put.offset, put.length).payload
        assert payload.pread(len(data) - 10, 10) == data[-10:]
        for _ in range(100):
            start = chance.randrange(len(data) - 10)
            length = chance.choice([1, 1000])
            before = cost(archive)
            assert payload.pread(start, length) == data[start : start + length]
            _, fetched, decoded = (now - then for now, then in zip(cost(archive), before, strict=True))
            plan = payload.plan(start, start + length)
            assert 1 <= plan.frames <= 2
            if decoded > plan.bytes_decoded or fetched > plan.bytes_fetched:
                # Right behind the edge of a frame: the chunk's size may stand in front of it.
                dearer += 1
                assert decoded <= plan.bytes_decoded + 2 * frame
    assert dearer <= 5


def test_a_plan_of_chunks_that_are_known_reads_the_frame_that_their_sizes_are_in_at_the_most() -> None:
    data = noise(3 * MIB)
    file = made(chunked(data, random_sizes(1000, 9000)), cuts=100_000, table=True)
    put = file.records[1]
    with seekwarc.open(file.bytes()) as archive:
        payload = archive.record_at(put.offset, put.length).payload
        assert payload.size == len(data)
        before = cost(archive)
        plan = payload.plan(MIB, 2 * MIB)
        # All frames are in the cache: their chunks have been looked through.
        assert cost(archive) == before
        assert MIB <= plan.bytes_decoded <= MIB + 300_000
        assert plan.bytes_fetched <= MIB + 310_000


@pytest.mark.parametrize("size", [60, 1000, 5000])
def test_a_second_read_of_a_plain_file_takes_few_requests(size: int) -> None:
    data = noise(500_000)
    file = made(chunked(data, itertools.repeat(size))).plain()
    source = RecordingSource(file.bytes())
    with seekwarc.open(source) as archive:
        payload = archive.record_at(file.records[1].offset).payload
        assert payload.size == len(data)
        for start in (400_000, 100_000, 250_000):
            source.forget()
            assert payload.pread(start, 10) == data[start : start + 10]
            assert len(source.requests) <= 4
            assert source.bytes_asked <= 16 * KIB


# Large bodies.


class ChunkedStream:
    """An HTTP response of any size with chunks of 8 to 64 KiB, made while it is read."""

    def __init__(self, size: int) -> None:
        self.pages = Repeated(pages(MIB), size)
        self.size = size
        self._pieces = self._made()
        self._rest = b""

    def _made(self) -> Iterator[bytes]:
        yield HTTP
        sizes = random_sizes(8 * KIB, 64 * KIB)
        while part := self.pages.read(next(sizes)):
            yield b"%x\r\n" % len(part) + part + b"\r\n"
        yield b"0\r\n\r\n"

    def read(self, size: int = -1) -> bytes:
        assert size >= 0
        while len(self._rest) < size and (piece := next(self._pieces, b"")):
            self._rest += piece
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


@pytest.mark.slow
def test_a_chunked_body_of_200_mebibytes_is_read_by_range(tmp_path: Path) -> None:
    path = tmp_path / "large.warc.zst"
    stream = ChunkedStream(200 * MIB)
    with seekwarc.open(path, "w", level=1) as writer:
        writer.write("resource", target_uri=URI, content_type="text/plain", block=b"small")
        place = writer.write("response", target_uri=URI, content_type=RESPONSE, block=stream)
        writer.write("resource", target_uri=URI, content_type="text/plain", block=b"small")
    content, size = stream.pages.content, stream.size

    tracemalloc.start()
    try:
        with seekwarc.open(path, cache_size=4 * MIB) as archive:
            payload = archive.record_at(place.offset, place.length).payload
            assert payload.pread(size - 5000, 1000) == content(size - 5000, size - 4000)
            # Each frame once, for the sizes of its chunks.
            requests, fetched, decoded = cost(archive)
            assert decoded <= size + 8 * MIB
            assert fetched <= place.length + MIB
            assert requests <= size // MIB + 16

            chance = random.Random(2)
            for start in [chance.randrange(size - 10_000) for _ in range(30)]:
                before = cost(archive)
                assert payload.pread(start, 10_000) == content(start, start + 10_000)
                requests, fetched, decoded = (
                    now - then for now, then in zip(cost(archive), before, strict=True)
                )
                plan = payload.plan(start, start + 10_000)
                assert plan.frames in (1, 2)
                assert requests <= plan.frames
                assert fetched <= plan.bytes_fetched
                assert decoded <= plan.bytes_decoded
            assert payload.size == size
            assert payload.problem is None
            assert payload.pread(size - 3, 10) == content(size - 3, size)
        assert tracemalloc.get_traced_memory()[1] < 24 * MIB
    finally:
        tracemalloc.stop()


# Not waiting for the size.


def test_a_body_is_scanned_in_turns() -> None:
    data = text(400_000)
    body = chunked(data, random_sizes(1, 90))
    chunks, content = mapped(body, tuple(range(30_000, len(body), 30_000)))
    turns = 0
    while not chunks.look_ahead(1 << 62, 0):
        turns += 1
        assert chunks.known_size is None
        assert turns < 100
    assert turns >= 5, "each turn is short"
    assert chunks.known_size == chunks.size == len(data)
    scanned = sum(stop - start for start, stop in content.looks)
    assert scanned < 2 * len(body), "and goes on where the last one ended"


def test_looking_ahead_goes_no_further_than_it_has_to() -> None:
    data = text(1_000_000)
    chunks, content = mapped(chunked(data, random_sizes(1, 900)))
    assert chunks.look_ahead(300_000)
    assert chunks.known_size is None
    assert max(stop for _, stop in content.looks) < 300_000 * 1.1 + 3 * WINDOW
    assert not chunks.look_ahead(1 << 62, 0)
    assert read(chunks, 900_000, 10) == data[900_000:900_010]


@pytest.mark.parametrize("body", ODD)
def test_looking_ahead_at_odd_bodies_finds_their_size(body: bytes) -> None:
    chunks, _ = mapped(body)
    while not chunks.look_ahead(1 << 62, 0):
        pass
    assert chunks.known_size == len(reference(body).data)


def test_chunks_of_a_few_bytes_cost_less_than_a_call_each() -> None:
    sizes = random.Random(3)
    part = b"".join(b"%x\r\n%s\r\n" % (size, b"x" * size) for size in sizes.choices(range(1, 16), k=4000))
    body = part * 50 + b"0\r\n\r\n"
    chunks, _ = mapped(body)
    with at_most_calls(50 * 4000):
        assert chunks.size == len(body) - 50 * 4000 * 5 - 5
