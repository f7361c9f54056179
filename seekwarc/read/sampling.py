"""Random samples of the records of a file.

Where tables list every frame, a draw costs one read that ends where the drawn frame does: what is read to see
whether a record begins there is what the record is made of, so that a sample of small records costs their
own bytes and those of the tables.
"""

from __future__ import annotations

import random
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from seekwarc.read.body import record_size
from seekwarc.read.resync import is_shared
from seekwarc.read.search import RecordSearch
from seekwarc.read.zstd_records import framed_record_at

if TYPE_CHECKING:
    from seekwarc.frames.pieces import Compression
    from seekwarc.read.archive_file import ArchiveFile
    from seekwarc.read.record import Record

__all__ = ["sampled"]

RecordAt = Callable[[int, int | None], "Record"]


def sampled(
    records: Iterable[Record],
    record_at: RecordAt,
    file: ArchiveFile,
    compression: Compression,
    count: int,
    *,
    seed: int | None,
) -> list[Record]:
    """Return `count` records chosen at random, in file order; see `Reader.sample`."""
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    listed = file.tables.all_frames() if compression == "zst" else None
    if listed is None:
        return [record_at(offset, None) for offset in _from_all(records, count, rng)]
    search = RecordSearch(file, "zst")
    found: list[Record] = []
    numbers = array("Q", range(len(listed)))
    remaining = len(numbers)
    while remaining and len(found) < count:
        # One of those that were not drawn yet: each goes to the end of the list when it is.
        place = rng.randrange(remaining)
        remaining -= 1
        number = numbers[place]
        numbers[place] = numbers[remaining]
        record = _record_of(file, listed, number, search, record_at)
        if record is not None:
            found.append(record)
    return sorted(found, key=lambda record: record.offset)


def _record_of(
    file: ArchiveFile, listed: array[int], number: int, search: RecordSearch, record_at: RecordAt
) -> Record | None:
    def length_up_to(after: int) -> int | None:
        # A record that the last frame begins may end with the file.
        return listed[after] - offset if after < len(listed) else None

    offset = listed[number]
    length = length_up_to(number + 1)
    window = file.record_window(offset, length)
    header = search.header_at(offset, window)
    if header is None:
        return None
    frames = file.tables.find(offset, record_size(header))
    if frames is None:
        return record_at(offset, None)  # The tables do not show where it ends.
    after = bisect_left(listed, frames.claimed_end)
    if after == number + 1:
        record = framed_record_at(file, window, offset, length)
        # All of it was read and decoded, and its block is what the caller is likely to read next.
        file.frames.cache.keep_latest()
        return record
    return record_at(offset, length_up_to(after))


def _from_all(records: Iterable[Record], count: int, rng: random.Random) -> list[int]:
    offsets = array("Q")
    seen = 0
    for record in records:
        if is_shared(record):
            continue
        seen += 1
        if len(offsets) < count:
            offsets.append(record.offset)
        elif (number := rng.randrange(seen)) < count:
            offsets[number] = record.offset
    return sorted(offsets)
