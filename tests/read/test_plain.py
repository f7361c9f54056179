"""Records of .warc files."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc.errors import FormatError, FormatWarning, TruncatedError
from seekwarc.storage.plan import REMOTE
from tests.support.foreign import Foreign, text, warc_header
from tests.support.sources import RecordingSource


def some_records() -> Foreign:
    made = Foreign().record(b"first").record(text(3_000_000)).record(b"WARC/1.1\r\n\r\n").record(b"")
    return made.plain()


def test_blocks_are_stepped_over_and_not_read() -> None:
    made = some_records()
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        assert [record.offset for record in archive] == [put.offset for put in made.records]
    assert source.bytes_asked < 1 << 20


def test_a_range_is_one_read_of_that_range() -> None:
    made = some_records()
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        record = archive.record_at(made.records[1].offset)
        source.forget()
        record.block.pread(1_000_000, 1000)
    assert [stop - start for start, stop in source.requests] == [1000]


def test_lengths_reach_to_the_next_record() -> None:
    made = some_records()
    with seekwarc.open(made.bytes()) as archive:
        assert [record.length for record in archive] == [put.length for put in made.records]


@pytest.mark.parametrize("trailer", [b"", b"\n", b"\r\n", b"\r\n" * 6])
def test_records_are_found_whatever_line_breaks_are_between(trailer) -> None:
    made = Foreign().record(b"one").record(b"two").record(b"three").plain(trailer=trailer)
    with seekwarc.open(made.bytes()) as archive:
        found = [(record.offset, record.length, record.block.read()) for record in archive]
    assert found == [(put.offset, put.length, put.block) for put in made.records]


def test_a_header_of_many_kilobytes_is_read() -> None:
    header = warc_header(1).replace(b"Content-Type", b"X-Long: " + b"v" * 50_000 + b"\r\nContent-Type")
    made = Foreign().record(b"x", header=header).plain()
    with seekwarc.open(made.bytes()) as archive:
        assert next(iter(archive)).header.raw == header


def test_a_block_that_is_cut_is_told_when_it_is_reached() -> None:
    made = some_records()
    data = made.bytes()[: made.records[1].offset + 100_000]
    with seekwarc.open(RecordingSource(data, "cut.warc")) as archive:
        records = iter(archive)
        assert next(records).block.read() == b"first"
        with pytest.warns(FormatWarning, match=f"^cut.warc, offset {made.records[1].offset}: .*cut off"):
            record = next(records)
        assert record.block.pread(0, 10) == made.records[1].block[:10]
        with pytest.raises(TruncatedError, match=f"^cut.warc, offset {made.records[1].offset}: "):
            record.block.pread(0, record.block.size)
        assert (
            record.block.read() == made.records[1].block[: len(data) - record.offset - len(record.header.raw)]
        )
        assert next(records, None) is None


@pytest.mark.parametrize("behind", [b"garbage", b"WARC/1.1\r\nno end", b"WARC/1.1\r\n\r\n", b"\0" * 50])
def test_bytes_that_are_no_record_are_reported_with_their_offset(behind) -> None:
    made = Foreign().record(b"x").plain()
    with seekwarc.open(RecordingSource(made.bytes() + behind, "bad.warc")) as archive:
        records = iter(archive)
        next(records)
        with pytest.raises(FormatError, match=f"^bad.warc, offset {len(made.bytes())}: "):
            next(records)


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_the_http_head_of_a_record_cut_off_after_it_can_be_read() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    block = head + b"x" * 10_000
    raw = warc_header(len(block), kind="response").replace(
        b"Content-Type: ", b"Content-Type: application/http; msgtype=response\r\nX-Was: "
    )
    made = Foreign().record(block, header=raw).plain()
    start = len(made.records[0].header)
    for size in (start + len(head), start + len(head) + 50):
        with seekwarc.open(made.bytes()[:size]) as archive:
            record = next(iter(archive))
            assert record.http is not None
            assert record.http.status == 200
            assert record.payload.pread(0, size - start - len(head)) == b"x" * (size - start - len(head))
            with pytest.raises(seekwarc.TruncatedError):
                record.payload.pread(0, 100)


@pytest.mark.parametrize("before", [10, 3_000, 100_000])
def test_a_file_that_ends_in_a_later_header_is_truncated(before: int) -> None:
    made = Foreign().record(text(before)).record(b"second").plain()
    second = made.records[1].offset
    for size in (len(b"WARC/"), 40, len(warc_header(6)) - 1):
        with (
            seekwarc.open(made.bytes()[: second + size]) as archive,
            pytest.raises(TruncatedError, match=f"offset {second}: the file ends inside this record header"),
        ):
            list(archive)


@pytest.mark.parametrize("excess", [30, 1_000_000], ids=["into the next record", "beyond the file"])
def test_a_length_that_is_too_large_is_mended(excess: int) -> None:
    header = warc_header(len(b"first") + excess)
    made = Foreign().record(b"first", header=header).record(b"second").record(b"third").plain()
    with seekwarc.open(made.bytes()) as archive, pytest.warns(FormatWarning, match="Content-Length"):
        found = [(record.content_length, record.block.read()) for record in archive]
    assert found == [(5, b"first"), (6, b"second"), (5, b"third")]


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.parametrize("excess", [20, 100])
def test_a_distant_length_is_mended_where_what_follows_is_in_memory(excess: int) -> None:
    first = Foreign().record(b"the first one", header=warc_header(len(b"the first one") + excess))
    data = first.plain().bytes() + Foreign().record(text(300)).plain().bytes()
    source = RecordingSource(data)
    source.policy = REMOTE
    with seekwarc.open(source) as archive:
        record = archive.record_at(0)
        assert record.block.read() == b"the first one"
        assert record.problem is not None
