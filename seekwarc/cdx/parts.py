"""Several Parquet files as one index: a crawl of Common Crawl's columnar index has 300, part-00000 and so on.

Goal: look up a key in hundreds of files at the cost of the one or two that have it.

Plan: the footers of all files are read when the index is opened; they have the least and the greatest key of
each row group. Rows are merged, and the rows of a file are read only when the merge reaches the first key
that they may have: until then a mark takes their place. So files that a lookup does not reach are not read.

Worst case: files whose keys overlap, as those of several crawls do. Then a row group of each is in memory.
"""

from __future__ import annotations

import heapq
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from glob import glob, has_magic
from itertools import repeat
from typing import Final, TypeAlias

from seekwarc.cdx.lines import IndexLimits
from seekwarc.cdx.parquet import ParquetLines, StoredRow
from seekwarc.errors import SourceError
from seekwarc.storage.fetch import Fetcher

__all__ = ["JoinedParquet", "parts_of"]

SUFFIX: Final = ".parquet"
OPENED_AT_ONCE: Final = 8
"""Files whose footers are read at the same time."""
MAX_FINISHED: Final = 2
"""Files whose rows stay in memory after they were read, since the next lookup is often close by."""


def parts_of(name: str) -> list[str]:
    """Return the files of an index that a folder or a pattern of paths names; any other path by itself.

    In a folder these are the files whose names end with `.parquet`, in folders within it (`subset=warc`) too.

    Raises:
        SourceError: No file matches.
    """
    if os.path.isdir(name):
        found = [os.path.join(folder, it) for folder, _, names in os.walk(name) for it in names]
        found = [it for it in found if it.endswith(SUFFIX)]
        problem = f"is a directory without a file {SUFFIX}; name the file of the index"
    elif has_magic(name) and not os.path.exists(name):
        found = glob(name, recursive=True)
        problem = "no file matches this pattern"
    else:
        return [name]
    if not found:
        raise SourceError(problem, source=name)
    return sorted(found)


@dataclass(frozen=True, slots=True)
class _Mark:
    """Stands where the rows of a file may begin."""

    head: bytes


_Rows: TypeAlias = "Iterator[StoredRow | _Mark]"


class JoinedParquet:
    """The rows of several Parquet files as sorted lines; see `SortedLines`. Safe to use from several threads.

    Args:
        sources: The files, in any order.
        limits: What each may take of memory.

    Raises:
        SeekWarcError: As `ParquetLines`.
    """

    def __init__(self, sources: Sequence[Fetcher], limits: IndexLimits) -> None:
        with ThreadPoolExecutor(min(OPENED_AT_ONCE, len(sources))) as pool:
            self._files = list(pool.map(ParquetLines, sources, repeat(limits)))
        self._lock = threading.Lock()
        self._finished: deque[ParquetLines] = deque()

    def ascending(self, wanted: bytes) -> Iterator[StoredRow]:
        """See `SortedLines.ascending`.

        Raises:
            FormatError: As `ParquetLines.ascending`; the rows of a file are not where its footer says.
        """
        begun = self._begun(lambda it: it.least(wanted), lambda it: it.ascending(wanted))
        before = b""
        for row in heapq.merge(*begun, key=_head):
            if row.head < before:
                raise _misplaced(row)
            before = row.head
            if isinstance(row, StoredRow):
                yield row

    def descending(self, wanted: bytes) -> Iterator[StoredRow]:
        """See `SortedLines.descending`.

        Raises:
            FormatError: As `ascending`.
        """
        begun = self._begun(lambda it: it.greatest(wanted), lambda it: it.descending(wanted))
        after = wanted
        for row in heapq.merge(*begun, key=_head, reverse=True):
            if row.head > after:
                raise _misplaced(row)
            after = row.head
            if isinstance(row, StoredRow):
                yield row

    def _begun(
        self,
        bound: Callable[[ParquetLines], bytes | None],
        rows: Callable[[ParquetLines], Iterator[StoredRow]],
    ) -> list[_Rows]:
        """Return the rows of each file that may have some, after a mark."""
        bounds = [(file, bound(file)) for file in self._files]
        return [self._marked(file, head, rows(file)) for file, head in bounds if head is not None]

    def _marked(self, file: ParquetLines, head: bytes, rows: Iterator[StoredRow]) -> _Rows:
        yield _Mark(head)
        try:
            yield from rows
        finally:
            self._finish(file)

    def _finish(self, file: ParquetLines) -> None:
        with self._lock:
            if file in self._finished:
                self._finished.remove(file)
            self._finished.append(file)
            oldest = self._finished.popleft() if len(self._finished) > MAX_FINISHED else None
        if oldest is not None:
            oldest.forget()


def _head(row: StoredRow | _Mark) -> bytes:
    return row.head


def _misplaced(row: StoredRow | _Mark) -> Exception:
    # A mark never is: it comes first of its file.
    assert isinstance(row, StoredRow)
    return row.error(f"the row {row.head[:200]!r} is not where the footer of the file says: make it again")
