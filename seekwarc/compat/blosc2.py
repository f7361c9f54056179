"""Blosc2 arrays and chunks in records: slices that read only the blocks they touch. Needs no fsspec.

`source` and `open` are for payloads that are frames (`.b2nd`), as files on web servers are. `BareChunk` is
for a payload that is one chunk without a frame, as the answers of a Caterva2 server are.
"""

from __future__ import annotations

import builtins
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from struct import Struct
from sys import byteorder
from typing import Any, Final, cast

import blosc2

from seekwarc.errors import FormatError, LimitError, RangeError, TruncatedError
from seekwarc.format.blosc2 import HEADER_SIZE, ChunkHeader, SpecialValue
from seekwarc.format.words import counted
from seekwarc.read.extent import Extent

__all__ = ["BareChunk", "ExtentSource", "open", "source"]

MAX_BLOCKS: Final = 4 << 20
"""Blocks of a chunk whose offsets are read: 16 MiB of them."""
MAX_BLOCK: Final = 64 << 20
"""Decompressed bytes of a block, unless the caller allows more."""
MAX_RUN: Final = 4 << 20
"""Decompressed bytes of blocks that are read and decoded at a time, unless one block is larger."""

MAX_GAPS: Final = 256 << 10
"""Unwanted bytes between blocks that are read with them."""

_SIZES: Final = Struct("<iii")
_INT: Final = Struct("<i")


class ExtentSource(blosc2.ByteRangeNDSource):  # type: ignore[misc]  # blosc2 has no types
    """The bytes of a frame in a payload, as `blosc2.Proxy` reads them.

    `traffic` counts what was read of the payload; `Reader.stats` counts what was fetched of the archive.

    Args:
        extent: The payload.
        urlpath: What messages of blosc2 call it.

    Raises:
        NotImplementedError: The frame holds no array, but a plain super-chunk.
        ValueError: The payload is not a frame.
    """

    def __init__(self, extent: Extent, urlpath: str = "payload") -> None:
        self._extent = extent
        # Reads of one archive share its threads already.
        super().__init__(urlpath)

    def read_range(self, offset: int, size: int) -> bytes:
        """Return [offset, offset + size) of the frame, fewer bytes only at its end."""
        data = self._extent.pread(offset, size)
        self.traffic.charge(len(data))
        return data


def source(extent: Extent) -> ExtentSource:
    """Return a payload that is a `.b2nd` file as a source for `blosc2.Proxy`; see `ExtentSource`."""
    return ExtentSource(extent)


def open(extent: Extent) -> Any:  # noqa: A001, ANN401 - blosc2 has no types
    """Open a payload that is a `.b2nd` file as an array, of which a slice reads what it touches.

    Returns:
        A `blosc2.Proxy`; a slice of it is a NumPy array.

    Raises:
        NotImplementedError: The frame holds no array, but a plain super-chunk.
        ValueError: The payload is not a frame.

    Example:
        >>> import numpy, blosc2, seekwarc.compat.blosc2
        >>> frame = blosc2.asarray(numpy.arange(1_000_000).reshape(1000, 1000)).to_cframe()
        >>> with seekwarc.open("arrays.warc.zst", "w") as out:
        ...     written = out.write_resource("http://example.org/a.b2nd", frame, "application/octet-stream")
        >>> with seekwarc.open("arrays.warc.zst") as archive:
        ...     payload = archive.record_at(written.offset).payload
        ...     print(seekwarc.compat.blosc2.open(payload)[999, -3:])
        [999997 999998 999999]
    """
    return blosc2.Proxy(source(extent))


