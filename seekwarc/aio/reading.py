"""The same archive for programs that use asyncio: what takes time is awaited.

All reading, planning and decoding is that of `Reader`, done in a few threads. Where a task is cancelled, its
read goes on in its thread until it is done, and what it found is dropped.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final, Unpack

from seekwarc.aio.background import InThreads, Opened, Threads, in_threads
from seekwarc.cdx.index import Capture, Index, Match
from seekwarc.cdx.zipnum import MAX_BLOCK_SIZE
from seekwarc.collection.collection import Collection
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.http import HttpHead
from seekwarc.format.seektable import TableReference
from seekwarc.format.values import MediaType
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.frames.run import ReadPlan
from seekwarc.read.extent import Extent
from seekwarc.read.options import ReaderOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record, Relations
from seekwarc.storage.source import RangeReadable, Stats

if TYPE_CHECKING:
    from seekwarc.collection.record_index import Entry, RecordIndex
    from seekwarc.format.dates import WarcDate
    from seekwarc.format.warc import RecordHeader
    from seekwarc.read.digests import DigestCheck

__all__ = ["AsyncCapture", "AsyncCollection", "AsyncExtent", "AsyncIndex", "AsyncReader", "AsyncRecord"]

CONCURRENCY: Final = 8
STEP: Final = 1 << 20


class AsyncReader(Opened[Reader]):
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
        target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
        *,
        concurrency: int = CONCURRENCY,
        relations: Relations | None = None,
        **options: Unpack[ReaderOptions],
    ) -> None:
        super().__init__(partial(Reader, target, relations=relations, **options), concurrency)

    @property
    def name(self) -> str:
        """What messages call the file."""
        return self._there[0].name

    @property
    def stats(self) -> Stats:
        """What the archive has cost so far."""
        return self._there[0].stats

    async def __aiter__(self) -> AsyncIterator[AsyncRecord]:
        """Yield every record, in file order; errors as from `Reader`."""
        archive, threads = self._there
        async for record in in_threads(threads, lambda: iter(archive)):
            yield AsyncRecord(threads, record)

    async def record_at(
        self,
        offset: int | str,
        length: int | str | None = None,
        *,
        table: TableReference | None = None,
    ) -> AsyncRecord:
        """Return the record that starts at a stored offset; see `Reader.record_at`."""
        archive, threads = self._there
        return AsyncRecord(threads, await threads.run(lambda: archive.record_at(offset, length, table=table)))


class AsyncCollection(Opened[Collection]):
    """A `Collection` that is opened, asked and closed without holding up the event loop.

        async with seekwarc.AsyncCollection(["a.warc.zst", "b.warc.zst"]) as files:
            record = await files.open_record(uri="http://example.org/film.mp4")
            some_bytes = await record.payload.pread(1_000_000, 65_536)

    Args:
        files: As for `Collection`.
        concurrency: How many things may be read at the same time.
        **options: As for `Collection`.
    """

    def __init__(
        self,
        files: Iterable[str | os.PathLike[str] | bytes | BinaryIO | RangeReadable],
        *,
        concurrency: int = CONCURRENCY,
        index: RecordIndex | None = None,
        **options: Unpack[ReaderOptions],
    ) -> None:
        super().__init__(partial(Collection, list(files), index=index, **options), concurrency)

    async def __aiter__(self) -> AsyncIterator[AsyncRecord]:
        """Yield every stored record of every file, in order; errors as from `Collection`."""
        files, threads = self._there
        async for record in in_threads(threads, lambda: iter(files)):
            yield AsyncRecord(threads, record)

    async def index(self) -> RecordIndex:
        """Return what knows the records; see `Collection.index`."""
        files, threads = self._there
        return await threads.run(lambda: files.index)

    async def record(self, entry: Entry) -> AsyncRecord:
        """Return the stored record that an entry of the index tells of; see `Collection.record`."""
        files, threads = self._there
        return AsyncRecord(threads, await threads.run(lambda: files.record(entry)))

    async def open_record(
        self,
        which: AsyncRecord | Entry | str | None = None,
        *,
        uri: str | None = None,
        date: WarcDate | str | None = None,
    ) -> AsyncRecord:
        """Return a logical record, segments joined and revisits resolved; see `Collection.open_record`."""
        files, threads = self._there
        stored = which.record if isinstance(which, AsyncRecord) else which
        found = await threads.run(lambda: files.open_record(stored, uri=uri, date=date))
        return AsyncRecord(threads, found)


class AsyncIndex(Opened[Index]):
    """An `Index` that is opened, searched and closed without holding up the event loop.

        async with seekwarc.AsyncIndex("https://example.org/crawl.cdxj") as index:
            async for capture in index.lookup("http://example.org/"):
                record = await capture.open()

    Args:
        target: As for `Index`.
        concurrency: How many things may be read at the same time.
        **options: As for `Index`.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | bytes | BinaryIO | RangeReadable,
        *,
        concurrency: int = CONCURRENCY,
        files: str | os.PathLike[str] | None = None,
        max_block_size: int = MAX_BLOCK_SIZE,
        **options: Unpack[ReaderOptions],
    ) -> None:
        opening = partial(Index, target, files=files, max_block_size=max_block_size, **options)
        super().__init__(opening, concurrency)

    @property
    def name(self) -> str:
        """What messages call the index."""
        return self._there[0].name

    @property
    def stats(self) -> Stats:
        """What reading the index has cost so far."""
        return self._there[0].stats

    async def lookup(
        self,
        uri: str,
        *,
        match: Match = "exact",
        since: str | None = None,
        until: str | None = None,
        closest: str | None = None,
    ) -> AsyncIterator[AsyncCapture]:
        """Yield the captures of a URI; arguments and errors as of `Index.lookup`."""
        index, threads = self._there

        def captures() -> Iterator[Capture]:
            return index.lookup(uri, match=match, since=since, until=until, closest=closest)

        async for capture in in_threads(threads, captures):
            yield AsyncCapture(capture.key, capture.timestamp, capture.fields, capture, threads)


