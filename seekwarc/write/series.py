"""The files that a writer makes: one, or one after another where none may grow beyond a size.

Source: WARC 1.1, clause 7 and annex C.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import BinaryIO, Final, Generic, TypeVar

from seekwarc.errors import SeekWarcError
from seekwarc.write.append import AppendOutput
from seekwarc.write.assembly import OWN_TABLE, RecordAssembly, stored_bound
from seekwarc.write.numbering import SeriesNames
from seekwarc.write.output import Output, PathOutput, open_output
from seekwarc.write.spool import SegmentLimits
from seekwarc.write.unfinished import OpenOutput, save_hint
from seekwarc.write.written import Written

__all__ = ["MARGIN", "FileSeries", "NewFile", "RecordFile", "SingleFile"]

MARGIN: Final = 96
"""What the beginnings of two files, and two record headers, may differ by: IDs, dates and digests in them."""

AnyAssembly = TypeVar("AnyAssembly", bound=RecordAssembly)


class NewFile(Generic[AnyAssembly]):
    """A file that is being written. The caller ends it by `finish`, `keep` or `discard`; each is idempotent.

    Args:
        target: A path, a binary file object or an output.
        assemble: Makes what puts records into it.
        dictionary_frame: The dictionary, to be put at its head.

    Raises:
        SourceError: The target cannot be written to.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO | Output,
        assemble: Callable[[Output], AnyAssembly],
        dictionary_frame: bytes | None,
    ) -> None:
        self._output = open_output(target)
        self.name = self._output.name
        self.is_path = self._output.spool_directory is not None
        try:
            self.assembly = assemble(self._output)
            if dictionary_frame is not None:
                self.assembly.add_extension(dictionary_frame)
        except BaseException:
            self._output.discard()
            raise

    def finish(self) -> None:
        """End the file and give it its name.

        Raises:
            FormatError: There is no record in it.
            SourceError: It cannot be written.
        """
        self.seal()
        self._output.commit()

    def seal(self) -> None:
        """End the file, whose name it gets by `finish`."""
        if not self.assembly.is_closed:
            self.assembly.end_file()
            self.assembly.close()
        if isinstance(self._output, PathOutput):
            self._output.seal()

    def keep(self) -> str | None:
        """Finish the file with all records that are whole; return what was kept, None where there are none.

        Where it cannot be finished, what could be written of it stays.
        """
        assembly = self.assembly
        try:
            if not assembly.is_closed:
                assembly.keep_what_fits()
            if not assembly.has_records:
                self.discard()
                return None
            self.finish()
        except (SeekWarcError, OSError) as error:
            assembly.close()
            return self._left(error)
        return f"{self.name}: kept with {_records(assembly.added)}, each of them whole"

    def _left(self, error: Exception) -> str:
        if isinstance(self._output, OpenOutput):
            self._output.leave()
            return f"{error}; what was written is in {self._output.unfinished}: {save_hint(self.name)}"
        if isinstance(self._output, AppendOutput):
            self._output.leave()
            name = os.path.basename(self.name)
            return f'{error}; `seekwarc.open({name!r}, "a", repair=True)` continues what was written of it'
        self._output.discard()
        return f"{error}; what went into it cannot be taken back"

    def discard(self) -> None:
        """Leave nothing under the final name."""
        self.assembly.close()
        self._output.discard()

    def goes_into(self, output: Output) -> bool:
        """Tell whether it is written there."""
        return self._output is output

    def withdraw(self) -> None:
        """Take a file away that has its name already."""
        self.discard()
        if isinstance(self._output, PathOutput):
            self._output.withdraw()


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


RecordFile = NewFile[RecordAssembly]


class SingleFile:
    """One file that takes every record.

    Args:
        current: The file.
    """

    def __init__(self, current: RecordFile) -> None:
        self._files = [current]
        """The file that records go into, and those that will follow it."""

    @property
    def current(self) -> RecordFile:
        """The file that records go into."""
        return self._files[0]

    def begin(self) -> None:
        """Write what must stand at the head of the first file."""

    def room_for(self, stored_size: int) -> RecordFile:  # noqa: ARG002
        """Return a file that a record of at most `stored_size` bytes goes into."""
        return self.current

    def finish(self) -> None:
        """End all files and give them their names.

        Raises:
            FormatError: There is no record in them.
            SourceError: One cannot be written.
        """
        self.current.finish()

    def keep(self) -> str:
        """Finish all files with the records that are whole; return what was kept."""
        return self.current.keep() or f"{self.current.name}: no record was whole, so no file was made"

    def discard(self) -> None:
        """Leave nothing of the files that have not got their names."""
        for file in reversed(self._files):
            file.discard()


