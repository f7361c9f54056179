"""The blocks of a deflate stream, one after another: where each begins, and its content.

Goal: places at which a stream can be entered, with zlib or isal as Python has them, which cannot stop at the
end of a block.

Plan: a decompressor stops at the end of a block that is marked as the last. So each block is decoded by
itself: from its first bit, with that mark set, and with the content before it as a dictionary. What is left
over begins with the next whole byte. The next block begins there or at one of the seven bits before:
it is tried at which of the eight a block begins. If that is not just one, or may be a block with fixed codes,
which begin at a quarter of all places, the end is found by its code. That is part of a complete prefix code:
no bit of it can be changed without another outcome, while bits after it do nothing.

Worst case: a false place, once in many thousand blocks with fixed codes. The checksum of the member does not
fit then. With `exact` the end of each block is found by its code, which takes three times as long.

Source: RFC 1951, section 3.2.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from seekwarc.errors import ChecksumError, TruncatedError
from seekwarc.format.sidecar import MAX_WINDOW
from seekwarc.frames.inflate import RAW_DEFLATE, gzip_codec
from seekwarc.frames.points import entered

__all__ = ["Block", "Take", "blocks_from"]

STORED, FIXED, DYNAMIC, INVALID = range(4)
"""Types of blocks (section 3.2.3); those of type 2 have codes of their own."""
HEADER: Final = 11
"""Bytes that hold one bit to eight, and of a block with its own codes all before these (section 3.2.7)."""
WHOLE: Final = 128
SHARES: Final = [
    sum(WHOLE >> length for length in (three & 7, three >> 3 & 7, three >> 6) if length)
    for three in range(0o1000)
]
"""How many of all codes of seven bits begin with one of three codes, by their lengths."""
STEP: Final = 16 << 10
"""Bytes that are decoded at a time: they hold at most 16 MiB."""
MAX_STEP_CONTENT: Final = 32 << 20
MAX_CODES: Final = 512
"""Holds all codes of a block, which take 320 bytes at most."""

Take = Callable[[int, int], bytes]
"""Returns [start, stop) of a file, fewer bytes only at its end."""


class Block(NamedTuple):
    """Where a block begins."""

    bit: int
    """Bits of the file before it."""
    before: tuple[bytes, ...]
    """Content that ends before it, of 32 KiB at least, or all."""

    @property
    def window(self) -> bytes:
        """The last 32 KiB of content before it."""
        return b"".join(self.before)[-MAX_WINDOW:]


def blocks_from(take: Take, bit: int, window: bytes, *, exact: bool = False) -> Iterator[Block | bytes]:
    """Yield each block from a bit on, then its content in pieces; last the end of the stream, as a block.

    Raises:
        ChecksumError: No block begins there, or one is damaged.
        TruncatedError: The file ends before the stream does.
    """
    is_last = False
    before: tuple[bytes, ...] = (window,)
    while not is_last:
        begin = Block(bit, before)
        yield begin
        head = int.from_bytes(_some(take, bit // 8, 6), "little") >> bit % 8
        is_last = bool(head & 1)
        if head >> 1 & 3 == STORED:
            start = _after_header(bit)
            sizes = head >> 8 * start - bit & 0xFFFFFFFF
            size = sizes & 0xFFFF
            content = take(start + 4, start + 4 + size)
            if sizes >> 16 ^ size != 0xFFFF or len(content) < size:
                raise ChecksumError("the size of a stored block is damaged, or the file ends in it")
            before = _followed_by(content, before)
            yield content
            bit = 8 * (start + 4 + size)
            continue
        codec = gzip_codec()
        inflater, end = codec.raw(begin.window), bit // 8
        while not inflater.eof:
            data = _some(take, end, STEP)
            try:
                content = inflater.decompress(
                    data if end > bit // 8 else _as_last(data, bit % 8), MAX_STEP_CONTENT
                )
            except codec.errors as error:
                raise ChecksumError(f"a deflate block is damaged ({error})") from error
            end += len(data) - len(inflater.unused_data)
            before = _followed_by(content, before)
            yield content
        bit = 8 * end
        if not is_last:
            data = take(end - 1, end + MAX_CODES)
            # Codes that the file cuts off cannot be judged.
            bits = set() if exact or len(data) <= MAX_CODES else _starts(data, end, Block(bit, before).window)
            bit = bits.pop() if len(bits) == 1 else _end_of_codes(take, begin, end)
    yield Block((bit + 7) // 8 * 8, before)


def _followed_by(content: bytes, before: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return 32 KiB or more that end with some content, or all there is, in up to four pieces."""
    if len(content) < MAX_WINDOW // 4:
        return (b"".join((*before, content))[-MAX_WINDOW:],)
    # Stored blocks often have 16 KiB: to join 32 after each would take most of the time.
    return (*before[-3:], content) if len(content) < MAX_WINDOW else (content[-MAX_WINDOW:],)


