"""One record by its offset, whatever the file is compressed with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, SupportsIndex

from seekwarc.errors import FormatError, RangeError
from seekwarc.frames.scan import Window
from seekwarc.options import integer
from seekwarc.read.sequential import StreamBody, StreamedRecords
from seekwarc.read.zstd_records import framed_record_at

if TYPE_CHECKING:
    from seekwarc.format.seektable import TableChoice
    from seekwarc.frames.pieces import Compression
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.record import Record

__all__ = ["record_at"]

_DIGITS: Final = r"[0-9]{1,18}"


def record_at(
    file: ArchiveFile,
    at: SupportsIndex | str,
    stored: SupportsIndex | str | None,
    table: TableChoice,
) -> Record:
    """Return the record at a stored offset; see `Reader.record_at`."""
    offset = _number("offset", at, 0)
    length = None if stored is None else _number("length", stored, 1)
    source = file.source
    is_near = source.policy.is_near
    if not is_near:
        file.prefetch_record(offset, length, table)
    size = source.size
    if length is not None and size is not None:
        # An index may lie: beyond the file there is nothing.
        length = max(min(length, size - offset), 1)
    # A pipe is read once, in order: its dictionary before the record, and that as a stream.
    is_pipe = size is None and source.is_pipe
    if is_pipe:
        file.begin()
    if is_near and not is_pipe:
        window = Window(source, limit=offset + length if length is not None else None)
    else:
        window = file.record_window(offset, length)
    compression = file.detect(window, offset)
    if compression == "none" and not is_pipe:
        from seekwarc.read.plain import plain_record_at

        return plain_record_at(file, window, offset, own=True, length=length)
    record = None
    if compression == "zst" and not is_pipe:
        record = framed_record_at(file, window, offset, length, table)
    elif not is_pipe:
        from seekwarc.read.gzip_members import small_record_at

        record = small_record_at(file, window, offset, length)
    if record is None:
        record = _streamed_record_at(file, window, offset, compression, table, length=length)
    if record is None:
        raise FormatError("no record starts here", source=file.name, offset=offset)
    return record


def _streamed_record_at(
    file: ArchiveFile,
    window: Window,
    offset: int,
    compression: Compression,
    table: TableChoice,
    *,
    length: int | None,
) -> Record | None:
    record = StreamedRecords(file, window, offset, compression, tolerant=True).step()
    if record is not None and isinstance(record.body, StreamBody):
        record.body.leave()
        record.body.choice = table
        record.body.known_end = offset + length if length is not None else None
        if not file.source.policy.is_far:
            # All of a small record is in memory, so its header is also compared.
            record.body.check_end(0)
    if record is not None and length is not None and not record.has_length:
        # Finding it out would take reading all of the record.
        record.note_length(length)
    return record


def _number(name: str, value: SupportsIndex | str, least: int) -> int:
    if isinstance(value, str):
        if not re.fullmatch(_DIGITS, value):
            raise RangeError(f"{name} is {value!r}: expected digits")
        value = int(value)
    elif not isinstance(value, int):
        value = integer(name, value)
    if value < least:
        raise RangeError(f"{name} must be at least {least}: {value}")
    return value
