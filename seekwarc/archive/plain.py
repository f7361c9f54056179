"""Records of a file without compression, found by their lengths alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from seekwarc.archive.content import PlainContent
from seekwarc.archive.record import Layout, Record, TableStatus
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.warc import MAX_HEADER_SIZE, RECORD_END, find_header_end

if TYPE_CHECKING:
    from seekwarc.archive.file import ArchiveFile
    from seekwarc.format.warc import RecordHeader
    from seekwarc.frames.scan import Window

__all__ = ["plain_record_at", "plain_records"]

HEADER_READ: Final = 4 << 10


class _PlainPlace:
    __slots__ = ("_window", "file", "offset")
    skip = 0

    def __init__(self, file: ArchiveFile, offset: int, window: Window | None = None) -> None:
        self.file = file
        self._window = window
        self.offset = offset

    def __reduce__(self) -> tuple[type[_PlainPlace], tuple[ArchiveFile, int]]:
        return _PlainPlace, (self.file, self.offset)

    def layout(self, header: RecordHeader) -> Layout:
        end = self.offset + len(header.raw) + header.content_length + len(RECORD_END)
        content = PlainContent(self.file.source, self.offset, self._window)
        return Layout(content, TableStatus.STORED, data_end=end)

    def length(self, header: RecordHeader, layout: Layout) -> int:  # noqa: ARG002
        end = self.offset + len(header.raw) + header.content_length
        return _blank_end(self.file.window(), end) - self.offset


def _blank_end(window: Window, end: int) -> int:
    """Return where the line breaks that stand at `end` are over."""
    while (some := window.take(end, len(RECORD_END))) and (blank := len(some) - len(some.lstrip(b"\r\n"))):
        end += blank
    return end


def plain_record_at(file: ArchiveFile, window: Window, offset: int, *, own: bool = False) -> Record:
    """Return the record at `offset`.

    Args:
        file: The file.
        window: What the header is read through.
        offset: Offset of the record.
        own: The window is for this record alone, which reads on through it.

    Raises:
        FormatError: No record header with an end stands there.
    """
    size = HEADER_READ
    while True:
        data, index = window.reach(offset, offset + size)
        end = find_header_end(data, index)
        if end < 0:
            # It may lead beyond the limit, which is no more than an index says.
            data, index = window.get(offset, offset + size)
            end = find_header_end(data, index)
        if end >= 0:
            header = file.parse_header(data[index:end], offset)
            return Record(header, _PlainPlace(file, offset, window if own else None))
        if not data.startswith(b"WARC/", index) or len(data) - index < size or size > MAX_HEADER_SIZE:
            raise FormatError(
                f"no record header with an end starts here, but these bytes do: {data[index : index + 16]!r}",
                source=file.name,
                offset=offset,
            )
        size *= 4


def plain_records(file: ArchiveFile, window: Window) -> Iterator[Record]:
    """Yield all records; blocks are stepped over, not read.

    Raises:
        FormatError: When something that is no record is reached, or the file ends inside one.
    """
    offset = 0
    size = file.source.size or 0
    while offset < size:
        record = plain_record_at(file, window, offset)
        yield record
        end = offset + len(record.header.raw) + record.content_length
        if end > size:
            raise TruncatedError("the file ends inside this record", source=file.name, offset=offset)
        following = _blank_end(window, end)
        record.note_length(following - offset)
        offset = following
