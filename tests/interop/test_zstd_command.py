"""`zstd -d` makes the plain WARC file of ours, table or no table."""

from __future__ import annotations

import subprocess
from pathlib import Path

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

pytestmark = pytest.mark.needs("zstd")

RECORDS = [
    (header_for(300_000), text(300_000)),
    (header_for(0), b""),
    (header_for(len(HTTP_HEAD) + 500_000, content_type=RESPONSE), HTTP_HEAD + noise(500_000)),
    (header_for(5), b"small"),
]
MODES = ("large", "every", "none")


def zstd(*args: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["zstd", *map(str, args)], capture_output=True, check=False)


@pytest.mark.parametrize("tables", MODES)
def test_it_decompresses_to_the_plain_file(tables: str, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(written(*RECORDS, tables=tables, frame_size=64 * KIB)[0])
    done = zstd("-dc", path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == plain(*RECORDS)
    assert zstd("-t", path).returncode == 0


@pytest.mark.parametrize("tables", MODES)
def test_it_decompresses_with_the_dictionary(tables: str, tmp_path: Path) -> None:
    dictionary = small_dictionary()
    path, other = tmp_path / "a.warc.zst", tmp_path / "dictionary"
    path.write_bytes(written(*RECORDS, tables=tables, frame_size=64 * KIB, dictionary=dictionary)[0])
    other.write_bytes(dictionary.data)
    done = zstd("-D", other, "-dc", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == plain(*RECORDS)
    # Without it the frames name the dictionary that is missing.
    assert b"Dictionary mismatch" in zstd("-dc", path).stderr


def test_it_lists_frames_sizes_and_checksums(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(written(*RECORDS, frame_size=64 * KIB)[0])
    listing = zstd("-lv", path)
    assert listing.returncode == 0, listing.stderr
    out = listing.stdout.decode()
    # Two large records' tables and the file's.
    assert "# Skippable Frames: 3" in out
    # Known only where every frame states its size.
    assert f"({len(plain(*RECORDS))} B)" in out
    assert "XXH64" in out


def test_a_records_slice_decompresses_alone(tmp_path: Path) -> None:
    data, places = written(*RECORDS, frame_size=64 * KIB)
    for place, record in zip(places, RECORDS, strict=True):
        path = tmp_path / "slice.zst"
        path.write_bytes(data[place.offset : place.offset + place.length])
        assert zstd("-dc", path).stdout == plain(record)
