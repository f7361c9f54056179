"""The test vectors for what the text of 1.3 left open, and 1.4 decides; see changes.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vector_files import (
    FRAME_SIZE,
    HTTP_HEAD,
    RECORD_END,
    USUAL,
    Making,
    Record,
    Vector,
    large_record,
    letter_of,
    runs,
    small_record,
    with_file_table,
    with_own_table,
)
from vector_frames import (
    DICTIONARY,
    DICTIONARY_CONTENT,
    DICTIONARY_FRAME,
    Frame,
    Part,
    dictionary_parts,
    skippable_frame,
    table_of,
    u32,
    zstandard_frame,
)
from vectors_foreign import RUN_OF_MUCH
from vectors_valid import BODY, FIELDS, SEGMENT, WITH_DICTIONARY, followed_by_padding, small_info

HEAD_OF_STATUS_0: Final = b"HTTP/1.1 0 No Content\r\nContent-Type: text/plain\r\n\r\n"
LONG_LEAD: Final = 5_000_000
LONG_BODY: Final = 8_600_000
"""No frame_size of at most 8 MiB but LONG_LEAD cuts so long a body there and nowhere else."""


def recut(number: int, record: Record, *pieces: tuple[bytes, str]) -> Record:
    """Return a record in other frames, with their table."""
    frames = USUAL.frames(letter_of(number), [*pieces])
    return with_own_table(replace(record, frames=frames, table=None))


def first_frame_vectors() -> list[Vector]:
    """Return files whose F0 holds more than a record header, where W1, W2, W4 and W13 meet."""
    second, response = large_record(2, BODY), large_record(2, BODY, head=HTTP_HEAD)
    rest = [(frame.content, "body") for frame in second.data_frames[2:]]
    lead = recut(
        2,
        second,
        (second.header + BODY[:1], "the record header and one byte of the block"),
        (BODY[1:FRAME_SIZE], "body"),
        *rest,
    )
    part = recut(
        2,
        response,
        (response.header + HTTP_HEAD[:20], "the record header and 20 bytes of the HTTP head"),
        (HTTP_HEAD[20:] + BODY[:FRAME_SIZE], "the rest of it and body"),
        *rest,
    )
    segment = large_record(2, b"", head=HTTP_HEAD, kind="continuation", fields=SEGMENT)
    head_alone = recut(
        2, segment, (segment.header, "the record header"), (HTTP_HEAD + RECORD_END, "the HTTP head, trailer")
    )
    long = large_record(1, runs(LONG_BODY, RUN_OF_MUCH), first=True)
    long_lead = recut(
        1,
        long,
        (long.header + long.block[:LONG_LEAD], f"the record header and {LONG_LEAD} bytes of the block"),
        (long.block[LONG_LEAD:] + RECORD_END, "body and the trailer"),
    )
    made = {
        "large-later-lead": (
            (
                "F0 of a record in the middle of the file holds the record header and one byte of the block: "
                "a file does not show that this record was never the first of one."
            ),
            (small_info(), lead, small_record(3)),
            "2.1 A.2",
            "",
        ),
        "large-later-part-of-head": (
            "F0 of a later record holds the record header and part of the HTTP head: the form of no record.",
            (small_info(), part, small_record(3)),
            "2.1 A.2",
            "W1",
        ),
        "large-segment-head-alone": (
            (
                "The last segment of a record is an HTTP head and nothing else, and is stored as a large "
                "record: the trailer is in the frame of the head."
            ),
            (small_info(), head_alone, small_record(3)),
            "2.1 2.2",
            "",
        ),
        "large-head-of-status-0": (
            "The HTTP head of a large record has the status 0 and no other digit, and is one all the same.",
            (small_info(), large_record(2, BODY, head=HEAD_OF_STATUS_0), small_record(3)),
            "2.1",
            "",
        ),
        "large-first-lead-of-a-frame": (
            f"F0 of the first record holds frame_size bytes of the block: {LONG_LEAD}.",
            (long_lead, small_record(2)),
            "2.1 A.2",
            "",
        ),
    }
    bare = large_record(2, BODY).without_table()
    return [
        *(
            Vector(name, title, with_file_table(*items), writes="large", sections=sections, breaks=breaks)
            for name, (title, items, sections, breaks) in made.items()
        ),
        Vector(
            "none-first-lead",
            'In mode "none" F0 holds the record header and no more, in the first record too.',
            (large_record(1, BODY, first=True).without_table(), bare),
            writes="none",
            sections="2.1 A.2 A.3",
            breaks="W1",
        ),
    ]


def judged_vectors() -> list[Vector]:
    """Return files that meet no mode, or more than they need to."""
    first, second, third = small_info(), large_record(2, BODY), large_record(3, BODY)
    alone = large_record(1, BODY, first=True)
    table = table_of("file table", alone.frames)
    return [
        Vector(
            "large-two-record-tables-missing",
            'Two places break W21 of mode "large", and only one breaks W26 of mode "none".',
            with_file_table(first, second.without_table(), third.without_table()),
            writes="large",
            sections="4.1 A.1 D",
            breaks="W21",
        ),
        Vector(
            "large-one-table-only",
            'One requirement of mode "large" is broken, and one of mode "none": it is judged by the first.',
            (first, second),
            writes="large",
            sections="4.1 A.1 D",
            breaks="W22",
        ),
        Vector(
            "large-alone-two-tables",
            (
                "The record table of the only record would do as file table; one that lists it too follows. "
                "Nothing that a file MUST do is broken."
            ),
            (replace(alone, frames=(*alone.frames, table)),),
            writes="large",
            sections="A.1 B.1",
        ),
    ]


def dictionary_vectors() -> list[Vector]:
    """Return files whose dictionary frame does not hold one dictionary: a reader refuses them (R28)."""
    whole = b"".join(part.data for part in dictionary_parts())
    inner = zstandard_frame(whole, "the dictionary", "as User_Data")
    second = zstandard_frame(b"WARC-Target-URI:", "more", "16 bytes more")
    not_named = Making(dictionary=True, named=0)
    made: dict[str, tuple[str, tuple[Part, ...], Making]] = {
        "dictionary-two-frames": (
            (
                "User_Data are two Zstandard frames. The first holds a dictionary, and both together hold "
                "another, that ends in other bytes. No record shows which of the two is meant."
            ),
            (*inner.parts, *second.parts),
            WITH_DICTIONARY,
        ),
        "dictionary-bytes-after": (
            "Four bytes follow the Zstandard frame with the dictionary.",
            (*inner.parts, Part(bytes(4), "four bytes more")),
            WITH_DICTIONARY,
        ),
        "dictionary-empty": (
            "The dictionary frame has no User_Data. The records need no dictionary.",
            (),
            USUAL,
        ),
        "dictionary-no-magic-number": (
            "User_Data are content without magic number and tables; zstd can use that as a dictionary.",
            (Part(DICTIONARY_CONTENT, f"content {DICTIONARY_CONTENT!r}"),),
            not_named,
        ),
        "dictionary-id-0": (
            "The dictionary has the ID 0, so that no frame can name it.",
            (
                Part(u32(DICTIONARY), "dictionary magic number"),
                Part(u32(0), "Dictionary_ID 0"),
                *dictionary_parts()[2:],
            ),
            not_named,
        ),
    }
    return [
        Vector(
            name,
            title,
            with_file_table(
                skippable_frame(DICTIONARY_FRAME, "D", *user_data),
                small_info(making),
                small_record(2, FIELDS, making=making),
            ),
            writes="large",
            sections="7",
            breaks="W30",
            readable="none",
        )
        for name, (title, user_data, making) in made.items()
    ]


def before_damage_vectors() -> list[Vector]:
    """Return files whose second record cannot be read: what is the length of the first?"""
    first = followed_by_padding(small_info())
    damaged = small_record(2, FIELDS)
    wrong = zstandard_frame(damaged.content, "B.F0", "the whole record", sum_of=b"something else")
    nothing = Frame("X", (Part(b"neither a Zstandard frame nor a skippable one", "no frame"),), sound=False)
    return [
        Vector(
            "damaged-next-record",
            "The frame of the second record is damaged: the first one's length reaches to it all the same.",
            (first, replace(damaged, frames=(wrong,), seekable=False, intact=0)),
            writes="none",
            sections="6.6 B.1",
            breaks="W8",
            readable="some",
        ),
        Vector(
            "damaged-no-frame",
            "After the padding that belongs to a record come bytes that are no frame: its length ends there.",
            (first, nothing),
            writes="none",
            sections="6.6 B.1",
            breaks="W27",
            readable="some",
        ),
    ]


def any_case_vectors() -> list[Vector]:
    """Return a file whose records do not begin with WARC/ in capitals."""
    first, second = small_record(1, FIELDS), large_record(2, BODY)
    headers = [
        record.header.replace(b"WARC", spelling, 1)
        for record, spelling in ((first, b"warc"), (second, b"Warc"))
    ]
    whole = USUAL.frames("A", [(headers[0] + first.block + RECORD_END, "the whole record")])
    rest = [(frame.content, "body") for frame in second.data_frames[1:]]
    return [
        Vector(
            "large-warc-in-any-case",
            "The records begin with warc/1.1, Warc/1.1 and WARC/1.1: the grammar of WARC allows any case.",
            with_file_table(
                replace(first, header=headers[0], frames=whole),
                recut(2, replace(second, header=headers[1]), (headers[1], "the record header alone"), *rest),
                small_record(3),
            ),
            writes="large",
            sections="6.6",
        )
    ]


def decided_vectors() -> list[Vector]:
    """Return all of them."""
    return [
        *first_frame_vectors(),
        *judged_vectors(),
        *dictionary_vectors(),
        *before_damage_vectors(),
        *any_case_vectors(),
    ]
