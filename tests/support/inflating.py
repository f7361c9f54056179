"""Deflate by the book (RFC 1951), in pure Python: from any bit on, with note of where blocks begin."""

from __future__ import annotations

from collections.abc import Callable

LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115]
LENGTHS += [131, 163, 195, 227, 258]
LENGTH_BITS = [0] * 8 + [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4 + [5] * 4 + [0]
DISTANCES = [1, 2, 3, 4, *(base * 2**n + 1 for n in range(1, 14) for base in (2, 3))]
DISTANCE_BITS = [0, 0, 0, 0, *(n for n in range(1, 14) for _ in range(2))]
ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

Codes = tuple[int, list[tuple[int, int]]]
"""How many bits decide, and for each value of these the symbol and the length of its code, or 0."""


def codes(lengths: list[int]) -> Codes:
    """Return what the bits that come next mean."""
    width = max(lengths)
    found = [(0, 0)] * (1 << width)
    code = 0
    for length in range(1, width + 1):
        for symbol, other in enumerate(lengths):
            if other == length:
                # The first bit of a code is its highest.
                first = int(f"{code:0{length}b}"[::-1], 2)
                found[first :: 1 << length] = [(symbol, length)] * (1 << width - length)
                code += 1
        code <<= 1
    return width, found


FIXED = codes([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8), codes([5] * 30)


class Bits:
    """Bits of some bytes, the lowest of each first."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position

    def peek(self, count: int) -> int:
        start = self.position >> 3
        value = int.from_bytes(self.data[start : start + 3], "little") >> (self.position & 7)
        return value & ((1 << count) - 1)

    def skip(self, count: int) -> None:
        self.position += count
        assert self.position <= 8 * len(self.data), "the data end"

    def take(self, count: int) -> int:
        value = self.peek(count)
        self.skip(count)
        return value

    def symbol(self, table: Codes) -> int:
        width, found = table
        symbol, length = found[self.peek(width)]
        assert length, "no such code"
        self.skip(length)
        return symbol

    def tables(self) -> tuple[Codes, Codes]:
        literals, distances, count = self.take(5) + 257, self.take(5) + 1, self.take(4) + 4
        lengths = [0] * 19
        for symbol in ORDER[:count]:
            lengths[symbol] = self.take(3)
        table = codes(lengths)
        found: list[int] = []
        while len(found) < literals + distances:
            symbol = self.symbol(table)
            if symbol == 16:
                found += [found[-1]] * (3 + self.take(2))
            elif symbol > 16:
                found += [0] * (3 + self.take(3) if symbol == 17 else 11 + self.take(7))
            else:
                found.append(symbol)
        return codes(found[:literals]), codes(found[literals:])


def inflate(
    data: bytes,
    bit: int = 0,
    window: bytes = b"",
    size: int | None = None,
    on_block: Callable[[int, int, int], object] = lambda *_: None,
) -> bytes:
    """Return what a stream holds from a bit on: all of it, or at least `size` bytes.

    `on_block` is told where each block begins: at which bit, after how much content, and of which type.
    """
    bits, out, is_last = Bits(data, bit), bytearray(window), False
    while not is_last and (size is None or len(out) - len(window) < size):
        begin = bits.position
        is_last, kind = bool(bits.take(1)), bits.take(2)
        on_block(begin, len(out) - len(window), kind)
        if kind == 0:
            start = (bits.position + 7) // 8
            count = int.from_bytes(data[start : start + 2], "little")
            assert count ^ 0xFFFF == int.from_bytes(data[start + 2 : start + 4], "little")
            out += data[start + 4 : start + 4 + count]
            bits.position = 8 * (start + 4 + count)
            continue
        literals, distances = FIXED if kind == 1 else bits.tables()
        while (symbol := bits.symbol(literals)) != 256:
            if symbol < 256:
                out.append(symbol)
                continue
            length = LENGTHS[symbol - 257] + bits.take(LENGTH_BITS[symbol - 257])
            symbol = bits.symbol(distances)
            distance = DISTANCES[symbol] + bits.take(DISTANCE_BITS[symbol])
            for _ in range(length):
                out.append(out[-distance])
    return bytes(out[len(window) :])
