"""Looking up captures in a CDXJ index and opening their records."""

from __future__ import annotations

import copy
import heapq
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, groupby, islice, takewhile
from operator import attrgetter
from typing import BinaryIO, Final, Self, TypeAlias, Unpack, cast

from seekwarc.cdx.chain import Chain
from seekwarc.cdx.limits import MAX_BLOCK_SIZE, MAX_CELL_SIZE, MAX_GROUP_SIZE, IndexLimits
from seekwarc.cdx.lines import IndexLine, SortedLines, StoredLines
from seekwarc.cdx.nearby import NearbyIndex
from seekwarc.cdx.one_by_one import OneByOne
from seekwarc.cdx.others import refuse_others
from seekwarc.cdx.places import folder_of, located
from seekwarc.cdx.ranges import Match, date_in, in_time, key_ranges, nearness
from seekwarc.cdx.wacz_index import index_of
from seekwarc.cdx.zipnum import ZipNumCluster, is_cluster
from seekwarc.closing import Closing, Recent
from seekwarc.collection.entry import Entry
from seekwarc.collection.likeness import in_order
from seekwarc.collection.revisits import is_alone, resolve
from seekwarc.collection.segments import ResolvedRevisit
from seekwarc.errors import FormatError, NotFoundError, SeekWarcError, UnsupportedError
from seekwarc.format import parquet
from seekwarc.format.cdxj import CdxjLine, date_digits, parse_line, timestamp_of
from seekwarc.format.dates import LATEST, WarcDate, date_of_digits
from seekwarc.format.post import indexed_uri
from seekwarc.format.seektable import SidecarReference, TableChoice
from seekwarc.format.sidecar import SIDECAR_SUFFIX
from seekwarc.format.surt import surt
from seekwarc.format.words import counted
from seekwarc.options import shown
from seekwarc.read.options import ReaderOptions, SidecarOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.opening import open_source, open_stored
from seekwarc.storage.source import RangeReadable, RangeSource, Stats
from seekwarc.storage.zip_members import ARCHIVE, SEPARATOR, is_wacz, open_zip

__all__ = ["Capture", "Index", "IndexTarget", "Match"]

_State: TypeAlias = tuple[tuple[Fetcher, ...], str | None, str | None, SidecarOptions, IndexLimits]
IndexTarget: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO | RangeReadable"

FIRST_READ: Final = 64 << 10
MAX_READERS: Final = 8
"""WARC files that are kept open, since the next record is often in one of them."""
MAX_PLACES: Final = 1000
"""Captures of a URI that are remembered, since an index with keys of two kinds may list one twice."""
GZIP_MAGIC: Final = b"\x1f\x8b"
IN_WACZ: Final = SEPARATOR + "indexes"
AFTER_DIGITS: Final = b":"


@dataclass(frozen=True, slots=True)
class Capture(CdxjLine):
    """A line of an index, which can open its record.

    Example:
        >>> with seekwarc.Index("crawl.cdxj") as index:
        ...     for capture in index.lookup("http://example.org/film.mp4"):
        ...         print(capture.timestamp, capture.status, capture.mime, capture.open().payload.size)
        20261116060001 200 video/mp4 3145728
    """

    source: str
    """Name of the index file that has the line."""
    place: int
    """Offset of the line in that file; in a cluster, the offset of its block."""
    _opened: Callable[[Capture, bool], Record] = field(repr=False, compare=False)

    def open(self, *, resolve: bool = True) -> Record:
        """Return the record.

        Args:
            resolve: Give a revisit the payload of the record that it refers to, if the index has that record:
                under the URI and date that the revisit names, or as a capture of the same URI with the same
                digest; or if a WACZ that this one requires has it. If False, the revisit is returned as
                stored.

        Raises:
            NotFoundError: The original of a revisit is not in the index.
            FormatError: The line names no file or offset, or another record is there.
            SegmentError: The record is one of several segments, which only a `Collection` can join.
            SourceError: The file cannot be opened.
        """
        return self._opened(self, resolve)


