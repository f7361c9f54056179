"""Whether seekwarc and the independent reader get the same from a file."""

from __future__ import annotations

import hashlib
import random
import warnings
from contextlib import suppress
from typing import NamedTuple

import seekwarc
from seekwarc.errors import FormatError, SeekWarcError
from tests.interop.independent_reader import Damage, Reader, Record


class Found(NamedTuple):
    """A record as one of the readers finds it."""

    offset: int
    length: int | None
    block: str


def digest(block: bytes) -> str:
    return hashlib.sha256(block).hexdigest()


def by_the_other(reader: Reader) -> tuple[list[Found], bool]:
    """Return the records in order, and whether an error follows."""
    found: list[Found] = []
    try:
        found.extend(Found(r.offset, r.length, digest(r.block)) for r in reader.in_order())
    except Damage:
        return found, True
    return found, False


def by_seekwarc(data: bytes) -> tuple[list[Found], bool]:
    """Return the records in order, and whether an error follows."""
    found: list[Found] = []
    try:
        with seekwarc.open(data) as archive:
            for record in archive.in_order():
                block = digest(record.block.read())
                found.append(Found(record.offset, None, block))
    except FormatError:
        return found, True
    with seekwarc.open(data) as archive:
        lengths = [(record.offset, record.length) for record in archive]
    assert [offset for offset, _ in lengths] == [record.offset for record in found]
    return [Found(*place, record.block) for place, record in zip(lengths, found, strict=True)], False


def spans(size: int, chance: random.Random) -> list[tuple[int, int]]:
    """Return ranges of a block: both ends and some between."""
    starts = [chance.randrange(size) for _ in range(2)] if size else []
    return [
        (0, 5),
        (max(size - 3, 0), size),
        *((start, start + chance.randrange(1, 3000)) for start in starts),
    ]


def compare(data: bytes, *, tables: str | None = None, seed: int = 0) -> int:
    """Read a file with both readers in every way, and return the number of records.

    Args:
        data: The file.
        tables: The mode in which it was written; with "every" the walk from its end is compared too.
        seed: Of the ranges that are read.
    """
    chance = random.Random(seed)
    reader = Reader(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        wanted, damaged = by_the_other(reader)
        found, refused = by_seekwarc(data)
        assert refused == damaged
        assert [(r.offset, r.block) for r in found] == [(r.offset, r.block) for r in wanted]
        if damaged:
            return len(found)
        assert found == wanted
        if tables == "every":
            assert reader.from_the_end() == [record.offset for record in wanted]
        offsets = [record.offset for record in wanted]
        alone = [record for record in wanted if offsets.count(record.offset) == 1]
        for offset, length, _ in alone:
            compare_ranges(data, reader.record_at(offset, length), length, reader, chance)
        for offset, _, _ in chance.sample(alone, min(len(alone), 1)):
            compare_ranges(data, reader.record_at(offset), None, reader, chance)
    return len(wanted)


def compare_damaged(data: bytes) -> None:
    """Read a file that may be damaged: both find an error or neither, and the same records before it.

    seekwarc reads a record as a stream, so it may deliver those of one more frame that is not complete.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", seekwarc.FormatWarning)
        found, refused = by_seekwarc(data)
        try:
            wanted, damaged = by_the_other(Reader(data))
        except Damage:  # its dictionary
            assert refused
            return
    assert refused == damaged
    if not damaged:
        assert found == wanted
    assert [(r.offset, r.block) for r in found[: len(wanted)]] == [(r.offset, r.block) for r in wanted]
    assert len({record.offset for record in found[len(wanted) :]}) <= damaged


def compare_places(data: bytes, places: list[tuple[int, int | None]], chance: random.Random) -> int:
    """Read ranges of a damaged file: where both deliver bytes, they are equal; return how many were."""
    delivered = 0
    for offset, length in places:
        with suppress(Damage, SeekWarcError), seekwarc.open(data) as archive:
            reader = Reader(data)
            record, same = reader.record_at(offset, length), archive.record_at(offset, length)
            for start, end in spans(record.size, chance):
                with suppress(Damage, SeekWarcError):
                    assert same.block.pread(start, end - start) == reader.pread(record, start, end)
                    delivered += 1
    return delivered


def compare_ranges(
    data: bytes, record: Record, length: int | None, reader: Reader, chance: random.Random
) -> None:
    with seekwarc.open(data) as archive:
        same = archive.record_at(record.offset, length)
        assert same.block.size == record.size
        for start, end in spans(record.size, chance):
            assert same.block.pread(start, end - start) == reader.pread(record, start, end), (
                record.offset,
                start,
            )
