"""Records that an index names, chosen by its lines: nothing is read of the files but what is copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, cast

from seekwarc.cdx.index import Capture, Index, folder_of, located
from seekwarc.errors import FormatError
from seekwarc.format.dates import WarcDate
from seekwarc.read.record import Record
from seekwarc.tools.choosing import Choice, place_of

__all__ = ["IndexedFile", "chosen_lines", "is_index"]

ENDINGS: Final = (".cdxj", ".idx", ".parquet")


def is_index(name: str) -> bool:
    """Tell whether a name is that of an index: CDXJ, the index of a cluster, or Parquet."""
    return name.lower().endswith(ENDINGS)


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


def chosen_lines(name: str, choice: Choice, base: str | None, *, closure: bool) -> ChosenLines:
    """Return the records that an index names and that are chosen.

    Args:
        name: The index.
        choice: Which records.
        base: Folder or URL of the files that it names; that of the index if None.
        closure: Choose the originals of chosen revisits, too: the first lines that have their digests.

    Raises:
        ValueError: The choice has conditions that no line tells.
        FormatError: A line is malformed, or names no file and offset.
    """
    if choice.selection.min_size or choice.has_ids:
        raise ValueError(f"{name}: an index tells neither sizes nor record IDs; give the files themselves")
    files: dict[str, IndexedFile] = {}
    found = ChosenLines([])
    revisits: dict[str, bool] = {}
    base = folder_of(name) if base is None else base
    with Index(name) as index:
        for line, file, offset in _placed(index, index, files, base):
            found.read += 1
            if choice.matches(cast("Record", _LineRecord(line, file.name, offset))):
                found.matched += 1
                _keep(file, offset, line)
                digest = line.fields.get("digest")
                if line.is_revisit and digest:
                    revisits[digest] = False
                found.dangling += line.is_revisit and not digest
        if closure and revisits:
            wanted = (it for it in index if revisits.get(it.fields.get("digest", "")) is False)
            for line, file, offset in _placed(index, wanted, files, base):
                digest = line.fields["digest"]
                if not line.is_revisit and not revisits[digest]:
                    revisits[digest] = True
                    found.originals += offset not in file.places
                    _keep(file, offset, line)
    found.dangling = found.dangling + sum(not it for it in revisits.values()) if closure else 0
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


def _keep(file: IndexedFile, offset: int, line: Capture) -> None:
    length = str(line.fields.get("length", ""))
    file.places[offset] = int(length) if length.isdecimal() else 0


class _LineRecord:
    """What the conditions ask of a record, as a line of an index tells it."""

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
