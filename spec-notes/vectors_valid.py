"""The test vectors that meet all requirements."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vector_files import (
    HTTP_HEAD,
    USUAL,
    Making,
    Record,
    Vector,
    every_record,
    large_record,
    runs,
    small_record,
    with_file_table,
    with_own_table,
)
from vector_frames import compressed_dictionary, padding, raw_dictionary

BODY: Final = runs(150_000)
FIELDS: Final = b"software: by hand\r\n"
WITH_DICTIONARY: Final = Making(dictionary=True)
NO_CHECKSUMS: Final = Making(checksums=False)
INTERIM: Final = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
SEGMENT: Final = (
    "WARC-Segment-Origin-ID: <urn:example:1>",
    "WARC-Segment-Number: 2",
    "WARC-Segment-Total-Length: 300045",
)


def small_info(making: Making = USUAL) -> Record:
    """Return the usual first record of a file, in one frame."""
    return small_record(1, FIELDS, kind="warcinfo", making=making)


def every_info(making: Making = USUAL) -> Record:
    """Return the usual first record of a file, as mode "every" has it."""
    return every_record(1, FIELDS, kind="warcinfo", making=making)


def every_pair() -> tuple[Record, Record]:
    """Return a warcinfo record and an empty metadata record."""
    return every_info(), every_record(2)


def large_pair() -> tuple[Record, Record]:
    """Return a response and a resource, both large, the first of them the first of its file."""
    return large_record(1, BODY, head=HTTP_HEAD, first=True), large_record(2, BODY)


def followed_by_padding(record: Record) -> Record:
    """Return a record whose length includes eight bytes of padding."""
    return replace(record, frames=(*record.frames, padding()))


def every_vectors() -> list[Vector]:
    """Return files of mode "every"."""
    response = large_record(2, BODY, head=HTTP_HEAD)
    return [
        Vector(
            "every",
            'Mode "every": a warcinfo record and an empty metadata record.',
            every_pair(),
            writes="every",
            sections="3 4.2",
        ),
        Vector(
            "every-large",
            'Mode "every": a large response between two small records.',
            (every_info(), response, every_record(3)),
            writes="every",
            sections="2.1 4.2",
        ),
        Vector(
            "every-dictionary",
            'Mode "every" with a dictionary, which belongs to no record and is in no table.',
            (
                raw_dictionary(),
                every_info(WITH_DICTIONARY),
                large_record(2, BODY, making=WITH_DICTIONARY),
                every_record(3, making=WITH_DICTIONARY),
            ),
            writes="every",
            sections="4.2 7",
        ),
        Vector(
            "every-concatenated",
            'Two files of mode "every" joined by cat: a file of mode "every".',
            (*every_pair(), *every_pair()),
            writes="every",
            sections="4.2 A.4",
        ),
        Vector(
            "every-table-no-checksums",
            "Checksum_Flag is not set: entries of 8 bytes.",
            (every_info(NO_CHECKSUMS), every_record(2, making=NO_CHECKSUMS)),
            writes="every",
            sections="3",
        ),
        Vector(
            "every-padding",
            "Padding after a record belongs to its length; the walk from the end stops there.",
            (followed_by_padding(every_info()), every_record(2)),
            writes="every",
            sections="5 B.1",
        ),
    ]


def large_vectors() -> list[Vector]:
    """Return files of mode "large" without a dictionary."""
    first, second = large_pair()
    appended = with_file_table(first)
    return [
        Vector(
            "large",
            (
                'Mode "large": a large response, whose HTTP head is in F0 since it is the first record, a '
                "large resource, whose F0 holds the record header alone, a small record and the file table."
            ),
            with_file_table(first, second, small_record(3, FIELDS)),
            writes="large",
            sections="2.1 4.1 A.1 A.2",
        ),
        Vector(
            "large-http",
            "A small first record, then a large response with a frame for its HTTP head.",
            with_file_table(small_info(), large_record(2, BODY, head=HTTP_HEAD)),
            writes="large",
            sections="2.1 4.1 A.1",
        ),
        Vector(
            "large-interim-heads",
            "Two interim responses (1xx) come before the final one; all three are the HTTP head.",
            with_file_table(small_info(), large_record(2, BODY, head=INTERIM + HTTP_HEAD)),
            writes="large",
            sections="2.1",
        ),
        Vector(
            "large-first-without-head",
            "The first record is large and has no HTTP head: F0 holds 4,096 bytes of its block too.",
            with_file_table(large_record(1, BODY, first=True), small_record(2)),
            writes="large",
            sections="A.2",
        ),
        Vector(
            "large-alone",
            "One large record at offset 0: its record table is the file table too.",
            (large_record(1, BODY, first=True),),
            writes="large",
            sections="A.1",
        ),
        Vector(
            "large-one-small",
            "A small record and the file table. Its anchor is R, so it is within the length of the record.",
            (with_own_table(small_info()),),
            writes="large",
            sections="4.1 A.1 B.1",
        ),
        Vector(
            "large-segment",
            "The last segment of a record is shorter than frame_size, and stored like the others.",
            with_file_table(
                large_record(
                    1, HTTP_HEAD + BODY, first=True, kind="response", fields=("WARC-Segment-Number: 1",)
                ),
                large_record(2, BODY, kind="continuation", fields=SEGMENT),
            ),
            writes="large",
            sections="2.1",
        ),
        Vector(
            "large-file-table-no-checksums",
            "The file table has no checksums; the record tables have.",
            with_file_table(first, second, checksums=False),
            writes="large",
            sections="3 4.1 A.1",
        ),
        Vector(
            "large-padding",
            "Padding between records is an entry of the file table, without content.",
            with_file_table(followed_by_padding(first), second),
            writes="large",
            sections="4.1 5 A.1",
        ),
        Vector(
            "large-appended",
            (
                "Records were added after a file table. The new one lists the old one as an entry without "
                "content."
            ),
            with_file_table(
                *with_file_table(first, small_record(2), name="old file table"), large_record(3, BODY)
            ),
            writes="large",
            sections="A.4",
        ),
        Vector(
            "large-appended-to-one",
            "A record was added after a single large record, whose own table had been the file table.",
            with_file_table(*appended[:1], small_record(2)),
            writes="large",
            sections="A.1 A.4",
        ),
    ]


def dictionary_vectors() -> list[Vector]:
    """Return files of mode "large" with a dictionary."""
    small = small_info(WITH_DICTIONARY)
    first = large_record(1, BODY, first=True, making=WITH_DICTIONARY)
    second = large_record(2, BODY, head=HTTP_HEAD, making=WITH_DICTIONARY)
    return [
        Vector(
            "dictionary",
            (
                "A dictionary and a small record. The compressed block of its frame takes bytes from the "
                "dictionary."
            ),
            with_file_table(raw_dictionary(), small),
            writes="large",
            sections="7",
        ),
        Vector(
            "dictionary-first-large",
            "The first record after the dictionary is large: A.2 applies to it.",
            with_file_table(raw_dictionary(), first),
            writes="large",
            sections="7 A.2",
        ),
        Vector(
            "dictionary-large",
            "A large record whose frames, that of the header above all, refer to the dictionary.",
            with_file_table(raw_dictionary(), small, second),
            writes="large",
            sections="2.1 7",
        ),
        Vector(
            "dictionary-compressed",
            "The dictionary is in a Zstandard frame of its own.",
            with_file_table(compressed_dictionary(size=True), small, second),
            writes="large",
            sections="7",
        ),
    ]


def none_vectors() -> list[Vector]:
    """Return files of mode "none"."""
    first, second = large_record(1, BODY, head=HTTP_HEAD), large_record(3, BODY)
    first, second = first.without_table(), second.without_table()
    return [
        Vector(
            "none",
            'Mode "none": large records in frames, no tables. A reader that scans can seek.',
            (first, small_record(2), second),
            writes="none",
            sections="A.3",
        ),
        Vector(
            "none-padding-at-end",
            "The file ends with padding of 100 bytes.",
            (small_info(), replace(second, frames=(*second.frames, padding(size=100)))),
            writes="none",
            sections="5 A.3",
        ),
        Vector(
            "none-small",
            (
                "A frame a record, as most writers make it. Any class can be claimed for it but those with "
                "tables."
            ),
            (small_info(), small_record(2, FIELDS)),
            writes="none",
            sections="6.6 A.3",
        ),
    ]


def valid_vectors() -> list[Vector]:
    """Return all of them."""
    return [*every_vectors(), *large_vectors(), *dictionary_vectors(), *none_vectors()]
