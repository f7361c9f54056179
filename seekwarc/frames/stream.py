"""The content of a file as one forward stream.

Goal: read whatever cannot be reached by range (.warc.gz, pipes, frames that do not state their size, several
records in one frame) in bounded memory, and still know of each record at which stored byte it begins and
ends.

Plan: pieces of content are appended to a buffer, of which the front is dropped as it is read. For each frame
(a gzip member counts as one here) the position of its first byte is kept until that was passed, so that
`mark` can tell which frame the next byte is in. Frames without content between two others are kept too: a
record's own seek table belongs to the record, but a table that lists other records as well does not.

Worst case: frames of one byte, and millions of empty ones. Neither makes a copy of the buffer for each, and
only those empty frames that can end a record are kept.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from seekwarc.errors import FormatError
from seekwarc.format.warc import (
    LEADS,
    MAX_BLANK_BYTES,
    MAX_HEADER_SIZE,
    MAX_LEAD,
    RECORD_END,
    RECORD_MAGIC,
    WARC,
    Grammar,
)
from seekwarc.frames.pieces import EmptyFrame, Piece
from seekwarc.stopping import checkpoint

__all__ = ["ContentStream", "FrameRest", "Head", "Mark"]

BLANK_STEP: Final = 64
"""How many bytes are looked at for more line breaks at a time."""
LINE_BREAKS: Final = b"\r\n"
NO_RECORD: Final = LEADS | {b"", b"\r", b"\n"}
"""What content does not begin with if a record does."""
MAX_HEADS: Final = 1024
"""Frames that begin as records do and are remembered; in a sound file there is one at a time."""


class Mark(NamedTuple):
    """Where in the stored file a content byte comes from."""

    position: int
    """Content bytes before it since the stream began."""
    offset: int
    """Offset of the frame that holds it."""
    skip: int
    """Content bytes of that frame before it: 0 where the frame begins with it."""


class Head(NamedTuple):
    """A frame that begins as a record does, wherever that is."""

    position: int
    offset: int
    before: bytes
    """The last bytes of content before it, as far as they are four."""


class FrameRest(NamedTuple):
    """What follows a place in its frame."""

    data: bytes
    is_whole: bool
    """Whether the frame ends: then its checksum was compared."""
    error: FormatError | None
    """Why it does not, if that is known."""
    offset: int
    """Where the frame begins, if it does not end in the data."""


class ContentStream:
    """Content read forward, with note kept of where in the stored file it comes from."""

    def __init__(
        self,
        pieces: Iterator[Piece | EmptyFrame],
        *,
        plain: bool,
        tap: Callable[[bytes], object] | None = None,
        grammar: Grammar = WARC,
    ) -> None:
        self._pieces = pieces
        self.grammar = grammar
        self._plain = plain
        self._tap = tap
        self._data: bytes | bytearray = b""
        self._index = 0
        self._begun: deque[tuple[int, int]] = deque()
        self._produced = 0
        self._lock = threading.Lock()
        self._error: FormatError | None = None
        self._last = b""
        self._heads: deque[Head] = deque()
        self.frame_end = 0
        """Offset after the last frame that was decoded to its end."""
        self._held: Piece | EmptyFrame | None = None
        """A piece that was looked at, and comes next."""
        self._empty: list[EmptyFrame] = []
        self.passed: tuple[int, tuple[EmptyFrame, ...]] = (0, ())
        """The end of the frame before the current one, and the empty frames between the two."""

    @property
    def frame_is_open(self) -> bool:
        """Whether the frame that the last content byte came from was not decoded to its end."""
        return bool(self._begun) and self.frame_end <= self._begun[-1][1]

    @property
    def position(self) -> int:
        """Content bytes delivered so far."""
        return self._produced - len(self._data) + self._index

    def _pull(self) -> bool:
        """Add the next piece to the buffer; False at the end of the file."""
        checkpoint()
        if self._error is not None:
            raise self._error
        try:
            return self._pull_piece()
        except FormatError as error:
            # The record and the iteration read the same stream: both are to know why it ends.
            self._error = error
            raise

    def _pull_piece(self) -> bool:
        while (piece := self._held or next(self._pieces, None)) is not None:
            self._held = None
            if isinstance(piece, EmptyFrame):
                self._note_empty(piece)
                continue
            if piece.first:
                self._pass_frame()
                self._begin_frame(piece.offset)
                if self._begins(piece.data) and len(self._heads) < MAX_HEADS:
                    self._heads.append(Head(self._produced, piece.offset, self._last))
            if piece.end is not None:
                self.frame_end = piece.end
            if piece.data:
                if self._tap is not None:
                    self._tap(piece.data)
                self._add(piece.data)
                return True
        if self._empty or self.frame_end > self.passed[0]:
            self._pass_frame()
        return False

    def _begins(self, data: bytes) -> bool:
        return self.grammar.begins(data[self.grammar.blank_size(data) :] if data[:1] in LEADS else data)

    def _add(self, data: bytes) -> None:
        if self._index == len(self._data):
            self._data = data
        else:
            # Frames may be as small as a byte: the buffer must not be copied once for each.
            if not isinstance(self._data, bytearray):
                self._data = bytearray(self._data)
            del self._data[: self._index]
            self._data += data
        self._index = 0
        self._produced += len(data)
        self._last = data[-4:] if len(data) >= 4 else (self._last + data)[-4:]

    def _note_empty(self, empty: EmptyFrame) -> None:
        """Keep what is needed to tell where the empty frames after a record end, whichever record that is."""
        seen = self._empty
        anchor = empty.anchor
        lowest = seen[-1].anchor if seen else None
        # A record's empty frames end at the first seek table whose anchor lies before the record, so only
        # tables that lower the minimum anchor are kept.
        if seen and (anchor is None or (lowest is not None and anchor >= lowest)):
            seen[-1] = EmptyFrame(empty.end, lowest)
        else:
            seen.append(empty)

    def _pass_frame(self) -> None:
        self.passed = (self.frame_end, tuple(self._empty))
        self._empty.clear()

    def _begin_frame(self, offset: int) -> None:
        if self._begun and self._begun[-1][0] == self._produced:
            # There was nothing in the last one.
            self._begun.pop()
        self._forget_frames()
        self._begun.append((self._produced, offset))

    def _forget_frames(self) -> None:
        position = self.position
        while len(self._begun) > 1 and self._begun[1][0] <= position:
            self._begun.popleft()

    def _at_hand(self) -> int:
        return len(self._data) - self._index

    def mark(self) -> Mark | None:
        """Tell where the next content byte comes from; None at the end of the file."""
        with self._lock:
            while not self._at_hand():
                if not self._pull():
                    return None
            self._forget_frames()
            position = self.position
            begin, offset = self._begun[0]
            skip = position - begin
            return Mark(position, offset + skip, 0) if self._plain else Mark(position, offset, skip)

    def read_header(self) -> bytes:
        """Read a record header, blank line included, or what there is of it if the file ends inside it."""
        with self._lock:
            searched = self._index
            while (end := self.grammar.header_end(self._data, searched)) < 0:
                head = bytes(self._data[self._index : self._index + 5])
                if not self.grammar.may_begin(head) or self._at_hand() > MAX_HEADER_SIZE:
                    raise FormatError(f"no complete record header starts here: found {head!r}")
                searched = max(self._at_hand() - 3, 0)
                if not self._pull():
                    end = len(self._data)
                    break
            header = bytes(self._data[self._index : end])
            self._index = end
            return header

    def begins_record(self) -> bool:
        """Return whether a record begins at the next byte."""
        return self.grammar.begins_at(self._next_bytes)

    def _next_bytes(self, size: int) -> bytes:
        is_magic = size <= len(RECORD_MAGIC)
        with self._lock:
            try:
                # A longer line ends with its frame: beyond it, `passed` would be that of another record.
                while self._at_hand() < size and (is_magic or self.frame_is_open) and self._pull():
                    pass
            except FormatError:
                if is_magic:
                    raise
            return bytes(self._data[self._index : self._index + size])

    def read_blank_lines(self) -> bytes:
        """Read the CR and LF bytes between two records, `MAX_BLANK_BYTES` at most, and other blanks."""
        with self._lock:
            found = b""
            if self._data[self._index : self._index + len(RECORD_END)] == RECORD_END:
                # As nearly always.
                found = RECORD_END
                self._index += len(found)
            while len(found) < MAX_BLANK_BYTES and (self._at_hand() or self._pull()):
                if self._data[self._index] not in LINE_BREAKS:
                    break
                wanted = min(BLANK_STEP, MAX_BLANK_BYTES - len(found))
                piece = bytes(self._data[self._index : self._index + wanted])
                blank = piece[: len(piece) - len(piece.lstrip(LINE_BREAKS))]
                found += blank
                self._index += len(blank)
            return found + self._read_lead()

    def _read_lead(self) -> bytes:
        if bytes(self._data[self._index : self._index + 1]) not in LEADS:
            return b""
        while (end := self.grammar.blank_size(self._data, self._index)) == self._index:
            try:
                if self._at_hand() >= MAX_LEAD + len(RECORD_MAGIC) or not self._pull():
                    return b""
            except FormatError:
                return b""  # It is raised again when what is damaged is read.
        found, self._index = bytes(self._data[self._index : end]), end
        return found

    def read_at(self, position: int, out: memoryview) -> int | None:
        """Fill `out` from `position` on, less only before damage or the end; None if that was passed."""
        with self._lock:
            if not self._skip_to(position):
                return None
            filled = 0
            while filled < len(out):
                count = min(self._at_hand(), len(out) - filled)
                chunk = memoryview(self._data)[self._index : self._index + count]
                out[filled : filled + count] = chunk
                self._index += count
                filled += count
                try:
                    if filled < len(out) and not self._pull():
                        break
                except FormatError:
                    if not filled:
                        raise
                    break
            return filled

    def peek_at(self, position: int, size: int, least: int = 1) -> bytes | None:
        """Return `size` bytes from `position` on, not passing them; fewer at damage or the file's end.

        None if `position` was passed. Damage before `least` bytes is raised.
        """
        with self._lock:
            if not self._skip_to(position):
                return None
            try:
                while self._at_hand() < size and self._pull():
                    pass
            except FormatError:
                if self._at_hand() < least:
                    raise
            return bytes(self._data[self._index : self._index + size])

    def look(self, position: int, size: int) -> bytes:
        """Return what `peek_at` does, without passing what lies before: all of it stays in memory."""
        with self._lock:
            while self._produced < position + size and self._pull():
                pass
            begin = position - (self._produced - len(self._data))
            return bytes(self._data[begin : begin + size])

    def rest_of_frame(self, position: int, size: int) -> FrameRest:
        """Return what follows `position` in the frame of the byte before it: `size` bytes, or to its end.

        Nothing is passed: what lies before stays in memory. Damage after the frame does not concern it.

        Raises:
            FormatError: There is damage before `position`.
        """
        with self._lock:
            error = None
            while (stop := self._stop_before(position)) is None and self._produced < position + size:
                try:
                    if not self._pull():
                        break
                except FormatError as damage:
                    if self._produced < position:
                        raise
                    stop = self._stop_before(position)
                    error = damage if stop is None else None
                    break
            first = self._produced - len(self._data)
            end = position + size if stop is None else min(stop, position + size)
            data = bytes(self._data[position - first : end - first]) if position >= first else b""
            return FrameRest(data, stop is not None, error, self._begun[-1][1] if self._begun else 0)

    def end_frame(self, position: int) -> None:
        """Decode the frame of the byte before `position` to its end, where its checksum is compared.

        Of the content only what is in memory is kept: the stream ends with it.

        Raises:
            FormatError: The frame is damaged, or cut off.
        """
        with self._lock:
            kept = bytes(self._data[self._index :]), 0, self._produced
            try:
                while self._stop_before(position) is None:
                    self._index = len(self._data)
                    if not self._pull():
                        break
            finally:
                self._data, self._index, self._produced = kept
                self._pieces = iter(())

    def has_record_to(self, position: int) -> bool:
        """Tell whether a record whose block ends at `position` is in memory, alone in its frame and sound."""
        return (
            self._produced == position + len(RECORD_END)
            and self._last == RECORD_END
            and len(self._begun) == 1
            and self.frame_end > self._begun[0][1]
        )

    def _stop_before(self, position: int) -> int | None:
        """Return where the frame of the byte before `position` ends; None if that is not known yet."""
        if self._produced < position:
            return None
        stop = self._produced if not self.frame_is_open else None
        for begin, _ in reversed(self._begun):
            if begin < position:
                break
            stop = begin
        return stop

    @property
    def is_plain(self) -> bool:
        """Whether there are no frames: nothing is compressed."""
        return self._plain

    def whole_frame_stop(self) -> int | None:
        """Return the position at which the frame of the next byte ends; None if that is not known yet."""
        with self._lock:
            if len(self._begun) > 1:
                return self._begun[1][0]
            return None if not self._begun or self.frame_is_open else self._produced

    def whole_frame(self) -> bytes | None:
        """Return the content of a frame that is buffered from beginning to end, and alone; or None."""
        with self._lock:
            self._forget_frames()
            data = self._data
            if self._index or not data or not isinstance(data, bytes) or self._plain or self.frame_is_open:
                return None
            return data if len(self._begun) == 1 and self._begun[0][0] == self.position else None

    def pass_frame(self) -> int:
        """Pass the frame that `whole_frame` returned if nothing more can belong to the record in it.

        Returns the offset of the frame after it, which begins with no line breaks or blanks. Where none such
        follows, nothing is passed, and the result is -1.
        """
        with self._lock:
            if self._error is not None:
                return -1
            try:
                piece = self._held = self._held or next(self._pieces, None)
            except FormatError as error:
                self._error = error
                return -1
            if not isinstance(piece, Piece) or not piece.first or piece.data[:1] in NO_RECORD:
                return -1
            self._index = len(self._data)
            self._pull()
            return piece.offset

    def head_after(self, position: int) -> Head | None:
        """Return the first frame after `position` that begins as a record, or None; forget earlier ones."""
        with self._lock:
            while self._heads and self._heads[0].position <= position:
                self._heads.popleft()
            return self._heads[0] if self._heads else None

    def skip_to(self, position: int) -> int:
        """Skip what lies before `position`, and return the position reached."""
        with self._lock:
            self._skip_to(position)
            return self.position

    def _skip_to(self, position: int) -> bool:
        ahead = position - self.position
        while ahead > 0:
            at_hand = self._at_hand()
            if ahead <= at_hand:
                self._index += ahead
                break
            self._index += at_hand
            ahead -= at_hand
            if not self._pull():
                break
        return ahead >= 0
