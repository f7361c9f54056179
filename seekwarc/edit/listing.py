"""Notes on the records of a file, in order: by one process, or by several in parts of a large one."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from seekwarc.collection.entry import Entry, OnDamage, described
from seekwarc.edit.copy_inputs import PartTarget
from seekwarc.errors import FormatError
from seekwarc.jobs.parts import cut, in_parts
from seekwarc.jobs.progress import Progress
from seekwarc.read.options import ReadOptions
from seekwarc.read.reader import Reader, WholeReader
from seekwarc.read.record import Record
from seekwarc.scale.split import Split
from seekwarc.storage.opening import open_source
from seekwarc.storage.source import RangeSource

__all__ = ["Described", "Listing", "listed"]

BATCH: Final = 1000
"""Notes that are passed on together."""

Note = TypeVar("Note")
Note_co = TypeVar("Note_co", covariant=True)


class Listing(Protocol[Note_co]):
    """Makes notes of records. It and the notes must be picklable."""

    def __call__(self, archive: Reader, on_damage: OnDamage, /) -> Iterator[Note_co]:
        """Yield the notes of a file, or of a part of one; all damage goes to `on_damage`."""


@dataclass(frozen=True, slots=True)
class Described:
    """Makes entries; see `collection.entry.described`."""

    describe: Callable[[Record], Entry]

    def __call__(self, archive: Reader, on_damage: OnDamage, /) -> Iterator[Entry]:
        """Yield the entries of the intact records of a file."""
        return described(archive, self.describe, on_damage=on_damage)


def listed(
    target: PartTarget,
    listing: Listing[Note],
    label: str,
    *,
    processes: int,
    on_damage: OnDamage,
    on_progress: Progress,
    limits: ReadOptions,
) -> Iterator[Note]:
    """Yield the notes of a file. They are the same, whatever the number of processes."""
    parts = cut(target, processes, **limits)
    with closing(on_progress(open_source(target), label)) as stored:
        start: int | None = 0
        for made in in_parts(stored, parts, _PartNotes(listing, limits), processes, None):
            with open(made.spool, "rb") as file:
                while file.peek():
                    yield from pickle.load(file)  # noqa: S301 - from a process of ours, in a folder of ours
            os.unlink(made.spool)
            start = made.stop
        if start is not None:
            with WholeReader(stored, part=(start, None), **limits) as archive:
                yield from listing(archive, on_damage)


class _Made(NamedTuple):
    """The notes of a part of a file, in batches."""

    stop: int | None
    spool: str


@dataclass(frozen=True, slots=True)
class _PartNotes(Generic[Note]):
    """Makes the notes of a part; see `tools.parts.PartWork`."""

    listing: Listing[Note]
    limits: ReadOptions

    def __call__(self, part: Split, source: RangeSource, spool: str) -> _Made | None:
        damaged: list[FormatError] = []
        where = part.start, part.stop
        with WholeReader(source, part=where, **self.limits) as archive, open(spool, "xb") as file:
            notes = self.listing(archive, damaged.append)
            while batch := list(islice(notes, BATCH)):
                pickle.dump(batch, file, pickle.HIGHEST_PROTOCOL)
        return None if damaged else _Made(part.stop, spool)
