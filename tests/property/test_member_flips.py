"""One flipped bit in a compressed archive, wherever it is: the bytes as they were, an error, or a problem.

`SEEKWARC_ROUNDS=5` flips five times as many bits.
"""

from __future__ import annotations

import gzip
import random
import re
import struct
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

import seekwarc
from seekwarc import tools
from seekwarc.cli import main as command
from seekwarc.compat.fsspec import WarcFileSystem
from seekwarc.errors import FormatWarning, SeekWarcError
from seekwarc.frames.inflate import gzip_codec
from seekwarc.read.resync import only_shares
from seekwarc.serve.app import application
from seekwarc.serve.library import Library
from tests.serve.asgi import Client
from tests.support.arc import arc_record, first_record
from tests.support.foreign import CRLF2, Foreign, cut, text, zstd_frame
from tests.support.rounds import rounds

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
Compress = Callable[[bytes], bytes]
URI = "http://example.org/%d"


def warc_record(number: int, block: bytes) -> bytes:
    header = (
        b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:%d>\r\n"
        b"WARC-Date: 2026-01-01T00:00:00Z\r\n"
        b"WARC-Target-URI: http://example.org/%d\r\nContent-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n" % (number, number, len(block))
    )
    return header + block + CRLF2


def record(number: int, size: int, *, is_arc: bool) -> bytes:
    block = HEAD + text(size, seed=number)
    return arc_record(URI.encode() % number, block) if is_arc else warc_record(number, block)


def deflated(content: bytes, level: int, strategy: int, step: int) -> bytes:
    """Deflate with an empty stored block after each step."""
    deflate = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    pieces = []
    for start in range(0, len(content), step):
        pieces += [deflate.compress(content[start : start + step]), deflate.flush(zlib.Z_FULL_FLUSH)]
    return b"".join([*pieces, deflate.flush()])


def member(content: bytes, data: bytes, *, fields: bool = False) -> bytes:
    header = b"\x1f\x8b\x08" + (b"\x1c" if fields else b"\0") + b"\1\2\3\4\0\3"
    if fields:
        header += b"\4\0abcdname\0comment\0"
    return header + data + struct.pack("<II", zlib.crc32(content), len(content))


def framed(content: bytes) -> bytes:
    """Compress into frames of 8 KiB, listed in a seek table."""
    made = Foreign().begin(b"", content)
    for piece in cut(content, 8 << 10):
        made.frame(piece)
    return made.table().bytes()


EVERYTHING = 1 << 30
GZIP: dict[str, Compress] = {
    "dynamic": lambda it: gzip.compress(it, 6, mtime=0),
    "fixed": lambda it: member(it, deflated(it, 6, zlib.Z_FIXED, EVERYTHING)),
    "stored": lambda it: member(it, deflated(it, 0, zlib.Z_DEFAULT_STRATEGY, EVERYTHING)),
    "literals": lambda it: member(it, deflated(it, 6, zlib.Z_HUFFMAN_ONLY, EVERYTHING), fields=True),
    "empty blocks": lambda it: member(it, deflated(it, 6, zlib.Z_DEFAULT_STRATEGY, 250)),
}
ZSTD: dict[str, Compress] = {"frame": zstd_frame, "frames": framed}
KINDS = {
    **{name: (".warc.gz", compress) for name, compress in GZIP.items()},
    "arc": (".arc.gz", GZIP["dynamic"]),
    **{name: (".warc.zst", compress) for name, compress in ZSTD.items()},
}
"""What the file is, and how a member or the frames of a record are made."""
SIZES = {
    "small": ((300,), (700,), (40,)),
    "shared": ((300, 600), (500,)),
    "large": ((200,), (90_000,), (60,)),
    "far": ((300, 1_100_000), (500,)),
}
"""Sizes of the payloads in each member; the end of one may be far from a record."""
SHARES = (4, 4, 4, 1)
"""How many of the flips are in files of each size."""


@dataclass(frozen=True)
class Made:
    kind: str
    stored: bytes
    places: list[tuple[int, int]]
    """Offset and length of each member."""
    records: list[list[tuple[bytes, bytes]]]
    """Header and block of each record of each member."""
    index: bytes
    wacz: bytes
    """Nothing where the file would not be copied into one as it is."""

    @property
    def name(self) -> str:
        return "a" + KINDS[self.kind][0]

    def payload(self, number: int) -> tuple[str, bytes]:
        """Return URI and payload of the first record of a member."""
        header, block = self.records[number][0]
        found = re.search(rb"http://example.org/\d+|filedesc://old.arc", header)
        assert found is not None
        return found[0].decode(), block.removeprefix(HEAD)


