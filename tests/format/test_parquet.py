"""Page headers of Parquet: as pyarrow writes them, and hostile ones."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.parquet import PageHeader, parse_page_header

# Fields 1 to 3 as numbers of 32 bits: the type of a page, 100 bytes of content, 7 stored bytes.
HEADER = bytes([0x15, 0, 0x15, 200, 1, 0x15, 14])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("checksums", [True, False])
@pytest.mark.parametrize("dictionary", [True, False])
def test_the_pages_of_a_column_are_found(version: str, checksums: bool, dictionary: bool) -> None:
    texts = [f"a text {number % 700}" for number in range(9000)]
    file = io.BytesIO()
    pq.write_table(
        pa.table({"text": texts}),
        file,
        compression="zstd",
        data_page_size=1000,
        data_page_version=version,
        write_page_checksum=checksums,
        use_dictionary=dictionary,
    )
    column = pq.read_metadata(file).row_group(0).column(0)
    position = column.dictionary_page_offset if dictionary else column.data_page_offset
    data = file.getvalue()[: position + column.total_compressed_size]
    total = pages = 0
    while position < len(data):
        page = parse_page_header(data, position)
        position += page.size + page.stored_size
        total += page.size + page.content_size
        pages += 1
    assert position == len(data)
    assert pages > 2
    assert total == column.total_uncompressed_size


def test_fields_that_are_not_needed_are_skipped() -> None:
    more = (
        bytes([0x18, 3])
        + b"abc"
        + bytes([0x11, 0x12, 0x13, 9, 0x17, *range(8), 0x1C, 0x15, 2, 0, 0x16, 200, 1])
    )
    assert parse_page_header(HEADER + more + b"\0") == PageHeader(len(HEADER + more) + 1, 7, 100)
    assert parse_page_header(b"xy" + HEADER + b"\0rest", 2) == PageHeader(len(HEADER) + 1, 7, 100)


def test_a_header_that_is_cut_off_is_truncated() -> None:
    data = HEADER + bytes([0x18, 3]) + b"abc\0"
    for size in range(len(data)):
        with pytest.raises(TruncatedError):
            parse_page_header(data[:size])


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        HEADER[:5] + b"\0",
        HEADER[:6] + b"\x01\0",
        HEADER[:6] + b"\xff" * 4 + b"\x7f\0",
        HEADER[:6] + b"\xff" * 10 + b"\x01\0",
        HEADER + b"\x19\x15\0\0",
        HEADER + b"\x1b\0\0",
        HEADER + b"\x1c" * 10 + b"\0" * 11,
        # A field 65,538: as a number of 16 bits it is 2.
        HEADER + b"\x05\x84\x80\x08\x14\0",
        HEADER + b"\x05\x03\x14\0",
    ],
    ids=["empty", "no size", "negative", "32 bits", "varint", "list", "map", "depth", "field", "before"],
)
def test_what_is_no_page_header_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_page_header(data)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_header_or_a_typed_error(data: bytes) -> None:
    try:
        page = parse_page_header(HEADER + data)
    except FormatError:
        return
    assert len(HEADER) < page.size <= len(HEADER + data)
    assert 0 <= min(page[1:]) <= max(page[1:]) < 1 << 31
