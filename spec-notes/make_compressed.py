"""Make the frames of real compressors that make_vectors.py puts into samples, in the folder compressed/.

    python make_compressed.py

It needs the programs `zstd` and `pzstd`. What they write depends on their version, so it is made
once and kept: by 1.5.4. The content does not: it follows from this script. Each file is one
frame or some, with `PIECE` bytes of content, but for `long` and for small blocks.
"""

from __future__ import annotations

import random
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "compressed"
PIECE: Final = 1 << 18
"""Two blocks of 128 KiB each."""
LONG: Final = 4 << 20
FAR: Final = 60_000
"""Bytes of noise that come again after megabytes."""
DICTIONARY: Final = "dictionary"
DICTIONARY_SIZE: Final = 8 << 10
DICTIONARY_ID: Final = 1_234_567_890
SMALL_RECORDS: Final = 3
OFFSETS: Final = 700, 90, 33
"""Of the dictionary: those that are repeated first."""


def words(chance: random.Random, size: int) -> bytes:
    """Return text of words, of which few are used much."""
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    spread = [1 / (rank + 2) for rank in range(len(letters))]
    known = ["".join(chance.choices(letters, spread, k=chance.randrange(2, 11))) for _ in range(3000)]
    use = [1 / (rank + 1) for rank in range(len(known))]
    text = bytearray()
    while len(text) < size:
        text += (" ".join(chance.choices(known, use, k=chance.randrange(4, 14))) + ".\n").encode()
    return bytes(text[:size])


def rows(chance: random.Random, size: int) -> bytes:
    """Return lines of a table."""
    text = bytearray()
    number = 0
    while len(text) < size:
        number += chance.randrange(1, 4)
        kind = chance.choice(("GET", "GET", "GET", "HEAD", "POST"))
        status = chance.choice((200, 200, 200, 304, 404))
        date, page, time = 1 + number // 900 % 30, chance.randrange(400), chance.random() * 90
        text += f"{number},2026-11-{date:02},{kind},/page/{page},{status},{time:.2f}\n".encode()
    return bytes(text[:size])


def numbers(chance: random.Random, size: int) -> bytes:
    """Return records of numbers, as programs store them: matches at a constant distance."""
    data = bytearray()
    at = 0
    while len(data) < size:
        at += chance.randrange(50)
        data += struct.pack("<QIHBBd", at, chance.randrange(200), at % 977, 7, 0, at / 8)
    return bytes(data[:size])


