"""Records of a .warc.zst file that can seek: found by frame headers and seek tables.

A record that is one frame is decoded when it is reached. For a larger one only the first frame is; the
others are stepped over. Whatever breaks the rules, such as frames that do not state their size or that
hold several records, is read in order instead (`StreamedRecords`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from seekwarc.compiling import mypyc_attr
from seekwarc.errors import FormatError
from seekwarc.format.header_fields import find_header_end
from seekwarc.format.seektable import TableTrust
from seekwarc.format.warc import RECORD_END, WARC, blank_size
from seekwarc.format.zstd import (
    BLOCK_HEADER_SIZE,
    RAW_BLOCK,
    FrameHeader,
    measure_frame,
    parse_frame_header,
)
from seekwarc.frames.ahead import BatchesAhead, Small, alone_then_ahead
from seekwarc.frames.codec import CodecError
from seekwarc.frames.pieces import WHOLE_FRAME, end_of_empty_frames, whole_frame
from seekwarc.frames.scan import Window, frame_start_at
from seekwarc.frames.verify import MAX_FRAME_CONTENT
from seekwarc.read.body import TableStatus, record_size
from seekwarc.read.record import Record
from seekwarc.read.resync import SHARED, check_trailer, note_deviation, too_large
from seekwarc.read.sequential import StreamedRecords, streamed_to_end
from seekwarc.read.zstd_body import (
    MAX_BLANK_FRAME,
    FrameBody,
    ZstdBody,
    empty_frame_at,
    empty_frames_at,
    whole_empty_frames_at,
)

if TYPE_CHECKING:
    from seekwarc.format.seektable import TableChoice
    from seekwarc.format.warc import RecordHeader
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["FramedRecords", "framed_record_at", "framed_records"]

Decompress = Callable[[bytes], bytes]

SMALL_RECORD: Final = 64 << 10
"""A record known to take no more than this in the file is fetched in one read."""
AT_HAND: Final = 16 << 10
"""Frames that take no more than this are never split between two reads."""


def _decode_first(file: ArchiveFile, offset: int, frame: bytes, header: FrameHeader) -> bytes:
    """Decode the first frame of a record, and keep it for the reads that are likely to follow."""
    try:
        content = file.decoder.decode(frame, header)
    except FormatError as error:
        raise error.located(file.name, offset) from None
    file.frames.count(decoded=len(content))
    file.frames.cache.latest = ((offset, offset + len(frame), len(content)), content)
    return content


def _raw_beginning(window: Window, offset: int, frame: FrameHeader) -> bytes:
    """Return what is in memory of the content of a frame's first block, if that is a raw one."""
    place = offset + frame.size
    block = int.from_bytes(window.take(place, BLOCK_HEADER_SIZE), "little")
    is_raw = block >> 1 & 3 == RAW_BLOCK
    return window.at_hand(place + BLOCK_HEADER_SIZE, block >> 3) if is_raw else b""


def _read_header(file: ArchiveFile, window: Window, offset: int) -> RecordHeader | None:
    stream = file.stream(window, offset, "zst")
    try:
        if stream.read_blank_lines():
            return None
        return file.parse_header(stream.read_header(), offset)
    except FormatError as error:
        raise error.located(file.name, offset) from None


def framed_record_at(
    file: ArchiveFile,
    window: Window,
    offset: int,
    length: int | None,
    table: TableChoice = TableTrust.CLAIMED,
) -> Record | None:
    """Return the record whose first frame is at `offset`.

    None if only empty frames follow, or the record does not begin its frame: then it is read in order.
    """
    if length is not None and (small := _small_record_at(file, window, offset, length)) is not None:
        return small
    header = None
    while header is None or header.content_size == 0:
        start = frame_start_at(window, offset)
        if start is None:
            return None
        header = start[1]
        empty = empty_frame_at(window, offset)
        if empty is not None:
            length = length - (empty.end - offset) if length is not None else None
            offset = empty.end
    frame = whole_frame(window, offset, header)
    content = _decode_first(file, offset, frame, header) if frame else b""
    # The first block of a film may be much longer than what was fetched from afar.
    is_short = bool(content) or file.strict or not file.source.policy.is_far
    beginning = content if is_short else _raw_beginning(window, offset, header)
    if blank_size(beginning):
        return None
    end = find_header_end(beginning)
    if end < 0:
        record_header = _read_header(file, window, offset)
        if record_header is None:
            return None
    else:
        record_header = file.parse_header(beginning[:end], offset)
        if record_size(record_header) == len(content):
            check_trailer(file, offset, content[-len(RECORD_END) :])
            return Record(FrameBody(file, offset, record_header, offset + len(frame)), length=length)
    if file.strict and table is TableTrust.CLAIMED:
        # Only looking at all frames shows that a table was made to displace some of them.
        table = file.table_trust
    head = window.at_hand(offset, SMALL_RECORD)
    body = ZstdBody(file, offset, record_header, table=table, length=length, head=head)
    record = Record(body, length=length)
    _tell_of_frame(file, record, header, content, len(frame))
    _check_end(body)
    return record


