"""Splitting a file into several without compressing it again.

Source: WARC 1.1, clauses 5.16, 5.17 and 6.2 (warcinfo) and annex C (files of a series).
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, Unpack

from seekwarc.errors import FormatError, TargetExistsError
from seekwarc.frames.encoder import OrderedWork
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.system import default_threads
from seekwarc.tools.copy_inputs import PartTarget, parts_of, table_mode_of
from seekwarc.tools.copy_source import LooseRecord, StoredRecord
from seekwarc.tools.copy_target import CopySettings, CopyTarget, Recompressed, Tally
from seekwarc.tools.progress import Progress, no_progress
from seekwarc.write.files import Existing, give_name, sync_folder, unwritable
from seekwarc.write.numbering import numbered_names
from seekwarc.write.output import PathOutput

__all__ = ["Piece", "Splitting", "split"]

MIN_SIZE: Final = 64 << 10
"""A smaller maximum size of pieces is refused as a mistake."""
MAX_REPEATED: Final = 1 << 20
"""Maximum content of a warcinfo record that is repeated in each piece."""

_ENDING = re.compile(r"\.zstd?$", re.IGNORECASE)
_OTHER_ENDING = re.compile(r"\.(gz|warc)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the new files.

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
    **limits: Unpack[ReadLimits],
) -> Splitting:
    """Split a file into files that hold its records in order, byte for byte.

    The frames of a .warc.zst are copied, as by `concat`; a .warc.gz or .warc is compressed.

    Each piece begins with the warcinfo record that describes what follows (clause 6.2), so that a single
    piece tells where it is from. That record is repeated byte for byte. It keeps its ID, since records may
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
    names = _names(os.fspath(pattern))
    folder = os.path.dirname(os.path.abspath(pattern))
    tally = Tally()
    with parts_of([source], folder, ReadOptions(**limits)) as (part,):
        problem = part.problem(part.dictionary)
        if problem is not None:
            on_warning(f"{part.name}: {problem}: its records will be compressed again")
        settings = CopySettings(table_mode_of([part]), part.dictionary, part.dictionary_frame(), verify)
        with (
            closing(OrderedWork(threads or default_threads())) as work,
            _Workshop(folder, names, existing) as workshop,
            closing(part.records(part.dictionary, on_progress, "splitting")) as records,
        ):
            pieces = _Pieces(
                lambda: CopyTarget(workshop.begin(), work, settings, tally),
                max_size,
                max_records,
                repeat_warcinfo=repeat_warcinfo,
            )
            with pieces:
                for record in records:
                    pieces.add(record)
            if not pieces.finished:
                raise FormatError("the file has no record", source=part.name)
            workshop.publish()
    return Splitting(
        pieces=tuple(pieces.finished),
        records=tally.records,
        bytes_copied=tally.bytes_copied,
        bytes_recompressed=tally.bytes_recompressed,
        recompressed=tally.recompressed,
        verified=verify,
    )


class _Workshop:
    """A hidden folder for files that get their names all together, or not at all."""

    def __init__(self, folder: str, names: Iterator[str], existing: Existing) -> None:
        self._folder = folder
        self._names = names
        self._existing = existing
        self._made: list[str] = []
        try:
            self._hidden = tempfile.TemporaryDirectory(".partial", ".split.", folder)
        except OSError as error:
            raise unwritable(error, folder) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hidden.cleanup()

    def begin(self) -> PathOutput:
        name = next(self._names)
        if self._existing == "error":
            _refuse(name)
        output = PathOutput(os.path.join(self._hidden.name, os.path.basename(name)))
        output.name = name
        self._made.append(name)
        return output

    def publish(self) -> None:
        """Give all files their names; if one fails, remove the others again, unless they replaced files."""
        _refuse(next(self._names))
        try:
            for name in self._made:
                self._name(name)
            sync_folder(self._folder)
        except BaseException:
            if self._existing == "error":
                for name in self._made:
                    self._abort_named(name)
            raise

    def _name(self, name: str) -> None:
        try:
            give_name(self._hidden_path(name), name, name, self._existing)
        except TargetExistsError:
            raise
        except OSError as error:
            raise unwritable(error, name) from error

    def _abort_named(self, name: str) -> None:
        """Remove a file that was given its name, but no other file of that name."""
        hidden = self._hidden_path(name)
        with contextlib.suppress(OSError):
            if not os.path.lexists(hidden) or os.path.samefile(hidden, name):
                os.unlink(name)

    def _hidden_path(self, name: str) -> str:
        return os.path.join(self._hidden.name, os.path.basename(name))


class _Pieces:
    """The pieces, written one after another."""

    def __init__(
        self,
        begin: Callable[[], CopyTarget],
        max_size: int | None,
        max_records: int | None,
        *,
        repeat_warcinfo: bool,
    ) -> None:
        self.finished: list[Piece] = []
        self._begin = begin
        self._max_size = max_size
        self._max_records = max_records
        self._repeat_warcinfo = repeat_warcinfo
        self._warcinfo: StoredRecord | LooseRecord | None = None
        self._current: CopyTarget | None = None
        self._records = 0
        self._others = 0
        """Number of records that are not warcinfo records."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._finish()
        elif self._current is not None:
            self._current.abort()

    def add(self, record: StoredRecord | LooseRecord) -> None:
        """Add a record to the current piece, or to a new one that begins with its warcinfo record."""
        is_warcinfo = record.header.get("WARC-Type") == "warcinfo"
        if is_warcinfo and self._repeat_warcinfo:
            self._warcinfo = None
            if record.header.content_length <= MAX_REPEATED:
                self._warcinfo = record.kept()
                # A record that was read to keep it cannot be read again.
                record = record if isinstance(record, StoredRecord) else self._warcinfo
        if self._current is None or self._is_full(self._current, record):
            self._finish()
            self._current = self._begin()
            self._records = self._others = 0
            if self.finished and self._warcinfo is not None and not is_warcinfo:
                self._current.add(self._warcinfo, again=True)
        self._current.add(record)
        self._records += 1
        self._others += not is_warcinfo

    def _is_full(self, current: CopyTarget, record: StoredRecord | LooseRecord) -> bool:
        if self._max_records is not None and self._records >= self._max_records:
            return True
        if self._max_size is None or not self._others:
            return False
        return not current.has_room(record, self._max_size)

    def _finish(self) -> None:
        if self._current is not None:
            current = self._current
            current.finish()
            self._current = None
            self.finished.append(Piece(current.name, current.records, current.size))


def _names(pattern: str) -> Iterator[str]:
    """Return the names of the pieces, which are like those of a `Writer`'s series."""
    base = os.path.basename(pattern)
    if not base or os.path.isdir(pattern):
        raise ValueError(f"{pattern} is a folder; name the pieces in it")
    if _OTHER_ENDING.search(base):
        raise ValueError(f"{pattern}: the pieces are .warc.zst files; name them so")
    return numbered_names(pattern if _ENDING.search(base) else pattern + ".warc.zst")


def _refuse(name: str) -> None:
    # Pieces of an earlier run would pass for pieces of this one.
    if os.path.lexists(name):
        raise TargetExistsError(
            "exists already; remove it, or give the pieces another name, so that they are not mixed up",
            source=name,
        )
