"""The benchmark of search indexes, with few pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.extras import package

package("numpy")

from tests.benchmarks.searching import as_search_table, measure, texts  # noqa: E402


@pytest.mark.slow
def test_each_line_is_measured(tmp_path: Path) -> None:
    table = as_search_table(list(measure(tmp_path, pages=200, archived=20)))
    assert "search: two rare words" in table
    assert "2 processes" in table


@pytest.mark.slow
def test_texts_are_the_same_each_time() -> None:
    assert list(texts(2)) == list(texts(2))
