"""Stored records: which can be copied, which cannot and why, and the mode of a file."""

from __future__ import annotations

import io

import pytest

import seekwarc
from seekwarc.edit.copy_source import (
    LooseRecord,
    StoredRecord,
    StoredRecords,
    has_table_each,
    loose_records,
)
from seekwarc.edit.frame_list import FrameList
from seekwarc.errors import FormatError, LimitError, TruncatedError
from seekwarc.format.warc import RECORD_END
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.local import BytesSource
from seekwarc.storage.source import Stats
from tests.support.foreign import (
    DICTIONARY_FRAME,
    SEEK_TABLE_FRAME,
    Foreign,
    seek_table,
    skippable,
    text,
    warc_header,
)
from tests.support.sources import RecordingSource
from tests.support.writing import KIB, header_for, noise, small_dictionary, written

FRAME = 64 * KIB


def opened(data: bytes) -> ArchiveFile:
    return ArchiveFile(Fetcher(BytesSource(data, "some.warc.zst")))


def found_in(made: Foreign) -> list[StoredRecord | LooseRecord]:
    """All records; loose ones are read, as required."""
    found = []
    for record in StoredRecords(opened(made.bytes())):
        found.append(record.kept() if isinstance(record, LooseRecord) else record)
    return found


def content(record: StoredRecord | LooseRecord) -> bytes:
    loose = record if isinstance(record, LooseRecord) else record.loose("")
    return loose.header.raw + loose.open_block().read(-1) + loose.trailer()


def stored(made: Foreign, frames: FrameList) -> list[bytes]:
    """The frames as in the file."""
    data = made.bytes()
    return [data[o : o + size] for o, size in zip(frames.offsets, frames.stored, strict=True)]


# Frames.


# What can be copied.


@pytest.mark.parametrize("cuts", [(), 1000, (300,), (5, 100, 2000)])
@pytest.mark.parametrize("dictionary", [False, True])
def test_valid_records_are_found_with_their_frames(cuts, dictionary) -> None:
    made = Foreign().dictionary(compressed=True) if dictionary else Foreign()
    made.record(b"").record(text(3000), cuts=cuts).record(noise(5000), cuts=cuts, table=True).record(b"x")
    made.file_table()
    found = found_in(made)
    assert all(isinstance(record, StoredRecord) for record in found)
    assert [(r.offset, r.header.raw) for r in found] == [(put.offset, put.header) for put in made.records]
    for record, put in zip(found, made.records, strict=True):
        assert record.size == len(put.header) + len(put.block) + 4 == sum(record.frames.contents)
        assert content(record) == put.header + put.block + RECORD_END
        table = seek_table([(0, 0, 0)] * len(record.frames)) if put is made.records[2] else b""
        assert record.stored_size == put.length - len(table)


def test_a_single_small_frame_is_in_memory() -> None:
    made = Foreign().record(text(50_000)).record(text(2 << 20))
    small, large = found_in(made)
    assert small.data == made.bytes()[: made.records[0].stop]
    assert large.data == b"", "frames of any size are not held in memory"


def test_frames_with_content_are_counted() -> None:
    made = Foreign().record(text(3000), cuts=(500, 900), between=lambda to, _: to.extension(data=b"pad"))
    record = found_in(made)[0]
    assert record.data_frames == 3
    assert len(record.frames) == 5
    assert record.second == 2


@pytest.mark.parametrize(("cut", "apart"), [(0, True), (1, False), (-1, False)])
def test_a_header_in_its_own_frame_is_recognized(cut, apart) -> None:
    made = Foreign().record(text(3000), cuts=(len(warc_header(3000)) + cut,))
    assert found_in(made)[0].header_is_apart is apart


def test_a_kept_record_has_no_following_frames() -> None:
    made = Foreign().record(b"x").extension(data=b"more")
    record = found_in(made)[0]
    assert len(record.following) == 1
    assert len(record.kept().following) == 0
    assert record.kept().data == record.data


