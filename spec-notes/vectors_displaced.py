"""The test vectors that show a single fault of a reader: each passes all checks of tables but one.

A displaced table lists a frame that is intact and in the file, at the place of another with the same size. If
its checks are left out one at a time, a reader delivers the bytes of one frame for those of the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vector_files import (
    FRAME_SIZE,
    USUAL,
    Asked,
    Making,
    Record,
    Vector,
    large_record,
    runs,
    small_record,
    with_file_table,
)
from vector_frames import (
    CHECKSUM_FLAG,
    FOOTER,
    PADDING,
    SEEK_TABLE,
    Frame,
    Part,
    padding,
    seek_table,
    skippable_frame,
    u32,
)
from vectors_hostile import NOTHING, Entries, entries_of, with_entries
from vectors_valid import FIELDS, small_info

LONG: Final = runs(4 * FRAME_SIZE + 3000)
"""A body in four frames of 64 KiB, and a short one."""
INSIDE: Final = (100_040, 100_080)
"""Where two runs meet in the second of them."""
CUT: Final = (2 * FRAME_SIZE - 5, 2 * FRAME_SIZE + 5)
"""Across the end of the second."""
HALF: Final = 1 << 31
UNCHECKED: Final = Making(checked=False)
UNSIZED: Final = Making(size=False)


def long_record(making: Making = USUAL) -> Record:
    """Return the second record of a file, whose frames F1 to F4 have the same content size."""
    return replace(large_record(2, LONG, making=making), asked=(INSIDE, CUT), asked_at=(Asked(*INSIDE),))


def displaced(record: Record, *, skipped: int = 0) -> Entries:
    """Return entries of which the third leads to F3 instead of F2, with content sizes as they are.

    Args:
        record: The record.
        skipped: Bytes that lie between F2 and F3.
    """
    (s0, c0, x0), (s1, c1, x1), (s2, c2, _), (s3, _, x3), (s4, c4, x4), last = (
        frame.entry for frame in record.frames if frame.content
    )
    return [(s0, c0, x0), (s1 + s2, c1, x1), (skipped + s3, c2, x3), (9, c4, x4), (s4 - 9, c4, x4), last]


def table_with(entries: Entries, *, magic: int = SEEK_TABLE, footer: int = FOOTER) -> Frame:
    """Return a skippable frame in the form of a table, with other magic numbers."""
    user_data = seek_table("", entries, of=[f"entry {number}" for number in range(len(entries))]).parts[2:-1]
    return skippable_frame(magic, "B.T", *user_data, Part(u32(footer), "in place of Seekable_Magic_Number"))


def in_two_frames(record: Record) -> tuple[Frame, Frame]:
    """Return two skippable frames that look like one table if Frame_Size is not compared with the count."""
    entries = displaced(record)
    (stored_4, content_4, _), (stored_5, content_5, check_5) = entries[4:]
    size = 8 + 9  # of what follows the second header: the rest of the last entry, and the footer
    entries[4:] = [(stored_4 + stored_5 - size, content_4, PADDING), (size, content_5, check_5)]
    data = b"".join(part.data for part in seek_table("", entries, of=[""] * 6).parts[2:])
    at = 4 * 12 + 8
    return (
        skippable_frame(SEEK_TABLE, "B.T", Part(data[:at], "five entries, without the last Checksum")),
        skippable_frame(PADDING, "P", Part(data[at + 8 :], "the rest of another entry, and a footer")),
    )


def changed(entries: Entries, number: int, *, stored: int = 0, content: int = 0) -> Entries:
    """Return entries of which one has other sizes by so many bytes."""
    size, content_size, check = entries[number]
    return [
        *entries[:number],
        (size + stored, content_size + content, check),
        *entries[number + 1 :],
    ]


def record_table_vectors() -> list[Vector]:
    """Return files in which the second record's own table is displaced, and fails in one place."""
    record, unchecked, unsized = long_record(), long_record(UNCHECKED), long_record(UNSIZED)
    true, entries = entries_of(record), displaced(record)
    (s0, c0, x0), *others = true
    c1 = true[1][1]
    padded = replace(record, frames=(*record.frames[:3], padding(), *record.frames[3:]))
    nothing = [
        true[0],
        (0, c1, NOTHING),
        true[1],
        true[2],
        (sum(e[0] for e in true[3:5]), *true[4][1:]),
        true[5],
    ]
    first = [
        (s0 + true[1][0], c0, x0),
        *true[2:4],
        (9, *true[3][1:]),
        (true[4][0] - 9, *true[4][1:]),
        true[5],
    ]
    logical = [*entries[:2], (entries[2][0], *true[2][1:]), *entries[3:]]
    stored_5 = true[5][0]
    to_the_next = [
        *entries[:2],
        (true[3][0] + true[4][0], true[2][1], true[4][2]),
        (9, *true[3][1:]),
        (9, *true[4][1:]),
        (stored_5 - 18, *true[5][1:]),
    ]
    of_unchecked = displaced(unchecked)
    of_unchecked[2] = (of_unchecked[2][0], *entries_of(unchecked)[2][1:])
    shifted = changed(changed(true, 1, content=-1000), 2, content=1000)
    of_unsized = changed(changed(entries_of(unsized), 1, content=-1000), 2, content=1000)
    twice = changed(changed(entries, 3, stored=HALF), 4, stored=HALF)
    made = {
        "footer": (
            "The last four bytes of B.T are not the Seekable_Magic_Number: 6.1, step 1, fails.",
            record.with_table(table_with(entries, footer=FOOTER ^ 1), used=False),
            "W17",
        ),
        "reserved-bit": (
            "The highest of the Reserved_Bits of B.T is set: 6.1, step 2, fails.",
            with_entries(record, entries, descriptor=CHECKSUM_FLAG | 0x40),
            "W17",
        ),
        "magic-number": (
            "B.T has the magic number of padding: 6.1, step 4, fails.",
            record.with_table(table_with(entries, magic=PADDING), used=False),
            "W21",
        ),
        "frame-size": (
            (
                "Two skippable frames follow B.F5. The header of the second is part of two entries, if one "
                "reads a table from its end: 6.1, step 5, fails, since the first ends before."
            ),
            replace(record.without_table(), frames=(*record.data_frames, *in_two_frames(record))),
            "W21",
        ),
        "from-nothing": (
            "The second entry of B.T has Compressed_Size 0, but content: 6.1, step 6, fails.",
            with_entries(record, nothing),
            "W17",
        ),
        "anchor-after": (
            "B.T lists B.F1 to B.F5, the last with the content of B.F0 too: the anchor is not R (6.2).",
            with_entries(record, changed(others, 4, content=c0)),
            "W18",
        ),
        "anchor-wraps": (
            "The sizes in B.T add up to 4 GiB more than they should: in 32 bits the anchor is R.",
            with_entries(record, twice),
            "W18",
        ),
        "sum": (
            "The last entry of B.T claims one more byte of content: not the record size (6.2).",
            with_entries(record, changed(entries, 5, content=1)),
            "W18",
        ),
        "sum-wraps": (
            "The content sizes in B.T add up to 4 GiB more than they should: in 32 bits the sum is right.",
            with_entries(record, changed(changed(entries, 3, content=HALF), 4, content=HALF)),
            "W18",
        ),
        "first-frame": (
            "The first entry of B.T is longer than B.F0: the second leads to B.F2 (6.2, R17).",
            with_entries(record, first),
            "W18",
        ),
        "frame-beginning": (
            "Padding lies before B.F3. The third entry of B.T begins with it (6.3, step 1).",
            with_entries(padded, displaced(padded, skipped=8)),
            "W5 W18",
        ),
        "frame-end": (
            "The third entry of B.T leads to B.F3, and ends nine bytes after it (6.3, step 1).",
            with_entries(record, changed(changed(entries, 2, stored=9), 4, stored=-9)),
            "W18",
        ),
        "frame-end-of-another": (
            (
                "The third entry of B.T leads to B.F3, and ends with B.F4, whose Checksum it has: the last "
                "four bytes of the listed range (6.3, step 1)."
            ),
            with_entries(record, to_the_next),
            "W18",
        ),
        "content-size": (
            "B.T moves 1,000 bytes of content from B.F1 to B.F2 (6.3, step 2).",
            with_entries(record, shifted),
            "W18",
        ),
        "content-size-less": (
            "B.T moves 1,000 bytes of content from B.F2 to B.F1 (6.3, step 2).",
            with_entries(record, changed(changed(true, 1, content=1000), 2, content=-1000)),
            "W18",
        ),
        "content-size-not-stated": (
            "As in displaced-content-size, and no frame has Frame_Content_Size (6.3, step 4).",
            with_entries(unsized, of_unsized),
            "W7 W18",
        ),
        "checksum": (
            "The third entry of B.T leads to B.F3, with the Checksum of B.F2 (6.3, step 3).",
            with_entries(record, logical),
            "W18",
        ),
        "checksum-not-stated": (
            "As in displaced-checksum, and no frame has Content_Checksum (6.3, step 5).",
            with_entries(unchecked, of_unchecked),
            "W8 W18",
        ),
    }
    return [
        Vector(
            f"displaced-{name}",
            title,
            with_file_table(small_info(), it),
            writes="large",
            sections="6.1" if "6.1" in title else "6.2 6.3",
            breaks=breaks,
        )
        for name, (title, it, breaks) in made.items()
    ]


