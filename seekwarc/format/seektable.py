"""The seek table of the Zstandard Seekable Format 0.1.0.

A seek table is a skippable frame that lists, for each frame before it, how many bytes the frame takes in the
file and how many it decompresses to:

    magic 0x184D2A5E | Frame_Size | entries (8 or 12 bytes each) | count | descriptor | magic 0x8F92EAB1

A table is a hint that the writer of the file left, and may be wrong or forged. `SeekTable.parse` checks its
form and `anchor` where its first frame would be; spec-notes/warc-zstd-seekable, section 6, lists what else a
reader must check.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from enum import StrEnum
from itertools import accumulate
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from seekwarc.compiling import Buffer, mypyc_attr
from seekwarc.errors import FormatError, LimitError, TruncatedError
from seekwarc.format.words import counted, quoted
from seekwarc.format.zstd import (
    MAX_SKIPPABLE_DATA,
    SEEK_TABLE_MAGIC,
    SKIPPABLE_HEADER_SIZE,
    parse_skippable_header,
    skippable_header,
)

__all__ = [
    "FOOTER_MAGIC_BYTES",
    "FOOTER_SIZE",
    "MAX_ENTRIES",
    "MAX_TABLE_SIZE",
    "FrameEntry",
    "SeekTable",
    "SidecarReference",
    "TableChoice",
    "TableReference",
    "TableTrust",
    "built_table_size",
    "ends_like_table",
    "max_table_size_at",
    "parse_table_choice",
    "table_frame_size",
]

FOOTER_SIZE: Final = 9
FOOTER_MAGIC: Final = 0x8F92EAB1
FOOTER_MAGIC_BYTES: Final = FOOTER_MAGIC.to_bytes(4, "little")
"""The last four bytes of every seek table."""
CHECKSUM_FLAG: Final = 0x80
RESERVED_BITS: Final = 0x7C
MIN_FRAME_SIZE: Final = 8
"""The shortest frame of any kind is an empty skippable frame."""
ENTRY_WITH_CHECKSUM: Final = 12
MAX_ENTRIES: Final = 0x0800_0000
"""The limit of the format's C library (ZSTD_SEEKABLE_MAXFRAMES)."""
MAX_TABLE_SIZE: Final = 64 << 20
"""Larger tables are loaded only if the caller allows it. This is enough for five million frames."""
PIECE: Final = 1 << 16
"""Entries that are built together."""

_FOOTER = Struct("<IBI")
_REFERENCE = r"([0-9]{1,18}) ([0-9]{1,10}) sha256:([0-9a-f]{64})"
_SIDECAR = r"sidecar ([0-9]{1,10}) sha256:([0-9a-f]{64})"
_SWAP = sys.byteorder == "big"


class FrameEntry(NamedTuple):
    """One frame as the table lists it, with the offsets that follow from the entries before it."""

    number: int
    """Index of the frame in the table, from 0."""
    stored_start: int
    """Offset of the frame from the table's first frame, in the file."""
    stored_size: int
    content_start: int
    """Offset of the frame's first decompressed byte."""
    content_size: int
    checksum: int | None
    """Low 32 bits of XXH64 (seed 0) of the content, or None if the table has no checksums."""

    @property
    def stored_stop(self) -> int:
        """End of the frame in the file, exclusive; counted as `stored_start`."""
        return self.stored_start + self.stored_size

    @property
    def content_stop(self) -> int:
        """End of the frame's content, exclusive."""
        return self.content_start + self.content_size


