"""Make test-vectors.md, the test vectors of seekable-records.md.

Every vector is assembled by hand, field by field, so that it depends neither on the code that it tests nor on
the version of a compressor: all Zstandard frames hold raw blocks. libzstd only reads them
back, as a check of this script.

    python make_vectors.py > test-vectors.md    make the file again
    python make_vectors.py --check              exit with 1 unless test-vectors.md is up to date
"""

from __future__ import annotations

import argparse
import hashlib
import struct
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import xxhash
import zstandard

FRAME: Final = 0xFD2FB528
DICTIONARY: Final = 0xEC30A437
DICTIONARY_FRAME: Final = 0x184D2A5D
SEEK_TABLE: Final = 0x184D2A5E
PADDING: Final = 0x184D2A50
FOOTER: Final = 0x8F92EAB1

SINGLE_SEGMENT: Final = 0x20
CONTENT_CHECKSUM: Final = 0x04
TWO_BYTE_CONTENT_SIZE: Final = 0x40
FOUR_BYTE_DICTIONARY_ID: Final = 0x03
CHECKSUM_FLAG: Final = 0x80

DICTIONARY_ID: Final = 305_419_896
RECORD_END: Final = b"\r\n\r\n"
MAX_HEX: Final = 9
"""Bytes of a field that its table shows; of longer fields it gives the size only."""
HEX_BYTES_A_LINE: Final = 40
TEXT_WIDTH: Final = 108

INTRODUCTION: Final = """\
# Test vectors

Vectors for [seekable-records.md](seekable-records.md), version 1.2. This file is made by
[make_vectors.py](make_vectors.py); `python make_vectors.py --check` checks that it is up to date.

Each vector is one fenced block of hexadecimal digits whose first line reads

    hex name=NAME sha256=DIGEST valid=yes|no

White space between the digits has no meaning. `DIGEST` is the SHA-256 of the decoded bytes. The beginning of
the name says what the bytes are:

- `table-`: one skippable frame that is, or claims to be, a seek table.
- `frame-`: one skippable frame of another kind.
- `file-`: a whole `.warc.zst` file. Every such file, even one marked `valid=no`, decompresses to conforming
  WARC records with any tool that skips skippable frames, such as `zstd -d`. `file-dictionary` needs one that
  also loads the dictionary.

`valid=no` means that a reader must not use the seek table in the vector, or must refuse a frame that the
table leads to. The text above each block names the section of the specification that says so, and what the
reader does. All numbers are little-endian. Offsets in the field lists are decimal and count from the first
byte of the vector.

All Zstandard frames here are assembled by hand from raw blocks (RFC 8878, section 3.1.1.2.2), without a
compressor. They use a frame size of a few bytes, which is below the limit of section 2; readers do not
check that limit.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a vector and what they mean."""

    data: bytes
    meaning: str


