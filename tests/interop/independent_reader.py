"""A second reader of seekable `.warc.zst` files, written from the specification and from nothing else.

It knows nothing of seekwarc: where the two disagree, the text has to say which is right. It is made to be
read beside that text, holds whole files in memory and is slow. R12 and the like are its requirements.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import Final, NamedTuple

import zstandard

FRAME: Final = 0xFD2FB528
TABLE: Final = 0x184D2A5E
MAX_BLOCK: Final = 128 * 1024
MAX_CONTENT: Final = 256 * 1024 * 1024
BLANK_LINE: Final = b"\r\n\r\n"

Damage = zstandard.ZstdError  # whether libzstd finds it or this reader


class Frame(NamedTuple):
    """A frame as it is there, or as a table lists it (then `magic` is 0)."""

    start: int
    end: int
    magic: int
    content_size: int | None
    checksum: int | None

    @property
    def empty(self) -> bool:
        return self.magic not in (0, FRAME) or self.content_size == 0


class Table(NamedTuple):
    """A table that passes 6.1."""

    start: int
    anchor: int
    entries: list[Frame]


@dataclass
class Record:
    """A record: what is known of it, and its block if it was read in order."""

    offset: int
    header: bytes = b""
    length: int | None = None
    block: bytes = b""
    frames: list[Frame] = field(default_factory=list)
    found_by: str = "order"

    @property
    def size(self) -> int:
        fields = self.header.split(b"\r\n")[1:] if self.header[:5].upper() == b"WARC/" else []
        for line in fields:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                return int(value)
        raise Damage(f"no record with a Content-Length begins at {self.offset}")


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.begin = data, 0
        self.dictionary: zstandard.ZstdCompressionDict | None = None
        if data.startswith(b"\x5d\x2a\x4d\x18"):
            self.begin = self.frame_at(0).end
            stored = data[8 : self.begin]
            if stored.startswith(b"\x28\xb5\x2f\xfd"):
                stored = self.content(self.frame_at(8)) if self.frame_at(8).end == self.begin else b""
            if stored[:4] != b"\x37\xa4\x30\xec" or stored[4:8] == bytes(4):
                raise Damage("the dictionary frame does not hold one dictionary (R28)")
            self.dictionary = zstandard.ZstdCompressionDict(stored, dict_type=zstandard.DICT_TYPE_FULLDICT)

    def frame_at(self, start: int) -> Frame:
        """Find the end of a frame without decoding it (R27)."""
        magic = self._number(start, 4)
        if magic & ~15 == 0x184D2A50:
            return Frame(start, self._inside(start + 8 + self._number(start + 4, 4)), magic, 0, None)
        if magic != FRAME:
            raise Damage(f"no frame begins at {start}")
        flags = self._number(start + 4, 1)
        single, checked = flags >> 5 & 1, flags >> 2 & 1
        at = start + 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
        width = (single, 2, 4, 8)[flags >> 6]
        size = self._number(at, width) + (256 if width == 2 else 0) if width else None
        at += width
        last = 0
        while not last:
            block = self._number(at, 3)
            last, kind, length = block & 1, block >> 1 & 3, block >> 3
            if kind == 3 or length > MAX_BLOCK:
                raise Damage(f"the frame at {start} has a block that cannot be")
            at += 3 + (1 if kind == 1 else length)
        checksum = self._number(at, 4) if checked else None
        return Frame(start, self._inside(at + 4 * checked), magic, size, checksum)

    def frames(self, start: int) -> Iterator[Frame]:
        while start < len(self.data):
            yield (frame := self.frame_at(start))
            start = frame.end

    def content(self, frame: Frame) -> bytes:
        """Decode a frame; libzstd compares its checksum (6.3, steps 4 and 5)."""
        limit = MAX_CONTENT if frame.content_size is None else frame.content_size
        data = b"" if frame.empty else self.data[frame.start : frame.end]
        content = _decode(data, min(limit, MAX_CONTENT), self.dictionary) if data else b""
        if len(content) > MAX_CONTENT or frame.content_size not in (None, len(content)):
            raise Damage(f"the frame at {frame.start} holds other bytes than it states, or too many")
        return content

    def _number(self, at: int, width: int) -> int:
        return int.from_bytes(self.data[at : self._inside(at + width)], "little")

    def _inside(self, end: int) -> int:
        if end > len(self.data):
            raise Damage("the file ends within a frame")
        return end

    def in_order(self, start: int | None = None) -> Iterator[Record]:
        """Yield all records without tables; raise `Damage` after those that are complete (R1, R2, R3)."""
        content, frames, damage = bytearray(), list[tuple[int, Frame]](), None
        stop = self.begin if start is None else start
        try:
            for frame in self.frames(stop):
                piece = self.content(frame)
                content += piece
                frames += [(len(content), frame)] if piece else []  # where its content ends
                stop = frame.end
        except Damage as error:
            damage = error
        at = 0
        while at < len(content):
            first = bisect_right(frames, at, key=itemgetter(0))
            block = content.find(BLANK_LINE, at) + 4
            record = Record(frames[first][1].start, bytes(content[at:block]))
            at = block + record.size if block > 3 else len(content) + 1
            if at > len(content):
                raise damage or Damage(f"the file ends within the record at {record.offset}")
            record.block = bytes(content[block:at])
            last = bisect_left(frames, at, key=itemgetter(0))
            at = frames[last][0] - len(content[at : frames[last][0]].lstrip(b"\r\n"))  # R3: the trailer, here
            for end, _ in frames[last + 1 :]:
                if content[at:end].strip(b"\r\n"):
                    break
                at = end  # ... and in frames that hold nothing else
            following = next((frame.start for end, frame in frames if end > at), stop)
            record.length = self._length(record.offset, frames[last][1].end, following)
            yield record
        if damage or not frames:
            raise damage or Damage("the file holds no record")

    def _length(self, offset: int, end: int, following: int) -> int:
        """Return the length of a record whose last frame ends at `end` (R5)."""
        while end < following:
            table = self.table_at(self.frame_at(end).end, 0)
            if table and table.start == end and table.anchor < offset:
                break
            end = self.frame_at(end).end
        return end - offset

    def table_at(self, end: int, lowest: int) -> Table | None:
        """Parse the table that ends at a place, by the steps of 6.1 (R12)."""
        if end > len(self.data) or end - lowest < 17 or self._number(end - 4, 4) != 0x8F92EAB1:
            return None
        count, descriptor = self._number(end - 9, 4), self._number(end - 5, 1)
        if descriptor & 0x7C or count > 0x08000000:
            return None
        width = 3 if descriptor & 0x80 else 2  # numbers of an entry
        start = end - (count * 4 * width + 17)
        head = struct.pack("<II", TABLE, end - start - 8)
        if count * 8 > start - lowest or self.data[start : start + 8] != head:
            return None
        numbers = struct.unpack_from(f"<{count * width}I", self.data, start + 8)
        rows = [numbers[at : at + width] for at in range(0, len(numbers), width)]
        anchor = start - sum(row[0] for row in rows)
        if not rows or any(not row[0] and row[1] for row in rows) or anchor < lowest:
            return None
        ends = list(accumulate((row[0] for row in rows), initial=anchor))
        entries = [Frame(ends[n], ends[n + 1], 0, row[1], (*row, None)[2]) for n, row in enumerate(rows)]
        return Table(start, anchor, entries)

    def from_the_end(self) -> list[int]:
        """Return the records that the walk of mode "every" finds (4.2)."""
        offsets, end = list[int](), len(self.data)
        while end > self.begin and (table := self.table_at(end, self.begin)):
            end = table.anchor
            offsets.insert(0, end)
        return offsets

    def record_at(self, offset: int, length: int | None = None) -> Record:
        """Find a record by its place, and its frames by a table or by scanning."""
        end = None if length is None else offset + length
        offset = next((frame.start for frame in self.frames(offset) if not frame.empty), offset)  # R4
        record = Record(offset, length=None if end is None else end - offset)
        first, at = 0, offset
        while BLANK_LINE not in record.header and len(record.header) < MAX_CONTENT:
            frame = self.frame_at(at)
            record.header += self.content(frame)
            first, at = first + 1, frame.end
        record.header = record.header[: record.header.find(BLANK_LINE) + 4]
        total = len(record.header) + record.size + 4
        for record.found_by, record.frames in self._ways(offset, end, total):
            if record.found_by == "scan" or self._belongs(record.frames, first):
                return record
        record.found_by, record.frames = "stream", []
        record.block = next(self.in_order(offset)).block
        return record

    def _ways(self, offset: int, end: int | None, total: int) -> Iterator[tuple[str, list[Frame]]]:
        """Yield the frames of a record as each table that is for it lists them, and as they are there."""
        scanned = self._scan(offset, total)
        if end is None and scanned and scanned[-1].end < len(self.data):
            end = self.frame_at(scanned[-1].end).end  # R14: the table comes after the record's last frame
        table = self.table_at(end, offset) if end is not None else None
        if table and table.anchor == offset and sum(e.content_size or 0 for e in table.entries) == total:
            yield "record table", table.entries
        end = len(self.data)
        for _ in range(1000):  # R26
            if (table := self.table_at(end, 0)) is None:
                break
            if frames := _cut_out(table.entries, offset, total):
                yield "file table", frames
            end = table.anchor
        if scanned:
            yield "scan", scanned

    def _scan(self, offset: int, total: int) -> list[Frame]:
        """Return the frames of a record, as they are there; none if it has to be streamed (R27)."""
        frames: list[Frame] = []
        while total > 0 and offset < len(self.data):
            frames.append(frame := self.frame_at(offset))
            if frame.content_size is None:
                break
            offset, total = frame.end, total - frame.content_size
        return [] if total else frames

    def _belongs(self, entries: list[Frame], first: int) -> bool:
        """Whether entries without content are such frames (R16), and the first ones are as decoded (R17)."""
        try:
            for number, entry in enumerate(entries):
                if entry.empty or number < first:
                    self.used(entry)
        except Damage:
            return False
        return len(entries) >= first

    def used(self, entry: Frame) -> bytes:
        """Check a frame against its entry and decode it (R19, R20)."""
        frame = self.frame_at(entry.start)
        content = self.content(frame)
        if frame.end != entry.end or len(content) != entry.content_size:
            raise Damage(f"the frame at {entry.start} has other sizes than its table lists")
        if frame.checksum is None and entry.checksum is not None and content:
            _decode(_framed(content, entry.checksum), len(content))
        elif content and entry.checksum not in (None, frame.checksum):
            raise Damage(f"the frame at {entry.start} has another checksum than its table lists")
        return content

    def pread(self, record: Record, start: int, end: int) -> bytes:
        """Read a range of the block of a record from the frames that hold it."""
        found, at, end = b"", -len(record.header), min(end, record.size)
        for entry in record.frames:
            size = entry.content_size or 0
            if at < end and start < at + size:
                found += self.used(entry)[max(start - at, 0) : end - at]
            at += size
        return record.block[start:end] if record.found_by == "stream" else found


def _cut_out(entries: list[Frame], offset: int, total: int) -> list[Frame]:
    """Return the entries from an offset on whose content adds up to a total (R15)."""
    rest = [entry for entry in entries if entry.start >= offset]
    sums = list(accumulate(entry.content_size or 0 for entry in rest))
    return rest[: sums.index(total) + 1] if total in sums and rest[0].start == offset else []


def _decode(data: bytes, limit: int, dictionary: zstandard.ZstdCompressionDict | None = None) -> bytes:
    """Decode a frame, or the first bytes of one that has more than `limit`."""
    decompressor = zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=MAX_CONTENT)
    with decompressor.stream_reader(data) as reader:
        return reader.read(limit + 1)


def _framed(content: bytes, checksum: int) -> bytes:
    """Return a frame of raw blocks that states a checksum, so that libzstd compares it."""
    frame = struct.pack("<IBQ", FRAME, 0xE4, len(content))
    for at in range(0, len(content), MAX_BLOCK):
        piece, last = content[at : at + MAX_BLOCK], at + MAX_BLOCK >= len(content)
        frame += (len(piece) << 3 | last).to_bytes(3, "little") + piece
    return frame + struct.pack("<I", checksum)
