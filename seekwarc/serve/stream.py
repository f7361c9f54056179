"""Work that blocks, for clients that may go away: in worker threads, and stopped when they do.

Players abandon most of the bodies that they ask for. So each step of a body is read only after the previous
one was sent; and a task that waits on `receive` stops the work when the client disconnects, even amid a step:
see `seekwarc.stopping`.

Runs on asyncio. A request that needs one step takes one hop to a thread and back, which is most of its cost.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from starlette.types import Receive, Send

from seekwarc.errors import SeekWarcError
from seekwarc.serve.representation import Beginning
from seekwarc.stopping import stoppable

__all__ = ["Workers", "send_answer", "while_connected"]

Value = TypeVar("Value")

_log: Final = logging.getLogger("seekwarc.serve")


class Workers:
    """Threads for work that blocks."""

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, "seekwarc-serve")

    async def run(self, function: Callable[[], Value]) -> Value:
        """Call a function in a thread. If this task is cancelled, the function is stopped."""
        cancelled = False

        def check() -> None:
            if cancelled:
                raise asyncio.CancelledError

        def call() -> Value:
            with stoppable(check):
                return function()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, call)
        except asyncio.CancelledError:
            cancelled = True
            raise


async def while_connected(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work for a request, and cancel it when the client disconnects."""
    task = asyncio.current_task()
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await receive())["type"] != "http.disconnect":
            pass
        gone = True
        if task is not None:
            task.cancel()

    watcher = asyncio.ensure_future(watch())
    try:
        await work()
    except asyncio.CancelledError:
        if task is None or not gone or task.uncancel():
            raise
    finally:
        watcher.cancel()


async def send_answer(begun: Beginning, send: Send, workers: Workers) -> None:
    """Send an answer, inside `while_connected`. If a later read fails, the connection is closed."""
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in begun.fields]
    await send({"type": "http.response.start", "status": begun.status, "headers": headers})
    piece, sent = begun.first, 0
    while True:
        sent += len(piece)
        more = bool(piece) and sent != begun.size
        await send({"type": "http.response.body", "body": piece, "more_body": more})
        if not more:
            return
        try:
            piece = await workers.run(partial(next, begun.rest, b""))
        except SeekWarcError as error:
            _log.warning("the answer breaks off after %d bytes: %s", sent, error)
            return
