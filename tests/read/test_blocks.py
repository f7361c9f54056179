"""Films in one frame, as most writers of .warc.zst store them: ranges, cost, damage, files afar."""

from __future__ import annotations

from functools import cache

import pytest

import seekwarc
from seekwarc import Reader, Record, TableStatus
from seekwarc.errors import ChecksumError, FormatError, SourceChangedError, TruncatedError
from seekwarc.storage.source import RangeSource
from tests.support.foreign import CRLF2, Foreign, warc_header
from tests.support.rangeserver import Content, Fault, RangeServer, dropped, first, status
from tests.support.sources import RecordingSource, RemoteFake
from tests.support.writing import noise

MIB = 1 << 20
BLOCK = 128 << 10
SIZE = 33 * MIB
"""More than is decoded at a time."""
TEXT = b"an index that compresses well, " * 5000
TEXT_AT = 6 * MIB
PLACES = [2 * MIB + 100_000, 9 * MIB + 17, 20 * MIB - 1, SIZE - 70_000]


@cache
def film(*, with_text: bool = False) -> bytes:
    data = noise(SIZE)
    return data[:TEXT_AT] + TEXT + data[TEXT_AT + len(TEXT) :] if with_text else data


@cache
def made(*, with_text: bool = False, content_size: bool = True) -> Foreign:
    """A film between two small records."""
    frame = {"level": 1, "content_size": content_size}
    return Foreign().record(b"before").record(film(with_text=with_text), **frame).record(b"after")


def film_of(archive: Reader, *, known: bool = True) -> Record:
    put = made().records[1]
    record = archive.record_at(put.offset, put.length if known else None)
    assert record is not None
    return record


@pytest.mark.one_in(3)
@pytest.mark.parametrize("content_size", [True, False])
@pytest.mark.parametrize("with_text", [False, True])
def test_ranges_are_read_without_decompressing_the_film(with_text: bool, content_size: bool) -> None:
    block = film(with_text=with_text)
    with seekwarc.open(
        RecordingSource(made(with_text=with_text, content_size=content_size).bytes())
    ) as archive:
        record = film_of(archive, known=False)
        assert record.seek_table_status is TableStatus.BLOCKS
        for place in PLACES:
            for length in (1, 4096, 70_000, 3 * MIB):
                assert record.block.pread(place, length) == block[place : place + length]
            out = bytearray(300_000)
            count = record.block.pread_into(place, out)
            assert out[:count] == block[place : place + len(out)]
        assert archive.stats.bytes_decoded <= 2 * BLOCK
        # Where there is text, the film is decompressed up to it.
        assert record.block.pread(TEXT_AT, 100) == block[TEXT_AT : TEXT_AT + 100]
        assert (archive.stats.bytes_decoded > TEXT_AT) == with_text


def test_iteration_finds_the_same() -> None:
    with seekwarc.open(RecordingSource(made().bytes())) as archive:
        sizes = []
        for record in archive:
            sizes.append((record.length, record.content_length))
            if record.seek_table_status is TableStatus.BLOCKS:
                assert record.block.pread(PLACES[1], 100) == film()[PLACES[1] : PLACES[1] + 100]
        assert sizes == [(put.length, len(put.block)) for put in made().records]
        assert archive.stats.bytes_decoded < MIB


def test_the_plan_says_what_is_read_and_that_it_is_not_verified() -> None:
    source = RecordingSource(made().bytes())
    with seekwarc.open(source) as archive:
        record = film_of(archive)
        plan = record.block.plan(PLACES[0], PLACES[0] + 65_536)
        source.forget()
        record.block.pread(PLACES[0], 65_536)
        assert tuple(source.requests) == plan.ranges
        assert (plan.bytes_decoded, plan.frames, plan.is_verified) == (0, 0, False)
        small = archive.record_at(0)
        assert small is not None
        assert small.block.plan(0, 5).is_verified


def damaged(place: int, mask: int = 1) -> bytes:
    """Return the file with a bit of the film changed, found by its stored bytes."""
    data = bytearray(made().bytes())
    data[data.index(film()[place : place + 64])] ^= mask
    return bytes(data)