class TableReference(NamedTuple):
    """Names one seek table by its place and its content, so that no other is taken for it.

    Its text, as in a line of an index, is "OFFSET SIZE sha256:DIGEST" (spec-notes, annex B.2).

    Example:
        >>> reference = seekwarc.TableReference(4_000, 53, "ab" * 32)
        >>> seekwarc.TableReference.parse(str(reference)) == reference
        True
    """

    offset: int
    """Offset of its skippable frame in the file."""
    size: int
    """Bytes of that frame."""
    sha256: str
    """SHA-256 of that frame, 64 hexadecimal digits in lower case."""

    def __str__(self) -> str:
        return f"{self.offset} {self.size} sha256:{self.sha256}"

    @staticmethod
    def parse(text: str) -> TableReference:
        """Parse the text.

        Raises:
            FormatError: The text has another form.
        """
        match = re.fullmatch(_REFERENCE, text)
        if match is None:
            raise FormatError(
                f"{quoted(text[:60])} does not name a seek table; the form is OFFSET SIZE sha256:DIGEST"
            )
        return TableReference(int(match[1]), int(match[2]), match[3])


class SidecarReference(NamedTuple):
    """Names the sidecar of a file by its content, so that no other is taken for it.

    Its text, as in a line of an index, is "sidecar SIZE sha256:DIGEST" (spec-notes/sidecar.md, section 1).

    Example:
        >>> seekwarc.SidecarReference.parse("sidecar 670 sha256:" + "ab" * 32).size
        670
    """

    size: int
    """Bytes of the sidecar."""
    sha256: str
    """SHA-256 of all of it, 64 hexadecimal digits in lower case."""
    place: str | None = None
    """Path or URL at which it is looked for if it is not beside the file. Not part of the text."""

    def __str__(self) -> str:
        return f"sidecar {self.size} sha256:{self.sha256}"

    @staticmethod
    def parse(text: str) -> SidecarReference:
        """Parse the text.

        Raises:
            FormatError: The text has another form.
        """
        match = re.fullmatch(_SIDECAR, text)
        if match is None:
            raise FormatError(
                f"{quoted(text[:60])} does not name a sidecar; its form is sidecar SIZE sha256:DIGEST"
            )
        return SidecarReference(int(match[1]), match[2])


class TableTrust(StrEnum):
    """Which seek tables a record may be read by where no index names one.

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     offset = next(archive.records(uri="http://example.org/film.mp4")).offset
        ...     record = archive.record_at(offset, table=seekwarc.TableTrust.SCANNED)
        ...     print(record.payload.pread(2_000_000, 4).hex())
        7f009972
    """

    SCANNED = "none"
    """None: the frames are scanned, and a table is used only if it lists just these."""
    CLAIMED = "claimed"
    """What the file claims, as far as it can be checked without looking at all frames (section 6.4)."""


TableChoice: TypeAlias = TableReference | SidecarReference | TableTrust
"""How a record's frames are found: by the table or sidecar that an index names, or as `TableTrust` says."""


def parse_table_choice(text: str) -> TableChoice:
    """Parse the text of a choice, as `str` makes it."""
    if text.startswith("sidecar "):
        return SidecarReference.parse(text)
    return TableTrust(text) if text in _TRUSTS else TableReference.parse(text)


_TRUSTS: Final = frozenset(trust.value for trust in TableTrust)


