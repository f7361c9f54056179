"""Archives for programs that use asyncio: everything that takes time is awaited.

`Reader` and its like do all the work, in a few threads. If a task is cancelled, its read goes on in its
thread until it is done, and the result is dropped.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final, Unpack

from seekwarc.aio.background import InThreads, Opened, Threads, in_threads
from seekwarc.cdx.index import Capture, Index, IndexTarget, Match
from seekwarc.cdx.limits import MAX_BLOCK_SIZE, MAX_CELL_SIZE, MAX_GROUP_SIZE
from seekwarc.collection.collection import Collection
from seekwarc.format.cdxj import CdxjLine
from seekwarc.format.http import HttpHead
from seekwarc.format.seektable import TableChoice, TableTrust
from seekwarc.format.values import MediaType
from seekwarc.format.warc_fields import DefinedFields
from seekwarc.frames.run import ReadPlan
from seekwarc.read.extent import Extent
from seekwarc.read.options import ReaderOptions
from seekwarc.read.reader import Reader
from seekwarc.read.record import Record, Relations
from seekwarc.storage.source import RangeReadable, Stats

if TYPE_CHECKING:
    from seekwarc.collection.entry import Entry
    from seekwarc.collection.record_index import RecordIndex
    from seekwarc.format.dates import WarcDate
    from seekwarc.format.warc import RecordHeader
    from seekwarc.inside.text import PageText
    from seekwarc.read.digests import DigestCheck

__all__ = ["AsyncCapture", "AsyncCollection", "AsyncExtent", "AsyncIndex", "AsyncReader", "AsyncRecord"]

CONCURRENCY: Final = 8
STEP: Final = 1 << 20


class AsyncReader(Opened[Reader]):
    """A `Reader` that never blocks the event loop.

    Args:
        target: As for `Reader`.
        concurrency: Number of reads that may run at the same time.
        **options: As for `Reader`.

    Example:
        >>> import asyncio
        >>> async def count() -> int:
        ...     async with seekwarc.AsyncReader("crawl.warc.zst") as archive:
        ...         return len([record async for record in archive if record.type == "response"])
        >>> asyncio.run(count()) > 0
        True
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
        """Name of the file in messages."""
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
        table: TableChoice = TableTrust.CLAIMED,
    ) -> AsyncRecord:
        """Return the record that starts at a stored offset; see `Reader.record_at`."""
        archive, threads = self._there
        return AsyncRecord(threads, await threads.run(lambda: archive.record_at(offset, length, table=table)))


class AsyncCollection(Opened[Collection]):
    """A `Collection` that never blocks the event loop.

    Args:
        files: As for `Collection`.
        concurrency: Number of reads that may run at the same time.
        **options: As for `Collection`.

    Example:
        >>> import asyncio
        >>> async def some_bytes() -> bytes:
        ...     async with seekwarc.AsyncCollection(["crawl.warc.zst"]) as files:
        ...         record = await files.open_record(uri="http://example.org/film.mp4")
        ...         return await record.payload.pread(1_000_000, 65_536)
        >>> len(asyncio.run(some_bytes()))
        65536
    """

    def __init__(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str] | bytes | BinaryIO | RangeReadable],
        *,
        concurrency: int = CONCURRENCY,
        index: RecordIndex | None = None,
        **options: Unpack[ReaderOptions],
    ) -> None:
        given = files if isinstance(files, str | os.PathLike) else list(files)
        super().__init__(partial(Collection, given, index=index, **options), concurrency)

    async def __aiter__(self) -> AsyncIterator[AsyncRecord]:
        """Yield every stored record of every file, in order; errors as from `Collection`."""
        files, threads = self._there
        async for record in in_threads(threads, lambda: iter(files)):
            yield AsyncRecord(threads, record)

    async def index(self) -> RecordIndex:
        """Return the index of the records; see `Collection.index`."""
        files, threads = self._there
        return await threads.run(lambda: files.index)

    async def record(self, entry: Entry) -> AsyncRecord:
        """Return the stored record of an entry of the index; see `Collection.record`."""
        files, threads = self._there
        return AsyncRecord(threads, await threads.run(lambda: files.record(entry)))

    async def open_record(
        self,
        which: AsyncRecord | Entry | str | None = None,
        *,
        uri: str | None = None,
        date: WarcDate | str | None = None,
        joined: bool = False,
    ) -> AsyncRecord:
        """Return a logical record, segments joined and revisits resolved; see `Collection.open_record`."""
        files, threads = self._there
        stored = which.record if isinstance(which, AsyncRecord) else which
        found = await threads.run(lambda: files.open_record(stored, uri=uri, date=date, joined=joined))
        return AsyncRecord(threads, found)


