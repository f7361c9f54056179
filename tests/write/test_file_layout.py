"""The layout of a written file, frame by frame (spec-notes, sections 2 to 5, annex A)."""

from __future__ import annotations

import io
import struct

import pytest

import seekwarc
from tests.support.writing import (
    DICTIONARY_FRAME_MAGIC,
    HTTP_HEAD,
    KIB,
    MIB,
    RESPONSE,
    StoredFrame,
    content_of,
    entries_of,
    header_for,
    noise,
    plain,
    small_dictionary,
    table_entries,
    text,
    walk,
    written,
)

FRAME = 64 * KIB
SMALL = (header_for(5), b"small")
EMPTY = (header_for(0), b"")
TEXT = (header_for(300_000), text(300_000))
NOISE = (header_for(300_000), noise(300_000))
HTTP = (
    header_for(len(HTTP_HEAD) + 300_000, content_type=RESPONSE),
    HTTP_HEAD + text(300_000, seed=7),
)
ALL = (SMALL, TEXT, EMPTY, HTTP, NOISE, SMALL)
MODES = ("large", "every", "none")


def frames_in(frames: list[StoredFrame], place: seekwarc.Written) -> list[StoredFrame]:
    """The frames of one record, in [offset, offset + length)."""
    found = [f for f in frames if place.offset <= f.offset < place.offset + place.length]
    assert found[0].offset == place.offset
    assert found[-1].end == place.offset + place.length
    return found


@pytest.mark.parametrize("tables", MODES)
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_every_frame_has_the_fields_that_the_standard_demands(tables: str, with_dictionary: bool) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    data, _ = written(*ALL, tables=tables, frame_size=FRAME, dictionary=dictionary)
    frames = [frame for frame in walk(data, dictionary.data if dictionary else None) if frame.is_data]
    assert content_of(frames) == plain(*ALL)
    for frame in frames:
        assert frame.content
        assert frame.stated_size == len(frame.content)
        assert frame.has_checksum
        assert frame.trailer == frame.checksum
        assert frame.dictionary_id == (dictionary.id if dictionary else 0)
        assert frame.window_size <= 8 * MIB


@pytest.mark.parametrize("tables", MODES)
def test_records_are_contiguous(tables: str) -> None:
    data, places = written(*ALL, tables=tables, frame_size=FRAME)
    frames = walk(data)
    position = 0
    for place, (header, block) in zip(places, ALL, strict=True):
        assert place.offset == position
        assert content_of(frames_in(frames, place)) == header + block + b"\r\n\r\n"
        assert frames_in(frames, place)[0].is_data
        position += place.length
    rest = [frame for frame in frames if frame.offset >= position]
    assert [frame.is_table for frame in rest] == ([True] if tables == "large" else [])


@pytest.mark.parametrize("tables", MODES)
def test_a_large_record_is_header_chunks_and_table(tables: str) -> None:
    data, places = written(SMALL, TEXT, tables=tables, frame_size=FRAME)
    *chunks, table = frames_in(walk(data), places[1])
    if tables == "none":
        chunks.append(table)
    else:
        assert table_entries(table) == entries_of(chunks)
    header, block = TEXT
    assert chunks[0].content == header
    assert [f.content for f in chunks[1:-1]] == [block[i * FRAME : (i + 1) * FRAME] for i in range(4)]
    assert chunks[-1].content == block[4 * FRAME :] + b"\r\n\r\n"


@pytest.mark.parametrize("tables", MODES)
def test_an_http_head_has_a_frame_of_its_own(tables: str) -> None:
    data, places = written(SMALL, HTTP, tables=tables, frame_size=FRAME)
    frames = [frame for frame in frames_in(walk(data), places[1]) if frame.is_data]
    payload = HTTP[1][len(HTTP_HEAD) :]
    assert frames[0].content == HTTP[0]
    assert frames[1].content == HTTP_HEAD
    for k, frame in enumerate(frames[2:-1]):
        assert frame.content == payload[k * FRAME : (k + 1) * FRAME]
    assert frames[-1].content == payload[4 * FRAME :] + b"\r\n\r\n"


def test_a_block_without_an_http_head_has_no_frame_for_it() -> None:
    block = b"HTTP/1.1 200 OK\r\n" + text(200_000)
    record = (header_for(len(block), content_type=RESPONSE), block)
    data, places = written(SMALL, record, frame_size=FRAME)
    frames = frames_in(walk(data), places[1])
    assert frames[0].content == record[0]
    assert frames[1].content == block[:FRAME]


