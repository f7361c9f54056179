"""Going through a whole file, damaged or not: every intact record, and every stretch that is none."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.format.words import counted
from seekwarc.frames.audit import FrameAudit
from seekwarc.frames.prefetch import Prefetcher
from seekwarc.frames.scan import Window
from seekwarc.frames.stream import ContentStream
from seekwarc.frames.units import Compression, EmptyFrame, Piece, pieces_from
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.record import Record
from seekwarc.read.search import RecordSearch
from seekwarc.read.sequential import StreamedRecords

__all__ = ["Damage", "Intact", "examine"]

CONTENT_ALONE: Final = 256 << 10
"""Content bytes that are decompressed before a thread does it."""
PIECES_ALONE: Final = 64
"""Frames or members, however small, of which the same is true."""


@dataclass(frozen=True, slots=True)
class Intact:
    """A record that could be read from its beginning to its end."""

    record: Record
    """Usable as long as the file is open."""
    end: int
    """Offset of what comes behind it."""
    trailer: bytes
    """The line breaks behind its block."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A stretch of the file from which no record could be read."""

    offset: int
    end: int
    error: FormatError
    header: RecordHeader | None
    """Header of the record that it begins with, where that could be read."""

    @property
    def size(self) -> int:
        """Stored bytes."""
        return self.end - self.offset


def examine(
    file: ArchiveFile,
    compression: Compression,
    on_record: Callable[[Record, Callable[[], None]], object],
    audit: Callable[[Window], FrameAudit] | None = None,
    *,
    begin: int = 0,
) -> Iterator[Intact | Damage]:
    """Yield what a file consists of, in order.

    Decompression runs ahead in a thread of its own, once the file has shown to be worth one.

    Args:
        file: The file; its size must be known.
        compression: What it is compressed with.
        on_record: Called with each record, whose block has not been read, and with what passes its rest. Both
            reading it and passing it raise where it is damaged.
        audit: Makes what watches the frames.
        begin: Offset to begin at.
    """
    size = file.source.size or 0
    search = RecordSearch(file, compression)
    reach = _Reach(size if compression == "none" else None)
    offset = begin
    while offset < size:
        beginning = search.header_at(offset) if reach.is_known(offset) else None
        if beginning is not None and (cut := reach.cut(file.name, offset, 0, beginning)) is not None:
            end = search.next_after(offset, None)
            yield Damage(offset, end, cut, beginning)
            offset = end
            continue
        window = Window(file.source)
        watching = audit(window) if audit is not None and compression == "zst" else None
        pieces = pieces_from(
            window, offset, compression, file.decoder, watching.observe if watching is not None else None
        )
        ahead = _ahead(watching.watch(pieces) if watching is not None else pieces)
        reached: Iterator[Piece | EmptyFrame] = ahead
        if not reach.is_known(offset):
            reach = _Reach(None)
            reached = reach.measured(reached)
        stream = ContentStream(reached, plain=compression == "none")
        records = StreamedRecords(file, window, offset, compression, stream=stream)
        walk = _Walk(records, stream)
        try:
            while True:
                offset = records.next_offset
                walk.record = None
                record = records.step()
                if record is None:
                    return
                walk.record = record
                if (cut := reach.cut(file.name, record.offset, record.skip, record.header)) is not None:
                    raise cut
                on_record(record, walk.finish)
                walk.finish()
                # Where damage follows, the line breaks may be part of it: nothing is said of them.
                trailer = records.trailer if walk.behind is None else RECORD_END
                yield Intact(record, walk.end, trailer)
                if walk.behind is not None:
                    offset, walk.record = walk.end, None
                    raise walk.behind
        except FormatError as error:
            broken = walk.record
            start = broken.offset if broken is not None else offset
            header = broken.header if broken is not None else None
            # Between records, a size that is wrong may have led past some of them: all is searched.
            end = search.next_after(start, error.offset, header=header, between=broken is None)
            yield Damage(start, end, error, header)
            offset = end
        finally:
            ahead.close()


class _Walk:
    """Where a pass through the records is, and what it met behind the current one."""

    def __init__(self, records: StreamedRecords, stream: ContentStream) -> None:
        self._records = records
        self._stream = stream
        self.record: Record | None = None
        self.behind: FormatError | None = None
        self.end = 0
        """Offset of what comes behind the record."""

    def finish(self) -> None:
        """Pass the rest of the record. Damage that begins behind it is kept for later."""
        try:
            self._records.finish()
        except FormatError as error:
            if self.record is None or not self.record.has_length or self._stream.unit_is_open:
                raise
            self.behind = error
        self.end = self._records.next_offset if self.behind is None else self._stream.unit_end


class _Reach:
    """How much content there is from a unit to the end of the file, once a pass has come to that end.

    A record that says it has more need not be read to be known as cut off. Takes 16 bytes of memory a unit.

    Args:
        plain_size: Size of a file that is not compressed.
    """

    def __init__(self, plain_size: int | None) -> None:
        self._plain_size = plain_size
        self._units = array("Q")
        self._positions = array("Q")
        self._size = 0
        self._at_end = False

    def measured(self, pieces: Iterator[Piece | EmptyFrame]) -> Iterator[Piece | EmptyFrame]:
        """Pass pieces on, taking note of where units begin."""
        for piece in pieces:
            if isinstance(piece, Piece):
                if piece.first:
                    self._units.append(piece.unit)
                    self._positions.append(self._size)
                self._size += len(piece.data)
            yield piece
        self._at_end = True

    def is_known(self, offset: int) -> bool:
        """Tell whether it is known how much there is from the unit at `offset` on."""
        return self._behind(offset) is not None

    def _behind(self, offset: int) -> int | None:
        if self._plain_size is not None:
            return self._plain_size - offset
        number = bisect_left(self._units, offset)
        if not self._at_end or number == len(self._units) or self._units[number] != offset:
            return None
        return self._size - self._positions[number]

    def cut(self, name: str, offset: int, skip: int, header: RecordHeader) -> TruncatedError | None:
        """Return the error for a record that the end of the file is known to cut off."""
        behind = self._behind(offset)
        missing = len(header.raw) + header.content_length - (behind - skip) if behind is not None else 0
        if missing <= 0:
            return None
        return TruncatedError(
            f"the file ends inside this record: {missing} of {counted(header.content_length, 'byte')} of "
            "its block are missing",
            source=name,
            offset=offset,
        )


def _ahead(pieces: Iterator[Piece | EmptyFrame]) -> Generator[Piece | EmptyFrame, None, None]:
    """Yield pieces, the first ones as they are taken: a thread would cost more than all of a small file."""
    content = 0
    for count, piece in enumerate(pieces, 1):
        yield piece
        content += _weight(piece)
        if content >= CONTENT_ALONE or count == PIECES_ALONE:
            break
    else:
        return
    with closing(Prefetcher(pieces, _weight)) as others:
        yield from others


def _weight(piece: Piece | EmptyFrame) -> int:
    return len(piece.data) if isinstance(piece, Piece) else 0
