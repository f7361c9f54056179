"""A small crawl with a film, for the tasks."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import seekwarc

FILM = bytes(range(256)) * 20_000
FILM_URI = "http://example.org/film.mp4"
PICTURE = b"\x89PNG\r\n\x1a\n" + random.Random(1).randbytes(10_000)


def http(content_type: str, body: bytes) -> bytes:
    """Return an HTTP response with a body."""
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n".encode() + body


def write_crawl(path: Path, *, pages: int = 5, site: str = "example.org", film: bytes | None = None) -> Path:
    """Write a crawl: pages, a picture for each, and a film."""
    with seekwarc.open(path, "w") as out:
        out.write_warcinfo({"software": "a crawler"})
        for number in range(pages):
            text = f"<title>Page {number}</title>" + "<p>é" * 500
            page = http("text/html; charset=utf-8", text.encode())
            out.write_response(f"http://{site}/{number}.html", page, date="2026-11-21T12:00:00Z")
            picture = http("image/png", PICTURE + number.to_bytes(4))
            out.write_response(f"http://{site}/{number}.png", picture, date="2026-11-21T12:00:00Z")
        if film is not None:
            out.write_response(FILM_URI, http("video/mp4", film), date="2026-11-21T12:00:00Z")
    return path


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return write_crawl(tmp_path / "crawl.warc.zst", film=FILM)