@pytest.mark.parametrize("record", [TEXT, HTTP, NOISE])
def test_the_table_lists_frames_and_their_checksums(record: tuple[bytes, bytes]) -> None:
    data, places = written(SMALL, record, frame_size=FRAME)
    *chunks, table = frames_in(walk(data), places[1])
    entries = table_entries(table)
    assert [e.stored_size for e in entries] == [f.size for f in chunks]
    assert [e.content_size for e in entries] == [len(f.content) for f in chunks]
    assert [e.checksum for e in entries] == [f.trailer for f in chunks]
    assert sum(e.content_size for e in entries) == len(record[0]) + len(record[1]) + 4
    assert sum(e.stored_size for e in entries) == table.offset - places[1].offset


@pytest.mark.parametrize("tables", ["large", "none"])
def test_a_small_record_is_one_frame_without_a_table(tables: str) -> None:
    data, places = written(SMALL, EMPTY, SMALL, tables=tables)
    frames = walk(data)
    for place, (header, block) in zip(places, (SMALL, EMPTY, SMALL), strict=True):
        (frame,) = frames_in(frames, place)
        assert frame.content == header + block + b"\r\n\r\n"


def test_a_block_of_exactly_one_frame_size_makes_a_small_record() -> None:
    records = [(header_for(size), text(size)) for size in (FRAME, FRAME + 1)]
    data, places = written(SMALL, *records, frame_size=FRAME)
    frames = walk(data)
    assert [frame.is_table for frame in frames_in(frames, places[1])] == [False]
    assert [frame.is_table for frame in frames_in(frames, places[2])] == [False, False, False, True]


def test_every_gives_small_records_two_frames_and_a_table() -> None:
    data, places = written(SMALL, EMPTY, tables="every")
    frames = walk(data)
    header, block, table = frames_in(frames, places[0])
    assert (header.content, block.content) == (SMALL[0], b"small\r\n\r\n")
    assert table_entries(table) == entries_of([header, block])


def test_every_gives_an_empty_record_one_frame_and_a_table() -> None:
    data, places = written(SMALL, EMPTY, SMALL, tables="every")
    frame, table = frames_in(walk(data), places[1])
    assert frame.content == EMPTY[0] + b"\r\n\r\n"
    assert table_entries(table) == entries_of([frame])


def test_every_does_not_merge_header_and_block() -> None:
    data, places = written(TEXT, SMALL, tables="every", frame_size=FRAME)
    frames = frames_in(walk(data), places[0])
    assert frames[0].content == TEXT[0]
    assert frames[1].content == TEXT[1][:FRAME]


@pytest.mark.parametrize("with_dictionary", [False, True])
def test_the_file_table_covers_everything_from_offset_0(with_dictionary: bool) -> None:
    dictionary = small_dictionary() if with_dictionary else None
    data, _ = written(*ALL, frame_size=FRAME, dictionary=dictionary)
    *covered, table = walk(data, dictionary.data if dictionary else None)
    entries = table_entries(table)
    assert entries == entries_of(covered)
    assert sum(e.stored_size for e in entries) == table.offset
    skippable = [e for e, f in zip(entries, covered, strict=True) if not f.is_data]
    assert len(skippable) == 3 + with_dictionary
    assert all(e.content_size == 0 for e in skippable)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("tables", MODES)
def test_the_dictionary_is_the_first_frame(tables: str, compress: bool) -> None:
    dictionary = small_dictionary()
    data, places = written(
        SMALL, TEXT, tables=tables, dictionary=dictionary, compress_dictionary=compress, frame_size=FRAME
    )
    head = walk(data, dictionary.data)[0]
    assert head.magic == DICTIONARY_FRAME_MAGIC
    assert places[0].offset == head.size
    if compress:
        assert [f.content for f in walk(head.data[8:])] == [dictionary.data]
        assert walk(head.data[8:])[0].stated_size == len(dictionary.data)
    else:
        assert head.data[8:] == dictionary.data


@pytest.mark.parametrize("record", [TEXT, HTTP, NOISE])
def test_the_table_of_an_only_record_is_the_file_table(record: tuple[bytes, bytes]) -> None:
    data, places = written(record, frame_size=FRAME)
    frames = walk(data)
    assert [frame.is_table for frame in frames].count(True) == 1
    assert table_entries(frames[-1]) == entries_of(frames[:-1])
    assert (places[0].offset, places[0].length) == (0, len(data))


