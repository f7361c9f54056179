"""Records of ARC files as WARC records, to be written into WARC files.

The fields of the line get their names in WARC, as warcio has them, and the digests of block and payload are
added. WARC-Record-ID is made of the line and the block: the same record gets the same one whenever, and from
whatever compression, it is converted. A record without a URL of HTTP becomes a resource, since its block
has no HTTP head. Fields that WARC has no name for, as in version 2, are lost; a malformed date is left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final, Protocol, cast
from uuid import NAMESPACE_URL, uuid5

from seekwarc.errors import FormatError
from seekwarc.format.arc import ArcHeader
from seekwarc.format.digest import Digest
from seekwarc.format.warc import RECORD_END, RecordHeader, edit_header
from seekwarc.read.digests import BlockDigests
from seekwarc.read.record import Record
from seekwarc.read.sequential import StreamedRecords
from seekwarc.write.block_reader import ReadableStream

__all__ = ["RecordSink", "Tapped", "copy_arc_records", "warc_content", "warc_header", "warc_record"]

STEP: Final = 1 << 20
MAX_IN_MEMORY: Final = 16 << 20
"""A larger block waits in a temporary file until its digests are known."""


class RecordSink(Protocol):
    """What a conversion writes to: a `Writer`, or one of the classes here."""

    def write_raw(
        self, header: RecordHeader, block: ReadableStream, *, trailer: Callable[[], bytes]
    ) -> object:
        """See `Writer.write_raw`."""


class Tapped:
    """Shows all that is read of a block."""

    def __init__(self, file: BinaryIO, tap: Callable[[bytes], object]) -> None:
        self._file = file
        self._tap = tap

    def read(self, size: int) -> bytes:
        """Read, and show it."""
        data = self._file.read(size)
        self._tap(data)
        return data


def warc_header(header: ArcHeader, *digests: tuple[str, str]) -> RecordHeader:
    """Return the header of the WARC record, with these digests, and an ID made of them and the line."""
    text = "\n".join([header.raw.decode("latin-1"), *(value for _, value in digests)])
    added = [("WARC-Record-ID", f"<{uuid5(NAMESPACE_URL, text).urn}>"), *digests]
    # A warcinfo has none (WARC 1.1, clause 5.14): that of a version block is its WARC-Filename.
    removed = ("WARC-Target-URI",) if header["WARC-Type"] == "warcinfo" else ()
    return edit_header(header.warc, removed, added)


def warc_record(record: Record) -> tuple[RecordHeader, BinaryIO]:
    """Read a record of an ARC file, and return the header of the WARC record and the block.

    Raises:
        FormatError: The block cannot be read, or its length is not known.
    """
    header, http = cast("ArcHeader", record.header), record.http
    if header.wrong_field == "Archive-length":
        raise FormatError(header.problem or "", source=record.source, offset=record.offset)
    digests = BlockDigests(http, block=hashlib.sha1(), payload=hashlib.sha1())  # noqa: S324
    spool = SpooledTemporaryFile(max_size=MAX_IN_MEMORY)  # noqa: SIM115
    try:
        with record.block.open() as block:
            while data := block.read(STEP):
                digests.add(data)
                spool.write(data)
    except BaseException:
        spool.close()
        raise
    named = [("WARC-Block-Digest", digests.block)]
    if digests.finish(truncated=False) and http is not None:
        named.append(("WARC-Payload-Digest", digests.payload))
    spool.seek(0)
    made = [(name, str(Digest.of("sha1", it.digest()))) for name, it in named if it is not None]
    return warc_header(header, *made), cast("BinaryIO", spool)


def warc_content(records: StreamedRecords) -> Iterator[bytes]:
    """Yield what `copy_arc_records` writes."""
    for record in records:
        header, block = warc_record(record)
        yield header.raw
        with block:
            while data := block.read(STEP):
                yield data
        yield RECORD_END


def copy_arc_records(
    tap: Callable[[bytes], object],
    records: StreamedRecords,
    sink: RecordSink,
    on_record: Callable[[Record], object] | None = None,
) -> int:
    """Write the records of an ARC file as WARC records, and show the tap all of it; return their number."""
    count = 0
    for record in records:
        if on_record is not None:
            on_record(record)
        header, block = warc_record(record)
        tap(header.raw)
        with block:
            sink.write_raw(header, Tapped(block, tap), trailer=lambda: RECORD_END)
        tap(RECORD_END)
        count += 1
    return count
