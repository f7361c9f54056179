"""The benchmark of programs that read through warcio: both ways read the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import dropin


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.needs("module:warcio")
def test_both_read_all_records(tmp_path: Path) -> None:
    pairs = dropin.measure(tmp_path, pages=5, film=1000, rounds=1)
    assert [one.rows for one in pairs] == [5, 5, 5, 5, 10, 10]
    assert all(one.theirs > 0 < one.ours for one in pairs)
    assert "| pages-5.warc.gz | headers | " in dropin.as_dropin_table(pairs)
