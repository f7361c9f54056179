"""seekwarc: WARC files with random access inside their records.

README.md is the introduction, and spec-notes/ describes the file format.

    with seekwarc.open("crawl.warc.zst") as archive:
        for record in archive:
            print(record.offset, record.type, record.target_uri)
        record = archive.record_at(123_456)
        some_bytes = record.payload.pread(1_000_000_000, 65_536)

`__compiled__` tells whether the hot modules run as machine code, as they do where the package was installed
with a C compiler at hand, or as Python; they do the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

    from seekwarc.aio.reading import (
        AsyncCapture,
        AsyncCollection,
        AsyncExtent,
        AsyncIndex,
        AsyncReader,
        AsyncRecord,
    )
    from seekwarc.aio.writer import AsyncWriter
    from seekwarc.cdx.index import Capture, Index
    from seekwarc.collection.collection import Collection
    from seekwarc.collection.entry import Entry
    from seekwarc.collection.record_index import MemoryIndex, RecordIndex
    from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit
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
        TargetError,
        TargetExistsError,
        TruncatedError,
        UnsupportedError,
    )
    from seekwarc.format.dates import WarcDate
    from seekwarc.format.digest import Digest
    from seekwarc.format.http import HttpHead
    from seekwarc.format.rules import Finding, check_header
    from seekwarc.format.seektable import SeekTable, TableReference, TableTrust
    from seekwarc.format.values import MediaType
    from seekwarc.format.warc import RecordHeader
    from seekwarc.frames.dictionary import Dictionary
    from seekwarc.frames.run import ReadPlan
    from seekwarc.read.body import TableStatus
    from seekwarc.read.digests import DigestCheck, DigestVerdict
    from seekwarc.read.extent import Extent
    from seekwarc.read.options import ReaderOptions
    from seekwarc.read.reader import Reader
    from seekwarc.read.record import Record, Relations
    from seekwarc.scale.batches import Batches, batches
    from seekwarc.scale.gather import gather
    from seekwarc.scale.payload import PayloadPart
    from seekwarc.scale.split import Split
    from seekwarc.scale.splits import read_split, splits
    from seekwarc.storage.diskcache import DiskCache
    from seekwarc.storage.fsspec import FileSystemSource
    from seekwarc.storage.plan import ReadPolicy
    from seekwarc.storage.source import RangeReadable, RangeSource, Stats
    from seekwarc.write.dedup import Deduplicator, Duplicates, Original
    from seekwarc.write.file_layout import TableMode
    from seekwarc.write.options import WriterOptions
    from seekwarc.write.writer import Writer
    from seekwarc.write.written import Written

__all__ = [
    "AsyncCapture",
    "AsyncCollection",
    "AsyncExtent",
    "AsyncIndex",
    "AsyncReader",
    "AsyncRecord",
    "AsyncWriter",
    "Batches",
    "Capture",
    "ChecksumError",
    "Collection",
    "Deduplicator",
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
    "Original",
    "PayloadPart",
    "RangeError",
    "RangeNotSupportedError",
    "RangeSource",
    "ReadPlan",
    "ReadPolicy",
    "Reader",
    "ReaderOptions",
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
    "Split",
    "Stats",
    "TableMode",
    "TableReference",
    "TableStatus",
    "TableTrust",
    "TargetError",
    "TargetExistsError",
    "TruncatedError",
    "UnsupportedError",
    "WarcDate",
    "Writer",
    "WriterOptions",
    "Written",
    "batches",
    "check_header",
    "gather",
    "open",
    "read_split",
    "splits",
]

__version__ = "0.1.0"
__compiled__: bool
"""Whether modules that were compiled are running."""

# Each name is imported when it is first used, so that readers do not wait for what writing needs.
_HOMES = {
    "AsyncCapture": "seekwarc.aio.reading",
    "AsyncCollection": "seekwarc.aio.reading",
    "AsyncExtent": "seekwarc.aio.reading",
    "AsyncIndex": "seekwarc.aio.reading",
    "AsyncReader": "seekwarc.aio.reading",
    "AsyncRecord": "seekwarc.aio.reading",
    "AsyncWriter": "seekwarc.aio.writer",
    "Batches": "seekwarc.scale.batches",
    "Capture": "seekwarc.cdx.index",
    "Collection": "seekwarc.collection.collection",
    "Deduplicator": "seekwarc.write.dedup",
    "Dictionary": "seekwarc.frames.dictionary",
    "Digest": "seekwarc.format.digest",
    "DigestCheck": "seekwarc.read.digests",
    "DigestVerdict": "seekwarc.read.digests",
    "DiskCache": "seekwarc.storage.diskcache",
    "Duplicates": "seekwarc.write.dedup",
    "Entry": "seekwarc.collection.entry",
    "Extent": "seekwarc.read.extent",
    "FileSystemSource": "seekwarc.storage.fsspec",
    "Finding": "seekwarc.format.rules",
    "HttpHead": "seekwarc.format.http",
    "Index": "seekwarc.cdx.index",
    "JoinedRecord": "seekwarc.collection.segments",
    "MediaType": "seekwarc.format.values",
    "MemoryIndex": "seekwarc.collection.record_index",
    "Original": "seekwarc.write.dedup",
    "PayloadPart": "seekwarc.scale.payload",
    "RangeSource": "seekwarc.storage.source",
    "ReadPlan": "seekwarc.frames.run",
    "ReadPolicy": "seekwarc.storage.plan",
    "Reader": "seekwarc.read.reader",
    "ReaderOptions": "seekwarc.read.options",
    "Record": "seekwarc.read.record",
    "RecordHeader": "seekwarc.format.warc",
    "RecordIndex": "seekwarc.collection.record_index",
    "ResolvedRevisit": "seekwarc.collection.segments",
    "SeekTable": "seekwarc.format.seektable",
    "Split": "seekwarc.scale.split",
    "Stats": "seekwarc.storage.source",
    "TableMode": "seekwarc.write.file_layout",
    "TableReference": "seekwarc.format.seektable",
    "TableStatus": "seekwarc.read.body",
    "TableTrust": "seekwarc.format.seektable",
    "WarcDate": "seekwarc.format.dates",
    "Writer": "seekwarc.write.writer",
    "WriterOptions": "seekwarc.write.options",
    "Written": "seekwarc.write.written",
    "batches": "seekwarc.scale.batches",
    "check_header": "seekwarc.format.rules",
    "gather": "seekwarc.scale.gather",
    "read_split": "seekwarc.scale.splits",
    "splits": "seekwarc.scale.splits",
}


if not TYPE_CHECKING:
    # A type checker that knew of it would take every name, misspelt ones included, for `Any`.
    def __getattr__(name: str) -> Any:  # noqa: ANN401
        if name == "__compiled__":
            # A function that was compiled has no bytecode.
            value = not hasattr(import_module("seekwarc.format.zstd").measure_frame, "__code__")
        elif name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        else:
            value = getattr(import_module(_HOMES.get(name, "seekwarc.errors")), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@overload
def open(  # noqa: A001
    target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
    mode: Literal["r"] = "r",
    *,
    relations: Relations | None = None,
    **options: Unpack[ReaderOptions],
) -> Reader: ...


@overload
def open(  # noqa: A001
    target: str | os.PathLike[str] | BinaryIO,
    mode: Literal["w", "a"],
    **options: Unpack[WriterOptions],
) -> Writer: ...


def open(  # noqa: A001
    target: Any,
    mode: str = "r",
    **options: Any,
) -> Reader | Writer:
    """Open a WARC file for reading, writing or appending.

    Args:
        target: A path or a binary file object; for reading also a URL, bytes or a `RangeSource`.
        mode: "r" returns a `Reader`, "w" a `Writer`, "a" a `Writer` that continues the file.
        **options: Options of that class.

    Raises:
        SourceError: The target cannot be opened.
        ValueError: Unknown mode.
    """
    if mode == "r":
        from seekwarc.read.reader import Reader  # noqa: PLC0415

        return Reader(target, **options)
    if mode in ("w", "a"):
        from seekwarc.write.writer import Writer  # noqa: PLC0415

        return Writer(target, append=mode == "a", **options)
    raise ValueError(f'mode is {mode!r}, not "r", "w" or "a"')
