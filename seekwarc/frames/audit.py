"""The frames of a file compared with what WARC-Zstandard asks of them, and with the seek tables.

Source: "Zstandard Compression for WARC Files 1.0", all sections with a "must";
spec-notes/warc-zstd-seekable, sections 3 to 6.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Final, NamedTuple, Self

import xxhash

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.seektable import (
    FOOTER_MAGIC_BYTES,
    FOOTER_SIZE,
    MAX_TABLE_SIZE,
    SeekTable,
    built_table_size,
    ends_like_table,
    max_table_size_at,
    table_frame_size,
)
from seekwarc.format.words import counted
from seekwarc.format.zstd import (
    DICTIONARY_FRAME_MAGIC,
    FRAME_MAGIC_BYTES,
    MAX_FRAME_HEADER_SIZE,
    SEEK_TABLE_MAGIC,
    SKIPPABLE_HEADER_SIZE,
    FrameHeader,
    parse_frame_header,
    parse_skippable_header,
)
from seekwarc.frames.pieces import EmptyFrame, Piece
from seekwarc.frames.scan import Window

__all__ = ["AuditedFrame", "AuditedFrames", "FrameAudit", "FrameKind", "Report"]

GUARANTEED_WINDOW: Final = 8 << 20
"""Window_Size that every decoder must support."""

Report = Callable[[str, int, str, str], object]
"""Called with a code, an offset, a sentence, and the broken requirement of the specification, if any."""


class FrameKind(IntEnum):
    """What a frame is.

    Example:
        >>> from seekwarc.frames.audit import FrameKind
        >>> FrameKind.TABLE.name
        'TABLE'
    """

    CONTENT = 0
    EMPTY = 1
    """A Zstandard frame without content."""
    EXTENSION = 2
    DICTIONARY = 3
    TABLE = 4
    """A seek table that agrees with its frames."""
    BROKEN_TABLE = 5
    """One that does not, that is not usable, or whose frames are damaged."""


class AuditedFrame(NamedTuple):
    """A frame that was read to its end."""

    offset: int
    size: int
    content_size: int
    kind: FrameKind
    magic: int
    table: SeekTable | None
    """The seek table in it, whether it agrees with its frames or not."""


class AuditedFrames(NamedTuple):
    """What tables list, of the frames of a file from some place on."""

    offsets: array[int]
    stored: array[int]
    contents: array[int]
    checksums: array[int]

    @classmethod
    def none(cls) -> Self:
        """Return no frames."""
        return cls(array("Q"), array("Q"), array("Q"), array("I"))

    def extend(self, others: AuditedFrames) -> None:
        """Add the frames after these."""
        for column, more in zip(self, others, strict=True):
            column.extend(more)

    def cut(self, count: int) -> None:
        """Leave no more than the first frames."""
        for column in self:
            del column[count:]

    def difference(self, table: SeekTable, anchor: int, offset: int) -> tuple[str, str] | None:
        """Tell in what a table differs from the frames before its offset, and what requirement it breaks."""
        if not len(table):
            return "it lists nothing", "W17"
        first = bisect_left(self.offsets, anchor)
        if first == len(self.offsets) or self.offsets[first] != anchor:
            return f"they begin at {anchor}, where no intact frame does", "W18"
        count = bisect_left(self.offsets, offset) - first
        if count != len(table):
            return f"it lists {counted(len(table), 'frame')}, and there are {count}", "W18"
        for number in range(count):
            entry = table[number]
            found = (self.stored[first + number], self.contents[first + number])
            listed = (entry.stored_size, entry.content_size)
            if found != listed:
                text = f"frame {number} is listed with (stored, content) sizes {listed}, and has {found}"
                return text, "W18"
            checksum = self.checksums[first + number]
            if entry.checksum not in (None, checksum):
                text = f"frame {number} is listed with checksum {entry.checksum:08x}, and has {checksum:08x}"
                return text, "W19"
        return None


class FrameAudit:
    """Watches frames go by, in order, and reports what is wrong with them.

    Takes about 30 bytes of memory a frame, to compare tables with. `tables` has the offset and content size
    of each seek table that agrees with its frames, by its anchor.
    """

    def __init__(
        self,
        window: Window,
        dictionary_id: int,
        report: Report,
        on_frame: Callable[[AuditedFrame], object] | None = None,
        *,
        before: AuditedFrames | None = None,
    ) -> None:
        self._window = window
        self._dictionary_id = dictionary_id
        self._report = report
        self._on_frame = on_frame
        self.frames = before if before is not None else AuditedFrames.none()
        """What was read; begins with what others have read of the file before."""
        self._offsets, self._stored, self._contents, self._checksums = self.frames
        self._hash = xxhash.xxh64()
        self._content = 0
        self._offset = -1
        self._magic = 0
        self._kind = FrameKind.CONTENT
        self._table: SeekTable | None = None
        self.tables: dict[int, list[tuple[int, int]]] = {}
        self.unknown: list[tuple[int, int, SeekTable]] = []
        """Offset, anchor and value of each table that lists frames before the first that was read."""
        self.last_table: tuple[int, int] | None = None
        """Anchor and end of the table that the file ends with, if it does."""

    def observe(self, offset: int, magic: int, header: FrameHeader | None) -> None:
        """Look at the header of a frame that begins at `offset`."""
        self._offset = offset
        self._hash.reset()
        self._content = 0
        self.last_table = None
        self._magic = magic
        self._table = None
        if header is None:
            self._kind = FrameKind.EXTENSION
            self._look_at_skippable(offset, magic)
            return
        self._kind = FrameKind.CONTENT
        if header.content_size is None:
            self._report("frame-size", offset, "the frame does not state Frame_Content_Size", "W7")
        if not header.has_checksum:
            self._report("frame-checksum", offset, "the frame has no Content_Checksum", "W8")
        if header.dictionary_id != self._dictionary_id:
            named, there = header.dictionary_id or "none", self._dictionary_id or "none"
            text = f"Dictionary_ID of the frame: {named}; of the file's dictionary: {there}"
            self._report("frame-dictionary", offset, text, "W9")
        if header.window_size > GUARANTEED_WINDOW:
            text = f"the frame needs a window of {header.window_size} bytes; decoders need not support that"
            self._report("frame-window", offset, text, "W10")

    def watch(self, pieces: Iterator[Piece | EmptyFrame]) -> Iterator[Piece | EmptyFrame]:
        """Pass pieces on, taking note of what each frame holds."""
        for piece in pieces:
            if isinstance(piece, EmptyFrame):
                self._note(piece.end)
            else:
                self._hash.update(piece.data)
                self._content += len(piece.data)
                if piece.end is not None:
                    self._note(piece.end)
            yield piece

    def _note(self, end: int) -> None:
        if self._magic != SEEK_TABLE_MAGIC and self._window.take(end - 4, 4) == FOOTER_MAGIC_BYTES:
            self._look_for_hidden(end)
        if self._kind is FrameKind.CONTENT and not self._content:
            self._kind = FrameKind.EMPTY
        self._offsets.append(self._offset)
        self._stored.append(end - self._offset)
        self._contents.append(self._content)
        self._checksums.append(self._hash.intdigest() & 0xFFFF_FFFF)
        if self._on_frame is not None:
            size = end - self._offset
            self._on_frame(
                AuditedFrame(self._offset, size, self._content, self._kind, self._magic, self._table)
            )

    def _look_for_hidden(self, end: int) -> None:
        """Report what a reader that comes from the end of a frame would take for a seek table.

        It asks the bytes before that place only, by the same two functions, and cannot know that they
        are part of a frame: padding, or a block that is not compressed.
        """
        begin = max(end - FOOTER_SIZE, 0)
        size = table_frame_size(self._window.take(begin, end - begin), bytes_before=end)
        if size is None or size > max(MAX_TABLE_SIZE, built_table_size(len(self._offsets) + 1)):
            return
        try:
            table = SeekTable.parse(self._window.take(end - size, size))
        except FormatError:
            return
        text = (
            f"its last {size} bytes look like a seek table of {counted(len(table), 'frame')}, but are not one"
        )
        self._report("table-place", self._offset, text, "")

    def _look_at_skippable(self, offset: int, magic: int) -> None:
        if offset == 0 and magic != DICTIONARY_FRAME_MAGIC:
            self._report("first-frame", 0, "the file begins with an extension frame", "W15")
        if magic == DICTIONARY_FRAME_MAGIC:
            self._kind = FrameKind.DICTIONARY
            if offset:
                text = "a dictionary frame is not at the beginning of the file"
                self._report("dictionary-place", offset, text, "W29")
            else:
                self._look_at_dictionary()
        if magic == SEEK_TABLE_MAGIC:
            self._look_at_table(offset)

    def _look_at_table(self, offset: int) -> None:
        size = SKIPPABLE_HEADER_SIZE + parse_skippable_header(self._window.take(offset, 8))[1]
        requirement = "W17"
        try:
            most = max(MAX_TABLE_SIZE, built_table_size(len(self._offsets)))
            if size > min(max_table_size_at(offset), most):
                raise FormatError("it lists more frames than there can be before it")
            table = SeekTable.parse(self._window.take(offset, size))
            requirement = "W18"
            anchor = table.anchor(offset)
        except FormatError as error:
            if isinstance(error, TruncatedError):
                requirement = ""  # Nothing is known of it.
            elif not ends_like_table(self._window.take(offset + size - FOOTER_SIZE, FOOTER_SIZE), size):
                text = "the skippable frame has the magic number of seek tables, and is something else"
                self._report("table-other", offset, text, "")
                return
            self._kind = FrameKind.BROKEN_TABLE
            self._report("table-form", offset, f"the seek table is not usable: {error.message}", requirement)
            return
        self._table = table
        self._kind = FrameKind.BROKEN_TABLE
        self.last_table = (anchor, offset + size)
        if self._offsets and 0 < self._offsets[0] > anchor:
            # It lists frames before damage too, which were not counted.
            self.unknown.append((offset, anchor, table))
            return
        problem = self.frames.difference(table, anchor, offset)
        if problem is None:
            self._kind = FrameKind.TABLE
            self.tables.setdefault(anchor, []).append((offset, table.content_size))
        else:
            text, requirement = problem
            self._report(
                "table-frames", offset, f"the seek table does not fit its frames: {text}", requirement
            )

    def _look_at_dictionary(self) -> None:
        head = self._window.take(SKIPPABLE_HEADER_SIZE, MAX_FRAME_HEADER_SIZE)
        if not head.startswith(FRAME_MAGIC_BYTES):
            return  # It is not compressed.
        header = parse_frame_header(head)
        if header.content_size is None:
            text = "the compressed dictionary does not state Frame_Content_Size"
            self._report("frame-size", 0, text, "W30")
        if not header.has_checksum:
            self._report("frame-checksum", 0, "the compressed dictionary has no Content_Checksum", "W30")
