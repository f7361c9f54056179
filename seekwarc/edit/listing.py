"""Notes on the records of a file, in order: by one process, or by several in parts of a large one."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, Generic, Protocol, TypeVar, cast

from seekwarc.collection.entry import Entry, OnDamage, described
from seekwarc.edit.copy_inputs import PartTarget
from seekwarc.errors import FormatError
from seekwarc.jobs.parts import FoundInPart, found_in
from seekwarc.jobs.progress import Progress
from seekwarc.jobs.work import Reading
from seekwarc.read.options import ReadLimits, ReadOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record

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
    reading = Reading(on_progress, processes, cast("ReadLimits", {**limits}))
    begin = partial(_Noted, listing)
    for found in found_in(target, label, begin, reading, folder=None, on_problem=on_damage):
        if not isinstance(found, FoundInPart):
            yield from cast("_Noted[Note]", found).notes()
            continue
        with open(found.spool, "rb") as file:
            while file.peek():
                yield from pickle.load(file)  # noqa: S301 - from a process of ours, in a folder of ours


@dataclass(slots=True)
class _Noted(Generic[Note]):
    """The notes of a file, or of a part of one; see `jobs.parts.Found`."""

    listing: Listing[Note]
    archive: Reader
    on_problem: OnDamage
    is_damaged: bool = False
    done: None = None

    def notes(self) -> Iterator[Note]:
        return self.listing(self.archive, self._note)

    def lines(self) -> Iterator[bytes]:
        """Yield the notes in batches, for another process."""
        notes = self.notes()
        while batch := list(islice(notes, BATCH)):
            yield pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)

    def _note(self, damage: FormatError) -> None:
        self.is_damaged = True
        self.on_problem(damage)
