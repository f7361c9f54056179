"""A new .warc.zst file made of records of other files, whose frames are copied where possible.

How a copied record is made to fit into its new file (spec-notes/warc-zstd-seekable, annex A):

- Its seek table is made again from its frames, and so is the one at the end of the file.
- The first record of a file that ends in a table must not have its header in a frame of its own if it has
  more frames (A.2). The first two frames of such a record are compressed again, all others copied.
- A small record is one frame (section 2.2). One in several frames, as in files with a table for each record,
  is compressed again; in a file of that mode it is the other way round (section 4.2).
- A record that was the first of another file keeps its header in one frame with what follows: readers have no
  trouble with that.

Frames are read in the caller's thread, decoded to verify them in the threads that also compress, and written
in order. So at most one run of frames (`RUN`) per job is in memory, and damage is reported by a later call.

That each frame holds what its checksum says (`verify`) is the only promise for which content is looked at.
What does not compress, as films, is in raw blocks, which are their own content: it is hashed where it was
read, in the caller's thread, as another thread costs more than that. Bytes are read once for this and for
writing; with `copy_file_range` they would be read twice.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, Final

from seekwarc.edit.copy_source import LooseRecord, StoredRecord
from seekwarc.edit.frame_list import FrameList
from seekwarc.edit.stored_runs import StoredRun
from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.http import is_http_block, parse_http_head
from seekwarc.format.words import counted
from seekwarc.format.zstd import parse_frame_header
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import MAX_FRAME_SIZE, MIN_FRAME_SIZE, EncodedFrame, OrderedWork
from seekwarc.frames.pieces import Piece, pieces_from
from seekwarc.frames.scan import Window
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.write.assembly import ENTRY_SIZES, OWN_TABLE, RecordAssembly, stored_bound
from seekwarc.write.block_reader import BlockSource
from seekwarc.write.file_layout import CHECKSUM_OF_NOTHING, Entries, Entry, TableMode
from seekwarc.write.forms import form_of
from seekwarc.write.opening import open_output
from seekwarc.write.options import WriteOptions
from seekwarc.write.output import Output
from seekwarc.write.record_file import RecordFile
from seekwarc.write.spool import MERGED_LEAD

__all__ = ["CopySettings", "CopyTarget", "FrameCopier", "Recompressed", "Tally", "copied_bound"]

RUN: Final = 1 << 20
"""Compressed bytes of frames that are read, verified and written together."""
MAX_MARKED: Final = 1 << 20
"""Maximum compressed bytes of verified frames that wait for earlier jobs."""
CHECKSUM_SIZE: Final = 4
MAX_ENTRY: Final = max(ENTRY_SIZES.values())

FIRST: Final = "the first record of a file with a table (its first two frames only)"
"""Why some of a record's frames are compressed again."""

SPREAD: Final = "the first record of a file with a table, its header in several frames"
IN_SEVERAL: Final = "a small record in several frames"
NOT_APART: Final = "the record header has no frame of its own"
FIRST_LARGE: Final = "the first record of a file with a table, in frames of more than 8 MiB"


@dataclass(frozen=True, slots=True)
class Recompressed:
    """Why records were compressed again."""

    file: str
    """Name of their file."""
    reason: str
    records: int

    def __str__(self) -> str:
        count = counted(self.records, "record")
        return f"{self.file}: {count} compressed again: {self.reason}"


@dataclass(slots=True)
class Tally:
    """What was copied so far, and what was compressed again."""

    records: int = 0
    bytes_copied: int = 0
    """Compressed bytes of the frames that were copied."""
    bytes_recompressed: int = 0
    """Content bytes of the frames that were compressed again."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of records that were compressed again, by file and reason."""

    @property
    def recompressed(self) -> tuple[Recompressed, ...]:
        """The reasons, in the order in which they occurred."""
        return tuple(Recompressed(*key, count) for key, count in self.reasons.items())

    def add_reason(self, file: str, reason: str, content_size: int, *, records: int = 1) -> None:
        """Count content that was compressed again."""
        self.reasons[file, reason] += records
        self.bytes_recompressed += content_size


@dataclass(frozen=True, slots=True)
class CopySettings:
    """Settings that all files of one run share."""

    tables: TableMode
    dictionary: Dictionary | None = None
    dictionary_frame: bytes | None = None
    """The dictionary's frame, with which each file begins."""
    verify: bool = True
    """Whether frames are decoded while they are copied."""


