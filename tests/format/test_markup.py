"""Tables in HTML: escaped, and short."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from seekwarc.format.markup import html_table


class Cells(HTMLParser):
    """What a table holds, and its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(st.lists(st.tuples(st.text("<>&\"'/aé ", max_size=20), st.integers() | st.none()), max_size=5))
def test_no_text_becomes_markup(rows) -> None:
    cells = Cells()
    cells.feed(html_table("<b>caption</b>", ["<i>", "b"], rows, note="<script>"))
    assert cells.tags <= {"table", "caption", "tr", "th", "td", "p"}
    expected = ["<b>caption</b>", "<i>", "b"]
    expected += [str(cell) for row in rows for cell in row if cell not in (None, "")]
    assert "".join(cells.texts) == "".join([*expected, "<script>"])


def test_long_text_is_shortened() -> None:
    assert len(html_table("", [], [["x" * 10_000]])) < 400
