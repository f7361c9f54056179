"""Several files as one: logical records that span files, and relations between records.

Source: WARC 1.1, clauses 5.7, 5.11, 6.7 and 7.
"""

from __future__ import annotations

import copy
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO, ClassVar, Final, Self, Unpack, cast

from seekwarc.closing import Closing, Recent
from seekwarc.collection.entry import Entry, described_past_damage, nearest
from seekwarc.collection.likeness import nearest_alike
from seekwarc.collection.parts import Group, captures_of, groups_of, joined_nearest, joined_with_others
from seekwarc.collection.record_index import MemoryIndex, RecordIndex, SimilarUris
from seekwarc.collection.revisits import is_alone, named, resolve
from seekwarc.errors import FormatError, NotFoundError
from seekwarc.format.dates import WarcDate, date_of_digits, is_digits
from seekwarc.format.values import without_brackets
from seekwarc.format.words import counted
from seekwarc.options import shown
from seekwarc.read.options import ReaderOptions
from seekwarc.read.reader import Reader, WholeReader, begun
from seekwarc.read.record import Record
from seekwarc.storage.expand import expand
from seekwarc.storage.source import RangeReadable

__all__ = ["Collection", "WholeCollection"]

MAX_RESOURCES: Final = 8
"""Resources whose parts are kept open."""

Target = str | os.PathLike[str] | bytes | BinaryIO | RangeReadable


