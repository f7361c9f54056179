"""Rows of a table of records."""

from __future__ import annotations

from seekwarc import Entry
from seekwarc.format.dates import WarcDate


def row(number: int, **given: object) -> Entry:
    """Return some entry."""
    made = {
        "filename": "a.warc.zst",
        "offset": number * 100,
        "length": 100,
        "type": ("response", "request", "revisit")[number % 3],
        "id": f"urn:{number}",
        "uri": f"http://example.org/{number:04}/Page_{number % 7}.html",
        "date": WarcDate.parse(f"2026-{number % 12 + 1:02}-10T00:00:00Z"),
        "mime": ("text/html", "video/mp4")[number % 2],
        "status": 200,
        "size": number * 37 % 1000,
    }
    return Entry(**{**made, **given})
