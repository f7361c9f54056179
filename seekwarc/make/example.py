"""An example crawl with a large record, and what a range read of it costs in each format."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seekwarc.read.reader import Reader, WholeReader
from seekwarc.storage.source import Stats
from seekwarc.write.files import Existing
from seekwarc.write.writer import Writer

__all__ = ["RangeCost", "make_example", "measure"]

STEP: Final = 1 << 20
FILM: Final = "http://example.org/film.mp4"
DATE: Final = "2026-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class RangeCost:
    """What one range read cost, from opening the file on."""

    data: bytes
    seconds: float
    stats: Stats


# Sixteen byte values are twice as frequent as the others: compression saves two per cent, as with real films.
_SKEWED: Final = bytes(byte % 240 for byte in range(256))


def _film(size: int) -> Iterator[bytes]:
    """Yield data that compress as little as a film, the same each time."""
    chance = random.Random(20260101)  # noqa: S311
    for start in range(0, size, STEP):
        yield chance.randbytes(STEP).translate(_SKEWED)[: size - start]


def _pages() -> Iterator[tuple[str, bytes]]:
    for number in range(50):
        items = "".join(f"<li><a href='/{n}.html'>Page {n}</a></li>" for n in range(number, number + 40))
        page = f"<!doctype html><title>Page {number}</title><h1>Page {number}</h1><ul>{items}</ul>"
        yield f"http://example.org/{number}.html", page.encode()


def make_example(path: Path, film_size: int, *, existing: Existing = "error") -> int:
    """Write a crawl of fifty pages and a film as .warc.zst; return the offset of the film's record."""
    with Writer(path, existing=existing, on_error="discard") as writer:
        writer.write_warcinfo({"software": "seekwarc demo"}, filename=path.name)
        for uri, page in _pages():
            head = {"Content-Type": "text/html"}
            writer.write_response(uri, page, status=200, http_headers=head, date=DATE)
        head = {"Content-Type": "video/mp4", "Content-Length": str(film_size)}
        film = writer.write_response(FILM, _film(film_size), status=200, http_headers=head, date=DATE)
        return film.offset


def measure(path: Path, start: int, length: int, locate: Callable[[Reader], int]) -> RangeCost:
    """Open a file, and read a range of the film's payload."""
    with WholeReader(path) as archive:
        offset = locate(archive)
        archive.stats.requests = archive.stats.bytes_fetched = archive.stats.bytes_decoded = 0
        begin = time.perf_counter()
        data = archive.record_at(offset).payload.pread(start, length)
        return RangeCost(data, time.perf_counter() - begin, archive.stats)
