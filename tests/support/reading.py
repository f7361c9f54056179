"""Reading a file in every way there is, and comparing with what was put in."""

from __future__ import annotations

import random

import seekwarc
from tests.support.foreign import Foreign, Put
from tests.support.sources import Pipe, RecordingSource


def assert_is(record: seekwarc.Record, put: Put, *, seed: int = 0, ranges: int = 12) -> None:
    """Assert that a record is what was put in: header, block, and ranges of the block in any order."""
    assert record.header.raw == put.header
    assert record.offset == put.offset
    assert record.content_length == record.block.size == len(put.block)
    rng = random.Random(seed)
    for _ in range(ranges):
        start = rng.randint(0, len(put.block) + 5)
        length = rng.choice([0, 1, 7, rng.randint(0, len(put.block) + 5)])
        assert record.block.pread(start, length) == put.block[start : start + length]
    assert record.block.read() == put.block


def assert_reads_back(made: Foreign, *, lengths: bool = True, **options: object) -> None:
    """Assert that a file holds exactly the records that were put in, whichever way it is read."""
    data = made.bytes()
    puts = made.records

    with seekwarc.open(data, **options) as archive:
        count = 0
        for count, (record, put) in enumerate(zip(archive, puts, strict=True), 1):
            assert_is(record, put, seed=count)
        assert count == len(puts)

    with seekwarc.open(data, **options) as archive:
        # Blocks untouched while iterating, then read backward.
        records = list(archive)
        assert [record.offset for record in records] == [put.offset for put in puts]
        if lengths:
            assert [record.length for record in records] == [put.length for put in puts]
        for record, put in zip(reversed(records), reversed(puts), strict=True):
            assert_is(record, put, ranges=3)

    for put in puts:
        for length in (None, put.length) if lengths else (None,):
            with seekwarc.open(data, **options) as archive:
                record = archive.record_at(put.offset, length)
                assert_is(record, put, ranges=4)
                if lengths:
                    assert record.length == put.length

    with seekwarc.open(data, **options) as archive:
        # One reader, one range of each record in random order: cache and tables are shared.
        for put in random.Random(1).sample(puts, len(puts)):
            block = archive.record_at(put.offset).block
            middle = len(put.block) // 2
            assert block.pread(middle, 100) == put.block[middle : middle + 100]

    assert_streams_back(made, **options)


def assert_streams_back(made: Foreign, **options: object) -> None:
    """Assert that a file holds exactly the records that were put in, read once and in order."""
    data = made.bytes()
    for target in (data, Pipe(data)):
        with seekwarc.open(target, **options) as archive:
            found = [(r.header.raw, r.offset, r.block.read()) for r in archive.in_order()]
        assert found == [(put.header, put.offset, put.block) for put in made.records]


def blocks_of(target: object) -> list[bytes]:
    with seekwarc.open(target) as archive:
        return [record.block.read() for record in archive]


def contents_of(target: object) -> list[bytes]:
    """Return each record with its header, as it is in the file."""
    return [header + block for header, block in contents(target)]


def types_in(target: object) -> list[str | None]:
    with seekwarc.open(target) as archive:
        return [record.type for record in archive]


def uris_in(target: object, kind: str = "response") -> list[str | None]:
    with seekwarc.open(target) as archive:
        return [record.target_uri for record in archive.records(type=kind)]


def contents(target: object, **options: object) -> list[tuple[bytes, bytes]]:
    """Return header and block of each record, blocks read as the records come."""
    with seekwarc.open(target, **options) as archive:
        return [(record.header.raw, record.block.read()) for record in archive]


def put_contents(made: Foreign) -> list[tuple[bytes, bytes]]:
    return [(put.header, put.block) for put in made.records]


def status_of(made: Foreign, number: int = 0, *, length: bool = True) -> seekwarc.TableStatus:
    """Return the table status of a record that was gone to by its offset, and length unless told not to."""
    put = made.records[number]
    with seekwarc.open(RecordingSource(made.bytes())) as archive:
        return archive.record_at(put.offset, put.length if length else None).seek_table_status
