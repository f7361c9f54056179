"""Files that are visible while they are written, and stay if the writer does not finish them."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import BinaryIO, Final

from seekwarc.errors import TargetError, TargetExistsError
from seekwarc.system import HOLDS_OPEN_FILES, set_mode
from seekwarc.write.files import (
    Existing,
    FileOutput,
    give_name,
    is_same,
    lock_file,
    mode_for,
    refuse_existing,
    refuse_place,
    sync_folder,
    unwritable,
)

__all__ = ["UNFINISHED", "OpenOutput", "save_hint", "unfinished_name"]

UNFINISHED: Final = ".open"
"""Ending of a file's name while it is written, as crawlers use it."""
MAX_NAME: Final = 255
"""Maximum bytes of a file name on the file systems in use."""


class OpenOutput(FileOutput):
    """A file that is visible while it is written: "a.warc.zst" is "a.warc.zst.open" until it is finished.

    It is locked against other writers. If the process ends before `commit` or `abort`, the file stays.

    Args:
        path: The final path.
        existing: Whether a file of that name, or an unfinished one of an earlier writer, is replaced or
            refused.
        resume: Continue the unfinished file of an earlier writer.
        made: A list that the output is added to before its file is made, so that the caller can abort it
            if the constructor is interrupted.

    Attributes:
        unfinished: Its path while it is written.

    Raises:
        TargetExistsError: The file exists, or an earlier writer left an unfinished one.
        TargetError: The folder is missing or cannot be written to, or another process writes to the file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        existing: Existing = "error",
        resume: bool = False,
        made: list[OpenOutput] | None = None,
    ) -> None:
        name = os.fspath(path)
        self._target = os.path.realpath(name)
        self._existing = existing
        self.name = name
        self.spool_directory: str | None = os.path.dirname(self._target)
        self.unfinished = unfinished_name(self._target)
        refuse_place(name)
        if existing == "error":
            refuse_existing(name)
        self._opened: BinaryIO | None = None
        if made is not None:
            made.append(self)
        self._opened = self._resumed() if resume else self._new()
        super().__init__(name, self._opened)

    def _new(self) -> BinaryIO:
        """Make the file; an existing one is replaced if that is allowed and no other process has a lock."""
        file: BinaryIO
        try:
            file = open(self.unfinished, "xb", 0, opener=self._open_new)  # noqa: SIM115
        except FileExistsError:
            file = self._resumed()
            if self._existing == "error":
                file.close()
                raise TargetExistsError(
                    f"a writer that was stopped left {self.unfinished}; {save_hint(self.name)}",
                    source=self.name,
                ) from None
            file.truncate(0)
        except OSError as error:
            raise unwritable(error, self.name) from error
        else:
            lock_file(file, self.name)
        return file

    def _open_new(self, path: str, flags: int) -> int:
        # A private file stays private while its successor is written.
        mode = stat.S_IMODE(os.stat(self._target).st_mode) if os.path.exists(self._target) else 0o666
        return os.open(path, flags, mode)

    def _resumed(self) -> BinaryIO:
        try:
            file = open(self.unfinished, "r+b", 0)  # noqa: SIM115
        except OSError as error:
            raise unwritable(error, self.unfinished) from error
        lock_file(file, self.name)
        if not is_same(file, self.unfinished):
            # Its writer finished or removed it between `open` and the lock.
            file.close()
            raise TargetError("another process is writing to it", source=self.name)
        return file

    def commit(self) -> None:
        """See `Output.commit`. The file is put on disk first; if it cannot be renamed, it stays as it is."""
        if self._file.closed:
            return
        with self._guarded():
            self._sync()
            # After an interrupted `commit` it may have its name already, or both names.
            has_name = is_same(self._file, self._target)
            is_unfinished = is_same(self._file, self.unfinished)
            if not has_name:
                set_mode(self._file, mode_for(self._target))
            if HOLDS_OPEN_FILES:
                self._file.close()
            if not has_name:
                give_name(self.unfinished, self._target, self.name, self._existing)
            elif is_unfinished:
                os.unlink(self.unfinished)
            sync_folder(os.path.dirname(self._target))
            self._file.close()

    def abort(self) -> None:
        """See `Output.abort`: a file that was resumed is as it was before."""
        if self._opened is None or self._opened.closed:
            return
        with contextlib.suppress(OSError):
            if self._kept is not None:
                self._file.truncate(self._kept)
            elif is_same(self._opened, self.unfinished):
                if HOLDS_OPEN_FILES:
                    self._opened.close()
                os.unlink(self.unfinished)
        with contextlib.suppress(OSError):
            self._opened.close()


def unfinished_name(path: str) -> str:
    """Return the path of a file while it is written."""
    folder, base = os.path.split(path)
    while len(os.fsencode(base)) > MAX_NAME - len(UNFINISHED):
        base = base[:-1]
    return os.path.join(folder, base + UNFINISHED)


def save_hint(name: str) -> str:
    """Return the advice on an unfinished file whose final name is `name`."""
    return (
        f'continue it with `seekwarc.open({os.path.basename(name)!r}, "a", repair=True)`, or save its whole '
        f"records with `seekwarc recover {unfinished_name(name)} {name}`"
    )
