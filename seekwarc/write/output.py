"""Where a new file is written, and how it comes by its name.

Three kinds of places, for three kinds of work:

- `PathOutput`: a hidden file that gets its name when it is whole, or is removed. For what makes a file of
  other files, and can do so again.
- `unfinished.OpenOutput`: a file that people can see, "crawl.warc.zst.open", locked while it is written. It
  outlives a crash, for what is in it exists nowhere else: it can be continued, or saved.
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
    write_all,
)

__all__ = ["FileObjectOutput", "Output", "PathOutput", "committed", "open_output"]


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

    def flush(self) -> None:
        """Hand everything to the system, so that it outlives this process."""

    def rollback(self, size: int) -> bool:
        """Cut the output back to `size` bytes; False where that cannot be done."""

    def commit(self) -> None:
        """Make what was written the final file."""

    def abort(self) -> None:
        """Leave nothing under the final name."""


class PathOutput(FileOutput):
    """A hidden file beside the path, which gets that name when it is whole.

    It is removed however the output ends, unless the process is killed.

    Args:
        path: The path.
        existing: Whether a file of that name is replaced, or refused.
        folder: Where the hidden file is, on the same file system; beside the path if None.

    Raises:
        TargetExistsError: There is such a file.
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
        # Through a symbolic link it is the file that is replaced, not the link.
        self._target = os.path.realpath(name)
        self._existing = existing
        beside, base = os.path.split(self._target)
        folder = beside if folder is None else folder
        self._own: os.stat_result | None = None
        """What the whole file is known by, whatever its name."""
        self.spool_directory: str | None = folder
        refuse_place(name)
        if existing == "error":
            refuse_existing(name)
        self._temporary = os.path.join(folder, f".{base[:180]}.{os.urandom(8).hex()}.partial")
        # Before the file is there: a signal may come between any two lines, here and in the callers.
        opened: list[BinaryIO] = []
        self._take_away = weakref.finalize(self, _take_away, self._temporary, os.getpid(), opened)
        try:
            file = open(self._temporary, "xb", 0, opener=_open_private)  # noqa: SIM115
        except OSError as error:
            raise TargetError(f"cannot be written: {error.strerror}", source=name) from error
        opened.append(file)
        super().__init__(name, file)

    def reopen(self) -> BinaryIO:
        """Open what was written so far to read it back; the caller closes it."""
        self.flush()
        with self._guarded():
            return open(self._temporary, "rb")

    def seal(self) -> None:
        """Put the whole file on disk and close it. `commit` then gives it its name."""
        if self._file.closed:
            return
        with self._guarded():
            self._sync()
            set_mode(self._file, mode_for(self._target))
            self._own = os.fstat(self._file.fileno())
            self._file.close()

    def commit(self) -> None:
        """See `Output.commit`: on disk first, then under its name."""
        try:
            with self._guarded():
                self.seal()
                if self._is_named:
                    return
                give_name(self._temporary, self._target, self.name, self._existing)
                self._take_away.detach()
                sync_folder(os.path.dirname(self._target))
        except TargetError:
            self.abort()
            raise

    def abort(self) -> None:
        """See `Output.abort`."""
        with contextlib.suppress(OSError):
            self._file.close()
        self._take_away()

    @property
    def _is_named(self) -> bool:
        try:
            return self._own is not None and os.path.samestat(self._own, os.stat(self._target))
        except OSError:
            return False

    def abort_committed(self) -> None:
        """Remove the final file, where `commit` has made it."""
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
        """Bytes that went into it; -1 where a write failed, so that it is not known."""
        # A pipe says so, or is silent about it: neither can be rolled back.
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
        """See `Output.abort`: what went into the object cannot be taken back."""
        if self._owned:
            with contextlib.suppress(OSError):
                self._file.close()

    def _guarded(self, step: Callable[[], object]) -> None:
        try:
            step()
        except OSError as error:
            if is_broken_pipe(error):
                raise
            raise TargetError(f"cannot be written: {error.strerror or error}", source=self.name) from error


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _take_away(path: str, process: int, opened: list[BinaryIO]) -> None:
    # A process that was forked off has the same object, but not the file.
    if os.getpid() == process:
        with contextlib.suppress(OSError):
            # Windows removes no file that is open.
            for file in opened:
                file.close()
            os.unlink(path)


def open_output(
    target: str | os.PathLike[str] | BinaryIO | Output, *, existing: Existing = "overwrite"
) -> Output:
    """Make an output of a path or a binary file object; an output stays what it is.

    Args:
        target: A path gets a `PathOutput`; one of a pipe or a device is opened.
        existing: Whether a file that is there is replaced, or refused.

    Raises:
        TargetExistsError: There is a file of that name.
        TargetError: The path cannot be written to.
        TypeError: `target` is neither.
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
    """Open an output as `open_output` does; commit it when the block ends, abort it when that raises."""
    output = open_output(target, existing=existing)
    try:
        yield output
        output.commit()
    except BaseException:
        output.abort()
        raise
