"""Going on with a file that is there: what it holds, and where new records begin.

Nothing in front of the new records is touched, so whatever interrupts the writing, the old ones stay as they
were. Source: spec-notes/seekable-records.md, section 5.
"""

from __future__ import annotations

import contextlib
import os
from typing import Final

from seekwarc.archive.files import FileOutput, lock_file
from seekwarc.archive.layout import CHECKSUM_OF_NOTHING, ExistingFile
from seekwarc.archive.reader import Reader
from seekwarc.archive.record import Record
from seekwarc.errors import SourceError, TruncatedError, UnsupportedError
from seekwarc.format.zstd import SEEK_TABLE_MAGIC
from seekwarc.frames.scan import Frame, Window, frames_from
from seekwarc.frames.units import extension_at
from seekwarc.storage.source import LocalFileSource
from seekwarc.system import sync

__all__ = ["AppendOutput", "existing_file"]

CHECKSUM_SIZE: Final = 4
CONVERT: Final = "`seekwarc convert` makes a file that can be continued"


def existing_file(path: str | os.PathLike[str]) -> ExistingFile:
    """Look through a file that is to be continued: it must be whole, and of frames that tables can list.

    Raises:
        SourceError: It cannot be read.
        UnsupportedError: It is no .warc.zst, or one that no table could be written for.
        FormatError: It is damaged; after a crash, its last record may be cut.
    """
    with Reader(path) as archive:
        if archive.compression != "zst":
            raise UnsupportedError(f"only .warc.zst files can be continued; {CONVERT}", source=archive.name)
        first, last, count = _ends(archive)
        found = ExistingFile("none", archive.dictionary)
        bare = first.layout.frames is not None and first.layout.frames.content_sizes[0] == len(
            first.header.raw
        )
        last_offset = last.offset
        only = first.offset == last.offset
    tables = 0
    anchor = None
    with contextlib.closing(LocalFileSource(path)) as source:
        window = Window(source)
        for frame in frames_from(window, 0):
            _note(found, window, frame)
            anchor = None
            if frame.magic == SEEK_TABLE_MAGIC:
                tables += 1
                anchor = extension_at(window, frame.offset, frame.size).anchor
    if anchor is not None and anchor == last_offset and (anchor or bare) and tables >= count:
        found.tables = "every"
    elif tables:
        found.tables = "large"
        found.has_table = anchor == 0
        if bare and not only:
            raise UnsupportedError(
                "the first record's header has a frame of its own, so a table of the whole file would be "
                f"taken for that record's; {CONVERT}",
                source=os.fspath(path),
            )
    return found


def _ends(archive: Reader) -> tuple[Record, Record, int]:
    """Return first and last record, and the number of records, of a file all of whose records are whole."""
    first = last = None
    count = 0
    try:
        for record in archive:
            # One that is cut would swallow what is written behind it.
            first, last = first or record, record
            count += 1
            _ = record.layout
    except TruncatedError as error:
        message = f"{error.message}; `seekwarc recover` saves what is whole"
        raise TruncatedError(message, source=error.source, offset=error.offset) from None
    if first is None or last is None:
        raise UnsupportedError("there is no record in it", source=archive.name)
    return first, last, count


def _note(found: ExistingFile, window: Window, frame: Frame) -> None:
    """Add a frame to what is known of the file."""
    checksum = CHECKSUM_OF_NOTHING
    if frame.header is not None:
        if frame.content_size is None or not frame.header.has_checksum:
            raise UnsupportedError(
                f"a frame does not state its size or checksum, so no table can list it; {CONVERT}",
                source=window.source.name,
                offset=frame.offset,
            )
        stored = window.take(frame.end - CHECKSUM_SIZE, CHECKSUM_SIZE)
        checksum = int.from_bytes(stored, "little")
    found.stored.append(frame.size)
    found.contents.append(frame.content_size or 0)
    found.checksums.append(checksum)
    found.end = frame.end


class AppendOutput(FileOutput):
    """The end of a file that is there. `discard` leaves the file as it was.

    Nobody else can append to it from now on. Before anything is written, `go_to` its end.

    Args:
        path: The file.

    Raises:
        SourceError: It cannot be written to, or another process is writing to it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        self.spool_directory: str | None = os.path.dirname(os.path.realpath(path))
        self._kept: int | None = None
        try:
            file = open(path, "r+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise SourceError(f"{name}: cannot be written: {error.strerror or error}") from error
        lock_file(file, name)
        super().__init__(name, file)

    def go_to(self, end: int) -> None:
        """Begin to write at `end`, the size of the file."""
        self._state = end, bytearray()
        self._kept = end

    def commit(self) -> None:
        """See `Output.commit`."""
        if self._file.closed:
            return
        try:
            self.flush()
            # What a signal interrupted may have left more.
            self._file.truncate(self._state[0])
            sync(self._file)
            self._file.close()
        except OSError as error:
            raise (error if isinstance(error, SourceError) else self._failed(error)) from error

    def discard(self) -> None:
        """See `Output.discard`."""
        # While the lock is held: after it another may write.
        with contextlib.suppress(OSError, ValueError):
            if self._kept is not None:
                self._file.truncate(self._kept)
        with contextlib.suppress(OSError):
            self._file.close()
