"""WACZ files read as a collection, through the index that is in them.

Source: WACZ 1.1.1, https://specs.webrecorder.net/wacz/1.1.1/.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Unpack, cast

from seekwarc.cdx.index import Index
from seekwarc.closing import keeping
from seekwarc.collection.collection import Collection, Target
from seekwarc.collection.entry import Entry, entry_of_line
from seekwarc.collection.likeness import Meant
from seekwarc.collection.record_index import RecordIndex
from seekwarc.collection.revisits import is_alone
from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError, NotFoundError, SegmentError
from seekwarc.format.dates import WarcDate
from seekwarc.format.digest import Digest
from seekwarc.read.options import ReaderOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.storage.opening import open_stored
from seekwarc.storage.packages import is_several
from seekwarc.storage.source import RangeSource
from seekwarc.storage.zip_members import ZipArchive, is_wacz, open_zip

__all__ = ["Page", "Wacz", "json_lines", "lines_in", "open_package", "pages_in", "pieces_of"]

PAGES: Final = "pages/pages.jsonl"
STEP: Final = 1 << 20
MAX_LINE: Final = 2 << 20
"""Bytes of a line: some crawlers put the text of a page there."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page that a WACZ lists, in `pages.jsonl` or, if `is_extra`, in another list (`extraPages.jsonl`).

    Example:
        >>> with seekwarc.Wacz("crawl.wacz") as crawl:
        ...     print([page.uri for page in crawl.pages()])
        ['http://example.org/']
    """

    uri: str
    date: str
    """As it is written there: 2026-11-17T06:00:00Z."""
    title: str | None = None
    is_extra: bool = False


class Wacz(Collection):
    """The WARC files of a WACZ. URIs are looked up in its own index, so little of a large one is read.

    What that index does not have is found by scanning the files when it is first needed: records by ID,
    segments, relations.

    Args:
        target: Path or URL of the WACZ.
        **options: Options of each `Reader`.

    Raises:
        FormatError: It is not a ZIP archive, contradicts itself, or has no WARC file or index.
        LimitError: It has too many members, or an index that must be sorted and is too large.
        SourceError: It cannot be read.

    Example:
        >>> with seekwarc.Wacz("crawl.wacz") as crawl:
        ...     film = crawl.open_record(uri="http://example.org/film.mp4")
        ...     print(film.payload.size, len(film.payload.pread(1_000_000, 100)))
        3145728 100
    """

    def __init__(self, target: str | os.PathLike[str], **options: Unpack[ReaderOptions]) -> None:
        name = os.fsdecode(target)
        self._archive = open_zip(name, open_stored(target))
        self._captures = Index(name, **options)
        try:
            super().__init__(cast("Target", name), **options)
        except BaseException:
            self._captures.close()
            raise

    def __getstate__(self) -> tuple[ZipArchive, Index, dict[str, Reader]]:  # type: ignore[override]
        return self._archive, self._captures, self._readers

    def __setstate__(self, state: tuple[ZipArchive, Index, dict[str, Reader]]) -> None:  # type: ignore[override]
        self._archive, self._captures, readers = state
        self._set_up(readers, None)

    def close(self) -> None:
        """Close all files. Idempotent."""
        self._captures.close()
        super().close()

    @property
    @override
    def index(self) -> RecordIndex:
        return _WaczIndex(self._captures, self)

    def scanned(self) -> RecordIndex:
        """Return an index of all records, made by scanning all files when first needed."""
        return super().index

    @override
    def open_record(
        self,
        which: Record | Entry | str | None = None,
        *,
        uri: str | None = None,
        date: WarcDate | str | None = None,
        joined: bool = False,
    ) -> Record:
        """See `Collection.open_record`; the index of the WACZ is asked first."""
        if joined:
            return super().open_record(which, uri=uri, date=date, joined=True)
        record = self._stored(which, uri, date)
        if is_alone(record):
            return record
        try:
            return self._captures.resolved(record)
        except (NotFoundError, SegmentError):
            return super().open_record(record)

    def pages(self) -> Iterator[Page]:
        """Yield the pages that the WACZ lists.

        Raises:
            FormatError: A line is malformed, or longer than 2 MiB.
        """
        return pages_in(self._archive)


def open_package(name: str, **options: Unpack[ReaderOptions]) -> Collection | None:
    """Open a WACZ, a WACZ that has others as members, or a list of them; None for another file."""
    # The directory is read once.
    with keeping():
        if is_several(name):
            return Collection(name, **options)
        return Wacz(name, **options) if is_wacz(name) else None


class _WaczIndex:
    """The index of a WACZ as a `RecordIndex`, with one made by scanning for what it does not have."""

    def __init__(self, captures: Index, wacz: Wacz) -> None:
        self._captures = captures
        self._wacz = wacz

    def by_uri(self, uri: str) -> Sequence[Entry]:
        meant = Meant(uri)
        return [entry_of_line(it) for it in self._captures.lookup(uri) if meant.is_same(it.uri)]

    def spelled(self, uri: str) -> Sequence[Entry]:
        meant = Meant(uri)
        return [entry_of_line(it) for it in self._captures.lookup(uri) if meant.is_spelled(it.uri)]

    def similar(self, uri: str) -> Sequence[Entry]:
        return [entry_of_line(it) for it in self._captures.lookup(uri) if it.is_capture]

    def by_payload(self, digest: Digest) -> Sequence[Entry]:
        found = (it for it in self._captures if it.digest is not None and it.digest.key == digest.key)
        return [entry_of_line(it) for it in found]

    def by_id(self, record_id: str) -> Sequence[Entry]:
        return self._wacz.scanned().by_id(record_id)

    def segments_of(self, origin_id: str) -> Sequence[Entry]:
        return self._wacz.scanned().segments_of(origin_id)

    def concurrent_to(self, record_id: str) -> Sequence[Entry]:
        return self._wacz.scanned().concurrent_to(record_id)

    def referring_to(self, record_id: str) -> Sequence[Entry]:
        return self._wacz.scanned().referring_to(record_id)


def json_lines(source: RangeSource) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the JSON objects of a file of lines, and where each begins.

    Raises:
        FormatError: A line is not a JSON object, or longer than 2 MiB.
    """
    for begin, line in lines_in(pieces_of(source), MAX_LINE, source.name):
        if line.strip():
            yield begin, _object(line, source.name, begin)


