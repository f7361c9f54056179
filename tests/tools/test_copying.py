"""Frames on their way from one file into another: verified, in order, with bounded memory, rightly listed."""

from __future__ import annotations

import io
from contextlib import closing

import pytest

from seekwarc.errors import ChecksumError, SourceError, TruncatedError
from seekwarc.frames.encoder import OrderedWork
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.storage.source import BytesSource, RangeSource, Stats
from seekwarc.tools.copying import CopyAssembly, CopySettings, Recompressed, Tally, copied_bound
from seekwarc.tools.stored import StoredRecords
from seekwarc.write.output import open_output
from tests.support.foreign import Foreign, noise, skippable, text, warc_header
from tests.support.joined import assert_right, records_in
from tests.support.sources import RecordingSource
from tests.support.writing import HTTP_HEAD, KIB, MIB, RESPONSE, header_for, walk, written

FRAME = 64 * KIB


def copy(
    source: bytes | RangeSource, *, threads: int = 2, tables: str = "large", verify: bool = True
) -> tuple[bytes, Tally]:
    """Copy all records of a file."""
    target, tally = io.BytesIO(), Tally()
    stored = BytesSource(source, "some.warc.zst") if isinstance(source, bytes) else source
    with closing(OrderedWork(threads)) as work:
        file = ArchiveFile(stored, Stats())
        assembly = CopyAssembly(open_output(target), work, CopySettings(tables, verify=verify), tally)
        for record in StoredRecords(file):
            assembly.copy(record)
        assembly.end_file()
        assert assembly.file_size == len(target.getvalue())
    return target.getvalue(), tally


def mixed() -> Foreign:
    made = Foreign().record(b"first")
    for number in range(30):
        made.record(noise(3_000_000 if number % 7 == 3 else 2000, seed=number), cuts=400_000)
        made.record(text(3000, seed=number))
    return made


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_records_keep_their_order_whatever_the_threads(threads) -> None:
    made = mixed()
    data, tally = copy(made.bytes(), threads=threads)
    found = assert_right(data)
    assert [(r.header, r.block) for r in found] == [(p.header, p.block) for p in made.records]
    assert tally.bytes_copied == len(made.bytes())
    assert (tally.bytes_recompressed, tally.recompressed) == (0, ())


@pytest.mark.parametrize("verify", [True, False])
def test_every_byte_of_every_frame_is_copied(verify) -> None:
    made = mixed()
    frames = [frame.data for frame in walk(made.bytes())]
    assert [f.data for f in walk(copy(made.bytes(), verify=verify)[0]) if f.is_data] == frames


def test_a_file_that_is_right_comes_out_the_same() -> None:
    records = [(header_for(300_000), noise(300_000)), (header_for(5), b"small"), (header_for(0), b"")]
    for tables in ("large", "every"):
        data, _ = written(*records, *records, tables=tables, frame_size=FRAME)
        assert copy(data, tables=tables)[0] == data


def test_a_single_large_record_needs_no_second_table() -> None:
    data, _ = written((header_for(300_000), text(300_000)), frame_size=FRAME)
    copied, _ = copy(data)
    assert copied == data
    assert sum(frame.is_table for frame in walk(copied)) == 1


def test_the_size_of_the_file_is_bounded_at_any_time() -> None:
    made = mixed().record(b"x").extension(data=bytes(5000)).record(noise(300_000), cuts=1000)
    target = io.BytesIO()
    with closing(OrderedWork(2)) as work:
        assembly = CopyAssembly(open_output(target), work, CopySettings("large"), Tally())
        for record in StoredRecords(ArchiveFile(BytesSource(made.bytes()), Stats())):
            bound = assembly.most_size + copied_bound(record)
            assembly.copy(record)
            assert assembly.most_size >= assembly.file_size
            assembly.flush()
            assert assembly.file_size < assembly.most_size <= bound
        bound = assembly.most_size
        assembly.end_file()
    assert len(target.getvalue()) == assembly.file_size == bound


# Damage.


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("number", [1, 4, 7])
@pytest.mark.parametrize("place", [20, -1, -3])
def test_a_damaged_frame_is_named_by_its_place(threads, number, place) -> None:
    made = Foreign().record(b"x").record(noise(900_000), cuts=100_000).record(b"x")
    frame = [f for f in walk(made.bytes()) if f.offset >= made.records[1].offset][number]
    data = flipped(made.bytes(), (frame.end if place < 0 else frame.offset) + place)
    with pytest.raises(ChecksumError, match=rf"^some.warc.zst, offset {frame.offset}: the frame"):
        copy(data, threads=threads)
    assert len(copy(data, threads=threads, verify=False)[0]) > len(data), "only if nobody wanted to know"


