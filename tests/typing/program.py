"""A program that uses what seekwarc offers, with every type written down: type checkers must find nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import seekwarc
from seekwarc import Collection, Extent, HttpHead, Index, MediaType, Reader, Record, WarcDate, Written


@dataclass(frozen=True)
class Page:
    """An HTML page of an archive."""

    uri: str
    date: WarcDate | None
    status: int
    charset: str
    text: str


def write(path: Path) -> list[int]:
    """Write two captures, and return where they are."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    with seekwarc.open(path, "w") as writer:
        written: Written = writer.write_response("http://example.org/", head + "<p>é".encode())
        again = writer.write("resource", target_uri="http://example.org/a", block=b"a", headers={"X-A": "b"})
        date: WarcDate = written.date
        digests: list[str] = [written.block_digest, written.payload_digest, again.payload_digest]
        assert date.datetime.year >= 2026
        assert [digest[:5] for digest in digests] == ["sha1:", "sha1:", ""]
        return [written.offset, again.offset]


def pages(path: Path) -> Iterator[Page]:
    """Yield the HTML pages of an archive."""
    archive: Reader
    with seekwarc.open(path) as archive:
        record: Record
        for record in archive:
            http: HttpHead | None = record.http
            media_type: MediaType | None = record.payload.media_type
            if http is None or http.status is None or media_type is None or media_type.essence != "text/html":
                continue
            body: bytes = record.payload.read(decoded=True)
            charset: str = http.charset or "utf-8"
            uri: str = record.target_uri or ""
            yield Page(uri, record.date, http.status, charset, body.decode(charset, "replace"))


def fields(path: Path) -> Counter[str]:
    """Count the fields of all headers."""
    counts: Counter[str] = Counter()
    with seekwarc.open(path) as archive:
        for record in archive:
            counts.update(name.lower() for name in record.header)
            if record.http is not None:
                counts.update({name: len(value) for name, value in record.http.items()})
    return counts


def some_bytes(path: Path, offset: int) -> bytes:
    """Read a range of a payload."""
    with seekwarc.open(path) as archive:
        payload: Extent = archive.record_at(offset).payload
        cost: int = payload.plan(0, 10).bytes_fetched
        return payload.pread(0, 10) if cost < 1_000_000 else b""


async def sizes(path: Path) -> list[int]:
    """Ask for the sizes of all payloads without holding up anything else."""
    async with seekwarc.AsyncReader(path) as archive:
        return [await record.payload.size() async for record in archive]


def first_capture(index: Path, uri: str) -> bytes:
    """Read a capture that an index leads to."""
    with Index(index) as captures:
        record: Record = next(captures.lookup(uri)).open()
        return record.payload.read()


def all_uris(paths: list[Path]) -> list[str | None]:
    """Return the URIs of several files, in order."""
    with Collection(paths) as collection:
        return [record.target_uri for record in collection]


class Mine(seekwarc.RangeSource):
    """A source of one's own."""

    def __init__(self, data: bytes) -> None:
        self.name = "mine"
        self.size = len(data)
        self.data = data

    def read(self, start: int, stop: int) -> bytes:
        """Return a range."""
        return self.data[start:stop]


class Other:
    """An object that has what a source must have, of no class of seekwarc's."""

    def __init__(self, data: bytes) -> None:
        self.name = "other"
        self.data = data

    @property
    def size(self) -> int:
        """Bytes in all."""
        return len(self.data)

    def read(self, start: int, stop: int) -> bytes:
        """Return a range."""
        return self.data[start:stop]

    def close(self) -> None:
        """Hold nothing open."""


def records_of(data: bytes) -> int:
    """Open sources of one's own."""
    with seekwarc.open(Mine(data)) as mine, seekwarc.open(Other(data)) as other:
        assert mine.size == other.size
        return len(list(mine))


def main(path: Path) -> None:
    """Do all of it, and say what went wrong."""
    try:
        offsets = write(path)
        print([page.text for page in pages(path)], some_bytes(path, offsets[0]), fields(path).most_common(1))
        print(asyncio.run(sizes(path)), all_uris([path]), records_of(path.read_bytes()))
    except seekwarc.FormatError as error:
        print(error.source, error.offset, error.message)
    except seekwarc.SeekWarcError as error:
        print(error)


if __name__ == "__main__":
    main(Path("typed.warc.zst"))
