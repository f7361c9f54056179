"""Tables and JSON of the benchmarks."""

from __future__ import annotations

import json

import pytest

from tests.benchmarks.growth import Series
from tests.benchmarks.report import as_growth_table, as_json, as_table, duration, significant
from tests.benchmarks.running import Result

RESULTS = [
    Result("read", "a | b", (1.0, 2.0, 3.0), 2.5, ours=0.001, theirs=0.002, line="r"),
    Result("memory", "", (150.5,), 200, "MiB", line="m"),
    Result("array", "other", (1.0, 2.0), line="a"),
]


@pytest.mark.parametrize(
    ("number", "told"),
    [(0.012345, "0.0123"), (1.5, "1.50"), (99.94, "99.9"), (1234.5, "1,234"), (0, "0")],
)
def test_numbers_have_three_significant_digits(number: float, told: str) -> None:
    assert significant(number) == told


@pytest.mark.parametrize(
    ("seconds", "told"), [(2.5, "2.50 s"), (0.0123, "12.3 ms"), (4.56e-5, "45.6 µs"), (None, "")]
)
def test_seconds_have_a_unit_that_suits_them(seconds: float | None, told: str) -> None:
    assert duration(seconds) == told


def test_the_table_says_what_was_reached() -> None:
    head, rule, *rows = as_table(RESULTS).splitlines()
    assert head.count("|") == rule.count("|") == 10
    assert rows == [
        "| read | a \\| b | 1.00 ms | 2.00 ms | ≥ 2.5x | 2.00x | 1.50 to 2.50 | 3 | **no** |",
        "| memory |  |  |  | ≤ 200 MiB | 150 MiB |  | 1 | yes |",
        "| array | other |  |  | measured | 1.50x | 1.25 to 1.75 | 2 |  |",
    ]


def test_json_keeps_every_round() -> None:
    found = json.loads(json.dumps(as_json(RESULTS, {"cores": 2})))
    assert found["machine"] == {"cores": 2}
    first = found["results"][0]
    assert (first["line"], first["values"], first["median"]) == ("r", [1, 2, 3], 2)
    assert (first["quartiles"], first["reached"]) == ([1.5, 2.5], False)


def test_unexpected_growth_is_reported() -> None:
    points = ((10, 1e-3), (100, 1e-2), (1000, 0.1))
    flat = Series("P", "n", "frames", 0, points)
    *_, row = as_growth_table([flat]).splitlines()
    assert row == "| P | n | 1.00 ms at 10 | 100 ms at 1,000 frames | 1.00 | flat | **no** |"
