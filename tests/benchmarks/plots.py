"""What was measured, as SVG: readable on light and dark backgrounds, and described for screen readers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from tests.benchmarks.growth import Series
from tests.benchmarks.report import amount, duration
from tests.benchmarks.running import Result

__all__ = ["as_growth_svg", "as_svg"]

STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif } text { fill: #24292f } .dim { fill: #57606a }
.grid { stroke: #d8dee4 } .one { stroke: #57606a } .target { stroke: #24292f; stroke-width: 2 }
.a { --ink: #1a7f37 } .b { --ink: #cf222e } .c { --ink: #0969da }
.a, .b, .c { fill: var(--ink); stroke: var(--ink) } .path { fill: none !important; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117 } text { fill: #e6edf3 } .dim { fill: #9198a1 }
  .grid { stroke: #30363d } .one { stroke: #9198a1 } .target { stroke: #e6edf3 }
  .a { --ink: #3fb950 } .b { --ink: #f85149 } .c { --ink: #4493f8 }
}
"""
WIDTH = 960
LEFT, RIGHT, TOP, ROW = 440, 90, 80, 34
PANEL, PANEL_HEIGHT = 480, 260
DASHES = ("", 'stroke-dasharray="7 3"', 'stroke-dasharray="2 3"')
"""So that lines differ by more than their colour."""
SIZES = ((1 << 30, " GiB"), (1 << 20, " MiB"), (1 << 10, " KiB"))


def _document(title: str, note: str, told: str, height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"',
        f'width="{WIDTH}" height="{height}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(told)}</desc>',
        f"<style>{STYLE}</style>",
        f'<text x="16" y="28" font-size="17" font-weight="600">{escape(title)}</text>',
        f'<text x="16" y="48" class="dim">{escape(note)}</text>',
    )
    return "\n".join([*head, *parts, "</svg>"]) + "\n"


class _Scale:
    """A logarithmic scale from powers of ten to places."""

    def __init__(self, numbers: Sequence[float], first: float, last: float) -> None:
        self.low = math.floor(math.log10(min(numbers)))
        self.high = max(math.ceil(math.log10(max(numbers))), self.low + 1)
        self._first, self._last = first, last

    def __call__(self, number: float) -> float:
        part = (math.log10(number) - self.low) / (self.high - self.low)
        return round(self._first + part * (self._last - self._first), 1)

    def powers(self) -> Iterator[float]:
        return (10.0**power for power in range(self.low, self.high + 1))


def as_svg(results: Sequence[Result], note: str) -> str:
    """Return a plot of how many times as fast we are, on a logarithmic scale.

    A dot is the median, the bar through it the middle half of the rounds, the upright line the target.
    """
    shown = [one for one in results if one.unit == "x"]
    targets = [one.target for one in shown if one.target]
    x = _Scale([1, *targets, *(end for one in shown for end in one.quartiles)], LEFT, WIDTH - RIGHT)
    height = TOP + ROW * len(shown) + 40
    parts = []
    for power in x.powers():
        at = x(power)
        parts.append(
            f'<line class="{"one" if power == 1 else "grid"}" x1="{at}" x2="{at}" y1="{TOP - 6}" '
            f'y2="{height - 34}"/>'
            f'<text class="dim" x="{at}" y="{height - 16}" text-anchor="middle">{power:g}x</text>'
        )
    for number, one in enumerate(shown):
        y = TOP + ROW * number + ROW // 2
        kind = {True: "a", False: "b", None: "c"}[one.reached]
        first, last = (x(end) for end in one.quartiles)
        parts.append(
            f'<text x="16" y="{y - 2}">{escape(one.what)}</text>'
            f'<text x="16" y="{y + 12}" class="dim" font-size="11">against {escape(one.against)}</text>'
            f'<line class="{kind}" x1="{first}" x2="{last}" y1="{y}" y2="{y}" '
            'stroke-width="5" opacity="0.5"/>'
            f'<circle class="{kind}" cx="{x(one.median)}" cy="{y}" r="4.5"/>'
        )
        if one.target:
            at = x(one.target)
            parts.append(f'<line class="target" x1="{at}" x2="{at}" y1="{y - 9}" y2="{y + 9}"/>')
        # Not by colour alone.
        mark = " ✗" if one.reached is False else ""
        parts.append(
            f'<text x="{WIDTH - 12}" y="{y + 4}" text-anchor="end">{amount(one, one.median)}{mark}</text>'
        )
    told = "; ".join(f"{one.what}, against {one.against}: {amount(one, one.median)}" for one in shown)
    return _document("How many times as fast as others seekwarc is", note, told, height, parts)


def as_growth_svg(series: Sequence[Series]) -> str:
    """Return plots of seconds against sizes, both logarithmic: one panel for what belongs together."""
    panels = list(dict.fromkeys(one.panel for one in series))
    parts, told = [], []
    for number, panel in enumerate(panels):
        of_panel = [one for one in series if one.panel == panel]
        left, top = number % 2 * PANEL, 70 + number // 2 * PANEL_HEIGHT
        parts += _panel(panel, of_panel, left, top)
        told += [
            f"{panel}, {one.name}: {duration(one.points[0][1])} at {size(one, one.points[0][0])}, "
            f"{duration(one.points[-1][1])} at {size(one, one.points[-1][0])} (by {one.unit})"
            for one in of_panel
        ]
    height = 70 + -(-len(panels) // 2) * PANEL_HEIGHT
    return _document(
        "How cost grows", "Median seconds; all scales logarithmic", "; ".join(told), height, parts
    )


def _panel(title: str, series: Sequence[Series], left: int, top: int) -> Iterator[str]:
    first, last, bottom = left + 70, left + PANEL - 24, top + PANEL_HEIGHT - 50
    seconds = [seconds for one in series for _, seconds in one.points]
    sizes = [size for one in series for size, _ in one.points]
    x, y = _Scale(sizes, first, last), _Scale(seconds, bottom, top + 30)
    yield f'<text x="{left + 16}" y="{top + 14}"><tspan font-weight="600">{escape(title)}</tspan>'
    yield f' <tspan class="dim">by {series[0].unit}</tspan></text>'
    for power in y.powers():
        at = y(power)
        yield f'<line class="grid" x1="{first}" x2="{last}" y1="{at}" y2="{at}"/>'
        yield f'<text class="dim" x="{first - 8}" y="{at + 4}" text-anchor="end">{duration(power)}</text>'
    for at in dict.fromkeys((min(sizes), sorted(sizes)[len(sizes) // 2], max(sizes))):
        told = size(series[0], at)
        yield f'<text class="dim" x="{x(at)}" y="{bottom + 18}" text-anchor="middle">{told}</text>'
    for number, one in enumerate(series):
        kind = "cab"[number % 3]
        points = " ".join(f"{x(size)},{y(seconds)}" for size, seconds in one.points)
        yield f'<polyline class="{kind} path" points="{points}" {DASHES[number % 3]}/>'
        for where, cost in one.points:
            yield f'<circle class="{kind}" cx="{x(where)}" cy="{y(cost)}" r="3"/>'
        beside = first + number * 148
        yield f'<path class="{kind} path" d="M{beside - 18} {bottom + 34}h18" {DASHES[number % 3]}/>'
        yield f'<text x="{beside + 8}" y="{bottom + 38}" font-size="11">{escape(one.name)}</text>'


def size(series: Series, number: int) -> str:
    """Return a size as people write it; what it counts, the panel says."""
    if series.unit == "bytes":
        return next((f"{number / unit:g}{name}" for unit, name in SIZES if number >= unit), f"{number} B")
    return f"{number:,}"
