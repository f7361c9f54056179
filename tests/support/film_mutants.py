"""Films that were changed on purpose: where their structure states sizes and counts, and anywhere.

    python -m tests.support.film_mutants --count 20000 --first 0

opens them as `seekwarc clip`, `pictures` and `serve` do, and prints what came of it. All choices follow from
the number of a mutant, so that it can be made again.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import time
from collections import Counter
from fractions import Fraction

from seekwarc.errors import SeekWarcError
from seekwarc.inside import apart
from seekwarc.inside.films_apart import FilmApart
from tests.support.films import FORMS, small_film

CONTAINERS = frozenset(
    (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"mvex", b"moof", b"traf", b"mfra")
)
NUMBERS = (0, 1, 2, 7, 8, 127, 255, 256, 65535, 1 << 20, 1 << 24, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
MASTERS = (
    0x1A45DFA3,
    0x18538067,
    0x1549A966,
    0x1654AE6B,
    0xAE,
    0xE0,
    0xE1,
    0x1C53BB6B,
    0xBB,
    0xB7,
    0x1F43B675,
)


def boxes(film: bytes, start: int = 0, stop: int | None = None) -> list[tuple[bytes, int, int]]:
    """Return the boxes of an MP4 as (name, start, stop), with those in them."""
    found, stop = [], len(film) if stop is None else stop
    while start + 8 <= stop:
        size, name = int.from_bytes(film[start : start + 4]), film[start + 4 : start + 8]
        if size < 8:
            break
        found.append((name, start, min(start + size, stop)))
        if name in CONTAINERS:
            found += boxes(film, start + 8, min(start + size, stop))
        start += size
    return found


def elements(film: bytes, start: int = 0, stop: int | None = None) -> list[tuple[int, int]]:
    """Return where the sizes of elements of a Matroska film are, as (place, bytes)."""
    found, stop = [], len(film) if stop is None else stop
    while start < stop - 2:
        name_length = 9 - film[start].bit_length()
        place = start + name_length
        if name_length > 4 or place >= stop:
            break
        length = 9 - film[place].bit_length()
        size = int.from_bytes(film[place : place + length]) & ((1 << 7 * length) - 1)
        if length > 8:
            break
        found.append((place, length))
        begin = place + length
        end = min(begin + size, stop)
        if int.from_bytes(film[start:place]) in MASTERS:
            found += elements(film, begin, end)
        start = end
    return found


def mutant(film: bytes, chance: random.Random) -> bytes:
    """Return a film whose sizes, counts or any bytes are changed, or parts of which are missing or twice."""
    data = bytearray(film)
    if chance.random() < 0.6 and (places := _places(film, chance)):
        for at, length in chance.sample(places, min(chance.choice((1, 1, 1, 2, 4)), len(places))):
            value = chance.choice((*NUMBERS, chance.getrandbits(32), len(film), len(film) // 4))
            data[at : at + length] = (value & ((1 << 8 * length) - 1)).to_bytes(length)
        return bytes(data)
    how = chance.randrange(4)
    if how == 0:
        del data[chance.randrange(len(data)) :]
    elif how == 1:
        for _ in range(chance.randrange(1, 40)):
            at = chance.randrange(len(data))
            data[at] ^= 1 << chance.randrange(8)
    elif how == 2:
        for _ in range(chance.randrange(1, 12)):
            near = chance.randrange(min(len(data), 6000))
            data[chance.choice((near, len(data) - 1 - near))] = chance.choice((0, 1, 127, 128, 255))
    else:
        start = chance.randrange(len(data))
        stop = min(start + chance.randrange(1, 5000), len(data))
        data[start:stop] = chance.choice((b"", data[start:stop][::-1], data[start:stop] * 2))
    return bytes(data)


def _places(film: bytes, chance: random.Random) -> list[tuple[int, int]]:
    """Return the places of numbers that state something, as (start, bytes)."""
    if film[4:8] == b"ftyp":
        _, start, stop = chance.choice([it for it in boxes(film) if it[0] not in (b"mdat", b"free")])
        # Its size, and the first numbers in it: version, count, entries.
        return [(at, 4) for at in range(start, min(stop, start + 40) - 3, 4) if at != start + 4]
    if film.startswith(b"\x1aE\xdf\xa3"):
        return elements(film)
    if film.startswith(b"OggS"):
        pages = [at for at in range(len(film) - 27) if film.startswith(b"OggS", at)]
        return [(at + place, length) for at in pages for place, length in ((5, 1), (6, 4), (14, 4), (26, 1))]
    # Heads of sound: chunks of WAV, blocks of FLAC, a tag and the first frame of MP3.
    return [(at, 4) for at in range(4, min(len(film), 200), 4)]


def numbered(number: int) -> tuple[str, bytes, random.Random]:
    chance = random.Random(f"film {number}")
    form = [*FORMS][number % len(FORMS)]
    return form, mutant(small_film(form, 2), chance), chance


def try_out(data: bytes, chance: random.Random) -> FilmApart:
    """Open a mutant, and make pictures or a clip of it. Raises the error, if there is one."""
    with FilmApart(io.BytesIO(data)) as film:
        which = chance.randrange(4)
        if which > 1:
            film.clip(Fraction("0.3"), Fraction("0.8"), io.BytesIO(), film.kind, exact=which == 3)
        else:
            times = [Fraction(number, 2) for number in range(4)]
            for shot in film.pictures(times, width=64, form="jpg"):
                assert shot.data or shot.failure
    return film


def picture_of_a_good_film() -> bytes:
    with FilmApart(io.BytesIO(small_film("first.mp4", 2))) as film:
        (shot,) = film.pictures([Fraction(1)], width=64, form="jpg")
    return shot.data


def run(first: int, count: int, seconds: float = 1e9) -> dict[str, object]:
    """Try mutants, and good films in between; return figures."""
    ways: Counter[str] = Counter()
    begun, slowest, done, most_read = time.monotonic(), (0.0, 0), 0, 0.0
    good = picture_of_a_good_film()
    for number in range(first, first + count):
        if time.monotonic() - begun > seconds:
            break
        form, data, chance = numbered(number)
        start, is_ended = time.monotonic(), False
        try:
            film = try_out(data, chance)
            ways["fine"] += 1
            most_read = max(most_read, film.bytes_read / (len(data) + (1 << 20)))
        except SeekWarcError as error:
            is_ended = "makes libav crash" in str(error)
            ways["ended" if is_ended else type(error).__name__] += 1
            if is_ended:
                print(number, form, round(time.monotonic() - start, 1), flush=True)
        slowest = max(slowest, (round(time.monotonic() - start, 2), number))
        done += 1
        if number % 20 == 0 or is_ended:
            assert picture_of_a_good_film() == good, f"after mutant {number}"
    apart._end_all()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    return {
        "mutants": done,
        "ways": dict(ways),
        "slowest": slowest,
        "peak": peak,
        "read": round(most_read, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9)
    options = parser.parse_args()
    print(json.dumps(run(options.first, options.count, options.seconds)))
