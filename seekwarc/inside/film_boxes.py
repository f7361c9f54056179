"""What the boxes of an MP4, or the first elements of a Matroska film, state, checked before libav sees them.

libav makes an entry of some 50 bytes for each sample that an index states, and a few bytes can state
millions: one size for all samples (`stsz`), a run without fields for each (`trun`), samples of a chunk
(`stsc`). It also believes counts of tables that their boxes have no room for, and goes in circles in the
index at the end (`mfra`) if a box in it has no size. No film has that; for the rest, the process that libav
runs in has limits.

Boxes are those of ISO/IEC 14496-12, elements those of RFC 9559. Where the reads end early, so does the check:
libav will find the damage. Each read has 64 KiB at most.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from seekwarc.errors import FormatError, LimitError

__all__ = ["check_boxes", "check_elements", "index_range"]

Read: TypeAlias = Callable[[int, int], bytes]
"""Returns the bytes [start, start + count), or what there is of them."""

FREE_SAMPLES: Final = 1 << 20
SAMPLES_PER_BYTE: Final = 8
"""Samples that an index may state for each byte of a film, which may be cut off, beside the free ones."""
CHUNKED_PER_BYTE: Final = 64
"""The same for samples of sound in chunks. Codecs put many into a byte, and libav has one entry for many."""
MAX_DEPTH: Final = 12
MAX_BOXES: Final = 256
"""Boxes of the film before its index."""
MAX_BEFORE_INDEX: Final = 8
"""Boxes among which the index is looked for, to be read ahead."""
NEAR: Final = 128 << 10
"""Where boxes after the index are also checked: bytes that are read in any case."""
MAX_COMPRESSED_INDEX: Final = 32 << 20
STEP: Final = 60 << 10

_CONTAINERS: Final = frozenset(
    (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"mvex", b"moof", b"traf", b"dinf", b"tref")
)
_TABLES: Final = {b"stts": 8, b"ctts": 8, b"stsc": 12, b"stss": 4, b"stps": 4, b"stco": 4, b"co64": 8}
"""Bytes of an entry; version, flags and the number of entries come before the first."""


class _Box(NamedTuple):
    name: bytes
    at: int
    start: int
    """Where its content begins."""
    stop: int


def check_boxes(read: Read, size: int) -> bool:
    """Check the boxes of an MP4 of `size` bytes.

    Raises:
        FormatError: A box states more than it has room for, or leads in circles.
        LimitError: Its index states more samples than a film of that size can have.
    """
    check = _Boxes(read, size)
    for number, box in enumerate(_boxes(read, 0, size)):
        if check.has_index and (box.stop > NEAR or number >= MAX_BOXES):
            break
        if number == MAX_BOXES:
            raise FormatError(f"has no index (moov) among its first {MAX_BOXES} boxes")
        check.box(box, 0)
    if check.is_fragmented:
        check.fragment_index()
    return check.is_fragmented


def index_range(read: Read, size: int) -> tuple[int, int] | None:
    """Return where the index of an MP4 is, [start, stop): before or after everything else."""
    first = islice(_boxes(read, 0, size), MAX_BEFORE_INDEX)
    return next(((box.at, box.stop) for box in first if box.name == b"moov"), None)


def _boxes(read: Read, start: int, stop: int) -> Iterator[_Box]:
    """Yield the boxes in [start, stop) as libav finds them: a wrong size ends the list."""
    while start + 8 <= stop:
        head = read(start, 16)
        size, begin = int.from_bytes(head[:4]), start + 8
        if size == 1:
            size, begin = int.from_bytes(head[8:16]), start + 16
        end = min(start + size, stop) if size else stop
        if len(head) < 8 or end < begin:
            return
        yield _Box(head[4:8], start, begin, end)
        start = end


class _Boxes:
    def __init__(self, read: Read, size: int) -> None:
        self._read, self._size = read, size
        self._stated = 0
        self.has_index = self.is_fragmented = False
        self._chunks = 0
        self._per_chunk: _Box | None = None

    def box(self, box: _Box, depth: int) -> None:
        """Check a box and those in it."""
        if box.name in _CONTAINERS:
            for inner in _boxes(self._read, box.start, box.stop) if depth < MAX_DEPTH else ():
                self.box(inner, depth + 1)
            self.has_index = self.has_index or box.name == b"moov"
            self.is_fragmented = self.is_fragmented or box.name == b"mvex"
            if box.name == b"trak":
                self._check_chunks()
        elif box.name == b"cmov":
            self._compressed(box, depth)
        elif box.name in _TABLES:
            self._table(box)
        elif box.name in _OTHERS:
            _OTHERS[box.name](self, box)

    def _table(self, box: _Box) -> None:
        count = self._number(box, 4)
        self._fits(box, count, _TABLES[box.name], 8)
        if box.name == b"stsc":
            self._per_chunk = box
        elif box.name in (b"stco", b"co64"):
            self._chunks = count

    def sizes(self, box: _Box) -> None:
        """Check sizes of samples, or the number of them and one size for all."""
        if self._number(box, 4):
            self._state(box, self._number(box, 8))
        else:
            self._fits(box, self._number(box, 8), 4, 12)

    def small_sizes(self, box: _Box) -> None:
        """Check sizes of samples that have 4, 8 or 16 bits each."""
        self._fits(box, self._number(box, 8) * (self._number(box, 4) & 255), 1 / 8, 12)

    def edits(self, box: _Box) -> None:
        """Check an edit list."""
        self._fits(box, self._number(box, 4), 20 if self._number(box, 0) >> 24 == 1 else 12, 8)

    def segments(self, box: _Box) -> None:
        """Check an index of segments."""
        begin = 32 if self._number(box, 0) >> 24 else 24
        self._fits(box, self._number(box, begin - 4) & 0xFFFF, 12, begin)

    def run(self, box: _Box) -> None:
        """Check a run of samples of a fragment."""
        flags, count = self._number(box, 0), self._number(box, 4)
        entry = 4 * (flags & 0xF00).bit_count()
        if entry:
            self._fits(box, count, entry, 8 + 4 * (flags & 5).bit_count())
        else:
            self._state(box, count)

    def fragment_index(self) -> None:
        """Check the index at the end of a film in fragments, whose last 4 bytes say how long it is."""
        length = int.from_bytes(self._read(self._size - 4, 4))
        at = self._size - length
        if not 8 <= length <= self._size or self._read(at, 8) != length.to_bytes(4) + b"mfra":
            return
        at += 8
        while (head := self._read(at, 24))[4:8] == b"tfra":
            size = int.from_bytes(head[:4])
            box = _Box(b"tfra", at, at + 8, at + size)
            if not 24 <= size <= self._size - at:
                raise FormatError(
                    f"box tfra at offset {at} of the film states a size of {size} bytes, which is wrong"
                )
            lengths = self._number(box, 8)
            entry = (16 if head[8] == 1 else 8) + 3 + sum(lengths >> shift & 3 for shift in (0, 2, 4))
            self._fits(box, self._number(box, 12), entry, 16)
            at += size

    def _number(self, box: _Box, place: int) -> int:
        """Return 4 bytes of its content; 0 if it has fewer."""
        place += box.start
        return int.from_bytes(self._read(place, 4)) if place + 4 <= box.stop else 0

    def _fits(self, box: _Box, count: int, entry: float, begin: int) -> None:
        room = max(box.stop - box.start - begin, 0)
        if count * entry > room:
            raise FormatError(
                f"box {box.name.decode()} at offset {box.at} of the film states {count} entries, but has "
                f"{room} bytes for them"
            )

    def _state(self, box: _Box, count: int, limit: int = SAMPLES_PER_BYTE) -> None:
        """Count samples that take no room in their box."""
        total = self._stated + count
        if total > FREE_SAMPLES + limit * self._size:
            raise LimitError(
                f"box {box.name.decode()} at offset {box.at} of the film states {count} samples, in all "
                f"{total}: more than a film of {self._size} bytes can have"
            )
        self._stated = total if limit == SAMPLES_PER_BYTE else self._stated

    def _check_chunks(self) -> None:
        """Count the samples of all chunks of a track: the table says how many each of a run of chunks has."""
        box, chunks = self._per_chunk, self._chunks
        self._per_chunk, self._chunks = None, 0
        if box is None:
            return
        stop = box.start + 8 + 12 * self._number(box, 4)
        total, before, each = 0, 1, 0
        for at in range(box.start + 8, stop, STEP):
            data = self._read(at, min(STEP, stop - at))
            for first, samples, _ in struct.iter_unpack(">III", data[: len(data) // 12 * 12]):
                total += max(first - before, 0) * each
                before, each = first, samples
        self._state(box, total + max(chunks - before + 1, 0) * each, CHUNKED_PER_BYTE)

    def _compressed(self, box: _Box, depth: int) -> None:
        """Check an index that is compressed, as QuickTime did."""
        stated = self._number(box, 20)
        if stated > MAX_COMPRESSED_INDEX:
            raise LimitError(f"box cmov at offset {box.at} of the film states an index of {stated} bytes")
        places = range(box.start + 24, box.stop, STEP)
        packed = b"".join(self._read(at, min(STEP, box.stop - at)) for at in places)
        try:
            data = zlib.decompressobj().decompress(packed, stated + 1)
        except zlib.error:
            return
        inner = _Boxes(lambda at, count: data[at : at + count], self._size)
        inner.box(_Box(b"moov", 0, 0, len(data)), depth + 1)


_OTHERS: Final = {
    b"stsz": _Boxes.sizes,
    b"stz2": _Boxes.small_sizes,
    b"elst": _Boxes.edits,
    b"sidx": _Boxes.segments,
    b"trun": _Boxes.run,
}
_SEGMENT: Final = 0x18538067
_CLUSTER: Final = 0x1F43B675


def check_elements(read: Read, size: int) -> None:
    """Check the elements of a Matroska film before its first pictures: none may be larger than the film.

    Raises:
        FormatError: One is.
    """
    at = 0
    while at < NEAR:
        head = read(at, 12)
        name_length = 9 - (head[0] if head else 0).bit_length()
        name = int.from_bytes(head[:name_length])
        value = head[name_length:]
        size_length = 9 - (value[0] if value else 0).bit_length()
        if name_length > 4 or size_length > 8 or len(value) < size_length or name == _CLUSTER:
            return
        at_content = at + name_length + size_length
        if name == _SEGMENT:
            at = at_content
            continue
        length = int.from_bytes(value[:size_length]) & ((1 << 7 * size_length) - 1)
        if at_content + length > size:
            raise FormatError(
                f"element {name:X} at offset {at} of the film states {length} bytes, but the film has {size}"
            )
        at = at_content + length
