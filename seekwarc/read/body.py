"""The stored form of one record: where its bytes lie, and how any range of them is reached.

A `RecordBody` is the one noun for a record's bytes. These classes answer the same questions:

- `ZstdBody`: several frames, or a large one, reached by a seek table or by scanning
- `WholeBody`: one small frame or gzip member, decoded whole (`FrameBody`, `MemberBody`)
- `PlainBody`: no compression
- `StreamBody`: whatever can only be decompressed from its beginning
- `SegmentsBody`: a record that is stored as several
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from seekwarc.compiling import mypyc_attr, override
from seekwarc.errors import TruncatedError
from seekwarc.format.warc import RecordHeader
from seekwarc.frames.run import ReadPlan

if TYPE_CHECKING:
    from seekwarc.format.seektable import SeekTable
    from seekwarc.read.archive_file import ArchiveFile

__all__ = ["CUT_OFF", "RecordBody", "TableStatus", "WholeBody", "record_size"]


CUT_OFF: Final = "the record is cut off"


class TableStatus(StrEnum):
    """How a record's frames became known.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     print(*(record.seek_table_status.value for record in archive.records(type="response")))
        single record
    """

    RECORD = "record"
    """From the record's own seek table."""
    FILE = "file"
    """From the table at the end of the file."""
    NONE = "none"
    """No table was found; the frames' headers were scanned."""
    UNUSABLE = "unusable"
    """A table is there but cannot be trusted; the frames' headers were scanned."""
    SINGLE = "single"
    """The record is one frame, which needs no table."""
    BLOCKS = "blocks"
    """The record is one large frame: what does not compress can be reached by range, and is not verified;
    everything else is read from its beginning."""
    UNCOMPRESSED = "uncompressed"
    """The file is not compressed, so that any byte can be read as it is."""
    SEGMENTS = "segments"
    """The record is assembled from several, each of which is reached in its own way."""
    SIDECAR = "sidecar"
    """The record is not in frames, but a sidecar lists points at which it can be entered."""
    STREAM = "stream"
    """The record is not in frames that can be reached by range; it is read from its beginning."""


def record_size(header: RecordHeader) -> int:
    """Return how many bytes the whole record has, decompressed."""
    return header.record_size


