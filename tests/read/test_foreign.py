"""Files that other tools write, or that nobody should: read right, or refused with a reason.

The cases are those of section 3 of the format decisions, and of "Zstandard Compression for WARC Files".
"""

from __future__ import annotations

import io
import re
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest

import seekwarc
from seekwarc import TableStatus
from seekwarc.errors import FormatError
from tests.support import foreign
from tests.support.foreign import CRLF2, EMPTY, EXTENSIONS, SEEK_TABLE_FRAME, Entry, Foreign, text
from tests.support.reading import (
    assert_is,
    assert_reads_back,
    assert_streams_back,
    contents,
    put_contents,
    status_of,
)
from tests.support.sources import Pipe, RecordingSource
from tests.support.work import watchdog
from tests.support.writing import noise

FIRST = text(900, seed=1)
LARGE = text(20_000, seed=2)
LAST = noise(700, seed=3)


def three(**options: Any) -> Foreign:
    """A small record, one of several frames, another small one."""
    return Foreign(options).record(FIRST).record(LARGE, cuts=3000).record(LAST)


Change = Callable[[list[Entry]], list[Entry]]


# Frames and records.


def test_a_frame_a_record() -> None:
    assert_reads_back(Foreign().record(FIRST).record(b"").record(LAST))


@pytest.mark.parametrize("size", [1, 13, 100, 3000, 19_999])
def test_several_frames_a_record(size: int) -> None:
    block = LARGE if size >= 100 else LARGE[:40]
    assert_reads_back(Foreign().record(FIRST).record(block, cuts=size).record(LAST))


def test_header_split_over_frames() -> None:
    assert_reads_back(Foreign().record(LARGE, cuts=(5, 60, 120, 9000)).record(FIRST, cuts=(1,)))


def test_header_in_a_frame_of_its_own() -> None:
    header = foreign.warc_header(len(LARGE))
    assert_reads_back(Foreign().record(LARGE, header=header, cuts=(len(header),)).record(FIRST))


def test_blank_line_split_over_frames() -> None:
    header = foreign.warc_header(len(LARGE))
    for back in (1, 2, 3):
        assert_reads_back(Foreign().record(LARGE, header=header, cuts=(len(header) - back,)).record(FIRST))


@pytest.mark.parametrize("back", [1, 2, 3, 4])
def test_trailer_in_its_own_frame(back: int) -> None:
    header = foreign.warc_header(len(LARGE))
    end = len(header) + len(LARGE) + 4 - back
    made = Foreign().record(LARGE, header=header, cuts=(3000, end)).record(FIRST)
    assert_reads_back(made)


def test_empty_block_with_its_trailer_in_its_own_frame() -> None:
    header = foreign.warc_header(0)
    assert_reads_back(Foreign().record(b"", header=header, cuts=(len(header),)).record(FIRST))


def test_block_that_looks_like_records_and_frames() -> None:
    inner = three().bytes() + three().plain().bytes() + CRLF2
    assert_reads_back(Foreign().record(inner, cuts=500).record(inner).record(FIRST))


def test_one_huge_frame_is_streamed_in_pieces() -> None:
    block = text(1 << 20, seed=5) * 40
    made = Foreign().record(FIRST).record(block).record(LAST)
    with seekwarc.open(made.bytes()) as archive:
        for record, put in zip(archive, made.records, strict=True):
            assert record.header.raw == put.header
            assert record.offset == put.offset
            assert record.length == put.length
        huge = archive.record_at(made.records[1].offset)
        assert huge.seek_table_status == TableStatus.STREAM
        for start in (0, 30_000_000, 17_000_001, len(block) - 5):
            assert huge.block.pread(start, 1000) == block[start : start + 1000]
    with seekwarc.open(Pipe(made.bytes(), most=1 << 20)) as archive:
        sizes = [len(record.block.read()) for record in archive]
    assert sizes == [len(FIRST), len(block), len(LAST)]


def test_a_huge_frame_with_a_table_is_streamed_all_the_same() -> None:
    block = bytes(40 << 20)
    made = Foreign().record(block, cuts=(100,), table=True).record(LAST)
    put = made.records[0]
    with seekwarc.open(made.bytes()) as archive:
        record = archive.record_at(put.offset, put.length)
        assert record.seek_table_status == TableStatus.STREAM
        assert record.block.pread((40 << 20) - 7, 100) == bytes(7)


# Frames without their optional fields.


@pytest.mark.parametrize("content_size", [True, False], ids=["size", "no size"])
@pytest.mark.parametrize("checksum", [True, False], ids=["checksum", "no checksum"])
def test_frames_without_optional_fields(content_size: bool, checksum: bool) -> None:
    assert_reads_back(three(content_size=content_size, checksum=checksum))


def test_frames_with_and_without_content_size_mixed() -> None:
    made = Foreign()
    for number in range(8):
        made.record(
            text(5000, seed=number), cuts=(2000, 3000) if number & 1 else (), content_size=bool(number & 2)
        )
    made.begin(foreign.warc_header(len(LARGE), 8), LARGE)
    whole = made.records[-1].header + LARGE + CRLF2
    for number, piece in enumerate(foreign.cut(whole, 4000)):
        made.frame(piece, content_size=bool(number & 1))
    assert_reads_back(made.record(LAST))


def test_a_record_that_cannot_be_seeked_in_says_so() -> None:
    made = three(content_size=False)
    assert status_of(made, 1) == TableStatus.STREAM
    assert status_of(three(), 1) == TableStatus.NONE
    assert status_of(three(), 0) == TableStatus.SINGLE


def test_frames_without_content_size_are_seeked_by_the_records_own_table() -> None:
    made = Foreign({"content_size": False}).record(FIRST).record(LARGE, cuts=3000, table=True).record(LAST)
    put = made.records[1]
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        record = archive.record_at(put.offset, put.length)
        assert record.seek_table_status == TableStatus.RECORD
        assert_is(record, put)
    assert_reads_back(made)


