"""Splitting a file into several without compressing it again.

Source: WARC 1.1, clauses 5.16, 5.17 and 6.2 (warcinfo) and annex C (files of a series).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final, Unpack

from seekwarc.edit.copy_inputs import PartTarget, parts_of, settings_of
from seekwarc.edit.copy_source import LooseRecord, StoredRecord
from seekwarc.edit.copy_target import CopyTarget, Recompressed, Tally
from seekwarc.errors import FormatError, TargetExistsError
from seekwarc.format.warc import RecordHeader
from seekwarc.frames.encoder import OrderedWork
from seekwarc.jobs.progress import Progress, no_progress
from seekwarc.jobs.work import hidden_folder
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.system import threads_for
from seekwarc.write.files import Existing, refuse_url
from seekwarc.write.opening import committed_together
from seekwarc.write.output import NoOutput, Output, PathOutput
from seekwarc.write.targets import numbered_names

__all__ = ["MIN_SIZE", "Piece", "PieceNames", "Pieces", "Splitting", "pieces_of", "split"]

MIN_SIZE: Final = 64 << 10
"""A smaller maximum size of pieces is refused as a mistake."""
MAX_REPEATED: Final = 1 << 20
"""Maximum content of a warcinfo record that is repeated in each piece."""

OnPiece = Callable[["Piece", RecordHeader], object]

_ENDING = re.compile(r"\.zstd?$", re.IGNORECASE)
_OTHER_ENDING = re.compile(r"\.(gz|warc)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the new files.

    Example:
        >>> piece = seekwarc.tools.split("crawl.warc.zst", "part", max_records=2).pieces[0]
        >>> piece.name, piece.records
        ('part-00000.warc.zst', 2)

    Attributes:
        name: Its path.
        records: Number of records in it, a repeated warcinfo record included.
        size: Size in bytes.
    """

    name: str
    records: int
    size: int


@dataclass(frozen=True, slots=True)
class Splitting:
    """The result of splitting a file.

    Example:
        >>> done = seekwarc.tools.split("crawl.warc.zst", "part", max_records=2)
        >>> done.records, done.verified
        (5, True)

    Attributes:
        pieces: The new files, in order.
        records: Number of records of the file.
        bytes_copied: Compressed bytes of the frames that were copied.
        bytes_recompressed: Content bytes of the frames that were compressed again.
        recompressed: The records that were compressed again, by reason.
        verified: Whether the copied frames were decoded and their checksums are right.
    """

    pieces: tuple[Piece, ...]
    records: int
    bytes_copied: int
    bytes_recompressed: int
    recompressed: tuple[Recompressed, ...]
    verified: bool


def split(
    source: PartTarget,
    pattern: str | os.PathLike[str],
    *,
    max_size: int | None = None,
    max_records: int | None = None,
    repeat_warcinfo: bool = True,
    verify: bool = True,
    existing: Existing = "error",
    threads: int | None = None,
    on_warning: Callable[[str], object] = lambda _: None,
    on_progress: Progress = no_progress,
    dry_run: bool = False,
    **limits: Unpack[ReadLimits],
) -> Splitting:
    """Split a file into files that hold its records in order, byte for byte.

        done = tools.split("crawl.warc.zst", "part.warc.zst", max_size=1 << 30)
        print([piece.name for piece in done.pieces])

    The frames of a .warc.zst are copied, as by `concat`; a .warc.gz or .warc is compressed.

    Each piece begins with the warcinfo record that describes what follows (clause 6.2), so that a single
    piece says where it is from. That record is repeated byte for byte. It keeps its ID, since records may
    refer to it (WARC-Warcinfo-ID), and another ID would make it another description. It keeps its
    WARC-Filename, which is the name of the file that the records were written to. The first piece, and pieces
    that begin with a warcinfo record of their own, get no other.

    The pieces are made in a hidden folder and get their names when the last one is finished: there are all of
    them or none. If the process is killed, only the hidden folder stays.

    Args:
        source: The file; a pipe is first copied to a temporary file.
        pattern: Path of the pieces: "crawl.warc.zst", or "crawl", makes "crawl-00000.warc.zst" and so on.
        max_size: Maximum size of a piece in bytes. A larger record gets a piece of its own.
        max_records: Maximum number of records in a piece, not counting a repeated warcinfo record.
        repeat_warcinfo: Begin each piece with its warcinfo record. Otherwise the pieces together hold exactly
            the records of the file.
        verify: Decode every copied frame and check its checksum.
        existing: Whether files with the names of pieces are refused ("error") or replaced ("overwrite").
            A file with the number after the last piece is always refused, since it would pass for a piece.
        threads: Threads that decode and compress; one per core, at most four, unless given.
        on_warning: Called with a message before anything is written, if the file will be compressed again.
        on_progress: Wraps each source that is read, to report progress.
        dry_run: Write nothing; return what would be written.
        **limits: Limits of reading; see `Reader`.

    Raises:
        ValueError: Neither `max_size` nor `max_records` is given, or a size below 64 KiB, or a pattern that
            ends in ".gz" or ".warc".
        FormatError: The file is damaged or not a WARC file. No piece is made.
        SourceError: The file cannot be read.
        TargetError: A piece cannot be written, or a file of its name exists.
    """
    if max_size is None and max_records is None:
        raise ValueError("max_size or max_records is needed: how large may a piece be?")
    if max_size is not None and max_size < MIN_SIZE:
        raise ValueError(f"max_size is {max_size}, not {MIN_SIZE} or more")
    if max_records is not None and max_records < 1:
        raise ValueError(f"max_records is {max_records}, not 1 or more")

    def is_full(piece: CopyTarget, record: StoredRecord | LooseRecord, records: int, others: int) -> bool:
        if max_records is not None and records >= max_records:
            return True
        return max_size is not None and others > 0 and not piece.has_room(record, max_size)

    names = PieceNames(pattern)
    folder = names.folder
    tally = Tally()
    with parts_of([source], folder if not dry_run else None, ReadOptions.of(**limits)) as (part,):
        settings = settings_of([part], on_warning, verify=verify)
        with (
            closing(OrderedWork(threads_for(threads))) as work,
            hidden_folder(folder if not dry_run else None) as hidden,
            closing(part.records(part.dictionary, on_progress, "splitting")) as records,
        ):
            outputs = Pieces(hidden, names, existing, dry_run=dry_run)
            pieces = pieces_of(
                records,
                lambda: CopyTarget(outputs.begin(), work, settings, tally),
                is_full,
                repeat_warcinfo=repeat_warcinfo,
            )
            if not pieces:
                raise FormatError("the file has no record", source=part.name)
            outputs.publish()
    return Splitting(
        pieces=tuple(pieces),
        records=tally.records,
        bytes_copied=tally.bytes_copied,
        bytes_recompressed=tally.bytes_recompressed,
        recompressed=tally.recompressed,
        verified=verify,
    )


