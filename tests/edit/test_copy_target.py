"""Copied frames: verified, in order, in bounded memory, and listed in the right tables."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from seekwarc.edit.concatenating import concat
from seekwarc.edit.copy_source import StoredRecords
from seekwarc.edit.copy_target import (
    CopySettings,
    CopyTarget,
    FrameCopier,
    Recompressed,
    Tally,
    copied_bound,
)
from seekwarc.errors import ChecksumError, FormatError, TargetError, TruncatedError
from seekwarc.frames.encoder import OrderedWork
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.local import BytesSource
from seekwarc.storage.source import RangeSource
from seekwarc.write.assembly import RecordAssembly
from seekwarc.write.forms import form_of
from seekwarc.write.opening import open_output
from seekwarc.write.options import WriteOptions
from tests.support.foreign import Foreign, skippable, text, warc_header
from tests.support.joined import FoundRecord, assert_right, decompressed, records_in
from tests.support.sources import RecordingSource
from tests.support.writing import HTTP_HEAD, KIB, MIB, RESPONSE, header_for, noise, plain, walk, written

FRAME = 64 * KIB
HEADER = len(warc_header(3000))


def opened(
    target: io.BytesIO, work: OrderedWork, tables: str, tally: Tally, *, verify: bool = True
) -> tuple[RecordAssembly, FrameCopier]:
    assembly = RecordAssembly(form_of("zst", WriteOptions(tables=tables)), work, open_output(target))
    return assembly, FrameCopier(assembly, work, tally, verify=verify)


def copy_frames(
    source: bytes | RangeSource, *, threads: int = 2, tables: str = "large", verify: bool = True
) -> tuple[bytes, Tally]:
    """Copy all records of a file."""
    target, tally = io.BytesIO(), Tally()
    stored = BytesSource(source, "some.warc.zst") if isinstance(source, bytes) else source
    with closing(OrderedWork(threads)) as work:
        file = ArchiveFile(Fetcher(stored))
        assembly, copier = opened(target, work, tables, tally, verify=verify)
        for record in StoredRecords(file):
            copier.copy(record)
        assembly.end_file()
        assert assembly.layout.size == len(target.getvalue())
    return target.getvalue(), tally


def mixed() -> Foreign:
    made = Foreign().record(b"first")
    for number in range(30):
        made.record(noise(3_000_000 if number % 7 == 3 else 2000, seed=number), cuts=400_000)
        made.record(text(3000, seed=number))
    return made


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_records_keep_their_order_with_any_threads(threads) -> None:
    made = mixed()
    data, tally = copy_frames(made.bytes(), threads=threads)
    found = assert_right(data)
    assert [(r.header, r.block) for r in found] == [(p.header, p.block) for p in made.records]
    assert tally.bytes_copied == len(made.bytes())
    assert (tally.bytes_recompressed, tally.recompressed) == (0, ())


@pytest.mark.parametrize("verify", [True, False])
def test_every_byte_of_every_frame_is_copied(verify) -> None:
    made = mixed()
    frames = [frame.data for frame in walk(made.bytes())]
    assert [f.data for f in walk(copy_frames(made.bytes(), verify=verify)[0]) if f.is_data] == frames


def test_a_valid_file_comes_out_the_same() -> None:
    records = [(header_for(300_000), noise(300_000)), (header_for(5), b"small"), (header_for(0), b"")]
    for tables in ("large", "every"):
        data, _ = written(*records, *records, tables=tables, frame_size=FRAME)
        assert copy_frames(data, tables=tables)[0] == data


def test_a_single_large_record_needs_no_second_table() -> None:
    data, _ = written((header_for(300_000), text(300_000)), frame_size=FRAME)
    copied, _ = copy_frames(data)
    assert copied == data
    assert sum(frame.is_table for frame in walk(copied)) == 1


def test_most_size_bounds_the_size_at_any_time() -> None:
    made = mixed().record(b"x").extension(data=bytes(5000)).record(noise(300_000), cuts=1000)
    target = io.BytesIO()
    with closing(OrderedWork(2)) as work:
        assembly, copier = opened(target, work, "large", Tally())
        for record in StoredRecords(ArchiveFile(Fetcher(BytesSource(made.bytes())))):
            bound = copier.size_bound + copied_bound(record)
            copier.copy(record)
            assert copier.size_bound >= assembly.layout.size
            assembly.flush()
            assert assembly.layout.size < copier.size_bound <= bound
        bound = copier.size_bound
        assembly.end_file()
    assert len(target.getvalue()) == assembly.layout.size == bound


# Damage.


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("number", [1, 4, 7])
@pytest.mark.parametrize("place", [20, -1, -3])
def test_a_damaged_frame_is_named_by_its_offset(threads, number, place) -> None:
    made = Foreign().record(b"x").record(noise(900_000), cuts=100_000).record(b"x")
    frame = [f for f in walk(made.bytes()) if f.offset >= made.records[1].offset][number]
    data = flipped(made.bytes(), (frame.end if place < 0 else frame.offset) + place)
    with pytest.raises(ChecksumError, match=rf"^some.warc.zst, offset {frame.offset}: the frame"):
        copy_frames(data, threads=threads)
    assert len(copy_frames(data, threads=threads, verify=False)[0]) > len(data), (
        "only if nobody wanted to know"
    )


def test_a_source_that_shrinks_is_an_error() -> None:
    class Shrinking(RecordingSource):
        def read(self, start: int, stop: int) -> bytes:
            # The second time it is read, to be copied.
            again = any(first <= start < last for first, last in self.requests)
            data = super().read(start, stop)
            return data[: len(data) // 2] if again else data

    with pytest.raises(TruncatedError, match="the file ends inside this frame"):
        copy_frames(Shrinking(Foreign().record(noise(3_000_000), cuts=1 << 20).bytes()))


def test_a_source_that_fails_is_an_error() -> None:
    class Failing(RecordingSource):
        def read(self, start: int, stop: int) -> bytes:
            if start > 2_000_000:
                raise TargetError("the other side is gone")
            return super().read(start, stop)

    with pytest.raises(TargetError, match="the other side is gone"):
        copy_frames(Failing(mixed().bytes()))


# Frames of any size.


@pytest.mark.parametrize("content", [noise(9_000_000), bytes(20_000_000)], ids=["noise", "zeros"])
def test_large_frames_are_copied_piece_by_piece(content) -> None:
    made = Foreign().record(b"x").record(content).record(content, cuts=(1000, 8_900_000)).record(b"x")
    source = RecordingSource(made.bytes())
    data, tally = copy_frames(source)
    found = records_in(data) if len(content) < 16 * MIB else None
    assert max(stop - start for start, stop in source.requests) <= 9 << 20
    assert tally.bytes_copied == len(made.bytes())
    assert data.startswith(made.bytes()[: made.records[1].stop])
    if found is not None:
        assert [r.block for r in found] == [p.block for p in made.records]
        assert_right(data)


def test_a_damaged_large_frame_is_an_error() -> None:
    made = Foreign().record(b"x").record(noise(9_000_000))
    data = flipped(made.bytes(), 4_000_000)
    with pytest.raises(ChecksumError, match=rf"^some.warc.zst, offset {made.records[1].offset}: the frame"):
        copy_frames(data)


def test_a_large_extension_frame_is_never_in_memory_as_a_whole() -> None:
    made = Foreign().record(b"x").extension(data=noise(20_000_000)).record(b"y")
    source = RecordingSource(made.bytes())
    data, _ = copy_frames(source)
    assert max(stop - start for start, stop in source.requests) <= 2 << 20
    first, second = assert_right(data)
    assert first.extensions == [skippable(0x184D2A50, noise(20_000_000))]
    assert second.block == b"y"


def test_small_records_after_a_large_one_do_not_pile_up(monkeypatch) -> None:
    waiting, most = 0, 0
    mark = OrderedWork.mark

    def watched(work: OrderedWork, step) -> None:
        nonlocal most
        mark(work, step)
        most = max(most, len(work._waiting))

    monkeypatch.setattr(OrderedWork, "mark", watched)
    made = Foreign().record(noise(2_000_000), cuts=500_000)
    for number in range(300):
        made.record(noise(20_000, seed=number))
    assert_right(copy_frames(made.bytes())[0])
    assert most < 80
    assert waiting == 0


# The head of the first record.


@pytest.mark.parametrize("tables", ["none", "every"])
@pytest.mark.parametrize("http", [True, False])
def test_the_first_frame_of_the_first_record_is_merged(tables, http) -> None:
    """What the specification asks for in annex A.2; no other frame is compressed again."""
    block = HTTP_HEAD + noise(300_000) if http else noise(300_000)
    record = (header_for(len(block), content_type=RESPONSE if http else "text/plain"), block)
    source, _ = written(record, (header_for(0), b""), tables=tables, frame_size=FRAME)
    data, tally = copy_frames(source, tables="large")
    (found, _) = assert_right(data)
    before = [frame for frame in walk(source) if frame.is_data]
    assert found.block == block
    if http:
        assert found.frames[0].content == record[0] + HTTP_HEAD
        assert [f.data for f in found.frames[1:]] == [f.data for f in before[2 : len(found.frames) + 1]]
        assert tally.bytes_recompressed == len(record[0] + HTTP_HEAD)
    else:
        assert found.frames[0].content == record[0] + block[:4096]
        assert found.frames[1].content == block[4096:FRAME], "from then on frames begin where they did"
        assert [f.data for f in found.frames[2:]] == [f.data for f in before[2 : len(found.frames)]]
        assert tally.bytes_recompressed == len(record[0]) + FRAME
    assert [reason.records for reason in tally.recompressed] == [1]
    assert "first record" in tally.recompressed[0].reason


def test_other_records_keep_their_header_frame() -> None:
    source, _ = written((header_for(5), b"small"), (header_for(300_000), noise(300_000)), frame_size=FRAME)
    assert copy_frames(source)[0] == source


def test_extension_frames_in_the_head_stay() -> None:
    block = noise(300_000)
    header = warc_header(len(block))
    made = Foreign().record(
        block, cuts=(len(header), 100_000), between=lambda to, n: to.extension(data=b"%d" % n)
    )
    (found,) = assert_right(copy_frames(made.bytes())[0])
    assert found.extensions == [skippable(0x184D2A50, b"1"), skippable(0x184D2A50, b"2")]
    assert found.block == block


def test_a_second_frame_may_be_merged_completely() -> None:
    header = warc_header(100_000)
    made = Foreign().record(noise(100_000), cuts=(len(header), len(header) + 1000, len(header) + 90_000))
    (found,) = assert_right(copy_frames(made.bytes())[0])
    assert found.frames[0].content == header + noise(100_000)[:1000]
    assert len(found.data_frames) == 3


def test_an_http_head_is_separated_from_the_body() -> None:
    block = HTTP_HEAD + noise(200_000)
    header = header_for(len(block), content_type=RESPONSE)
    made = Foreign().record(block, header=header, cuts=(len(header), 150_000))
    (found,) = assert_right(copy_frames(made.bytes())[0])
    assert found.frames[0].content == header + HTTP_HEAD
    assert found.block == block


# What is said of it.


def test_reasons_are_counted_by_file() -> None:
    tally = Tally()
    tally.add_reason("a", "because", 10)
    tally.add_reason("b", "because", 10)
    tally.add_reason("a", "because", 10)
    assert tally.bytes_recompressed == 30
    assert tally.recompressed == (Recompressed("a", "because", 2), Recompressed("b", "because", 1))
    assert [str(it) for it in tally.recompressed] == [
        "a: 2 records compressed again: because",
        "b: 1 record compressed again: because",
    ]


# A file of records: which frames fit into it, and that nothing stays where it fails.


@pytest.fixture
def work() -> Iterator[OrderedWork]:
    with closing(OrderedWork(2)) as work:
        yield work


def records_of(data: bytes) -> StoredRecords:
    return StoredRecords(ArchiveFile(Fetcher(BytesSource(data, "some.warc.zst"))))


def copy_records(
    data: bytes, work: OrderedWork, tables: str = "large"
) -> tuple[list[FoundRecord], Tally, bytes]:
    target, tally = io.BytesIO(), Tally()
    file = CopyTarget(target, work, CopySettings(tables), tally)
    for record in records_of(data):
        file.add(record)
    file.seal()
    assert file.size == len(target.getvalue())
    return assert_right(target.getvalue(), tables=tables), tally, target.getvalue()


# Which frames fit.


@pytest.mark.parametrize("cuts", [(HEADER,), (1000,), (HEADER, 1000), 100])
def test_a_small_record_in_several_frames_becomes_one(work, cuts) -> None:
    made = Foreign().record(b"x").record(text(3000), cuts=cuts, table=True).record(b"y")
    found, tally, _ = copy_records(made.bytes(), work)
    assert [record.block for record in found] == [b"x", text(3000), b"y"]
    assert [(it.reason, it.records) for it in tally.recompressed] == [("a small record in several frames", 1)]
    assert tally.bytes_recompressed == HEADER + 3000


def test_a_record_of_two_frames_becomes_one() -> None:
    with closing(OrderedWork(1)) as work:
        made = Foreign().record(b"x").record(text(500_000), cuts=(len(warc_header(500_000)),))
        found, tally, _ = copy_records(made.bytes(), work)
    assert [len(record.frames) for record in found] == [1, 1]
    assert tally.recompressed[0].reason == "a small record in several frames"


def test_a_large_record_is_copied_with_any_frames(work) -> None:
    made = Foreign().record(b"x").record(noise(300_000), cuts=7777).record(text(300_000), cuts=(100, 200_000))
    found, tally, data = copy_records(made.bytes(), work)
    assert not tally.recompressed
    assert [record.block for record in found] == [put.block for put in made.records]
    assert data.startswith(made.bytes()[: made.records[1].stop])


def test_a_small_last_segment_becomes_one_frame(work) -> None:
    header = header_for(10, ("WARC-Segment-Number", "2"))
    made = Foreign().record(b"x").record(b"0123456789", header=header, cuts=(len(header),), table=True)
    found, _, _ = copy_records(made.bytes(), work)
    assert len(found[1].frames) == 1


def test_in_mode_every_each_header_has_its_own_frame(work) -> None:
    records = [(header_for(5), b"small"), (header_for(0), b""), (header_for(300_000), noise(300_000))]
    every, _ = written(*records, tables="every", frame_size=FRAME)
    large, _ = written(*reversed(records), tables="large", frame_size=FRAME)
    _, tally, data = copy_records(every, work, "every")
    assert (tally.recompressed, data) == ((), every)
    found, tally, _ = copy_records(large, work, "every")
    assert [record.block for record in found] == [block for _, block in reversed(records)]
    assert [(it.reason, it.records) for it in tally.recompressed] == [
        ("the record header has no frame of its own", 2)
    ]


def test_in_mode_every_an_empty_record_is_one_frame(work) -> None:
    header = warc_header(0)
    made = Foreign().record(b"", cuts=(len(header),), table=True)
    found, tally, _ = copy_records(made.bytes(), work, "every")
    assert len(found[0].frames) == 1
    assert tally.recompressed[0].reason == "a small record in several frames"


def test_a_first_record_with_a_huge_frame_is_recompressed(work) -> None:
    size = 9_000_000
    made = Foreign().record(noise(size), cuts=(len(warc_header(size)), 8_900_000)).record(b"x")
    found, tally, _ = copy_records(made.bytes(), work)
    assert found[0].block == noise(size)
    assert "frames of more than 8 MiB" in tally.recompressed[0].reason
    made = Foreign().record(b"x").append(made)
    _, tally, _ = copy_records(made.bytes(), work)
    assert not tally.recompressed, "not as long as another stands in front"


def test_recompressed_records_keep_every_byte(work) -> None:
    made = Foreign().record(b"first")
    made.record(text(3000), content_size=False).record(text(3000), trailer=b"\r\n" * 3)
    made.record(noise(2_500_000), checksum=False, cuts=1_000_000).record(b"last")
    target, tally = io.BytesIO(), Tally()
    file = CopyTarget(target, work, CopySettings("large"), tally)
    for record in records_of(made.bytes()):
        file.add(record)
    file.seal()
    assert [it.records for it in tally.recompressed] == [1, 1, 1]
    contents = [put.header + put.block + b"\r\n\r\n" for put in made.records]
    contents[2] += b"\r\n"
    assert decompressed(target.getvalue()) == b"".join(contents)


def test_extension_frames_stay_after_a_recompressed_record(work) -> None:
    made = Foreign().record(text(3000), cuts=1000, table=True).extension(data=b"behind").record(b"x")
    found, _, _ = copy_records(made.bytes(), work)
    assert found[0].extensions == [skippable(0x184D2A50, b"behind")]


def test_the_dictionary_frame_is_the_first(work) -> None:
    made = Foreign().dictionary(compressed=True).record(text(3000)).record(text(200_000), cuts=50_000)
    file = ArchiveFile(Fetcher(BytesSource(made.bytes())))
    dictionary = file.decoder.dictionary
    frame = made.bytes()[: made.records[0].offset]
    target = io.BytesIO()
    copied = CopyTarget(target, work, CopySettings("large", dictionary, frame), Tally())
    for record in StoredRecords(file):
        copied.add(record)
    copied.seal()
    assert target.getvalue().startswith(frame)
    assert_right(target.getvalue(), dictionary=dictionary.data)


# How large it is.


def test_has_room_is_exact_to_the_byte(work) -> None:
    made = Foreign().record(b"x").record(noise(300_000), cuts=50_000).record(noise(5000))
    _, _, whole = copy_records(made.bytes(), work)
    for size, expected in ((len(whole), True), (len(whole) - 200, False)):
        file = CopyTarget(io.BytesIO(), work, CopySettings("large"), Tally())
        *records, last = records_of(made.bytes())
        for record in records:
            file.add(record)
        assert file.has_room(last, size + 100) is expected
        file.abort()


def test_has_room_is_exact_after_recompressed_records(work) -> None:
    """Its size is known only once it is compressed."""
    made = Foreign().record(noise(3_000_000), content_size=False).record(b"last")
    file = CopyTarget(io.BytesIO(), work, CopySettings("large"), Tally())
    records = iter(records_of(made.bytes()))
    file.add(next(records))
    last = next(records)
    assert not file.has_room(last, 3_000_000)
    assert file.has_room(last, 3_010_000)
    file.abort()


def test_has_room_uses_the_bound_of_a_recompressed_record(work) -> None:
    made = Foreign().record(b"x").record(noise(100_000), content_size=False)
    file = CopyTarget(io.BytesIO(), work, CopySettings("large"), Tally())
    first, second = records_of(made.bytes())
    file.add(first)
    assert not file.has_room(second, 100_000)
    assert file.has_room(second, 103_000)
    file.abort()


# Nothing stays.


@pytest.mark.parametrize("threads", [1, 3])
def test_damage_leaves_nothing(tmp_path, threads) -> None:
    made = Foreign().record(b"x").record(noise(3_000_000), cuts=1_000_000).record(b"x")
    data = bytearray(made.bytes())
    data[1_500_000] ^= 1
    with closing(OrderedWork(threads)) as work:
        file = CopyTarget(tmp_path / "new.warc.zst", work, CopySettings("large"), Tally())
        assert len(os.listdir(tmp_path)) == 1
        with pytest.raises(ChecksumError):
            for record in records_of(bytes(data)):
                file.add(record)
            file.seal()
        file.abort()
    assert os.listdir(tmp_path) == []


def test_a_file_without_records_is_not_made(tmp_path, work) -> None:
    file = CopyTarget(tmp_path / "new.warc.zst", work, CopySettings("large"), Tally())
    with pytest.raises(FormatError, match="no record was written"):
        file.seal()
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_an_error(work) -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        file = CopyTarget(full, work, CopySettings("large"), Tally())
        with pytest.raises(TargetError, match="/dev/full: cannot be written: No space left"):
            for record in records_of(Foreign().record(b"x").bytes()):
                file.add(record)
            file.seal()
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(TargetError, match="No space left"):
        CopyTarget(full, work, CopySettings("large", None, skippable(0x184D2A5D, b"x")), Tally())


def test_a_repeated_record_is_not_counted(work) -> None:
    (record,) = records_of(Foreign().record(b"x").bytes())
    target, tally = io.BytesIO(), Tally()
    file = CopyTarget(target, work, CopySettings("large"), tally)
    file.add(record)
    file.add(record.kept(), again=True)
    file.add(record.loose("because").kept(), again=True)
    assert file.records == 3
    file.seal()
    assert tally.records == 1
    assert decompressed(target.getvalue()) == plain((record.header.raw, b"x")) * 3


def test_a_first_record_whose_header_is_in_several_frames_is_compressed_again() -> None:
    """Its first frame would be taken for the whole header by readers that look there (annex A.2)."""
    made = Foreign().record(noise(200_000), cuts=(30, 90)).record(noise(200_000, seed=1), cuts=(30, 90))
    target = io.BytesIO()
    done = concat([made.bytes()], target)
    assert [it.records for it in done.recompressed] == [1]
    assert_right(target.getvalue())
    assert decompressed(target.getvalue()) == decompressed(made.bytes())