@pytest.mark.parametrize("content_size", [True, False])
def test_empty_block_header_and_last_block_of_a_stream(content_size: bool) -> None:
    # Flushed streams hold many blocks, empty ones too.
    made = Foreign()
    header = foreign.warc_header(len(LARGE))
    compressor = foreign.zstandard.ZstdCompressor(write_checksum=True, write_content_size=content_size)
    content = header + LARGE + CRLF2
    stream = compressor.compressobj(size=len(content) if content_size else -1)
    stored = b""
    for piece in foreign.cut(content, 700):
        stored += stream.compress(piece) + stream.flush(foreign.zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        stored += stream.flush(foreign.zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    stored += stream.flush()
    made.begin(header, LARGE)
    made._put(stored, len(content), foreign.checksum(content), record=True)
    assert_reads_back(made.record(LAST))


# Empty frames.


def test_empty_frames_anywhere() -> None:
    made = Foreign().empty().empty(content_size=False)

    def between(to: Foreign, number: int) -> None:
        to.empty(content_size=bool(number & 1), checksum=bool(number & 2))

    made.record(FIRST).empty(checksum=False).record(LARGE, cuts=3000, between=between).empty().record(LAST)
    made.empty()
    assert_streams_back(made)
    assert contents(made.bytes()) == put_contents(made)
    with seekwarc.open(made.bytes()) as archive:
        for put in made.records:
            assert_is(archive.record_at(put.offset, put.length), put)


@pytest.mark.parametrize("behind", [b"", foreign.skippable(0x184D2A50, b"abc")], ids=["", "extension"])
@pytest.mark.parametrize("record", [True, False], ids=["record", "no record"])
def test_empty_frame_without_content_size_at_the_end_ends_the_file(behind: bytes, record: bool) -> None:
    made = Foreign()
    if record:
        made.record(FIRST)
    made.empty(content_size=False).empty(content_size=False, checksum=False)
    with watchdog(), nullcontext() if record else pytest.raises(FormatError, match="has no record"):
        assert contents(made.bytes() + behind) == put_contents(made)


def test_empty_frames_that_state_their_size_anywhere() -> None:
    made = Foreign().empty()
    made.record(FIRST).empty().record(LARGE, cuts=3000, between=lambda to, _: to.empty()).empty()
    made.record(LAST).empty().empty()
    assert_reads_back(made)


def test_empty_frame_of_a_dictionary_file() -> None:
    made = (
        Foreign().dictionary(compressed=True).empty().record(FIRST).empty().record(LARGE, cuts=3000).empty()
    )
    assert_reads_back(made)


@pytest.mark.parametrize("read", [list, lambda archive: [*archive.in_order()]], ids=["records", "in order"])
def test_file_without_a_record_is_an_error(read: Callable[[seekwarc.Reader], object]) -> None:
    data = Foreign().empty().extension(data=b"x").empty().bytes()
    with pytest.raises(FormatError, match="has no record"), seekwarc.open(data) as archive:
        read(archive)


# Extension frames.


@pytest.mark.parametrize("magic", EXTENSIONS, ids=hex)
def test_extension_frames_of_any_magic_and_size_anywhere(magic: int) -> None:
    for size in (0, 1, 70_000):
        data = noise(size)
        made = Foreign().empty().extension(magic, data)
        made.record(FIRST).extension(magic, data)
        made.record(LARGE, cuts=6000, between=lambda to, _, data=data: to.extension(magic, data))
        made.extension(magic, data).record(LAST).extension(magic, data)
        assert_reads_back(made)


@pytest.mark.parametrize("content_size", [True, False])
def test_extension_frames_before_a_record_do_not_belong_to_it(content_size: bool) -> None:
    made = Foreign({"content_size": content_size}).record(FIRST)
    for magic in EXTENSIONS:
        made.extension(magic, b"some").extension(magic)
    made.record(LAST)
    assert contents(made.bytes()) == put_contents(made)
    assert_streams_back(made)


def test_extension_frames_that_hold_frames() -> None:
    hidden = three().bytes()
    made = Foreign().record(FIRST).extension(0x184D2A5E, hidden)
    made.record(LARGE, cuts=6000, between=lambda to, _: to.extension(0x184D2A53, hidden))
    assert_reads_back(made.record(LAST).extension(0x184D2A5F, hidden))


def test_an_extension_frame_cut_short_is_reported() -> None:
    made = three().extension(0x184D2A55, bytes(1000))
    with (
        seekwarc.open(RecordingSource(made.bytes()[:-1])) as archive,
        pytest.raises(seekwarc.TruncatedError, match=r"recorded\.warc\.zst.*offset"),
    ):
        list(archive)


def test_reading_over_an_extension_frame_does_not_read_it() -> None:
    # 40 MiB of somebody's data between two frames of a record, of which 2000 bytes are wanted.
    gap = 20 << 20
    made = Foreign().record(LARGE, cuts=5000, between=lambda to, _: to.extension(0x184D2A52, bytes(gap)))
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        block = archive.record_at(0).block
        assert block.pread(8000, 4000) == LARGE[8000:12_000]
    assert max(stop - start for start, stop in source.requests) <= 17 << 20


# Dictionaries.


@pytest.mark.parametrize("compressed", [True, False], ids=["compressed", "raw"])
@pytest.mark.parametrize("name", [True, False], ids=["named", "unnamed"])
@pytest.mark.parametrize("checksum", [True, False], ids=["checksum", "no checksum"])
@pytest.mark.parametrize("content_size", [True, False], ids=["size", "no size"])
def test_dictionaries(compressed: bool, name: bool, checksum: bool, content_size: bool) -> None:
    made = Foreign().dictionary(compressed=compressed, name=name)
    made.frame_options |= {"checksum": checksum, "content_size": content_size}
    made.record(FIRST).record(LARGE, cuts=3000).record(text(500, seed=9)).record(LAST)
    assert_reads_back(made)


def test_dictionary_file_with_extension_frames_and_tables() -> None:
    made = Foreign().dictionary(compressed=True).extension(data=b"x" * 100)
    made.record(FIRST).record(LARGE, cuts=3000, table=True).extension().record(LAST).file_table()
    assert_reads_back(made)


def test_a_frame_of_a_dictionary_file_that_is_compressed_without_it() -> None:
    made = Foreign().dictionary(compressed=True).record(FIRST).record(LARGE, cuts=3000, dictionary=None)
    assert_reads_back(made.record(LAST, dictionary=None).record(FIRST))


def test_dictionary_is_loaded_once_and_only_when_needed() -> None:
    made = Foreign().dictionary(compressed=False).record(FIRST).record(LARGE, cuts=3000)
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        for _ in range(3):
            for put in made.records:
                assert archive.record_at(put.offset, put.length).block.read() == put.block
    assert sum(start == 0 for start, _ in source.requests) <= 2


def test_wrong_dictionary_is_named_in_the_error() -> None:
    dictionary = foreign.some_dictionary()
    other = bytearray(dictionary.as_bytes())
    other[4:8] = (77).to_bytes(4, "little")
    made = Foreign().raw(foreign.skippable(foreign.DICTIONARY_FRAME, bytes(other)))
    made.record(FIRST, dictionary=dictionary)
    with (
        seekwarc.open(RecordingSource(made.bytes())) as archive,
        pytest.raises(seekwarc.FormatError, match=r"recorded.*dictionary 305419896.*dictionary 77"),
    ):
        list(archive)


def test_missing_dictionary_is_named_in_the_error() -> None:
    made = Foreign().record(FIRST, dictionary=foreign.some_dictionary())
    with (
        seekwarc.open(RecordingSource(made.bytes())) as archive,
        pytest.raises(seekwarc.FormatError, match=r"recorded.*305419896.*no dictionary"),
    ):
        list(archive)


@pytest.mark.parametrize("content_size", [True, False])
def test_missing_dictionary_is_named_in_a_record_of_several_frames(content_size: bool) -> None:
    # The header's frame needs none: the error comes from the frame of the block.
    options = {"dictionary": foreign.some_dictionary(), "content_size": content_size}
    header = foreign.warc_header(len(LARGE))
    made = Foreign().begin(header, LARGE).frame(header)
    made.frame(LARGE[:9000], **options).frame(LARGE[9000:] + CRLF2, **options)
    with (
        seekwarc.open(RecordingSource(made.bytes())) as archive,
        pytest.raises(seekwarc.FormatError, match=r"dictionary"),
    ):
        archive.record_at(0).block.read()


@pytest.mark.parametrize("compressed", [True, False])
def test_dictionary_beyond_the_limit_is_refused_and_the_limit_can_be_raised(compressed: bool) -> None:
    made = Foreign().dictionary(compressed=compressed).record(FIRST)
    size = len(foreign.some_dictionary().as_bytes())
    with (
        seekwarc.open(made.bytes(), max_dictionary_size=size - 1) as archive,
        pytest.raises(seekwarc.LimitError, match="dictionary"),
    ):
        list(archive)
    assert_reads_back(made, max_dictionary_size=size)


def test_two_dictionaries_in_one_frame_are_never_read_as_the_first() -> None:
    dictionary = foreign.some_dictionary()
    other = bytearray(dictionary.as_bytes())
    other[-4000:] = bytes(4000)
    both = foreign.zstd_frame(bytes(other)) + foreign.zstd_frame(dictionary.as_bytes())
    made = Foreign(frame_options={"dictionary": dictionary, "name_dictionary": False})
    made.raw(foreign.skippable(foreign.DICTIONARY_FRAME, both)).record(FIRST, checksum=False)
    with seekwarc.open(made.bytes()) as archive:
        with pytest.raises(seekwarc.FormatError, match=r"offset 0: .*after its Zstandard frame"):
            next(iter(archive))
        with pytest.raises(seekwarc.FormatError, match=r"offset 0: .*after its Zstandard frame"):
            archive.record_at(made.records[0].offset).block.read()


def test_dictionary_frame_that_lies_about_its_size_allocates_nothing() -> None:
    data = b"\x5d\x2a\x4d\x18\xff\xff\xff\xff" + Foreign().record(FIRST).bytes()
    with seekwarc.open(data) as archive, pytest.raises(seekwarc.LimitError, match="4294967295"):
        list(archive)


# Windows.


def test_windows_up_to_128_mib_are_read() -> None:
    made = three(window_log=27, content_size=False)
    assert_reads_back(made)


@pytest.mark.parametrize("pipe", [False, True])
def test_windows_beyond_the_limit_are_refused_and_the_limit_can_be_raised(pipe: bool) -> None:
    made = three(window_log=27, content_size=False)
    data = made.bytes()
    with (
        seekwarc.open(Pipe(data) if pipe else data, max_window_size=8 << 20) as archive,
        pytest.raises(seekwarc.LimitError, match=r"134217728.*8388608.*raise max_window_size \("),
    ):
        list(archive)
    made = three(window_log=28, content_size=False)
    with seekwarc.open(made.bytes()) as archive, pytest.raises(seekwarc.LimitError, match="max_window_size"):
        list(archive)
    assert_reads_back(made, max_window_size=1 << 28)


def test_window_beyond_the_limit_is_no_damage_where_a_table_leads_to_the_frame() -> None:
    header = foreign.warc_header(len(LARGE))
    made = Foreign().begin(header, LARGE).frame(header)
    for piece in (LARGE[:9000], LARGE[9000:] + CRLF2):
        made.frame(piece, window_log=27, content_size=False)
    made.table()
    with (
        seekwarc.open(made.bytes(), max_window_size=8 << 20) as archive,
        pytest.raises(seekwarc.LimitError, match="max_window_size"),
    ):
        archive.record_at(0, len(made.data)).block.read()
    assert_reads_back(made)


# Several records in one frame.


def shared(**options: Any) -> Foreign:
    """Two frames with three records in them, and a record of its own behind."""
    made = Foreign(options)
    content, starts = b"", []
    for number, block in enumerate((FIRST, LARGE, LAST)):
        starts.append(len(content))
        header = foreign.warc_header(len(block), number)
        made.begin(header, block)
        content += header + block + CRLF2
    made.frame(content[:5000]).frame(content[5000:])
    for put in made.records:
        put.stop = len(made.data)
    second = made.entries[0][0]
    for put, start in zip(made.records, starts, strict=True):
        put.offset = 0 if start < 5000 else second
    return made.record(FIRST)


@pytest.mark.parametrize("content_size", [True, False])
def test_several_records_in_a_frame_are_read_in_order_with_a_warning(content_size: bool) -> None:
    made = shared(content_size=content_size)
    with pytest.warns(seekwarc.FormatWarning, match="share one frame"):
        assert contents(made.bytes()) == put_contents(made)
    with pytest.warns(seekwarc.FormatWarning), seekwarc.open(made.bytes()) as archive:
        assert [record.offset for record in archive] == [put.offset for put in made.records]
    with pytest.warns(seekwarc.FormatWarning):
        assert contents(Pipe(made.bytes())) == put_contents(made)


def test_several_records_in_a_frame_stay_readable_after_the_iteration() -> None:
    made = shared()
    with seekwarc.open(made.bytes()) as archive:
        with pytest.warns(seekwarc.FormatWarning):
            records = list(archive)
        for record, put in zip(reversed(records), reversed(made.records), strict=True):
            assert_is(record, put)


def test_a_file_that_is_one_frame() -> None:
    content = three().plain().bytes()
    data = foreign.zstd_frame(content)
    with pytest.warns(seekwarc.FormatWarning):
        assert contents(data) == put_contents(three())


# Truncation.


@pytest.mark.parametrize("content_size", [True, False])
def test_truncated_last_frame_costs_only_the_last_record(content_size: bool) -> None:
    made = three(content_size=content_size)
    for cut in (1, 5, 300, len(LAST) - 10):
        found = []
        with (
            seekwarc.open(RecordingSource(made.bytes()[:-cut]), strict=True) as archive,
            pytest.raises(seekwarc.FormatError, match=rf"recorded.*offset {made.records[2].offset}"),
        ):
            for record in archive:
                found.append((record.header.raw, record.block.read()))
        assert found[:2] == put_contents(made)[:2]


def test_a_record_cut_between_its_frames_is_an_error() -> None:
    made = Foreign().record(LARGE, cuts=3000, table=True)
    data = made.bytes()
    end = sum(entry[0] for entry in made.entries[:4])
    for stop in (end, end + 2, end + 10):
        for length in (None, stop, len(data)):
            for strict in (False, True):
                with (
                    seekwarc.open(RecordingSource(data[:stop]), strict=strict) as archive,
                    pytest.raises(seekwarc.TruncatedError, match=rf"recorded.*offset (0|{end})"),
                ):
                    block = archive.record_at(0, length).block
                    block.read() if strict else block.pread(0, block.size)


def test_garbage_after_the_last_record_is_reported_after_it() -> None:
    made = three()
    with (
        seekwarc.open(RecordingSource(made.bytes() + b"garbage")) as archive,
        pytest.raises(seekwarc.FormatError, match=rf"offset {len(made.data)}: .*garbage"),
    ):
        for record, put in zip(archive, made.records, strict=False):
            assert_is(record, put)
        # The third record's end is where the garbage starts: zip has asked for a fourth.


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
@pytest.mark.parametrize("form", ["frames", "plain", "gzip"])
@pytest.mark.parametrize("behind", [b"abcd", b"\r\nab", b"abcd" + CRLF2])
def test_bytes_after_a_block_that_are_no_line_breaks_are_reported(form: str, behind: bytes) -> None:
    # A Content-Length that is too small, or a writer that forgot what stands between records.
    made = Foreign().record(FIRST, trailer=behind).record(LAST, trailer=behind)
    if form != "frames":
        made = getattr(made, form)(trailer=behind)
    with seekwarc.open(RecordingSource(made.bytes())) as archive:
        if form != "plain":
            # Its frame or member says where such a record ends.
            for record, put in zip(archive, made.records, strict=True):
                assert_is(record, put)
                assert re.search("is too small: [0-9]+ more bytes come before", record.problem or "")
            return
        with pytest.raises(seekwarc.FormatError, match=r"recorded.*offset \d+: "):
            for record, put in zip(archive, made.records, strict=True):
                assert_is(record, put)


LYING = {
    "plain": lambda data: data,
    "gzip": foreign.gzip_member,
    "zst": foreign.zstd_frame,
    "zst without size": lambda data: foreign.zstd_frame(data, content_size=False),
    "zst frames": lambda data: foreign.zstd_frame(data[:30]) + foreign.zstd_frame(data[30:]),
}


@pytest.mark.parametrize("make", LYING.values(), ids=LYING)
@pytest.mark.parametrize("claimed", [500_000_000, 10**17])
def test_a_content_length_that_lies_allocates_nothing(make: Callable[[bytes], bytes], claimed: int) -> None:
    data = make(b"WARC/1.1\r\nContent-Length: %d\r\n\r\nonly this much" % claimed)
    with seekwarc.open(RecordingSource(data)) as archive:
        tracemalloc.start()
        try:
            with pytest.raises(seekwarc.TruncatedError, match=r"recorded.*offset 0"):
                archive.record_at(0).block.open().readall()
            with pytest.warns(seekwarc.FormatWarning, match=r"recorded.*offset 0: the record is cut off"):
                assert archive.record_at(0).block.read() == b"only this much"
            assert tracemalloc.get_traced_memory()[1] < 50_000_000
        finally:
            tracemalloc.stop()


def test_bytes_that_are_there_can_be_read_where_content_length_lies() -> None:
    for make in (LYING["plain"], LYING["gzip"], LYING["zst without size"]):
        data = make(b"WARC/1.1\r\nContent-Length: 100000000000\r\n\r\nonly this much")
        with seekwarc.open(data) as archive:
            assert archive.record_at(0).block.pread(5, 4) == b"this"


# Tables that are right.


@pytest.mark.parametrize("checksums", [True, False])
def test_record_tables_are_used(checksums: bool) -> None:
    made = Foreign().record(FIRST).record(LARGE, cuts=3000, table={"checksums": checksums}).record(LAST)
    assert status_of(made, 1) == TableStatus.RECORD
    assert status_of(made, 1, length=False) == TableStatus.RECORD
    assert_reads_back(made)


@pytest.mark.parametrize("checksums", [True, False])
def test_file_tables_are_used(checksums: bool) -> None:
    made = three().file_table(checksums=checksums)
    assert status_of(made, 1) == TableStatus.FILE
    assert status_of(made, 1, length=False) == TableStatus.FILE
    assert_reads_back(made)


def test_unused_bits_of_a_table_mean_nothing() -> None:
    for bits in (1, 2, 3):
        made = Foreign().record(LARGE, cuts=3000, table={"descriptor": 0x80 | bits}).record(LAST)
        assert status_of(made) == TableStatus.RECORD
        assert_reads_back(made)


def test_tables_list_extension_and_empty_frames() -> None:
    def between(to: Foreign, _: int) -> None:
        to.extension(0x184D2A51, b"abc").empty()

    made = Foreign().record(FIRST).extension().record(LARGE, cuts=3000, between=between, table=True)
    made.extension(0x184D2A5F, b"behind").record(LAST).file_table()
    assert status_of(made, 1, length=False) in (TableStatus.FILE, TableStatus.RECORD)
    assert_reads_back(made)


def test_cat_of_two_files_with_tables() -> None:
    one = three().file_table()
    two = Foreign().empty().record(LARGE, cuts=2000, table=True).record(FIRST).record(LARGE, cuts=500)
    two.file_table()
    made = Foreign().append(one).append(two).append(one)
    assert_reads_back_but_lengths_before_tables(made)
    for number in range(len(made.records)):
        expected = (TableStatus.FILE, TableStatus.RECORD, TableStatus.SINGLE)
        assert status_of(made, number, length=False) in expected


def test_cat_of_files_with_and_without_tables() -> None:
    plain, listed = three(), three().file_table()
    for parts in ((plain, listed), (listed, plain), (plain, listed, plain)):
        made = Foreign()
        for part in parts:
            made.append(part)
        assert_reads_back_but_lengths_before_tables(made)


def assert_reads_back_but_lengths_before_tables(made: Foreign) -> None:
    """A file table in the middle may be counted to the record in front of it, or not."""
    assert_reads_back(made, lengths=False)
    with seekwarc.open(made.bytes()) as archive:
        for record, put in zip(list(archive), made.records, strict=True):
            assert record.length >= put.length
            assert_is(archive.record_at(put.offset, record.length), put)
            assert_is(archive.record_at(put.offset, put.length), put)


# Tables that are wrong. Nothing but the truth may come out.


def shifted(entries: list[Entry]) -> list[Entry]:
    """The same content sizes in another order: every offset but the ends is wrong."""
    sizes = [entry[1] for entry in entries]
    sizes = [*sizes[1:], sizes[0]]
    return [(stored, size, check) for (stored, _, check), size in zip(entries, sizes, strict=True)]


def moved(entries: list[Entry]) -> list[Entry]:
    """Stored sizes in another order: every frame but the first is elsewhere."""
    sizes = [entry[0] for entry in entries]
    sizes = [*sizes[1:], sizes[0]]
    return [(size, content, check) for (_, content, check), size in zip(entries, sizes, strict=True)]


def one_entry(number: int, stored: int = 0, content: int = 0) -> Change:
    def change(entries: list[Entry]) -> list[Entry]:
        old = entries[number]
        entries[number] = (old[0] + stored, old[1] + content, old[2])
        return entries

    return change


UNUSABLE = {
    "reserved bit 2": {"descriptor": 0x84},
    "reserved bit 6": {"descriptor": 0xC0},
    "all reserved bits": {"descriptor": 0xFC},
    "count too large by one": {"count": 8},
    "count too small by one": {"count": 6},
    "count 0": {"count": 0},
    "count of 4 Gi": {"count": 2**32 - 1},
    "footer magic": {"footer_magic": 0x8F92EAB2},
    "no entries": {"change": lambda _: []},
    "content without stored bytes": {"change": lambda e: [(0, 5, 0), *e[:-1], (e[-1][0], e[-1][1] - 5, 0)]},
    "anchor in front of the record": {"change": one_entry(0, stored=100)},
    "anchor in front of the file": {"change": one_entry(0, stored=2**31)},
    "anchor inside the record": {"change": one_entry(1, stored=-10)},
    "content sum too large": {"change": one_entry(2, content=1)},
    "content sum too small": {"change": one_entry(2, content=-1)},
    "content sum of a sum above 2**32": {"change": one_entry(2, content=2**31)},
    "an entry less": {"change": lambda e: e[1:]},
    "an entry of nothing": {"change": lambda e: [(0, 0, EMPTY)] * len(e)},
    "the neighbour's": {"change": lambda _: [(300, 200, 1), (400, 500, 2)]},
}


@pytest.mark.parametrize("wrong", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_record_table_is_an_extension_frame(wrong: dict[str, Any]) -> None:
    made = Foreign().record(FIRST).record(LARGE, cuts=3000, table=wrong).record(LAST)
    assert len(made.records[1].block) == len(LARGE)
    assert status_of(made, 1) in (TableStatus.UNUSABLE, TableStatus.NONE)
    assert status_of(made, 1, length=False) in (TableStatus.UNUSABLE, TableStatus.NONE)
    # One that begins in front of the record may be the table of a file that others were put behind.
    assert_reads_back(made, lengths=wrong is not UNUSABLE["anchor in front of the record"])


@pytest.mark.parametrize("wrong", UNUSABLE.values(), ids=UNUSABLE)
@pytest.mark.parametrize("checksums", [True, False])
def test_an_unusable_file_table_is_an_extension_frame(wrong: dict[str, Any], checksums: bool) -> None:
    made = three().file_table(**({"checksums": checksums} | wrong))
    for number in range(3):
        assert status_of(made, number) != TableStatus.RECORD
    # Whether the last record's length counts such a table is nobody's to say.
    assert_reads_back(made, lengths=False)


def test_a_table_whose_form_is_wrong_is_called_unusable() -> None:
    for wrong in ("anchor inside the record", "content sum too large", "content without stored bytes"):
        made = Foreign().record(FIRST).record(LARGE, cuts=3000, table=UNUSABLE[wrong]).record(LAST)
        assert status_of(made, 1) == TableStatus.UNUSABLE


def test_a_table_whose_skippable_frame_is_cut_or_padded() -> None:
    for change in (-1, 1, 8):
        made = Foreign().record(LARGE, cuts=3000)
        table = foreign.seek_table(made.record_entries)
        body = table[8:] + b"x" * change if change > 0 else table[8:][:change]
        made.extension(SEEK_TABLE_FRAME, body).record(LAST)
        assert status_of(made) in (TableStatus.UNUSABLE, TableStatus.NONE)
        assert_reads_back(made)


def test_a_right_table_in_a_frame_of_another_magic_is_no_table() -> None:
    made = Foreign().record(LARGE, cuts=3000, table={"frame_magic": 0x184D2A5F}).record(LAST)
    assert status_of(made) in (TableStatus.UNUSABLE, TableStatus.NONE)
    assert_reads_back(made)


def test_a_huge_count_is_refused_before_anything_is_read_for_it() -> None:
    made = Foreign().record(LARGE, cuts=3000, table={"count": 2**32 - 1})
    source = RecordingSource(made.bytes())
    with seekwarc.open(source) as archive:
        archive.record_at(0, len(made.data)).block.read()
        assert archive.stats.bytes_fetched <= 4 * source.size
    assert all(stop - start < 1 << 20 for start, stop in source.requests)


def reads_right_or_fails(made: Foreign, number: int) -> bool:
    """Read a record in ranges of all kinds: True if everything was right, False if damage was reported."""
    put = made.records[number]
    wholly_right = True
    for length in (None, put.length):
        with seekwarc.open(RecordingSource(made.bytes()), cache_size=0) as archive:
            try:
                record = archive.record_at(put.offset, length)
                assert record.header.raw == put.header
                block = record.block
                assert block.read() == put.block
            except seekwarc.SeekWarcError:
                wholly_right = False
                continue
            for start in range(0, len(put.block), 700):
                try:
                    assert block.pread(start, 900) == put.block[start : start + 900]
                except seekwarc.SeekWarcError:
                    wholly_right = False
    return wholly_right


@pytest.mark.parametrize("content_size", [True, False], ids=["size", "no size"])
@pytest.mark.parametrize("change", [shifted, moved])
@pytest.mark.parametrize("checksums", [True, False], ids=["checksums", "no checksums"])
def test_sizes_in_another_order_give_no_wrong_bytes(
    content_size: bool, change: Change, checksums: bool
) -> None:
    options = {"content_size": content_size}
    block = noise(20_000, seed=4)
    made = Foreign(options).record(FIRST)
    made.record(block, cuts=(2000, 4500, 9000, 15_000), table={"change": change, "checksums": checksums})
    reads_right_or_fails(made.record(LAST), 1)
    made = Foreign(options).record(FIRST).record(block, cuts=(2000, 4500, 9000, 15_000)).record(LAST)
    reads_right_or_fails(made.file_table(change, checksums=checksums), 1)


def test_a_file_table_that_joins_two_frames_gives_no_wrong_bytes() -> None:
    # [A+B as one][C][D ...]: every frame that is listed holds as many bytes as is said.
    made = Foreign()
    pieces = [noise(2000, seed=n) for n in range(6)]
    made.record(b"".join(pieces)[: 12_000 - 4 - len(foreign.warc_header(11_000))], cuts=2000)
    size = len(made.records[0].header) + len(made.records[0].block) + 4
    assert size % 2000 == 0
    second = noise(size - 4 - len(foreign.warc_header(11_000, 1)), seed=50)
    made.record(second, cuts=2000)

    def join(entries: list[Entry]) -> list[Entry]:
        a, b, *rest = entries
        return [a, (rest[0][0] + b[0], b[1], b[2]), *rest[1:]]

    made.file_table(join, checksums=False)
    reads_right_or_fails(made, 0)


def test_a_file_table_that_calls_a_frame_empty_gives_no_wrong_bytes() -> None:
    header = foreign.warc_header(11_000)
    made = Foreign()
    size = 12_000 - 4 - len(header)
    made.record(noise(size, seed=1), cuts=2000).record(noise(size, seed=2), cuts=2000)

    def skip(entries: list[Entry]) -> list[Entry]:
        entries[2] = (entries[2][0], 0, EMPTY)
        return entries

    made.file_table(skip)
    put = made.records[0]
    for length in (None, put.length):
        with seekwarc.open(made.bytes(), cache_size=0) as archive:
            try:
                found = archive.record_at(put.offset, length).block.read()
            except seekwarc.SeekWarcError:
                continue
            assert found == put.block


@pytest.mark.parametrize("kind", ["record", "file"])
@pytest.mark.parametrize("frame_checksum", [True, False], ids=["checksum", "no checksum"])
def test_wrong_checksums_in_a_table_are_damage(kind: str, frame_checksum: bool) -> None:
    def change(entries: list[Entry]) -> list[Entry]:
        number = next(i for i, e in enumerate(entries) if e[1] == 3000 and i >= wanted)
        stored, content, check = entries[number]
        entries[number] = (stored, content, check ^ 1)
        return entries

    made = Foreign({"checksum": frame_checksum}).record(FIRST)
    wanted = 3 if kind == "record" else 4
    made.record(LARGE, cuts=3000, table={"change": change} if kind == "record" else None).record(LAST)
    if kind == "file":
        made.file_table(change)
    put = made.records[1]
    start = put.offset + sum(entry[0] for entry in made.entries[1:4])
    stop = start + made.entries[4][0]
    place = rf"^recorded\.warc\.zst, offset {put.offset}: frame 3 \(stored bytes {start} to {stop}, "
    place += r"record bytes 9000 to 12000\): .*checksum"
    for length in (put.length, None):
        with seekwarc.open(RecordingSource(made.bytes())) as archive:
            record = archive.record_at(put.offset, length)
            block = record.block
            if length is None and kind == "record" and frame_checksum:
                # The frames were stepped over, which showed that the table is not theirs: it is not used.
                assert record.seek_table_status is TableStatus.UNUSABLE
                assert block.read() == put.block
                continue
            begin = 9000 - len(put.header)
            with pytest.raises(seekwarc.ChecksumError, match=place):
                block.pread(begin, 10)
            with pytest.raises(seekwarc.ChecksumError, match=place):
                block.read()
            # The frames round it are as good as ever.
            assert block.pread(begin - 3000, 3000) == put.block[begin - 3000 : begin]
            assert block.pread(begin + 3000, 3000) == put.block[begin + 3000 : begin + 6000]


@pytest.mark.parametrize("checksums", [True, False])
def test_the_table_of_a_neighbour_that_is_cut_alike(checksums: bool) -> None:
    # Frames of both records take as many bytes each: only the checksums tell whose table it is.
    header = foreign.warc_header(9000)
    made = Foreign().record(noise(9000, seed=1), header=header, cuts=2000)
    table = foreign.seek_table(made.record_entries, checksums=checksums)
    made.raw(table).record(noise(9000, seed=2), header=header, cuts=2000)
    sizes = [entry[:2] for entry in made.record_entries]
    assert sizes == [entry[:2] for entry in made.entries[: len(sizes)]]
    made.raw(table).record(LAST)
    put = made.records[1]
    for length in (None, put.length):
        with seekwarc.open(RecordingSource(made.bytes())) as archive:
            record = archive.record_at(put.offset, length)
            block = record.block
            if length is None:
                # A scan of the frames sees their checksums, and does not use a table that has others.
                expected = TableStatus.UNUSABLE if checksums else TableStatus.RECORD
                assert record.seek_table_status is expected
                assert block.read() == put.block
            elif checksums:
                with pytest.raises(seekwarc.ChecksumError, match=rf"recorded.*offset {put.offset}: frame"):
                    block.read()
            else:
                assert block.read() == put.block


def test_a_damaged_frame_is_named() -> None:
    made = three().file_table()
    put = made.records[1]
    start = put.offset + sum(entry[0] for entry in made.entries[1:3])
    data = bytearray(made.data)
    data[start + made.entries[3][0] - 30] ^= 0x10
    for target, reach in ((bytes(data), True), (Pipe(bytes(data)), False)):
        with seekwarc.open(target) as archive:
            record = archive.record_at(put.offset) if reach else next(r for r in archive if r.offset)
            with pytest.raises(seekwarc.ChecksumError, match=rf"offset ({put.offset}|{start}): .*damaged"):
                record.block.read()


# The other two forms of WARC files.


def test_plain() -> None:
    made = three().record(b"").plain()
    assert_reads_back(made)
    with seekwarc.open(made.bytes()) as archive:
        assert archive.compression == "none"
        assert {record.seek_table_status for record in archive} == {TableStatus.UNCOMPRESSED}


def test_gzip() -> None:
    made = three().record(b"").gzip()
    assert_reads_back(made)
    with seekwarc.open(made.bytes()) as archive:
        assert archive.compression == "gz"
        assert {record.seek_table_status for record in archive} == {TableStatus.STREAM}


@pytest.mark.parametrize("form", ["plain", "gzip"])
@pytest.mark.parametrize("trailer", [b"", b"\n\n", b"\r\n", b"\r\n" * 5])
def test_records_that_end_otherwise(form: str, trailer: bytes) -> None:
    made = getattr(three().record(b"").record(LAST), form)(trailer=trailer)
    assert contents(made.bytes()) == put_contents(made)
    assert_streams_back(made)
    with seekwarc.open(made.bytes()) as archive:
        for put in made.records:
            assert_is(archive.record_at(put.offset), put)


@pytest.mark.parametrize("trailer", [b"", b"\n\n", b"\r\n", b"\r\n" * 5])
@pytest.mark.parametrize("content_size", [True, False])
def test_records_of_a_zstandard_file_that_end_otherwise(trailer: bytes, content_size: bool) -> None:
    made = Foreign({"content_size": content_size}).record(FIRST, trailer=trailer)
    made.record(LARGE, cuts=3000, trailer=trailer).record(b"", trailer=trailer).record(LAST, trailer=trailer)
    assert contents(made.bytes()) == put_contents(made)
    assert_streams_back(made)
    with seekwarc.open(made.bytes()) as archive:
        for put in made.records:
            assert_is(archive.record_at(put.offset), put)


@pytest.mark.parametrize("trailer", [b"", b"\n\n", b"\r\n" * 5])
@pytest.mark.parametrize("tables", ["large", "every", "none"])
def test_records_that_end_otherwise_are_read_from_what_the_writer_makes(trailer: bytes, tables: str) -> None:
    large = text(200_000, seed=3)
    for blocks in ((FIRST,), (large,), (FIRST, large, LAST), (FIRST, large), (b"",)):
        made = Foreign()
        for number, block in enumerate(blocks):
            made.records.append(foreign.Put(foreign.warc_header(len(block), number), block))
        target = io.BytesIO()
        with seekwarc.Writer(target, tables=tables, frame_size=64 << 10) as writer:
            for put in made.records:
                written = writer.write_raw(put.header, put.block, trailer=trailer)
                put.offset, put.stop = written.offset, written.offset + written.length
        made.data += target.getvalue()
        assert contents(made.bytes()) == put_contents(made)
        with seekwarc.open(made.bytes()) as archive:
            for put in made.records:
                assert_is(archive.record_at(put.offset, put.length), put, ranges=3)


def test_bare_lf_headers() -> None:
    made = Foreign()
    for number, block in enumerate((FIRST, LARGE, LAST, b"")):
        made.record(block, header=foreign.warc_header(len(block), number, newline=b"\n"))
    assert_reads_back(made)
    assert_reads_back(made.plain())
    assert_reads_back(made.gzip())


def test_one_gzip_member_for_the_whole_file() -> None:
    data = foreign.gzip_member(three().plain().bytes())
    with pytest.warns(seekwarc.FormatWarning, match="share one frame or gzip member"):
        assert contents(data) == put_contents(three())
    with pytest.warns(seekwarc.FormatWarning):
        assert contents(Pipe(data)) == put_contents(three())
    with seekwarc.open(data) as archive:
        with pytest.warns(seekwarc.FormatWarning):
            records = list(archive)
        for record, put in zip(reversed(records), reversed(three().records), strict=True):
            assert record.block.read() == put.block


def test_a_gzip_record_in_several_members() -> None:
    content = three().plain()
    made = Foreign()
    for put in content.records:
        made.begin(put.header, put.block)
        for piece in foreign.cut(put.header + put.block + CRLF2, 4000):
            made.data += foreign.gzip_member(piece)
        made.records[-1].stop = len(made.data)
    assert_reads_back(made)


@pytest.mark.parametrize("size", [1, 512, 100_000])
def test_zero_padding_after_gzip_members(size: int) -> None:
    made = three().gzip()
    made.data += bytes(size)
    assert contents(made.bytes()) == put_contents(made)
    assert_streams_back(made)


def test_highly_compressed_gzip() -> None:
    made = Foreign().record(bytes(3 << 20)).record(LAST).gzip()
    assert_reads_back(made)


@pytest.mark.parametrize("form", ["plain", "gzip"])
def test_truncated_plain_and_gzip_files(form: str) -> None:
    made = getattr(three(), form)()
    for cut in (10, 400):
        found = []
        with (
            seekwarc.open(RecordingSource(made.bytes()[:-cut]), strict=True) as archive,
            pytest.raises(seekwarc.FormatError, match=rf"offset {made.records[2].offset}"),
        ):
            for record in archive:
                found.append(record.offset)
        assert found[:2] == [put.offset for put in made.records[:2]]


def test_damaged_gzip_is_reported() -> None:
    made = three().gzip()
    data = bytearray(made.data)
    data[made.records[1].offset + 200] ^= 1
    with (
        seekwarc.open(RecordingSource(bytes(data))) as archive,
        pytest.raises(seekwarc.FormatError, match=rf"recorded.*offset {made.records[1].offset}"),
    ):
        list(archive)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x28",
        b"\x50\x2a",
        b"PK\x03\x04 a zip file",
        b"<!doctype html>",
        b"BZh9",
        b"\xfd7zXZ\0",
        b"WARD/1.0",
    ],
)
def test_what_is_no_warc_file_is_refused(data: bytes) -> None:
    with (
        seekwarc.open(RecordingSource(data)) as archive,
        pytest.raises(seekwarc.UnsupportedError, match=r"recorded.*(not a WARC file|empty)"),
    ):
        list(archive)


# Lengths are the same however they are learnt.


@pytest.mark.parametrize("tables", ["large", "every", "none"])
def test_lengths_of_a_forward_reading_are_those_of_a_seeking_one(tables: str) -> None:
    made = Foreign().record(FIRST, table=tables == "every").record(LARGE, cuts=3000, table=tables != "none")
    made.record(text(8000, seed=8), cuts=3000, table=tables != "none")
    if tables == "large":
        made.file_table()
    with seekwarc.open(made.bytes()) as archive:
        lengths = []
        records = archive.in_order()
        while (record := records.step()) is not None:
            records.finish()
            lengths.append(record.length)
    assert lengths == [put.length for put in made.records]


@pytest.mark.parametrize("content_size", [True, False])
def test_extension_frames_after_the_last_record_belong_to_it(content_size: bool) -> None:
    made = three(content_size=content_size).extension(0x184D2A53, b"abc").extension()
    with seekwarc.open(made.bytes()) as archive:
        assert [record.length for record in list(archive)] == [put.length for put in made.records]


# Where there is no record.


def test_an_offset_where_no_record_starts_is_an_error_with_the_offset() -> None:
    made = three(content_size=True)
    for offset in (1, made.records[1].offset + 3, len(made.data), len(made.data) + 1000):
        with (
            seekwarc.open(RecordingSource(made.bytes())) as archive,
            pytest.raises(seekwarc.SeekWarcError, match=rf"recorded.*offset {offset}"),
        ):
            archive.record_at(offset)


def test_the_offset_of_a_frame_in_the_middle_of_a_record_is_an_error() -> None:
    made = Foreign().record(noise(9000), cuts=3000)
    offset = made.entries[0][0]
    with (
        seekwarc.open(RecordingSource(made.bytes())) as archive,
        pytest.raises(seekwarc.FormatError, match=rf"recorded.*offset {offset}"),
    ):
        archive.record_at(offset)


def test_an_offset_of_extension_frames_leads_to_the_next_record() -> None:
    made = Foreign().record(FIRST)
    offset = len(made.data)
    made.extension(0x184D2A50, b"index").empty().record(LARGE, cuts=3000, table=True)
    put = made.records[1]
    with seekwarc.open(made.bytes()) as archive:
        for length in (None, len(made.data) - offset):
            assert_is(archive.record_at(offset, length), put)


@pytest.mark.parametrize("length", [1, 50, 5000, 10**9])
def test_a_wrong_length_costs_speed_and_nothing_else(length: int) -> None:
    made = Foreign().record(FIRST).record(LARGE, cuts=3000, table=True).record(LAST).file_table()
    for put in made.records:
        with seekwarc.open(made.bytes()) as archive:
            assert_is(archive.record_at(put.offset, length), put)
