"""Planning and gathering, at a small size, take as few requests as the benchmark is to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.scale import Figure, as_scale_table, gathering, planning


@pytest.mark.slow
@pytest.mark.needs("module:obstore")
def test_planning_and_gathering_take_few_requests(tmp_path: Path) -> None:
    figures = [*planning(tmp_path, [10]), *gathering(tmp_path, 4, 60)]
    planned, gathered, alone = [it.value for it in figures if it.unit == "requests"]
    assert planned == 10
    assert gathered < alone


def test_figures_are_a_table() -> None:
    table = as_scale_table([Figure("planning 10 objects", 1234.5, "s")])
    assert "| planning 10 objects | 1,234.50 s |" in table
