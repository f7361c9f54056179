"""The safe steps of writing a file: write at known offsets, lock, put on disk, give it its name.

No file is replaced unless the caller asks for it.
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
    "unwritable",
    "write_all",
]

BUFFER_SIZE: Final = 256 << 10

Existing = Literal["error", "overwrite"]
"""What to do if a file has the name of a new one: refuse, or replace it."""


class FileOutput:
    """Appends to an open file, and knows where its valid part ends.

    Python raises KeyboardInterrupt between any two lines, also after bytes reached the file and before they
    were counted. So every write seeks to the end that is known here: whatever an interrupted write left after
    it is overwritten by the next one, or cut off by `rollback` and by `_sync`.
    """

    begin = 0
    _kept: int | None = None
    """Where a file that is continued ended before; None for a new one."""

    def __init__(self, name: str, file: BinaryIO, end: int = 0) -> None:
        self.name = name
        self._file = file
        self._state = end, bytearray()
        """Size of the file, and bytes to write after it; set together, so that no signal comes between."""

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
        """Write from offset `end` on; bytes after it are dropped."""
        self._state = end, bytearray()
        self._kept = end

    def leave(self) -> None:
        """Write what can be written, close the file, and let it keep its present name."""
        with contextlib.suppress(OSError, TargetError):
            self.flush()
        with contextlib.suppress(OSError):
            self._file.close()

    def _sync(self) -> None:
        """Put the file on disk, cut off after its valid part."""
        self.flush()
        self._file.truncate(self._state[0])
        sync(self._file)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except TargetError:
            raise
        except OSError as error:
            raise unwritable(error, self.name) from error


def unwritable(error: OSError, name: str) -> TargetError:
    """Return the error of a file that the system does not let us write."""
    return TargetError(f"cannot be written: {error.strerror or error}", source=name)


def refuse_existing(name: str | os.PathLike[str]) -> None:
    """Refuse a target that exists. Pipes and devices are written to, not replaced.

    Raises:
        TargetExistsError: A file has that name.
    """
    if os.path.isfile(name):
        raise TargetExistsError(
            'exists already; name another file, or allow it to be replaced (`--force`, existing="overwrite")',
            source=os.fspath(name),
        )


def refuse_same_file(name: str, target: object) -> None:
    """Refuse to write a file over the one that it is made of.

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
    """Write all of `data`: one `write` of a raw file, such as unbuffered standard output, may take less."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def lock_file(file: BinaryIO, name: str) -> None:
    """Lock a file against other writers until it is closed.

    Raises:
        TargetError: Another process has locked it, or it cannot be locked; the file is then closed.
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
    """Tell whether a path leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except OSError:
        return False


def give_name(temporary: str, target: str, name: str, existing: Existing) -> None:
    """Give a finished file its name.

    Raises:
        TargetExistsError: Another file got that name meanwhile.
        OSError: It cannot be renamed.
    """
    if existing == "overwrite":
        replace(temporary, target)
        return
    try:
        # Unlike `rename`, `link` never replaces a file.
        os.link(temporary, target)
    except FileExistsError:
        raise TargetExistsError("another process made a file of this name meanwhile", source=name) from None
    except OSError:
        # Some file systems have no links.
        refuse_existing(target)
        os.rename(temporary, target)
    else:
        os.unlink(temporary)


def refuse_place(name: str) -> None:
    """Refuse a target that is a folder, a URL, or an empty path.

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
    """Return the mode of the file that is replaced, or else the one that `open` gives a new file."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def sync_folder(folder: str) -> None:
    """Put the names in a folder on disk."""
    # Not every system lets a folder be opened; the content of the files is on disk by then.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path leads to a pipe or a device."""
    return os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
