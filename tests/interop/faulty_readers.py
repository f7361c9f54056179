"""Readers with one fault each: the independent reader, with a single passage of its source exchanged.

Each is an error that an implementer may make, and each has a sample by which the conformance kit finds it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from conformance.answers import Ask
from conformance.command import Ended, too_long

from tests.interop import independent_reader
from tests.support.vectors import sha256

SOURCE = Path(independent_reader.__file__).read_text()
CRASHED = 134
CRASHES = (MemoryError, struct.error)
"""What ends a reader that asks for too much, or for what is not there."""


class Fault(NamedTuple):
    name: str
    sample: str
    """By which it is found."""
    right: str
    """A passage that the source has once."""
    wrong: str = ""


def faulty(fault: Fault) -> ModuleType:
    """Return the independent reader with a fault."""
    assert SOURCE.count(fault.right) == 1, f"the reader has changed: {fault.name}"
    module = ModuleType(independent_reader.__name__)
    exec(compile(SOURCE.replace(fault.right, fault.wrong), fault.name, "exec"), module.__dict__)
    return module


def asking(module: ModuleType) -> Ask:
    """Return an implementation that answers in this process; see `conformance.answers.Ask`."""

    def ask(words: Sequence[str], max_output: int) -> Ended:
        question, path, *numbers = words
        output, status, message = b"", 0, ""
        try:
            reader = module.Reader(Path(path).read_bytes())
            if question == "records":
                for it in reader.in_order():
                    line = {"offset": it.offset, "length": it.length, "size": len(it.block)}
                    output += json.dumps(line | {"sha256": sha256(it.block)}).encode() + b"\n"
            else:
                offset, length, start, stop = (None if it == "-" else int(it) for it in numbers)
                output = reader.pread(reader.record_at(offset, length), start, stop)
        except module.Damage as error:
            status, message = 1, str(error)
        except CRASHES as error:
            status, message = CRASHED, repr(error)
        broken = too_long(max_output) if len(output) > max_output else ""
        return Ended(status, output[:max_output], message, broken)

    return ask


# Passages that several faults exchange.
END_AND_SIZE = "if frame.end != entry.end or len(content) != entry.content_size:"
DECODED = "content = _decode(data,"
STRIPPED = """\
if data[4:5] and data[4] & 4: data = data[:4] + bytes([data[4] & ~4]) + data[5:-4]
        content = _decode(data,"""
UNNAMED = """\
if data[4:5] and data[4] & 0x23 == 0x23: data = data[:4] + bytes([data[4] & ~3]) + data[9:]
        content = _decode(data,"""

FAULTS = [
    # Frames, R1 and R27
    Fault("an RLE block has its bytes in the file", "every-large", "(1 if kind == 1 else length)", "length"),
    Fault("Content_Checksum_Flag is ignored", "foreign-no-content-checksum", "at + 4 * checked", "at + 4"),
    Fault("256 is not added", "large", " + (256 if width == 2 else 0)"),
    Fault(
        "Frame_Content_Size has four bytes at most",
        "large-wide-content-sizes",
        "(single, 2, 4, 8)",
        "(single, 2, 4, 4)",
    ),
    Fault("Window_Descriptor is overlooked", "foreign-no-content-size", " + (1 - single)"),
    Fault("Dictionary_ID is overlooked", "dictionary-large", " + (0, 1, 2, 4)[flags & 3]"),
    Fault(
        "frames are used whose sum is not met",
        "damaged-cut-between-frames",
        "[] if total else frames",
        "frames",
    ),
    Fault(
        "an empty frame ends the file",
        "foreign-empty-frame-inside",
        "piece = self.content(frame)\n",
        "piece = self.content(frame)\n                if frame.magic == FRAME and not piece: break\n",
    ),
    Fault(
        "skippable frames are those that are known",
        "foreign-extension-inside",
        "magic & ~15 == 0x184D2A50",
        "magic in (0x184D2A50, 0x184D2A5D, TABLE)",
    ),
    Fault(
        "the record header is one frame",
        "foreign-header-in-two-frames",
        "while BLANK_LINE not in record.header and",
        "while not record.header and",
    ),
    Fault(
        "Content_Checksum is not compared",
        "damaged-checksum",
        DECODED,
        STRIPPED,
    ),
    Fault(
        "content is allocated as stated",
        "claimed-content",
        DECODED,
        "bytearray(frame.content_size or 0)\n        " + DECODED,
    ),
    # Records, R2, R3, R5 and R9
    Fault(
        "a file without a record is no error",
        "damaged-no-record",
        'if damage or not frames:\n            raise damage or Damage("the file holds no record")',
        "if damage: raise damage",
    ),
    Fault(
        "an error after the last record is kept quiet",
        "large-file-table-cut-off",
        "if damage or not frames:",
        "if not frames:",
    ),
    Fault(
        "a file may end between two frames of a record",
        "damaged-cut-between-frames",
        'raise damage or Damage(f"the file ends within the record at {record.offset}")',
        "if damage: raise damage\n                at = len(content)",
    ),
    Fault(
        "what is not a frame ends the file",
        "damaged-bytes-at-end",
        "while start < len(self.data):",
        'while self.data[start + 1 : start + 4] in (b"\\xb5\\x2f\\xfd", b"\\x2a\\x4d\\x18"):',
    ),
    Fault(
        "the block is allocated as stated",
        "claimed-block",
        "at = block + record.size if",
        "at = block + len(bytearray(record.size)) if",
    ),
    Fault(
        "the trailer has four bytes",
        "foreign-odd-trailer",
        'at = frames[last][0] - len(content[at : frames[last][0]].lstrip(b"\\r\\n"))',
        "at += 4",
    ),
    Fault("a frame of line breaks begins a record", "foreign-long-trailer", "at = end  #", "break  #"),
    Fault(
        "what follows a record in its frame is passed over",
        "foreign-shared-frame",
        'at = frames[last][0] - len(content[at : frames[last][0]].lstrip(b"\\r\\n"))',
        "at = frames[last][0]",
    ),
    Fault("a length includes the file table", "large", "if table and table.start == end", "if False"),
    Fault("a length ends with the last frame", "every-large", "while end < following:", "while False:"),
    Fault(
        "a table of R ends its length", "large-one-small", "table.anchor < offset:", "table.anchor <= offset:"
    ),
    Fault(
        "a trailer has to follow a block",
        "foreign-no-trailer",
        "            record.block = bytes(content[block:at])\n",
        "            record.block = bytes(content[block:at])\n"
        '            if content[at : at + 2] != b"\\r\\n": raise Damage("no trailer")\n',
    ),
    # Headers, R29
    Fault(
        "WARC/ is in capitals",
        "large-warc-in-any-case",
        'self.header[:5].upper() == b"WARC/"',
        'self.header[:5] == b"WARC/"',
    ),
    Fault(
        "names of fields have one spelling",
        "large-header-names-in-any-case",
        'name.strip().lower() == b"content-length"',
        'name.strip() == b"Content-Length"',
    ),
    Fault(
        "the last Content-Length counts",
        "large-two-content-lengths",
        "for line in fields:",
        "for line in fields[::-1]:",
    ),
    # Dictionaries, R6, R7 and R28
    Fault(
        "a dictionary is taken for one that is named, though the file has none",
        "damaged-dictionary-missing",
        DECODED,
        UNNAMED,
    ),
    Fault(
        "bytes after the frame of a dictionary are passed over",
        "dictionary-bytes-after",
        'self.content(self.frame_at(8)) if self.frame_at(8).end == self.begin else b""',
        "self.content(self.frame_at(8))",
    ),
    Fault("the ID of a dictionary may be 0", "dictionary-id-0", " or stored[4:8] == bytes(4)"),
    Fault(
        "a dictionary without a magic number is content",
        "dictionary-no-magic-number",
        SOURCE[SOURCE.index("if stored[:4] !=") : SOURCE.index("\n\n    def frame_at")],
        "self.dictionary = zstandard.ZstdCompressionDict(stored)",
    ),
    Fault(
        "an empty dictionary is none",
        "dictionary-empty",
        'data.startswith(b"\\x5d\\x2a\\x4d\\x18")',
        'data.startswith(b"\\x5d\\x2a\\x4d\\x18") and data[4:8] != bytes(4)',
    ),
    Fault(
        "a compressed dictionary is used as it is",
        "dictionary-compressed",
        'if stored.startswith(b"\\x28\\xb5\\x2f\\xfd"):',
        "if False:",
    ),
    Fault(
        "a dictionary has to state its size",
        "foreign-dictionary-no-size",
        "limit = MAX_CONTENT if frame.content_size is None else frame.content_size",
        "limit = frame.content_size or 0",
    ),
    Fault(
        "the last dictionary is taken",
        "foreign-dictionary-late-other",
        "stored = data[8 : self.begin]\n",
        "last = [it for it in self.frames(0) if it.magic == 0x184D2A5D][-1]\n"
        "            stored = data[last.start + 8 : last.end]\n",
    ),
    Fault(
        "the ID of a dictionary is not compared",
        "damaged-dictionary-other",
        DECODED,
        UNNAMED,
    ),
    Fault(
        "a dictionary is allocated as stated",
        "claimed-dictionary",
        "stored = self.content(self.frame_at(8))",
        "stored = (bytearray(self.frame_at(8).content_size or 0), self.content(self.frame_at(8)))[1]",
    ),
    # Parsing, 6.1
    Fault(
        "Seekable_Magic_Number is not checked",
        "displaced-footer",
        " or self._number(end - 4, 4) != 0x8F92EAB1",
    ),
    Fault("Reserved_Bits are ignored", "displaced-reserved-bit", "descriptor & 0x7C or "),
    Fault("the highest of the Reserved_Bits is ignored", "displaced-reserved-bit", "0x7C", "0x3C"),
    Fault(
        "entries are read before their number is compared",
        "claimed-entries",
        "if count * 8 > start - lowest or ",
        'if struct.unpack_from(f"<{count * width}I", self.data, start + 8) and False or ',
    ),
    Fault(
        "Skippable_Magic_Number is not checked",
        "displaced-magic-number",
        "self.data[start : start + 8] != head",
        "self.data[start + 4 : start + 8] != head[4:]",
    ),
    Fault(
        "Frame_Size is not checked",
        "displaced-frame-size",
        "self.data[start : start + 8] != head",
        "self.data[start : start + 4] != head[:4]",
    ),
    Fault(
        "an entry may have content from nothing",
        "displaced-from-nothing",
        "any(not row[0] and row[1] for row in rows)",
        "False",
    ),
    Fault("the anchor may be negative", "displaced-anchor-negative", " or anchor < lowest"),
    Fault(
        "entries are counted from the record on",
        "displaced-anchor-before",
        "anchor = start - sum(row[0] for row in rows)",
        "anchor = lowest or start - sum(row[0] for row in rows)",
    ),
    Fault(
        "sizes are added in 32 bits",
        "displaced-anchor-wraps",
        "start - sum(row[0] for row in rows)",
        "start - (sum(row[0] for row in rows) & 0xFFFFFFFF)",
    ),
    # Association, 6.2
    Fault("the anchor is not compared with R", "displaced-anchor-after", "table.anchor == offset and "),
    Fault(
        "the record size is not compared",
        "displaced-sum",
        " and sum(e.content_size or 0 for e in table.entries) == total",
    ),
    Fault(
        "content sizes are added in 32 bits",
        "displaced-sum-wraps",
        "sum(e.content_size or 0 for e in table.entries) == total",
        "sum(e.content_size or 0 for e in table.entries) & 0xFFFFFFFF == total",
    ),
    Fault(
        "a record in a file table begins at the next entry",
        "displaced-file-table-begin",
        " and rest[0].start == offset",
    ),
    Fault(
        "a record in a file table ends with the entry that its end is in",
        "displaced-file-table-end",
        "rest[: sums.index(total) + 1] if total in sums and",
        "rest[: bisect_left(sums, total) + 1] if",
    ),
    Fault("entries without content are not looked at", "untrue-entry-without-content", "entry.empty or "),
    Fault("the frames of the header are not compared", "displaced-first-frame", " or number < first:", ":"),
    Fault(
        "records are those that the file table lists",
        "displaced-file-table-hides",
        "for frame in self.frames(stop):",
        "table = self.table_at(len(self.data), 0)\n"
        "            listed = table and [self.frame_at(e.start) for e in table.entries if e.content_size]\n"
        "            for frame in listed or self.frames(stop):",
    ),
    # Checks on use, 6.3
    Fault(
        "skippable frames before a frame are passed over",
        "displaced-frame-beginning",
        "frame = self.frame_at(entry.start)\n",
        "frame = next(it for it in self.frames(entry.start) if it.end >= entry.end)\n",
    ),
    Fault("the end of a frame is not compared", "displaced-frame-end", "frame.end != entry.end or "),
    Fault(
        "the end of the first frame is not compared", "displaced-first-frame", "frame.end != entry.end or "
    ),
    Fault(
        "the last bytes of an entry are taken for the frame's checksum",
        "displaced-frame-end-of-another",
        END_AND_SIZE,
        "frame = frame._replace(checksum=self._number(entry.end - 4, 4))\n"
        "        if len(content) != entry.content_size:",
    ),
    Fault(
        "the content size is not compared", "displaced-content-size", " or len(content) != entry.content_size"
    ),
    Fault(
        "a frame that holds less is filled with zeros",
        "displaced-content-size-not-stated",
        "content = self.content(frame)\n",
        'content = self.content(frame).ljust(entry.content_size or 0, b"\\0")\n',
    ),
    Fault(
        "a frame that holds more is cut off",
        "displaced-content-size-less",
        END_AND_SIZE,
        "content = content[: entry.content_size]\n        " + END_AND_SIZE,
    ),
    Fault(
        "the table's checksum is never compared",
        "displaced-checksum",
        "elif content and entry.checksum not in (None, frame.checksum):",
        "elif False:",
    ),
    Fault(
        "only checksums of frames are compared",
        "displaced-checksum-not-stated",
        "_decode(_framed(content, entry.checksum), len(content))",
        "pass",
    ),
    # Ranges
    Fault("a range goes on after the block", "large-ranges-over-the-end", "min(end, record.size)", "end"),
    Fault("a range ends with a frame", "large", "found += ", "found = found or "),
    Fault(
        "a damaged frame is delivered as zeros",
        "damaged-checksum",
        "                found += self.used(entry)",
        "                try: piece = self.used(entry)\n"
        "                except Damage: piece = bytes(size)\n"
        "                found += piece",
    ),
    Fault(
        "a length has to be given",
        "large-other-places",
        "end = None if length is None else offset + length",
        'if length is None: raise Damage("")\n        end = offset + length',
    ),
    Fault(
        "a length has to include the table",
        "large-other-places",
        "table = self.table_at(end, offset) if end is not None else None\n",
        "table = self.table_at(end, offset) if end is not None else None\n"
        '        if end and not table: raise Damage("")\n',
    ),
]
