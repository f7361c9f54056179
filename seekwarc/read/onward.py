"""Iterating over part of a file, and on after damage: the next record that can be read is looked for.

A part owns the records whose first byte lies in it. Where it ends another begins, perhaps in another process,
and nothing may be lost or read twice between them. So an iteration that comes to the end of its part compares
the record that follows with the one that an iteration from that end finds. Where all parts of a file compare
well, they hold the same records as one iteration over the file does: the first part begins as that does, and
each hands over to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from seekwarc.errors import FormatError, LimitError, TruncatedError
from seekwarc.frames.pieces import GZIP_STEP
from seekwarc.read.search import RecordSearch

if TYPE_CHECKING:
    from seekwarc.frames.pieces import Compression
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.record import Record

__all__ = ["reach_of", "records_past_damage"]

RecordsFrom = Callable[[int], "Iterator[Record]"]
OnError = Callable[[FormatError], object]


def reach_of(stop: int | None, compression: Compression) -> int | None:
    """Return how far the bytes of a part may be read ahead.

    What is wrong with a gzip member may show in the bytes after it alone, as when some of its own are lost.
    Whether it has a record must not depend on where parts end.
    """
    return stop if stop is None or compression != "gz" else stop + GZIP_STEP


def records_past_damage(
    file: ArchiveFile,
    compression: Compression,
    records_from: RecordsFrom,
    on_error: OnError,
    *,
    start: int = 0,
    stop: int | None = None,
    on_misfit: OnError | None = None,
) -> Iterator[Record]:
    """Yield the records of a file, or of a part of it, whatever is damaged in it.

    A damaged record has been yielded, if its header could be read: reading its block raises. `on_error` is
    called once for each damage, before the next record is looked for. An exception in it ends the iteration.
    `on_misfit`, or else `on_error`, is called last if `stop` is inside a record.

    Worst case: each record claims to be longer than the file, which is then read to its end for each. After
    a few passes that ends with an error.
    """
    search = RecordSearch(file, compression)
    size = file.source.size or 0
    end = size if stop is None else min(stop, size)
    offset = previous = start
    while offset < end:
        record: Record | None = None
        try:
            for record in records_from(offset):
                if record.offset >= end:
                    break
                yield record
                previous = record.offset
            else:
                record = None
        except FormatError as error:
            # A record whose length is known is whole: the damage is in what comes after it.
            broken = record if record is not None and not record.has_length else None
            begin = offset = _begin_of_damage(offset, record, broken)
            if begin < end:
                on_error(error.located(file.name, begin))
                try:
                    _refuse_hopeless(file, error, begin)
                    header = broken.header if broken is not None else None
                    found = search.next_after(begin, error.offset, header=header, between=broken is None)
                except LimitError as hopeless:
                    on_error(hopeless.located(file.name, begin))
                    return
                offset = max(found, begin + 1)
        else:
            offset = size if record is None else record.offset
    if end < size:
        misfit = _misfit(file, records_from, end, offset, previous)
        if misfit is not None:
            (on_misfit or on_error)(misfit)


def _begin_of_damage(offset: int, record: Record | None, broken: Record | None) -> int:
    if record is None:
        return offset
    return record.offset if broken is not None else record.offset + max(record.length, 1)


def _refuse_hopeless(file: ArchiveFile, error: FormatError, begin: int) -> None:
    rest = (file.source.size or 0) - begin
    if isinstance(error, TruncatedError) and not file.may_mend(2 * rest):
        raise LimitError("too many records have wrong lengths; the rest of the file was not searched")


def _misfit(
    file: ArchiveFile, records_from: RecordsFrom, stop: int, following: int, previous: int
) -> FormatError | None:
    """Return the error of a part whose end an iteration from there on does not go on from."""
    if following == stop:
        return None
    try:
        first = next(records_from(stop), None)
    except FormatError:
        # The part that begins there reports it.
        return None
    if (file.source.size if first is None else first.offset) == following:
        return None
    return FormatError(
        f"a part of the file ends inside this record, at offset {stop}: the seek table or the index that the "
        "parts were made from is wrong; read the file as a whole",
        source=file.name,
        offset=previous,
    )
