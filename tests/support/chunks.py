"""Chunked bodies, good and bad, and a simple decoder that says what is in them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import strategies as st

from seekwarc.format.chunked import MAX_CHUNK_LINE, MAX_WEIGHED, ChunkedBody
from tests.support.foreign import Foreign

HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class Reference:
    """What a decoder finds that has the whole body at once and knows of no pieces."""

    data: bytes
    plain: bool = False
    complete: bool = False
    rest: bytes = b""
    """What follows the last chunk."""
    is_doubtful: bool = False
    """Whether it is as it is stored for lack of evidence."""

    @property
    def has_problem(self) -> bool:
        return self.is_doubtful or not (self.plain or self.complete) or not is_trailer(self.rest)


def size_line(body: bytes, position: int) -> tuple[int, int] | None:
    """Read size and extensions of a chunk, a character at a time."""

    def skip(allowed: bytes) -> None:
        nonlocal position
        while position < len(body) and body[position] in allowed:
            position += 1

    begin = position
    skip(b" \t")
    digits = position
    skip(b"0123456789abcdefABCDEF")
    number = body[digits:position]
    if not number or len(number.lstrip(b"0")) > 15:
        return None
    skip(b" \t")
    if body[position : position + 1] == b";":
        while position < len(body) and body[position] not in b"\r\n":
            position += 1
    if body[position : position + 1] == b"\r":
        position += 1
    if body[position : position + 1] != b"\n":
        return None
    position += 1
    return (int(number, 16), position) if position - begin <= MAX_CHUNK_LINE else None


def taken_apart(body: bytes) -> Reference:
    """Take a body apart as RFC 9112, section 7.1, says; what came before a break is kept."""
    line = size_line(body, 0)
    data = b""
    while line is not None and line[0]:
        size, begin = line
        data += body[begin : begin + size]
        end = begin + size
        line_break = 2 if body[end : end + 2] == b"\r\n" else 1 if body[end : end + 1] == b"\n" else 0
        line = size_line(body, end + line_break) if line_break else None
        if line is not None and line[1] - end > MAX_CHUNK_LINE:
            line = None
    if line is None:
        return Reference(data)
    return Reference(data, complete=True, rest=body[line[1] :])


def is_trailer(rest: bytes) -> bool:
    """Whether these are trailer fields and a blank line, or nothing."""
    lines = rest.replace(b"\r\n", b"\n").split(b"\n")
    last = lines.pop()
    if lines and not lines[-1]:
        lines.pop()
    names = [line.partition(b":")[0].rstrip(b" \t") for line in lines if b":" in line]
    is_named = all(name and re.fullmatch(rb"[\w!#$%&'*+.^`|~-]+", name) for name in names)
    return last in (b"", b"\r") and len(names) == len(lines) and is_named and b"\r" not in b"".join(lines)


def is_cut_line(after: bytes) -> bool:
    """Whether this is a part of what comes between two chunks."""
    return re.fullmatch(rb"\r?|\r?\n[ \t]*[\da-fA-F]*[ \t]*(;[^\r\n]*)?\r?", after) is not None


def reference(body: bytes, *, truncated: bool = False, stated: bytes | None = None) -> Reference:
    """The payload of a body whose head says that it is chunked; `stated` is the payload by its digest."""
    found = taken_apart(body)
    stored = Reference(body, plain=bool(body))
    line = size_line(body, 0)
    if line is None:
        return stored
    size, begin = line
    after = body[begin + size :]
    is_strict = body[:begin].endswith(b"\r\n")
    has_end = begin + size <= len(body)
    has_next = found.complete or len(found.data) > size
    if not has_next and size:
        line_break = re.match(rb"\r?\n", after)
        following = size_line(after, line_break.end()) if line_break is not None else None
        has_next = has_end and following is not None and following[1] <= MAX_CHUNK_LINE
    if not size:
        has_next = is_trailer(found.rest) and found.rest.endswith(b"\n")
    ends_there = bool(size) and has_end and len(after) <= MAX_CHUNK_LINE and is_cut_line(after)
    is_cut = is_strict and (not has_end or (not size and after in (b"", b"\r")))
    breaks = not found.complete and not _ends_in_chunk(body)
    is_sure = is_strict and (has_next or (has_end and size > MAX_WEIGHED))
    held_to_the_cut = truncated and not is_sure and bool((size and has_next) or (is_strict and ends_there))
    if (
        stated is not None
        and not held_to_the_cut
        and len(body) <= (64 << 10 if is_sure else MAX_WEIGHED)
        and (breaks or not is_sure)
    ):
        if stated == body:
            return stored
        if stated == found.data:
            return found
    if is_sure or (size and has_next) or (is_strict and ends_there) or (is_cut and truncated):
        return found
    return replace(stored, is_doubtful=is_cut)


def _ends_in_chunk(body: bytes) -> bool:
    """Whether there are chunks up to the end of a body, the last of them cut off, or followed by no other."""
    position, first = 0, True
    while True:
        if not first:
            rest = body[position:]
            if is_cut_line(rest):
                return True
            if not rest.startswith((b"\r\n", b"\n")):
                return False
            position += 2 if rest.startswith(b"\r\n") else 1
        line = size_line(body, position)
        if line is None:
            return False
        position, first = sum(line), False
        if position > len(body):
            return True


SIZE_LINES = [
    "{:x}\r\n",
    "{:X}\r\n",
    "{:x}\n",
    "{:04x} \r\n",
    "{:040x}\r\n",
    " \t{:x}\r\n",
    "{:x};name=value\r\n",
    '{:x} ; a="b;c"\n',
    "{:x};;;\r\n",
]


ODD = [
    b"",
    b"0",
    b"0\r\n",
    b"0\r\n\r\n",
    b"0\r\nTrailer: x\r\n\r\n",
    b"000\n\n",
    b"5",
    b"5\r",
    b"5\r\n",
    b"5\r\nhello",
    b"5\r\nhello\r",
    b"5\r\nhello\r\n",
    b"5\r\nhello\r\n0",
    b"5\r\nhello\n3\nyou\n0\n\n",
    b"5\r\nhelloX\r\n0\r\n\r\n",
    b"5\r\nhello0\r\n\r\n",
    b"5\r\nhello\r\n\r\n0\r\n\r\n",
    b"5\r\nhello\r\n-1\r\nx",
    b"5\r\nhello\r\nfffffffffffffff\r\nx",
    b"5\r\nhello\r\n" + b"f" * 16 + b"\r\nx",
    b"fffffffffffffff\r\nhello",
    b"f" * 16 + b"\r\nhello",
    b"\r\n5\r\nhello\r\n0\r\n\r\n",
    b"<!doctype html>\n<p>not chunked",
    b"-5\r\nhello\r\n",
    b"0x5\r\nhello\r\n",
    b"5 5\r\nhello\r\n",
    b"5\rhello\r\n",
    b"5;\r;\nhello",
    b";\r\nhello",
    b"bed time\r\n",
    b"bed\r\ntime",
    "\u0665\r\nhello".encode(),
    b"5" * 10_000,
    b"0" * (MAX_CHUNK_LINE - 3) + b"5\r\nhello\r\n0\r\n\r\n",
    b"0" * (MAX_CHUNK_LINE - 2) + b"5\r\nhello\r\n0\r\n\r\n",
    b"5;" + b"x" * (MAX_CHUNK_LINE - 4) + b"\r\nhello\r\n0\r\n\r\n",
    b"5;" + b"x" * (MAX_CHUNK_LINE - 3) + b"\r\nhello\r\n0\r\n\r\n",
    b"5;" + b"x" * 10_000,
    b"1\r\na\r\n1;" + b"x" * (MAX_CHUNK_LINE - 6) + b"\r\nb\r\n0\r\n\r\n",
    b"1\r\na\r\n1;" + b"x" * (MAX_CHUNK_LINE - 5) + b"\r\nb\r\n0\r\n\r\n",
    b"1\r\na\r\n" + b" " * 10_000,
]
"""Bodies at the edges of what is a chunked one."""


@st.composite
def well_formed(draw: st.DrawFn, most: int = 300) -> tuple[bytes, bytes]:
    """Draw a chunked body, and its data."""
    parts = draw(st.lists(st.binary(min_size=1, max_size=most), max_size=8))
    body = b""
    for part in parts:
        line = draw(st.sampled_from(SIZE_LINES)).format(len(part))
        body += line.encode() + part + draw(st.sampled_from([b"\r\n", b"\n"]))
    body += draw(st.sampled_from([b"0\r\n", b"0\n", b"000\r\n", b"0;last\r\n"]))
    body += draw(
        st.sampled_from([b"\r\n", b"", b"Trailer: x\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n", b"garbage"])
    )
    return body, b"".join(parts)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Draw bodies: good, cut off, damaged somewhere, or nothing of the kind."""
    kind = draw(st.sampled_from(["good", "cut", "damaged", "odd", "binary", "alphabet"]))
    if kind == "odd":
        return draw(st.sampled_from(ODD))
    if kind == "binary":
        return draw(st.binary(max_size=60))
    if kind == "alphabet":
        return draw(
            st.lists(st.sampled_from([b"1", b"0", b"a", b";", b" ", b"\r", b"\n", b"\r\n"])).map(b"".join)
        )
    body, _ = draw(well_formed())
    where = draw(st.integers(0, len(body)))
    if kind == "cut":
        return body[:where]
    if kind == "damaged":
        return body[:where] + draw(st.binary(max_size=3)) + body[where + draw(st.integers(0, 3)) :]
    return body


