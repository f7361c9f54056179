"""Where a file can be cut: offsets at which records begin, found without reading the records.

Goal: a file of any size is planned with one read of its end, and a short one at each place where it is cut.

Plan: the tables at the end of a .warc.zst list all frames. A record of several frames is followed by a table
of its own, which is listed as an entry without content, and whose size shows how many frames it lists: those
belong to one record. Every other frame with content is a record. Content of a crawled site is inside frames,
and cannot change this, however much it looks like records. At each place that is chosen, a record must begin
that ends where a frame does, after a frame that is a record by itself or ends one. If that does not hold,
as in some files of other tools, an index gives offsets. Otherwise the members of a .warc.gz are searched for,
see `searched.py`; in another file that is near, frames are stepped over; and if these are not enough, the
records are read.

Worst case: a table made with intent. Then a place may be inside a record after all; `Reader.between` finds
that out where two parts meet, and raises. The end of a large record, which bounds its part, is measured.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, zip_longest
from typing import Final, NamedTuple

from seekwarc.errors import FormatError
from seekwarc.format.seektable import FOOTER_SIZE, MAX_TABLE_SIZE, SeekTable, TableTrust
from seekwarc.format.warc import RecordHeader
from seekwarc.format.zstd import SKIPPABLE_HEADER_SIZE
from seekwarc.frames.pieces import Compression
from seekwarc.frames.scan import Window, frames_from
from seekwarc.read.archive_file import RECORD_HEAD, ArchiveFile
from seekwarc.read.body import TableStatus, record_size
from seekwarc.read.file_tables import FileTable
from seekwarc.read.plain import plain_records
from seekwarc.read.record import Record
from seekwarc.read.search import RecordSearch
from seekwarc.read.sequential import StreamedRecords
from seekwarc.read.zstd_body import ZstdBody
from seekwarc.read.zstd_records import framed_record_at, framed_records
from seekwarc.scale.searched import searched_starts

__all__ = ["Cuts", "find_cuts", "large_records", "record_start_after"]

MAX_ATTEMPTS: Final = 4
"""Places in a row at which no record begins, although one should, before a source of places is given up."""
MAX_WRONG: Final = 100
"""Large records of a file that are not what its tables say, before no more are looked for."""
MAX_WALK: Final = MAX_TABLE_SIZE // 12
"""Frames that are stepped over, as many as the largest table lists."""
WALK_READ: Final = 4 << 10
ENTRY_SIZES: Final = (12, 8)
SIZE_BYTES: Final = 4
"""Bytes of ISIZE, the last ones of a gzip member (RFC 1952, section 2.3.1)."""
NO_MEMBER: Final = (
    "no record begins near the places where this .warc.gz should be cut: its records are large, or they "
    "share gzip members"
)
NO_TABLE: Final = "no table lists all of the file: make one with `seekwarc concat`, or pass an index of it"

NextStart = Callable[[int], int | None]
"""Returns the first place from an offset on at which a record should begin."""


class Cuts(NamedTuple):
    """Where a file is cut."""

    offsets: Sequence[int]
    """Where the parts after the first begin."""
    note: str | None = None
    """Why the places end."""


class LargeRecord(NamedTuple):
    """A record of several frames, as tables claim."""

    offset: int
    length: int
    content_size: int


def find_cuts(file: ArchiveFile, target: int, listed: Sequence[int] | None = None) -> Cuts:
    """Find where to cut a file into parts of about `target` stored bytes."""
    size = file.source.size or 0
    step = max(size // max(-(-size // target), 1), 1)
    links = file.tables.links
    # Records with a table each make a long chain of them, of which the end alone is known.
    is_listed = bool(links) and links[0].start < step
    listed_cuts = _cuts_by_tables(file, links, step) if is_listed or file.source.policy.is_far else None
    if is_listed and listed_cuts is not None:
        return Cuts(listed_cuts)
    compression = file.detect(file.window(), 0)
    if listed is not None:
        cuts = _chosen(file, compression, _by_offsets(listed), step)
        note = "the index is wrong: no record of this file begins where it says" if cuts is None else None
        return Cuts(cuts or (), note)
    if compression == "gz":
        starts = list(searched_starts(file, compression, step))
        return Cuts(starts, None if starts else NO_MEMBER)
    if file.source.policy.is_far:
        return Cuts(listed_cuts or (), NO_TABLE)
    cuts = _cuts_by_tables(file, _walked_frames(file), step) if compression == "zst" else None
    return Cuts(list(_walked_records(file, compression, step)) if cuts is None else cuts)


def _cuts_by_tables(file: ArchiveFile, links: Sequence[FileTable], step: int) -> list[int] | None:
    if not links:
        return None
    search = RecordSearch(file, "zst")

    def holds_one(link: FileTable, index: int) -> bool:
        """Tell whether a frame is a record, or a table that ends one."""
        frame = link.table[index]
        header = search.header_at(link.start + frame.stored_start) if frame.content_size else None
        return not frame.content_size or (header is not None and record_size(header) == frame.content_size)

    def is_start(offset: int, header: RecordHeader) -> bool:
        number = bisect_right(links, offset, key=lambda link: link.start) - 1
        link = links[number]
        part = link.table.part(offset - link.start, record_size(header))
        index = _index_from(link.table, offset - link.start)
        # Nothing else shows that a record of several frames without a table goes on here.
        return part is not None and (not index or holds_one(link, index - 1))

    return _chosen(file, "zst", _by_tables(links), step, is_start)


def _chosen(
    file: ArchiveFile,
    compression: Compression,
    next_start: NextStart,
    step: int,
    fits: Callable[[int, RecordHeader], bool] | None = None,
) -> list[int] | None:
    """Choose places `step` stored bytes apart or more, where records begin; None if the tables are wrong."""
    places: list[int] = []
    place: int | None = 0
    while place is not None and (place := next_start(place + step)) is not None:
        places.append(place)
    search = RecordSearch(file, compression)

    def is_start(offset: int) -> bool:
        header = search.header_at(offset)
        return header is not None and (fits is None or fits(offset, header))

    chosen: list[int] = []
    left = iter(places)
    ranges = ((max(place - RECORD_HEAD, 0), place + RECORD_HEAD) for place in places)
    for count in file.source.in_batches(ranges):
        for place in islice(left, count):
            found: int | None = place
            attempts = 1
            while found is not None and not is_start(found):
                if attempts == MAX_ATTEMPTS:
                    return None
                attempts += 1
                found = next_start(found + 1)
            if found is not None and (not chosen or found > chosen[-1]):
                chosen.append(found)
    return chosen


def _by_offsets(offsets: Sequence[int]) -> NextStart:
    def next_start(position: int) -> int | None:
        number = bisect_left(offsets, position)
        return offsets[number] if number < len(offsets) else None

    return next_start


def _by_tables(links: Sequence[FileTable]) -> NextStart:
    def next_start(position: int) -> int | None:
        first = bisect_left(links, position, key=lambda link: link.stop)
        for link in islice(links, first, None):
            place = record_start_after(link.table, max(position - link.start, 0))
            if place is not None:
                return link.start + place
        return None

    return next_start


def record_start_after(table: SeekTable, position: int) -> int | None:
    """Return where the first record begins at or after a stored position, as the table's entries tell it."""
    sizes = table.content_sizes
    number = _index_from(table, position)
    while number < len(table):
        if sizes[number]:
            after = _next_empty(table, number)
            is_first = not number or not sizes[number - 1]
            if (
                is_first
                or after is None
                or number <= after - max(_listed_counts(table.stored_sizes[after]), default=0)
            ):
                return table[number].stored_start
            # It is inside the record that this table ends, or may be: entries are of two sizes.
            number = after
        number += 1
    return None


