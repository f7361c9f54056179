"""Summaries of a file, of a record, and of its frames."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from seekwarc.errors import SeekWarcError
from seekwarc.format.blosc2 import FRAME_HEAD_SIZE, describe_blosc2
from seekwarc.format.rules import check_header
from seekwarc.format.seektable import SeekTable
from seekwarc.frames.run import ReadPlan
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record

__all__ = [
    "SHADES",
    "FileSummary",
    "RecordSummary",
    "describe_file",
    "describe_record",
    "frame_picture",
    "payload_format",
]

SHADES = "█▓▒░"
TYPICAL_RANGE = 64 << 10
BINARY_TYPES = ("application/octet-stream", "application/vnd.blosc2", "application/x-blosc2")
"""What servers call a Blosc2 file, which has no type of its own."""


@dataclass(slots=True)
class FileSummary:
    """A file in numbers."""

    name: str
    compression: str
    size: int | None
    """Size in bytes; None for a pipe."""
    dictionary: int | None = None
    """ID of the dictionary; None if there is no dictionary."""
    records: int = 0
    content_size: int = 0
    """Decompressed size of all records."""
    types: Counter[str] = field(default_factory=Counter)
    """Number of records by type."""
    is_cut_off: bool = False
    """Whether the file ends inside its last record."""
    table_status: Counter[str] = field(default_factory=Counter)
    """Number of records by how their frames are known; see `TableStatus`."""
    largest: list[tuple[int, int, str]] = field(default_factory=list)
    """The largest records: (size of the block, offset, URI)."""


def describe_file(archive: Reader, *, largest: int = 5) -> FileSummary:
    """Read a file once, without decompressing the blocks of large records.

    Raises:
        FormatError: The file is damaged.
    """
    dictionary = archive.dictionary
    summary = FileSummary(
        archive.name, archive.compression, archive.size, dictionary.id if dictionary else None
    )
    record = None
    for record in archive:
        summary.records += 1
        summary.content_size += record.size
        summary.types[record.type or "-"] += 1
        summary.table_status[record.seek_table_status] += 1
        summary.largest.append(
            (record.content_length, record.offset, record.target_uri or record.type or "-")
        )
        if len(summary.largest) > 8 * largest:
            summary.largest = sorted(summary.largest, reverse=True)[:largest]
    # For a large record this is known once iteration has passed it.
    summary.is_cut_off = record is not None and record.is_cut_off
    summary.largest = sorted(summary.largest, reverse=True)[:largest]
    return summary


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """A record and its frames in numbers."""

    offset: int
    length: int
    """Compressed bytes up to the next record."""
    type: str | None
    id: str | None
    date: str | None
    uri: str | None
    content_type: str | None
    http: str | None
    """Status line or request line of the HTTP message in the block."""
    codings: tuple[str, ...]
    """Content codings of the payload."""
    truncated: str | None
    segment: str | None
    """WARC-Segment-Number, if the record is a segment."""
    refers_to: str | None
    """ID or URI that WARC-Refers-To or WARC-Refers-To-Target-URI states."""
    findings: tuple[str, ...]
    """Rules of the standard that the header breaks."""
    block_size: int
    payload_format: str | None
    """What the payload says of itself, if it is a Blosc2 frame or chunk."""
    payload_size: int | None
    """None for a body in chunked transfer coding whose chunks were not read."""
    table_status: str
    table_problem: str | None
    frames: SeekTable | None
    example: ReadPlan
    """Cost of reading 64 KiB from the middle of the payload; of the block if `payload_size` is None."""


def describe_record(record: Record) -> RecordSummary:
    """Describe a record without decompressing more than its head.

    Only a small body in chunked transfer coding is read, to learn its size.
    """
    payload = record.payload
    body = record.body
    payload.look_ahead(record.content_length, 0)
    size = payload.known_size
    extent = payload if size is not None else record.block
    middle = max(extent.size // 2 - TYPICAL_RANGE // 2, 0)
    return RecordSummary(
        offset=record.offset,
        length=record.length,
        type=record.type,
        id=record.id,
        date=record.header.get("WARC-Date"),
        uri=record.target_uri,
        content_type=record.content_type,
        http=record.http.start_line if record.http is not None else None,
        codings=payload.codings,
        truncated=record.truncated,
        segment=record.header.get("WARC-Segment-Number"),
        refers_to=record.refers_to_id or record.refers_to_target_uri,
        findings=tuple(f"{it.severity}: {it}" for it in check_header(record.header)),
        block_size=record.content_length,
        payload_format=payload_format(record),
        payload_size=size,
        table_status=body.table_status,
        table_problem=body.table_problem,
        frames=body.frames,
        example=extent.plan(middle, middle + TYPICAL_RANGE),
    )


def payload_format(record: Record) -> str | None:
    """Say what a payload holds if it is a Blosc2 frame or bare chunk; None if it is anything else.

    Only the beginning of a payload of an unknown type, or of one without a name for it, is read.
    """
    payload = record.payload
    kind = payload.media_type
    size = payload.known_size
    if payload.codings or size is None or (kind is not None and kind.essence not in BINARY_TYPES):
        return None
    try:
        return describe_blosc2(payload.pread(0, FRAME_HEAD_SIZE), size)
    except SeekWarcError:
        # Damage is for a reader of the payload to meet.
        return None


def frame_picture(table: SeekTable, width: int, shades: str = SHADES) -> str:
    """Draw a record's frames; each character stands for an equal share of the content.

    Args:
        table: The frames.
        width: Number of characters.
        shades: Four characters, from content that does not compress to content that compresses very well.
    """
    total = table.content_size
    if not total:
        return ""
    width = min(width, total)
    picture = []
    for column in range(width):
        start, stop = total * column // width, total * (column + 1) // width
        frames = [table[index] for index in table.locate(start, stop)]
        content = sum(frame.content_size for frame in frames)
        share = sum(frame.stored_size for frame in frames) / content if content else 0
        picture.append(shades[sum(share <= bound for bound in (0.95, 0.6, 0.3))])
    return "".join(picture)
