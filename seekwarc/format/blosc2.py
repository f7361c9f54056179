"""Headers of Blosc2 chunks and frames, which are payloads of arrays on the web.

A chunk is a header of 16 or 32 bytes, the offset of each block, and compressed blocks of equal size. A
frame is chunks after a header in msgpack, and an index after them. This module reads what a range of a
chunk needs, and what a person wants to know of either; the package blosc2 reads the frame's index.

Sources: C-Blosc2's README_CHUNK_FORMAT.rst and README_CFRAME_FORMAT.rst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Final

from seekwarc.errors import FormatError, TruncatedError, UnsupportedError

__all__ = [
    "FRAME_HEAD_SIZE",
    "HEADER_SIZE",
    "ChunkHeader",
    "FrameHeader",
    "SpecialValue",
    "describe_blosc2",
]

HEADER_SIZE: Final = 32
"""Bytes of an extended header."""
SHORT_HEADER_SIZE: Final = 16
MAX_BLOCK_SIZE: Final = 536_866_816
FRAME_HEAD_SIZE: Final = 87
"""Bytes of a frame's header before its metalayers."""
FRAME_MAGIC: Final = b"\xa8b2frame\0"

# Of `flags`.
SHUFFLE: Final = 0x01
MEMCPYED: Final = 0x02
BITSHUFFLE: Final = 0x04
DELTA: Final = 0x08
EXTENDED: Final = SHUFFLE | BITSHUFFLE
# Of `blosc2_flags`.
DICTIONARY: Final = 0x01
LAZY: Final = 0x08

CODECS: Final = {0: "blosclz", 1: "lz4", 3: "zlib", 4: "zstd"}
FRAME_CODECS: Final = {0: "blosclz", 1: "lz4", 2: "lz4hc", 4: "zlib", 5: "zstd"}
"""Frames have an enumeration of their own."""
USER_CODEC: Final = 6
FILTERS: Final = {1: "shuffle", 2: "bitshuffle", 3: "delta", 4: "truncate precision"}
DELTA_FILTER: Final = 3

_CHUNK: Final = Struct("<BBBBiii")
_EXTENSION: Final = Struct("<6sBB6sBB")
_FRAME: Final = Struct(">x9sxixQx4sxqxqxixixi")


class SpecialValue(IntEnum):
    """What fills a chunk without blocks."""

    NONE = 0
    ZERO = 1
    NAN = 2
    VALUE = 3
    UNINITIALIZED = 4


@dataclass(frozen=True, slots=True)
class ChunkHeader:
    """The header of a chunk. Sizes are in bytes, and were compared with each other."""

    version: int
    flags: int
    typesize: int
    nbytes: int
    """Decompressed size."""
    blocksize: int
    """Decompressed size of each block but the last, which may be shorter."""
    cbytes: int
    """Compressed size, the header included."""
    size: int
    """Of the header: 16 or 32."""
    filters: tuple[int, ...]
    """IDs, in the order in which they were applied."""
    codec: int
    """The enumeration of `flags`, or the ID of a user-defined codec."""
    blosc2_flags: int

    @classmethod
    def parse(cls, data: bytes, available: int) -> ChunkHeader:
        """Parse the first 32 bytes of a chunk, which can have `available` bytes at most."""
        if len(data) < SHORT_HEADER_SIZE:
            raise TruncatedError(f"a Blosc2 chunk has a header of 16 bytes or more, and this has {len(data)}")
        version, _, flags, typesize, nbytes, blocksize, cbytes = _CHUNK.unpack_from(data)
        size, filters, codec, more = SHORT_HEADER_SIZE, _old_filters(flags), flags >> 5, 0
        if flags & EXTENDED == EXTENDED:
            size = HEADER_SIZE
            if len(data) < size:
                raise TruncatedError(f"the chunk's header has {size} bytes, and {len(data)} are there")
            ids, user_codec, _, _, reserved, more = _EXTENSION.unpack_from(data, SHORT_HEADER_SIZE)
            filters = tuple(it for it in ids if it)
            codec = user_codec if codec == USER_CODEC else codec
            if reserved or more & LAZY:
                raise UnsupportedError(
                    "the chunk is lazy, or has blocks of a newer kind than Blosc2 documents"
                )
        header = cls(version, flags, typesize, nbytes, blocksize, cbytes, size, filters, codec, more)
        header._check(available)
        return header

    def _check(self, available: int) -> None:
        if not self.version or not self.typesize or self.nbytes < 0 or self.special > max(SpecialValue):
            raise FormatError("this is not a Blosc2 chunk")
        if self.flags >> 5 in (2, 5):
            raise FormatError("the chunk names a codec that does not exist")
        if self.flags >> 5 == USER_CODEC + 1:
            raise UnsupportedError("the chunk's codec is named by the frame that it was taken from")
        if self.nbytes and not 0 < self.blocksize <= min(self.nbytes, MAX_BLOCK_SIZE):
            raise FormatError(f"the chunk has {self.nbytes} bytes, and blocks of {self.blocksize}")
        if self.special:
            least = self.size + self.typesize * (self.special == SpecialValue.VALUE)
        elif self.is_copied:
            least = self.size + self.nbytes
        else:
            least = self.size + 4 * self.blocks
        if self.cbytes < least:
            raise FormatError(f"the chunk needs {least} bytes, and says that it has {self.cbytes}")
        if self.cbytes > available:
            raise TruncatedError(f"the chunk has {self.cbytes} bytes, and {available} are there")

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.nbytes // self.blocksize) if self.nbytes else 0

    @property
    def is_copied(self) -> bool:
        """Whether the content follows the header as it is."""
        return bool(self.flags & MEMCPYED)

    @property
    def special(self) -> int:
        """A `SpecialValue`: not 0 where one value fills the chunk, and it has no blocks."""
        return self.blosc2_flags >> 4 & 7

    @property
    def has_dictionary(self) -> bool:
        """Whether there is a dictionary between the offsets and the blocks."""
        return bool(self.blosc2_flags & DICTIONARY)

    @property
    def is_delta(self) -> bool:
        """Whether each block is the difference to the first."""
        return bool(self.size == SHORT_HEADER_SIZE and self.flags & DELTA) or DELTA_FILTER in self.filters

    def __str__(self) -> str:
        return _described("chunk", self, CODECS)


