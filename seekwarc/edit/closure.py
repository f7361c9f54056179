"""The records of an input as numbers: where each is, whether it is kept, and which others belong to it.

Goal: a choice of records among many millions, and with each all that it needs to be understood. IDs and
dates are hashes of 64 bits, so a record takes about 75 bytes, whether it is kept or not: any later record
may name it (WARC-Concurrent-To, WARC-Warcinfo-ID), or be a revisit of it, so before the end it is not known
which are needed. Without closure, only kept records are noted, with 29 bytes each. The chance that two of
ten million are equal by accident is one in 400,000, and then a record is kept that need not be. The hashes
have a key, so that no file can hold records with deliberately colliding hashes, and that several processes
can share.

Plan: one pass notes all records. Records that belong to a kept one are then found by passes over the
numbers, until one changes nothing: usually the second or third.
"""

from __future__ import annotations

import os
import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from itertools import compress
from struct import Struct
from typing import Final, NamedTuple

from seekwarc.collection.entry import CAPTURE_TYPES
from seekwarc.collection.revisits import Profile, container_of, holders_of
from seekwarc.edit.copy_source import Place
from seekwarc.errors import FormatError
from seekwarc.format.dates import WarcDate, usual_seconds
from seekwarc.format.digest import Digest, labelled
from seekwarc.format.uri import normalized
from seekwarc.format.values import without_brackets
from seekwarc.format.warc import RecordHeader
from seekwarc.read.record import Record
from seekwarc.read.zstd_body import FrameBody

__all__ = ["NO_DATE", "NO_HASH", "RELATIONS", "SEGMENTED", "Catalogue", "FindOriginals", "Names"]

RELATIONS: Final = ("warcinfo", "concurrent", "segment", "original")
"""What a record can be to another that is kept."""
LINKS: Final = {"concurrent": "WARC-Concurrent-To", "segment": "WARC-Segment-Origin-ID"}
"""The fields that relate records to each other in both directions."""
LOWER: Final = {relation: field.lower().encode() for relation, field in LINKS.items()}
NO_HASH: Final = 0
NO_DATE: Final = -(1 << 63)
MAX_SECONDS: Final = -NO_DATE // 10**9
KEY_SIZE: Final = 16
SEGMENTED: Final = 128
"""Added to the kind of a capture whose header has a segment number."""
NOT_REVISITS: Final = 2
"""Kinds of records: no capture, response or resource, and for revisits those after these, by profile."""
PROFILES: Final = tuple(Profile)
SHA1_SIZE: Final = 20
USUAL_DIGEST: Final = re.compile("sha1:[A-Z2-7]{32}")
"""Nearly all digests, which need not be decoded: there is one spelling of this form for each."""

_HASH = Struct("<q")

FindOriginals = Callable[[Sequence[int]], Iterable[tuple[int, tuple[int, ...] | None]]]
"""Yields revisits by their numbers, each with those of the revisits that lead to its original and of that, or
None if no record has its payload."""


class Names(NamedTuple):
    """What a revisit refers to."""

    id: int
    uri: int
    """Its own URI if it names only a date."""
    date: int
    container: int = NO_HASH


