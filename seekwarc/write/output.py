"""Where a new file is written, and when it gets its name.

There are three kinds of outputs:

- `PathOutput`: a hidden file that gets its name when it is finished, or is removed. It is for tools that make
  files of other files, and can do so again.
- `unfinished.OpenOutput`: a visible file, "crawl.warc.zst.open", that is locked while it is written. A crawl
  cannot be repeated, so the file outlives a crash; it can be continued, or its records can be saved.
- `FileObjectOutput`: an open file object, which may be a pipe.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol, runtime_checkable

from seekwarc.errors import TargetError
from seekwarc.system import is_broken_pipe, set_mode
from seekwarc.write.files import (
    Existing,
    FileOutput,
    give_name,
    is_special,
    mode_for,
    refuse_existing,
    refuse_place,
    sync_folder,
    unwritable,
    write_all,
)

__all__ = ["FileObjectOutput", "Output", "PathOutput", "committed", "open_output"]


@runtime_checkable
class Output(Protocol):
    """Where the bytes of a file are appended."""

    name: str
    begin: int
    """Offset at which the first byte is written: not 0 for a file object that already holds data."""
    spool_directory: str | None
    """Folder for temporary files of about the same size; None for the system's."""

    def write(self, data: bytes) -> None:
        """Append all of `data`."""

    def flush(self) -> None:
        """Hand everything to the system, so that it survives the end of this process."""

    def rollback(self, size: int) -> bool:
        """Cut the output back to `size` bytes; return False if that is impossible."""

    def commit(self) -> None:
        """Finish the file and give it its name."""

    def abort(self) -> None:
        """Leave nothing under the final name."""


class PathOutput(FileOutput):
    """A hidden file that gets its name when it is finished.

    It is removed however the output ends, unless the process is killed.

    Args:
        path: The final path.
        existing: Whether a file of that name is replaced or refused.
        folder: Folder of the hidden file, on the same file system; the folder of `path` if None.

    Raises:
        TargetExistsError: A file has that name.
        TargetError: The folder is missing or cannot be written to.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        existing: Existing = "overwrite",
        folder: str | None = None,
    ) -> None:
        name = os.fspath(path)
        # If the path is a symbolic link, the file that it leads to is replaced, not the link.
        self._target = os.path.realpath(name)
        self._existing = existing
        beside, base = os.path.split(self._target)
        folder = beside if folder is None else folder
        self._own: os.stat_result | None = None
        """Identifies the finished file, whatever its name."""
        self.spool_directory: str | None = folder
        refuse_place(name)
        if existing == "error":
            refuse_existing(name)
        self._temporary = os.path.join(folder, f".{base[:180]}.{os.urandom(8).hex()}.partial")
        # Set up before the file is made: a signal may come between any two lines, here and in the callers.
        opened: list[BinaryIO] = []
        self._remove = weakref.finalize(self, _remove, self._temporary, os.getpid(), opened)
        try:
            file = open(self._temporary, "xb", 0, opener=_open_private)  # noqa: SIM115
        except OSError as error:
            raise unwritable(error, name) from error
        opened.append(file)
        super().__init__(name, file)

    def reopen(self) -> BinaryIO:
        """Open the file for reading back what was written so far; the caller closes it."""
        self.flush()
        with self._guarded():
            return open(self._temporary, "rb")

    def seal(self) -> None:
        """Put the finished file on disk and close it. `commit` then gives it its name."""
        if self._file.closed:
            return
        with self._guarded():
            self._sync()
            set_mode(self._file, mode_for(self._target))
            self._own = os.fstat(self._file.fileno())
            self._file.close()

    def commit(self) -> None:
        """See `Output.commit`. The file is put on disk first."""
        try:
            with self._guarded():
                self.seal()
                if self._is_named:
                    return
                give_name(self._temporary, self._target, self.name, self._existing)
                self._remove.detach()
                sync_folder(os.path.dirname(self._target))
        except TargetError:
            self.abort()
            raise

    def abort(self) -> None:
        """See `Output.abort`."""
        with contextlib.suppress(OSError):
            self._file.close()
        self._remove()

    @property
    def _is_named(self) -> bool:
        try:
            return self._own is not None and os.path.samestat(self._own, os.stat(self._target))
        except OSError:
            return False

    def abort_committed(self) -> None:
        """Remove the final file if `commit` has made it."""
        if self._is_named:
            with contextlib.suppress(OSError):
                os.unlink(self._target)


class FileObjectOutput:
    """A binary file object, which may be a pipe. It is flushed, and closed only if `owned`."""

    spool_directory: str | None = None

    def __init__(self, file: BinaryIO, *, owned: bool = False) -> None:
        self._owned = owned
        self.name = str(getattr(file, "name", "<file object>"))
        self.begin = 0
        self._file = file
        self._seekable = False
        self.size = 0
        """Bytes written; -1 after a write failed, since it is unknown how many were."""
        # A pipe is not seekable, and some pipes have no `seekable`: neither can be rolled back.
        with contextlib.suppress(OSError, AttributeError):
            if file.seekable():
                self.begin = file.tell()
                self._seekable = True

    def write(self, data: bytes) -> None:
        """See `Output.write`."""
        size, self.size = self.size, -1
        self._guarded(lambda: write_all(self._file, data))
        self.size = size + len(data)

    def flush(self) -> None:
        """See `Output.flush`."""
        flush = getattr(self._file, "flush", None)
        if flush is not None:
            self._guarded(flush)

    def rollback(self, size: int) -> bool:
        """See `Output.rollback`."""
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

    def commit(self) -> None:
        """See `Output.commit`."""
        try:
            self.flush()
        finally:
            self.abort()

    def abort(self) -> None:
        """See `Output.abort`. What was written to the object stays there."""
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


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _remove(path: str, process: int, opened: list[BinaryIO]) -> None:
    # A forked process has a copy of the object, but the file is its parent's.
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            # Windows does not remove open files.
            for file in opened:
                file.close()
            os.unlink(path)


def open_output(
    target: str | os.PathLike[str] | BinaryIO | Output, *, existing: Existing = "overwrite"
) -> Output:
    """Make an output of a path or a binary file object; an output is returned as it is.

    Args:
        target: A path gets a `PathOutput`, unless it is that of a pipe or device, which is opened.
        existing: Whether an existing file is replaced or refused.

    Raises:
        TargetExistsError: A file has that name.
        TargetError: The path cannot be written to.
        TypeError: `target` is neither a path nor a binary file object.
    """
    if isinstance(target, str | os.PathLike):
        if is_special(target):
            return FileObjectOutput(open(target, "wb"), owned=True)
        return PathOutput(target, existing=existing)
    if isinstance(target, Output):
        return target
    if hasattr(target, "write"):
        return FileObjectOutput(target)
    raise TypeError(f"cannot write WARC records to {type(target).__name__}")


@contextlib.contextmanager
def committed(
    target: str | os.PathLike[str] | BinaryIO | Output, *, existing: Existing = "overwrite"
) -> Iterator[Output]:
    """Open an output like `open_output`; commit it when the block ends, abort it if the block raises."""
    output = open_output(target, existing=existing)
    try:
        yield output
        output.commit()
    except BaseException:
        output.abort()
        raise
