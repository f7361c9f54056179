"""A damaged record in many frames, with zero bytes in place of the frames that cannot be read.

Goal: one damaged frame of a film costs that frame, and not what follows it. Everything keeps its position:
ranges, indexes and lengths inside a payload stay right, which leaving the gap out would break.

Plan: a range is read as of any record. If that fails, each of its frames is tried alone. A frame that fails
is filled, and noted as a gap. Where the file ends, nothing is filled: the record is cut off there.

Worst case: a table claims what is not there. Zero bytes beyond `MAX_FILLED` are given only for as many bytes
that were read.
"""

from __future__ import annotations

from typing import Final

from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError, UnsupportedError
from seekwarc.format.seektable import FrameEntry, SeekTable, TableTrust
from seekwarc.format.words import counted
from seekwarc.frames.run import ReadPlan
from seekwarc.read.archive_file import ArchiveFile
from seekwarc.read.body import RecordBody, TableStatus
from seekwarc.read.record import Record
from seekwarc.read.sequential import StreamBody
from seekwarc.read.zstd_body import ZstdBody
from seekwarc.read.zstd_records import framed_record_at

__all__ = ["FilledBody", "filled_body", "filled_record", "gaps_of"]

MAX_FILLED: Final = 64 << 20
MAX_SHOWN: Final = 10
"""Gaps that a message names."""


class FilledBody(RecordBody):
    """A body whose damaged frames read as zero bytes."""

    __slots__ = ("_body", "_damaged", "_filled", "_frames", "_read")

    def __init__(self, body: RecordBody, frames: SeekTable) -> None:
        super().__init__(body.file, body.offset, body.header)
        self._body = body
        self._frames = frames
        self._damaged: dict[int, int] = {}
        """End of each frame that was filled, by its beginning."""
        self._filled = 0
        self._read = 0

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Ranges [start, stop) of the block that were filled so far, in order."""
        gaps: list[tuple[int, int]] = []
        head, size = len(self.header.raw), self.header.content_length
        for begin, end in sorted(self._damaged.items()):
            start, stop = max(begin - head, 0), min(end - head, size)
            if gaps and gaps[-1][1] == start:
                start = gaps.pop()[0]
            if start < stop:
                gaps.append((start, stop))
        return gaps

    @property
    @override
    def table_status(self) -> TableStatus:
        return self._body.table_status

    @property
    @override
    def problem(self) -> str | None:
        return self._body.problem

    @property
    @override
    def frames(self) -> SeekTable:
        return self._frames

    @override
    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        out = bytearray(stop - start)
        self.read_into(start, memoryview(out), verify=verify)
        return bytes(out)

    @override
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        return self.read(start, min(stop, start + least))

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        try:
            self._body.read_into(start, out, verify=verify)
            self._read += len(out)
        except FormatError:
            stop = start + len(out)
            for number in self._frames.locate(start, stop):
                frame = self._frames[number]
                begin = max(frame.content_start, start)
                end = min(frame.content_start + frame.content_size, stop)
                self._read_frame(frame, begin, out[begin - start : end - start], verify=verify)

    def _read_frame(self, frame: FrameEntry, start: int, out: memoryview, *, verify: bool) -> None:
        try:
            self._body.read_into(start, out, verify=verify)
            self._read += len(out)
        except (LimitError, UnsupportedError):
            raise
        except FormatError:
            stored_end = self.offset + frame.stored_start + frame.stored_size
            begin, size = frame.content_start, frame.content_size
            if begin not in self._damaged:
                is_cut_off = stored_end > (self.file.source.size or 0)
                if is_cut_off or self._filled + size > max(MAX_FILLED, self._read):
                    raise
                self._damaged[begin] = begin + size
                self._filled += size
            out[:] = bytes(len(out))

    @override
    def plan(self, start: int, stop: int) -> ReadPlan:
        return self._body.plan(start, stop)

    @override
    def stored_end(self) -> int:
        return self._body.stored_end()


def filled_body(file: ArchiveFile, offset: int, length: int | None = None) -> FilledBody | None:
    """Return the body with its gaps filled; None unless it is in a .warc.zst, in several known frames."""
    # The claims of a table are used only if the frames cannot be scanned.
    for trust in (TableTrust.SCANNED, TableTrust.CLAIMED):
        try:
            window = file.window()
            if file.detect(window, offset) != "zst":
                return None
            record = framed_record_at(file, window, offset, length, trust)
            frames = record.body.frames if record is not None else None
        except FormatError:
            continue
        if record is None or record.seek_table_status is TableStatus.SIDECAR:
            return None  # Its spans are not frames.
        if frames is not None and len(frames) > 1:
            return FilledBody(record.body, frames)
    return None


def filled_record(record: Record) -> Record:
    """Return a damaged record with its gaps filled; the same record if that is impossible."""
    file = record.body.file
    if file.source.is_pipe or record.skip or not isinstance(record.body, ZstdBody | StreamBody):
        return record
    body = filled_body(file, record.offset)
    return Record(body) if body is not None and body.header.raw == record.header.raw else record


def gaps_of(record: Record) -> str | None:
    """Say which bytes of a record's block were read as zero bytes because they are damaged; None if none."""
    gaps = record.body.gaps if isinstance(record.body, FilledBody) else []
    if not gaps:
        return None
    missing = sum(stop - start for start, stop in gaps)
    shown = [f"{start}-{stop - 1}" for start, stop in gaps[:MAX_SHOWN]]
    ranges = ", ".join([*shown, "..."] if len(gaps) > MAX_SHOWN else shown)
    return f"{counted(missing, 'byte')} of the block are damaged, and zero bytes here: {ranges}"
