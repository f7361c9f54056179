"""Extents: ranges of a record, and files made of them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seekwarc
from seekwarc.errors import ChecksumError, RangeError
from tests.support.foreign import Foreign, noise, text

BLOCK = text(150_000) + noise(50_000)
FORMS = ("bytes", "gzip", "plain")


def made() -> Foreign:
    return Foreign().record(b"in front").record(BLOCK, cuts=16_000, table=True).record(b"behind")


def extent(form: str = "bytes") -> seekwarc.Extent:
    file = made() if form == "bytes" else getattr(made(), form)()
    archive = seekwarc.open(file.bytes())
    return archive.record_at(file.records[1].offset).block


@pytest.fixture(params=FORMS)
def block(request) -> seekwarc.Extent:
    return extent(request.param)


SEEKABLE = extent()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 210_000), st.integers(0, 210_000), st.booleans())
def test_a_range_is_what_stands_there(start, length, verify) -> None:
    assert SEEKABLE.pread(start, length, verify=verify) == BLOCK[start : start + length]


def test_nothing_comes_from_behind_the_end(block) -> None:
    assert block.size == len(BLOCK)
    assert block.pread(len(BLOCK) - 3, 100) == BLOCK[-3:]
    assert block.pread(len(BLOCK), 100) == b""
    assert block.pread(10**15, 10**15) == b""
    assert block.pread(5, 0) == b""


@pytest.mark.parametrize(("start", "length"), [(-1, 5), (0, -1), (-1, -1)])
def test_what_is_no_range_is_refused(block, start, length) -> None:
    with pytest.raises(RangeError):
        block.pread(start, length)
    with pytest.raises(RangeError):
        block.plan(start, start + length)


@pytest.mark.parametrize("new_buffer", [bytearray, lambda size: memoryview(bytearray(size))])
def test_a_buffer_of_the_callers_is_filled(block, new_buffer) -> None:
    buffer = new_buffer(1000)
    assert block.pread_into(70_000, buffer) == 1000
    assert bytes(buffer) == BLOCK[70_000:71_000]
    assert block.pread_into(len(BLOCK) - 10, buffer) == 10
    assert bytes(buffer[:10]) == BLOCK[-10:]


def test_a_buffer_of_another_type_is_filled_bytewise(block) -> None:
    from array import array  # noqa: PLC0415

    words = array("I", bytes(4000))
    assert block.pread_into(100, words) == 4000
    assert words.tobytes() == BLOCK[100:4100]


def test_a_plan_is_what_a_read_costs() -> None:
    file = made()
    for start, stop in [(0, 1), (20_000, 20_001), (15_000, 60_000), (0, len(BLOCK)), (5, 5)]:
        with seekwarc.open(file.bytes(), cache_size=0) as archive:
            put = file.records[1]
            block = archive.record_at(put.offset, put.length).block
            plan = block.plan(start, stop)
            before = (archive.stats.bytes_fetched, archive.stats.bytes_decoded)
            assert block.pread(start, stop - start) == BLOCK[start:stop]
            assert archive.stats.bytes_fetched - before[0] <= plan.bytes_fetched
            assert archive.stats.bytes_decoded - before[1] <= plan.bytes_decoded


def test_a_plan_needs_nothing_but_the_table() -> None:
    file = made()
    with seekwarc.open(file.bytes()) as archive:
        block = archive.record_at(file.records[1].offset).block
        block.plan(0, 1)
        before = archive.stats.bytes_decoded, archive.stats.requests
        block.plan(50_000, 150_000)
        assert (archive.stats.bytes_decoded, archive.stats.requests) == before


def test_damage_is_found_where_it_is_and_nowhere_else() -> None:
    file = made()
    data = bytearray(file.bytes())
    put = file.records[1]
    data[put.stop - 20_000] ^= 1
    with seekwarc.open(bytes(data)) as archive:
        block = archive.record_at(put.offset, put.length).block
        assert block.pread(0, 100_000) == BLOCK[:100_000]
        buffer = bytearray(100_000)
        with pytest.raises(ChecksumError, match=r"^<bytes>, offset \d+: "):
            block.pread_into(100_000, buffer)
        buffer.append(0)  # The error keeps no hold of it.


# As a file.


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["seek", "end", "move", "read"]), st.integers(-1000, 210_000)), max_size=8
    )
)
def test_a_file_does_what_a_file_does(steps) -> None:
    ours, theirs = SEEKABLE.open(), io.BytesIO(BLOCK)
    for step, number in steps:
        if step == "read":
            count = abs(number)
            assert ours.read(count) == theirs.read(count)
        elif step == "seek":
            assert ours.seek(abs(number)) == theirs.seek(abs(number))
        else:
            whence = io.SEEK_END if step == "end" else io.SEEK_CUR
            base = len(BLOCK) if step == "end" else theirs.tell()
            if base + number >= 0:
                assert ours.seek(number, whence) == theirs.seek(number, whence)
        assert ours.tell() == theirs.tell()
    assert ours.read() == theirs.read()


def test_a_file_can_be_wrapped(block) -> None:
    with io.BufferedReader(block.open()) as file:
        assert file.seekable()
        assert file.readable()
        assert not file.writable()
        file.seek(-10, io.SEEK_END)
        assert file.read() == BLOCK[-10:]
        file.seek(100)
        assert file.peek(5)[:5] == BLOCK[100:105]
        assert file.readline() == io.BytesIO(BLOCK[100:]).readline()


def test_positions_that_cannot_be_are_refused(block) -> None:
    file = block.open()
    for offset, whence in [(-1, io.SEEK_SET), (-1, io.SEEK_CUR), (-len(BLOCK) - 1, io.SEEK_END)]:
        with pytest.raises(RangeError):
            file.seek(offset, whence)
    with pytest.raises(ValueError, match="whence"):
        file.seek(0, 7)
    assert file.tell() == 0


def test_a_closed_file_says_so(block) -> None:
    file = block.open()
    file.close()
    for use in (file.read, lambda: file.read(1), lambda: file.seek(0), file.tell):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_files_of_one_extent_have_positions_of_their_own(block) -> None:
    one, other = block.open(), block.open()
    assert one.read(10) == BLOCK[:10]
    assert other.read(10) == BLOCK[:10]
    assert one.read(10) == BLOCK[10:20]
