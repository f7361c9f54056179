"""Continuing a file: what it holds, and where new records begin.

The guarantee: records that are in the file are never changed, and stay readable whatever interrupts the
writing. It holds because bytes are only added after the last whole record, and because every state between is
a valid file or one that `repair` makes valid:

- The table of the whole file, at its end, stays where it is and becomes an ordinary skippable frame, which
  readers pass over; the file gets a new table when it is finished. To write that, the sizes and checksums of
  all existing frames are read first, which also shows whether the file is damaged.
- After a crash, the file may end inside a record. A new record after that one would be taken for the rest of
  its block. So a torn end is refused or, with `repair`, cut off, after its bytes were copied into another
  file.
- `abort` cuts the file back to where it ended before.

Source: spec-notes/warc-zstd-seekable, annex A.4.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from typing import Final

from seekwarc.errors import (
    FormatError,
    FormatWarning,
    TargetExistsError,
    TruncatedError,
    UnsupportedError,
)
from seekwarc.format.warc import (
    HEADER_END,
    MAX_HEADER_SIZE,
    RECORD_END,
    is_record_magic,
    parse_record_header,
)
from seekwarc.format.zstd import SEEK_TABLE_MAGIC
from seekwarc.frames.encoder import MAX_FRAME_SIZE
from seekwarc.frames.pieces import Compression, skippable_frame_at
from seekwarc.frames.scan import Frame, Window, frames_from
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.read.record import Record
from seekwarc.storage.local import LocalFileSource
from seekwarc.write.file_layout import CHECKSUM_OF_NOTHING, ExistingFile
from seekwarc.write.files import unfinished_name, unwritable
from seekwarc.write.output import OpenOutput

__all__ = ["continued", "existing_file"]

CHECKSUM_SIZE: Final = 4
BLOCK_HEADER_SIZE: Final = 3
CONVERT: Final = "`seekwarc convert` makes a file that can be continued"
REPAIR: Final = (
    'repair=True with mode "a" moves it into a file of its own, `seekwarc recover` saves the whole records'
)
STEP: Final = 1 << 20


def continued(
    path: str | os.PathLike[str], *, compression: Compression, repair: bool
) -> tuple[OpenOutput, ExistingFile | None] | None:
    """Open a file, or the unfinished one that a writer left, to continue it; None if there is neither.

    With `repair`, an incomplete record at its end is cut off, and kept in a file of its own. What is in the
    file is None if no record was whole.
    """
    name = os.fspath(path)
    unfinished = unfinished_name(os.path.realpath(name))
    there = os.path.exists(name)
    if there and os.path.exists(unfinished):
        raise TargetExistsError(
            f"a writer that was to replace it left {unfinished}; remove one of the two, or save what "
            f"is whole in the latter with `seekwarc recover {unfinished} OTHER`",
            source=name,
        )
    if not there and not os.path.exists(unfinished):
        return None
    place = name if there else unfinished
    output = OpenOutput(name, continued=os.path.realpath(place))
    try:
        existing = (
            existing_file(place, compression, repair=repair) if os.path.getsize(place) or there else None
        )
        end = existing.end if existing is not None else 0
        _keep_torn(place, end)
        output.go_to(end)
    except BaseException:
        output.leave()
        raise
    return output, existing


def _keep_torn(path: str, end: int) -> None:
    size = os.path.getsize(path)
    if size <= end:
        return
    kept = f"{path}.torn-{end}"
    try:
        with open(path, "rb") as source, open(kept, "wb") as target:
            source.seek(end)
            while data := source.read(STEP):
                target.write(data)
            target.flush()
            os.fsync(target.fileno())
    except OSError as error:
        raise unwritable(error, kept) from error
    warnings.warn(
        f"{path}: the last record is incomplete; its {size - end} bytes from offset {end} are now in {kept}",
        FormatWarning,
        stacklevel=5,
    )


def existing_file(
    path: str | os.PathLike[str], compression: Compression = "zst", *, repair: bool = False
) -> ExistingFile | None:
    """Examine a file that is to be continued: it must be whole, and tables must be able to list its frames.

    With `repair`, an incomplete record at its end is ignored; None is returned if there is no other.
    """
    with WholeReader(path, strict=True) as archive:
        if archive.compression != compression:
            raise UnsupportedError(
                f"only a file of compression {compression!r} can be continued under this name, this one has "
                f"{archive.compression!r}; {CONVERT}",
                source=archive.name,
            )
        if archive.is_arc:
            raise UnsupportedError(f"an ARC file cannot be continued; {CONVERT}", source=archive.name)
        found_ends = _ends(archive, repair=repair)
        if found_ends is None:
            return None
        first, last, count, end = found_ends
        if compression != "zst":
            return ExistingFile("none", None, os.path.getsize(path) if end is None else end)
        found = ExistingFile("none", archive.dictionary)
        frames = first.body.frames
        bare = frames is not None and frames.content_sizes[0] == len(first.header.raw)
        last_offset = last.offset
        only = first.offset == last.offset
    tables, anchor = _read_frames(found, os.fspath(path), end)
    ends_in_its_own = anchor is not None and anchor == last_offset and (anchor or bare)
    # The bytes cut off may be the last record's table.
    lacks_its_own = end is not None and bare and anchor is None and tables == count - 1 > 0
    if (ends_in_its_own and tables >= count) or lacks_its_own:
        found.tables = "every"
    elif tables:
        found.tables = "large"
        found.has_table = anchor == 0
        if bare and not only:
            raise UnsupportedError(
                "the first record's header has a frame of its own, so readers would take a table of the "
                f"whole file for that record's; {CONVERT}",
                source=os.fspath(path),
            )
    return found


def _read_frames(found: ExistingFile, path: str, end: int | None) -> tuple[int, int | None]:
    """List all frames up to `end`; return the number of tables, and the anchor of a table at the end."""
    tables, anchor = 0, None
    with contextlib.closing(LocalFileSource(path)) as source:
        window = Window(source)
        for frame in frames_from(window, 0):
            found.stored.append(frame.size)
            found.contents.append(frame.content_size or 0)
            found.checksums.append(_checksum(window, frame))
            found.end = frame.end
            anchor = None
            if frame.magic == SEEK_TABLE_MAGIC:
                tables += 1
                anchor = skippable_frame_at(window, frame.offset, frame.size).anchor
            if frame.end == end:
                break
    return tables, anchor


def _ends(archive: Reader, *, repair: bool) -> tuple[Record, Record, int, int | None] | None:
    """Return first and last record, the number of records, and where the last ends if more bytes follow.

    All records must be whole; with `repair`, all but one at the end. Returns None if that is the only one.
    """
    records: list[Record] = []
    count = 0
    before: Record | None = None
    try:
        for record in archive:
            # An incomplete record would swallow what is written after it.
            _ = record.body.table_status
            before = records[-1] if records else None
            records = [*records[:1], record]
            count += 1
    except FormatError as error:
        try:
            end = _end_of(records[-1]) if records else 0
        except FormatError:
            # The last one has a header, but is itself incomplete.
            records = [records[0], before] if before is not None else []
            count -= 1
            end = _end_of(before) if before is not None else 0
        places = {end, error.offset or 0}
        if not isinstance(error, TruncatedError) and not any(
            _is_torn(archive.name, place) or _is_incomplete(archive.name, place) for place in places
        ):
            raise
        if not repair:
            message = f"{error.message}; {REPAIR}"
            raise TruncatedError(message, source=error.source, offset=error.offset) from None
        return (records[0], records[-1], count, end) if records else None
    if not records:
        raise UnsupportedError("the file has no record, so it cannot be continued", source=archive.name)
    return records[0], records[-1], count, None


def _end_of(record: Record) -> int:
    """Return where the last whole record ends, with the whole frames that follow it."""
    try:
        return record.offset + record.length
    except FormatError as error:
        if error.offset is None or error.offset <= record.offset:
            raise
        return error.offset


def _is_torn(path: str, offset: int) -> bool:
    """Tell whether only zeros, or an incomplete uncompressed record, follow an offset."""
    with open(path, "rb") as file:
        file.seek(offset)
        begin = file.read(STEP)
        if is_record_magic(begin):
            header, found, _ = begin.partition(HEADER_END)
            if not found:
                return len(begin) < STEP
            try:
                length = parse_record_header(header + found).content_length
            except FormatError:
                return False
            # If the record ends within the file, only its line breaks may be missing; else its length is
            # wrong.
            block_end = offset + len(header + found) + length
            return block_end <= os.path.getsize(path) < block_end + len(RECORD_END)
        return not begin.strip(b"\0") and all(
            not data.strip(b"\0") for data in iter(lambda: file.read(STEP), b"")
        )


def _is_incomplete(path: str, offset: int) -> bool:
    """Tell whether the file ends inside a record whose header was just being completed, so that it is torn.

    The writer stores such a header as it is, and completes it before the last frame of the record.
    """
    with contextlib.closing(LocalFileSource(path)) as source:
        window = Window(source)
        content = 0
        try:
            for frame in frames_from(window, offset):
                if frame.header is None:
                    return False
                if not content:
                    begin = frame.offset + frame.header.size
                    stored = window.take(begin, min(frame.size, MAX_HEADER_SIZE))
                    header, end, _ = stored[BLOCK_HEADER_SIZE:].partition(HEADER_END)
                    wanted = parse_record_header(header + end)
                content += frame.content_size or 0
        except TruncatedError:
            pass  # Inside a frame.
        except FormatError:
            return False
        missing = len(wanted.raw) + wanted.content_length + len(RECORD_END) - content if content else 0
        return 0 < missing <= MAX_FRAME_SIZE + len(RECORD_END)


def _checksum(window: Window, frame: Frame) -> int:
    if frame.header is None:
        return CHECKSUM_OF_NOTHING
    if frame.content_size is None or not frame.header.has_checksum:
        raise UnsupportedError(
            f"a frame does not state its size or checksum, so no table can list it; {CONVERT}",
            source=window.source.name,
            offset=frame.offset,
        )
    return int.from_bytes(window.take(frame.end - CHECKSUM_SIZE, CHECKSUM_SIZE), "little")