def test_only_frame_headers_of_a_large_record_are_read() -> None:
    made = Foreign().record(noise(8_000_000), cuts=1 << 20).record(b"x")
    source = RecordingSource(made.bytes())
    assert len(list(StoredRecords(ArchiveFile(Fetcher(source))))) == 2
    assert source.bytes_asked < 3_000_000


# Frames without content.


def test_extension_frames_are_kept_in_place() -> None:
    made = Foreign().record(text(3000), cuts=1000, between=lambda to, n: to.extension(data=b"%d" % n))
    made.extension(0x184D2A5F, b"behind").extension(data=b"").record(b"next").extension(data=b"end")
    first, second = found_in(made)
    assert stored(made, first.frames)[1::2] == [skippable(0x184D2A50, b"%d" % n) for n in (1, 2, 3)]
    assert stored(made, first.following) == [skippable(0x184D2A5F, b"behind"), skippable(0x184D2A50)]
    assert stored(made, second.following) == [skippable(0x184D2A50, b"end")]


def test_extension_frames_before_the_first_record_follow_it() -> None:
    made = Foreign().empty().extension(data=b"front").record(b"x").extension(data=b"behind")
    record = found_in(made)[0]
    assert stored(made, record.following) == [
        skippable(0x184D2A50, b"front"),
        skippable(0x184D2A50, b"behind"),
    ]


@pytest.mark.parametrize(
    "frame",
    [
        seek_table([(20, 5, 0)]),
        seek_table([(20, 5, 0)], checksums=False),
        seek_table([(1 << 30, 5, 0)] * 3),
        seek_table([]),
        skippable(DICTIONARY_FRAME, b"anything"),
    ],
    ids=["table", "without checksums", "too long", "empty", "dictionary"],
)
def test_tables_and_dictionaries_are_left_out(frame) -> None:
    made = Foreign().record(text(3000), cuts=1000, between=lambda to, _: to.raw(frame)).raw(frame).raw(frame)
    record = found_in(made)[0]
    assert len(record.frames) == record.data_frames == 4
    assert len(record.following) == 0


@pytest.mark.parametrize("data", [b"", b"something else", b"8 bytes!" * 5])
def test_other_frames_with_the_magic_number_of_tables_are_kept(data) -> None:
    made = Foreign().record(b"x").raw(skippable(SEEK_TABLE_FRAME, data))
    assert len(found_in(made)[0].following) == 1


def test_empty_frames_are_left_out() -> None:
    made = (
        Foreign().empty().record(text(3000), cuts=1000, between=lambda to, _: to.empty()).empty().record(b"x")
    )
    first, second = found_in(made)
    assert len(first.frames) == first.data_frames == 4
    assert len(first.following) == 0
    assert second.header.raw == made.records[1].header


def test_a_too_large_extension_frame_is_refused(monkeypatch) -> None:
    monkeypatch.setattr("seekwarc.edit.copy_source.MAX_LISTED", 1000)
    made = Foreign().record(b"x").extension(data=bytes(2000))
    with pytest.raises(LimitError, match=r"^some.warc.zst, offset \d+: an extension frame of 2008 bytes"):
        found_in(made)


# What cannot be copied, and why.


def broken(**options) -> Foreign:
    return Foreign().record(b"fine").record(text(3000), cuts=1000, **options).record(b"fine")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"content_size": False}, "a frame does not state its size"),
        ({"checksum": False}, "a frame has no checksum"),
        ({"trailer": b"\r\n"}, "a frame does not hold exactly one record"),
        ({"trailer": b"\r\n" * 3}, "a frame does not hold exactly one record"),
        ({"trailer": b""}, "a frame does not hold exactly one record"),
    ],
    ids=str,
)
def test_a_record_with_invalid_frames_is_recompressed(options, reason) -> None:
    made = broken(**options)
    first, second, third = found_in(made)
    assert isinstance(first, StoredRecord)
    assert isinstance(third, StoredRecord)
    assert isinstance(second, LooseRecord)
    assert second.reason.startswith(reason)
    put = made.records[1]
    assert content(second) == put.header + put.block + options.get("trailer", RECORD_END)
    assert content(second) == content(second), "it was kept"


