"""A file made of other files' records: which frames fit into it, and that nothing stays where it fails."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from seekwarc.errors import ChecksumError, FormatError, SourceError
from seekwarc.frames.encoder import OrderedWork
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.storage.source import BytesSource, Stats
from seekwarc.tools.copied import CopiedFile
from seekwarc.tools.copying import CopySettings, Tally
from seekwarc.tools.stored import StoredRecords
from tests.support.foreign import Foreign, noise, skippable, text, warc_header
from tests.support.joined import FoundRecord, assert_right, decompressed
from tests.support.writing import KIB, header_for, plain, written

FRAME = 64 * KIB
HEADER = len(warc_header(3000))


@pytest.fixture
def work() -> Iterator[OrderedWork]:
    with closing(OrderedWork(2)) as work:
        yield work


def records_of(data: bytes) -> StoredRecords:
    return StoredRecords(ArchiveFile(BytesSource(data, "some.warc.zst"), Stats()))


def copy(data: bytes, work: OrderedWork, tables: str = "large") -> tuple[list[FoundRecord], Tally, bytes]:
    target, tally = io.BytesIO(), Tally()
    file = CopiedFile(target, work, CopySettings(tables), tally)
    for record in records_of(data):
        file.add(record)
    file.finish()
    assert file.size == len(target.getvalue())
    return assert_right(target.getvalue(), tables=tables), tally, target.getvalue()


# Which frames fit.


@pytest.mark.parametrize("cuts", [(HEADER,), (1000,), (HEADER, 1000), 100])
def test_a_small_record_in_several_frames_becomes_one(work, cuts) -> None:
    made = Foreign().record(b"x").record(text(3000), cuts=cuts, table=True).record(b"y")
    found, tally, _ = copy(made.bytes(), work)
    assert [record.block for record in found] == [b"x", text(3000), b"y"]
    assert [(it.reason, it.records) for it in tally.recompressed] == [("a small record in several frames", 1)]
    assert tally.bytes_recompressed == HEADER + 3000


def test_so_does_one_whose_block_is_one_frame_however_large() -> None:
    with closing(OrderedWork(1)) as work:
        made = Foreign().record(b"x").record(text(500_000), cuts=(len(warc_header(500_000)),))
        found, tally, _ = copy(made.bytes(), work)
    assert [len(record.frames) for record in found] == [1, 1]
    assert tally.recompressed[0].reason == "a small record in several frames"


def test_a_large_record_is_copied_however_it_is_cut(work) -> None:
    made = Foreign().record(b"x").record(noise(300_000), cuts=7777).record(text(300_000), cuts=(100, 200_000))
    found, tally, data = copy(made.bytes(), work)
    assert not tally.recompressed
    assert [record.block for record in found] == [put.block for put in made.records]
    assert data.startswith(made.bytes()[: made.records[1].stop])


def test_a_last_segment_in_several_frames_is_small_too(work) -> None:
    header = header_for(10, ("WARC-Segment-Number", "2"))
    made = Foreign().record(b"x").record(b"0123456789", header=header, cuts=(len(header),), table=True)
    found, _, _ = copy(made.bytes(), work)
    assert len(found[1].frames) == 1


def test_for_a_table_each_every_header_stands_apart(work) -> None:
    records = [(header_for(5), b"small"), (header_for(0), b""), (header_for(300_000), noise(300_000))]
    every, _ = written(*records, tables="every", frame_size=FRAME)
    large, _ = written(*reversed(records), tables="large", frame_size=FRAME)
    _, tally, data = copy(every, work, "every")
    assert (tally.recompressed, data) == ((), every)
    found, tally, _ = copy(large, work, "every")
    assert [record.block for record in found] == [block for _, block in reversed(records)]
    assert [(it.reason, it.records) for it in tally.recompressed] == [
        ("the record header has no frame of its own", 2)
    ]


def test_for_a_table_each_a_record_without_a_block_is_one_frame(work) -> None:
    header = warc_header(0)
    made = Foreign().record(b"", cuts=(len(header),), table=True)
    found, tally, _ = copy(made.bytes(), work, "every")
    assert len(found[0].frames) == 1
    assert tally.recompressed[0].reason == "a small record in several frames"


def test_a_first_record_with_a_frame_too_large_to_be_made_anew_alone(work) -> None:
    size = 9_000_000
    made = Foreign().record(noise(size), cuts=(len(warc_header(size)), 8_900_000)).record(b"x")
    found, tally, _ = copy(made.bytes(), work)
    assert found[0].block == noise(size)
    assert "frames of more than 8 MiB" in tally.recompressed[0].reason
    made = Foreign().record(b"x").append(made)
    _, tally, _ = copy(made.bytes(), work)
    assert not tally.recompressed, "not as long as another stands in front"


def test_what_cannot_be_copied_is_stored_anew_byte_for_byte(work) -> None:
    made = Foreign().record(b"first")
    made.record(text(3000), content_size=False).record(text(3000), trailer=b"\r\n" * 3)
    made.record(noise(2_500_000), checksum=False, cuts=1_000_000).record(b"last")
    target, tally = io.BytesIO(), Tally()
    file = CopiedFile(target, work, CopySettings("large"), tally)
    for record in records_of(made.bytes()):
        file.add(record)
    file.finish()
    assert [it.records for it in tally.recompressed] == [1, 1, 1]
    contents = [put.header + put.block + b"\r\n\r\n" for put in made.records]
    contents[2] += b"\r\n"
    assert decompressed(target.getvalue()) == b"".join(contents)


def test_extension_frames_stay_where_a_record_is_stored_anew(work) -> None:
    made = Foreign().record(text(3000), cuts=1000, table=True).extension(data=b"behind").record(b"x")
    found, _, _ = copy(made.bytes(), work)
    assert found[0].extensions == [skippable(0x184D2A50, b"behind")]


def test_the_dictionary_frame_is_the_first(work) -> None:
    made = Foreign().dictionary(compressed=True).record(text(3000)).record(text(200_000), cuts=50_000)
    file = ArchiveFile(BytesSource(made.bytes()), Stats())
    dictionary = file.decoder.dictionary
    frame = made.bytes()[: made.records[0].offset]
    target = io.BytesIO()
    copied = CopiedFile(target, work, CopySettings("large", dictionary, frame), Tally())
    for record in StoredRecords(file):
        copied.add(record)
    copied.finish()
    assert target.getvalue().startswith(frame)
    assert_right(target.getvalue(), dictionary=dictionary.data)


# How large it is.


def test_room_is_counted_to_the_byte(work) -> None:
    made = Foreign().record(b"x").record(noise(300_000), cuts=50_000).record(noise(5000))
    _, _, whole = copy(made.bytes(), work)
    for size, expected in ((len(whole), True), (len(whole) - 200, False)):
        file = CopiedFile(io.BytesIO(), work, CopySettings("large"), Tally())
        *records, last = records_of(made.bytes())
        for record in records:
            file.add(record)
        assert file.has_room(last, size + 100) is expected
        file.discard()


def test_room_is_right_behind_what_was_compressed_anew(work) -> None:
    """Its size is known once it is compressed, and no earlier."""
    made = Foreign().record(noise(3_000_000), content_size=False).record(b"last")
    file = CopiedFile(io.BytesIO(), work, CopySettings("large"), Tally())
    records = iter(records_of(made.bytes()))
    file.add(next(records))
    last = next(records)
    assert not file.has_room(last, 3_000_000)
    assert file.has_room(last, 3_010_000)
    file.discard()


def test_room_for_a_record_that_is_read_is_what_it_takes_at_the_most(work) -> None:
    made = Foreign().record(b"x").record(noise(100_000), content_size=False)
    file = CopiedFile(io.BytesIO(), work, CopySettings("large"), Tally())
    first, second = records_of(made.bytes())
    file.add(first)
    assert not file.has_room(second, 100_000)
    assert file.has_room(second, 103_000)
    file.discard()


# Nothing stays.


@pytest.mark.parametrize("threads", [1, 3])
def test_damage_leaves_nothing(tmp_path, threads) -> None:
    made = Foreign().record(b"x").record(noise(3_000_000), cuts=1_000_000).record(b"x")
    data = bytearray(made.bytes())
    data[1_500_000] ^= 1
    with closing(OrderedWork(threads)) as work:
        file = CopiedFile(tmp_path / "new.warc.zst", work, CopySettings("large"), Tally())
        assert len(os.listdir(tmp_path)) == 1
        with pytest.raises(ChecksumError):
            for record in records_of(bytes(data)):
                file.add(record)
            file.finish()
        file.discard()
    assert os.listdir(tmp_path) == []


def test_a_file_without_records_is_not_made(tmp_path, work) -> None:
    file = CopiedFile(tmp_path / "new.warc.zst", work, CopySettings("large"), Tally())
    with pytest.raises(FormatError, match="no record was written"):
        file.finish()
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_told(work) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        file = CopiedFile(full, work, CopySettings("large"), Tally())
        with pytest.raises(SourceError, match="/dev/full: cannot be written: No space left"):
            for record in records_of(Foreign().record(b"x").bytes()):
                file.add(record)
            file.finish()
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(SourceError, match="No space left"):
        CopiedFile(full, work, CopySettings("large", None, skippable(0x184D2A5D, b"x")), Tally())


def test_a_record_that_is_there_once_more_is_not_counted(work) -> None:
    (record,) = records_of(Foreign().record(b"x").bytes())
    target, tally = io.BytesIO(), Tally()
    file = CopiedFile(target, work, CopySettings("large"), tally)
    file.add(record)
    file.add(record.kept(), again=True)
    file.add(record.loose("because").kept(), again=True)
    assert file.records == 3
    file.finish()
    assert tally.records == 1
    assert decompressed(target.getvalue()) == plain((record.header.raw, b"x")) * 3
