"""The test vectors of headers, extension frames and ranges that a reader seldom sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vector_files import (
    RECORD_END,
    USUAL,
    Asked,
    Record,
    Vector,
    large_record,
    small_record,
    with_file_table,
    with_own_table,
)
from vector_frames import Frame, Part, skippable_frame
from vectors_displaced import long_record
from vectors_valid import BODY, FIELDS, small_info

LAST_MAGIC: Final = 0x184D_2A5F
LONG: Final = 20_000
"""Bytes of a header field: more than some readers look at."""


def with_header(record: Record, header: bytes) -> Record:
    """Return a large record whose first frame holds another header."""
    first, *others = record.data_frames
    frames = (USUAL.frame(header, first.name, "the record header alone"), *others)
    return with_own_table(replace(record, header=header, frames=frames, table=None))


def followed_by(record: Record, frame: Frame) -> Record:
    """Return a record whose length includes another frame."""
    return replace(record, frames=(*record.frames, frame))


def lacking_vectors() -> list[Vector]:
    """Return all of them."""
    record = large_record(2, BODY)
    extension = skippable_frame(LAST_MAGIC, "X", Part(b"of another program", "User_Data"))
    field = b"WARC-Note: " + b"a long note " * (LONG // 12) + b"\r\n"
    fields = record.header.removesuffix(b"\r\n")
    named = record.header.replace(b"Content-Length", b"CONTENT-LENGTH").replace(b"WARC-Type", b"warc-type")
    size = len(record.block)
    over = (Asked(size - 20, size + 20), Asked(size - 1, size + 70_000), Asked(60_000, size + 1))
    twice = fields + b"Content-Length: 3" + RECORD_END
    return [
        Vector(
            "large-long-header",
            f"A field of the second record's header has more than {LONG // 1000},000 bytes.",
            with_file_table(small_info(), with_header(record, fields + field + b"\r\n")),
            writes="large",
            sections="6.6",
        ),
        Vector(
            "large-header-names-in-any-case",
            "The header of the second record has CONTENT-LENGTH and warc-type.",
            with_file_table(small_info(), with_header(record, named)),
            writes="large",
            sections="6.6",
        ),
        Vector(
            "large-ranges-over-the-end",
            "Ranges of the second record are asked for that extend beyond its block: they end with it.",
            with_file_table(small_info(), replace(record, asked_at=over), small_record(3, FIELDS)),
            writes="large",
            sections="6.6",
        ),
        Vector(
            "large-two-content-lengths",
            "The header of the second record has a second Content-Length of 3 bytes: the first counts.",
            with_file_table(small_info(), with_header(record, twice)),
            writes="large",
            sections="6.6",
        ),
        Vector(
            "foreign-last-extension-number",
            "Extension frames with magic number 0x184D2A5F: at the beginning, between records, at the end.",
            (
                extension,
                followed_by(small_info(), extension),
                followed_by(long_record().without_table(), extension),
            ),
            writes="none",
            sections="6.6",
            breaks="W15",
        ),
    ]