def file_table_vectors() -> list[Vector]:
    """Return files in which the file table is displaced, and the second record has no table of its own."""
    first, second = small_info(), long_record().without_table()
    [begin], true, entries = entries_of(first), entries_of(second), displaced(long_record())
    (s0, c0, _), *others = true
    third = small_record(3, FIELDS)
    [end] = entries_of(third)
    hidden = sum(len(frame.data) for item in (long_record(), third) for frame in item.frames)
    made = {
        "anchor-negative": (
            "The first entry reaches back to offset -100 (6.1, step 7).",
            [(begin[0] + 100, *begin[1:]), *entries, end],
        ),
        "file-table-begin": (
            "No entry begins at R of record B; those from B.F1 on add up to its size (6.2, R15).",
            [(begin[0] + s0, *begin[1:]), *changed(others, 4, content=c0), end],
        ),
        "file-table-end": (
            "No entry ends where the content from R of record B adds up to its size (6.2, R15).",
            [begin, *changed(entries, 5, content=1), end],
        ),
    }
    vectors = []
    for name, (title, listed) in made.items():
        table = seek_table("file table", listed, of=[f"entry {number}" for number in range(len(listed))])
        # A table with an anchor before the file ends no length (R5).
        ending = (replace(third, frames=(*third.frames, table)),) if "negative" in name else (third, table)
        vectors.append(
            Vector(
                f"displaced-{name}",
                f"The file table is displaced in record B, which has no table. {title}",
                (first, second, *ending),
                writes="none",
                sections="6.1 6.2 A.5",
                breaks="W26",
            )
        )
    hiding = seek_table("file table", [begin, (hidden, 0, NOTHING)], of=["A.F0", "all else, without content"])
    reaching = with_entries(long_record(), changed(entries, 5, stored=1)).frames[-1]
    return [
        *vectors,
        Vector(
            "displaced-anchor-before",
            (
                "The last entry of the table after B.F5 is one byte too long: its anchor is R - 1 (6.1, step "
                "7, and 6.2), so that the length of record B ends before it (R5)."
            ),
            with_file_table(first, second, reaching),
            writes="large",
            sections="6.1 6.2 B.1",
            breaks="W18",
        ),
        Vector(
            "displaced-file-table-hides",
            "The file table lists the second and third record as one entry without content (6.2, R18).",
            (first, long_record(), third, hiding),
            writes="large",
            sections="6.2 A.5",
            breaks="W18",
        ),
    ]


def displaced_vectors() -> list[Vector]:
    """Return all of them."""
    return [*record_table_vectors(), *file_table_vectors()]
