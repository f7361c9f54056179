"""Material for the writer's tests: blocks, streams, and a frame walker that shares no code with seekwarc."""

from __future__ import annotations

import base64
import hashlib
import io
import random
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import xxhash
import zstandard

import seekwarc

ZSTD_MAGIC = 0xFD2FB528
DICTIONARY_FRAME_MAGIC = 0x184D2A5D
TABLE_MAGIC = 0x184D2A5E
FOOTER_MAGIC = 0x8F92EAB1

KIB = 1 << 10
MIB = 1 << 20

DATE = "2026-11-05T12:00:00Z"
URI = "https://example.org/"
HTTP_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Test: yes\r\n\r\n"
RESPONSE = "application/http; msgtype=response"

WORDS = (
    b"the archive keeps what the web forgets and a reader wants only a little of it "
    b"<p class='note'> href=https://example.org/ frame table record block header payload digest offset </p>"
).split()


@dataclass(frozen=True)
class StoredFrame:
    """A frame as the bytes of the file say, taken apart with struct and checked with zstandard."""

    offset: int
    data: bytes
    magic: int
    content: bytes
    stated_size: int | None
    window_size: int
    dictionary_id: int
    has_checksum: bool

    @property
    def size(self) -> int:
        return len(self.data)

    @property
    def end(self) -> int:
        return self.offset + len(self.data)

    @property
    def is_data(self) -> bool:
        return self.magic == ZSTD_MAGIC

    @property
    def is_table(self) -> bool:
        return self.magic == TABLE_MAGIC

    @property
    def checksum(self) -> int:
        return xxhash.xxh64_intdigest(self.content) & 0xFFFFFFFF

    @property
    def trailer(self) -> int:
        """The last four bytes: Content_Checksum, where the frame has one."""
        return struct.unpack("<I", self.data[-4:])[0]


def walk(data: bytes, dictionary: bytes | None = None) -> list[StoredFrame]:
    """Take a whole file apart; everything must be a frame."""
    codec = zstandard.ZstdCompressionDict(dictionary) if dictionary else None
    decompressor = zstandard.ZstdDecompressor(dict_data=codec)
    frames = []
    position = 0
    while position < len(data):
        magic = struct.unpack_from("<I", data, position)[0]
        if magic != ZSTD_MAGIC:
            assert magic & ~15 == 0x184D2A50, f"no frame at {position}"
            end = position + 8 + struct.unpack_from("<I", data, position + 4)[0]
            assert end <= len(data)
            frames.append(StoredFrame(position, data[position:end], magic, b"", None, 0, 0, False))
        else:
            end = frame_end(data, position)
            raw = data[position:end]
            fields = zstandard.get_frame_parameters(raw)
            stated = fields.content_size if fields.content_size != (1 << 64) - 1 else None
            content = decompressor.decompress(raw, max_output_size=16 * MIB)
            frames.append(
                StoredFrame(
                    position,
                    raw,
                    magic,
                    content,
                    stated,
                    fields.window_size,
                    fields.dict_id,
                    fields.has_checksum,
                )
            )
        position = end
    return frames


def frame_end(data: bytes, position: int) -> int:
    """Where the Zstandard frame at `position` ends, by its block headers."""
    fields = zstandard.get_frame_parameters(data[position : position + 18])
    position += zstandard.frame_header_size(data[position : position + 18])
    last = False
    while not last:
        header = int.from_bytes(data[position : position + 3], "little")
        last = bool(header & 1)
        position += 3 + (1 if header >> 1 & 3 == 1 else header >> 3)
    return position + 4 * fields.has_checksum


@dataclass(frozen=True)
class Entry:
    """One line of a seek table."""

    stored_size: int
    content_size: int
    checksum: int


def table_entries(frame: StoredFrame) -> list[Entry]:
    """Read a seek table as the Zstandard Seekable Format 0.1.0 lays it out."""
    assert frame.magic == TABLE_MAGIC
    count, descriptor, magic = struct.unpack("<IBI", frame.data[-9:])
    assert magic == FOOTER_MAGIC
    assert descriptor == 0x80, "checksums, and no reserved bit"
    assert frame.size == 8 + 12 * count + 9
    return [Entry(*struct.unpack_from("<III", frame.data, 8 + 12 * i)) for i in range(count)]


def entries_of(frames: Iterable[StoredFrame]) -> list[Entry]:
    """What a table over these frames has to say."""
    return [Entry(frame.size, len(frame.content), frame.checksum) for frame in frames]


class _Text:
    """Text that is made as far as a test asks for it; what was made is kept."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._made = bytearray()
        self._lock = threading.Lock()

    def first(self, size: int) -> bytes:
        with self._lock:
            while len(self._made) < size:
                self._made += b" ".join(self._chance.choices(WORDS, k=400))
                self._made += b" %d\n" % self._chance.randrange(1 << 60)
            return bytes(memoryview(self._made)[:size])


_text_of = lru_cache(maxsize=128)(_Text)


def text(size: int, seed: int = 0) -> bytes:
    """Bytes that compress about as well as markup does, the same for the same arguments."""
    page = _text_of(seed).first(min(size, MIB))
    pages = (b"%08d" % i + page[8:] for i in range(-(-size // MIB)))
    return b"".join(pages)[:size] if size > MIB else page


@lru_cache(maxsize=64)
def noise(size: int, seed: int = 0) -> bytes:
    """Bytes that do not compress, the same for the same arguments."""
    return random.Random(seed).randbytes(size)


def sha1(data: bytes) -> str:
    """Return a digest as records state it."""
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def chunked(body: bytes, size: int = 700) -> bytes:
    """Return a body in chunked transfer coding."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in [*pieces, b""])


