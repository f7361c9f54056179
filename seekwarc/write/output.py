"""Where the bytes of a new or continued file go, and when it gets its name.

There are four kinds of outputs:

- `PathOutput`: a hidden file that gets its name when it is finished, or is removed. It is for tools that make
  files of other files, and can do so again.
- `OpenOutput`: a visible file, "crawl.warc.zst.open", that is locked while it is written. A crawl cannot be
  repeated, so the file outlives a crash; it can be continued, or its records can be saved.
- `FileObjectOutput`: an open file object, which may be a pipe.
- `upload.UploadOutput`: an object in a store, which appears when it is complete.
"""

from __future__ import annotations

import contextlib
import os
import stat
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO, Final

from seekwarc.compiling import override
from seekwarc.errors import TargetError, TargetExistsError
from seekwarc.system import (
    HOLDS_OPEN_FILES,
    begin_partial,
    is_at,
    is_broken_pipe,
    set_mode,
    sync,
    write_all,
)
from seekwarc.write.files import (
    Existing,
    give_name,
    lock_file,
    mode_for,
    refuse_existing,
    refuse_place,
    remove_empty,
    save_hint,
    sync_folder,
    unfinished_name,
    unwritable,
)

__all__ = [
    "FileObjectOutput",
    "FileOutput",
    "NoOutput",
    "OpenOutput",
    "Output",
    "PathOutput",
]

BUFFER_SIZE: Final = 256 << 10
PARTIAL: Final = ".partial"
"""Ending of the name of a hidden file."""


class Output(ABC):
    """Where the bytes of a file are appended."""

    name: str
    begin: int = 0
    """Offset at which the first byte is written: not 0 for a file object that already holds data."""
    spool_directory: str | None = None
    """Folder for temporary files of about the same size; None for the system's."""
    filename: str | None = None
    """Base name of the final file; None for a file object."""

    def make(self) -> None:  # noqa: B027 - most are made by the constructor
        """Make the file, if the constructor has not."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Append all of `data`."""

    @abstractmethod
    def flush(self) -> None:
        """Hand everything to the system, so that it survives the end of this process."""

    def mark(self) -> None:  # noqa: B027 - a file can be cut anywhere
        """Say that what was written so far will not be cut off."""

    def rollback(self, size: int) -> bool:  # noqa: ARG002 - most outputs cannot be cut
        """Cut the output back to `size` bytes; return False if that is impossible."""
        return False

    def seal(self) -> None:  # noqa: B027 - nothing to do for most outputs
        """Do all that may fail of `commit`, but for the name."""

    @abstractmethod
    def commit(self) -> None:
        """Finish the file and give it its name."""

    @abstractmethod
    def abort(self) -> None:
        """Leave nothing under the final name."""

    def abort_committed(self) -> None:
        """Abort the file, and remove it if `commit` has named it, unless it may have replaced one."""
        self.abort()

    def leave(self) -> str:
        """End the file, which cannot be finished, with what could be written of it; say what is left."""
        self.abort()
        return "what was written to it cannot be undone"


class NoOutput(Output):
    """Keeps nothing of what is written to it, for a run that shall only say what it would write.

    Args:
        name: Name of the file that would be written.
        existing: Whether the name may be that of a file; None if it is not one of this machine.
    """

    def __init__(self, name: str, existing: Existing | None) -> None:
        self.name = name
        self.size = 0
        """Bytes that were written."""
        if existing is None:
            return
        refuse_place(name)
        if existing == "error":
            refuse_existing(name)
        try:
            os.stat(os.path.dirname(os.path.realpath(name)))
        except OSError as error:
            raise unwritable(error, name) from error

    @override
    def write(self, data: bytes) -> None:
        self.size += len(data)

    @override
    def flush(self) -> None:
        """Do nothing."""

    @override
    def rollback(self, size: int) -> bool:
        self.size = size
        return True

    @override
    def commit(self) -> None:
        """Do nothing."""

    @override
    def abort(self) -> None:
        """Do nothing."""


