"""Where a new file is written: beside its final name until it is whole, or into an open file object."""

from __future__ import annotations

import contextlib
import os
import stat
import weakref
from typing import BinaryIO, Final, Protocol, runtime_checkable

from seekwarc.errors import SourceError

__all__ = ["FileObjectOutput", "Output", "PathOutput", "open_output", "sync_folder", "write_all"]

BUFFER_SIZE: Final = 256 << 10


@runtime_checkable
class Output(Protocol):
    """A place that stored bytes are appended to."""

    name: str
    begin: int
    """Offset at which the first byte is written: not 0 in a file object that holds something."""
    spool_directory: str | None
    """Where temporary data of the same order of size may be put; None for the system's place."""

    def write(self, data: bytes) -> None:
        """Append all of `data`."""

    def roll_back(self, size: int) -> bool:
        """Cut the output back to `size` bytes; False where that cannot be done."""

    def commit(self) -> None:
        """Make what was written the final file."""

    def discard(self) -> None:
        """Leave nothing under the final name."""


class PathOutput:
    """A path. Until `commit` the data are in a hidden file beside it, so nobody sees half a file.

    That file is taken away however the output ends, unless the process is killed.

    Raises:
        SourceError: The folder is missing or cannot be written to.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self.begin = 0
        # Through a symbolic link it is the file that is replaced, not the link.
        self._target = os.path.realpath(self.name)
        folder, base = os.path.split(self._target)
        self.spool_directory: str | None = folder
        try:
            if os.path.isdir(self.name):
                raise IsADirectoryError(None, "is a directory")
            self._temporary = os.path.join(folder, f".{base[:180]}.{os.urandom(8).hex()}.partial")
            # Before the file is there: a signal may come between any two lines, here and in the callers.
            self._take_away = weakref.finalize(self, _take_away, self._temporary, os.getpid())
            self._file = open(self._temporary, "xb", BUFFER_SIZE, opener=_open_private)  # noqa: SIM115
        except OSError as error:
            raise SourceError(f"{self.name}: cannot be written: {error.strerror}") from error

    def write(self, data: bytes) -> None:
        """See `Output.write`."""
        try:
            write_all(self._file, data)
        except OSError as error:
            raise SourceError(f"{self.name}: cannot be written: {error.strerror or error}") from error

    def roll_back(self, size: int) -> bool:
        """See `Output.roll_back`."""
        try:
            self._file.truncate(size)
            self._file.seek(size)
        except OSError:
            return False
        return True

    def reopen(self) -> BinaryIO:
        """Open what was written so far to read it back; the caller closes it."""
        try:
            self._file.flush()
            return open(self._temporary, "rb")
        except OSError as error:
            raise SourceError(f"{self.name}: cannot be written: {error.strerror or error}") from error

    def commit(self) -> None:
        """See `Output.commit`: on disk first, then under its name."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            os.fchmod(self._file.fileno(), _mode_for(self._target))
            self._file.close()
            os.replace(self._temporary, self._target)
            self._take_away.detach()
            sync_folder(os.path.dirname(self._target))
        except OSError as error:
            self.discard()
            raise SourceError(f"{self.name}: cannot be written: {error.strerror or error}") from error

    def discard(self) -> None:
        """See `Output.discard`."""
        with contextlib.suppress(OSError):
            self._file.close()
        self._take_away()


class FileObjectOutput:
    """A binary file object, which may be a pipe. It is flushed, and closed only if `owned`."""

    spool_directory: str | None = None

    def __init__(self, file: BinaryIO, *, owned: bool = False) -> None:
        self._owned = owned
        self.name = str(getattr(file, "name", "<file object>"))
        self.begin = 0
        self._file = file
        self._seekable = False
        # A pipe says so, or is silent about it: neither can be rolled back.
        with contextlib.suppress(OSError, AttributeError):
            if file.seekable():
                self.begin = file.tell()
                self._seekable = True

    def write(self, data: bytes) -> None:
        """See `Output.write`."""
        try:
            write_all(self._file, data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SourceError(f"{self.name}: cannot be written: {error.strerror or error}") from error

    def roll_back(self, size: int) -> bool:
        """See `Output.roll_back`."""
        if not self._seekable:
            return False
        try:
            self._file.seek(self.begin + size)
            self._file.truncate()
        except OSError:
            return False
        return True

    def commit(self) -> None:
        """See `Output.commit`."""
        try:
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise SourceError(f"{self.name}: cannot be written: {error.strerror or error}") from error
        finally:
            self.discard()

    def discard(self) -> None:
        """See `Output.discard`: what went into the object cannot be taken back."""
        if self._owned:
            with contextlib.suppress(OSError):
                self._file.close()


def write_all(file: BinaryIO, data: bytes | memoryview) -> None:
    """Write all of `data`: a raw file object, such as unbuffered standard output, takes less at a time."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _mode_for(path: str) -> int:
    """Keep the mode of a file that is replaced; else what `open` would have given a new one."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _take_away(path: str, process: int) -> None:
    # A process that was forked off has the same object, but not the file.
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            os.unlink(path)


def sync_folder(folder: str) -> None:
    """Put on disk which files a folder holds."""
    # Not every system lets a folder be opened; the files' own data are safe by then.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def open_output(target: str | os.PathLike[str] | BinaryIO | Output) -> Output:
    """Make an output of a path or a binary file object; an output stays what it is.

    Raises:
        SourceError: The path cannot be written to.
        TypeError: `target` is neither.
    """
    if isinstance(target, str | os.PathLike):
        if os.path.exists(target) and not (os.path.isfile(target) or os.path.isdir(target)):
            return FileObjectOutput(open(target, "wb"), owned=True)
        return PathOutput(target)
    if isinstance(target, Output):
        return target
    if hasattr(target, "write"):
        return FileObjectOutput(target)
    raise TypeError(f"cannot write WARC records to {type(target).__name__}")
