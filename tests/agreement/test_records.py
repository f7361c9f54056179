"""Which records a file has: whatever reads it finds the same ones, at the same places, damaged or not."""

from __future__ import annotations

import gzip
import io
import random
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

import seekwarc
from seekwarc import tools
from seekwarc.collection.entry import described_past_damage
from seekwarc.errors import SeekWarcError
from seekwarc.format.uri import as_utf8
from seekwarc.scale.splits import read_records, splits
from tests.conftest import ODD_SAMPLES, SAMPLES
from tests.support.arc import arc_record, first_record
from tests.support.rounds import rounds

Place = tuple[int, str | None]
Mutation = Callable[[bytes, random.Random], bytes]

ODD_RECORDS: list[Mutation] = [
    lambda it, rng: it,
    lambda it, rng: it.replace(b"Content-Length: ", b"Content-Length: 1", 1),
    lambda it, rng: it[: -rng.randint(1, 4)],
    lambda it, rng: it + rng.choice([b"\r\n", bytes(4), b"xyz", b"\n\n"]),
    lambda it, rng: rng.choice([b" ", bytes(2), b"\xef\xbb\xbf", b"\r\n", b"xyz"]) + it,
    lambda it, rng: re.sub(
        rb"(?<=Content-Length: )\d+",
        lambda size: b"%d" % max(0, int(size[0]) - rng.randint(1, 40)),
        it,
        count=1,
    ),
    lambda it, rng: it.replace(b"WARC/1.1", b"WARC/0.17", 1),
]
"""A record of which something is wrong, but in the first."""


def record(number: int, rng: random.Random) -> bytes:
    body = bytes(rng.choices(b"abc \n", k=rng.choice([0, 5, 60, 3000])))
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    head = (
        f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:{number}>\r\n"
        f"WARC-Date: 2024-01-01T00:00:{number:02}Z\r\nWARC-Target-URI: http://example.org/{number}\r\n"
        f"Content-Type: application/http\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def in_members(records: list[bytes], size: int) -> bytes:
    several = (records[at : at + size] for at in range(0, len(records), size))
    return b"".join(gzip.compress(b"".join(some), mtime=0) for some in several)


def in_frames(records: list[bytes]) -> bytes:
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    return b"".join(map(compressor.compress, records))


FORMS: dict[str, Callable[[list[bytes]], bytes]] = {
    "warc": b"".join,
    "warc.gz": lambda records: in_members(records, 1),
    "of pairs.warc.gz": lambda records: in_members(records, 2),
    "of one member.warc.gz": lambda records: in_members(records, len(records)),
    "warc.zst": in_frames,
    "arc": b"".join,
    "arc.gz": lambda records: in_members(records, 1),
}


def made(form: str, rng: random.Random) -> bytes:
    """Return a file of a few records, of which one may be odd, with up to two damaged places."""
    if "arc" in form.split("."):
        blocks = [b"HTTP/1.0 200 OK\r\n\r\n<p>%d" % it * rng.randint(1, 50) for it in range(5)]
        records = [
            first_record(),
            *(arc_record(b"http://example.org/%d" % n, it) for n, it in enumerate(blocks)),
        ]
    else:
        records = [record(number, rng) for number in range(rng.randint(2, 8))]
        odd = rng.randrange(len(records))
        records[odd] = rng.choice(ODD_RECORDS)(records[odd], rng)
    data = bytearray(FORMS[form](records))
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        place = rng.randrange(len(data)) if data else 0
        kind = rng.randrange(4)
        if kind == 0 and data:
            data[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[place : place + rng.choice([1, 5, 100])]
        elif kind == 2:
            data[place:place] = rng.randbytes(rng.choice([1, 8, 50]))
        else:
            del data[place:]
    return bytes(data)


def by_iterating(path: Path) -> list[Place]:
    with seekwarc.open(path, on_error="skip") as archive:
        return [(it.offset, it.type) for it in archive]


def by_collection(path: Path) -> list[Place]:
    with seekwarc.Collection([path], on_error="skip") as collection:
        return [(it.offset, it.type) for it in collection]


def by_entries(path: Path) -> list[Place]:
    with seekwarc.open(path, on_error="skip") as archive:
        return [(it.offset, it.type) for it in described_past_damage([archive])]


def by_splits(path: Path) -> list[Place]:
    parts = splits(str(path), target_bytes=300)
    return [(it.offset, it.type) for part in parts for it in read_records(part, on_error="skip")]


def by_batches(path: Path) -> list[Place]:
    rows = [row for batch in seekwarc.batches(str(path)) for row in batch.to_pylist()]
    return [(row["offset"], row["type"]) for row in rows]


WAYS = (by_iterating, by_collection, by_entries, by_splits, by_batches)


def found(way: Callable[[Path], list[Place]], path: Path) -> list[Place]:
    """Return the records; none where the file is refused."""
    try:
        # Batches have no type for a record that states none, as for a damaged place.
        return [(offset, as_utf8(kind)) for offset, kind in way(path) if kind is not None]
    except SeekWarcError:
        return []


class Pipe(io.RawIOBase):
    """Bytes that can be read once."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        return self._file.readinto(buffer)


def piped(data: bytes) -> Iterator[Place]:
    with seekwarc.open(Pipe(data), on_error="skip") as archive:
        yield from ((it.offset, as_utf8(it.type)) for it in archive if it.type is not None)


def agree(path: Path) -> None:
    """Assert that all ways find the same records.

    A pipe finds those before damage that it cannot pass, and where a length is too large, it says that
    something is wrong, since it cannot go back.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        expected = found(by_iterating, path)
        for way in WAYS[1:]:
            assert found(way, path) == expected, way.__name__
        assert not expected or tools.verify(path).records <= len(by_iterating(path))
    passed: list[Place] = []
    last = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            passed.extend(piped(path.read_bytes()))
        except SeekWarcError:
            last = len(passed)
    assert passed == expected[:last] or (warned and set(passed) <= set(expected))


@pytest.mark.parametrize(("form", "seed"), [("arc.gz", 1022), ("of pairs.warc.gz", 1043)])
def test_a_part_that_ends_with_a_damaged_member_has_no_record_more(
    form: str, seed: int, tmp_path: Path
) -> None:
    """What is wrong with such a member shows in the bytes after it, which are in the next part."""
    path = tmp_path / f"a.{form}"
    path.write_bytes(made(form, random.Random(f"{form} {seed}")))
    agree(path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.slow)])
def test_all_ways_find_the_same_records(form: str, first: int, tmp_path: Path) -> None:
    path = tmp_path / f"a.{form}"
    for seed in range(first, first + (rounds(200) if first else 12)):
        path.write_bytes(made(form, random.Random(f"{form} {seed}")))
        try:
            agree(path)
        except AssertionError as error:
            raise AssertionError(f"{form} {seed}: {error}") from error


@pytest.mark.parametrize(
    ("form", "seed"),
    [
        ("arc", 700098),
        ("arc", 701581),
        ("warc.gz", 700220),
        ("warc", 700332),
        ("warc", 700901),
        ("warc", 701949),
    ],
)
def test_all_ways_find_the_records_that_some_once_did_not(form: str, seed: int, tmp_path: Path) -> None:
    path = tmp_path / f"a.{form}"
    path.write_bytes(made(form, random.Random(f"{form} {seed}")))
    agree(path)


OTHERS = sorted(path for folder in (SAMPLES, ODD_SAMPLES) for path in folder.glob("*arc*"))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("path", OTHERS, ids=lambda it: it.name)
def test_all_ways_find_the_same_records_of_other_programs(path: Path) -> None:
    agree(path)
