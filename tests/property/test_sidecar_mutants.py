"""Sidecars that were damaged, or say something else than the archive holds, never give other bytes."""

from __future__ import annotations

import random
import struct
import warnings
from array import array
from collections import Counter
from dataclasses import replace
from functools import cache
from operator import attrgetter

import pytest
import zstandard

import seekwarc
from seekwarc.errors import FormatWarning, SeekWarcError
from seekwarc.format.seektable import SeekTable, table_frame_size
from seekwarc.format.sidecar import SidecarRecord
from seekwarc.read import archive_file
from tests.support.foreign import CRLF2, checksum, cut, warc_header, zstd_frame
from tests.support.framed import film
from tests.support.rounds import rounds
from tests.support.sidecars import Member, gzip_member, member, mixed, sidecar_of, spliced

QUICK, ALL, AT_A_TIME = 60, 10_000, 500


def archive() -> tuple[bytes, bytes, bytes]:
    """Return an archive of one record, its payload, and its sidecar."""
    pieces = mixed(7, 60_000)
    payload = b"".join(pieces)
    pieces = [warc_header(len(payload)), *pieces, CRLF2]
    data = gzip_member(pieces)
    return data, payload, sidecar_of(data, [member(0, data, b"".join(pieces)).record(8_000)])


TRAILER = 104


def content_of(sidecar: bytes) -> bytes:
    frames = sidecar[: -table_frame_size(sidecar)]
    return zstandard.ZstdDecompressor().decompressobj(read_across_frames=True).decompress(frames)


class Subject:
    """What mutants are made of."""

    def __init__(self, name: str, data: bytes, payload: bytes, sidecar: bytes, offset: int = 0) -> None:
        self.name = name
        self.data = data
        self.payload = payload
        self.sidecar = sidecar
        self.offset = offset
        self.content = content_of(sidecar)
        self.record = len(self.content) - TRAILER - 40
        self.spans = struct.unpack_from("<Q", self.content, len(self.content) - TRAILER + 24)[0]
        self.numbers = self.record - 32 * self.spans
        words = struct.unpack_from(f"<{4 * self.spans}Q", self.content, self.numbers)
        # Of the payload, where spans begin, about.
        self.begins = words[1::4]


@cache
def subject(kind: str) -> Subject:
    if kind == "gz":
        return Subject("a.warc.gz", *archive())
    made = film(5, 10, 300_000)
    payload = made.content.partition(CRLF2)[2].removesuffix(CRLF2)
    return Subject("a.warc.zst", made.data, payload, made.sidecar(4 << 20), made.offset)


def packed(content: bytes) -> bytes:
    """Return a file of that content, of which all checksums are right."""
    pieces = cut(content, 50_000)
    frames = [zstd_frame(piece) for piece in pieces]
    columns = [map(len, frames), map(len, pieces), map(checksum, pieces)]
    return b"".join(frames) + SeekTable(*(array("Q", column) for column in columns)).build()


