"""Gzip files as usual tools make them, written on all cores."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from gzip import compress
from itertools import islice
from pathlib import Path

__all__ = ["PIECE", "write_member", "write_members"]

LEVEL = 6
PIECE = 4 << 20
"""What one thread compresses at a time."""
WINDOW = 32 << 10
"""What deflate looks back at."""
BATCH = 200
HEADER = b"\x1f\x8b\x08" + bytes(6) + b"\xff"


def write_members(path: Path, contents: Iterable[bytes], stop_at: int | None = None) -> None:
    """Write a member for each of the contents, all or until the file has that size."""
    contents = iter(contents)
    with path.open("wb") as file, ThreadPoolExecutor() as pool:
        while stop_at is None or file.tell() < stop_at:
            batch = list(islice(contents, BATCH))
            if not batch:
                return
            file.writelines(pool.map(lambda content: compress(content, LEVEL, mtime=0), batch))


def write_member(read: Callable[[int], bytes], write: Callable[[bytes], object]) -> None:
    """Write one member, as pigz does: of pieces that see the end of the one before them."""
    write(HEADER)
    check, size, previous = 0, 0, b""
    with ThreadPoolExecutor() as pool:
        while batch := [piece for _ in range(os.cpu_count() or 1) if (piece := _full(read, PIECE))]:
            before = [previous, *(piece[-WINDOW:] for piece in batch)]
            previous = before.pop()
            for piece in batch:
                check, size = zlib.crc32(piece, check), size + len(piece)
            for stored in pool.map(_deflate, batch, before):
                write(stored)
    write(zlib.compressobj(wbits=-15).flush())
    write(check.to_bytes(4, "little") + (size & 0xFFFF_FFFF).to_bytes(4, "little"))


def _deflate(piece: bytes, before: bytes) -> bytes:
    codec = zlib.compressobj(LEVEL, wbits=-15, zdict=before)
    return codec.compress(piece) + codec.flush(zlib.Z_SYNC_FLUSH)


def _full(read: Callable[[int], bytes], size: int) -> bytes:
    """Read up to that size; less only at the end."""
    parts = []
    while size and (part := read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
