"""The gzip files that are measured on are right ones, and as small as usual."""

from __future__ import annotations

import gzip
import io
import random
import zlib
from pathlib import Path

import pytest

from tests.benchmarks.gzipped import PIECE, write_member, write_members
from tests.support.writing import text


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, PIECE, 2 * PIECE + 1])
def test_a_member_of_pieces_is_one(size: int) -> None:
    content = text(size)
    source, out = io.BytesIO(content), io.BytesIO()
    chance = random.Random(1)
    write_member(lambda most: source.read(chance.randint(1, most)), out.write)
    decompressor = zlib.decompressobj(wbits=31)
    assert decompressor.decompress(out.getvalue()) == content
    assert decompressor.eof
    assert not decompressor.unused_data
    # The pieces look back: that they were cut costs next to nothing.
    assert len(out.getvalue()) < 1.01 * len(gzip.compress(content, 6)) + 100


def test_each_content_is_a_member(tmp_path: Path) -> None:
    contents = [b"%d" % number * number for number in range(450)]
    write_members(tmp_path / "a.gz", iter(contents))
    stored, found = (tmp_path / "a.gz").read_bytes(), []
    while stored:
        decompressor = zlib.decompressobj(wbits=31)
        found.append(decompressor.decompress(stored))
        stored = decompressor.unused_data
    assert found == contents


def test_no_more_than_asked_for_is_written(tmp_path: Path) -> None:
    def endless():
        while True:
            yield random.Random(1).randbytes(1000)

    write_members(tmp_path / "a.gz", endless(), 300_000)
    assert 300_000 <= (tmp_path / "a.gz").stat().st_size < 600_000