def test_a_source_that_shrinks_is_told() -> None:
    class Shrinking(RecordingSource):
        def read(self, start: int, stop: int) -> bytes:
            # The second time it is read, to be copied.
            again = any(first <= start < last for first, last in self.requests)
            data = super().read(start, stop)
            return data[: len(data) // 2] if again else data

    with pytest.raises(TruncatedError, match="the file ends inside this frame"):
        copy(Shrinking(Foreign().record(noise(3_000_000), cuts=1 << 20).bytes()))


def test_a_source_that_fails_is_told() -> None:
    class Failing(RecordingSource):
        def read(self, start: int, stop: int) -> bytes:
            if start > 2_000_000:
                raise SourceError("the other side is gone")
            return super().read(start, stop)

    with pytest.raises(SourceError, match="the other side is gone"):
        copy(Failing(mixed().bytes()))


# Frames of any size.


@pytest.mark.parametrize("content", [noise(9_000_000), bytes(20_000_000)], ids=["noise", "zeros"])
def test_large_frames_are_copied_piece_by_piece(content) -> None:
    made = Foreign().record(b"x").record(content).record(content, cuts=(1000, 8_900_000)).record(b"x")
    source = RecordingSource(made.bytes())
    data, tally = copy(source)
    found = records_in(data) if len(content) < 16 * MIB else None
    assert max(stop - start for start, stop in source.requests) <= 9 << 20
    assert tally.bytes_copied == len(made.bytes())
    assert data.startswith(made.bytes()[: made.records[1].stop])
    if found is not None:
        assert [r.block for r in found] == [p.block for p in made.records]
        assert_right(data)


def test_a_large_frame_that_is_damaged_is_told() -> None:
    made = Foreign().record(b"x").record(noise(9_000_000))
    data = flipped(made.bytes(), 4_000_000)
    with pytest.raises(ChecksumError, match=rf"^some.warc.zst, offset {made.records[1].offset}: the frame"):
        copy(data)


def test_a_large_extension_frame_is_never_in_memory_as_a_whole() -> None:
    made = Foreign().record(b"x").extension(data=noise(20_000_000)).record(b"y")
    source = RecordingSource(made.bytes())
    data, _ = copy(source)
    assert max(stop - start for start, stop in source.requests) <= 2 << 20
    first, second = assert_right(data)
    assert first.extensions == [skippable(0x184D2A50, noise(20_000_000))]
    assert second.block == b"y"


def test_small_records_behind_a_large_one_do_not_pile_up(monkeypatch) -> None:
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
    assert_right(copy(made.bytes())[0])
    assert most < 80
    assert waiting == 0


# The head of the first record.


@pytest.mark.parametrize("tables", ["none", "every"])
@pytest.mark.parametrize("http", [True, False])
def test_the_first_record_takes_its_header_and_what_follows_into_one_frame(tables, http) -> None:
    """What the specification asks for in section 2.5, without another frame being made anew."""
    block = HTTP_HEAD + noise(300_000) if http else noise(300_000)
    record = (header_for(len(block), content_type=RESPONSE if http else "text/plain"), block)
    source, _ = written(record, (header_for(0), b""), tables=tables, frame_size=FRAME)
    data, tally = copy(source, tables="large")
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


def test_other_records_keep_theirs_apart() -> None:
    source, _ = written((header_for(5), b"small"), (header_for(300_000), noise(300_000)), frame_size=FRAME)
    assert copy(source)[0] == source


def test_extension_frames_in_the_head_stay() -> None:
    block = noise(300_000)
    header = warc_header(len(block))
    made = Foreign().record(
        block, cuts=(len(header), 100_000), between=lambda to, n: to.extension(data=b"%d" % n)
    )
    (found,) = assert_right(copy(made.bytes())[0])
    assert found.extensions == [skippable(0x184D2A50, b"1"), skippable(0x184D2A50, b"2")]
    assert found.block == block


def test_a_second_frame_that_is_taken_in_whole_is_gone() -> None:
    header = warc_header(100_000)
    made = Foreign().record(noise(100_000), cuts=(len(header), len(header) + 1000, len(header) + 90_000))
    (found,) = assert_right(copy(made.bytes())[0])
    assert found.frames[0].content == header + noise(100_000)[:1000]
    assert len(found.data_frames) == 3


def test_an_http_head_in_a_frame_with_the_body_is_told_from_it() -> None:
    block = HTTP_HEAD + noise(200_000)
    header = header_for(len(block), content_type=RESPONSE)
    made = Foreign().record(block, header=header, cuts=(len(header), 150_000))
    (found,) = assert_right(copy(made.bytes())[0])
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
        "a: 2 records compressed anew: because",
        "b: 1 record compressed anew: because",
    ]