class FileOutput(Output):
    """Appends to an open file, and knows where its valid part ends.

    Python raises KeyboardInterrupt between any two lines, also after bytes reached the file and before they
    were counted. So every write seeks to the end that is known here: whatever an interrupted write left after
    it is overwritten by the next one, or cut off by `rollback` and by `seal`.

    A file that is made here has another path, `place`, until it is finished.
    """

    _kept: int | None = None
    """Where a file that is continued ended before; None for a new one."""
    _own: os.stat_result | None = None
    """Identifies the file, whatever its name."""

    def __init__(self, path: str | os.PathLike[str], existing: Existing, place: str | None = None) -> None:
        self.name = os.fspath(path)
        # If the path is a symbolic link, the file that it leads to is replaced, not the link.
        self._target = os.path.realpath(self.name)
        self._folder = self.spool_directory = os.path.dirname(self._target)
        self.filename = os.path.basename(self.name)
        self._existing = existing
        refuse_place(self.name)
        if place is None and existing == "error":
            refuse_existing(self.name)
        self.place = place or unfinished_name(self._target)

    def _hold(self, file: BinaryIO) -> None:
        self._file, self._own = file, os.fstat(file.fileno())
        self._state = 0, bytearray()
        """Size of the file, and bytes to write after it; set together, so that no signal comes between."""

    @override
    def write(self, data: bytes) -> None:
        end, waiting = self._state
        if len(waiting) + len(data) < BUFFER_SIZE:
            waiting += data
            return
        self.flush()
        end, _ = self._state
        self._put(end, data)
        self._state = end + len(data), bytearray()

    @override
    def flush(self) -> None:
        end, waiting = self._state
        if waiting:
            self._put(end, waiting)
            self._state = end + len(waiting), bytearray()

    def rewrite(self, offset: int, data: bytes) -> None:
        """Replace bytes that were written."""
        self.flush()
        self._put(offset, data)

    def _put(self, offset: int, data: bytes | bytearray) -> None:
        # Not with `_guarded`: this runs for each frame, and a generator would cost two more calls.
        try:
            self._file.seek(offset)
            write_all(self._file, data)
        except OSError as error:
            raise unwritable(error, self.name) from error

    @override
    def rollback(self, size: int) -> bool:
        end, waiting = self._state
        try:
            self._file.truncate(min(end, size))
        except OSError:
            return False
        self._state = min(end, size), waiting[: max(size - end, 0)]
        return True

    def reopen(self) -> BinaryIO:
        """Open the file for reading back what was written so far; the caller closes it."""
        self.flush()
        with self._guarded():
            return open(self.place, "rb")

    @override
    def seal(self) -> None:
        if self._file.closed:
            return
        with self._guarded():
            self.flush()
            self._file.truncate(self._state[0])
            sync(self._file)
            if not is_at(self._own, self._target):
                set_mode(self._file, mode_for(self._target))

    @override
    def commit(self) -> None:
        """See `Output.commit`. When it is repeated after an interruption, the file may have both names."""
        with self._guarded():
            self.seal()
            if HOLDS_OPEN_FILES:
                self._file.close()
            if not is_at(self._own, self._target):
                give_name(self.place, self._target, self.name, self._existing)
            elif self.place != self._target and is_at(self._own, self.place):
                os.unlink(self.place)
            sync_folder(self._folder)
            self._file.close()

    @override
    def abort_committed(self) -> None:
        self.abort()
        # A file that was continued had this name before.
        is_new = self._kept is None and self._existing == "error"
        if is_new and is_at(self._own, self._target):
            with contextlib.suppress(OSError):
                os.unlink(self._target)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except TargetError:
            raise
        except OSError as error:
            raise unwritable(error, self.name) from error


