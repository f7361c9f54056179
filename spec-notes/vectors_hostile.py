"""The test vectors whose tables are wrong, missing or not where they belong; their frames are right."""

from __future__ import annotations

from dataclasses import replace

from vector_files import HTTP_HEAD, Record, Vector, every_record, large_record, small_record, with_file_table
from vector_frames import CHECKSUM_FLAG, PADDING, Frame, Part, checksum, padding, seek_table, skippable_frame
from vectors_valid import BODY, FIELDS, every_pair, large_pair, small_info

Entries = list[tuple[int, int, int]]
NOTHING = checksum(b"")


def entries_of(record: Record) -> Entries:
    """Return the true entries of a record's table."""
    return [frame.entry for frame in record.data_frames]


def with_entries(
    record: Record,
    entries: Entries,
    *,
    count: int | None = None,
    descriptor: int = CHECKSUM_FLAG,
    used: bool = False,
) -> Record:
    """Return a record whose table has these entries."""
    letter = record.frames[0].name[0]
    of = [f"entry {number}" for number in range(len(entries))]
    table = seek_table(f"{letter}.T", entries, of=of, count=count, descriptor=descriptor)
    return record.with_table(table, used=used)


def form_vectors() -> list[Vector]:
    """Return files of mode "every" whose last table fails 6.1, or should not be as it is."""
    first, second = every_record(1), every_record(2, FIELDS)
    entries = entries_of(second)
    (stored, content, check), last = entries
    reach = sum(len(frame.data) for frame in (*first.frames, *second.data_frames))
    made = {
        "table-unused-bits": (
            "Both Unused_Bits are set: readers ignore them and use the table.",
            with_entries(second, entries, descriptor=CHECKSUM_FLAG | 0x03, used=True),
        ),
        "table-reserved-bit": (
            "The lowest of the Reserved_Bits is set: 6.1, step 2, fails.",
            with_entries(second, entries, descriptor=CHECKSUM_FLAG | 0x04),
        ),
        "table-wrong-count": (
            "Number_Of_Frames is 3, with room for two: 6.1, step 4 or 5, fails.",
            with_entries(second, entries, count=3),
        ),
        "table-count-wraps": (
            (
                "Two entries of 8 bytes, but Number_Of_Frames 0x20000002. Times 8 in 32 bits that is 16, "
                "exactly the bytes that are there."
            ),
            with_entries(second, entries, count=0x2000_0002, descriptor=0),
        ),
        "table-count-maximum": (
            "Number_Of_Frames is 4294967295: a reader that trusts it asks for 51.5 GB of memory.",
            with_entries(second, entries, count=0xFFFF_FFFF),
        ),
        "table-of-nothing": (
            "A table without entries ends the file: it lists nothing and is skipped.",
            with_entries(second, []),
        ),
        "table-content-from-nothing": (
            "The first entry has Compressed_Size 0, but content: 6.1, step 6, fails.",
            with_entries(second, [(0, content, check), (stored + last[0], *last[1:])]),
        ),
        "table-anchor-negative": (
            "The first entry reaches back beyond the beginning of the file: the anchor is -100.",
            with_entries(second, [(reach + 100 - last[0], content, check), last]),
        ),
    }
    return [
        Vector(
            name,
            title,
            (first, record),
            writes="every",
            sections="3 6.1",
            breaks="W18" if "anchor" in name else "W17",
        )
        for name, (title, record) in made.items()
    ]


def association_vectors() -> list[Vector]:
    """Return files of mode "every" whose first table is not that of its record."""
    first, second = every_pair()
    (stored, content, check), (stored_1, content_1, check_1) = entries_of(first)
    lure = seek_table("user data", [*entries_of(first), (8, 0, NOTHING)], of=["A.F0", "A.F1", "P"])
    padded = skippable_frame(PADDING, "P", Part(lure.data, "what looks like a seek table"))
    both = (*first.data_frames, *second.data_frames)
    made = {
        "table-anchor-elsewhere": (
            "The first entry of A.T is one byte short: the anchor is 1, while the record begins at 0.",
            with_entries(first, [(stored - 1, content, check), (stored_1, content_1, check_1)]),
        ),
        "table-sum-elsewhere": (
            "The first entry of A.T claims one more byte of content: the sum is not that of the record.",
            with_entries(first, [(stored, content + 1, check), (stored_1, content_1, check_1)]),
        ),
        "table-sizes-swapped": (
            (
                "A.T moves one byte of content from the first entry to the second. Both sums are right; 6.3, "
                "step 2, fails."
            ),
            with_entries(first, [(stored, content - 1, check), (stored_1, content_1 + 1, check_1)]),
        ),
        "table-checksum-wrong": (
            "One bit of the Checksum of A.F1 is wrong in A.T: 6.3, step 3, fails.",
            with_entries(first, [(stored, content, check), (stored_1, content_1, check_1 ^ 1)]),
        ),
        "table-in-padding": (
            (
                "In place of A.T is padding whose User_Data look like a table of A.F0, A.F1 and eight bytes "
                "of the padding: a reader that comes from its end finds a table that passes 6.1 and adds up. "
                "6.2 fails, since the entry without content is not a frame."
            ),
            first.with_table(padded, used=False),
        ),
    }
    numbers = {"table-checksum-wrong": "W19", "table-in-padding": "W23"}
    vectors = [
        Vector(
            name,
            title,
            (record, second),
            writes="every",
            sections="6.2 6.3",
            breaks=numbers.get(name, "W18"),
        )
        for name, (title, record) in made.items()
    ]
    common = seek_table("A+B.T", [frame.entry for frame in both], of=[frame.name for frame in both])
    return [
        *vectors,
        Vector(
            "table-of-two-records",
            "One table lists the frames of both records: a file table, and the record table of neither.",
            (first.without_table(), second.without_table(), common),
            writes="large",
            sections="6.2",
            breaks="W6 W13",
        ),
    ]