@dataclass(frozen=True, slots=True)
class AsyncCapture(CdxjLine):
    """A line of an index, and the way to its record. What the line says is at hand; see `Capture`."""

    capture: Capture
    """The capture itself, for use in a thread."""
    _threads: Threads = field(repr=False, compare=False)

    async def open(self, *, resolve: bool = True) -> AsyncRecord:
        """Return the record; see `Capture.open`."""
        return AsyncRecord(
            self._threads, await self._threads.run(partial(self.capture.open, resolve=resolve))
        )


class AsyncRecord(InThreads, DefinedFields):
    """A record. What its header says is at hand; all else is awaited.

    Attributes:
        record: The record itself, for use in a thread.
        block: See `Record.block`.
        payload: See `Record.payload`.
    """

    __slots__ = ("_threads", "block", "payload", "record")

    def __init__(self, threads: Threads, record: Record) -> None:
        super().__init__(record.header)
        self._threads = threads
        self.record = record
        self.block = AsyncExtent(threads, lambda: record.block)
        self.payload = AsyncExtent(threads, lambda: record.payload)

    def __repr__(self) -> str:
        return f"<AsyncRecord {self.type} at {self.offset}: {self.target_uri or self.id}>"

    @property
    def source(self) -> str:
        """Name of the file that the record is in."""
        return self.record.source

    @property
    def offset(self) -> int:
        """Offset in the stored file of the record's first frame."""
        return self.record.offset

    @property
    def headers(self) -> RecordHeader:
        """The same as `header`, under the name that FastWARC has for it."""
        return self.header

    @property
    def size(self) -> int:
        """Length in bytes of the whole record, decompressed."""
        return self.record.size

    async def length(self) -> int:
        """Return the stored bytes up to the next record; see `Record.length`."""
        return await self._threads.run(lambda: self.record.length)

    async def http(self) -> HttpHead | None:
        """Return the HTTP head of the block; see `Record.http`."""
        return await self._threads.run(lambda: self.record.http)

    async def check_digests(self) -> tuple[DigestCheck, ...]:
        """Check the digests that the header states; see `Record.check_digests`."""
        return await self._threads.run(self.record.check_digests)

    async def concurrent(self) -> tuple[AsyncRecord, ...]:
        """Return the other records of the same capture event; see `Collection.concurrent`."""
        found = await self._threads.run(lambda: self.record.concurrent)
        return tuple(AsyncRecord(self._threads, record) for record in found)

    async def refers_to(self) -> AsyncRecord | None:
        """Return the record that this one is about; see `Collection.refers_to`."""
        found = await self._threads.run(lambda: self.record.refers_to)
        return AsyncRecord(self._threads, found) if found is not None else None

    async def referring_to(self) -> tuple[AsyncRecord, ...]:
        """Return the records that are about this one; see `Collection.referring_to`."""
        found = await self._threads.run(lambda: self.record.referring_to)
        return tuple(AsyncRecord(self._threads, record) for record in found)


class AsyncExtent(InThreads):
    """Bytes of a record that can be read by range, by several tasks at a time; see `Extent`.

    Args:
        threads: Do the work.
        find: Returns the extent. That may take reading too.
    """

    __slots__ = ("_find", "_threads")

    def __init__(self, threads: Threads, find: Callable[[], Extent]) -> None:
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
