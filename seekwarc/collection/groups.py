"""Records counted by what they have in common: their type, status, media type, host or month."""

from __future__ import annotations

from array import array
from typing import Final, Literal, NamedTuple

from seekwarc.collection.entry import Entry
from seekwarc.format.uri import host_of

__all__ = ["GROUPINGS", "Group", "Grouping", "Groups", "Savings", "group_of"]

Grouping = Literal["type", "status", "mime", "host", "month"]
GROUPINGS: Final[tuple[Grouping, ...]] = ("type", "status", "mime", "host", "month")
MAX_GROUPS: Final = 100_000
"""Groups that are counted apart; the records of all further ones are counted together."""
KEY: Final = (1 << 64) - 1
MAX_NAME: Final = 255
"""Characters of a name that tell groups apart."""


class Group(NamedTuple):
    """Records that have something in common."""

    name: str | None
    """What they have in common; None if they have no status, host or date."""
    records: int
    content_size: int
    """Decompressed bytes; 0 if only an index was read, which does not tell."""
    stored_size: int
    """Compressed bytes."""


class Groups:
    """Counts records group by group. Everything after 100,000 groups is counted as one."""

    def __init__(self) -> None:
        self._found: dict[str | None, list[int]] = {}
        self._further = [0, 0, 0]

    def add(self, name: str | None, content_size: int, stored_size: int, records: int = 1) -> None:
        """Count a record, or several of one group. An unknown size is 0."""
        if name is not None:
            name = name[:MAX_NAME]
        numbers = self._found.get(name)
        if numbers is None:
            numbers = self._further
            if len(self._found) < MAX_GROUPS:
                numbers = self._found[name] = [0, 0, 0]
        numbers[0] += records
        numbers[1] += content_size
        numbers[2] += stored_size

    def merge(self, others: Groups) -> None:
        """Count what others have counted."""
        for name, (records, content_size, stored_size) in others._found.items():
            self.add(name, content_size, stored_size, records)
        self._further = [*map(sum, zip(self._further, others._further, strict=True))]

    def most(self, count: int | None = None) -> tuple[list[Group], Group | None]:
        """Return the groups with the most stored bytes, all by default; and all others as one, if any."""
        # Another thread may add groups meanwhile.
        found = [Group(name, *numbers) for name, numbers in self._found.copy().items()]
        found.sort(key=lambda it: (-it.stored_size, -it.records, it.name or ""))
        shown = found[:count]
        further = [self._further, *(it[1:] for it in found[len(shown) :])]
        rest = Group(None, *map(sum, zip(*further, strict=True)))
        return shown, rest if rest.records else None


def group_of(entry: Entry, by: Grouping) -> str | None:
    """Return the name of the group that an entry belongs to."""
    if by == "host":
        return host_of(entry.uri or "") or None
    if by == "month":
        return entry.date.text[:7] if entry.date is not None else None
    value = getattr(entry, by)
    return str(value) if value is not None else None


class Savings:
    """What revisits save: stored bytes of the captures whose payload they refer to, less their own."""

    def __init__(self) -> None:
        # 16 bytes a capture: there may be many millions.
        self._keys, self._sizes = array("Q"), array("Q")
        self._revisits: dict[int, tuple[int, int]] = {}
        self.revisits = 0

    def add(self, digest: str | None, stored_size: int, *, is_revisit: bool) -> None:
        """Note a capture, with the digest of its payload as its header states it."""
        self.revisits += is_revisit
        try:
            # Its last digits are as good, and quicker. In base32 or base16, it is also a number in base 36.
            key = int((digest or "")[-16:], 36) & KEY
        except ValueError:
            return
        if is_revisit:
            self._note(key, 1, stored_size)
        else:
            self._keys.append(key)
            self._sizes.append(stored_size)

    def merge(self, others: Savings) -> None:
        """Note what others have noted."""
        self._keys.extend(others._keys)
        self._sizes.extend(others._sizes)
        for key, (count, size) in others._revisits.items():
            self._note(key, count, size)
        self.revisits += others.revisits

    @property
    def stored_size(self) -> int:
        """Bytes saved by the revisits whose originals were also noted."""
        left = dict(self._revisits)
        saved = 0
        for key, original in zip(self._keys, self._sizes, strict=True):
            count, size = left.pop(key, (0, 0))
            saved += count * original - size
        return saved

    def _note(self, key: int, count: int, size: int) -> None:
        before = self._revisits.get(key, (0, 0))
        self._revisits[key] = before[0] + count, before[1] + size
