"""The same archive for programs that use asyncio: what takes time is awaited.

All reading, planning and decoding is that of `Reader`, done in a few threads. Where a task is cancelled, its
read goes on in its thread until it is done, and what it found is dropped.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, BinaryIO, Final, Self, TypeVar

from seekwarc.archive.payload import Extent
from seekwarc.archive.reader import Reader
from seekwarc.archive.record import Record
from seekwarc.errors import FormatError, SeekWarcError
from seekwarc.format.fields import DefinedFields
from seekwarc.format.http import HttpHead
from seekwarc.format.values import MediaType
from seekwarc.frames.run import ReadPlan
from seekwarc.storage.source import RangeSource, Stats

__all__ = ["AsyncExtent", "AsyncReader", "AsyncRecord"]

CONCURRENCY: Final = 8
STEP: Final = 1 << 20
MOST_AT_ONCE: Final = 64
"""Records that are looked for in one go: each change of threads costs as much as several of them."""

_T = TypeVar("_T")


class _Threads:
    """Threads in which is done what would hold up the event loop."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, "seekwarc-async")
        self._closed = False

    async def run(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise SeekWarcError("the archive is closed")
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def close(self) -> None:
        self._closed = True
        # Another thread waits for these.
        await asyncio.to_thread(self._pool.shutdown)


class AsyncReader:
    """A `Reader` that is opened, asked and closed without holding up the event loop.

        async with seekwarc.AsyncReader("https://example.org/crawl.warc.zst") as archive:
            record = await archive.record_at(123_456)
            some_bytes = await record.payload.pread(1_000_000_000, 65_536)

    Args:
        target: As for `Reader`.
        concurrency: How many things may be read at the same time.
        **options: As for `Reader`.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | bytes | BinaryIO | RangeSource,
        *,
        concurrency: int = CONCURRENCY,
        **options: Any,  # noqa: ANN401
    ) -> None:
        self._open: Callable[[], Reader] = lambda: Reader(target, **options)
        self._concurrency = concurrency
        self._opened: tuple[Reader, _Threads] | None = None

    async def __aenter__(self) -> Self:
        threads = _Threads(self._concurrency)
        try:
            self._opened = await threads.run(self._open), threads
        except BaseException:
            await threads.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the archive, once what is being read has been read. Closing twice does nothing."""
        archive, threads = self._there
        await threads.close()
        await asyncio.to_thread(archive.close)

    @property
    def _there(self) -> tuple[Reader, _Threads]:
        if self._opened is None:
            raise SeekWarcError("the archive is not open: use `async with`")
        return self._opened

    @property
    def stats(self) -> Stats:
        """What the archive has cost so far."""
        return self._there[0].stats

    async def __aiter__(self) -> AsyncIterator[AsyncRecord]:
        """Yield every record, in file order; errors as from `Reader`."""
        archive, threads = self._there
        records = await threads.run(lambda: iter(archive))
        count = 1
        while True:
            found, damage = await threads.run(partial(_take, records, count))
            for record in found:
                yield AsyncRecord(threads, record)
            if damage is not None:
                raise damage
            if len(found) < count:
                return
            count = min(2 * count, MOST_AT_ONCE)

    async def record_at(self, offset: int | str, length: int | str | None = None) -> AsyncRecord:
        """Return the record that starts at a stored offset; see `Reader.record_at`."""
        archive, threads = self._there
        return AsyncRecord(threads, await threads.run(lambda: archive.record_at(offset, length)))


def _take(records: Iterator[Record], count: int) -> tuple[list[Record], FormatError | None]:
    """Return the next records, and the damage that was reached behind them."""
    found: list[Record] = []
    try:
        found.extend(itertools.islice(records, count))
    except FormatError as error:
        return found, error
    return found, None


class AsyncRecord(DefinedFields):
    """A record. What its header says is at hand; all else is awaited.

    Attributes:
        record: The record itself, for use in a thread.
        block: See `Record.block`.
        payload: See `Record.payload`.
    """

    __slots__ = ("_threads", "block", "payload", "record")

    def __init__(self, threads: _Threads, record: Record) -> None:
        super().__init__(record.header)
        self._threads = threads
        self.record = record
        self.block = AsyncExtent(threads, lambda: record.block)
        self.payload = AsyncExtent(threads, lambda: record.payload)

    def __repr__(self) -> str:
        return f"<AsyncRecord {self.type} at {self.offset}: {self.target_uri or self.id}>"

    def _where(self) -> tuple[str | None, int | None]:
        return self.record.source, self.offset

    @property
    def offset(self) -> int:
        """Offset in the stored file of the record's first frame."""
        return self.record.offset

    async def length(self) -> int:
        """Return the stored bytes up to the next record; see `Record.length`."""
        return await self._threads.run(lambda: self.record.length)

    async def http(self) -> HttpHead | None:
        """Return the HTTP head of the block; see `Record.http`."""
        return await self._threads.run(lambda: self.record.http)


class AsyncExtent:
    """Bytes of a record that can be read by range, by several tasks at a time; see `Extent`.

    Args:
        threads: Do the work.
        find: Returns the extent. That may take reading too.
    """

    __slots__ = ("_find", "_threads")

    def __init__(self, threads: _Threads, find: Callable[[], Extent]) -> None:
        self._threads = threads
        self._find = find

    async def size(self) -> int:
        """Return the length in bytes."""
        return await self._threads.run(lambda: self._find().size)

    async def codings(self) -> tuple[str, ...]:
        """Return the HTTP content codings that are on it."""
        return await self._threads.run(lambda: self._find().codings)

    async def media_type(self) -> MediaType | None:
        """Return what the head says that it is; see `Extent.media_type`."""
        return await self._threads.run(lambda: self._find().media_type)

    async def pread(self, start: int, length: int, *, verify: bool = True, decoded: bool = False) -> bytes:
        """Read up to `length` bytes from `start` on; see `Extent.pread`."""
        return await self._threads.run(
            lambda: self._find().pread(start, length, verify=verify, decoded=decoded)
        )

    async def read(self, n: int = -1, *, decoded: bool = False) -> bytes:
        """Read all of it, or the first `n` bytes; see `Extent.read`."""
        return await self._threads.run(lambda: self._find().read(n, decoded=decoded))

    async def plan(self, start: int, stop: int) -> ReadPlan:
        """Tell what reading [start, stop) costs; see `Extent.plan`."""
        return await self._threads.run(lambda: self._find().plan(start, stop))

    async def chunks(
        self, start: int = 0, stop: int | None = None, *, step: int = STEP
    ) -> AsyncIterator[bytes]:
        """Yield the bytes of [start, stop), up to its end unless `stop` is given, `step` at a time."""
        while (stop is None or start < stop) and (
            piece := await self.pread(start, step if stop is None else min(step, stop - start))
        ):
            yield piece
            start += len(piece)
