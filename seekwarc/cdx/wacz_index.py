"""The index in a WACZ as a source that can be searched."""

from __future__ import annotations

import zlib
from typing import Final

from seekwarc.cdx.zipnum import GZIP_WINDOW
from seekwarc.errors import FormatError, LimitError
from seekwarc.storage.local import BytesSource
from seekwarc.storage.source import RangeSource
from seekwarc.storage.zip_members import ZipArchive

__all__ = ["MAX_INDEX", "index_of", "unpacked"]

FOLDER: Final = "indexes/"
MAX_INDEX: Final = 256 << 20
"""Bytes of lines that are sorted in memory, of a WACZ with a compressed index or with several."""
SMALL: Final = 256 << 10
STEP: Final = 1 << 20


def index_of(archive: ZipArchive) -> RangeSource:
    """Return the index of a WACZ: a cluster's, or sorted lines.

    A WACZ with one index is read as it is. The lines of a compressed one without an .idx file, or of several,
    are unpacked and sorted.

    Raises:
        FormatError: There is no index, or it cannot be unpacked.
        LimitError: The lines that have to be sorted have more than 256 MiB.
    """
    names = [it for it in archive.members if it.startswith(FOLDER)]
    clusters = [it for it in names if it.endswith(".idx")]
    plain = [it for it in names if it.endswith((".cdx", ".cdxj"))]
    packed = [it for it in names if it.endswith((".cdx.gz", ".cdxj.gz"))]
    if len(clusters) == 1 and len(packed) == 1 and not plain:
        return _small_in_memory(archive.open(clusters[0]))
    if len(plain) == 1 and not packed:
        return _small_in_memory(archive.open(plain[0]))
    if not plain and not packed:
        raise FormatError("has no index in its folder indexes/", source=archive.source.name)
    lines: list[bytes] = []
    room = MAX_INDEX
    for name in plain + packed:
        data = unpacked(archive.open(name), room)
        room -= len(data)
        lines += [it for it in data.splitlines() if it and not it.startswith((b"!meta", b" CDX"))]
    return BytesSource(b"\n".join(sorted(lines)) + b"\n", archive.source.name + "!/" + FOLDER)


def _small_in_memory(source: RangeSource) -> RangeSource:
    # A search reads the beginning, and then blocks from there on.
    if not 0 < (source.size or 0) <= SMALL:
        return source
    return BytesSource(source.read(0, SMALL), source.name)


def unpacked(source: RangeSource, limit: int) -> bytes:
    """Return the bytes of a file, decompressed if they are gzip members; `LimitError` above `limit`."""
    pieces: list[bytes] = []
    size = position = 0
    packer = None
    while data := source.read(position, position + STEP):
        is_gzip = packer is not None or (not position and data.startswith(b"\x1f\x8b"))
        position += len(data)
        while data:
            if is_gzip:
                packer = packer if packer is not None and not packer.eof else zlib.decompressobj(GZIP_WINDOW)
                try:
                    piece = packer.decompress(data, limit - size + 1)
                except zlib.error as error:
                    raise FormatError(f"cannot be decompressed: {error}", source=source.name) from error
                data = packer.unused_data or packer.unconsumed_tail
            else:
                piece, data = data, b""
            size += len(piece)
            if size > limit:
                raise LimitError(f"has more than {limit} bytes of lines", source=source.name)
            pieces.append(piece)
    return b"".join(pieces)
