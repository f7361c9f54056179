"""An adapter of the conformance kit for the `zstd` program, which decompresses whole files.

It knows no WARC, no places and no dictionary frames: records are found in the content that it shows, and
their offsets by the sizes that frames state.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from protocol import NotSupported, Record, main

sys.path.insert(0, str(Path(__file__).parents[3] / "spec-notes"))

from small_reader import Damage, Reader

COMMAND = "zstd", "-dcq"


def decompressed(data: bytes) -> tuple[bytes, str]:
    """Return what the program makes of a file or frame, and its error, if any."""
    done = subprocess.run(COMMAND, input=data, capture_output=True, check=False)
    return done.stdout, done.stderr.decode(errors="replace").strip() if done.returncode else ""


def starts_of(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the content of each frame ends, and where the frame begins."""
    walker = Reader.__new__(Reader)
    walker.data = data
    at = position = 0
    while at < len(data):
        end, size, _ = walker.frame(at)
        position += len(decompressed(data[at:end])[0]) if size is None else size
        yield position, at
        at = end


class Zstd:
    def records(self, path: str) -> Iterator[Record]:
        data = Path(path).read_bytes()
        content, error = decompressed(data)
        starts, position, end = starts_of(data), 0, 0
        while position < len(content):
            header = content[position : content.index(b"\r\n\r\n", position) + 4]
            line = next(it for it in header.split(b"\r\n") if it.lower().startswith(b"content-length:"))
            stop = position + len(header) + int(line.partition(b":")[2])
            if stop > len(content):
                raise ValueError(error or "the content ends inside a record")
            while end <= position:
                end, offset = self._next(starts, error)
            yield Record(offset, None, [content[position + len(header) : stop]])
            position = len(content) - len(content[stop:].lstrip(b"\r\n"))
        if error or not content:
            raise ValueError(error or "the file has no content")

    @staticmethod
    def _next(starts: Iterator[tuple[int, int]], error: str) -> tuple[int, int]:
        try:
            return next(starts)
        except Damage:
            raise ValueError(error or "a frame is damaged") from None

    def read_range(self, *_: object) -> NoReturn:
        raise NotSupported("zstd decompresses whole files")


ADAPTER = Zstd()

if __name__ == "__main__":
    main(ADAPTER)
