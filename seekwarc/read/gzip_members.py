"""Records of a .warc.gz file, iterated: small ones member by member, all others as a stream.

Most members hold one small record. Such a one is decompressed in one go when it is reached, and may be read
in any order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.seektable import SeekTable
from seekwarc.format.warc import MAX_BLANK_BYTES, RECORD_END, find_header_end, parse_record_header
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.run import ReadPlan
from seekwarc.frames.scan import Window
from seekwarc.frames.units import Piece, pieces_from
from seekwarc.read.record import Layout, Record, TableStatus
from seekwarc.read.sequential import streamed_group

if TYPE_CHECKING:
    from seekwarc.format.warc import RecordHeader
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["gzip_records"]

SMALL_MEMBER: Final = 64 << 10
"""A member with more content is a stream."""
FIRST_STEP: Final = 4 << 10
"""Most members are smaller: what is given to a decompressor behind a member's end is copied in vain."""
NEXT_STEP: Final = 32 << 10
BLANKS: Final = (b"", b"\r", b"\n")
"""What a member without a record begins with."""


class _MemberContent:
    """A record that is one small member, which is always decompressed, and kept, whole."""

    __slots__ = ("_file", "_offset", "_size", "_stored_size")
    table: SeekTable | None = None
    in_one_piece = True

    def __init__(self, file: ArchiveFile, offset: int, stored_size: int, size: int) -> None:
        self._file = file
        self._offset = offset
        self._stored_size = stored_size
        self._size = size

    def _content(self) -> bytes:
        frames = self._file.frames
        content = frames.cache.get((self._offset, self._offset))
        if content is not None:
            frames.count(cache_hits=1)
            return content
        content = b""
        for piece in pieces_from(Window(self._file.source), self._offset, "gz", self._file.decoder):
            if isinstance(piece, Piece):
                content += piece.data
                if piece.end is not None or len(content) > self._size:
                    break
        if len(content) != self._size:
            raise TruncatedError(
                "this gzip member is not what it was", source=self._file.name, offset=self._offset
            )
        frames.count(decoded=self._size)
        frames.cache.put((self._offset, self._offset), content)
        return content

    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:  # noqa: ARG002
        """See `Content.read_into`."""
        out[:] = memoryview(self._content())[start : start + len(out)]

    def peek(self, start: int, stop: int) -> bytes:
        """See `Content.peek`."""
        return self._content()[start:stop]

    def cheap_stop(self, start: int) -> int:  # noqa: ARG002
        """See `Content.cheap_stop`."""
        return self._size

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `Content.plan`."""
        if stop <= start:
            return ReadPlan((), 0, 0)
        return ReadPlan(((self._offset, self._offset + self._stored_size),), self._size, 0)


class _MemberPlace:
    __slots__ = ("_stored_size", "file", "offset")
    skip = 0

    def __init__(self, file: ArchiveFile, offset: int, stored_size: int) -> None:
        self.file = file
        self.offset = offset
        self._stored_size = stored_size

    def layout(self, header: RecordHeader) -> Layout:
        size = len(header.raw) + header.content_length + len(RECORD_END)
        content = _MemberContent(self.file, self.offset, self._stored_size, size)
        return Layout(content, TableStatus.STREAM, data_end=self.offset + self._stored_size)

    def length(self, header: RecordHeader, layout: Layout) -> int:  # noqa: ARG002
        return self._stored_size


def gzip_records(file: ArchiveFile, window: Window, offset: int = 0) -> Iterator[Record]:
    """Yield all records of the file, from the member at `offset` on.

    Raises:
        FormatError: When damage is reached.
    """
    while offset < (file.source.size or 0):
        offset = yield from _small_records(file, window, offset)
        offset = yield from streamed_group(file, window, offset, "gz")


def _small_records(file: ArchiveFile, window: Window, offset: int) -> Generator[Record, None, int]:
    """Yield records as long as each is one small member, and return the offset of what is something else."""
    waiting: tuple[Record, bytes] | None = None
    end, blank = offset, 0
    while (member := _small_member(window, end)) is not None:
        begin = end
        stored_size, content = member
        end = begin + stored_size
        file.frames.count(decoded=len(content))
        if content[:1] in BLANKS and waiting is not None and _is_blank(content, strict=file.strict):
            # A member without content, or of line breaks alone, as some writers put between records.
            blank += len(content)
            if blank <= MAX_BLANK_BYTES:
                continue
        header = _header_of(content)
        if header is None:
            end = begin
            break
        if waiting is not None:
            yield _settled(file, *waiting, begin)
        waiting = Record(header, _MemberPlace(file, begin, stored_size)), content
        blank = len(RECORD_END)
    if waiting is not None:
        # What comes next is part of it only where nothing does.
        yield _settled(file, *waiting, end)
    return end


def _is_blank(content: bytes, *, strict: bool) -> bool:
    """Tell whether a member holds nothing, or line breaks alone, which strict reading refuses."""
    return not content or not (strict or content.strip(b"\r\n"))


def _settled(file: ArchiveFile, record: Record, content: bytes, end: int) -> Record:
    record.note_length(end - record.offset)
    # Nothing but the member itself says where it ends: its beginning is name enough.
    file.frames.cache.latest = ((record.offset, record.offset), content)
    return record


def _small_member(window: Window, offset: int) -> tuple[int, bytes] | None:
    """Return stored size and content of the member at `offset`; None for a large one, and for damage."""
    codec = gzip_codec()
    data = window.at_hand(offset, FIRST_STEP)
    if data[:2] != b"\x1f\x8b":
        return None
    inflater = codec.inflater()
    content, used = b"", 0
    try:
        while data:
            content += inflater.decompress(data, SMALL_MEMBER + 1)
            used += len(data)
            if inflater.eof:
                return used - len(inflater.unused_data), content
            if len(content) > SMALL_MEMBER or inflater.unconsumed_tail:
                return None
            data = window.at_hand(offset + used, NEXT_STEP)
    except codec.errors:
        return None
    return None


def _header_of(content: bytes) -> RecordHeader | None:
    """Return the header of a record that is all of `content`."""
    end = find_header_end(content)
    if end < 0:
        return None
    try:
        header = parse_record_header(content[:end], strict=True)
    except FormatError:
        return None
    whole = end + header.content_length + len(RECORD_END) == len(content)
    return header if whole and content.endswith(RECORD_END) else None
