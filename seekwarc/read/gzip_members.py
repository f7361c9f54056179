"""Records of a .warc.gz file, iterated: small ones member by member, all others as a stream.

Most members hold one small record. Such a one is decompressed in one go when it is reached, and may be read
in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from seekwarc.compiling import mypyc_attr, override
from seekwarc.errors import TruncatedError
from seekwarc.format.warc import MAX_BLANK_BYTES, RECORD_END, whole_record_header
from seekwarc.frames.cache import FrameKey
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.scan import Window
from seekwarc.frames.units import MEMBERS_ALONE, Piece, pieces_from
from seekwarc.read.body import TableStatus, UnitBody
from seekwarc.read.record import Record
from seekwarc.read.sequential import streamed_group

if TYPE_CHECKING:
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["MemberBody", "gzip_records"]

SMALL_MEMBER: Final = 64 << 10
"""A member with more content is a stream."""
FIRST_STEP: Final = 4 << 10
"""Most members are smaller: what is given to a decompressor after a member's end is copied to no purpose."""
NEXT_STEP: Final = 32 << 10


@mypyc_attr(allow_interpreted_subclasses=True)
class MemberBody(UnitBody):
    """A record that is one small gzip member."""

    __slots__ = ()
    table_status = TableStatus.STREAM

    @override
    def stored_end(self) -> int:
        return self._end

    def _decode(self) -> bytes:
        frames = self.file.frames
        key = (self.offset, self._end, self._size)
        content = frames.cache.get(key)
        if content is not None:
            frames.count(cache_hits=1)
            return content
        content = b""
        for piece in pieces_from(Window(self.file.source), self.offset, "gz", self.file.decoder):
            if isinstance(piece, Piece):
                content += piece.data
                if piece.end is not None or len(content) > self._size:
                    break
        if len(content) != self._size:
            text = "this gzip member is not what it was"
            raise TruncatedError(text, source=self.file.name, offset=self.offset)
        frames.count(decoded=self._size)
        frames.cache.put(key, content)
        return content


def gzip_records(file: ArchiveFile, window: Window, offset: int = 0) -> Iterator[Record]:
    """Yield all records of the file, from the member at `offset` on.

    Raises:
        FormatError: When damage is reached.
    """
    while offset < (file.source.size or 0):
        records = _MemberRecords(file, offset)
        yield from _small_records(file, window, records)
        record = records.release()
        if record is not None:
            yield record
        offset = yield from streamed_group(file, window, records.end, "gz")


def _small_records(file: ArchiveFile, window: Window, records: _MemberRecords) -> Iterator[Record]:
    """Yield records as long as each is one small member, but for the last one.

    Members are inflated one by one, and after some of them in batches ahead.
    """
    offset = records.end
    threads = file.frames.threads
    alone = MEMBERS_ALONE if threads > 1 and gzip_codec().reader is not None else -1
    while not records.is_over:
        count = 0
        while count != alone and (member := _small_member(window, offset)) is not None:
            offset += member[0]
            count += 1
            file.frames.count(decoded=len(member[1]))
            record = records.add(offset, member[1])
            if record is not None:
                yield record
            elif records.is_over:
                break
        if records.is_over or count != alone:
            return
        # Imported here: most reads have fewer members than this pays for.
        from seekwarc.frames.members import members_ahead  # noqa: PLC0415

        begin = offset
        # The same window: what it has read is not read again, and no other code uses it meanwhile.
        with closing(members_ahead(window, offset, threads)) as ahead:
            while not records.is_over and (batch := ahead.take()) is not None:
                file.frames.count(decoded=batch.size)
                offset = batch.ends[-1]
                for end, content in zip(batch.ends, batch.contents, strict=True):
                    record = records.add(end, content)
                    if record is not None:
                        yield record
                    elif records.is_over:
                        break
        # Of members that cannot be inflated in batches there may be very many.
        alone = MEMBERS_ALONE if offset > begin else 2 * count


class _MemberRecords:
    """Makes records of consecutive small members. Each is held back until it is known what belongs to it.

    Args:
        file: The file.
        offset: Where the first member begins.

    Attributes:
        end: Offset after the last member that belongs to a record.
        is_over: Whether the member after that neither is a record nor belongs to one.
    """

    __slots__ = ("_begin", "_blank", "_file", "_latest", "_waiting", "end", "is_over")

    def __init__(self, file: ArchiveFile, offset: int) -> None:
        self._file = file
        self._waiting: Record | None = None
        self._latest: tuple[FrameKey, bytes | memoryview] = ((-1, -1, -1), b"")
        self._blank = 0
        self._begin = self.end = offset
        self.is_over = False

    def add(self, end: int, content: bytes | memoryview) -> Record | None:
        """Add the next member and return the record before it, if that is known to be complete now."""
        header = whole_record_header(content)
        if header is None:
            if self._waiting is not None and _is_blank(content, strict=self._file.strict):
                # A member without content, or of line breaks alone, as some writers put between records.
                self._blank += len(content)
                if self._blank <= MAX_BLANK_BYTES:
                    self.end = end
                    return None
            self.is_over = True
            return None
        complete = self.release()
        self._begin, self.end = self.end, end
        self._waiting = Record(MemberBody(self._file, self._begin, header, end))
        self._latest = ((self._begin, end, len(content)), content)
        self._blank = len(RECORD_END)
        return complete

    def release(self) -> Record | None:
        """Return the record that is held back: what comes next does not belong to it."""
        record = self._waiting
        if record is not None:
            self._file.frames.cache.latest = self._latest
            record.note_length(self.end - self._begin)
            self._waiting = None
        return record


def _is_blank(content: bytes | memoryview, *, strict: bool) -> bool:
    """Tell whether a member holds nothing, or line breaks alone, which strict reading refuses."""
    return not content or not (strict or bytes(content).strip(b"\r\n"))


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
