"""Random samples of the records of a file."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

from seekwarc.archive.search import RecordSearch

if TYPE_CHECKING:
    from seekwarc.archive.file import ArchiveFile
    from seekwarc.archive.record import Record
    from seekwarc.frames.units import Compression

__all__ = ["sampled"]


def sampled(
    records: Iterable[Record], file: ArchiveFile, compression: Compression, count: int, seed: int | None
) -> list[int]:
    """Return the offsets of `count` records chosen at random, in file order; see `Reader.sample`."""
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    listed = file.tables.all_frames() if compression == "zst" else None
    if listed is None:
        return _from_all(records, count, rng)
    search = RecordSearch(file, "zst")
    found: list[int] = []
    remaining = len(listed)
    while remaining and len(found) < count:
        # One of those that were not drawn yet: each goes to the end of the list when it is.
        number = rng.randrange(remaining)
        remaining -= 1
        offset = listed[number]
        listed[number] = listed[remaining]
        if search.header_at(offset) is not None:
            found.append(offset)
    return sorted(found)


def _from_all(records: Iterable[Record], count: int, rng: random.Random) -> list[int]:
    """Choose among all records, going through them once."""
    offsets = array("Q")
    seen = 0
    for record in records:
        if record.skip:
            continue
        seen += 1
        if len(offsets) < count:
            offsets.append(record.offset)
        elif (number := rng.randrange(seen)) < count:
            offsets[number] = record.offset
    return sorted(offsets)
