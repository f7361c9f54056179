"""The benchmark of files that nobody converted: all read the same, and the table says it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.needs("module:rapidgzip")
@pytest.mark.needs("module:indexed_gzip")
@pytest.mark.needs("module:indexed_zstd")
def test_all_read_the_same(tmp_path: Path) -> None:
    from tests.benchmarks import foreign  # noqa: PLC0415 - it needs the modules

    rows = foreign.measure(tmp_path, 8, reads=2)
    assert [row.content for row in rows] == ["text"] * 8 + ["film"] * 8
    assert all(min(row.ours, row.rapidgzip, row.indexed_gzip) > 0 for row in rows)
    assert "| film | 64 KiB opened again, ms |" in foreign.as_foreign_table(rows)