class Catalogue:
    """All records of some files, in order, by number; unless `linked`, only the places of kept ones.

    Those with the same `key` can be joined.
    """

    def __init__(self, *, linked: bool = True, key: bytes | None = None) -> None:
        self._is_linked = linked
        self.key = os.urandom(KEY_SIZE) if key is None else key
        self.offsets = array("Q")
        self.skips = array("Q")
        self.lengths = array("Q")
        self.contents = array("I")
        """The size of each record that is all of its frame, which takes `lengths` bytes; 0 for others."""
        self.kept = bytearray()
        """Whether each record is kept."""
        self.read = 0
        """Records that were looked at, whether they are noted or not."""
        self.others: list[tuple[int, str]] = []
        """The numbers of records of other URIs with the same key as chosen ones, and these URIs."""
        self.starts = [0]
        """The number of the first record of each file, and after the last file that of all records."""
        self.kinds = bytearray()
        self.ids = array("q")
        self.uris = array("q")
        """Target URIs of captures, by which others refer to them: equal in all spellings."""
        self.dates = array("q")
        self.digests = array("q")
        """Payload digests of captures: equal in all spellings."""
        self._infos = array("q")
        # Few records have these, so they are pairs of a record's number and a hash.
        self.links = {relation: (array("Q"), array("q")) for relation in LINKS}
        self.revisits = array("Q")
        """The numbers of all revisits, in order."""
        self._names = array("q"), array("q"), array("q"), array("q")
        self._holders: list[set[int]] = []
        """The names by which revisits may mean each file as a container."""

    def __len__(self) -> int:
        return len(self.kept)

    def add(self, record: Record, *, kept: bool) -> None:
        """Note the next record of the current file."""
        self.read += 1
        if not (kept or self._is_linked):
            return
        number = len(self.kept)
        self.offsets.append(record.offset)
        self.skips.append(record.skip)
        self.lengths.append(length := record.length)
        body = record.body
        is_alone = isinstance(body, FrameBody) and body.end - body.offset == length
        self.contents.append(record.size if is_alone else 0)
        self.kept.append(kept)
        if not self._is_linked:
            return
        header, kind = record.header, record.type
        self.ids.append(self._hash(header.get("WARC-Record-ID")))
        # To search the header is faster than to look up fields that few records have.
        names = header.raw.lower()
        number_of_kind, uri, date, digest = 0, NO_HASH, NO_DATE, NO_HASH
        if kind in CAPTURE_TYPES:
            uri, date = self._uri(header.get("WARC-Target-URI")), _instant(header.get("WARC-Date"))
            digest = self._digest(header, kind)
            number_of_kind = 1
            if kind == "revisit":
                number_of_kind = _kind_of(record.profile)
                named = self._uri(header.get("WARC-Refers-To-Target-URI"))
                self.revisits.append(number)
                self._names[0].append(self._hash(header.get("WARC-Refers-To")))
                self._names[1].append(named or uri)
                self._names[2].append(_instant(header.get("WARC-Refers-To-Date")))
                named_file = container_of(record) if b"warc-refers-to-container" in names else None
                self._names[3].append(self._hash(named_file))
            if b"warc-segment-number" in names:
                number_of_kind |= SEGMENTED
        self.kinds.append(number_of_kind)
        self.uris.append(uri)
        self.dates.append(date)
        self.digests.append(digest)
        self._infos.append(self._hash(header.get("WARC-Warcinfo-ID")) if b"warc-warcinfo-id" in names else 0)
        for relation, name in LOWER.items():
            if name in names:
                for target in header.get_all(LINKS[relation]):
                    self.links[relation][0].append(number)
                    self.links[relation][1].append(self._hash(target))

    def add_place(self, offset: int, length: int) -> None:
        """Note a kept record of which nothing but its place is known."""
        places = (self.offsets, offset), (self.skips, 0), (self.lengths, length), (self.contents, 0)
        for column, value in places:
            column.append(value)
        for hashes in (self.ids, self.uris, self.dates, self.digests, self._infos):
            hashes.append(NO_HASH)
        self.kinds.append(0)
        self.kept.append(1)

    def extend(self, other: Catalogue) -> None:
        """Note records that another catalogue has as the next ones of the current file."""
        first = len(self.kept)
        self.read += other.read
        for mine, theirs in zip(self._columns(), other._columns(), strict=True):
            mine.extend(theirs)
        self.kept += other.kept
        self.kinds += other.kinds
        self.others += [(first + number, uri) for number, uri in other.others]
        self.revisits.extend(array("Q", [first + number for number in other.revisits]))
        for relation, (numbers, targets) in other.links.items():
            self.links[relation][0].extend(array("Q", [first + number for number in numbers]))
            self.links[relation][1].extend(targets)

    def end_file(self, name: str) -> None:
        """Note the name of the current file, and begin the next."""
        self.starts.append(len(self))
        self._holders.append({self._hash(it) for it in holders_of(name)})

    def kept_in(self, file: int) -> Iterator[int]:
        """Yield the numbers of the kept records of a file."""
        number = self.starts[file] - 1
        while (number := self.kept.find(1, number + 1, self.starts[file + 1])) >= 0:
            yield number

    def infos_named(self) -> set[int]:
        """Return the hashes of the IDs that records which are not kept name as their warcinfo."""
        return {info for info, kept in zip(self._infos, self.kept, strict=True) if not kept}

    @property
    def size(self) -> int:
        """Stored bytes of the kept records."""
        return sum(compress(self.lengths, self.kept))

    def place(self, number: int) -> Place:
        """Return where a record is."""
        offset, length = self.offsets[number], self.lengths[number]
        return Place(offset, self.skips[number], offset + length if length else None, self.contents[number])

    def places(self, file: int) -> Iterator[Place]:
        """Yield where the kept records of a file are."""
        return map(self.place, self.kept_in(file))

    def close(self, find_originals: FindOriginals) -> tuple[Counter[str], int]:
        """Also keep what belongs to the kept records.

        Returns:
            How many records were added, by their relation, and how many kept revisits have no original here.
        """
        added: Counter[str] = Counter()
        asked, dangling, before = bytearray(len(self)), 0, -1
        while before != added.total():
            before = added.total()
            self.keep_linked(added)
            wanted = [number for number in self.revisits if self.kept[number] and not asked[number]]
            for revisit, path in find_originals(wanted):
                asked[revisit] = 1
                dangling += path is None
                added["original"] += self._keep(path or ())
        infos = set(compress(self._infos, self.kept)) - {NO_HASH}
        added["warcinfo"] += self._keep(number for number, it in enumerate(self.ids) if it in infos)
        return added, dangling

    def keep_linked(self, added: Counter[str]) -> None:
        """Keep the records that are concurrent to kept ones, and all segments of these, and count them."""
        before = -1
        while before != added.total():
            before = added.total()
            for relation, (numbers, targets) in self.links.items():
                added[relation] += self._add_linked(numbers, targets)

    def touched(self, changed: Iterable[int]) -> list[int]:
        """Return the revisits that are not kept and may lead to some records by what they name or state."""
        marked = bytearray(len(self))
        hashes = {NO_HASH}
        segments = dict(zip(*self.links["segment"], strict=True))
        for number in changed:
            hashes |= {self.ids[number], self.uris[number], self.digests[number]}
            hashes.add(segments.get(number, NO_HASH))
        before = 0
        while before != len(hashes):
            # A revisit may lead there through another one.
            before = len(hashes)
            hashes.discard(NO_HASH)
            for number, name, uri in zip(self.revisits, *self._names[:2], strict=True):
                own = self.ids[number], self.uris[number], self.digests[number]
                if not marked[number] and (
                    name in hashes or uri in hashes or own[1] in hashes or own[2] in hashes
                ):
                    marked[number] = 1
                    hashes |= set(own)
            hashes.add(NO_HASH)
        return [number for number in self.revisits if marked[number] and not self.kept[number]]

    def names_of(self, revisit: int) -> Names:
        """Return what a revisit refers to."""
        row = bisect_left(self.revisits, revisit)
        return Names(*[column[row] for column in self._names])

    def profile_of(self, number: int) -> Profile | None:
        """Return the profile of a revisit, or None if a record is not one."""
        kind = self.kinds[number] & ~SEGMENTED
        return PROFILES[kind - NOT_REVISITS] if kind >= NOT_REVISITS else None

    def is_in(self, number: int, container: int) -> bool:
        """Return whether a record is in a container that a revisit names."""
        return container in self._holders[self.file_of(number)]

    def file_of(self, number: int) -> int:
        """Return the number of a record's file."""
        return bisect_right(self.starts, number) - 1

    def _columns(self) -> tuple[array[int], ...]:
        places = self.offsets, self.skips, self.lengths, self.contents
        return *places, self.ids, self.uris, self.dates, self.digests, self._infos, *self._names

    def _digest(self, header: RecordHeader, kind: str) -> int:
        """Return the hash of the payload digest that `collection.entry.describe` gives a capture."""
        text = header.get("WARC-Payload-Digest")
        if USUAL_DIGEST.fullmatch(text or ""):
            return self._hash_of((text or "").encode("ascii"))
        for other in (text, header.get("WARC-Block-Digest") if kind == "resource" else None):
            with suppress(FormatError):
                name, raw = Digest.parse(other or "").key
                if name == "sha1" and len(raw) == SHA1_SIZE:
                    return self._hash_of(labelled("sha1", raw).encode("ascii"))
                return self._hash_of(name.encode("utf-8", "surrogatepass") + b":" + raw)
        return NO_HASH

    def _uri(self, text: str | None) -> int:
        return NO_HASH if text is None else self._hash_of(normalized(without_brackets(text)))

    def _hash(self, text: str | None) -> int:
        if text is None:
            return NO_HASH
        return self._hash_of(without_brackets(text).encode("utf-8", "surrogateescape"))

    def _hash_of(self, data: bytes) -> int:
        number: int = _HASH.unpack(blake2b(self.key + data, digest_size=_HASH.size).digest())[0]
        return number

    def _keep(self, numbers: Iterable[int]) -> int:
        count = 0
        for number in numbers:
            count += not self.kept[number]
            self.kept[number] = 1
        return count

    def _add_linked(self, numbers: array[int], targets: array[int]) -> int:
        if not numbers:
            return 0
        # The IDs of all that is concurrent to a kept record, or segments of the same one.
        wanted = set(compress(self.ids, self.kept))
        wanted |= {target for number, target in zip(numbers, targets, strict=True) if self.kept[number]}
        wanted.discard(NO_HASH)
        count = self._keep(
            number for number, target in zip(numbers, targets, strict=True) if target in wanted
        )
        return count + self._keep(number for number, it in enumerate(self.ids) if it in wanted)


@lru_cache(16)
def _kind_of(profile: str | None) -> int:
    return NOT_REVISITS + PROFILES.index(Profile.of(profile))


@lru_cache(1000)
def _instant(text: str | None) -> int:
    """Return the instant of a date in 64 bits, which hold those of the years 1678 to 2261 exactly."""
    if (seconds := usual_seconds(text or "")) is not None and abs(seconds) < MAX_SECONDS:
        return seconds * 10**9
    try:
        date = WarcDate.parse(text or "")
    except FormatError:
        return NO_DATE
    return (date.nanoseconds - NO_DATE) % (1 << 64) + NO_DATE
