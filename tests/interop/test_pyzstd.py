"""pyzstd's SeekableZstdFile opens our files, and single records cut out of them, and seeks in them.

What it cannot do, so that nothing is tested of it: it refuses files that end in a record's own table while
more comes before it (`tables="every"`), and takes no account of dictionary frames: the dictionary
has to be given to it.
"""

from __future__ import annotations

import io
import random

import pytest

from tests.support.writing import (
    HTTP_HEAD,
    KIB,
    RESPONSE,
    header_for,
    noise,
    plain,
    small_dictionary,
    text,
    written,
)

pytestmark = pytest.mark.needs("module:pyzstd")

FRAME = 64 * KIB
RECORDS = [
    (header_for(5), b"small"),
    (header_for(300_000), text(300_000)),
    (header_for(0), b""),
    (header_for(len(HTTP_HEAD) + 900_000, content_type=RESPONSE), HTTP_HEAD + noise(900_000)),
    (header_for(5), b"small"),
]
LARGE_FIRST = [RECORDS[1], RECORDS[0], RECORDS[3]]


def check(stored: bytes, expected: bytes, dictionary: bytes | None = None) -> None:
    """Read all, then some from random places."""
    import pyzstd  # noqa: PLC0415

    codec = pyzstd.ZstdDict(dictionary) if dictionary else None
    with pyzstd.SeekableZstdFile(io.BytesIO(stored), "r", zstd_dict=codec) as file:
        assert file.read() == expected
        assert file.seek(0, io.SEEK_END) == len(expected)
        chance = random.Random(1)
        for _ in range(60):
            start = chance.randrange(len(expected))
            file.seek(start)
            assert file.tell() == start
            assert file.read(5000) == expected[start : start + 5000]


@pytest.mark.parametrize("records", [RECORDS, LARGE_FIRST, RECORDS[:1], RECORDS[1:2], RECORDS[3:4]])
def test_a_whole_file_is_a_seekable_file(records: list[tuple[bytes, bytes]]) -> None:
    check(written(*records, frame_size=FRAME)[0], plain(*records))


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("records", [RECORDS, LARGE_FIRST, RECORDS[1:2]])
def test_a_whole_file_with_a_dictionary_too(records: list[tuple[bytes, bytes]], compress: bool) -> None:
    dictionary = small_dictionary()
    data, _ = written(*records, frame_size=FRAME, dictionary=dictionary, compress_dictionary=compress)
    check(data, plain(*records), dictionary.data)


@pytest.mark.parametrize("tables", ["large", "every"])
@pytest.mark.parametrize("records", [RECORDS, LARGE_FIRST])
def test_a_large_records_slice_is_a_seekable_file(records: list[tuple[bytes, bytes]], tables: str) -> None:
    data, places = written(*records, frame_size=FRAME, tables=tables)
    for place, record in zip(places, records, strict=True):
        if len(record[1]) > FRAME or tables == "every":
            check(data[place.offset : place.offset + place.length], plain(record))


def test_a_records_slice_of_a_file_with_a_dictionary_too() -> None:
    dictionary = small_dictionary()
    data, places = written(*RECORDS, frame_size=FRAME, dictionary=dictionary)
    for place, record in zip(places, RECORDS, strict=True):
        if len(record[1]) > FRAME:
            check(data[place.offset : place.offset + place.length], plain(record), dictionary.data)


def test_the_last_record_of_mode_every_is_not_the_whole_file() -> None:
    """The hazard of `tables="every"`, and why it is not the default."""
    import pyzstd  # noqa: PLC0415

    data, _ = written(*RECORDS, frame_size=FRAME, tables="every")
    with pytest.raises(pyzstd.SeekableFormatError, match="compressed size is wrong"):
        pyzstd.SeekableZstdFile(io.BytesIO(data), "r")
