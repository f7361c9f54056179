"""Members of every shape one after the other: any number of threads reads all records, and the same ones."""

from __future__ import annotations

import random
import warnings
import zlib

import pytest

import seekwarc
from seekwarc.errors import FormatWarning, SeekWarcError
from tests.support.writing import header_for

pytestmark = pytest.mark.slow

END = b"\r\n\r\n"
SHAPES = ("small", "several", "blank", "large", "in two", "odd end")
WEIGHTS = (93, 2, 2, 1, 1, 1)


def member(content: bytes, level: int) -> bytes:
    codec = zlib.compressobj(level, zlib.DEFLATED, 31)
    return codec.compress(content) + codec.flush()


def mixture(rng: random.Random) -> tuple[bytes, list[bytes]]:
    """Return a file of some hundred members, and the blocks of its records."""
    stored: list[bytes] = []
    blocks: list[bytes] = []

    def record(*sizes: int) -> bytes:
        blocks.append(rng.randbytes(min(rng.choice(sizes), 50)) * (max(sizes) // 1000 + 1))
        return header_for(len(blocks[-1])) + blocks[-1] + END

    for shape in rng.choices(SHAPES, WEIGHTS, k=rng.choice((70, 130, 300))):
        contents = []
        if shape == "small":
            contents = [record(0, 10, 100, 1000)]
        elif shape == "several":
            contents = [b"".join(record(0, 10, 100) for _ in range(rng.randint(2, 4)))]
        elif shape == "blank":
            contents = [rng.choice((b"", b"\r\n", END))]
        elif shape == "large":
            contents = [record(2_000_000)]
        elif shape == "in two":
            whole = record(500)
            cut = rng.randrange(1, len(whole))
            contents = [whole[:cut], whole[cut:]]
        else:
            contents = [record(300)[: -len(END)] + rng.choice((b"\n\n", b"\r\n"))]
        stored += [member(content, rng.choice((0, 1, 6))) for content in contents]
    return b"".join(stored), blocks


def read(data: bytes, threads: int) -> tuple[list[tuple[int, bytes | str]], str]:
    """Return offset and block (or what was raised) of each record, and what ended the iteration."""
    found: list[tuple[int, bytes | str]] = []
    with warnings.catch_warnings(), seekwarc.open(data, threads=threads) as archive:
        warnings.simplefilter("ignore", FormatWarning)
        try:
            for record in archive:
                try:
                    found.append((record.offset, record.block.read()))
                except SeekWarcError as error:
                    found.append((record.offset, str(error)))
        except SeekWarcError as error:
            return found, f"{type(error).__name__} at {error.offset}"
    return found, ""


def damaged(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    how = rng.choice(("cut off", "bits", "gap"))
    if how == "cut off":
        return data[:place]
    if how == "gap":
        return data[:place] + data[place + rng.choice((1, 5, 200)) :]
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("seeds", [range(at, at + 12) for at in range(0, 36, 12)], ids=str)
def test_any_number_of_threads_reads_every_record(seeds: range) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        data, blocks = mixture(rng)
        alone = read(data, 1)
        assert ([block for _, block in alone[0]], alone[1]) == (blocks, ""), seed
        for threads in (2, 3):
            assert read(data, threads) == alone, seed
        for _ in range(3):
            hurt = damaged(data, rng)
            assert read(hurt, 2) == read(hurt, 1), seed
