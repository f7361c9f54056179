"""Sidecars of .warc.gz files, made without the code that makes them for users."""

from __future__ import annotations

import io
import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import xxhash

from seekwarc.format.sidecar import ArchiveIdentity, SidecarRecord, Span
from seekwarc.frames.points import inflated
from seekwarc.frames.sidecar import archive_identity, write_sidecar
from seekwarc.storage.local import BytesSource
from tests.support.inflating import inflate

HEADER = 10
"""Bytes before the deflated data in a member without flags."""


def mixed(seed: int, size: int) -> list[bytes]:
    """Return pieces of content of about `size` bytes, in turn such as compress and such as do not."""
    rnd = random.Random(seed)
    words = [bytes(rnd.choices(range(97, 123), k=rnd.randint(2, 9))) for _ in range(300)]
    pieces: list[bytes] = []
    for _ in range(40):
        pieces.append(b" ".join(rnd.choices(words, k=rnd.randint(1, 300))))
        pieces.append(rnd.randbytes(rnd.randint(100, size // 20)))
    return pieces


def gzip_member(pieces: Iterable[bytes]) -> bytes:
    """Compress pieces into one member, each ending a block: at any bit, and of any type."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, 31)
    data = b"".join(deflate.compress(piece) + deflate.flush(zlib.Z_BLOCK) for piece in pieces)
    return data + deflate.flush()


class Member(NamedTuple):
    """A record that is one gzip member."""

    offset: int
    stored: bytes
    content: bytes
    blocks: list[tuple[int, int, int]]
    """Of each deflate block, the bit that it begins with, the content before it, and its type."""

    def spans(self, spacing: int) -> Iterator[Span]:
        """Yield a span for every `spacing` bytes or more."""
        begins = [self.blocks[0]]
        for block in self.blocks:
            if block[1] - begins[-1][1] >= spacing:
                begins.append(block)
        ends = [begin for _, begin, _ in begins[1:]] + [len(self.content)]
        for (bit, begin, _), end in zip(begins, ends, strict=True):
            stored = self.offset + HEADER + -(-bit // 8)
            window = self.content[max(begin - 32768, 0) : begin]
            yield Span(stored, -bit % 8, begin, xxhash.xxh64_intdigest(self.content[begin:end]), window)

    def record(self, spacing: int) -> SidecarRecord:
        return SidecarRecord(self.offset, len(self.stored), len(self.content), [*self.spans(spacing)])


def member(offset: int, stored: bytes, content: bytes) -> Member:
    blocks: list[tuple[int, int, int]] = []
    assert inflate(stored[HEADER:], on_block=lambda *it: blocks.append(it)) == content
    return Member(offset, stored, content, blocks)


def members_of(data: bytes, least: int = 0) -> list[Member]:
    """Return the members of a .warc.gz with at least so much content."""
    found = []
    offset = 0
    while offset < len(data):
        inflater = zlib.decompressobj(31)
        content = inflater.decompress(data[offset:])
        end = len(data) - len(inflater.unused_data)
        if len(content) >= least:
            found.append(member(offset, data[offset:end], content))
        offset = end
    return found


def forged(data: bytes, record: SidecarRecord) -> tuple[SidecarRecord, bytes]:
    """Forge the windows of a record's spans, and return what it seems to hold then: of the same size."""
    spans, seen = [], b""
    ends = [span.content for span in record.spans[1:]] + [record.content_size]
    stops = [span.stored for span in record.spans[1:]] + [record.offset + record.length]
    for span, end, stop in zip(record.spans, ends, stops, strict=True):
        window = (span.window or b"").upper()
        stored = data[span.stored - bool(span.bits) : stop]
        content = inflated(stored, -span.bits % 8, window, end - span.content)
        spans.append(span._replace(window=window, xxh64=xxhash.xxh64_intdigest(content)))
        seen += content
    return SidecarRecord(record.offset, record.length, record.content_size, spans), seen


def spliced(one: Member, other: Member, number: int, spacing: int, length: int) -> SidecarRecord:
    """List spans of a member, and from a later one on those of another; each checksum is true."""
    first, second = [*one.spans(spacing)][: number + 1], [*other.spans(spacing)]
    rest = [span for span in second if span.content > first[-1].content and span.stored > first[-1].stored]
    begin, stop = first[-1].content, rest[0].content if rest else len(one.content)
    first[-1] = first[-1]._replace(xxh64=xxhash.xxh64_intdigest(one.content[begin:stop]))
    return SidecarRecord(one.offset, length, len(one.content), [*first, *rest])


def sidecar_of(
    data: bytes,
    records: Iterable[SidecarRecord],
    change: Callable[[ArchiveIdentity], ArchiveIdentity] = lambda it: it,
) -> bytes:
    """Return a sidecar of an archive."""
    out = io.BytesIO()
    write_sidecar(out, records, change(archive_identity(BytesSource(data))))
    return out.getvalue()
