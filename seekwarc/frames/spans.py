"""Making the spans of a record that is one gzip member: what a sidecar lists.

Goal: a point for each MiB or so, each tried out, in little more time than decompressing takes.

Plan: the blocks of the member are decoded one after another, in this thread; or several stretches of them at
a time, from the points of an index. Where a block begins after enough content, a span ends. Other threads
then find out which bytes of its window a span refers to; the others become zeros. They decode it as a reader
does, from its point and that window alone, as far as the window has any effect: its first 32 KiB. These must
be the same as the first time, and the checksum of all content must be that at the end of the member.

Worst case: a block of gigabytes, which has no points inside. It is refused at `MAX_SPAN`. Of others, memory
holds the spans of one record with their windows, and so many in work as there are threads.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import xxhash

from seekwarc.compiling import Buffer
from seekwarc.errors import ChecksumError, FormatError, TruncatedError
from seekwarc.format.sidecar import MAX_SPAN, MAX_SPANS, MAX_WINDOW, SidecarRecord, Span
from seekwarc.frames.deflate import combined_crc
from seekwarc.frames.deflate_blocks import Block, Take, blocks_from
from seekwarc.frames.inflate import gzip_codec
from seekwarc.frames.points import MAX_HEADER, inflated, member_header_size

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

__all__ = ["KnownPoint", "member_spans"]

READ: Final = 1 << 20
LOOK_BACK: Final = 128 << 10
"""More than the deflate blocks of most compressors take."""
AHEAD: Final = 4
"""Spans that wait for being tried out."""
TRAILER_SIZE: Final = 8

PAGE: Final = 256
LOW: Final = bytes(range(PAGE)) * (MAX_WINDOW // PAGE)
HIGH: Final = bytes(low ^ 1 + place // PAGE for place, low in enumerate(LOW))
"""Windows that differ in each byte. Both bytes tell its position: the first, and the bits that differ."""
IS_BIG: Final = sys.byteorder == "big"
MATCH: Final = 3
"""The fewest bytes that a deflate stream refers to at a time."""

_T = TypeVar("_T")
_U = TypeVar("_U")


class KnownPoint(NamedTuple):
    """A place in the file at which a block is said to begin."""

    bit: int
    content: int
    """Bytes of content of the whole file before it."""
    window: Callable[[], bytes]


class _Draft(NamedTuple):
    """A span that is to be tried out."""

    begin: Block
    stored: bytes
    """Its beginning, which holds `content`."""
    content: bytes
    """The first 32 KiB: only they can refer to what comes before."""
    size: int
    xxh64: int


class _Stretch:
    """Consecutive blocks, cut into spans."""

    def __init__(
        self, take: Take, begin: KnownPoint, stop: KnownPoint | None, spacing: int, *, exact: bool
    ) -> None:
        self._take = take
        self._begin = begin
        self._stop = stop
        self._spacing = spacing
        self._exact = exact
        self.size = self.crc = 0
        self.end: int | None = None
        """Offset after the last block of the member, if it is one of these."""

    def __iter__(self) -> Iterator[_Draft]:
        kept, crc32 = _Kept(self._take), gzip_codec().crc32
        begin = block = Block(self._begin.bit, (self._begin.window(),))
        hasher, size, stored, content = xxhash.xxh64(), 0, b"", b""
        stop = self._stop.bit if self._stop is not None else sys.maxsize
        for event in blocks_from(kept.take, begin.bit, begin.window, exact=self._exact):
            if isinstance(event, bytes):
                if size < MAX_WINDOW:
                    content += event[: MAX_WINDOW - size]
                    stored = kept.take(begin.bit // 8, kept.reach)
                size += len(event)
                self.crc = crc32(event, self.crc)
                hasher.update(event)
                if size > MAX_SPAN:
                    raise FormatError(f"a deflate block has more than {MAX_SPAN} bytes")
                continue
            block = event
            if block.bit >= stop:
                break
            if block.bit - begin.bit > 16 * MAX_SPAN:
                raise FormatError(f"{2 * MAX_SPAN} bytes of deflate blocks hold next to nothing")
            if size >= self._spacing:
                self.size += size
                yield _Draft(begin, stored[: _bytes(begin, block)], content, size, hasher.intdigest())
                hasher, size, content, begin = xxhash.xxh64(), 0, b"", block
        else:
            self.end = block.bit // 8
        if self.end is None and block.bit != stop:
            raise ChecksumError("no block begins at a point of the index")
        if size:
            self.size += size
            yield _Draft(begin, stored[: _bytes(begin, block)], content, size, hasher.intdigest())


def _bytes(begin: Block, end: Block) -> int:
    return (end.bit + 7) // 8 - begin.bit // 8


class _Kept:
    """The stored bytes that were read last, since blocks are looked at by a few bytes, and twice."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self._data = b""
        self._begin = 0
        self.reach = 0
        """Offset after the last byte that was asked for."""

    def take(self, start: int, stop: int) -> bytes:
        self.reach = stop
        end = self._begin + len(self._data)
        if not self._begin <= start <= end:
            if start < self._begin:
                return self._take(start, stop)
            self._data, self._begin = b"", start
            end = start
        if stop > end:
            kept = max(self._begin, min(start, end - LOOK_BACK))
            self._data = self._data[kept - self._begin :] + self._take(end, max(stop, end + READ))
            self._begin = kept
        return self._data[start - self._begin : stop - self._begin]


