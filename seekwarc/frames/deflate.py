"""Content to parts of a gzip member, each compressed by itself, and the checksum of their sum.

A gzip member is a header, deflated data, and the CRC-32 and length of all its content. The data may be put
together from parts that know nothing of one another, as pigz does it: each ends on a byte, and the first byte
of the next does not refer back. So parts can be made in several threads, or put aside until it is known what
comes before them. The CRC-32 of the whole follows from those of the parts and their lengths.

Source: RFC 1951, section 3.2; RFC 1952, section 2.3.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Final

from seekwarc.compiling import Buffer
from seekwarc.frames.encoder import EncodedFrame

__all__ = [
    "DEFAULT_GZIP_LEVEL",
    "GZIP_HEADER",
    "MAX_GZIP_LEVEL",
    "DeflateEncoder",
    "PlainEncoder",
    "combined_crc",
    "gzip_trailer",
]

DEFAULT_GZIP_LEVEL: Final = 6
MAX_GZIP_LEVEL: Final = 9
GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""No name, no time, no system: the same content makes the same bytes (section 2.3.1)."""
LAST_BLOCK: Final = b"\x03\x00"
"""An empty block that is marked as the last."""
RAW: Final = -15
MAX_STORED: Final = 0xFFFF
"""Maximum content of a stored block."""
POLYNOMIAL: Final = 0xEDB88320
ONE: Final = 1 << 31
"""x to the power of 0: bits are reflected, as CRC-32 has them."""


class PlainEncoder:
    """Leaves content as it is, in a file without compression."""

    def encode(self, content: Buffer) -> EncodedFrame:
        """Return one part."""
        return EncodedFrame(bytes(content), len(content), 0)

    encode_smallest = store = encode

    def encode_each(self, contents: Sequence[Buffer]) -> list[EncodedFrame]:
        """Make a part of each content."""
        return [*map(self.encode, contents)]

    def encode_chunk(self, content: Buffer, small_frame: int) -> list[EncodedFrame]:  # noqa: ARG002
        """Return one part."""
        return [self.encode(content)]


class DeflateEncoder:
    """Makes parts of gzip members. May be used from several threads."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._states = threading.local()

    def encode(self, content: Buffer) -> EncodedFrame:
        """Make one part."""
        # After a full flush nothing of the part before has any effect: making a state takes longer than using
        # it. It is put back once the part is whole.
        deflate = self._states.__dict__.pop("deflate", None)
        if deflate is None:
            deflate = zlib.compressobj(self._level, zlib.DEFLATED, RAW)
        data = deflate.compress(content) + deflate.flush(zlib.Z_FULL_FLUSH)
        self._states.deflate = deflate
        return EncodedFrame(data, len(content), zlib.crc32(content))

    encode_smallest = encode

    def encode_each(self, contents: Sequence[Buffer]) -> list[EncodedFrame]:
        """Make a part of each content."""
        return [*map(self.encode, contents)]

    def store(self, content: Buffer) -> EncodedFrame:
        """Make one part of stored blocks (RFC 1951, section 3.2.4): its size follows from the content's."""
        view = memoryview(content)
        parts: list[Buffer] = []
        for start in range(0, len(view), MAX_STORED):
            block = view[start : start + MAX_STORED]
            parts += [struct.pack("<BHH", 0, len(block), len(block) ^ 0xFFFF), block]
        return EncodedFrame(b"".join(parts), len(view), zlib.crc32(view))

    def encode_chunk(self, content: Buffer, small_frame: int) -> list[EncodedFrame]:  # noqa: ARG002
        """Make one part: smaller ones would be of no use, as readers could not find them."""
        return [self.encode(content)]


def gzip_trailer(crc: int, size: int) -> bytes:
    """Return what ends a member (section 2.3.1)."""
    return LAST_BLOCK + struct.pack("<II", crc, size & 0xFFFFFFFF)


def combined_crc(first: int, second: int, second_size: int) -> int:
    """Return the CRC-32 of two pieces, one after the other, from their own.

    The CRC is a remainder of polynomials over GF(2), so bytes that follow multiply it by a power of x.
    """
    return _product(_power_of_x(8 * second_size), first) ^ second


def _product(a: int, b: int) -> int:
    product = 0
    bit = ONE
    while bit:
        if a & bit:
            product ^= b
        bit >>= 1
        b = (b >> 1) ^ POLYNOMIAL if b & 1 else b >> 1
    return product


@cache
def _square_power(exponent: int) -> int:
    if not exponent:
        return ONE >> 1
    root = _square_power(exponent - 1)
    return _product(root, root)


def _power_of_x(exponent: int) -> int:
    power = ONE
    for bit in range(exponent.bit_length()):
        if exponent >> bit & 1:
            power = _product(_square_power(bit), power)
    return power
