"""Readers of sidecars with one fault each: the independent one, with a single passage of its source exchanged."""

# A fault takes a line, however long what it exchanges is.
# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tests.support import sidecar_reader

SOURCE = Path(sidecar_reader.__file__).read_text()


class SidecarFault(NamedTuple):
    name: str
    right: str
    """A passage that the source has once."""
    wrong: str = ""


def faulty(fault: SidecarFault) -> ModuleType:
    """Return the independent reader with a fault."""
    module = ModuleType(sidecar_reader.__name__)
    exec(compile(SOURCE.replace(fault.right, fault.wrong), fault.name, "exec"), module.__dict__)
    return module


F = SidecarFault
SIDECAR_FAULTS = [
    # The file, 2
    F("the magic is not compared", '(magic, version) == (b"WARCseek", 1)', "version == 1"),
    F("the version is not compared", '(magic, version) == (b"WARCseek", 1)', 'magic == b"WARCseek"'),
    F("reserved bits have to be 0", "magic, version, _, records, spans, size, head, tail = trailer", "magic, version, reserved, records, spans, size, head, tail = trailer; check(reserved == 0)"),
    F("flags have to be 0", "_, length, size, first, _ = rows[found[0]]", "_, length, size, first, flags = rows[found[0]]; check(flags == 0)"),
    # Section 3, 1 to 7
    F("the size of the archive is not compared", "check(size == len(archive))"),
    F("the head of the archive is not compared", "check(head == hashlib.sha256(archive[:SAMPLE]).digest())"),
    F("the tail of the archive is not compared", "check(tail == hashlib.sha256(archive[-SAMPLE:]).digest())"),
    F("the head is of other bytes", "archive[:SAMPLE]", "archive[:SAMPLE - 1]"),
    F("the tail is of other bytes", "archive[-SAMPLE:]", "archive[-SAMPLE + 1:]"),
    F("there is one record", "check(found)", "check(found and len(rows) == 1)"),
    F("the first record is that of any offset", "if row[0] == offset]", "]"),
    F("a record is the one that its offset lies in", "if row[0] == offset]", "if row[0] <= offset + 1]"),
    F("the spans of a record are those of all", "stop = rows[found[0] + 1][3] if found[0] + 1 < len(rows) else spans", "stop = spans"),
    F("spans are counted from the first of the file", "SPAN.size * first : self._windows", "0 : self._windows"),
    F("the content size is not compared", "check(size == content_size and ", "check("),
    F("a record may end after the archive", "offset + length <= len(archive) and ", ""),
    F("the first span may begin anywhere in the content", "check(not self._bounds[0])"),
    F("the first block may begin anywhere", "check(bytes_of[1] == first_block(archive, offset))"),
    F("members have headers of ten bytes", "flags, at = archive[offset + 3], offset + 10", "flags, at = 0, offset + 10"),
    F("FEXTRA is overlooked", "if flags & 4:", "if False:"),
    F("names and comments are overlooked", "if flags & field:", "if False:"),
    F("FHCRC is overlooked", "return at + (2 if flags & 2 else 0)", "return at"),
    F("headers of frames have no size", "(single, 2, 4, 8)[flags >> 6]", "0 * (flags >> 6) + 1"),
    F("points may be in any order", "check(bytes_of[0] <= bytes_of[1] and all(a < b for a, b in pairwise(bytes_of[1:])))"),
    F("points may be in one byte", "all(a < b for a, b in pairwise(bytes_of[1:])))", "all(a <= b for a, b in pairwise(bytes_of[1:])))"),
    F("content may be in any order", "check(all(a < b for a, b in pairwise(self._bounds)))"),
    F("a record may go on in the next entry", "check(not following or offset + length <= following[0])"),
    F("a record may be longer than it is known to be", "check(known_length is None or length <= known_length)"),
    F("the size of a member is not compared", 'check(archive[: offset + length].endswith(struct.pack("<I", size % 2**32)))', "pass"),
    # Spans
    F("checksums are not compared", "if self._is_checked and xxhash.xxh64_intdigest(data) != self._spans[number][2]:", "if False:"),
    F("checksums are of 32 bits", "xxhash.xxh64_intdigest(data) != self._spans[number][2]", "xxhash.xxh32_intdigest(data) != self._spans[number][2]"),
    F("a window is never used", "self._content[position : position + size]", "b''"),
    F("windows begin at the first", "position, size = divmod(window, 1 << 16)", "position, size = 0, window & 0xFFFF"),
    F("windows have 512 bytes at most", "size > 32_768", "size > 512"),
    F("points begin with a byte", "data = inflate(self._archive, bit,", "data = inflate(self._archive, bit & ~7,"),
    F("bits are counted from the highest", "data = inflate(self._archive, bit,", "data = inflate(self._archive, bit // 8 * 8 + 7 - bit % 8,"),
    F("a span is read on into the next", "return data[:count]", "return data[:count + 1]"),
    F("compressed spans are read as raw", "        if window:\n", "        if False:\n"),
    F("raw spans are refused", "        if window:\n", "        if not window:\n            raise WrongError\n        if window:\n"),
    F("a compressed span is read from the beginning", "return whole.read(begin + size)[begin:]", "return whole.read(size)"),
    F("runs take their size", "stored = 1 if kind == 1 else length", "stored = length"),
    F("runs are one byte", "data += piece * length if kind else piece", "data += piece"),
    F("a span is one block", "while len(data) < size:", "if len(data) < size:"),
    F("empty blocks end a span", "if kind > 1 or length > 131_072", "if not length or kind > 1 or length > 131_072"),
    # Ranges
    F("a range is of one span", "data += self.span(number)", "data = data or self.span(number)"),
    F("a range begins with its span", "skip = skip if data else start - begin", "skip = 0"),
    F("a range ends with its span", "return data[skip : skip + stop - start]", "return data[skip:]"),
    F("a wrong span is read as zeros", "        if self._is_checked and xxhash", "        if self._is_checked and xxhash.xxh64_intdigest(data) != self._spans[number][2]: return bytes(len(data))\n        if self._is_checked and xxhash"),
]  # fmt: skip
