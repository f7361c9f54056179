"""Summaries of a file, of a record, and of its frames."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import BinaryIO, Final, Unpack

from seekwarc.cdx.index import Index
from seekwarc.collection.entry import entry_of_line, with_next
from seekwarc.collection.groups import GROUPINGS, Grouping, Groups, Savings, Shares, group_of
from seekwarc.collection.parts import JoinedParts
from seekwarc.errors import FormatError, FormatWarning, SeekWarcError
from seekwarc.format.blosc2 import FRAME_HEAD_SIZE, describe_blosc2
from seekwarc.format.rules import check_header
from seekwarc.format.seektable import SeekTable
from seekwarc.format.uri import host_of
from seekwarc.frames.run import ReadPlan
from seekwarc.read.options import ReadLimits
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.read.selection import Conditions, Selection, http_media_type
from seekwarc.storage.source import RangeReadable

__all__ = [
    "SHADES",
    "FileSummary",
    "coverage_of",
    "describe_file",
    "describe_index",
    "describe_record",
    "frame_picture",
    "info",
    "payload_format",
    "typical_read",
]

MAX_HOLES = 100
"""Holes that are listed."""
SHADES = "█▓▒░"
EVERY_RECORD = Selection()
TYPICAL_RANGE = 64 << 10
BINARY_TYPES = ("application/octet-stream", "application/vnd.blosc2", "application/x-blosc2")
"""What servers call a Blosc2 file, which has no type of its own."""


@dataclass(slots=True)
class FileSummary:
    """A file in numbers.

    Example:
        >>> summary = seekwarc.tools.info("crawl.warc.zst")
        >>> summary.records, summary.types["response"]
        (5, 2)
    """

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
    damaged: list[int] = field(default_factory=list)
    """Offsets of damage, after which the next records were counted."""
    table_status: Counter[str] = field(default_factory=Counter)
    """Number of records by how their frames are known; see `TableStatus`."""
    largest: list[tuple[int, int, str]] = field(default_factory=list)
    """The largest records: (size of the block, offset, URI)."""
    groups: Groups | None = None
    """The records by what was asked for."""
    savings: Savings | None = None
    """What revisits save, if groups were asked for."""


def describe_file(
    archive: Reader,
    *,
    by: Grouping | None = None,
    largest: int = 5,
    selection: Selection = EVERY_RECORD,
) -> FileSummary:
    """Count the selected records; large blocks are not decompressed. Warns of damage, and goes on."""
    dictionary = archive.dictionary
    summary = FileSummary(
        archive.name, archive.compression, archive.size, dictionary.id if dictionary else None
    )

    def pass_over(damage: FormatError) -> None:
        summary.damaged.append(damage.offset or 0)
        warnings.warn(str(damage), FormatWarning, stacklevel=2)

    name_of = _NAMES[by] if by is not None else None
    shares = None
    if name_of is not None:
        summary.groups, summary.savings = Groups(), Savings()
        shares = Shares(summary.groups, summary.savings, archive.size)

    def described(record: Record) -> tuple[tuple[int, int], bool, str | None]:
        is_wanted = selection.matches(record)
        name = name_of(record) if is_wanted and name_of is not None else None
        return (record.offset, record.skip), is_wanted, name

    record = None
    for record, (_, is_wanted, name), after, is_damaged in with_next(archive, described, pass_over):
        if shares is not None:
            following = after[0] if after is not None else None
            shares.add(record, name, following, is_wanted=is_wanted, is_damaged=is_damaged)
        if not is_wanted:
            continue
        kind, size = record.type, record.size
        summary.records += 1
        summary.content_size += size
        summary.types[kind or "-"] += 1
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


def _status_of(record: Record) -> str | None:
    status = record.http.status if record.http is not None else None
    return str(status) if status is not None else None


_NAMES: Final[dict[Grouping, Callable[[Record], str | None]]] = {
    "type": attrgetter("type"),
    "status": _status_of,
    "mime": http_media_type,
    "host": lambda record: host_of(record.target_uri or "") or None,
    "month": lambda record: record.date.text[:7] if record.date is not None else None,
}


def describe_index(name: str, *, by: Grouping) -> FileSummary:
    """Count the captures that an index lists; no file that it names is opened."""
    groups, savings = Groups(), Savings()
    summary = FileSummary(name, "index", None, groups=groups, savings=savings)
    with Index(name) as index:
        for line in index:
            entry = entry_of_line(line)
            stored_size = entry.length or 0
            groups.add(group_of(entry, by), 0, stored_size)
            savings.add(line.fields.get("digest"), stored_size, is_revisit=line.is_revisit)
            summary.records += 1
            summary.types[entry.type or "-"] += 1
    return summary


def info(
    target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
    *,
    by: Grouping | None = None,
    largest: int = 5,
    limits: ReadLimits | None = None,
    **conditions: Unpack[Conditions],
) -> FileSummary:
    """Describe a file in numbers: its records, their sizes and types, and how their frames are found.

        summary = tools.info("crawl.warc.zst", since=datetime(2026, 11, 1, tzinfo=UTC))
        print(summary.records, summary.types["response"], summary.largest[0])

        sites, others = tools.info("crawl.warc.zst", by="host").groups.most(10)

    The file is read once; the blocks of large records are not decompressed, unless a condition needs them.

    Args:
        target: The file; see `Reader`.
        by: Count by type, HTTP status ("status"), media type ("mime"), host or month, and what revisits
            save.
        largest: Number of the largest records that are listed.
        limits: Limits of reading; see `Reader`.
        **conditions: Which records count; see `Conditions`.

    Raises:
        FormatError: The file is damaged or not a WARC file.
        SourceError: The file cannot be read.
        ValueError: A condition is invalid, or records cannot be counted by that.
    """
    if by is not None and by not in GROUPINGS:
        raise ValueError(f"by is {by!r}, not {', '.join(GROUPINGS[:-1])} or {GROUPINGS[-1]}")
    with Reader(target, **(limits or {})) as archive:
        return describe_file(archive, by=by, largest=largest, selection=Selection.named(**conditions))


def describe_record(record: Record) -> dict[str, object]:
    """Return what `seekwarc info --json` says of a record, but for its frames; see spec-notes/json.md."""
    payload = record.payload
    payload.look_ahead(record.content_length, 0)
    body = record.body
    return {
        "offset": record.offset,
        "length": record.length,
        "type": record.type,
        "id": record.id,
        "date": record.header.get("WARC-Date"),
        "uri": record.target_uri,
        "content_type": record.content_type,
        "http": record.http.start_line if record.http is not None else None,
        "codings": payload.codings,
        "truncated": record.truncated,
        "segment": record.header.get("WARC-Segment-Number"),
        "refers_to": record.refers_to_id or record.refers_to_target_uri,
        "findings": [f"{it.severity}: {it}" for it in check_header(record.header)],
        "block_size": record.content_length,
        "payload_format": payload_format(record),
        "payload_size": payload.known_size,
        "table_status": body.table_status,
        "table_problem": body.table_problem,
        "joined": coverage_of(record),
    }


def coverage_of(record: Record) -> dict[str, object] | None:
    """Return which bytes of a payload its parts have; None if it is not assembled from parts."""
    if not isinstance(record, JoinedParts):
        return None
    return {
        "parts": len(record.parts),
        "held": record.held,
        "holes": [list(hole) for hole in record.payload.holes[:MAX_HOLES]],
        "is_proved": record.is_proved,
    }


def typical_read(record: Record) -> ReadPlan:
    """Return the cost of reading 64 KiB from the middle of the payload, or of the block if it has no size."""
    extent = record.payload if record.payload.known_size is not None else record.block
    middle = max(extent.size // 2 - TYPICAL_RANGE // 2, 0)
    return extent.plan(middle, middle + TYPICAL_RANGE)


def payload_format(record: Record) -> str | None:
    """Describe a Blosc2 frame or bare chunk; None for any other payload. Only the beginning is read."""
    payload = record.payload
    kind = payload.media_type
    size = payload.known_size
    if payload.codings or size is None or (kind is not None and kind.essence not in BINARY_TYPES):
        return None
    try:
        return describe_blosc2(payload.pread(0, FRAME_HEAD_SIZE), size)
    except SeekWarcError:
        # Damage is reported when the payload is read.
        return None


def frame_picture(table: SeekTable, width: int, shades: str = SHADES) -> str:
    """Draw a record's frames, a character for each equal share of the content, lighter if compressed well."""
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
