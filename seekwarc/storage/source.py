"""`RangeSource`, stored bytes that are read by range; `SourceWrapper`, which watches the reads of another.

A source answers one question: which bytes are in [start, stop)? Everything else has a default here that is
built on `read`. So a reader never tests what a source can do: it calls the method that suits the work, and a
source overrides what it can do better. A wrapper must forward every method. One that forwarded only `read`
would change how the source is read: how many requests are made, and whether buffers are reused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

from seekwarc.compiling import override
from seekwarc.errors import SourceError
from seekwarc.storage.plan import UNKNOWN, ReadPolicy

__all__ = [
    "RangeReadable",
    "RangeSource",
    "SmallReads",
    "SourceWrapper",
    "Stats",
    "as_source",
    "closed_error",
    "read_fully",
]


class SmallReads(NamedTuple):
    """A function for very many small reads in a row."""

    read: Callable[[int, int], bytes]
    """Takes a size and an offset. May return fewer bytes, and not only at the end. Raises OSError."""
    keeps: object
    """Keeps the file open: hold on to it while `read` is in use. None if `read` is not the system's."""


@runtime_checkable
class RangeReadable(Protocol):
    """The minimum that can be opened as a source: an object of any class that has these four members.

    It may also have a `policy`, which is a `ReadPolicy`.
    """

    @property
    def name(self) -> str:
        """See `RangeSource.name`."""

    @property
    def size(self) -> int | None:
        """See `RangeSource.size`."""

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`."""

    def close(self) -> None:
        """See `RangeSource.close`."""


class RangeSource(ABC):
    r"""Stored bytes that are read by range. Derive from it to read archives from storage of your own.

    A subclass needs `name`, `size` and `read`. Methods may be called from any thread.

    Attributes:
        name: What error messages call the source.
        size: Size in bytes, or None for a pipe, whose size is unknown until it ends. May be a property that
            finds out on first use.
        policy: How the source wants to be read.

    Example:
        >>> class Rows(seekwarc.RangeSource):
        ...     def __init__(self, rows: list[bytes]) -> None:
        ...         self.name = "rows of a database"
        ...         self.size = sum(map(len, rows))
        ...         self.rows = rows
        ...
        ...     def read(self, start: int, stop: int) -> bytes:
        ...         return b"".join(self.rows)[start:stop]
        >>> rows = [b"WARC/1.1\r\nWARC-Type: metadata\r\n", b"Content-Length: 2\r\n\r\nHi\r\n\r\n"]
        >>> with seekwarc.open(Rows(rows)) as archive:
        ...     print([record.block.read() for record in archive])
        [b'Hi']
    """

    name: str
    size: int | None
    policy: ReadPolicy = UNKNOWN

    @abstractmethod
    def read(self, start: int, stop: int) -> bytes:
        """Return the bytes in [start, stop), fewer only if the source ends before `stop`.

        Raises:
            SourceError: The bytes are unavailable.
        """

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Release what the source holds open. Idempotent."""

    def beside(self, suffix: str) -> RangeSource | None:  # noqa: ARG002 - not every source has a place
        """Return the source whose name has a suffix added; None if it is known not to exist."""
        return None

    @property
    def known_size(self) -> int | None:
        """The size in bytes, or None while finding it out would cost a request."""
        return self.size

    @property
    def is_pipe(self) -> bool:
        """Whether each byte can be read only once, in order."""
        return self.size is None

    @property
    def identity(self) -> str | None:
        """Cache key of this version of the object; None while it is unknown, or if versions look alike."""
        return None

    @property
    def version(self) -> str | None:
        """What another process compares to see that it reads the same bytes; None while it is unknown.

        Unlike `identity` it may be the same for two versions, if nothing distinguishes them.
        """
        return None

    def announce(self) -> None:  # noqa: B027 - most sources read what they are asked for
        """Called before all of the source is read in order: it may fetch much of that at once."""

    def check_unchanged(self) -> None:  # noqa: B027 - most sources notice it as they read, or cannot tell
        """Find out whether what was read so far is of one version.

        Raises:
            SourceChangedError: It may not be.
        """

    def read_into(self, start: int, out: memoryview) -> int:
        """Fill `out` with the bytes from `start` on; return how many were read, fewer only at the end.

        Raises:
            SourceError: The bytes are unavailable.
        """
        data = self.read(start, start + len(out))
        out[: len(data)] = data
        return len(data)

    def read_end(self, count: int) -> tuple[int, bytes]:
        """Return the offset of the last `count` bytes, and those bytes. A pipe has no such method.

        Raises:
            SourceError: The bytes are unavailable.
        """
        size = self.size or 0
        start = max(size - count, 0)
        return start, self.read(start, size)

    def small_reads(self) -> SmallReads:
        """Return the fastest function for very many small reads in a row."""
        return SmallReads(lambda size, start: self.read(start, start + size), None)


def as_source(target: RangeReadable) -> RangeSource:
    """Return a source as it is, and any other object with the defaults of a source."""
    return target if isinstance(target, RangeSource) else _Adapted(target)


class _Adapted(RangeSource):
    """An object of another class that has the members of a source, and perhaps a policy."""

    def __init__(self, target: RangeReadable) -> None:
        self._target = target
        self.name = target.name
        self.policy = getattr(target, "policy", UNKNOWN)

    @property
    @override
    def size(self) -> int | None:  # type: ignore[override]  # the object may find out on first use
        return self._target.size

    def read(self, start: int, stop: int) -> bytes:
        return self._target.read(start, stop)

    def close(self) -> None:
        self._target.close()


class SourceWrapper(RangeSource):
    """Another source, closed with this one. Derive from it, and override `on_read`, to watch the reads."""

    def __init__(self, source: RangeSource, name: str | None = None) -> None:
        self._source = source
        self.name = source.name if name is None else name
        self.policy = source.policy

    def on_read(self, start: int, stop: int) -> None:
        """Called after each read, in the thread that read, with the range [start, stop) that was read."""

    @property
    @override
    def size(self) -> int | None:  # type: ignore[override]  # the source may find out on first use
        return self._source.size

    @property
    @override
    def known_size(self) -> int | None:
        return self._source.known_size

    @property
    @override
    def is_pipe(self) -> bool:
        return self._source.is_pipe

    @property
    @override
    def identity(self) -> str | None:
        return self._source.identity

    @property
    @override
    def version(self) -> str | None:
        return self._source.version

    @override
    def beside(self, suffix: str) -> RangeSource | None:
        return self._source.beside(suffix)

    @override
    def announce(self) -> None:
        self._source.announce()

    @override
    def check_unchanged(self) -> None:
        self._source.check_unchanged()

    @override
    def read(self, start: int, stop: int) -> bytes:
        data = self._source.read(start, stop)
        self.on_read(start, start + len(data))
        return data

    @override
    def read_into(self, start: int, out: memoryview) -> int:
        count = self._source.read_into(start, out)
        self.on_read(start, start + count)
        return count

    @override
    def read_end(self, count: int) -> tuple[int, bytes]:
        start, data = self._source.read_end(count)
        self.on_read(start, start + len(data))
        return start, data

    @override
    def small_reads(self) -> SmallReads:
        read, keeps = self._source.small_reads()

        def watched(size: int, start: int) -> bytes:
            data = read(size, start)
            self.on_read(start, start + len(data))
            return data

        return SmallReads(watched, keeps)

    @override
    def close(self) -> None:
        self._source.close()


class Stats:
    """What reading an open archive has cost so far.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     film = next(record for record in archive if record.content_length > 1_000_000)
        ...     part = film.payload.pread(2_000_000, 100)
        ...     print(archive.stats.bytes_decoded < film.payload.size)
        True

    Attributes:
        requests: Reads of the source. Retries of a remote source are not counted.
        bytes_fetched: Stored bytes that those reads returned.
        bytes_decoded: Bytes that a decompressor produced.
        cache_hits: Frames that were in the cache, already decoded.
    """

    __slots__ = ("bytes_decoded", "bytes_fetched", "cache_hits", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.bytes_fetched = 0
        self.bytes_decoded = 0
        self.cache_hits = 0

    def __repr__(self) -> str:
        return f"<Stats {', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)}>"


def closed_error(name: str) -> SourceError:
    """Return the error of whatever is asked of a source after it was closed."""
    return SourceError("the archive is closed", source=name)


def read_fully(read: Callable[[int, int], bytes], start: int, stop: int) -> bytes:
    """Call `read` until all of [start, stop) has been read, or until it returns nothing: the end."""
    data = read(start, stop)
    if len(data) >= stop - start or not data:
        return data
    pieces = [data]
    position = start + len(data)
    while position < stop and (data := read(position, stop)):
        pieces.append(data)
        position += len(data)
    return b"".join(pieces)