def _some(take: Take, start: int, size: int) -> bytes:
    data = take(start, start + size)
    if not data:
        raise TruncatedError("the file ends inside this gzip member")
    return data


def _after_header(bit: int) -> int:
    """Return the offset of what follows a block's header of three bits if that begins on a byte."""
    return (bit + 3 + 7) // 8


def _as_last(data: bytes, bit: int) -> bytes:
    return entered(bytes((data[0] | 1 << bit,)) + data[1:], bit)


def _starts(data: bytes, end: int, window: bytes) -> set[int]:
    """Return at which of eight bits a block other than one with fixed codes begins.

    The data begin with the byte before `end`.
    """
    found: dict[tuple[int, int], int] = {}
    headers = int.from_bytes(data[:HEADER], "little")
    for bit in range(1, 9):
        header = headers >> bit
        is_last, kind = header & 1, header >> 1 & 3
        if kind in (FIXED, INVALID) or (kind == DYNAMIC and not _is_complete(header >> 13)):
            continue
        try:
            zlib.decompressobj(RAW_DEFLATE, zdict=window).decompress(entered(data[bit // 8 :], bit % 8), 1)
        except (zlib.error, IndexError):
            continue
        start = 8 * (end - 1) + bit
        # The bits between the header of a stored block and the next byte are ignored.
        found[is_last, -_after_header(start) if kind == STORED else start] = start
    return {*found.values()}


def _is_complete(code_lengths: int) -> bool:
    """Tell whether the code that a block's codes are written in is a complete prefix code."""
    lengths = code_lengths >> 4 & (1 << 3 * ((code_lengths & 15) + 4)) - 1
    share = 0
    while lengths:
        share += SHARES[lengths & 0o777]
        lengths >>= 9
    return share == WHOLE


def _end_of_codes(take: Take, block: Block, end: int) -> int:
    """Return the bit after the last code of a block that ends in the byte before `end`."""
    inflater = zlib.decompressobj(RAW_DEFLATE, zdict=block.window)
    begin = block.bit // 8
    last = take(end - 1, end)[0]
    try:
        for start in range(begin, end - 1, STEP):
            data = take(start, min(start + STEP, end - 1))
            inflater.decompress(data if start > begin else _as_last(data, block.bit % 8))
        expected = inflater.copy().decompress(bytes((last,)))
    except zlib.error as error:
        # isal takes some codes that zlib refuses.
        raise ChecksumError(f"a deflate block is damaged ({error})") from error
    high = 7
    while _ends_with(inflater.copy(), last ^ 1 << high) == expected:
        if not high:
            raise ChecksumError("a deflate block is damaged: it ends before its last byte")
        high -= 1
    return 8 * (end - 1) + high + 1


def _ends_with(inflater: zlib._Decompress, last: int) -> bytes | None:
    """Return what comes with the last byte of a block, None if it does not end with that."""
    try:
        content = inflater.decompress(bytes((last,)))
    except zlib.error:
        return None
    return content if inflater.eof else None
