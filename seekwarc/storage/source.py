"""Sources of stored bytes: a local file, bytes in memory, a binary file object, a pipe.

A source answers one question: which bytes stand in [start, stop)? Everything above asks nothing else.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import IO, BinaryIO, Final, NamedTuple, NoReturn, Protocol, cast, runtime_checkable

from seekwarc.errors import SourceChangedError, SourceError
from seekwarc.storage.openfiles import OPEN_FILES
from seekwarc.storage.plan import LOCAL, UNKNOWN, ReadPolicy
from seekwarc.system import read_at, read_into_at

__all__ = [
    "BufferedSource",
    "BytesSource",
    "FileObjectSource",
    "LocalFileSource",
    "PipeSource",
    "RangeSource",
    "ReadableStream",
    "RemoteObject",
    "SmallReads",
    "Stats",
    "as_buffered",
    "as_remote",
    "open_source",
    "policy_of",
    "read_some",
]

PIPE_STEP: Final = 1 << 20
"""How much of a pipe is thrown away at a time where nobody asked for it."""


@runtime_checkable
class RangeSource(Protocol):
    """What a place of stored bytes must be able to do. Methods may be called from any thread.

    A source may say by an attribute `policy`, a `ReadPolicy`, how it wants to be read.
    """

    @property
    def name(self) -> str:
        """What error messages call the source."""

    @property
    def size(self) -> int | None:
        """Bytes in all, or None where only the end will tell (a pipe)."""

    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes in [start, stop), fewer only where the source ends before `stop`.

        Raises:
            SourceError: The bytes cannot be had.
        """

    def close(self) -> None:
        """Give back what the source holds open. Closing twice does nothing."""


