"""Records of a .warc.zst file that can seek: found by frame headers and seek tables.

A record that is one frame is decoded when it is reached. Of a larger one only the first frame is; the
others are stepped over. Whatever breaks the rules, such as frames that do not state their size or that
hold several records, is read in order instead (`StreamedRecords`).
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final

from seekwarc.archive.record import Layout, Record, TableStatus
from seekwarc.archive.streamed import StreamedRecords, extensions_end, stream_content, streamed_length
from seekwarc.archive.tables import read_table_before
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.seektable import FrameEntry, SeekTable
from seekwarc.format.warc import RECORD_END, find_header_end, parse_record_header
from seekwarc.format.zstd import SEEK_TABLE_MAGIC, FrameHeader, measure_frame, parse_frame_header
from seekwarc.frames.decoder import CodecError
from seekwarc.frames.run import MAX_FRAME_CONTENT, FrameRun, SingleFrame
from seekwarc.frames.scan import Window, frame_at, frame_start_at
from seekwarc.frames.stream import WHOLE_FRAME, Extension, extension_at, whole_frame

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from seekwarc.archive.file import ArchiveFile
    from seekwarc.format.warc import RecordHeader

__all__ = ["framed_record_at", "framed_records"]

SMALL_RECORD: Final = 64 << 10
"""A record known to take no more than this in the file is fetched in one read."""
AT_HAND: Final = 16 << 10
"""Frames that take no more than this are never split between two reads."""
MOST_EMPTY_FRAMES: Final = 16
"""A table that lists more frames without content in a record is not worth checking."""
LEAST_TAIL: Final = 64 << 10
LITTLE_DATA: Final = 1 << 20
STORED_PER_TABLE_BYTE: Final = (128 << 10) // 12
"""Stored bytes for each byte of the table, in a record that does not compress."""
LARGEST_ENTRY: Final = 12
TABLE_OVERHEAD: Final = 17


class _SinglePlace:
    """A record that is one small frame.

    Args:
        file: The file.
        offset: Offset of the frame.
        stored_size: Bytes it takes in the file.
    """

    __slots__ = ("_file", "_stored_size", "offset")
    skip = 0

    def __init__(self, file: ArchiveFile, offset: int, stored_size: int) -> None:
        self._file = file
        self._stored_size = stored_size
        self.offset = offset

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self._file.lock

    def layout(self, header: RecordHeader) -> Layout:
        size = _record_size(header)
        frame = SingleFrame(self._file.frames, self.offset, self._stored_size, size)
        table = SeekTable(array("Q", [self._stored_size]), array("Q", [size]))
        return Layout(frame, TableStatus.SINGLE, None, table, self.offset + self._stored_size)

    def length(self, header: RecordHeader, layout: Layout) -> int:  # noqa: ARG002
        return _length(self._file, self.offset, self.offset + self._stored_size)


class _FramedPlace:
    """A record that begins with the frame at `offset`.

    Args:
        file: The file.
        offset: Offset of the record's first frame.
        length: Stored bytes up to the next record, where an index told.
        head: Stored bytes from `offset` on that are at hand.
    """

    __slots__ = ("_file", "_head", "_length", "offset")
    skip = 0

    def __init__(
        self,
        file: ArchiveFile,
        offset: int,
        *,
        length: int | None = None,
        head: bytes = b"",
    ) -> None:
        self._file = file
        self._length = length
        self._head = head
        self.offset = offset

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self._file.lock

    def layout(self, header: RecordHeader) -> Layout:
        size = _record_size(header)
        problem = None
        if self._length is not None:
            try:
                own = self._own_table(size, self._length)
            except FormatError as error:
                problem = error.message
            else:
                if own is not None and self._plausible(own):
                    return self._run(own, TableStatus.RECORD)
        listed = self._file.tables.find(self.offset, size)
        if listed is not None and self._plausible(listed[0]):
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
        # Of little data, a long table means that they compress very well: then it is a good part of them.
        share = length // STORED_PER_TABLE_BYTE if length > LITTLE_DATA else length // 3
        tail = max(LEAST_TAIL, share + TABLE_OVERHEAD)
        end = self.offset + length
        found = read_table_before(self._file.source, end, floor=self.offset, tail=tail)
        if found is None:
            return None
        table, offset = found
        begin = table.anchor(offset)
        if begin < self.offset:
            return None  # It lists other records too: a file table.
        if begin > self.offset:
            raise FormatError("the seek table's frames begin behind the record's first one")
        if table.content_size != size:
            raise FormatError(f"the seek table lists {table.content_size} bytes, the record has {size}")
        return table

    def _plausible(self, table: SeekTable) -> bool:
        """See that the record's last frame, and those without content, are where a table says.

        All others are looked at when they are used. A frame that is called empty never would be, and
        everything behind it would be taken for what it is not.
        """
        suspects = [number for number, size in enumerate(table.content_sizes) if not size]
        if len(suspects) > MOST_EMPTY_FRAMES:
            return False
        if self._length is None:
            suspects.append(table.locate(table.content_size - 1, table.content_size)[0])
        window = Window(self._file.source, first_read=0)
        try:
            return all(self._is_there(window, table[number]) for number in suspects)
        except FormatError:
            return False

    def _is_there(self, window: Window, entry: FrameEntry) -> bool:
        start = frame_start_at(window, self.offset + entry.stored_start)
        if start is None:
            return False
        _, header, size = start
        if header is None:
            return (size, 0) == (entry.stored_size, entry.content_size)
        return header.content_size == entry.content_size

    def _scan(self, size: int, problem: str | None) -> Layout:
        """Step over the record's frames by their headers."""
        file = self._file
        window = Window(file.source)
        stored, contents = array("Q"), array("Q")
        position, content = self.offset, 0
        while content < size:
            frame = frame_at(window, position)
            if frame is None and content < size - len(RECORD_END):
                raise TruncatedError(
                    f"the file ends inside this record: {content} of {size} bytes are there",
                    source=file.name,
                    offset=self.offset,
                )
            if frame is None or frame.content_size is None:
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
        if table.anchor(offset) < self.offset:
            return None
        if (table.stored_sizes, table.content_sizes) != (scanned.stored_sizes, scanned.content_sizes):
            raise FormatError("the seek table does not list the frames that are there")
        return table

    def length(self, header: RecordHeader, layout: Layout) -> int:  # noqa: ARG002
        if layout.data_end is None:
            return streamed_length(self._file, self.offset, "zst")
        return _length(self._file, self.offset, layout.data_end)