def test_one_invalid_frame_is_enough() -> None:
    content = warc_header(3000) + text(3000) + RECORD_END
    made = Foreign().begin(warc_header(3000), text(3000))
    made.frame(content[:1000]).frame(content[1000:2000], checksum=False).frame(content[2000:])
    (record,) = found_in(made)
    assert isinstance(record, LooseRecord)
    assert record.reason == "a frame has no checksum"


def test_frames_without_the_dictionary_id_are_recompressed() -> None:
    made = Foreign().dictionary(compressed=True, name=False).record(text(3000)).record(text(3000), cuts=1000)
    assert [record.reason for record in found_in(made)] == ["a frame does not name the file's dictionary"] * 2
    assert [content(record) for record in found_in(made)] == [
        put.header + put.block + RECORD_END for put in made.records
    ]


def test_frames_too_large_for_a_table_are_recompressed(monkeypatch) -> None:
    monkeypatch.setattr("seekwarc.edit.copy_source.MAX_LISTED", 2000)
    made = Foreign().record(text(3000)).record(text(1000)).record(text(3000), cuts=1000)
    first, second, third = found_in(made)
    assert first.reason == "a frame of 4 GiB or more does not fit into a seek table"
    assert isinstance(second, StoredRecord)
    assert isinstance(third, StoredRecord)


@pytest.mark.filterwarnings("ignore::seekwarc.FormatWarning")
def test_records_after_a_shared_frame_are_copied() -> None:
    blocks = [b"one", text(2000), b"three"]
    contents = [warc_header(len(b), n) + b + RECORD_END for n, b in enumerate(blocks)]
    made = Foreign().record(b"first").frame(b"".join(contents)).record(b"last")
    found = found_in(made)
    assert [isinstance(record, LooseRecord) for record in found] == [False, True, True, True, False]
    assert [content(record) for record in found[1:4]] == contents


def test_a_file_of_shared_frames_is_decompressed_once() -> None:
    made = Foreign({"content_size": False})
    for number in range(100):
        made.record(text(3000, seed=number))
    stats = Stats()
    file = ArchiveFile(Fetcher(BytesSource(made.bytes()), stats))
    count = sum(1 for record in StoredRecords(file) if record.kept())
    assert count == 100
    assert stats.bytes_decoded < 1.1 * len(made.plain().bytes())


def test_all_records_of_a_file_can_be_read() -> None:
    made = Foreign().record(b"").record(text(3000)).record(noise(300_000))
    for data in (made.bytes(), made.gzip().bytes(), made.plain().bytes()):
        found = [record.kept() for record in loose_records(opened(data), "because")]
        assert [content(record) for record in found] == [
            p.header + p.block + RECORD_END for p in made.records
        ]
        assert {(record.reason, record.filename) for record in found} == {("because", "some.warc.zst")}


def test_loose_records_are_read_with_the_dictionary() -> None:
    made = Foreign().dictionary(compressed=False, name=False).record(text(3000))
    (record,) = loose_records(opened(made.bytes()), "because")
    assert record.open_block().read(-1) == text(3000)


# Damage.


@pytest.mark.parametrize("length", [1, 3, 30, 200, 400, 2000])
def test_a_cut_file_is_an_error(length) -> None:
    data = Foreign().record(text(500)).record(noise(3000), cuts=1000).bytes()[:length]
    with pytest.raises(TruncatedError, match=r"^some.warc.zst, offset \d+: "):
        list(StoredRecords(opened(data)))


def test_a_file_that_ends_in_a_large_record_is_an_error() -> None:
    made = Foreign().frame((warc_header(3000) + noise(3000))[:1000]).frame(noise(1000))
    with pytest.raises(
        TruncatedError, match=r"the file ends inside this record: 2000 of \d+ bytes are there"
    ):
        list(StoredRecords(opened(made.bytes())))


