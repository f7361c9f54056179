"""`open_source`: from a path, a URL, bytes or a file object to the source that reads it."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import BinaryIO

from seekwarc.errors import SourceError, SourceNotFoundError, UnsupportedError
from seekwarc.storage.local import BytesSource, LocalFileSource, OpenedFileSource, is_plain_file
from seekwarc.storage.source import RangeReadable, RangeSource, as_source
from seekwarc.storage.streams import FileObjectSource, PipeSource

__all__ = ["open_source", "open_stored", "refuse_empty"]


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
    name = os.fsdecode(path)
    if ".wacz" in name.lower():
        from seekwarc.storage.zip_members import ARCHIVE, is_wacz, open_zip

        if is_wacz(name):
            archive = open_zip(name, open_stored(name))
            named = [it for it in archive.members if it.startswith(ARCHIVE)]
            raise UnsupportedError(
                f"is a WACZ, not a WARC file; name the one in it that you mean: NAME.wacz!/{named[0]}"
                if named
                else "is a WACZ without WARC files: it has nothing in its folder archive/",
                source=archive.source.name,
            )
    return open_stored(path)


def open_stored(path: str | os.PathLike[str]) -> RangeSource:
    """Return the source for a path or URL as it is stored: of a WACZ too, and of a member of one."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"target must be a path or a URL, not {type(path).__name__}")
    refuse_empty(name := os.fsdecode(path))
    if ".wacz" in name.lower() and "!/" in name:
        from seekwarc.storage.zip_members import open_zip, split_name

        if (parts := split_name(name)) is not None:
            return open_zip(parts[0], open_stored(parts[0])).open(parts[1])
    if isinstance(path, str) and "://" in path:
        from seekwarc.storage.remote import RemoteSource

        return RemoteSource(path)
    if os.path.isdir(path):
        problem = "is a directory, not a WARC file"
        try:
            os.scandir(path).close()
        except OSError as error:
            problem = f"cannot be listed: {error.strerror}"
        raise SourceError(problem, source=os.fsdecode(path))
    if os.path.isfile(path) or not os.path.exists(path):
        return LocalFileSource(path)
    return PipeSource(open(path, "rb"), owned=True)


def refuse_empty(name: str) -> None:
    """Refuse the name that a script with an unset variable gives; it does not mean the current folder."""
    if not name:
        text = "cannot be opened: the name is empty; name a file or a folder (`.` for the current one)"
        raise SourceNotFoundError(text)


def _open_file(file: BinaryIO) -> RangeSource:
    if is_plain_file(file):
        # Where too many files are open for a descriptor of its own, the caller's is used.
        with suppress(OSError):
            return OpenedFileSource(file)
    return FileObjectSource(file) if file.seekable() else PipeSource(file)
