"""Make the samples of sidecar.md: archives, sidecars of them, and manifest.json, in sidecar/samples/.

Everything is put together by hand, bit by bit, without a compressor and without seekwarc. One archive is a
record in a gzip member, in which a block of each type begins at each bit of a byte, and refers back. Another
is a record in a frame with blocks of each type, and the third is two records, each in a gzip member, which
differ in their letters only: the points of one could be those of the other.

    python make_sidecars.py            make the files again
    python make_sidecars.py --check    exit with 1 unless the folder is what would be made
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import xxhash
import zstandard
from vector_files import contents_of
from vector_frames import padding, table_of, zstandard_frame

SAMPLES: Final = Path(__file__).parent / "sidecar" / "samples"
ARCHIVE: Final = "points.warc.gz"
FRAMED: Final = "blocks.warc.zst"
TWINS: Final = "twins.warc.gz"
FIELDS: Final = "fields.warc.gz"
OVER_ENTRY: Final = "record-over-next-entry"
WITHOUT_LENGTH: Final = {OVER_ENTRY, "record-longer", "frame-longer"}
"""Sidecars with which a reader is not given the length of the record: the next entry or the archive tells."""
OF_SECOND: Final = {"records-two": "used", OVER_ENTRY: "used"}
"""What becomes of a sidecar in the second record of an archive, if that is not what is refused."""
GZIP_HEADER: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
STORED, FIXED, DYNAMIC = range(3)
WINDOW: Final = 600
"""Bytes before a point that blocks may refer to."""
DISTANCE: Final = 300
SIZE: Final = (1 << 20) + 40_000
SAMPLE: Final = 65_536
TRAILER: Final = 104
RAW, RLE, COMPRESSED = range(3)
BLOCK: Final = 131_072
STORED_SIZE: Final = 60_000
STORED_SPAN: Final = 9
"""Number of the first span of as many stored bytes."""
BLOCKS: Final = 300
"""Of a frame with more content than readers decompress for a range of it."""
ALL_BEFORE: Final = 0xFFFF
"""The window of a span for which the frame is decompressed from its beginning."""
CRLF2: Final = b"\r\n\r\n"


class Stream:
    """A deflate stream, and the content that it holds."""

    def __init__(self, before: int) -> None:
        self.bits: list[int] = []
        self.content = bytearray()
        self.before = before

    @property
    def bit(self) -> int:
        """Bits of the archive before the next block."""
        return self.before + len(self.bits)

    def number(self, value: int, count: int) -> None:
        """Write a number, its lowest bit first."""
        self.bits += [value >> place & 1 for place in range(count)]

    def code(self, value: int, count: int) -> None:
        """Write a Huffman code, its highest bit first."""
        self.bits += [value >> place & 1 for place in reversed(range(count))]

    def stored(self, data: bytes, *, last: int = 0) -> None:
        self.number(last, 3)
        self.bits += [0] * (-len(self.bits) % 8)
        for value in (len(data), len(data) ^ 0xFFFF):
            self.number(value, 16)
        for byte in data:
            self.number(byte, 8)
        self.content += data

    def fixed(self, data: bytes = b"", *, repeat: int = 0, runs: int = 0) -> None:
        """Write a block: literals, `repeat` times a match of 3 bytes, and runs of 258 of the last byte."""
        self.number(0b010, 3)
        for byte in data:
            if byte < 144:
                self.code(0x30 + byte, 8)
            else:
                self.code(0x190 + byte - 144, 9)
        self.content += data
        for _ in range(repeat):
            self.code(1, 7)
            self.code(16, 5)
            self.number(DISTANCE - 257, 7)
            self.match(3, DISTANCE)
        for _ in range(runs):
            self.code(0xC5, 8)
            self.code(0, 5)
            self.match(258, 1)
        self.code(0, 7)

    def dynamic(self, data: bytes, *, repeat: int) -> None:
        """Write a block with codes of 9 bits for literals, 2 for end and match, 1 for distances."""
        self.number(0b100, 3)
        lengths = [9] * 256 + [2, 2] + [1] + [0] * 15 + [1]
        self.number(1, 5)
        self.number(16, 5)
        self.number(14, 4)
        for symbol in (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1):
            self.number(2 if symbol in (0, 1, 2, 9) else 0, 3)
        for length in lengths:
            self.code((0, 1, 2, 9).index(length), 2)
        for byte in data:
            self.code(0x100 + byte, 9)
        self.content += data
        for _ in range(repeat):
            self.code(1, 2)
            self.code(1, 1)
            self.number(DISTANCE - 257, 7)
            self.match(3, DISTANCE)
        self.code(0, 2)

    def match(self, length: int, distance: int) -> None:
        for _ in range(length):
            self.content.append(self.content[-distance])

    def up_to(self, bit: int) -> None:
        """Write blocks until the next one begins at a bit of a byte: with fixed codes, of 10 or 19 bits."""
        while len(self.bits) % 8 != bit:
            self.fixed(b"\xe9" if (bit - len(self.bits)) % 2 else b"")

    @property
    def data(self) -> bytes:
        padded = self.bits + [0] * (-len(self.bits) % 8)
        return bytes(
            sum(bit << place for place, bit in enumerate(padded[start : start + 8]))
            for start in range(0, len(padded), 8)
        )


@dataclass(frozen=True)
class Sidecar:
    """What a sidecar says, which may be wrong on purpose."""

    spans: tuple[tuple[int, int, int, int], ...]
    """Point, content offset, XXH64, window."""
    windows: bytes
    record: tuple[int, ...]
    trailer: tuple[int | bytes, ...]
    further: tuple[tuple[int, ...], ...] = ()
    """The records after the first one."""
    padded: tuple[int, ...] = ()
    """Before which frames a skippable one lies; the seek table is the last frame."""
    has_padding_listed: bool = True
    has_checksums: bool = True
    """The seek table has some."""
    in_table: tuple[tuple[int, int], ...] = ()
    """Bytes of the seek table that are others: where, from its end if negative, and what is added to them."""

    def with_span(self, number: int, place: int, value: int) -> Sidecar:
        spans = [*self.spans]
        spans[number] = changed(spans[number], place, value)  # type: ignore[assignment]
        return replace(self, spans=tuple(spans))

    def with_record(self, place: int, value: int) -> Sidecar:
        return replace(self, record=changed(self.record, place, value))

    def with_trailer(self, place: int, value: int | bytes) -> Sidecar:
        return replace(self, trailer=(*self.trailer[:place], value, *self.trailer[place + 1 :]))

    @property
    def content(self) -> bytes:
        spans = b"".join(struct.pack("<4Q", *span) for span in self.spans)
        rows = b"".join(struct.pack("<5Q", *record) for record in (self.record, *self.further))
        return self.windows + spans + rows + struct.pack("<8sIIQQQ32s32s", *self.trailer)

    @property
    def data(self) -> bytes:
        parts = self.windows, self.content[len(self.windows) :]
        frames = [zstandard_frame(part, "F", "") for part in parts if part]
        for number in reversed(self.padded):
            frames.insert(number, padding(size=20))
        listed = tuple(it for it in frames if self.has_padding_listed or not it.skippable)
        table = bytearray(table_of("T", listed, checksums=self.has_checksums).data)
        for place, more in self.in_table:
            table[place] = (table[place] + more) % 256
        return b"".join(frame.data for frame in frames) + table


@dataclass
class Made:
    """An archive, with its points."""

    data: bytes
    content: bytes
    points: list[tuple[int, int, int]] = field(default_factory=list)
    """Bit, content offset, type of the block; in a frame, of what has to be decompressed for it."""
    place: tuple[int, int] = (0, 0)
    """Offset and length of the record, if that is not all of the archive."""
    asked: tuple[int, ...] = ()
    """Further spans that are asked for."""

    @property
    def length(self) -> int:
        return self.place[1] or len(self.data)

    def span(self, number: int, window: int) -> tuple[int, int, int, int]:
        bit, begin, _ = self.points[number]
        end = self.points[number + 1][1] if number + 1 < len(self.points) else len(self.content)
        return bit, begin, xxhash.xxh64_intdigest(self.content[begin:end]), window

    def sidecar(self, window_of: Callable[[int, bytes], bytes]) -> Sidecar:
        windows, spans = b"", []
        for number, (_, begin, _) in enumerate(self.points):
            window = window_of(number, self.content[max(begin - WINDOW, 0) : begin])
            spans.append(self.span(number, len(windows) << 16 | len(window)))
            windows += window
        head, tail = (hashlib.sha256(it).digest() for it in (self.data[:SAMPLE], self.data[-SAMPLE:]))
        trailer = b"WARCseek", 1, 0, 1, len(spans), len(self.data), head, tail
        record = self.place[0], self.length, len(self.content), 0, 0
        return Sidecar(tuple(spans), windows, record, trailer)


def warc_header(size: int, number: int = 1) -> bytes:
    return (
        b"WARC/1.1\r\nWARC-Type: resource\r\n"
        b"WARC-Record-ID: <urn:uuid:5f0f1c4e-0000-4000-8000-%012d>\r\n"
        b"WARC-Date: 2026-11-23T00:00:00Z\r\nWARC-Target-URI: http://example.org/points\r\n"
        b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % (number, size)
    )


def archive() -> Made:
    """Put the archive of a gzip member together."""
    header = warc_header(SIZE)
    stream = Stream(8 * len(GZIP_HEADER))
    points = [(stream.bit, 0, FIXED)]
    stream.fixed(header)
    text = b"".join(b"line %d of the first block\n" % number for number in range(40))
    stream.fixed(text)
    for bit in range(8):
        for kind in (STORED, FIXED, DYNAMIC):
            stream.up_to(bit)
            points.append((stream.bit, len(stream.content), kind))
            line = b"a block of type %d after bit %d\n" % (kind, bit)
            if kind == STORED:
                stream.stored(line)
            elif kind == FIXED:
                stream.fixed(line, repeat=20)
            else:
                stream.dynamic(line, repeat=20)
    stream.up_to(0)
    points.append((stream.bit, len(stream.content), FIXED))
    return Made(member_of(stream, len(header) + SIZE, b"x"), bytes(stream.content), points)


def fields_archive() -> Made:
    """Put the archive of a gzip member together whose header has every optional field (RFC 1952)."""
    head = GZIP_HEADER[:3] + b"\x1e" + GZIP_HEADER[4:] + b"\x06\0ab\x02\0c\0" + b"a name\0" + b"a comment\0"
    head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    header = warc_header(SIZE)
    stream = Stream(8 * len(head))
    points = [(stream.bit, 0, FIXED)]
    stream.fixed(header)
    for number in range(8):
        points.append((stream.bit, len(stream.content), FIXED))
        stream.fixed(b"line %d after a header with fields\n" % number * 10, repeat=20)
    # So long that head and tail are not all of the archive.
    noise = random.Random(1)  # noqa: S311 - not for secrets
    for _ in range(2):
        points.append((stream.bit, len(stream.content), STORED))
        stream.stored(noise.randbytes(STORED_SIZE))
    points.append((stream.bit, len(stream.content), FIXED))
    data = member_of(stream, len(header) + SIZE, b"x", head)
    return Made(data, bytes(stream.content), points, asked=(STORED_SPAN,))


def member_of(stream: Stream, size: int, letter: bytes, head: bytes = GZIP_HEADER) -> bytes:
    """Return the gzip member of a stream, to which a run of a letter and the record's end are added."""
    missing = size - len(stream.content)
    stream.fixed(letter * (missing % 258), runs=missing // 258)
    stream.stored(CRLF2, last=1)
    content = bytes(stream.content)
    data = head + stream.data + struct.pack("<II", zlib.crc32(content), len(content))
    if zlib.decompress(data, 31) != content:
        raise SystemExit("zlib does not find in the archive what went into it")
    return data


def twins() -> tuple[Made, Made]:
    """Put the archive of two gzip members together: the points of one fit the other."""
    records, data = [], b""
    for number, letter in enumerate((b"x", b"y"), 1):
        offset, header = len(data), warc_header(SIZE, number)
        stream = Stream(8 * (offset + len(GZIP_HEADER)))
        points = [(stream.bit, 0, FIXED)]
        stream.fixed(header)
        points.append((stream.bit, len(stream.content), FIXED))
        # So long that the stored bytes of both members are not too many for it (section 3, 7).
        stream.fixed(letter, runs=400)
        for line in range(6):
            points.append((stream.bit, len(stream.content), FIXED))
            stream.fixed(b"line %d of the record of %s\n" % (line, letter * 3), repeat=20)
        points.append((stream.bit, len(stream.content), FIXED))
        data += member_of(stream, len(header) + SIZE, letter)
        records.append((bytes(stream.content), points, (offset, len(data) - offset)))
    first, second = (Made(data, content, points, place) for content, points, place in records)
    return first, second


def block(kind: int, size: int, data: bytes, *, last: bool = False) -> bytes:
    return (size << 3 | kind << 1 | last).to_bytes(3, "little") + data


class Frame:
    """A Zstandard frame, and the content that it holds."""

    def __init__(self) -> None:
        # Window_Descriptor 0x38 is 128 KiB; the frame has a Content_Checksum.
        self.data = bytearray(struct.pack("<IBB", 0xFD2FB528, 0b100, 0x38))
        self.content = bytearray()
        self.points: list[tuple[int, int, int]] = []

    def begin(self, kind: int) -> None:
        """Begin a span, whose blocks are of one type, or COMPRESSED if of several."""
        self.points.append((8 * len(self.data), len(self.content), kind))

    def raw(self, content: bytes, *, last: bool = False) -> None:
        self.data += block(RAW, len(content), content, last=last)
        self.content += content

    def rle(self, letter: bytes, count: int) -> None:
        self.data += block(RLE, count, letter)
        self.content += letter * count

    def match(self, literals: bytes) -> None:
        """Write a compressed block: after its first 15 bytes, 31 are repeated (RFC 8878, section 3.1.1.3)."""
        distance = 2 * DISTANCE
        section = (len(literals) << 4 | 0b0100).to_bytes(2, "little") + literals
        # One sequence, whose codes have tables of one symbol each; offset code 9 stands for 512 + 9 bits - 3.
        codes = bytes((1, 0b01010100, 15, 9, 28)) + (distance + 3).to_bytes(2, "little")
        self.data += block(COMPRESSED, len(section + codes), section + codes)
        self.content += literals[:15]
        self.content += self.content[-distance:][:31] + literals[15:]


def framed_archive() -> Made:
    """Put the archive of a frame together."""
    header = warc_header(BLOCKS * BLOCK)
    frame = Frame()
    frame.begin(RAW)
    frame.raw(header)
    frame.raw(b"".join(b"line %d of the first block\n" % number for number in range(100)))
    for number in range(3):
        frame.begin(COMPRESSED)
        frame.match(b"what is compressed, number %d;" % number)
        frame.raw(b"a raw block in a span that has to be decompressed\n")
        frame.match(b"what is compressed, once more;")
        frame.begin(RAW)
        for line in range(8):
            frame.raw(b"raw block %d of run %d\n" % (line, number) * 40)
            frame.raw(b"")
    missing = len(header) + BLOCKS * BLOCK - len(frame.content)
    for number in range(-(-missing // BLOCK)):
        if number % 16 == 0:
            frame.begin(RLE)
        frame.rle(bytes((97 + number % 26,)), min(missing, BLOCK))
        missing -= BLOCK
    frame.raw(b"\r\n\r\n", last=True)
    content = bytes(frame.content)
    data = bytes(frame.data) + struct.pack("<I", xxhash.xxh64_intdigest(content) & 0xFFFFFFFF)
    if zstandard.ZstdDecompressor().decompressobj().decompress(data) != content:
        raise SystemExit("zstd does not find in the archive what went into it")
    return Made(data, content, frame.points)


def whole(_: int, window: bytes) -> bytes:
    return window


def sparse(number: int, window: bytes) -> bytes:
    """Leave what blocks refer to: 3 bytes, and what these are repeated from."""
    return bytes(len(window) - DISTANCE) + window[-DISTANCE:] if number else b""


def without(made: Made) -> Callable[[int, bytes], bytes]:
    """Leave no window to spans that refer to nothing before them."""
    return lambda number, window: b"" if made.points[number][2] == STORED else window[-DISTANCE:]


def changed(row: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    return (*row[:place], value, *row[place + 1 :])


def sidecars(made: Made) -> dict[str, tuple[Sidecar, str]]:
    """Return sidecars by name, and what becomes of each: "used", "refused", or "error" on use."""
    sound = made.sidecar(whole)

    span, record, trailer = sound.with_span, sound.with_record, sound.with_trailer
    bit, begin, check, window = sound.spans[5]
    return (
        {
            "windows-whole": (sound, "used"),
            "windows-sparse": (made.sidecar(sparse), "used"),
            "windows-missing": (made.sidecar(lambda *_: b""), "error"),
            "windows-forged": (replace(sound, windows=bytes(len(sound.windows))), "error"),
            "windows-beyond": (span(5, 3, len(sound.windows) << 16 | WINDOW), "error"),
            "window-not-needed": (made.sidecar(without(made)), "used"),
            "reserved-bits": (record(4, 1 << 40).with_trailer(2, 7), "used"),
            "point-moved": (span(5, 0, bit + 1), "error"),
            "point-of-another": (span(5, 0, sound.spans[4][0] + 8), "error"),
            "checksum-wrong": (span(5, 2, check ^ 1), "error"),
            "content-offset-wrong": (span(5, 1, begin + 1), "error"),
            "window-of-another": (span(5, 3, window - (WINDOW << 16)), "error"),
            "points-not-in-order": (span(5, 0, sound.spans[4][0]), "refused"),
            "content-not-in-order": (span(5, 1, sound.spans[4][1]), "refused"),
            "first-span-later": (span(0, 1, 1), "refused"),
            "point-after-record": (span(len(sound.spans) - 1, 0, 8 * len(made.data)), "refused"),
            "record-longer": (record(1, len(made.data) + 1), "refused"),
            "record-shorter": (record(1, len(made.data) - 8), "refused"),
            "content-size-wrong": (record(2, len(made.content) + 1), "refused"),
            "content-size-huge": (record(2, 1 << 62), "refused"),
            "record-elsewhere": (record(0, 1), "refused"),
            "magic-wrong": (trailer(0, b"WARCseel"), "refused"),
            "version-unknown": (trailer(1, 2), "refused"),
            "records-too-many": (trailer(3, 1 << 60), "refused"),
            "spans-too-many": (trailer(4, 1 << 60), "refused"),
            "archive-longer": (trailer(5, len(made.data) + 1), "refused"),
            "archive-shorter": (trailer(5, len(made.data) - 1), "refused"),
            "archive-head-changed": (trailer(6, bytes(32)), "refused"),
            "archive-tail-changed": (trailer(7, bytes(32)), "refused"),
            "archive-head-changed-at-end": (trailer(6, sound.trailer[6][:-1] + b"\0"), "refused"),  # type: ignore[index]
            "archive-tail-changed-at-end": (trailer(7, sound.trailer[7][:-1] + b"\0"), "refused"),  # type: ignore[index]
        }
        | files_of(sound)
    )


def files_of(sound: Sidecar) -> dict[str, tuple[Sidecar, str]]:
    """Return sidecars whose content is sound, in files that are or are not (section 2)."""
    table = [
        ("magic", -1, 1),
        ("skippable-magic", 0, 1),
        ("frame-size", 4, 1),
        ("reserved-bit", -5, 0x40),
        ("content-size", -9 - 8, 1),
        ("checksum", -9 - 4, 1),
    ]
    return {
        "padding": (replace(sound, padded=(0, 1, 2)), "used"),
        "padding-not-listed": (replace(sound, padded=(2,), has_padding_listed=False), "refused"),
        "padding-before-not-listed": (replace(sound, padded=(0,), has_padding_listed=False), "refused"),
        "table-unused-bits": (replace(sound, in_table=((-5, 3),)), "used"),
        "table-without-checksums": (replace(sound, has_checksums=False), "refused"),
        **{
            f"table-{name}-wrong": (replace(sound, in_table=((place, more),)), "refused")
            for name, place, more in table
        },
    }


def sidecars_of_twins(made: tuple[Made, Made]) -> dict[str, tuple[Sidecar, str]]:
    """Do the same for the archive of two members."""
    first, second = (it.sidecar(whole) for it in made)
    count = len(first.spans)
    moved = tuple((*span[:3], span[3] + (len(first.windows) << 16)) for span in second.spans)
    both = replace(
        first,
        spans=first.spans + moved,
        windows=first.windows + second.windows,
        further=(changed(second.record, 3, count),),
    )
    both = both.with_trailer(3, 2).with_trailer(4, 2 * count)
    # The content of each span is in the archive, with that checksum: of the third one on, in the next record.
    over = both.with_record(1, len(made[0].data))
    mixed = first.spans[:2] + moved[2:]
    alone = replace(over, spans=mixed, further=()).with_trailer(3, 1).with_trailer(4, count)
    firsts = changed(second.record, 3, 0), changed(first.record, 3, count)
    swapped = replace(both, spans=moved + first.spans, record=firsts[0], further=firsts[1:])
    empty = replace(both, spans=moved, further=firsts[:1]).with_trailer(4, count)
    return {
        "records-two": (both, "used"),
        "records-not-in-order": (swapped, "refused"),
        "record-without-spans": (empty, "refused"),
        "first-span-beyond": (
            replace(both, further=(changed(both.further[0], 3, 2 * count + 1),)),
            "refused",
        ),
        OVER_ENTRY: (replace(over, spans=mixed + moved), "refused"),
        "record-over-next-member": (alone, "refused"),
    }


def sidecars_of_fields(made: Made) -> dict[str, tuple[Sidecar, str]]:
    """Do the same for the archive of a member whose header has fields."""
    sound = made.sidecar(whole)
    # One span holds the stored block after it, too, and lists nothing of it. What the next one lists is in
    # the archive, and so many bytes later in the record.
    before, after = sound.spans[:STORED_SPAN], sound.spans[STORED_SPAN + 1 :]
    less = tuple(changed(span, 1, span[1] - STORED_SIZE) for span in after)
    more = replace(sound, spans=(*before, *less)).with_trailer(4, len(before + less))
    return {
        "span-holds-more": (more, "refused"),
        "header-fields": (sound, "used"),
        "header-fields-overlooked": (sound.with_span(0, 0, 8 * len(GZIP_HEADER)), "refused"),
    }


def framed_sidecars(made: Made) -> dict[str, tuple[Sidecar, str]]:
    """Do the same for the archive of a frame."""
    sound = made.sidecar(lambda *_: b"")
    for number, (_, _, kind) in enumerate(made.points):
        sound = sound.with_span(number, 3, ALL_BEFORE if kind == COMPRESSED else 0)
    bit, begin, check, _ = sound.spans[2]
    return {
        "frame": (sound, "used"),
        "frame-decompressed": (sound.with_span(2, 3, ALL_BEFORE), "used"),
        "frame-called-raw": (sound.with_span(1, 3, 0), "error"),
        "frame-checksum-wrong": (sound.with_span(2, 2, check ^ 1), "error"),
        "frame-checksum-of-decompressed-wrong": (sound.with_span(1, 2, check), "error"),
        "frame-point-moved": (sound.with_span(2, 0, bit + 8), "error"),
        "frame-point-within-a-byte": (sound.with_span(2, 0, bit + 1), "error"),
        "frame-content-offset-wrong": (sound.with_span(2, 1, begin + 1), "error"),
        "frame-content-size-wrong": (sound.with_record(2, len(made.content) - 1), "refused"),
        "frame-longer": (sound.with_record(1, len(made.data) + 1), "refused"),
        "frame-elsewhere": (sound.with_record(0, 1), "refused"),
    }


def samples_of(
    name: str, made: tuple[Made, ...], lies: dict[str, tuple[Sidecar, str]]
) -> Iterator[dict[str, object]]:
    """Yield what the manifest says of an archive, by its records, together with each sidecar."""
    for lie, (sidecar, outcome) in lies.items():
        yield {
            **file_of(name, made[0].data),
            "sidecar": file_of(f"{lie}.seek", sidecar.data),
            "title": lie.replace("-", " "),
            "outcome": outcome,
            "valid": outcome == "used",
            "mode": None,
            "breaks": [],
            "readable": "all",
            "records": [
                record_of(it, OF_SECOND.get(lie, "refused") if number else outcome, lie not in WITHOUT_LENGTH)
                for number, it in enumerate(made)
            ],
        }


def asked_of(made: Made) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the block of a record, and the ranges: in spans that sidecars lie about, and across these."""
    header = made.content.index(CRLF2) + len(CRLF2)
    begins = [begin - header for _, begin, _ in made.points]
    places = [(begins[number] + 2, begins[number] + 12) for number in (1, 2, 5, *made.asked)]
    runs = [(3 * BLOCK - 5, 3 * BLOCK + 5)] if made.length < len(made.content) // 1000 else []
    return made.content[header : -len(CRLF2)], [*places, (begins[1] + 2, begins[6] + 2), *runs]


def record_of(made: Made, outcome: str, is_length_given: bool) -> dict[str, object]:  # noqa: FBT001
    """Return what the manifest says of a record."""
    block, places = asked_of(made)
    length = {} if is_length_given else {"length": None}
    ranges = [
        {"start": start, "end": stop, "sha256": hashlib.sha256(block[start:stop]).hexdigest(), **length}
        for start, stop in places
    ]
    record = {"offset": made.place[0], "length": made.length, "type": "resource", "outcome": outcome}
    record["size"] = len(block)
    record |= {"sha256": hashlib.sha256(block).hexdigest(), "complete": True, "table": None, "ranges": ranges}
    return record


def file_of(name: str, data: bytes) -> dict[str, object]:
    return {"file": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def about(name: str, made: Made, kinds: tuple[str, ...]) -> dict[str, object]:
    """Return what the manifest says of the points in an archive."""
    return {
        "archive": name,
        "content_size": len(made.content),
        "content_sha256": hashlib.sha256(made.content).hexdigest(),
        "points": [
            {"bit": bit, "content_offset": begin, "block": kinds[kind]} for bit, begin, kind in made.points
        ],
    }


def files() -> dict[str, bytes]:
    """Return all that is made, by name."""
    found: dict[str, bytes] = {}
    archives: list[dict[str, object]] = []
    samples: list[dict[str, object]] = []
    member, frame, pair, fields = archive(), framed_archive(), twins(), fields_archive()
    deflate_kinds = "stored", "fixed", "dynamic"
    for name, made, kinds, lies in (
        (ARCHIVE, (member,), deflate_kinds, sidecars(member)),
        (FRAMED, (frame,), ("raw", "rle", "compressed"), framed_sidecars(frame)),
        (TWINS, pair, deflate_kinds, sidecars_of_twins(pair)),
        (FIELDS, (fields,), deflate_kinds, sidecars_of_fields(fields)),
    ):
        found |= {name: made[0].data, **{f"{lie}.seek": sidecar.data for lie, (sidecar, _) in lies.items()}}
        archives.append(about(name, made[0], kinds))
        samples += samples_of(name, made, lies)
    manifest = {"specification": "warc-sidecar", "version": "1", "archives": archives, "files": samples}
    # The others are in gzip members, which any program can decompress.
    block, places = asked_of(frame)
    manifest["contents"] = contents_of(block[start:stop] for start, stop in places)
    found["manifest.json"] = (json.dumps(manifest, indent=1) + "\n").encode()
    return found


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description="Make the samples of the specification of sidecars.")
    parser.add_argument("--check", action="store_true", help="compare with what is there, write nothing")
    arguments = parser.parse_args()
    made = files()
    there = {path.name: path for path in SAMPLES.iterdir()}
    if arguments.check:
        wrong = {name for name, data in made.items() if name not in there or there[name].read_bytes() != data}
        for name in sorted(wrong | there.keys() - made.keys()):
            print(f"{name} is not what {Path(__file__).name} makes", file=sys.stderr)
        return int(made.keys() != there.keys() or bool(wrong))
    for name in there.keys() - made.keys():
        there[name].unlink()
    for name, data in made.items():
        (SAMPLES / name).write_bytes(data)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
