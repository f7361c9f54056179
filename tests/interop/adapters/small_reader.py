"""An adapter for spec-notes/small_reader.py, so that one process answers all questions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from protocol import Record, main

sys.path.insert(0, str(Path(__file__).parents[3] / "spec-notes"))

from small_reader import Reader


class SmallReader:
    def records(self, path: str) -> Iterator[Record]:
        reader = Reader(Path(path).read_bytes())
        for offset, block in reader.records(reader.begin):
            yield Record(offset, None, [block])

    def read_range(self, path: str, offset: int, length: int | None, start: int, stop: int) -> bytes:
        return Reader(Path(path).read_bytes()).read(offset, length, start, stop)


ADAPTER = SmallReader()

if __name__ == "__main__":
    main(ADAPTER)
