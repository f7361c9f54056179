"""Crawls of the same pages on several days, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import seekwarc
from tests.support.writing import noise

CHUNKED = {"Transfer-Encoding": "chunked"}
PAGE = noise(3000)
FILM = noise(900_000, seed=1)
URI = "http://example.org/"


def date(day: int) -> str:
    return f"2026-11-{day:02}T06:00:00Z"


def archive(path: Path, day: int = 1, **options: Any) -> seekwarc.Writer:
    return seekwarc.open(path, "w", frame_size=64 << 10, existing="overwrite", **options)


def day_of(path: Path, day: int, *pages: bytes) -> Path:
    with archive(path) as out:
        for number, page in enumerate(pages):
            fields = {"X-Day": str(day)}
            out.write_response(
                f"{URI}{number}",
                page,
                status=200,
                http_headers=fields,
                date=date(day),
                record_id=f"urn:x:{day}-{number}",
            )
    return path


def payloads(*paths: Path) -> list[tuple[str | None, str | None, bytes, bytes]]:
    """Return ID, URI, HTTP head and payload of all captures, as a collection has them."""
    found = []
    with seekwarc.Collection([str(path) for path in paths]) as crawl:
        for record in crawl:
            if record.type in ("response", "resource", "revisit"):
                whole = crawl.open_record(record)
                head = whole.http.raw if whole.http is not None else b""
                found.append((record.id, record.target_uri, head, whole.payload.read()))
    return found


def types(path: Path) -> list[str | None]:
    with seekwarc.open(path) as opened:
        return [record.type for record in opened]
