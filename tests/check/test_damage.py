"""A thousand random damages: each is reported or harmless, and all other records are recovered."""

from __future__ import annotations

import io
import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import seekwarc
from seekwarc.check.recovering import recover
from seekwarc.check.verifying import Verifier
from seekwarc.storage.local import BytesSource
from tests.support.writing import DATE, HTTP_HEAD, KIB, noise, record_id, small_dictionary, text, walk

pytestmark = pytest.mark.slow

RECORDS = 50
BATCH = 25
KINDS = ("flip", "cut", "swap", "zero", "overwrite")
CASES = [("large", False, 14), ("every", False, 3), ("large", True, 3)]

Span = tuple[int, int]


@dataclass(frozen=True)
class Stored:
    """A record as it was written, and the bytes that it needs to be read."""

    offset: int
    data_end: int
    """Offset after its last frame with content."""
    header: bytes
    block: bytes


@cache
def whole(tables: str, dictionary: bool) -> tuple[bytes, list[Stored]]:
    """Return a file of small and large records, text and noise."""
    target = io.BytesIO()
    options = {"dictionary": small_dictionary()} if dictionary else {}
    with seekwarc.Writer(target, frame_size=64 * KIB, tables=tables, threads=1, **options) as writer:
        writer.write_warcinfo(
            {"software": "tests"}, filename="x", headers={"WARC-Date": DATE, "WARC-Record-ID": "<urn:uuid:0>"}
        )
        for number in range(RECORDS - 1):
            match number % 12:
                case 3:
                    payload = text(200_000, seed=number)
                case 7:
                    payload = noise(70_000 if number % 24 == 7 else 5000, seed=number)
                case _:
                    payload = text(300 + 137 * number, seed=number)
            options = {"record_id": record_id(number), "date": DATE}
            writer.write_response(f"http://example.org/{number}", HTTP_HEAD + payload, **options)
    data = target.getvalue()
    frames = walk(data, small_dictionary().data if dictionary else None)
    records = []
    with seekwarc.open(data) as archive:
        for record in archive:
            end = max(f.end for f in frames if f.is_data and f.offset < record.offset + record.length)
            records.append(Stored(record.offset, end, record.header.raw, record.block.read()))
    assert len(records) == RECORDS
    assert 200_000 < len(data) < 400_000
    return data, records


def damage(data: bytes, rng: random.Random) -> tuple[bytes, list[Span]]:
    """Return the data with some damage, and where it is."""
    out = bytearray(data)
    match rng.choice(KINDS):
        case "flip":
            places = [rng.randrange(len(out)) for _ in range(rng.choice([1, 1, 1, 3, 10]))]
            for place in places:
                out[place] ^= 1 << rng.randrange(8)
            return bytes(out), [(place, place + 1) for place in places]
        case "cut":
            end = rng.randrange(1, len(out))
            return bytes(out[:end]), [(end, len(out))]
        case "swap":
            size = rng.choice([16, 512, 4096])
            a = rng.randrange(len(out) - 2 * size)
            b = rng.randrange(a + size, len(out) - size + 1)
            out[a : a + size], out[b : b + size] = out[b : b + size], out[a : a + size]
            return bytes(out), [(a, a + size), (b, b + size)]
        case kind:
            size = rng.choice([1, 64, 512, 4096, 70_000])
            begin = rng.randrange(len(out) - size)
            out[begin : begin + size] = bytes(size) if kind == "zero" else rng.randbytes(size)
            return bytes(out), [(begin, begin + size)]


def read_back(data: bytes | Path) -> list[tuple[bytes, bytes]] | None:
    """Return header and block of all records; None where reading fails."""
    try:
        with seekwarc.open(data) as archive:
            return [(record.header.raw, record.block.read()) for record in archive]
    except seekwarc.SeekWarcError:
        return None


def saved_records(data: bytes, target: Path, options: dict) -> list[tuple[bytes, bytes]]:
    try:
        done = recover(BytesSource(data), target, threads=1, existing="overwrite", **options)
    except seekwarc.NotFoundError:
        assert not target.exists()
        return []
    saved = read_back(target)
    assert saved is not None
    assert done.records == len(saved)
    target.unlink()
    return saved


