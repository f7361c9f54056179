"""The benchmark of tables: each way reads all records, and says how long it took."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import tables


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.needs("module:fastwarc", "module:warcio")
def test_each_way_reads_all_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = {name: script for name, script in tables.WAYS.items() if "these" in name or "pyarrow" in name}
    monkeypatch.setattr(tables, "WAYS", ways)
    found = tables.measure(tmp_path, pages=5, times=1, rounds=1)
    assert len(found) == 2 * len(ways) - 1 == 5
    assert all(one.rows == 5 and one.seconds > 0 and one.peak > 10 for one in found)
    table = tables.as_tables_table(found)
    assert table.startswith(("seekwarc is the pure package.", "seekwarc is the compiled package."))
    assert "| pages-5.warc.gz | warcio loop, pyarrow | " in table
