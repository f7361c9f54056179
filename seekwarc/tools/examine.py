"""Going through a whole file, damaged or not: every intact record, and every stretch that is none.

Behind damage the next record is looked for: first by stepping from frame to frame, then by the tables at the
end of the file, then byte by byte.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from seekwarc.archive.file import ArchiveFile
from seekwarc.archive.record import Record
from seekwarc.archive.streamed import StreamedRecords
from seekwarc.errors import FormatError
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.frames.ahead import Ahead
from seekwarc.frames.audit import FrameAudit
from seekwarc.frames.scan import Window, frame_at
from seekwarc.frames.stream import ContentStream
from seekwarc.frames.units import Compression, Extension, Piece, pieces_from

__all__ = ["Damage", "Intact", "examine", "next_record"]

SEARCH_STEP: Final = 1 << 20

_BEGINNINGS: Final[dict[Compression, re.Pattern[bytes]]] = {
    "zst": re.compile(rb"\x28\xb5\x2f\xfd"),
    "gz": re.compile(rb"\x1f\x8b\x08"),
    "none": re.compile(rb"WARC/[0-9]+\.[0-9]+[ \t]*\r?\n"),
}
LONGEST_BEGINNING: Final = 32
"""Bytes that may have to be seen to recognise one."""


@dataclass(frozen=True, slots=True)
class Intact:
    """A record that could be read from its beginning to its end."""

    record: Record
    """Usable as long as the file is open."""
    end: int
    """Offset of what comes behind it."""
    trailer: bytes
    """The line breaks behind its block."""
    at_unit: bool
    """Whether what comes behind it begins a frame or gzip member of its own."""


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
    look: Callable[[Record, Callable[[], None]], object],
    audit: Callable[[Window], FrameAudit] | None = None,
    *,
    begin: int = 0,
) -> Iterator[Intact | Damage]:
    """Yield what a file consists of, in order.

    Decompression runs ahead in a thread of its own.

    Args:
        file: The file; its size must be known.
        compression: What it is compressed with.
        look: Called with each record, whose block has not been read, and with what passes its rest. Both
            reading it and passing it raise where it is damaged.
        audit: Makes what watches the frames.
        begin: Offset to begin at.
    """
    size = file.source.size or 0
    offset = begin
    while offset < size:
        window = Window(file.source)
        watching = audit(window) if audit is not None and compression == "zst" else None
        pieces = pieces_from(
            window, offset, compression, file.decoder, watching.observe if watching is not None else None
        )
        ahead = Ahead(watching.watch(pieces) if watching is not None else pieces, _weight)
        stream = ContentStream(iter(ahead), plain=compression == "none")
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
                look(record, walk.finish)
                walk.finish()
                # Where damage follows, the line breaks may be part of it: nothing is said of them.
                trailer = records.trailer if walk.behind is None else RECORD_END
                yield Intact(record, walk.end, trailer, records.at_unit)
                if walk.behind is not None:
                    offset, walk.record = walk.end, None
                    raise walk.behind
        except FormatError as error:
            broken = walk.record
            start = broken.offset if broken is not None else offset
            # Between records, a size that is wrong may have led past some of them: all is searched.
            end = next_record(file, compression, start, error.offset, between=broken is None)
            yield Damage(start, end, error, broken.header if broken is not None else None)
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


def _weight(piece: Piece | Extension) -> int:
    return len(piece.data) if isinstance(piece, Piece) else 0


def next_record(
    file: ArchiveFile, compression: Compression, begin: int, damage: int | None, *, between: bool = False
) -> int:
    """Return the offset at which the next record begins that can be read; the end of the file without one.

    Args:
        file: The file.
        compression: What it is compressed with.
        begin: Offset of the record that is damaged.
        damage: Offset of the damaged frame, where known.
        between: The damage is not inside a record, so that records may have been passed unseen.
    """
    size = file.source.size or 0
    if compression != "zst":
        return _first_record(file, compression, _search(file, compression, begin + 1), size)
    position = begin if between or damage is None else max(damage, begin)
    # A frame whose size is damaged leads past records, and a table may be false: what comes first is right.
    listed = _first_record(file, compression, file.tables.frame_offsets(position), size)
    stepped = _first_record(file, compression, _frames_behind(file, position), size)
    if not between and min(listed, stepped) < size:
        return min(listed, stepped)
    found = _search(file, compression, position + 1)
    return min(listed, stepped, _first_record(file, compression, found, size))


def _first_record(file: ArchiveFile, compression: Compression, candidates: Iterator[int], size: int) -> int:
    """Return the first of some offsets at which a record begins, the file's size where none does."""
    return next((it for it in candidates if _begins_record(file, compression, it)), size)


def _frames_behind(file: ArchiveFile, offset: int) -> Iterator[int]:
    """Yield the offsets of frames behind that at `offset`, as far as one can be stepped over."""
    window = Window(file.source)
    first = offset
    with contextlib.suppress(FormatError):
        while (frame := frame_at(window, offset)) is not None:
            # No record begins with a frame without content.
            if frame.content_size != 0 and frame.offset != first:
                yield frame.offset
            offset = frame.end


def _search(file: ArchiveFile, compression: Compression, offset: int) -> Iterator[int]:
    """Yield every offset from `offset` on at which bytes stand that may begin a record."""
    pattern = _BEGINNINGS[compression]
    window = Window(file.source)
    while data := window.take(offset, SEARCH_STEP):
        for match in pattern.finditer(data):
            yield offset + match.start()
        if len(data) < SEARCH_STEP:
            return
        # Far enough back that a beginning cut in two is seen whole; none is yielded twice in vain.
        offset += len(data) - LONGEST_BEGINNING


def _begins_record(file: ArchiveFile, compression: Compression, offset: int) -> bool:
    """Tell whether a record header can be read at `offset`."""
    if offset >= (file.source.size or 0):
        return False
    stream = file.stream(Window(file.source), offset, compression)
    try:
        mark = stream.mark()
        if mark is None or mark.unit != offset:
            return False
        file.parse_header(stream.read_header(), offset)
    except FormatError:
        return False
    return True
