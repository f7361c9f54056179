"""Where a file system finds records: files that are scanned when first needed, or a CDXJ index of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, islice, takewhile
from operator import attrgetter
from os.path import basename
from typing import Final, TypeAlias, Unpack

from seekwarc.cdx.index import Capture, Index
from seekwarc.cdx.ranges import in_time
from seekwarc.closing import Closing
from seekwarc.collection.collection import Collection, Target
from seekwarc.collection.entry import (
    CAPTURE_TYPES,
    Entry,
    describe,
    described_past_damage,
    entry_of_line,
)
from seekwarc.collection.likeness import Meant, nearest_alike
from seekwarc.collection.record_table import SURT, RecordTable
from seekwarc.collection.revisits import is_alone
from seekwarc.compat.paths import MISREAD, name_of, uri_of
from seekwarc.errors import NotFoundError, UnsupportedError
from seekwarc.format.dates import LATEST, WarcDate, date_of_digits
from seekwarc.format.surt import surt
from seekwarc.read.options import ReaderOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.storage.source import Stats

__all__ = ["Captures", "IndexedCaptures", "ScannedCaptures"]

MAX_LINES: Final = 10_000
"""Lines of one key that are looked at for those of one URI."""
MAX_NAMED: Final = 3
"""Captures that the message about a missing one names."""


class ScannedCaptures(Closing):
    """Files without an index. They are scanned when a URI, an ID or a listing is first asked for."""

    def __init__(
        self, files: Iterable[Target], *, joined: bool = False, **options: Unpack[ReaderOptions]
    ) -> None:
        self._joined = joined
        self._table = RecordTable(keys={"name": name_of, SURT: surt}, fill=self._scanned)
        self._files = Collection(files, index=self._table, **options)

    def _scanned(self) -> Iterator[Entry]:
        return described_past_damage(self._files.files, _described)

    def close(self) -> None:
        """Close the files. Idempotent."""
        self._files.close()
        self._table.close()

    def exact(self, uri: str, date: str | None) -> Entry | None:
        """Return the capture of a URI nearest to a date of 4 to 14 digits, or the latest."""
        found = self._table.capture(uri, _date_of(date))
        if found is None and self._joined:
            # All captures may have a range in their URIs.
            with suppress(NotFoundError):
                part = self._files.open_record(uri=uri, date=_date_of(date), joined=True)
                found = self._table.place(part.source, part.offset)
        return found

    def similar(self, uri: str, date: str | None) -> Entry | None:
        """Return what `exact` does, of a URI with the same key: in an index, http and https count as one."""
        return nearest_alike(uri, self._table.similar(uri), _date_of(date))

    def by_id(self, record_id: str) -> Entry | None:
        """Return the record with an ID."""
        return next(iter(self._table.by_id(record_id)), None)

    def at(self, offset: int, length: int | None, file: str | None) -> Entry:
        """Return the record at a place, without reading anything; `file` is None if there is only one."""
        names = [it.name for it in self._files.files if file is None or file in (it.name, basename(it.name))]
        if len(names) != 1:
            known = ", ".join(basename(it.name) for it in islice(self._files.files, MAX_NAMED))
            wrong = "there are several files" if names else f"no file {file}"
            raise NotFoundError(f"{wrong}: name one of them as FILE@OFFSET, such as {known}")
        return Entry(names[0], offset, length)

    def open(self, entry: Entry) -> Record:
        """Return the logical record that was found: segments joined, a revisit with its payload."""
        record = self._files.record(entry)
        # A record without a segment number has no others, as a rule: no file is scanned just to be sure.
        is_whole = is_alone(record) and not self._table.is_filled and not self._joined
        return record if is_whole else self._files.open_record(record, joined=self._joined)

    def reader(self, file: str) -> Reader:
        """Return the reader of a file that something was found in."""
        return next(it for it in self._files.files if it.name == file)

    @property
    def stats(self) -> Stats:
        """What reading has cost so far, in all."""
        return _sum(reader.stats for reader in self._files.files)

    def below(self, prefix: str) -> Iterator[Entry]:
        """Yield the latest capture of each URI whose name begins with `prefix`: a folder with a slash, or "".

        What would cost a request is None.
        """
        return self._table.below("name", prefix)

    def near(self, uri: str) -> Sequence[str]:
        """Return a few captured URIs that resemble one."""
        name = name_of(uri)
        around = self._table.around("name", name, MAX_NAMED)
        around.sort(key=lambda other: -_alike(name, other))
        return [uri_of(other) for other in around[:MAX_NAMED]]


def _described(record: Record) -> Entry:
    if record.type not in CAPTURE_TYPES:
        return describe(record)
    return describe(record, media_type=lambda record: record.payload.media_type, payload_size=True)


def _date_of(digits: str | None) -> WarcDate | None:
    return date_of_digits(digits) if digits is not None else None


def _alike(one: str, other: str) -> int:
    """Return how many characters at the beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class IndexedCaptures(Closing):
    """Captures of a CDXJ index or ZipNum cluster; `files` is the folder of its files, its own if None."""

    def __init__(
        self, index: Target, files: str | os.PathLike[str] | None, **options: Unpack[ReaderOptions]
    ) -> None:
        self._index = Index(index, files=files, **options)

    def close(self) -> None:
        """Close the index and the files that it has opened. Idempotent."""
        self._index.close()

    def exact(self, uri: str, date: str | None) -> Entry | None:
        """See `ScannedCaptures.exact`."""
        meant = Meant(uri)
        return next((entry_of_line(it) for it in self._lookup(uri, date) if meant.is_same(it.uri)), None)

    def similar(self, uri: str, date: str | None) -> Entry | None:
        """See `ScannedCaptures.similar`."""
        return next(map(entry_of_line, self._lookup(uri, date)), None)

    def by_id(self, record_id: str) -> Entry | None:
        """See `ScannedCaptures.by_id`."""
        raise UnsupportedError(
            f"an index has no IDs to find {record_id} by: open the files themselves with `fo`",
            source=self._index.name,
        )

    def at(self, offset: int, length: int | None, file: str | None) -> Entry:
        """See `ScannedCaptures.at`."""
        if file is None:
            raise NotFoundError("an index has several files: name one of them as FILE@OFFSET")
        return Entry(file, offset, length)

    def open(self, entry: Entry) -> Record:
        """See `ScannedCaptures.open`; a record that was found by its place is returned as it is stored."""
        record = self._index.record(entry)
        return self._index.resolved(record) if entry.type is not None else record

    def reader(self, file: str) -> Reader:
        """See `ScannedCaptures.reader`."""
        return self._index.reader(file)

    @property
    def stats(self) -> Stats:
        """See `ScannedCaptures.stats`; of the files, those that are open."""
        return _sum((self._index.stats, *(it.stats for it in self._index.readers())))

    def below(self, prefix: str) -> Iterator[Entry]:
        """See `ScannedCaptures.below`."""
        captures = filter(attrgetter("is_capture"), self._lines_below(prefix))
        # Lines of one key follow each other.
        for _, lines in groupby(captures, attrgetter("key")):
            latest: dict[str | None, Capture] = {}
            for it in lines:
                latest[it.uri] = max(latest.get(it.uri, it), it, key=in_time)
            for uri, capture in latest.items():
                if uri is not None and name_of(uri).startswith(prefix):
                    yield _listed(capture)

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
        """See `ScannedCaptures.near`."""
        while uri.rpartition("/")[0].strip("/"):
            uri = uri.rpartition("/")[0]
            try:
                lines = filter(attrgetter("is_capture"), self._index.lookup(uri, match="prefix"))
                found = [it.uri for it in islice(lines, MAX_NAMED) if it.uri is not None]
            except ValueError:
                return ()
            if found:
                return list(dict.fromkeys(found))
        return ()

    def _lookup(self, uri: str, date: str | None) -> Iterator[Capture]:
        return islice(self._index.lookup(uri, closest=date or LATEST), MAX_LINES) if uri else iter(())


Captures: TypeAlias = ScannedCaptures | IndexedCaptures
"""Captures of URIs, and all records of some files by place."""


def _sum(several: Iterable[Stats]) -> Stats:
    total = Stats()
    for stats in several:
        for name in Stats.__slots__:
            setattr(total, name, getattr(total, name) + getattr(stats, name))
    return total


def _listed(capture: Capture) -> Entry:
    entry = entry_of_line(capture)
    # An index does not tell a response from a resource, nor the type of what a revisit refers to.
    return replace(entry, mime=None) if capture.is_revisit else replace(entry, type=None)