def _small_record_at(file: ArchiveFile, window: Window, offset: int, length: int) -> Record | None:
    """Return the record at `offset` if it is one frame of just that length, and nothing is wrong with it."""
    data, index = window.get(offset, offset + 1)
    measured = measure_frame(data, index)
    if measured is None or measured[0] - index != length or not MAX_BLANK_FRAME < measured[1] <= WHOLE_FRAME:
        return None
    frame = data[index : measured[0]]
    header = WARC.whole(_decode_first(file, offset, frame, parse_frame_header(frame)))
    if header is None:
        return None
    return Record(FrameBody(file, offset, header, offset + length), length=length)


def _check_end(body: ZstdBody) -> None:
    """See that a record of several frames ends with CRLF CRLF, if the file is read strictly."""
    if not body.file.strict:
        return
    if body.data_end is None or body.table_status is TableStatus.STREAM:
        streamed_to_end(body.file, body.offset, "zst")
    else:
        size = record_size(body.header)
        check_trailer(body.file, body.offset, body.read(size - len(RECORD_END), size))


def _tell_of_frame(
    file: ArchiveFile, record: Record, header: FrameHeader, content: bytes, frame_size: int
) -> None:
    """Tell if a record's first frame shows that it holds other records too, or that the record is shorter."""
    size, begin = record.size, len(record.header.raw)
    if content:
        is_shared = bool(content[begin + record.content_length :].strip(b"\r\n"))
    else:
        is_shared = (header.content_size or 0) > size + MAX_BLANK_FRAME
    if is_shared:
        note_deviation(record, "shared", SHARED)
    elif content and record.has_length and frame_size == record.length and not file.strict:
        # The index has it that the next record follows this frame.
        found = len(content) - begin
        if 0 <= found < record.content_length:
            found -= len(RECORD_END) if content.endswith(RECORD_END) and found >= len(RECORD_END) else 0
            note_deviation(record, "length", too_large(record.content_length, found), found)


def framed_records(file: ArchiveFile, window: Window, offset: int = 0) -> Iterator[Record]:
    """Yield all records of the file, from the frame at `offset` on."""
    return FramedRecords(file, window, offset).records()


