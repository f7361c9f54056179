"""What reads cost, counted in requests and bytes, not timed (spec-notes: "Cost is counted")."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import seekwarc
from tests.support.foreign import Foreign
from tests.support.sources import RemoteFake
from tests.support.writing import (
    DATE,
    HTTP_HEAD,
    KIB,
    MIB,
    RESPONSE,
    URI,
    CountedSource,
    Repeated,
    frame_end,
    noise,
    small_dictionary,
    text,
)

MAX_HEAD = 64 * KIB
MAX_TABLE = 256 * KIB
GIB = 1 << 30


@dataclass(frozen=True)
class Sample:
    """A file whose middle record is large."""

    stored: bytes
    place: seekwarc.Written
    payload: Any
    """Tells the payload's bytes [start, stop)."""
    size: int
    head: int
    """Length of the HTTP head."""


class Headed:
    """A stream with an HTTP head in front."""

    def __init__(self, stream: Any) -> None:
        self._head = io.BytesIO(HTTP_HEAD)
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        return self._head.read(size) or self._stream.read(size)


def sample(
    page: bytes, size: int, *, http: bool = False, first: bool = False, last: bool = False, **options: Any
) -> Sample:
    target = io.BytesIO()
    stream = Repeated(page, size)
    small = {"type": "resource", "target_uri": URI, "block": b"small", "date": DATE}
    with seekwarc.Writer(target, digest=None, level=1, **options) as writer:
        if not first:
            writer.write(**small)
        place = writer.write(
            "response",
            target_uri=URI,
            block=Headed(stream) if http else stream,
            length=size + http * len(HTTP_HEAD),
            content_type=RESPONSE if http else "video/mp4",
        )
        if not last:
            writer.write(**small)
    return Sample(target.getvalue(), place, stream.content, size, http * len(HTTP_HEAD))


@pytest.fixture(scope="module")
def gigabyte() -> Sample:
    """1 GiB of markup behind an HTTP head."""
    return sample(text(MIB), GIB, http=True)


@pytest.fixture(scope="module")
def video() -> Sample:
    """48 MiB that do not compress, in frames of 128 KiB."""
    return sample(noise(4 * MIB + 7), 48 * MIB)


@pytest.fixture(params=[pytest.param("gigabyte", marks=pytest.mark.slow), "video"])
def large(request: pytest.FixtureRequest) -> Sample:
    return request.getfixturevalue(request.param)


@contextlib.contextmanager
def opened(
    one: Sample, *, by_length: bool = True
) -> Iterator[tuple[CountedSource, seekwarc.Reader, seekwarc.Record]]:
    """The large record, opened by its offset and, if asked, its length."""
    source = CountedSource.of(one.stored)
    with seekwarc.Reader(source) as archive:
        yield source, archive, archive.record_at(one.place.offset, one.place.length if by_length else None)


def spans(reads: list[tuple[int, int]]) -> list[int]:
    return [stop - start for start, stop in reads]


def test_a_first_read_by_offset_and_length_takes_three_requests(large: Sample) -> None:
    with opened(large) as (source, _, record):
        start = large.size // 2
        assert record.payload.pread(start, KIB) == large.payload(start, start + KIB)
        assert len(source.reads) <= 3
        head, table, frames = source.reads
        assert spans([head])[0] <= MAX_HEAD
        assert head[0] == large.place.offset
        assert table[1] == large.place.offset + large.place.length
        assert spans([table])[0] <= MAX_TABLE
        assert frames[1] == frame_end(large.stored, frames[0]), "exactly the one frame that is needed"
        print(f"{large.size} bytes: reads of {spans(source.reads)} bytes")