def _length(file: ArchiveFile, offset: int, data_end: int) -> int:
    """Return the stored length of the record whose frames with content end at `data_end`."""
    return extensions_end(data_end, _extensions_from(file.window(), data_end), offset) - offset


def _extension(window: Window, offset: int) -> Extension | None:
    """Return the frame without content that stands at `offset`, None where something else does."""
    start = frame_start_at(window, offset)
    if start is None:
        return None
    _, header, size = start
    if header is None:
        return extension_at(window, offset, size)
    return Extension(offset + _frame_size(window, offset), None) if header.content_size == 0 else None


def _extensions_from(window: Window, offset: int) -> Iterator[Extension]:
    """Yield the frames without content that stand at `offset`, as far as they are whole."""
    # Damage belongs to what comes next: it is reported when that is reached.
    with contextlib.suppress(FormatError):
        while (extension := _extension(window, offset)) is not None:
            yield extension
            offset = extension.end


def _frame_size(window: Window, offset: int) -> int:
    frame = frame_at(window, offset)
    return frame.size if frame else 0


def _decode_first(file: ArchiveFile, offset: int, frame: bytes, header: FrameHeader) -> bytes:
    """Decode the first frame of a record, and keep it for the reads that are likely to follow."""
    try:
        content = file.decoder.decode(frame, header)
    except FormatError as error:
        raise error.located(file.name, offset) from None
    file.frames.count(decoded=len(content))
    file.frames.cache.latest = (offset, content)
    return content


def _read_header(file: ArchiveFile, window: Window, offset: int) -> RecordHeader:
    """Read the header of the record at `offset`, however many frames it takes."""
    stream = file.stream(window, offset, "zst")
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
        extension = _extension(window, offset)
        if extension is not None:
            length = length - (extension.end - offset) if length is not None else None
            offset = extension.end
    frame = whole_frame(window, offset, header)
    head = window.at_hand(offset, SMALL_RECORD)
    content = _decode_first(file, offset, frame, header) if frame else b""
    end = find_header_end(content)
    if end < 0:
        record_header = _read_header(file, window, offset)
    else:
        record_header = file.parse_header(content[:end], offset)
        if _record_size(record_header) == len(content):
            return Record(record_header, _SinglePlace(file, offset, len(frame)), length=length)
    return Record(record_header, _FramedPlace(file, offset, length=length, head=head), length=length)


def _record_size(header: RecordHeader) -> int:
    return len(header.raw) + header.content_length + len(RECORD_END)


def framed_records(file: ArchiveFile, window: Window) -> Iterator[Record]:
    """Yield all records of the file.

    Raises:
        FormatError: When damage is reached.
    """
    offset = 0
    while True:
        offset = yield from _single_frame_records(file, window, offset)
        start = frame_start_at(window, offset)
        if start is None:
            return
        extension = _extension(window, offset)
        if extension is not None:
            offset = extension.end
            continue
        header = start[1]
        if header is None or header.content_size is None:
            offset = yield from _streamed_group(file, window, offset)
            continue
        record_header = _read_header(file, window, offset)
        if _record_size(record_header) <= header.content_size:
            # Several records in the frame, or one that does not end as it should.
            offset = yield from _streamed_group(file, window, offset)
            continue
        record = Record(record_header, _FramedPlace(file, offset))
        yield record
        if record.layout.data_end is not None:
            offset = record.layout.data_end
        else:
            offset = yield from _streamed_group(file, window, offset, yielded=True)


def _single_frame_records(file: ArchiveFile, window: Window, offset: int) -> Generator[Record, None, int]:
    """Yield records as long as each is one small frame, and return the offset of what is something else.

    This is the loop that most files spend their time in, so it looks at each frame's header once only.
    """
    frames = file.frames
    decompress = file.decoder.private()
    data, index = window.get(offset, offset + AT_HAND)
    frame = measure_frame(data, index)
    while frame is not None and 0 < frame[1] <= WHOLE_FRAME:
        end, size = frame
        try:
            content = decompress(data[index:end])
        except CodecError:
            content = _decode_first(file, offset, data[index:end], parse_frame_header(data, index))
        frames.count(decoded=size)
        frames.cache.latest = (offset, content)
        header_end = find_header_end(content)
        if header_end < 0:
            break
        try:
            header = parse_record_header(content[:header_end])
        except FormatError as error:
            raise error.located(file.name, offset) from None
        whole = header_end + header.content_length + len(RECORD_END) == len(content) == size
        if not whole or not content.endswith(RECORD_END):
            break
        length = end - index
        behind = offset + length
        place = _SinglePlace(file, offset, length)
        data, index = window.get(behind, behind + AT_HAND)
        frame = measure_frame(data, index)
        if frame is None or not frame[1]:
            length = extensions_end(behind, _extensions_from(window, behind), offset) - offset
        yield Record(header, place, length=length)
        offset = behind
    return offset


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
            return records.next_offset
    return file.source.size or offset