@mypyc_attr(allow_interpreted_subclasses=True)
class SeekTable:
    """The sizes of consecutive frames, with running sums that make them searchable.

    Args:
        stored_sizes: Bytes each frame takes in the file.
        content_sizes: Bytes each frame decompresses to; 0 for skippable frames.
        checksums: Low 32 bits of XXH64 of each frame's content, or None.

    Example:
        >>> table = seekwarc.SeekTable([600, 400], [1000, 1000])
        >>> table.locate(1500, 1600)
        range(1, 2)
        >>> table[1].stored_start, table[1].content_start
        (600, 1000)
        >>> seekwarc.SeekTable.parse(table.build())[1] == table[1]
        True
    """

    def __init__(
        self,
        stored_sizes: array[int],
        content_sizes: array[int],
        checksums: array[int] | None = None,
    ) -> None:
        if len(stored_sizes) != len(content_sizes) or (
            checksums is not None and len(checksums) != len(stored_sizes)
        ):
            raise ValueError("a seek table needs one size of each kind, and checksum, per frame")
        self.stored_sizes = stored_sizes
        self.content_sizes = content_sizes
        self.checksums = checksums
        # Where frames end, from 0 on; filled when first asked for.
        self._stored_ends = array("Q")
        self._content_ends = array("Q")

    def __len__(self) -> int:
        return len(self.stored_sizes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SeekTable):
            return NotImplemented
        sizes = self.stored_sizes == other.stored_sizes and self.content_sizes == other.content_sizes
        return sizes and self.checksums == other.checksums

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"<SeekTable of {counted(len(self), 'frame')}: {counted(self.stored_size, 'byte')} stored, "
            f"{counted(self.content_size, 'byte')} of content>"
        )

    def __getitem__(self, index: int) -> FrameEntry:
        return FrameEntry(
            index,
            (self._stored_ends or self._sum_stored())[index],
            self.stored_sizes[index],
            (self._content_ends or self._sum_content())[index],
            self.content_sizes[index],
            None if self.checksums is None else self.checksums[index],
        )

    def _sum_stored(self) -> array[int]:
        self._stored_ends = array("Q", accumulate(self.stored_sizes, initial=0))
        return self._stored_ends

    def _sum_content(self) -> array[int]:
        self._content_ends = array("Q", accumulate(self.content_sizes, initial=0))
        return self._content_ends

    @property
    def stored_size(self) -> int:
        """Bytes that all frames take in the file, the table itself not counted."""
        return (self._stored_ends or self._sum_stored())[-1]

    @property
    def content_size(self) -> int:
        """Bytes that all frames decompress to."""
        return (self._content_ends or self._sum_content())[-1]

    def anchor(self, table_offset: int) -> int:
        """Return where the table's first frame starts, given the offset of the table itself.

        Raises:
            FormatError: The frames would begin before the file does.
        """
        start = table_offset - self.stored_size
        if start < 0:
            raise FormatError("seek table lists more bytes than the file has before it")
        return start

    def locate(self, start: int, stop: int) -> range:
        """Return the indices of the frames that hold content bytes [start, stop).

        An empty frame is never the first or last of them. An empty range needs no frame.
        """
        ends = self._content_ends or self._sum_content()
        stop = min(stop, ends[-1])
        if stop <= start:
            return range(0)
        return range(bisect_right(ends, start) - 1, bisect_left(ends, stop))

    def part(self, stored_start: int, content_size: int) -> SeekTable | None:
        """Return the table of the frames that start at `stored_start` and hold `content_size` bytes.

        Args:
            stored_start: Offset from the table's first frame.
            content_size: Content bytes of these frames, more than 0.

        Returns:
            The table, or None if no frame starts or ends exactly there.
        """
        stored_ends = self._stored_ends or self._sum_stored()
        content_ends = self._content_ends or self._sum_content()
        first = bisect_left(stored_ends, stored_start)
        if first >= len(self) or stored_ends[first] != stored_start:
            return None
        content_stop = content_ends[first] + content_size
        last = bisect_left(content_ends, content_stop, first)
        if last > len(self) or content_ends[last] != content_stop:
            return None
        run = slice(first, last)
        return SeekTable(
            self.stored_sizes[run],
            self.content_sizes[run],
            None if self.checksums is None else self.checksums[run],
        )

    @classmethod
    def parse(cls, frame: Buffer) -> SeekTable:
        """Parse a seek table from its whole skippable frame.

        Nothing is allocated beyond the size of `frame`.

        Raises:
            TruncatedError: `frame` is shorter than its header says.
            FormatError: Not a seek table, or one that breaks the format (spec-notes, section 6.1).
        """
        magic, size = parse_skippable_header(frame)
        if magic != SEEK_TABLE_MAGIC:
            raise FormatError("the skippable frame is not a seek table")
        if len(frame) - SKIPPABLE_HEADER_SIZE < size:
            raise TruncatedError("the data ends inside a seek table")
        if not size + SKIPPABLE_HEADER_SIZE == len(frame) == table_frame_size(frame):
            raise FormatError(
                "the size of the skippable frame does not match the entry count of its seek table"
            )
        _, descriptor, _ = _FOOTER.unpack_from(frame, len(frame) - FOOTER_SIZE)
        words = array("I")
        words.frombytes(memoryview(frame)[SKIPPABLE_HEADER_SIZE : len(frame) - FOOTER_SIZE])
        if _SWAP:
            words.byteswap()
        checked = bool(descriptor & CHECKSUM_FLAG)
        stride = 3 if checked else 2
        stored_sizes, content_sizes = words[0::stride], words[1::stride]
        if 0 in stored_sizes and any(
            content and not stored for stored, content in zip(stored_sizes, content_sizes, strict=True)
        ):
            raise FormatError("seek table has an entry with content but without stored bytes")
        return cls(stored_sizes, content_sizes, words[2::3] if checked else None)

    def build(self) -> bytes:
        """Return the table as a skippable frame.

        Raises:
            LimitError: More entries, or larger frames, than the format can state.
        """
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """Yield the same in pieces: a table of ten million frames takes 120 MB.

        Raises:
            LimitError: As for `build`; for a frame that is too large, in the middle.
        """
        columns = [self.stored_sizes, self.content_sizes]
        if self.checksums is not None:
            columns.append(self.checksums)
        stride, count = len(columns), len(self)
        if count > min(MAX_ENTRIES, (MAX_SKIPPABLE_DATA - FOOTER_SIZE) // (4 * stride)):
            raise LimitError(f"a seek table of {count} entries exceeds what readers accept")
        yield skippable_header(SEEK_TABLE_MAGIC, 4 * stride * count + FOOTER_SIZE)
        for start in range(0, count, PIECE):
            some = slice(start, start + PIECE)
            words = array("I", bytes(4 * stride * len(self.stored_sizes[some])))
            try:
                for number, column in enumerate(columns):
                    words[number::stride] = array("I", column[some])
            except OverflowError as error:
                raise LimitError("a seek table cannot list a frame of 4 GiB or more") from error
            if _SWAP:
                words.byteswap()
            yield words.tobytes()
        yield _FOOTER.pack(count, CHECKSUM_FLAG if self.checksums is not None else 0, FOOTER_MAGIC)


def max_table_size_at(offset: int) -> int:
    """Return the size that a seek table at `offset` cannot exceed, given the shortest possible frames."""
    return built_table_size(offset // MIN_FRAME_SIZE)


def built_table_size(entries: int) -> int:
    """Return the size of the skippable frame of a table with that many entries and with checksums."""
    return SKIPPABLE_HEADER_SIZE + entries * ENTRY_WITH_CHECKSUM + FOOTER_SIZE


def ends_like_table(footer: Buffer, size: int) -> bool:
    """Tell whether a skippable frame of `size` bytes ends as a seek table does, or as a damaged one.

    Others may use the same magic number for something else.
    """
    return (
        footer[-4:] == FOOTER_MAGIC_BYTES or table_frame_size(bytes(footer[:-4]) + FOOTER_MAGIC_BYTES) == size
    )


def table_frame_size(tail: Buffer, *, bytes_before: int | None = None) -> int | None:
    """Return the size of the seek table that ends where `tail` ends.

    The result is None if no usable table ends there: without a footer, with reserved bits set, with more than
    `MAX_ENTRIES` entries, or with more than frames could fit before it. `bytes_before`, the offset in the
    file at which `tail` ends, bounds the entry count before anything is allocated for the table.
    """
    if len(tail) < FOOTER_SIZE:
        return None
    count, descriptor, magic = _FOOTER.unpack_from(tail, len(tail) - FOOTER_SIZE)
    if magic != FOOTER_MAGIC or descriptor & RESERVED_BITS or count > MAX_ENTRIES:
        return None
    entry_size = ENTRY_WITH_CHECKSUM if descriptor & CHECKSUM_FLAG else 8
    size: int = SKIPPABLE_HEADER_SIZE + count * entry_size + FOOTER_SIZE
    if bytes_before is not None and count * MIN_FRAME_SIZE > bytes_before - size:
        return None
    return size