class Collection(Closing):
    """Several WARC files that belong together, such as those of one crawl.

    Iterating yields every stored record of every file, in order. `open_record` returns logical records:
    segments joined, revisits with their payload. Records stay usable until the collection is closed. Copies
    and pickles open the files again, as those of a `Reader` do.

    Args:
        files: Targets of a `Reader` each, with different names; or one. Folders and patterns of paths stand
            for the files in them.
        index: Index of the records. By default, one is made by scanning the files when it is first needed; it
            is a `MemoryIndex`: 16 MiB of memory, and a temporary file with about 400 bytes per record.
        **options: Options of each `Reader`. With `on_error` a file that is empty or not an archive is passed
            over, too: with "skip" there is a `FormatWarning`, a function is called with the error.

    Raises:
        SourceError: A file cannot be opened.
        ValueError: Two files have the same name.

    Example:
        >>> with seekwarc.Collection(["crawl.warc.zst"]) as crawl:
        ...     record = crawl.open_record(uri="http://example.org/", date="2026-11-17")
        ...     print(record.type, record.payload.pread(3, 9))
        revisit b'The same '
    """

    _reader_type: ClassVar[type[Reader]] = Reader

    def __init__(
        self,
        files: Target | Iterable[Target],
        *,
        index: RecordIndex | None = None,
        **options: Unpack[ReaderOptions],
    ) -> None:
        readers: dict[str, Reader] = {}
        kind = self._reader_type
        with ExitStack() as opened:
            for target in _targets_of(files):
                reader = opened.enter_context(kind(target, relations=self, **options))
                if readers.setdefault(reader.name, reader) is not reader:
                    raise ValueError(f"two files of a collection have the name {reader.name}")
            opened.pop_all()
        self._set_up(readers, index)

    def _set_up(self, readers: dict[str, Reader], index: RecordIndex | None) -> None:
        self._readers = readers
        self._given_index = self._index = index
        self._lock = threading.Lock()
        self._parts: Recent[tuple[str, int], tuple[Group, ...]] = Recent(MAX_RESOURCES)
        names = Counter(map(os.path.basename, readers))
        self._by_base_name = {
            os.path.basename(name): reader
            for name, reader in readers.items()
            if names[os.path.basename(name)] == 1
        }

    def __getstate__(self) -> tuple[dict[str, Reader], RecordIndex | None]:
        # An index that was made here may be large; the copy makes its own if it needs one.
        return self._readers, self._given_index

    def __setstate__(self, state: tuple[dict[str, Reader], RecordIndex | None]) -> None:
        self._set_up(*state)

    def __copy__(self) -> Self:
        # A shallow copy would share the open files, and closing one would close both.
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        return f"<Collection of {counted(len(self._readers), 'file')}>"

    def close(self) -> None:
        """Close all files. Idempotent."""
        with ExitStack() as opened:
            for reader in self._readers.values():
                opened.callback(reader.close)

    def __iter__(self) -> Iterator[Record]:
        """Yield every stored record of every file, in order.

        Raises:
            FormatError: A file is damaged, and `on_error` is not given; the records before the damage were
                yielded.
            SourceError: A file cannot be read.
        """
        for reader in self._readers.values():
            yield from begun(reader, reader.__iter__)

    @property
    def files(self) -> Sequence[Reader]:
        """The files, in the given order."""
        return tuple(self._readers.values())

    @property
    def index(self) -> RecordIndex:
        """The index of the records; made by scanning all files when first needed.

        Damaged records are left out, with a `FormatWarning` for each file that has some, unless `on_error` is
        given.

        Raises:
            FormatError: A file is not a WARC file, and `on_error` is not given.
        """
        with self._lock:
            if self._index is None:
                index = MemoryIndex()
                for entry in described_past_damage(self._readers.values()):
                    index.add(entry)
                self._index = index
            return self._index

    def record(self, entry: Entry) -> Record:
        """Return the stored record of an index entry.

        Raises:
            NotFoundError: The collection does not have its file.
            FormatError: Another record is there.
        """
        reader = self._readers.get(entry.filename) or self._by_base_name.get(os.path.basename(entry.filename))
        if reader is None:
            raise NotFoundError(f"{entry.filename} is not among the files of this collection")
        # Records that share a gzip member have length 0 in an index, which is of no use.
        record = reader.record_at(entry.offset, entry.length or None, table=entry.table)
        if entry.id is not None and record.id != entry.id:
            raise FormatError(
                f"the index has the record {entry.id} here, but the file {record.id}: the index is not of "
                "this file, or records share a gzip member (`seekwarc convert` gives each its own)",
                source=reader.name,
                offset=entry.offset,
            )
        return record

    def open_record(
        self,
        which: Record | Entry | str | None = None,
        *,
        uri: str | None = None,
        date: WarcDate | str | None = None,
        joined: bool = False,
    ) -> Record:
        """Return a logical record: segments joined, a revisit with the payload of its original.

        Args:
            which: A stored record, an index entry or a WARC-Record-ID; for a segmented record, any of its
                segments.
            uri: Target URI of a response, resource or revisit, instead of `which`. If there is no capture of
                exactly this URI, one of another spelling of it is returned, or else of a URI that counts as
                the same in an index; the record's `target_uri` says which.
            date: With `uri`: selects the capture nearest to this date, which may also be 4 to 14 digits as in
                an index (20261117). By default the latest.
            joined: If the record is a part of a resource (206 Partial Content), return it with the payload of
                the whole, assembled from all its parts: a `JoinedParts`. `uri` is then also found if all its
                captures have a range in their URIs.

        Raises:
            NotFoundError: There is no such record, or a revisit's original is not in these files.
            LimitError: With `joined`: the resource has more than 65,536 captures.
            SegmentError: Segments are missing, duplicated, or do not belong together.
            UnsupportedError: A revisit with an unknown profile, which must not be interpreted.
        """
        film = None
        if joined and uri is not None and which is None and not self.index.by_uri(uri):
            film = joined_nearest(self._groups(uri), _wanted(date))
        if film is not None:
            return film
        record = self._stored(which, uri, date)
        film = joined_with_others(record, self._groups) if joined else None
        if film is not None:
            return film
        # A record without a segment number has no others, as a rule: no index is made just to be sure.
        if self._index is None and is_alone(record):
            return record
        return resolve(record, self.index, self.record)

    def _groups(self, uri: str) -> tuple[Group, ...]:
        captures = captures_of(self.index, uri)
        # A server adds records to its index while it answers.
        known = self._parts.get((uri, len(captures)))
        if known is None:
            groups = groups_of(uri, captures, self.index, self.record, self.open_record)
            known = self._parts.put((uri, len(captures)), groups)
        return known

    def concurrent(self, record: Record) -> tuple[Record, ...]:
        """Return the other records of the same capture event (WARC-Concurrent-To, clause 5.7).

        The field counts in both directions, and transitively: two records that name a third are concurrent.
        """
        if record.id is None:
            return ()
        names = [record.id, *record.concurrent_to]
        named = set(names)
        found: dict[str, Entry] = {}
        for name in names:
            for entry in (*self.index.by_id(name), *self.index.concurrent_to(name)):
                if entry.id is not None and entry.id not in found:
                    found[entry.id] = entry
                    new = [name for name in (entry.id, *entry.concurrent_to) if name not in named]
                    names += new
                    named.update(new)
        return tuple(self.record(entry) for name, entry in found.items() if name != record.id)

    def refers_to(self, record: Record) -> Record | None:
        """Return the record that a metadata, revisit or conversion record is about (WARC-Refers-To).

        Returns:
            The record, or None if none is named or the named one is not in these files.
        """
        found = self.index.by_id(record.refers_to_id) if record.refers_to_id is not None else ()
        return self.record(found[0]) if found else None

    def referring_to(self, record: Record) -> tuple[Record, ...]:
        """Return the metadata, revisit and conversion records that are about a record (WARC-Refers-To)."""
        found = self.index.referring_to(record.id) if record.id is not None else ()
        return tuple(self.record(entry) for entry in found)

    def _stored(
        self, which: Record | Entry | str | None, uri: str | None, date: WarcDate | str | None
    ) -> Record:
        if (which is None) == (uri is None):
            raise ValueError("open_record takes a record or ID, or else a URI")
        if isinstance(which, Record):
            return which
        if isinstance(which, Entry):
            return self.record(which)
        if which is not None:
            return named(without_brackets(which), "the record", self.index, self.record)
        wanted = _wanted(date)
        uri, index = uri or "", self.index
        found = nearest((it for it in index.by_uri(uri) if it.is_capture), wanted)
        if found is None and isinstance(index, SimilarUris):
            found = nearest_alike(uri, index.similar(uri), wanted)
        if found is None:
            raise NotFoundError(f"no response, resource or revisit has the URI {uri}")
        return self.record(found)


class WholeCollection(Collection):
    """A collection without sidecars: see `WholeReader`."""

    _reader_type = WholeReader


def _wanted(date: WarcDate | str | None) -> WarcDate | None:
    if not isinstance(date, str):
        return date
    return date_of_digits(date) if is_digits(date) else WarcDate.parse(date)


def _targets_of(files: Target | Iterable[Target]) -> Iterator[Target]:
    is_one = isinstance(files, bytes) or hasattr(files, "read")
    if not is_one and not isinstance(files, Iterable | os.PathLike):
        raise TypeError(f"files must be one target or several, not {shown(files)}")
    # A file that is named twice is an error.
    return expand([cast("Target", files)] if is_one else cast("Iterable[Target]", files), repeat=True)
