"""The bytes of one record that is decompressed in order: a gzip member, a frame without a table, a pipe."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Final

from seekwarc.compiling import mypyc_attr, override
from seekwarc.format.seektable import TableTrust
from seekwarc.frames.run import ReadPlan
from seekwarc.frames.scan import CHEAP_READ
from seekwarc.read.body import RecordBody, TableStatus, record_size
from seekwarc.read.resync import (
    NEAR_END,
    checked_end,
    is_followed,
)

if TYPE_CHECKING:
    from seekwarc.format.seektable import SeekTable, TableChoice
    from seekwarc.format.warc import RecordHeader
    from seekwarc.frames.blocks import BlockRange, FrameBlocks
    from seekwarc.frames.pieces import Compression
    from seekwarc.frames.points import SpanRun
    from seekwarc.frames.stream import ContentStream
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["InOrderBody"]

SHORT_READ: Final = 64 << 10
"""What is held in memory until a later position is read."""


@mypyc_attr(allow_interpreted_subclasses=True)
class InOrderBody(RecordBody):
    """A record that can only be decompressed from its beginning.

    Reads that go forward go on where the last one ended; a read that goes back begins again.

    Args:
        live: The stream that an iteration reads the file with, and the position in it at which the record
            begins; used as long as it has not passed.
        limit: Offset that no more than what is wanted is read beyond.
    """

    __slots__ = (
        "_base",
        "_compression",
        "_is_compared",
        "_is_passed",
        "_limit",
        "_lock",
        "_problem",
        "_runs",
        "_stream",
        "blocks",
        "choice",
        "known_end",
        "last_frame",
    )

    def __init__(
        self,
        file: ArchiveFile,
        offset: int,
        header: RecordHeader,
        compression: Compression,
        *,
        skip: int = 0,
        live: tuple[ContentStream, int] | None = None,
        limit: int | None = None,
    ) -> None:
        super().__init__(file, offset, header)
        self.skip = skip
        self._compression: Compression = compression
        self._limit = limit
        self._stream: ContentStream | None = live[0] if live else None
        self._base = live[1] if live else 0
        self._lock = threading.Lock()
        self._is_passed = live is not None
        self._is_compared = compression == "none"
        self._problem: str | None = None
        self._runs: tuple[SpanRun | None] | None = None
        self.blocks: FrameBlocks | None = None
        self.choice: TableChoice = TableTrust.CLAIMED
        """Which sidecar to believe."""
        self.known_end: int | None = None
        """Offset that the record ends at or before, as an index or a scan says."""
        self.last_frame: int | None = None
        """The frame or member that the record ends in, where that goes on with another record."""

    def __getstate__(self) -> dict[str, object]:
        kept = "file offset header skip last_frame choice known_end _compression _limit"
        return {name: getattr(self, name) for name in kept.split()}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        # A copy opens the sidecar itself, and reads the record from its beginning, in a stream of its own.
        self._stream = self.blocks = self._runs = self._problem = None
        self._base = 0
        self.begins = False
        self._lock = threading.Lock()
        self._is_passed = False
        self._is_compared = self._compression == "none"

    @property
    @override
    def table_status(self) -> TableStatus:
        if self.blocks is not None:
            return TableStatus.BLOCKS
        return TableStatus.STREAM if self._spans() is None else TableStatus.SIDECAR

    @property
    @override
    def frames(self) -> SeekTable | None:
        spans = self._spans()
        return spans.table if spans is not None else None

    @property
    @override
    def problem(self) -> str | None:
        return self._problem

    @override
    def check_end(self, stop: int) -> None:
        if self._is_compared:
            return
        end = len(self.header.raw) + self.header.content_length
        if stop < end - NEAR_END:
            return
        stream = self._stream
        # As of nearly every small record, which was decompressed with its header.
        if stream is not None and stream.has_record_to(self._base + end):
            self._is_compared = True
        else:
            with self._lock:
                found = checked_end(
                    self, self._open(), self._base + end, is_passed=self._is_passed, is_all=stop >= end
                )
            self._problem, self._is_compared = found

    @property
    @override
    def is_passed(self) -> bool:
        return self.last_frame is not None

    @override
    def leave(self) -> None:
        self._is_passed = False

    def end_at(self, end: int) -> None:
        """Note where the record ends, as was found by reading on: no sidecar lists more of it."""
        self.known_end, self._runs = end, None

    def listed_end(self) -> int | None:
        """Return where the record ends, by a sidecar that is right about it as far as the file shows.

        The member must have just the bytes of the record, and a record must follow. None if there is no such
        sidecar, or decompressing all of the record costs little.
        """
        file, size = self.file, record_size(self.header)
        if self._compression != "gz" or self.skip:
            return None
        end = file.listed_end(self.offset, size)
        spans = self._spans() if end is not None else None
        if end is None or spans is None or spans.table.content_size != size + file.grammar.gap:
            return None
        if end < (file.source.size or 0):
            from seekwarc.read.search import RecordSearch

            return end if RecordSearch(file, "gz").header_at(end) is not None else None
        return end

    def _spans(self) -> SpanRun | None:
        """Return the record as spans of a sidecar; None if no sidecar lists it."""
        if self._runs is None:
            is_one = self._compression != "none" and not self.skip
            size = record_size(self.header)
            spans = partial(self.file.spans, self.offset, size, self.choice, in_order=self)
            self._runs = (spans(known_end=self.known_end) if is_one else None,)
        return self._runs[0]

    def _way(self, start: int, stop: int, *, verify: bool = True) -> SpanRun | BlockRange | None:
        """Return the spans or blocks if they are the way to a range, and None if the stream is."""
        stream = self._stream
        begins, self.begins = self.begins, False
        is_next = (
            begins or 0 <= start - (stream.position - self._base if stream is not None else 0) <= SHORT_READ
        )
        if self.blocks is not None:
            # What is read in order is decompressed, so that at its end the frame's checksum is compared.
            found = None if verify and is_next else self.blocks.find(start, stop)
            if found is None or found.is_there():
                return found
            # Its blocks are others than the record's size says.
            self.blocks = None
        # In order it costs no more than by a sidecar, and what comes is what the archive holds.
        return None if is_next and (begins or stream is not None) else self._spans()

    @property
    def is_in_frames(self) -> bool:
        """Whether the record is in Zstandard frames, which a seek table may claim to list."""
        return self._compression == "zst"

    @override
    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        spans = self._way(start, stop, verify=verify)
        if spans is not None:
            return spans.read(start, stop, verify=verify)
        if stop - start <= SHORT_READ:
            # Should the file end before: what there is can still be read, even from a pipe.
            return self._look(start, stop, stop - start, verify=verify)
        return self.read_long(start, stop, verify=verify)

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        filled = 0
        while filled < len(out):
            with out[filled:] as rest:
                filled += self.read_up_to_cut(start + filled, rest, verify=verify)

    @override
    def read_up_to_cut(self, start: int, out: memoryview, *, verify: bool = True) -> int:
        spans = self._way(start, start + len(out), verify=verify)
        if spans is not None:
            spans.read_into(start, out, verify=verify)
            return len(out)
        return self._fill(start, out, by_sidecar=True, verify=verify)

    def is_at(self, position: int) -> bool:
        """See `InOrder`."""
        return self._stream is not None and self._stream.position == self._base + position

    def decoded(self, start: int, stop: int) -> bytes:
        """See `InOrder`."""
        out = bytearray(stop - start)
        if self._fill(start, memoryview(out)) < len(out):
            raise self.cut()
        return bytes(out)

    def _fill(self, start: int, out: memoryview, *, by_sidecar: bool = False, verify: bool = False) -> int:
        with self._lock:
            found = self._open().read_at(self._base + start, out)
        if found is None and by_sidecar and start > SHORT_READ and (spans := self._spans()) is not None:
            # Another thread has read on in the stream.
            spans.read_into(start, out)
            return len(out)
        with self._lock:
            filled = self._open(again=True).read_at(self._base + start, out) if found is None else found
            filled = filled or 0
            if filled < len(out) and (not filled or self.hides_records()):
                # Why there is no more: the stream raises its damage, if that is not just the file's end.
                self._open().read_at(self._base + start + filled, out)
                raise self.cut()
        if verify:
            self.check_end(start + filled)
        return filled

    def hides_records(self) -> bool:
        """See `RecordBody.hides_records`."""
        stream = self._stream
        if stream is None:
            return False
        damage = max(self.offset, stream.frame_end)
        return stream.head_after(self._base) is not None or is_followed(self.file, damage, self._compression)

    @override
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        spans = self._way(start, min(start + least, stop), verify=False)
        return self._look(start, stop, least) if spans is None else spans.read_some(start, stop, least)

    def _look(self, start: int, stop: int, least: int, *, verify: bool = True) -> bytes:
        least = min(least, stop - start)
        wanted = min(stop - start, max(least, CHEAP_READ))
        with self._lock:
            data = self._open().peek_at(self._base + start, wanted, least)
        if data is None and start > SHORT_READ and (spans := self._spans()) is not None:
            return spans.read_some(start, stop, least)
        with self._lock:
            if data is None:
                data = self._open(again=True).peek_at(self._base + start, wanted, least)
        if data is None or len(data) < least:
            raise self.cut()
        if verify:
            self.check_end(start + len(data))
        return data

    def _open(self, *, again: bool = False) -> ContentStream:
        if self._stream is None or again:
            file = self.file
            self._stream = file.stream(file.window(self._limit), self.offset, self._compression)
            self._base = self.skip
            self._is_passed = False
        return self._stream

    def plan(self, start: int, stop: int) -> ReadPlan:
        """See `RecordBody.plan`: at the most, all from the record's beginning on."""
        if stop <= start:
            return ReadPlan((), 0, 0)
        spans = self._spans() if self.blocks is None else self.blocks.find(start, stop)
        if spans is not None:
            return spans.plan(start, stop)
        end = self.file.source.size or self.offset
        return ReadPlan(((self.offset, end),), self.skip + stop, 0)
