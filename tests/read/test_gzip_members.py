"""Records of .warc.gz files: small members in one go, everything else as a stream."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.read.gzip_members import SMALL_MEMBER
from tests.support.foreign import Foreign, gzip_member, text
from tests.support.rounds import rounds
from tests.support.sources import RecordingSource
from tests.support.writing import noise

SIZES = [0, 1, 300, 5000, SMALL_MEMBER - 400, SMALL_MEMBER, SMALL_MEMBER + 1, 200_000]


def crawl(sizes: list[int], make: Callable[[int], bytes] = text) -> Foreign:
    made = Foreign()
    for size in sizes:
        made.record(make(size))
    return made.gzip()


@settings(max_examples=rounds(40))
@given(st.lists(st.sampled_from(SIZES), min_size=1, max_size=8), st.sampled_from([text, noise]))
def test_records_of_any_size_are_as_reading_in_order_has_them(sizes: list[int], make: Callable) -> None:
    made = crawl(sizes, make)
    with seekwarc.open(made.bytes()) as archive:
        found = [(it.offset, it.length, it.header.raw, it.block.read()) for it in archive]
    assert found == [(put.offset, put.length, put.header, put.block) for put in made.records]
    with seekwarc.open(made.bytes()) as archive:
        assert [(it.offset, it.header.raw) for it in archive.in_order()] == [it[::2] for it in found]


def test_they_stay_usable_in_any_order() -> None:
    made = crawl(SIZES * 3)
    with seekwarc.open(made.bytes(), cache_size=0) as archive:
        records = list(archive)
        for record, put in reversed(list(zip(records, made.records, strict=True))):
            assert record.block.pread(put.length // 2, 40) == put.block[put.length // 2 :][:40]
            assert record.block.read() == put.block
            assert record.length == put.length


def test_a_block_that_is_read_at_once_is_not_decompressed_again() -> None:
    made = crawl([3000] * 50)
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        assert sum(len(record.block.read()) for record in archive) == 150_000
        assert archive.stats.bytes_decoded == sum(len(it.header) + 3004 for it in made.records)
    assert source.bytes_asked < 2 * len(made.bytes())


def test_a_plan_tells_what_is_fetched() -> None:
    with seekwarc.open(crawl([10, 20]).bytes()) as archive:
        second = list(archive)[1]
        assert second.block.plan(5, 9).ranges == ((second.offset, second.offset + second.length),)
        assert second.block.plan(5, 5).ranges == ()


def test_empty_members_belong_to_the_record_before() -> None:
    one, two = (gzip_member(put.header + put.block + b"\r\n\r\n") for put in crawl([10, 20]).records)
    empty = gzip_member(b"")
    with seekwarc.open(empty + one + empty * 3 + two + empty) as archive:
        found = [(record.offset, record.length) for record in archive]
    assert found == [
        (len(empty), len(one) + 3 * len(empty)),
        (len(one) + 4 * len(empty), len(two) + len(empty)),
    ]


@pytest.mark.parametrize("behind", [b"no member", b"\x1f\x8b\x08 broken off", crawl([500]).bytes()[:30]])
def test_records_before_damage_are_yielded(behind: bytes) -> None:
    made = crawl([10, 3000, 20])
    with seekwarc.open(made.bytes() + behind) as archive:
        records = iter(archive)
        assert [next(records).offset for _ in range(3)] == [put.offset for put in made.records]
        with pytest.raises(seekwarc.FormatError) as caught:
            for record in records:
                record.block.read()
        assert caught.value.offset == len(made.bytes())


@pytest.mark.parametrize("count", [2, 5])
def test_records_that_share_a_member_are_told_apart(count: int) -> None:
    puts = crawl([30] * count).records
    shared = gzip_member(b"".join(put.header + put.block + b"\r\n\r\n" for put in puts))
    alone = crawl([40]).bytes()
    with (
        pytest.warns(seekwarc.FormatWarning, match="share"),
        seekwarc.open(alone + shared + alone) as archive,
    ):
        found = [(record.offset, record.skip > 0, len(record.block.read())) for record in archive]
    first = len(alone)
    assert found == [
        (0, False, 40),
        (first, False, 30),
        *[(first, True, 30)] * (count - 1),
        (first + len(shared), False, 40),
    ]


def test_a_file_that_has_changed_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(crawl([3000, 10]).bytes())
    with seekwarc.open(path, cache_size=0) as archive:
        first, _ = archive
        with path.open("r+b") as file:
            file.write(gzip_member(b"another"))
        with pytest.raises(seekwarc.TruncatedError, match="not what it was"):
            first.block.read()


def test_a_small_record_by_its_place_is_that_of_iterating(tmp_path) -> None:
    made = crawl([*SIZES, 5, 100_000, 40_000], noise)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(made.bytes())
    with seekwarc.open(path) as archive, seekwarc.open(path) as other:
        for record in archive:
            found = other.record_at(record.offset, record.length)
            assert found.header.raw == record.header.raw
            assert found.block.read() == record.block.read()
            assert (found.length, found.seek_table_status) == (record.length, record.seek_table_status)
            assert pickle.loads(pickle.dumps(found)).block.read() == record.block.read()
