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
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from glob import glob, has_magic
from itertools import repeat
from operator import itemgetter
from typing import Final, TypeAlias

from seekwarc.cdx.limits import IndexLimits
from seekwarc.cdx.lines import SortedLines, StoredRow
from seekwarc.cdx.parquet import ParquetLines
from seekwarc.compiling import override
from seekwarc.errors import SourceError
from seekwarc.storage.fetch import Fetcher

__all__ = ["JoinedParquet", "parts_of"]

_Marked: TypeAlias = "Iterator[tuple[bytes, StoredRow | None]]"
"""Heads of rows, each with its row; first one that no row of the file sorts before, without a row."""

SUFFIX: Final = ".parquet"
OPENED_AT_ONCE: Final = 8
"""Files whose footers are read at the same time."""
MAX_FINISHED: Final = 2
"""Files whose rows stay in memory after they were read, since the next lookup is often close by."""


def parts_of(name: str) -> list[str]:
    """Return the files of an index that a folder or a pattern of paths names; any other path by itself.

    In a folder these are the files whose names end with `.parquet`, in folders within it (`subset=warc`) too.
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


class JoinedParquet(SortedLines):
    """The rows of several Parquet files as sorted lines. Safe to use from several threads."""

    def __init__(self, sources: Sequence[Fetcher], limits: IndexLimits) -> None:
        with ThreadPoolExecutor(min(OPENED_AT_ONCE, len(sources))) as pool:
            self._files = list(pool.map(ParquetLines, sources, repeat(limits)))
        self._lock = threading.Lock()
        self._finished: deque[ParquetLines] = deque()

    @override
    def ascending(self, wanted: bytes) -> Iterator[StoredRow]:
        return self._merged((it, it.least(wanted), it.ascending(wanted)) for it in self._files)

    @override
    def descending(self, wanted: bytes) -> Iterator[StoredRow]:
        begun = ((it, it.greatest(wanted), it.descending(wanted)) for it in self._files)
        return self._merged(begun, reverse=True)

    def _merged(
        self,
        begun: Iterable[tuple[ParquetLines, bytes | None, Iterator[StoredRow]]],
        *,
        reverse: bool = False,
    ) -> Iterator[StoredRow]:
        marked = [self._marked(file, bound, rows) for file, bound, rows in begun if bound is not None]
        before: bytes | None = None
        for head, row in heapq.merge(*marked, key=itemgetter(0), reverse=reverse):
            if row is not None:
                # The mark before it may be wrong.
                if before is not None and (head > before if reverse else head < before):
                    raise row.error(
                        f"row {head[:200]!r} contradicts the footer's statistics; rebuild the index"
                    )
                yield row
            before = head

    def _marked(self, file: ParquetLines, bound: bytes, rows: Iterator[StoredRow]) -> _Marked:
        yield bound, None
        try:
            for row in rows:
                yield row.head, row
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