def large_records(file: ArchiveFile, min_size: int) -> Iterator[Record]:
    """Yield the records of `min_size` bytes or more that can be read inside of, in file order.

    Tables only tell where to look. In a file that is near, the frames of each record are scanned; in one that
    is far, the record's own table must be there, and its last frame must end where that says. So the length
    of each is its own. In a .warc.gz a sidecar says where to look. What is damaged, cut off, or not what
    the tables say, is left out.
    """
    links = file.tables.links
    if links:
        wrong = end = 0
        for place in _listed_records(links, file.source.size or 0, min_size):
            record = _large_record(file, place) if place.offset >= end else None
            if record is not None:
                end = record.offset + record.length
                yield record
            elif (wrong := wrong + 1) == MAX_WRONG:
                # A false table may list millions.
                return
    elif (compression := file.detect(file.window(), 0)) == "gz":
        yield from _members(file, min_size)
    elif not file.source.policy.is_far:
        walk = plain_records if compression == "none" else framed_records
        # Records after damage are not looked for here.
        with suppress(FormatError):
            for record in walk(file, file.window()):
                if record.size >= min_size and not (record.skip or record.is_cut_off) and record.length:
                    yield record


def _large_record(file: ArchiveFile, claimed: LargeRecord) -> Record | None:
    """Return the record of several frames that tables claim at a place, None if something else is there."""
    trust = file.table_trust
    # A length that is claimed only helps to find the record's own table.
    length = claimed.length if trust is TableTrust.CLAIMED else None
    window = file.window(claimed.offset + claimed.length)
    with suppress(FormatError):
        found = framed_record_at(file, window, claimed.offset, length, trust)
        if found is None or (found.offset, found.size) != (claimed.offset, claimed.content_size):
            return None
        body = found.body
        is_sure = isinstance(body, ZstdBody) and (body.known_frames is not None or body.ends_at_its_table())
        # Without the length that is claimed, so that it is measured.
        return Record(body) if is_sure and found.problem is None else None
    return None