def test_after_a_dictionary_an_only_record_needs_a_file_table() -> None:
    dictionary = small_dictionary()
    data, places = written(TEXT, frame_size=FRAME, dictionary=dictionary)
    *frames, own, last = walk(data, dictionary.data)
    assert table_entries(own) == entries_of(frames[1:])
    assert table_entries(last) == entries_of([*frames, own])
    assert places[0].offset + places[0].length == last.offset


@pytest.mark.parametrize("record", [TEXT, HTTP, NOISE])
def test_the_header_of_a_large_first_record_is_merged(record: tuple[bytes, bytes]) -> None:
    """A reader of the 118 profile must not take the file table for this record's."""
    data, places = written(record, SMALL, frame_size=FRAME)
    *chunks, table = frames_in(walk(data), places[0])
    assert chunks[0].content.startswith(record[0])
    assert len(chunks[0].content) > len(record[0])
    assert table_entries(table) == entries_of(chunks)


def test_the_payload_of_a_large_first_record_begins_a_frame() -> None:
    for record, head in ((TEXT, b""), (HTTP, HTTP_HEAD)):
        data, places = written(record, SMALL, frame_size=FRAME)
        frames = [frame for frame in frames_in(walk(data), places[0]) if frame.is_data]
        starts, position = set(), 0
        for frame in frames:
            starts.add(position - len(record[0]) - len(head))
            position += len(frame.content)
        assert starts >= {k * FRAME for k in range(1, 5)}
        assert head == b"" or 0 in starts


def test_without_tables_the_first_header_has_its_own_frame() -> None:
    data, _ = written(TEXT, SMALL, tables="none", frame_size=FRAME)
    assert walk(data)[0].content == TEXT[0]


def test_a_file_of_small_records_is_seekable_too() -> None:
    data, _ = written(SMALL, SMALL)
    *frames, table = walk(data)
    assert table_entries(table) == entries_of(frames)


@pytest.mark.parametrize("tables", ["every", "none"])
def test_other_modes_write_no_file_table(tables: str) -> None:
    data, places = written(*ALL, tables=tables, frame_size=FRAME)
    assert places[-1].offset + places[-1].length == len(data)


def test_a_file_with_too_many_frames_does_not_end_in_a_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("seekwarc.write.file_layout.MAX_ENTRIES", 10)
    data, places = written(SMALL, TEXT, TEXT, frame_size=FRAME)
    last = walk(data)[-1]
    assert not last.is_table
    assert last.magic & ~15 == 0x184D2A50
    assert places[-1].offset + places[-1].length == last.offset
    with seekwarc.open(data) as archive:
        assert [r.block.read() for r in archive] == [SMALL[1], TEXT[1], TEXT[1]]


@pytest.mark.parametrize("tables", MODES)
def test_the_bytes_of_a_record_are_a_valid_file(tables: str) -> None:
    """[offset, offset + length) is what CDX users fetch: it must open as a file of its own."""
    data, places = written(*ALL, tables=tables, frame_size=FRAME)
    for place, (header, block) in zip(places, ALL, strict=True):
        part = data[place.offset : place.offset + place.length]
        with seekwarc.open(part) as archive:
            (record,) = archive
            assert record.header.raw == header
            assert record.block.read() == block


def test_no_frame_is_empty() -> None:
    for size in (0, 1, FRAME - 4, FRAME, 2 * FRAME, 4 * FRAME):
        for tables in MODES:
            data, _ = written((header_for(size), text(size)), SMALL, tables=tables, frame_size=FRAME)
            assert all(frame.content for frame in walk(data) if frame.is_data)


def test_plain_concatenation_is_still_read() -> None:
    one, two = (written(SMALL, TEXT, SMALL, frame_size=FRAME)[0] for _ in range(2))
    with seekwarc.open(one + two) as archive:
        records = list(archive)
        assert [r.block.read() for r in records] == [b"small", TEXT[1], b"small"] * 2
        assert struct.unpack("<I", two[-4:])[0] == 0x8F92EAB1
    target = io.BytesIO(one + two)
    with seekwarc.open(target) as archive:
        record = archive.record_at(len(one) + records[1].offset)
        assert record.block.pread(123_456, 1000) == TEXT[1][123_456:124_456]
