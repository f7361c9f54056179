"""Records that an index names, chosen by its lines: nothing is read of the files but what is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from seekwarc.cdx.index import Capture, Index
from seekwarc.cdx.nearby import Near, NearbyIndex
from seekwarc.cdx.places import folder_of, located
from seekwarc.collection.entry import Entry, describe, entry_of_line
from seekwarc.collection.revisits import IndexedCapture, originals
from seekwarc.edit.choosing import Choice, place_of
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.read.record import Record

__all__ = ["IndexedFile", "chosen_lines"]

CanRead = Callable[[str], bool]


@dataclass(slots=True)
class IndexedFile:
    """A file that an index names, and the places of the records in it that are chosen."""

    name: str
    first: int = 1 << 62
    """The smallest offset in any line: what is before it is the file's warcinfo record."""
    places: dict[int, int] = field(default_factory=dict)
    """Offset and length; the length is 0 if the line has none."""


@dataclass(slots=True)
class ChosenLines:
    """What the lines of an index say."""

    files: list[IndexedFile]
    read: int = 0
    matched: int = 0
    originals: int = 0
    """Originals of chosen revisits, which are chosen with them."""
    dangling: int = 0


def chosen_lines(
    name: str, choice: Choice, base: str | None, can_read: CanRead, *, closure: bool
) -> ChosenLines:
    """Return the records that an index names and that are chosen.

    Args:
        name: The index.
        choice: Which records.
        base: Folder or URL of the files that it names; that of the index if None.
        can_read: Returns whether a file can be read; of others no record is chosen.
        closure: Also choose the originals of chosen revisits, which are found as `Index` finds them, or among
            all lines with their digests.

    Raises:
        ValueError: The choice has conditions that lines do not state.
        FormatError: A line is malformed, or names no file and offset.
    """
    if choice.selection.min_size or choice.has_ids:
        raise ValueError(f"{name}: an index has neither sizes nor record IDs; give the files themselves")
    files: dict[str, IndexedFile] = {}
    found, has_revisits = ChosenLines([]), False
    alike: dict[tuple[str, bytes], list[Entry]] = {}
    base = folder_of(name) if base is None else base
    with Index(name, files=base) as index:
        for line, file, offset in _placed(index, index, files, base):
            found.read += 1
            matches = choice.matches(cast("Record", _LineRecord(line, file.name, offset)))
            if matches and can_read(file.name):
                found.matched += 1
                _keep(file, offset, str(line.fields.get("length", "")))
                if line.is_revisit and line.digest is not None:
                    alike[line.digest.key] = []
                has_revisits |= line.is_revisit
        if closure and has_revisits:
            _add_originals(index, files, alike, found, can_read)
    found.files = [file for file in files.values() if file.places]
    return found


def _placed(
    index: Index, lines: Iterable[Capture], files: dict[str, IndexedFile], base: str | None
) -> Iterator[tuple[Capture, IndexedFile, int]]:
    for line in lines:
        _, offset = place_of(line, index.name)
        filename = line.fields["filename"]
        if filename not in files:
            files[filename] = IndexedFile(located(base, filename, index.name))
        file = files[filename]
        file.first = min(file.first, offset)
        yield line, file, offset


def _add_originals(
    index: Index,
    files: Mapping[str, IndexedFile],
    alike: dict[tuple[str, bytes], list[Entry]],
    found: ChosenLines,
    can_read: CanRead,
) -> None:
    """Also choose the originals of the chosen revisits; `alike` gets the lines with their digests."""

    def near(uri: str, date: str) -> Iterator[Capture]:
        return (it for it in index.lookup(uri, closest=date) if can_read(files[it.filename].name))

    for line in index:
        file, digest = files[line.filename], line.digest
        if digest is not None and not line.is_revisit and digest.key in alike and can_read(file.name):
            alike[digest.key].append(entry_of_line(line))
    for line in index:
        if line.is_revisit and line.offset in files[line.filename].places:
            path = _originals(index, line, near, alike)
            found.dangling += not path
            for entry in path:
                file = files[entry.filename]
                found.originals += entry.offset not in file.places
                _keep(file, entry.offset, str(entry.length or ""))


def _originals(
    index: Index, line: Capture, near: Near, alike: Mapping[tuple[str, bytes], Sequence[Entry]]
) -> list[Entry]:
    """Return the lines that lead to the original of a revisit, and its own; [] without one."""
    try:
        record = line.open(resolve=False)
        lines = _AllLines(record, near, alike)
        return [it.entry for it in originals(IndexedCapture(lines, index.record, describe(record), record))]
    except (NotFoundError, FormatError):
        return []


class _AllLines(NearbyIndex):
    """The lines near a record, and all lines with some digests."""

    def __init__(
        self, record: Record, near: Near, alike: Mapping[tuple[str, bytes], Sequence[Entry]]
    ) -> None:
        super().__init__(record, near)
        self._alike = alike

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        """See `RecordIndex.by_payload`."""
        return [*super().by_payload(digest), *self._alike.get(digest.key, ())]


def _keep(file: IndexedFile, offset: int, length: str) -> None:
    file.places[offset] = int(length) if length.isdecimal() else 0


class _LineRecord:
    """What the conditions ask of a record, as a line of an index states it."""

    id = None
    content_length = 0

    def __init__(self, line: Capture, source: str, offset: int) -> None:
        self._line = line
        self.source, self.offset = source, offset
        self.target_uri = line.uri
        self.header = self
        status = str(line.fields.get("status", ""))
        self.status = int(status) if status.isdecimal() and len(status) == 3 else None
        self.http = self if self.status is not None else None
        self.type = line.fields.get("warc-type") or _type_of(line, is_response=self.status is not None)

    @property
    def date(self) -> WarcDate | None:
        try:
            return self._line.date
        except FormatError:
            return None

    def get(self, _: str) -> str | None:
        return self._line.mime


def _type_of(line: Capture, *, is_response: bool) -> str:
    if line.is_revisit:
        return "revisit"
    return "response" if is_response else "resource"
