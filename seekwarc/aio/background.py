"""Threads in which is done what would hold up the event loop, and what is opened in them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Final, Generic, NoReturn, Protocol, Self, TypeVar

from seekwarc.errors import FormatError, SeekWarcError

__all__ = ["Closes", "InThreads", "Opened", "Threads", "in_threads"]

MAX_AT_ONCE: Final = 64
"""Records that are looked for in one go: each change of threads costs as much as several of them."""

_T = TypeVar("_T")
_Archive = TypeVar("_Archive", bound="Closes")


class InThreads:
    """What lives as long as some threads do."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an open asynchronous archive, and what it gives, cannot be copied: pass the path")


class Threads(InThreads):
    """Threads in which is done what would hold up the event loop."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, "seekwarc-async")
        self._closed = False

    async def run(self, work: Callable[[], _T]) -> _T:
        """Return what `work` returns, called in one of the threads."""
        if self._closed:
            raise SeekWarcError("the archive is closed")
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def close(self) -> None:
        """Stop the threads, once what is being done has been done."""
        self._closed = True
        # Another thread waits for these.
        await asyncio.to_thread(self._pool.shutdown)


class Closes(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Close it."""


class Opened(Generic[_Archive]):
    """What is opened by `async with`, and asked in threads.

    Args:
        make: Opens it.
        concurrency: How many things may be read at the same time.
    """

    def __init__(self, make: Callable[[], _Archive], concurrency: int) -> None:
        self._make = make
        self._concurrency = concurrency
        self._opened: tuple[_Archive, Threads] | None = None

    async def __aenter__(self) -> Self:
        threads = Threads(self._concurrency)
        try:
            self._opened = await threads.run(self._make), threads
        except BaseException:
            await threads.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close it, once what is being read has been read. Closing twice does nothing."""
        archive, threads = self._there
        await threads.close()
        await asyncio.to_thread(archive.close)

    @property
    def _there(self) -> tuple[_Archive, Threads]:
        if self._opened is None:
            raise SeekWarcError("the archive is not open: use `async with`")
        return self._opened


async def in_threads(threads: Threads, make: Callable[[], Iterator[_T]]) -> AsyncIterator[_T]:
    """Yield what an iterator that is made and asked in threads yields, then raise what it raises."""
    items = await threads.run(make)
    count = 1
    while True:
        found, damage = await threads.run(partial(_take, items, count))
        for item in found:
            yield item
        if damage is not None:
            raise damage
        if len(found) < count:
            return
        count = min(2 * count, MAX_AT_ONCE)


def _take(items: Iterator[_T], count: int) -> tuple[list[_T], FormatError | None]:
    """Return the next items, and the damage that was reached after them."""
    found: list[_T] = []
    try:
        found.extend(itertools.islice(items, count))
    except FormatError as error:
        return found, error
    return found, None
