"""Records of .warc.zst files, found by their frames."""

from __future__ import annotations

import struct

import pytest

import seekwarc
from seekwarc import tools
from seekwarc.errors import FormatError, TruncatedError
from tests.support.foreign import Foreign, text
from tests.support.reading import assert_reads_back
from tests.support.sources import Pipe, RecordingSource
from tests.support.writing import noise


@pytest.mark.parametrize("cuts", [(), 100, 5000, (1,), (300,)])
@pytest.mark.parametrize("table", [None, True, {"checksums": False}])
@pytest.mark.parametrize("file_table", [False, True])
def test_records_read_back_however_they_were_cut(cuts, table, file_table) -> None:
    made = Foreign()
    for block in (b"first", text(20_000), b"", noise(9000)):
        made.record(block, cuts=cuts, table=table)
    assert_reads_back(made.file_table() if file_table else made)


def test_of_a_large_record_only_the_beginning_is_decoded() -> None:
    made = Foreign().record(b"x").record(text(2_000_000), cuts=100_000).record(b"y")
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        assert [record.content_length for record in archive] == [1, 2_000_000, 1]
        assert archive.stats.bytes_decoded < 300_000


def test_an_offset_may_be_that_of_an_extension_frame_before() -> None:
    made = Foreign().extension(data=b"in front").record(b"x")
    with seekwarc.open(made.bytes()) as archive:
        record = archive.record_at(0)
        assert record.block.read() == b"x"


def test_after_the_last_record_no_record_is_found() -> None:
    made = Foreign().record(b"x")
    end = len(made.bytes())
    made.extension(data=b"behind")
    with seekwarc.open(RecordingSource(made.bytes(), "a.warc.zst")) as archive:
        for offset in (end, len(made.bytes())):
            with pytest.raises(FormatError, match=f"a.warc.zst, offset {offset}: "):
                archive.record_at(offset)


def test_an_offset_inside_a_record_is_no_record() -> None:
    made = Foreign().record(text(9000), cuts=(200, 5000))
    second = made.entries[0][0]
    archive = seekwarc.open(RecordingSource(made.bytes(), "a.warc.zst"))
    with pytest.raises(FormatError, match=f"a.warc.zst, offset {second}: "):
        archive.record_at(second)


@pytest.mark.parametrize("keep", [5, 40, 150, 3000, 8000])
def test_a_record_that_is_cut_is_told_with_its_place(keep) -> None:
    made = Foreign().record(b"x").record(noise(9000), cuts=2000)
    start = made.records[1].offset
    data = made.bytes()[: start + keep]
    with seekwarc.open(RecordingSource(data, "cut.warc.zst")) as archive:
        records = iter(archive)
        assert next(records).block.read() == b"x"
        with pytest.raises(FormatError, match=r"^cut.warc.zst, offset \d+: ") as raised:
            for record in records:
                record.block.pread(0, 9000)
        assert isinstance(raised.value, TruncatedError)
        assert start <= raised.value.offset <= len(data)


def test_small_records_cost_few_requests() -> None:
    made = Foreign()
    for number in range(2000):
        made.record(text(300, seed=number % 7))
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        assert sum(1 for _ in archive) == 2000
    assert len(source.requests) < 20


def claiming_nothing(content: bytes) -> bytes:
    """Make a frame of one raw block that states a content size of 0."""
    block = (len(content) << 3 | 1).to_bytes(3, "little") + content
    return b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 0) + block


def hiding_a_record() -> tuple[bytes, int]:
    made = Foreign().record(b"the one before")
    hidden = Foreign().record(b"hidden").plain().bytes()
    at = len(made.data)
    return bytes(made.data) + claiming_nothing(hidden) + Foreign().record(b"after").bytes(), at


def hiding_bytes_of_a_record() -> tuple[bytes, int]:
    made = Foreign().record(text(5000), cuts=1000)
    at = sum(size for size, _, _ in made.entries[:2])
    return bytes(made.data[:at]) + claiming_nothing(b"hidden") + bytes(made.data[at:]), at


@pytest.mark.parametrize("make", [hiding_a_record, hiding_bytes_of_a_record])
def test_a_frame_that_claims_to_be_empty_hides_nothing(make) -> None:
    data, at = make()
    found = []
    for target in (data, Pipe(data)):
        with seekwarc.open(target) as archive, pytest.raises(FormatError) as caught:
            for record in archive:
                record.block.read()
        found.append(caught.value.offset)
    assert found == [at, at]
    assert tools.verify(data).damages


@pytest.mark.parametrize("make", [hiding_a_record, hiding_bytes_of_a_record])
def test_the_records_around_a_frame_that_claims_to_be_empty_are_found(make) -> None:
    data, at = make()
    damage: list[FormatError] = []
    with seekwarc.open(data, on_error=damage.append) as archive:
        offsets = [record.offset for record in archive]
    assert [error.offset for error in damage] == [at]
    assert offsets[0] == 0


def test_frames_that_are_empty_are_passed() -> None:
    made = Foreign().record(b"one")
    made.empty().empty(checksum=False)
    made.raw(b"\x28\xb5\x2f\xfd\xe0" + bytes(8) + b"\x03\0\0x")
    made.record(b"two")
    assert_reads_back(made)