@dataclass(frozen=True, slots=True)
class Block:
    """A Zstandard or skippable frame, with the values of its entry in a seek table."""

    parts: tuple[Part, ...]
    content: bytes = b""

    @property
    def data(self) -> bytes:
        """All bytes of the frame."""
        return b"".join(part.data for part in self.parts)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Compressed_Size, Decompressed_Size and Checksum."""
        return len(self.data), len(self.content), checksum(self.content)


@dataclass(frozen=True, slots=True)
class Vector:
    """One vector with its description."""

    name: str
    valid: bool
    text: str
    blocks: tuple[Block, ...]

    @property
    def data(self) -> bytes:
        """All bytes of the vector."""
        return b"".join(block.data for block in self.blocks)

    def markdown(self) -> str:
        """Return the vector as a section of the file."""
        lines = []
        offset = 0
        for block in self.blocks:
            for part in block.parts:
                size = len(part.data)
                shown = part.data.hex(" ") if size <= MAX_HEX else f"({size} bytes)"
                lines.append(f"{offset:5}  {shown:26}  {part.meaning}".rstrip())
                offset += size
        digest = hashlib.sha256(self.data).hexdigest()
        state = "yes" if self.valid else "no"
        hexadecimal = "\n".join(
            self.data[start : start + HEX_BYTES_A_LINE].hex()
            for start in range(0, len(self.data), HEX_BYTES_A_LINE)
        )
        return (
            f"## {self.name}\n\n{fill(self.text)}\n\n```text\n"
            + "\n".join(lines)
            + f"\n```\n\n```hex name={self.name} sha256={digest} valid={state}\n{hexadecimal}\n```\n"
        )


def fill(text: str) -> str:
    """Wrap a paragraph."""
    return textwrap.fill(text, TEXT_WIDTH, break_long_words=False, break_on_hyphens=False)


def checksum(content: bytes) -> int:
    """Return the low 32 bits of XXH64, seed 0."""
    return xxhash.xxh64_intdigest(content) & 0xFFFF_FFFF


def u32(value: int) -> bytes:
    """Write four bytes, little-endian."""
    return struct.pack("<I", value)


def zstandard_frame(content: bytes, name: str, what: str, *, dictionary_id: int = 0) -> Block:
    """Build a Zstandard frame of one raw block (RFC 8878, section 3.1.1)."""
    descriptor = SINGLE_SEGMENT | CONTENT_CHECKSUM
    size = struct.pack("<B", len(content)) if len(content) < 256 else struct.pack("<H", len(content) - 256)
    flags = ["Single_Segment", "Content_Checksum"]
    if len(size) > 1:
        descriptor |= TWO_BYTE_CONTENT_SIZE
        flags.append("2-byte size")
    parts = [Part(u32(FRAME), f"{name}: Zstandard frame, {what}")]
    if dictionary_id:
        descriptor |= FOUR_BYTE_DICTIONARY_ID
        flags.append("4-byte Dictionary_ID")
    parts.append(Part(bytes([descriptor]), "Frame_Header_Descriptor: " + ", ".join(flags)))
    if dictionary_id:
        parts.append(Part(u32(dictionary_id), f"Dictionary_ID {dictionary_id}"))
    bias = " (256 is added)" if len(size) > 1 else ""
    parts += [
        Part(size, f"Frame_Content_Size {len(content)}{bias}"),
        Part((len(content) << 3 | 1).to_bytes(3, "little"), f"block header: last, raw, {len(content)} bytes"),
        Part(content, f"content {content!r}" if len(content) <= 40 else f"content {content[:34]!r}..."),
        Part(u32(checksum(content)), f"Content_Checksum {checksum(content):08x}"),
    ]
    return Block(tuple(parts), content)


def skippable_frame(magic: int, name: str, user_data: tuple[Part, ...]) -> Block:
    """Build a skippable frame (RFC 8878, section 3.1.2)."""
    size = sum(len(part.data) for part in user_data)
    head = (Part(u32(magic), f"{name}: Skippable_Magic_Number"), Part(u32(size), f"Frame_Size {size}"))
    return Block(head + user_data)


def seek_table(
    name: str,
    entries: list[tuple[int, int, int]],
    *,
    of: list[str],
    count: int | None = None,
    descriptor: int = CHECKSUM_FLAG,
) -> Block:
    """Build a seek table frame; `count` and `descriptor` may be wrong on purpose."""
    parts: list[Part] = []
    for (stored, content, check), frame in zip(entries, of, strict=True):
        parts += [
            Part(u32(stored), f"{frame}: Compressed_Size {stored}"),
            Part(u32(content), f"{frame}: Decompressed_Size {content}"),
        ]
        if descriptor & CHECKSUM_FLAG:
            parts.append(Part(u32(check), f"{frame}: Checksum {check:08x}"))
    number = len(entries) if count is None else count
    parts += [
        Part(u32(number), f"Number_Of_Frames {number}"),
        Part(bytes([descriptor]), f"Seek_Table_Descriptor {descriptor:08b}"),
        Part(u32(FOOTER), "Seekable_Magic_Number"),
    ]
    return skippable_frame(SEEK_TABLE, name, tuple(parts))


def table_of(name: str, blocks: tuple[Block, ...], of: str) -> Block:
    """Build the correct seek table of some frames."""
    return seek_table(name, [block.sizes for block in blocks], of=of.split())


def record_header(kind: str, number: int, length: int, *more: str) -> bytes:
    """Write a WARC record header."""
    lines = [
        "WARC/1.1",
        f"WARC-Type: {kind}",
        f"WARC-Record-ID: <urn:example:{number}>",
        "WARC-Date: 2026-11-21T00:00:00Z",
        *more,
        f"Content-Length: {length}",
    ]
    return "\r\n".join(lines).encode() + RECORD_END


def raw_dictionary() -> Block:
    """Build a dictionary frame with the smallest dictionary that libzstd loads (RFC 8878, section 5)."""
    content = b"Content-Length: "
    only_symbol = b"\xf0\x03"
    return skippable_frame(
        DICTIONARY_FRAME,
        "D",
        (
            Part(u32(DICTIONARY), "dictionary magic number: the dictionary is not compressed"),
            Part(u32(DICTIONARY_ID), f"Dictionary_ID {DICTIONARY_ID}"),
            Part(b"\x80\x10", "Huffman table: one weight is given, one follows from it"),
            Part(only_symbol, "FSE table of offsets: symbol 0 only"),
            Part(only_symbol, "FSE table of match lengths: symbol 0 only"),
            Part(only_symbol, "FSE table of literal lengths: symbol 0 only"),
            Part(u32(1) + u32(4) + u32(8), "repeat offsets 1, 4, 8"),
            Part(content, f"content {content!r}"),
        ),
    )


def every_file() -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Return the frames of the two records of a file in mode "every"."""
    block = b"software: by hand\r\n"
    header = record_header("warcinfo", 1, len(block), "Content-Type: application/warc-fields")
    data = (
        zstandard_frame(header, "A.F0", "the record header"),
        zstandard_frame(block + RECORD_END, "A.F1", "block and CRLF CRLF"),
    )
    first = (*data, table_of("A.T", data, "A.F0 A.F1"))
    whole = zstandard_frame(
        record_header("metadata", 2, 0) + RECORD_END, "B.F0", "the record header and CRLF CRLF"
    )
    return first, (whole, table_of("B.T", (whole,), "B.F0"))