def _members(file: ArchiveFile, min_size: int) -> Iterator[Record]:
    """Yield the large records that a sidecar lists, if a member of their size ends where that says."""
    for offset, length in file.places_in_sidecar():
        end = offset + length
        is_followed = end == file.source.size or RecordSearch(file, "gz").header_at(end) is not None
        stated = int.from_bytes(file.source.read(max(end - SIZE_BYTES, 0), end), "little")
        with suppress(FormatError):
            found = StreamedRecords(file, file.window(end), offset, "gz", tolerant=True).step()
            if found is not None and found.seek_table_status is TableStatus.SIDECAR and is_followed:
                size = record_size(found.header)
                if size >= min_size and size % (1 << 8 * SIZE_BYTES) == stated:
                    yield Record(found.body, length=length)


def _listed_records(links: Sequence[FileTable], end: int, min_size: int) -> Iterator[LargeRecord]:
    """Yield the records of several frames, as tables tell them: those that a table of their own ends."""
    for (start, _, table), following in zip_longest(links, links[1:]):
        found = False
        after = _next_empty(table, 0)
        while after is not None:
            for count in _listed_counts(table.stored_sizes[after]):
                if 1 < count <= after and table[after - count].content_size:
                    found = True
                    first, last = table[after - count], table[after]
                    size = last.content_start - first.content_start
                    if size >= min_size:
                        length = last.stored_stop - first.stored_start
                        yield LargeRecord(start + first.stored_start, length, size)
            after = _next_empty(table, after + 1)
        if not found and table.content_size >= min_size:
            # All of it may be one record, whose own table this is.
            stop = following.start if following is not None else end
            yield LargeRecord(start, stop - start, table.content_size)


def _index_from(table: SeekTable, position: int) -> int:
    """Return the index of the first entry that is stored at or after a position."""
    return bisect_left(range(len(table)), position, key=lambda index: table[index].stored_start)


def _next_empty(table: SeekTable, number: int) -> int | None:
    """Return the index of the first entry without content from an index on."""
    try:
        return table.content_sizes.index(0, number)
    except ValueError:
        return None


def _listed_counts(stored_size: int) -> list[int]:
    entries = stored_size - SKIPPABLE_HEADER_SIZE - FOOTER_SIZE
    return [entries // size for size in ENTRY_SIZES if entries > 0 and entries % size == 0]


def _walked_records(file: ArchiveFile, compression: Compression, step: int) -> Iterator[int]:
    """Yield the offsets of records `step` bytes apart or more, by going from one to the next."""
    records = plain_records if compression == "none" else framed_records
    wanted = step
    # Damage ends the walk: what comes after it is one part.
    with suppress(FormatError):
        for record in records(file, file.window()):
            # A record that shares its frame with the previous one has no offset of its own.
            if record.offset >= wanted and not record.skip:
                yield record.offset
                wanted = record.offset + step


def _walked_frames(file: ArchiveFile) -> list[FileTable]:
    """Return what tables would list, by stepping from frame to frame, as far as frames tell their sizes."""
    stored_sizes, content_sizes = array("Q"), array("Q")
    end = 0
    with suppress(FormatError):
        for frame in islice(frames_from(Window(file.source, first_read=WALK_READ), 0), MAX_WALK):
            if frame.content_size is None:
                break
            stored_sizes.append(frame.size)
            content_sizes.append(frame.content_size)
            end = frame.end
    return [FileTable(0, end, SeekTable(stored_sizes, content_sizes))] if end else []