class BareChunk:
    """A payload that is one Blosc2 chunk; a range of it reads and decodes the blocks that it touches.

    Every field of the header is checked, and no memory is allocated on its word alone.

    Args:
        extent: The payload.
        max_block_size: Largest block to decode, in bytes.

    Raises:
        FormatError: This is not a chunk, or its header contradicts itself.
        TruncatedError: The chunk is longer than the payload.
        UnsupportedError: It cannot be decoded without the frame that it was taken from.
        LimitError: A block is larger than `max_block_size`, or there are more than 4 million blocks.

    Attributes:
        header: Sizes, codec and filters.

    Example:
        >>> import numpy, blosc2, seekwarc.compat.blosc2
        >>> data = blosc2.compress2(numpy.arange(1_000_000, dtype="i4"), typesize=4)
        >>> with seekwarc.open("chunk.warc.zst", "w") as out:
        ...     written = out.write_resource("http://example.org/chunk", data, "application/octet-stream")
        >>> with seekwarc.open("chunk.warc.zst") as archive:
        ...     chunk = seekwarc.compat.blosc2.BareChunk(archive.record_at(written.offset).payload)
        ...     print(chunk.size, numpy.frombuffer(chunk.pread(4 * 999_997, 12), "i4"))
        4000000 [999997 999998 999999]
    """

    def __init__(self, extent: Extent, *, max_block_size: int = MAX_BLOCK) -> None:
        self._extent = extent
        self._head = extent.pread(0, HEADER_SIZE)
        self.header = ChunkHeader.parse(self._head, extent.size)
        if self._has_blocks and self.header.blocksize > max_block_size:
            raise LimitError(
                f"the chunk has blocks of {self.header.blocksize} bytes, more than {max_block_size}; raise "
                "max_block_size if you trust it"
            )
        if self._has_blocks and self.header.blocks > MAX_BLOCKS:
            raise LimitError(f"the chunk has {self.header.blocks} blocks, more than {MAX_BLOCKS}")
        self._starts: array[int] | None = None
        self._sorted: list[int] = []
        self._dictionary = b""

    @property
    def size(self) -> int:
        """Decompressed bytes."""
        return self.header.nbytes

    @property
    def _has_blocks(self) -> bool:
        return not self.header.special and not self.header.is_copied

    def pread(self, start: int, length: int) -> bytes:
        """Return up to `length` decompressed bytes from `start` on; fewer only at the end.

        Raises:
            RangeError: `start` or `length` is negative.
            FormatError: A block is damaged, or is not where the chunk says.
        """
        if start < 0 or length < 0:
            raise RangeError(f"cannot read {counted(length, 'byte')} at position {start}")
        stop = min(start + length, self.size)
        if start >= stop:
            return b""
        if self.header.special:
            return self._special(start, stop)
        if self.header.is_copied:
            return self._exactly(self.header.size + start, stop - start)
        return b"".join(self._decoded(start, stop))

    def _special(self, start: int, stop: int) -> bytes:
        kind, item = self.header.special, self.header.typesize
        if kind in (SpecialValue.ZERO, SpecialValue.UNINITIALIZED):
            return bytes(stop - start)
        if kind == SpecialValue.VALUE:
            value = self._exactly(self.header.size, item)
        elif item in _NAN:
            value = _NAN[item]
        else:
            raise FormatError(f"the chunk is of NaN, and its items have {item} bytes")
        first, last = start // item, -(-stop // item)
        return (value * (last - first))[start - first * item : stop - first * item]

    def _decoded(self, start: int, stop: int) -> Iterator[bytes]:
        size = self.header.blocksize
        step = max(MAX_RUN // size, 1)
        for first in range(start // size, -(-stop // size), step):
            last = min(first + step, -(-stop // size))
            begin = first * size
            data = self._run(first, last)
            yield data[max(start - begin, 0) : stop - begin]

    def _run(self, first: int, last: int) -> bytes:
        """Decode the blocks [first, last), by a chunk that has just these."""
        header, size = self.header, self.header.blocksize
        blocks = builtins.list(range(first, last))
        # A chunk is not shorter than its blocks, so the last block, if it is shorter, does not come alone.
        if last == header.blocks and header.nbytes % size and first == last - 1 and first:
            blocks.insert(0, first - 1)
        # All blocks are differences to the first.
        if header.is_delta and blocks[0]:
            blocks.insert(0, 0)
        streams = self._streams(blocks)
        content = sum(min(size, header.nbytes - block * size) for block in blocks)
        begin = header.size + 4 * len(blocks) + len(self._dictionary)
        starts = []
        for stream in streams:
            starts.append(_INT.pack(begin))
            begin += len(stream)
        sizes = _SIZES.pack(content, size, begin)
        head = self._head[:4] + sizes + self._head[16 : header.size]
        chunk = b"".join([head, *starts, self._dictionary, *streams])
        try:
            # One thread: several may wait for each other for ever where one of them meets damage.
            data = cast("bytes", blosc2.decompress2(chunk, nthreads=1))
        except (RuntimeError, ValueError, TypeError, MemoryError) as error:
            raise FormatError(
                f"blocks {first} to {last - 1} of the chunk cannot be decoded: {error}"
            ) from error
        if len(data) != content:
            raise FormatError(
                f"blocks {first} to {last - 1} of the chunk have {len(data)} bytes, not {content}"
            )
        return data[(len(blocks) - (last - first)) * size :]

    def _streams(self, blocks: Sequence[int]) -> list[bytes]:
        """Return the compressed streams of blocks: each up to where the next one in the file begins."""
        places = [self._place(block) for block in blocks]
        begin, stop = min(places)[0], max(stop for _, stop in places)
        if stop - begin > sum(stop - start for start, stop in places) + MAX_GAPS:
            return [self._exactly(start, stop - start) for start, stop in places]
        data = self._exactly(begin, stop - begin)
        return [data[start - begin : stop - begin] for start, stop in places]

    def _place(self, block: int) -> tuple[int, int]:
        begin = self._offsets[block]
        following = bisect_right(self._sorted, begin)
        stop = self._sorted[following] if following < len(self._sorted) else self.header.cbytes
        # Each stream of a block has a size of 4 bytes, and is not longer than what it holds. Without this,
        # blocks that all begin at the same place could each be as long as the chunk.
        return begin, min(stop, begin + self.header.blocksize + 4 * (self.header.typesize + 1))

    @property
    def _offsets(self) -> array[int]:
        """Where each block begins: read once, and checked."""
        if self._starts is None:
            header = self.header
            floor = header.size + 4 * header.blocks
            starts = array("i", self._exactly(header.size, 4 * header.blocks))
            if byteorder == "big":
                starts.byteswap()
            dictionary = b""
            if header.has_dictionary:
                size = _INT.unpack(self._exactly(floor, 4))[0]
                if not 0 <= size <= min(header.cbytes - floor - 4, MAX_BLOCK):
                    raise FormatError(f"the chunk has a dictionary of {size} bytes, and no room for it")
                dictionary = self._exactly(floor, 4 + size)
            floor += len(dictionary)
            if not floor <= min(starts) <= max(starts) < header.cbytes:
                raise FormatError("blocks of the chunk begin outside of it")
            self._dictionary = dictionary
            self._sorted = sorted(starts)
            self._starts = starts
        return self._starts

    def _exactly(self, start: int, length: int) -> bytes:
        data = self._extent.pread(start, length)
        if len(data) < length:
            raise TruncatedError(f"the payload ends inside the chunk, at {start + len(data)}")
        return data


_NAN: Final = {4: Struct("<f").pack(float("nan")), 8: Struct("<d").pack(float("nan"))}
