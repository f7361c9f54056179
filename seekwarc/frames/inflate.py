"""The decompressor of gzip members: the fastest that is installed.

isal, where it is (extra `gzip`), takes about half the time of the standard library's zlib.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple, Protocol, cast

__all__ = ["GzipCodec", "Inflater", "gzip_codec"]

GZIP_MEMBER: Final = 31
"""Window bits that select a gzip member, its checksum verified."""
RAW_DEFLATE: Final = -15
"""Window bits that select deflated data alone."""


class Inflater(Protocol):
    """Decompresses one member, as `zlib.decompressobj` does."""

    @property
    def eof(self) -> bool:
        """Whether the member's end was reached."""

    @property
    def unused_data(self) -> bytes:
        """The input bytes after it."""

    @property
    def unconsumed_tail(self) -> bytes:
        """The input bytes that are still to be decompressed."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Take the next bytes and return up to `max_length` bytes of content."""


class MembersReader(Protocol):
    """Inflates one member after the other, each checksum verified."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes of content, nothing at the end."""


class GzipCodec(NamedTuple):
    """A decompressor of gzip members."""

    inflater: Callable[[], Inflater]
    """Makes what decompresses one member."""
    raw: Callable[[bytes], Inflater]
    """Makes what decompresses deflated data that refer back to some content before them."""
    crc32: Callable[[bytes, int], int]
    """Goes on with the CRC-32 of what comes before."""
    errors: tuple[type[Exception], ...]
    """What it raises where a member is damaged."""
    reader: Callable[[bytearray], MembersReader] | None = None
    """Makes what inflates many members by one call, which does not hold the interpreter's lock."""

    def inflate_members(self, stored: bytearray, size: int) -> bytes:
        """Return the content of consecutive members, all by one call.

        That is `size` bytes, more than 0, which the caller has checked against a limit. Nothing if one of the
        members is damaged, or they hold more or less.
        """
        if self.reader is None:
            return b""
        reader = self.reader(stored)
        errors: tuple[type[Exception], ...] = (*self.errors, EOFError, OSError)
        try:
            content = reader.read(size)
            # The last member's checksum is looked at when more is asked for.
            is_all = len(content) == size and not reader.read(1)
        except errors:
            return b""
        return content if is_all else b""


@cache
def gzip_codec() -> GzipCodec:
    """Return the decompressor to use."""
    try:
        isal = import_module("isal.isal_zlib")
    except ImportError:
        return _codec(zlib, None)
    return _codec(isal, getattr(isal, "_GzipReader", None))


def _codec(library: ModuleType, reader: Callable[[bytearray], MembersReader] | None) -> GzipCodec:
    def raw(window: bytes) -> Inflater:
        return cast("Inflater", library.decompressobj(RAW_DEFLATE, zdict=window))

    inflater = partial(library.decompressobj, GZIP_MEMBER)
    return GzipCodec(inflater, raw, library.crc32, (library.error,), reader)