class Pieces:
    """Files that get their names all together, or not at all. Until then they are in a hidden folder."""

    def __init__(
        self, hidden: str | None, names: PieceNames, existing: Existing, *, dry_run: bool = False
    ) -> None:
        self._hidden = hidden
        self._names = iter(names)
        self._existing = existing
        self._dry_run = dry_run
        self._made: list[Output] = []

    def begin(self) -> Output:
        """Make the next file."""
        name = next(self._names)
        if self._existing == "error":
            _refuse(name)
        self._made.append(
            NoOutput(name, self._existing)
            if self._dry_run
            else PathOutput(name, existing=self._existing, folder=self._hidden)
        )
        return self._made[-1]

    def publish(self) -> None:
        """Give all files their names; if one fails, remove the others again, unless they replaced files."""
        _refuse(next(self._names))
        with committed_together() as outputs:
            outputs.extend(self._made)


def pieces_of(
    records: Iterable[StoredRecord | LooseRecord],
    begin: Callable[[], CopyTarget],
    is_full: Callable[[CopyTarget, StoredRecord | LooseRecord, int, int], bool],
    *,
    repeat_warcinfo: bool,
    on_piece: OnPiece = lambda *_: None,
) -> list[Piece]:
    """Put records into files, and return these; none has its name yet.

    Args:
        records: The records.
        begin: Begins a file.
        is_full: Tells of a file, the next record, the number of records in the file, and the number of those
            that are not warcinfo records, whether a new file is to be begun.
        repeat_warcinfo: Begin each file with its warcinfo record.
        on_piece: Called with each file and the header of the last record in it.
    """
    pieces: list[Piece] = []
    current: CopyTarget | None = None
    warcinfo: StoredRecord | LooseRecord | None = None
    last: RecordHeader | None = None
    count = others = 0
    try:
        for record in records:
            is_warcinfo = record.header.get("WARC-Type") == "warcinfo"
            if is_warcinfo and repeat_warcinfo:
                warcinfo = record.kept() if record.header.content_length <= MAX_REPEATED else None
            if current is not None and is_full(current, record, count, others):
                pieces.append(_finished(current, last, on_piece))
                current = None
            if current is None:
                current = begin()
                count = others = 0
                if pieces and warcinfo is not None and not is_warcinfo:
                    current.add(warcinfo, again=True)
            # A record that was read to keep it cannot be read again.
            current.add(warcinfo if is_warcinfo and isinstance(warcinfo, LooseRecord) else record)
            last = record.header
            count += 1
            others += not is_warcinfo
        if current is not None:
            pieces.append(_finished(current, last, on_piece))
    except BaseException:
        if current is not None:
            current.abort()
        raise
    return pieces


def _finished(file: CopyTarget, last: RecordHeader | None, on_piece: OnPiece) -> Piece:
    file.seal()
    piece = Piece(file.name, file.records, file.size)
    if last is not None:
        on_piece(piece, last)
    return piece


class PieceNames:
    """The names of the files of a series: "crawl.warc.zst" makes "crawl-00000.warc.zst" and so on."""

    def __init__(self, pattern: str | os.PathLike[str]) -> None:
        name = os.fspath(pattern)
        refuse_url(name)
        base = os.path.basename(name)
        if not base or os.path.isdir(name):
            raise ValueError(f"{name} is a folder; name the pieces in it")
        if _OTHER_ENDING.search(base):
            raise ValueError(f"{name}: the pieces are .warc.zst files; name them so")
        self._pattern = name if _ENDING.search(base) else name + ".warc.zst"
        self.folder = os.path.dirname(os.path.abspath(name))

    def __iter__(self) -> Iterator[str]:
        return numbered_names(self._pattern)


def _refuse(name: str) -> None:
    # Pieces of an earlier run would pass for pieces of this one.
    if os.path.lexists(name):
        raise TargetExistsError(
            "exists already; remove it, or give the pieces another name, so that they are not mixed up",
            source=name,
        )
