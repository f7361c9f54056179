"""The files that a writer makes: one, or a series of files with a maximum size.

Ctrl-C may come between any two lines, so no operation may rely on being finished. Each one that takes several
steps first notes what it is about to do, and the next call of any method completes or undoes what it finds
(`_finish_interrupted`). What is noted is the list of files, into which a new one goes before it is made, and
whether the segments of a record are being written, which must be all there or not at all.

Source: WARC 1.1, clause 7 and annex C.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

from seekwarc.errors import SeekWarcError
from seekwarc.write.assembly import OWN_TABLE, stored_bound
from seekwarc.write.options import WriteOptions
from seekwarc.write.record_file import FileHead, FileMaker, RecordFile
from seekwarc.write.spool import SegmentLimits
from seekwarc.write.targets import SeriesNames
from seekwarc.write.written import Written

__all__ = ["MARGIN", "FileSeries"]

MARGIN: Final = 96
"""Maximum difference in the compressed size of two file heads, or of two record headers: their IDs, dates and
digests compress differently."""


class FileSeries:
    """The files of a writer. The last of them takes the records.

    Without a maximum size there is one file, and nothing is added to it. With one, each file begins with a
    warcinfo record.
    """

    def __init__(
        self,
        first: RecordFile,
        head: FileHead,
        maker: FileMaker,
        options: WriteOptions,
        names: SeriesNames | None,
    ) -> None:
        self.max_size = options.max_file_size
        self._first = first
        self._files = [first]
        """The file that records go into, and new ones that will follow it."""
        self._head = head
        self._maker = maker
        self._names = names
        self._together = options.on_error == "discard"
        self._sealed: list[RecordFile] = []
        """Finished files without their names."""
        self._segmenting: bool | None = None
        """While segments are written: whether the first one is in the current file. None otherwise."""

    @property
    def current(self) -> RecordFile:
        """The file that records go into."""
        return self._files[0]

    # From one file to the next.

    def _add_file(self, head: FileHead) -> Written:
        if self._names is None:
            raise SeekWarcError("a file object cannot be followed by another file", source=self.current.name)
        name = self._names.take()
        try:
            self._files.append(self._maker.new(name))
            self._files[-1].make()
            self._files[-1].has_own_head = True
            return head.write(self._files[-1])
        except BaseException:
            if self._files[-1].name == name:
                self._abort_last()
            self._names.put_back(name)
            raise

    def _abort_last(self) -> None:
        file = self._files[-1]
        file.abort()
        if self._names is not None:
            self._names.put_back(file.name)
        self._files.pop()

    def _finish_interrupted(self) -> None:
        """Undo or complete what was interrupted: a new file, a record in segments, a change of files."""
        while len(self._files) > 1:
            last = self._files[-1].assembly
            if self._segmenting is None and last.records and not last.is_closed:
                break
            self._abort_last()
        if self._segmenting and not self.current.assembly.is_bare:
            self.current.assembly.rollback_segment()
        self._segmenting = None
        if len(self._files) > 1:
            self._leave_full()

    def _leave_full(self) -> None:
        while len(self._files) > 1:
            if not self._together:
                self.current.finish()
            elif self.current not in self._sealed:
                self.current.seal()
                self._sealed.append(self.current)
            del self._files[0]

    # Records.

    def begin(self) -> None:
        """Write the warcinfo record of a series, if nothing has been written."""
        self._finish_interrupted()
        if self.max_size is not None and self.current.assembly.is_empty():
            self.current.has_own_head = True
            self._head.write(self.current)

    def room_for(self, stored_size: int) -> RecordFile:
        """Return the file for a record of at most `stored_size` bytes: the current one or a new one."""
        self._finish_interrupted()
        if not self._has_room(stored_size):
            self._add_file(self._head)
            self._leave_full()
        return self._files[0]

    def _has_room(self, stored_size: int) -> bool:
        if self.max_size is None or self.current.assembly.is_bare:
            return True
        assembly = self.current.assembly
        if assembly.size_bound + stored_size > self.max_size:
            # The size is exact once everything is compressed.
            assembly.flush()
        return assembly.size_bound + stored_size <= self.max_size

    def write_warcinfo(self, head: FileHead) -> Written:
        """Write a warcinfo record. Each following file begins with the same."""
        self._finish_interrupted()
        if self._has_room(head.bound(self.current)):
            written = head.write(self.current)
        else:
            written = self._add_file(head)
        self._head = head.for_next()
        self._files[-1].has_own_head = False
        self._leave_full()
        return written

    def limits(self, first_heads: int, following_heads: int, frame_size: int) -> SegmentLimits | None:
        """Return the maximum sizes of the segments of a record; None if files have no maximum size."""
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

        Only a warcinfo record may come before the first segment (clause 7).
        """
        self.flush()
        written = []
        try:
            self._segmenting = reused = self.current.assembly.is_bare
            for number in range(count):
                if number or not reused:
                    self._add_file(self._head)
                written.append(write(self._files[-1], number))
            # None of them can be removed once the files before the last one have their names.
            self._files[-1].assembly.flush()
            self._segmenting = None
        except BaseException:
            with contextlib.suppress(SeekWarcError, OSError):
                self._finish_interrupted()
            raise
        self._leave_full()
        return written[0]

    # The end.

    def flush(self) -> None:
        """Bring every record so far into the output."""
        self._finish_interrupted()
        self.current.assembly.flush()

    @property
    def has_records(self) -> bool:
        """Whether anything was written."""
        self.flush()
        if self.current.is_head_alone:
            return self.current is not self._first
        return self.current.assembly.has_records

    def finish(self) -> None:
        """End all files and give them their names."""
        self._finish_interrupted()
        last = self.current
        if not last.assembly.is_closed:
            last.assembly.flush()
        files = [*self._sealed, last]
        if last.is_head_alone and last is not self._first and self._names is not None:
            # Its first record failed, after the file before it was full.
            files.pop().abort()
            self._names.put_back(last.name)
        if self._together:
            self._name_all(files)
        elif files:
            last.finish()
        if self._names is not None:
            self._names.remove_rest()

    def _name_all(self, files: list[RecordFile]) -> None:
        files[-1].seal()
        named: list[RecordFile] = []
        try:
            for file in files:
                # Listed before it gets its name: a signal may come between the two lines.
                named.append(file)
                file.finish()
        except BaseException:
            for file in named:
                file.abort_committed()
            raise

    def keep(self) -> str:
        """Finish all files with the complete records; return a message that says what was kept."""
        with contextlib.suppress(SeekWarcError, OSError):
            self._finish_interrupted()
        kept = []
        for number, file in enumerate(list(self._files)):
            if number and file.assembly.is_bare:
                file.abort()
            else:
                kept.append(file.keep())
        nothing = (
            "no further record was complete" if self._names else "no record was complete, so no file was made"
        )
        return "; ".join(filter(None, kept)) or f"{self.current.name}: {nothing}"

    def abort(self) -> None:
        """Leave nothing of the files that do not have their names yet."""
        for file in [*reversed(self._files), *self._sealed]:
            file.abort()