@mypyc_attr(allow_interpreted_subclasses=True)
class FramedRecords:
    """The walk over the records of a .warc.zst file that can seek, from the frame at `offset` on.

    A subclass that needs the frames themselves, as to copy them, decides by its own methods where those of a
    record end, and how records are read that have none of their own.

    Args:
        keeps_frames: Decode no small frames ahead, so that `frame` is the current record's.

    Attributes:
        frame: The stored bytes of the current record, if that is a small frame; otherwise nothing.
    """

    def __init__(
        self, file: ArchiveFile, window: Window, offset: int = 0, *, keeps_frames: bool = False
    ) -> None:
        self.file = file
        self.window = window
        self.frame = b""
        self._offset = offset
        self._keeps_frames = keeps_frames
        # One for the whole way: making it takes longer than decoding a small frame.
        self._decompress: Decompress = file.decoder.private()

    def records(self) -> Iterator[Record]:
        """Yield them all."""
        file, window, offset = self.file, self.window, self._offset
        while True:
            offset = yield from self._single_frame_records(offset)
            self.frame = b""
            start = self._next_frame(offset)
            if start is None:
                return
            offset, header = start
            record_header = _header_at(file, window, offset) if header and header.content_size else None
            if header is None or header.content_size is None or record_header is None:
                offset = yield from self.in_order(offset)
                continue
            if record_size(record_header) == header.content_size:
                frame = whole_frame(window, offset, header)
                # One that lay across two reads, so that the loop for single frames left it.
                if frame and _decode_first(file, offset, frame, header).endswith(RECORD_END):
                    end = offset + len(frame)
                    empty_frames = whole_empty_frames_at(file, window, end)
                    length = end_of_empty_frames(end, empty_frames, offset) - offset
                    self.frame = frame
                    yield Record(FrameBody(file, offset, record_header, end), length=length)
                    offset = end
                    continue
            body = ZstdBody(file, offset, record_header, table=file.table_trust)
            record = Record(body)
            # A large frame is not decoded to see how it ends, nor is one that is copied, as those of a record
            # in several are not.
            is_large = self._keeps_frames or header.content_size > MAX_FRAME_CONTENT
            goes_on = record.size >= header.content_size if is_large else record.size > header.content_size
            data_end = self.end_of_frames(body) if goes_on else None
            if data_end is None:
                # Several records in the frame, one that does not end as it should, or is cut off.
                offset = yield from self.in_order(offset)
                continue
            yield record
            _check_end(body)
            if not record.has_length:
                end = end_of_empty_frames(data_end, whole_empty_frames_at(file, window, data_end), offset)
                record.note_length(end - offset)
            offset = data_end

    def in_order(self, offset: int) -> Generator[Record, None, int]:
        """Yield records read in order until one begins a frame again; return that frame's offset."""
        # Not needed to read a single record, which is to begin fast.
        from seekwarc.read.shared_frames import group_of

        records = StreamedRecords(self.file, self.window, offset, "zst", tolerant=True)
        return group_of(records, self.file, self.window)

    def end_of_frames(self, body: ZstdBody) -> int | None:
        """Return where the frames of a large record end; None if it is to be read in order."""
        file = self.file
        end = None
        # Frames that do not fit the record have no end.
        with suppress(FormatError):
            end = body.data_end
        if end is None and not file.may_mend(min(record_size(body.header), file.source.size or 0)):
            text = "too many records of this file do not fit their frames"
            raise FormatError(text, source=file.name, offset=body.offset)
        return end

    def pass_empty(self, offset: int, end: int) -> None:
        """Be shown a frame without content, or of line breaks alone, that is between two records."""

    def _next_frame(self, offset: int) -> tuple[int, FrameHeader | None] | None:
        begin = offset
        for empty in empty_frames_at(self.file, self.window, offset):
            self.pass_empty(offset, empty.end)
            offset = empty.end
        start = frame_start_at(self.window, offset)
        if start is None and not begin:
            raise self.file.without_records()
        return (offset, start[1]) if start is not None else None

    def _single_frame_records(self, offset: int) -> Generator[Record, None, int]:
        """Yield the records of one small frame each, and return the offset after them: the hottest loop."""
        file, window = self.file, self.window
        is_ahead = file.frames.threads > 1 and file.decoder.gains_by_batches and not self._keeps_frames
        ahead = partial(_ahead, file) if is_ahead else None
        with closing(alone_then_ahead(offset, self._one_by_one, ahead, file.frames.count)) as frames:
            for end, content, followed in frames:
                file.frames.cache.latest = ((offset, end, len(content)), content)
                header = WARC.whole(content)
                if header is None:
                    return offset
                size = end - offset
                if not followed:
                    size = end_of_empty_frames(end, whole_empty_frames_at(file, window, end), offset) - offset
                yield Record(FrameBody(file, offset, header, end), length=size)
                offset = end
        return offset

    def _one_by_one(self, offset: int) -> Iterator[Small]:
        window, decompress = self.window, self._decompress
        data, index = window.get(offset, offset + AT_HAND)
        frame = measure_frame(data, index)
        # Each frame's header is looked at once only.
        while frame is not None and MAX_BLANK_FRAME < frame[1] <= WHOLE_FRAME:
            end = frame[0]
            self.frame = stored = data[index:end]
            try:
                content = decompress(stored)
            except CodecError:
                content = _decode_first(self.file, offset, stored, parse_frame_header(data, index))
            offset += end - index
            data, index = window.get(offset, offset + AT_HAND)
            frame = measure_frame(data, index)
            yield offset, content, frame is not None and frame[1] > MAX_BLANK_FRAME


def _header_at(file: ArchiveFile, window: Window, offset: int) -> RecordHeader | None:
    # The frame has just been decoded, and was found not to be all of the record.
    (begin, _, _), content = file.frames.cache.latest
    end = find_header_end(content) if begin == offset else -1
    try:
        if end >= 0:
            return file.parse_header(content[:end], offset)
        return _read_header(file, window, offset)
    except FormatError:
        return None


def _ahead(file: ArchiveFile, offset: int) -> BatchesAhead:
    from seekwarc.frames.batch import frames_ahead

    # Through a window of its own, as the caller reads on while frames are decoded.
    return frames_ahead(
        Window(file.source), offset, file.decoder, file.frames.threads, min_content=MAX_BLANK_FRAME
    )
