"""seekwarc: WARC files with random access inside their records.

See README.md for what it is for, and spec-notes/ for what goes on disk.

    with seekwarc.open("crawl.warc.zst") as archive:
        for record in archive:
            print(record.offset, record.type, record.target_uri)
        record = archive.record_at(123_456)
        some_bytes = record.payload.pread(1_000_000_000, 65_536)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

    from seekwarc.archive.async_writer import AsyncWriter
    from seekwarc.archive.asynchronous import (
        AsyncCapture,
        AsyncCollection,
        AsyncExtent,
        AsyncIndex,
        AsyncReader,
        AsyncRecord,
    )
    from seekwarc.archive.captures import Capture, Index
    from seekwarc.archive.collection import Collection
    from seekwarc.archive.digests import DigestCheck, DigestVerdict
    from seekwarc.archive.duplicates import Duplicates
    from seekwarc.archive.index import Entry, MemoryIndex, RecordIndex
    from seekwarc.archive.logical import JoinedRecord, ResolvedRevisit
    from seekwarc.archive.payload import Extent
    from seekwarc.archive.reader import Reader
    from seekwarc.archive.record import Record, TableStatus
    from seekwarc.archive.writer import Writer
    from seekwarc.archive.written import Written
    from seekwarc.errors import (
        ChecksumError,
        FormatError,
        FormatWarning,
        LimitError,
        NotFoundError,
        RangeError,
        RangeNotSupportedError,
        RuleError,
        SeekWarcError,
        SegmentError,
        SourceChangedError,
        SourceError,
        SourceTimeoutError,
        TargetExistsError,
        TruncatedError,
        UnsupportedError,
    )
    from seekwarc.format.check import Finding, check_header
    from seekwarc.format.dates import WarcDate
    from seekwarc.format.digest import Digest
    from seekwarc.format.http import HttpHead
    from seekwarc.format.seektable import SeekTable
    from seekwarc.format.values import MediaType
    from seekwarc.format.warc import RecordHeader
    from seekwarc.frames.dictionary import Dictionary
    from seekwarc.frames.run import ReadPlan
    from seekwarc.storage.diskcache import DiskCache
    from seekwarc.storage.filesystem import FileSystemSource
    from seekwarc.storage.source import RangeSource, Stats

__all__ = [
    "AsyncCapture",
    "AsyncCollection",
    "AsyncExtent",
    "AsyncIndex",
    "AsyncReader",
    "AsyncRecord",
    "AsyncWriter",
    "Capture",
    "ChecksumError",
    "Collection",
    "Dictionary",
    "Digest",
    "DigestCheck",
    "DigestVerdict",
    "DiskCache",
    "Duplicates",
    "Entry",
    "Extent",
    "FileSystemSource",
    "Finding",
    "FormatError",
    "FormatWarning",
    "HttpHead",
    "Index",
    "JoinedRecord",
    "LimitError",
    "MediaType",
    "MemoryIndex",
    "NotFoundError",
    "RangeError",
    "RangeNotSupportedError",
    "RangeSource",
    "ReadPlan",
    "Reader",
    "Record",
    "RecordHeader",
    "RecordIndex",
    "ResolvedRevisit",
    "RuleError",
    "SeekTable",
    "SeekWarcError",
    "SegmentError",
    "SourceChangedError",
    "SourceError",
    "SourceTimeoutError",
    "Stats",
    "TableStatus",
    "TargetExistsError",
    "TruncatedError",
    "UnsupportedError",
    "WarcDate",
    "Writer",
    "Written",
    "check_header",
    "open",
]

__version__ = "0.1.0"

# Who only reads does not wait for what writing needs: each name is imported when it is first used.
_HOMES = {
    "AsyncCapture": "seekwarc.archive.asynchronous",
    "AsyncCollection": "seekwarc.archive.asynchronous",
    "AsyncExtent": "seekwarc.archive.asynchronous",
    "AsyncIndex": "seekwarc.archive.asynchronous",
    "AsyncReader": "seekwarc.archive.asynchronous",
    "AsyncRecord": "seekwarc.archive.asynchronous",
    "AsyncWriter": "seekwarc.archive.async_writer",
    "Capture": "seekwarc.archive.captures",
    "Collection": "seekwarc.archive.collection",
    "Dictionary": "seekwarc.frames.dictionary",
    "Digest": "seekwarc.format.digest",
    "DigestCheck": "seekwarc.archive.digests",
    "DigestVerdict": "seekwarc.archive.digests",
    "DiskCache": "seekwarc.storage.diskcache",
    "Duplicates": "seekwarc.archive.duplicates",
    "Entry": "seekwarc.archive.index",
    "Extent": "seekwarc.archive.payload",
    "FileSystemSource": "seekwarc.storage.filesystem",
    "Finding": "seekwarc.format.check",
    "HttpHead": "seekwarc.format.http",
    "Index": "seekwarc.archive.captures",
    "JoinedRecord": "seekwarc.archive.logical",
    "MediaType": "seekwarc.format.values",
    "MemoryIndex": "seekwarc.archive.index",
    "RangeSource": "seekwarc.storage.source",
    "ReadPlan": "seekwarc.frames.run",
    "Reader": "seekwarc.archive.reader",
    "Record": "seekwarc.archive.record",
    "RecordHeader": "seekwarc.format.warc",
    "RecordIndex": "seekwarc.archive.index",
    "ResolvedRevisit": "seekwarc.archive.logical",
    "SeekTable": "seekwarc.format.seektable",
    "Stats": "seekwarc.storage.source",
    "TableStatus": "seekwarc.archive.record",
    "WarcDate": "seekwarc.format.dates",
    "Writer": "seekwarc.archive.writer",
    "Written": "seekwarc.archive.written",
    "check_header": "seekwarc.format.check",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "seekwarc.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@overload
def open(  # noqa: A001
    target: str | os.PathLike[str] | bytes | BinaryIO | RangeSource,
    mode: Literal["r"] = "r",
    **options: Any,  # noqa: ANN401
) -> Reader: ...


@overload
def open(  # noqa: A001
    target: str | os.PathLike[str] | BinaryIO,
    mode: Literal["w", "a"],
    **options: Any,  # noqa: ANN401
) -> Writer: ...


def open(  # noqa: A001
    target: Any,
    mode: str = "r",
    **options: Any,
) -> Reader | Writer:
    """Open a WARC file to read, or a .warc.zst file to write or to continue.

    Args:
        target: A path or a binary file object; to read also a URL, bytes or a `RangeSource`.
        mode: "r" makes a `Reader`, "w" a `Writer`, "a" a `Writer` that goes on with the file.
        **options: What that class takes.

    Raises:
        SourceError: The target cannot be opened.
        ValueError: Another mode.
    """
    if mode == "r":
        from seekwarc.archive.reader import Reader  # noqa: PLC0415

        return Reader(target, **options)
    if mode in ("w", "a"):
        from seekwarc.archive.writer import Writer  # noqa: PLC0415

        return Writer(target, append=mode == "a", **options)
    raise ValueError(f'mode is {mode!r}, not "r", "w" or "a"')
