"""Small tables in HTML, as notebooks show them. Text from files is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from seekwarc.format.uri import as_utf8

__all__ = ["MAX_ROWS", "html_table"]

MAX_ROWS: Final = 10
"""Records or captures that a table shows."""
MAX_TEXT: Final = 200
_STYLE: Final = ' style="text-align: left"'


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = "") -> str:
    """Return a table; None is an empty cell, and long text is shortened."""
    parts = [f"<table><caption{_STYLE}>{_shown(caption)}</caption>"]
    parts.append(_row("th", head) if head else "")
    parts += [_row("td", row) for row in rows]
    return "".join([*parts, "</table>", f"<p>{_shown(note)}</p>" if note else ""])


def _row(tag: str, cells: Sequence[object]) -> str:
    return f"<tr>{''.join(f'<{tag}{_STYLE}>{_shown(cell)}</{tag}>' for cell in cells)}</tr>"


def _shown(value: object) -> str:
    text = "" if value is None else as_utf8(str(value))
    return escape(text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…")
