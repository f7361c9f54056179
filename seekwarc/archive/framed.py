"""Records of a .warc.zst file that can seek: found by frame headers and seek tables.

A record that is one frame is decoded when it is reached. Of a larger one only the first frame is; the
others are stepped over. Whatever breaks the rules, such as frames that do not state their size or that
hold several records, is read in order instead (`StreamedRecords`).
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final

from seekwarc.archive.record import Layout, Record, TableStatus
from seekwarc.archive.streamed import StreamedRecords, stream_content, streamed_length
from seekwarc.archive.tables import read_table_before
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.seektable import SeekTable
from seekwarc.format.warc import RECORD_END, find_header_end
from seekwarc.format.zstd import SEEK_TABLE_MAGIC, FrameHeader
from seekwarc.frames.run import MAX_FRAME_CONTENT, FrameRun
from seekwarc.frames.scan import Window, frame_at, frame_start_at
from seekwarc.frames.stream import WHOLE_FRAME, whole_frame

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from seekwarc.archive.file import ArchiveFile
    from seekwarc.format.warc import RecordHeader

__all__ = ["framed_record_at", "framed_records"]

SMALL_RECORD: Final = 64 << 10
"""A record known to take no more than this in the file is fetched in one read."""
LEAST_TAIL: Final = 64 << 10
STORED_PER_TABLE_BYTE: Final = (128 << 10) // 12
"""Stored bytes for each byte of the table, in a record that does not compress."""
LARGEST_ENTRY: Final = 12
TABLE_OVERHEAD: Final = 17


class _FramedPlace:
    """A record that begins with the frame at `offset`.

    Args:
        file: The file.
        offset: Offset of the record's first frame.
        length: Stored bytes up to the next record, where an index told.
        head: Stored bytes from `offset` on that are at hand.
        single: Size in the file of the record's only frame, where it has only one.
    """

    __slots__ = ("_file", "_head", "_length", "_single", "lock", "offset", "skip")

    def __init__(
        self,
        file: ArchiveFile,
        offset: int,
        *,
        length: int | None = None,
        head: bytes = b"",
        single: int | None = None,
    ) -> None:
        self._file = file
        self._length = length
        self._head = head
        self._single = single
        self.offset = offset
        self.skip = 0
        self.lock: AbstractContextManager[object] = file.lock

    def layout(self, header: RecordHeader) -> Layout:
        size = len(header.raw) + header.content_length + len(RECORD_END)
        if self._single is not None:
            table = SeekTable(array("Q", [self._single]), array("Q", [size]))
            return self._run(table, TableStatus.SINGLE)
        problem = None
        if self._length is not None:
            try:
                own = self._own_table(size, self._length)
            except FormatError as error:
                problem = error.message
            else:
                if own is not None:
                    return self._run(own, TableStatus.RECORD)
        listed = self._file.tables.find(self.offset, size)
        if listed is not None and self._ends_as_listed(listed[0]):
            table, own_table = listed
            return self._run(table, TableStatus.RECORD if own_table else TableStatus.FILE, problem)
        return self._scan(size, problem)

    def _run(self, table: SeekTable, status: TableStatus, problem: str | None = None) -> Layout:
        end = self.offset + table.stored_size
        if max(table.content_sizes, default=0) > MAX_FRAME_CONTENT:
            content = stream_content(self._file, self.offset, 0, "zst")
            return Layout(content, TableStatus.STREAM, problem, table, end)
        run = FrameRun(self._file.frames, self.offset, table, self._head)
        return Layout(run, status, problem, table, end)

    def _own_table(self, size: int, length: int) -> SeekTable | None:
        """Read the table at the end of the record (spec-notes, sections 6.1 and 6.2)."""
        tail = max(LEAST_TAIL, length // STORED_PER_TABLE_BYTE + TABLE_OVERHEAD)
        end = self.offset + length
        found = read_table_before(self._file.source, end, floor=self.offset, tail=tail)
        if found is None:
            return None
        table, offset = found
        if table.anchor(offset) != self.offset:
            raise FormatError("the seek table's frames do not begin where the record does")
        if table.content_size != size:
            raise FormatError(f"the seek table lists {table.content_size} bytes, the record has {size}")
        return table

    def _ends_as_listed(self, table: SeekTable) -> bool:
        """See that the last frame of the record is where a file table says."""
        last = table[table.locate(table.content_size - 1, table.content_size)[0]]
        window = Window(self._file.source, first_read=0)
        try:
            start = frame_start_at(window, self.offset + last.stored_start)
        except FormatError:
            return False
        header = start[1] if start else None
        return header is not None and header.content_size == last.content_size

    def _scan(self, size: int, problem: str | None) -> Layout:
        """Step over the record's frames by their headers."""
        file = self._file
        window = Window(file.source)
        stored, contents = array("Q"), array("Q")
        position, content = self.offset, 0
        while content < size:
            frame = frame_at(window, position)
            if frame is None:
                raise TruncatedError(
                    f"the file ends inside this record: {content} of {size} bytes are there",
                    source=file.name,
                    offset=self.offset,
                )
            if frame.content_size is None:
                break
            stored.append(frame.size)
            contents.append(frame.content_size)
            content += frame.content_size
            position = frame.end
        if content != size:
            stream = stream_content(file, self.offset, 0, "zst")
            return Layout(stream, TableStatus.STREAM, problem)
        scanned = SeekTable(stored, contents)
        if len(scanned) == 1:
            return self._run(scanned, TableStatus.SINGLE, problem)
        try:
            table = self._table_behind(window, scanned)
        except FormatError as error:
            return self._run(scanned, TableStatus.UNUSABLE, error.message)
        if table is not None:
            return self._run(table, TableStatus.RECORD)
        return self._run(scanned, TableStatus.UNUSABLE if problem else TableStatus.NONE, problem)

    def _table_behind(self, window: Window, scanned: SeekTable) -> SeekTable | None:
        """Return the record's own table where it stands right behind the scanned frames."""
        offset = self.offset + scanned.stored_size
        start = frame_start_at(window, offset)
        if start is None or start[0] != SEEK_TABLE_MAGIC:
            return None
        size = start[2]
        if size > TABLE_OVERHEAD + len(scanned) * LARGEST_ENTRY:
            # It lists more frames than the record has: a file table, or not ours.
            return None
        table = SeekTable.parse(window.take(offset, size))
        if table.anchor(offset) != self.offset:
            return None
        if (table.stored_sizes, table.content_sizes) != (scanned.stored_sizes, scanned.content_sizes):
            raise FormatError("the seek table does not list the frames that are there")
        return table

    def length(self, header: RecordHeader, layout: Layout) -> int:  # noqa: ARG002
        if layout.data_end is None:
            return streamed_length(self._file, self.offset, "zst")
        window = Window(self._file.source)
        return _extensions_end(window, layout.data_end, self.offset) - self.offset


