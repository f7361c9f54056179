"""Sources on this machine that can be read at any offset: a local file, bytes in memory."""

from __future__ import annotations

import io
import os
import re
import stat
import threading
from functools import partial
from typing import IO, Final
from weakref import WeakKeyDictionary

from seekwarc.compiling import override
from seekwarc.errors import SourceChangedError, SourceError, SourceNotFoundError
from seekwarc.storage.plan import LOCAL
from seekwarc.storage.source import RangeSource, SmallReads, closed_error, read_fully
from seekwarc.storage.streams import OpenedElsewhere
from seekwarc.system import READS_AT, is_at, max_open_files, read_at, read_into_at

__all__ = ["BytesSource", "LocalFileSource", "OpenFiles", "OpenedFileSource", "is_plain_file"]

SHARE: Final = 4
"""Archives may use 1/SHARE of the descriptors that a process may have."""

_SCHEME = re.compile(r"(https?|s3|gs|az|abfss?)(?::/?|//?)(?=[^/:])")
"""How a misspelt URL begins."""


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
    `OpenFiles`), and if it can tell that the file was written over.
    """

    size: int
    policy = LOCAL
    _closed = False
    _descriptor: _Descriptor | None = None
    _status: os.stat_result | None = None

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # `os.scandir` gives paths of bytes where it is given one.
        self.name = os.fsdecode(path)
        # A copy may be read in another working directory.
        self._path = os.path.abspath(self.name)
        self._begin(self._open(self.name))
        OPEN_FILES.add(self)

    def _begin(self, descriptor: _Descriptor) -> None:
        self._lock = threading.Lock()
        self._descriptor = descriptor
        self._status = status = os.fstat(descriptor.number)
        self.size, self._modified = status.st_size, status.st_mtime_ns

    def __getstate__(self) -> tuple[str, str, int, int]:
        return self.name, self._path, self.size, self._modified

    def __setstate__(self, state: tuple[str, str, int, int]) -> None:
        self.name, self._path, self.size, self._modified = state
        self._lock = threading.Lock()

    @property
    @override
    def version(self) -> str:
        return f"{self.size} {self._modified}"

    @override
    def beside(self, suffix: str) -> LocalFileSource | None:
        path = self._path + suffix
        return LocalFileSource(path) if os.path.isfile(path) else None

    def _open(self, path: str) -> _Descriptor:
        try:
            return _Descriptor(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
        except FileNotFoundError as error:
            meant = _SCHEME.match(self.name)
            hint = f"; did you mean {meant[1]}://{self.name[meant.end() :]}?" if meant is not None else ""
            raise SourceNotFoundError(
                f"cannot be opened: {error.strerror}{hint}", source=self.name
            ) from error
        except OSError as error:
            raise SourceError(f"cannot be opened: {error.strerror}", source=self.name) from error
        except ValueError as error:
            # A name from a request may hold a null byte.
            raise SourceError(f"cannot be opened: {error}", source=self.name) from error

    def _reopen(self) -> _Descriptor:
        with self._lock:
            if self._closed:
                raise closed_error(self.name)
            if self._descriptor is None:
                descriptor = self._open(self._path)
                self._check(os.fstat(descriptor.number))
                self._descriptor = descriptor
                OPEN_FILES.add(self)
                return descriptor
            return self._descriptor

    @override
    def read(self, start: int, stop: int) -> bytes:
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
        if len(data) < stop - start:
            # What is missing would be taken for the end of the file, and hide the records after it.
            self._check(os.fstat(descriptor.number))
        return data

    def check_unchanged(self) -> None:
        """See `RangeSource.check_unchanged`.

        A file that another takes the place of stays as it is for those who have it open. One that is written
        over, as `cp` and `rsync --inplace` do, does not.
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
            is_same = _about(before) != _about(status) or not is_at(status, self._path)
        if not is_same:
            raise SourceChangedError(
                "the file was changed or replaced since the archive was opened; open it again",
                source=self.name,
            )
        self._status = status

    @override
    def small_reads(self) -> SmallReads:
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
        if filled < min(len(out), self.size - start):
            self._check(os.fstat(descriptor.number))
        return filled

    @override
    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._descriptor = None
        OPEN_FILES.remove(self)

    def rest(self) -> None:
        """Close the file until the next read; see `OpenFiles`."""
        self._descriptor = None


class OpenFiles:
    """The sources that have their files open, the oldest first.

    Goal: thousands of archives can be in use together and still leave file descriptors for everything else
    that a process opens. A source registers when it opens its file. When there are too many, the file that
    was opened first is closed; its source opens it again on the next read, and checks that it is the same
    file. Below that number, no file is closed before its source is.

    Worst case: garbage is collected within a call, and with it a file object that closes its source. So the
    lock is reentrant, and no step depends on what the one before it found.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._limit = limit
        self._lock = threading.RLock()
        self._opened: WeakKeyDictionary[LocalFileSource, None] = WeakKeyDictionary()

    def add(self, source: LocalFileSource) -> None:
        """Register a source that has opened its file; close the oldest files if there are too many."""
        with self._lock:
            if self._limit is None:
                self._limit = max(max_open_files() // SHARE, 1)
            self._opened[source] = None
            surplus = len(self._opened) - self._limit
            oldest = self._opened.keyrefs()[:surplus] if surplus > 0 else []
            resting = [each for reference in oldest if (each := reference()) is not None]
            for each in resting:
                self._opened.pop(each, None)
        for each in resting:
            each.rest()

    def remove(self, source: LocalFileSource) -> None:
        """Forget a source, which has closed its file for good."""
        with self._lock:
            self._opened.pop(source, None)


OPEN_FILES: Final = OpenFiles()
"""The open files of this process."""


class OpenedFileSource(OpenedElsewhere, LocalFileSource):
    """A plain file that the caller has open, and may close: it is read by a descriptor of its own."""

    def __init__(self, file: IO[bytes]) -> None:
        self.name = str(file.name)
        self._path = os.path.abspath(self.name)
        self._begin(_Descriptor(os.dup(file.fileno())))


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
