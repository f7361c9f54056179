"""What records as files cost, at a small size: the counts of the benchmark are what they should be."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.needs("module:blosc2", "module:fsspec", "module:pandas", "module:aiohttp", "module:obstore")
def test_little_is_fetched_in_few_requests(tmp_path: Path) -> None:
    from tests.benchmarks.files import as_files_table, measure  # noqa: PLC0415 - takes seconds to import

    costs = {(it.what.partition(" ")[2], it.way): it for it in measure(tmp_path, 32, rows=60_000, pages=200)}
    whole = [it for (_, way), it in costs.items() if way == "the payload downloaded"]
    assert len(costs) == 9
    for it in costs.values():
        of_all = [all_.fetched for all_ in whole if all_.what == it.what]
        assert not of_all or it.way == "the payload downloaded" or it.fetched < of_all[0] / 4, it
    together, alone = (
        next(it for it in costs.values() if it.way == way) for way in ("cat_ranges", "cat_file of each")
    )
    assert together.requests <= 6
    # The first request has the first records, too.
    assert alone.requests >= 150
    assert together.fetched < 1.2 * alone.fetched
    assert as_files_table([*costs.values()]).count("\n| ") == len(costs)


@pytest.mark.needs("module:numpy", "module:blosc2", "module:pandas")
def test_a_table_has_a_line_for_each_cost() -> None:
    from tests.benchmarks.files import Cost, as_files_table  # noqa: PLC0415 - takes seconds to import

    table = as_files_table([Cost("a", "b", 2048, 3), Cost("c", "d", 3 << 20, 1)])
    assert "| a | b | 2 KiB | 3 |\n| c | d | 3.0 MiB | 1 |\n" in table
