"""`open_source`: from a path, a URL, bytes or a file object to the source that reads it."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import BinaryIO

from seekwarc.errors import SourceError
from seekwarc.storage.local import BytesSource, LocalFileSource, OpenedFileSource, is_plain_file
from seekwarc.storage.plan import UNKNOWN
from seekwarc.storage.source import RangeReadable, RangeSource
from seekwarc.storage.streams import FileObjectSource, PipeSource

__all__ = ["as_source", "open_source"]


def open_source(target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable) -> RangeSource:
    """Return the source for a path, a URL, bytes, a binary file object or what has a source's members."""
    if isinstance(target, bytes):
        return BytesSource(target)
    if isinstance(target, str | os.PathLike):
        return _open_name(target)
    # Before the test for `RangeReadable`, which asks for `size`: of a remote object that is a request.
    if isinstance(target, RangeSource):
        return target
    from seekwarc.storage.fsspec import file_system_of

    # Files of fsspec have the members of `RangeReadable` too.
    if (file := file_system_of(target)) is not None:
        return file
    if isinstance(target, RangeReadable):
        return as_source(target)
    if isinstance(target, io.TextIOBase):
        raise TypeError(f"target is a text file ({type(target).__name__}): open it in binary mode")
    if hasattr(target, "read"):
        return _open_file(target)
    raise TypeError(
        f"target must be a path, a URL, bytes, a binary file or a RangeSource, not {type(target).__name__}"
    )


def _open_name(path: str | os.PathLike[str]) -> RangeSource:
    if isinstance(path, str) and "://" in path:
        from seekwarc.storage.remote import RemoteSource

        return RemoteSource(path)
    if os.path.isdir(path):
        raise SourceError("is a directory, not a WARC file", source=os.fspath(path))
    if os.path.isfile(path) or not os.path.exists(path):
        return LocalFileSource(path)
    return PipeSource(open(path, "rb"), owned=True)


def _open_file(file: BinaryIO) -> RangeSource:
    if is_plain_file(file):
        # Where too many files are open for a descriptor of its own, the caller's is used.
        with suppress(OSError):
            return OpenedFileSource(file)
    return FileObjectSource(file) if file.seekable() else PipeSource(file)


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
    def size(self) -> int | None:  # type: ignore[override]  # the object may find out on first use
        return self._target.size

    def read(self, start: int, stop: int) -> bytes:
        return self._target.read(start, stop)

    def close(self) -> None:
        self._target.close()
