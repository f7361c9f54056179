"""Which class of writers a file meets, and which requirements of the specification it breaks.

Goal: say it of any file by any writer, in the pass that verifies it. Plan: the audit of frames says where
each frame lies and what kind it is; once the record after it has begun, the frames of a record are compared
with its header, HTTP head, body and trailer. A requirement may hold in some modes only, so each mode keeps an
account of its own, and the mode with the fewest broken requirements is the one that the file is judged by.
What follows from a broken requirement, such as a record without a table because its table is wrong, is not
counted too. Worst case: records in millions of frames. They take memory as in `FrameAudit`, and a record's
frames once more while it is looked at.

Source: spec-notes/warc-zstd-seekable/index.md, sections 2 to 5 and 7; annex A.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from seekwarc.check.examine import Damage, Intact
from seekwarc.check.requirements import MODES, Account, Profile
from seekwarc.check.verifying import Problem, Verification, VerifyListener
from seekwarc.compiling import override
from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.format.http import MAX_HTTP_HEAD_SIZE, is_http_block, parse_http_head
from seekwarc.format.seektable import MAX_ENTRIES, SeekTable
from seekwarc.format.warc import RECORD_END, RECORD_MAGIC
from seekwarc.format.zstd import PADDING_MAGIC, SKIPPABLE_HEADER_SIZE
from seekwarc.frames.audit import AuditedFrame, FrameKind
from seekwarc.frames.encoder import MAX_FRAME_SIZE, MIN_FRAME_SIZE
from seekwarc.frames.scan import Window, frame_at
from seekwarc.read.record import Record
from seekwarc.storage.source import RangeSource

if TYPE_CHECKING:
    from seekwarc.write.file_layout import TableMode

__all__ = ["ProfileCheck"]

MAX_RECORD_TABLE: Final = 1 << 20
"""Entries (W12)."""
DICTIONARY_IDS: Final = range(32_768, 1 << 31)
"""W31."""
PZSTD: Final = 4
"""Bytes of User_Data in the skippable frames of pzstd."""
STEP: Final = 1 << 20
UNUSED_BITS: Final = 3


@dataclass(frozen=True, slots=True)
class _Measured:
    """The parts of a record, in bytes."""

    offset: int
    header: int
    block: int
    head: int
    """HTTP head; 0 without one."""
    trailer: bytes
    is_segment: bool
    is_first: bool

    @property
    def size(self) -> int:
        return self.header + self.block + len(self.trailer)

    @property
    def is_small(self) -> bool:
        """Whether it is small for every frame_size."""
        return self.block <= MIN_FRAME_SIZE and not self.is_segment


class _Frames:
    """The frames from the beginning of the file or from damage on, compared with their records."""

    def __init__(self, account: Account, window: Window, dictionary_id: int) -> None:
        self.window = window
        self._account = account
        self._dictionary_id = dictionary_id
        self._offsets = array("Q")
        self._contents = array("Q")
        self._kinds = bytearray()
        self._last: AuditedFrame | None = None
        self._table_of: dict[int, tuple[int, int, int]] = {}
        """Anchor, content and number of entries of each table that was not passed yet, by its offset."""
        self._file_table_end = 0

    def add(self, frame: AuditedFrame) -> None:
        kind, offset = frame.kind, frame.offset
        if frame.content_size > MAX_FRAME_SIZE:
            self._account.add("W10", offset, f"the frame has {frame.content_size} bytes of content")
        if kind is FrameKind.EMPTY:
            self._account.add("W14", offset, "the Zstandard frame has no content")
        if kind in (FrameKind.TABLE, FrameKind.BROKEN_TABLE):
            self._account.add("W26", offset, "a seek table is there")
        if frame.table is not None:
            self._check_table(frame, frame.table)
        # Extension frames of others are their own business.
        if kind is FrameKind.EXTENSION and frame.magic == PADDING_MAGIC:
            self._check_padding(offset, offset + frame.size)
        if kind is FrameKind.DICTIONARY and not offset:
            if self._dictionary_id not in DICTIONARY_IDS:
                self._account.add("W31", 0, f"the dictionary has the ID {self._dictionary_id}")
            self._account.add("W32", 0, "the file has a dictionary")
        self._last = frame
        self._contents.append(frame.content_size)
        self._kinds.append(kind)
        self._offsets.append(offset)

    def _check_table(self, frame: AuditedFrame, table: SeekTable) -> None:
        offset, end = frame.offset, frame.offset + frame.size
        if frame.kind is FrameKind.TABLE:
            anchor = offset - table.stored_size
            self._table_of[offset] = (anchor, table.content_size, len(table))
            if not anchor and offset == self._file_table_end:
                self._account.add("W33", offset, "the table before it was a file table already")
            if not anchor:
                self._file_table_end = end
        if table.checksums is None:
            self._account.add("W20", offset, "the seek table has no checksums")
        if self.window.take(end - 5, 1)[0] & UNUSED_BITS:
            self._account.add("W17", offset, "Unused_Bits of the seek table are not 0")

    def _check_padding(self, offset: int, end: int) -> None:
        position = offset + SKIPPABLE_HEADER_SIZE
        if end - position == PZSTD:
            self._account.add("W16", offset, "padding of four bytes is what pzstd writes before each frame")
            return
        while data := self.window.take(position, min(STEP, end - position)):
            if data.strip(b"\0"):
                self._account.add("W16", offset, "the padding has other bytes than zero")
                return
            position += len(data)

    def check_record(self, record: _Measured, end: float) -> None:
        """Compare a record with its frames, and with all others before `end`, where the next one begins."""
        first = bisect_left(self._offsets, record.offset)
        stop = bisect_left(self._offsets, end)
        starts = array("Q")
        position, number, gap = 0, first, None
        while number < stop and position < record.size:
            if self._kinds[number] == FrameKind.CONTENT:
                starts.append(position)
                position += self._contents[number]
            elif gap is None:
                gap = self._offsets[number]
            number += 1
        if position != record.size:
            return  # It shares a frame.
        if gap is not None:
            self._account.add("W5", gap, "a frame without content lies between two frames of a record")
        self._check_form(record, starts)
        self._check_tables(record, number, stop, is_large=len(starts) > 1)

    def _check_tables(self, record: _Measured, first: int, stop: int, *, is_large: bool) -> None:
        """Check what follows the frames of a record: number `first` up to `stop`."""
        own = None
        has_broken = False
        for number in range(first, stop):
            offset = self._offsets[number]
            has_broken |= self._kinds[number] == FrameKind.BROKEN_TABLE
            if self._kinds[number] != FrameKind.TABLE:
                continue
            anchor, content, entries = self._table_of.pop(offset)
            if own is not None or (anchor, content) != (record.offset, record.size):
                self._account.add("W25", offset, "a seek table is not that of the record before it")
                continue
            own = offset
            if number > first:
                self._account.add("W5", offset, "other frames lie between a record and its table")
            if entries > MAX_RECORD_TABLE:
                self._account.add("W12", offset, f"the record table has {entries} entries")
        if own is not None and not is_large and record.offset:
            # At offset 0 it is the file table of a file that held one record.
            self._account.add("W6", record.offset, "a small record has a record table", ["large"])
        if own is None and not has_broken:
            self._account.add("W23", record.offset, "the record has no table")
            if is_large and not record.is_small:
                self._account.add("W21", record.offset, "the large record has no table")

    def _check_form(self, record: _Measured, starts: array[int]) -> None:
        """Check where the frames of a record begin: at which positions of its content."""
        place = record.offset
        if record.trailer != RECORD_END:
            self._account.add("W4", place, f"the record is followed by {record.trailer[:16]!r}")
        is_cut = len(starts) > 1
        # In mode "every" a small record is a frame of the header and one of the rest.
        is_pair = starts[1:3] == array("Q", [record.header] if record.block else [])
        if not is_pair and (record.is_small or not is_cut):
            self._account.add("W24", place, f"the frames of the record begin at {_shown(starts)} of it")
        if not is_cut:
            return
        if record.is_first and starts[1] == record.header:
            self._account.add("W13", place, "the first frame of the file holds a record header alone")
        if record.is_small:
            text = f"the record of {record.size} bytes has {len(starts)} frames"
            self._account.add("W6", place, text)
            return
        self._check_cuts(record, starts, is_pair=is_pair)

    def _check_cuts(self, record: _Measured, starts: array[int], *, is_pair: bool) -> None:
        place, body = record.offset, record.header + record.head
        modes: list[TableMode] = ["large", "none"] if is_pair else list(MODES)
        # Any record may have the form of the first: a file does not show whether it was joined from others.
        has_first_form = starts[1] == body if record.head else starts[1] > record.header
        if record.is_first or has_first_form:
            modes.remove("large")
        agree = list(modes)
        if starts[1] != record.header:
            text = f"the first frame holds {starts[1]} bytes; the header has {record.header}"
            self._account.add("W1", place, text, modes)
            agree.clear()
        elif record.head and record.head < record.block and starts[2:3] != array("Q", [body]):
            text = f"the second frame does not hold the HTTP head of {record.head} bytes"
            self._account.add("W2", place, text, modes)
            agree.clear()
        if has_first_form:
            agree.append("large")
        elif record.is_first and starts[1] != record.header:
            text = f"the first frame holds {starts[1]} bytes; header and HTTP head have {body}"
            self._account.add("W13", place, text, ["large"])
        if record.trailer == RECORD_END and starts[-1] > body - record.head + record.block - (
            record.block > 0
        ):
            self._account.add("W4", place, "the last frame of the record holds bytes of the trailer alone")
        if not _has_frame_size(starts, body, record.block - record.head):
            text = f"the frames of the record begin at {_shown(starts)} of it"
            self._account.add("W3", place, text, agree)

    def check_end(self, size: int) -> None:
        last = self._last
        if last is None or last.kind is FrameKind.BROKEN_TABLE:
            return
        text = "the file does not end with a seek table"
        if last.table is not None and last.offset + last.size == size:
            anchor = last.offset - last.table.stored_size
            if not anchor:
                return
            text = f"the seek table that the file ends with begins at {anchor}, not at 0"
        if len(self._kinds) <= MAX_ENTRIES:
            self._account.add("W22", last.offset, text)
        elif last.kind is not FrameKind.EXTENSION:
            text = f"no table lists {len(self._kinds)} frames, and the file does not end in padding"
            self._account.add("W34", last.offset, text)


def _shown(starts: array[int]) -> str:
    shown = ", ".join(map(str, starts[:4]))
    return f"{shown}, ..." if len(starts) > 4 else shown


def _has_frame_size(starts: array[int], body: int, size: int) -> bool:
    """Return whether the body is cut every so many bytes, for some number of them that is allowed."""
    if size <= MAX_FRAME_SIZE:
        return True
    places = set(starts)
    low, high = (bisect_left(starts, body + it) for it in (MIN_FRAME_SIZE, MAX_FRAME_SIZE + 1))
    return any(
        all(it in places for it in range(start, body + size, start - body)) for start in starts[low:high]
    )


def _is_frame(source: RangeSource, offset: int) -> bool:
    try:
        frame_at(Window(source), offset)
    except FormatError:
        return False
    return True


class ProfileCheck(VerifyListener):
    """Compares a file with the requirements of the specification, as the listener of its `Verifier`.

    `profile` is set once all problems were yielded; it stays None if the file is not a .warc.zst.
    """

    def __init__(self) -> None:
        self.profile: Profile | None = None
        self._account = Account()
        self._frames: _Frames | None = None
        self._head = 0
        self._waiting: _Measured | None = None
        """The last record. It is checked when it is known where what belongs to it ends."""
        self._is_first = True

    @override
    def on_audit(self, window: Window, dictionary_id: int) -> Callable[[AuditedFrame], object]:
        self._frames = _Frames(self._account, window, dictionary_id)
        return self._frames.add

    @override
    def on_problem(self, problem: Problem) -> None:
        if problem.requirement:
            self._account.add(problem.requirement, problem.offset, problem.message)

    @override
    def on_record(self, record: Record) -> None:
        self._head = 0
        if not record.header.raw.startswith(RECORD_MAGIC):
            self._account.add("W35", record.offset, f"the record begins with {record.header.raw[:5]!r}")
        if record.skip:
            self._account.add("W11", record.offset, "the record shares its frame")
            self._account.add("W23", record.offset, "the record has no table")
        elif is_http_block(record.content_type) and record.content_length:
            start = len(record.header.raw)
            size = min(record.content_length, MAX_HTTP_HEAD_SIZE)
            some = record.body.read_some(start, start + size, size)
            head = parse_http_head(some[:size], whole=size == record.content_length)
            self._head = head.size if head is not None else 0

    @override
    def on_intact(self, found: Intact) -> None:
        record = found.record
        if record.skip:
            self._waiting = None  # Nor does the one before it have frames of its own.
            return
        self._check_waiting(record.offset)
        self._waiting = _Measured(
            record.offset,
            len(record.header.raw),
            record.content_length,
            self._head,
            found.trailer,
            is_segment=record.header.get("WARC-Segment-Number") is not None,
            is_first=self._is_first,
        )
        self._is_first = False

    @override
    def on_damage(self, damage: Damage) -> None:
        if self._frames is None:
            return
        source, error = self._frames.window.source, damage.error
        place = error.offset if error.offset is not None else damage.offset
        # Intact bytes before damage between records belong to the record before.
        self._check_waiting(damage.offset if damage.header is not None else max(place, damage.offset))
        self._is_first = False
        is_last = damage.end >= (source.size or 0)
        if is_last and (isinstance(error, TruncatedError) or not _is_frame(source, place)):
            self._account.add("W27", place, error.message)
        elif isinstance(error, ChecksumError):
            self._account.add("W8", place, error.message)

    @override
    def on_end(self, result: Verification) -> None:
        if result.compression != "zst":
            return
        self._check_waiting(math.inf)
        if self._frames is not None:
            self._frames.check_end(result.stored_size)
        is_damaged = any(result.codes[code] for code in ("damage", "dictionary", "empty", "limit"))
        self.profile = self._account.profile(is_damaged=is_damaged)

    def _check_waiting(self, end: float) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None and self._frames is not None:
            self._frames.check_record(waiting, end)
