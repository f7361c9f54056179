"""Decoding of the chunked transfer coding, for a message body that arrives piece by piece.

Source: RFC 9112, section 7.1. WARC 1.1, clause 6.3.2, defines the payload of an HTTP response as its
entity-body, that is, the body before it was chunked.

Real bodies break the rules. As in browsers, the data before the damage counts and the rest is dropped. And
many crawlers undo the coding and store the original head, so whether a body is chunked takes evidence:

- A first line that is not a chunk size: the body is as it is stored.
- A first chunk whose line ends with CRLF, and that is followed by the line of another: the body is chunked.
  Its digest cannot say otherwise, for Wget and warcio compute that with the chunk sizes in it. Only if a body
  of up to `MAX_SCANNED` bytes breaks off later, and its digest is that of all bytes, it is as it is stored.
- Anything else is in doubt: `2024` may be a chunk size, or the first line of a text. In a body of up to
  `MAX_WEIGHED` bytes the stated payload digest decides, if it fits one of the two. Without one, the body is
  chunked if a second line follows the first chunk, or the body ends where the chunk does, or where the record
  says that it was truncated; and as it is stored otherwise, so that nothing is lost.

Worst case: `MAX_WEIGHED` bytes are read before the first one is given. A first chunk that is longer is
believed if its line ends with CRLF, as every server ends it.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache, lru_cache
from typing import Final

from seekwarc.compiling import Buffer
from seekwarc.format.words import counted

__all__ = [
    "IN_DOUBT",
    "MAX_CHUNK_LINE",
    "MAX_TRAILER",
    "ChunkedBody",
    "Evidence",
    "breaks_off",
    "incomplete",
    "judge",
    "parse_chunk_line",
    "problem_after",
    "skip_chunks",
    "take_chunks",
]

MAX_CHUNK_LINE: Final = 4 << 10
"""Limit of a line with a chunk's size and extensions; a longer one is damage."""
MAX_TRAILER: Final = 64 << 10
"""Limit of the trailer fields after the last chunk."""
MAX_SCANNED: Final = 64 << 10
MAX_WEIGHED: Final = 1 << 20
UNKNOWN_SIZE: Final = 1 << 62
LINE_BREAK: Final = 2
IN_DOUBT: Final = "the body may be the beginning of one chunk: it is given as it is stored"
"""What is said of a body of which nothing tells whether it is chunked."""

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


_CUT_LINE = re.compile(rb"(?:\r?|\r?\n[ \t]*+[0-9A-Fa-f]*+[ \t]*+(?:;[^\r\n]*+)?\r?)")
"""What may follow the data of a chunk in a body that ends before the next chunk begins."""
_TRAILER = re.compile(rb"(?>(?:[!#-'*+.0-9A-Z^-z|~-]++[ \t]*+:[^\r\n]*+\r?\n)*)(?:\r?\n?)")
"""Trailer fields and a blank line, which some servers leave out."""


class Evidence(Enum):
    """What the beginning of a body says of its being chunked; see above."""

    NONE = "does not begin with a chunk size"
    AGAINST = "begins with a number that is not the size of a chunk"
    CUT = "may be part of one chunk"
    FOR = "is chunked as it seems"
    SURE = "is chunked"

    def takes_digest(self, size: int, *, breaks_off: bool, truncated: bool) -> bool:
        """Return whether the payload digest of a body of that size can overrule this."""
        if self is Evidence.SURE:
            return breaks_off and size <= MAX_SCANNED
        if self is Evidence.FOR and truncated:
            return False
        return self is not Evidence.NONE and size <= MAX_WEIGHED

    def is_chunked(self, *, truncated: bool) -> bool:
        """Return whether a body is chunked if its digest does not tell."""
        return self in (Evidence.SURE, Evidence.FOR) or (self is Evidence.CUT and truncated)


