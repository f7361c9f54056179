"""Every stored byte of a file is counted once, whatever records share its frames or gzip members."""

from __future__ import annotations

import random
import warnings
from bisect import bisect_right
from collections import Counter
from itertools import accumulate, pairwise

import pytest

from seekwarc import tools
from seekwarc.errors import FormatWarning
from tests.support.foreign import CRLF2, gzip_member, skippable, text, warc_header, zstd_frame
from tests.support.rounds import rounds
from tests.support.writing import noise

KINDS = ("resource", "metadata", "conversion")


def some_records(chance: random.Random) -> list[tuple[str, bytes]]:
    found = []
    for number in range(chance.randrange(1, 9)):
        kind, size = chance.choice(KINDS), chance.choice([0, 1, 30, 800, 5000, 60_000])
        block = noise(size) if chance.random() < 0.3 else text(size, seed=number)
        found.append((kind, warc_header(size, number, kind=kind) + block + CRLF2))
    return found


def some_cuts(chance: random.Random, ends: list[int]) -> list[int]:
    """Return where frames begin and end in the content: at records, anywhere, or at no place."""
    how = chance.choice(["whole", "records", "some records", "anywhere"])
    inner = {
        "whole": [],
        "records": ends[:-1],
        "some records": [it for it in ends[:-1] if chance.random() < 0.5],
        "anywhere": [chance.randrange(1, ends[-1]) for _ in range(chance.randrange(6))],
    }[how]
    return sorted({0, *inner, ends[-1]})


def expected_shares(records: list[tuple[str, bytes]], cuts: list[int], offsets: list[int]) -> Counter[str]:
    """Return the stored bytes of each kind, as a fraction: of each stretch between offsets of records."""
    ends = [*accumulate(len(content) for _, content in records)]
    begins = [0, *ends[:-1]]
    begun = [*sorted({bisect_right(cuts, it) - 1 for it in begins}), len(cuts) - 1]
    shares: Counter[str] = Counter()
    for first, last in pairwise(begun):
        start, stop = cuts[first], cuts[last]
        for (kind, _), begin, end in zip(records, begins, ends, strict=True):
            content = max(min(end, stop) - max(begin, start), 0)
            shares[kind] += (offsets[last] - offsets[first]) * content / (stop - start)
    return shares


def check(seed: int) -> None:
    chance = random.Random(seed)
    records = some_records(chance)
    content = b"".join(it for _, it in records)
    cuts = some_cuts(chance, [*accumulate(len(it) for _, it in records)])
    form = chance.choice(["gz", "zst", "extensions", "plain"])
    if form == "plain":
        cuts = [0, *accumulate(len(it) for _, it in records)]
    make = {"gz": gzip_member, "plain": bytes}.get(form, zstd_frame)
    frames = [make(content[start:stop]) for start, stop in pairwise(cuts)]
    if form == "extensions":
        frames = [it + skippable(0x184D2A50, b"x" * chance.randrange(50)) for it in frames]
    data = b"".join(frames)
    summary = tools.info(data, by="type")
    shown, others = summary.groups.most()
    assert others is None
    assert {it.name: it.records for it in shown} == Counter(kind for kind, _ in records)
    assert sum(it.content_size for it in shown) == len(content)
    assert sum(it.stored_size for it in shown) == len(data), (seed, form)
    expected = expected_shares(records, cuts, [0, *accumulate(map(len, frames))])
    for it in shown:
        assert abs(it.stored_size - expected[it.name]) <= len(records) + 1, (seed, form, it)


def check_many(count: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        for seed in range(count):
            check(seed)


def test_the_shares_of_shared_frames_add_up_to_the_file() -> None:
    check_many(60)


@pytest.mark.slow
def test_the_shares_of_thousands_of_files_add_up_to_each() -> None:
    check_many(rounds(3000))
