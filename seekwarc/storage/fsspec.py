"""Files of any fsspec file system that the caller has.

fsspec is not imported and need not be installed: any object with its methods will do.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Protocol

from seekwarc.errors import RangeNotSupportedError, SourceError
from seekwarc.storage.local import LocalFileSource
from seekwarc.storage.plan import REMOTE
from seekwarc.storage.remote_url import shown_url
from seekwarc.storage.source import RangeSource

__all__ = ["FileSystem", "FileSystemSource", "file_system_of"]


class FileSystem(Protocol):
    """The methods of an fsspec file system that are used."""

    def info(self, path: str) -> dict[str, Any]:
        """Return what is known about a file, its `size` and `type` included."""

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        """Return the bytes [start, end) of a file."""

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path."""


class FileSystemSource(RangeSource):
    """A file of an fsspec file system, read by range, without fsspec's own caches.

    A file that is replaced while it is read is not detected, unless a checksum fails. If the file has a URL
    that seekwarc can read, prefer the URL.

    Args:
        file_system: The file system.
        path: The file's path in it.

    Raises:
        SourceError: There is no such file, or its size is unknown.

    Example:
        >>> from fsspec.implementations.local import LocalFileSystem
        >>> source = seekwarc.FileSystemSource(LocalFileSystem(), "crawl.warc.zst")
        >>> with seekwarc.open(source) as archive:
        ...     print(next(iter(archive)).type)
        warcinfo
    """

    policy = REMOTE

    def __init__(self, file_system: FileSystem, path: str) -> None:
        self._file_system = file_system
        self._path = path
        try:
            self.name = shown_url(file_system.unstrip_protocol(path))
            info = file_system.info(path)
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own
            # Their texts may hold credentials.
            raise SourceError(f"cannot be opened: {type(error).__name__}", source=shown_url(path)) from None
        size = info.get("size")
        if info.get("type") == "directory" or not isinstance(size, int):
            raise SourceError("is a directory, or a file of unknown size", source=self.name)
        self.size: int = size

    def beside(self, suffix: str) -> FileSystemSource | None:
        """See `RangeSource.beside`."""
        with suppress(SourceError):
            return FileSystemSource(self._file_system, self._path + suffix)
        return None

    def read(self, start: int, stop: int) -> bytes:
        """See `RangeSource.read`.

        Raises:
            RangeNotSupportedError: More or fewer bytes came than were asked for.
        """
        stop = min(stop, self.size)
        if start >= stop:
            return b""
        try:
            data = self._file_system.cat_file(self._path, start=start, end=stop)
        except Exception as error:  # noqa: BLE001 - see above
            raise SourceError(
                f"cannot be read: {type(error).__name__}", source=self.name, offset=start
            ) from None
        if len(data) != stop - start:
            raise RangeNotSupportedError(
                f"{len(data)} bytes came where {stop - start} were asked for: the file changed, or its "
                "server does not send byte ranges",
                source=self.name,
                offset=start,
            )
        return data


def file_system_of(file: object) -> FileSystemSource | LocalFileSource | None:
    """Return the source for a file that was opened with fsspec; None for any other file."""
    file_system: Any = getattr(file, "fs", None)
    path = getattr(file, "path", None)
    if (
        not hasattr(file_system, "cat_file")
        or not isinstance(path, str)
        or getattr(file, "compression", None)
    ):
        return None
    protocol = getattr(file_system, "protocol", None)
    if "file" in ((protocol,) if isinstance(protocol, str) else protocol or ()):
        return LocalFileSource(path)
    return FileSystemSource(file_system, path)
