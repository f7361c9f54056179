"""The records of some files, noted in a catalogue, and which of them are chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from seekwarc.collection.entry import OnDamage, judged
from seekwarc.edit.choosing import Choice
from seekwarc.edit.closure import Catalogue
from seekwarc.edit.copy_inputs import Part
from seekwarc.edit.listing import listed
from seekwarc.edit.mentions import is_stub
from seekwarc.errors import FormatError
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_utf8, normalized
from seekwarc.jobs.progress import Progress
from seekwarc.read.body import CUT_OFF
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record

__all__ = ["scan"]

NOTED: Final = 10_000
"""Records that are noted before they are added to the others."""
WRONG_LENGTH: Final = (CUT_OFF, "Content-Length ")
"""How the problems begin of records whose block is not what the header says."""


def scan(
    parts: Sequence[Part],
    choice: Choice,
    on_damage: OnDamage,
    on_progress: Progress,
    *,
    processes: int = 1,
    check_all: bool = False,
    linked: bool = True,
    keys: frozenset[str] = frozenset(),
    spare_stubs: bool = False,
) -> Catalogue:
    """Note all records of some files, as kept those that are chosen; unless `linked`, only these.

    A chosen record whose length is wrong is damage; with `check_all`, any record. Those of other URIs than
    the chosen ones that have one of the `keys` are noted in `others`. With `spare_stubs`, no record is chosen
    that says that another one was removed.
    """
    catalogue = Catalogue(linked=linked)
    listing = _Notes(choice, check_all, linked, catalogue.key, keys, spare_stubs)
    for part in parts:
        for notes in listed(
            part.target,
            listing,
            "choosing",
            processes=processes,
            on_damage=on_damage,
            on_progress=on_progress,
            limits=part.limits,
        ):
            catalogue.extend(notes)
        catalogue.end_file(part.name)
    return catalogue


@dataclass(frozen=True, slots=True)
class _Notes:
    """Makes catalogues of some thousand records each; see `tools.listing.Listing`."""

    choice: Choice
    check_all: bool
    linked: bool
    key: bytes
    keys: frozenset[str]
    spare_stubs: bool

    def __call__(self, archive: Reader, on_damage: OnDamage, /) -> Iterator[Catalogue]:
        notes = Catalogue(linked=self.linked, key=self.key)
        for record, found in judged(archive, self._is_chosen, on_damage):
            verdict = found
            if found is True or (self.check_all and found is False):
                verdict = _wrong_length(record) or found
            if isinstance(verdict, FormatError):
                # Whether it matches is unknown.
                on_damage(verdict)
            uri = record.target_uri if self.keys else None
            if uri is not None and surt(uri) in self.keys and normalized(uri) not in self.choice.uris:
                notes.others.append((len(notes), as_utf8(uri)))
            notes.add(record, kept=verdict is True)
            if len(notes) == NOTED:
                yield notes
                notes = Catalogue(linked=self.linked, key=self.key)
        yield notes

    def _is_chosen(self, record: Record) -> bool:
        return self.choice.matches(record) and not (self.spare_stubs and is_stub(record))


def _wrong_length(record: Record) -> FormatError | None:
    problem = record.problem
    is_wrong = problem is not None and problem.startswith(WRONG_LENGTH)
    return FormatError(problem, source=record.source, offset=record.offset) if problem and is_wrong else None