def _extensions_end(window: Window, end: int, record_offset: int) -> int:
    """Return where the frames without content behind a record are over: the next record, or a file table."""
    while (start := frame_start_at(window, end)) is not None:
        magic, header, _ = start
        if header is not None and header.content_size != 0:
            break
        size = _frame_size(window, end)
        if magic == SEEK_TABLE_MAGIC:
            try:
                table = SeekTable.parse(window.take(end, size))
                if table.anchor(end) != record_offset:
                    break
            except FormatError:
                pass  # No table then, but an extension frame like any other.
        end += size
    return end


def _frame_size(window: Window, offset: int) -> int:
    frame = frame_at(window, offset)
    return frame.size if frame else 0


def _whole_content(file: ArchiveFile, window: Window, offset: int, header: FrameHeader) -> tuple[bytes, int]:
    """Decode the frame at `offset` if it is small; return (content, stored size), or nothing."""
    if header.content_size is None or header.content_size > WHOLE_FRAME:
        return b"", 0
    frame = whole_frame(window, offset, header)
    if not frame:
        return b"", 0
    try:
        content = file.decoder.decode(frame, header)
    except FormatError as error:
        raise error.located(file.name, offset) from None
    file.frames.count(decoded=len(content))
    file.frames.cache.put(offset, content)
    return content, len(frame)


def _read_header(file: ArchiveFile, offset: int, content: bytes) -> RecordHeader:
    """Parse the header of the record at `offset`, whose first frame decoded to `content`, if it did."""
    end = find_header_end(content)
    if end >= 0:
        return file.parse_header(content[:end], offset)
    stream = file.stream(file.window(), offset, "zst")
    try:
        return file.parse_header(stream.read_header(), offset)
    except FormatError as error:
        raise error.located(file.name, offset) from None


def framed_record_at(file: ArchiveFile, window: Window, offset: int, length: int | None) -> Record | None:
    """Return the record whose first frame is at `offset`, None where nothing but extensions follow.

    Args:
        file: The file.
        window: A window that may hold the record's head.
        offset: Stored offset.
        length: Stored bytes up to the next record, where known.
    """
    header = None
    while header is None or header.content_size == 0:
        start = frame_start_at(window, offset)
        if start is None:
            return None
        header = start[1]
        if header is None or header.content_size == 0:
            size = _frame_size(window, offset)
            offset += size
            length = length - size if length is not None else None
    content, stored = _whole_content(file, window, offset, header)
    record_header = _read_header(file, offset, content)
    size = len(record_header.raw) + record_header.content_length + len(RECORD_END)
    place = _FramedPlace(
        file,
        offset,
        length=length,
        head=b"" if stored and size == len(content) else window.at_hand(offset, SMALL_RECORD),
        single=stored if stored and size == len(content) else None,
    )
    return Record(record_header, place, length=length)


def framed_records(file: ArchiveFile, window: Window) -> Iterator[Record]:
    """Yield all records of the file.

    Raises:
        FormatError: When damage is reached.
    """
    offset = 0
    while (start := frame_start_at(window, offset)) is not None:
        _, header, _ = start
        if header is None or header.content_size == 0:
            offset += _frame_size(window, offset)
            continue
        if header.content_size is None:
            offset = yield from _streamed_group(file, window, offset)
            continue
        content, stored = _whole_content(file, window, offset, header)
        record_header = _read_header(file, offset, content)
        size = len(record_header.raw) + record_header.content_length + len(RECORD_END)
        if size < header.content_size or (size == len(content) and not content.endswith(RECORD_END)):
            offset = yield from _streamed_group(file, window, offset)
        elif stored and size == len(content):
            end = offset + stored
            # The next frame's header is at hand nearly always, and tells the record's length.
            length = _extensions_end(window, end, offset) - offset
            yield Record(record_header, _FramedPlace(file, offset, single=stored), length=length)
            offset = end
        else:
            record = Record(record_header, _FramedPlace(file, offset))
            yield record
            if record.layout.data_end is not None:
                offset = record.layout.data_end
            else:
                offset = yield from _streamed_group(file, window, offset, yielded=True)


def _streamed_group(
    file: ArchiveFile, window: Window, offset: int, *, yielded: bool = False
) -> Generator[Record, None, int]:
    """Yield records in order until one begins a frame again; return that frame's offset."""
    records = StreamedRecords(file, window, offset, "zst")
    while (record := records.step()) is not None:
        if not yielded:
            yield record
        yielded = False
        records.finish()
        if records.at_unit:
            break
    return records.next_offset
