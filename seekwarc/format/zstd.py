"""Zstandard and skippable frame headers, and walking a frame without decompressing it.

Source: RFC 8878, section 3.1.1 (Zstandard frames), 3.1.2 (skippable frames) and 5 (dictionaries);
the magic numbers of WARC use are from "Zstandard Compression for WARC Files 1.0".
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from seekwarc.compiling import Buffer
from seekwarc.errors import FormatError, LimitError, TruncatedError

__all__ = [
    "BLOCK_HEADER_SIZE",
    "COMPRESSED_BLOCK",
    "DICTIONARY_FRAME_MAGIC",
    "DICTIONARY_MAGIC",
    "FRAME_MAGIC",
    "FRAME_MAGIC_BYTES",
    "MAX_BLOCK_SIZE",
    "MAX_FRAME_HEADER_SIZE",
    "PADDING_MAGIC",
    "RAW_BLOCK",
    "RLE_BLOCK",
    "SEEK_TABLE_MAGIC",
    "SKIPPABLE_HEADER_SIZE",
    "FrameHeader",
    "frame_facts",
    "has_no_content",
    "is_skippable",
    "measure_frame",
    "parse_frame_header",
    "parse_skippable_header",
    "raw_block_headers",
    "raw_frames",
    "skippable_frame",
    "skippable_header",
    "walk_blocks",
]

FRAME_MAGIC: Final = 0xFD2FB528
FRAME_MAGIC_BYTES: Final = FRAME_MAGIC.to_bytes(4, "little")
DICTIONARY_MAGIC: Final = 0xEC30A437
"""First four bytes of a dictionary (RFC 8878, section 5)."""
DICTIONARY_FRAME_MAGIC: Final = 0x184D2A5D
SEEK_TABLE_MAGIC: Final = 0x184D2A5E
PADDING_MAGIC: Final = 0x184D2A50

SKIPPABLE_HEADER_SIZE: Final = 8
MAX_FRAME_HEADER_SIZE: Final = 18
MAX_BLOCK_SIZE: Final = 128 << 10
"""Largest Block_Maximum_Size (RFC 8878, section 3.1.1.2.4)."""
BLOCK_HEADER_SIZE: Final = 3
MAX_SKIPPABLE_DATA: Final = 0xFFFF_FFFF

_NO_CONTENT: Final = frozenset((b"\x01\0\0", b"\x03\0\0"))
"""The block header of a frame without content: the last block, of no bytes, raw or RLE."""
_U32 = Struct("<I")
_SKIPPABLE = Struct("<II")
RAW_BLOCK: Final = 0
RLE_BLOCK: Final = 1
COMPRESSED_BLOCK: Final = 2
_RESERVED: Final = 3


class FrameHeader(NamedTuple):
    """The fields of a Zstandard frame header (RFC 8878, section 3.1.1.1)."""

    size: int
    """Bytes of the header itself, magic number included."""
    content_size: int | None
    """Frame_Content_Size, or None if the field is absent."""
    window_size: int
    """Window_Size; the content size of a Single_Segment frame."""
    dictionary_id: int
    """Dictionary_ID, 0 where the field is absent."""
    has_checksum: bool
    """Whether four bytes of Content_Checksum end the frame."""

    @property
    def block_size(self) -> int:
        """Block_Maximum_Size (RFC 8878, section 3.1.1.2.4)."""
        return min(self.window_size, MAX_BLOCK_SIZE)


class _Layout(NamedTuple):
    """How the bytes after one value of Frame_Header_Descriptor are laid out."""

    fields: Struct
    has_window: bool
    has_dictionary_id: bool
    has_content_size: bool
    content_size_bias: int
    has_checksum: bool
    valid: bool


class _Layouts(dict[int, _Layout]):
    """The layout of each descriptor, computed when it first occurs: most files use one or two of the 256."""

    def __missing__(self, descriptor: int) -> _Layout:
        layout = self[descriptor] = _layout(descriptor)
        return layout


def _layout(descriptor: int) -> _Layout:
    content_size_flag = descriptor >> 6
    single_segment = bool(descriptor & 0x20)
    window = "" if single_segment else "B"
    dictionary_id = ("", "B", "H", "I")[descriptor & 3]
    content_size = ("B" if single_segment else "", "H", "I", "Q")[content_size_flag]
    return _Layout(
        fields=Struct("<5x" + window + dictionary_id + content_size),
        has_window=not single_segment,
        has_dictionary_id=bool(dictionary_id),
        has_content_size=bool(content_size),
        content_size_bias=256 if content_size_flag == 1 else 0,
        has_checksum=bool(descriptor & 4),
        valid=not descriptor & 8,
    )


_LAYOUTS: Final = _Layouts()


def parse_frame_header(data: Buffer, position: int = 0) -> FrameHeader:
    """Parse the header of the Zstandard frame that starts at `data[position]`."""
    available = len(data) - position
    if available < 5:
        raise TruncatedError("the data ends inside a frame header")
    if _U32.unpack_from(data, position)[0] != FRAME_MAGIC:
        raise FormatError("no Zstandard frame starts here")
    fields, has_window, has_id, has_content_size, bias, has_checksum, valid = _LAYOUTS[data[position + 4]]
    if not valid:
        raise FormatError("reserved bit set in a Zstandard frame header")
    if available < fields.size:
        raise TruncatedError("the data ends inside a frame header")
    values = fields.unpack_from(data, position)
    content_size = values[-1] + bias if has_content_size else None
    if has_window:
        exponent, mantissa = values[0] >> 3, values[0] & 7
        window_base = 1 << (10 + exponent)
        window_size = window_base + (window_base >> 3) * mantissa
    else:
        window_size = content_size
    dictionary_id = values[has_window] if has_id else 0
    return FrameHeader(fields.size, content_size, window_size, dictionary_id, has_checksum)


def frame_facts(data: Buffer, position: int) -> tuple[int, int, bool] | None:
    """Return header size, content size and whether there is a checksum; `parse_frame_header` made fast.

    Returns None for a frame without a stated content size, or with a stated size of 0, for damage, and if
    `data` is too short to hold the longest frame header and a block header.
    """
    if len(data) - position < MAX_FRAME_HEADER_SIZE + 3 or data[position : position + 4] != FRAME_MAGIC_BYTES:
        return None
    fields, _, _, has_content_size, bias, has_checksum, valid = _LAYOUTS[data[position + 4]]
    if not (valid and has_content_size):
        return None
    content_size = fields.unpack_from(data, position)[-1] + bias
    return (fields.size, content_size, has_checksum) if content_size else None


def has_no_content(blocks: Buffer) -> bool:
    """Return whether a frame whose first block begins with these bytes holds nothing.

    A frame that states no content is passed, not decoded: what it states must not hide what it holds.
    """
    return bytes(blocks[:BLOCK_HEADER_SIZE]) in _NO_CONTENT


def measure_frame(data: bytes, position: int) -> tuple[int, int] | None:
    """Return a frame's end in `data` and its content size; None if cut, damaged or without that size."""
    available = len(data) - position
    if available < MAX_FRAME_HEADER_SIZE or data[position : position + 4] != FRAME_MAGIC_BYTES:
        return None
    fields, _, _, has_content_size, bias, has_checksum, valid = _LAYOUTS[data[position + 4]]
    if not (has_content_size and valid):
        return None
    content_size = fields.unpack_from(data, position)[-1] + bias
    blocks = position + fields.size
    if not content_size and not has_no_content(data[blocks : blocks + BLOCK_HEADER_SIZE]):
        return None
    try:
        end, done = walk_blocks(data, blocks)
    except FormatError:
        return None
    if has_checksum:
        end += 4
    return (end, content_size) if done and end <= len(data) else None


