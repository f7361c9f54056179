"""Iterating on after damage: the next record that can be read is looked for, and iteration goes on there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from seekwarc.errors import FormatError
from seekwarc.read.search import RecordSearch

if TYPE_CHECKING:
    from seekwarc.frames.units import Compression
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.record import Record

__all__ = ["records_past_damage"]


def records_past_damage(
    file: ArchiveFile,
    compression: Compression,
    records_from: Callable[[int], Iterator[Record]],
    on_error: Callable[[FormatError], object],
) -> Iterator[Record]:
    """Yield the records of a file whatever is damaged in it.

    The record in which damage is met has been yielded, if its header could be read: reading its block raises.

    Args:
        file: The file; its size must be known.
        compression: What it is compressed with.
        records_from: Iterates the records from an offset on, and raises where it meets damage.
        on_error: Told of each damage, once, before the next record is looked for; file and offset are in the
            error. What it raises ends the iteration.
    """
    search = RecordSearch(file, compression)
    size = file.source.size or 0
    offset = 0
    while offset < size:
        record: Record | None = None
        try:
            for record in records_from(offset):
                yield record
        except FormatError as error:
            # A record whose length is known is whole: the damage is in what comes after it.
            broken = record if record is not None and not record.has_length else None
            begin = offset
            if record is not None:
                begin = record.offset if broken is not None else record.offset + max(record.length, 1)
            on_error(error.located(file.name, begin))
            header = broken.header if broken is not None else None
            end = search.next_after(begin, error.offset, header=header, between=broken is None)
            offset = max(end, begin + 1)
        else:
            return
