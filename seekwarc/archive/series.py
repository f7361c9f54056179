"""The files that a writer makes: one, or one after another where none may grow beyond a size.

Source: WARC 1.1, clause 7 and annex C.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, Generic, TypeVar

from seekwarc.archive.assembly import OWN_TABLE, RecordAssembly, stored_bound
from seekwarc.archive.output import Output, open_output
from seekwarc.archive.spool import SegmentLimits
from seekwarc.archive.written import Written

__all__ = ["MARGIN", "FileSeries", "NewFile", "RecordFile", "SingleFile", "numbered_names"]

MARGIN: Final = 96
"""What the beginnings of two files, and two record headers, may differ by: IDs, dates and digests in them."""

AnyAssembly = TypeVar("AnyAssembly", bound=RecordAssembly)

_EXTENSION = re.compile(r"(\.warc)?(\.[a-z0-9]+)?$", re.IGNORECASE)


def numbered_names(path: str) -> Iterator[str]:
    """Yield the names of the files of a series: "a.warc.zst" makes "a-00000.warc.zst" and so on."""
    folder, base = os.path.split(path)
    match = _EXTENSION.search(base)
    cut = match.start() if match else len(base)
    return (f"{os.path.join(folder, base[:cut])}-{number:05}{base[cut:]}" for number in itertools.count())


class NewFile(Generic[AnyAssembly]):
    """A file that is being written. Whoever makes it calls `finish`, or `discard` where anything went wrong.

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
        self.assembly = assemble(self._output)
        if dictionary_frame is not None:
            try:
                self.assembly.add_extension(dictionary_frame)
            except BaseException:
                self.discard()
                raise

    def finish(self) -> None:
        """End the file and give it its name; where that fails, leave nothing.

        Raises:
            FormatError: There is no record in it.
            SourceError: It cannot be written.
        """
        try:
            self.assembly.end_file()
        except BaseException:
            self.discard()
            raise
        self.assembly.close()
        self._output.commit()

    def discard(self) -> None:
        """Leave nothing under the final name."""
        self.assembly.close()
        self._output.discard()


RecordFile = NewFile[RecordAssembly]


class SingleFile:
    """One file that takes every record.

    Args:
        current: The file.
    """

    def __init__(self, current: RecordFile) -> None:
        self.current = current

    def begin(self) -> None:
        """Write what must stand at the head of the first file."""

    def room_for(self, stored_size: int) -> RecordFile:  # noqa: ARG002
        """Return a file that a record of at most `stored_size` bytes goes into."""
        return self.current


class FileSeries(SingleFile):
    """Files that are written one after another, each no larger than a size where that can be helped.

    Args:
        target: The path of all files: a number is put in front of ".warc".
        max_size: Stored bytes that a file may have.
        open_file: Opens a file of that name.
        begin: Writes what stands at the head of every file: its warcinfo record.
        head_size: Tells how much that takes, with the dictionary.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        max_size: int,
        open_file: Callable[[str], RecordFile],
        begin: Callable[[RecordFile], object],
        head_size: Callable[[RecordFile], int],
    ) -> None:
        self._names = numbered_names(os.fspath(target))
        self._unused: list[str] = []
        self._max_size = max_size
        self._open_file = open_file
        self._begin = begin
        self._head_size = head_size
        super().__init__(self._open())

    def _open(self) -> RecordFile:
        name = self._unused.pop() if self._unused else next(self._names)
        try:
            return self._open_file(name)
        except BaseException:
            self._unused.append(name)
            raise

    def _fresh(self) -> RecordFile:
        file = self._open()
        try:
            self._begin(file)
        except BaseException:
            self._give_up(file)
            raise
        return file

    def _give_up(self, file: RecordFile) -> None:
        file.discard()
        self._unused.append(file.name)

    def begin(self) -> None:
        """See `SingleFile.begin`: nothing, where something stands in it."""
        if self.current.assembly.records == 0:
            self._begin(self.current)

    def room_for(self, stored_size: int) -> RecordFile:
        """See `SingleFile.room_for`: the current file or a new one."""
        assembly = self.current.assembly
        if not assembly.is_bare and assembly.most_size + stored_size > self._max_size:
            # Known exactly once everything is compressed.
            assembly.flush()
            if assembly.most_size + stored_size > self._max_size:
                self._adopt([self._fresh()])
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
        self.current.assembly.flush()
        reused = self.current.assembly.is_bare
        new: list[RecordFile] = []
        written = []
        try:
            for number in range(count):
                if number or not reused:
                    new.append(self._fresh())
                written.append(write(new[-1] if new else self.current, number))
        except BaseException:
            for file in reversed(new):
                self._give_up(file)
            if reused and written:
                self.current.assembly.take_back()
            raise
        self._adopt(new)
        return written[0]

    def _adopt(self, files: list[RecordFile]) -> None:
        """Finish all files but the last of those that are new, which becomes the current one."""
        waiting = list(files)
        try:
            while waiting:
                self.current.finish()
                self.current = waiting.pop(0)
        except BaseException:
            for file in reversed(waiting):
                self._give_up(file)
            raise
