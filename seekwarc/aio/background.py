"""Threads for work that would block the event loop, and archives that are opened in them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Final, Generic, NoReturn, Self, TypeVar

from seekwarc.closing import Closing
from seekwarc.errors import FormatError, SeekWarcError

__all__ = ["InThreads", "Opened", "Threads", "in_threads"]

MAX_AT_ONCE: Final = 64
"""Records that are read in one go: a change of threads costs as much as reading several of them."""

_T = TypeVar("_T")
_Archive = TypeVar("_Archive", bound=Closing)


class InThreads:
    """An object that works only as long as its threads run, and so cannot be copied."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError("an asynchronous archive and its records cannot be pickled or copied; pass the path")


class Threads(InThreads):
    """Threads for work that would block the event loop."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, "seekwarc-async")
        self._closed = False

    async def run(self, work: Callable[[], _T]) -> _T:
        """Call `work` in one of the threads and return its result."""
        if self._closed:
            raise SeekWarcError("the archive is closed")
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def close(self) -> None:
        """Stop the threads once their current work is done."""
        self._closed = True
        # Waiting for them blocks, so it is done in a thread too.
        await asyncio.to_thread(self._pool.shutdown)


class Opened(Generic[_Archive]):
    """An archive that is opened by `async with` and used in threads, at most `concurrency` at a time."""

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
        """Close the archive once the reads in progress are done. Idempotent."""
        archive, threads = self._there
        await threads.close()
        await asyncio.to_thread(archive.close)

    @property
    def _there(self) -> tuple[_Archive, Threads]:
        if self._opened is None:
            raise SeekWarcError("the archive is not open: use `async with`")
        return self._opened


async def in_threads(threads: Threads, make: Callable[[], Iterator[_T]]) -> AsyncIterator[_T]:
    """Yield the items of an iterator that is made and advanced in threads; raise its error at the end.

    Changing threads takes longer than reading a small record. So items are taken several at a time: one at
    first, so that the first record is not delayed, then twice as many each time, up to `MAX_AT_ONCE`. An
    error does not swallow the items before it: they are yielded first.
    """
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
    found: list[_T] = []
    try:
        found.extend(itertools.islice(items, count))
    except FormatError as error:
        return found, error
    return found, None