def judge(beginning: Buffer, size: int | None) -> Evidence | int:
    """Judge a body by its beginning.

    Args:
        beginning: The first bytes of the body.
        size: How many bytes the body has; None if that is not known yet.

    Returns:
        The evidence; or how many bytes of the body it takes, more than `beginning` has.
    """
    end = UNKNOWN_SIZE if size is None else size
    line = parse_chunk_line(beginning, 0, first=True)
    if line is None:
        wanted = min(end, MAX_CHUNK_LINE)
        return wanted if len(beginning) < wanted else Evidence.NONE
    data_size, begin = line
    # Servers end lines with CRLF, and texts with LF as a rule.
    is_strict = beginning[begin - 2 : begin] == b"\r\n"
    if not data_size:
        return _judge_last(beginning, begin, end) if is_strict else Evidence.AGAINST
    stop = begin + data_size
    if stop > end or data_size > MAX_WEIGHED:
        believed = UNKNOWN_SIZE if size is None else Evidence.CUT if stop > end else Evidence.SURE
        return believed if is_strict else Evidence.AGAINST
    if parse_chunk_line(beginning, stop, first=False):
        return Evidence.SURE if is_strict else Evidence.FOR
    wanted = min(end, stop + MAX_CHUNK_LINE)
    if len(beginning) < wanted:
        return wanted
    is_cut = is_strict and wanted == end and _CUT_LINE.fullmatch(beginning, stop, end) is not None
    return Evidence.FOR if is_cut else Evidence.AGAINST


def _judge_last(beginning: Buffer, begin: int, end: int) -> Evidence | int:
    """Judge a body whose first chunk is the last one."""
    wanted = min(end, begin + MAX_TRAILER)
    if len(beginning) < wanted:
        return wanted
    rest = bytes(beginning[begin:wanted])
    if wanted == end and rest in (b"", b"\r"):
        return Evidence.CUT
    return Evidence.SURE if wanted == end and _TRAILER.fullmatch(rest) else Evidence.AGAINST


def breaks_off(body: Buffer) -> bool:
    """Return whether something else than a chunk follows the first chunks of a body, before its end."""
    line = parse_chunk_line(body, 0, first=True)
    if line is None or not line[0]:
        return line is None
    _, _, position = skip_chunks(body, line[0] + line[1], UNKNOWN_SIZE)
    if position > len(body) or parse_chunk_line(body, position, first=False):
        return False
    return _CUT_LINE.fullmatch(body, position) is None


def incomplete(size: int) -> str:
    """Say what is wrong with a body that ends `size` bytes after the data of a chunk, not of the last one."""
    return "the last chunk is missing" if size <= LINE_BREAK else "the chunks break off"


def problem_after(rest: Buffer, size: int) -> str | None:
    """Say what is wrong with the `size` bytes after the last chunk, of which `rest` is the beginning."""
    if size <= MAX_TRAILER and _TRAILER.fullmatch(rest):
        return None
    return f"{counted(size, 'byte')} {'follows' if size == 1 else 'follow'} the last chunk"


TINY: Final = 15
"""Bytes of chunks that are taken together if they are equally long: of one digit."""
TINY_LINE: Final = 5
"""Bytes of their lines, with the line break before it. There are not many of that length."""
_RUN: Final = 32
"""How many very small chunks one match skips; where it fails, as many are skipped one by one."""