class FrameCopier:
    """Copies the frames of records, and compresses other records, in the order of the calls."""

    def __init__(
        self, assembly: RecordAssembly, work: OrderedWork, tally: Tally, *, verify: bool = True
    ) -> None:
        self._assembly = assembly
        self._layout = assembly.layout
        self._work = work
        self._tally = tally
        self._verify = verify
        self._expected = 0
        """Maximum size of the copied records that are not yet in the file."""
        self._marked = 0

    @property
    def size_bound(self) -> int:
        """See `RecordAssembly.size_bound`; includes what is being copied."""
        return self._assembly.size_bound + self._expected

    def copy(self, record: StoredRecord) -> None:
        """Add a record by copying its frames."""
        self._assembly.submit()
        bound = copied_bound(record)
        self._expected += bound
        if record.data:
            self._tally.bytes_copied += len(record.data)
            self._mark(partial(self._add_single, record, bound), len(record.data))
        else:
            self._mark(self._layout.begin_record)
            large = record.data_frames > 1
            if large and self._assembly.merges_first_header and record.header_is_apart:
                large = self._copy_with_merged_head(record)
            else:
                self._copy_frames(record.file, record.frames, 0, len(record.frames))
            self._mark(partial(self._end_record, bound, large=large))
        if record.following:
            self.copy_extensions(record)
        self._assembly.records += 1

    def copy_run(self, run: StoredRun) -> None:
        """Add the records of a run, each of which must fit into the file as it is."""
        self._assembly.submit()
        self._tally.bytes_copied += len(run.data)
        self._work.submit(run.entries, partial(self._add_records, run.data))
        self._assembly.records += len(run.frames)

    def _add_records(self, data: bytes, entries: Entries) -> None:
        self._layout.add_part(io.BytesIO(data), entries, covered=False)

    def copy_extensions(self, record: StoredRecord) -> None:
        """Copy the extension frames that follow a record."""
        if record.following:
            self._assembly.submit()
            self._copy_frames(record.file, record.following, 0, len(record.following))

    def _add_single(self, record: StoredRecord, bound: int) -> None:
        self._layout.begin_record()
        self._layout.pour(record.data)
        self._layout.note([_entry(record.data, record.frames.contents[0])])
        self._end_record(bound, large=False)

    def _end_record(self, bound: int, *, large: bool) -> None:
        self._layout.end_record(large=large)
        self._expected -= bound

    def _mark(self, step: Callable[[], object], size: int = 0) -> None:
        self._marked += size
        if self._marked > MAX_MARKED:
            self._marked = 0
            self._work.drain()
        self._work.mark(step)

    def _add_frame(self, frame: EncodedFrame) -> None:
        self._mark(lambda: self._layout.add(frame), len(frame.data))

    def _copy_with_merged_head(self, record: StoredRecord) -> bool:
        """Copy a record, its header merged with the next frame; return whether it has several frames."""
        frames, second = record.frames, record.second
        block = self._content(record, second)
        lead = min(MERGED_LEAD, len(block))
        if is_http_block(record.header.get("Content-Type")):
            http = parse_http_head(block, whole=record.data_frames == 2)
            lead = http.size if http is not None else lead
        self._add_frame(self._assembly.encoder.encode(record.header.raw + block[:lead]))
        self._copy_frames(record.file, frames, 1, second)
        if lead < len(block):
            self._add_frame(self._assembly.encoder.encode(block[lead:]))
        self._copy_frames(record.file, frames, second + 1, len(frames))
        self._tally.add_reason(record.file.name, FIRST, len(record.header.raw) + len(block))
        return record.data_frames > 2 or lead < len(block)

    def _content(self, record: StoredRecord, number: int) -> bytes:
        file, frames = record.file, record.frames
        offset = frames.offsets[number]
        stored = _read(file, offset, frames.stored[number])
        try:
            return file.decoder.decode(stored, parse_frame_header(stored))
        except FormatError as error:
            raise error.located(file.name, offset) from None

    def _copy_frames(self, file: ArchiveFile, frames: FrameList, start: int, stop: int) -> None:
        for run in frames.runs(start, stop, RUN):
            offset = frames.offsets[run[0]]
            sizes = [(frames.stored[number], frames.contents[number]) for number in run]
            stored = sum(size for size, _ in sizes)
            self._tally.bytes_copied += stored
            if max(stored, sizes[0][1]) > MAX_FRAME_SIZE:
                self._work.drain()
                self._pass_on(file, offset, *sizes[0])
                continue
            data = _read(file, offset, stored)
            check = partial(_entries, file, offset, data, sizes, verify=self._verify)
            if not self._verify or stored >= sum(content for _, content in sizes):
                # What does not compress is not decoded: that takes less than another thread would cost.
                self._mark(partial(self._check_run, data, check), stored)
            else:
                self._work.submit(check, partial(self._add_run, data))

    def _check_run(self, data: bytes, check: Callable[[], list[Entry]]) -> None:
        self._add_run(data, check())

    def _add_run(self, data: bytes, entries: list[Entry]) -> None:
        self._layout.pour(data)
        self._layout.note(entries)

    def _pass_on(self, file: ArchiveFile, offset: int, stored: int, content: int) -> None:
        """Copy one large frame piece by piece; to verify it, decode it first."""
        if content and self._verify:
            for piece in pieces_from(Window(file.source), offset, "zst", file.decoder):
                if not isinstance(piece, Piece) or piece.end is not None:
                    break
        tail = b""
        for start in range(0, stored, RUN):
            data = _read(file, offset + start, min(RUN, stored - start))
            self._layout.pour(data)
            tail = (tail + data)[-CHECKSUM_SIZE:]
        self._layout.note([(stored, *_entry(tail, content)[1:])])


