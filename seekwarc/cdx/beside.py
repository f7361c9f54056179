"""An index that lies beside an archive: found by its name, and compared with the archive before it is used.

Goal: a capture is found without reading the archive, and no index of another file, or of an earlier state of
it, answers for it.

Plan: all lines are read once, which is little beside the archive, and those that are wanted are kept. No line
may end after the archive; and after the last record that is listed, the archive is read on to its end: a
capture there was added since. Other tools leave out kinds of captures, so the widest gaps between the lines
of a local archive are also looked into. What a line leads to is opened from the archive alone: no length,
digest or seek table of a line is believed, and the record must have the URI and the second that the line
states.

Worst case: an index from which a few lines in the middle were removed. What they named is found only without
it. So a caller says that it uses an index, and how not to; and it opens all captures of a URI, not only that
which seems to be the latest.
"""

from __future__ import annotations

import heapq
import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from operator import attrgetter
from typing import Final

from seekwarc.cdx.index import Capture, Index
from seekwarc.cdx.places import name_in_index
from seekwarc.collection.entry import is_listed
from seekwarc.errors import FormatError, LimitError
from seekwarc.format.cdxj import timestamp_of
from seekwarc.format.surt import surt
from seekwarc.format.uri import as_stored
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.storage.local import BytesSource
from seekwarc.storage.opening import open_source
from seekwarc.storage.remote_url import is_url
from seekwarc.storage.zip_members import SEPARATOR

__all__ = ["IndexBeside", "names_beside"]

INDEX_SUFFIX: Final = ".cdxj"
OF_FOLDER: Final = "index"
"""How the name begins of an index of all files in its folder."""
MAX_FETCHED: Final = 8 << 20
"""Bytes of a remote index that are fetched to be checked: in one request."""
MAX_CAPTURES: Final = 100_000
"""Lines that are kept."""
MAX_GAPS: Final = 16
"""Gaps between lines that are looked into: what a crawler has there are requests and notes."""
MAX_IN_GAP: Final = 1 << 20
"""Bytes of a gap that are read, and of a record in it."""


