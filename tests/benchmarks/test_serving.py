"""The benchmark of ranges over HTTP: each server answers all that is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import serving


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.needs("wrk")
def test_each_server_is_measured(tmp_path: Path) -> None:
    figures = serving.measure(tmp_path, 2, rounds=1, seconds=1)
    assert [one.length for one in figures if one.server == "seekwarc serve"] == [4096, 65536]
    assert all(one.processor > 0 < one.rate for one in figures)
    assert "| seekwarc serve | 4 KiB | " in serving.as_serving_table(figures)
