"""The plots of the benchmarks: well-formed, told in words, inside their frame."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from tests.benchmarks.growth import Series
from tests.benchmarks.plots import as_growth_svg, as_svg
from tests.benchmarks.running import Result

SVG = "{http://www.w3.org/2000/svg}"
RESULTS = [
    Result("a <b> & c", "peer", (0.4, 0.5, 0.6), 2),
    Result("cold", "other", (520.0,), 100),
    Result("size", "one", (1.02,), 1.03, "times"),
    Result("memory", "", (150.0,), 200, "MiB"),
]


def parsed(text: str) -> ET.Element:
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    assert [root.find(f"{SVG}{name}").get("id") for name in ("title", "desc")] == ["title", "desc"]
    assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text
    width, height = (float(root.get(name)) for name in ("width", "height"))
    for circle in root.iter(f"{SVG}circle"):
        assert 0 < float(circle.get("cx")) < width
        assert 0 < float(circle.get("cy")) < height
    return root


def test_ratios_are_drawn_with_their_targets() -> None:
    root = parsed(as_svg(RESULTS, "a note"))
    dots = {dot.get("class"): float(dot.get("cx")) for dot in root.iter(f"{SVG}circle")}
    assert set(dots) == {"a", "b"}
    assert dots["a"] > dots["b"]
    targets = [line for line in root.iter(f"{SVG}line") if line.get("class") == "target"]
    assert len(targets) == 2
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert {"a <b> & c", "0.500x ✗", "520x", "a note"} <= set(words)
    assert root.find(f"{SVG}desc").text == "a <b> & c, against peer: 0.500x; cold, against other: 520x"


def test_a_plot_without_ratios_is_valid() -> None:
    assert list(parsed(as_svg(RESULTS[2:], "")).iter(f"{SVG}circle")) == []


def test_growth_is_drawn_in_panels() -> None:
    series = [
        Series("One", "open", "bytes", 0, ((1 << 20, 1e-4), (1 << 30, 2e-4), (1 << 36, 2e-4))),
        Series("One", "opened", "bytes", 1, ((1 << 20, 1e-3), (1 << 30, 2e-3), (1 << 36, 0.1))),
        Series("Two", "by threads", "threads", None, ((1, 0.5), (2, 0.3))),
    ]
    root = parsed(as_growth_svg(series))
    assert len(list(root.iter(f"{SVG}polyline"))) == 3
    assert {"1 MiB", "64 GiB", "2", "One", "Two", "by threads"} <= set(root.itertext())
    assert "One, opened: 1.00 ms at 1 MiB, 100 ms at 64 GiB (by bytes)" in root.find(f"{SVG}desc").text