def is_skippable(magic: int) -> bool:
    """Return whether a magic number is one of the sixteen of skippable frames."""
    return magic & 0xFFFF_FFF0 == 0x184D2A50


def parse_skippable_header(data: Buffer, position: int = 0) -> tuple[int, int]:
    """Return (magic number, size of User_Data) of the skippable frame at `data[position]`."""
    if len(data) - position < SKIPPABLE_HEADER_SIZE:
        raise TruncatedError("the data ends inside a skippable frame's header")
    magic, size = _SKIPPABLE.unpack_from(data, position)
    if not is_skippable(magic):
        raise FormatError("no skippable frame starts here")
    return magic, size


def skippable_header(magic: int, size: int) -> bytes:
    """Build what comes before the `size` bytes of user data of a skippable frame."""
    if size > MAX_SKIPPABLE_DATA:
        raise LimitError(f"a skippable frame holds at most {MAX_SKIPPABLE_DATA} bytes")
    return _SKIPPABLE.pack(magic, size)


def skippable_frame(magic: int, user_data: Buffer) -> bytes:
    """Build a skippable frame that holds `user_data`."""
    return skippable_header(magic, len(user_data)) + bytes(user_data)


def raw_frames(contents: Sequence[Buffer], checksums: Sequence[int], dictionary_id: int = 0) -> list[bytes]:
    """Build Zstandard frames of raw blocks, whose sizes depend only on the lengths of the contents."""
    frames = []
    for content, checksum in zip(contents, checksums, strict=True):
        view = memoryview(content)
        size = len(view)
        # Frame_Content_Size_flag, and the field.
        if size < 256:
            flag, stated = 0, size.to_bytes(1, "little")
        elif size < 65_792:
            flag, stated = 1, (size - 256).to_bytes(2, "little")
        else:
            flag, stated = 2, _U32.pack(size)
        # Single_Segment_Flag, Content_Checksum_Flag, and four bytes for a Dictionary_ID.
        descriptor = flag << 6 | 0x24 | (3 if dictionary_id else 0)
        identity = _U32.pack(dictionary_id) if dictionary_id else b""
        parts: list[Buffer] = [FRAME_MAGIC_BYTES, bytes([descriptor]), identity, stated]
        for start in range(0, max(size, 1), MAX_BLOCK_SIZE):
            block = view[start : start + MAX_BLOCK_SIZE]
            is_last = start + MAX_BLOCK_SIZE >= size
            parts += [(len(block) << 3 | RAW_BLOCK << 1 | is_last).to_bytes(3, "little"), block]
        parts.append(_U32.pack(checksum))
        frames.append(b"".join(parts))
    return frames


