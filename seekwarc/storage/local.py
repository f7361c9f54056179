"""Sources on this machine that can be read at any offset: a local file, bytes in memory."""

from __future__ import annotations

import io
import os
import stat
import threading
from functools import partial
from typing import IO

from seekwarc.compiling import override
from seekwarc.errors import SourceChangedError, SourceError
from seekwarc.storage.openfiles import OPEN_FILES
from seekwarc.storage.plan import LOCAL
from seekwarc.storage.source import RangeSource, SmallReads, read_fully
from seekwarc.storage.streams import OpenedElsewhere
from seekwarc.system import READS_AT, read_at, read_into_at

__all__ = ["BytesSource", "LocalFileSource", "OpenedFileSource", "is_plain_file"]


class _Descriptor:
    """An open file descriptor, closed once its source is closed and the last read that uses it is done.

    A descriptor is only a number, which the system gives to the next file that is opened. If one thread
    closed it while another was about to read, that read would return bytes of some other file, and a lock
    around every read would be slow. So each read holds a reference to this object; the last one closes it.
    """

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class LocalFileSource(RangeSource):
    """A file on a local disk, read with positioned reads: no shared file position and no lock.

    A copy, or an unpickled source, opens the file again when it is first read, and refuses it if its size or
    modification time has changed. So does a source whose file was closed because too many were open (see
    `seekwarc.storage.openfiles`), and if it can tell that the file was written over.

    Raises:
        SourceError: The file cannot be opened.
    """

    size: int
    policy = LOCAL

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        # A copy may be read in another working directory.
        self._path = os.path.abspath(path)
        self._lock = threading.Lock()
        self._closed = False
        self._descriptor: _Descriptor | None = None
        self._descriptor, status = self._open(self.name)
        self._status: os.stat_result | None = status
        self.size, self._modified = status.st_size, status.st_mtime_ns
        OPEN_FILES.add(self)

    def __getstate__(self) -> tuple[str, str, int, int]:
        return self.name, self._path, self.size, self._modified

    def __setstate__(self, state: tuple[str, str, int, int]) -> None:
        self.name, self._path, self.size, self._modified = state
        self._lock = threading.Lock()
        self._closed = False
        self._descriptor = None
        self._status = None

    @property
    def version(self) -> str:
        """See `RangeSource.version`: size and modification time."""
        return f"{self.size} {self._modified}"

    def _open(self, path: str) -> tuple[_Descriptor, os.stat_result]:
        try:
            descriptor = _Descriptor(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
        except OSError as error:
            raise SourceError(f"cannot be opened: {error.strerror}", source=self.name) from error
        except ValueError as error:
            # A name from a request may hold a null byte.
            raise SourceError(f"cannot be opened: {error}", source=self.name) from error
        return descriptor, os.fstat(descriptor.number)

    def _reopen(self) -> _Descriptor:
        with self._lock:
            if self._closed:
                raise SourceError("the archive is closed", source=self.name)
            if self._descriptor is None:
                descriptor, status = self._open(self._path)
                self._check(status)
                self._descriptor = descriptor
                OPEN_FILES.add(self)
                return descriptor
            return self._descriptor

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`.

        Raises:
            SourceChangedError: The file was opened again, and is not the one that was opened before.
        """
        descriptor = self._descriptor or self._reopen()
        # Systems refuse large offsets, and allocate all that is asked for: no read goes beyond the end.
        stop = min(stop, self.size)
        if start >= stop:
            return b""
        try:
            data = read_at(descriptor.number, stop - start, start)
            if len(data) < stop - start:
                # One call reads at most 2 GiB. Or the file was cut, and the next call returns nothing.
                data += read_fully(
                    lambda begin, end: read_at(descriptor.number, end - begin, begin),
                    start + len(data),
                    stop,
                )
        except OSError as error:
            raise SourceError(f"cannot be read: {error}", source=self.name, offset=start) from error
        return data

    def check_unchanged(self) -> None:
        """See `RangeSource.check_unchanged`.

        A file that another takes the place of stays as it is for those who have it open. One that is written
        over, as `cp` and `rsync --inplace` do, does not.

        Raises:
            SourceChangedError: The file has another size or modification time than when it was opened; or it
                was written over, and was given the same ones again.
        """
        descriptor = self._descriptor or self._reopen()
        self._check(os.fstat(descriptor.number))

    def _check(self, status: os.stat_result) -> None:
        """Compare what the system says of the file now with what it said before.

        A file that was written over may have its old modification time again: `cp -p` and `rsync -t` set it.
        Its time of change (ctime) cannot be set. But that also changes with mode, owner and links of a file,
        and when it is renamed, so it counts only where none of these explains it. Other machines may state
        other times of the same file: a copy of the source in another process begins without one. On Windows
        st_ctime is the time of creation, which stays.
        """
        before = self._status
        is_same = (status.st_size, status.st_mtime_ns) == (self.size, self._modified)
        if is_same and before is not None and before.st_ctime_ns != status.st_ctime_ns:
            is_same = _about(before) != _about(status) or not self._is_in_place(status)
        if not is_same:
            raise SourceChangedError(
                "the file was changed or replaced since the archive was opened; open it again",
                source=self.name,
            )
        self._status = status

    def _is_in_place(self, status: os.stat_result) -> bool:
        """Return whether the file still has the name that it was opened by."""
        try:
            return os.path.samestat(os.stat(self._path), status)
        except OSError:
            return False

    def small_reads(self) -> SmallReads:
        """See `RangeSource.small_reads`; it takes a fraction of the time of `read`."""
        descriptor = self._descriptor or self._reopen()
        return SmallReads(partial(read_at, descriptor.number), descriptor)

    @override
    def read_into(self, start: int, out: memoryview) -> int:
        descriptor = self._descriptor or self._reopen()
        filled = 0
        try:
            while filled < len(out) and start + filled < self.size:
                count = read_into_at(descriptor.number, out[filled:], start + filled)
                if not count:
                    break
                filled += count
        except OSError as error:
            raise SourceError(f"cannot be read: {error}", source=self.name, offset=start) from error
        return filled

    def close(self) -> None:
        """See `RangeSource.close`. Reads that other threads have begun are finished first."""
        with self._lock:
            self._closed = True
            self._descriptor = None
        OPEN_FILES.remove(self)

    def rest(self) -> None:
        """Close the file until the next read; see `OpenFiles`."""
        self._descriptor = None


class OpenedFileSource(OpenedElsewhere, LocalFileSource):
    """A file on a local disk that the caller has open. Its position stays where it is.

    The source has a descriptor of its own: it can be read after the caller has closed the file.

    Args:
        file: The file, for which `is_plain_file` is true.

    Raises:
        OSError: There are too many open files.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.name = str(file.name)
        self._lock = threading.Lock()
        self._closed = False
        self._path = os.path.abspath(self.name)
        self._descriptor = _Descriptor(os.dup(file.fileno()))
        self._status = os.fstat(file.fileno())
        self.size, self._modified = self._status.st_size, self._status.st_mtime_ns


def is_plain_file(file: object) -> bool:
    """Return whether a file object reads a file on a local disk, all that is in it and nothing else."""
    raw = file.raw if type(file) is io.BufferedReader else file
    # A class that derives from these may read something else, and a file that is written too has some of its
    # bytes in memory.
    if not READS_AT or type(raw) is not io.FileIO or raw.closed or raw.mode != "rb":
        return False
    return stat.S_ISREG(os.fstat(raw.fileno()).st_mode)


def _about(status: os.stat_result) -> tuple[int, ...]:
    """Return what is changed of a file without writing to it; of two files the first differs."""
    return status.st_dev, status.st_ino, status.st_mode, status.st_uid, status.st_gid, status.st_nlink


class BytesSource(RangeSource):
    """Bytes in memory."""

    def __init__(self, data: bytes, name: str = "<bytes>") -> None:
        self.name = name
        self.size: int = len(data)
        self._data = data

    @override
    def read(self, start: int, stop: int) -> bytes:
        return self._data[start:stop]

    @override
    def read_into(self, start: int, out: memoryview) -> int:
        data = memoryview(self._data)[start : start + len(out)]
        out[: len(data)] = data
        return len(data)
