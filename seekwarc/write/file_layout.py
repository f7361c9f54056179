"""The order of things in a file that is being written: frames, seek tables, the table at the end.

Source: spec-notes/warc-zstd-seekable, sections 2 to 5, annex A.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Final, Literal, TypeAlias

from seekwarc.compiling import override
from seekwarc.errors import SeekWarcError
from seekwarc.format.seektable import MAX_ENTRIES, SeekTable, built_table_size
from seekwarc.format.zstd import PADDING_MAGIC, skippable_frame
from seekwarc.frames.decoder import content_checksum
from seekwarc.frames.deflate import GZIP_HEADER, combined_crc, gzip_trailer
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import EncodedFrame
from seekwarc.write.output import FileOutput, Output

__all__ = [
    "CHECKSUM_OF_NOTHING",
    "Entries",
    "Entry",
    "ExistingFile",
    "FileLayout",
    "MemberLayout",
    "TableMode",
]

TableMode = Literal["large", "every", "none"]
"""Which seek tables are written: "large", of records with several frames and of the whole file; "every", of
each record; or "none"."""

Entry: TypeAlias = tuple[int, int, int]
"""What tables list of a frame: its compressed size, content size and checksum."""

Entries: TypeAlias = "tuple[array[int], array[int], array[int]]"
"""Stored size, content size and checksum of each frame."""

CHECKSUM_OF_NOTHING: Final = content_checksum(b"")
STEP: Final = 1 << 20


@dataclass(slots=True)
class ExistingFile:
    """What a file that is to be continued holds."""

    tables: TableMode
    """Which seek tables it has."""
    dictionary: Dictionary | None
    end: int = 0
    """Offset of the first new record: after the last frame."""
    has_table: bool = False
    """Whether a table of all its frames is at its end."""
    stored: array[int] = field(default_factory=lambda: array("I"))
    """Compressed size of each frame, as the file's table lists it; so the next two."""
    contents: array[int] = field(default_factory=lambda: array("I"))
    checksums: array[int] = field(default_factory=lambda: array("I"))


_State: TypeAlias = tuple[int, int, int, tuple[int, int], bool, bool, tuple[int, int]]
"""The number of the last step, and all that steps change: offset, number of entries, offset and first entry
of the last record, whether it is being written, whether its table covers all, and the member. Compiled, such
a tuple needs no object of its own; there is one for each record."""