class CopyTarget:
    """A file that is made of records of other files. The caller ends it by `seal` or `abort`."""

    def __init__(
        self,
        target: str | os.PathLike[str] | BinaryIO | Output,
        work: OrderedWork,
        settings: CopySettings,
        tally: Tally,
    ) -> None:
        form = form_of("zst", WriteOptions(tables=settings.tables), settings.dictionary)
        assemble = partial(RecordAssembly, form, work)
        self._file = RecordFile(open_output(target), assemble, settings.dictionary_frame)
        self._file.make()
        self._assembly = self._file.assembly
        self._copier = FrameCopier(self._assembly, work, tally, verify=settings.verify)
        self.name = self._file.name
        self._tables = settings.tables
        self._tally = tally
        self._is_settled = True

    @property
    def records(self) -> int:
        """Number of records in it."""
        return self._assembly.records

    @property
    def size(self) -> int:
        """Size in bytes, once it is finished."""
        return self._assembly.layout.size

    def add(self, record: StoredRecord | LooseRecord | StoredRun, *, again: bool = False) -> None:
        """Add a record or a run, by copying its frames if possible."""
        if isinstance(record, StoredRun):
            self._tally.records += len(record.frames)
            self._copier.copy_run(record)
            return
        self._tally.records += not again
        reason = record.reason if isinstance(record, LooseRecord) else self._misfit(record)
        # The size of records that are compressed again, and of a first record, is only estimated.
        self._is_settled &= reason is None and self.records > 0
        if isinstance(record, StoredRecord) and reason is None:
            self._copier.copy(record)
            return
        loose = record if isinstance(record, LooseRecord) else record.loose(reason or "")
        self._assembly.add(
            loose.header, BlockSource(loose.open_block(), loose.header.content_length), loose.trailer
        )
        self._tally.add_reason(
            loose.filename,
            loose.reason,
            len(loose.header.raw) + loose.header.content_length,
            records=0 if again else 1,
        )
        if isinstance(record, StoredRecord):
            self._copier.copy_extensions(record)

    def has_room(self, record: StoredRecord | LooseRecord, max_size: int) -> bool:
        """Tell whether the file would have at most `max_size` bytes with this record."""
        if isinstance(record, StoredRecord):
            bound = copied_bound(record)
        else:
            bound = stored_bound(len(record.header.raw) + record.header.content_length)
        if not self._is_settled or self._copier.size_bound + bound > max_size:
            # The size is exact once everything is in the file.
            self._assembly.flush()
            self._is_settled = True
        return self._copier.size_bound + bound <= max_size

    def _misfit(self, record: StoredRecord) -> str | None:
        if record.data and self._tables != "every":
            return None
        count, length = record.data_frames, record.header.content_length
        if self._tables == "every":
            if not length:
                return IN_SEVERAL if count > 1 else None
            return None if count > 1 and record.header_is_apart else NOT_APART
        if count == 1:
            return None
        with_block_in_one = count == 2 and record.header_is_apart and record.size <= MAX_FRAME_SIZE
        if length <= MIN_FRAME_SIZE or with_block_in_one:
            return IN_SEVERAL
        return None if self.records else self._first_misfit(record)

    @staticmethod
    def _first_misfit(record: StoredRecord) -> str | None:
        if record.frames.contents[0] < len(record.header.raw):
            return SPREAD
        second = max(record.frames.stored[record.second], record.frames.contents[record.second])
        return FIRST_LARGE if record.header_is_apart and second > MAX_FRAME_SIZE else None

    def seal(self) -> None:
        """End the file, which gets its name when its output is committed; if that fails, abort."""
        try:
            self._file.seal()
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """Leave nothing under the final name."""
        self._file.abort()


def copied_bound(record: StoredRecord) -> int:
    """Return the maximum size of a record in a new file, tables included."""
    if record.data and not record.following:
        return len(record.data) + MAX_ENTRY + OWN_TABLE
    frames = len(record.frames) + len(record.following)
    return record.stored_size + MAX_ENTRY * frames + OWN_TABLE


def _read(file: ArchiveFile, offset: int, size: int) -> bytes:
    data = file.source.read(offset, offset + size)
    if len(data) < size:
        raise TruncatedError("the file ends inside this frame", source=file.name, offset=offset)
    return data


def _entries(
    file: ArchiveFile, offset: int, data: bytes, sizes: Sequence[tuple[int, int]], *, verify: bool
) -> list[Entry]:
    view = memoryview(data)
    entries = []
    position = 0
    for stored, content in sizes:
        frame = view[position : position + stored]
        if content and verify:
            try:
                file.decoder.check(frame, parse_frame_header(frame), file.frames.scratch)
            except FormatError as error:
                raise error.located(file.name, offset + position) from None
        entries.append(_entry(frame, content))
        position += stored
    return entries


def _entry(frame: bytes | memoryview, content: int) -> Entry:
    checksum = int.from_bytes(frame[-CHECKSUM_SIZE:], "little") if content else CHECKSUM_OF_NOTHING
    return len(frame), content, checksum
