"""Records of many frames that take little room, and how growth is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

import seekwarc
from tests.benchmarks.growth import KIB, MIB, PATTERN, Series, exponent, large_record

GIB = 1 << 30


def test_a_large_record_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    large_record(path, 3 * MIB, 64 * KIB)
    with seekwarc.open(path) as archive:
        (record,) = archive
        assert record.seek_table_status == "record"
        assert record.block.read() == PATTERN * (3 * MIB // len(PATTERN))


def test_a_very_large_record_takes_little_room(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.zst"
    large_record(path, 4 * GIB)
    assert path.stat().st_size < 40 * MIB
    with seekwarc.open(path) as archive:
        block = archive.record_at(0, path.stat().st_size).block
        assert block.size == 4 * GIB
        assert block.pread(4 * GIB - 10, 100) == PATTERN[-10:]


@pytest.mark.parametrize(("power", "expected"), [(0, 0), (1, 1), (0.5, 0.5)])
def test_the_exponent_is_that_of_the_growth(power: float, expected: float) -> None:
    points = [(10.0**n, 3 * 10.0 ** (n * power)) for n in range(6)]
    assert exponent(points) == pytest.approx(expected)


def test_a_constant_at_small_sizes_hides_no_growth() -> None:
    points = [(10**n, 1.0 + 10**n / 100) for n in range(8)]
    assert exponent(points) > 0.9


@pytest.mark.parametrize(
    ("most", "last", "fine"), [(0, 1.0, True), (0, 3.0, False), (1, 100.0, True), (None, 2.0, False)]
)
def test_growth_is_judged(most: int | None, last: float, fine: bool) -> None:
    assert Series("p", "n", "frames", most, ((1, 1.0), (100, last))).fine is fine
