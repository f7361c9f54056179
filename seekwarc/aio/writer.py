"""A writer for programs that use asyncio: everything that takes time is awaited.

`Writer` does all the work, in one thread of its own, record after record in the order of the calls.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Self, TypeVar, Unpack

from seekwarc.compiling import Buffer
from seekwarc.errors import SeekWarcError
from seekwarc.write.opening import Target
from seekwarc.write.options import WriterOptions
from seekwarc.write.writer import Writer

__all__ = ["AsyncWriter"]

STEP: Final = 1 << 20
"""Maximum bytes of a stream that are taken at a time."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _awaited(
    method: Callable[Concatenate[Writer, _P], _T],
) -> Callable[Concatenate[AsyncWriter, _P], Coroutine[Any, Any, _T]]:
    @wraps(method)
    async def call(self: AsyncWriter, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        positional: Any = [_as_block(self, it) for it in args]
        named: Any = {name: _as_block(self, it) for name, it in kwargs.items()}
        return await self.run(lambda writer: method(writer, *positional, **named))

    return call


def _as_block(writer: AsyncWriter, argument: object) -> object:
    return writer.stream(argument) if isinstance(argument, AsyncIterable) else argument


class AsyncWriter:
    """A `Writer` that never blocks the event loop.

    If a task is cancelled, the record that it was writing is still finished; unless the cancellation ends
    the stream of its block, in which case the record is rolled back.

    Args:
        target: As for `Writer`.
        append: Whether to continue a file, as mode "a" does.
        **options: As for `Writer`.

    Example:
        >>> import asyncio
        >>> async def write() -> None:
        ...     async with seekwarc.AsyncWriter("new.warc.zst") as out:
        ...         await out.write_resource("http://example.org/", b"Hello", "text/plain")
        >>> asyncio.run(write())
        >>> with seekwarc.open("new.warc.zst") as archive:
        ...     print([record.type for record in archive])
        ['resource']
    """

    def __init__(self, target: Target, *, append: bool = False, **options: Unpack[WriterOptions]) -> None:
        self._open: Callable[[], Writer] = partial(Writer, target, append=append, **options)
        self._thread = ThreadPoolExecutor(1, "seekwarc-async-writer")
        self._writer: Writer | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        try:
            self._writer = await self._loop.run_in_executor(self._thread, self._open)
        except BaseException:
            self._thread.shutdown(wait=False)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.run(lambda writer: writer.__exit__(kind, error, trace))
        finally:
            self._thread.shutdown(wait=False)

    async def run(self, work: Callable[[Writer], _T]) -> _T:
        """Call `work` with the writer, in the writer's thread, and return its result.

        Raises:
            SeekWarcError: The writer is not open.
        """
        writer, loop = self._writer, self._loop
        if writer is None or loop is None:
            raise SeekWarcError("the writer is not open: use `async with`")
        return await loop.run_in_executor(self._thread, work, writer)

    def stream(self, pieces: AsyncIterable[Buffer]) -> Iterator[Buffer]:
        """Return an asynchronous iterable of bytes as an iterator, for code that runs in the writer's thread.

        `write` and its like take such an iterable as it is.
        """
        loop = self._loop
        if loop is None:
            raise SeekWarcError("the writer is not open: use `async with`")
        # Streams of asyncio and aiohttp would be read line by line.
        read: Any = getattr(pieces, "read", None)
        iterator = None if inspect.iscoroutinefunction(read) else aiter(pieces)

        async def following() -> Buffer | None:
            if iterator is None:
                return await read(STEP) or None
            return await anext(iterator, None)

        # Called in the writer's thread, which waits for the loop. The loop never waits for that thread.
        return iter(lambda: asyncio.run_coroutine_threadsafe(following(), loop).result(), None)

    write = _awaited(Writer.write)
    write_warcinfo = _awaited(Writer.write_warcinfo)
    write_raw = _awaited(Writer.write_raw)
    write_response = _awaited(Writer.write_response)
    write_request = _awaited(Writer.write_request)
    write_resource = _awaited(Writer.write_resource)
    write_metadata = _awaited(Writer.write_metadata)
    write_revisit = _awaited(Writer.write_revisit)
    write_conversion = _awaited(Writer.write_conversion)
    write_continuation = _awaited(Writer.write_continuation)
    flush = _awaited(Writer.flush)
    close = _awaited(Writer.close)
    abort = _awaited(Writer.abort)