def damaged(rnd: random.Random, data: bytes) -> bytes:
    """Return a file with other bytes somewhere, or without some, or with some twice."""
    changed = bytearray(data)
    for _ in range(rnd.choice([1, 1, 1, 5])):
        place = rnd.choice([rnd.randrange(len(data)), rnd.randrange(max(len(data) - 400, 0), len(data))])
        match rnd.randrange(4):
            case 0:
                changed[place : place + 1] = bytes((rnd.randrange(256),))
            case 1:
                del changed[place : place + rnd.choice([1, 8, 4000])]
            case 2:
                changed[place:place] = changed[place // 2 : place // 2 + rnd.choice([1, 8, 4000])]
            case 3:
                changed[place : place + 8] = rnd.choice([b"\0" * 8, b"\xff" * 8, b"\0\0\0\0\0\0\0\x80"])
    return bytes(changed)


def lying(rnd: random.Random, it: Subject) -> bytes:
    """Return a sidecar without damage, some of whose numbers are others."""
    content = bytearray(it.content)
    for _ in range(rnd.choice([1, 1, 2, 4])):
        place = rnd.choice(
            [
                it.numbers + 8 * rnd.randrange(4 * it.spans),
                it.numbers + 32 * rnd.randrange(it.spans) + 8 * rnd.choice([2, 3]),
                it.numbers + 32 * rnd.randrange(it.spans) + 8 * rnd.choice([2, 3]),
                it.record + 8 * rnd.randrange(5),
                len(content) - TRAILER + 8 * rnd.randrange(5),
            ]
        )
        (value,) = struct.unpack_from("<Q", content, place)
        (other,) = struct.unpack_from("<Q", content, it.numbers + 8 * rnd.randrange(4 * it.spans))
        near = value + rnd.choice([-32, -8, -1, 1, 8, 32, 65536])
        new = rnd.choice([near, near, other, value ^ 1 << rnd.randrange(64), 0, 2**63, 2**64 - 1])
        struct.pack_into("<Q", content, place, new % 2**64)
    if not rnd.randrange(4):
        # A window of other bytes.
        content[: it.numbers // 2] = rnd.randbytes(it.numbers // 2)
    return packed(bytes(content))


def outcome(tmp: str, it: Subject, sidecar: bytes, rnd: random.Random) -> str:
    """Read some ranges, each of which is right or an error, and say what became of the sidecar."""
    path = f"{tmp}/{it.name}"
    with open(f"{path}.seek", "wb") as file:
        file.write(sidecar)
    found = Counter[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        with seekwarc.open(path, threads=1) as reader:
            record = reader.record_at(it.offset)
            try:
                found[record.seek_table_status.value] += 1
                record.payload.plan(10_000, 30_000)
                for _ in range(6):
                    start = min(rnd.choice([rnd.randrange(len(it.payload)), *it.begins]), len(it.payload) - 1)
                    size = rnd.choice([1, 5000, 80_000])
                    assert record.payload.pread(start, size) == it.payload[start : start + size]
            except SeekWarcError:
                found["error"] += 1
    return "error" if found["error"] else next(iter(found))


@cache
def members() -> list[Member]:
    """Return records of one size, each in a member of its own."""
    found: list[Member] = []
    for seed in range(3):
        text = b"".join(mixed(seed, 80_000))[:60_000]
        pieces = [warc_header(len(text), seed), *cut(text, 900), CRLF2]
        offset = sum(len(it.stored) for it in found)
        found.append(member(offset, gzip_member(pieces), b"".join(pieces)))
    return found


def true_entries(rnd: random.Random, one: Member, other: Member) -> list[SidecarRecord]:
    """Return entries whose every checksum is that of content of the archive, for some member or none."""
    ends = [it.offset + len(it.stored) for it in members()]
    length = max(rnd.choice([*ends, ends[-1] - 8, ends[0] - 1]) - one.offset, 1)
    spacing = rnd.choice([2_000, 8_000, 20_000])
    entry = one.record(spacing)
    match rnd.randrange(4):
        case 0:
            entry = spliced(one, other, rnd.randrange(len(entry.spans)), spacing, length)
        case 1:
            # All spans of another member, or of one that shares the first with it.
            spans = [*entry.spans[: rnd.randrange(2)], *other.record(spacing).spans]
            entry = replace(entry, spans=spans, length=length)
        case 2:
            entry = replace(entry, length=length)
        case 3:
            entry = replace(entry, offset=one.offset + rnd.randrange(1, 50), length=length)
    rest = [it.record(spacing) for it in members() if it is not one and rnd.randrange(2)]
    return sorted([entry, *rest], key=attrgetter("offset"))


@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (0, QUICK),
        *(pytest.param(seed, AT_A_TIME, marks=pytest.mark.slow) for seed in range(1, 1 + rounds(4))),
    ],
)
def test_spans_of_other_records_never_give_their_bytes(
    tmp_path, monkeypatch: pytest.MonkeyPatch, seed: int, count: int
) -> None:
    monkeypatch.setattr(archive_file, "MIN_SIDECAR_RECORD", 1)
    rnd, outcomes = random.Random(seed), Counter[str]()
    data = b"".join(it.stored for it in members())
    path = tmp_path / "a.warc.gz"
    path.write_bytes(data)
    for _ in range(count):
        one, other = rnd.sample(members(), 2)
        path.with_name("a.warc.gz.seek").write_bytes(sidecar_of(data, true_entries(rnd, one, other)))
        with warnings.catch_warnings(), seekwarc.open(path, threads=1) as reader:
            warnings.simplefilter("ignore", FormatWarning)
            length = rnd.choice([None, len(one.stored)])
            record = [*reader][members().index(one)] if not rnd.randrange(4) else None
            body = (record or reader.record_at(one.offset, length)).body
            outcomes[body.table_status.value] += 1
            for _ in range(6):
                start = rnd.randrange(len(one.content))
                stop = min(start + rnd.choice([1, 5000, 40_000]), len(one.content))
                try:
                    assert body.read(start, stop) == one.content[start:stop]
                except SeekWarcError:
                    outcomes["error"] += 1
    assert outcomes["sidecar"] > count // 100
    assert outcomes["stream"] > count // 2


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (0, QUICK),
        *(pytest.param(seed, AT_A_TIME, marks=pytest.mark.slow) for seed in range(1, 1 + ALL // AT_A_TIME)),
    ],
)
def test_no_mutant_gives_other_bytes(
    tmp_path, monkeypatch: pytest.MonkeyPatch, seed: int, count: int, kind: str
) -> None:
    monkeypatch.setattr(archive_file, "MIN_SIDECAR_RECORD", 1)
    it = subject(kind)
    tmp_path.joinpath(it.name).write_bytes(it.data)
    rnd = random.Random(seed)
    sound = packed(it.content), it.sidecar
    assert [outcome(tmp_path, it, one, rnd) for one in sound] == ["sidecar"] * 2
    outcomes = Counter(
        outcome(tmp_path, it, lying(rnd, it) if number % 2 else damaged(rnd, it.sidecar), rnd)
        for number in range(count)
    )
    # Each comes of it, or the mutants would be too strong, or too weak.
    unused = outcomes["stream"] + outcomes["blocks"]
    assert min(outcomes["sidecar"], unused, outcomes["error"]) > count // 100