def member_spans(
    take: Take,
    offset: int,
    size: int,
    *,
    gap: int = 0,
    spacing: int,
    points: Sequence[KnownPoint],
    pool: Executor,
) -> SidecarRecord:
    """Return the spans of the record of `size` bytes that is the gzip member at `offset`.

    Args:
        take: Returns stored bytes of the file; called from several threads if there are points.
        offset: Offset of the member.
        size: Bytes of the decompressed record.
        gap: Bytes that the member may have after it.
        spacing: Minimum content of a span.
        points: Some of the file's, as an index has them, in order. None is believed.
        pool: Other threads to work in.

    Raises:
        ChecksumError: The member or a point is damaged.
        TruncatedError: The file ends in the member.
        FormatError: The member is not the record alone, or has no points that suffice.
    """
    build = partial(
        _record, take, offset, range(size, size + gap + 1), max(spacing, size // MAX_SPANS), points, pool
    )
    try:
        return build(exact=False)
    except ChecksumError:
        return build(exact=True)


def _record(  # noqa: PLR0917 - see `member_spans`
    take: Take,
    offset: int,
    sizes: range,
    spacing: int,
    points: Sequence[KnownPoint],
    pool: Executor,
    *,
    exact: bool,
) -> SidecarRecord:
    begin = KnownPoint(8 * (offset + member_header_size(take(offset, offset + MAX_HEADER))), 0, bytes)
    inside = [it for it in points if it.bit > begin.bit]
    inside = [it for it in inside if it.content - inside[0].content < sizes.start]
    stretches = [
        _Stretch(take, it, stop, spacing, exact=exact)
        for it, stop in zip([begin, *inside], [*inside, None], strict=True)
    ]
    end = crc = content = 0

    def drafts() -> Iterator[_Draft]:
        nonlocal end, crc
        walked: Iterable[tuple[_Stretch, Iterable[_Draft]]] = [(stretches[0], stretches[0])]
        if inside:
            walked = _ahead(pool, _walked, stretches)
        for number, (stretch, found) in enumerate(walked):
            yield from found
            crc = combined_crc(crc, stretch.crc, stretch.size)
            if stretch.end is not None:
                end = stretch.end
                return
            if number and stretch.size != inside[number].content - inside[number - 1].content:
                raise ChecksumError("a point of the index is not where its content is")

    spans: list[Span] = []
    for length, span in _ahead(pool, _tried, drafts()):
        spans.append(span._replace(content=content))
        content += length
    trailer = take(end, end + TRAILER_SIZE)
    if len(trailer) < TRAILER_SIZE:
        raise TruncatedError("the file ends inside this gzip member")
    if trailer != struct.pack("<II", crc, content & 0xFFFFFFFF):
        raise ChecksumError("this gzip member is damaged (its checksum is not that of its content)")
    if content not in sizes:
        raise FormatError(
            f"the gzip member holds {content} bytes, the record {sizes.start}: it has no member of its own"
        )
    return SidecarRecord(offset, end + TRAILER_SIZE - offset, content, spans)


def _walked(stretch: _Stretch) -> tuple[_Stretch, list[_Draft]]:
    return stretch, [*stretch]


def _ahead(pool: Executor, function: Callable[[_T], _U], items: Iterable[_T]) -> Iterator[_U]:
    """Yield what a function returns for each item, in order; other threads call it for a few items ahead."""
    waiting: deque[Future[_U]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > AHEAD:
            yield waiting.popleft().result()
    for future in waiting:
        yield future.result()


def _tried(draft: _Draft) -> tuple[int, Span]:
    """Return the content's size, and the span, which was decoded from its point as readers do."""
    bit, window, content = draft.begin.bit, b"", b""
    decoded = partial(inflated, draft.stored, bit % 8, size=len(draft.content))
    with suppress(ChecksumError):
        content = decoded(b"")
    if content != draft.content:
        before = draft.begin.window
        window = _referred_to(before, decoded) if before else b""
        if decoded(window) != draft.content:
            raise ChecksumError("a span is not the same if it is decoded by itself")
    return draft.size, Span((bit + 7) // 8, -bit % 8, 0, draft.xxh64, window)


def _referred_to(window: bytes, decoded: Callable[[bytes], bytes]) -> bytes:
    """Return the window from the first byte on that the content refers to, with zeros for most others.

    It is decoded with windows that tell in the content where they were copied from. One byte is looked at of
    those that are copied at a time: the ones beside it may be part of them. So may the last bytes of the
    window, where what is copied goes on in the content.
    """
    before = len(window)
    low, high = (decoded(it[-before:])[::MATCH] for it in (LOW, HIGH))
    pages = (_number(low) ^ _number(high)).to_bytes(len(low), "little")
    both = bytearray(2 * len(low))
    both[IS_BIG::2], both[not IS_BIG :: 2] = low, pages
    used = bytearray(PAGE + MAX_WINDOW)
    # Bytes that were not copied are the same in both, in page 0.
    for place in array("H", bytes(both)):
        used[place] = 0xFF
    mask = _number(used[PAGE:][-before:]) | 0xFF << 8 * (before - 1)
    for _ in range(MATCH - 1):
        mask |= mask << 8 | mask >> 8
    first = ((mask & -mask).bit_length() - 1) // 8
    return (mask & _number(window)).to_bytes(before, "little")[first:]


def _number(data: Buffer) -> int:
    return int.from_bytes(data, "little")
