"""An adapter of the conformance kit for indexed_zstd, the engine of ratarmount.

It knows no WARC and no dictionaries, reads files by path, and shows their content as one file in which it
seeks. It tells where each frame begins: with that, records are found in the content.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

from indexed_zstd import IndexedZstdFile
from protocol import NotSupported, Record, main

DICTIONARY_FRAME = b"\x5d\x2a\x4d\x18"
STEP = 1 << 16


def open_content(path: str) -> IndexedZstdFile:
    with open(path, "rb") as file:
        if file.read(4) == DICTIONARY_FRAME:
            raise NotSupported("indexed_zstd knows no dictionaries")
    return IndexedZstdFile(path)


def header_at(content: IndexedZstdFile, position: int) -> bytes:
    content.seek(position)
    header = content.read(STEP)
    return header[: header.index(b"\r\n\r\n") + 4]


def length_of(header: bytes) -> int:
    line = next(it for it in header.split(b"\r\n") if it.lower().startswith(b"content-length:"))
    return int(line.partition(b":")[2])


def block(content: IndexedZstdFile, position: int, size: int) -> Iterator[bytes]:
    content.seek(position)
    while size > 0:
        piece = content.read(min(size, STEP))
        if not piece:
            raise ValueError("the content ends inside a record")
        size -= len(piece)
        yield piece


class IndexedZstd:
    def records(self, path: str) -> Iterator[Record]:
        content = open_content(path)
        # Frames without content begin where the next one does: the last at a place is the one with content.
        stored = {position: offset for offset, position in content.block_offsets().items()}
        position = 0
        while position < content.size():
            header = header_at(content, position)
            size = length_of(header)
            yield Record(stored[position], None, block(content, position + len(header), size))
            position += len(header) + size + 4

    def read_range(self, path: str, offset: int, length: int | None, start: int, stop: int) -> bytes:
        with open(path, "rb") as file, tempfile.TemporaryDirectory() as folder:
            head = file.read(4)
            if head == DICTIONARY_FRAME:
                raise NotSupported("indexed_zstd knows no dictionaries")
            file.seek(offset)
            alone = os.path.join(folder, "record.zst")
            with open(alone, "wb") as copy:
                copy.write(file.read() if length is None else file.read(length))
            content = IndexedZstdFile(alone)
            header = header_at(content, 0)
            content.seek(len(header) + start)
            return content.read(stop - start)


ADAPTER = IndexedZstd()

if __name__ == "__main__":
    main(ADAPTER)
