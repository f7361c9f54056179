"""The originals of revisits among the records of a catalogue: as a reader finds them, by their hashes.

`collection.revisits` decides what a revisit refers to. Here it is asked of numbers: a record is opened only
if that depends on what no header states, such as a payload without a digest, an entity tag or other segments.

Plan: the names of some revisits are looked up together, in one pass over the columns. A revisit that leads
through another one, whose names were not among these, waits for the next pass.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, Self, cast

from seekwarc.closing import Closing
from seekwarc.collection.entry import describe
from seekwarc.collection.revisits import Capture, Profile, agree, originals
from seekwarc.collection.segments import ResolvedRevisit, join_segments
from seekwarc.compiling import override
from seekwarc.edit.closure import NO_DATE, NO_HASH, SEGMENTED, Catalogue, Names
from seekwarc.edit.copy_inputs import Part
from seekwarc.edit.duplicates import OpenFiles
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.read.options import ReadOptions
from seekwarc.read.record import Record

__all__ = ["NumberedRecords", "Originals"]

NOTHING: Final = ()


class NumberedRecords(Closing):
    """Opens the records of a catalogue."""

    def __init__(self, parts: Sequence[Part], catalogue: Catalogue, limits: ReadOptions) -> None:
        self._parts = parts
        self._catalogue = catalogue
        self._files = OpenFiles({part.name: str(part.target) for part in parts}, limits)

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._files.close()

    def __call__(self, number: int) -> Record:
        """Return a record as it is stored."""
        known, name = self._catalogue, self._parts[self._catalogue.file_of(number)].name
        offset = known.offsets[number]
        if known.skips[number]:
            raise FormatError("this record shares its gzip member", source=name, offset=offset)
        return self._files.record(name, offset, known.lengths[number])


class Originals:
    """Finds the originals of revisits among all records of a catalogue, or among those that stay.

    Args:
        catalogue: The records.
        open_record: Returns the stored record of a number.
        removed: Records that are left out, if their byte is 1.
        changes: Revisits that become full records, with the number of their original and None; or that refer
            to another record, whose number is the second.
        in_place: Whether the files keep their names, by which revisits mean them as containers.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        open_record: Callable[[int], Record],
        removed: bytearray | None = None,
        changes: Mapping[int, tuple[int, int | None]] | None = None,
        *,
        in_place: bool = True,
    ) -> None:
        self.catalogue = catalogue
        self.in_place = in_place
        self._open = open_record
        self._removed = removed
        self._changes = changes or {}
        self._looked_up: set[int] = set()
        self._ids: dict[int, list[int]] = {}
        self._dates: dict[tuple[int, int], list[int]] = {}
        self._uris: dict[int, list[int]] = {}
        self._digests: dict[int, list[int]] = {}
        self._alike: dict[tuple[int, int], list[int]] = {}
        """Originals by digest and URI."""
        self._revisits: dict[int, list[int]] = {}
        """Revisits by digest, of those revisits for which nothing else was left."""
        self.lost: set[Hashable] = set()
        """Revisits that were found to have no original."""
        self._right: dict[tuple[int, int], bool] = {}
        """Whether the payload of a record has a digest."""

    def __call__(self, revisits: Iterable[int]) -> Iterator[tuple[int, tuple[int, ...] | None]]:
        """Yield each revisit with the numbers that lead to its original; see `closure.FindOriginals`."""
        waiting = [*revisits]
        self._look_up(waiting)
        while waiting:
            later, wanted, alike = [], list[int](), list[int]()
            for number in waiting:
                try:
                    yield number, self._path(number)
                except _NotLookedUpError as error:
                    later.append(number)
                    (alike if error.is_alike else wanted).append(error.number)
            self._look_up(wanted)
            self._look_up_alike(alike)
            waiting = later

    def _path(self, revisit: int) -> tuple[int, ...] | None:
        try:
            if not self.is_whole(revisit):
                self.logical(revisit)
            failed = set[Hashable]()
            found = originals(_Numbered(self, revisit), failed)
        except (NotFoundError, FormatError):
            return None
        if not found:
            self.lost |= {revisit, *failed}
        return tuple(one.key for one in found) or None

    def stored(self, number: int) -> Record:
        """Return a record as it is stored; a revisit that becomes a full record with its payload."""
        record = self._open(number)
        change = self._changes.get(number)
        if change is None or change[1] is not None:
            return record
        return ResolvedRevisit(record, Originals(self.catalogue, self._open).logical(change[0]))

    def logical(self, number: int) -> Record:
        """Return a record with its segments joined."""
        record = self.stored(number)
        found = self.segments_of(number)
        if not found and not self.catalogue.kinds[number] & SEGMENTED:
            return record
        return join_segments(record, [self._open(it) for it in found])

    def segments_of(self, number: int) -> Sequence[int]:
        """Return the continuations of a record."""
        return [it for it in self._segments.get(self.catalogue.ids[number], ()) if self._is_there(it)]

    @cached_property
    def _segments(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, origin in zip(*self.catalogue.links["segment"], strict=True):
            found.setdefault(origin, []).append(number)
        return found

    def is_whole(self, number: int) -> bool:
        """Return whether a record surely has no other segments."""
        is_alone = not self.catalogue.kinds[number] & SEGMENTED
        return is_alone and not (self._segments and self.segments_of(number))

    def is_full(self, number: int) -> bool:
        """Return whether a revisit becomes a full record."""
        change = self._changes.get(number)
        return change is not None and change[1] is None

    def names_of(self, revisit: int) -> Names:
        """Return what a revisit refers to, or will refer to."""
        _, other = self._changes.get(revisit, (0, None))
        known = self.catalogue
        if other is None:
            return known.names_of(revisit)
        return Names(known.ids[other], known.uris[other], known.dates[other])

    def names(self, revisit: int) -> Names:
        """Return what a revisit refers to, if that was looked up."""
        if revisit not in self._looked_up:
            raise _NotLookedUpError(revisit)
        return self.names_of(revisit)

    def by_id(self, names: Names) -> Sequence[int]:
        """Return the captures with the ID that a revisit names."""
        return self._ids.get(names.id, NOTHING)

    def by_date(self, names: Names) -> Sequence[int]:
        """Return the captures of the URI and date that a revisit names."""
        return self._dates.get((names.uri, names.date), NOTHING)

    def by_uri(self, revisit: int) -> Sequence[int]:
        """Return the captures of a revisit's URI that may have their payload."""
        return self._uris.get(self.catalogue.uris[revisit], NOTHING)

    def by_digest(self, revisit: int) -> Iterator[Iterable[int]]:
        """Yield the captures with a revisit's digest; see `Capture.by_digest`."""
        digest, uri = self.catalogue.digests[revisit], self.catalogue.uris[revisit]
        yield self._alike.get((digest, uri), NOTHING)
        yield self._digests.get(digest, NOTHING)
        if digest not in self._revisits:
            raise _NotLookedUpError(revisit, is_alike=True)
        yield self._revisits[digest]

    def is_right(self, number: int, revisit: int, check: Callable[[], bool]) -> bool:
        """Return whether the payload of a record has a revisit's digest; it is read once for each digest."""
        key = number, self.catalogue.digests[revisit]
        if key not in self._right:
            self._right[key] = check()
        return self._right[key]

    def captures(self, numbers: Iterable[int]) -> Iterable[int]:
        """Return those of some records that are not removed."""
        return numbers if self._removed is None else filter(self._is_there, numbers)

    def _is_there(self, number: int) -> bool:
        return self._removed is None or not self._removed[number]

    def _look_up(self, revisits: Iterable[int]) -> None:
        """Find all that some revisits name, in a pass over each column."""
        new = [number for number in revisits if number not in self._looked_up]
        self._looked_up.update(new)
        known, names = self.catalogue, [self.names_of(number) for number in new]
        _collect({it.id for it in names}, known.ids, known.kinds, self._ids)
        places = {(it.uri, it.date) for it in names if it.date != NO_DATE} - self._dates.keys()
        for number, place in enumerate(zip(known.uris, known.dates, strict=True)) if places else ():
            if place in places:
                self._dates.setdefault(place, []).append(number)
        uris = {known.uris[it] for it in new if known.profile_of(it) is Profile.NOT_MODIFIED}
        for uri in _collect(uris, known.uris, known.kinds, self._uris):
            # A "not modified" answer has no payload of its own.
            self._uris[uri] = [
                it for it in self._uris[uri] if known.profile_of(it) is not Profile.NOT_MODIFIED
            ]
        digests = {known.digests[number] for number in new}
        for digest in _collect(digests, known.digests, known.kinds, self._digests):
            self._digests[digest] = [it for it in self._digests[digest] if not self._is_revisit(it)]
            for number in self._digests[digest]:
                self._alike.setdefault((digest, known.uris[number]), []).append(number)

    def _look_up_alike(self, revisits: Iterable[int]) -> None:
        """Find the revisits that state the digests of some revisits."""
        known = self.catalogue
        wanted = {known.digests[number] for number in revisits} - self._revisits.keys()
        self._revisits.update((digest, []) for digest in wanted)
        if wanted:
            for number in known.revisits:
                if known.digests[number] in wanted and self._is_revisit(number):
                    self._revisits[known.digests[number]].append(number)
            self._look_up([number for digest in wanted for number in self._revisits[digest]])

    def _is_revisit(self, number: int) -> bool:
        return self.catalogue.profile_of(number) is not None and not self.is_full(number)


def _collect(wanted: set[int], column: array[int], kinds: bytearray, found: dict[int, list[int]]) -> set[int]:
    """Add the numbers of the captures with each hash that is wanted and was not looked up before."""
    new = wanted - found.keys() - {NO_HASH}
    found.update((value, []) for value in new)
    for number, value in enumerate(column) if new else ():
        if value in new and kinds[number]:
            found[value].append(number)
    return new


class _NotLookedUpError(Exception):
    """The names of a revisit were not looked up yet; or, if `is_alike`, revisits with its digest."""

    def __init__(self, number: int, *, is_alike: bool = False) -> None:
        super().__init__(number)
        self.number = number
        self.is_alike = is_alike


class _Numbered(Capture):
    """A capture by its number."""

    __slots__ = ("_all", "_names", "instant", "key", "uri")

    def __init__(self, known: Originals, number: int) -> None:
        self._all = known
        self._names: Names | None = None
        self.key: int = number
        self.uri = known.catalogue.uris[number]
        date = known.catalogue.dates[number]
        self.instant = date if date != NO_DATE else None

    @property
    @override
    def is_lost(self) -> bool:
        return self.key in self._all.lost

    @property
    @override
    def place(self) -> Hashable:
        return self.key

    @property
    @override
    def is_revisit(self) -> bool:
        return self._all.catalogue.profile_of(self.key) is not None and not self._all.is_full(self.key)

    @property
    @override
    def profile(self) -> Profile:
        return self._all.catalogue.profile_of(self.key) or Profile.UNKNOWN

    @property
    def names(self) -> Names:
        """What it refers to, if it is a revisit."""
        if self._names is None:
            self._names = self._all.names(self.key)
        return self._names

    @property
    @override
    def container(self) -> int | None:
        container = self.names.container
        return container if container != NO_HASH and self._all.in_place else None

    @override
    def is_in(self, container: Hashable) -> bool:
        return self._all.catalogue.is_in(self.key, cast("int", container))

    @property
    @override
    def digest(self) -> Hashable | None:
        digest = self._all.catalogue.digests[self.key]
        return digest if digest != NO_HASH else None

    @override
    def by_id(self) -> Iterable[Self]:
        return self._captures(self._all.by_id(self.names))

    @override
    def by_date(self) -> Iterable[Self]:
        return self._captures(self._all.by_date(self.names))

    @override
    def by_digest(self) -> Iterator[Iterable[Self]]:
        return map(self._captures, self._all.by_digest(self.key))

    @override
    def by_uri(self) -> Iterable[Self]:
        return self._captures(self._all.by_uri(self.key))

    def _captures(self, numbers: Iterable[int]) -> Iterable[Self]:
        kind = type(self)
        return [kind(self._all, number) for number in self._all.captures(numbers)]

    @override
    def agrees(self, other: Self) -> bool | None:
        digests = self._all.catalogue.digests
        stated, its = digests[self.key], digests[other.key]
        if NO_HASH in (stated, its):
            return None
        # Two that differ may be of different algorithms.
        return stated == its or agree(self.stored.payload_digest, describe(other.stored).payload_digest)

    @override
    def check(self) -> None:
        if not self._all.is_whole(self.key):
            self._all.logical(self.key)

    @property
    @override
    def stored(self) -> Record:
        return self._all.stored(self.key)

    @property
    @override
    def logical(self) -> Record:
        return self._all.logical(self.key)

    @override
    def has_payload_of(self, revisit: Self) -> bool:
        return self._all.is_right(
            self.key, revisit.key, lambda: super(_Numbered, self).has_payload_of(revisit)
        )
