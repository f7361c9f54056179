"""A reader written from the specification alone gets what seekwarc gets, from whatever seekwarc writes."""

from __future__ import annotations

import io
import random
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import seekwarc
from seekwarc.edit.concatenating import concat
from seekwarc.make.converting import convert
from tests.interop import independent_reader
from tests.interop.agreement import compare, compare_damaged, compare_places
from tests.interop.conftest import compare_file
from tests.interop.independent_reader import Damage, Reader
from tests.support.rounds import rounds
from tests.support.vectors import Vector, sha256, vectors
from tests.support.writing import (
    HTTP_HEAD,
    KIB,
    RESPONSE,
    header_for,
    noise,
    plain,
    small_dictionary,
    text,
    written,
)

VECTORS = vectors()
SHORT = [vector for vector in VECTORS if sum(record.size for record in vector.records) < 1_000_000]
FILES = 1000
PARTS = 4
FRAME = 64 * KIB
TEXT, NOISE = text(200_000), noise(200_000)


def test_the_reader_is_short_and_independent() -> None:
    lines = Path(independent_reader.__file__).read_text().splitlines()
    assert len(lines) <= 300
    imported = {line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert imported - {"zstandard"} <= {
        "__future__",
        "bisect",
        "collections",
        "dataclasses",
        "itertools",
        "operator",
        "struct",
        "typing",
    }


@pytest.mark.parametrize("vector", VECTORS, ids=[vector.name for vector in VECTORS])
def test_both_read_a_sample_as_the_manifest_says(vector: Vector) -> None:
    found = []
    ending = None
    try:
        reader = Reader(vector.data)
        found.extend(reader.in_order())
    except Damage as error:
        ending = error
    certain = [*takewhile(lambda record: record.complete, vector.records)]
    assert len(found) >= len(certain)
    listed = [(record.offset, record.sha256) for record in vector.records]
    assert [(record.offset, sha256(record.block)) for record in found] == listed[: len(found)]
    complete = [(record.offset, record.length) for record in vector.records if record.complete]
    assert [(record.offset, record.length) for record in found][: len(complete)] == complete[: len(found)]
    assert (ending is None) == (vector.readable == "all")
    for wanted in vector.reached_by_place:
        for part in wanted.ranges:
            for length in (None, part.length):
                try:
                    record = reader.record_at(part.offset, length)
                    assert sha256(reader.pread(record, part.start, part.end)) == part.sha256
                except Damage:
                    assert wanted.table is None, "a good table is not refused"


@pytest.mark.parametrize(
    "vector", [v for v in VECTORS if v.valid or v.name.startswith("foreign")], ids=lambda vector: vector.name
)
def test_both_agree_on_ranges_of_a_sample(vector: Vector) -> None:
    compare(vector.data, tables=vector.mode if vector.name != "every-padding" else None)


def a_block(chance: random.Random) -> bytes:
    size = chance.choice(
        [
            0,
            1,
            chance.randrange(300),
            chance.randrange(3000),
            FRAME * chance.randrange(1, 3) + chance.randrange(-5, 6),
            chance.randrange(200_000),
        ]
    )
    return chance.choice([TEXT, NOISE, bytes(200_000)])[:size]


def a_record(chance: random.Random) -> tuple[bytes, bytes]:
    block = a_block(chance)
    if chance.random() < 0.3:
        block = chance.choice([b"", b"HTTP/1.1 100 Continue\r\n\r\n"]) + HTTP_HEAD + block
        return header_for(len(block), content_type=RESPONSE), block
    return header_for(len(block)), block


def records(chance: random.Random) -> list[tuple[bytes, bytes]]:
    return [a_record(chance) for _ in range(chance.choice([1, 1, 2, 3, 4]))]


def options(chance: random.Random) -> dict[str, Any]:
    return {
        "tables": chance.choice(["large", "large", "every", "none"]),
        "frame_size": chance.choice([FRAME, FRAME + 1, 100_000]),
        "level": chance.choice([1, 3]),
        "threads": 1,
    }


def a_file(seed: int, folder: Path) -> tuple[bytes, str | None]:
    """Write a file with seekwarc in one of its ways; return it, and its mode if it has but one."""
    chance = random.Random(seed)
    chosen = options(chance)
    way = chance.choice(["written", "dictionary", "appended", "cat", "concat", "converted"])
    if way == "dictionary":
        chosen["dictionary"] = small_dictionary()
    data, _ = written(*records(chance), **chosen)
    if way == "appended":
        path = folder / "a.warc.zst"
        path.write_bytes(data)
        with seekwarc.open(path, "a", frame_size=FRAME, threads=1) as writer:
            for header, block in records(chance):
                writer.write_raw(header, block)
        return path.read_bytes(), None
    if way == "cat":
        return data + written(*records(chance), **chosen)[0], chosen["tables"]
    if way in ("concat", "converted"):
        target = io.BytesIO()
        if way == "concat":
            concat([data, written(*records(chance), **options(chance))[0]], target, threads=1)
        else:
            convert(io.BytesIO(plain(*records(chance))), target, "zst", **chosen)
        return target.getvalue(), None
    return data, chosen["tables"]


def assert_both_agree(seeds: range, folder: Path) -> None:
    for seed in seeds:
        data, tables = a_file(seed, folder)
        assert compare(data, tables=tables, seed=seed), seed


def test_both_agree_on_files_of_any_kind(tmp_path: Path) -> None:
    assert_both_agree(range(FILES // 25), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_both_agree_on_a_thousand_files(part: int, tmp_path: Path) -> None:
    each = rounds(FILES) // PARTS
    assert_both_agree(range(part * each, (part + 1) * each), tmp_path)


def with_damage(vector: Vector, chance: random.Random) -> bytes:
    """Return a sample with a bit changed, a byte of a table changed, cut off or going on as another one."""
    data = bytearray(vector.data)
    at = chance.randrange(1, len(data))
    tables = [record.table for record in vector.records if record.table]
    way = chance.choice(["bit", "bit", "cut", "other", *(["table"] * 3 if tables else [])])
    if way == "bit":
        data[at] ^= 1 << chance.randrange(8)
    elif way == "table":
        table = chance.choice(tables)
        data[table.offset + chance.randrange(table.size)] = chance.choice([0, 1, 255, chance.randrange(256)])
    else:
        data[at:] = chance.choice(SHORT).data if way == "other" else b""
    return bytes(data)


def test_both_agree_on_damaged_files() -> None:
    delivered = 0
    for seed in range(rounds(400)):
        chance = random.Random(seed)
        vector = chance.choice(SHORT)
        data = with_damage(vector, chance)
        compare_damaged(data)
        places = [(r.offset, chance.choice([None, r.length])) for r in vector.reached_by_place]
        delivered += compare_places(data, places, chance)
    assert delivered > rounds(400)


def test_a_difference_between_the_two_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = written((header_for(300), TEXT[:300]), (header_for(0), b""))
    assert compare(data) == 2
    monkeypatch.setattr(Reader, "_length", lambda *_: 1)
    with pytest.raises(AssertionError):
        compare(data)


def test_a_checksum_of_the_table_alone_is_compared() -> None:
    [vector] = [vector for vector in VECTORS if vector.name == "foreign-no-content-checksum"]
    table = vector.records[1].table
    assert table
    data = bytearray(vector.data)
    place = table.offset + 8 + 2 * 12 + 8  # of the second frame of the block
    data[place] ^= 1
    reader = Reader(bytes(data))
    record = reader.record_at(vector.records[1].offset, vector.records[1].length)
    assert reader.pread(record, 0, 10) == vector_block(vector)[:10]
    with pytest.raises(Damage):
        reader.pread(record, FRAME, FRAME + 10)


def vector_block(vector: Vector) -> bytes:
    return list(Reader(vector.data).in_order())[1].block


def test_files_left_by_a_test_are_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = written((header_for(300), TEXT[:300]))
    made = {"a": data, "b": data, "c": b"WARC/1.1 under another name"}
    for name, content in made.items():
        (tmp_path / f"{name}.warc.zst").write_bytes(content)
    asked: list[bytes] = []
    monkeypatch.setattr("tests.interop.conftest.compare", asked.append)
    compared: set[bytes] = set()
    for path in sorted(tmp_path.iterdir()):
        compare_file(path, compared)
    assert asked == [data]