@mypyc_attr(allow_interpreted_subclasses=True)
class RecordBody(ABC):
    """The decompressed bytes of a record, by range. Positions count from the first byte of its header.

    Attributes:
        offset: Offset in the stored file of the frame, member or byte that the record begins in.
        header: The record's header. If its Content-Length is found to be wrong, a corrected one replaces it.
        skip: Content bytes before the record in that frame or member.
        begins: The next read is the first of an extent, which may be read as a whole.
    """

    __slots__ = ("begins", "file", "header", "last_part", "offset", "skip")

    def __init__(self, file: ArchiveFile, offset: int, header: RecordHeader) -> None:
        self.last_part: tuple[int, int] | None = None
        """Begin and length of the first bytes that `Extent.read` returned last."""
        self.file = file
        self.offset = offset
        self.header = header
        self.skip = 0
        self.begins = False

    @property
    @abstractmethod
    def table_status(self) -> TableStatus:
        """How the record's frames became known. Finding out may take reading."""

    @property
    def table_problem(self) -> str | None:
        """Why an existing seek table was not used."""
        return None

    @property
    def problem(self) -> str | None:
        """What is wrong with how the record ends in its frame or member; None if nothing is known."""
        return None

    def check_end(self, stop: int) -> None:  # noqa: B027 - most bodies have nothing to do
        """Compare the checksum of the frame or member that the record ends in, if a read to `stop` is near.

        Where frames are decoded whole, that is done already.

        Raises:
            ChecksumError: The frame or member is damaged.
        """

    def leave(self) -> None:  # noqa: B027 - as above
        """Note that no iteration will read on after the record."""

    @property
    def frames(self) -> SeekTable | None:
        """The record's frames; None if they are not known."""
        return None

    @property
    def holes(self) -> tuple[tuple[int, int], ...]:
        """Ranges [start, stop) that are in no record, of a body that is assembled from several."""
        return ()

    @abstractmethod
    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        """Return [start, stop). The caller has checked that the record is that long.

        Raises:
            ChecksumError: A frame that the range touches is damaged.
            TruncatedError: The file ends before `stop`.
            SourceError: The stored bytes are unavailable.
        """

    def read_long(self, start: int, stop: int, *, verify: bool = True) -> bytes:
        """Do what `read` does by `read_into`."""
        out = bytearray(stop - start)
        with memoryview(out) as view:
            self.read_into(start, view, verify=verify)
        return bytes(out)

    @abstractmethod
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        """Fill `out` from `start` on; see `read`."""

    def read_up_to_cut(self, start: int, out: memoryview, *, verify: bool = True) -> int:
        """Fill `out` from `start` on as far as the file goes, and return how many bytes that was.

        Raises:
            TruncatedError: The file ends before `start`, or hides other records in these bytes.
            ChecksumError, SourceError: As `read`.
        """
        try:
            self.read_into(start, out, verify=verify)
        except TruncatedError:
            filled = 0
            with contextlib.suppress(TruncatedError):
                while filled < len(out):
                    data = self.read_some(start + filled, start + len(out))
                    out[filled : filled + len(data)] = data
                    filled += len(data)
            if not filled or self.hides_records():
                raise
            return filled
        return len(out)

    @property
    def is_passed(self) -> bool:
        """Whether all of it was read without damage, though its frame goes on with another record."""
        return False

    def hides_records(self) -> bool:
        """Return whether another record lies before the file's end: then Content-Length is too large."""
        return False

    @abstractmethod
    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:
        """Return bytes from `start` on: `least` of them, and as many up to `stop` as cost nothing more.

        They stay readable, even if nothing can be read twice. Fewer than `least` only if `stop` is
        nearer. Raises what `read` does.
        """

    @abstractmethod
    def plan(self, start: int, stop: int) -> ReadPlan:
        """Tell what reading [start, stop) costs."""

    @abstractmethod
    def stored_end(self) -> int:
        """Return the offset in the stored file at which the record ends, a table of its own included."""

    def cut(self) -> TruncatedError:
        """Return the error of a record that goes on after the end of its file."""
        return self.file.frames.cut(self.offset)


@mypyc_attr(allow_interpreted_subclasses=True)
class WholeBody(RecordBody):
    """A record that is one small frame or gzip member, which is always decoded, and kept, whole.

    Attributes:
        end: Offset after the frame or member.
    """

    __slots__ = ("_size", "end")
    _frames_decoded = 0
    """What a plan counts: gzip members are not frames."""

    def __init__(self, file: ArchiveFile, offset: int, header: RecordHeader, end: int) -> None:
        # Very many of these are made: one call less.
        self.file = file
        self.offset = offset
        self.header = header
        self.skip = 0
        self.last_part = None
        self.begins = False
        self.end = end
        self._size = header.record_size

    def read(self, start: int, stop: int, *, verify: bool = True) -> bytes:  # noqa: ARG002
        """See `RecordBody.read`; it is always verified."""
        return self._content()[start:stop]

    @override
    def read_into(self, start: int, out: memoryview, *, verify: bool = True) -> None:
        out[:] = memoryview(self._content())[start : start + len(out)]

    def read_some(self, start: int, stop: int, least: int = 1) -> bytes:  # noqa: ARG002
        """See `RecordBody.read_some`: once it is decoded, all of it costs next to nothing more."""
        return self._content()[start:stop]

    @override
    def plan(self, start: int, stop: int) -> ReadPlan:
        if stop <= start:
            return ReadPlan((), 0, 0)
        return ReadPlan(((self.offset, self.end),), self._size, self._frames_decoded, is_verified=True)

    def _content(self) -> bytes:
        # Content that an iteration has just decoded is not in the cache, which would cost a lock per record.
        key, content = self.file.frames.cache.latest
        return content if key == (self.offset, self.end, self._size) else self._decode()

    @abstractmethod
    def _decode(self) -> bytes:
        """Return all of it, from the cache or from the file."""