FRAME = 64 * KIB
FILM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"
KILLED_BLOCKS = [
    FILM_HEAD + noise(200_000, seed=1),
    FILM_HEAD + text(1000),
    FILM_HEAD + text(150_000, seed=2) + noise(70_000, seed=3),
]
"""What a writer that is killed writes: the first record of a file, and others, large and small."""


def header_for(length: int, *fields: tuple[str, str], content_type: str = "text/plain") -> bytes:
    """A record header that never changes."""
    lines = [
        "WARC/1.1",
        f"WARC-Type: {'response' if content_type == RESPONSE else 'resource'}",
        "WARC-Record-ID: <urn:uuid:11111111-2222-3333-4444-555555555555>",
        f"WARC-Date: {DATE}",
        f"Content-Type: {content_type}",
        *(f"{name}: {value}" for name, value in fields),
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def record_id(number: int) -> str:
    return f"urn:uuid:00000000-0000-4000-8000-{number:012d}"


def written(
    *records: dict[str, Any] | tuple[bytes, bytes], **options: Any
) -> tuple[bytes, list[seekwarc.Written]]:
    """Write a file in memory: dicts go to `write`, (header, block) pairs to `write_raw`.

    What would differ from run to run is fixed, unless the record says otherwise.
    """
    target = io.BytesIO()
    done = []
    with seekwarc.Writer(target, **options) as writer:
        for number, record in enumerate(records):
            if isinstance(record, tuple):
                done.append(writer.write_raw(*record))
            else:
                fixed = {
                    "type": "resource",
                    "target_uri": None if record.get("type") == "warcinfo" else URI,
                    "date": DATE,
                    "record_id": record_id(number),
                }
                done.append(writer.write(**{**fixed, **record}))
    return target.getvalue(), done


def plain(*records: tuple[bytes, bytes]) -> bytes:
    """The same (header, block) pairs as an uncompressed WARC file."""
    return b"".join(header + block + b"\r\n\r\n" for header, block in records)


def content_of(frames: Iterable[StoredFrame]) -> bytes:
    return b"".join(frame.content for frame in frames)


class Stream:
    """A stream that can only be read forward and gives less than it is asked for."""

    def __init__(self, data: bytes, *, most: int = 50_000, fails_after: int | None = None) -> None:
        self._data = memoryview(data)
        self._position = 0
        self._most = most
        self._fails_after = fails_after

    def read(self, size: int = -1) -> bytes:
        if self._fails_after is not None and self._position >= self._fails_after:
            raise ConnectionResetError("the other side is gone")
        size = self._most if size < 0 else min(size, self._most)
        piece = bytes(self._data[self._position : self._position + size])
        self._position += len(piece)
        return piece


class FailingFile(io.BytesIO):
    """A seekable stream whose reads fail after some offset."""

    def __init__(self, data: bytes, fails_after: int) -> None:
        super().__init__(data)
        self._fails_after = fails_after

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() >= self._fails_after:
            raise ConnectionResetError("the other side is gone")
        return super().read(size)


class Repeated:
    """A stream of `size` bytes made of one page, each repetition with its number at the front.

    Costs no memory whatever its size. `content(start, stop)` tells what stands there.
    """

    def __init__(self, page: bytes, size: int) -> None:
        self.size = size
        self._page = page
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        stop = self.size if size < 0 else min(self.size, self._position + size)
        data = self.content(self._position, stop)
        self._position = stop
        return data

    def content(self, start: int, stop: int) -> bytes:
        period = len(self._page)
        first, last = start // period, -(-stop // period)
        pages = b"".join(b"%015d\n" % number + self._page[16:] for number in range(first, last))
        return pages[start - first * period : stop - first * period]


class WriteOnly(io.RawIOBase):
    """A target that cannot seek, like a pipe, and takes only a part of what it is given."""

    def __init__(self, most: int = 100_000) -> None:
        super().__init__()
        self.data = bytearray()
        self._most = most

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        taken = bytes(data[: self._most])
        self.data += taken
        return len(taken)


class CountedSource:
    """A range source that keeps a list of what was read of it."""

    name = "<counted>"

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        self.size = size
        self.reads: list[tuple[int, int]] = []
        self._read = read

    @classmethod
    def of(cls, data: bytes) -> CountedSource:
        return cls(lambda start, stop: data[start:stop], len(data))

    def read(self, start: int, stop: int) -> bytes:
        self.reads.append((start, min(stop, self.size)))
        return self._read(start, stop)

    def close(self) -> None:
        pass


def data_frames(frames: Iterable[StoredFrame]) -> Iterator[StoredFrame]:
    return (frame for frame in frames if frame.is_data)


@cache
def small_dictionary() -> seekwarc.Dictionary:
    """A dictionary trained once for all tests."""
    samples = [header_for(n) + HTTP_HEAD + text(2000, seed=n)[: 400 + 13 * (n % 90)] for n in range(400)]
    return seekwarc.Dictionary.train(samples, size=8 * KIB)


def response(body: bytes, kind: str | None, *fields: str) -> bytes:
    """Return the block of a response."""
    lines = ["HTTP/1.1 200 OK", *([f"Content-Type: {kind}"] if kind else []), *fields]
    return "\r\n".join([*lines, "", ""]).encode() + body
