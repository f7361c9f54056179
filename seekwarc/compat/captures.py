"""Where a file system finds records: files that are scanned when first needed, or a CDXJ index of them."""

from __future__ import annotations

import os
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice, takewhile
from os.path import basename
from typing import Final, NamedTuple, Unpack

from seekwarc.cdx.index import Capture, Index
from seekwarc.cdx.lines import IndexLine
from seekwarc.closing import Closing
from seekwarc.collection.collection import Collection, Target
from seekwarc.collection.record_index import Entry, MemoryIndex, RecordIndex, entry_of, with_next
from seekwarc.compat.paths import MISREAD, name_of, uri_of
from seekwarc.errors import FormatError, NotFoundError, UnsupportedError
from seekwarc.format.cdxj import date_of_digits
from seekwarc.format.dates import WarcDate
from seekwarc.format.seektable import TableTrust
from seekwarc.format.surt import surt
from seekwarc.read.options import ReaderOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.storage.source import Stats

__all__ = ["Captures", "Found", "IndexedCaptures", "Listed", "ScannedCaptures"]

CAPTURE_TYPES: Final = ("response", "resource", "revisit")
LATEST: Final = "9999"
MAX_LINES: Final = 10_000
"""Lines of one key that are looked at for those of one URI."""
MAX_NAMED: Final = 3
"""Captures that the message about a missing one names."""


class Found(NamedTuple):
    """A record that can be opened."""

    file: str
    """Name of the file that has it."""
    offset: int
    length: int | None
    """Stored bytes up to the next record, where known."""
    open: Callable[[], Record]
    """Returns the logical record: segments joined, a revisit with its payload."""


class Listed(NamedTuple):
    """The latest capture of a URI, as a listing has it. What would cost a request is None."""

    uri: str
    date: WarcDate
    file: str
    offset: int
    size: int | None = None
    """Bytes of the payload."""
    content_type: str | None = None
    status: int | None = None
    digest: str | None = None
    record_id: str | None = None
    type: str | None = None

    @property
    def name(self) -> str:
        """Its path."""
        return name_of(self.uri)


class Captures(Closing):
    """Captures of URIs, and all records of some files by place."""

    @abstractmethod
    def exact(self, uri: str, date: str | None) -> Found | None:
        """Return the capture of a URI nearest to a date of 4 to 14 digits, or the latest.

        Raises:
            FormatError: A file or the index is damaged.
            SourceError: It cannot be read.
        """

    @abstractmethod
    def similar(self, uri: str, date: str | None) -> Found | None:
        """Return what `exact` does, of a URI with the same key: in an index, http and https count as one."""

    @abstractmethod
    def by_id(self, record_id: str) -> Found | None:
        """Return the record with an ID.

        Raises:
            UnsupportedError: Nothing knows the IDs.
        """

    @abstractmethod
    def at(self, offset: int, length: int | None, file: str | None) -> Found:
        """Return the record at a place, without reading anything.

        Args:
            offset: Where it begins in the file.
            length: Stored bytes up to the next record, where known.
            file: Name of the file; None if there is only one.

        Raises:
            NotFoundError: There is no such file, or there are several and none is named.
        """

    @abstractmethod
    def reader(self, file: str) -> Reader:
        """Return the reader of a file that something was found in."""

    @property
    @abstractmethod
    def stats(self) -> Stats:
        """What reading has cost so far, in all."""

    @abstractmethod
    def below(self, prefix: str) -> Iterator[Listed]:
        """Yield a line for each URI whose name begins with `prefix`, which ends with a slash or is empty."""

    @abstractmethod
    def near(self, uri: str) -> Sequence[str]:
        """Return a few captured URIs that resemble one."""


