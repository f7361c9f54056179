"""A reader of sidecars by their specification alone (spec-notes/sidecar.md): nothing of seekwarc is used."""

from __future__ import annotations

import hashlib
import struct
from itertools import pairwise

import xxhash
import zstandard

from tests.support.inflating import inflate

SAMPLE = 65_536
TRAILER = struct.Struct("<8sIIQQQ32s32s")
FOOTER = struct.Struct("<IBI")
RECORD = struct.Struct("<5Q")
SPAN = struct.Struct("<4Q")


class RefusedError(Exception):
    """The sidecar is not to be used (section 3, 1 to 7)."""


class WrongError(Exception):
    """A span is not what the sidecar says."""


def check(condition: object) -> None:
    if not condition:
        raise RefusedError


def content_of(sidecar: bytes) -> bytes:
    """Return the content of a file in the Seekable Format (section 2)."""
    check(len(sidecar) >= 17)
    count, descriptor, magic = FOOTER.unpack(sidecar[-9:])
    check(magic == 0x8F92EAB1 and descriptor & 0xFC == 0x80)
    begin = len(sidecar) - 17 - 12 * count
    check(begin >= 0)
    check(struct.unpack_from("<II", sidecar, begin) == (0x184D2A5E, 12 * count + 9))
    position, content = 0, b""
    for stored, size, checksum in struct.iter_unpack("<3I", sidecar[begin + 8 : -9]):
        part = sidecar[position : position + stored]
        is_skippable = part[1:4] == b"\x2a\x4d\x18"
        frame = b"" if is_skippable else zstandard.ZstdDecompressor().decompress(part)
        check(len(frame) == size and xxhash.xxh64_intdigest(frame) % 2**32 == checksum)
        position += stored
        content += frame
    check(position == begin)
    return content


def first_block(archive: bytes, offset: int) -> int:
    """Return where the first block begins: after the header of the gzip member or frame (section 2.3)."""
    if archive.startswith(b"\x28\xb5\x2f\xfd", offset):
        flags = archive[offset + 4]
        single = flags >> 5 & 1
        return offset + 6 - single + (0, 1, 2, 4)[flags & 3] + (single, 2, 4, 8)[flags >> 6]
    check(archive.startswith(b"\x1f\x8b\x08", offset) and len(archive) > offset + 12)
    flags, at = archive[offset + 3], offset + 10
    if flags & 4:
        at += 2 + int.from_bytes(archive[at : at + 2], "little")
    for field in (8, 16):
        if flags & field:
            at = archive.find(b"\0", at) + 1
    return at + (2 if flags & 2 else 0)


class IndependentReader:
    """Reads one record of an archive, whose length may be known from a scan or an index.

    Unchecked, it trusts the sidecar about where the record ends, and about what each span holds.
    """

    def __init__(
        self,
        archive: bytes,
        sidecar: bytes,
        offset: int,
        content_size: int,
        known_length: int | None = None,
        *,
        is_checked: bool = True,
    ) -> None:
        content = content_of(sidecar)
        check(len(content) >= TRAILER.size)
        trailer = TRAILER.unpack(content[-TRAILER.size :])
        magic, version, _, records, spans, size, head, tail = trailer
        check((magic, version) == (b"WARCseek", 1))
        check(size == len(archive))
        check(head == hashlib.sha256(archive[:SAMPLE]).digest())
        check(tail == hashlib.sha256(archive[-SAMPLE:]).digest())
        begin = len(content) - TRAILER.size - RECORD.size * records
        self._windows = begin - SPAN.size * spans
        check(self._windows >= 0)
        rows = [*RECORD.iter_unpack(content[begin : -TRAILER.size])]
        check(all(a[0] < b[0] and a[3] < b[3] for a, b in pairwise(rows)))
        found = [number for number, row in enumerate(rows) if row[0] == offset]
        check(found)
        _, length, size, first, _ = rows[found[0]]
        stop = rows[found[0] + 1][3] if found[0] + 1 < len(rows) else spans
        check(size == content_size and offset + length <= len(archive) and first < stop <= spans)
        part = content[self._windows + SPAN.size * first : self._windows + SPAN.size * stop]
        self._spans = [*SPAN.iter_unpack(part)]
        self._bounds = [span[1] for span in self._spans] + [size]
        bytes_of = [offset, *(span[0] // 8 for span in self._spans), offset + length]
        check(not self._bounds[0])
        check(bytes_of[1] == first_block(archive, offset))
        check(bytes_of[0] <= bytes_of[1] and all(a < b for a, b in pairwise(bytes_of[1:])))
        check(all(a < b for a, b in pairwise(self._bounds)))
        if is_checked:
            following = [row[0] for row in rows if row[0] > offset]
            check(not following or offset + length <= following[0])
            check(known_length is None or length <= known_length)
        sizes = zip(pairwise(bytes_of[1:]), pairwise(self._bounds), strict=True)
        check(all(b - a <= 9 * (stop - start) // 8 + 1024 for (a, b), (start, stop) in sizes))
        if archive.startswith(b"\x1f\x8b", offset):
            check(archive[: offset + length].endswith(struct.pack("<I", size % 2**32)))
        self._is_checked = is_checked
        self._archive = archive
        self._offset = offset
        self._is_frame = archive.startswith(b"\x28\xb5\x2f\xfd", offset)
        self._content = content

    def __len__(self) -> int:
        return len(self._spans)

    def bounds(self, number: int) -> tuple[int, int]:
        """Return where the content of a span begins and ends."""
        return self._bounds[number], self._bounds[number + 1]

    def read(self, start: int, stop: int) -> bytes:
        """Return a range of the content."""
        data, skip = b"", 0
        for number in range(len(self)):
            begin, end = self.bounds(number)
            if begin < stop and start < end:
                skip = skip if data else start - begin
                data += self.span(number)
        return data[skip : skip + stop - start]

    def span(self, number: int) -> bytes:
        """Return the content of a span."""
        begin, stop = self.bounds(number)
        data = (self._in_frame if self._is_frame else self._in_member)(number, stop - begin)
        if self._is_checked and xxhash.xxh64_intdigest(data) != self._spans[number][2]:
            raise WrongError
        return data

    def _in_frame(self, number: int, size: int) -> bytes:
        bit, begin, _, window = self._spans[number]
        if bit % 8:
            raise WrongError
        if window:
            whole = zstandard.ZstdDecompressor().stream_reader(self._archive[self._offset :])
            return whole.read(begin + size)[begin:]
        position, data = bit // 8, b""
        while len(data) < size:
            if position + 3 > len(self._archive):
                raise WrongError  # Or the end would be blocks without content, for ever.
            header = int.from_bytes(self._archive[position : position + 3], "little")
            kind, length = header >> 1 & 3, header >> 3
            stored = 1 if kind == 1 else length
            piece = self._archive[position + 3 : position + 3 + stored]
            if kind > 1 or length > 131_072 or len(piece) < stored:
                raise WrongError
            data += piece * length if kind else piece
            position += 3 + stored
        return data[:size]

    def _in_member(self, number: int, count: int) -> bytes:
        bit, _, _, window = self._spans[number]
        position, size = divmod(window, 1 << 16)
        if position + size > self._windows or size > 32_768:
            raise WrongError
        try:
            data = inflate(self._archive, bit, self._content[position : position + size], count)
        except (AssertionError, IndexError) as error:
            raise WrongError from error
        return data[:count]
