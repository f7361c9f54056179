"""Sidecars: files that lie beside an archive and list points at which its large records can be entered.

A sidecar is a Zstandard file in the Seekable Format, so that any range of its content can be read. That is

    windows | spans (32 bytes each) | records (40 bytes each) | trailer (104 bytes)

with all numbers little-endian. A span is content from one point to the next. Only the trailer, the records,
and the spans of the record that is read are ever parsed. The specification is spec-notes/sidecar.md.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import lt, sub
from struct import Struct
from typing import Final, NamedTuple

from seekwarc.errors import FormatError
from seekwarc.format.seektable import FrameEntry, SeekTable

__all__ = [
    "MAX_SPAN",
    "MAX_SPANS",
    "MAX_WINDOW",
    "SAMPLE_SIZE",
    "SIDECAR_SUFFIX",
    "ArchiveIdentity",
    "Directory",
    "DirectoryBuilder",
    "SidecarRecord",
    "Span",
    "SpanTable",
]

SIDECAR_SUFFIX: Final = ".seek"
"""What the name of a sidecar has after that of its archive."""
SAMPLE_SIZE: Final = 64 << 10
"""Bytes at the beginning and at the end of an archive that its sidecar states the SHA-256 of."""
MAX_WINDOW: Final = 32 << 10
"""How far a deflate stream refers back (RFC 1951, section 2)."""
MAX_SPAN: Final = 32 << 20
"""Maximum content of a span: a read holds at most one a thread in memory."""
ROOM: Final = 1 << 10
"""No span takes more bytes than its content, an eighth of that and this: it would go on after its record."""
MAX_SPANS: Final = 1 << 13
"""Of one record, about: a larger one is given longer spans."""
MAGIC: Final = b"WARCseek"
VERSION: Final = 1
SPAN_WORDS: Final = 4
SPAN_SIZE: Final = 8 * SPAN_WORDS
RECORD_WORDS: Final = 5
RECORD_SIZE: Final = 8 * RECORD_WORDS
ALL_BEFORE: Final = 0xFFFF
"""A window of this size means that the span may refer to all content before it."""
WINDOW_UNIT: Final = 1 << 16
"""A window's position is stated in the upper 48 bits of a number, its size in the lower 16."""

_TRAILER = Struct("<8sIIQQQ32s32s")
_SWAP = sys.byteorder == "big"


class ArchiveIdentity(NamedTuple):
    """What distinguishes an archive from another, or from an older version of it."""

    size: int
    """Bytes of the file."""
    head_sha256: bytes
    """SHA-256 of its first `SAMPLE_SIZE` bytes, or of all of it if it is shorter."""
    tail_sha256: bytes
    """SHA-256 of as many at its end."""


class Span(NamedTuple):
    """Some content of a record, and the point in the archive at which it can be decompressed from."""

    stored: int
    """Offset in the archive of the first whole byte."""
    bits: int
    """How many high bits of the byte before it also belong to the span: 0 to 7."""
    content: int
    """Offset of the span's first byte in the decompressed record."""
    xxh64: int
    """XXH64, seed 0, of the span's content."""
    window: bytes | None
    """Content before the span that it refers to, up to 32 KiB; bytes never referred to may be zero. None if
    it may refer to all of that, so that the frame has to be decoded from its beginning."""


@dataclass(frozen=True, slots=True)
class SidecarRecord:
    """One record as it is written to a sidecar."""

    offset: int
    """Offset in the archive of the gzip member, or Zstandard frame, that the record is."""
    length: int
    """Stored bytes up to its end."""
    content_size: int
    """Bytes of the decompressed record: header, block and CRLF CRLF."""
    spans: Sequence[Span]
    """Begin with the first block of the member or frame, each where the one before it ends."""


