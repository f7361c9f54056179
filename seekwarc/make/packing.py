"""Packing files of any kind into a new .warc.zst, as `resource` records."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Unpack

from seekwarc import __version__
from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.storage.expand import walk
from seekwarc.storage.opening import refuse_empty
from seekwarc.write.block_reader import SizedStream, length_of
from seekwarc.write.files import ExistingSeries
from seekwarc.write.options import RecordOptions
from seekwarc.write.writer import Writer
from seekwarc.write.written import Written

__all__ = ["NamedStream", "files_below", "pack"]

UNKNOWN_TYPE = "application/octet-stream"
# `mimetypes` takes gzip and the like for an encoding; for a file that is stored as it is, it is the type.
TYPE_OF_ENCODING = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


@dataclass(frozen=True, slots=True)
class NamedStream:
    """A stream that is packed as a file with a name, such as standard input.

    Example:
        >>> import io
        >>> from pathlib import Path
        >>> from seekwarc.make.packing import NamedStream
        >>> dump = NamedStream(Path("/dumps/site.sql"), io.BytesIO(b"CREATE TABLE pages"))
        >>> (_, written), = seekwarc.tools.pack([dump], "site.warc.zst")
        >>> written.target_uri, written.content_length
        ('file:///dumps/site.sql', 18)
    """

    path: Path
    """Name that determines the target URI and the content type."""
    stream: BinaryIO


def files_below(names: Sequence[str]) -> Iterator[Path]:
    """Yield the given files, and all files in the given folders and their subfolders, in path order."""
    for name in names:
        refuse_empty(name)
        path = Path(name)
        if path.is_dir():
            yield from (Path(file) for file in walk(name) if os.path.isfile(file))
        elif path.is_file():
            yield path
        elif path.exists():
            # A pipe or device may be endless, and has neither the date nor the type that a record needs.
            raise SourceError(
                "is a pipe or a device, not a file; store it in a file first, or pack it as `-` "
                "with --stdin-name",
                source=name,
            )
        else:
            raise SourceError("no such file", source=name)


def pack(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str] | NamedStream],
    target: str | os.PathLike[str] | BinaryIO,
    *,
    base_uri: str | None = None,
    existing: ExistingSeries = "error",
    on_progress: Callable[[Path, BinaryIO], BinaryIO] = lambda _, file: file,
    **options: Unpack[RecordOptions],
) -> list[tuple[Path, Written]]:
    """Write each file as a `resource` record (WARC 1.1, clause 6.4), after a warcinfo record.

        tools.pack(["talk.mp4", "photos"], "talk.warc.zst", base_uri="https://example.org/")

    WARC-Date is the time when the file was last modified, or the present time for a stream. Content-Type is
    guessed from the name.

    Args:
        files: The files, folders (all files in and below them), and streams with names; one path, or several.
        target: The new .warc.zst.
        base_uri: Prefix that makes a target URI of each given path; `file://` URIs unless given.
        existing: Whether an existing target is refused ("error") or replaced ("overwrite"), or an existing
            series continued with further files ("number").
        on_progress: Wraps each file that is read, to report progress.
        **options: Options of the `Writer`.

    Raises:
        TargetExistsError: The target exists.
        SourceError: A file cannot be read.
        TargetError: The target cannot be written.
    """
    written = []
    with Writer(target, existing=existing, on_error="discard", **options) as writer:
        writer.write_warcinfo(
            {
                "software": f"seekwarc/{__version__}",
                "format": "WARC File Format 1.1",
                "description": "packed files",
            }
        )
        for entry in _entries(files):
            path = entry if isinstance(entry, Path) else entry.path
            try:
                with path.open("rb") if isinstance(entry, Path) else nullcontext(entry.stream) as file:
                    size = length_of(file)
                    record = writer.write(
                        "resource",
                        target_uri=_uri(path, base_uri),
                        content_type=_content_type(path),
                        date=_changed(file) if isinstance(entry, Path) else None,
                        block=SizedStream(on_progress(path, file), size),
                    )
            except OSError as error:
                if isinstance(error, SeekWarcError):
                    raise
                raise SourceError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
            written.append((path, record))
    return written


def _entries(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str] | NamedStream],
) -> Iterator[Path | NamedStream]:
    for entry in [files] if isinstance(files, str | os.PathLike) else files:
        if isinstance(entry, NamedStream) or (isinstance(entry, Path) and not entry.is_dir()):
            yield entry
        else:
            yield from files_below([os.fspath(entry)])


def _uri(path: Path, base_uri: str | None) -> str:
    if base_uri is None:
        return path.absolute().as_uri()
    # `as_uri` quotes what is not allowed in a URI, but only in an absolute path.
    quoted = Path(os.sep, *(part for part in path.parts if part not in (path.anchor, "..", "."))).as_uri()
    return base_uri.rstrip("/") + quoted.removeprefix("file://")


def _content_type(path: Path) -> str:
    kind, encoding = mimetypes.guess_type(path.name)
    if encoding is not None:
        return TYPE_OF_ENCODING.get(encoding, UNKNOWN_TYPE)
    return kind or UNKNOWN_TYPE


def _changed(file: BinaryIO) -> datetime:
    return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC).replace(microsecond=0)
