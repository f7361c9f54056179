"""The benchmark of text: each way writes all pages, and says how long it took."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import texts


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.needs("module:fastwarc", "module:resiliparse")
def test_each_way_writes_all_pages(tmp_path: Path) -> None:
    found = texts.measure(tmp_path, pages=5, rounds=1)
    assert len(found) == 2 * len(texts.WAYS)
    assert all(one.rows == 5 and one.seconds > 0 and one.peak > 10 for one in found)
    ours, others = (tmp_path / f"pages-5.warc.gz.{end}" for end in ("jsonl", "other"))
    assert ours.read_text().count("\n") == others.read_text().count("\n") == 5
