"""seekwarc: WARC files with random access inside their records.

README.md is the introduction, and spec-notes/ describes the file format.

    with seekwarc.open("crawl.warc.zst") as archive:
        for record in archive:
            print(record.offset, record.type, record.target_uri)
        record = archive.record_at(123_456)
        some_bytes = record.payload.pread(1_000_000_000, 65_536)

`__compiled__` says whether the hot modules run as machine code, as they do if there was a C compiler when
the package was installed, or as Python; they do the same.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast, overload

if TYPE_CHECKING:
    from typing import BinaryIO

    from seekwarc.aio.reading import AsyncCapture as AsyncCapture
    from seekwarc.aio.reading import AsyncCollection as AsyncCollection
    from seekwarc.aio.reading import AsyncExtent as AsyncExtent
    from seekwarc.aio.reading import AsyncIndex as AsyncIndex
    from seekwarc.aio.reading import AsyncReader as AsyncReader
    from seekwarc.aio.reading import AsyncRecord as AsyncRecord
    from seekwarc.aio.writer import AsyncWriter as AsyncWriter
    from seekwarc.cdx.index import Capture as Capture
    from seekwarc.cdx.index import Index as Index
    from seekwarc.cdx.wacz import Page as Page
    from seekwarc.cdx.wacz import Wacz as Wacz
    from seekwarc.collection.collection import Collection as Collection
    from seekwarc.collection.entry import Entry as Entry
    from seekwarc.collection.parts import JoinedParts as JoinedParts
    from seekwarc.collection.record_index import MemoryIndex as MemoryIndex
    from seekwarc.collection.record_index import RecordIndex as RecordIndex
    from seekwarc.collection.segments import JoinedRecord as JoinedRecord
    from seekwarc.collection.segments import ResolvedRevisit as ResolvedRevisit
    from seekwarc.errors import ChecksumError as ChecksumError
    from seekwarc.errors import FormatError as FormatError
    from seekwarc.errors import FormatWarning as FormatWarning
    from seekwarc.errors import HoleError as HoleError
    from seekwarc.errors import LimitError as LimitError
    from seekwarc.errors import NotFoundError as NotFoundError
    from seekwarc.errors import RangeError as RangeError
    from seekwarc.errors import RangeNotSupportedError as RangeNotSupportedError
    from seekwarc.errors import RuleError as RuleError
    from seekwarc.errors import SeekWarcError as SeekWarcError
    from seekwarc.errors import SegmentError as SegmentError
    from seekwarc.errors import SourceChangedError as SourceChangedError
    from seekwarc.errors import SourceError as SourceError
    from seekwarc.errors import SourceNotFoundError as SourceNotFoundError
    from seekwarc.errors import SourceTimeoutError as SourceTimeoutError
    from seekwarc.errors import TargetError as TargetError
    from seekwarc.errors import TargetExistsError as TargetExistsError
    from seekwarc.errors import TruncatedError as TruncatedError
    from seekwarc.errors import UnsupportedError as UnsupportedError
    from seekwarc.format.dates import WarcDate as WarcDate
    from seekwarc.format.digest import Digest as Digest
    from seekwarc.format.http import HttpHead as HttpHead
    from seekwarc.format.rules import Finding as Finding
    from seekwarc.format.rules import check_header as check_header
    from seekwarc.format.seektable import SeekTable as SeekTable
    from seekwarc.format.seektable import SidecarReference as SidecarReference
    from seekwarc.format.seektable import TableReference as TableReference
    from seekwarc.format.seektable import TableTrust as TableTrust
    from seekwarc.format.values import MediaType as MediaType
    from seekwarc.format.warc import RecordHeader as RecordHeader
    from seekwarc.frames.dictionary import Dictionary as Dictionary
    from seekwarc.frames.run import ReadPlan as ReadPlan
    from seekwarc.inside.text import PageText as PageText
    from seekwarc.read.body import TableStatus as TableStatus
    from seekwarc.read.digests import DigestCheck as DigestCheck
    from seekwarc.read.digests import DigestVerdict as DigestVerdict
    from seekwarc.read.extent import Extent as Extent
    from seekwarc.read.options import ReaderOptions as ReaderOptions
    from seekwarc.read.reader import Reader as Reader
    from seekwarc.read.record import Record as Record
    from seekwarc.read.record import Relations
    from seekwarc.read.selection import Conditions as Conditions
    from seekwarc.scale.batches import Batches as Batches
    from seekwarc.scale.batches import batches as batches
    from seekwarc.scale.gather import gather as gather
    from seekwarc.scale.payload import PayloadPart as PayloadPart
    from seekwarc.scale.split import Split as Split
    from seekwarc.scale.splits import read_split as read_split
    from seekwarc.scale.splits import splits as splits
    from seekwarc.storage.diskcache import DiskCache as DiskCache
    from seekwarc.storage.fsspec import FileSystemSource as FileSystemSource
    from seekwarc.storage.plan import ReadPolicy as ReadPolicy
    from seekwarc.storage.source import RangeReadable
    from seekwarc.storage.source import RangeSource as RangeSource
    from seekwarc.storage.source import Stats as Stats
    from seekwarc.write.clips import Clip as Clip
    from seekwarc.write.clips import clip as clip
    from seekwarc.write.dedup import Deduplicator as Deduplicator
    from seekwarc.write.dedup import Duplicates as Duplicates
    from seekwarc.write.dedup import Original as Original
    from seekwarc.write.file_layout import TableMode as TableMode
    from seekwarc.write.options import WriterOptions as WriterOptions
    from seekwarc.write.writer import Writer as Writer
    from seekwarc.write.written import Written as Written

__version__ = "0.1.0"
__compiled__: bool
"""Whether modules that were compiled are running."""

# The public names; a test compares them with the imports above. Each is imported when it is first used, so
# that readers do not wait for what writing needs.
_HOMES = {
    name: f"seekwarc.{home}"
    for home, names in {
        "aio.reading": "AsyncCapture AsyncCollection AsyncExtent AsyncIndex AsyncReader AsyncRecord",
        "aio.writer": "AsyncWriter",
        "cdx.index": "Capture Index",
        "cdx.wacz": "Page Wacz",
        "collection.collection": "Collection",
        "collection.entry": "Entry",
        "collection.parts": "JoinedParts",
        "collection.record_index": "MemoryIndex RecordIndex",
        "collection.segments": "JoinedRecord ResolvedRevisit",
        "errors": "ChecksumError FormatError FormatWarning HoleError LimitError NotFoundError "
        "RangeError RangeNotSupportedError RuleError SeekWarcError SegmentError SourceChangedError "
        "SourceError SourceNotFoundError SourceTimeoutError TargetError TargetExistsError TruncatedError "
        "UnsupportedError",
        "format.dates": "WarcDate",
        "format.digest": "Digest",
        "format.http": "HttpHead",
        "format.rules": "Finding check_header",
        "format.seektable": "SeekTable SidecarReference TableReference TableTrust",
        "format.values": "MediaType",
        "format.warc": "RecordHeader",
        "frames.dictionary": "Dictionary",
        "frames.run": "ReadPlan",
        "inside.text": "PageText",
        "read.body": "TableStatus",
        "read.digests": "DigestCheck DigestVerdict",
        "read.extent": "Extent",
        "read.options": "ReaderOptions",
        "read.reader": "Reader",
        "read.record": "Record",
        "read.selection": "Conditions",
        "scale.batches": "Batches batches",
        "scale.gather": "gather",
        "scale.payload": "PayloadPart",
        "scale.split": "Split",
        "scale.splits": "read_split splits",
        "storage.diskcache": "DiskCache",
        "storage.fsspec": "FileSystemSource",
        "storage.plan": "ReadPolicy",
        "storage.source": "RangeSource Stats",
        "write.clips": "Clip clip",
        "write.dedup": "Deduplicator Duplicates Original",
        "write.file_layout": "TableMode",
        "write.options": "WriterOptions",
        "write.writer": "Writer",
        "write.written": "Written",
    }.items()
    for name in names.split()
}
_GUESSED = {
    "ArchiveIterator": "open",
    "WARCReader": "Reader",
    "WARCWriter": "Writer",
    "WarcReader": "Reader",
    "WarcWriter": "Writer",
    "load": "open",
    "verify": "tools.verify",
    "convert": "tools.convert",
}
"""Names that other packages have, and what has their place here."""
__all__ = [*_HOMES, "open"]  # noqa: PLE0604 - they are strings


if not TYPE_CHECKING:
    # A type checker that knew of it would take every name, misspelt ones included, for `Any`.
    def __getattr__(name: str) -> Any:  # noqa: ANN401
        if name == "__compiled__":
            # A function that was compiled has no bytecode.
            value = not hasattr(import_module("seekwarc.format.zstd").measure_frame, "__code__")
        elif name == "tools":
            # The examples of the docstrings begin with `import seekwarc` alone.
            value = import_module("seekwarc.tools")
        elif name not in _HOMES:
            # Nothing is imported for that: who looks through all modules would see them change.
            hint = f"; did you mean {_GUESSED[name]}?" if name in _GUESSED else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
        else:
            value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


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
    """Open a WARC file for reading, writing or appending, or a WACZ or a folder of files for reading.

    Args:
        target: A path, a URL or a binary file object; for reading also bytes or a `RangeSource`. If it is the
            name of a WACZ (.wacz), the result is a `Wacz`, which type checkers see if that is called instead;
            of a WACZ that has others as members, a list of them in JSON, or a folder, a `Collection`.
        mode: "r" returns a `Reader`, "w" a `Writer`, "a" a `Writer` that continues the file.
        **options: Options of that class.

    Raises:
        SourceError: The target cannot be opened.
        ValueError: Unknown mode.
    """
    if mode == "r":
        from seekwarc.read.reader import Reader

        name = os.fspath(target) if isinstance(target, str | os.PathLike) else ""
        if isinstance(name, str) and name.lower().partition("?")[0].endswith((".wacz", ".json")):
            from seekwarc.cdx.wacz import open_package

            if (package := open_package(name, **options)) is not None:
                return cast("Reader", package)
        if name and os.path.isdir(name):
            from seekwarc.collection.collection import Collection

            return cast("Reader", Collection(name, **options))
        return Reader(target, **options)
    if mode in ("w", "a"):
        from seekwarc.write.writer import Writer

        return Writer(target, append=mode == "a", **options)
    raise ValueError(f'mode is {mode!r}, not "r", "w" or "a"')
