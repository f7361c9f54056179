"""An adapter of the conformance kit for FastWARC: it reads in order, and a range by reading the record."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from fastwarc.warc import ArchiveIterator
from protocol import Record, main

STEP = 1 << 20


def pieces(record: Any) -> Iterator[bytes]:
    while piece := record.reader.read(STEP):
        yield piece


class FastWarc:
    def records(self, path: str) -> Iterator[Record]:
        with open(path, "rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                yield Record(record.stream_pos, None, pieces(record))

    def read_range(self, path: str, offset: int, length: int | None, start: int, stop: int) -> bytes:
        with open(path, "rb") as file:
            file.seek(offset)
            stored = file.read() if length is None else file.read(length)
        # FastWARC takes a dictionary from the head of what it reads: here there is no such head.
        record = next(ArchiveIterator(io.BytesIO(stored), parse_http=False))
        return record.reader.read()[start:stop]


ADAPTER = FastWarc()

if __name__ == "__main__":
    main(ADAPTER)
