"""Decoding of the chunked transfer coding, for a message body that arrives piece by piece.

Source: RFC 9112, section 7.1. WARC 1.1, clause 6.3.2, defines the payload of an HTTP response as its
entity-body, that is, the body before it was chunked.

Real bodies break the rules. As in browsers, the data before the damage counts and the rest is dropped. A body
that does not even begin with a chunk size is not chunked, whatever its head says: many crawlers decode the
body and store the original head.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from seekwarc.compiling import Buffer

__all__ = ["MAX_CHUNK_LINE", "ChunkedBody", "parse_chunk_line", "skip_chunks", "take_chunks"]

MAX_CHUNK_LINE: Final = 4 << 10
"""Limit of a line with a chunk's size and extensions; a longer one is damage."""

_FIRST_LINE = re.compile(rb"[ \t]*+(?=[0-9A-Fa-f])0*+([0-9A-Fa-f]{0,15}+)[ \t]*+(?:;[^\r\n]*+)?\r?\n")
# A chunk's data are followed by a line break, then by the next line.
_NEXT_LINE = re.compile(rb"\r?\n" + _FIRST_LINE.pattern)


def parse_chunk_line(data: Buffer, position: int, *, first: bool) -> tuple[int, int] | None:
    """Parse the line before a chunk: return the chunk's size and where its data begin.

    The result is None if no such line ends within `MAX_CHUNK_LINE` bytes from `position` on, where the data
    of the previous chunk end. A size of 0 marks the end of the body.
    """
    line = (_FIRST_LINE if first else _NEXT_LINE).match(data, position, position + MAX_CHUNK_LINE)
    return (int(line[1] or b"0", 16), line.end()) if line else None


_RUN: Final = 32
"""How many very small chunks one match skips; where it fails, as many are skipped one by one."""


@cache
def _runs() -> tuple[tuple[re.Pattern[bytes], int], ...]:
    """Return patterns of `_RUN` chunks with sizes of one or of two digits, and the bytes of their lines.

    A pattern takes a thirtieth of the time of `_RUN` matches of single lines. All its lines have one length,
    so the length of a match tells how much chunk data it holds.
    """

    def either_case(digit: int) -> bytes:
        return b"[%x%X]" % (digit, digit) if digit > 9 else b"%x" % digit

    def ending(size: int) -> bytes:
        return either_case(size % 16) + b"\r\n.{%d}" % size

    one = b"|".join(map(ending, range(1, 16)))
    two = b"|".join(
        either_case(high) + b"(?:" + b"|".join(map(ending, range(16 * high, 16 * high + 16))) + b")"
        for high in range(1, 16)
    )
    return tuple(
        (re.compile(b"(?:\r\n(?:%s)){%d}+" % (sizes, _RUN), re.DOTALL), _RUN * (digits + 4))
        for digits, sizes in ((1, one), (2, two))
    )


def skip_chunks(data: Buffer, position: int, limit: int) -> tuple[int, int, int]:
    """Skip chunks that lie wholly in `data`, from the end of one chunk's data on, without looking at theirs.

    Some servers send millions of chunks of a few bytes, so the time for a chunk matters. Runs of such chunks
    are skipped by one regular expression; the loop skips what is left, one chunk at a time, and after `_RUN`
    of them tries the expressions again. A failed attempt thus costs little, whatever the sizes are.

    Returns:
        Bytes of chunk data that were skipped, at most `limit`; how many of them belong to the last chunk, or
        0 if unknown; and where its data end.
    """
    passed, last, singly = 0, 0, 0
    while True:
        if not singly:
            for pattern, lines in _runs():
                while (
                    run := pattern.match(data, position)
                ) and passed + run.end() - position - lines <= limit:
                    passed += run.end() - position - lines
                    position, last = run.end(), 0
            singly = _RUN
        singly -= 1
        line = _NEXT_LINE.match(data, position, position + MAX_CHUNK_LINE)
        size = int(line[1] or b"0", 16) if line else 0
        if line is None or not size or line.end() + size > len(data) or passed + size > limit:
            return passed, last, position
        passed += size
        position, last = line.end() + size, size


def take_chunks(data: bytes, position: int, limit: int) -> tuple[bytes, int, int]:
    """Return the data of chunks that lie wholly in `data`; arguments and the rest as for `skip_chunks`."""
    parts: list[bytes] = []
    left, last = limit, 0
    # Bodies may have a million chunks, so the loop calls nothing but the pattern.
    match, add = _NEXT_LINE.match, parts.append
    while line := match(data, position, position + MAX_CHUNK_LINE):
        size, begin = int(line[1] or b"0", 16), line.end()
        if not size or begin + size > len(data) or size > left:
            break
        position, last = begin + size, size
        left -= size
        add(data[begin:position])
    return b"".join(parts), last, position


class ChunkedBody:
    """Separates the data of a chunked body from its sizes; a `plain` one is not chunked at all."""

    def __init__(self) -> None:
        self.complete = False
        self.plain = False
        self._broken = False
        self._first = True
        self._held = b""
        """The beginning of a line between two chunks, until the rest of the line is fed."""
        self._left = 0
        """Bytes of the current chunk still to come."""

    def feed(self, data: Buffer) -> list[memoryview]:
        """Feed the next bytes of the body and return the parts of them that are data."""
        view = memoryview(data)
        found: list[memoryview] = []
        while view and not self.complete and not self._broken:
            if self.plain:
                found.append(view)
                break
            if self._left:
                found.append(view[: self._left])
                self._left -= len(found[-1])
                view = view[len(found[-1]) :]
            elif not self._held and (line := parse_chunk_line(view, 0, first=self._first)):
                # The whole line is in this piece, as it nearly always is.
                view = self._begin_chunk(line, view)
            else:
                view = self._feed_line(view, found)
        return found

    def _begin_chunk(self, line: tuple[int, int], view: memoryview) -> memoryview:
        # The last chunk is followed by trailer fields, which are not part of the body.
        self._left, begin = line
        self.complete = not self._left
        self._first = False
        return view[begin:]

    def finish(self) -> list[memoryview]:
        """Return data that was held back, when the body has ended."""
        held, self._held = self._held, b""
        if self._first and held and not self.plain:
            self.plain = True
            return [memoryview(held)]
        return []

    def _feed_line(self, view: memoryview, found: list[memoryview]) -> memoryview:
        held = self._held + bytes(view[: MAX_CHUNK_LINE + 1 - len(self._held)])
        # The first line ends with a line break; any other begins with one as well.
        over = held.count(b"\n", 0, MAX_CHUNK_LINE) > (not self._first) or len(held) > MAX_CHUNK_LINE
        if not over:
            self._held = held
            return view[len(view) :]
        line = parse_chunk_line(held, 0, first=self._first)
        if line is not None:
            view = self._begin_chunk((line[0], line[1] - len(self._held)), view)
        elif self._first:
            self.plain = True
            if self._held:
                found.append(memoryview(self._held))
        else:
            self._broken = True
        self._held = b""
        return view
