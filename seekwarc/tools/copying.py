"""Frames of other files copied into a new one, verified on the way, with right seek tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from seekwarc.errors import FormatError, TruncatedError
from seekwarc.format.http import is_http_block, parse_http_head
from seekwarc.format.words import counted
from seekwarc.format.zstd import parse_frame_header
from seekwarc.frames.dictionary import Dictionary
from seekwarc.frames.encoder import MAX_FRAME_SIZE, EncodedFrame, OrderedWork
from seekwarc.frames.scan import Window
from seekwarc.frames.units import Piece, pieces_from
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.tools.stored import FrameList, StoredRecord
from seekwarc.write.assembly import ENTRY_SIZES, OWN_TABLE, RecordAssembly
from seekwarc.write.file_layout import CHECKSUM_OF_NOTHING, TableMode
from seekwarc.write.forms import form_of
from seekwarc.write.output import Output
from seekwarc.write.spool import MERGED_LEAD
from seekwarc.write.writer import DEFAULT_FRAME_SIZE

__all__ = ["CopyAssembly", "CopySettings", "Recompressed", "Tally", "copied_bound"]

RUN: Final = 1 << 20
"""Frames are read, verified and written about as much at a time."""
MOST_MARKED: Final = 1 << 20
"""Stored bytes that may wait for others to be verified."""
CHECKSUM_SIZE: Final = 4

FIRST: Final = "the first record of a file with a table (its first two frames only)"
"""Why some of a record's frames are made anew."""


@dataclass(frozen=True, slots=True)
class Recompressed:
    """Why records were compressed anew."""

    file: str
    """Name of the file that they are from."""
    reason: str
    records: int

    def __str__(self) -> str:
        count = counted(self.records, "record")
        return f"{self.file}: {count} compressed anew: {self.reason}"