def decode(body: bytes, cuts: list[int]) -> tuple[bytes, ChunkedBody]:
    """Feed a body in pieces, each in a buffer that is gone afterwards, as readers do."""
    decoder = ChunkedBody()
    data = b""
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    for start, stop in pairwise(edges):
        buffer = bytearray(body[start:stop])
        data += b"".join(map(bytes, decoder.feed(buffer)))
        buffer[:] = b"#" * len(buffer)
    return data, decoder


def chunked(data: bytes, sizes: Iterator[int], line: str = "{:x}\r\n") -> bytes:
    parts = []
    position = 0
    while position < len(data):
        part = data[position : position + next(sizes)]
        parts += [line.format(len(part)).encode(), part, b"\r\n"]
        position += len(part)
    return b"".join([*parts, b"0\r\n\r\n"])


def random_sizes(low: int, high: int, seed: int = 0) -> Iterator[int]:
    chance = random.Random(seed)
    while True:
        yield chance.randint(low, high)


def response(length: int) -> bytes:
    lines = [
        b"WARC/1.1",
        b"WARC-Type: response",
        b"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>",
        b"WARC-Date: 2026-01-02T03:04:05Z",
        b"WARC-Target-URI: http://example.org/",
        b"Content-Type: application/http; msgtype=response",
        b"Content-Length: %d" % length,
        b"",
        b"",
    ]
    return b"\r\n".join(lines)


def made(body: bytes, *, http: bytes = HTTP, **options: object) -> Foreign:
    """A file whose second record has a chunked body."""
    block = http + body
    file = Foreign().record(b"before")
    return file.record(block, header=response(len(block)), **options).record(b"after")
