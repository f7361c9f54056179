"""Whether the records of a new file are equal to those of the old one, byte for byte.

Frames that were copied are compared as they are stored: that they are intact was found when they were copied.
All other records are decoded, in both files.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from seekwarc.closing import Closing
from seekwarc.edit.changing import Change
from seekwarc.edit.copy_inputs import Part
from seekwarc.edit.copy_source import LooseRecord, Place, PlacedRecords
from seekwarc.frames.scan import Window
from seekwarc.jobs.progress import Progress
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.reader import WholeReader
from seekwarc.read.record import Record
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource
from seekwarc.write.block_reader import BlockSource

__all__ = ["Comparison"]

STEP: Final = 1 << 20


class Comparison(Closing):
    """A new file and the one whose records were copied into it.

    Args:
        part: The old file.
        made: Path of the new file.
        has_same_form: Whether frames were copied, for a file with the same dictionary, or none.
        on_progress: Wraps the old file.
    """

    def __init__(self, part: Part, made: str, on_progress: Progress, *, has_same_form: bool) -> None:
        self._old = ArchiveFile(Fetcher(on_progress(open_source(part.target), "comparing")), part.limits)
        self._found = PlacedRecords(self._old, part.compression, "")
        self._old_bytes = Window(self._old.source) if has_same_form else None
        self._stored = Fetcher(open_source(made))
        self._new_bytes = Window(self._stored)
        self._new = WholeReader(made, **part.limits)

    def close(self) -> None:
        """Close both files. Idempotent."""
        self._old.close()
        self._stored.close()
        self._new.close()

    def copies(self) -> Iterator[Record]:
        """Yield the records of the new file."""
        return iter(self._new)

    def is_equal(self, copy: Record, place: Place, change: Change | None) -> bool:
        """Tell whether a record of the new file is the one at a place of the old, or what that becomes.

        Raises:
            FormatError: One of them is damaged.
        """
        if change is not None:
            return copy.header.raw == change.header.raw and _has_block(copy, change.pieces())
        if self._has_frames(copy, place):
            return True
        old = self._found.at(*place[:2])
        loose = old if isinstance(old, LooseRecord) else old.loose("")
        block = BlockSource(loose.open_block(), loose.header.content_length)
        pieces = iter(partial(block.read, STEP), b"")
        return copy.header.raw == loose.header.raw and _has_block(copy, pieces)

    def _has_frames(self, copy: Record, place: Place) -> bool:
        old, new = self._old_bytes, self._new_bytes
        if old is None or place.end is None or place.skip or copy.skip:
            return False
        size, (mine, theirs) = place.end - place.offset, (old.take, new.take)
        if size > STEP:
            # A window keeps what it has read, and would copy these bytes once or twice.
            mine, theirs = (partial(_take, window.source) for window in (old, new))
        steps = ((at, min(STEP, size - at)) for at in range(0, size, STEP))
        return copy.length == size and all(
            mine(place.offset + at, step) == theirs(copy.offset + at, step) for at, step in steps
        )


def _take(source: RangeSource, start: int, size: int) -> bytes:
    return source.read(start, start + size)


def _has_block(record: Record, pieces: Iterator[bytes]) -> bool:
    with record.block.open() as block:
        return all(block.read(len(data)) == data for data in pieces) and not block.read(1)
