"""GZIDX, the index of a gzip file that indexed_gzip and rapidgzip write: points, and the windows of these.

    header (35 bytes) | points (18 bytes each) | windows (32 KiB each)

with all numbers little-endian. There is no checksum, so a user checks every point.
Source: `zran_export_index` in https://github.com/pauldmccarthy/indexed_gzip/blob/main/indexed_gzip/zran.c
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from operator import lt
from struct import Struct
from typing import NamedTuple

from seekwarc.errors import FormatError
from seekwarc.format.sidecar import MAX_WINDOW

__all__ = ["GzidxPoint", "parse_gzidx"]

_HEADER = Struct("<5sBBQQIII")
_POINT = Struct("<QQBB")


class GzidxPoint(NamedTuple):
    """A place at which a file can be decompressed from."""

    bit: int
    """Bits of the file before it. The lowest bit of a byte comes first."""
    content: int
    """Bytes of content of the whole file before it."""
    window: range
    """Where the content before it is in the index; empty if none is needed."""


def parse_gzidx(read: Callable[[int, int], bytes], size: int) -> list[GzidxPoint]:
    """Return the points of an index of `size` bytes, of which `read` returns [start, stop).

    Raises:
        FormatError: It is not such an index, or it is damaged.
    """
    header = read(0, _HEADER.size)
    if len(header) < _HEADER.size:
        raise FormatError("not a GZIDX index: it is too short")
    magic, version, _, _, _, _, window_size, count = _HEADER.unpack(header)
    if (magic, version) != (b"GZIDX", 1) or window_size != MAX_WINDOW:
        raise FormatError("not a GZIDX index of version 1 with windows of 32 KiB")
    begin = _HEADER.size + count * _POINT.size
    if begin > size:
        raise FormatError(f"the index ends within its {count} points")
    rows = [*_POINT.iter_unpack(read(_HEADER.size, begin))]
    windows = [*accumulate((MAX_WINDOW * (has_window > 0) for *_, has_window in rows), initial=begin)]
    points = [
        GzidxPoint(8 * offset - bits, content, range(start, stop))
        for (offset, content, bits, _), start, stop in zip(rows, windows, windows[1:], strict=False)
    ]
    if windows[-1] != size or any(bits > 7 or 8 * offset < bits for offset, _, bits, _ in rows):
        raise FormatError("the index is damaged: it is not as long as its points say, or one is invalid")
    if not all(map(lt, points, points[1:])):
        raise FormatError("the points of the index are not in order")
    return points
