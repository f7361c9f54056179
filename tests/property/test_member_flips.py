"""One flipped bit in a .warc.gz, wherever it is: the bytes as they were, an error, or a problem.

`SEEKWARC_ROUNDS=5` flips five times as many bits.
"""

from __future__ import annotations

import gzip
import random
import struct
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import seekwarc
from seekwarc.cli import main as command
from seekwarc.errors import FormatWarning, SeekWarcError
from seekwarc.tools.verifying import verify
from tests.support.foreign import CRLF2, text
from tests.support.rounds import rounds

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
Deflate = Callable[[bytes], bytes]


def record(number: int, size: int) -> tuple[bytes, bytes]:
    body = text(size, seed=number)
    block = HEAD + body
    header = (
        b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:%d>\r\n"
        b"WARC-Date: 2026-01-01T00:00:00Z\r\n"
        b"WARC-Target-URI: http://example.org/%d\r\nContent-Type: application/http; msgtype=response\r\n"
        b"Content-Length: %d\r\n\r\n" % (number, number, len(block))
    )
    return header, block


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


EVERYTHING = 1 << 30
KINDS: dict[str, Deflate] = {
    "dynamic": lambda it: gzip.compress(it, 6, mtime=0),
    "fixed": lambda it: member(it, deflated(it, 6, zlib.Z_FIXED, EVERYTHING)),
    "stored": lambda it: member(it, deflated(it, 0, zlib.Z_DEFAULT_STRATEGY, EVERYTHING)),
    "literals": lambda it: member(it, deflated(it, 6, zlib.Z_HUFFMAN_ONLY, EVERYTHING), fields=True),
    "empty blocks": lambda it: member(it, deflated(it, 6, zlib.Z_DEFAULT_STRATEGY, 250)),
}
SIZES = {"small": ((300, 700, 40),), "shared": ((300, 600), (500,)), "large": ((200,), (90_000,), (60,))}
"""Sizes of the payloads in each member, or of those in members of their own."""


@dataclass(frozen=True)
class Made:
    stored: bytes
    places: list[tuple[int, int]]
    """Offset and length of each member."""
    records: list[list[tuple[bytes, bytes]]]
    """Header and block of each record of each member."""


@cache
def made(kind: str, size: str) -> Made:
    groups = SIZES[size] if size != "small" else tuple((it,) for it in SIZES["small"][0])
    number, stored, places, records = 0, b"", [], []
    for group in groups:
        records.append([record(number + at, it) for at, it in enumerate(group)])
        number += len(group)
        data = KINDS[kind](b"".join(header + block + CRLF2 for header, block in records[-1]))
        places.append((len(stored), len(data)))
        stored += data
    return Made(stored, places, records)


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
    assert problem is not None, (way, by_length, read[0], read[1][-80:])
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
    assert any(it[2].problem for it in read), [it[0] for it in read]
    return "problem"


WAYS = ("pread", "payload", "file", "read")


def check(numbers: range) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        for seed in numbers:
            rng = random.Random(seed)
            one = made(rng.choice([*KINDS]), rng.choice([*SIZES]))
            number = rng.randrange(len(one.places))
            data = flipped(one.stored, rng, one.places[number])
            try:
                for by_length in (False, True):
                    way = rng.choice(WAYS)
                    outcomes[check_by_offset(one, data, number, way, by_length=by_length)] += 1
                outcome = check_in_order(one, data)
                outcomes[f"in order: {outcome}"] += 1
                # What is found damaged by reading is damage to `verify`.
                if outcome != "same":
                    assert not verify(data).is_sound
            except AssertionError as error:
                raise AssertionError(f"flip {seed}: {error}") from None
    return outcomes


def test_a_flipped_bit_never_gives_other_bytes_silently() -> None:
    outcomes = check(range(rounds(300)))
    assert outcomes["error"] > outcomes["same"]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1000 + rounds(20_000), 1000))
def test_thousands_of_flipped_bits_never_give_other_bytes(first: int) -> None:
    print(check(range(first, first + 1000)))


@pytest.mark.parametrize("kind", KINDS)
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
