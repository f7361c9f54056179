"""Steps of writing a file that can be relied on: at known offsets, locked, on disk, under its name.

No file is replaced unless that was asked for.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import IO, BinaryIO, Final, Literal

from seekwarc.errors import TargetError, TargetExistsError
from seekwarc.system import lock_for_writing, replace, sync

__all__ = [
    "Existing",
    "FileOutput",
    "give_name",
    "is_same",
    "is_special",
    "lock_file",
    "mode_for",
    "refuse_existing",
    "refuse_place",
    "refuse_same_file",
    "sync_folder",
    "write_all",
]

BUFFER_SIZE: Final = 256 << 10

Existing = Literal["error", "overwrite"]
"""What becomes of a file that has the name of a new one."""


class FileOutput:
    """Appends to an open file at offsets of its own.

    What a signal interrupts leaves at most bytes after the end that is known here: `rollback` cuts them off,
    and the next write goes over them.

    Args:
        name: Of the final file, for messages.
        file: The file, unbuffered.
        end: Offset at which to begin.
    """

    begin = 0
    _kept: int | None = None
    """Where a file ended that is continued."""

    def __init__(self, name: str, file: BinaryIO, end: int = 0) -> None:
        self.name = name
        self._file = file
        self._state = end, bytearray()
        """Bytes in the file, and those that wait; replaced together, so that no signal comes between."""

    def write(self, data: bytes) -> None:
        """See `Output.write`."""
        end, waiting = self._state
        if len(waiting) + len(data) < BUFFER_SIZE:
            waiting += data
            return
        self.flush()
        end, _ = self._state
        self._put(end, data)
        self._state = end + len(data), bytearray()

    def flush(self) -> None:
        """See `Output.flush`."""
        end, waiting = self._state
        if waiting:
            self._put(end, waiting)
            self._state = end + len(waiting), bytearray()

    def _put(self, offset: int, data: bytes | bytearray) -> None:
        # Not `_guarded`, which would cost two calls each time.
        try:
            self._file.seek(offset)
            write_all(self._file, data)
        except OSError as error:
            raise self._error(error) from error

    def rollback(self, size: int) -> bool:
        """See `Output.rollback`."""
        end, waiting = self._state
        try:
            self._file.truncate(min(end, size))
        except OSError:
            return False
        self._state = min(end, size), waiting[: max(size - end, 0)]
        return True

    def go_to(self, end: int) -> None:
        """Write from `end` on; what stands there now is cut off."""
        self._state = end, bytearray()
        self._kept = end

    def leave(self) -> None:
        """Close the file and leave it under the name that it has, with all that can be written."""
        with contextlib.suppress(OSError, TargetError):
            self.flush()
        with contextlib.suppress(OSError):
            self._file.close()

    def _sync(self) -> None:
        """Put all that was written on disk, and nothing more."""
        self.flush()
        # What a signal interrupted may have left more.
        self._file.truncate(self._state[0])
        sync(self._file)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn the system's errors into one that names the file."""
        try:
            yield
        except TargetError:
            raise
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> TargetError:
        return TargetError(f"cannot be written: {error.strerror or error}", source=self.name)


def refuse_existing(name: str | os.PathLike[str]) -> None:
    """Refuse a target that is there. Pipes and devices are written to, not replaced.

    Raises:
        TargetExistsError: There is a file of that name.
    """
    if os.path.isfile(name):
        raise TargetExistsError(
            "exists already; name another file, or say that it may be replaced "
            '(`--force`, existing="overwrite")',
            source=os.fspath(name),
        )


def refuse_same_file(name: str, target: object) -> None:
    """Refuse to write a file over the one that it is made from.

    Raises:
        TargetError: `target` is the file called `name`.
    """
    if (
        isinstance(target, str | os.PathLike)
        and os.path.isfile(target)
        and os.path.isfile(name)
        and os.path.samefile(name, target)
    ):
        raise TargetError("source and target are the same file", source=name)


def write_all(file: IO[bytes], data: bytes | bytearray | memoryview) -> None:
    """Write all of `data`: a raw file object, such as unbuffered standard output, takes less at a time."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def lock_file(file: BinaryIO, name: str) -> None:
    """Keep other processes from writing to a file, until it is closed.

    Raises:
        TargetError: One of them does; the file is closed.
    """
    try:
        lock_for_writing(file)
    except BlockingIOError as error:
        file.close()
        raise TargetError("another process is writing to it", source=name) from error
    except OSError as error:
        file.close()
        raise TargetError(f"cannot be locked: {error.strerror or error}", source=name) from error


def is_same(file: BinaryIO, path: str) -> bool:
    """Tell whether an open file is what a path leads to."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False


def give_name(temporary: str, target: str, name: str, existing: Existing) -> None:
    """Give a whole file its name.

    Raises:
        TargetExistsError: Another one got that name meanwhile.
        OSError: It cannot be named.
    """
    if existing == "overwrite":
        replace(temporary, target)
        return
    try:
        # Unlike `rename` it never replaces a file.
        os.link(temporary, target)
    except FileExistsError:
        raise TargetExistsError("another process made such a file meanwhile", source=name) from None
    except OSError:
        # There are file systems without links.
        refuse_existing(target)
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def refuse_place(name: str) -> None:
    """Refuse a target that no file can be made of: a folder, a URL, or a path without a name.

    Raises:
        TargetError: It is one.
    """
    if not name:
        raise TargetError("cannot be written: the path is empty", source=name)
    if "://" in name:
        raise TargetError("writing to URLs is not supported; write a file, and upload that", source=name)
    if os.path.isdir(name):
        raise TargetError("cannot be written: is a directory", source=name)


def mode_for(path: str) -> int:
    """Keep the mode of a file that is replaced; else what `open` would have given a new one."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def sync_folder(folder: str) -> None:
    """Put on disk which files a folder holds."""
    # Not every system lets a folder be opened; the files' own data are safe by then.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path leads to a pipe or a device."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