@pytest.mark.parametrize("batch", range(20))
def test_random_damage_is_reported_and_the_rest_is_saved(tmp_path, batch) -> None:
    numbers = [(tables, dictionary) for tables, dictionary, count in CASES for _ in range(count)]
    tables, dictionary = numbers[batch]
    data, records = whole(tables, dictionary)
    every_record = [(record.header, record.block) for record in records]
    # A damaged dictionary takes all records with it, but not where another file has it.
    options = {"source_dictionary": small_dictionary()} if dictionary else {}
    sound = {problem.code for problem in Verifier(data)}
    assert sound == ({"table-end"} if tables == "every" else set())
    rng = random.Random(batch)
    changed = 0
    for number in range(BATCH):
        broken, spans = damage(data, rng)
        if broken == data:
            continue
        changed += 1
        told = f"damage {number} of batch {batch}, at {spans}"
        reported = {problem.code for problem in Verifier(broken)} - sound
        if not reported:
            # A file that ends after a record is a complete file.
            is_there = [len(broken) >= record.data_end for record in records]
            assert read_back(broken) == every_record[: sum(is_there)], told
            assert len(broken) == len(data) or len(broken) < min(
                [record.offset + 1 for record in records if record.data_end > len(broken)],
                default=len(data),
            ), told
        saved = saved_records(broken, tmp_path / "saved.warc.zst", options)
        untouched = [
            (record.header, record.block)
            for record in records
            if not any(begin < record.data_end and end > record.offset for begin, end in spans)
        ]
        assert [each for each in untouched if each not in saved] == [], told
        # Each once, and none that was not there.
        assert sorted(saved) == sorted(each for each in every_record if each in saved), told
    assert changed > BATCH * 3 // 4


def test_the_damaged_file_is_not_written_to(tmp_path) -> None:
    data, _ = whole("large", False)
    source = tmp_path / "broken.warc.zst"
    for number in range(10):
        broken, _ = damage(data, random.Random(f"kept {number}"))
        source.write_bytes(broken)
        source.chmod(0o444)
        before = source.stat()
        recover(
            source, tmp_path / "saved.warc.zst", partial=bool(number % 2), threads=1, existing="overwrite"
        )
        after = source.stat()
        assert source.read_bytes() == broken
        assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
        source.unlink()


def with_gaps(block: bytes, header: bytes) -> bytes:
    """Return a block with zero bytes in the gaps that a header names."""
    filled = bytearray(block)
    named = re.search(rb"\r\nX-Missing-Bytes: ([^\r]*)", header)
    for first, last in re.findall(rb"(\d+)-(\d+)", named[1]) if named else []:
        filled[int(first) : int(last) + 1] = bytes(int(last) + 1 - int(first))
    return bytes(filled)


@pytest.mark.parametrize("dictionary", [False, True])
def test_kept_beginnings_are_beginnings_of_records(tmp_path, dictionary) -> None:
    """Nothing is saved that was not in the file, but zero bytes in the gaps that the header names."""
    data, records = whole("large", dictionary)
    blocks = {record.header.split(b"\r\n")[2]: record.block for record in records}
    headers = {record.header for record in records}
    rng = random.Random(f"partial {dictionary}")
    options = {"source_dictionary": small_dictionary()} if dictionary else {}
    shortened = 0
    for _ in range(60):
        broken, spans = damage(data, rng)
        target = tmp_path / "saved.warc.zst"
        try:
            done = recover(
                BytesSource(broken), target, partial=True, threads=1, existing="overwrite", **options
            )
        except seekwarc.NotFoundError:
            continue
        saved = read_back(target)
        truncated = [(header, block) for header, block in saved if header not in headers]
        ids = [header.split(b"\r\n")[2] for header, _ in saved]
        assert len(set(ids)) == len(ids), f"a record was saved twice: {spans}"
        assert done.truncated == len(truncated)
        shortened += len(truncated)
        for header, block in truncated:
            assert b"\r\nWARC-Truncated: unspecified\r\n" in header
            # The ID may be among what was damaged only where the checksum of its frame has come out right.
            whole_block = blocks[header.split(b"\r\n")[2]]
            assert block == with_gaps(whole_block[: len(block)], header)
        for header, block in saved:
            if header in headers:
                assert blocks[header.split(b"\r\n")[2]] == block
    assert shortened