@dataclass(slots=True)
class Tally:
    """What was copied so far, and what was not."""

    records: int = 0
    bytes_copied: int = 0
    """Stored bytes of the frames that were taken over as they are."""
    bytes_recompressed: int = 0
    """Content bytes of the frames that were made anew."""
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How many records of which file were compressed anew, and why."""

    @property
    def recompressed(self) -> tuple[Recompressed, ...]:
        """The reasons, in the order in which they came up."""
        return tuple(Recompressed(*key, count) for key, count in self.reasons.items())

    def add_reason(self, file: str, reason: str, content_size: int, *, records: int = 1) -> None:
        """Count what was compressed anew."""
        self.reasons[file, reason] += records
        self.bytes_recompressed += content_size


@dataclass(frozen=True, slots=True)
class CopySettings:
    """What all files that are made in one go have in common."""

    tables: TableMode
    dictionary: Dictionary | None = None
    dictionary_frame: bytes | None = None
    """The dictionary as it stands at the head of each file."""
    verify: bool = True
    """Whether frames are decoded while they are copied."""


class _Entry(NamedTuple):
    stored_size: int
    content_size: int
    checksum: int


class CopyAssembly(RecordAssembly):
    """Takes records as they are stored, beside those that it makes frames of itself.

    Args:
        output: Where the file is written.
        work: Threads to verify and compress in.
        settings: What the file is to be like.
        tally: Counts what is copied.
    """

    def __init__(
        self,
        output: Output,
        work: OrderedWork,
        settings: CopySettings,
        tally: Tally,
    ) -> None:
        form = form_of("zst", None, settings.dictionary, settings.tables)
        super().__init__(output, form, work, frame_size=DEFAULT_FRAME_SIZE)
        self._verify = settings.verify
        self._tally = tally
        self._expected = 0
        self._marked = 0

    @property
    def most_size(self) -> int:
        """See `RecordAssembly.most_size`."""
        return super().most_size + self._expected

    @property
    def file_size(self) -> int:
        """Bytes of the file so far."""
        return self._layout.offset - self._output.begin

    def copy(self, record: StoredRecord) -> None:
        """Add a record by copying its frames.

        Raises:
            ChecksumError: One of them is damaged. Others are found so in later calls.
        """
        self._check()
        self._submit_batch()
        bound = copied_bound(record)
        self._expected += bound
        if record.data:
            self._tally.bytes_copied += len(record.data)
            self._mark(partial(self._add_single, record, bound), len(record.data))
        else:
            self._mark(self._begin_copy)
            large = record.data_frames > 1
            if large and self._merged and record.header_is_apart:
                large = self._copy_with_merged_head(record)
            else:
                self._copy_frames(record.file, record.frames, 0, len(record.frames))
            self._mark(partial(self._end_copy, bound, large=large))
        self.copy_extensions(record)
        self.records += 1

    def copy_extensions(self, record: StoredRecord) -> None:
        """Copy the extension frames that stand behind a record."""
        if record.behind:
            self._submit_batch()
            self._copy_frames(record.file, record.behind, 0, len(record.behind))

    def _add_single(self, record: StoredRecord, bound: int) -> None:
        self._layout.begin_record()
        self._layout.add(EncodedFrame(record.data, record.frames.contents[0]))
        self._end_copy(bound, large=False)

    def _begin_copy(self) -> None:
        self._layout.begin_record()

    def _end_copy(self, bound: int, *, large: bool) -> None:
        self._layout.end_record(large=large)
        self._last = None
        self._expected -= bound

    def _mark(self, step: Callable[[], None], size: int = 0) -> None:
        """Do a step in its turn."""
        self._marked += size
        if self._marked > MOST_MARKED:
            self._marked = 0
            self._work.drain()
        self._work.mark(step)

    def _add_frame(self, frame: EncodedFrame) -> None:
        self._mark(lambda: self._layout.add(frame), len(frame.data))

    def _copy_with_merged_head(self, record: StoredRecord) -> bool:
        """Copy a record but for its header's frame, which takes in what follows (spec-notes, section 2.5).

        Returns:
            Whether the record has more than one frame now.
        """
        frames, second = record.frames, record.second
        block = self._content(record, second)
        lead = min(MERGED_LEAD, len(block))
        if is_http_block(record.header.get("Content-Type")):
            http = parse_http_head(block, whole=record.data_frames == 2)
            lead = http.size if http is not None else lead
        self._add_frame(self._encoder.encode(record.header.raw + block[:lead]))
        self._copy_frames(record.file, frames, 1, second)
        if lead < len(block):
            self._add_frame(self._encoder.encode(block[lead:]))
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
            deliver = partial(self._add_run, data)
            self._work.submit(check, deliver)

    def _add_run(self, data: bytes, entries: list[_Entry]) -> None:
        self._layout.pour(data)
        for entry in entries:
            self._layout.note(*entry)

    def _pass_on(self, file: ArchiveFile, offset: int, stored: int, content: int) -> None:
        """Copy one large frame piece by piece."""
        if content and self._verify:
            for piece in pieces_from(Window(file.source), offset, "zst", file.decoder):
                if not isinstance(piece, Piece) or piece.end is not None:
                    break
        tail = b""
        for start in range(0, stored, RUN):
            data = _read(file, offset + start, min(RUN, stored - start))
            self._layout.pour(data)
            tail = (tail + data)[-CHECKSUM_SIZE:]
        checksum = int.from_bytes(tail, "little") if content else CHECKSUM_OF_NOTHING
        self._layout.note(stored, content, checksum)


def copied_bound(record: StoredRecord) -> int:
    """Return what a record takes in a new file at the most, tables included."""
    frames = len(record.frames) + len(record.behind)
    return record.stored_size + max(ENTRY_SIZES.values()) * frames + OWN_TABLE


def _read(file: ArchiveFile, offset: int, size: int) -> bytes:
    data = file.source.read(offset, offset + size)
    if len(data) < size:
        raise TruncatedError("the file ends inside this frame", source=file.name, offset=offset)
    return data


def _entries(
    file: ArchiveFile, offset: int, data: bytes, sizes: Sequence[tuple[int, int]], *, verify: bool
) -> list[_Entry]:
    """Return what a seek table says of frames, after having decoded them."""
    view = memoryview(data)
    entries = []
    position = 0
    for stored, content in sizes:
        frame = view[position : position + stored]
        if content and verify:
            try:
                scratch = file.frames.scratch(content)
                file.decoder.decode_into(frame, parse_frame_header(frame), scratch, whole=True)
            except FormatError as error:
                raise error.located(file.name, offset + position) from None
        checksum = int.from_bytes(frame[-CHECKSUM_SIZE:], "little") if content else CHECKSUM_OF_NOTHING
        entries.append(_Entry(stored, content, checksum))
        position += stored
    return entries