class FileSeries(SingleFile):
    """Files that are written one after another, each no larger than a size where that can be helped.

    Args:
        names: Their names.
        max_size: Stored bytes that a file may have.
        open_file: Opens a file of that name.
        begin: Writes what stands at the head of every file: its warcinfo record.
        head_size: Tells how much that takes, with the dictionary.
        first: A file that the series goes on with.
        made: Outputs that `open_file` has made, or begun to make, are noted there.
        together: Give files their names when the last one is whole, and not as each is.
    """

    def __init__(
        self,
        names: SeriesNames,
        max_size: int,
        open_file: Callable[[str], RecordFile],
        begin: Callable[[RecordFile], object],
        head_size: Callable[[RecordFile], int],
        *,
        first: RecordFile | None = None,
        made: list[OpenOutput],
        together: bool = False,
    ) -> None:
        self._names = names
        self._max_size = max_size
        self._open_file = open_file
        self._begin = begin
        self._head_size = head_size
        self._made = made
        self._together = together
        self._sealed: list[RecordFile] = []
        """Whole files that have not got their names."""
        self._segmenting: bool | None = None
        """Whether the current file has the first segment of a record of which more are to come."""
        super().__init__(self._open() if first is None else first)
        self._made.clear()

    def _open(self) -> RecordFile:
        name = self._names.take()
        try:
            return self._open_file(name)
        except BaseException:
            self._names.put_back(name)
            raise

    def _add_fresh(self) -> None:
        """Open a file that will follow the others."""
        self._files.append(self._open())
        self._made.clear()
        try:
            self._begin(self._files[-1])
        except BaseException:
            self._give_up_last()
            raise

    def _give_up_last(self) -> None:
        file = self._files[-1]
        file.discard()
        self._names.put_back(file.name)
        self._files.pop()

    def _settle(self) -> None:
        """Bring what was interrupted to an end: a new file, a record in segments, a change of files."""
        while self._made:
            if not any(file.goes_into(self._made[-1]) for file in self._files):
                self._made[-1].discard()
            self._made.pop()
        if self._segmenting is not None:
            while len(self._files) > 1:
                self._give_up_last()
            if self._segmenting and not self.current.assembly.is_bare:
                self.current.assembly.take_back()
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

    def begin(self) -> None:
        """See `SingleFile.begin`: nothing, where something stands in it."""
        self._settle()
        if self.current.assembly.records == 0:
            self._begin(self.current)

    def room_for(self, stored_size: int) -> RecordFile:
        """See `SingleFile.room_for`: the current file or a new one."""
        self._settle()
        assembly = self.current.assembly
        if not assembly.is_bare and assembly.most_size + stored_size > self._max_size:
            # Known exactly once everything is compressed.
            assembly.flush()
            if assembly.most_size + stored_size > self._max_size:
                self._add_fresh()
                self._leave_full()
        return self.current

    def limits(self, first_heads: int, following_heads: int, frame_size: int) -> SegmentLimits:
        """Return what the segments of a record may take.

        Args:
            first_heads: Stored bytes in front of the first segment's part of the block.
            following_heads: The same of the others.
            frame_size: Content of a frame.

        Raises:
            ValueError: Not one frame has room in a file.
        """
        room = self._max_size - self._head_size(self.current) - OWN_TABLE - MARGIN
        limits = SegmentLimits(room - first_heads, room - following_heads)
        missing = 2 * stored_bound(frame_size) - min(limits)
        if missing > 0:
            raise ValueError(
                f"max_file_size is {self._max_size}: for this record it must be {missing} bytes more"
            )
        return limits

    def write_segments(self, count: int, write: Callable[[RecordFile, int], Written]) -> Written:
        """Write each segment of a block into a file of its own; where one fails, keep none of them.

        The first is preceded by its warcinfo record only, as clause 7 asks.

        Args:
            count: How many segments there are.
            write: Writes a segment, told by its number from 0, into a file.

        Returns:
            The first of them.
        """
        self._settle()
        self.current.assembly.flush()
        written = []
        try:
            self._segmenting = reused = self.current.assembly.is_bare
            for number in range(count):
                if number or not reused:
                    self._add_fresh()
                written.append(write(self._files[-1], number))
            self._segmenting = None
        except BaseException:
            with contextlib.suppress(SeekWarcError, OSError):
                self._settle()
            raise
        self._leave_full()
        return written[0]

    def finish(self) -> None:
        """See `SingleFile.finish`."""
        self._settle()
        if self._together:
            self._name_all()
        else:
            self.current.finish()
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
                file.withdraw()
            raise

    def keep(self) -> str:
        """See `SingleFile.keep`."""
        with contextlib.suppress(SeekWarcError, OSError):
            self._settle()
        kept = []
        for number, file in enumerate(list(self._files)):
            if number and file.assembly.is_bare:
                file.discard()
            else:
                kept.append(file.keep())
        return "; ".join(filter(None, kept)) or f"{self.current.name}: no further record was whole"

    def discard(self) -> None:
        """See `SingleFile.discard`."""
        super().discard()
        for file in self._sealed:
            file.discard()