@dataclass(frozen=True, slots=True)
class FrameHeader:
    """The header of a contiguous frame, as far as a person wants to know it. Sizes are in bytes."""

    size: int
    """Of the header, metalayers included."""
    frame_size: int
    nbytes: int
    """Decompressed size of all chunks."""
    typesize: int
    blocksize: int
    """0 where it differs from chunk to chunk."""
    chunksize: int
    codec: int
    filters: tuple[int, ...]

    @classmethod
    def parse(cls, data: bytes, available: int) -> FrameHeader:
        """Parse the first 87 bytes of a frame, which can have `available` bytes at most."""
        if len(data) < FRAME_HEAD_SIZE:
            raise TruncatedError(f"a Blosc2 frame has a header of 87 bytes or more, and this has {len(data)}")
        magic, size, frame_size, flags, nbytes, cbytes, typesize, blocksize, chunksize = _FRAME.unpack_from(
            data
        )
        sane = min(nbytes, cbytes, blocksize, chunksize) >= 0 < typesize
        if magic != FRAME_MAGIC or not sane or not FRAME_HEAD_SIZE <= size <= frame_size:
            raise FormatError("this is not a Blosc2 frame")
        if frame_size > available:
            raise TruncatedError(f"the frame has {frame_size} bytes, and {available} are there")
        codec = data[77] if flags[2] & 0xF == USER_CODEC else flags[2] & 0xF
        filters = tuple(it for it in data[71:77] if it)
        return cls(size, frame_size, nbytes, typesize, blocksize, chunksize, codec, filters)

    def __str__(self) -> str:
        return f"{_described('frame', self, FRAME_CODECS)}, chunks of {self.chunksize}"


def describe_blosc2(head: bytes, size: int) -> str | None:
    """Say in a line what a payload of `size` bytes holds if it is a Blosc2 frame or one bare chunk."""
    try:
        if head[1:].startswith(FRAME_MAGIC):
            return str(FrameHeader.parse(head, size))
        header = ChunkHeader.parse(head, size)
    except FormatError:
        return None
    # A chunk has no magic number: one that is as long as it says is hardly anything else.
    return str(header) if header.size == HEADER_SIZE and header.cbytes == size else None


def _old_filters(flags: int) -> tuple[int, ...]:
    bits = {DELTA: DELTA_FILTER, SHUFFLE: 1, BITSHUFFLE: 2}
    return tuple(number for bit, number in bits.items() if flags & bit)


def _described(kind: str, header: ChunkHeader | FrameHeader, codecs: Mapping[int, str]) -> str:
    codec = codecs.get(header.codec, f"codec {header.codec}")
    names = ", ".join(FILTERS.get(it, f"filter {it}") for it in header.filters) or "no filter"
    blocks = f"blocks of {header.blocksize}" if header.blocksize else "blocks of any size"
    return f"Blosc2 {kind} of {header.nbytes} bytes: items of {header.typesize}, {blocks}, {codec}, {names}"
