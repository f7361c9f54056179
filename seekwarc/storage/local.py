"""Sources on this machine that can be read at any offset: a local file, bytes in memory."""

from __future__ import annotations

import os
import threading
from functools import partial

from seekwarc.errors import SourceChangedError, SourceError
from seekwarc.storage.openfiles import OPEN_FILES
from seekwarc.storage.plan import LOCAL
from seekwarc.storage.source import RangeSource, SmallReads, read_fully
from seekwarc.system import read_at, read_into_at

__all__ = ["BytesSource", "LocalFileSource"]


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
    modification time has changed. So does a source whose file was closed because too many were open; see
    `seekwarc.storage.openfiles`.

    Args:
        path: The file.

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
        self._descriptor, self.size, self._modified = self._open(self.name)
        OPEN_FILES.add(self)

    def __getstate__(self) -> tuple[str, str, int, int]:
        return self.name, self._path, self.size, self._modified

    def __setstate__(self, state: tuple[str, str, int, int]) -> None:
        self.name, self._path, self.size, self._modified = state
        self._lock = threading.Lock()
        self._closed = False
        self._descriptor = None

    def _open(self, path: str) -> tuple[_Descriptor, int, int]:
        try:
            descriptor = _Descriptor(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
        except OSError as error:
            raise SourceError(f"cannot be opened: {error.strerror}", source=self.name) from error
        status = os.fstat(descriptor.number)
        return descriptor, status.st_size, status.st_mtime_ns

    def _reopen(self) -> _Descriptor:
        with self._lock:
            if self._closed:
                raise SourceError("the archive is closed", source=self.name)
            if self._descriptor is None:
                descriptor, *found = self._open(self._path)
                if found != [self.size, self._modified]:
                    raise SourceChangedError(
                        "the file was changed or replaced since the archive was opened; open it again",
                        source=self.name,
                    )
                self._descriptor = descriptor
                OPEN_FILES.add(self)
                return descriptor
            return self._descriptor

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`.

        Raises:
            SourceChangedError: The file was opened again, and is no longer the one that was opened before.
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

    def small_reads(self) -> SmallReads:
        """See `RangeSource.small_reads`; it takes a fraction of the time of `read`."""
        descriptor = self._descriptor or self._reopen()
        return SmallReads(partial(read_at, descriptor.number), descriptor)

    def read_into(self, start: int, out: memoryview) -> int:
        """See `RangeSource.read_into`."""
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


class BytesSource(RangeSource):
    """Bytes in memory."""

    def __init__(self, data: bytes, name: str = "<bytes>") -> None:
        self.name = name
        self.size: int = len(data)
        self._data = data

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`."""
        return self._data[start:stop]

    def read_into(self, start: int, out: memoryview) -> int:
        """See `RangeSource.read_into`."""
        data = memoryview(self._data)[start : start + len(out)]
        out[: len(data)] = data
        return len(data)
