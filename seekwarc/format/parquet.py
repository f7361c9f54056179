"""Headers of the pages of a Parquet file: how much memory decompressing them takes.

Source: apache/parquet-format, `parquet.thrift`, struct PageHeader; the compact protocol of Apache Thrift.

The footer of a file states sizes too, but nothing compares those with the pages: a decoder allocates what the
header of each page says.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from seekwarc.compiling import Buffer
from seekwarc.errors import FormatError, TruncatedError

__all__ = ["MAGIC", "PageHeader", "parse_page_header"]

MAGIC: Final = b"PAR1"
"""What files begin and end with."""

UNCOMPRESSED_SIZE: Final = 2
COMPRESSED_SIZE: Final = 3
"""Fields of PageHeader."""
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY = range(1, 9)
_STRUCT: Final = 12
_SIZES: Final = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
"""Bytes of the types that have a fixed size."""
MAX_DEPTH: Final = 4
MAX_FIELD: Final = (1 << 15) - 1
MAX_PAGE: Final = (1 << 31) - 1
MAX_VARINT: Final = 10
"""Bytes of a number of 64 bits."""


class PageHeader(NamedTuple):
    """What a page header says of the page."""

    size: int
    """Bytes of the header itself."""
    stored_size: int
    """Bytes of the page after it."""
    content_size: int
    """Bytes of the page when it is decompressed."""


def parse_page_header(data: Buffer, position: int = 0) -> PageHeader:
    """Parse the page header that starts at `data[position]`."""
    sizes: dict[int, int] = {}
    try:
        end = _parse_struct(data, position, sizes, MAX_DEPTH)
    except IndexError:
        raise TruncatedError("the data ends inside a page header") from None
    stored, content = sizes.get(COMPRESSED_SIZE, -1), sizes.get(UNCOMPRESSED_SIZE, -1)
    if not (0 <= stored <= MAX_PAGE and 0 <= content <= MAX_PAGE):
        raise _not_a_header()
    return PageHeader(end - position, stored, content)


def _parse_struct(data: Buffer, position: int, numbers: dict[int, int], depth: int) -> int:
    """Add the fields of 32 bits of a struct to `numbers`, and return where it ends."""
    if not depth:
        raise _not_a_header()
    field = 0
    while kind := data[position]:
        position += 1
        step, kind = kind >> 4, kind & 15
        if step:
            field += step
        else:
            number, position = _parse_varint(data, position)
            field = _signed(number)
        if kind == _STRUCT:
            position = _parse_struct(data, position, {}, depth - 1)
        elif kind == _BINARY:
            length, position = _parse_varint(data, position)
            position += length
        elif kind in (_I16, _I32, _I64):
            number, position = _parse_varint(data, position)
            if kind == _I32:
                numbers[field] = _signed(number)
        elif kind in _SIZES:
            position += _SIZES[kind]
        else:
            raise _not_a_header()  # It has neither lists nor maps.
        if not 0 <= field <= MAX_FIELD:
            raise _not_a_header()  # Other parsers would take it for a field of 16 bits.
    return position + 1


def _parse_varint(data: Buffer, position: int) -> tuple[int, int]:
    number = 0
    for place in range(MAX_VARINT):
        byte = data[position + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, position + place + 1
    raise _not_a_header()


def _signed(number: int) -> int:
    return number >> 1 ^ -(number & 1)


def _not_a_header() -> FormatError:
    return FormatError("no page header is here")