def large_file() -> tuple[Block, ...]:
    """Return the frames of a file in mode "large" of two records that count as large."""
    uri = "WARC-Target-URI: http://a.example/"
    head, body = b"HTTP/1.1 200 OK\r\n\r\n", b"0123456789abcdefghij"
    header = record_header("response", 1, len(head + body), uri, "Content-Type: application/http")
    first = (
        zstandard_frame(header + head, "A.F0", "the record header and the HTTP head"),
        zstandard_frame(body[:16], "A.F1", "payload bytes 0 to 16"),
        zstandard_frame(body[16:] + RECORD_END, "A.F2", "payload bytes 16 to 20 and CRLF CRLF"),
    )
    header = record_header("resource", 2, len(body), uri, "Content-Type: text/plain")
    second = (
        zstandard_frame(header, "B.F0", "the record header alone"),
        zstandard_frame(body[:16], "B.F1", "block bytes 0 to 16"),
        zstandard_frame(body[16:] + RECORD_END, "B.F2", "block bytes 16 to 20 and CRLF CRLF"),
    )
    data = (
        *first,
        table_of("A.T", first, "A.F0 A.F1 A.F2"),
        *second,
        table_of("B.T", second, "B.F0 B.F1 B.F2"),
    )
    return (*data, table_of("file table", data, "A.F0 A.F1 A.F2 A.T B.F0 B.F1 B.F2 B.T"))


