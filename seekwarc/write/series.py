"""The files that a writer makes: one, or one after another where none may grow beyond a size.

Nothing is left half done: every step that takes more than one line first notes what it is about, and whatever
stopped it, the next call to the series brings it to an end (`_finish_interrupted`). Three things can be
interrupted: a new file that nobody has noted yet, the segments of a record, of which there are all or none,
and the step from a full file to the next.

Source: WARC 1.1, clause 7 and annex C.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

from seekwarc.errors import SeekWarcError
from seekwarc.write.assembly import OWN_TABLE, stored_bound
from seekwarc.write.file_head import FileHead
from seekwarc.write.numbering import SeriesNames
from seekwarc.write.record_file import FileMaker, RecordFile
from seekwarc.write.spool import SegmentLimits
from seekwarc.write.written import Written

__all__ = ["MARGIN", "FileSeries"]

MARGIN: Final = 96
"""By how much two file heads, or two record headers, may differ: IDs, dates and digests in them."""


class FileSeries:
    """The files of a writer. The last of them takes the records.

    Without a size, it is one file of any length, and nothing is written that the caller did not ask for.
    With one, each file begins with a warcinfo record.

    Args:
        first: The first file, new or continued.
        head: The warcinfo record that each file begins with, until `write_warcinfo` is given another.
        maker: Makes the files after it.
        names: Their names.
        max_size: Bytes that a file may have; None for one file only.
        together: Give files their names when the last one is whole, and not as each is.
    """

    def __init__(
        self,
        first: RecordFile,
        head: FileHead,
        maker: FileMaker,
        *,
        names: SeriesNames | None = None,
        max_size: int | None = None,
        together: bool = False,
    ) -> None:
        self.max_size = max_size
        self._files = [first]
        """The file that records go into, and those that will follow it."""
        self._head = head
        self._maker = maker
        self._names = names
        self._together = together
        self._sealed: list[RecordFile] = []
        """Whole files that have not got their names."""
        self._segmenting: bool | None = None
        """While segments are written: whether the current file has the first of them."""

    @property
    def current(self) -> RecordFile:
        """The file that records go into."""
        return self._files[0]

    # From one file to the next.

    def _add_file(self, head: FileHead) -> Written:
        """Make the file that will follow the others, and begin it with a warcinfo record."""
        if self._names is None:
            raise SeekWarcError("a file without a name of its own has no next one", source=self.current.name)
        name = self._names.take()
        try:
            self._files.append(self._maker.make(name))
        except BaseException:
            self._names.put_back(name)
            raise
        self._maker.settle()
        try:
            return head.write(self._files[-1])
        except BaseException:
            self._abort_last()
            raise

    def _abort_last(self) -> None:
        file = self._files[-1]
        file.abort()
        if self._names is not None:
            self._names.put_back(file.name)
        self._files.pop()

    def _finish_interrupted(self) -> None:
        """Bring to an end what was interrupted: a new file, a record in segments, a change of files."""
        self._maker.abort_pending(self._files)
        if self._segmenting is not None:
            while len(self._files) > 1:
                self._abort_last()
            if self._segmenting and not self.current.assembly.is_bare:
                self.current.assembly.rollback_segment()
            self._segmenting = None
        self._leave_full()

    def _leave_full(self) -> None:
        """Finish all files but the last, which becomes the current one."""
        while len(self._files) > 1:
            if not self._together:
                self.current.finish()
            elif self.current not in self._sealed:
                self.current.seal()
                self._sealed.append(self.current)
            del self._files[0]

    # Records.

    def begin(self) -> None:
        """Write what must be at the beginning of a series, if nothing has been written."""
        self._finish_interrupted()
        if self.max_size is not None and self.current.assembly.records == 0:
            self._head.write(self.current)

    def room_for(self, stored_size: int) -> RecordFile:
        """Return the file for a record of at most `stored_size` bytes: the current one or a new one."""
        self._finish_interrupted()
        if not self._has_room(stored_size):
            self._add_file(self._head)
            self._leave_full()
        return self.current

    def _has_room(self, stored_size: int) -> bool:
        assembly = self.current.assembly
        if self.max_size is None or assembly.is_bare:
            return True
        if assembly.most_size + stored_size > self.max_size:
            # Only once everything is compressed is the size known exactly.
            assembly.flush()
        return assembly.most_size + stored_size <= self.max_size

    def write_warcinfo(self, head: FileHead) -> Written:
        """Write a warcinfo record. Each following file begins with the same.

        Raises:
            RuleError: The standard does not allow such a record.
            ValueError: A field that cannot stand in a header.
        """
        self._finish_interrupted()
        if self._has_room(head.bound(self.current)):
            written = head.write(self.current)
        else:
            written = self._add_file(head)
        self._head = head.for_next()
        self._leave_full()
        return written

    def limits(self, first_heads: int, following_heads: int, frame_size: int) -> SegmentLimits | None:
        """Return what the segments of a record may take; None where files have any size.

        Args:
            first_heads: Compressed size of what comes before the first segment's part of the block.
            following_heads: The same of the other segments.
            frame_size: Content of a frame.

        Raises:
            ValueError: A file has no room for a single frame.
        """
        if self.max_size is None:
            return None
        beginning = self._maker.dictionary_size + self._head.size(self.current)
        room = self.max_size - beginning - OWN_TABLE - MARGIN
        limits = SegmentLimits(room - first_heads, room - following_heads)
        missing = 2 * stored_bound(frame_size) - min(limits)
        if missing > 0:
            raise ValueError(
                f"max_file_size is {self.max_size}: for this record it must be {missing} bytes more"
            )
        return limits

    def write_segments(self, count: int, write: Callable[[RecordFile, int], Written]) -> Written:
        """Write each segment of a block into a file of its own; if one fails, keep none of them.

        Only a warcinfo record comes before the first, as clause 7 asks.

        Args:
            count: How many segments there are.
            write: Writes a segment, given its number from 0, into a file.

        Returns:
            The first of them.
        """
        self._finish_interrupted()
        self.current.assembly.flush()
        written = []
        try:
            self._segmenting = reused = self.current.assembly.is_bare
            for number in range(count):
                if number or not reused:
                    self._add_file(self._head)
                written.append(write(self._files[-1], number))
            self._segmenting = None
        except BaseException:
            with contextlib.suppress(SeekWarcError, OSError):
                self._finish_interrupted()
            raise
        self._leave_full()
        return written[0]

    # The end.

    def finish(self) -> None:
        """End all files and give them their names.

        Raises:
            FormatError: There is no record in them.
            TargetError: One cannot be written.
        """
        self._finish_interrupted()
        if self._together:
            self._name_all()
        else:
            self.current.finish()
        if self._names is not None:
            self._names.remove_rest()

    def _name_all(self) -> None:
        self.current.seal()
        named: list[RecordFile] = []
        try:
            for file in [*self._sealed, self.current]:
                # Noted first: a signal may come between any two lines.
                named.append(file)
                file.finish()
        except BaseException:
            for file in named:
                file.abort_committed()
            raise

    def keep(self) -> str:
        """Finish all files with the records that are whole; return what was kept."""
        with contextlib.suppress(SeekWarcError, OSError):
            self._finish_interrupted()
        kept = []
        for number, file in enumerate(list(self._files)):
            if number and file.assembly.is_bare:
                file.abort()
            else:
                kept.append(file.keep())
        nothing = "no further record was whole" if self._names else "no record was whole, so no file was made"
        return "; ".join(filter(None, kept)) or f"{self.current.name}: {nothing}"

    def abort(self) -> None:
        """Leave nothing of the files that have not got their names."""
        self._maker.abort_pending(self._files)
        for file in [*reversed(self._files), *self._sealed]:
            file.abort()
