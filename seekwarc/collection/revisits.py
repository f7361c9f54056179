"""From a stored record to the logical one: its segments joined, a revisit with the payload of its original.

`candidates` is the only place that decides what a revisit may refer to, and `originals` the only one that
follows it. They ask a `Capture`, of which there are two kinds: an entry of an index, whose record is opened,
and in the tools that copy millions of records a number, for which that is done only where it must be.

Source: WARC 1.1, clauses 6.7 and 7.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain
from typing import Final, Self, TypeVar
from urllib.parse import unquote, urlsplit

from seekwarc.collection.entry import CAPTURE_TYPES, UNCHANGED, Entry, describe
from seekwarc.collection.record_index import RecordIndex, SpelledUris
from seekwarc.collection.segments import JoinedRecord, ResolvedRevisit, join_segments
from seekwarc.compiling import override
from seekwarc.errors import FormatError, NotFoundError, UnsupportedError
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.format.http import HttpHead
from seekwarc.format.profiles import is_identical_payload, is_server_not_modified
from seekwarc.format.uri import normalized
from seekwarc.read.digests import DigestVerdict, check_payload_digest
from seekwarc.read.record import Record

__all__ = [
    "MAX_REVISITS",
    "Capture",
    "IndexedCapture",
    "Profile",
    "agree",
    "container_of",
    "holders_of",
    "is_alone",
    "named",
    "originals",
    "resolve",
]

MAX_REVISITS: Final = 64
"""Revisits that are followed on the way to one original."""
VALIDATORS: Final = ("ETag", "Last-Modified")
OK: Final = 200

Open = Callable[[Entry], Record]
"""Returns the stored record of an index entry."""
One = TypeVar("One", bound="Capture")


def is_alone(record: Record) -> bool:
    """Return whether a record needs no others, as far as its header shows; only an index is certain."""
    is_made = isinstance(record, JoinedRecord | ResolvedRevisit)
    return is_made or (record.segment_number is None and record.type not in ("continuation", "revisit"))


def resolve(record: Record, index: RecordIndex, open_entry: Open) -> Record:
    """Return the logical record that a stored one is, or is a segment of; errors as of `open_record`."""
    if record.type == "continuation":
        begin = f"segment 1 of the record continued at {record.offset}"
        record = named(record.segment_origin_id, begin, index, open_entry)
    if not isinstance(record, JoinedRecord | ResolvedRevisit):
        record = _joined(record, index, open_entry)
        if record.type == "revisit":
            return _resolved(record, IndexedCapture(index, open_entry, describe(record), record))
    return record


def _resolved(record: Record, revisit: IndexedCapture) -> ResolvedRevisit:
    if revisit.profile is Profile.UNKNOWN:
        raise UnsupportedError(
            f"the revisit has an unknown profile, {record.profile}, and cannot be resolved",
            source=record.source,
            offset=record.offset,
        )
    found = originals(revisit)
    if not found:
        name = record.refers_to_id or record.refers_to_target_uri or record.target_uri
        container = f", in {container_of(record)}" if container_of(record) is not None else ""
        text = f"the record that this revisit refers to was not found: {name}{container}"
        raise NotFoundError(text, source=record.source, offset=record.offset)
    return ResolvedRevisit(record, found[-1].logical)


def named(name: str | None, what: str, index: RecordIndex, open_entry: Open) -> Record:
    """Return the stored record with an ID; `what` is what the message calls it if it is not in the index."""
    if name is not None and (found := index.by_id(name)):
        return open_entry(found[0])
    raise NotFoundError(f"{what}, {name}, was not found")


def _joined(record: Record, index: RecordIndex, open_entry: Open) -> Record:
    found = index.segments_of(record.id) if record.id is not None else ()
    if not found and (record.id is None or record.segment_number is None):
        return record
    return join_segments(record, [open_entry(entry) for entry in found])


class Profile(Enum):
    """How a revisit says that its payload was archived before (clause 6.7)."""

    IDENTICAL = "identical-payload-digest"
    NOT_MODIFIED = "server-not-modified"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, text: str | None) -> Profile:
        """Return the profile that a WARC-Profile names."""
        if is_identical_payload(text):
            return cls.IDENTICAL
        return cls.NOT_MODIFIED if is_server_not_modified(text) else cls.UNKNOWN


class Capture(ABC):
    """A response, resource or revisit, and what is known of the captures around it."""

    __slots__ = ()
    key: Hashable
    """Equal for the same capture; costs nothing."""
    uri: Hashable
    """Its target URI, or a hash of it: equal in all spellings."""
    instant: int | None
    """Its date in nanoseconds."""

    @property
    def is_lost(self) -> bool:
        """Whether it is known to be a revisit without an original."""
        return False

    @property
    @abstractmethod
    def place(self) -> Hashable:
        """Equal for the same stored record."""

    @property
    @abstractmethod
    def is_revisit(self) -> bool:
        """Whether it is a revisit."""

    @property
    @abstractmethod
    def profile(self) -> Profile:
        """The profile of a revisit."""

    @property
    @abstractmethod
    def container(self) -> Hashable | None:
        """The container that a revisit names; None if it names none."""

    @abstractmethod
    def is_in(self, container: Hashable) -> bool:
        """Return whether it is in a container that a revisit names."""

    @property
    @abstractmethod
    def digest(self) -> Hashable | None:
        """Equal for the same stated payload digest; None if it states none."""

    @abstractmethod
    def by_id(self) -> Iterable[Self]:
        """Return the captures with the ID that a revisit names."""

    @abstractmethod
    def by_date(self) -> Iterable[Self]:
        """Return the captures of the date that a revisit names, and of the URI that it names or else has."""

    @abstractmethod
    def by_digest(self) -> Iterator[Iterable[Self]]:
        """Yield the captures that state its payload digest.

        These are originals of the same URI; those of other URIs; then revisits, likewise.
        """

    @abstractmethod
    def by_uri(self) -> Iterable[Self]:
        """Return the captures of its URI; those of another spelling last."""

    @abstractmethod
    def agrees(self, other: Self) -> bool | None:
        """Return whether both state the same payload digest; None if the digests cannot be compared."""

    @abstractmethod
    def check(self) -> None:
        """Raise a FormatError if the record is not intact."""

    @property
    @abstractmethod
    def stored(self) -> Record:
        """Its record as it is stored."""

    @property
    @abstractmethod
    def logical(self) -> Record:
        """Its record with all segments joined."""

    def has_payload_of(self, revisit: Self) -> bool:
        """Return whether the payload of this original has the digest that a revisit states."""
        record, original = revisit.stored, self.logical
        stated = record.payload_digest
        if stated is None or stated.hasher() is None:
            # It cannot be computed, so nothing speaks against what the revisit names.
            return True
        check = check_payload_digest(record, original, original.http, original.block)
        return check is not None and check.verdict in (DigestVerdict.VALID, DigestVerdict.TRANSFERRED)


class Evidence(Enum):
    """What must be equal before a candidate is an original."""

    NOTHING = 0
    DIGEST = 1
    VALIDATOR = 2


def candidates(revisit: One, asked: Container[Hashable] = ()) -> Iterator[tuple[One, Evidence]]:
    """Yield the captures that may have a revisit's payload, most likely first, and what is left to compare.

    With the profile identical-payload-digest, these are the captures that state its digest: the one that it
    names by ID, the one of the URI and date that it names, then any others. After these come the named ones
    whose digest is unknown. One that states another digest is left out. If it names a container, those in it
    come first: by ID or date, and then of those with the same URI.

    With server-not-modified, whose digest is often that of an empty body, these are the captures that it
    names, then those of its URI that have the same ETag or Last-Modified; if it has none of these, those
    before it.

    Args:
        revisit: The revisit.
        asked: Digests whose captures are followed already, by a revisit that led to this one.
    """
    profile = revisit.profile
    digest = revisit.digest if profile is Profile.IDENTICAL else None
    container = revisit.container
    found: set[Hashable] = set()
    unknown: list[One] = []
    named: Iterable[One] = chain.from_iterable(find() for find in (revisit.by_id, revisit.by_date))
    if container is not None:
        named = sorted(named, key=lambda one: not one.is_in(container))
    for one in named:
        agrees = revisit.agrees(one) if digest is not None else True
        if agrees is not False and one.key not in found:
            found.add(one.key)
            if agrees:
                yield one, Evidence.NOTHING
            else:
                unknown.append(one)
    # Only if none of those has it: there may be a million revisits of the same logo.
    is_new = digest is not None and digest not in asked
    alike = (_nearest(revisit, captures, container) for captures in revisit.by_digest()) if is_new else ()
    yield from ((one, Evidence.NOTHING) for captures in alike for one in captures if one.key not in found)
    yield from ((one, Evidence.DIGEST) for one in unknown)
    if profile is Profile.NOT_MODIFIED:
        captures = _nearest(revisit, revisit.by_uri(), container)
        yield from ((one, Evidence.VALIDATOR) for one in captures if one.key not in found)


def _nearest(revisit: One, captures: Iterable[One], container: Hashable | None) -> list[One]:
    """Order captures: same URI first, then those in the container, not later ones, and later dates first."""
    own = revisit.instant

    def order(one: One) -> tuple[bool, bool, bool, int]:
        instant = one.instant or 0
        is_elsewhere = container is not None and not one.is_in(container)
        return one.uri != revisit.uri, is_elsewhere, own is not None and instant > own, -instant

    return sorted(captures, key=order)


def originals(revisit: One, failed: set[Hashable] | None = None) -> tuple[One, ...]:
    """Return the original of a revisit, after the revisits that lead there; () if no capture has the payload.

    A revisit of an unknown profile has none: it must not be interpreted (clause 6.7.1).

    Args:
        revisit: The revisit.
        failed: Gets the places of other revisits that were followed in vain; if the result is (), they have
            no original either.

    Raises:
        FormatError: No candidate has the payload, and some are damaged.
    """
    found = _followed(revisit, (), search := _Search(set() if failed is None else failed))
    if search.steps >= MAX_REVISITS:
        search.failed.clear()
    return found


@dataclass(slots=True)
class _Search:
    """What was tried for one revisit. Failed attempts are not repeated, so circles take few steps."""

    failed: set[Hashable]
    steps: int = 0


def _followed(revisit: One, before: tuple[One, ...], search: _Search) -> tuple[One, ...]:
    if revisit.profile is Profile.UNKNOWN:
        return ()
    path = (*before, revisit)
    damage: FormatError | None = None
    asked = {one.digest for one in before if one.profile is Profile.IDENTICAL}
    for one, evidence in candidates(revisit, asked):
        try:
            found = _reached(one, evidence, path, search)
            if found:
                if _has_evidence(revisit, one, found[-1], evidence):
                    return found
                search.failed.clear()  # Perhaps since another on this way had led there already.
        except (NotFoundError, UnsupportedError):
            continue
        except FormatError as error:
            # Another candidate may be intact.
            damage = damage or error
    if damage is not None:
        raise damage
    return ()


def _reached(one: One, evidence: Evidence, path: tuple[One, ...], search: _Search) -> tuple[One, ...]:
    """Return a candidate that is an original, or one that is a revisit with those that it leads to."""
    if one.is_lost or one.place in search.failed or any(one.place == it.place for it in path):
        return ()
    if not one.is_revisit:
        one.check()
        return (one,)
    if evidence is Evidence.VALIDATOR and one.profile is not Profile.IDENTICAL:
        return ()
    search.steps += 1
    if search.steps >= MAX_REVISITS:
        return ()
    rest = _followed(one, path, search)
    if not rest:
        search.failed.add(one.place)
    return (one, *rest) if rest else ()


def _has_evidence(revisit: One, one: One, original: One, evidence: Evidence) -> bool:
    """Tell whether a candidate and the original that it leads to have what must be equal."""
    is_identical = revisit.profile is Profile.IDENTICAL
    # Its digest may be that of the empty body of a 304, and other evidence has led on from there.
    is_claim = is_identical and one.is_revisit and one.profile is Profile.NOT_MODIFIED
    if evidence is Evidence.DIGEST or is_claim:
        return original.has_payload_of(revisit)
    if evidence is Evidence.VALIDATOR:
        head = one.stored.http
        head = head if head is not None else original.logical.http
        is_earlier = (one.instant or 0) <= (revisit.instant or 0)
        return _has_validator(revisit.stored.http, head, is_earlier=is_earlier)
    return True


def _has_validator(asked: HttpHead | None, head: HttpHead | None, *, is_earlier: bool) -> bool:
    """Tell whether "304 Not Modified" with one head means what came with the other (RFC 9110, 15.4.5)."""
    if head is not None and head.status != OK:
        return False
    for name in VALIDATORS:
        if asked is not None and (value := asked.get(name)) is not None:
            return head is not None and head.get(name) == value
    return is_earlier


def agree(digest: Digest | None, other: Digest | None) -> bool | None:
    """Return whether two digests are equal in any spelling; None if that is unknown."""
    if digest is None or other is None or digest.name != other.name:
        return None
    return digest.key == other.key


def container_of(record: Record) -> str | None:
    """Return the base name in WARC-Refers-To-Container, as in `file://a.wacz`: no file is opened by it."""
    text = record.header.get("WARC-Refers-To-Container")
    return _container_name(text.removeprefix("file://")) or None if text else None


@lru_cache(64)
def holders_of(filename: str) -> frozenset[str]:
    """Return the names of the containers that a file is in: itself, and its WACZ."""
    from seekwarc.storage.zip_members import SEPARATOR

    parts = (unquote(urlsplit(it).path) if "://" in it else it for it in filename.split(SEPARATOR))
    return frozenset(map(_container_name, parts))


def _container_name(path: str) -> str:
    return os.path.basename(path).removesuffix(".gz").removesuffix(".zst")  # Converted, it has the other.


class IndexedCapture(Capture):
    """A capture that an index lists, or the record of a revisit that is to be resolved by one."""

    __slots__ = ("_index", "_logical", "_open", "_record", "entry", "instant", "key", "uri")

    def __init__(
        self, index: RecordIndex, open_entry: Open, entry: Entry, record: Record | None = None
    ) -> None:
        self._index = index
        self._open = open_entry
        self.entry = entry
        self._record = record
        self._logical: Record | None = None
        self.key = entry.filename, entry.offset, entry.skip
        self.uri = normalized(entry.uri) if entry.uri is not None else None
        self.instant = entry.date.nanoseconds if entry.date is not None else None

    @property
    @override
    def stored(self) -> Record:
        if self._record is None:
            self._record = self._open(self.entry)
        return self._record

    @property
    @override
    def logical(self) -> Record:
        if self._logical is None:
            self._logical = _joined(self.stored, self._index, self._open)
        return self._logical

    @override
    def check(self) -> None:
        _ = self.logical

    @property
    @override
    def place(self) -> Hashable:
        # An index may know files by their base names.
        return self.stored.source, self.stored.offset

    @property
    @override
    def is_revisit(self) -> bool:
        return self.stored.type == "revisit"

    @property
    @override
    def profile(self) -> Profile:
        return Profile.of(self.stored.profile)

    @property
    @override
    def container(self) -> Hashable | None:
        return container_of(self.stored)

    @override
    def is_in(self, container: Hashable) -> bool:
        return container in holders_of(self.entry.filename)

    @property
    @override
    def digest(self) -> Hashable | None:
        digest = self.stored.payload_digest
        return digest.key if digest is not None else None

    @override
    def by_id(self) -> Iterable[Self]:
        name = self.stored.refers_to_id
        return self._captures(self._index.by_id(name)) if name is not None else ()

    @override
    def by_date(self) -> Iterable[Self]:
        date, uri = self.stored.refers_to_date, self.stored.refers_to_target_uri or self.entry.uri
        return self._captures(self._of_date(uri, date)) if uri is not None and date is not None else ()

    def _of_date(self, uri: str, date: WarcDate) -> Iterable[Entry]:
        return (entry for entry in self._of_uri(uri) if entry.date == date)

    def _of_uri(self, uri: str) -> Iterable[Entry]:
        index = self._index
        return index.spelled(uri) if isinstance(index, SpelledUris) else index.by_uri(uri)

    @override
    def by_digest(self) -> Iterator[Iterable[Self]]:
        digest = self.stored.payload_digest
        entries = self._index.by_payload(digest) if digest is not None else ()
        for is_revisit in (False, True):
            yield self._captures(entry for entry in entries if (entry.type == "revisit") == is_revisit)

    @override
    def by_uri(self) -> Iterable[Self]:
        uri = self.entry.uri
        found = self._of_uri(uri) if uri is not None else ()
        return self._captures(entry for entry in found if entry.status != UNCHANGED)

    @override
    def agrees(self, other: Self) -> bool | None:
        return agree(self.stored.payload_digest, other.entry.payload_digest)

    def _captures(self, entries: Iterable[Entry]) -> Iterable[Self]:
        kind = type(self)
        return [kind(self._index, self._open, it) for it in entries if it.type in CAPTURE_TYPES]