def dictionary_file() -> tuple[Block, ...]:
    """Return the frames of a file with a dictionary and one small record."""
    record = record_header("metadata", 1, 0) + RECORD_END
    data = (
        raw_dictionary(),
        zstandard_frame(record, "A.F0", "the whole record", dictionary_id=DICTIONARY_ID),
    )
    return (*data, table_of("file table", data, "D A.F0"))


def valid_vectors() -> list[Vector]:
    """Return the vectors that a reader must accept."""
    first, second = every_file()
    sizes = [block.sizes for block in first[:2]]
    names = ["A.F0", "A.F1"]
    return [
        Vector(
            "table-checksums",
            True,
            "The table of record A of `file-every`: two entries of 12 bytes, with checksums. Each Checksum "
            "is also the last four bytes of the frame it stands for. Its size is 2 * 12 + 17 = 41 bytes "
            "(section 3).",
            (first[2],),
        ),
        Vector(
            "table-no-checksums",
            True,
            "The same two frames, Checksum_Flag not set: entries of 8 bytes, 2 * 8 + 17 = 33 bytes in all.",
            (seek_table("T", sizes, of=names, descriptor=0),),
        ),
        Vector(
            "table-unused-bits",
            True,
            "`table-checksums` with both Unused_Bits set. A reader ignores them and gets the same table; a "
            "writer leaves them 0 (section 3).",
            (seek_table("T", sizes, of=names, descriptor=CHECKSUM_FLAG | 0x03),),
        ),
        Vector(
            "table-one-entry",
            True,
            'The table of record B of `file-every`: a record with Content-Length 0 in mode "every" '
            "(section 4.2). Decompressed_Size is the record header and four bytes.",
            (second[1],),
        ),
        Vector(
            "frame-padding",
            True,
            "The shortest padding: a skippable frame without User_Data (section 2.6). No Zstandard frame "
            "without content is ever used for this.",
            (skippable_frame(PADDING, "P", ()),),
        ),
        Vector(
            "frame-dictionary",
            True,
            "A dictionary frame, its dictionary not compressed (section 7). It must be at offset 0 "
            "of a file. The dictionary is about as small as one can be: each of its tables has a single use, "
            "and its content is long enough for the largest repeat offset.",
            (raw_dictionary(),),
        ),
        Vector(
            "file-every",
            True,
            f'A whole file in mode "every" (section 4.2): a warcinfo record and an empty metadata record. '
            f"Record A has offset 0 and length {sum(len(b.data) for b in first)}, record B the offset "
            f"{sum(len(b.data) for b in first)} and length {sum(len(b.data) for b in second)}. Walking "
            "backward from the end finds B.T, then A.T, then the start of the file.",
            (*first, *second),
        ),
        large_vector(),
        Vector(
            "file-dictionary",
            True,
            "A file with a dictionary and one small record, and a file table that lists both frames. The "
            "record's offset is not 0, so no shorter table could serve as file table.",
            dictionary_file(),
        ),
    ]


def large_vector() -> Vector:
    """Return the vector of a file in mode "large"."""
    blocks = large_file()
    offset = sum(len(block.data) for block in blocks[:4])
    length = sum(len(block.data) for block in blocks[4:8])
    return Vector(
        "file-large",
        True,
        f'A whole file in mode "large" (section 4.1), built by hand with a frame size of 16 '
        f"bytes, which makes both records large. Record A has offset 0 and length {offset}; since it is "
        f"the file's first, its F0 holds the HTTP head too (section 2.5). Record B has offset {offset} and "
        f"length {length}; its F0 holds the record header alone. Bytes {offset} to {offset + length} "
        "are a seekable file of their own. The file table lists A.T and B.T with Decompressed_Size 0 and "
        "Checksum 51d8e999, and does not list itself.",
        blocks,
    )


