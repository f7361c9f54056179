"""The test vectors of headers, extension frames and ranges that a reader seldom sees."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vector_files import (
    RECORD_END,
    USUAL,
    Asked,
    Making,
    Record,
    Vector,
    large_record,
    small_record,
    with_file_table,
    with_own_table,
)
from vector_frames import MAX_BLOCK, Frame, Part, skippable_frame
from vectors_displaced import long_record
from vectors_valid import BODY, FIELDS, small_info

LAST_MAGIC: Final = 0x184D_2A5F
RLE: Final = 1
RESERVED: Final = 3
"""Types of blocks (RFC 8878, 3.1.1.2.2)."""
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


def with_block(record: Record, header: int, meaning: str) -> Record:
    """Return a small record that cannot be read, since a block of its frame has another header."""
    [frame] = record.frames
    parts = [
        Part(header.to_bytes(3, "little"), f"block header: {meaning}")
        if part.meaning.startswith("block header")
        else part
        for part in frame.parts
    ]
    broken = replace(frame, parts=tuple(parts), sound=False)
    return replace(record, frames=(broken,), seekable=False, intact=0)


def damaged_vectors() -> list[Vector]:
    """Return files with a frame that no decoder reads."""
    first, second = small_info(), small_record(2, FIELDS)
    naming = small_record(2, FIELDS, making=Making(dictionary=True, copies=False))
    [frame] = naming.frames
    made = {
        "damaged-reserved-block": (
            "The block of the second record's frame has the reserved type (R27).",
            with_block(second, len(second.content) << 3 | RESERVED << 1 | 1, "last, reserved type"),
            "W27",
        ),
        "damaged-block-too-large": (
            "The block of the second record's frame is an RLE block of 131,073 bytes (R27).",
            with_block(second, MAX_BLOCK + 1 << 3 | RLE << 1 | 1, "last, RLE, 131073 bytes"),
            "W27",
        ),
        "damaged-dictionary-missing": (
            "The second record's frame names a dictionary, and the file has none (R6).",
            replace(naming, frames=(replace(frame, sound=False),), seekable=False, intact=0),
            "W9",
        ),
    }
    return [
        Vector(
            name,
            title,
            (first, it),
            writes="none",
            sections="7" if "dictionary" in name else "6.4 6.6",
            breaks=breaks,
            readable="some",
        )
        for name, (title, it, breaks) in made.items()
    ]


def trailer_vector() -> Vector:
    """Return a file without trailers."""
    bare = [
        replace(it, frames=USUAL.frames(name, [(it.header + it.block, "all but a trailer")]), trailer=b"")
        for name, it in (("B", small_record(2, FIELDS)), ("C", small_record(3, FIELDS)))
    ]
    return Vector(
        "foreign-no-trailer",
        "Nothing follows the blocks of the second record and the last: the next frame begins a record (R3).",
        (small_info(), *bare),
        writes="none",
        sections="6.4 6.6",
        breaks="W4",
    )


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
        *damaged_vectors(),
        trailer_vector(),
    ]
