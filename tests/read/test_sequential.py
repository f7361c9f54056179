"""Files that are read once, from beginning to end."""

from __future__ import annotations

import pytest

import seekwarc
from seekwarc.errors import FormatError, FormatWarning, TruncatedError
from tests.support.foreign import CRLF2, Foreign, gzip_member, text, warc_header, zstd_frame
from tests.support.sources import Pipe

BLOCKS = [b"first", b"", text(300_000), b"last"]


def some_records(**options) -> Foreign:
    made = Foreign()
    for block in BLOCKS:
        made.record(block, **options)
    return made


def in_order(target) -> list[tuple[int, bytes]]:
    with seekwarc.open(target) as archive:
        return [(record.offset, record.block.read()) for record in archive.in_order()]


@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
@pytest.mark.parametrize("wrap", [bytes, Pipe])
def test_every_record_comes_with_its_offset(form, wrap) -> None:
    made = some_records() if form == "bytes" else getattr(some_records(), form)()
    assert in_order(wrap(made.bytes())) == [(put.offset, put.block) for put in made.records]


@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_blocks_that_nobody_reads_are_passed(form) -> None:
    made = some_records() if form == "bytes" else getattr(some_records(), form)()
    with seekwarc.open(Pipe(made.bytes())) as archive:
        assert [record.offset for record in archive] == [put.offset for put in made.records]


@pytest.mark.parametrize("trailer", [b"", b"\r\n", b"\n\n", b"\r\n\r\n", b"\r\n" * 7])
def test_bytes_after_a_block_are_kept(trailer) -> None:
    made = some_records().gzip(trailer=trailer)
    with seekwarc.open(made.bytes()) as archive:
        records = archive.in_order()
        for _ in records:
            records.finish()
            assert records.trailer == trailer


def test_lengths_become_known_when_a_record_is_finished() -> None:
    made = some_records().gzip()
    with seekwarc.open(made.bytes()) as archive:
        records = archive.in_order()
        for record, put in zip(records, made.records, strict=True):
            assert not record.has_length
            records.finish()
            assert record.has_length
            assert record.length == put.length


@pytest.mark.parametrize("form", ["bytes", "gzip"])
def test_the_length_of_a_record_before_damage_is_known(form) -> None:
    made = some_records() if form == "bytes" else some_records().gzip()
    *_, last = made.records
    found = []
    with seekwarc.open(made.bytes() + b"damage") as archive:
        records = archive.in_order()
        with pytest.raises(FormatError, match=f"offset {last.offset + last.length}: "):
            for record in records:
                found.append(record)
                records.finish()
        assert [record.length for record in found] == [put.length for put in made.records]


def test_extension_frames_belong_to_the_record_before() -> None:
    made = Foreign().record(b"one").extension(data=b"more").empty().record(b"two").extension().file_table()
    with seekwarc.open(made.bytes()) as archive:
        records = archive.in_order()
        lengths = []
        for record in records:
            records.finish()
            lengths.append(record.length)
    assert lengths == [put.length for put in made.records]


@pytest.mark.parametrize("shut", [gzip_member, zstd_frame])
def test_several_records_in_one_unit_are_read_and_warned_of_once(shut) -> None:
    data = shut(some_records().plain().bytes())
    with pytest.warns(FormatWarning, match="share one frame or gzip member") as caught:
        assert [block for _, block in in_order(data)] == BLOCKS
    assert len(caught) == 1


@pytest.mark.parametrize("begun", [1, 5, 9])
@pytest.mark.parametrize("block", [b"", b"a block"])
def test_a_frame_that_ends_in_a_header_is_no_sign_of_a_wrong_length(block, begun) -> None:
    first, second = (warc_header(len(block), number) + block + CRLF2 for number in range(2))
    for cut in range(1, len(first)):
        pieces = first[:cut], first[cut:], second[:begun], second[begun:]
        data = b"".join(zstd_frame(it, content_size=False, checksum=False) for it in pieces)
        # A warning would be an error here.
        with seekwarc.open(data) as archive:
            assert len(list(archive)) == 2
        assert [found for _, found in in_order(data)] == [block, block]


@pytest.mark.filterwarnings("ignore:.*cut off:seekwarc.FormatWarning")
@pytest.mark.parametrize("form", ["bytes", "gzip", "plain"])
def test_a_file_that_is_cut_is_told_wherever_it_is(form) -> None:
    made = some_records() if form == "bytes" else getattr(some_records(), form)()
    data, ends = made.bytes(), {put.stop for put in made.records}
    for length in range(10, len(data) - 4, max(len(data) // 60, 1)):
        if length in ends:
            continue
        with pytest.raises(FormatError, match=r"^<bytes>, offset \d+: "):
            in_order(data[:length])


def test_how_much_of_a_block_is_missing_is_told() -> None:
    made = Foreign().record(b"x" * 100).plain()
    with seekwarc.open(Pipe(made.bytes()[:-34])) as archive:
        records = iter(archive.in_order())
        next(records)
        with pytest.raises(TruncatedError, match="30 of 100 bytes of its block are missing"):
            next(records)


def test_zeros_after_a_gzip_file_are_padding() -> None:
    made = some_records().gzip()
    assert len(in_order(made.bytes() + bytes(70_000))) == 4
    with pytest.raises(FormatError, match=f"offset {len(made.bytes())}"):
        in_order(made.bytes() + b"\0\0x")
