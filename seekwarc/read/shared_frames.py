"""Records that share a frame or gzip member, or go on in another one: read in order."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from seekwarc.read.sequential import StreamedRecords

if TYPE_CHECKING:
    from seekwarc.frames.pieces import Compression
    from seekwarc.frames.scan import Window
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.record import Record

__all__ = ["streamed_group"]


def streamed_group(
    file: ArchiveFile, window: Window, offset: int, compression: Compression
) -> Generator[Record, None, int]:
    """Yield records in order until one begins a frame of its own again; return that frame's offset."""
    records = StreamedRecords(file, window, offset, compression, tolerant=True)
    while (record := records.step()) is not None:
        yield record
        records.finish()
        if records.at_frame:
            return records.next_offset
    if not records.next_offset:
        raise file.without_records()
    return file.source.size or offset
