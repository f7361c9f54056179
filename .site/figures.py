"""Makes the page of the site that shows instructions over time, of tests/benchmarks/instructions.json.

What is kept there stays; this needs neither the package nor a measurement.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE.parent / "tests" / "benchmarks" / "instructions.json"

HEAD = """\
# Instructions over time

How many instructions each of {lines} things takes, as valgrind counts them. That is the same on a busy
machine and on an idle one, and on each machine of an architecture: valgrind shows every program the same
processor. It is not time: an instruction may wait for memory, and the codec's own are among them. Data are
small, so that ours are most of them.

`python -m tests.benchmarks --instructions` counts them again, which is part of what each change must pass:
a line that takes more than 3 % more fails. `--keep` keeps the new counts, beside the older ones. Those of
another Python or codec are not compared with these: on a machine that has neither, the commit of the newest
counts is counted too.
"""
WIDTH, ROW, LEFT, RIGHT, TOP = 760, 24, 320, 110, 44
STYLE = """
svg { background: #fff; font: 13px system-ui, sans-serif } text { fill: #24292f } .dim { fill: #57606a }
line { stroke: #d8dee4 } polyline { fill: none; stroke: #0969da; stroke-width: 2 } circle { fill: #0969da }
@media (prefers-color-scheme: dark) {
  svg { background: #0d1117 } text { fill: #e6edf3 } .dim { fill: #9198a1 } line { stroke: #30363d }
  polyline { stroke: #4493f8 } circle { fill: #4493f8 }
}
"""
SPAN = 0.25
"""Change that reaches from the middle of a row to its edge."""


def short(number: int) -> str:
    """Return a count with three digits."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return str(number)


def change(before: int, after: int) -> str:
    """Return how a count has changed, in per cent."""
    return f"{after / before - 1:+.1%}".replace("%", " %")


def drawn(entries: Sequence[dict], names: Sequence[str]) -> str:
    """Return a plot: a row for each line, a point for each entry, against the first that has it."""
    title = f"Instructions, {entries[0]['date']} to {entries[-1]['date']}: change since the first count"
    told = "; ".join(
        f"{name}: {short(count)} ({change(first(entries, name), count)})"
        for name, count in entries[-1]["counts"].items()
    )
    height = TOP + ROW * len(names) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"',
        f'width="{WIDTH}" height="{height}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title><desc id="desc">{escape(told)}</desc>',
        f'<style>{STYLE}</style><text x="12" y="24" font-weight="600">{escape(title)}</text>',
    ]
    across = (WIDTH - LEFT - RIGHT) / max(len(entries) - 1, 1)
    for row, name in enumerate(names):
        middle = TOP + ROW * row + ROW / 2
        begin = first(entries, name)
        points = []
        for place, entry in enumerate(entries):
            if (count := entry["counts"].get(name)) is not None:
                part = max(-1.0, min(1.0, (count / begin - 1) / SPAN))
                points.append((round(LEFT + across * place, 1), round(middle - part * (ROW / 2 - 2), 1)))
        path = " ".join(f"{x},{y}" for x, y in points)
        parts.append(
            f'<text x="{LEFT - 12}" y="{middle + 4}" text-anchor="end">{escape(name)}</text>'
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{middle}" y2="{middle}"/>'
            f'<polyline points="{path}"/><circle cx="{points[-1][0]}" cy="{points[-1][1]}" r="3"/>'
            f'<text class="dim" x="{WIDTH - RIGHT + 12}" y="{middle + 4}">'
            f"{change(begin, entries[-1]['counts'][name])}</text>"
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def first(entries: Sequence[dict], name: str) -> int:
    """Return the first count of a line."""
    return next(entry["counts"][name] for entry in entries if name in entry["counts"])


def table(entries: Sequence[dict], names: Sequence[str]) -> str:
    """Return the counts of the newest entries, the newest last, and what has changed since the one before."""
    shown = entries[-4:]
    heads = [f"{it['date']}<br>{it['commit']}" for it in shown]
    lines = [f"| | {' | '.join(heads)} | change |", f"|---|{'---:|' * (len(shown) + 1)}"]
    for name in names:
        counts = [it["counts"].get(name) for it in shown]
        known = [it for it in counts if it is not None]
        cells = ["" if it is None else short(it) for it in counts]
        cells.append(change(known[-2], known[-1]) if len(known) > 1 else "")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def make(folder: Path, kept: Path = KEPT) -> None:
    """Write figures.md and a plot for each key with more than one entry."""
    entries = json.loads(kept.read_text("utf-8"))
    by_key: dict[str, list[dict]] = {}
    for entry in entries:
        by_key.setdefault(entry["key"], []).append(entry)
    newest = max(entries, key=lambda it: len(it["counts"])) if entries else {"counts": {}}
    parts = [HEAD.format(lines=len(newest["counts"]))]
    for number, (key, counted) in enumerate(sorted(by_key.items(), key=lambda it: -len(it[1]))):
        names = list(counted[-1]["counts"])
        parts.append(f"## {key}\n")
        if len(counted) > 1:
            (folder / f"figures-{number}.svg").write_text(drawn(counted, names), "utf-8")
            parts.append(f"![Instructions of each line over time](figures-{number}.svg)\n")
        parts.append(table(counted, names))
    (folder / "figures.md").write_text("\n".join(parts), "utf-8")