class BufferedSource(RangeSource, Protocol):
    """A source that can fill a buffer of the caller's, which saves making one for each read."""

    def read_into(self, start: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `start` on and return how many came, fewer only at the end.

        Raises:
            SourceError: The bytes cannot be had.
        """


class RemoteObject(RangeSource, Protocol):
    """A source far away: each answer takes a while, and what it holds may be replaced by something else.

    Nothing is asked before the first read, and that tells what the object is. Asking for `size` is a read.
    """

    @property
    def known_size(self) -> int | None:
        """Bytes in all, None before the first answer."""

    @property
    def identity(self) -> str | None:
        """Names this version of this object; None as long as, or where, it cannot be told from others."""

    def read_end(self, count: int) -> tuple[int, bytes]:
        """Return the last `count` bytes and the offset that they start at."""


def _read_fully(read: Callable[[int, int], bytes], start: int, stop: int) -> bytes:
    """Call `read` again after every short answer, until [start, stop) is whole or the end is reached."""
    data = read(start, stop)
    if len(data) >= stop - start or not data:
        return data
    pieces = [data]
    position = start + len(data)
    while position < stop and (data := read(position, stop)):
        pieces.append(data)
        position += len(data)
    return b"".join(pieces)


class ReadableStream(Protocol):
    """What bytes can be read from in order: any binary file object."""

    def read(self, size: int, /) -> bytes | None:
        """Return up to `size` bytes, nothing at the end."""


def read_some(file: ReadableStream, size: int) -> bytes:
    """Read once, up to `size` bytes; nothing at the end.

    Raises:
        BlockingIOError: The file does not block and has nothing ready.
    """
    if type(file) is io.BufferedReader:
        # Its `read` waits for all of `size` and runs no signal handler between two pieces: Ctrl-C would be
        # heard when the next piece comes, if ever.
        return file.read1(size)
    data = file.read(size)
    if data is None:
        raise BlockingIOError("the file object is in non-blocking mode and has nothing ready")
    return data


class _Descriptor:
    """An open file descriptor, closed once its source is and the last read that uses it is done.

    A read keeps a reference to it. So its number cannot be given to another file while a read in some other
    thread is about to use it.
    """

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class SmallReads(NamedTuple):
    """A way to make very many small reads in a row."""

    read: Callable[[int, int], bytes]
    """Takes size and offset, and may return fewer bytes than that anywhere. Raises OSError."""
    keeps: object
    """Keeps the file open, and must be kept as long as `read` is used."""


class LocalFileSource:
    """A file on a local disk, read with positioned reads: no shared file position and no lock.

    A copy, or what comes out of a pickle, has a descriptor of its own. It opens the file when it is first
    read, and refuses one of another size or time of modification. So does one of very many that are open
    together, whose file was closed meanwhile; see `seekwarc.storage.openfiles`.

    Args:
        path: The file.

    Raises:
        SourceError: It cannot be opened.
    """

    policy = LOCAL

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        # A copy may be opened from within another working directory.
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
            SourceChangedError: The file was closed meanwhile, and is no longer the one that was opened.
        """
        descriptor = self._descriptor or self._reopen()
        # No system takes any offset, and none makes room for any length.
        stop = min(stop, self.size)
        if start >= stop:
            return b""

        def pread(start: int, stop: int) -> bytes:
            return read_at(descriptor.number, stop - start, start)

        try:
            return _read_fully(pread, start, stop)
        except OSError as error:
            raise SourceError(f"cannot be read: {error}", source=self.name, offset=start) from error

    def small_reads(self) -> SmallReads:
        """Return what makes very many small reads in a row in a fraction of the time of `read`."""
        descriptor = self._descriptor or self._reopen()
        return SmallReads(partial(read_at, descriptor.number), descriptor)

    def read_into(self, start: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `start` on; see `BufferedSource.read_into`."""
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
        """See `RangeSource.close`. A read that has begun in another thread is finished first."""
        with self._lock:
            self._closed = True
            self._descriptor = None
        OPEN_FILES.remove(self)

    def rest(self) -> None:
        """Close the file until it is next read; see `OpenFiles`."""
        self._descriptor = None


class BytesSource:
    """Bytes in memory."""

    def __init__(self, data: bytes, name: str = "<bytes>") -> None:
        self.name = name
        self.size: int = len(data)
        self._data = data

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`."""
        return self._data[start:stop]

    def close(self) -> None:
        """See `RangeSource.close`."""


class _OpenedElsewhere:
    """A source that nothing but the caller's file object leads to."""

    name: str

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{self.name}: an archive that was opened as a file object cannot be pickled or copied; "
            "open it by its path and pass the path"
        )


class FileObjectSource(_OpenedElsewhere):
    """A seekable binary file object. It stays the caller's: closing the source leaves it open."""

    def __init__(self, file: IO[bytes]) -> None:
        self.name = str(getattr(file, "name", "<file object>"))
        self._file = file
        self._lock = threading.Lock()
        self.size: int = file.seek(0, io.SEEK_END)

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`."""
        try:
            with self._lock:
                return _read_fully(self._seek_and_read, start, stop)
        except (OSError, ValueError) as error:
            raise SourceError(f"cannot be read: {error}", source=self.name, offset=start) from error

    def _seek_and_read(self, start: int, stop: int) -> bytes:
        self._file.seek(start)
        return read_some(self._file, stop - start)

    def close(self) -> None:
        """See `RangeSource.close`."""


class PipeSource(_OpenedElsewhere):
    """A binary stream that cannot seek: each byte can be read once, in order.

    Args:
        file: The stream.
        owned: Whether closing the source closes the stream.
    """

    size: None = None

    def __init__(self, file: BinaryIO, *, owned: bool = False) -> None:
        self._owned = owned
        self.name = str(getattr(file, "name", "<pipe>"))
        self._file = file
        self._position = 0
        self._lock = threading.Lock()

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`; what lies between the last read and `start` is thrown away."""
        with self._lock:
            if start < self._position:
                raise SourceError(
                    "was passed already, and a pipe cannot be read twice; store it in a file first",
                    source=self.name,
                    offset=start,
                )
            try:
                while self._position < start:
                    gap = min(start - self._position, PIPE_STEP)
                    if not self._take(self._position, self._position + gap):
                        return b""
                return _read_fully(self._take, start, stop)
            except (OSError, ValueError) as error:
                raise SourceError(f"cannot be read: {error}", source=self.name, offset=start) from error

    def _take(self, start: int, stop: int) -> bytes:
        data = read_some(self._file, stop - start)
        self._position += len(data)
        return data

    def close(self) -> None:
        """See `RangeSource.close`."""
        if self._owned:
            self._file.close()


@dataclass(slots=True)
class Stats:
    """What an open archive has cost so far."""

    requests: int = 0
    """Reads of the source. What a remote source asks again after a failure is not counted."""
    bytes_fetched: int = 0
    """Stored bytes that those reads returned."""
    bytes_decoded: int = 0
    """Content bytes that came out of a decompressor."""
    cache_hits: int = 0
    """Frames that were found decoded in the cache."""


def as_remote(source: object) -> RemoteObject | None:
    """Return the source if it is a `RemoteObject`; nothing is asked of it, not even its size."""
    return cast("RemoteObject", source) if hasattr(source, "read_end") else None


def as_buffered(source: object) -> BufferedSource | None:
    """Return the source if it is a `BufferedSource`."""
    return cast("BufferedSource", source) if hasattr(source, "read_into") else None


def policy_of(source: RangeSource) -> ReadPolicy:
    """Return how a source says that it wants to be read."""
    policy: ReadPolicy = getattr(source, "policy", UNKNOWN)
    return policy


def open_source(target: str | os.PathLike[str] | bytes | BinaryIO | RangeSource) -> RangeSource:
    """Make a source of whatever names or holds stored bytes.

    Args:
        target: A path, a URL, the bytes themselves, a binary file object (seekable or not), or a source.

    Raises:
        SourceError: The path cannot be opened, or is a directory; the URL cannot be meant, or is of a scheme
            that is not known; obstore is not installed.
        TypeError: `target` is none of these.
    """
    if isinstance(target, bytes):
        return BytesSource(target)
    if isinstance(target, str) and "://" in target:
        # Imported here: who reads local files does not wait for it.
        from seekwarc.storage.remote import RemoteSource  # noqa: PLC0415

        return RemoteSource(target)
    if isinstance(target, str | os.PathLike):
        return _open_path(target)
    # Whoever is asked whether it is a `RangeSource` is asked for its size.
    if as_remote(target) is not None or isinstance(target, RangeSource):
        return cast("RangeSource", target)
    from seekwarc.storage.filesystem import file_system_of  # noqa: PLC0415 - seldom used

    if (file := file_system_of(target)) is not None:
        return file
    if hasattr(target, "read"):
        return FileObjectSource(target) if target.seekable() else PipeSource(target)
    raise TypeError(f"cannot read WARC records from {type(target).__name__}")


def _open_path(path: str | os.PathLike[str]) -> RangeSource:
    if os.path.isdir(path):
        raise SourceError("is a directory, not a WARC file", source=os.fspath(path))
    if os.path.isfile(path) or not os.path.exists(path):
        return LocalFileSource(path)
    return PipeSource(open(path, "rb"), owned=True)
