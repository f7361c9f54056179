"""indexed_zstd, the engine of ratarmount, mounts whole files of ours.

What it cannot do: it knows no dictionaries, and of a file that ends in a record's own table
(`tables="every"`) it silently shows the last record only, which is why the default ends files in a table
of everything. It reads from paths and file descriptors, not from file objects.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.writing import KIB, header_for, noise, plain, text, written

pytestmark = pytest.mark.needs("module:indexed_zstd")

FRAME = 64 * KIB
RECORDS = [
    (header_for(5), b"small"),
    (header_for(300_000), text(300_000)),
    (header_for(0), b""),
    (header_for(900_000), noise(900_000)),
    (header_for(5), b"small"),
]


@pytest.mark.parametrize(
    "records", [RECORDS, RECORDS[1:], RECORDS[1:2], RECORDS[:1], RECORDS[3:4], RECORDS[:4]]
)
def test_a_whole_file_has_its_full_length_and_can_be_seeked_in(
    records: list[tuple[bytes, bytes]], tmp_path: Path
) -> None:
    import indexed_zstd  # noqa: PLC0415

    path = tmp_path / "a.warc.zst"
    path.write_bytes(written(*records, frame_size=FRAME)[0])
    expected = plain(*records)
    file = indexed_zstd.IndexedZstdFile(str(path))
    try:
        assert file.size() == len(expected)
        assert file.read(len(expected) + 1) == expected
        chance = random.Random(1)
        for _ in range(60):
            start = chance.randrange(len(expected))
            file.seek(start)
            assert file.read(5000) == expected[start : start + 5000]
    finally:
        file.close()


@pytest.mark.parametrize("tables", ["large", "every"])
def test_a_large_records_slice_opens_alone(tables: str, tmp_path: Path) -> None:
    import indexed_zstd  # noqa: PLC0415

    data, places = written(*RECORDS, frame_size=FRAME, tables=tables)
    place, record = places[1], RECORDS[1]
    path = tmp_path / "slice.zst"
    path.write_bytes(data[place.offset : place.offset + place.length])
    file = indexed_zstd.IndexedZstdFile(str(path))
    try:
        assert file.size() == len(plain(record))
        file.seek(123_456)
        assert file.read(1000) == plain(record)[123_456:124_456]
    finally:
        file.close()