class ScannedCaptures(Captures):
    """Files without an index. They are scanned when a URI, an ID or a listing is first asked for.

    Args:
        files: Targets of a `Reader` each.
        **options: Options of the readers.

    Raises:
        SourceError: A file cannot be opened.
        ValueError: Two files have the same name.
    """

    def __init__(self, files: Iterable[Target], **options: Unpack[ReaderOptions]) -> None:
        self._files = _ListedCollection(files, **options)

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._files.close()

    def exact(self, uri: str, date: str | None) -> Found | None:
        """See `Captures.exact`."""
        found = self._files.listing.captures.get(uri)
        return self._found(_nearest(found, date)) if found else None

    def similar(self, uri: str, date: str | None) -> Found | None:
        """See `Captures.similar`."""
        found = [it for same in self._by_key.get(surt(uri), ()) for it in self._files.listing.captures[same]]
        return self._found(_nearest(found, date)) if found else None

    def by_id(self, record_id: str) -> Found | None:
        """See `Captures.by_id`."""
        entries = self._files.index.by_id(record_id)
        return self._found(entries[0]) if entries else None

    def at(self, offset: int, length: int | None, file: str | None) -> Found:
        """See `Captures.at`."""
        names = [it.name for it in self._files.files if file is None or file in (it.name, basename(it.name))]
        if len(names) != 1:
            known = ", ".join(basename(it.name) for it in islice(self._files.files, MAX_NAMED))
            wrong = "there are several files" if names else f"there is no file {file}"
            raise NotFoundError(f"{wrong}: name one of them as FILE@OFFSET, such as {known}")
        return self._found(Entry(names[0], offset, length))

    def reader(self, file: str) -> Reader:
        """See `Captures.reader`."""
        return next(it for it in self._files.files if it.name == file)

    @property
    def stats(self) -> Stats:
        """See `Captures.stats`."""
        return _sum(reader.stats for reader in self._files.files)

    def below(self, prefix: str) -> Iterator[Listed]:
        """See `Captures.below`."""
        names, latest = self._names
        for name in islice(names, bisect_left(names, prefix), None):
            if not name.startswith(prefix):
                return
            yield latest[name]

    def near(self, uri: str) -> Sequence[str]:
        """See `Captures.near`."""
        names, _ = self._names
        name = name_of(uri)
        at = bisect_left(names, name)
        around = names[max(at - MAX_NAMED, 0) : at + MAX_NAMED]
        around.sort(key=lambda other: -_alike(name, other))
        return [uri_of(other) for other in around[:MAX_NAMED]]

    @cached_property
    def _names(self) -> tuple[list[str], dict[str, Listed]]:
        latest = {listed.name: listed for listed in self._files.listing.latest()}
        return sorted(latest), latest

    @cached_property
    def _by_key(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for uri in self._files.listing.captures:
            found.setdefault(surt(uri), []).append(uri)
        return found

    def _found(self, entry: Entry) -> Found:
        return Found(entry.file, entry.offset, entry.length, lambda: self._files.open_record(entry))


class _ListedCollection(Collection):
    """A collection whose index can be listed."""

    _listing: _Listing | None = None

    @property
    def listing(self) -> _Listing:
        """The index of the records; made by scanning all files when first needed."""
        with self._lock:
            if self._listing is None:
                listing = _Listing()
                for reader in self._readers.values():
                    listing.add_archive(reader)
                self._index = self._listing = listing
            return self._listing

    @property
    def index(self) -> RecordIndex:
        return self.listing


class _Facts(NamedTuple):
    """What is told of a capture at little cost only while it is the current record of a scan."""

    size: int | None = None
    content_type: str | None = None
    status: int | None = None


class _Listing(MemoryIndex):
    """An index in memory that also knows which captures there are."""

    def __init__(self) -> None:
        super().__init__()
        self.captures: dict[str, list[Entry]] = {}
        self._facts: dict[tuple[str, int], _Facts] = {}

    def add_archive(self, archive: Reader) -> None:
        for (record, facts), _, is_damaged in with_next(archive, _with_facts):
            if is_damaged and not record.has_length:
                continue
            entry = entry_of(record)
            self.add(entry)
            if facts is not None and entry.uri is not None and entry.date is not None:
                self.captures.setdefault(entry.uri, []).append(entry)
                self._facts[entry.file, entry.offset] = facts

    def latest(self) -> Iterator[Listed]:
        """Yield the latest capture of each URI."""
        for uri, entries in self.captures.items():
            entry = _nearest(entries, None)
            digest = str(entry.payload_digest) if entry.payload_digest is not None else None
            facts = self._facts[entry.file, entry.offset]
            place = _date_of(entry), entry.file, entry.offset
            yield Listed(uri, *place, *facts, digest, entry.id, entry.type)


def _with_facts(record: Record) -> tuple[Record, _Facts | None]:
    if record.type not in CAPTURE_TYPES:
        return record, None
    try:
        payload, head = record.payload, record.http
        status = head.status if head is not None else None
        media_type = payload.media_type
        # A chunked body of one frame is measured at once; of a larger one the size stays unknown.
        payload.look_ahead(record.content_length, 0)
        size = payload.known_size if record.type != "revisit" else None
        return record, _Facts(size, media_type.essence if media_type is not None else None, status)
    except FormatError:
        # The scan goes on; what is wrong with this record is told when it is read.
        return record, _Facts()


def _nearest(entries: Sequence[Entry], digits: str | None) -> Entry:
    wanted = date_of_digits(digits).nanoseconds if digits is not None else None

    def distance(entry: Entry) -> int:
        instant = _date_of(entry).nanoseconds
        return abs(instant - wanted) if wanted is not None else -instant

    return min(entries, key=distance)


def _date_of(entry: Entry) -> WarcDate:
    return entry.date or date_of_digits("0001")


def _alike(one: str, other: str) -> int:
    """Return how many characters at the beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class IndexedCaptures(Captures):
    """Captures of a CDXJ index or ZipNum cluster, found by binary search; its files are opened as needed.

    Args:
        index: Target of an `Index`.
        files: Folder or URL of the files; that of the index by default.
        **options: Options of the readers.

    Raises:
        SourceError: The index cannot be opened.
    """

    def __init__(
        self, index: Target, files: str | os.PathLike[str] | None, **options: Unpack[ReaderOptions]
    ) -> None:
        self._index = _FilesIndex(index, files=files, **options)

    def close(self) -> None:
        """Close the index and the files that it has opened. Idempotent."""
        self._index.close()

    def exact(self, uri: str, date: str | None) -> Found | None:
        """See `Captures.exact`."""
        return next((_found(it) for it in self._lookup(uri, date) if it.uri == uri), None)

    def similar(self, uri: str, date: str | None) -> Found | None:
        """See `Captures.similar`."""
        return next(map(_found, self._lookup(uri, date)), None)

    def by_id(self, record_id: str) -> Found | None:
        """See `Captures.by_id`."""
        raise UnsupportedError(
            f"an index has no IDs to find {record_id} by: open the files themselves with `fo`",
            source=self._index.name,
        )

    def at(self, offset: int, length: int | None, file: str | None) -> Found:
        """See `Captures.at`."""
        if file is None:
            raise NotFoundError("an index has several files: name one of them as FILE@OFFSET")
        return Found(file, offset, length, lambda: self._index.record_at(file, offset, length))

    def reader(self, file: str) -> Reader:
        """See `Captures.reader`."""
        return self._index.reader(file)

    @property
    def stats(self) -> Stats:
        """See `Captures.stats`; of the files, those that are open."""
        return _sum(self._index.all_stats())

    def below(self, prefix: str) -> Iterator[Listed]:
        """See `Captures.below`; lines of one key follow each other, so the latest of each URI is known."""
        for _, lines in groupby(self._lines_below(prefix), lambda capture: capture.key):
            # By date, so that the last one is the latest.
            for uri, capture in {it.uri: it for it in lines}.items():
                if uri is not None and name_of(uri).startswith(prefix):
                    yield _listed(uri, capture)

    def _lines_below(self, prefix: str) -> Iterator[Capture]:
        if prefix.startswith(MISREAD):
            return iter(self._index)
        scheme, separator, path = prefix.partition("://")
        host, slash, folders = path.partition("/")
        if prefix and not separator:
            return self._index.lookup(uri_of(prefix.removesuffix("/")) + "/", match="prefix")
        if not slash:
            return iter(self._index)
        # In a key, dots and empty parts have no place, so such folders are looked for in all of the host.
        is_plain = folders and not any(part in folders for part in ("%2E", "%2F"))
        uri = f"{scheme}://{uri_of(path.removesuffix('/'))}/" if is_plain else f"{scheme}://{uri_of(host)}"
        return self._index.lookup(uri, match="prefix" if is_plain else "host")

    def near(self, uri: str) -> Sequence[str]:
        """See `Captures.near`."""
        while uri.rpartition("/")[0].strip("/"):
            uri = uri.rpartition("/")[0]
            try:
                lines = islice(self._index.lookup(uri, match="prefix"), MAX_NAMED)
                found = [it.uri for it in lines if it.uri is not None]
            except ValueError:
                return ()
            if found:
                return list(dict.fromkeys(found))
        return ()

    def _lookup(self, uri: str, date: str | None) -> Iterator[Capture]:
        return islice(self._index.lookup(uri, closest=date or LATEST), MAX_LINES)


class _FilesIndex(Index):
    """An index of captures alone, that also gives what its lines lead to."""

    def _captures(self, lines: Iterator[IndexLine]) -> Iterator[Capture]:
        return (it for it in super()._captures(lines) if it.is_capture)

    def reader(self, file: str) -> Reader:
        return self._reader(file)

    def record_at(self, file: str, offset: int, length: int | None) -> Record:
        return self._record_at(file, offset, length, TableTrust.CLAIMED)

    def all_stats(self) -> list[Stats]:
        with self._lock:
            return [self.stats, *(reader.stats for reader in self._readers.values())]


def _sum(several: Iterable[Stats]) -> Stats:
    total = Stats()
    for stats in several:
        for name in Stats.__slots__:
            setattr(total, name, getattr(total, name) + getattr(stats, name))
    return total


def _found(capture: Capture) -> Found:
    return Found(capture.filename, capture.offset, capture.length, capture.open)


def _listed(uri: str, capture: Capture) -> Listed:
    digest = str(capture.digest) if capture.digest is not None else None
    place = uri, capture.date, capture.filename, capture.offset
    kind = "revisit" if capture.is_revisit else None
    content_type = capture.mime if not capture.is_revisit else None
    return Listed(*place, None, content_type=content_type, status=capture.status, digest=digest, type=kind)
