"""The test vectors whose frames are not as the specification asks: files of other writers, and damage."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vector_files import (
    FRAME_SIZE,
    HTTP_HEAD,
    OF_FIELDS,
    RECORD_END,
    USUAL,
    Making,
    Record,
    Vector,
    every_record,
    large_record,
    record_header,
    runs,
    small_record,
    with_file_table,
    with_own_table,
)
from vector_frames import (
    DICTIONARY_ID,
    PADDING,
    SEEK_TABLE,
    Frame,
    Part,
    compressed_dictionary,
    raw_dictionary,
    skippable_frame,
    zstandard_frame,
)
from vectors_valid import BODY, FIELDS, WITH_DICTIONARY, every_info, small_info

MIB: Final = 1024 * 1024
RUN_OF_MUCH: Final = 100_003
"""Length of the runs of blocks that take megabytes."""


def with_frame(record: Record, number: int, frame: Frame) -> Record:
    """Return a large record with one more frame before the given one, listed by its table."""
    data = record.data_frames
    return with_own_table(replace(record, frames=(*data[:number], frame, *data[number:]), table=None))


def layout_vectors() -> list[Vector]:
    """Return files whose records are cut in other ways."""
    second = large_record(2, BODY)
    extension = skippable_frame(0x184D_2A57, "X", Part(b"made by hand", "User_Data"))
    empty = zstandard_frame(b"", "E", "without content")
    halves = [(second.header[:50], "half of the header"), (second.header[50:], "the other half")]
    rest = [(frame.content, "body") for frame in second.data_frames[1:]]
    pieces = [
        (second.content[start : start + FRAME_SIZE], "a piece of the record")
        for start in range(0, len(second.content), FRAME_SIZE)
    ]
    response = large_record(2, BODY, head=HTTP_HEAD)
    frames = [(frame.content, "body") for frame in response.data_frames]
    head_and_more = [
        frames[0],
        (frames[1][0] + BODY[:100], "the HTTP head and more"),
        (BODY[100:FRAME_SIZE], "body"),
        *frames[3:],
    ]
    long = large_record(2, runs(8_600_000, RUN_OF_MUCH), frame_size=8 * MIB)
    once = [
        (long.header, "the record header"),
        (long.block[:4_000_000], "body"),
        (long.block[4_000_000:] + RECORD_END, "body"),
    ]
    other_use = skippable_frame(SEEK_TABLE, "X", Part(b"no seek table", "User_Data"))
    made = {
        "foreign-extension-inside": (
            "An extension frame lies between two frames of a record. Its table lists it, without content.",
            with_frame(second, 2, extension),
            "W5",
        ),
        "foreign-empty-frame-inside": (
            "A Zstandard frame without content lies between two frames of a record, and is listed.",
            with_frame(second, 2, empty),
            "W5 W14",
        ),
        "foreign-header-in-two-frames": (
            "The record header is spread over two frames.",
            with_own_table(replace(second, frames=USUAL.frames("B", halves + rest), table=None)),
            "W1",
        ),
        "foreign-cut-by-size": (
            (
                "The record is cut every 64 KiB, its header included, as the first record of a file that was "
                "joined to another may be."
            ),
            with_own_table(replace(second, frames=USUAL.frames("B", pieces), table=None)),
            "",
        ),
        "foreign-head-not-alone": (
            "The frame of the HTTP head holds the beginning of the body too.",
            with_own_table(replace(response, frames=USUAL.frames("B", head_and_more), table=None)),
            "W2",
        ),
        "foreign-cuts-in-no-order": (
            "A body of some 8.6 MB is cut once, at byte 4,000,000: no frame_size has that cut alone.",
            with_own_table(replace(long, frames=USUAL.frames("B", once), table=None)),
            "W3",
        ),
        "foreign-frame-of-more-than-8-mib": (
            "The content of a frame, and its Window_Size, are 8 MiB and four bytes.",
            large_record(2, runs(8 * MIB, RUN_OF_MUCH), frame_size=8 * MIB),
            "W10",
        ),
        "foreign-other-use-of-magic-number": (
            (
                "A skippable frame with the magic number of seek tables holds something else, after the "
                "record's table."
            ),
            replace(second, frames=(*second.frames, other_use)),
            "",
        ),
        "foreign-no-content-checksum": (
            "No frame has Content_Checksum; the table has checksums.",
            large_record(2, BODY, making=Making(checked=False)),
            "W8",
        ),
    }
    return [
        Vector(
            name,
            title,
            with_file_table(small_info(), record, small_record(3)),
            writes="large",
            sections="2.1 6.6",
            breaks=breaks,
        )
        for name, (title, record, breaks) in made.items()
    ]


def without_table_vectors() -> list[Vector]:
    """Return files without tables."""
    streamed = replace(large_record(2, BODY, making=Making(size=False)).without_table(), seekable=False)
    first, second = small_info(), small_record(2, FIELDS)
    marks = [
        skippable_frame(
            PADDING, "P", Part(len(record.frames[0].data).to_bytes(4, "little"), "size of the next frame")
        )
        for record in (first, second)
    ]
    return [
        Vector(
            "foreign-no-content-size",
            (
                "No frame has Frame_Content_Size, as most streaming writers make it: the record is read in "
                "order."
            ),
            (small_info(Making(size=False)), streamed, small_record(3, making=Making(size=False))),
            writes="none",
            sections="6.6",
            breaks="W7",
        ),
        Vector(
            "foreign-pzstd",
            (
                "Before each frame a skippable frame gives its size, as pzstd makes it. The file begins with "
                "one."
            ),
            (marks[0], replace(first, frames=(*first.frames, marks[1])), second),
            writes="none",
            sections="5 6.6",
            breaks="W15",
        ),
        Vector(
            "foreign-every-header-not-alone",
            'A file of mode "every" whose second record has its header and its block in one frame.',
            (every_info(), with_own_table(small_record(2, FIELDS)), every_record(3)),
            writes="every",
            sections="4.2",
            breaks="W24",
        ),
        Vector(
            "foreign-every-file-table",
            'A file of mode "every" with a file table at its end.',
            with_file_table(every_info(), every_record(2)),
            writes="every",
            sections="4.2",
            breaks="W25",
        ),
        Vector(
            "foreign-none-with-table",
            "Of two large records one has a table, and no table ends the file.",
            (large_record(1, BODY).without_table(), large_record(2, BODY), small_record(3, FIELDS)),
            writes="none",
            sections="A.3",
            breaks="W26",
        ),
        Vector(
            "foreign-odd-trailer",
            (
                'A file of mode "every" whose second record ends in a single CRLF: it has no table, is read '
                "in order, and the walk from the end stops there."
            ),
            (
                every_info(),
                replace(every_record(2, FIELDS, trailer=b"\r\n").without_table(), seekable=False),
                every_record(3, FIELDS),
            ),
            writes="every",
            sections="2.1 4.2 6.4",
            breaks="W4 W23",
        ),
    ]


def dictionary_vectors() -> list[Vector]:
    """Return files that use dictionaries in other ways."""
    not_named = Making(dictionary=True, named=0)
    other = Making(dictionary=True, named=DICTIONARY_ID + 1)
    second = large_record(2, BODY, making=WITH_DICTIONARY)
    return [
        Vector(
            "foreign-dictionary-no-size",
            "The frame around the dictionary has no Frame_Content_Size.",
            with_file_table(compressed_dictionary(size=False), small_info(WITH_DICTIONARY), second),
            writes="large",
            sections="7",
            breaks="W30",
        ),
        Vector(
            "foreign-dictionary-not-named",
            "The frames need the dictionary, but do not name it.",
            with_file_table(raw_dictionary(), small_info(not_named), large_record(2, BODY, making=not_named)),
            writes="large",
            sections="6.6 7",
            breaks="W9",
        ),
        Vector(
            "foreign-dictionary-late",
            "A second dictionary frame lies between two records: readers do not change dictionaries there.",
            (
                raw_dictionary(),
                replace(
                    small_info(WITH_DICTIONARY),
                    frames=(*small_info(WITH_DICTIONARY).frames, raw_dictionary()),
                ),
                small_record(2, making=WITH_DICTIONARY),
            ),
            writes="none",
            sections="7",
            breaks="W29",
        ),
        Vector(
            "damaged-dictionary-other",
            "The second record's frame names a dictionary that the file does not have.",
            (
                raw_dictionary(),
                small_info(WITH_DICTIONARY),
                replace(small_record(2, FIELDS, making=other), seekable=False, intact=0),
            ),
            writes="none",
            sections="7",
            breaks="W9",
            readable="some",
        ),
    ]


def damage_vectors() -> list[Vector]:
    """Return files that are cut off or damaged."""
    second = large_record(2, BODY).without_table()
    wrong = zstandard_frame(second.frames[2].content, "B.F2", "body bytes", sum_of=b"something else")
    cut = second.frames[3].cut_off(60)
    return [
        Vector(
            "damaged-cut-off",
            (
                "The file ends in the middle of its last frame: what comes before it is delivered, then an "
                "error."
            ),
            (
                small_info(),
                replace(second, frames=(*second.frames[:3], cut), intact=2 * FRAME_SIZE, is_cut=True),
            ),
            writes="none",
            sections="6.6",
            breaks="W27",
            readable="some",
        ),
        Vector(
            "damaged-checksum",
            "The Content_Checksum of the third frame of a record is wrong.",
            (
                small_info(),
                replace(second, frames=(*second.frames[:2], wrong, second.frames[3]), intact=FRAME_SIZE),
            ),
            writes="none",
            sections="2.3 6.3",
            breaks="W8",
            readable="some",
        ),
    ]


def shared_frame_vectors() -> list[Vector]:
    """Return a file with two records in a frame."""
    header = record_header("warcinfo", 1, len(FIELDS), *OF_FIELDS)
    second = record_header("metadata", 2, len(FIELDS), *OF_FIELDS)
    content = header + FIELDS + RECORD_END + second + FIELDS + RECORD_END
    frame = zstandard_frame(content, "A+B", "two records")
    return [
        Vector(
            "foreign-shared-frame",
            "One frame holds two records: they are read in order, and cannot be found by offset.",
            (
                Record("warcinfo", header, FIELDS, (frame,), seekable=False),
                Record("metadata", second, FIELDS, (), seekable=False, shared=frame),
            ),
            writes="none",
            sections="6.6",
            breaks="W11",
        )
    ]


def foreign_vectors() -> list[Vector]:
    """Return all of them."""
    return [
        *layout_vectors(),
        *without_table_vectors(),
        *dictionary_vectors(),
        *shared_frame_vectors(),
        *damage_vectors(),
    ]
