"""Chunked transfer coding taken off a message body that goes by piece by piece.

Source: RFC 9112, section 7.1. WARC 1.1, clause 6.3.2, defines the payload of an HTTP response as its
entity-body, which is what chunking was put round.

Real bodies break the rules. As browsers do, what came before the break is taken and the rest left. A body
that does not even begin with a chunk was not chunked, whatever its head says: crawlers often undo the
coding and keep the head.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from seekwarc.format.zstd import Buffer

__all__ = ["MAX_CHUNK_LINE", "ChunkedBody", "parse_chunk_line", "pass_chunks", "take_chunks"]

MAX_CHUNK_LINE: Final = 4 << 10
"""Longest line with a chunk's size and extensions that is believed."""

_FIRST_LINE = re.compile(rb"[ \t]*+(?=[0-9A-Fa-f])0*+([0-9A-Fa-f]{0,15}+)[ \t]*+(?:;[^\r\n]*+)?\r?\n")
# After a chunk's data stands a line break, and then the next line.
_NEXT_LINE = re.compile(rb"\r?\n" + _FIRST_LINE.pattern)


def parse_chunk_line(data: Buffer, position: int, *, first: bool) -> tuple[int, int] | None:
    """Read the line in front of a chunk.

    Args:
        data: Bytes of the body; `MAX_CHUNK_LINE` from `position` on are enough to decide.
        position: Where the body begins, or where the data of the chunk in front end.
        first: Whether it is the first chunk, in front of which no other chunk's data end.

    Returns:
        Size of the chunk and where its data begin; None where no such line ends within those bytes. A size
        of 0 marks the end of the body.
    """
    line = (_FIRST_LINE if first else _NEXT_LINE).match(data, position, position + MAX_CHUNK_LINE)
    return (int(line[1] or b"0", 16), line.end()) if line else None


_RUN: Final = 32
"""Very small chunks that are passed at once; where that fails, as many are passed one by one."""


@cache
def _runs() -> tuple[tuple[re.Pattern[bytes], int], ...]:
    """Return patterns of `_RUN` chunks whose sizes have one digit, or two; and what their lines take.

    A pattern takes a thirtieth of the time that as many lines take one by one. All lines are as long, so that
    the length of a match tells how much data is in it.
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


def pass_chunks(data: Buffer, position: int, most: int) -> tuple[int, int, int]:
    """Pass chunks that lie wholly in `data`, whatever is in them.

    Args:
        data: Bytes of the body.
        position: Where the data of a chunk end, so that a line break and the line of the next should follow.
        most: Bytes of chunk data to pass, no more.

    Returns:
        How many bytes of chunk data were passed; how many of them are the last chunk's, 0 where that is not
        known; and where those end.
    """
    passed, last, singly = 0, 0, 0
    while True:
        if not singly:
            for pattern, lines in _runs():
                while (
                    run := pattern.match(data, position)
                ) and passed + run.end() - position - lines <= most:
                    passed += run.end() - position - lines
                    position, last = run.end(), 0
            singly = _RUN
        singly -= 1
        line = _NEXT_LINE.match(data, position, position + MAX_CHUNK_LINE)
        size = int(line[1] or b"0", 16) if line else 0
        if line is None or not size or line.end() + size > len(data) or passed + size > most:
            return passed, last, position
        passed += size
        position, last = line.end() + size, size


def take_chunks(data: bytes, position: int, most: int) -> tuple[bytes, int, int]:
    """Return the data of chunks that lie wholly in `data`; for the rest see `pass_chunks`."""
    parts: list[bytes] = []
    left, last = most, 0
    # Bodies of a million chunks come by here: all that is done for one is done below.
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
    """Finds the data among the chunk sizes.

    Attributes:
        complete: Whether the last chunk has been seen.
        plain: Whether the body turned out not to be chunked at all: then everything is data.
    """

    def __init__(self) -> None:
        self.complete = False
        self.plain = False
        self._broken = False
        self._first = True
        self._held = b""
        """Bytes between two chunks, until the line that they are part of has come."""
        self._left = 0
        """Bytes of the current chunk still to come."""

    def feed(self, data: Buffer) -> list[memoryview]:
        """Take the next bytes of the body and return the parts of them that are data."""
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
                # All of the line is here, as nearly always.
                view = self._begin_chunk(line, view)
            else:
                view = self._feed_line(view, found)
        return found

    def _begin_chunk(self, line: tuple[int, int], view: memoryview) -> memoryview:
        # What follows the last chunk are trailer fields, which are no part of the body.
        self._left, begin = line
        self.complete = not self._left
        self._first = False
        return view[begin:]

    def finish(self) -> list[memoryview]:
        """Return data that was held back, once the body is over."""
        held, self._held = self._held, b""
        if self._first and held and not self.plain:
            self.plain = True
            return [memoryview(held)]
        return []

    def _feed_line(self, view: memoryview, found: list[memoryview]) -> memoryview:
        """Take bytes up to the next chunk's data; return what is left of them."""
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
