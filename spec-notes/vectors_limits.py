"""The test vectors that other places, numbers that claim too much, and the end of the file are tried with."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vector_files import (
    FRAME_SIZE,
    OF_FIELDS,
    RECORD_END,
    USUAL,
    Asked,
    Making,
    Record,
    Vector,
    large_record,
    record_header,
    small_record,
    with_file_table,
    with_own_table,
)
from vector_frames import (
    CONTENT_CHECKSUM,
    DICTIONARY_FRAME,
    EIGHT_BYTE_CONTENT_SIZE,
    SINGLE_SEGMENT,
    Frame,
    Part,
    dictionary_parts,
    padding,
    raw_dictionary,
    skippable_frame,
    u32,
    zstandard_frame,
)
from vectors_displaced import INSIDE, long_record
from vectors_hostile import entries_of, with_entries
from vectors_valid import BODY, FIELDS, WITH_DICTIONARY, followed_by_padding, small_info

MUCH: Final = 1 << 50
"""Bytes that no reader has memory for."""
TOO_FEW: Final = 16
"""Bytes from R to the end of a table: no table has so few (6.1, step 1)."""
OTHER_CONTENT: Final = b"Content-Length:1"
"""Of a dictionary: by it a record would seem longer than it is."""


def place_vectors() -> list[Vector]:
    """Return valid files of which records are asked for by another offset or length than theirs."""
    record = long_record()
    *items, table = with_file_table(followed_by_padding(small_info()), record)
    assert isinstance(table, Frame)
    bare = sum(len(frame.data) for frame in record.data_frames)
    whole = sum(len(frame.data) for frame in record.frames)
    asked = (
        Asked(*INSIDE),
        Asked(*INSIDE, bare),
        Asked(*INSIDE, TOO_FEW),
        Asked(*INSIDE, whole + len(table.data)),
        Asked(*INSIDE, before=8),
        Asked(*INSIDE, 8 + whole, before=8),
    )
    return [
        Vector(
            "large-other-places",
            (
                "Ranges of the second record are asked for with no length, with one that leaves out its "
                "table, is shorter than any table or includes the file table (R23), and by the offset of the "
                "padding before it (R4)."
            ),
            (items[0], replace(record, asked_at=asked), table),
            writes="large",
            sections="B.1",
        ),
        Vector(
            "large-wide-content-sizes",
            "Frame_Content_Size has eight bytes in all frames of the second record.",
            with_file_table(small_info(), with_wide_sizes(long_record())),
            writes="large",
            sections="2.3",
        ),
    ]


def with_wide_sizes(record: Record) -> Record:
    """Return a record whose frames state their content size in eight bytes."""
    frames = tuple(claiming(frame, len(frame.content)) for frame in record.data_frames)
    return with_own_table(replace(record, frames=frames, table=None))


def claiming(frame: Frame, size: int) -> Frame:
    """Return a frame that states a content size, in eight bytes; it is not sound if that is another."""
    magic, _, _, *others = frame.parts
    descriptor = EIGHT_BYTE_CONTENT_SIZE | SINGLE_SEGMENT | CONTENT_CHECKSUM
    head = (
        magic,
        Part(bytes([descriptor]), "Frame_Header_Descriptor: Single_Segment, Content_Checksum, 8-byte size"),
        Part(size.to_bytes(8, "little"), f"Frame_Content_Size {size}"),
    )
    return replace(frame, parts=(*head, *others), sound=size == len(frame.content))


def claim_vectors() -> list[Vector]:
    """Return files with a number that asks for more than there is."""
    first, record, last = small_info(), large_record(2, BODY), small_record(3, FIELDS)
    small = small_record(2, FIELDS)
    [frame] = small.frames
    header = record_header("metadata", 2, MUCH, *OF_FIELDS)
    frames = USUAL.frames("B", [(header, "the record header"), (FIELDS, "all that there is of the block")])
    endless = Record("metadata", header, FIELDS + bytes(10), frames, missing=14)
    made = {
        "entries": (
            "Number_Of_Frames in B.T is 0x08000000, the most that is allowed: 6.1, step 3, fails.",
            with_file_table(first, with_entries(record, entries_of(record), count=0x0800_0000), last),
            "6.1",
            "W17",
        ),
        "content": (
            "The frame of the second record states 2**50 bytes of content (R8).",
            (first, replace(small, frames=(claiming(frame, MUCH),), intact=0, seekable=False), last),
            "8",
            "W10",
        ),
        "block": (
            "Content-Length of the second record is 2**50.",
            (first, replace(endless, intact=len(FIELDS), seekable=False)),
            "6.6",
            "W27",
        ),
        "dictionary": (
            "The Zstandard frame of the dictionary states 2**50 bytes of content (R7).",
            (too_much_dictionary(), unread(small_info(WITH_DICTIONARY))),
            "7",
            "W30",
        ),
        "dictionary-frame": (
            "The dictionary frame states 4,294,967,280 bytes (R7).",
            (too_long_dictionary(),),
            "7",
            "W30",
        ),
    }
    return [
        Vector(
            f"claimed-{name}",
            title,
            items,
            writes="large" if name == "entries" else "none",
            sections=sections,
            breaks=breaks,
            readable="all" if name == "entries" else "none" if "dictionary" in name else "some",
        )
        for name, (title, items, sections, breaks) in made.items()
    ]


def too_much_dictionary() -> Frame:
    """Return a dictionary frame whose Zstandard frame states more than it holds."""
    content = b"".join(part.data for part in dictionary_parts())
    inner = claiming(zstandard_frame(content, "the dictionary", "as User_Data"), MUCH)
    return skippable_frame(DICTIONARY_FRAME, "D", *inner.parts)


def too_long_dictionary() -> Frame:
    """Return a dictionary frame that states more bytes than the file has."""
    magic, _, *others = raw_dictionary().parts
    return Frame("D", (magic, Part(u32(0xFFFF_FFF0), "Frame_Size 4294967280"), *others))


def other_dictionary() -> Frame:
    """Return a dictionary frame whose dictionary has the usual ID and other content."""
    *others, _ = raw_dictionary().parts
    return Frame("D'", (*others, Part(OTHER_CONTENT, f"content {OTHER_CONTENT!r}")))


def unread(record: Record) -> Record:
    """Return a record of which a reader gets nothing."""
    return replace(record, intact=0, seekable=False)


def ending_vectors() -> list[Vector]:
    """Return files that end too early or too late, and others that are read in order."""
    first, record = small_info(), large_record(2, BODY).without_table()
    last = record.frames[-1]
    header = record_header("metadata", 2, len(FIELDS), *OF_FIELDS)
    pieces = [(header + FIELDS, "the header and the block"), (RECORD_END, "the trailer")]
    in_two = Record("metadata", header, FIELDS, USUAL.frames("B", pieces))
    long = [
        (header + FIELDS + b"\r\n", "all but the trailer's end"),
        (b"\r\n" * 2, "CRLF CRLF"),
        (b"\r\n", "CRLF"),
    ]
    of_many = Record("metadata", header, FIELDS, USUAL.frames("B", long), trailer=b"\r\n" * 4, seekable=False)
    unchecked = Making(dictionary=True, checked=False)
    info = small_info(WITH_DICTIONARY)
    made = {
        "damaged-cut-between-frames": (
            "The last frame of the second record is missing: the file ends with a whole frame (R2).",
            (
                first,
                replace(record, frames=record.frames[:-1], intact=2 * FRAME_SIZE, missing=len(last.content)),
            ),
            "W27",
            "some",
        ),
        "damaged-cut-off-in-trailer": (
            "The frame of the second record's trailer is cut off; the block is complete (R2).",
            (
                first,
                replace(
                    in_two,
                    frames=(in_two.frames[0], in_two.frames[1].cut_off(8)),
                    intact=len(FIELDS),
                    is_cut=True,
                    seekable=False,
                ),
            ),
            "W27",
            "some",
        ),
        "damaged-bytes-at-end": (
            "After two records come 16 bytes that are not a frame (R2).",
            (first, small_record(2, FIELDS), Frame("X", (Part(b"these are noise\n", "not a frame"),))),
            "W27",
            "some",
        ),
        "damaged-no-record": (
            "The file holds padding and nothing else: a file without a record is an error (R2).",
            (padding("P", 100),),
            "W15",
            "none",
        ),
        "foreign-long-trailer": (
            "CRLF four times ends the second record, the last three of them in frames of their own (R3).",
            (first, of_many, small_record(3, FIELDS)),
            "W4 W6",
            "all",
        ),
        "foreign-dictionary-late-other": (
            (
                "A later dictionary has the ID of the first and other content. The frame after it takes "
                "bytes from the first (R6)."
            ),
            (
                raw_dictionary(),
                replace(info, frames=(*info.frames, other_dictionary())),
                small_record(2, FIELDS, making=unchecked),
            ),
            "W8 W29",
            "all",
        ),
    }
    return [
        Vector(name, title, items, writes="none", sections="6.6", breaks=breaks, readable=readable)
        for name, (title, items, breaks, readable) in made.items()
    ]


def limit_vectors() -> list[Vector]:
    """Return all of them."""
    return [
        *place_vectors(),
        *claim_vectors(),
        *ending_vectors(),
    ]