def test_a_part_is_not_verified_and_all_of_it_is() -> None:
    place = PLACES[1]
    stored = bytes([film()[place] ^ 1]) + film()[place + 1 : place + 100]
    data = damaged(place)
    with seekwarc.open(RecordingSource(data)) as archive:
        record = film_of(archive)
        assert record.block.pread(place, 100) == stored
    for read in (lambda it: it.read(), lambda it: it.pread(0, SIZE), lambda it: it.open().readall()):
        with seekwarc.open(RecordingSource(data)) as archive, pytest.raises(ChecksumError):
            read(film_of(archive).block)
    with seekwarc.open(RecordingSource(data)) as archive, film_of(archive).block.open() as file:
        while file.tell() < SIZE - 80_000:
            file.read(40_000)
        with pytest.raises(ChecksumError):
            file.read()
    with seekwarc.open(RecordingSource(data), strict=True) as archive, pytest.raises(ChecksumError):
        film_of(archive).block.pread(place, 100)


def test_a_film_that_is_cut_off_is_read_as_far_as_it_goes() -> None:
    data = made().bytes()[: 20 * MIB]
    with seekwarc.open(RecordingSource(data)) as archive:
        record = film_of(archive)
        assert record.block.pread(PLACES[1], 100) == film()[PLACES[1] : PLACES[1] + 100]
        with pytest.raises(TruncatedError):
            record.block.pread(21 * MIB, 100)


def hand_made(sizes: list[tuple[int, int]], block: bytes) -> tuple[bytes, bytes]:
    """Return a record in one frame of (kind, size) blocks, and full ones after them, and its content."""
    content = warc_header(len(block)) + block + CRLF2
    frame = b"\x28\xb5\x2f\xfd\xc0\x58" + len(content).to_bytes(8, "little")
    place = 0
    parts = [frame]
    sizes = iter(sizes)
    while place < len(content):
        kind, size = next(sizes, (0, BLOCK))
        size = min(size, len(content) - place)
        is_last = place + size == len(content)
        header = (size << 3 | kind << 1 | is_last).to_bytes(3, "little")
        parts += [header, content[place : place + (1 if kind else size)]]
        place += size
    return b"".join(parts), content


FULL = (0, BLOCK)


def test_afar_a_range_is_one_request() -> None:
    source = RemoteFake(made().bytes())
    put = made().records[1]
    with seekwarc.open(source) as archive:
        record = archive.record_at(put.offset, put.length)
        assert len(source.requests) <= 3
        assert sum(stop - start for start, stop in source.requests) < 200_000
        source.forget()
        for place in PLACES:
            plan = record.block.plan(place, place + 65_536)
            assert source.requests == []
            assert record.block.pread(place, 65_536) == film()[place : place + 65_536]
            assert tuple(source.requests) == plan.ranges
            assert plan.bytes_fetched <= 200_000
            source.forget()


@pytest.mark.parametrize("before", [0, 3])
def test_afar_the_first_range_of_what_has_no_tables_takes_two_requests(before: int) -> None:
    file = Foreign()
    for _ in range(before):
        file.record(noise(90_000))
    put = file.record(film(), level=1).record(b"after").records[before]
    data = file.bytes()
    # In one block, and where two meet.
    for shift, length in zip((5, -100, -20_000, -45_000), [put.length, None] * 2, strict=True):
        place = 71 * BLOCK + shift
        source = RemoteFake(data)
        with seekwarc.open(source) as archive:
            # As an index says that was made of the file.
            record = archive.record_at(put.offset, length, table=seekwarc.TableTrust.SCANNED)
            assert record.block.pread(place, 65_536) == film()[place : place + 65_536]
            assert record.seek_table_status is TableStatus.BLOCKS
        assert len(source.requests) == 2
        assert sum(stop - start for start, stop in source.requests) <= 200 << 10


@pytest.mark.parametrize("content_size", [True, False])
def test_afar_without_a_length_a_film_that_does_not_begin_as_one_is_decompressed(content_size: bool) -> None:
    data = TEXT + film()[len(TEXT) :]
    file = Foreign().record(data, level=1, content_size=content_size)
    with seekwarc.open(RemoteFake(file.bytes())) as archive:
        record = archive.record_at(0)
        assert record.seek_table_status is TableStatus.STREAM
        assert record.block.pread(PLACES[0], 100) == data[PLACES[0] :][:100]