def lines_in(pieces: Iterable[bytes], limit: int, name: str | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a text that comes in pieces, and where each begins; `LimitError` above `limit`."""
    begin, rest = 0, b""
    for data in pieces:
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield begin, line
            begin += len(line) + 1
        if len(rest) > limit:
            raise LimitError(f"a line has more than {limit} bytes", source=name, offset=begin)
    if rest:
        yield begin, rest


def pieces_of(source: RangeSource, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of a source, or of a range of it, in order."""
    while data := source.read(start, start + STEP if stop is None else min(start + STEP, stop)):
        yield data
        start += len(data)


def _object(line: bytes, name: str, offset: int) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"this line is not JSON: {error}", source=name, offset=offset) from error
    if not isinstance(value, dict):
        raise FormatError("this line is not a JSON object", source=name, offset=offset)
    return value


def pages_in(archive: ZipArchive) -> Iterator[Page]:
    """Yield the pages that an archive lists; errors as of `Wacz.pages`."""
    lists = [it for it in archive.members if it.startswith("pages/") and it.endswith(".jsonl")]
    for name in sorted(lists, key=lambda it: (it != PAGES, it)):
        yield from _pages_of(archive.open(name), is_extra=name != PAGES)


def _pages_of(source: RangeSource, *, is_extra: bool) -> Iterator[Page]:
    # A line without a URL is the header of the file.
    for offset, line in json_lines(source):
        uri, date, title = line.get("url"), line.get("ts", ""), line.get("title")
        if uri is None and (not offset or "format" in line):
            continue
        if not isinstance(uri, str) or not isinstance(date, str):
            raise FormatError("a page needs the texts url and ts", source=source.name, offset=offset)
        yield Page(uri, date, title if isinstance(title, str) else None, is_extra)
