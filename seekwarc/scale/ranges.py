"""Many ranges of many records, with few requests.

Goal: programs that read arrays, Parquet files or thousands of pages ask for all ranges at once. One request
each would be slow, and servers refuse storms of them.

Plan: small records are fetched whole, with their neighbours, and then read. For the others the headers and
seek tables are fetched first, since these say where the ranges are stored; then these are.
Ranges near each other in the file are one request, several requests are in flight at a time, and a few
megabytes are held.

Worst case: ranges far from each other, which cost a request each, as they do one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Final

from seekwarc.errors import SeekWarcError, SourceError
from seekwarc.read.archive_file import RECORD_HEAD
from seekwarc.read.file_tables import own_table_tail
from seekwarc.read.reader import Reader
from seekwarc.storage.tasks import Tasks

__all__ = ["WantedRange", "read_ranges"]

SMALL_RECORD: Final = 64 << 10
"""Stored bytes up to which a record is fetched whole."""
FILES_AT_ONCE: Final = 4
"""Files that are read at the same time; an index keeps twice as many open."""
MAX_SPAN: Final = 4 << 20
"""Stored bytes above which a range is read by itself: it makes large requests of its own."""

Outcome = bytes | Exception
Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class WantedRange:
    """A range of a record."""

    file: str
    """Name of the file that has the record."""
    offset: int
    """Where the record begins in the file."""
    length: int | None
    """Stored bytes up to the next record, where known."""
    read: Callable[[], bytes]
    """Reads the range."""
    span: Callable[[], Span | None]
    """Returns where it is stored, from the first to the last byte; None if that is unknown."""


def read_ranges(
    wanted: Sequence[WantedRange], reader_of: Callable[[str], Reader]
) -> Iterator[tuple[WantedRange, Outcome]]:
    """Yield each range and its bytes, or what was raised, in any order; those of several files at once."""
    by_file = sorted(wanted, key=lambda it: (it.file, it.offset, it.length or 0))
    files = [[*ranges] for _, ranges in groupby(by_file, lambda it: it.file)]
    if len(files) == 1:
        yield from _of_file(files[0], reader_of)
        return
    with closing(Tasks("ranges", FILES_AT_ONCE)) as tasks:
        reading = [tasks.submit(lambda it: [*_of_file(it, reader_of)], ranges) for ranges in files]
        for it in reading:
            yield from tasks.result(it)


def _of_file(
    wanted: Sequence[WantedRange], reader_of: Callable[[str], Reader]
) -> Iterator[tuple[WantedRange, Outcome]]:
    small, spans, others = [], [], []
    for it in wanted:
        if it.length is not None and it.length <= SMALL_RECORD:
            small.append(it)
            spans.append((it.offset, it.offset + it.length))
        else:
            others.append(it)
    try:
        reader = reader_of(wanted[0].file)
    except SeekWarcError as error:
        yield from ((it, error) for it in wanted)
        return
    yield from _fetched(reader, small, spans)
    yield from _planned(reader, others)


def _planned(reader: Reader, wanted: Sequence[WantedRange]) -> Iterator[tuple[WantedRange, Outcome]]:
    records = [list(ranges) for _, ranges in groupby(wanted, lambda it: (it.offset, it.length))]
    # A single record has its head and its table fetched together anyway.
    found = _as_their_heads_come(reader, records) if len(records) > 1 else [records]
    placed: list[tuple[Span, WantedRange]] = []
    for it in chain.from_iterable(chain.from_iterable(found)):
        try:
            span = it.span()
        except Exception as error:  # noqa: BLE001 - what one record does never stops the others
            yield it, error
            continue
        if span is None or span[1] - span[0] > MAX_SPAN:
            yield it, _outcome(it)
        else:
            placed.append((span, it))
    placed.sort(key=itemgetter(0))
    yield from _fetched(reader, [it for _, it in placed], [span for span, _ in placed])


def _head_and_table(wanted: WantedRange) -> tuple[Span, Span]:
    """Return where a record's header is stored, and its seek table, if its length shows where that may be."""
    head = wanted.offset, wanted.offset + RECORD_HEAD
    if wanted.length is None:
        return head, head
    end = wanted.offset + wanted.length
    return head, (end - own_table_tail(wanted.length), end)


def _fetched(
    reader: Reader, wanted: Sequence[WantedRange], spans: Sequence[Span]
) -> Iterator[tuple[WantedRange, Outcome]]:
    """Read ranges whose stored bytes are known, by ascending start, each as its bytes come."""

    def use(first: int, stop: int) -> list[tuple[WantedRange, Outcome]]:
        # Backwards: for a reader that goes forward, frames would be fetched that are not wanted.
        return [(it, _outcome(it)) for it in reversed(wanted[first:stop])]

    if wanted:
        yield from chain.from_iterable(reader.use_each(spans, use))


def _as_their_heads_come(
    reader: Reader, records: Sequence[Sequence[WantedRange]]
) -> Iterator[Sequence[Sequence[WantedRange]]]:
    """Yield records in batches, as their heads and tables come."""
    left = iter(records)
    # Where a request fails, each of the others has an error of its own, or none where the next succeeds.
    with suppress(SourceError):
        count = 0
        for more in reader.in_batches(part for ranges in records for part in _head_and_table(ranges[0])):
            count += more
            yield list(islice(left, count // 2))
            count %= 2
    yield list(left)


def _outcome(wanted: WantedRange) -> Outcome:
    try:
        return wanted.read()
    except Exception as error:  # noqa: BLE001 - see above
        return error
