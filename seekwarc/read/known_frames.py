"""Frames that are known to be in the file, and frames that a seek table claims.

Goal: what a table says never becomes a fact by accident.

Plan: the two are different types. `KnownFrames` were scanned, or their table was compared with a scan, or an
index names it by its digest; only the functions here make them. Whatever decides which records there are,
where one ends, and what an index or a split says, takes only these. `ClaimedFrames` are what a table of the
file lists: they lead a short read to its frames, each of which is checked when it is decoded. `compared` is
the one way from the second to the first.

Source: spec-notes/warc-zstd-seekable, sections 6.2 to 6.4, annex B.2. The places that take claims all the
same are listed in spec-notes/implementation-notes.md ("Where a table's word is taken").
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.seektable import SeekTable, TableReference, built_table_size
from seekwarc.format.warc import RECORD_END
from seekwarc.format.zstd import SEEK_TABLE_MAGIC
from seekwarc.frames.scan import UNSEEN, Window, frame_start_at, scan_run
from seekwarc.read.file_tables import ClaimedFrames

if TYPE_CHECKING:
    from seekwarc.read.archive_file import ArchiveFile

__all__ = [
    "NOT_THESE",
    "KnownFrames",
    "ScannedFrames",
    "compared",
    "frames_named",
    "scanned",
    "table_after",
]

NOT_THESE: Final = "the seek table does not list the frames that are there"


class KnownFrames(NamedTuple):
    """The frames of one record."""

    offset: int
    """Offset of the first one in the file."""
    table: SeekTable
    """Their sizes; and their checksums, if a table states them."""

    @property
    def end(self) -> int:
        """Offset after the last one."""
        return self.offset + self.table.stored_size


class ScannedFrames(NamedTuple):
    """The frames of one record, as scanning their headers finds them."""

    frames: KnownFrames
    checksums: array[int]
    """What each states; `UNSEEN` where it states none, or that was not looked at."""


def scanned(file: ArchiveFile, offset: int, size: int) -> ScannedFrames | None:
    """Scan the frames of a record; None if they do not tell where it ends, or the file ends before."""
    try:
        run = scan_run(file.source, offset, size)
    except TruncatedError:
        if file.strict:
            raise
        # Frames before the cut can still be read.
        return None
    if file.strict and run.is_at_end and run.content_size < size - len(RECORD_END):
        raise TruncatedError(
            f"the file ends inside this record: {run.content_size} of {size} bytes are there",
            source=file.name,
            offset=offset,
        )
    if run.content_size != size:
        return None
    return ScannedFrames(KnownFrames(offset, SeekTable(run.stored_sizes, run.content_sizes)), run.checksums)


def compared(claimed: ClaimedFrames, found: ScannedFrames) -> KnownFrames:
    """Return frames that a table claims, after comparing them with those that are there."""
    table, known = claimed.table, found.frames
    sizes = table.stored_sizes, table.content_sizes
    if claimed.offset != known.offset or sizes != (known.table.stored_sizes, known.table.content_sizes):
        raise FormatError(NOT_THESE)
    if table.checksums is not None and table.checksums != found.checksums:
        pairs = zip(table.checksums, found.checksums, strict=True)
        if not all(stated in (UNSEEN, listed) for listed, stated in pairs):
            raise FormatError(NOT_THESE)
    return KnownFrames(claimed.offset, table)


def frames_named(file: ArchiveFile, offset: int, size: int, reference: TableReference) -> KnownFrames:
    """Return the frames of a record by the table that an index names (spec-notes, annex B.2)."""
    import hashlib

    if reference.size > file.max_table_size:
        raise FormatError(f"the seek table is larger than max_table_size={file.max_table_size}")
    data = file.source.read(reference.offset, reference.offset + reference.size)
    if hashlib.sha256(data).hexdigest() != reference.sha256:
        raise FormatError("the seek table is not the one that the index names: the index is out of date")
    table = SeekTable.parse(data)
    if table.anchor(reference.offset) != offset or table.content_size != size:
        raise FormatError("the seek table that the index names is that of another record")
    return KnownFrames(offset, table)


def table_after(file: ArchiveFile, frames: KnownFrames) -> tuple[ClaimedFrames, bytes] | None:
    """Return what the seek table right after a record's frames claims, and the table's own bytes."""
    window = Window(file.source)
    start = frame_start_at(window, frames.end)
    if start is None or start[0] != SEEK_TABLE_MAGIC:
        return None
    size = start[2]
    if size > min(built_table_size(len(frames.table)), file.max_table_size):
        # It lists more frames than the record has: a file table, or not ours.
        return None
    data = window.take(frames.end, size)
    table = SeekTable.parse(data)
    offset = table.anchor(frames.end)
    return None if offset < frames.offset else (ClaimedFrames(offset, table, is_own=True), data)