def untrue_vectors() -> list[Vector]:
    """Return files of mode "large" whose tables pass 6.1 and add up, and would lead to other bytes."""
    first, second = large_pair()
    (f0, c0, s0), (f1, c1, s1), (f2, c2, s2), (f3, c3, s3) = entries_of(second)
    made = {
        "untrue-entry-swallows-frame": (
            (
                "The second entry of B.T extends to the end of B.F2: both frames' bytes, the content of B.F1 "
                "and the Checksum of B.F2, the last four bytes of the listed range. The content of B.F2 "
                "is added to that of B.F0. B.F1 ends before its entry does (6.3, step 1)."
            ),
            with_entries(second, [(f0, c0 + c2, s0), (f1 + f2, c1, s2), (f3, c3, s3)]),
        ),
        "untrue-first-frame": (
            (
                "B.T moves two bytes of content from B.F0 to B.F3. B.F1 and B.F2 are listed correctly, two "
                "bytes too early. B.F0, decoded for the record header, shows it."
            ),
            with_entries(second, [(f0, c0 - 2, s0), (f1, c1, s1), (f2, c2, s2), (f3, c3 + 2, s3)]),
        ),
        "untrue-entry-without-content": (
            (
                "B.T lists B.F1 without content and adds its content to B.F3. No range would touch B.F1, "
                "and B.F2 would be taken for the beginning of the block."
            ),
            with_entries(second, [(f0, c0, s0), (f1, 0, NOTHING), (f2, c2, s2), (f3, c1 + c3, s3)]),
        ),
        "untrue-displacement": (
            (
                "B.T moves 1,000 bytes of content from B.F3 to B.F1: B.F2 is listed correctly, at the wrong "
                "place. A reader that reads all records is not misled; one that goes to a place in B.F2 may "
                "be (section 9), so no ranges of record B are given."
            ),
            replace(
                with_entries(second, [(f0, c0, s0), (f1, c1 + 1000, s1), (f2, c2, s2), (f3, c3 - 1000, s3)]),
                asked=(),
            ),
        ),
    }
    vectors = [
        Vector(
            name,
            title,
            with_file_table(first, record),
            writes="large",
            sections="6.2 6.3 9",
            breaks="W18",
        )
        for name, (title, record) in made.items()
    ]
    whole = (*first.frames, *second.frames)
    wrong = [frame.entry for frame in whole]
    wrong[1] = (wrong[1][0], wrong[1][1] - 2, wrong[1][2])
    wrong[-2] = (wrong[-2][0], wrong[-2][1] + 2, wrong[-2][2])
    table = seek_table("file table", wrong, of=[frame.name for frame in whole])
    return [
        *vectors,
        Vector(
            "untrue-file-table",
            "The file table moves two bytes of content from A.F1 to B.F3; the record tables are right.",
            (first, second, table),
            writes="large",
            sections="6.2 A.5",
            breaks="W18",
        ),
    ]


def ending_vectors() -> list[Vector]:
    """Return files whose end is not what mode "large" asks for, or whose first record is not."""
    first, second = large_pair()
    bare = large_record(1, BODY, head=HTTP_HEAD)
    whole = with_file_table(first, second)
    assert isinstance(whole[-1], Frame)
    cut = whole[-1].cut_off(50)
    made = {
        "large-concatenated": (
            (
                "A file joined to itself by cat. The table at its end has an anchor that is not 0: there "
                "another table ends. Readers of the Seekable Format deliver half of the content, or nothing."
            ),
            (*whole, *whole),
            "A.4",
            "W22",
        ),
        "large-padding-at-end": (
            "Eight bytes of padding after the file table: there is no table at the end of the file.",
            (*whole, padding()),
            "4.1 5 A.1",
            "W22",
        ),
        "large-no-file-table": (
            (
                "The file ends in the last record's own table, which some readers take for that of the whole "
                "file."
            ),
            (first, second),
            "A.6",
            "W22",
        ),
        "large-first-header-bare": (
            (
                "F0 of the first record holds the record header alone, though a file table follows: readers "
                "of the first proposal take the whole file for one record."
            ),
            with_file_table(bare, large_record(2, BODY)),
            "A.2",
            "W13",
        ),
        "large-tiny-frames": (
            "Records of some 50 bytes in frames of 16 bytes of content.",
            with_file_table(
                large_record(1, b"0123456789abcdefghij", head=HTTP_HEAD, first=True, frame_size=16),
                large_record(2, b"0123456789abcdefghij", frame_size=16),
            ),
            "2.2",
            "W6",
        ),
        "large-file-table-cut-off": (
            "The file table is cut off. All records are whole; a reader reports the end of the file.",
            (first, second, cut),
            "6.6",
            "W22 W27",
        ),
        "large-no-record-table": (
            "The second record has no table of its own; the file table lists its frames.",
            with_file_table(small_info(), second.without_table(), small_record(3)),
            "4.1 6.2 A.1 A.5",
            "W21",
        ),
    }
    return [
        Vector(
            name,
            title,
            items,
            writes="large",
            sections=sections,
            breaks=breaks,
            readable="some" if "cut-off" in name else "all",
        )
        for name, (title, items, sections, breaks) in made.items()
    ]


def hostile_vectors() -> list[Vector]:
    """Return all of them."""
    return [*form_vectors(), *association_vectors(), *untrue_vectors(), *ending_vectors()]