class Index(Closing):
    """A sorted CDXJ file, ZipNum cluster or Parquet files, in which captures are found by binary search.

    Safe to use from several threads. Records stay usable until the index is closed. Copies and pickles open
    the index again, as those of a `Reader` do.

    Args:
        target: The CDXJ file; the index of a cluster (`cluster.idx`, `index.idx`), whose blocks are
            expected in the same folder; or a file of a columnar index, as `seekwarc index --parquet` and
            Common Crawl make it; or a WACZ, which has its own. A path, URL, `RangeSource`, or seekable binary
            file object. Several Parquet files are one index: their folder, a pattern of paths, or a list of
            files.
        files: Folder or URL that the `filename` of a line is relative to; by default that of the index, of
            several files that of the first.
        max_block_size: Largest block of a cluster to decompress, in bytes.
        max_cell_size: Longest text in a row of a Parquet file, in bytes.
        max_group_size: Largest row group of a Parquet file, in bytes of the columns that are read.
        **options: Options of the `Reader` of each WARC file.

    Raises:
        SourceError: The target cannot be opened, or is a pipe.
        UnsupportedError: The target is compressed.

    Attributes:
        stats: What reading the index has cost so far, without the WARC files.

    Example:
        >>> with seekwarc.Index("crawl.cdxj") as index:
        ...     for capture in index.lookup("http://example.org/", since="2026-11-17"):
        ...         print(capture.timestamp, capture.mime, capture.open().payload.size)
        20261117060000 warc/revisit 23000
    """

    def __init__(
        self,
        target: IndexTarget | Sequence[IndexTarget],
        *,
        files: str | os.PathLike[str] | None = None,
        max_block_size: int = MAX_BLOCK_SIZE,
        max_cell_size: int = MAX_CELL_SIZE,
        max_group_size: int = MAX_GROUP_SIZE,
        **options: Unpack[ReaderOptions],
    ) -> None:
        reading = SidecarOptions.of(**options)
        limits = IndexLimits(
            max_block_size=max_block_size, max_cell_size=max_cell_size, max_group_size=max_group_size
        )
        targets = _targets_of(target)
        if not targets:
            raise ValueError("an index of no files")
        is_folder = isinstance(target, str | os.PathLike) and os.path.isdir(target)
        folder = os.fspath(cast("str", target)) if is_folder else folder_of(targets[0])
        stats = Stats()
        if isinstance(targets[0], str) and is_wacz(targets[0]):
            archive = open_zip(targets[0], open_stored(targets[0]))
            folder, given = targets[0] + IN_WACZ, targets[0] + SEPARATOR + ARCHIVE[:-1]
            files = given if files is None else files
            targets = [index_of(archive)]
        files = os.fspath(files) if files is not None else folder
        with ExitStack() as opened:
            sources = []
            for one in targets:
                sources.append(Fetcher(open_source(one), stats))
                opened.callback(sources[-1].close)
            self._set_up(tuple(sources), folder, files, reading, limits)
            _ = self._lines
            opened.pop_all()

    def _set_up(
        self,
        sources: tuple[Fetcher, ...],
        folder: str | None,
        files: str | None,
        options: SidecarOptions,
        limits: IndexLimits,
    ) -> None:
        rest = len(sources) - 1
        self.name = sources[0].name + (f" and {counted(rest, 'more file')}" if rest else "")
        self.stats = sources[0].stats
        self._sources = sources
        self._folder = folder
        self._files = files
        self._limits = limits
        self._options = options
        self._lock = threading.Lock()
        # Those that are dropped are not closed, since records of them may be in use.
        self._readers: Recent[str, Reader] = Recent(MAX_READERS)
        self._opened = ExitStack()
        for source in sources:
            self._opened.callback(source.close)
        wacz, is_of_wacz, _ = (folder or "").rpartition(IN_WACZ)
        self.chain = Chain(wacz, partial(Index, **options)) if is_of_wacz else None
        if self.chain is not None:
            self._opened.callback(self.chain.close)

    def __getstate__(self) -> _State:
        folders = _absolute(self._folder), _absolute(self._files)
        return self._sources, *folders, self._options, self._limits

    def __setstate__(self, state: _State) -> None:
        self._set_up(*state)

    def __copy__(self) -> Self:
        # A shallow copy would share the open files, and closing one would close both.
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        return f"<Index {self.name}>"

    def _repr_html_(self) -> str:
        from seekwarc.format.markup import MAX_ROWS, html_table

        rows: list[tuple[object, ...]] = []
        note = ""
        try:
            found = islice(self, MAX_ROWS + 1)
            rows += [(it.timestamp, it.status, it.mime, it.length, it.uri) for it in found]
        except SeekWarcError as error:
            note = str(error)
        if len(rows) > MAX_ROWS:
            note = "and more captures"
        head = ("timestamp", "status", "media type", "length", "URI")
        return html_table(self.name, head, rows[:MAX_ROWS], note=note)

    def close(self) -> None:
        """Close the index and the files that it has opened. Idempotent."""
        with self._lock:
            for reader in self._readers.values():
                reader.close()
            self._readers.clear()
            self._opened.close()

    def __iter__(self) -> Iterator[Capture]:
        """Yield all captures, in the order of the index.

        Raises:
            FormatError, SourceError: As `lookup`.
        """
        return self._captures(self._lines.ascending(b""))

    def stored(self) -> Iterator[IndexLine]:
        """Yield all lines as they are stored, those of a columnar index as lines of CDXJ."""
        return self._lines.ascending(b"")

    def latest(self, uri: str, date: str | None = None) -> Capture:
        """Return the latest capture of a URI, or with `date` the nearest to it.

        Captures of exactly this URI come before those of another spelling of it, and these before those of
        other URIs with the same key: its `uri` says which it is.

        Raises:
            NotFoundError: The index has no capture of it.
            FormatError, SourceError, ValueError: As `lookup`.
        """
        for capture in self.lookup(uri, closest=LATEST if date is None else date):
            return capture
        raise NotFoundError(f"no capture of {uri}", source=self.name)

    def lookup(
        self,
        uri: str,
        *,
        match: Match = "exact",
        since: str | None = None,
        until: str | None = None,
        closest: str | None = None,
    ) -> Iterator[Capture]:
        """Yield the captures of a URI, in the order of the index: by key, then by date.

        Dates are 4 to 14 digits (2026, 20261121093000) or as WARC-Date has them (2026-11-21T09:30:00Z).

        Args:
            uri: The URI; for "host" and "domain", a host is enough. URIs with the same key (which leaves out
                scheme, `www.` and the case of letters) count as one.
            match: "exact" for the URI itself, "prefix" for all URIs that begin with it, "host" for all of its
                host, or "domain" for all of its host and subdomains.
            since: Earliest date.
            until: Latest date, inclusive: 2026 includes December.
            closest: Yield the captures of exactly this URI first, nearest to this date first, then those of
                other spellings of it, then those of other URIs with the same key; and no line of a record
                that is not a capture (`is_capture`). Needs `match="exact"`.

        Raises:
            FormatError: A line is malformed, or the lines are not sorted. The error has file and offset.
            ValueError: Invalid date, unknown `match`, an empty URI or one without a host, or `closest`
                without `match="exact"`.
            SourceError: The index cannot be read.
        """
        if not isinstance(uri, str):
            raise TypeError(f"uri must be text, not {shown(uri)}")
        if not uri.strip():
            raise ValueError('uri is empty: it must be a URI, or with match="domain" a host')
        first = _date_digits("since", since)
        last = _date_digits("until", until)
        nearest = _date_digits("closest", closest)
        key = surt(uri)
        ranges = [*islice(key_ranges(uri, match, key), None if self._may_be_of_browsers else 1)]
        if match != "exact":
            if closest is not None:
                raise ValueError(f'`closest` needs match="exact", not {match!r}')
            lines = heapq.merge(*(self._lines.between(*it) for it in ranges), key=attrgetter("head"))
            return OneByOne(it for it in self._captures(lines) if _is_within(it.timestamp, first, last))
        # The lines of one key are sorted by date, so dates narrow the range of lines.
        ranges = [
            (start + first.encode("ascii"), start + last.encode("ascii") + AFTER_DIGITS if last else stop)
            for start, stop in ranges
        ]
        if closest is None:
            found = _by_date([self._lines.between(*it) for it in ranges])
            return OneByOne(self._same(key, self._captures(found)))
        wanted = date_of_digits(nearest)
        found = heapq.merge(*(self._outward(*it, wanted) for it in ranges), key=partial(nearness, wanted))
        nearby = (it for it in self._same(key, self._captures(found)) if it.is_capture)
        return OneByOne(in_order(uri, _as_stored(nearby, timestamp_of(wanted)), attrgetter("uri")))

    def _same(self, key: str, captures: Iterator[Capture]) -> Iterator[Capture]:
        """Yield those that count as captures of a URI with this key, each once, of lines with its keys."""
        # Lines of a place are near each other, as they have its date.
        places: dict[tuple[object, object, str], None] = {}
        for capture in captures:
            fields = capture.fields
            place = fields.get("filename"), fields.get("offset"), capture.timestamp
            if place in places or (capture.key != key and surt(indexed_uri(fields) or "") != key):
                continue
            places[place] = None
            if len(places) > MAX_PLACES:
                del places[next(iter(places))]
            yield capture

    def _captures(self, lines: Iterator[IndexLine]) -> Iterator[Capture]:
        for line in lines:
            try:
                parts = parse_line(line.data)
            except FormatError as error:
                raise error.located(line.source, line.offset) from None
            yield Capture(*parts, line.source, line.offset, self._open)

    def _outward(self, start: bytes, stop: bytes, wanted: WarcDate) -> Iterator[IndexLine]:
        """Return the lines of one key, nearest to a date first, the later one if two are equally near."""
        key, space, _ = start.partition(b" ")
        middle = min(max(key + space + timestamp_of(wanted).encode("ascii"), start), stop)
        earlier = takewhile(lambda line: line.head >= start, self._lines.descending(middle))
        return heapq.merge(self._lines.between(middle, stop), earlier, key=partial(nearness, wanted))

    @property
    def _may_be_of_browsers(self) -> bool:
        """Whether keys may be those of tools in JavaScript, which make neither Parquet nor tabbed lines."""
        lines = self._lines
        return isinstance(lines, StoredLines) or (isinstance(lines, ZipNumCluster) and not lines.is_tabbed)

    @cached_property
    def _lines(self) -> SortedLines:
        if len(self._sources) > 1:
            from seekwarc.cdx.parts import JoinedParquet

            return JoinedParquet(self._sources, self._limits)
        source = self._sources[0]
        begin = source.read(0, FIRST_READ)
        if begin.startswith(parquet.MAGIC):
            from seekwarc.cdx.parquet import ParquetLines

            return ParquetLines(source, self._limits)
        refuse_others(begin, source.name)
        lines = StoredLines(source)
        first = begin.partition(b"\n")[0]
        if first.startswith(GZIP_MAGIC):
            raise UnsupportedError(
                "is compressed and cannot be searched: unpack it, or name the .idx file of its cluster",
                source=source.name,
            )
        try:
            if not is_cluster(first):
                return lines
        except FormatError as error:
            raise error.located(source.name, 0) from None
        return ZipNumCluster(source, first, self._open_part, max_block_size=self._limits.max_block_size)

    def _open_part(self, name: str) -> RangeSource:
        source = Fetcher(open_source(located(self._folder, name, self.name)), self.stats)
        self._opened.callback(source.close)
        return source

    def reader(self, filename: str) -> Reader:
        """Return the reader of a file that the index names, opened if it is not open.

        Raises:
            FormatError: The name leads out of the folder of the files.
            SourceError: The file cannot be opened.
        """
        reader = self._readers.get(filename)
        if reader is not None:
            return reader
        with self._lock:
            reader = self._readers.get(filename)
            if reader is None:
                reader = Reader(located(self._files, filename, self.name), **self._options)
            return self._readers.put(filename, reader)

    def readers(self) -> Sequence[Reader]:
        """Return the readers of the files that are open."""
        return self._readers.values()

    def record(self, entry: Entry) -> Record:
        """Return the stored record of an entry.

        Raises:
            FormatError: Another record is there, or the file's name leads out of the folder of the files.
            SourceError: The file cannot be opened.
        """
        return self._record(entry.filename, entry.offset, entry.length, entry.table, entry.uri)

    def _record(
        self, filename: str, offset: int, length: int | None, table: TableChoice, uri: str | None
    ) -> Record:
        if isinstance(table, SidecarReference) and self._folder is not None:
            table = table._replace(place=located(self._folder, filename + SIDECAR_SUFFIX, self.name))
        record = self.reader(filename).record_at(offset, length, table=table)
        found = record.target_uri
        if uri is not None and uri != found and surt(found or "") != surt(uri):
            raise FormatError(
                f"the index has {uri} here, but the file {found}: the index is not "
                "of this file; make it again with `seekwarc index`",
                source=record.source,
                offset=record.offset,
            )
        return record

    def resolved(self, record: Record) -> Record:
        """Return the logical record of a stored one, with what the index has; see `Capture.open`.

        Raises:
            NotFoundError: The original of a revisit is not in the index.
            SegmentError: The record is one of several segments, which only a `Collection` can join.
        """
        if is_alone(record):
            return record
        try:
            return resolve(record, NearbyIndex(record, self.near), self.record)
        except NotFoundError:
            found = self.chain.originals(record) if self.chain is not None else None
            if found is None:
                raise
            return ResolvedRevisit(record, found[1][-1].logical)

    def near(self, uri: str, date: str) -> Iterator[Capture]:
        """Yield the captures of a URI, nearest to a date first."""
        return self.lookup(uri, closest=date)

    def _open(self, capture: Capture, resolve: bool) -> Record:  # noqa: FBT001
        try:
            place = capture.filename, capture.offset, capture.length, capture.table
        except FormatError as error:
            raise error.located(capture.source, capture.place) from None
        record = self._record(*place, capture.uri)
        return self.resolved(record) if resolve else record


