"""Lines of an index that is a Parquet file: ours, or Common Crawl's columnar index.

Goal: the captures of a key from a file of many million rows, local or remote, with few bytes read.

Plan: rows are sorted by key, and the footer of the file has the least and the greatest key of each row group.
In the groups that may hold a key, the columns of key and date are read; the other columns that a line of CDXJ
needs are read only for rows that are wanted. Each row becomes such a line, so all that reads lines of an
index works as it does with other indexes.

Worst case: keys without statistics, so that the keys of all groups are read. The demands of a file are
bounded before it is read: its footer, the rows of a group and the bytes of its columns, as the headers of all
pages state them, since pyarrow believes those and not the footer. Texts stay encoded as indices into
dictionaries, so that a small page with one long text a million times takes little memory.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

from seekwarc.cdx.columnar import COLUMNS, KEY, NEEDED, READ, TIME, line_of, timestamp_at
from seekwarc.cdx.limits import IndexLimits
from seekwarc.cdx.lines import SortedLines, StoredRow
from seekwarc.compiling import override
from seekwarc.errors import FormatError, LimitError, SeekWarcError, SourceError, TruncatedError
from seekwarc.format.arrow import arrow
from seekwarc.format.parquet import MAGIC, parse_page_header
from seekwarc.storage.fetch import Fetcher
from seekwarc.storage.source_file import SourceFile

__all__ = ["ParquetLines"]

MAX_FOOTER: Final = 64 << 20
MAX_GROUP_ROWS: Final = 4 << 20
CELL_MARGIN: Final = 16
"""Bytes that a cell takes besides its text, at most."""
PAGE_MARGIN: Final = 64 << 10
"""Bytes that pages take besides their cells, at most, where a column has few rows."""
PAGE_HEAD: Final = 1 << 10
"""Bytes that are read of a page to parse its header: they have all of most headers."""
MAX_PAGE_HEAD: Final = 16 << 20
"""The limit of pyarrow: a header repeats the least and the greatest value of its page."""
UUID_SIZE: Final = 16
MAX_GROUPS: Final = 2
"""Row groups whose keys, or other columns, are kept."""
WINDOW: Final = 64
"""Rows that become Python values at a time."""
MAX_WINDOW: Final = 4 << 20
"""Bytes of text that become Python values at a time, unless one row has more."""
TAIL: Final = 64 << 10
"""Bytes that are read of the end of a file: they have all of most footers."""
AFTER_KEY: Final = b"!"
"""Sorts after the blank that follows a key."""
END: Final = 8
"""The length of the footer, and the magic bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    number: int
    rows: int
    first: bytes | None
    """No key sorts before this; None if that is unknown."""
    last: bytes | None
    """No key sorts after this."""
    offset: int
    ranges: dict[str, tuple[int, int]]
    """Where each column is stored, [start, stop)."""


