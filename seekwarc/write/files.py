"""The safe steps of writing a file: write at known offsets, lock, put on disk, give it its name.

No file is replaced unless the caller asks for it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final, Literal

from seekwarc.errors import TargetError, TargetExistsError
from seekwarc.storage.expand import UNFINISHED
from seekwarc.storage.remote_url import is_url, shown_url
from seekwarc.system import HOLDS_OPEN_FILES, is_at, lock_for_writing, replace

if TYPE_CHECKING:
    from seekwarc.storage.upload import StoredObject

__all__ = [
    "Existing",
    "ExistingSeries",
    "give_name",
    "is_left",
    "is_special",
    "is_taken",
    "lock_file",
    "make_folder",
    "mode_for",
    "names_beside",
    "refuse_existing",
    "refuse_place",
    "refuse_same_file",
    "refuse_url",
    "remove",
    "remove_empty",
    "save_hint",
    "sync_folder",
    "unfinished_name",
    "unwritable",
]

Existing = Literal["error", "overwrite"]
"""What to do if a file has the name of a new one: refuse, or replace it."""

ExistingSeries = Literal["error", "number", "overwrite"]
"""What to do if files of a series exist: refuse to begin, start after them, or replace them."""

MAX_NAME: Final = 255
"""Maximum bytes of a file name on the file systems in use."""


def unwritable(error: OSError, name: str) -> TargetError:
    """Return the error of a file that the system does not let us write."""
    folder = os.path.dirname(name)
    if isinstance(error, FileNotFoundError) and folder and not os.path.isdir(folder):
        return TargetError(f"cannot be written: there is no folder {folder}; make it first", source=name)
    return TargetError(f"cannot be written: {error.strerror or error}", source=name)


def refuse_existing(name: str | os.PathLike[str]) -> None:
    """Refuse a target that exists. Pipes and devices are written to, not replaced."""
    if os.path.isfile(name):
        raise TargetExistsError(
            'exists already; name another file, or allow it to be replaced (`--force`, existing="overwrite")',
            source=os.fspath(name),
        )


def refuse_same_file(name: str, target: object) -> None:
    """Refuse to write a file over the one that it is made of."""
    if not isinstance(target, str | os.PathLike):
        return
    if is_at(os.stat(target), name) if os.path.isfile(target) else is_url(target) and target == name:
        raise TargetError("source and target are the same file", source=name)


def lock_file(file: BinaryIO, name: str) -> None:
    """Lock a file against other writers until it is closed."""
    try:
        lock_for_writing(file)
    except OSError as error:
        file.close()
        busy = isinstance(error, BlockingIOError)
        why = "another process is writing to it" if busy else f"cannot be locked: {error.strerror or error}"
        raise TargetError(why, source=name) from error


def is_left(path: str) -> bool:
    """Tell whether an unfinished file is there and no writer is writing to it."""
    try:
        with open(path, "r+b", 0) as file:
            lock_for_writing(file)
    except OSError as error:
        return not isinstance(error, FileNotFoundError | BlockingIOError)
    return True


def give_name(temporary: str, target: str, name: str, existing: Existing) -> None:
    """Give a finished file its name."""
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
    """Refuse a target that is a folder, a URL, or an empty path."""
    if not name:
        raise TargetError("cannot be written: the path is empty", source=name)
    refuse_url(name)
    if os.path.isdir(name):
        raise TargetError("cannot be written: is a directory", source=name)


def refuse_url(name: str) -> None:
    """Refuse a URL where files are made that a store cannot have, or many of them."""
    if is_url(name):
        raise TargetError("must be a path on this machine, not a URL", source=shown_url(name))


def make_folder(path: str) -> None:
    """Make a folder, and those that it is in, unless they exist."""
    refuse_url(path)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        why = "it is a file" if isinstance(error, FileExistsError) else error.strerror
        raise TargetError(f"the folder cannot be created: {why}", source=path) from error


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


def unfinished_name(path: str) -> str:
    """Return the path of a file while it is written."""
    folder, base = os.path.split(path)
    while len(os.fsencode(base)) > MAX_NAME - len(UNFINISHED):
        base = base[:-1]
    return os.path.join(folder, base + UNFINISHED)


def is_taken(name: str) -> bool:
    """Tell whether there is a file or an object of a name, or a file that will have it."""
    if is_url(name):
        return _stored(name).exists()
    return os.path.lexists(name) or os.path.exists(unfinished_name(name))


def names_beside(name: str) -> list[str]:
    """Return the names of everything in the folder of a file or an object, which may not exist."""
    if is_url(name):
        return _stored(name).siblings()
    try:
        return os.listdir(os.path.dirname(name) or ".")
    except OSError:
        return []


def remove(name: str) -> None:
    """Remove a file or an object, if that can be done."""
    with contextlib.suppress(OSError):
        if is_url(name):
            _stored(name).remove()
        else:
            os.unlink(name)


def remove_empty(path: str, process: int, opened: list[BinaryIO]) -> None:
    """Remove a file of this process that nothing was written to, unless another writer has it.

    Args:
        path: Its path.
        process: The process that made it.
        opened: The file, or nothing if it was interrupted while it was opened. A closed one is left as it is.
    """
    if os.getpid() == process:
        # `fileno` of a closed file raises ValueError.
        with contextlib.suppress(OSError, ValueError):
            if not opened:
                opened.append(open(path, "r+b", 0))  # noqa: SIM115
            lock_for_writing(opened[0])
            own = os.fstat(opened[0].fileno())
            if HOLDS_OPEN_FILES:
                opened[0].close()
            if not own.st_size and is_at(own, path):
                os.unlink(path)
            opened[0].close()


def _stored(url: str) -> StoredObject:
    from seekwarc.storage.upload import StoredObject

    return StoredObject(url)


def save_hint(name: str) -> str:
    """Return the advice on an unfinished file whose final name is `name`."""
    return (
        f'continue it with `seekwarc.open({os.path.basename(name)!r}, "a", repair=True)`, or save its whole '
        f"records with `seekwarc recover {unfinished_name(name)} {name}`"
    )
