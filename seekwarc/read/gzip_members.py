"""Records of a .warc.gz file, iterated: small ones member by member, all others as a stream.

Most members hold one small record. Such a one is decompressed in one go when it is reached, and may be read
in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Final

from seekwarc.compiling import mypyc_attr, override
from seekwarc.errors import TruncatedError
from seekwarc.format.warc import MAX_BLANK_BYTES, RECORD_END
from seekwarc.frames.ahead import Small
from seekwarc.frames.cache import FrameKey
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.members import small_members
from seekwarc.frames.scan import Window
from seekwarc.read.body import TableStatus, WholeBody
from seekwarc.read.record import Record
from seekwarc.read.sequential import StreamedRecords, streamed_to_end
from seekwarc.read.shared_frames import group_of

if TYPE_CHECKING:
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["MemberBody", "gzip_records", "small_record_at"]

SMALL_MEMBER: Final = 64 << 10
"""A member with more content is a stream."""
MAX_SMALL: Final = 32 << 10
"""Stored bytes of a record that may be one: what was read to tell the compression has all of them."""
LISTED_HEAD: Final = 16 << 10
"""Bytes that are read of a record before it is known whether it can be passed by a sidecar."""
SIZE_BYTES: Final = 4
FIRST_STEP: Final = 4 << 10
"""Most members are smaller: what is given to a decompressor after a member's end is copied to no purpose."""
NEXT_STEP: Final = 32 << 10


@mypyc_attr(allow_interpreted_subclasses=True)
class MemberBody(WholeBody):
    """A record that is one small gzip member."""

    __slots__ = ()
    table_status = TableStatus.STREAM

    @override
    def stored_end(self) -> int:
        # The next bytes may belong to it: iterating knows, otherwise only decompressing shows it.
        record = streamed_to_end(self.file, self.offset, "gz")
        return self.offset + record.length if record is not None else self.end

    def _decode(self) -> bytes:
        frames = self.file.frames
        key = (self.offset, self.end, self._size)
        content = frames.cache.get(key)
        if content is not None:
            frames.count(cache_hits=1)
            return content
        _, content = _small_member(Window(self.file.source), self.offset) or (0, b"")
        content = content[: self._size]
        if len(content) != self._size:
            text = "this gzip member is not what it was"
            raise TruncatedError(text, source=self.file.name, offset=self.offset)
        frames.count(decoded=self._size)
        frames.cache.put(key, content)
        return content


def small_record_at(file: ArchiveFile, window: Window, offset: int, length: int | None) -> Record | None:
    """Return the record at `offset` if it is known to be one small member, and nothing is wrong with it."""
    if file.strict:
        streamed_to_end(file, offset, "gz")
    if length is None or length > MAX_SMALL:
        return None
    # The member's last bytes state its size.
    size = int.from_bytes(window.take(offset + length - SIZE_BYTES, SIZE_BYTES), "little")
    member = _small_member(window, offset) if size <= SMALL_MEMBER else None
    header = file.grammar.whole(member[1]) if member is not None else None
    if member is None or header is None:
        return None
    end, content = offset + member[0], member[1][: header.record_size]
    file.frames.count(decoded=len(content))
    file.frames.cache.latest = ((offset, end, len(content)), content)
    return Record(MemberBody(file, offset, header, end))


def gzip_records(file: ArchiveFile, window: Window, offset: int = 0) -> Iterator[Record]:
    """Yield all records of the file, from the member at `offset` on."""
    limit = window.limit
    while offset < (file.source.size or 0):
        listed = file.listed_from(offset)
        if listed is not None:
            # What a sidecar lists is passed, so no more than its head is read.
            window.limit = listed + LISTED_HEAD if limit is None else min(listed + LISTED_HEAD, limit)
        records = _MemberRecords(file, offset)
        yield from _small_records(file, window, records, listed)
        record = records.release()
        if record is not None:
            yield record
        large = StreamedRecords(file, window, records.end, "gz", tolerant=True)
        offset = yield from group_of(large, file, window)
        if large.has_jumped:
            # The record that was passed keeps the other one.
            window = file.window(limit)


def _small_records(
    file: ArchiveFile, window: Window, records: _MemberRecords, listed: int | None
) -> Iterator[Record]:
    small = small_members(
        # The same window: what it has read is not read again, and no other code uses it meanwhile.
        window,
        records.end,
        partial(_one_by_one, window, stop=listed),
        file.frames.threads if listed is None else 1,
        file.frames.count,
    )
    with closing(small) as members:
        for end, content, _ in members:
            record = records.add(end, content)
            if record is not None:
                yield record
            elif records.is_over:
                return


class _MemberRecords:
    """Makes records of small members; `is_over` once a member neither is a record nor belongs to one."""

    __slots__ = ("_begin", "_blank", "_file", "_grammar", "_latest", "_waiting", "end", "is_over")

    def __init__(self, file: ArchiveFile, offset: int) -> None:
        self._file = file
        self._grammar = file.grammar
        self._waiting: Record | None = None
        self._latest: tuple[FrameKey, bytes] = ((-1, -1, -1), b"")
        self._blank = 0
        self._begin = self.end = offset
        self.is_over = False

    def add(self, end: int, content: bytes) -> Record | None:
        """Add the next member and return the record before it, if that is known to be complete now."""
        header = self._grammar.whole(content)
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
        self._latest = ((self._begin, end, header.record_size), content[: header.record_size])
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


def _is_blank(content: bytes, *, strict: bool) -> bool:
    return not content or not (strict or content.strip(b"\r\n"))


def _one_by_one(window: Window, offset: int, *, stop: int | None) -> Iterator[Small]:
    while offset != stop and (content := _small_member(window, offset)) is not None:
        offset += content[0]
        yield offset, content[1], True


def _small_member(window: Window, offset: int) -> tuple[int, bytes] | None:
    codec = gzip_codec()
    data = window.at_hand(offset, FIRST_STEP)
    # The bytes in memory may end after the first one.
    if data[:2] != b"\x1f\x8b"[: len(data)]:
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