class FileLayout:
    """Appends frames to an output and remembers their sizes for the tables.

    Changes are made in steps (`once`). An interrupted step is undone before the next,
    so the output always holds whole steps and nothing else. After each step the state is copied into `_done`;
    to undo is to cut the output and the lists back to that.
    """

    HEAD = 0
    """Bytes of a record before its first frame."""

    def __init__(self, output: Output, tables: TableMode, existing: ExistingFile | None = None) -> None:
        self._output = output
        self._tables: TableMode = tables
        self._begin = output.begin
        self.offset = output.begin
        """Offset in the output at which the next byte is written."""
        self._stored = array("I")
        self._contents = array("I")
        self._checksums = array("I")
        self._record = output.begin, 0
        self._in_record = False
        self._covered = False
        self._member = 0, 0
        """CRC-32 and length of the content of the current gzip member."""
        if existing is not None:
            self.offset = existing.end
            self._stored, self._contents = existing.stored, existing.contents
            self._checksums = existing.checksums
            self._covered = existing.has_table
        self._done = self._state(0)
        self._dirty = False

    def once(self, number: int, step: Callable[[], None]) -> None:
        """Do a step, unless it or a later one was done."""
        if number > self._done[0]:
            self._rollback_step()
            if not self._in_record:
                self._output.mark()
            self._dirty = True
            step()
            self._done = self._state(number)
            self._dirty = False

    def rollback(self) -> None:
        """Undo what is left of a step that failed, and the record that has not been ended."""
        self._rollback_step()
        if self._in_record:
            self.rollback_record()

    @property
    def needs_rollback(self) -> bool:
        """Whether a step has failed, or a record has not been ended."""
        return self._dirty or self._in_record

    def _state(self, step: int) -> _State:
        entries = len(self._stored)
        return step, self.offset, entries, self._record, self._in_record, self._covered, self._member

    def _rollback_step(self) -> None:
        if not self._dirty:
            return
        _, offset, count, record, in_record, covered, member = self._done
        if not self._output.rollback(offset - self._begin):
            raise SeekWarcError(
                "writing failed before, and the output cannot be cut back", source=self._output.name
            )
        self.offset = offset
        for entries in (self._stored, self._contents, self._checksums):
            del entries[count:]
        self._record, self._in_record = record, in_record
        self._covered, self._member = covered, member
        self._dirty = False

    @property
    def entries(self) -> Entries:
        """What the table of the file lists of each frame."""
        return self._stored, self._contents, self._checksums

    @property
    def covered(self) -> bool:
        """Whether the table of the only record lists all frames."""
        return self._covered

    @property
    def size(self) -> int:
        """Bytes of the file so far."""
        return self.offset - self._begin

    @property
    def size_bound(self) -> int:
        """Size of the file if it ended here, with its table if it gets one."""
        table = built_table_size(len(self._stored)) if self._tables == "large" else 0
        return self.size + table

    def add(self, *frames: EncodedFrame) -> None:
        """Append frames of the current record."""
        if not frames:
            return
        self._output.write(frames[0].data if len(frames) == 1 else b"".join([it.data for it in frames]))
        self.note([(len(it.data), it.content_size, it.checksum) for it in frames])

    def add_skippable(self, frame: bytes) -> None:
        """Append a frame without content."""
        self._output.write(frame)
        self.note([(len(frame), 0, CHECKSUM_OF_NOTHING)])

    def pour(self, data: bytes) -> None:
        """Append bytes of frames, which `note` then lists."""
        self._output.write(data)

    def add_part(self, stored: BinaryIO, entries: Entries, *, covered: bool) -> None:
        """Append whole records that another layout has written, and list their frames."""
        self._covered = covered and self.offset == self._begin
        while data := stored.read(STEP):
            self._output.write(data)
            self.offset += len(data)
        for listed, further in zip(self.entries, entries, strict=True):
            listed.extend(further)

    def note(self, entries: Sequence[Entry]) -> None:
        """List frames that were appended to the output."""
        self._covered = False
        for stored_size, content_size, checksum in entries:
            self.offset += stored_size
            if self._tables != "none":
                self._stored.append(stored_size)
                self._contents.append(content_size)
                self._checksums.append(checksum)

    @property
    def can_rewrite(self) -> bool:
        """Whether the first frame of a record can be replaced before the record is ended."""
        return isinstance(self._output, FileOutput)

    def rewrite_first(self, before: EncodedFrame, after: EncodedFrame) -> None:
        """Replace the current record's first frame by another of the same size. Idempotent."""
        output = self._output
        if not isinstance(output, FileOutput) or len(before.data) != len(after.data):
            raise SeekWarcError("a frame that was written cannot be replaced", source=output.name)
        # As little as possible: a write may be torn by what ends the process.
        pairs = enumerate(zip(before.data, after.data, strict=True))
        same = next((index for index, (old, new) in pairs if old != new), len(after.data))
        offset, first = self._record
        output.rewrite(offset + self.HEAD + same, after.data[same:])
        if self._tables != "none":
            self._checksums[first] = after.checksum

    def begin_record(self) -> None:
        """Begin a record."""
        self._record = self.offset, len(self._stored)
        self._in_record = True

    def end_record(self, *, large: bool, regular: bool = True) -> tuple[int, int]:
        """End the record, with its seek table if it gets one; return its offset and compressed size."""
        offset, first = self._record
        # Readers reject the table of a record that does not end in two line breaks (`regular`).
        if regular and (self._tables == "every" or (self._tables == "large" and large)):
            self._add_table(self._stored[first:], self._contents[first:], self._checksums[first:])
            # Then the table at the end of the file already lists all of its frames.
            self._covered = offset == self._begin
        self._in_record = False
        return offset, self.offset - offset

    def _add_table(self, stored: array[int], contents: array[int], checksums: array[int]) -> None:
        size = 0
        for piece in SeekTable(stored, contents, checksums).pieces():
            self.pour(piece)
            size += len(piece)
        self.note([(size, 0, CHECKSUM_OF_NOTHING)])

    def rollback_record(self) -> None:
        """Undo what was written of the current record."""
        self._dirty = True
        offset, entries = self._record
        self._done = self._done[0], offset, entries, self._done[3], False, False, self._done[6]
        self._rollback_step()

    def end_file(self) -> None:
        """Append the file's table, unless it gets none or the only record's table serves as one."""
        if self._tables != "large" or self._covered:
            return
        if len(self._stored) <= MAX_ENTRIES:
            self._add_table(*self.entries)
        else:
            # Too many frames for one table. But the file must not end in the last record's table either:
            # generic readers would take that for the whole file's.
            self.add_skippable(skippable_frame(PADDING_MAGIC, b""))


class MemberLayout(FileLayout):
    """Puts each record into a gzip member of its own (WARC 1.1, annex D)."""

    HEAD = len(GZIP_HEADER)

    @override
    def begin_record(self) -> None:
        super().begin_record()
        self._output.write(GZIP_HEADER)
        self.offset += len(GZIP_HEADER)
        self._member = 0, 0

    @override
    def note(self, entries: Sequence[Entry]) -> None:
        super().note(entries)
        crc, size = self._member
        for _, added, checksum in entries:
            crc = combined_crc(crc, checksum, added) if size else checksum
            size += added
        self._member = crc, size

    @override
    def rewrite_first(self, before: EncodedFrame, after: EncodedFrame) -> None:
        super().rewrite_first(before, after)
        crc, size = self._member
        # A CRC is linear: what changed, moved by as many bytes as follow it, is the change of the whole.
        changed = combined_crc(before.checksum ^ after.checksum, 0, size - before.content_size)
        self._member = crc ^ changed, size

    @override
    def end_record(self, *, large: bool, regular: bool = True) -> tuple[int, int]:
        trailer = gzip_trailer(*self._member)
        self._output.write(trailer)
        self.offset += len(trailer)
        return super().end_record(large=large, regular=regular)