class PathOutput(FileOutput):
    """A hidden file, in `folder` on the same file system, that gets its name `path` when it is finished."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        existing: Existing = "overwrite",
        folder: str | None = None,
    ) -> None:
        super().__init__(path, existing)
        self.spool_directory = self._folder if folder is None else folder
        hidden = begin_partial(self.spool_directory, f".{os.path.basename(self._target)[:180]}.", PARTIAL)
        self.place = os.path.join(self.spool_directory, f"{hidden}{os.urandom(8).hex()}{PARTIAL}")
        # Set up before the file is made: a signal may come between any two lines, here and in the callers.
        opened: list[BinaryIO] = []
        self._remove = weakref.finalize(self, _remove, self.place, os.getpid(), opened)
        with self._guarded():
            opened.append(open(self.place, "xb", 0, opener=partial(os.open, mode=0o600)))  # noqa: SIM115
        self._hold(opened[0])

    @override
    def seal(self) -> None:
        super().seal()
        # There may be as many sealed files as a series has.
        self._file.close()

    @override
    def abort(self) -> None:
        self._remove()


class OpenOutput(FileOutput):
    """A file that is visible while it is written: "a.warc.zst" is "a.warc.zst.open" until it is finished.

    It is locked against other writers. If the process ends before `commit` or `abort`, the file stays. To
    continue one, give its present path, and call `go_to` with its end before writing. `make` is a call of its
    own, so that the caller has the output before there is a file, and can abort it if that is interrupted. A
    file that nothing was written to is also removed if the output is dropped without `abort`.
    """

    _remove_empty: Callable[[], object] | None = None

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        existing: Existing = "error",
        continued: str | None = None,
    ) -> None:
        super().__init__(path, existing, continued)
        if continued is not None:
            file = self._locked([])
            self._kept = os.fstat(file.fileno()).st_size
            self._hold(file)

    @override
    def make(self) -> None:
        """See `Output.make`. An existing file is replaced if that is allowed and no other process has it."""
        if self._own is not None:
            return
        # Set up before the file is made: a signal may come between any two lines, here and in the callers.
        opened: list[BinaryIO] = []
        self._remove_empty = weakref.finalize(self, remove_empty, self.place, os.getpid(), opened)
        try:
            opened.append(open(self.place, "xb", 0, opener=self._open_new))  # noqa: SIM115
        except FileExistsError:
            file = self._locked(opened)
            if self._existing == "error":
                file.close()
                raise TargetExistsError(
                    f"a writer that was stopped left {self.place}; {save_hint(self.name)}",
                    source=self.name,
                ) from None
            file.truncate(0)
            self._hold(file)
        except OSError as error:
            raise unwritable(error, self.name) from error
        else:
            self._lock(opened[0])
            self._hold(opened[0])

    def _open_new(self, path: str, flags: int) -> int:
        # A private file stays private while its successor is written.
        mode = stat.S_IMODE(os.stat(self._target).st_mode) if os.path.exists(self._target) else 0o666
        return os.open(path, flags, mode)

    def _locked(self, opened: list[BinaryIO]) -> BinaryIO:
        try:
            opened.append(open(self.place, "r+b", 0))  # noqa: SIM115
        except OSError as error:
            raise unwritable(error, self.place) from error
        self._lock(opened[0])
        return opened[0]

    def _lock(self, file: BinaryIO) -> None:
        lock_file(file, self.name)
        if not is_at(os.fstat(file.fileno()), self.place):
            # Its writer finished or removed it between `open` and the lock.
            file.close()
            raise TargetError("another process is writing to it", source=self.name)

    def go_to(self, end: int) -> None:
        """Write from offset `end` on; bytes after it are dropped."""
        self._state = end, bytearray()
        # An unfinished file without a whole record is as good as new.
        self._kept = end if end or self.place == self._target else None

    @override
    def abort(self) -> None:
        """See `Output.abort`: a file that was continued is as it was before."""
        # While the file is locked: once it is closed, another process may write.
        with contextlib.suppress(OSError, ValueError):
            if self._kept is not None:
                self._file.truncate(self._kept)
            elif self._own is not None and not self._file.closed and is_at(self._own, self.place):
                if HOLDS_OPEN_FILES:
                    self._file.close()
                os.unlink(self.place)
        if self._own is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        if self._remove_empty is not None:
            self._remove_empty()

    @override
    def leave(self) -> str:
        """See `Output.leave`. The file keeps its present path, and can be continued."""
        with contextlib.suppress(OSError, TargetError):
            self.flush()
        with contextlib.suppress(OSError):
            self._file.close()
        if self.place != unfinished_name(self._target):
            name = os.path.basename(self.name)
            return f'`seekwarc.open({name!r}, "a", repair=True)` continues what was written of it'
        return f"what was written is in {self.place}: {save_hint(self.name)}"


class FileObjectOutput(Output):
    """A binary file object, which may be a pipe. It is flushed, and closed only if `owned`."""

    def __init__(self, file: BinaryIO, *, owned: bool = False) -> None:
        self._owned = owned
        name = str(getattr(file, "name", "<file object>"))
        self.name = "standard output" if name == "<stdout>" else name
        self._file = file
        self._seekable = False
        self.size = 0
        """Bytes written; -1 after a write failed, since it is unknown how many were."""
        # A pipe is not seekable, and some pipes have no `seekable`: neither can be rolled back.
        with contextlib.suppress(OSError, AttributeError):
            if file.seekable():
                self.begin = file.tell()
                self._seekable = True

    @override
    def write(self, data: bytes) -> None:
        size, self.size = self.size, -1
        self._guarded(lambda: write_all(self._file, data))
        self.size = size + len(data)

    @override
    def flush(self) -> None:
        flush = getattr(self._file, "flush", None)
        if flush is not None:
            self._guarded(flush)

    @override
    def rollback(self, size: int) -> bool:
        if size == self.size:
            return True
        if not self._seekable:
            return False
        try:
            self._file.seek(self.begin + size)
            self._file.truncate()
        except OSError:
            return False
        self.size = size
        return True

    @override
    def commit(self) -> None:
        try:
            self.flush()
        finally:
            self.abort()

    @override
    def abort(self) -> None:
        """See `Output.abort`. Data already written to the object stay there."""
        if self._owned:
            with contextlib.suppress(OSError):
                self._file.close()

    def _guarded(self, step: Callable[[], object]) -> None:
        try:
            step()
        except OSError as error:
            if is_broken_pipe(error):
                raise
            raise unwritable(error, self.name) from error


def _remove(path: str, process: int, opened: list[BinaryIO]) -> None:
    # A forked process has a copy of the object, but the file is its parent's.
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            # Windows does not remove open files.
            for file in opened:
                file.close()
            os.unlink(path)
