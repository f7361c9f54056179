"""Files that can be seen while they are written, and outlive the writer that did not finish them."""

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
)

__all__ = ["UNFINISHED", "OpenOutput", "save_hint", "unfinished_name"]

UNFINISHED: Final = ".open"
"""What the name of a file ends in while it is written, as crawlers have it."""
MAX_NAME: Final = 255
"""Bytes of a file's name, on every file system in use."""


class OpenOutput(FileOutput):
    """A file that can be seen while it is written: "a.warc.zst" is "a.warc.zst.open" until it is whole.

    No other process writes to it meanwhile. Where this one ends before `commit` or `abort`, the file stays.

    Args:
        path: The final path.
        existing: Whether a file of that name, and what an earlier writer left, is replaced or refused.
        resume: Go on with what an earlier writer left.
        made: Where the output is noted before its file is made, so that it can be aborted whatever
            interrupts the making.

    Attributes:
        unfinished: Its path until then.

    Raises:
        TargetExistsError: There is such a file, or one that an earlier writer left.
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
        """Make the file; one that is there must be nobody's, and may be replaced."""
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
            raise TargetError(f"cannot be written: {error.strerror}", source=self.name) from error
        else:
            lock_file(file, self.name)
        return file

    def _open_new(self, path: str, flags: int) -> int:
        # What is private stays so while its successor is written.
        mode = stat.S_IMODE(os.stat(self._target).st_mode) if os.path.exists(self._target) else 0o666
        return os.open(path, flags, mode)

    def _resumed(self) -> BinaryIO:
        try:
            file = open(self.unfinished, "r+b", 0)  # noqa: SIM115
        except OSError as error:
            raise TargetError(f"cannot be written: {error.strerror}", source=self.unfinished) from error
        lock_file(file, self.name)
        if not is_same(file, self.unfinished):
            # It got its name, or was removed, between these two steps.
            file.close()
            raise TargetError("another process is writing to it", source=self.name)
        return file

    def commit(self) -> None:
        """See `Output.commit`: on disk first, then under its name. Where that fails the file stays."""
        if self._file.closed:
            return
        with self._guarded():
            self._sync()
            # Interrupted between the two, it has both names.
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
        """See `Output.abort`: what was resumed stays as it was found."""
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
    """Return the path that a file has while it is written."""
    folder, base = os.path.split(path)
    while len(os.fsencode(base)) > MAX_NAME - len(UNFINISHED):
        base = base[:-1]
    return os.path.join(folder, base + UNFINISHED)


def save_hint(name: str) -> str:
    """Return what to do about the unfinished file that was to be called `name`."""
    return (
        f'continue it with `seekwarc.open({os.path.basename(name)!r}, "a", repair=True)`, or save what is '
        f"whole with `seekwarc recover {unfinished_name(name)} {name}`"
    )