def _targets_of(target: IndexTarget | Sequence[IndexTarget]) -> Sequence[IndexTarget]:
    if isinstance(target, list | tuple):
        return target
    if isinstance(target, str | os.PathLike) and is_wacz(os.fspath(target)):
        return [os.fspath(target)]
    if not isinstance(target, str | os.PathLike) or os.path.isfile(target) or "://" in os.fspath(target):
        return [cast("IndexTarget", target)]
    from seekwarc.cdx.parts import parts_of

    return [*parts_of(os.fspath(target))]


def _by_date(found: list[Iterator[IndexLine]]) -> Iterator[IndexLine]:
    """Yield lines of several ranges by their dates. All but one of the ranges have none as a rule."""
    begun = [(first, lines) for lines in found if (first := next(lines, None)) is not None]
    if len(begun) == 1:
        yield begun[0][0]
        yield from begun[0][1]
    else:
        yield from heapq.merge(*(chain((first,), lines) for first, lines in begun), key=date_in)


def _as_stored(nearby: Iterator[Capture], wanted: str) -> Iterator[Capture]:
    """Yield captures near a date, those of each second in the order of `in_time`, outwards from the date."""
    for second, same in groupby(nearby, attrgetter("timestamp")):
        while some := sorted(islice(same, MAX_PLACES), key=in_time, reverse=second < wanted):
            yield from some


def _date_digits(name: str, text: str | None) -> str:
    try:
        return date_digits(text) if text is not None else ""
    except FormatError as error:
        # The caller passed the date; a FormatError would blame the file.
        raise ValueError(f"{name}: {error.message}") from None


def _is_within(timestamp: str, first: str, last: str) -> bool:
    return timestamp >= first and timestamp[: len(last)] <= last


def _absolute(folder: str | None) -> str | None:
    return folder if folder is None or "://" in folder else os.path.abspath(folder)
