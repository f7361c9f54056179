"""WARC files made by hand, as other tools make them or as nobody should.

Everything here is struct, python-zstandard and xxhash: nothing of seekwarc is used, so a test that reads
these files compares seekwarc with the standards and not with itself.
"""

from __future__ import annotations

import random
import struct
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import pairwise
from operator import add
from typing import Any

import xxhash
import zstandard

CRLF2 = b"\r\n\r\n"
DICTIONARY_FRAME = 0x184D2A5D
SEEK_TABLE_FRAME = 0x184D2A5E
EXTENSIONS = tuple(magic for magic in range(0x184D2A50, 0x184D2A60) if magic != DICTIONARY_FRAME)
"""Every magic number that an extension frame may have."""
EMPTY = xxhash.xxh64_intdigest(b"") & 0xFFFF_FFFF

Entry = tuple[int, int, int]
"""(stored size, content size, checksum) of a frame, as a seek table lists it."""
Change = Callable[[list[Entry]], list[Entry]]


def checksum(content: bytes) -> int:
    return xxhash.xxh64_intdigest(content) & 0xFFFF_FFFF


def skippable(magic: int, data: bytes = b"") -> bytes:
    return struct.pack("<II", magic, len(data)) + data


@cache
def _compressor(
    level: int, dictionary: zstandard.ZstdCompressionDict | None, **parameters: int
) -> zstandard.ZstdCompressor:
    chosen = zstandard.ZstdCompressionParameters.from_level(level, **parameters)
    return zstandard.ZstdCompressor(compression_params=chosen, dict_data=dictionary)


def zstd_frame(
    content: bytes = b"",
    *,
    content_size: bool = True,
    checksum: bool = True,
    dictionary: zstandard.ZstdCompressionDict | None = None,
    name_dictionary: bool = True,
    level: int = 3,
    window_log: int | None = None,
) -> bytes:
    """Make one Zstandard frame. Without `content_size` it is written as a stream whose end nobody knew."""
    choices = {"window_log": window_log} if window_log else {}
    compressor = _compressor(
        level,
        dictionary,
        write_content_size=content_size,
        write_checksum=checksum,
        write_dict_id=name_dictionary,
        **choices,
    )
    if content_size:
        return compressor.compress(content)
    stream = compressor.compressobj()
    return stream.compress(content) + stream.flush()


def seek_table(
    entries: list[Entry],
    *,
    checksums: bool = True,
    descriptor: int | None = None,
    count: int | None = None,
    footer_magic: int = 0x8F92EAB1,
    frame_magic: int = SEEK_TABLE_FRAME,
    frame_size: int | None = None,
) -> bytes:
    """Make a seek table, wrong in whatever way is asked for."""
    if checksums:
        body = b"".join(struct.pack("<III", *entry) for entry in entries)
    else:
        body = b"".join(struct.pack("<II", *entry[:2]) for entry in entries)
    if descriptor is None:
        descriptor = 0x80 if checksums else 0
    body += struct.pack("<IBI", len(entries) if count is None else count, descriptor, footer_magic)
    return struct.pack("<II", frame_magic, len(body) if frame_size is None else frame_size) + body


@cache
def some_dictionary() -> zstandard.ZstdCompressionDict:
    """Return a trained dictionary that helps with `text`."""
    rng = random.Random(7)
    samples = [text(rng.randint(200, 2000), seed=n) for n in range(400)]
    return zstandard.train_dictionary(8192, samples, dict_id=0x1234_5678, level=3)


def dictionary_frame(dictionary: zstandard.ZstdCompressionDict, *, compressed: bool) -> bytes:
    data = dictionary.as_bytes()
    return skippable(DICTIONARY_FRAME, zstd_frame(data) if compressed else data)


WORDS = [b"archive", b"record", b"frame", b"seek", b"<p>", b"</p>", b"http://example.org/", b"\r\n", b"the"]
NUMBERS = [b" %d " % number for number in range(1000)]


