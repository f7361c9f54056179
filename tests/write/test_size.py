"""What random access costs in size: many frames and a table, compared with one frame."""

from __future__ import annotations

import io
import random
import sysconfig
from functools import cache
from pathlib import Path

import pytest
import zstandard

import seekwarc
from tests.support.writing import KIB, MIB, URI, noise

LEVEL = 3


@cache
def sources() -> tuple[bytes, ...]:
    """All Python source files that come with Python, in an order that never changes."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in folder.rglob("*.py") if "site-packages" not in path.parts)
    files = [path.read_bytes() for path in paths]
    random.Random(1).shuffle(files)
    return tuple(files)


def source_text(size: int) -> bytes:
    """Source files up to `size` bytes, the order changed each time they have all been used."""
    chance = random.Random(2)
    out = bytearray()
    files = list(sources())
    while len(out) < size:
        chance.shuffle(files)
        for file in files:
            out += file
            if len(out) >= size:
                break
    return bytes(out[:size])


def one_frame(content: bytes) -> int:
    return len(zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(content))


def check(block: bytes, most: float) -> None:
    target = io.BytesIO()
    with seekwarc.Writer(target, level=LEVEL) as writer:
        place = writer.write("resource", target_uri=URI, block=block)
    record, frame = place.length, one_frame(place.header.raw + block + b"\r\n\r\n")
    with seekwarc.open(target.getvalue()) as archive:
        entries = len(archive.record_at(0).body.frames or ())
    table = 8 + 12 * entries + 9
    print(
        f"{len(block)} bytes of block: record {record}, one frame {frame}: {record / frame - 1:+.2%}; "
        f"table {table} bytes of {entries} entries, {table / len(block):.4%} of the block"
    )
    assert record <= frame * most
    assert table <= len(block) * 0.0002


@pytest.mark.slow
def test_frames_make_text_at_most_3_percent_larger() -> None:
    check(source_text(100 * MIB), 1.03)


@pytest.mark.slow
def test_frames_add_next_to_nothing_to_incompressible_data() -> None:
    check(noise(64 * MIB), 1.0005)


@pytest.mark.large
def test_frames_make_a_gigabyte_at_most_3_percent_larger() -> None:
    check(source_text(1024 * MIB), 1.03)


@pytest.mark.slow
def test_a_small_file_grows_by_a_table_entry_a_record() -> None:
    blocks = [source_text(20 * KIB)[n * KIB : (n + 4) * KIB] for n in range(16)]
    sizes = {}
    for tables in ("large", "none"):
        target = io.BytesIO()
        with seekwarc.Writer(target, tables=tables, digest=None) as writer:
            for n, block in enumerate(blocks):
                writer.write(
                    "resource",
                    target_uri=URI,
                    block=block,
                    record_id=f"urn:x:{n}",
                    date="2026-01-01T00:00:00Z",
                )
        sizes[tables] = len(target.getvalue())
    assert sizes["large"] - sizes["none"] == 17 + 12 * len(blocks)