def raw_block_headers(frame: FrameHeader, content_size: int, frame_sizes: range, first: int) -> array[int]:
    """Return the block headers of a frame in which each block is raw, and as large as it may be.

    None of them if a frame of these sizes, or with that first header, has others. If it may have just these,
    that proves nothing: others can add up to the same.
    """
    count = -(-content_size // frame.block_size)
    rest = content_size - (count - 1) * frame.block_size
    is_one = first == (frame.block_size << 3 if count > 1 else rest << 3 | 1)
    if (
        not is_one
        or frame.size + count * BLOCK_HEADER_SIZE + content_size + 4 * frame.has_checksum not in frame_sizes
    ):
        return array("I")
    return array("I", [frame.block_size << 3]) * (count - 1) + array("I", [rest << 3 | 1])


def walk_blocks(data: Buffer, position: int, headers: array[int] | None = None) -> tuple[int, bool]:
    """Skip the blocks of a frame whose headers lie in `data`, and add these to `headers` as numbers.

    A compressed frame does not state its size, so its end is found block by block. Only the three bytes of
    each block header are read (RFC 8878, section 3.1.1.2), never the block itself: a block may end beyond
    `data`. The result is where the last block that was skipped ends, and whether it was the frame's last.
    """
    last_header = len(data) - 3
    while position <= last_header:
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        size = header >> 3
        kind = header >> 1 & 3
        if kind == _RESERVED or size > MAX_BLOCK_SIZE:
            raise FormatError("a block header of this Zstandard frame is damaged")
        if headers is not None:
            headers.append(header)
        position += 4 if kind == RLE_BLOCK else 3 + size
        if header & 1:
            return position, True
    return position, False
