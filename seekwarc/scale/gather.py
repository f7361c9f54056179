"""`gather`: many ranges of many payloads in many files, in the order in which they were asked for.

Goal: the second pass of "index first, payloads later", and what a data loader does: ten thousand clips of
films in hundreds of files, without ten thousand requests one after the other.

Plan: ranges are taken in groups. Those of a group are sorted by file and place, fetched together where they
are stored near each other (`scale/ranges.py`), several files at a time, and put back in order. While one
group is handed out, the next is read.

Worst case: payloads much larger than their stored bytes, or that claim to be. The memory of the groups
is counted before it is read, by the bytes that are wanted, or by the length that the record states; a
range that does not fit is read alone when its turn comes.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, Unpack

from seekwarc.errors import RangeError, SeekWarcError
from seekwarc.read.options import OpenOptions, SidecarOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record
from seekwarc.scale.ranges import WantedRange, read_ranges
from seekwarc.storage.tasks import Tasks

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Wanted", "gather"]

MAX_BYTES: Final = 256 << 20
FILES_AT_ONCE: Final = 8
MAX_OPEN: Final = 16
"""Files that are kept open."""
CACHE_SIZE: Final = 4 << 20
"""Of each file. Frames are wanted again by neighbours only, since ranges are sorted."""
MAX_GROUP: Final = 16 << 10
GUESS: Final = 4
"""A payload whose size is unknown is taken to have so many times its stored bytes."""
SMALL: Final = 64 << 10
MAX_RECORDS: Final = 1024
"""Records of a file that stay known, with where their frames are."""

Wanted: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
"""url, offset, length, start, stop; the last three may be left out, or None."""


class _Range(NamedTuple):
    url: str
    offset: int
    length: int | None
    start: int
    stop: int | None

    @property
    def guess(self) -> int:
        if self.stop is not None:
            return self.stop - self.start
        return GUESS * (self.length or SMALL)


class _NoRoom(Exception):  # noqa: N818 - no error: it is read later
    """Memory has no room for a range now."""


def gather(
    wanted: Iterable[Wanted] | Any,  # noqa: ANN401 - whatever has an Arrow stream
    *,
    on_error: Literal["return", "raise"] = "return",
    max_bytes: int = MAX_BYTES,
    **options: Unpack[OpenOptions],
) -> Iterator[bytes | Exception]:
    """Yield ranges of payloads, with few requests, in the order in which they are asked for.

    Ranges of one file are sorted, and those that are stored near each other are fetched together; several
    files are read at a time. A range that cannot be read does not stop the others.

    Args:
        wanted: Rows of url, offset and stored length of a record, start and stop in its payload: tuples,
            mappings with these keys, or a table that has an Arrow stream (of pyarrow, polars, duckdb, or
            `seekwarc.batches`). `filename` is taken for `url`. Length, start and stop may be None or left
            out: a length saves requests, and without start and stop the range is all of the payload.
        on_error: What to do if a range cannot be read: "return" puts the exception in its place, "raise"
            raises it.
        max_bytes: Bytes of ranges to hold in memory, about. A larger range is read alone.
        **options: Options of `seekwarc.open`.

    Yields:
        The bytes of each range, fewer where the payload ends before; or the error.

    Raises:
        RangeError: A row is not a range of a payload.
        ValueError: `on_error` or `max_bytes` is invalid.
        UnsupportedError: pyarrow, which reads tables, is not installed (`pip install 'seekwarc[arrow]'`).

    Example:
        >>> with seekwarc.open("crawl.warc.zst") as archive:
        ...     found = [(it.offset, it.length) for it in archive.records(type="response")]
        >>> list(seekwarc.gather(("crawl.warc.zst", *place, 3, 11) for place in found))[0]
        b'The same'
    """
    if on_error not in ("return", "raise"):
        raise ValueError(f'on_error is {on_error!r}, not "return" or "raise"')
    if max_bytes < 1:
        raise ValueError(f"max_bytes is {max_bytes}, not 1 or more")
    reading: OpenOptions = {"cache_size": CACHE_SIZE, "threads": 1, **options}
    group_bytes = max(max_bytes // 2, 1)
    return _outcomes(_rows(wanted), group_bytes, SidecarOptions.of(**reading), raises=on_error == "raise")


def _outcomes(
    wanted: Iterator[_Range], group_bytes: int, options: SidecarOptions, *, raises: bool
) -> Iterator[bytes | Exception]:
    files = _Files(options)
    waiting: deque[_Group] = deque()
    pool = Tasks("gather", FILES_AT_ONCE)
    # Files are closed first: threads that wait for an answer then end at once.
    with ExitStack() as stack:
        stack.callback(pool.close, wait=True)
        stack.callback(files.close)
        for ranges in _grouped(wanted, group_bytes):
            waiting.append(_Group(ranges, group_bytes, files, pool))
            if len(waiting) == 2:
                yield from waiting.popleft().outcomes(raises=raises)
        while waiting:
            yield from waiting.popleft().outcomes(raises=raises)


def _grouped(wanted: Iterator[_Range], size: int) -> Iterator[list[_Range]]:
    group: list[_Range] = []
    total = 0
    for it in wanted:
        if group and (total + it.guess > size or len(group) == MAX_GROUP):
            yield group
            group, total = [], 0
        group.append(it)
        total += it.guess
    if group:
        yield group


class _Group:
    def __init__(self, ranges: Sequence[_Range], room: int, files: _Files, pool: Tasks) -> None:
        self._ranges = ranges
        self._files = files
        self._room = room
        self._lock = threading.Lock()
        self._found: list[bytes | Exception | None] = [None] * len(ranges)
        by_file: dict[str, list[int]] = {}
        for number, it in enumerate(ranges):
            by_file.setdefault(it.url, []).append(number)
        self._reading: dict[str, Future[None]] = {
            url: pool.submit(self._read_file, url, numbers) for url, numbers in by_file.items()
        }

    def outcomes(self, *, raises: bool) -> Iterator[bytes | Exception]:
        for number, it in enumerate(self._ranges):
            self._reading[it.url].result()
            outcome = self._found[number]
            self._found[number] = None
            if isinstance(outcome, _NoRoom):
                outcome = self._alone(it)
            if raises and isinstance(outcome, Exception):
                raise outcome
            if outcome is not None:
                yield outcome

    def _read_file(self, url: str, numbers: Sequence[int]) -> None:
        try:
            with self._files.opened(url) as reader:
                # Opened records, with what is known of their frames.
                record_at = lru_cache(MAX_RECORDS)(reader.record_at)
                wanted = {self._wanted(self._ranges[number], record_at): number for number in numbers}
                for it, outcome in read_ranges(list(wanted), lambda _: reader):
                    self._found[wanted[it]] = outcome
        except SeekWarcError as error:
            for number in numbers:
                if self._found[number] is None:
                    self._found[number] = error

    def _wanted(self, it: _Range, record_at: Callable[[int, int | None], Record]) -> WantedRange:
        def read() -> bytes:
            record = record_at(it.offset, it.length)
            end = record.content_length if it.stop is None else min(it.stop, record.content_length)
            self._take(end - it.start)
            return _read(record, it)

        def span() -> tuple[int, int] | None:
            payload = record_at(it.offset, it.length).payload
            end = payload.known_size if it.stop is None else it.stop
            # Where a chunked body ends is known only by reading it.
            stored = payload.plan(it.start, max(it.start, end)).ranges if end is not None else ()
            return (stored[0][0], stored[-1][1]) if stored else None

        return WantedRange(it.url, it.offset, it.length, read, span)

    def _take(self, size: int) -> None:
        with self._lock:
            if size > self._room:
                raise _NoRoom
            self._room -= max(size, 0)

    def _alone(self, it: _Range) -> bytes | Exception:
        try:
            with self._files.opened(it.url) as reader:
                return _read(reader.record_at(it.offset, it.length), it)
        except Exception as error:  # noqa: BLE001 - what one record does never stops the others
            return error


def _read(record: Record, it: _Range) -> bytes:
    length = record.content_length if it.stop is None else it.stop - it.start
    return record.payload.pread(it.start, length)


class _Files:
    """Open files: those that were used last stay open. Safe to use from several threads."""

    def __init__(self, options: SidecarOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._idle: OrderedDict[str, Reader] = OrderedDict()
        self._lent: set[Reader] = set()
        self._closed = False

    @contextmanager
    def opened(self, url: str) -> Iterator[Reader]:
        with self._lock:
            reader = self._idle.pop(url, None)
        if reader is None:
            reader = Reader(url, **self._options)
        with self._lock:
            self._lent.add(reader)
            if self._closed:
                reader.close()
        try:
            yield reader
        finally:
            with self._lock:
                self._lent.discard(reader)
                left = [self._idle.pop(url)] if url in self._idle else []
                self._idle[url] = reader
                while len(self._idle) > (0 if self._closed else MAX_OPEN):
                    left.append(self._idle.popitem(last=False)[1])
            for it in left:
                it.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            left = [*self._idle.values(), *self._lent]
            self._idle.clear()
        for reader in left:
            reader.close()


def _rows(wanted: Any) -> Iterator[_Range]:  # noqa: ANN401
    if hasattr(wanted, "__arrow_c_stream__"):
        from seekwarc.format.arrow import arrow

        for batch in arrow().RecordBatchReader.from_stream(wanted):
            names = [name for name in _NAMES if name in batch.schema.names]
            yield from map(_range_of, batch.select(names).to_pylist())
    else:
        yield from map(_range_of, wanted)


_NAMES: Final = ("url", "filename", "offset", "length", "start", "stop")


def _range_of(row: Wanted) -> _Range:
    if isinstance(row, Mapping):
        url = row.get("url") if row.get("url") is not None else row.get("filename")
        values = [url, *(row.get(name) for name in _NAMES[2:])]
    else:
        values = [*row, None, None, None][:5] if 2 <= len(row) <= 5 else []
    if values and isinstance(values[0], os.PathLike):
        values[0] = os.fspath(values[0])
    if not values or not isinstance(values[0], str):
        raise RangeError(f"expected a row of file, offset, length, start, stop: {str(row)[:200]}")
    offset, length, start, stop = (None if it is None else _whole_number(it, row) for it in values[1:])
    start = start or 0
    if offset is None or length == 0 or (stop is not None and stop < start):
        raise RangeError(f"this row is not a range of a payload: {str(row)[:200]}")
    return _Range(values[0], offset, length, start, stop)


def _whole_number(value: Any, row: Wanted) -> int:  # noqa: ANN401
    """Return a value as a number that is not negative: numpy's numbers are not of type int."""
    number: Callable[[], int] | None = getattr(value, "__index__", None)
    if number is None or number() < 0:
        raise RangeError(f"{value!r} is not an offset, length, start or stop: {str(row)[:200]}")
    return number()