class _Text:
    """Text that is made as far as somebody asks for it: making megabytes takes longer than most tests."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._made = bytearray()
        self._lock = threading.Lock()

    def first(self, size: int) -> bytes:
        with self._lock:
            while len(self._made) < size:
                numbers = self._rng.choices(NUMBERS, k=64)
                self._made += b"".join(map(add, self._rng.choices(WORDS, k=64), numbers))
            return bytes(memoryview(self._made)[:size])


_text_of = lru_cache(maxsize=32)(_Text)


def text(size: int, seed: int = 0) -> bytes:
    """Return bytes that compress as web pages do, different at every position."""
    return _text_of(seed).first(size)


def warc_header(length: int, number: int = 0, *, kind: str = "resource", newline: bytes = b"\r\n") -> bytes:
    lines = [
        b"WARC/1.1",
        b"WARC-Type: " + kind.encode(),
        b"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-%012d>" % number,
        b"WARC-Date: 2026-01-02T03:04:05Z",
        b"WARC-Target-URI: http://example.org/%d" % number,
        b"Content-Type: text/plain",
        b"Content-Length: %d" % length,
        b"",
        b"",
    ]
    return newline.join(lines)


@dataclass
class Put:
    """A record that was put into a file, and where it went."""

    header: bytes = field(repr=False)
    block: bytes = field(repr=False)
    offset: int = 0
    stop: int = 0
    """Offset after everything that belongs to the record, including extension frames but not a file table."""

    @property
    def length(self) -> int:
        return self.stop - self.offset


@dataclass
class Foreign:
    """A .warc.zst file put together frame by frame; it knows what a reader must find in it."""

    frame_options: dict = field(default_factory=dict)
    data: bytearray = field(default_factory=bytearray, repr=False)
    records: list[Put] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    """What a correct table of the whole file lists."""
    record_entries: list[Entry] = field(default_factory=list, repr=False)
    """What a correct table of the last record lists."""

    # The parts of a file, in the order in which they are called.

    def dictionary(
        self, *, compressed: bool, name: bool = True, dictionary: zstandard.ZstdCompressionDict | None = None
    ) -> Foreign:
        dictionary = dictionary or some_dictionary()
        self._put(dictionary_frame(dictionary, compressed=compressed), 0, EMPTY)
        self.frame_options |= {"dictionary": dictionary, "name_dictionary": name}
        return self

    def frame(self, content: bytes, **options: Any) -> Foreign:
        self._put(
            zstd_frame(content, **(self.frame_options | options)),
            len(content),
            checksum(content),
            record=True,
        )
        return self

    def extension(self, magic: int = 0x184D2A50, data: bytes = b"") -> Foreign:
        self._put(skippable(magic, data), 0, EMPTY, record=True)
        return self

    def empty(self, **options: Any) -> Foreign:
        """Put an empty Zstandard frame."""
        return self.frame(b"", **options)

    def raw(self, frame: bytes) -> Foreign:
        """Put a skippable frame that is made already."""
        self._put(frame, 0, EMPTY, record=True)
        return self

    def record(
        self,
        block: bytes,
        *,
        cuts: tuple[int, ...] | int = (),
        between: Callable[[Foreign, int], object] | None = None,
        header: bytes | None = None,
        trailer: bytes = CRLF2,
        table: dict | bool | None = None,
        **options: Any,
    ) -> Foreign:
        """Put a record.

        Args:
            block: Its block.
            cuts: Where in the record, counted from its header, frames begin; or one frame size.
            between: Called with (self, number) before every frame except the first.
            header: Its header, made up unless given.
            trailer: What follows the block.
            table: Options of `seek_table` where the record gets a table of its own.
            options: Options of `zstd_frame`.
        """
        header = warc_header(len(block), len(self.records)) if header is None else header
        content = header + block + trailer
        self.begin(header, block)
        for number, piece in enumerate(cut(content, cuts)):
            if number and between:
                between(self, number)
            self.frame(piece, **options)
        if table is not None and table is not False:
            self.table(**({} if table is True else table))
        return self

    def begin(self, header: bytes, block: bytes) -> Foreign:
        """Say that the next frame begins a record; the caller puts the frames."""
        self.records.append(Put(header, block, offset=len(self.data)))
        self.record_entries = []
        return self

    def table(self, change: Change | None = None, **options: Any) -> Foreign:
        """Put the last record's table, its entries put through `change`."""
        entries = list(self.record_entries)
        self._put(seek_table(change(entries) if change else entries, **options), 0, EMPTY, record=True)
        return self

    def file_table(self, change: Change | None = None, **options: Any) -> Foreign:
        """Put a table of everything so far. It belongs to no record."""
        entries = list(self.entries)
        self._put(seek_table(change(entries) if change else entries, **options), 0, EMPTY)
        return self

    def append(self, other: Foreign) -> Foreign:
        """Append another file, as `cat` does."""
        base = len(self.data)
        self.data += other.data
        self.entries += other.entries
        self.records += [Put(r.header, r.block, r.offset + base, r.stop + base) for r in other.records]
        return self

    def _put(self, stored: bytes, content_size: int, content_checksum: int, *, record: bool = False) -> None:
        self.data += stored
        entry = (len(stored), content_size, content_checksum)
        self.entries.append(entry)
        if record and self.records:
            self.record_entries.append(entry)
            self.records[-1].stop = len(self.data)

    # The same records in the other two forms that WARC files have.

    def bytes(self) -> bytes:
        return bytes(self.data)

    def plain(self, *, trailer: bytes = CRLF2) -> Foreign:
        """Return the same records as a .warc file."""
        made = Foreign()
        for record in self.records:
            made.begin(record.header, record.block)
            made.data += record.header + record.block + trailer
            made.records[-1].stop = len(made.data)
        return made

    def gzip(self, *, trailer: bytes = CRLF2) -> Foreign:
        """Return the same records as a .warc.gz file, a member each."""
        made = Foreign()
        for record in self.records:
            made.begin(record.header, record.block)
            made.data += gzip_member(record.header + record.block + trailer)
            made.records[-1].stop = len(made.data)
        return made


def cut(content: bytes, cuts: tuple[int, ...] | int) -> list[bytes]:
    """Cut content at positions, or into pieces of one size."""
    if isinstance(cuts, int):
        cuts = tuple(range(cuts, len(content), cuts))
    edges = [0, *cuts, len(content)]
    return [content[a:b] for a, b in pairwise(edges)]


def gzip_member(content: bytes) -> bytes:
    compressor = zlib.compressobj(6, zlib.DEFLATED, 31)
    return compressor.compress(content) + compressor.flush()