def test_missing_line_breaks_at_the_end_are_not_added() -> None:
    made = Foreign().record(b"x", trailer=b"")
    (record,) = found_in(made)
    assert content(record) == made.records[0].header + b"x"
    made = Foreign().record(text(3000), cuts=1000, trailer=b"")
    (record,) = found_in(made)
    assert content(record) == made.records[0].header + text(3000)


def test_a_damaged_small_frame_is_an_error() -> None:
    data = bytearray(Foreign().record(b"x").record(text(3000)).bytes())
    data[-100] ^= 1
    with pytest.raises(FormatError, match=r"^some.warc.zst, offset \d+: the frame is damaged"):
        list(StoredRecords(opened(bytes(data))))


def test_content_that_is_no_record_is_an_error() -> None:
    made = Foreign().record(b"x")
    offset = len(made.bytes())
    made.frame(b"no record at all")
    with pytest.raises(FormatError, match=rf"^some.warc.zst, offset {offset}: "):
        list(StoredRecords(opened(made.bytes())))


def test_a_record_without_its_end_is_not_recompressed() -> None:
    made = Foreign().record(text(3000), cuts=1000, trailer=b"abcd")
    (record,) = StoredRecords(opened(made.bytes()))
    loose = record.loose("")
    loose.open_block().read(-1)
    with pytest.raises(FormatError, match="not followed by two line breaks"):
        loose.trailer()


# Which tables a file has.

ONE = [(header_for(300_000), text(300_000))]
EMPTY = [(header_for(0), b"")]
SMALL = [(header_for(5), b"small")]


@pytest.mark.parametrize("records", [ONE, SMALL, ONE + SMALL, SMALL + EMPTY, EMPTY + EMPTY, ONE + ONE])
@pytest.mark.parametrize("dictionary", [None, small_dictionary()])
@pytest.mark.parametrize("tables", ["large", "every", "none"])
def test_the_mode_of_a_file_is_told_by_its_end(records, dictionary, tables) -> None:
    data, _ = written(*records, tables=tables, dictionary=dictionary, frame_size=FRAME)
    assert has_table_each(opened(data)) is (tables == "every")


@pytest.mark.parametrize("tables", ["large", "every"])
def test_one_empty_record_looks_the_same_in_both_modes(tables) -> None:
    data, _ = written(*EMPTY, tables=tables)
    assert has_table_each(opened(data)) is None
    with_dictionary, _ = written(*EMPTY, tables=tables, dictionary=small_dictionary())
    assert has_table_each(opened(with_dictionary)) is (tables == "every")


def test_files_joined_by_cat_have_the_mode_of_the_last() -> None:
    large, every = (
        written(*ONE, *SMALL, tables=tables, frame_size=FRAME)[0] for tables in ("large", "every")
    )
    assert has_table_each(opened(large + large)) is False
    assert has_table_each(opened(every + every)) is True


@pytest.mark.parametrize(
    "made",
    [
        Foreign().record(b"x"),
        Foreign().record(text(3000), cuts=1000, table={"change": lambda entries: entries[1:]}),
        Foreign().record(text(3000), cuts=1000, table={"change": lambda entries: [(1, 1, 1)] * 3}),
        Foreign().record(text(3000), cuts=1000, table={"change": lambda entries: [(1 << 30, 1, 1)]}),
        Foreign().record(text(3000), cuts=(len(warc_header(3000)),), table=True).extension(),
        Foreign().record(b"x").raw(seek_table([])),
        Foreign().empty().file_table(),
    ],
    ids=[
        "no table",
        "wrong anchor",
        "wrong sizes",
        "before the file",
        "not at the end",
        "empty",
        "no record",
    ],
)
def test_other_files_do_not_have_that_mode(made) -> None:
    assert has_table_each(opened(made.bytes())) is False


def test_a_foreign_file_with_a_table_each_has_that_mode() -> None:
    made = Foreign().record(b"x").record(text(3000), cuts=(len(warc_header(3000)),), table=True)
    assert has_table_each(opened(made.bytes())) is True
    with seekwarc.open(io.BytesIO(made.bytes())) as archive:
        assert len(list(archive)) == 2
