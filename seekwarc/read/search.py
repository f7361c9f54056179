"""Finding where records begin after damage.

Goal: lose nothing that is whole, and never bring back a record of an archive inside an archive as one of this
file, as far as anything in the file distinguishes the two.

Plan: a record is known by its header. Candidates come from the length of the damaged record, from stepping
from frame to frame, from the tables at the end of the file, and at last from every byte; the nearest wins
that a header can be read at. A table is used only if it lists the frames that are there, apart from damaged
ones.

Worst case: damages and lookalikes by the thousand, each of which could lead a search to the end of the file.
What a search found is kept, and frames and table entries that are followed are counted against a budget that
a sound file of that size would not use up; beyond it only the bytes are searched, once. A server may claim
any size, and send nonsense for ever: where each read takes its time, a search ends after `MAX_AFAR` bytes,
and as many may be read once of the frames of each table, before it is used.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Final

from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError
from seekwarc.format.warc import RecordHeader
from seekwarc.frames.pieces import Compression, Piece, pieces_from
from seekwarc.frames.scan import Frame, Window, frame_at, frames_from
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.body import record_size
from seekwarc.read.file_tables import FileTable
from seekwarc.read.later import LaterRecords
from seekwarc.storage.source import RangeSource

__all__ = ["RecordSearch"]

SEARCH_STEP: Final = 1 << 20
MAX_HEADER: Final = 64 << 10
MAX_AFAR: Final = 256 << 20
"""Bytes that one search may read where each read takes its time."""
MAX_PIECES: Final = 64
"""A header that is longer, or in more frames, is not looked for: each place like one would cost as much."""
MAX_LURES: Final = 16
"""Places before one blank line at which a header may begin that are looked at."""
MIN_HINTS: Final = 10_000
BYTES_PER_HINT: Final = 64
"""Frames and table entries are followed while there are no more of them than a file of that size may have."""

_BEGINNINGS: Final = {"zst": re.compile(rb"\x28\xb5\x2f\xfd"), "gz": re.compile(rb"\x1f\x8b\x08")}


class _GivenUpError(LimitError):
    """A search has read as much as it may."""


class _Bounded(RangeSource):
    """A source of which no more than `MAX_AFAR` bytes are read."""

    def __init__(self, source: RangeSource) -> None:
        self.name, self.size, self.policy = source.name, source.size, source.policy
        self._source = source
        self._left = MAX_AFAR

    @override
    def read(self, start: int, stop: int) -> bytes:
        self._left -= stop - start
        if self._left < 0:
            raise _GivenUpError(
                f"no record was found in {MAX_AFAR >> 20} MiB read after damage, and what follows is "
                "not searched; download it, and read it here",
                source=self.name,
            )
        return self._source.read(start, stop)


class RecordSearch:
    """Looks for records in one file, damaged or not. The file's size must be known.

    Args:
        file: The file.
        compression: Its compression.
    """

    def __init__(self, file: ArchiveFile, compression: Compression) -> None:
        self._file = file
        self._source: RangeSource = file.source
        self._compression: Compression = compression
        self._later = LaterRecords(file) if compression == "none" else None
        self._size = file.source.size or 0
        self._hints = MIN_HINTS + self._size // BYTES_PER_HINT
        self._bare: set[int] = set()
        """Where no record begins, of the places that were followed first."""
        self._believed: dict[int, bool] = {}
        """Of tables, by the offset of their first frame."""
        self._reached = 0
        """Where the bytes begin that the last search has not read."""
        self._searched = range(0)
        """From each of these places on, the first record begins where they end."""

    def header_at(self, offset: int, window: Window | None = None) -> RecordHeader | None:
        """Return the header of the record that begins at `offset`, None if none does."""
        file = self._file
        pieces = pieces_from(window or Window(self._source), offset, self._compression, file.decoder)
        content, grammar = b"", file.grammar
        try:
            for piece in islice(pieces, MAX_PIECES):
                if not isinstance(piece, Piece):
                    break
                content += piece.data
                begin = grammar.blank_size(content)
                end = grammar.header_end(content, begin)
                if end >= 0:
                    return grammar.parse(content[begin:end])
                if len(content) > MAX_HEADER or not grammar.may_begin(content[begin:]):
                    break
        except _GivenUpError:
            raise
        except FormatError:
            pass
        return None

    def first_between(
        self, start: int, stop: int, fits: Callable[[RecordHeader], bool] | None = None
    ) -> int | None:
        """Return where in [start, stop) a record whose header fits seems to begin; None if none does.

        Only the bytes from there on are read: it may be inside a record, as that of an archive in an archive.
        """
        for offset in self._lookalikes(start, stop):
            header = self.header_at(offset) if offset < stop else None
            if header is not None and (fits is None or fits(header)):
                return offset
        return None

    def next_after(
        self, begin: int, damage: int | None, *, header: RecordHeader | None = None, between: bool = False
    ) -> int:
        """Return the offset at which the next record begins that can be read; the file's size without one.

        The record at `begin` is damaged, in the frame at `damage` if that is known; `between` says that the
        damage is not inside a record, so that records may have been passed unseen.

        Raises:
            LimitError: Very much of a remote file was read; the error has the offset that was reached.
        """
        self._reached = begin + 1
        try:
            with self._bounded():
                return self._next_after(begin, damage, header, between=between)
        except _GivenUpError as error:
            raise error.located(self._file.name, self._reached) from None

    @contextlib.contextmanager
    def _bounded(self) -> Iterator[None]:
        before = self._source
        if before.policy.is_far:
            self._source = _Bounded(self._file.source)
        try:
            yield
        finally:
            self._source = before

    def _next_after(
        self, begin: int, damage: int | None, header: RecordHeader | None, *, between: bool
    ) -> int:
        if self._compression != "zst":
            is_cut = header is not None and self._is_cut(begin, header)
            return self._size if is_cut else self._by_bytes(begin + 1)
        position = begin if between or damage is None else max(damage, begin)
        if header is not None:
            end = self._end_of(begin, record_size(header))
            if end is not None:
                # Anything before it that looks like a record is part of its block: an archived WARC file.
                return end if self._begins(end) else self._from(end, between=between)
            # Its length may be a lie, and the damage that of another record after it.
            whole = self._whole_record(begin, position)
            if whole is not None:
                return whole
        return self._from(position, between=between)

    def _is_cut(self, begin: int, header: RecordHeader) -> bool:
        """Tell whether the file ends in the block of a record, and what it holds of that is an archive."""
        block = begin + len(header.raw)
        later = self._later
        if later is None or block + header.content_length <= self._size:
            return False
        return later.first_after(block) is None and later.is_certain

    def _from(self, position: int, *, between: bool) -> int:
        # A frame whose size is damaged leads past records, and a table may be wrong: the first found wins.
        hints = self._file.tables.frame_offsets(position) if self._is_believed(position) else iter(())
        listed = self._first(hints)
        found = min(listed, self._first(frame.offset for frame in self._steps(position)))
        return found if found < self._size and not between else min(found, self._by_bytes(position + 1))

    def _begins(self, offset: int) -> bool:
        if offset >= self._size or offset in self._bare:
            return False
        begins = self.header_at(offset) is not None
        if not begins and len(self._bare) < MIN_HINTS:
            self._bare.add(offset)
        return begins

    def _first(self, hints: Iterator[int]) -> int:
        for offset in hints:
            if self._hints <= 0:
                break
            self._hints -= 1
            if self._begins(offset):
                return offset
        return self._size

    def _steps(self, offset: int, *, after: bool = True) -> Iterator[Frame]:
        """Yield the frames after the one at `offset`, or from it on, as far as one can be stepped over."""
        with contextlib.suppress(FormatError):
            for frame in frames_from(Window(self._source), offset):
                if self._hints <= 0:
                    break
                self._hints -= 1
                if not after or frame.offset != offset:
                    yield frame

    def _end_of(self, begin: int, size: int) -> int | None:
        content = 0
        for frame in self._steps(begin, after=False):
            if frame.content_size is None:
                break
            content += frame.content_size
            if content >= size:
                if content == size:
                    return frame.end
                break
        listed = self._file.tables.find(begin, size) if self._is_believed(begin) else None
        return listed.claimed_end if listed is not None else None

    def _is_believed(self, offset: int) -> bool:
        """Tell whether the table over `offset` lists the frames that are there, apart from damaged ones."""
        table = self._file.tables.over(offset)
        if table is None:
            return False
        if table.start not in self._believed:
            self._believed[table.start], reached = False, self._reached
            with self._bounded(), contextlib.suppress(_GivenUpError):
                self._believed[table.start] = self._agrees(table)
            self._reached = reached
        return self._believed[table.start]

    def _agrees(self, listed: FileTable) -> bool:
        window = Window(self._source)
        position = listed.start
        damage: int | None = None
        for entry in zip(listed.table.stored_sizes, listed.table.content_sizes, strict=True):
            try:
                frame = frame_at(window, position)
            except _GivenUpError:
                raise
            except FormatError:
                frame = None
            if frame is None or (frame.size, frame.content_size) != entry:
                damage = position if damage is None else damage
            elif damage is not None:
                if self._holds_frames(damage, position):
                    return False
                damage = None
            position += entry[0]
        return damage is None or not self._holds_frames(damage, position)

    def _holds_frames(self, begin: int, end: int) -> bool:
        """Tell whether what should be damaged frames ends in whole ones: then the table hides these."""
        window = Window(self._source)
        seen: set[int] = set()
        for offset in chain((begin,), self._lookalikes(begin + 1)):
            position = offset
            while position < end and position not in seen:
                seen.add(position)
                self._hints -= 1
                if self._hints <= 0:
                    return True
                try:
                    frame = frame_at(window, position)
                except FormatError:
                    break
                position = frame.end if frame is not None else end + 1
            if position >= end:
                if position == end and offset < end:
                    return True
                if offset >= end:
                    break
        return False

    def _whole_record(self, begin: int, end: int) -> int | None:
        for frame in self._steps(begin):
            if frame.offset >= end:
                break
            header = self.header_at(frame.offset) if frame.content_size else None
            if header is not None and record_size(header) == frame.content_size:
                return frame.offset
        return None

    def _by_bytes(self, position: int) -> int:
        if position not in self._searched:
            self._reached = position
            found = next((it for it in self._lookalikes(position) if self._begins(it)), self._size)
            self._searched = range(position, found + 1)
        return self._searched.stop - 1

    def _lookalikes(self, offset: int, end: int | None = None) -> Iterator[int]:
        window = Window(self._source)
        plain, grammar = self._compression == "none", self._file.grammar
        beginning = _BEGINNINGS.get(self._compression, grammar.beginning)
        # A header that begins in a step lies within one step and a header.
        # The byte before shows whether a line begins there.
        before = min(offset, 1)
        while end is None or offset < end:
            step = SEARCH_STEP if end is None else min(SEARCH_STEP, end - offset)
            data = window.take(offset - before, before + step + MAX_HEADER)
            if len(data) <= before:
                break
            blank, lures = -1, 0
            for match in beginning.finditer(data, before):
                start = match.start()
                if start >= before + step:
                    break
                if plain:
                    if start >= blank:
                        blank, lures = grammar.header_end(data, start), 0
                        if blank < 0:
                            break
                    lures += 1
                    if lures > MAX_LURES or blank - start > MAX_HEADER:
                        continue
                start += offset - before
                self._reached = max(self._reached, start)
                yield start
            offset += step
            self._reached = max(self._reached, offset)
