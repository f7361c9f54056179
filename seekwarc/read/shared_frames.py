"""Records that share a frame or gzip member, or go on in another one: read in order."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from seekwarc.errors import FormatError
from seekwarc.format.zstd import MAX_FRAME_HEADER_SIZE
from seekwarc.frames.scan import Window, frame_start_at

if TYPE_CHECKING:
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.record import Record
    from seekwarc.read.sequential import StreamedRecords

__all__ = ["group_of"]


def group_of(records: StreamedRecords, file: ArchiveFile, window: Window) -> Generator[Record, None, int]:
    """Yield records in order until one begins a frame of its own again; return that frame's offset.

    Only reading in order leads through a frame that does not state its size, so the group goes on with that.

    Args:
        records: Reads them.
        file: Their file.
        window: What they are read through.
    """
    while (record := records.step()) is not None:
        yield record
        if records.jump():
            return records.next_offset
        records.finish()
        if records.at_frame and not _is_silent(window, records.next_offset):
            return records.next_offset
    if not records.next_offset:
        raise file.without_records()
    return file.source.size or records.next_offset


def _is_silent(window: Window, offset: int) -> bool:
    """Tell whether a frame is seen to be at `offset` that does not state its size."""
    if not window.leads_to(offset, offset + MAX_FRAME_HEADER_SIZE):
        return False
    try:
        start = frame_start_at(window, offset)
    except FormatError:
        return False
    return start is not None and start[1] is not None and start[1].content_size is None
