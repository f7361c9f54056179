"""The records of an input as numbers: where each is, whether it is kept, and which others belong to it.

Goal: a choice of records among many millions, and with each all that it needs to be understood. IDs and dates
are hashes of 64 bits, so a record takes about 70 bytes. The chance that two of ten million are equal by
accident is one in 400,000, and then a record is kept that need not be. The hashes have a key, so that no file
can hold records whose hashes are equal by intention, and that several processes can share.

Plan: one pass notes all records. What belongs to a kept record is then found by passes over the numbers,
until one changes nothing: usually the second or third.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import compress
from struct import Struct
from typing import Final

from seekwarc.read.record import Record
from seekwarc.tools.copy_inputs import Place

__all__ = ["RELATIONS", "Catalogue"]

RELATIONS: Final = ("warcinfo", "concurrent", "segment", "original")
"""What a record can be to another that is kept."""
LINKS: Final = {"concurrent": "WARC-Concurrent-To", "segment": "WARC-Segment-Origin-ID"}
"""The fields that relate records to each other in both directions."""
NO_HASH: Final = 0
KEY_SIZE: Final = 16

_HASH = Struct("<q")


class Catalogue:
    """All records of some files, in order, by number; unless `linked`, nothing but their places.

    Those with the same `key` can be joined.
    """

    def __init__(self, *, linked: bool = True, key: bytes | None = None) -> None:
        self._is_linked = linked
        self.key = os.urandom(KEY_SIZE) if key is None else key
        self.offsets = array("Q")
        self.skips = array("Q")
        self.lengths = array("Q")
        self.kept = bytearray()
        """Whether each record is kept."""
        self.starts = [0]
        """The number of the first record of each file, and after the last file that of all records."""
        self._ids = array("q")
        self._captures = array("q")
        self._digests = array("q")
        self._infos = array("q")
        # Few records have these, so they are pairs of a record's number and a hash.
        self._links = {relation: (array("Q"), array("q")) for relation in LINKS}
        self._revisits: dict[int, tuple[int, int, int]] = {}

    def __len__(self) -> int:
        return len(self.kept)

    def add(self, record: Record, *, kept: bool) -> None:
        """Note the next record of the current file."""
        number = len(self.kept)
        self.offsets.append(record.offset)
        self.skips.append(record.skip)
        self.lengths.append(record.length)
        self.kept.append(kept)
        if not self._is_linked:
            return
        header, kind = record.header, (record.type or "").lower()
        self._ids.append(self._hash(header.get("WARC-Record-ID")))
        capture = digest = info = NO_HASH
        if kind in ("response", "resource", "revisit"):
            digest = self._hash(header.get("WARC-Payload-Digest"))
        if kind == "revisit":
            place = self._hash(header.get("WARC-Refers-To-Target-URI"), header.get("WARC-Refers-To-Date"))
            self._revisits[number] = self._hash(header.get("WARC-Refers-To")), place, digest
        elif digest or kind in ("response", "resource"):
            capture = self._hash(header.get("WARC-Target-URI"), header.get("WARC-Date"))
        # To search the header is faster than to look up fields that few records have.
        names = header.raw.lower()
        if b"warc-warcinfo-id" in names:
            info = self._hash(header.get("WARC-Warcinfo-ID"))
        self._captures.append(capture)
        self._digests.append(digest if kind != "revisit" else NO_HASH)
        self._infos.append(info)
        for relation, field in LINKS.items():
            if field.lower().encode() in names:
                for target in header.get_all(field):
                    self._links[relation][0].append(number)
                    self._links[relation][1].append(self._hash(target))

    def add_place(self, offset: int, length: int) -> None:
        """Note a kept record of which nothing but its place is known."""
        for column, value in ((self.offsets, offset), (self.skips, 0), (self.lengths, length)):
            column.append(value)
        for hashes in (self._ids, self._captures, self._digests, self._infos):
            hashes.append(NO_HASH)
        self.kept.append(1)

    def extend(self, other: Catalogue) -> None:
        """Note records that another catalogue has as the next ones of the current file."""
        first = len(self.kept)
        for mine, theirs in zip(self._columns(), other._columns(), strict=True):
            mine.extend(theirs)
        self.kept += other.kept
        for relation, (numbers, targets) in other._links.items():
            self._links[relation][0].extend(array("Q", [first + number for number in numbers]))
            self._links[relation][1].extend(targets)
        self._revisits.update({first + number: names for number, names in other._revisits.items()})

    def end_file(self) -> None:
        """Begin the next file."""
        self.starts.append(len(self))

    def kept_in(self, file: int) -> Iterator[int]:
        """Yield the numbers of the kept records of a file."""
        number = self.starts[file] - 1
        while (number := self.kept.find(1, number + 1, self.starts[file + 1])) >= 0:
            yield number

    @property
    def size(self) -> int:
        """Stored bytes of the kept records."""
        return sum(compress(self.lengths, self.kept))

    def place(self, number: int) -> Place:
        """Return where a record is."""
        offset, length = self.offsets[number], self.lengths[number]
        return offset, self.skips[number], offset + length if length else None

    def places(self, file: int) -> Iterator[Place]:
        """Yield where the kept records of a file are."""
        return map(self.place, self.kept_in(file))

    def close(self) -> tuple[Counter[str], int]:
        """Keep what belongs to the kept records, too.

        Returns:
            How many records were added, by their relation, and how many kept revisits have no original here.
        """
        added: Counter[str] = Counter()
        before = -1
        while before != added.total():
            before = added.total()
            self.keep_linked(added)
            originals = self._originals([number for number in self._revisits if self.kept[number]])
            dangling = sum(original is None for original in originals.values())
            added["original"] += self._keep(it for it in originals.values() if it is not None)
        infos = set(compress(self._infos, self.kept)) - {NO_HASH}
        added["warcinfo"] += self._keep(number for number, it in enumerate(self._ids) if it in infos)
        return added, dangling

    def keep_linked(self, added: Counter[str]) -> None:
        """Keep the records that are concurrent to kept ones, and all segments of these, and count them."""
        before = -1
        while before != added.total():
            before = added.total()
            for relation, (numbers, targets) in self._links.items():
                added[relation] += self._add_linked(numbers, targets)

    def revisits_of_kept(self) -> dict[int, int]:
        """Return the numbers of the revisits that are not kept, and of their originals, which are."""
        originals = self._originals([number for number in self._revisits if not self.kept[number]])
        return {revisit: it for revisit, it in originals.items() if it is not None and self.kept[it]}

    def first_like(self, numbers: Iterable[int]) -> dict[int, int]:
        """Return for some records the first one that is not kept and has the same payload digest."""
        digests = {number: self._digests[number] for number in numbers}
        wanted, found = {*digests.values()} - {NO_HASH}, dict[int, int]()
        for number, digest in enumerate(self._digests):
            if digest in wanted and not self.kept[number]:
                found.setdefault(digest, number)
        return {number: found[digest] for number, digest in digests.items() if digest in found}

    def file_of(self, number: int) -> int:
        """Return the number of a record's file."""
        return bisect_right(self.starts, number) - 1

    def _columns(self) -> tuple[array[int], ...]:
        places = self.offsets, self.skips, self.lengths
        return *places, self._ids, self._captures, self._digests, self._infos

    def _hash(self, text: str | None, other: str | None = "") -> int:
        if text is None or other is None:
            return NO_HASH
        named = "\0".join((text.strip("<> \t"), other)).encode("utf-8", "surrogateescape")
        number: int = _HASH.unpack(blake2b(self.key + named, digest_size=_HASH.size).digest())[0]
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
        wanted = set(compress(self._ids, self.kept))
        wanted |= {target for number, target in zip(numbers, targets, strict=True) if self.kept[number]}
        wanted.discard(NO_HASH)
        count = self._keep(
            number for number, target in zip(numbers, targets, strict=True) if target in wanted
        )
        return count + self._keep(number for number, it in enumerate(self._ids) if it in wanted)

    def _originals(self, revisits: Sequence[int]) -> dict[int, int | None]:
        """Return the record that each revisit refers to: that of the ID, URI and date, or digest."""
        wanted = {name for revisit in revisits for name in self._revisits[revisit]} - {NO_HASH}
        places: dict[int, int] = {}
        if not wanted:
            return dict.fromkeys(revisits)
        for hashes in (self._ids, self._captures, self._digests):
            for number, value in enumerate(hashes):
                if value in wanted and number not in self._revisits:
                    places.setdefault(value, number)
        return {
            revisit: next((places[name] for name in self._revisits[revisit] if name in places), None)
            for revisit in revisits
        }
