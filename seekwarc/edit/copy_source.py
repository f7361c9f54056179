"""The records of a .warc.zst file with their frames: which can be copied frame by frame, and which cannot.

A copied frame ends up in a seek table of the new file, so it must state what that needs: its content size and
checksum; and it must be compressed with the dictionary of both files. A record can be copied if all its
frames are such, and the record begins and ends with a frame. Any other record is read as a stream and
compressed again. The walk goes back to copying at the next frame that a record begins with.

No seek table is trusted: the size of every frame comes from its own headers.
Source: "Zstandard Compression for WARC Files 1.0", sections Zstandard frames and Combining files.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from seekwarc.compiling import override
from seekwarc.edit.frame_list import DICTIONARY_FLAGS, MAX_LISTED, FrameList, frames_near
from seekwarc.errors import FormatError, LimitError, TruncatedError
from seekwarc.format.seektable import FOOTER_SIZE, TableTrust, ends_like_table
from seekwarc.format.warc import RECORD_END, RecordHeader
from seekwarc.format.zstd import (
    DICTIONARY_FRAME_MAGIC,
    SEEK_TABLE_MAGIC,
    FrameHeader,
    parse_frame_header,
)
from seekwarc.frames.pieces import Compression
from seekwarc.frames.scan import Frame, Window, frame_at, frame_start_at
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.body import record_size
from seekwarc.read.file_tables import read_table_before
from seekwarc.read.record import Record
from seekwarc.read.sequential import StreamedRecords
from seekwarc.read.shared_frames import group_of
from seekwarc.read.zstd_body import FrameBody, ZstdBody
from seekwarc.read.zstd_records import FramedRecords, framed_record_at
from seekwarc.storage.fetch import TAIL
from seekwarc.write.block_reader import BlockSource, ReadableStream

__all__ = [
    "LooseRecord",
    "Place",
    "PlacedRecords",
    "StoredRecord",
    "StoredRecords",
    "check_record",
    "has_table_each",
    "loose_records",
]

CHECKED: Final = 1 << 20
"""Bytes of a block that are decompressed at a time to check it."""
DESCRIPTOR: Final = 4
"""Index of Frame_Header_Descriptor in a frame (RFC 8878, section 3.1.1.1.1)."""

NO_SIZE: Final = "a frame does not state its size"
NO_CHECKSUM: Final = "a frame has no checksum"
OTHER_DICTIONARY: Final = "a frame does not name the file's dictionary"
TOO_LARGE: Final = "a frame of 4 GiB or more does not fit into a seek table"
NOT_ALONE: Final = "a frame does not hold exactly one record with its line breaks"


class Place(NamedTuple):
    """Where a record is."""

    offset: int
    """Of its frame or member."""
    skip: int = 0
    """Content bytes before it in that."""
    end: int | None = None
    """Where it is said to end."""
    content: int = 0
    """Its size, decompressed, if it was found to be all of a frame that ends there; 0 if that is unknown."""


@dataclass(slots=True)
class StoredRecord:
    """A record whose frames can be copied as they are."""

    file: ArchiveFile
    header: RecordHeader
    offset: int
    frames: FrameList
    """Its frames with content, and the extension frames between them."""
    data: bytes = b""
    """The frame, already decoded and checked, if it is a single small one."""
    following: FrameList = field(default_factory=FrameList)
    """Extension frames between it and the next record."""

    @property
    def size(self) -> int:
        """Size of the whole record, decompressed."""
        return len(self.header.raw) + self.header.content_length + len(RECORD_END)

    @property
    def stored_size(self) -> int:
        """Compressed bytes to copy."""
        return sum(self.frames.stored) + sum(self.following.stored)

    @property
    def data_frames(self) -> int:
        """Number of frames with content."""
        return len(self.frames) - self.frames.contents.count(0)

    @property
    def second(self) -> int:
        """Index of the second frame with content; there must be several."""
        return next(number for number in range(1, len(self.frames)) if self.frames.contents[number])

    @property
    def header_is_apart(self) -> bool:
        """Whether the first frame holds the record header and nothing else."""
        return self.frames.contents[0] == len(self.header.raw)

    def kept(self) -> StoredRecord:
        """Return the record without the frames that follow it, to copy it once more."""
        return StoredRecord(self.file, self.header, self.offset, self.frames, self.data)

    def loose(self, reason: str) -> LooseRecord:
        """Return the same record, to be compressed again."""
        records = StreamedRecords(self.file, Window(self.file.source), self.offset, "zst")
        record = records.step()
        if record is None:
            raise FormatError("no record starts here", source=self.file.name, offset=self.offset)

        def trailer() -> bytes:
            records.finish()
            if len(records.trailer) != len(RECORD_END):
                text = "the record is not followed by two line breaks"
                raise FormatError(text, source=self.file.name, offset=self.offset)
            return records.trailer

        return LooseRecord(self.file.name, record.header, record.block.open, trailer, reason)


@dataclass(frozen=True, slots=True)
class LooseRecord:
    """A record to be compressed again. It must be read before the next one is requested."""

    filename: str
    """Name of its file."""
    header: RecordHeader
    open_block: Callable[[], ReadableStream]
    trailer: Callable[[], bytes]
    """Returns the bytes after the block, once that was read."""
    reason: str

    def kept(self) -> LooseRecord:
        """Return the same record in memory, which can be read at any time and more than once."""
        length = self.header.content_length
        block = BlockSource(self.open_block(), length).read(length)
        trailer = self.trailer()
        return LooseRecord(
            self.filename, self.header, lambda: io.BytesIO(block), lambda: trailer, self.reason
        )


def loose_records(file: ArchiveFile, reason: str) -> Iterator[LooseRecord]:
    """Yield all records of a file, to be compressed again."""
    _silence(file)
    window, compression = file.begin()
    records = StreamedRecords(file, window, 0, compression)
    for record in records:
        yield _loose(file, records, record, reason)


def _loose(file: ArchiveFile, records: StreamedRecords, record: Record, reason: str) -> LooseRecord:
    def trailer() -> bytes:
        records.finish()
        return records.trailer

    return LooseRecord(file.name, record.header, record.block.open, trailer, reason)


def _silence(file: ArchiveFile) -> None:
    """Issue no warnings of what the copy makes an error of."""
    for kind in ("cut", "length"):
        file.silence(kind)


def check_record(record: StoredRecord | LooseRecord) -> None:
    """Decompress all of a record; a FormatError if it is damaged."""
    if isinstance(record, StoredRecord):
        if record.data:
            return  # It was decoded when it was found.
        record = record.loose("")
    block = BlockSource(record.open_block(), record.header.content_length)
    while block.read(CHECKED):
        pass
    record.trailer()


def has_table_each(file: ArchiveFile) -> bool | None:
    """Tell whether a file has a seek table for each record and none for itself (spec-notes, section 4.2).

    Only the end of the file is read. None if there is one record without a block: both kinds look the same.
    """
    source = file.source
    try:
        found = read_table_before(source, source.size or 0, floor=0, tail=TAIL)
        if found is None:
            return False
        table, offset = found
        anchor = table.anchor(offset)
        record = framed_record_at(file, Window(source), anchor, None)
    except FormatError:
        return False
    if record is None or record.offset != anchor or table.content_size != record.size:
        return False
    if table.content_sizes[0] == len(record.header.raw):
        return True
    if record.content_length or len(table) > 1:
        return False
    return True if anchor else None


class StoredRecords(FramedRecords):
    """All records of a .warc.zst file, in order, with their frames where these can be copied.

    Extension frames come with the record that they follow. Those before the first record come with that one,
    since a file may not begin with one. Left out are seek tables, which would be wrong in another file,
    dictionary frames after the first frame, empty frames, and extension frames among records that are
    compressed again.
    """

    def __init__(self, file: ArchiveFile) -> None:
        _silence(file)
        super().__init__(file, Window(file.source), keeps_frames=True)
        dictionary = file.decoder.dictionary
        self._dictionary_id = dictionary.id if dictionary is not None else 0
        self._frames = FrameList()
        """Those of the current record, if it has several."""
        self._group: StreamedRecords | None = None
        """What reads the current record, if that is read in order."""
        self._reason = NOT_ALONE
        """Why it is."""
        self._following = FrameList()
        """Where extension frames are kept that come next."""
        self._fitting: set[int] = set()
        """Frame_Header_Descriptors without a dictionary ID of frames that can be copied."""

    def __iter__(self) -> Iterator[StoredRecord | LooseRecord]:
        last: StoredRecord | None = None
        ownerless = self._following
        records = self.records()
        while True:
            record, damage = None, None
            try:
                record = next(records, None)
            except FormatError as error:
                damage = error  # It comes after the last record.
            if last is not None:
                yield last
            if damage is not None:
                raise damage
            if record is None:
                return
            found = self._found(record)
            if isinstance(found, StoredRecord):
                found.following, ownerless = ownerless, FrameList()
                last, self._following = found, found.following
            else:
                last, self._following = None, FrameList()
                yield found

    def at(self, offset: int, end: int | None = None) -> StoredRecord | str:
        """Return the record whose first frame is at `offset`, or why its frames cannot be copied.

        Nothing after `end`, where the record is said to end, is read in advance. Extension frames that follow
        the record are left out.
        """
        window = self.window
        window.limit = end
        start = frame_start_at(window, offset)
        if start is None or start[1] is None or start[1].content_size == 0:
            raise FormatError("no record starts here", source=self.file.name, offset=offset)
        # A frame that does not state its size may even be empty.
        if (problem := self._problem(start[1], 0)) is not None:
            return problem
        record = framed_record_at(self.file, window, offset, None, TableTrust.SCANNED)
        if record is None:
            return NOT_ALONE
        body = record.body
        if isinstance(body, FrameBody):
            return self._single(record, window.take(offset, body.end - offset))
        is_whole = isinstance(body, ZstdBody) and self.end_of_frames(body) is not None
        return StoredRecord(self.file, record.header, offset, self._frames) if is_whole else self._reason

    def _found(self, record: Record) -> StoredRecord | LooseRecord:
        if self._group is not None:
            return _loose(self.file, self._group, record, self._reason)
        if not self.frame:
            return StoredRecord(self.file, record.header, record.offset, self._frames)
        found = self._single(record, self.frame)
        if isinstance(found, StoredRecord):
            return found
        return LooseRecord(self.file.name, record.header, record.block.open, lambda: RECORD_END, found)

    def _single(self, record: Record, frame: bytes) -> StoredRecord | str:
        problem = self._problem(parse_frame_header(frame), len(frame))
        if problem is not None:
            return problem
        frames = FrameList()
        frames.add(record.offset, len(frame), record.size)
        return StoredRecord(self.file, record.header, record.offset, frames, frame)

    @override
    def end_of_frames(self, body: ZstdBody) -> int | None:
        # What a seek table says is not relied on.
        size = record_size(body.header)
        if not self._dictionary_id and (near := frames_near(self.file.source, body.offset, size)) is not None:
            self._frames = near
            return body.offset + sum(near.stored)
        self._frames = frames = FrameList()
        content, position = 0, body.offset
        while content < size:
            frame = frame_at(self.window, position)
            if frame is None and content < size - len(RECORD_END):
                raise TruncatedError(
                    f"the file ends inside this record: {content} of {size} bytes are there",
                    source=self.file.name,
                    offset=body.offset,
                )
            self._reason = (
                NOT_ALONE if frame is None else self._problem(frame.header, frame.size) or NOT_ALONE
            )
            if frame is None or self._reason != NOT_ALONE:
                return None
            held = frame.content_size or 0
            if held or self._is_kept(frame):
                frames.add(position, frame.size, held)
            content += held
            position = frame.end
        return position if content == size else None

    @override
    def in_order(self, offset: int) -> Generator[Record, None, int]:
        start = frame_start_at(self.window, offset)
        problem = self._problem(start[1], 0) if start is not None else None
        self._reason = problem or self._reason
        self._group = StreamedRecords(self.file, self.window, offset, "zst")
        end = yield from group_of(self._group, self.file, self.window)
        self._group, self._reason = None, NOT_ALONE
        return end

    @override
    def pass_empty(self, offset: int, end: int) -> None:
        frame = frame_at(self.window, offset)
        if frame is not None and frame.header is None and self._is_kept(frame):
            self._following.add(offset, frame.size, 0)

    def can_copy(self, data: bytes, index: int) -> bool:
        """Tell whether the frame at `data[index]`, which states its size, can be copied."""
        descriptor = data[index + DESCRIPTOR]
        if descriptor in self._fitting:
            return True
        is_fitting = self._problem(parse_frame_header(data, index), 0) is None
        if is_fitting and not descriptor & DICTIONARY_FLAGS:
            self._fitting.add(descriptor)
        return is_fitting

    def _problem(self, header: FrameHeader | None, size: int) -> str | None:
        if header is None or header.content_size == 0:
            return None
        if header.content_size is None:
            return NO_SIZE
        if not header.has_checksum:
            return NO_CHECKSUM
        if header.dictionary_id != self._dictionary_id:
            return OTHER_DICTIONARY
        return TOO_LARGE if max(header.content_size, size) > MAX_LISTED else None

    def _is_kept(self, frame: Frame) -> bool:
        if frame.header is not None or frame.magic == DICTIONARY_FRAME_MAGIC:
            return False
        if frame.magic == SEEK_TABLE_MAGIC:
            tail = self.window.take(frame.end - FOOTER_SIZE, FOOTER_SIZE)
            if ends_like_table(tail, frame.size):
                return False
        if frame.size > MAX_LISTED:
            text = f"an extension frame of {frame.size} bytes does not fit into a seek table"
            raise LimitError(text, source=self.file.name, offset=frame.offset)
        return True


class PlacedRecords:
    """Records of a file by their places: at once where frames can be copied, otherwise best in file order.

    Args:
        problem: Why no frame of the file can be copied; None if it is a .warc.zst whose frames can be.
    """

    def __init__(self, file: ArchiveFile, compression: Compression, problem: str | None) -> None:
        self.file = file
        self._compression = compression
        self._problem = problem
        self.stored = StoredRecords(file) if problem is None else None
        """The records whose frames can be copied; None if none can."""
        self._walk: StreamedRecords | None = None

    def at(self, offset: int, skip: int = 0, end: int | None = None) -> StoredRecord | LooseRecord:
        """Return a record. One that is to be compressed again must be read before the next is requested.

        Args:
            offset: Offset of the frame or member in which it begins.
            skip: Content bytes before it in that frame.
            end: Where it is said to end: nothing after that is read in advance.

        Raises:
            FormatError: The record is damaged, or no record is there.
        """
        reason = self._problem
        if self.stored is not None and not skip:
            found = self.stored.at(offset, end)
            if isinstance(found, StoredRecord):
                self._walk = None
                return found
            reason = found
        walk = self._walk_to(offset, skip, end)
        while (record := walk.step()) is not None and record.offset == offset:
            if record.skip == skip:
                self._walk = walk
                return LooseRecord(
                    self.file.name,
                    record.header,
                    record.block.open,
                    partial(self._trailer, walk, record),
                    reason or NOT_ALONE,
                )
        raise FormatError("no record starts here", source=self.file.name, offset=offset)

    def _trailer(self, walk: StreamedRecords, record: Record) -> bytes:
        try:
            walk.finish()
        except FormatError:
            self._walk = None
            if not record.has_length:
                raise
            # What follows is damaged; this record is not.
            return RECORD_END
        return walk.trailer

    def _walk_to(self, offset: int, skip: int, end: int | None) -> StreamedRecords:
        """Return the walk that reaches a place: the last one if it leads there, or else a new one."""
        walk, self._walk = self._walk, None
        if walk is not None:
            # Damage after the last record is not this one's.
            with contextlib.suppress(FormatError):
                walk.finish()
                if walk.next_offset == offset:
                    return walk
        window = Window(self.file.source, limit=end)
        stream = self.file.stream(window, offset, self._compression)
        stream.skip_to(skip)
        return StreamedRecords(self.file, window, offset, self._compression, stream=stream)
