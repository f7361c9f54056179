"""The directory of a sidecar: what is built is read again, and what does not fit is refused."""

from __future__ import annotations

import struct

import pytest

from seekwarc.errors import FormatError
from seekwarc.format.sidecar import ArchiveIdentity, Directory, DirectoryBuilder, SidecarRecord, Span

IDENTITY = ArchiveIdentity(5000, b"h" * 32, b"t" * 32)
SPANS = [Span(40, 0, 0, 7, b""), Span(900, 3, 4000, 2**64 - 1, b"w" * 100), Span(1200, 7, 9000, 0, b"v")]
RECORDS = [
    SidecarRecord(30, 2000, 10_000, SPANS),
    SidecarRecord(2030, 500, 600, [Span(2048, 0, 0, 1, b"")]),
]
TRAILER = 104


def content_of(records=RECORDS) -> bytes:
    builder = DirectoryBuilder()
    windows = b""
    for record in records:
        builder.add(record)
        windows += b"".join(span.window for span in record.spans)
    return windows + builder.build(IDENTITY)


def directory(content: bytes, limit: int = 1 << 20) -> Directory:
    return Directory(lambda start, stop: content[start:stop], len(content), limit)


def changed(content: bytes, position: int, form: str, value: int) -> bytes:
    data = bytearray(content)
    struct.pack_into(form, data, position % len(data), value)
    return bytes(data)


def test_what_was_added_is_found():
    content = content_of()
    found = directory(content)
    assert found.identity == IDENTITY
    assert list(found.offsets) == [30, 2030]
    table = found.find(30)
    assert [(frame.stored_start, frame.stored_stop) for frame in (table[0], table[1], table[2])] == [
        (10, 870),
        (869, 1170),
        (1169, 2000),
    ]
    assert [table[n].content_start for n in range(3)] == [0, 4000, 9000]
    assert table.content_size == 10_000
    assert [table[n].checksum for n in range(3)] == [span.xxh64 for span in SPANS]
    entries = [table.entry(n) for n in range(3)]
    assert [low for low, _ in entries] == [0, 5, 1]
    assert [content[place.start : place.stop] for _, place in entries] == [span.window for span in SPANS]
    assert found.find(2030).content_size == 600
    assert list(found.lengths) == [2000, 500]


def test_other_offsets_are_not_found():
    found = directory(content_of())
    assert [found.find(offset) for offset in (0, 29, 31, 2029, 2031, 2**63)] == [None] * 6


def test_a_directory_without_records_finds_nothing():
    assert directory(content_of([])).find(0) is None


@pytest.mark.parametrize(
    ("position", "form", "value"),
    [
        (-TRAILER, "<B", 0),
        (-TRAILER + 8, "<I", 2),
        (-TRAILER + 16, "<Q", 3),
        (-TRAILER + 16, "<Q", 2**63),
        (-TRAILER + 24, "<Q", 2**62),
        (-TRAILER - 80, "<Q", 2030),
        (-TRAILER - 16, "<Q", 0),
    ],
    ids=["magic", "version", "records", "many records", "many spans", "order", "first span"],
)
def test_a_directory_that_does_not_fit_is_refused(position, form, value):
    with pytest.raises(FormatError):
        directory(changed(content_of(), position, form, value))


@pytest.mark.parametrize(
    ("position", "value"),
    [(0, 8 * 29), (0, 8 * 1300), (8, 1), (32, 8 * 40), (40, 0), (40, 9000), (72, 10_000), (64, 8 * 2030)],
)
def test_spans_that_do_not_cover_their_record_are_refused(position, value):
    found = directory(changed(content_of(), len(content_of()) - TRAILER - 80 - 128 + position, "<Q", value))
    with pytest.raises(FormatError):
        found.find(30)


def test_a_span_of_many_megabytes_is_refused():
    content = content_of([SidecarRecord(30, 2000, 1 << 40, SPANS)])
    with pytest.raises(FormatError, match="span of more than"):
        directory(content).find(30)


def test_nothing_is_read_above_the_limit():
    with pytest.raises(FormatError, match="max_table_size=79"):
        directory(content_of(), limit=79)


@pytest.mark.parametrize(
    "records",
    [
        [RECORDS[1], RECORDS[0]],
        [SidecarRecord(30, 2000, 10_000, [])],
        [SidecarRecord(30, 2000, 10_000, [Span(40, 0, 0, 7, bytes(32769))])],
    ],
    ids=["order", "no span", "window"],
)
def test_what_cannot_be_written_is_refused(records):
    with pytest.raises(ValueError, match=r"record at offset|a window"):
        content_of(records)
