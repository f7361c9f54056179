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
    # The file in the Seekable Format, 2
    F("any last bytes are a footer", "magic == 0x8F92EAB1 and "),
    F("the footer is big-endian", 'struct.Struct("<IBI")', 'struct.Struct(">IBI")'),
    F("Reserved_Bits are ignored", "descriptor & 0xFC == 0x80", "descriptor & 0x80 == 0x80"),
    F("Unused_Bits have to be 0", "descriptor & 0xFC == 0x80", "descriptor == 0x80"),
    F("a table needs no checksums", "    check(magic == 0x8F92EAB1", "    if descriptor == 0: return zstandard.ZstdDecompressor().stream_reader(sidecar, read_across_frames=True).read()\n    check(magic == 0x8F92EAB1"),
    F("the table has no head", 'check(struct.unpack_from("<II", sidecar, begin) == (0x184D2A5E, 12 * count + 9))'),
    F("the magic of the table is not compared", 'struct.unpack_from("<II", sidecar, begin) == (0x184D2A5E, 12 * count + 9)', 'struct.unpack_from("<II", sidecar, begin)[1] == 12 * count + 9'),
    F("the size of the table is not compared", 'struct.unpack_from("<II", sidecar, begin) == (0x184D2A5E, 12 * count + 9)', 'struct.unpack_from("<II", sidecar, begin)[0] == 0x184D2A5E'),
    F("the content sizes of frames are not compared", "check(len(frame) == size and ", "check("),
    F("the checksums of frames are not compared", "len(frame) == size and xxhash.xxh64_intdigest(frame) % 2**32 == checksum", "len(frame) == size"),
    F("the checksums of frames are the upper half", "xxhash.xxh64_intdigest(frame) % 2**32 == checksum", "xxhash.xxh64_intdigest(frame) >> 32 == checksum"),
    F("frames need not all be listed", "check(position == begin)"),
    F("there is no padding", 'frame = b"" if is_skippable else zstandard', "frame = zstandard"),
    F("padding is content", 'frame = b"" if is_skippable else', "frame = part[8:] if is_skippable else"),
    F("padding is not listed", "        position += stored\n", "        position += 0 if is_skippable else stored\n"),
    F("there is one frame", "        content += frame\n", "        content = content or frame\n"),
    F("the last frame has all that there is", "        content += frame\n", "        content = frame\n"),
    # Trailer, records and spans, 2.1 to 2.3
    F("the trailer is big-endian", '"<8sIIQQQ32s32s"', '">8sIIQQQ32s32s"'),
    F("records are big-endian", 'struct.Struct("<5Q")', 'struct.Struct(">5Q")'),
    F("spans are big-endian", 'struct.Struct("<4Q")', 'struct.Struct(">4Q")'),
    F("spans are counted before records", "magic, version, _, records, spans, size, head, tail = trailer", "magic, version, _, spans, records, size, head, tail = trailer"),
    F("the tail comes before the head", "magic, version, _, records, spans, size, head, tail = trailer", "magic, version, _, records, spans, size, tail, head = trailer"),
    F("the head of a short archive is filled up", "archive[:SAMPLE]", "archive[:SAMPLE].ljust(SAMPLE, b'\\0')"),
    F("the tail of a short archive is filled up", "archive[-SAMPLE:]", "archive[-SAMPLE:].rjust(SAMPLE, b'\\0')"),
    F("half of the head's digest is compared", "head == hashlib.sha256(archive[:SAMPLE]).digest()", "head[:16] == hashlib.sha256(archive[:SAMPLE]).digest()[:16]"),
    F("half of the tail's digest is compared", "tail == hashlib.sha256(archive[-SAMPLE:]).digest()", "tail[:16] == hashlib.sha256(archive[-SAMPLE:]).digest()[:16]"),
    F("an archive may be longer than stated", "check(size == len(archive))", "check(size <= len(archive))"),
    F("an archive may be shorter than stated", "check(size == len(archive))", "check(size >= len(archive))"),
    F("spans come after records", "self._windows = begin - SPAN.size * spans", "self._windows = begin - SPAN.size * spans + RECORD.size * records"),
    F("the parts need not fit", "check(self._windows >= 0)"),
    F("records may be in any order", "a[0] < b[0] and "),
    F("a record may have no spans", " and a[3] < b[3]"),
    F("length and content size are exchanged", "_, length, size, first, _ = rows[found[0]]", "_, size, length, first, _ = rows[found[0]]"),
    F("the length is where the record ends", "_, length, size, first, _ = rows[found[0]]", "_, length, size, first, _ = rows[found[0]]; length -= offset"),
    F("the content size has no trailer", "check(size == content_size and ", "check(size == content_size - 4 and "),
    F("points are counted from the record", "self._spans = [*SPAN.iter_unpack(part)]", "self._spans = [(span[0] + 8 * offset, *span[1:]) for span in SPAN.iter_unpack(part)]"),
    F("points are counted from the first block", "bit, begin, _, window = self._spans[number]", "bit, begin, _, window = self._spans[number]; bit -= self._spans[0][0] - 8 * self._offset"),
    F("a point is where its span ends", "bit, _, _, window = self._spans[number]", "bit, window = self._spans[number - 1][0], self._spans[number][3]"),
    F("the first block begins with the record", "check(bytes_of[1] == first_block(archive, offset))", "check(bytes_of[1] == offset)"),
    F("the first block may begin earlier", "check(bytes_of[1] == first_block(archive, offset))", "check(bytes_of[1] <= first_block(archive, offset))"),
    F("a record has to end before the next entry", "offset + length <= following[0]", "offset + length < following[0]"),
    F("a record has to be shorter than it is known to be", "length <= known_length", "length < known_length"),
    F("a record has to end before the archive", "offset + length <= len(archive)", "offset + length < len(archive)"),
    F("a span may take any number of bytes", "check(all(b - a <= 9 * (stop - start) // 8 + 1024 for (a, b), (start, stop) in sizes))"),
    F("a span takes as many bytes as it has", "9 * (stop - start) // 8 + 1024", "stop - start"),
    F("the size of a member is big-endian", 'struct.pack("<I", size % 2**32)', 'struct.pack(">I", size % 2**32)'),
    # Headers
    F("FEXTRA has a big-endian size", 'int.from_bytes(archive[at : at + 2], "little")\n    for', 'int.from_bytes(archive[at : at + 2], "big")\n    for'),
    F("the size of FEXTRA counts itself", "at += 2 + int.from_bytes", "at += int.from_bytes"),
    F("comments are overlooked", "for field in (8, 16):", "for field in (8,):"),
    F("names end before their zero", 'archive.find(b"\\0", at) + 1', 'archive.find(b"\\0", at)'),
    F("FHCRC has four bytes", "(2 if flags & 2 else 0)", "(4 if flags & 2 else 0)"),
    F("Window_Descriptor is overlooked", "offset + 6 - single", "offset + 5"),
    # Windows and blocks
    F("windows are zeros", "self._content[position : position + size]", "bytes(size)"),
    F("windows are counted from the last", "position, size = divmod(window, 1 << 16)", "position, size = divmod(window, 1 << 16); position = self._windows - position - size"),
    F("size and position of a window are exchanged", "position, size = divmod(window, 1 << 16)", "size, position = divmod(window, 1 << 16)"),
    F("the window has 2 bytes less", "self._content[position : position + size]", "self._content[position : position + size - 2]"),
    F("the seed of checksums is 1", "xxhash.xxh64_intdigest(data) != self._spans[number][2]", "xxhash.xxh64_intdigest(data, 1) != self._spans[number][2]"),
    F("points in frames are bytes", "position, data = bit // 8, b", "position, data = bit, b"),
    F("block headers are big-endian", 'self._archive[position : position + 3], "little"', 'self._archive[position : position + 3], "big"'),
    F("block headers have four bytes", "position += 3 + stored", "position += 4 + stored"),
    F("the type of a block is its lowest bits", "kind, length = header >> 1 & 3, header >> 3", "kind, length = header & 3, header >> 3"),
    F("blocks are shorter than 128 KiB", "length > 131_072 or", "length >= 131_072 or"),
    F("compressed blocks end a frame's use", "        if window:\n", "        if window == 0xFFFE:\n"),
    F("a compressed span is a frame", "stream_reader(self._archive[self._offset :])", "stream_reader(self._archive[bit // 8 :])"),
]  # fmt: skip
