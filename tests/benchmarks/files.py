"""What programs fetch that read records as files: bytes and requests, which no machine changes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import blosc2
import fsspec
import numpy as np
import pandas as pd

import seekwarc
from seekwarc.compat import blosc2 as arrays
from seekwarc.compat.fsspec import WarcFileSystem
from tests.support.rangeserver import RangeServer

__all__ = ["Cost", "as_files_table", "measure"]

KIB = 1 << 10
MIB = 1 << 20
ROWS = 400_000
PAGES = 1_000
URI = "http://example.org/"


@dataclass(frozen=True, slots=True)
class Cost:
    """What one way to read something fetched."""

    what: str
    way: str
    fetched: int
    """Bytes."""
    requests: int


def measure(folder: Path, size: int, *, rows: int = ROWS, pages: int = PAGES) -> list[Cost]:
    """Measure with an array of `size` MiB, a table of so many rows, and so many small records."""
    return [*_array(folder, size), *_table(folder, rows), *_pages(folder, pages)]


def _cost(what: str, way: str, server: RangeServer, read: Callable[[], object], truth: object) -> Cost:
    server.forget()
    found = read()
    assert np.array_equal(found, truth), f"{way}: something else was read"
    return Cost(what, way, sum(it.sent for it in server.asked), len(server.asked))


def _array(folder: Path, size: int) -> Iterator[Cost]:
    """Read a corner of an array: of a record, of the same file by itself, and of all of it."""
    what = f"8 by 8 by 8 items of a {size} MiB array (Blosc2)"
    bare, stored = folder / f"array-{size}.b2nd", folder / f"array-{size}.warc.zst"
    if not stored.exists():
        chance = np.random.default_rng(1)
        values = np.cumsum(chance.integers(-9, 9, (size // 4, 1024, 1024), dtype="i4"), axis=2, dtype="i4")
        blosc2.asarray(values, urlpath=str(bare), mode="w")
        with seekwarc.open(stored, "w", existing="overwrite") as out:
            out.write_resource(URI + "a.b2nd", bare.read_bytes(), "application/octet-stream")
    with seekwarc.open(stored) as archive:
        record = next(iter(archive))
        offset, length = record.offset, record.length
    truth = blosc2.open(str(bare), mode="r")[-8:, -8:, -8:]

    def of_extent() -> object:
        with seekwarc.open(warc.url) as archive:
            return arrays.open(archive.record_at(offset, length).payload)[-8:, -8:, -8:]

    def of_url() -> object:
        options = {"fo": warc.url}
        return blosc2.open(f"warc://@{offset}+{length}", lazy=True, storage_options=options)[-8:, -8:, -8:]

    with RangeServer(stored.read_bytes()) as warc:
        yield _cost(what, "record, seekwarc.compat.blosc2", warc, of_extent, truth)
        yield _cost(what, "record, blosc2.open of warc://", warc, of_url, truth)
    with RangeServer(bare.read_bytes()) as server:
        server.answers_head = True
        url = server.url + "/a.b2nd"
        yield _cost(
            what, "bare file, blosc2.open", server, lambda: blosc2.open(url, lazy=True)[-8:, -8:, -8:], truth
        )
    yield Cost(what, "the payload downloaded", bare.stat().st_size, 1)


def _table(folder: Path, rows: int) -> Iterator[Cost]:
    """Read the last 64 KiB of a CSV."""
    what = f"last 64 KiB of a CSV of {rows} lines (pandas)"
    chance = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"number": np.arange(rows), "value": chance.random(rows), "more": chance.random(rows)}
    )
    text = frame.to_csv(index=False).encode()
    path = folder / "table.warc.zst"
    with seekwarc.open(path, "w", existing="overwrite") as out:
        put = out.write_resource(URI + "table.csv", text, "text/csv")

    def tail(url: str, **options: object) -> object:
        with fsspec.open(url, **options) as file:
            file.seek(-64 * KIB, 2)
            file.readline()
            return pd.read_csv(io.BytesIO(file.read()), names=list(frame))["number"].iloc[-1]

    with RangeServer(path.read_bytes()) as server:
        place = f"warc://@{put.offset}+{put.length}"
        yield _cost(what, "record, warc://", server, lambda: tail(place, fo=server.url), rows - 1)
    with RangeServer(text) as server:
        server.answers_head = True
        yield _cost(what, "bare file, fsspec's http://", server, lambda: tail(server.url), rows - 1)
    yield Cost(what, "the payload downloaded", len(text), 1)


def _pages(folder: Path, count: int) -> Iterator[Cost]:
    """Read many small records."""
    what = f"{count} small records"
    path = folder / "pages.warc.zst"
    chance = np.random.default_rng(3)
    pages = [chance.bytes(2_000) for _ in range(count)]
    with seekwarc.open(path, "w", existing="overwrite") as out:
        puts = [out.write_resource(f"{URI}{number}", page, "text/html") for number, page in enumerate(pages)]
    places = [f"@{put.offset}+{put.length}" for put in puts]

    def with_file_system(read: Callable[[WarcFileSystem], list[bytes]]) -> list[bytes]:
        archive = WarcFileSystem(server.url)
        try:
            return read(archive)
        finally:
            archive.close()

    with RangeServer(path.read_bytes()) as server:
        yield _cost(
            what,
            "cat_ranges",
            server,
            lambda: with_file_system(lambda fs: fs.cat_ranges(places, 0, None)),
            pages,
        )
        yield _cost(
            what,
            "cat_file of each",
            server,
            lambda: with_file_system(lambda fs: [fs.cat_file(place) for place in places]),
            pages,
        )


def as_files_table(costs: Sequence[Cost]) -> str:
    """Return a table in Markdown."""
    lines = ["| read | by | fetched | requests |", "|---|---|---|---|"]
    lines += [f"| {it.what} | {it.way} | {_bytes(it.fetched)} | {it.requests} |" for it in costs]
    return "\n".join(lines) + "\n"


def _bytes(count: int) -> str:
    return f"{count / MIB:.1f} MiB" if count >= MIB else f"{count / KIB:.0f} KiB"
