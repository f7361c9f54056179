"""Frames, tables and dictionaries for the test vectors, put together field by field.

No compressor is used: a frame holds raw blocks, RLE blocks for long runs of a byte and, where a dictionary is
to be used, a compressed block with one sequence. So the bytes are the same with every version of a library.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Final

import xxhash

FRAME: Final = 0xFD2FB528
DICTIONARY: Final = 0xEC30A437
DICTIONARY_FRAME: Final = 0x184D2A5D
SEEK_TABLE: Final = 0x184D2A5E
PADDING: Final = 0x184D2A50
FOOTER: Final = 0x8F92EAB1

SINGLE_SEGMENT: Final = 0x20
CONTENT_CHECKSUM: Final = 0x04
TWO_BYTE_CONTENT_SIZE: Final = 0x40
FOUR_BYTE_CONTENT_SIZE: Final = 0x80
EIGHT_BYTE_CONTENT_SIZE: Final = 0xC0
FOUR_BYTE_DICTIONARY_ID: Final = 0x03
WINDOW_OF_128_KIB: Final = 7 << 3
CHECKSUM_FLAG: Final = 0x80
SEQUENCE_CODES_AS_RLE: Final = 0x54

DICTIONARY_ID: Final = 305_419_896
DICTIONARY_CONTENT: Final = b"Content-Length: "
MIN_RUN: Final = 64
"""A run of at least this many equal bytes becomes an RLE block."""
MAX_BLOCK: Final = 128 * 1024

# RFC 8878, 3.1.1.3.2.1.1: (first value, extra bits) of the codes that are used here, from code 16 on.
_LITERAL_LENGTHS: Final = (
    (16, 1),
    (18, 1),
    (20, 1),
    (22, 1),
    (24, 2),
    (28, 2),
    (32, 3),
    (40, 3),
    (48, 4),
    (64, 6),
)
_LONGER_LITERAL_LENGTHS: Final = ((128, 7), (256, 8), (512, 9), (1024, 10))
SHORTEST_MATCH: Final = 3
REPEAT_OFFSETS: Final = 3


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a frame and what they mean."""

    data: bytes
    meaning: str


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A Zstandard or skippable frame, with the values of its entry in a seek table."""

    name: str
    parts: tuple[Part, ...]
    content: bytes = b""
    sound: bool = True
    """A decoder gets the content from it."""

    @property
    def data(self) -> bytes:
        """All bytes of the frame."""
        return b"".join(part.data for part in self.parts)

    @property
    def entry(self) -> tuple[int, int, int]:
        """Compressed_Size, Decompressed_Size and Checksum."""
        return len(self.data), len(self.content), checksum(self.content)

    @property
    def skippable(self) -> bool:
        """It is not a Zstandard frame."""
        return not self.data.startswith(u32(FRAME))

    def cut_off(self, size: int) -> Frame:
        """Return the first bytes of the frame."""
        return Frame(
            self.name,
            (*self.parts[:1], Part(self.data[4:size], "the rest, cut off")),
            self.content,
            sound=False,
        )


def checksum(content: bytes) -> int:
    """Return the low 32 bits of XXH64, seed 0."""
    return xxhash.xxh64_intdigest(content) & 0xFFFF_FFFF


def u32(value: int) -> bytes:
    """Write four bytes, little-endian."""
    return struct.pack("<I", value)


def zstandard_frame(
    content: bytes,
    name: str,
    what: str,
    *,
    dictionary: bool = False,
    named: int = DICTIONARY_ID,
    copies: bool = True,
    size: bool = True,
    sum_of: bytes | None = b"",
) -> Frame:
    """Build a Zstandard frame (RFC 8878, section 3.1.1).

    Args:
        content: What it decompresses to.
        name: Its name in the listing.
        what: What it holds, for the listing.
        dictionary: It names a dictionary, and takes bytes from it where its content can and `copies` says so.
        named: Which one it names; 0 for none.
        copies: It takes bytes from it.
        size: It has Frame_Content_Size.
        sum_of: None for a frame without Content_Checksum; other bytes than the content's make it wrong.
    """
    named = named if dictionary else 0
    fields = _header_fields(len(content), named=named, size=size, checked=sum_of is not None)
    parts = [
        Part(u32(FRAME), f"{name}: Zstandard frame, {what}"),
        *fields,
        *_blocks(content, dictionary=dictionary and copies),
    ]
    sound = not sum_of and named in (0, DICTIONARY_ID)
    if sum_of is not None:
        check = checksum(sum_of or content)
        parts.append(
            Part(u32(check), f"Content_Checksum {check:08x}" + (", which is wrong" if sum_of else ""))
        )
    return Frame(name, tuple(parts), content, sound)


def _header_fields(length: int, *, named: int, size: bool, checked: bool) -> list[Part]:
    """Return the frame header after the magic number."""
    descriptor = CONTENT_CHECKSUM if checked else 0
    flags = ["Content_Checksum"] if checked else []
    content_size = b""
    if size:
        descriptor |= SINGLE_SEGMENT
        flags.insert(0, "Single_Segment")
        content_size, more, flag = _content_size(length)
        descriptor |= more
        flags += [flag] if flag else []
    if named:
        descriptor |= FOUR_BYTE_DICTIONARY_ID
        flags.append("4-byte Dictionary_ID")
    parts = [Part(bytes([descriptor]), "Frame_Header_Descriptor: " + (", ".join(flags) or "no flags"))]
    if not size:
        parts.append(Part(bytes([WINDOW_OF_128_KIB]), "Window_Descriptor: 128 KiB"))
    if named:
        parts.append(Part(u32(named), f"Dictionary_ID {named}"))
    if size:
        bias = " (256 is added)" if len(content_size) == 2 else ""
        parts.append(Part(content_size, f"Frame_Content_Size {length}{bias}"))
    return parts


def _content_size(length: int) -> tuple[bytes, int, str]:
    """Return Frame_Content_Size, its bits of the descriptor and their name."""
    if length < 256:
        return struct.pack("<B", length), 0, ""
    if length < 65_536 + 256:
        return struct.pack("<H", length - 256), TWO_BYTE_CONTENT_SIZE, "2-byte size"
    return u32(length), FOUR_BYTE_CONTENT_SIZE, "4-byte size"


def _blocks(content: bytes, *, dictionary: bool) -> list[Part]:
    """Return the blocks of a frame: runs of a byte as RLE blocks, all else raw."""
    blocks: list[tuple[int, int, bytes, str]] = []  # type, Block_Size, data, meaning
    start = 0
    found = content.find(DICTIONARY_CONTENT)
    if dictionary and found >= 0:
        start = found + len(DICTIONARY_CONTENT)
        data = _dictionary_block(content[:found])
        blocks.append((2, len(data), data, f"compressed: {found} literals, 16 bytes of the dictionary"))
    for piece in re.finditer(
        rb"(?s)(.)\1{%d,}|(?:(?!(.)\2{%d,}).)+" % (MIN_RUN - 1, MIN_RUN - 1), content[start:]
    ):
        size = len(piece[0])
        if piece[1]:
            blocks.append((1, size, piece[1], f"RLE, {size} times {piece[1]!r}"))
        else:
            shown = f"{piece[0]!r}" if size <= 40 else f"{piece[0][:34]!r}..."
            blocks.append((0, size, piece[0], f"raw, {size} bytes: {shown}"))
    if not blocks:
        blocks.append((0, 0, b"", "raw, no bytes"))
    return _block_parts(blocks)


def _block_parts(blocks: list[tuple[int, int, bytes, str]]) -> list[Part]:
    """Write blocks, many RLE blocks on end as one part."""
    parts: list[Part] = []
    runs: list[bytes] = []
    length = 0
    for number, (kind, size, data, meaning) in enumerate(blocks, 1):
        last = number == len(blocks)
        header = (size << 3 | kind << 1 | last).to_bytes(3, "little")
        if kind == 1:
            runs.append(header + data)
            length += size
        if runs and (kind != 1 or last):
            parts.append(Part(b"".join(runs), f"{len(runs)} RLE blocks, {length} bytes in all"))
            runs, length = [], 0
        if kind != 1:
            parts += [Part(header, f"block header: {'last, ' if last else ''}{meaning}"), Part(data, "")]
    return parts


def _dictionary_block(literals: bytes) -> bytes:
    """Write a compressed block: literals, then the content of the dictionary (RFC 8878, section 3.1.1.3)."""
    count = len(literals)
    head = bytes([count << 3]) if count < 32 else struct.pack("<H", count << 4 | 0x04)
    literal_code, literal_extra, literal_bits = _literal_length(count)
    offset = count + len(DICTIONARY_CONTENT) + REPEAT_OFFSETS
    offset_code = offset.bit_length() - 1
    match_code = len(DICTIONARY_CONTENT) - SHORTEST_MATCH
    # Read from its end: the mark, the offset's bits, none for the match length, the literals' bits.
    stream = literal_extra | (offset - (1 << offset_code)) << literal_bits | 1 << (literal_bits + offset_code)
    sequences = bytes([1, SEQUENCE_CODES_AS_RLE, literal_code, offset_code, match_code])
    return head + literals + sequences + stream.to_bytes((stream.bit_length() + 7) // 8, "little")


def _literal_length(count: int) -> tuple[int, int, int]:
    """Return code, extra value and extra bits of a literals length."""
    if count < 16:
        return count, 0, 0
    table = _LITERAL_LENGTHS + _LONGER_LITERAL_LENGTHS
    code = max(number for number, (first, _) in enumerate(table) if first <= count)
    first, bits = table[code]
    return 16 + code, count - first, bits


def skippable_frame(magic: int, name: str, *user_data: Part) -> Frame:
    """Build a skippable frame (RFC 8878, section 3.1.2)."""
    size = sum(len(part.data) for part in user_data)
    head = (Part(u32(magic), f"{name}: Skippable_Magic_Number"), Part(u32(size), f"Frame_Size {size}"))
    return Frame(name, head + user_data)


def padding(name: str = "P", size: int = 0) -> Frame:
    """Build a padding frame."""
    return skippable_frame(PADDING, name, *([Part(bytes(size), "User_Data, all 0")] if size else []))


def seek_table(
    name: str,
    entries: list[tuple[int, int, int]],
    *,
    of: list[str],
    count: int | None = None,
    descriptor: int = CHECKSUM_FLAG,
) -> Frame:
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
    return skippable_frame(SEEK_TABLE, name, *parts)


def table_of(name: str, frames: tuple[Frame, ...], *, checksums: bool = True) -> Frame:
    """Build the correct seek table of some frames."""
    descriptor = CHECKSUM_FLAG if checksums else 0
    return seek_table(
        name, [frame.entry for frame in frames], of=[frame.name for frame in frames], descriptor=descriptor
    )


def dictionary_parts() -> tuple[Part, ...]:
    """Return the smallest dictionary that libzstd loads (RFC 8878, section 5)."""
    only_symbol = b"\xf0\x03"
    return (
        Part(u32(DICTIONARY), "dictionary magic number"),
        Part(u32(DICTIONARY_ID), f"Dictionary_ID {DICTIONARY_ID}"),
        Part(b"\x80\x10", "Huffman table: one weight is given, one follows from it"),
        Part(only_symbol, "FSE table of offsets: symbol 0 only"),
        Part(only_symbol, "FSE table of match lengths: symbol 0 only"),
        Part(only_symbol, "FSE table of literal lengths: symbol 0 only"),
        Part(u32(1) + u32(4) + u32(8), "repeat offsets 1, 4, 8"),
        Part(DICTIONARY_CONTENT, f"content {DICTIONARY_CONTENT!r}"),
    )


def raw_dictionary() -> Frame:
    """Build a dictionary frame whose dictionary is not compressed."""
    return skippable_frame(DICTIONARY_FRAME, "D", *dictionary_parts())


def compressed_dictionary(*, size: bool) -> Frame:
    """Build a dictionary frame whose dictionary is itself in a Zstandard frame, with or without its size."""
    content = b"".join(part.data for part in dictionary_parts())
    inner = zstandard_frame(content, "the dictionary", "as User_Data", size=size)
    return skippable_frame(DICTIONARY_FRAME, "D", *inner.parts)


def dictionary_content(frame: Frame) -> bytes:
    """Return the dictionary that a frame holds, made here or trained; empty if it is no dictionary frame."""
    if not frame.data.startswith(u32(DICTIONARY_FRAME)):
        return b""
    made = b"".join(part.data for part in dictionary_parts())
    stored = frame.data[8:]
    is_trained = stored.startswith(u32(DICTIONARY)) and stored[4:8] not in (made[4:8], bytes(4))
    return stored if is_trained else made
