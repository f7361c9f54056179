"""From whatever names or holds stored bytes to a source of them."""

from __future__ import annotations

import os
from typing import BinaryIO

from seekwarc.errors import SourceError
from seekwarc.storage.local import BytesSource, LocalFileSource
from seekwarc.storage.plan import UNKNOWN
from seekwarc.storage.source import RangeReadable, RangeSource
from seekwarc.storage.streams import FileObjectSource, PipeSource

__all__ = ["as_source", "open_source"]


def open_source(target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable) -> RangeSource:
    """Make a source of whatever names or holds stored bytes.

    Args:
        target: A path, a URL, the bytes themselves, a binary file object (seekable or not), a source, or an
            object that can do the least of what a source can, `RangeReadable`.

    Raises:
        SourceError: The path cannot be opened, or is a directory; the URL is invalid or of an unknown scheme;
            obstore is not installed.
        TypeError: `target` is none of these.
    """
    if isinstance(target, bytes):
        return BytesSource(target)
    if isinstance(target, str | os.PathLike):
        return _open_name(target)
    # A source may find out its size only when it is asked for it, as `RangeReadable` would.
    if isinstance(target, RangeSource):
        return target
    if isinstance(target, RangeReadable):
        return as_source(target)
    from seekwarc.storage.fsspec import file_system_of  # noqa: PLC0415 - seldom used

    if (file := file_system_of(target)) is not None:
        return file
    if hasattr(target, "read"):
        return FileObjectSource(target) if target.seekable() else PipeSource(target)
    raise TypeError(f"cannot read WARC records from {type(target).__name__}")


def _open_name(path: str | os.PathLike[str]) -> RangeSource:
    if isinstance(path, str) and "://" in path:
        # Imported here, so that reading local files does not wait for it.
        from seekwarc.storage.remote import RemoteSource  # noqa: PLC0415

        return RemoteSource(path)
    if os.path.isdir(path):
        raise SourceError("is a directory, not a WARC file", source=os.fspath(path))
    if os.path.isfile(path) or not os.path.exists(path):
        return LocalFileSource(path)
    return PipeSource(open(path, "rb"), owned=True)


def as_source(target: RangeReadable) -> RangeSource:
    """Return a source itself; give an object that is none the defaults of one."""
    return target if isinstance(target, RangeSource) else _Adapted(target)


class _Adapted(RangeSource):
    """An object of some other class that has what a source needs, and perhaps a policy."""

    def __init__(self, target: RangeReadable) -> None:
        self._target = target
        self.name = target.name
        self.policy = getattr(target, "policy", UNKNOWN)

    @property
    def size(self) -> int | None:  # type: ignore[override]  # it may be a property there
        return self._target.size

    def read(self, start: int, stop: int) -> bytes:
        return self._target.read(start, stop)

    def close(self) -> None:
        self._target.close()