class SpanTable(SeekTable):
    """The spans of one record, as frames. A byte in which one span ends and the next begins is of both.

    An entry's checksum is the whole XXH64 of its content.

    Raises:
        FormatError: The spans do not follow each other, or do not cover the record.
    """

    def __init__(self, row: tuple[int, ...], spans: array[int]) -> None:
        offset, length, size, *_ = row
        self.end = offset + length
        """Offset after the record's last stored byte."""
        points, contents = spans[0::SPAN_WORDS], spans[1::SPAN_WORDS]
        starts = array("Q", [bit // 8 for bit in points])
        starts.append(offset + length)
        contents.append(size)
        if contents[0] or points[0] < 8 * offset or not (_is_ascending(starts) and _is_ascending(contents)):
            raise FormatError(
                "the sidecar's spans of this record do not follow each other, or do not cover it"
            )
        stored_sizes, content_sizes = (array("Q", map(sub, ends[1:], ends)) for ends in (starts, contents))
        if max(content_sizes) > MAX_SPAN:
            raise FormatError(f"the sidecar has a span of more than {MAX_SPAN} bytes")
        self.first = starts[0]
        """Offset of the first one."""
        super().__init__(stored_sizes, content_sizes, spans[2::SPAN_WORDS])
        self._points = points
        self._windows = spans[3::SPAN_WORDS]
        self._header_size = starts[0] - offset

    def check_sizes(self) -> None:
        """Refuse a span that takes more bytes than its content ever does: it would hold more than that.

        Raises:
            FormatError: There is one.
        """
        for stored, size in zip(self.stored_sizes, self.content_sizes, strict=True):
            if stored > size + size // 8 + ROOM:
                raise FormatError("the sidecar has a span whose stored bytes hold more than its content")

    def __getitem__(self, index: int) -> FrameEntry:
        """Return a span; its stored bytes are counted from the beginning of the record."""
        frame = super().__getitem__(index)
        shared = index + 1 < len(self) and self._points[index + 1] % 8 > 0
        start, size = frame.stored_start + self._header_size, frame.stored_size + shared
        return frame._replace(stored_start=start, stored_size=size)

    def entry(self, index: int) -> tuple[int, range]:
        """Return how many low bits of a span's first byte are not its own, and where its window is."""
        position, size = divmod(self._windows[index], WINDOW_UNIT)
        return self._points[index] % 8, range(position, position + size)


class Directory:
    """What a sidecar lists, read when it is needed.

    Args:
        read: Returns the content of the sidecar in [start, stop).
        size: Bytes of that content.
        limit: No more of it is read at a time.

    Raises:
        FormatError: It is not the content of a sidecar, or of a version that is not known.
    """

    def __init__(self, read: Callable[[int, int], bytes], size: int, limit: int) -> None:
        self._read = read
        self._limit = limit
        trailer = read(size - _TRAILER.size, size) if size >= _TRAILER.size else bytes(_TRAILER.size)
        magic, version, _, records, spans, *identity = _TRAILER.unpack(trailer)
        if (magic, version) != (MAGIC, VERSION):
            raise FormatError("not a sidecar, or one of a version that this program does not know")
        self.identity = ArchiveIdentity(*identity)
        begin = size - _TRAILER.size - records * RECORD_SIZE
        self.windows_size = begin - spans * SPAN_SIZE
        if self.windows_size < 0:
            raise FormatError(f"the sidecar is too short for {records} records and {spans} spans")
        self._rows = self._words(begin, records * RECORD_SIZE)
        self.offsets = self._rows[::RECORD_WORDS]
        self.lengths = self._rows[1::RECORD_WORDS]
        self._firsts = self._rows[3::RECORD_WORDS]
        self._firsts.append(spans)
        if not (_is_ascending(self.offsets) and _is_ascending(self._firsts)):
            raise FormatError("the records of the sidecar are not in order")

    def find(self, offset: int) -> SpanTable | None:
        """Return the spans of the record at `offset` in the archive; None if it is not listed.

        Raises:
            FormatError: They do not follow each other, or do not cover the record.
        """
        number = bisect_left(self.offsets, offset)
        if number == len(self.offsets) or self.offsets[number] != offset:
            return None
        end = offset + self.lengths[number]
        if end > self.identity.size:
            raise FormatError("the sidecar lists more bytes of this record than the archive has")
        if number + 1 < len(self.offsets) and end > self.offsets[number + 1]:
            raise FormatError("the sidecar lists more bytes of this record than come before the next one")
        first, stop = self._firsts[number : number + 2]
        spans = self._words(self.windows_size + first * SPAN_SIZE, (stop - first) * SPAN_SIZE)
        row = self._rows[number * RECORD_WORDS : (number + 1) * RECORD_WORDS]
        return SpanTable(tuple(row), spans)

    def _words(self, begin: int, size: int) -> array[int]:
        if size > self._limit:
            raise FormatError(f"the sidecar is larger than max_table_size={self._limit} allows")
        words = array("Q", self._read(begin, begin + size))
        if _SWAP:
            words.byteswap()
        return words


class DirectoryBuilder:
    """Puts together what a sidecar has after its windows."""

    def __init__(self) -> None:
        self._spans = array("Q")
        self._rows = array("Q")
        self._windows_size = 0

    def add(self, record: SidecarRecord) -> None:
        """Add a record, which is after the one before; the windows of its spans follow those before."""
        if not record.spans or (self._rows and self._rows[-RECORD_WORDS] >= record.offset):
            raise ValueError(
                f"the record at offset {record.offset} has no span, or is not after the one before"
            )
        first = len(self._spans) // SPAN_WORDS
        self._rows.extend((record.offset, record.length, record.content_size, first, 0))
        for span in record.spans:
            size = len(span.window or b"")
            if size > MAX_WINDOW:
                raise ValueError(f"a window has at most {MAX_WINDOW} bytes, not {size}")
            window = self._windows_size * WINDOW_UNIT + size if span.window is not None else ALL_BEFORE
            self._spans.extend((8 * span.stored - span.bits, span.content, span.xxh64, window))
            self._windows_size += size

    def build(self, identity: ArchiveIdentity) -> bytes:
        """Return spans, records and trailer."""
        counts = len(self._rows) // RECORD_WORDS, len(self._spans) // SPAN_WORDS
        words = self._spans + self._rows
        if _SWAP:
            words.byteswap()
        return words.tobytes() + _TRAILER.pack(MAGIC, VERSION, 0, *counts, *identity)


def _is_ascending(numbers: array[int]) -> bool:
    return all(map(lt, numbers, numbers[1:]))