@cache
def _runs() -> tuple[tuple[re.Pattern[bytes], int], ...]:
    """Return patterns of `_RUN` chunks with sizes of one or of two digits, and the bytes of their lines.

    A pattern takes a thirtieth of the time of `_RUN` matches of single lines. All its lines have one length,
    so the length of a match gives the amount of chunk data.
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
        (re.compile(b"(?>(?:\r\n(?:%s)){%d})" % (sizes, _RUN), re.DOTALL), _RUN * (digits + 4))
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


def take_chunks(data: Buffer, position: int, limit: int) -> tuple[bytes, int, int]:
    """Return the data of chunks that lie wholly in `data`; arguments and the rest as for `skip_chunks`."""
    parts: list[Buffer] = []
    left, last = limit, 0
    # Bodies may have a million chunks, so the loop calls nothing but the pattern.
    match, add = _NEXT_LINE.match, parts.append
    while line := match(data, position, position + MAX_CHUNK_LINE):
        size, begin = int(line[1] or b"0", 16), line.end()
        if not size or begin + size > len(data) or size > left:
            break
        if size == last and size <= TINY and begin - position == TINY_LINE:
            alike = _take_alike(data, position, size, left)
            add(alike)
            left -= len(alike)
            position += len(alike) // size * (TINY_LINE + size)
            continue
        position, last = begin + size, size
        left -= size
        add(data[begin:position])
    return b"".join(parts), last, position


@lru_cache(1 << 10)
def _alike(line: bytes, size: int) -> re.Pattern[bytes]:
    return re.compile(b"(?>(?:%b.{%d})+)" % (re.escape(line), size), re.DOTALL)


def _take_alike(data: Buffer, position: int, size: int, limit: int) -> bytes:
    """Return the data of tiny chunks from a position on, the first of which is there, with the same line."""
    begin, length = position + TINY_LINE, TINY_LINE + size
    run = _alike(bytes(data[position:begin]), size).match(data, position)
    count = min((run.end() - position) // length if run is not None else 0, limit // size)
    found = bytearray(count * size)
    for column in range(size):
        found[column::size] = data[begin + column : position + count * length : length]
    return bytes(found)


class ChunkedBody:
    """Separates the data of a chunked body from its sizes."""

    def __init__(self) -> None:
        self.complete = False
        """Whether the last chunk came."""
        self.broken = False
        """Whether something else came where a chunk should begin."""
        self.rest = b""
        """What followed the last chunk, up to a byte more than `MAX_TRAILER`."""
        self._first = True
        self._held = b""
        """The beginning of a line between two chunks, until the rest of the line is fed."""
        self._left = 0
        """Bytes of the current chunk still to come."""
        self._after = 0
        """Bytes that were fed after the data of the latest chunk, or after the line of the last one."""

    @property
    def problem(self) -> str | None:
        """What is wrong with the chunks, if no more is fed; None if nothing is."""
        if self.complete:
            return problem_after(self.rest, self._after)
        return incomplete(self._after)

    def feed(self, data: Buffer) -> list[memoryview]:
        """Feed the next bytes of the body and return the parts of them that are data."""
        view = memoryview(data)
        found: list[memoryview] = []
        while view and not self.complete and not self.broken:
            if self._left:
                found.append(view[: self._left])
                self._left -= len(found[-1])
                view = view[len(found[-1]) :]
                self._after = 0
                if not self._left and len(found[-1]) <= TINY:
                    taken, _, stop = take_chunks(view, 0, len(view))
                    found += [memoryview(taken)] if taken else []
                    view = view[stop:]
            elif not self._held and (line := parse_chunk_line(view, 0, first=self._first)):
                # The whole line is in this piece, as it nearly always is.
                view = self._begin_chunk(line, view)
            else:
                view = self._feed_line(view)
        self._after += len(view)
        if self.complete and view:
            self.rest += bytes(view[: MAX_TRAILER + 1 - len(self.rest)])
        return found

    def _begin_chunk(self, line: tuple[int, int], view: memoryview) -> memoryview:
        # The last chunk is followed by trailer fields, which are not part of the body.
        self._left, begin = line
        self._after = 0
        self.complete = not self._left
        self._first = False
        return view[begin:]

    def _feed_line(self, view: memoryview) -> memoryview:
        held = self._held + bytes(view[: MAX_CHUNK_LINE + 1 - len(self._held)])
        # The first line ends with a line break; any other begins with one as well.
        over = held.count(b"\n", 0, MAX_CHUNK_LINE) > (not self._first) or len(held) > MAX_CHUNK_LINE
        if not over:
            self._held = held
            self._after = len(held)
            return view[len(view) :]
        line = parse_chunk_line(held, 0, first=self._first)
        if line is not None:
            view = self._begin_chunk((line[0], line[1] - len(self._held)), view)
        else:
            self.broken = True
            self._after = len(self._held)
        self._held = b""
        return view