def invalid_vectors() -> list[Vector]:
    """Return the vectors that a reader must refuse."""
    first, second = every_file()
    sizes = [block.sizes for block in first[:2]]
    names = ["A.F0", "A.F1"]
    (stored, content, check), rest = sizes[0], sizes[1:]

    def with_table(entries: list[tuple[int, int, int]]) -> tuple[Block, ...]:
        return (*first[:2], seek_table("A.T", entries, of=names), *second)

    return [
        Vector(
            "table-reserved-bit",
            False,
            "`table-checksums` with the lowest of the Reserved_Bits set (bit 2). Fails 6.1, step 2: it is an "
            "unknown extension frame.",
            (seek_table("T", sizes, of=names, descriptor=CHECKSUM_FLAG | 0x04),),
        ),
        Vector(
            "table-wrong-count",
            False,
            "`table-checksums` with Number_Of_Frames 3, room for two. Fails 6.1, step 5: "
            "3 * 12 + 9 is not Frame_Size.",
            (seek_table("T", sizes, of=names, count=3),),
        ),
        Vector(
            "table-count-wraps",
            False,
            "Two entries of 8 bytes, but Number_Of_Frames 0x20000002. Times 8 in 32 bits that is 16, "
            "exactly the bytes that are there. In wide enough arithmetic it fails 6.1, step 3 or 5.",
            (seek_table("T", sizes, of=names, count=0x2000_0002, descriptor=0),),
        ),
        Vector(
            "table-count-maximum",
            False,
            "Number_Of_Frames 4294967295. Fails 6.1, step 3 or 5; a reader that trusts it asks for 51.5 GB "
            "of memory.",
            (seek_table("T", sizes, of=names, count=0xFFFF_FFFF),),
        ),
        Vector(
            "table-content-from-nothing",
            False,
            "The first entry has Compressed_Size 0, but content. Fails 6.1, step 6.",
            (seek_table("T", [(0, content, check), *rest], of=names),),
        ),
        Vector(
            "file-anchor-elsewhere",
            False,
            "`file-every`, but the first entry of A.T is one byte short, so that the anchor of the table "
            "is offset 1, while record A begins at 0. Fails 6.2: A.T is an unknown extension frame, and "
            "record A is read by scanning. Offsets and lengths are as in `file-every` (6.5). B is not "
            "affected.",
            with_table([(stored - 1, content, check), *rest]),
        ),
        Vector(
            "file-sum-elsewhere",
            False,
            "`file-every`, but the first entry of A.T claims one more byte of content. The anchor is right, "
            "but the content is not the size of header, block and four bytes. Fails 6.2, as above.",
            with_table([(stored, content + 1, check), *rest]),
        ),
        Vector(
            "file-sizes-swapped",
            False,
            "`file-every`, but A.T moves one byte of content from the first entry to the second. Both sums "
            "are right, so the table passes 6.1 and 6.2. Using A.F1 through the table fails 6.3: "
            "Frame_Content_Size is not Decompressed_Size. A reader that has scanned the frames before it "
            "looks at the table may instead find that the table lists other frames (6.4) and continue "
            "without it.",
            with_table([(stored, content - 1, check), (rest[0][0], rest[0][1] + 1, rest[0][2])]),
        ),
        Vector(
            "file-checksum-wrong",
            False,
            "`file-every`, but A.T has one bit of the Checksum of A.F1 wrong. Passes 6.1 and 6.2. Using A.F1 "
            "through the table fails 6.3: Checksum is not the frame's Content_Checksum.",
            with_table([(stored, content, check), (*rest[0][:2], rest[0][2] ^ 1)]),
        ),
        *untrue_vectors(),
    ]


