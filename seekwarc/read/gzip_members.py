"""Records of a .warc.gz file, iterated: small ones member by member, all others as a stream.

Most members hold one small record. Such a one is decompressed in one go when it is reached, and may be read
in any order.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.header_fields import find_header_end
from seekwarc.format.warc import MAX_BLANK_BYTES, RECORD_END, parse_record_header
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.scan import Window
from seekwarc.frames.units import MEMBERS_ALONE, Piece, pieces_from
from seekwarc.read.body import TableStatus, UnitBody
from seekwarc.read.record import Record
from seekwarc.read.sequential import streamed_group

if TYPE_CHECKING:
    from seekwarc.format.warc import RecordHeader
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["MemberBody", "gzip_records"]

SMALL_MEMBER: Final = 64 << 10
"""A member with more content is a stream."""
FIRST_STEP: Final = 4 << 10
"""Most members are smaller: what is given to a decompressor after a member's end is copied to no purpose."""
NEXT_STEP: Final = 32 << 10
BLANKS: Final = (b"", b"\r", b"\n")
"""What a member without a record begins with."""


class MemberBody(UnitBody):
    """A record that is one small gzip member."""

    __slots__ = ()
    table_status = TableStatus.STREAM

    def stored_end(self) -> int:
        """See `RecordBody.stored_end`."""
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
        offset = yield from _small_records(file, window, offset)
        offset = yield from streamed_group(file, window, offset, "gz")


def _small_records(file: ArchiveFile, window: Window, offset: int) -> Generator[Record, None, int]:
    """Yield records as long as each is one small member, and return the offset of what is something else."""
    waiting: tuple[Record, bytes] | None = None
    end, blank = offset, 0
    with closing(_small_members(file, window, offset)) as members:
        for member_end, content in members:
            begin, end = end, member_end
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
                yield _with_length(file, *waiting, begin)
            waiting = Record(MemberBody(file, begin, header, end)), content
            blank = len(RECORD_END)
    if waiting is not None:
        # What comes next is part of it only where nothing does.
        yield _with_length(file, *waiting, end)
    return end


def _small_members(
    file: ArchiveFile, window: Window, offset: int
) -> Generator[tuple[int, bytes], None, None]:
    """Inflate members as long as they are small: one by one, and after some of them in batches ahead.

    Yields:
        (offset after the member, its content).
    """
    threads = file.frames.threads
    alone = MEMBERS_ALONE if threads > 1 and gzip_codec().reader is not None else None
    while True:
        count = 0
        while count != alone:
            member = _small_member(window, offset)
            if member is None:
                return
            offset += member[0]
            count += 1
            file.frames.count(decoded=len(member[1]))
            yield offset, member[1]
        # Imported here: most who read do not go through that many.
        from seekwarc.frames.members import members_ahead  # noqa: PLC0415

        begin = offset
        # The same window: what it has read is not read again, and nobody else uses it meanwhile.
        with closing(members_ahead(window, offset, threads)) as ahead:
            while (batch := ahead.take()) is not None:
                file.frames.count(decoded=batch.size)
                offset = batch.ends[-1]
                yield from zip(batch.ends, batch.contents, strict=True)
        # Of members that cannot be inflated in batches there may be very many.
        alone = MEMBERS_ALONE if offset > begin else 2 * count


def _is_blank(content: bytes, *, strict: bool) -> bool:
    """Tell whether a member holds nothing, or line breaks alone, which strict reading refuses."""
    return not content or not (strict or content.strip(b"\r\n"))


def _with_length(file: ArchiveFile, record: Record, content: bytes, end: int) -> Record:
    file.frames.cache.latest = ((record.offset, record.body.stored_end(), len(content)), content)
    record.note_length(end - record.offset)
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
