"""Records counted by what they have in common: their type, status, media type, host or month."""

from __future__ import annotations

from array import array
from typing import Final, Literal, NamedTuple

from seekwarc.collection.entry import CAPTURE_TYPES, Entry
from seekwarc.format.uri import host_of
from seekwarc.read.record import Record

__all__ = ["GROUPINGS", "Group", "Grouping", "Groups", "Savings", "Shares", "group_of"]

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
    """Compressed bytes. Those of a frame or gzip member of several records are shared out: see `Shares`."""


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

    def share_out(self, stored_size: int, content_size: int) -> None:
        """Share out stored bytes by content, of which other records have what the groups do not have.

        The shares of all add up to the stored bytes, if there are no others.
        """
        counted = [*self._found.values(), self._further]
        passed = content_size - sum(it[1] for it in counted)
        for numbers in counted:
            before, passed = passed, passed + numbers[1]
            numbers[2] = stored_size * passed // content_size - stored_size * before // content_size

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

    def share_out(self, stored_size: int, content_size: int) -> None:
        """Take the noted sizes for content, and replace each by its share of stored bytes."""
        self._sizes = array("Q", (stored_size * it // content_size for it in self._sizes))
        for key, (count, size) in self._revisits.items():
            self._revisits[key] = count, stored_size * size // content_size

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


def _digest(record: Record) -> str | None:
    return record.header.get("WARC-Payload-Digest")


class Shares:
    """Counts the records of a file, and each of its stored bytes once.

    A frame or gzip member may have several records, and a record may go on in the frame in which the next one
    begins. The stored bytes between two such offsets are shared out by the content that each record has
    there. Only sums are kept meanwhile, as there may be many millions of records.

    Args:
        groups: Counts the records.
        savings: Notes the captures, if given.
        size: Size of the file in bytes, if known.
    """

    def __init__(self, groups: Groups, savings: Savings | None = None, size: int | None = None) -> None:
        self._groups, self._size = groups, size
        self._savings = savings if savings is not None else Savings()
        self._begin = 0
        """The offset of the open records, or that of a frame in which the last one goes on."""
        self._content = 0
        """Their content from there on; 0 if none is open."""
        self._open, self._noted = Groups(), Savings()
        self._onward: tuple[str | None, bool, int, int] | None = None
        """A capture that goes on there: digest, whether a revisit, stored bytes before, content after."""

    def add(
        self,
        record: Record,
        name: str | None,
        following: tuple[int, int] | None,
        *,
        is_wanted: bool = True,
        is_damaged: bool = False,
    ) -> None:
        """Count a record. They come in the order that they have in the file.

        Args:
            record: The record.
            name: Its group.
            following: The `offset` and `skip` of the next record; None if this is the last one.
            is_wanted: Whether it is counted. If not, it has its share of a frame nevertheless.
            is_damaged: Whether its end is unknown. It is not counted then.
        """
        if is_damaged:
            self._close(following[0] if following is not None else self._size or self._begin)
            return
        if not self._content:
            self._begin = record.offset
        if following is not None and following[0] <= record.offset:
            self._share(record, name, record.size, is_wanted=is_wanted)
            return
        end = record.offset + record.length
        # Of the line breaks after a record some may be in the next frame, which `length` leaves out.
        if following is not None and (following[0] < end or (following[0] == end and following[1])):
            self._go_on(record, name, following, is_wanted=is_wanted)
        elif self._content:
            self._share(record, name, record.size, is_wanted=is_wanted)
            self._close(end)
        elif is_wanted:
            self._groups.add(name, record.size, record.length)
            if record.type in CAPTURE_TYPES:
                self._savings.add(_digest(record), record.length, is_revisit=record.type == "revisit")

    def _share(self, record: Record, name: str | None, content: int, *, is_wanted: bool) -> None:
        """Count a record that shares its frame, and ends in it."""
        self._content += content
        if is_wanted:
            self._open.add(name, content, 0)
            if record.type in CAPTURE_TYPES:
                self._noted.add(_digest(record), content, is_revisit=record.type == "revisit")

    def _go_on(
        self, record: Record, name: str | None, following: tuple[int, int], *, is_wanted: bool
    ) -> None:
        """Count a record that ends in the frame in which the next one begins."""
        end = following[0]
        # At least the first line of its header is before that.
        after = min(following[1], record.size - 1)
        content = record.size - after
        self._content += content
        before = (end - self._begin) * content // self._content
        if is_wanted:
            self._open.add(name, content, 0)
        self._close(end)
        self._begin, self._content = end, after
        if is_wanted:
            self._open.add(name, after, 0, records=0)
            if record.type in CAPTURE_TYPES:
                self._onward = _digest(record), record.type == "revisit", before, after

    def _close(self, end: int) -> None:
        """Share out the bytes up to `end` among the open records, and count them."""
        if not self._content:
            return
        stored_size, content_size = max(end - self._begin, 0), self._content
        self._open.share_out(stored_size, content_size)
        self._groups.merge(self._open)
        self._noted.share_out(stored_size, content_size)
        if self._onward is not None:
            digest, is_revisit, before, after = self._onward
            self._noted.add(digest, before + stored_size * after // content_size, is_revisit=is_revisit)
        self._savings.merge(self._noted)
        self._open, self._noted, self._onward, self._content = Groups(), Savings(), None, 0