@cache
def made(kind: str, size: str) -> Made:
    suffix, compress = KINDS[kind]
    is_arc = suffix == ".arc.gz"
    contents = [[first_record()]] if is_arc else []
    number = 0
    for group in SIZES[size]:
        contents.append([record(number + at, it, is_arc=is_arc) for at, it in enumerate(group)])
        number += len(group)
    stored, places = b"", []
    for content in contents:
        data = compress(b"".join(content))
        places.append((len(stored), len(data)))
        stored += data
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        path = Path(folder) / f"a{suffix}"
        path.write_bytes(stored)
        with seekwarc.open(path) as archive:
            read = iter([(it.header.raw, it.block.read()) for it in archive])
        index, wacz = BytesIO(), BytesIO()
        # Records that share a member get no line.
        tools.index(path, index, on_problem=lambda _: None)
        if suffix == ".warc.gz" and size not in ("shared", "far"):
            tools.create_wacz(path, wacz)
            assert stored in wacz.getvalue()
    records = [[next(read) for _ in content] for content in contents]
    assert next(read, None) is None
    return Made(kind, stored, places, records, index.getvalue(), wacz.getvalue())


def flipped(stored: bytes, rng: random.Random, place: tuple[int, int]) -> bytes:
    """Flip a bit of a member: half of them near its end, or in its header."""
    start, length = place
    at = rng.choice([rng.randrange(length), length - 1 - rng.randrange(min(48, length)), rng.randrange(24)])
    data = bytearray(stored)
    data[start + min(at, length - 1)] ^= 1 << rng.randrange(8)
    return bytes(data)


def whole(found: seekwarc.Record, way: str) -> tuple[bytes, bytes]:
    """Read a record in one of the ways."""
    size = found.content_length
    match way:
        case "pread":
            block = found.block.pread(0, size + 100)
        case "payload":
            block = HEAD + found.payload.pread(0, 1 << 20) if found.http else found.block.read()
        case "file":
            with found.block.open() as file:
                block = b"".join(iter(lambda: file.read(4000) or b"", b""))
        case _:
            block = found.block.read()
    return found.header.raw, block


def is_doubtful(problem: str | None) -> bool:
    return problem is not None and not only_shares(problem)


def check_by_offset(one: Made, data: bytes, number: int, way: str, *, by_length: bool) -> str:
    offset, length = one.places[number]
    try:
        with seekwarc.open(data) as archive:
            found = archive.record_at(offset, length if by_length else None)
            read = whole(found, way)
            problem = found.problem
    except SeekWarcError:
        return "error"
    if read == one.records[number][0]:
        return "same"
    assert is_doubtful(problem), (way, by_length, read[0], read[1][-80:])
    return "problem"


def check_in_order(one: Made, data: bytes) -> str:
    wanted = [it for group in one.records for it in group]
    read: list[tuple[bytes, bytes, seekwarc.Record]] = []
    try:
        with seekwarc.open(data) as archive:
            for found in archive:
                read.append((*whole(found, "read"), found))
    except SeekWarcError:
        return "error"
    if [it[:2] for it in read] == wanted:
        return "same"
    assert any(is_doubtful(it[2].problem) for it in read), [it[0] for it in read]
    return "problem"


Read = tuple[bytes, str | None] | None
"""A payload, and what is known to be wrong with its record."""
Interface = Callable[[Made, bytes, str, str], Read]
"""Reads a damaged file: by a URI, in one of the ways."""