class AsyncIndex(Opened[Index]):
    """An `Index` that never blocks the event loop.

    Args:
        target: As for `Index`.
        concurrency: Number of reads that may run at the same time.
        **options: As for `Index`.

    Example:
        >>> import asyncio
        >>> async def dates(uri: str) -> list[str]:
        ...     async with seekwarc.AsyncIndex("crawl.cdxj") as index:
        ...         return [str(capture.date) async for capture in index.lookup(uri)]
        >>> len(asyncio.run(dates("http://example.org/film.mp4")))
        1
    """

    def __init__(
        self,
        target: IndexTarget | Sequence[IndexTarget],
        *,
        concurrency: int = CONCURRENCY,
        files: str | os.PathLike[str] | None = None,
        max_block_size: int = MAX_BLOCK_SIZE,
        max_cell_size: int = MAX_CELL_SIZE,
        max_group_size: int = MAX_GROUP_SIZE,
        **options: Unpack[ReaderOptions],
    ) -> None:
        opening = partial(
            Index,
            target,
            files=files,
            max_block_size=max_block_size,
            max_cell_size=max_cell_size,
            max_group_size=max_group_size,
            **options,
        )
        super().__init__(opening, concurrency)

    @property
    def name(self) -> str:
        """Name of the index in messages."""
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
    """A capture of an `AsyncIndex`. Fields of its line are attributes; opening its record is awaited.

    Example:
        >>> import asyncio
        >>> async def kind(uri: str) -> str | None:
        ...     async with seekwarc.AsyncIndex("crawl.cdxj") as index:
        ...         async for capture in index.lookup(uri):
        ...             return (await capture.open()).type
        >>> asyncio.run(kind("http://example.org/film.mp4"))
        'response'
    """

    capture: Capture
    """The capture itself, for use in a thread."""
    _threads: Threads = field(repr=False, compare=False)

    async def open(self, *, resolve: bool = True) -> AsyncRecord:
        """Return the record; see `Capture.open`."""
        return AsyncRecord(
            self._threads, await self._threads.run(partial(self.capture.open, resolve=resolve))
        )


class AsyncRecord(InThreads, DefinedFields):
    """A record. Fields of its header are attributes; everything else is awaited.

    Attributes:
        record: The record itself, for use in a thread.
        block: See `Record.block`.
        payload: See `Record.payload`.

    Example:
        >>> import asyncio
        >>> async def first_status() -> int | None:
        ...     async with seekwarc.AsyncReader("crawl.warc.zst") as archive:
        ...         async for record in archive:
        ...             if record.type == "response":
        ...                 return (await record.http()).status
        >>> asyncio.run(first_status())
        200
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
    """Bytes of a record that several tasks can read by range at the same time; see `Extent`.

    Args:
        threads: The threads to read in.
        find: Returns the extent, which may take reading too.

    Example:
        >>> import asyncio
        >>> async def parts() -> list[bytes]:
        ...     async with seekwarc.AsyncCollection(["crawl.warc.zst"]) as files:
        ...         film = (await files.open_record(uri="http://example.org/film.mp4")).payload
        ...         return await asyncio.gather(*(film.pread(start, 10) for start in (0, 900_000)))
        >>> [len(part) for part in asyncio.run(parts())]
        [10, 10]
    """

    __slots__ = ("_find", "_threads")

    def __init__(self, threads: Threads, find: Callable[[], Extent]) -> None:
        self._threads = threads
        self._find = find

    async def size(self) -> int:
        """Return the length in bytes."""
        return await self._threads.run(lambda: self._find().size)

    async def codings(self) -> tuple[str, ...]:
        """Return the HTTP content codings of these bytes; see `Extent.codings`."""
        return await self._threads.run(lambda: self._find().codings)

    async def media_type(self) -> MediaType | None:
        """Return the media type that the head states; see `Extent.media_type`."""
        return await self._threads.run(lambda: self._find().media_type)

    async def pread(self, start: int, length: int, *, verify: bool = True, decoded: bool = False) -> bytes:
        """Read up to `length` bytes from `start` on; see `Extent.pread`."""
        return await self._threads.run(
            lambda: self._find().pread(start, length, verify=verify, decoded=decoded)
        )

    async def read(self, n: int = -1, *, decoded: bool = False) -> bytes:
        """Read all bytes, or the first `n`; see `Extent.read`."""
        return await self._threads.run(lambda: self._find().read(n, decoded=decoded))

    async def text(
        self, *, main: bool = False, max_size: int | None = None, max_text: int | None = None
    ) -> PageText | None:
        """Return the text of a page; see `Extent.text`."""
        return await self._threads.run(
            lambda: self._find().text(main=main, max_size=max_size, max_text=max_text)
        )

    async def plan(self, start: int, stop: int) -> ReadPlan:
        """Return the cost of reading [start, stop); see `Extent.plan`."""
        return await self._threads.run(lambda: self._find().plan(start, stop))

    async def chunks(
        self, start: int = 0, stop: int | None = None, *, step: int = STEP
    ) -> AsyncIterator[bytes]:
        """Yield the bytes of [start, stop), or all from `start` on, `step` at a time."""
        while (stop is None or start < stop) and (
            piece := await self.pread(start, step if stop is None else min(step, stop - start))
        ):
            yield piece
            start += len(piece)