def test_the_next_read_takes_one_request(large: Sample) -> None:
    with opened(large) as (source, _, record):
        record.payload.pread(large.size // 2, KIB)
        for start in (100, large.size // 3, large.size - KIB, large.size // 3 + 2 * MIB):
            source.reads.clear()
            assert record.payload.pread(start, KIB) == large.payload(start, start + KIB)
            assert len(source.reads) <= 1
            assert sum(spans(source.reads)) <= 2 * MIB


def test_a_read_within_the_frame_read_last_takes_no_request(large: Sample) -> None:
    with opened(large) as (source, _, record):
        record.payload.pread(10 * MIB, KIB)
        source.reads.clear()
        assert record.payload.pread(10 * MIB + 5 * KIB, KIB) == large.payload(
            10 * MIB + 5 * KIB, 10 * MIB + 6 * KIB
        )
        assert source.reads == []


@pytest.mark.parametrize(
    ("offset", "length"), [(0, 1), (5 * MIB - 10, 20), (7 * MIB, MIB), (3 * MIB + 1, 5 * MIB)]
)
def test_the_plan_tells_what_a_read_will_cost(large: Sample, offset: int, length: int) -> None:
    with opened(large) as (source, archive, record):
        assert record.payload.size == large.size
        record.seek_table_status  # noqa: B018
        before = len(source.reads)
        plan = record.payload.plan(offset, offset + length)
        assert len(source.reads) == before, "a plan reads nothing once the table is there"
        decoded, fetched = archive.stats.bytes_decoded, archive.stats.bytes_fetched
        assert record.payload.pread(offset, length) == large.payload(offset, offset + length)
        done = source.reads[before:]
        # What lies in the bytes fetched with the head need not be read again.
        at_hand = plan.ranges[0][1] <= source.reads[0][1]
        assert done == ([] if at_hand else list(plan.ranges))
        assert archive.stats.bytes_decoded - decoded == plan.bytes_decoded
        assert archive.stats.bytes_fetched - fetched == (0 if at_hand else plan.bytes_fetched)


def test_the_plan_of_a_long_read_covers_consecutive_requests(large: Sample) -> None:
    with opened(large) as (source, _, record):
        start, stop = 10 * MIB, 40 * MIB
        plan = record.payload.plan(start, stop)
        before = len(source.reads)
        data = record.payload.pread(start, stop - start)
        assert data == large.payload(start, stop)
        done = source.reads[before:]
        assert (done[0][0], done[-1][1]) == (plan.ranges[0][0], plan.ranges[-1][1])
        assert all(one[1] == two[0] for one, two in itertools.pairwise(done))
        assert sum(spans(done)) == plan.bytes_fetched
        assert max(spans(done)) <= 16 * MIB


def test_a_plan_of_one_kibibyte_names_one_frame(large: Sample) -> None:
    with opened(large) as (_, _, record):
        plan = record.payload.plan(10 * MIB + 1, 10 * MIB + 1 + KIB)
        assert plan.frames == 1
        assert plan.bytes_decoded in (MIB, 128 * KIB)
        assert record.payload.plan(5, 5).ranges == ()


def test_without_a_length_the_file_table_costs_no_more_requests(large: Sample) -> None:
    with opened(large, by_length=False) as (source, _, record):
        start = large.size // 2
        assert record.payload.pread(start, KIB) == large.payload(start, start + KIB)
        assert record.seek_table_status == "file"
        # Head, file table, a look at the record's last frame to see that the table is right, frame.
        assert len(source.reads) <= 4
        assert sum(spans(source.reads)) <= MAX_HEAD + MAX_TABLE + MAX_HEAD + MIB


@pytest.mark.one_in(3)
@pytest.mark.parametrize("page", [text(MIB), noise(MIB)], ids=["text", "noise"])
@pytest.mark.parametrize("http", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_a_large_record_that_is_the_first_takes_no_more(page: bytes, http: bool, last: bool) -> None:
    """Its header shares a frame with the beginning of the block."""
    one = sample(page, 40 * MIB, http=http, first=True, last=last)
    with opened(one) as (source, _, record):
        assert record.payload.pread(20 * MIB, KIB) == one.payload(20 * MIB, 20 * MIB + KIB)
        print(f"reads of {spans(source.reads)} bytes")
        assert len(source.reads) <= 3
        assert spans(source.reads)[0] <= MAX_HEAD


@pytest.mark.slow
@pytest.mark.parametrize("frame_size", [64 * KIB, 8 * MIB])
@pytest.mark.parametrize("page", [text(MIB), noise(MIB)], ids=["text", "noise"])
def test_other_frame_sizes_take_no_more(page: bytes, frame_size: int) -> None:
    one = sample(page, 100 * MIB, frame_size=frame_size)
    with opened(one) as (source, _, record):
        assert record.payload.pread(50 * MIB, KIB) == one.payload(50 * MIB, 50 * MIB + KIB)
        assert len(source.reads) <= 3


@pytest.mark.slow
def test_a_long_table_over_little_data_takes_no_more() -> None:
    """Zeros in the smallest frames: the table is a third of the record."""
    one = sample(bytes(MIB), GIB, frame_size=64 * KIB)
    with opened(one) as (source, _, record):
        start = GIB // 2
        assert record.payload.pread(start, KIB) == one.payload(start, start + KIB)
        print(f"{one.place.length} bytes stored: reads of {spans(source.reads)} bytes")
        assert len(source.reads) <= 3


def test_with_a_dictionary_the_head_of_the_file_is_read_once_more() -> None:
    one = sample(text(MIB), 40 * MIB, dictionary=small_dictionary())
    with opened(one) as (source, _, record):
        for start in (20 * MIB, 10 * MIB):
            assert record.payload.pread(start, KIB) == one.payload(start, start + KIB)
        # Head, dictionary, table, and a frame for each read.
        assert len(source.reads) <= 5


def test_a_small_record_by_offset_and_length_takes_one_request() -> None:
    one = sample(text(MIB), 10 * MIB)
    source = CountedSource.of(one.stored)
    with seekwarc.open(source) as archive:
        record = archive.record_at(0, one.place.offset)
        assert record.block.read() == b"small"
    assert len(source.reads) == 1


@pytest.mark.parametrize("block", [noise(20 * KIB), text(200 * KIB)], ids=["noise", "text"])
def test_a_record_of_one_frame_takes_one_request_whatever_it_unpacks_to(block: bytes) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, level=1) as writer:
        places = [writer.write("resource", target_uri=URI, block=block) for _ in range(5)]
    source = CountedSource.of(target.getvalue())
    with seekwarc.open(source) as archive:
        for place in places:
            source.reads.clear()
            assert archive.record_at(place.offset, place.length).block.read() == block
            assert len(source.reads) == 1


def test_iterating_skips_a_large_block_without_decompressing_it(large: Sample) -> None:
    source = CountedSource.of(large.stored)
    with seekwarc.open(source) as archive:
        records = list(archive)
        assert len(records) == 3
        assert records[1].content_length == large.size + large.head
        assert archive.stats.bytes_decoded < 4 * KIB
        assert archive.stats.bytes_fetched < 400 * KIB
        # Only the few bytes in front of each block: no table is believed about what records there are.
        assert archive.stats.requests <= (large.size >> 17) + 20
        print(f"iterating: {archive.stats}")


def test_iterating_far_away_takes_large_records_by_their_tables(large: Sample) -> None:
    with seekwarc.open(RemoteFake(large.stored)) as archive:
        assert len(list(archive)) == 3
        assert archive.stats.bytes_decoded < 4 * KIB
        assert archive.stats.bytes_fetched < 400 * KIB
        assert archive.stats.requests <= 10


def test_iterating_a_file_without_tables_decompresses_no_large_block_either() -> None:
    one = sample(text(MIB), 100 * MIB, tables="none")
    with seekwarc.open(one.stored) as archive:
        assert len(list(archive)) == 3
        assert archive.stats.bytes_decoded < 4 * KIB


def test_reading_everything_fetches_everything_once(large: Sample) -> None:
    with opened(large) as (source, _, record):
        position = 0
        with record.payload.open() as file:
            while data := file.read(32 * MIB):
                assert data == large.payload(position, position + len(data))
                position += len(data)
        assert position == large.size
        assert sum(spans(source.reads)) <= len(large.stored) + MAX_HEAD + MAX_TABLE + 96 * MIB // 32


# Far away: requests that are under way together are one round trip.


@contextlib.contextmanager
def far(stored: bytes, **options: Any) -> Iterator[tuple[RemoteFake, seekwarc.Reader]]:
    # Long enough that a busy machine starts all threads of a round meanwhile.
    source = RemoteFake(stored, latency=0.1)
    with seekwarc.Reader(source, **options) as archive:
        yield source, archive


FAR = {
    "text": lambda: sample(text(MIB), 20 * MIB, http=True),
    "noise": lambda: sample(noise(MIB), 20 * MIB),
    "dictionary": lambda: sample(text(MIB), 20 * MIB, dictionary=small_dictionary()),
    "first": lambda: sample(text(MIB), 20 * MIB, http=True, first=True),
    "last": lambda: sample(text(MIB), 20 * MIB, last=True),
    "every": lambda: sample(text(MIB), 20 * MIB, tables="every"),
}


@pytest.mark.parametrize("made", FAR.values(), ids=FAR)
def test_far_away_a_cold_read_takes_four_requests_in_two_round_trips(made: Callable[[], Sample]) -> None:
    one = made()
    with far(one.stored) as (source, archive):
        payload = archive.record_at(one.place.offset, one.place.length).payload
        opening = len(source.requests)
        assert source.at_once == opening, "all at once"
        start = 10 * MIB
        assert payload.pread(start, KIB) == one.payload(start, start + KIB)
        assert archive.stats.requests == len(source.requests) == opening + 1 <= 4
        # The next reads: one each.
        for start in (one.size // 3, one.size - KIB, 5):
            source.forget()
            assert payload.pread(start, KIB) == one.payload(start, start + KIB)
            assert len(source.requests) <= 1


def test_far_away_the_head_of_the_file_is_read_once() -> None:
    one = sample(text(MIB), 20 * MIB, dictionary=small_dictionary())
    with far(one.stored) as (source, archive):
        for number in range(3):
            source.forget()
            archive.record_at(one.place.offset, one.place.length).payload.pread(10 * MIB + number * MIB, KIB)
            assert (0 in [start for start, _ in source.requests]) == (number == 0)


def test_far_away_the_table_of_the_file_is_read_with_the_heads() -> None:
    one = sample(noise(MIB), 20 * MIB)
    with far(one.stored) as (source, archive):
        record = archive.record_at(one.place.offset)
        assert source.at_once == len(source.requests) == 2
        assert record.payload.pread(10 * MIB, KIB) == one.payload(10 * MIB, 10 * MIB + KIB)
        assert record.seek_table_status == "file"
        assert len(source.requests) <= 4


@pytest.mark.parametrize("links", [1, 3])
def test_far_away_listing_fetches_tables_and_heads(links: int) -> None:
    """Files joined by plain concatenation leave a chain of tables."""
    one = sample(noise(MIB), 20 * MIB)
    with far(one.stored * links) as (source, archive):
        records = list(archive)
        assert len(records) == 3 * links
        assert archive.stats.bytes_fetched < links * 400 * KIB + 128 * KIB
        source.forget()
        assert records[1].payload.pread(MIB, KIB) == one.payload(MIB, MIB + KIB)
        assert len(source.requests) <= 2


def test_far_away_a_length_that_lies_costs_more_but_changes_nothing() -> None:
    one = sample(noise(MIB), 20 * MIB)
    for length in (1, 100, one.place.length - 1, one.place.length + 1, 1 << 60):
        with far(one.stored) as (_, archive):
            payload = archive.record_at(one.place.offset, length).payload
            assert payload.pread(10 * MIB, KIB) == one.payload(10 * MIB, 10 * MIB + KIB)


def test_far_away_other_kinds_of_files_are_read() -> None:
    made = Foreign().record(noise(50_000)).record(noise(70_000))
    for file in (made.plain(), made.gzip(), made):
        with far(file.bytes()) as (_, archive):
            assert [record.block.read() for record in archive] == [put.block for put in made.records]
        with far(file.bytes()) as (_, archive):
            put = file.records[1]
            assert archive.record_at(put.offset, put.length).block.read() == put.block
        with far(file.bytes()) as (_, archive):
            assert len(list(archive.in_order())) == 2


@pytest.mark.parametrize("data", [b"", b"\x28\xb5\x2f\xfd", b"no archive"])
def test_far_away_what_is_no_archive_is_told(data: bytes) -> None:
    with far(data) as (_, archive), pytest.raises(seekwarc.FormatError):
        list(archive)
    with far(data) as (_, archive), pytest.raises(seekwarc.FormatError):
        archive.record_at(1000, 500)


# Without compression.


@pytest.mark.parametrize("size", [100, 8000, 40_000])
def test_chunks_of_a_plain_file_are_read_many_at_a_time(size: int) -> None:
    body = noise(3 * MIB)
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
    block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked
    header = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: {DATE}\r\n"
    header += f"Content-Type: {RESPONSE}\r\nContent-Length: {len(block)}\r\n\r\n"
    stored = header.encode() + block + b"\r\n\r\n"
    source = CountedSource.of(stored)
    with seekwarc.open(source) as archive:
        payload = archive.record_at(0).payload
        assert payload.pread(0, len(body)) == body
        assert len(source.reads) < 15
        assert sum(spans(source.reads)) < len(stored) + 100 * KIB
        source.reads.clear()
        assert payload.pread(MIB, MIB) == body[MIB : 2 * MIB]
        assert len(source.reads) < 10