@dataclass(frozen=True)
class Interfaces:
    """What leads to a record by its URI, and how its payload is read there; None if it leads to nothing."""

    folder: Path
    portal: BlockingPortal

    def reading(self, one: Made) -> list[tuple[str, Interface]]:
        """Return those that read a file, by name."""
        found: list[tuple[str, Interface]]
        found = [("index", self.index), ("server", self.server), ("warc://", self.warc)]
        if one.wacz:
            found.append(("wacz", self.wacz))
        return found

    def index(self, one: Made, data: bytes, uri: str, way: str) -> Read:
        (self.folder / one.name).write_bytes(data)
        with seekwarc.Index(one.index, files=self.folder) as index:
            for capture in index.lookup(uri):
                found = capture.open()
                return whole(found, way)[1].removeprefix(HEAD), found.problem
        return None

    def wacz(self, one: Made, data: bytes, uri: str, way: str) -> Read:
        path = self.folder / "a.wacz"
        path.write_bytes(one.wacz.replace(one.stored, data))
        with seekwarc.Wacz(path) as archive:
            found = archive.open_record(uri=uri)
            return whole(found, way)[1].removeprefix(HEAD), found.problem

    def server(self, one: Made, data: bytes, uri: str, _: str) -> Read:
        path = self.folder / one.name
        path.write_bytes(data)
        with Library([path]) as library:
            library.read()
            client = Client(application(library), self.portal)
            try:
                answer = client.get("/payload", uri=uri)
            except SeekWarcError:
                return None  # As the connection is closed before the end of the answer.
        is_whole = answer.ended and len(answer.body) == int(answer.headers.get("content-length", -1))
        return (answer.body, None) if answer.status == 200 and is_whole else None

    def warc(self, one: Made, data: bytes, uri: str, _: str) -> Read:
        path = self.folder / one.name
        path.write_bytes(data)
        archive = WarcFileSystem(str(path))
        try:
            return archive.cat_file(uri), None
        except FileNotFoundError:
            return None
        finally:
            archive.close()


def check_by_uri(interface: Interface, one: Made, data: bytes, number: int, way: str) -> str:
    uri, payload = one.payload(number)
    try:
        read = interface(one, data, uri, way)
    except SeekWarcError:
        return "error"
    if read is None:
        return "error"
    if read[0] == payload:
        return "same"
    assert is_doubtful(read[1]), (interface, way, read[0][-80:])
    return "problem"


WAYS = ("pread", "payload", "file", "read")


def check(numbers: range, where: Interfaces) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        for seed in numbers:
            rng = random.Random(seed)
            one = made(rng.choice([*KINDS]), rng.choices([*SIZES], SHARES)[0])
            number = rng.randrange(len(one.places))
            data = flipped(one.stored, rng, one.places[number])
            try:
                by_length, way = rng.random() < 0.5, rng.choice(WAYS)
                outcomes[check_by_offset(one, data, number, way, by_length=by_length)] += 1
                name, interface = rng.choice(where.reading(one))
                outcome = check_by_uri(interface, one, data, number, rng.choice(WAYS))
                outcomes[f"{name}: {outcome}"] += 1
                outcome = check_in_order(one, data)
                outcomes[f"in order: {outcome}"] += 1
                # What is found damaged by reading is damage to `verify`.
                if outcome != "same":
                    assert not tools.verify(data).is_sound
            except AssertionError as error:
                raise AssertionError(f"flip {seed}, {one.kind}: {error}") from None
    return outcomes


@pytest.fixture(params=[pytest.param("isal", marks=pytest.mark.needs("module:isal")), "zlib"])
def codec(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What decompresses gzip members."""
    if request.param == "zlib":
        monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    gzip_codec.cache_clear()
    yield request.param
    gzip_codec.cache_clear()


@pytest.fixture(scope="module")
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as found:
        yield found


@pytest.fixture
def where(tmp_path: Path, portal: BlockingPortal) -> Interfaces:
    return Interfaces(tmp_path, portal)


def test_a_flipped_bit_never_gives_other_bytes_silently(codec: str, where: Interfaces) -> None:
    first = 0 if codec == "isal" else 500
    outcomes = check(range(first, first + rounds(100)), where)
    assert outcomes["error"] > outcomes["same"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1000 + rounds(500), 500))
def test_thousands_of_flipped_bits_never_give_other_bytes(first: int, codec: str, where: Interfaces) -> None:
    start = first if codec == "isal" else first + 100_000
    print(codec, check(range(start, start + 500), where))


@pytest.mark.parametrize("kind", GZIP)
def test_cat_fails_or_prints_the_same_after_a_flip(
    kind: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    one = made(kind, "small")
    offset, length = one.places[2]
    path = tmp_path / "a.warc.gz"
    for seed in range(rounds(12)):
        path.write_bytes(flipped(one.stored, random.Random(seed), one.places[2]))
        for where in (
            [str(offset)],
            ["--uri", "http://example.org/2"],
            [str(offset), "--length", str(length)],
        ):
            status = command(["cat", str(path), *where, "--part", "block"])
            assert status or capfdbinary.readouterr().out == one.records[2][0][1], (seed, where)
            capfdbinary.readouterr()
