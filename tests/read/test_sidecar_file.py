"""Ranges of large gzip members through a sidecar: right, cheap, and never those of another archive."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import pytest

import seekwarc
from seekwarc import TableStatus
from tests.support.foreign import CRLF2, warc_header
from tests.support.sidecars import gzip_member, member, mixed, sidecar_of

SPACING = 64 << 10


class Archive(NamedTuple):
    data: bytes
    sidecar: bytes
    offset: int
    length: int
    payload: bytes
    points: int


@pytest.fixture(scope="module")
def archive() -> Archive:
    pieces = mixed(1, 1_500_000)
    payload = b"".join(pieces)
    pieces = [warc_header(len(payload)), *pieces, CRLF2]
    small = gzip_member([warc_header(5), b"small", CRLF2])
    large = gzip_member(pieces)
    data = small + large + small
    entry = member(len(small), large, b"".join(pieces)).record(SPACING)
    return Archive(data, sidecar_of(data, [entry]), len(small), len(large), payload, len(entry.spans))


@pytest.fixture
def path(archive: Archive, tmp_path: Path) -> Path:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(archive.data)
    path.with_name("a.warc.gz.seek").write_bytes(archive.sidecar)
    return path


def test_any_range_is_read(path: Path, archive: Archive) -> None:
    rnd = random.Random(1)
    with seekwarc.open(path, cache_size=0) as reader:
        payload = reader.record_at(archive.offset, archive.length).payload
        for _ in range(150):
            start = rnd.randrange(len(archive.payload))
            size = rnd.choice([1, 100, 4096, 70_000, 400_000])
            wanted = archive.payload[start : start + size]
            assert payload.pread(start, size, verify=rnd.random() < 0.8) == wanted
            out = bytearray(len(wanted))
            assert payload.pread_into(start, out) == len(wanted)
            assert out == wanted
        assert payload.read() == archive.payload


def test_a_range_costs_its_spans(path: Path, archive: Archive) -> None:
    with seekwarc.open(path) as reader:
        record = reader.record_at(archive.offset, archive.length)
        assert record.seek_table_status is TableStatus.SIDECAR
        assert len(record.body.frames) == archive.points > 10
        plan = record.payload.plan(1_000_000, 1_000_100)
        before = reader.stats.bytes_decoded, reader.stats.bytes_fetched
        assert record.payload.pread(1_000_000, 100) == archive.payload[1_000_000:1_000_100]
        after = reader.stats.bytes_decoded, reader.stats.bytes_fetched
        assert (after[0] - before[0], after[1] - before[1]) == (plan.bytes_decoded, plan.bytes_fetched)
        assert 100 <= plan.bytes_decoded < 4 * SPACING
        assert plan.frames == 1