class IndexBeside:
    """The lines of an index that are wanted, of files in its folder.

    Args:
        name: Path or URL of the index.
        files: Names of those files, as an index has them (`cdx.places.name_in_index`).
        is_wanted: Tells whether a line is wanted.

    Raises:
        FormatError: The index is damaged.
        LimitError: It has too many such lines, or is remote and too large to be checked.
        SourceError: It cannot be read.
        SourceNotFoundError: It does not exist.
    """

    def __init__(self, name: str, files: Collection[str], is_wanted: Callable[[Capture], bool]) -> None:
        self.name = name
        self._places: dict[str, tuple[array[int], array[int]]] = {}
        """Where the records of the lines of a file begin and end, in the order of the lines."""
        self._found: dict[str, list[Capture]] = {}
        count = 0
        with closing(Index(_fetched(name) if is_url(name) else name)) as index:
            for capture in index:
                file = capture.filename
                if file not in files:
                    if is_wanted(capture):
                        self._check_other(file)
                    continue
                starts, ends = self._places.setdefault(file, (array("Q"), array("Q")))
                starts.append(capture.offset)
                ends.append(capture.offset + (capture.length or 0))
                if is_wanted(capture):
                    self._found.setdefault(file, []).append(capture)
                    count += 1
                    if count > MAX_CAPTURES:
                        raise LimitError(f"more than {MAX_CAPTURES} of its lines match", source=name)

    def _check_other(self, file: str) -> None:
        """Refuse a line of a file that does not exist: the name of one that does may be damaged."""
        folder = self.name.removesuffix(OF_FOLDER + INDEX_SUFFIX)
        names = {file, as_stored(file)}
        if folder == self.name or not (
            is_url(folder) or any(os.path.isfile(os.path.join(folder, it)) for it in names)
        ):
            raise FormatError(f"it lists {file}, which is not here", source=self.name)

    def check(self, archive: Reader) -> None:
        """Compare the index with an archive as that is now.

        Raises:
            FormatError: It is not the index of this archive, or not of all of it.
            SourceError: The archive cannot be read.
        """
        name = name_in_index(archive.name)
        starts, ends = self._places.get(name, ((), ()))
        if not ends or (size := archive.size) is None:
            raise FormatError(f"it does not list {name}")
        end = max(ends)
        if not is_url(archive.name) and os.stat(self.name).st_mtime_ns < os.stat(archive.name).st_mtime_ns:
            raise FormatError(f"it is older than {name}")
        if end > size:
            raise FormatError(f"it lists a record that ends at byte {end}, and {name} has {size}")
        if end < size and any(map(is_listed, archive.between(end))):
            raise FormatError(f"{name} has captures after byte {end}, which it does not list")
        if not is_url(archive.name) and (missed := _missed(archive, starts, ends)) is not None:
            raise FormatError(f"{name} has a capture at byte {missed}, which it does not list")

    def in_order(self, archive: Reader) -> Iterator[Record]:
        """Yield the wanted captures of an archive, in file order.

        Raises:
            FormatError: A line is not of this archive.
        """
        before = None
        for line in sorted(self._found.get(name_in_index(archive.name), ()), key=attrgetter("offset")):
            record = self.record(archive, line.offset, line.uri, line.timestamp)
            # An index may have a line of it for each of several keys.
            if record.offset != before:
                yield record
            before = record.offset

    def record(self, archive: Reader, offset: int, uri: str | None, timestamp: str) -> Record:
        """Open the record of a line, by nothing of it but its offset.

        Raises:
            FormatError: The record has another URI or date.
        """
        record = archive.record_at(offset)
        found, date = record.target_uri or "", record.date
        is_same_uri = found == uri or surt(found) == surt(uri or "")
        if date is None or timestamp_of(date) != timestamp or not is_same_uri:
            raise FormatError(
                f"{self.name} has {uri} of {timestamp} here, but the file {found or 'no URI'}: make "
                "the index again with `seekwarc index`",
                source=archive.name,
                offset=offset,
            )
        return record


def names_beside(name: str, suffix: str = INDEX_SUFFIX) -> Sequence[str]:
    """Return the names that an index of an archive may have: of this archive, and of all in its folder.

    That of a folder may be beside it, or in it.
    """
    if SEPARATOR in name or name == "-" or (is_url(name) and "?" in name):
        return ()
    last = name.rpartition("/")[2] if is_url(name) else os.path.basename(name)
    if os.path.isdir(name):
        return name.rstrip(os.sep) + suffix, os.path.join(name, OF_FOLDER + suffix)
    return name + suffix, name.removesuffix(last) + OF_FOLDER + suffix


def _missed(archive: Reader, starts: Sequence[int], ends: Sequence[int]) -> int | None:
    """Return the offset of a capture in the widest gaps between lines, if any is there."""
    # Sorted apart, since as many records end before a gap as begin before it.
    begins = sorted(starts)
    gaps = ((start - end, end) for start, end in zip(begins, chain((0,), sorted(ends)), strict=False))
    for width, begin in heapq.nlargest(MAX_GAPS, gaps):
        if width <= 0:
            break
        # Damage there says nothing of the index.
        with suppress(FormatError):
            for record in archive.between(begin, begin + width):
                if record.offset > begin + MAX_IN_GAP:
                    break
                place = bisect_left(begins, record.offset)
                if is_listed(record) and begins[place : place + 1] != [record.offset]:
                    return record.offset
                if record.content_length > MAX_IN_GAP:
                    break
    return None


def _fetched(url: str) -> BytesSource:
    with closing(open_source(url)) as source:
        data = source.read(0, MAX_FETCHED + 1)
    if len(data) > MAX_FETCHED:
        raise LimitError(
            f"is larger than {MAX_FETCHED} bytes, so it is used only if --index names it", source=url
        )
    return BytesSource(data, url)
