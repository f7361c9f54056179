"""A payload as a file of `warc://`."""

from __future__ import annotations

import io
from typing import Any, Final, SupportsIndex, cast

from fsspec.spec import AbstractFileSystem

from seekwarc.read.extent import Extent

__all__ = ["WarcFile"]

BUFFER_SIZE: Final = 64 << 10


class WarcFile(io.BufferedReader):
    """A payload as a file: seekable, unless it is decoded on the way.

    Args:
        fs: The file system.
        path: Path in it.
        extent: The payload.
        decoded: Whether content codings are undone.
        buffer_size: Bytes that are read at a time, at least; 64 KiB by default.

    Attributes:
        fs: See above.
        path: See above.
        size: Length in bytes; None of a file that is decoded on the way.
        mode: "rb".

    Example:
        >>> import fsspec
        >>> with fsspec.open("warc://http://example.org/film.mp4", fo="crawl.warc.zst") as film:
        ...     position = film.seek(2_000_000)
        ...     print(film.read(4).hex(), film.size)
        7f009972 3145728
    """

    mode = "rb"

    def __init__(
        self,
        fs: AbstractFileSystem,
        path: str,
        extent: Extent,
        *,
        decoded: bool,
        buffer_size: int | None = None,
    ) -> None:
        super().__init__(extent.open(decoded=decoded), buffer_size or BUFFER_SIZE)
        self.fs = fs
        self.path = path
        self._extent = extent
        self._decoded = decoded and bool(extent.codings)

    @property
    def size(self) -> int | None:
        """Length in bytes; see above."""
        return None if self._decoded else self._extent.size

    @property
    def full_name(self) -> str:
        """The URL of the path."""
        return cast("str", self.fs.unstrip_protocol(self.path))

    def info(self) -> dict[str, Any]:
        """Return what the file system knows of the file."""
        return cast("dict[str, Any]", self.fs.info(self.path))

    # Since Python 3.12 files of `io` refuse to be pickled by this method, which comes before `__reduce__`.
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return _reopened, (self.fs, self.path, self.tell())


def _reopened(fs: AbstractFileSystem, path: str, position: int) -> WarcFile:
    file = fs.open(path, "rb")
    file.seek(position)
    return cast("WarcFile", file)
