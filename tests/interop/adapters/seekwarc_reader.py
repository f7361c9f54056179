"""An adapter of the conformance kit for this project's own reader."""

from __future__ import annotations

from collections.abc import Iterator

from protocol import Record, main

import seekwarc

STEP = 1 << 20


class Seekwarc:
    knows_sidecars = True
    used_sidecar = False

    def records(self, path: str) -> Iterator[Record]:
        with seekwarc.open(path) as archive:
            for record in archive:
                block = record.block
                pieces = (block.pread(start, STEP) for start in range(0, block.size, STEP))
                yield Record(record.offset, record.length, pieces)

    def read_range(  # noqa: PLR0917 - the words of the question, in their order
        self, path: str, offset: int, length: int | None, start: int, stop: int, sidecar: str | None = None
    ) -> bytes:
        with seekwarc.open(path, sidecar=sidecar or True) as archive:
            record = archive.record_at(offset, length)
            data = record.block.pread(start, stop - start)
            self.used_sidecar = record.body.table_status is seekwarc.TableStatus.SIDECAR
            return data


ADAPTER = Seekwarc()

if __name__ == "__main__":
    main(ADAPTER)