# Of the same size as one of full blocks alone: two that cost three bytes more are followed by one that
# gains them.
DISPLACED = [*[FULL] * 20, (0, BLOCK // 2), (0, BLOCK // 2), *[FULL] * 100, (1, 7), (0, BLOCK - 7)]


def test_afar_blocks_of_other_sizes_are_noticed() -> None:
    run = 121 * BLOCK - len(warc_header(SIZE))
    block = film()[:run] + b"RRRRRRR" + film()[run + 7 :]
    data, _ = hand_made(DISPLACED, block)
    same, _ = hand_made([], block)
    assert len(data) == len(same)
    with seekwarc.open(RemoteFake(data + made().bytes())) as archive:
        record = archive.record_at(0, len(data))
        assert record.seek_table_status is TableStatus.BLOCKS
        # Before, in and after the part that is displaced.
        for place in (5 * MIB, 10 * MIB, 8 * MIB, 25 * MIB):
            assert record.block.pread(place, 100) == block[place : place + 100]
    with seekwarc.open(RecordingSource(data)) as archive:
        record = archive.record_at(0)
        for place in (5 * MIB, 10 * MIB, run - 10, 25 * MIB):
            assert record.block.pread(place, 100) == block[place : place + 100]
        assert archive.stats.bytes_decoded <= 2 * BLOCK


def test_afar_a_film_with_text_takes_no_request_a_block() -> None:
    source = RemoteFake(made(with_text=True).bytes())
    put = made(with_text=True).records[1]
    with seekwarc.open(source) as archive:
        record = archive.record_at(put.offset, put.length)
        assert record.seek_table_status is TableStatus.STREAM
        place = PLACES[1]
        assert record.block.pread(place, 100) == film(with_text=True)[place : place + 100]
        assert len(source.requests) < 25


@pytest.mark.parametrize("kind", [RecordingSource, RemoteFake])
def test_a_frame_that_holds_other_content_than_it_says_is_read_as_a_decoder_would(
    kind: type[RangeSource],
) -> None:
    # Content-Length and content size say one block more than there is.
    data, content = hand_made([], film())
    short = data[: 14 + 200 * (BLOCK + 3)] + (BLOCK << 3 | 1).to_bytes(3, "little") + noise(BLOCK)
    with seekwarc.open(kind(short)) as archive:
        record = archive.record_at(0, len(short))
        start = len(warc_header(SIZE))
        assert record.block.pread(9 * MIB, 100) == content[start + 9 * MIB :][:100]
        with pytest.raises(FormatError):
            record.block.pread(201 * BLOCK, 100)


def test_over_http_an_opened_film_takes_a_request_a_range() -> None:
    put = made().records[1]
    with RangeServer(made().bytes()) as server, seekwarc.open(server.url) as archive:
        record = archive.record_at(put.offset, put.length)
        opened = len(server.asked), sum(asked.sent for asked in server.asked)
        assert opened[0] <= 3
        assert opened[1] < 200_000
        for place in PLACES:
            server.forget()
            assert record.block.pread(place, 65_536) == film()[place : place + 65_536]
            assert [asked.status for asked in server.asked] == [206]
            assert server.asked[0].sent <= 200 << 10


@pytest.mark.parametrize("fault", [first(1, dropped(5000)), first(1, status(503))])
def test_over_http_a_request_that_fails_is_made_again(fault: Fault) -> None:
    put = made().records[1]
    with RangeServer(made().bytes()) as server, seekwarc.open(server.url) as archive:
        record = archive.record_at(put.offset, put.length)
        server.forget()
        server.fault = fault
        assert record.block.pread(PLACES[1], 65_536) == film()[PLACES[1] : PLACES[1] + 65_536]
        assert len(server.asked) == 2


def test_over_http_a_film_that_is_replaced_is_not_mixed_with_the_other() -> None:
    put = made().records[1]
    with RangeServer(made().bytes()) as server, seekwarc.open(server.url) as archive:
        record = archive.record_at(put.offset, put.length)
        server.content = Content(bytes(len(made().bytes())), etag='"second"')
        with pytest.raises(SourceChangedError):
            record.block.pread(PLACES[1], 65_536)