def untrue_vectors() -> list[Vector]:
    """Return files whose tables pass 6.1 and 6.2, and would lead to other bytes."""
    large = large_file()
    (f0, c0, _), (f1, c1, _), (f2, c2, check) = (block.sizes for block in large[4:7])

    def with_second_table(entries: list[tuple[int, int, int]], of: str) -> tuple[Block, ...]:
        data = (*large[:7], seek_table("B.T", entries, of=of.split()))
        return (*data, table_of("file table", data, "A.F0 A.F1 A.F2 A.T B.F0 B.F1 B.F2 B.T"))

    first, second = every_file()
    sizes = [block.sizes for block in first[:2]]
    nothing = (8, 0, checksum(b""))
    lure = seek_table("user data", [*sizes, nothing], of=["A.F0", "A.F1", "P"])
    padding = skippable_frame(PADDING, "P", (Part(lure.data, "what looks like a seek table"),))
    return [
        Vector(
            "file-entry-swallows-frame",
            False,
            "`file-large`, but the second entry of B.T extends to the end of B.F2: Compressed_Size of both "
            "frames, Decompressed_Size of B.F1, and the Checksum of B.F2, which is the last four bytes of "
            "the listed range. The content of B.F2 is added to that of B.F0, so that the sums are right. "
            "Fails 6.2, since B.F0 does not hold what is listed; and using the second entry fails 6.3, step "
            "1: B.F1 ends before the entry does.",
            with_second_table([(f0, c0 + c2, 0), (f1 + f2, c1, check)], "B.F0 B.F1+B.F2"),
        ),
        Vector(
            "file-first-frame-untrue",
            False,
            "`file-large`, but B.T moves two bytes of content from B.F0 to B.F2. The sums are right, and "
            "B.F1 is listed correctly: its content would be taken for the bytes of the record that begin "
            "two bytes earlier. The frame that shows the error is B.F0, which is decoded for the record "
            "header. "
            "Fails 6.2.",
            with_second_table(
                [(f0, c0 - 2, large[4].sizes[2]), large[5].sizes, (f2, c2 + 2, check)],
                "B.F0 B.F1 B.F2",
            ),
        ),
        Vector(
            "file-table-in-padding",
            False,
            "`file-every` without A.T. In its place is padding, whose User_Data look like a table of "
            "A.F0, A.F1 and eight bytes of the padding itself. A reader that comes from the end of the "
            "padding, which is where record A ends, finds a table that passes 6.1 and adds up. Fails 6.2: "
            "the entry without content is not a frame of eight bytes. A verifying tool reports it (6.4), "
            "although a reader that goes forward sees only padding.",
            (*first[:2], padding, *second),
        ),
    ]


def verify(vectors: list[Vector]) -> None:
    """Check that libzstd decodes the frames and that no two vectors have one name."""
    for vector in vectors:
        dictionary = None
        if vector.name == "file-dictionary":
            dictionary = zstandard.ZstdCompressionDict(vector.blocks[0].data[8:])
            if dictionary.dict_id() != DICTIONARY_ID:
                raise SystemExit(f"{vector.name}: the dictionary does not load")
        decompressor = zstandard.ZstdDecompressor(dict_data=dictionary)
        for block in vector.blocks:
            if block.content and decompressor.decompress(block.data) != block.content:
                raise SystemExit(f"{vector.name}: a frame does not decompress to its content")
    if len({vector.name for vector in vectors}) != len(vectors):
        raise SystemExit("two vectors have one name")


def document() -> str:
    """Return the text of test-vectors.md."""
    valid, invalid = valid_vectors(), invalid_vectors()
    verify(valid + invalid)
    return "\n".join(
        [
            INTRODUCTION,
            "# Valid",
            "",
            *(vector.markdown() for vector in valid),
            "# Not valid",
            "",
            *(vector.markdown() for vector in invalid),
        ]
    )


def main() -> int:
    """Print the file, or check it."""
    parser = argparse.ArgumentParser(description="Make the test vectors of seekable-records.md.")
    parser.add_argument("--check", action="store_true", help="compare with test-vectors.md, print nothing")
    arguments = parser.parse_args()
    text = document()
    if not arguments.check:
        sys.stdout.write(text)
        return 0
    path = Path(__file__).with_name("test-vectors.md")
    if path.exists() and path.read_bytes() == text.encode():
        return 0
    print(f"{path.name} is not what {Path(__file__).name} makes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