class ParquetLines(SortedLines):
    """The rows of a Parquet file as sorted lines. Safe to use from several threads."""

    def __init__(self, source: Fetcher, limits: IndexLimits) -> None:
        if source.size is None:
            raise SourceError("a pipe cannot be searched; store it in a file first", source=source.name)
        self.name = source.name
        self._source = source
        self._limits = limits
        self._lock = threading.Lock()
        self._pa = arrow()
        with self._reading():
            self._file = self._opened(source.size)
            self._columns = self._checked_columns()
            self._groups = [*self._described(source.size)]
        self._keys = lru_cache(MAX_GROUPS)(self._read_keys)
        self._others = lru_cache(MAX_GROUPS)(self._read_others)

    @override
    def ascending(self, wanted: bytes) -> Iterator[StoredRow]:
        key = wanted.partition(b" ")[0]
        before = b""
        for group in self._groups:
            if group.last is not None and group.last < key:
                continue
            for row in self._rows(group, range(self._first_at(group, wanted), group.rows)):
                if row.head < before:
                    raise self._unsorted(row)
                before = row.head
                yield row

    @override
    def descending(self, wanted: bytes) -> Iterator[StoredRow]:
        key = wanted.partition(b" ")[0]
        after: StoredRow | None = None
        for group in reversed(self._groups):
            if group.first is not None and group.first > key:
                continue
            for row in self._rows(group, reversed(range(self._first_at(group, wanted)))):
                if after is not None and row.head > after.head:
                    raise self._unsorted(after)
                after = row
                yield row

    def least(self, wanted: bytes) -> bytes | None:
        """Return what no row at or after `wanted` sorts before, as the footer says; None: no row."""
        key = wanted.partition(b" ")[0]
        for group in self._groups:
            if group.last is None or group.last >= key:
                return max(wanted, group.first or b"")
        return None

    def greatest(self, wanted: bytes) -> bytes | None:
        """Return what no row before `wanted` sorts after, as the footer says; None: no row."""
        key = wanted.partition(b" ")[0]
        for group in reversed(self._groups):
            if group.first is None or group.first <= key:
                return wanted if group.last is None else min(wanted, group.last + AFTER_KEY)
        return None

    def forget(self) -> None:
        """Give up what is kept in memory of row groups."""
        self._keys.cache_clear()
        self._others.cache_clear()

    def _rows(self, group: _Group, numbers: Iterable[int]) -> Iterator[StoredRow]:
        for number in numbers:
            with self._reading(group.offset):
                head = self._head(group, number)
            yield StoredRow(head, self.name, group.offset, partial(self._line, group, number, head))

    def _first_at(self, group: _Group, wanted: bytes) -> int:
        with self._reading(group.offset):
            return bisect_left(range(group.rows), wanted, key=lambda number: self._head(group, number))

    def _head(self, group: _Group, number: int) -> bytes:
        row = self._keys(group).at(number)
        key, time = row[KEY], row[TIME]
        if not isinstance(key, str) or not isinstance(time, int) or " " in key:
            raise FormatError(f"row {number} of a row group has no valid {KEY} or {TIME}")
        return f"{key} {timestamp_at(time)}".encode()

    def _line(self, group: _Group, number: int, head: bytes) -> bytes:
        with self._reading(group.offset):
            key, timestamp = head.decode().split(" ")
            return line_of(key, timestamp, self._others(group).at(number)).build().rstrip(b"\n")

    def _unsorted(self, row: StoredRow) -> FormatError:
        return row.error(f"the index is not sorted by {KEY} and {TIME}: {row.head[:200]!r} is out of order")

    def _read_keys(self, group: _Group) -> _Window:
        table, window = self._read(group, (KEY, TIME))
        pa = self._pa
        times = table.column(TIME).cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        return _Window(pa.table({KEY: table.column(KEY), TIME: times}), window)

    def _read_others(self, group: _Group) -> _Window:
        return _Window(*self._read(group, self._columns))

    def _read(self, group: _Group, columns: Iterable[str]) -> tuple[Any, int]:
        """Return columns of a row group, and how many of its rows may become Python values at a time."""
        names = list(columns)
        if group.rows > MAX_GROUP_ROWS:
            raise LimitError(
                f"a row group has {group.rows} rows, and the limit is {MAX_GROUP_ROWS}; write the index with "
                "smaller row groups"
            )
        with self._lock:
            # In one round trip: pyarrow would read one column after the other.
            if not self._source.policy.is_near:
                self._source.prefetch(group.ranges[name] for name in names)
            self._check_sizes(group, names)
            table = self._file.read_row_group(group.number, columns=names, use_threads=False)
        if table.num_rows != group.rows:
            raise FormatError(f"a row group has {table.num_rows} rows, not the {group.rows} of the footer")
        size = 0
        for name in names:
            longest = _longest_text(table.column(name))
            if longest > self._limits.max_cell_size:
                raise self._too_long(name)
            size += longest
        return table, min(MAX_WINDOW // (size + 1) + 1, WINDOW)

    def _check_sizes(self, group: _Group, names: Iterable[str]) -> None:
        """Compare what the pages of columns take with the limits, before they are decompressed."""
        size = 0
        for name in names:
            column = sum(self._page_sizes(*group.ranges[name]))
            size += column
            # Its texts may be stored twice: in a dictionary, and after it when that became too large.
            if column > 2 * group.rows * (self._limits.max_cell_size + CELL_MARGIN) + PAGE_MARGIN:
                raise self._too_long(name)
            if size > self._limits.max_group_size:
                raise LimitError(
                    f"a row group takes more than {self._limits.max_group_size} bytes; raise max_group_size "
                    "(--max-group), or write the index with smaller row groups"
                )

    def _page_sizes(self, start: int, stop: int) -> Iterator[int]:
        while start < stop:
            size = PAGE_HEAD
            while True:
                data = self._source.read(start, min(start + size, stop))
                try:
                    page = parse_page_header(data)
                except TruncatedError:
                    if len(data) < size or size >= MAX_PAGE_HEAD:
                        raise
                    size = min(size << 4, MAX_PAGE_HEAD)
                else:
                    break
            start += page.size + page.stored_size
            yield max(page.content_size, page.stored_size)

    def _too_long(self, name: str) -> LimitError:
        return LimitError(
            f"the column {name} has a cell of more than {self._limits.max_cell_size} bytes; "
            "raise max_cell_size (--max-cell) to allow it"
        )

    def _opened(self, size: int) -> Any:  # noqa: ANN401
        import pyarrow.parquet as pq

        tail = self._source.read(max(size - TAIL, 0), size)
        if len(tail) < END or not tail.endswith(MAGIC):
            raise FormatError("the Parquet file is cut off or damaged: it does not end as one does")
        footer = int.from_bytes(tail[-END : -len(MAGIC)], "little") + END
        if footer > min(MAX_FOOTER, size):
            raise LimitError(f"the footer has {footer} bytes, beyond the limit of {min(MAX_FOOTER, size)}")
        if footer > len(tail):
            tail = self._source.read(size - footer, size - len(tail)) + tail
        metadata = pq.read_metadata(self._pa.BufferReader(tail))
        names = metadata.schema.to_arrow_schema().names
        if len(set(names)) < len(names):
            raise FormatError("two columns have the same name")
        texts = [name for name in names if name in (KEY, *READ) and COLUMNS[name].startswith("string")]
        file = self._pa.PythonFile(SourceFile(self._source), mode="r")
        return pq.ParquetFile(file, metadata=metadata, read_dictionary=texts)

    def _checked_columns(self) -> tuple[str, ...]:
        types = self._pa.types
        schema = self._file.schema_arrow
        for name in NEEDED:
            if name not in schema.names:
                raise FormatError(f"this is not an index of captures: it has no column {name}")
        for name in (KEY, TIME, *READ):
            if name not in schema.names:
                continue
            kind = schema.field(name).type
            if types.is_dictionary(kind):
                kind = kind.value_type
            checks = _CHECKS[COLUMNS[name].rstrip("?")]
            if not any(getattr(types, check)(kind) for check in checks) or (
                types.is_fixed_size_binary(kind) and kind.byte_width != UUID_SIZE
            ):
                raise FormatError(f"the column {name} has the type {kind}, which an index does not have")
        return tuple(name for name in READ if name in schema.names)

    def _described(self, size: int) -> Iterator[_Group]:
        metadata = self._file.metadata
        wanted = {KEY, TIME, *self._columns}
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            ranges: dict[str, tuple[int, int]] = {}
            first = last = None
            for place in range(group.num_columns):
                column = group.column(place)
                name = column.path_in_schema
                if name not in wanted:
                    continue
                start = column.data_page_offset
                if column.has_dictionary_page and column.dictionary_page_offset:
                    start = min(start, column.dictionary_page_offset)
                stop = start + column.total_compressed_size
                if not 0 <= start <= stop <= size or group.num_rows < 0:
                    raise FormatError(f"the footer has a column {name} at [{start}, {stop}) of {size} bytes")
                ranges[name] = start, stop
                if name == KEY and column.is_stats_set and column.statistics.has_min_max:
                    first, last = (_bytes(it) for it in (column.statistics.min, column.statistics.max))
            if wanted - ranges.keys():
                raise FormatError(f"a row group has no column {min(wanted - ranges.keys())}")
            yield _Group(number, group.num_rows, first, last, ranges[KEY][0], ranges)

    @contextmanager
    def _reading(self, offset: int | None = None) -> Iterator[None]:
        try:
            yield
        except SeekWarcError as error:
            raise error.located(self.name, offset) from error.__cause__
        except (self._pa.ArrowException, OSError, ValueError, OverflowError, TypeError, KeyError) as error:
            text = str(error).partition("\n")[0][:200]
            raise FormatError(
                f"the Parquet file is damaged or not supported: {text}", source=self.name, offset=offset
            ) from error


_CHECKS: Final = {
    "string": ("is_string", "is_large_string"),
    "timestamp": ("is_timestamp",),
    "uuid": ("is_fixed_size_binary",),
    **dict.fromkeys(("int16", "int32", "int64"), ("is_integer",)),
}
"""Checks of `pyarrow.types` for each type of `COLUMNS`, one of which a column must pass."""


def _longest_text(column: Any) -> int:  # noqa: ANN401
    import pyarrow.compute as pc
    from pyarrow.types import is_primitive

    texts = [getattr(chunk, "dictionary", chunk) for chunk in column.chunks]
    lengths = [pc.max(pc.binary_length(it)).as_py() or 0 for it in texts if not is_primitive(it.type)]
    return max(lengths, default=0)


class _Window:
    """The rows of a table as Python values, so many at a time."""

    def __init__(self, table: Any, window: int) -> None:  # noqa: ANN401
        self._table = table
        self._window = window
        self._rows: tuple[int, list[dict[str, object]]] = (0, [])

    def at(self, number: int) -> dict[str, object]:
        start, rows = self._rows
        if not start <= number < start + len(rows):
            start = number - number % self._window
            rows = self._table.slice(start, self._window).to_pylist()
            self._rows = start, rows
        return rows[number - start]


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
