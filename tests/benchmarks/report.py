"""What was measured, as tables and as JSON; `plots` draws it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from tests.benchmarks.growth import Series, exponent
from tests.benchmarks.running import Result

__all__ = ["amount", "as_growth_table", "as_json", "as_table", "duration", "significant"]


def significant(number: float) -> str:
    """Return a number with three digits that count, and no exponent."""
    digits = max(0, 2 - math.floor(math.log10(abs(number)))) if number else 0
    return f"{number:,.{digits}f}"


def duration(seconds: float | None) -> str:
    """Return seconds in a unit that leaves digits before the point; "" for None."""
    if seconds is None:
        return ""
    factor, unit = next(
        ((factor, unit) for factor, unit in ((1, "s"), (1e3, "ms")) if seconds * factor >= 1), (1e6, "µs")
    )
    return f"{significant(seconds * factor)} {unit}"


def amount(result: Result, number: float) -> str:
    return significant(number) + ("x" if result.unit == "x" else f" {result.unit}")


def target(result: Result) -> str:
    if result.target is None:
        return "measured"
    unit = "x" if result.unit == "x" else f" {result.unit}"
    return f"{'≤' if result.at_most else '≥'} {result.target:g}{unit}"


def as_table(results: Sequence[Result]) -> str:
    """Return a Markdown table; the spread is that of the middle half of the rounds."""
    rows = []
    for result in results:
        low, high = result.quartiles
        rows.append(
            (
                result.what,
                result.against,
                duration(result.ours),
                duration(result.theirs),
                target(result),
                amount(result, result.median),
                f"{significant(low)} to {significant(high)}" if len(result.values) > 1 else "",
                str(len(result.values)),
                {True: "yes", False: "**no**", None: ""}[result.reached],
            )
        )
    head = (
        "what",
        "against",
        "seekwarc",
        "other",
        "to reach",
        "measured",
        "middle half",
        "rounds",
        "reached",
    )
    return _markdown(head, rows)


def as_growth_table(series: Sequence[Series]) -> str:
    """Return a Markdown table of first and last costs, and of the exponent between."""
    rows = []
    for one in series:
        (first, first_seconds), (last, last_seconds) = one.points[0], one.points[-1]
        rows.append(
            (
                one.panel,
                one.name,
                f"{duration(first_seconds)} at {first:,}",
                f"{duration(last_seconds)} at {last:,} {one.unit}",
                f"{exponent(one.points):.2f}",
                {0: "flat", 1: "linear at most", None: "falls"}[one.most],
                "yes" if one.fine else "**no**",
            )
        )
    return _markdown(("what", "how", "first", "last", "exponent", "should be", "is"), rows)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def as_json(results: Sequence[Result], machine: dict[str, object]) -> dict[str, object]:
    """Return everything that was measured."""
    return {
        "machine": machine,
        "results": [
            asdict(result)
            | {"median": result.median, "quartiles": result.quartiles, "reached": result.reached}
            for result in results
        ],
    }