def mixed(chance: random.Random, size: int) -> bytes:
    """Return stretches of all kinds: noise, runs, text, copies from far and near, a few symbols."""
    data = bytearray(words(chance, 2000))
    while len(data) < size:
        count = chance.choice((3, 17, 70, 300, 5000))
        way = chance.randrange(6)
        if way == 0:
            data += chance.randbytes(count)
        elif way == 1:
            data += bytes((chance.randrange(256),)) * count * 7
        elif way == 2:
            data += words(chance, count)
        elif way == 3:
            data += bytes(chance.choices(b"ab", k=count))
        else:
            back = chance.choice((1, 2, 3, 5, 8, 100, len(data) // 2, len(data)))
            start = len(data) - min(back, len(data))
            data += bytes(data[start : start + count])
    return bytes(data[:size])


def one_letter(chance: random.Random, size: int) -> bytes:
    """Return copies between which there is one letter, always the same: literals that are a run."""
    parts = [chance.randbytes(60).replace(b"x", b"y") for _ in range(40)]
    data = bytearray(b"".join(parts))
    while len(data) < size:
        part = chance.choice(parts)
        start = chance.randrange(30)
        data += part[start : start + chance.randrange(10, 30)] + b"x" * chance.choice((1, 1, 2, 30))
    return bytes(data[:size])


def same_copies(_: random.Random, size: int) -> bytes:
    """Return copies of one length at one distance, with one new byte each: codes that are a run."""
    data = bytearray(range(256)) * 2
    while len(data) < size:
        data += bytes((len(data) * 7 % 251,)) + data[-255:-247]
    return bytes(data[:size])


def far(chance: random.Random, size: int) -> bytes:
    """Return noise, much that takes no room, and the noise again."""
    noise = chance.randbytes(FAR)
    line = words(chance, 900)
    between = b"".join(b"%d %s" % (number, line) for number in range(size // 900))
    return (noise + between)[: size - 2 * FAR] + noise + noise[::-1]


def record(chance: random.Random) -> bytes:
    """Return what small records are like, of which a dictionary is made."""
    number, name, year = chance.randrange(10**9), words(chance, 12)[:8].decode(), chance.randrange(2000, 2027)
    tags = '"language": "en", "tags": ["news", "web"]'
    return f'{{"id": {number}, "name": "{name}", "published": {year}, {tags}}}\n'.encode() * 3


Kind = Callable[[random.Random, int], bytes]
KINDS: Final[dict[str, tuple[Kind, tuple[str, ...]]]] = {
    "text": (words, ("-1", "-3", "-9", "-19", "--ultra -22")),
    "table": (rows, ("-1", "-3", "-19")),
    "numbers": (numbers, ("-1", "-3", "-9", "-19")),
    "mixed": (mixed, ("--fast=5", "-1", "-3", "-9", "-19")),
    "letter": (one_letter, ("-1", "-19")),
    "copies": (same_copies, ("-1", "-3", "-19")),
}


def small_contents() -> dict[str, bytes]:
    """Return what small blocks hold: few symbols or all, without copies, and runs that begin at once."""
    few = {
        f"{count}-symbols": letters(seeded(f"few {count}"), count, 3000) for count in (2, 5, 6, 11, 12, 13)
    }
    begins = {f"period-{count}": bytes(range(65, 65 + count)) * 30 for count in (1, 4, 8)}
    return {**few, **begins, "all-symbols": letters(seeded("all"), 256, 9000)}


def letters(chance: random.Random, count: int, size: int) -> bytes:
    """Return symbols of which some come more often: no copies are worth it."""
    return bytes(chance.choices(range(count), [1 / (rank + 2) for rank in range(count)], k=size))


def seeded(name: str) -> random.Random:
    """Return random numbers that are the same each time."""
    return random.Random(name)  # noqa: S311 - not for secrets


def commands() -> Iterator[tuple[str, bytes, list[str]]]:
    """Yield the name of each file of frames, what is in it, and what makes it."""
    for kind, (make, levels) in KINDS.items():
        for number, level in enumerate(levels):
            content = make(seeded(f"{kind} {number}"), PIECE)
            name = f"{kind}-{level.rpartition('-')[2].replace('fast=', 'fast')}"
            yield name, content, ["zstd", *level.split()]
    yield "long", far(seeded("long"), LONG), ["zstd", "-3", "--long=23"]
    yield "stream", words(seeded("stream"), PIECE), ["zstd", "-3", "--no-check", "stdin"]
    yield "parallel", words(seeded("parallel"), PIECE), ["pzstd", "-p", "2", "-1"]
    learned = ["-D", str(FOLDER / DICTIONARY)]
    for name, content in small_contents().items():
        yield f"alone-{name}", content, ["zstd", "-19"]
    trained = (FOLDER / DICTIONARY).read_bytes()
    yield "small-offset", b"!" + trained[1 - OFFSETS[0] :][:40], ["zstd", "-19", *learned]
    yield "small-across", trained[-30:] * 4, ["zstd", "-19", *learned]
    for number in range(SMALL_RECORDS):
        yield (
            f"small-{number}",
            record(seeded(f"small {number}")),
            ["zstd", "-3" if number else "-19", *learned],
        )
    pieces = (record(seeded(f"large {number}")) for number in range(2000))
    yield "with-dictionary", b"".join(pieces)[:PIECE], ["zstd", "-9", *learned]


def run(command: list[str], content: bytes | None = None) -> bytes:
    """Run a program, and return what it writes."""
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, input=content)  # noqa: S603 - none from outside
    return done.stdout


def main() -> None:
    """Make all of them."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        learned = Path(folder, "learned")
        learned.mkdir()
        for number in range(2000):
            learned.joinpath(f"{number}").write_bytes(record(seeded(f"learned {number}"))[:90])
        options = ["--maxdict", str(DICTIONARY_SIZE), "--dictID", str(DICTIONARY_ID)]
        dictionary = FOLDER / DICTIONARY
        run(["zstd", "-q", "--train", "-r", str(learned), *options, "-o", str(dictionary)])
        # Those that begin a frame are the usual ones in all that zstd trains.
        usual, others = (struct.pack("<3I", *offsets) for offsets in ((1, 4, 8), OFFSETS))
        dictionary.write_bytes(dictionary.read_bytes().replace(usual, others, 1))
        for name, content, command in commands():
            source = Path(folder, "content")
            source.write_bytes(content)
            if command[-1] == "stdin":
                made = run([*command[:-1], "-q", "-c"], content)
            else:
                made = run([*command, "-q", "-k", "-c", str(source)])
            FOLDER.joinpath(f"{name}.zst").write_bytes(made)


if __name__ == "__main__":
    main()
