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

    from seekwarc.archive.assembly import Written
    from seekwarc.archive.payload import Extent
    from seekwarc.archive.reader import Reader
    from seekwarc.archive.record import Record, TableStatus
    from seekwarc.archive.writer import Writer
    from seekwarc.errors import (
        ChecksumError,
        FormatError,
        FormatWarning,
        LimitError,
        NotFoundError,
        RangeError,
        SeekWarcError,
        SourceError,
        TruncatedError,
        UnsupportedError,
    )
    from seekwarc.format.seektable import SeekTable
    from seekwarc.frames.dictionary import Dictionary
    from seekwarc.frames.run import ReadPlan
    from seekwarc.storage.source import RangeSource, Stats

__all__ = [
    "ChecksumError",
    "Dictionary",
    "Extent",
    "FormatError",
    "FormatWarning",
    "LimitError",
    "NotFoundError",
    "RangeError",
    "RangeSource",
    "ReadPlan",
    "Reader",
    "Record",
    "SeekTable",
    "SeekWarcError",
    "SourceError",
    "Stats",
    "TableStatus",
    "TruncatedError",
    "UnsupportedError",
    "Writer",
    "Written",
    "open",
]

__version__ = "0.1.0"

# Who only reads does not wait for what writing needs: each name is imported when it is first used.
_HOMES = {
    "Dictionary": "seekwarc.frames.dictionary",
    "Extent": "seekwarc.archive.payload",
    "RangeSource": "seekwarc.storage.source",
    "ReadPlan": "seekwarc.frames.run",
    "Reader": "seekwarc.archive.reader",
    "Record": "seekwarc.archive.record",
    "SeekTable": "seekwarc.format.seektable",
    "Stats": "seekwarc.storage.source",
    "TableStatus": "seekwarc.archive.record",
    "Writer": "seekwarc.archive.writer",
    "Written": "seekwarc.archive.assembly",
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
    mode: Literal["w"],
    **options: Any,  # noqa: ANN401
) -> Writer: ...


def open(  # noqa: A001
    target: Any,
    mode: str = "r",
    **options: Any,
) -> Reader | Writer:
    """Open a WARC file to read, or a .warc.zst file to write.

    Args:
        target: A path or a binary file object; to read also bytes or a `RangeSource`.
        mode: "r" makes a `Reader`, "w" a `Writer`.
        **options: What that class takes.

    Raises:
        SourceError: The target cannot be opened.
        ValueError: Another mode.
    """
    if mode == "r":
        from seekwarc.archive.reader import Reader  # noqa: PLC0415

        return Reader(target, **options)
    if mode == "w":
        from seekwarc.archive.writer import Writer  # noqa: PLC0415

        return Writer(target, **options)
    raise ValueError(f'mode is {mode!r}, not "r" or "w"')
